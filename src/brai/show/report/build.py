"""From a fitted model to one HTML file: `page_data` (plain values), `page` (text), `write`.

The page holds its data as JSON. Names come from files and may hold any text. So JSON is written in ASCII with
``<``, ``>`` and ``&`` escaped, and nothing in it can end the script element. The script only sets text, never
markup. Template, style and script are files in this folder; the page loads nothing from the network.
"""

from __future__ import annotations

import html
import json
import math
import os
import re
import reprlib
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from brai import __version__
from brai.graphs.differences import differences, lines
from brai.graphs.pdag import PDAG
from brai.learners.base import StructureLearner
from brai.posterior.consensus import DECIDED, TIE, Row, consensus, table
from brai.posterior.weighted import Posterior
from brai.runtime.atomic_files import write_text
from brai.runtime.checks import check_count
from brai.show.missingness import counts, percent
from brai.show.report.columns import records
from brai.show.report.labels import cells_of, label_of
from brai.show.report.layout import Layout, layered
from brai.show.report.missingness import panel
from brai.show.report.pairs import MOST as PICTURES
from brai.show.report.pairs import pictures as pictures_of
from brai.show.report.trace import score_series
from brai.show.report.tree import tree_view
from brai.show.report.trust import trust
from brai.show.summary import add_coefficients, add_missing_information

Floats: TypeAlias = NDArray[np.float64]
Plain: TypeAlias = dict[str, Any]

FLOOR = 0.01  # pairs of nodes below this probability are only counted
MOST = 20_000  # most pairs in a page; if there are more, the floor is raised
PATHS = 60  # most variables for which path probabilities are computed
DIFFERENCES = 400  # most differences listed per graph
SCORES = {"bdeu": "BDeu", "bge": "BGe", "bic": "BIC", "qnml": "qNML"}
SCRIPTS = ("tools.js", "columns.js", "missing.js", "pairs.js", "page.js")  # parts of one script, in this order
_TEMPLATE = re.compile("/\\*(style|script|data)\\*/|<!--(title)-->")


def write(
    model: StructureLearner,
    path: str | os.PathLike[str],
    *,
    data_name: str | None = None,
    command: str | None = None,
    posterior: Posterior | None = None,
    k: int = 5,
    title: str | None = None,
    pictures: int = PICTURES,
) -> Path:
    """Write the report of a fitted model to an HTML file, atomically; return its path.

    ``data_name`` and ``command`` are shown as given. ``posterior`` is by default that of the model. ``k`` is the
    number of best graphs to compare. ``pictures`` is the number of edges, the most probable ones, whose data are
    drawn; pictures of two measurements show single rows. 0 leaves them out.
    """
    goal = Path(path)
    if not goal.parent.is_dir():
        raise FileNotFoundError(f"{str(goal.parent)!r} is not a directory: create it, or give another path")
    data = page_data(
        model, data_name=data_name, command=command, posterior=posterior, k=k, title=title, pictures=pictures
    )
    write_text(goal, page(data))
    return goal


def page(data: Plain) -> str:
    """The HTML text of the page with this data."""
    home = files("brai.show.report")

    def read(name: str) -> str:
        return (home / name).read_text(encoding="utf-8")

    parts = {
        "style": read("page.css"),
        "script": '"use strict";\n(() => {\n' + "\n".join(read(name) for name in SCRIPTS) + "})();",
        "data": _as_json(data),
        "title": html.escape(_safe(data["title"][:200])),
    }
    return _TEMPLATE.sub(
        lambda found: parts[found[1] or found[2]], read("page.html")
    )  # in one pass: data is not searched


