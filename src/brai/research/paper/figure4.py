"""Figure 4: how well posterior probabilities separate true from false features, as area under the ROC curve.

ROC is the receiver operating characteristic. Features are directed edges, members of Markov blankets, and directed
paths, on samples of 500 rows of Asia, Cancer, Earthquake and Survey.

As in the paper, each method returns k equivalence classes, and their DAGs are weighted by their scores. The
classes are the k best of all (exact), the k best among 10,000 draws of DP-MCMC, among bootstraps of MMHC, and in
the tree of B-RAI.

Not in the paper are: many data sets instead of one, with confidence bands; BRAI with its defaults, with its k best
classes and with its posterior (MCMC, no k); and the exact posterior over all DAGs, as a reference. Its edge
probabilities are exact sums; those of blankets and paths are frequencies in independent draws.
"""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from brai.data.dataset import Dataset
from brai.graphs.pdag import PDAG
from brai.learners.bootstrap import Bootstrap
from brai.learners.brai import BRAI
from brai.learners.exact import DPMCMC
from brai.learners.mmhc import MMHC
from brai.posterior import exact
from brai.posterior.weighted import Posterior
from brai.research.paper import readings
from brai.research.paper.cells import Cell, Result
from brai.research.paper.sources import TRAIN_ROWS, network_of, proper_name

