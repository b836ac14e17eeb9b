"""The summary of a fitted model: as plain values for JSON, and as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brai.data.columns import count
from brai.data.incomplete import PREFIX
from brai.data.mixed import Mixed
from brai.graphs.beliefs import Belief
from brai.learners.base import StructureLearner
from brai.learners.brai import BRAI
from brai.posterior.consensus import DECIDED, TIE, table
from brai.posterior.weighted import Posterior
from brai.posterior.with_knowledge import beliefs_after
from brai.runtime.text import plain
from brai.show.missingness import counts, in_words

MOST = 20  # most edges listed in the text
_SHOWN = 0.01  # the text only counts edges below this probability
_KINDS = {"gaussian": ", measurements"}
_COLUMNS = {
    "discrete": ("category", "categories"),
    "ordered": ("ordered", "ordered"),
    "continuous": ("measurement", "measurements"),
}
NAMED = 5  # columns of a kind that are named
_OVER = {"dags": "each DAG counts by its prior", "classes": "each equivalence class counts once"}


def summary(model: BRAI, n_rows: int, posterior: Posterior, source: dict[str, Any]) -> dict[str, Any]:
    """Everything the commands report, as plain values; ``source`` describes how the posterior was computed."""
    tree, distinct = model.tree_, model.n_distinct()
    return {
        "rows": n_rows,
        "kind": model._train.kind,
        **_kinds_of(model._train),
        **({"missing": gone} if (gone := counts(model._train)) else {}),
        "variables": list(model.cpdag_.names),
        "map": {
            "directed": model.mpdag_.directed_edges(),
            "undirected": model.mpdag_.undirected_edges(),
            "log_score": model.log_score_,
            "log_likelihood": model.log_likelihood_,
            "log_prior": model.log_prior_,
            "score": model.score_,
            "ess": model.ess_,
        },
        "prior": {
            "structure": model.structure_prior_.plain(),
            "sentence": model.structure_prior_.sentence(),
            "beliefs": beliefs_after(model._obeyed, posterior),
            "compared": [tried._asdict() for tried in model.hyperparameters_],
        },
        "tree": {
            "s": tree.s,
            "nodes": tree.n_nodes,
            "leaves": tree.n_leaves,
            "depth": tree.depth,
            "routes": tree.n_routes,
            "distinct_cpdags": distinct.n,
            "distinct_is_exact": distinct.exact,
            "repaired_leaves": tree.n_repaired,
            "truncated_leaves": tree.n_truncated,
            "ci_tests_by_order": tree.n_ci_tests.tolist(),
            **_thresholds(model),
        },
        **_search(model),
        "posterior": {
            **source,
            "cpdags": len(posterior),
            "graphs": posterior.kind,
            "n_effective": posterior.n_effective,
            "prior": posterior.prior,
            "source": posterior.source,
            "edges": _edges(model, posterior),
        },
    }


def _kinds_of(data: Any) -> dict[str, Any]:
    """The kind of each column, if there are several."""
    table = getattr(data, "table", data)  # with missing cells
    return {"kinds": dict(zip(table.names, table.kinds, strict=True))} if isinstance(table, Mixed) else {}


def kinds_in_words(kinds: Mapping[str, str]) -> str:
    """How many columns there are of each kind: "3 categories, 1 ordered (stage), 2 measurements (age, bp)".

    Ordered columns and measurements are named, up to NAMED of each.
    """
    parts = []
    for kind, words in _COLUMNS.items():
        if own := [name for name, its in kinds.items() if its == kind]:
            named = f" ({', '.join(own[:NAMED])}{', …' * (len(own) > NAMED)})" * (kind != "discrete")
            parts.append(f"{len(own)} {words[len(own) > 1]}{named}")
    return ", ".join(parts)


def _edges(model: BRAI, posterior: Posterior) -> list[dict[str, Any]]:
    """The table of edges; if the posterior is bagged, with the probabilities of the model beside it."""
    rows = table(posterior.names, posterior.edge_probabilities())
    add_coefficients(model, rows)
    add_missing_information(model, rows)
    if posterior.source != "bagged":
        return rows
    edges, place = model.model_posterior().edge_probabilities(), {n: i for i, n in enumerate(model.dag_.names)}
    for row in rows:
        i, j = place[row["from"]], place[row["to"]]
        strength = min(1.0, float(edges[i, j] + edges[j, i]))
        direction = float(edges[i, j] / strength) if strength > 0 else None
        row |= {"model_strength": strength, "model_direction": direction}
    return rows


def add_coefficients(model: StructureLearner, rows: list[dict[str, Any]]) -> None:
    """Add the standardised coefficient of each edge and its 95 % interval; nothing for discrete data."""
    sizes = model.edge_coefficients()
    if sizes is None:
        return
    place = {name: i for i, name in enumerate(model.feature_names_in_)}
    for row in rows:
        i, j = place[row["from"]], place[row["to"]]
        if np.isnan(sizes.mean[i, j]):
            i, j = j, i
        mean, sd = float(sizes.mean[i, j]), float(sizes.sd[i, j])
        known = not np.isnan(mean)
        row |= {"coefficient": mean if known else None, "low": mean - 1.96 * sd if known else None}
        row["high"] = mean + 1.96 * sd if known else None


def add_missing_information(model: StructureLearner, rows: list[dict[str, Any]]) -> None:
    """Add the share of each edge's uncertainty that is due to missing cells, an upper bound; if there are any."""
    if counts(model._train) is None:
        return
    found, place = model.missing_information(), {name: i for i, name in enumerate(model._train.names)}
    for row in rows:
        row["missing_information"] = round(float(found[place[row["from"]], place[row["to"]]]), 4)