def _as_json(data: Plain) -> str:
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page_data(
    model: StructureLearner,
    *,
    data_name: str | None = None,
    command: str | None = None,
    posterior: Posterior | None = None,
    k: int = 5,
    title: str | None = None,
    pictures: int = PICTURES,
) -> Plain:
    """Everything that the page shows, as plain values; the arguments are those of `write`."""
    check_is_fitted(model)
    check_count("k", k, 1)
    check_count("pictures", pictures, 0)
    names = tuple(map(str, model.feature_names_in_))
    own = posterior is None
    known = _reordered(model._posterior() if posterior is None else posterior, names)
    edges = model.edge_probabilities() if own else known.edge_probabilities()
    chains = known.chains
    train, learner = model._train, type(model).__name__
    drawing = _drawing(names, edges, model, chains)
    probable = sorted(drawing["pairs"], key=lambda pair: -pair[2])[:pictures]  # stable
    return {
        "title": title or f"{learner} on {data_name or 'your data'}",
        "facts": _facts(model, known, train.n_rows, data_name),
        "names": names,
        **drawing,
        "columns": records(train, names),
        "missing": panel(model, names, cells=pictures > 0),
        "pictures": pictures_of(train, model.dag_, [(names[i], names[j]) for i, j, *_ in probable]),
        "bagged": known.source == "bagged",
        "blankets": _pairs(known.markov_blanket_probabilities(), symmetric=True),
        "paths": _pairs(known.path_probabilities(), symmetric=False) if len(names) <= PATHS else None,
        "best": _best(model, known, k),
        "scores": score_series(model, known),
        "search": [[step, score] for step, score in getattr(model, "polish_trace_", [])],
        "tree": tree_view(model.tree_) if hasattr(model, "tree_") else None,
        "ci_tests": _tests(model),
        "thresholds": [list(tried) for tried in getattr(model, "threshold_curve_", [])],
        "trust": trust(model, known, names),
        "settings": _settings(model),
        "command": command,
        "made": _now(),
        "version": __version__,
    }


