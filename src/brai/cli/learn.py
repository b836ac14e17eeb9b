"""``brai learn FILE`` and ``brai demo``: their options; the work is done in `brai.cli.work`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from brai.cli.options import Duration, in_options, read_states, warn


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that learning has wherever it is done."""
    for option in reversed(
        (
            click.option(
                "-s",
                "s",
                type=click.IntRange(1, 100),
                default=3,
                show_default=True,
                help="Bootstrap samples at each node.",
            ),
            click.option(
                "--ci-test",
                default="auto",
                show_default=True,
                type=click.Choice(["auto", "cmi-c1", "cmi", "g2", "bayes-factor"]),
                help="Conditional-independence test.",
            ),
            click.option("--score", default="bdeu", show_default=True, type=click.Choice(["bdeu", "bic"])),
            click.option(
                "--ess", type=float, default=1.0, show_default=True, help="Equivalent sample size of BDeu."
            ),
            click.option(
                "--max-order", type=click.IntRange(0), default=None, help="Largest condition set of a test."
            ),
            click.option(
                "--max-parents",
                type=click.IntRange(1),
                default=4,
                show_default=True,
                help="Of a node, in the search and in chains.",
            ),
            click.option("--n-draws", type=click.IntRange(1), default=None, help="DAGs drawn from each chain."),
            click.option("--thin", type=click.IntRange(1), default=None, help="Steps of a chain between draws."),
            click.option(
                "--paper", is_flag=True, help="The published algorithm: its test, no polish, its way to draw."
            ),
            click.option(
                "-k",
                "k",
                type=click.IntRange(1),
                default=None,
                help="Make up the posterior from the k best CPDAGs of the tree instead of MCMC.",
            ),
            click.option(
                "--draws",
                type=click.IntRange(1),
                default=None,
                help="Make up the posterior from so many draws of the tree instead.",
            ),
            click.option(
                "--temperature",
                type=click.FloatRange(0),
                default=None,
                help="Of the draws: 0 gives the MAP, inf draws uniformly.  [default: 1]",
            ),
            click.option(
                "--prior",
                type=click.Choice(["dags", "classes"]),
                default=None,
                help="Uniform prior on DAGs (default) or on classes (default for --draws).",
            ),
            click.option(
                "--budget",
                type=Duration(),
                default=None,
                help="Time for learning the graph; the chains get as much again: 60s, 5m, 1h.",
            ),
            click.option(
                "-o",
                "--output",
                type=click.Path(path_type=Path, file_okay=False),
                default=None,
                help="Folder for the model, graph, tables and report.",
            ),
            click.option("--seed", type=click.IntRange(0), default=0, show_default=True),
            click.option(
                "--jobs",
                "n_jobs",
                type=int,
                default=1,
                show_default=True,
                help="Workers; -1 for all cores. They change no result.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
            click.option("--quiet", is_flag=True, help="No progress bar."),
        )
    ):
        command = option(command)
    return command


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--delimiter", default=None, help="Field separator; guessed if not given.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated.")
@click.option(
    "--states",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help='TOML file with the labels of columns: rain = ["no", "yes"].',
)
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "label"]),
    default="error",
    show_default=True,
    help="Missing values: refuse them, drop their rows, or make missing a state.",
)
@click.option(
    "--knowledge",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE.toml",
    help="What is known: required and forbidden edges [from, to], tiers, roots, leaves.",
)
@_options
def learn(
    file: Path,
    delimiter: str | None,
    drop: tuple[str, ...],
    states: Path | None,
    missing: Any,
    knowledge: Path | None,
    **options: Any,
) -> None:
    """Learn from FILE: CSV, TSV or Parquet, also gzipped.

    With -o FOLDER the model, its graph, tables and a report for the browser are kept there. Until they are,
    finished parts are in FOLDER/unfinished: after Ctrl-C or a crash, the same command goes on from there.
    """
    from brai.cli.work import learn as work
    from brai.data.dataset import Dataset
    from brai.graphs.knowledge import Knowledge

    known = None if knowledge is None else Knowledge.from_toml(knowledge)
    labels = read_states(states)
    with in_options():
        data = Dataset.from_file(file, delimiter=delimiter, drop=drop, states=labels, missing=missing)
    if constant := [name for name, own in zip(data.names, data.states, strict=True) if len(own) == 1]:
        which = ", ".join(map(repr, constant[:10])) + " …" * (len(constant) > 10)
        warn(f"only one value in {which}: data say nothing of its edges, so it has none (or --drop COLUMN)")
    work(data, file.name, knowledge=known, **options)


@click.command()
@click.option("--rows", type=click.IntRange(1), default=2000, show_default=True)
@_options
def demo(rows: int, **options: Any) -> None:
    """Learn the Asia network (Lauritzen & Spiegelhalter 1988) from a sample of it."""
    from brai.cli.work import learn as work
    from brai.kinds.discrete.network import load_network
    from brai.show.summary import edge_lines

    network = load_network("asia")
    if not options["as_json"]:
        click.echo(f"{rows} rows sampled from the Asia network; its true CPDAG:")
        truth = network.pdag.to_cpdag()
        click.echo("\n".join([*edge_lines(truth.directed_edges(), truth.undirected_edges()), ""]))
    work(network.sample(rows, random_state=options["seed"]), f"{rows} rows of Asia", **options)