def _search(model: BRAI) -> dict[str, Any]:
    """Which pairs of parents the search scored; nothing without a search."""
    screen = model.joint_parents_
    if screen is None:
        return {}
    return {"search": {"pairs_of_parents": {**screen._asdict(), "notice": screen.notice}}}


def _thresholds(model: BRAI) -> dict[str, Any]:
    """The threshold of CITest(threshold="auto") and those that were tried; nothing for other tests."""
    curve = [tried._asdict() for tried in model.threshold_curve_]
    return {"threshold": model.threshold_, "thresholds": curve} if curve else {}


def as_text(found: dict[str, Any], files: tuple[str, str] | None = None) -> str:
    """The summary as text; ``files`` are the names of the files with all edges and all edge probabilities."""
    graph_file, edge_file = (f"in {name}" for name in files) if files else ("with --json",) * 2
    best, tree, measured = found["map"], found["tree"], _KINDS.get(found.get("kind", "").removeprefix(PREFIX), "")
    if "kinds" in found:
        measured = f": {kinds_in_words(found['kinds'])}"
    bound = "" if tree["distinct_is_exact"] else "at most "
    lines = [
        f"{count(found['rows'], 'row')}, {count(len(found['variables']), 'variable')}{measured}",
        *_missing(found.get("missing")),
        "",
        f"Equivalence class of highest score (MAP CPDAG), log score {best['log_score']:.3f} "
        f"({best['score']}, ess {best['ess']}): log likelihood {best['log_likelihood']:.3f}, log prior "
        f"{best['log_prior']:.3f}",
        *_at_most(edge_lines(best["directed"], best["undirected"]), graph_file),
        "",
        found["prior"]["sentence"],
        *_stated(found["prior"]["beliefs"]),
        "",
        f"Tree with s = {tree['s']} bootstrap samples per node: {count(tree['nodes'], 'node')}, {tree['leaves']} "
        f"of them leaves, depth {tree['depth']}",
        f"  {count(tree['routes'], 'route')}, {bound}{count(tree['distinct_cpdags'], 'distinct CPDAG')}",
        f"  conditional-independence tests by order: {', '.join(map(str, tree['ci_tests_by_order'])) or 'none'}",
    ]
    if "threshold" in tree:
        tried = ", ".join(f"{one['threshold']:g}" for one in tree["thresholds"])
        lines.append(f"  threshold {tree['threshold']:g} nats, chosen by score from {tried}")
    if tree["repaired_leaves"]:
        lines.append(f"  leaves whose graph had no DAG extension and was repaired: {tree['repaired_leaves']}")
    if tree["truncated_leaves"]:
        lines.append(f"  leaves truncated by a limit on order, tests or time: {tree['truncated_leaves']}")
    if notice := found.get("search", {}).get("pairs_of_parents", {}).get("notice"):
        lines += ["", notice]
    return "\n".join(map(plain, [*lines, "", *_probabilities(found["posterior"], edge_file)]))