def _now() -> str:
    """The current time, or SOURCE_DATE_EPOCH if it is set, for reproducible files."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def _reordered(posterior: Posterior, names: tuple[str, ...]) -> Posterior:
    if posterior.names == names:
        return posterior
    if lone := set(posterior.names) ^ set(names):
        raise ValueError(
            f"model and posterior differ in {reprlib.repr(sorted(lone))}: give a posterior of the model"
        )
    return posterior.reordered(names)


def _facts(model: StructureLearner, posterior: Posterior, n_rows: int, data_name: str | None) -> list[list[str]]:
    kind, gone = posterior.kind, counts(model._train)
    return [
        *([["Data", data_name]] if data_name else []),
        ["Rows", f"{n_rows:,}"],
        ["Variables", f"{len(posterior.names):,}"],
        *([["Missing cells", f"{gone['cells']:,} ({percent(gone['cells'] / gone['of'])})"]] if gone else []),
        ["Learner", type(model).__name__],
        [
            f"Best log score ({SCORES.get(model.score_, model.score_)})",
            f"{model.log_score_:,.2f}".replace("-", "−"),
        ],
        [f"{kind}s in the posterior", f"{len(posterior):,}"],
        [f"Effective number of {kind}s", f"{max(1, round(posterior.n_effective)):,}"],
    ]


# --- the graph ------------------------------------------------------------------------------------


def arranged(graph: PDAG) -> tuple[Layout, list[str], list[float]]:
    """Layout, labels and widths of the nodes of a graph."""
    labels = [label_of(name) for name in graph.names]
    widths = [max(44.0, 7.9 * cells_of(label) + 20) for label in labels]
    return layered(graph.adjacency, widths), labels, widths


def _drawing(names: tuple[str, ...], edges: Floats, model: StructureLearner, chains: Any) -> Plain:
    """Nodes with positions, and pairs in the order in which `brai.posterior.consensus` directs them."""
    strengths = np.sort(np.minimum(edges + edges.T, 1.0)[np.triu_indices(len(names), 1)])[::-1]
    floor = FLOOR if len(strengths) <= MOST else max(FLOOR, math.ceil(float(strengths[MOST]) * 1000) / 1000)
    rows = table(names, edges, floor)
    add_coefficients(model, rows)
    add_missing_information(model, rows)
    rows.sort(key=lambda row: (-round(row["strength"] * row["direction"], 9), row["from"], row["to"]))
    layout, labels, widths = arranged(consensus(names, edges, direction=DECIDED).graph)
    return {
        "labels": labels,
        "x": _short(layout.x),
        "y": _short(layout.y),
        "widths": _short(widths),
        "bends": [[u, v, _short(np.ravel(points))] for (u, v), points in sorted(layout.bends.items())],
        "pairs": _rows(names, rows, model.cpdag_, chains),
        "floor": floor,
        "below": int((strengths > TIE).sum()) - len(rows),
    }


def _rows(names: tuple[str, ...], rows: list[Row], best: PDAG, chains: Any) -> list[list[Any]]:
    """[from, to, strength, direction, whether directed, edge of the best graph, difference between chains,
    strength in the chains on the data, standardised coefficient and its 95 % interval, share of the uncertainty
    that is due to missing cells]
    """
    place = {name: i for i, name in enumerate(names)}
    apart = alone = None
    if chains is not None:
        rank = [chains.names.index(name) for name in names]
        alone = chains.edge_frequencies().mean(axis=0)[np.ix_(rank, rank)]
    if chains is not None and len(chains.log_scores) > 1:
        own = chains.edge_frequencies()
        apart = np.ptp(own + own.transpose(0, 2, 1), axis=0)[np.ix_(rank, rank)]
    found = []
    for row in rows:
        i, j = place[row["from"]], place[row["to"]]
        sure = int(row["direction"] > DECIDED + TIE)
        kind = int(best.adjacency[i, j]) + 2 * int(best.adjacency[j, i])  # 1: as here, 2: turned, 3: undirected
        spread = None if apart is None else round(float(apart[i, j]), 4)
        own_strength = None if alone is None else round(float(alone[i, j] + alone[j, i]), 6)
        size = [None if row.get(key) is None else round(row[key], 4) for key in ("coefficient", "low", "high")]
        found.append(
            [
                i,
                j,
                round(row["strength"], 9),
                round(row["direction"], 6),
                sure,
                kind,
                spread,
                own_strength,
                size,
                row.get("missing_information"),
            ]
        )
    return found


def _pairs(matrix: Floats, symmetric: bool) -> list[list[Any]]:
    """[i, j, probability] of the entries from FLOOR on; the MOST largest if there are more."""
    worth = np.argwhere(np.triu(matrix >= FLOOR, 1) if symmetric else matrix >= FLOOR)
    found = [[int(i), int(j), round(float(matrix[i, j]), 3)] for i, j in worth]
    if len(found) > MOST:
        found = sorted(sorted(found, key=lambda one: -one[2])[:MOST])
    return found


def _short(numbers: Any) -> list[float]:
    return [round(float(number), 1) for number in numbers]


# --- the best graphs ------------------------------------------------------------------------------


def best_graphs(model: StructureLearner, posterior: Posterior, k: int) -> list[tuple[PDAG, float]]:
    """The k best distinct CPDAGs that the model or its posterior holds, best first."""
    listed = model.k_best(k) if hasattr(model, "k_best") else [(model.cpdag_, model.log_score_)]
    found: dict[PDAG, float] = dict(listed)
    ranked = sorted(zip(posterior.log_scores.tolist(), range(len(posterior)), strict=True), reverse=True)
    others = {posterior.cpdags[i]: score for score, i in ranked if math.isfinite(score)}
    shared = [(others[own], score) for own, score in found.items() if own in others]
    if all(abs(a - b) < 1e-6 * max(1.0, abs(a)) for a, b in shared):  # otherwise the scores are of another kind
        for own, score in list(others.items())[: k + len(found)]:
            found.setdefault(own, score)
    return sorted(found.items(), key=lambda one: -round(one[1], 9))[:k]  # stable


def _best(model: StructureLearner, posterior: Posterior, k: int) -> list[Plain]:
    graphs = best_graphs(model, posterior, k)
    known = dict(zip(posterior.cpdags, posterior.probabilities.tolist(), strict=True))
    first = graphs[0][0]
    cards = []
    for graph, score in graphs:
        differ = differences(first, graph)
        card: Plain = {"score": score, "probability": known.get(graph), "edges": graph.n_edges, "n": len(differ)}
        card["differences"] = [[*one.line[:2], one.kind, int(one.line.directed)] for one in differ[:DIFFERENCES]]
        if graph is first:
            card["graph"] = [[i, j, int(directed)] for i, j, directed in lines(graph)]
        cards.append(card)
    return cards


# --- the rest -------------------------------------------------------------------------------------


def _tests(model: StructureLearner) -> list[int] | None:
    tests = getattr(model, "n_ci_tests_", None)
    if tests is None or hasattr(model, "members_"):
        return None
    return [int(n) for n in tests]


def _settings(model: StructureLearner) -> list[list[str]]:
    shown: Sequence[tuple[str, Any]] = sorted(model.get_params(deep=False).items())
    return [[name, _cut(re.sub(r"\s+", " ", repr(value)))] for name, value in shown]


def _cut(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _safe(text: str) -> str:
    """Text that UTF-8 can encode: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
