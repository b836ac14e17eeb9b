"""``brai report``, ``sample``, ``query`` and ``compare``: commands on models that ``brai learn -o`` saved."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brai.runtime.text import plain

if TYPE_CHECKING:
    from brai.graphs.differences import Line
    from brai.graphs.pdag import PDAG
    from brai.learners.base import StructureLearner

_FOLDER = click.argument("folder", type=click.Path(path_type=Path, exists=True))
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def _model(place: Path) -> StructureLearner:
    """The model in a folder that ``learn -o`` wrote, or in a .brai file."""
    from brai.files.models import load
    from brai.learners.base import StructureLearner

    path = place / "model.brai" if place.is_dir() else place
    if not path.is_file():
        raise ValueError(f"no model.brai in {place}: create it with  brai learn FILE -o {place}")
    model = load(path)
    if not isinstance(model, StructureLearner):
        raise ValueError(f"{path} holds a {type(model).__name__}, not a model: give what brai learn -o wrote")
    return model


@click.command()
@_FOLDER
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="[default: FOLDER/report.html]"
)
@click.option(
    "-k", "k", type=click.IntRange(1), default=5, show_default=True, help="Number of best graphs to compare."
)
@click.option("--title", default=None, help="Title of the page.")
def report(folder: Path, output: Path | None, k: int, title: str | None) -> None:
    """Write the report of a model again: one HTML file for the browser."""
    from brai.show.report import write

    beside = folder if folder.is_dir() else folder.parent
    made = _made(folder)
    path = write(_model(folder), output or beside / "report.html", k=k, title=title, **made)
    click.echo(str(path))


def _made(place: Path) -> dict[str, Any]:
    """The name of the data and the command, as saved by ``learn -o``; for a .brai file only its name."""
    kept = place / "summary.json"
    try:
        found = json.loads(kept.read_text(encoding="utf-8")) if place.is_dir() else {}
    except (OSError, ValueError, RecursionError):
        found = {}
    told = found if isinstance(found, dict) else {}
    return {"data_name": str(told.get("data", place.name)), "command": told.get("command")}


@click.command()
@_FOLDER
@click.option("-n", "n", type=click.IntRange(1), default=10, show_default=True, help="Number of graphs or rows.")
@click.option("--rows", is_flag=True, help="Draw rows of data from the network of the best graph, as CSV.")
@click.option(
    "--from",
    "source",
    type=click.Choice(["posterior", "tree"]),
    default="posterior",
    show_default=True,
    help="Draw from the posterior of the model (by default from its MCMC chains), or from its tree.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(0),
    default=None,
    help="For --from tree: 0 gives the best graph, inf draws uniformly.  [default: 1]",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed.")
def sample(folder: Path, n: int, rows: bool, source: str, temperature: float | None, seed: int) -> None:
    """Draw graphs or rows of data from a model.

    Graphs are drawn from the posterior, one line of JSON each. They are CPDAGs (completed partially directed
    acyclic graphs, one per equivalence class of DAGs). With background knowledge they are DAGs.
    """
    from brai.learners.brai import BRAI

    if temperature is not None and (rows or source != "tree"):
        raise click.UsageError("--temperature applies to draws from the tree: add --from tree, or leave it out")
    model = _model(folder)
    if rows:
        import csv

        drawn = model.network().sample(n, random_state=seed)
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(drawn.names)
        writer.writerows(zip(*drawn.to_dict().values(), strict=True))
        return
    if source == "tree" and not isinstance(model, BRAI):
        raise ValueError(f"the {type(model).__name__} model in {folder} has no tree: leave --from tree out")
    if isinstance(model, BRAI) and source == "tree":
        graphs = model.sample(n, 1.0 if temperature is None else temperature, random_state=seed)
    else:
        graphs = model.posterior().sample(n, random_state=seed)
    for graph, score in graphs:
        edges = {"directed": graph.directed_edges(), "undirected": graph.undirected_edges()}
        click.echo(json.dumps({"log_score": score if math.isfinite(score) else None, **edges}))


@click.command()
@_FOLDER
@click.argument("question", nargs=-1, required=True)
@click.option("--change", nargs=2, metavar="FROM TO", help="For effect: A changes from this state to that one.")
@click.option("--values", multiple=True, metavar="STATE=NUMBER", help="For effect: numeric value of a state of B.")
@_JSON
def query(
    folder: Path,
    question: tuple[str, ...],
    change: tuple[str, str] | None,
    values: tuple[str, ...],
    as_json: bool,
) -> None:
    """Answer a QUESTION about a model.

    \b
    edge A B            probabilities of A → B, of B → A, and of either edge
    path A B            probability that A is an ancestor of B
    blanket A           probable members of the Markov blanket of A
    effect A B          causal effect of A on B, averaged over graphs
    marginal A [B=b …]  distribution of A in the network of the best graph, given B=b
    do A [B=b …]        the same under the intervention do(B=b)

    The effect compares B after setting A to its last state with B after setting A to its first state; --change
    selects other states. It is a difference of means if the states of B are numbers, else a difference of
    probabilities of the last state of B; --values selects other values.
    """
    from brai.cli.questions import answer, as_lines

    found = answer(_model(folder), *question, change=change, values=values)
    if as_json:
        click.echo(json.dumps(found, allow_nan=False, default=str))
        return
    lines = as_lines(found)
    width = max((len(words) for words, _ in lines), default=0)
    for words, value in lines:
        told = f"{value:.4f}" if isinstance(value, float) else str(value)
        click.echo(plain(f"{words:<{width}}  {told}"))


@click.command()
@click.argument("first", type=click.Path(path_type=Path, exists=True))
@click.argument("second", type=click.Path(path_type=Path, exists=True))
@_JSON
def compare(first: Path, second: Path, as_json: bool) -> None:
    """Compare two graphs.

    Each is a folder of ``learn -o``, or a .brai, .bif or graph.json file. A model is represented by its best CPDAG
    (completed partially directed acyclic graph). With background knowledge this graph also has the directions
    that follow from the knowledge.
    """
    a, b = _graph(first), _graph(second)
    missing = sorted(set(a.names) ^ set(b.names))
    if missing:
        raise ValueError(f"the graphs have different variables: only one of them has {', '.join(missing[:10])}")
    found = _compared(a, b)
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"structural Hamming distance {found['shd']}, {found['same']} edges in common")
    for key, sign in (("only_first", "-"), ("only_second", "+")):
        for one in found[key]:
            click.echo(f"  {sign} {_words(one)}")
    for one in found["directed_otherwise"]:
        click.echo(f"  ~ {_words(one['first'])} in the first, {_words(one['second'])} in the second")


def _graph(place: Path) -> PDAG:
    """The CPDAG in a folder or file."""
    from brai.files.exchange import from_json
    from brai.kinds.discrete.network import Network

    if place.is_file() and place.suffix == ".json":
        return from_json(place.read_text(encoding="utf-8"))
    if place.is_file() and {".bif"} & set(place.suffixes):
        return Network.read_bif(place).pdag.to_cpdag()
    return _model(place).mpdag_


def _compared(a: PDAG, b: PDAG) -> dict[str, Any]:
    """The differences of two graphs over the same variables, as plain values."""
    from brai.graphs.differences import differences

    def edge(line: Line | None) -> dict[str, Any] | None:
        return line and {"from": a.names[line.tail], "to": a.names[line.head], "directed": line.directed}

    differ = differences(a, b)
    return {
        "kind": "comparison",
        "shd": len(differ),
        "same": a.n_edges - sum(one.kind != "added" for one in differ),
        "only_first": [edge(one.first) for one in differ if one.kind == "removed"],
        "only_second": [edge(one.second) for one in differ if one.kind == "added"],
        "directed_otherwise": [
            {"first": edge(one.first), "second": edge(one.second)} for one in differ if one.kind == "turned"
        ],
    }


def _words(edge: dict[str, Any]) -> str:
    return plain(f"{edge['from']} {'→' if edge['directed'] else '–'} {edge['to']}")