def _missing(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    averaged = "  probabilities, parameters and effects are averaged over the completed tables"
    return [in_words(found), *[averaged] * bool(found["completed_tables"])]


def _stated(beliefs: list[dict[str, Any]]) -> list[str]:
    """Beliefs: the stated probability, and the posterior one."""
    lines = []
    for own in beliefs:
        after = "-" if own["posterior"] is None else f"{own['posterior']:.3f}"
        lines.append(
            f"  {Belief(own['a'], own['b'], own['probability'], own['about'])} before the data, {after} after"
        )
    return lines


def edge_lines(directed: Sequence[Sequence[str]], undirected: Sequence[Sequence[str]]) -> list[str]:
    """The edges of a graph, one per line."""
    found = [f"  {a} → {b}" for a, b in directed] + [f"  {a} – {b}" for a, b in undirected]
    return found or ["  (no edges)"]


def _at_most(lines: list[str], where: str) -> list[str]:
    """The first lines, and where to find the others."""
    return lines if len(lines) <= MOST else [*lines[:MOST], f"  … and {len(lines) - MOST} more {where}"]


def _probabilities(posterior: dict[str, Any], where: str) -> list[str]:
    if "chains" in posterior:
        number = posterior["chains"] * posterior["draws_each"]
        classes = f" of {count(posterior['cpdags'], 'CPDAG')}" if posterior["graphs"] == "CPDAG" else ""
        r_hat = "infinite" if posterior["r_hat"] is None else f"{posterior['r_hat']:.3f}"
        bagged = "halves" in posterior
        also = f", and of chains on {posterior['halves']} random halves of the rows" if bagged else ""
        lines = [
            f"Edge probabilities from {number} DAGs drawn by MCMC{also}{classes}; {_OVER[posterior['prior']]}",
            f"  {count(posterior['chains'], 'chain')}, R-hat {r_hat} (near 1 if converged), "
            f"effective sample size {posterior['ess']:.0f}",
            f"  chains differ by up to {posterior['max_disagreement']:.2f} in the probability of an edge",
        ]
        return [*lines, *_rows(posterior, where)]
    if "draws" in posterior:
        source = f"{posterior['draws']} draws ({posterior['method']}, temperature {posterior['temperature']}), "
    else:
        source = "the best "
    lines = [
        f"Edge probabilities from {source}{count(posterior['cpdags'], posterior['graphs'])} of tree and search; "
        f"{_OVER[posterior['prior']]}",
        f"  effective number of graphs {posterior['n_effective']:.1f}",
    ]
    return [*lines, *_rows(posterior, where)]


def _rows(posterior: dict[str, Any], where: str) -> list[str]:
    lines, head = [], []
    rows = [row for row in posterior["edges"] if row["strength"] >= _SHOWN]
    if rows:
        width = max(len(row["from"]) + len(row["to"]) for row in rows) + 3
        head.append("  strength is P(adjacent), direction is P(this direction | adjacent)")
        bagged = "model_strength" in rows[0]
        if bagged:
            head.append("  model is P(adjacent) of the chains on the data alone, without halves of the rows")
        sized = "coefficient" in rows[0]
        if sized:
            head.append("  size is the standardised coefficient, with its 95 % interval")
        head.append(f"  {'edge':<{width}}  strength  direction" + "     model" * bagged + "  size" * sized)
    for row in rows:
        sign = "→" if row["direction"] > DECIDED + TIE else "–"
        edge = f"{row['from']} {sign} {row['to']}"
        model = f"  {row['model_strength']:8.1%}" if "model_strength" in row else ""
        size = ""
        if row.get("coefficient") is not None:
            size = f"  {row['coefficient']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})"
        lines.append(f"  {edge:<{width}}  {row['strength']:8.1%}  {row['direction']:9.1%}{model}{size}")
    lines = [*head, *_at_most(lines, where)]
    if more := len(posterior["edges"]) - len(rows):
        lines.append(f"  and {count(more, 'edge')} of strength below {_SHOWN:.0%}")
    return lines