NETWORKS = ("Asia", "Cancer", "Earthquake", "Survey")
KS = (5, 10, 15)
FEATURES = ("edge", "Markov blanket", "path")
BY_K = ("exact k-best", "DP-MCMC", "BS-MMHC", "B-RAI", "BRAI k-best")
WHOLE = ("BRAI posterior", "exact posterior")
DRAWS = 20_000  # draws from the exact posterior
N_DP_MCMC, N_BOOTSTRAPS = 10_000, 1000
T_95 = 1.96

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def cell(
    folder: Path | None, network: str, version: int, small: bool, seed: int, more: Sequence[str] = ()
) -> Result:
    """Areas under the ROC curves of all methods on one data set; ``more`` are further readings of the CI test."""
    source = network_of(folder, network)
    data = source.sample(TRAIN_ROWS, random_state=version)
    share = 20 if small else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scored = _scored_classes(data, share, seed)
        model = BRAI(random_state=seed).fit(data)
        scored["BRAI k-best"] = model.k_best(max(KS))
        for reading in more:
            tree = readings.model_of("B-RAI", reading, data.n_variables, seed).fit(data)
            scored[readings.label("B-RAI", reading)] = tree.k_best(max(KS))
        areas: dict[str, Any] = {}
        for method in scored:
            by_score = heapq.nlargest(max(KS), scored[method], key=lambda one: one[1])
            areas[method] = {
                str(k): _areas(source.pdag, _of_posterior(Posterior.from_scores(by_score[:k]))) for k in KS
            }
        areas["BRAI posterior"] = _areas(source.pdag, _of_posterior(model.posterior()))
        areas["exact posterior"] = _areas(source.pdag, _of_all(data, DRAWS // share, seed))
    return {"areas": areas, "classes": {method: min(max(KS), len(found)) for method, found in scored.items()}}


def _scored_classes(data: Dataset, share: int, seed: int) -> dict[str, list[tuple[PDAG, float]]]:
    """The distinct equivalence classes that the methods of the paper find, with their scores."""
    chain = DPMCMC(n=N_DP_MCMC // share, random_state=seed).fit(data).chain_
    bootstrap = Bootstrap(MMHC(), n=N_BOOTSTRAPS // share, random_state=seed).fit(data)
    return {
        "exact k-best": exact.k_best(data, max(KS)),
        "DP-MCMC": _distinct((dag.to_cpdag(), score) for dag, score in chain.draws()),
        "BS-MMHC": _distinct(bootstrap.members_),
        "B-RAI": BRAI.paper(3, random_state=seed).fit(data).k_best(max(KS)),
    }


def _distinct(members: Iterable[tuple[PDAG, float]]) -> list[tuple[PDAG, float]]:
    return list(dict(members).items())


def _of_posterior(posterior: Posterior) -> tuple[Floats, Floats, Floats]:
    """Probabilities of the three features."""
    return (
        posterior.edge_probabilities(),
        posterior.markov_blanket_probabilities(),
        posterior.path_probabilities(),
    )


def _of_all(data: Dataset, n: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """The same over all DAGs: exact for edges, from independent draws for blankets and paths."""
    drawn = np.array([dag.adjacency for dag, _ in exact.sample_dags(data, n, random_state=seed)], bool)
    return exact.edge_probabilities(data), _blankets(drawn).mean(axis=0), _paths(drawn).mean(axis=0)


def _blankets(dags: Bools) -> Bools:
    """Neighbours in the moral graph of each DAG: adjacent, or with a common child."""
    joined = dags | dags.swapaxes(-1, -2) | (dags @ dags.swapaxes(-1, -2))
    return joined & ~np.eye(dags.shape[-1], dtype=bool)


def _paths(dags: Bools) -> Bools:
    """Whether a directed path leads from i to j in each DAG, by repeated doubling of the path length."""
    found = dags
    for _ in range(dags.shape[-1].bit_length()):
        found = found | (found @ found)
    return found


def _areas(truth: PDAG, found: tuple[Floats, Floats, Floats]) -> dict[str, float]:
    """Area under the ROC curve of each feature; blankets are symmetric, so each pair counts once."""
    n = len(truth.names)
    ordered, once = ~np.eye(n, dtype=bool), np.triu(np.ones((n, n), bool), 1)
    edges = truth.adjacency.astype(bool)
    true = (edges, _blankets(edges), _paths(edges))
    return {
        name: float(roc_auc_score(is_true[pairs], probability[pairs]))
        for name, is_true, probability, pairs in zip(FEATURES, true, found, (ordered, once, ordered), strict=True)
    }


def cells(
    folder: Path | None, networks: Sequence[str], sets: int, *, small: bool, seed: int, more: Sequence[str] = ()
) -> list[Cell]:
    """One cell per data set; ``small`` takes a twentieth of the draws, ``more`` are further readings."""
    size = "small" if small else "full"
    return [
        Cell((network, size, str(version), *more), cell, (folder, network, version, small, seed, tuple(more)))
        for network in map(proper_name, networks)
        for version in range(1, sets + 1)
    ]


def flat(cells: Sequence[Cell], results: Sequence[Result]) -> list[Result]:
    """One record per data set."""
    return [
        {"network": one.key[0], "size": one.key[1], "set": int(one.key[2]), **result}
        for one, result in zip(cells, results, strict=True)
    ]


def summary(rows: Sequence[Result]) -> list[Result]:
    """Means over data sets, and their differences to the exact posterior, with 95 % confidence bands."""
    found = []
    for network in dict.fromkeys(row["network"] for row in rows):
        own = [row["areas"] for row in rows if row["network"] == network]
        for feature in FEATURES:
            top = np.array([areas["exact posterior"][feature] for areas in own])
            for method in (*by_k(own[0]), *WHOLE):
                for k in (None,) if method in WHOLE else KS:
                    values = np.array([(a[method] if k is None else a[method][str(k)])[feature] for a in own])
                    line = {"network": network, "feature": feature, "method": method, "k": k, "sets": len(own)}
                    line |= {"auc": float(values.mean()), "band": _band(values)}
                    found.append(
                        {**line, "below_exact": float((top - values).mean()), "below_band": _band(top - values)}
                    )
    return found


def by_k(methods: Iterable[str]) -> list[str]:
    """Methods that return k classes, readings of B-RAI last."""
    return [*BY_K, *sorted((method for method in methods if ", " in method), key=readings.rank)]


def _band(values: Floats) -> float | None:
    return T_95 * float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def as_text(lines: Sequence[Result]) -> str:
    """A table per feature, networks by methods, at the largest k."""
    out, shown = [], (*by_k(dict.fromkeys(line["method"] for line in lines)), *WHOLE)
    for feature in FEATURES:
        out += [f"**{feature}**, k = {max(KS)}", "", f"| | {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
        for network in dict.fromkeys(line["network"] for line in lines):
            own = {
                line["method"]: line
                for line in lines
                if (line["network"], line["feature"]) == (network, feature) and line["k"] in (None, max(KS))
            }
            out.append(f"| {network} | {' | '.join(_shown(own[method]) for method in shown)} |")
        out.append("")
    return "\n".join(out)


def _shown(line: Result) -> str:
    return f"{line['auc']:.3f}" + ("" if line["band"] is None else f" ±{line['band']:.3f}")


def picture(lines: Sequence[Result], path: Path) -> None:
    """Rows are networks, columns are features; k is on the x axis, methods without k are horizontal lines."""
    from matplotlib.figure import Figure

    networks = list(dict.fromkeys(line["network"] for line in lines))
    figure = Figure(figsize=(10.5, 2.5 * len(networks) + 0.8), layout="constrained")
    panels = figure.subplots(len(networks), len(FEATURES), squeeze=False, sharex=True)
    for network, row in zip(networks, panels, strict=True):
        for feature, axes in zip(FEATURES, row, strict=True):
            own = [line for line in lines if (line["network"], line["feature"]) == (network, feature)]
            for place, method in enumerate(by_k(dict.fromkeys(one["method"] for one in own))):
                points = [one for one in own if one["method"] == method]
                at = [one["k"] + 0.3 * (place - 2) for one in points]
                bands = [one["band"] or 0.0 for one in points]
                axes.errorbar(at, [one["auc"] for one in points], bands, fmt="o-", ms=4, capsize=2, label=method)
            for method, style, colour in zip(WHOLE, ("--", "-"), ("C5", "k"), strict=True):
                (one,) = (line for line in own if line["method"] == method)
                axes.axhline(one["auc"], ls=style, color=colour, lw=1.2, label=method)
            axes.set_title(f"{network}: {feature}", fontsize="medium")
            axes.set_xticks(KS)
    for axes in panels[-1]:
        axes.set_xlabel("k")
    for axes in panels[:, 0]:
        axes.set_ylabel("area under ROC")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)
