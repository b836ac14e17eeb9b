"""The options of ``brai learn FILE`` and ``brai demo``; `brai.cli.work` does the work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from brai.cli.options import (
    Duration,
    EssOption,
    PriorOption,
    in_options,
    read_kinds,
    read_states,
    read_words,
    warn,
)
from brai.runtime.text import plain


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that ``learn`` and ``demo`` share."""
    for option in reversed(
        (
            click.option(
                "-s",
                "s",
                type=click.IntRange(1, 100),
                default=3,
                show_default=True,
                help="Bootstrap samples at each node of the tree.",
            ),
            click.option(
                "--ci-test",
                default="auto",
                show_default=True,
                type=click.Choice(["auto", "cmi-c1", "cmi", "g2", "bayes-factor"]),
                help="Conditional-independence test.",
            ),
            click.option(
                "--score",
                default="auto",
                show_default=True,
                type=click.Choice(["auto", "bdeu", "bge", "bic", "qnml", "dg", "location"]),
                help="Score. auto: Bayesian Dirichlet equivalent uniform (bdeu) for labels, Bayesian Gaussian "
                "equivalent (bge) for measurements. bic: Bayesian information criterion. qnml: quotient "
                "normalised maximum likelihood.",
            ),
            click.option(
                "--ess",
                type=EssOption(),
                default="auto",
                show_default=True,
                help="Equivalent sample size of BDeu: weight of its prior, in rows; table: one for each table; "
                "auto: chosen on the data.",
            ),
            click.option(
                "--structure-prior",
                type=PriorOption(),
                default="auto",
                show_default=True,
                help="Prior over DAGs: auto, uniform, fair, strength:NUMBER, or edges:EXPECTED.",
            ),
            click.option(
                "--posterior-from",
                type=click.Choice(["bagged", "mcmc", "tree"]),
                default=None,
                help="Where probabilities come from: chains on the data and on halves of the rows (bagged), "
                "chains on the data (mcmc), or the tree.  [default: bagged; tree with --paper]",
            ),
            click.option(
                "--max-order",
                type=click.IntRange(0),
                default=None,
                help="Largest conditioning set of a test.  [default: no limit]",
            ),
            click.option(
                "--max-parents",
                type=click.IntRange(1),
                default=None,
                help="Most parents of a node, in the search and in the chains.  "
                "[default: 4; 8 for measurements, 6 for mixed tables]",
            ),
            click.option("--n-draws", type=click.IntRange(1), default=None, help="DAGs drawn by each MCMC chain."),
            click.option(
                "--thin", type=click.IntRange(1), default=None, help="Steps of an MCMC chain between two draws."
            ),
            click.option(
                "--paper",
                is_flag=True,
                help="The published algorithm: its test and its way to draw graphs, no search after the tree.",
            ),
            click.option(
                "-k",
                "k",
                type=click.IntRange(1),
                default=None,
                help="Posterior over the k best CPDAGs of the tree, instead of MCMC.",
            ),
            click.option(
                "--draws",
                type=click.IntRange(1),
                default=None,
                help="Posterior over this many draws from the tree, instead of MCMC.",
            ),
            click.option(
                "--temperature",
                type=click.FloatRange(0),
                default=None,
                help="For --draws: 0 gives the MAP graph, inf draws uniformly.  [default: 1]",
            ),
            click.option(
                "--prior",
                type=click.Choice(["dags", "classes"]),
                default=None,
                help="Uniform prior over DAGs (default) or over equivalence classes (default with --draws).",
            ),
            click.option(
                "--budget",
                type=Duration(),
                default=None,
                help="Time limit for learning the graph, such as 60s, 5m or 1h; the chains get the same again.",
            ),
            click.option(
                "-o",
                "--output",
                type=click.Path(path_type=Path, file_okay=False),
                default=None,
                help="Folder for the model, graph, tables and report.",
            ),
            click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed."),
            click.option(
                "--jobs",
                "n_jobs",
                type=int,
                default=1,
                show_default=True,
                help="Parallel workers; -1 for all cores. The result does not depend on it.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
            click.option("--quiet", is_flag=True, help="No progress bar."),
        )
    ):
        command = option(command)
    return command


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--delimiter", default=None, help="Field separator; detected if not given.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave out a column; may be repeated.")
@click.option(
    "--states",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help='TOML file with the states of columns, such as  rain = ["no", "yes"].',
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="COLUMN=KIND",
    help="Kind of a column: discrete, ordered or continuous; may be repeated. Ordered counts beside "
    "measurements only.  [default: as its values look]",
)
@click.option(
    "--transform",
    type=click.Choice(["none", "normal-scores"]),
    default="none",
    show_default=True,
    help="Transformation of measurements, for distributions that are far from normal.",
)
@click.option(
    "--discretize",
    multiple=True,
    metavar="[COLUMN=]HOW",
    help="Cut measurements into bins: quantile:4, width:5, hartemink:3 or score, for all or for one column "
    "(COLUMN=18,40,65 for cut points), or FILE.toml; may be repeated.  [default: not cut]",
)
@click.option(
    "--missing",
    type=click.Choice(["impute", "drop", "label", "error"]),
    default="impute",
    show_default=True,
    help="Missing values: average over imputed values, drop their rows, make them a state of their own, or stop "
    "with an error.",
)
@click.option(
    "--missing-indicators",
    is_flag=True,
    help='Add a column "NAME missing" (no, yes) for each column with missing cells, as a leaf, so that edges show '
    "what missingness depends on.",
)
@click.option(
    "--na",
    metavar="WORDS",
    default=None,
    help="Words that mean missing in any column, such as NA,? ; --na '' if only empty cells do.  [default: NA, ?, "
    "- and the like among numbers; an error asks about others]",
)
@click.option(
    "--knowledge",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE.toml",
    help="Background knowledge: required and forbidden edges [from, to], tiers, roots, leaves; beliefs "
    "[from, to, probability].",
)
@_options
def learn(
    file: Path,
    delimiter: str | None,
    drop: tuple[str, ...],
    states: Path | None,
    missing: Any,
    missing_indicators: bool,
    na: str | None,
    kinds: tuple[str, ...],
    transform: Any,
    discretize: tuple[str, ...],
    knowledge: Path | None,
    **options: Any,
) -> None:
    """Learn from FILE: CSV, TSV or Parquet, also gzipped.

    With -o FOLDER the model, its graph, tables and a report for the browser are saved there. Meanwhile finished
    parts are in FOLDER/unfinished: after Ctrl-C or a crash, the same command continues from there.

    Terms: a CPDAG (completed partially directed acyclic graph) represents an equivalence class, that is all DAGs
    (directed acyclic graphs) with the same conditional independences. The MAP (maximum a posteriori) graph is the
    one of highest score. MCMC (Markov chain Monte Carlo) draws DAGs in proportion to their posterior probability.
    """
    from brai.cli.cuts import read_cuts, told_cuts
    from brai.data.dataset import Dataset
    from brai.graphs.knowledge import Knowledge
    from brai.kinds import kind_of

    known = None if knowledge is None else Knowledge.from_toml(knowledge)
    labels = read_states(states)
    with in_options():
        data = Dataset.from_file(
            file,
            delimiter=delimiter,
            drop=drop,
            states=labels,
            missing=missing,
            na=read_words(na),
            kinds=read_kinds(kinds),
            transform=transform,
            discretize=read_cuts(discretize),
        )
    if missing_indicators:
        data, known = _indicated(data, known)
    if discretize and not options["as_json"]:
        click.echo("\n".join(map(plain, told_cuts(data))), err=True)
    if not options["as_json"] and (told := _taken(data, read_kinds(kinds))):
        click.echo(plain(told), err=True)
    if constant := [name for name, still in zip(data.names, kind_of(data).constant(data), strict=True) if still]:
        which = ", ".join(map(repr, constant[:10])) + " …" * (len(constant) > 10)
        warn(f"only one value in {which}: no evidence about its edges, so it has none (or --drop COLUMN)")
    _work(data, file.name, knowledge=known, **options)


def _indicated(data: Any, known: Any) -> tuple[Any, Any]:
    """The table and knowledge with columns that say where cells are missing."""
    from brai.graphs.indicators import with_indicators

    wider, known = with_indicators(data, known)
    if not (n := wider.n_variables - data.n_variables):
        warn("--missing-indicators adds no column: no column has 1 % of its cells missing (with --missing impute)")
    elif n < (m := int((data.missing.mean(axis=1) >= 0.01).sum())):
        warn(f"{n} columns say where {m} columns are missing: some are missing in exactly the same rows")
    return wider, known


def _taken(data: Any, asked: dict[str, str]) -> str:
    """How columns were taken, in one line; nothing if all are categories, as they look."""
    from brai.show.summary import kinds_in_words

    table = getattr(data, "table", data)  # with missing cells
    if table.kind == "gaussian":
        return f"{table.n_variables} columns of numbers are taken as measurements (--kind COLUMN=discrete if not)"
    if table.kind == "mixed":
        kinds = dict(zip(table.names, table.kinds, strict=True))
        return f"{kinds_in_words(kinds)}; --kind COLUMN=KIND changes this"
    if ordered := [name for name, kind in asked.items() if kind == "ordered"]:
        return f"{', '.join(ordered)}: the order is not used, since there are no measurements"
    return ""


@click.command()
@click.option("--rows", type=click.IntRange(1), default=2000, show_default=True, help="Number of rows to sample.")
@_options
def demo(rows: int, **options: Any) -> None:
    """Learn the Asia network from a sample of it.

    The network is that of Lauritzen & Spiegelhalter 1988.
    """
    from brai.kinds.discrete.network import load_network
    from brai.show.summary import edge_lines

    network = load_network("asia")
    if not options["as_json"]:
        click.echo(f"{rows} rows sampled from the Asia network. Its true equivalence class (CPDAG):")
        truth = network.pdag.to_cpdag()
        click.echo("\n".join([*edge_lines(truth.directed_edges(), truth.undirected_edges()), ""]))
    _work(network.sample(rows, random_state=options["seed"]), f"{rows} rows of Asia", **options)


def _work(data: Any, name: str, **options: Any) -> None:
    """Learn, with options sorted by what they are about."""
    from brai.cli.work import Asked, Output, learn

    asked = Asked(*(options.pop(key) for key in Asked._fields))
    out = Output(options.pop("output"), options.pop("as_json"), options.pop("quiet"))
    learn(data, name, asked, out, family_score=options.pop("score"), **options)
