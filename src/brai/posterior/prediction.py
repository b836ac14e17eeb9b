"""Posterior predictive probabilities P(D_new | D), for one graph (model selection) or many (model averaging).

For a row, P(row | G, D) = Π_i θ. The parameters are the means of Dirichlet posteriors,
θ = (N_ijk + ess / (q r)) / (N_ij + ess / q). With BDeu priors all DAGs of a class give the same predictions, so
one DAG represents its class. The average over graphs

    P(D_new | D) = Σ_G P(D_new | G, D) P(G | D)

is computed by log-sum-exp. A family that occurs in several graphs is evaluated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp

from brai.graphs.pdag import Family
from brai.kinds import kind_of
from brai.posterior.weighted import Posterior


def log_predictive(
    families: Iterable[Family], train: Any, test: Any, ess: float | str = 1.0
) -> NDArray[np.float64]:
    """Log probability of each row of ``test`` under a DAG whose parameters are learned from ``train``."""
    found = [rows[0] for rows in _by_graph([tuple(families)], train, test, ess)]
    return np.concatenate(found)


def averaged_log_predictive(
    posterior: Posterior, train: Any, test: Any, ess: float | str = 1.0
) -> NDArray[np.float64]:
    """Log of Σ_G P(row | G, D) P(G | D) for each row of ``test``; each row is its own D_new."""
    names, graphs = posterior.families()
    weights = _logs(posterior)[:, None]
    blocks = _by_graph(graphs, train.select(names), test.select(names), ess)
    return np.concatenate([logsumexp(rows + weights, axis=0) for rows in blocks])


def joint_log_predictive(posterior: Posterior, train: Any, test: Any, ess: float | str = 1.0) -> float:
    """Log of Σ_G P(D_new | G, D) P(G | D), where D_new is all rows of ``test`` together.

    Parameters are learned from D only, so the rows of D_new are independent given the graph.
    """
    names, graphs = posterior.families()
    blocks = _by_graph(graphs, train.select(names), test.select(names), ess)
    total = np.sum([rows.sum(axis=1) for rows in blocks], axis=0)
    return float(logsumexp(total + _logs(posterior)))


def _logs(posterior: Posterior) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(posterior.probabilities)


def _by_graph(
    graphs: Sequence[Sequence[Family]], train: Any, test: Any, ess: float | str
) -> Iterator[NDArray[np.float64]]:
    """Log probabilities, arrays (graphs, rows), for one block of rows of ``test`` after another."""
    place = {family: i for i, family in enumerate(dict.fromkeys(f for graph in graphs for f in graph))}
    columns = [place[family] for graph in graphs for family in graph]
    ends = np.cumsum([0, *map(len, graphs)])
    holds = csr_array((np.ones(len(columns)), columns, ends), shape=(len(graphs), len(place)))
    for block in kind_of(train).predictions(list(place), train, test, ess):
        yield holds @ block
