"""``brai report``, ``sample``, ``query`` and ``compare``: ask what ``brai learn -o FOLDER`` kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from brai.base import StructureLearner
    from brai.graphs import PDAG

_SHOWN = 0.01  # members of a blanket that are less probable are left out
_FOLDER = click.argument("folder", type=click.Path(path_type=Path, exists=True))
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def _model(place: Path) -> StructureLearner:
    """The model in a folder that ``learn -o`` filled, or in a .brai file."""
    from brai.base import StructureLearner
    from brai.io import load

    path = place / "model.brai" if place.is_dir() else place
    if not path.is_file():
        raise ValueError(f"no model.brai in {place}: make it with  brai learn FILE -o {place}")
    model = load(path)
    if not isinstance(model, StructureLearner):
        raise ValueError(f"{path} holds a {type(model).__name__}, no model: give what brai learn -o wrote")
    return model


@click.command()
@_FOLDER
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="[default: FOLDER/report.html]"
)
@click.option("-k", "k", type=click.IntRange(1), default=5, show_default=True, help="Best graphs to compare.")
@click.option("--title", default=None)
def report(folder: Path, output: Path | None, k: int, title: str | None) -> None:
    """Write the report of a model anew: one HTML file, to be opened in a browser."""
    from brai.report import write

    beside = folder if folder.is_dir() else folder.parent
    path = write(_model(folder), output or beside / "report.html", k=k, title=title, data_name=folder.name)
    click.echo(str(path))


@click.command()
@_FOLDER
@click.option("-n", "n", type=click.IntRange(1), default=10, show_default=True, help="Graphs, or rows.")
@click.option("--rows", is_flag=True, help="Draw rows of data from the best graph's network, as CSV.")
@click.option(
    "--temperature", type=click.FloatRange(0), default=1.0, show_default=True, help="Of graphs of the tree."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def sample(folder: Path, n: int, rows: bool, temperature: float, seed: int) -> None:
    """Draw CPDAGs from the tree of a model, one a line as JSON; or rows of data."""
    from brai.estimators import BRAI

    model = _model(folder)
    if rows:
        import csv

        drawn = model.network().sample(n, random_state=seed)
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(drawn.names)
        for row in drawn.codes.T.tolist():
            writer.writerow([drawn.states[v][code] for v, code in enumerate(row)])
        return
    if not isinstance(model, BRAI):
        raise ValueError(f"{folder} holds a {type(model).__name__}, which has no tree: use --rows")
    for cpdag, score in model.sample(n, temperature, random_state=seed):
        edges = {"directed": cpdag.directed_edges(), "undirected": cpdag.undirected_edges()}
        click.echo(json.dumps({"log_score": score, **edges}))


@click.command()
@_FOLDER
@click.argument("question", nargs=-1, required=True)
@_JSON
def query(folder: Path, question: tuple[str, ...], as_json: bool) -> None:
    """Ask a model a QUESTION.

    \b
    edge A B            probability of A → B, of B → A, and that they are adjacent
    path A B            probability that A is an ancestor of B
    blanket A           probable members of the Markov blanket of A
    effect A B          what setting A does to B, averaged over graphs
    marginal A [B=b …]  distribution of A in the best graph's network, given B=b
    do A [B=b …]        the same where B is set to b, not seen to be b
    """
    found = answer(_model(folder), *question)
    if as_json:
        click.echo(json.dumps(found, allow_nan=False, default=str))
        return
    width = max((len(key) for key in found), default=0)
    for key, value in found.items():
        click.echo(f"{key:<{width}}  {value:.4f}" if isinstance(value, float) else f"{key:<{width}}  {value}")


def answer(model: StructureLearner, kind: str, *words: str) -> dict[str, Any]:
    """The answer to a question, as plain values."""
    if kind not in _QUESTIONS:
        raise ValueError(f"unknown question {kind!r}: ask {', '.join(_QUESTIONS)}")
    ask, n = _QUESTIONS[kind]
    if len(words) < n or (len(words) > n and kind not in ("marginal", "do")):
        raise ValueError(f"{kind} takes {n} name{'s' * (n > 1)}, not {len(words)}: brai query -h shows how to ask")
    from brai._checks import near

    names = list(model.feature_names_in_)
    for name in words[:n]:
        if name not in names:
            known = ", ".join(names[:20]) + " …" * (len(names) > 20)
            raise ValueError(f"no variable {name!r}{near(name, names)}: choose from {known}")
    return ask(model, *words)


def _edge(model: StructureLearner, a: str, b: str) -> dict[str, Any]:
    forth, back = _both(model, model.edge_probabilities(), a, b)
    return {f"{a} → {b}": forth, f"{b} → {a}": back, "adjacent": forth + back}


def _path(model: StructureLearner, a: str, b: str) -> dict[str, Any]:
    forth, back = _both(model, model.path_probabilities(), a, b)
    return {f"{a} ⇝ {b}": forth, f"{b} ⇝ {a}": back}


def _both(model: StructureLearner, of: Any, a: str, b: str) -> tuple[float, float]:
    i, j = (list(model.feature_names_in_).index(name) for name in (a, b))
    return float(of[i, j]), float(of[j, i])


def _blanket(model: StructureLearner, a: str) -> dict[str, Any]:
    names = list(model.feature_names_in_)
    row = model.markov_blanket_probabilities()[names.index(a)].tolist()
    ranked = sorted(zip(names, row, strict=True), key=lambda one: -one[1])
    return {name: p for name, p in ranked if p >= _SHOWN}


def _effect(model: StructureLearner, a: str, b: str) -> dict[str, Any]:
    found = model.causal_effect(a, b)
    return {
        "effect": float(found.effect),
        "standard deviation": float(found.effect_sd),
        f"P({a} causes {b})": float(found.p_causes),
        f"change of {a}": " to ".join(map(str, found.change)),
        f"states of {b} count": ", ".join(f"{state} {value:g}" for state, value in found.values.items()),
    }


def _marginal(model: StructureLearner, a: str, *settings: str, what: str = "given") -> dict[str, Any]:
    network = model.network()
    found = network.marginal(a, **{what: dict(_pair(word) for word in settings)})
    labels = network.states[network.names.index(a)]
    return {str(label): float(p) for label, p in zip(labels, found, strict=True)}


def _do(model: StructureLearner, a: str, *settings: str) -> dict[str, Any]:
    return _marginal(model, a, *settings, what="do")


_QUESTIONS: dict[str, tuple[Callable[..., dict[str, Any]], int]] = {
    "edge": (_edge, 2),
    "path": (_path, 2),
    "blanket": (_blanket, 1),
    "effect": (_effect, 2),
    "marginal": (_marginal, 1),
    "do": (_do, 1),
}


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ValueError(f"{word!r} is no setting: write NAME=STATE")
    return name, value


@click.command()
@click.argument("first", type=click.Path(path_type=Path, exists=True))
@click.argument("second", type=click.Path(path_type=Path, exists=True))
@_JSON
def compare(first: Path, second: Path, as_json: bool) -> None:
    """Compare two graphs: folders of ``learn -o``, .brai, .bif or graph.json files.

    With knowledge it is the graph that is directed as far as that directs it.
    """
    a, b = _graph(first), _graph(second)
    missing = sorted(set(a.names) ^ set(b.names))
    if missing:
        raise ValueError(f"the graphs are over other variables: only one of them has {', '.join(missing[:10])}")
    found = differences(a, b)
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"structural Hamming distance {found['shd']}, {found['same']} edges are the same")
    for key, sign in (("only_first", "-"), ("only_second", "+"), ("directed_otherwise", "~")):
        for one in found[key]:
            click.echo(f"  {sign} {one}")


def _graph(place: Path) -> PDAG:
    """The CPDAG at a place."""
    from brai.exchange import from_json
    from brai.network import Network

    if place.is_file() and place.suffix == ".json":
        return from_json(place.read_text(encoding="utf-8"))
    if place.is_file() and {".bif"} & set(place.suffixes):
        return Network.read_bif(place).pdag.to_cpdag()
    return _model(place).mpdag_


def differences(a: PDAG, b: PDAG) -> dict[str, Any]:
    """What two CPDAGs over the same variables do not share."""
    one, two = _edges(a), _edges(b)
    return {
        "shd": a.shd(b.reorder(a.names)),
        "same": sum(two.get(pair) == mark for pair, mark in one.items()),
        "only_first": [mark for pair, mark in one.items() if pair not in two],
        "only_second": [mark for pair, mark in two.items() if pair not in one],
        "directed_otherwise": [f"{m}, {two[p]} in the second" for p, m in one.items() if two.get(p, m) != m],
    }


def _edges(graph: PDAG) -> dict[frozenset[str], str]:
    marks = {frozenset(edge): f"{edge[0]} → {edge[1]}" for edge in graph.directed_edges()}
    lines = {frozenset(edge): " – ".join(sorted(edge)) for edge in graph.undirected_edges()}
    return {**marks, **lines}
