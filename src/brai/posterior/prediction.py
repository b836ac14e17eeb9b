"""Posterior predictive probabilities P(D_new | D), for one graph (model selection) and for many (averaging).

A row has P(row | G, D) = Π_i θ, with parameters θ = (N_ijk + ess / (q r)) / (N_ij + ess / q), the means of
Dirichlet posteriors. With such priors all DAGs of a class predict alike, so one stands for its class. Over graphs

    P(D_new | D) = Σ_G P(D_new | G, D) P(G | D)

is summed by log-sum-exp. A family that several graphs share is computed once.
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


def log_predictive(families: Iterable[Family], train: Any, test: Any, ess: float = 1.0) -> NDArray[np.float64]:
    """Log probability of each row of ``test`` under a DAG whose parameters are learned from ``train``."""
    found = [rows[0] for rows in _by_graph([tuple(families)], train, test, ess)]
    return np.concatenate(found)


def averaged_log_predictive(posterior: Posterior, train: Any, test: Any, ess: float = 1.0) -> NDArray[np.float64]:
    """Log of Σ_G P(row | G, D) P(G | D) for each row of ``test``: every row a D_new of its own."""
    names, graphs = posterior.families()
    weights = _logs(posterior)[:, None]
    blocks = _by_graph(graphs, train.select(names), test.select(names), ess)
    return np.concatenate([logsumexp(rows + weights, axis=0) for rows in blocks])


def joint_log_predictive(posterior: Posterior, train: Any, test: Any, ess: float = 1.0) -> float:
    """Log of Σ_G P(D_new | G, D) P(G | D), D_new being all rows of ``test`` together.

    Parameters stay those of D: the rows of D_new are independent given the graph.
    """
    names, graphs = posterior.families()
    blocks = _by_graph(graphs, train.select(names), test.select(names), ess)
    total = np.sum([rows.sum(axis=1) for rows in blocks], axis=0)
    return float(logsumexp(total + _logs(posterior)))


def _logs(posterior: Posterior) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(posterior.probabilities)


def _by_graph(
    graphs: Sequence[Sequence[Family]], train: Any, test: Any, ess: float
) -> Iterator[NDArray[np.float64]]:
    """Log probabilities (graphs, rows), a block of rows of ``test`` at a time."""
    place = {family: i for i, family in enumerate(dict.fromkeys(f for graph in graphs for f in graph))}
    columns = [place[family] for graph in graphs for family in graph]
    ends = np.cumsum([0, *map(len, graphs)])
    holds = csr_array((np.ones(len(columns)), columns, ends), shape=(len(graphs), len(place)))
    for block in kind_of(train).predictions(list(place), train, test, ess):
        yield holds @ block
