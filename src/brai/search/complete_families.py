"""A graph from a table with missing cells, without filling them: each family is scored on the rows that have it.

The gain of a family is score(v | parents) - score(v | nothing), both on the rows in which v and the parents are
there. So a family with missing cells has less evidence, not less dependence. Gains of families over different
rows do not add up to a likelihood; the graph is a start for the augmentation, and a fast first answer. (Scaling
gains to all rows would invent evidence.) Greedy hill climbing adds, removes and reverses edges.

Reference: Rancoita, Zaffalon, Zucca, Bertoni & de Campos 2016, "Bayesian network data imputation with application
to survival tree analysis", Computational Statistics & Data Analysis 93; Balov 2013, "Consistent model selection of
discrete Bayesian networks from incomplete data", Electronic Journal of Statistics 7.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.data.incomplete import Incomplete
from brai.graphs.knowledge import Bounds
from brai.graphs.pdag import Family
from brai.kernels.interface import Prior
from brai.kinds import kind_of
from brai.kinds.scores import FamilyScores

NEAR = 12  # candidate parents of a variable
PAIRED = 300  # variables up to which all pairs are scored on the rows that have both
TIE = 1e-9
FEWEST = 10  # rows that a family needs


class Gains:
    """Gains of families, each on the rows that have it; with the prior, and a cache."""

    def __init__(self, data: Incomplete, score: str, ess: float | str, prior: Prior):
        self.data, self.score, self.ess, self.prior = data, score, ess, prior
        self._known: dict[Family, float] = {}

    def __call__(self, v: int, parents: tuple[int, ...]) -> float:
        """The gain of v with these parents, sorted, over v without any."""
        if not parents:
            return 0.0
        key = v, parents
        if key not in self._known:
            self._known[key] = self._of_data(v, parents) + self._of_prior(v, parents)
        return self._known[key]

    def _of_data(self, v: int, parents: tuple[int, ...]) -> float:
        scope = (v, *parents)
        gone = np.asarray(self.data.missing[list(scope)].any(axis=0))
        n = len(gone) - int(gone.sum())
        if n < FEWEST:
            return -math.inf
        table = self.data.table.select([self.data.names[i] for i in scope])
        if n < len(gone):
            table = table.rows(np.flatnonzero(~gone))
        whole, alone = FamilyScores(table, self.score, self.ess).families(
            [(0, tuple(range(1, len(scope)))), (0, ())]
        )
        return whole - alone

    def _of_prior(self, v: int, parents: tuple[int, ...]) -> float:
        sizes, edges = self.prior
        total = float(sizes[len(parents)] - sizes[0]) if len(sizes) else 0.0
        return total + (float(edges[list(parents), v].sum()) if len(edges) else 0.0)


def climb(gains: Gains, bounds: Bounds, max_parents: int, deadline: float = math.inf) -> tuple[Family, ...]:
    """The DAG at which no single edge can be added, removed or reversed with a gain, as families."""
    d = gains.data.n_variables
    constant = kind_of(gains.data).constant(gains.data)
    allowed = bounds.allowed & ~constant & ~constant[:, None] | bounds.required
    near = _candidates(gains, allowed, deadline)
    parents: list[set[int]] = [set(np.flatnonzero(own).tolist()) for own in bounds.required.T]

    def gain(v: int, own: set[int]) -> float:
        return gains(v, tuple(sorted(own)))

    while time.monotonic() < deadline:
        best, move = TIE, None
        for u, v in _changes(parents, near, max_parents):
            if u in parents[v]:
                if bounds.required[u, v]:
                    continue
                less = gain(v, parents[v] - {u}) - gain(v, parents[v])
                if less > best:
                    best, move = less, ("remove", u, v)
                if allowed[v, u] and len(parents[u]) < max_parents:
                    turned = less + gain(u, parents[u] | {v}) - gain(u, parents[u])
                    if turned > best and not _reaches(parents, u, v, without=(u, v)):
                        best, move = turned, ("reverse", u, v)
            elif (more := gain(v, parents[v] | {u}) - gain(v, parents[v])) > best and not _reaches(parents, v, u):
                best, move = more, ("add", u, v)
        if move is None:
            break
        what, u, v = move
        if what == "add":
            parents[v].add(u)
        else:
            parents[v].remove(u)
            if what == "reverse":
                parents[u].add(v)
    return tuple((v, tuple(sorted(own))) for v, own in enumerate(parents[:d]))


def _candidates(gains: Gains, allowed: NDArray[np.bool_], deadline: float) -> list[list[int]]:
    """The NEAR most promising parents of each variable, by pairs."""
    data: Any = gains.data
    d = data.n_variables
    matrix = np.full((d, d), -np.inf)
    if d > PAIRED:
        scores = FamilyScores(data.table, gains.score, gains.ess)
        alone = scores.families([(v, ()) for v in range(d)])
    for v in range(d):
        others = np.flatnonzero(allowed[:, v]).tolist()
        if d > PAIRED:  # missing cells are random values here, which weakens dependence alike
            found = scores.families([(v, (u,)) for u in others])
            matrix[others, v] = np.array(found) - alone[v]
            continue
        for u in others:
            late = time.monotonic() > deadline
            matrix[u, v] = matrix[v, u] if u < v and allowed[v, u] else -np.inf if late else gains(v, (u,))
    near = []
    for v in range(d):
        rank = np.argsort(-np.round(matrix[:, v], 9), kind="stable")[:NEAR]
        near.append([int(u) for u in rank if matrix[u, v] > -np.inf])
    return near


def _changes(
    parents: Sequence[set[int]], near: Sequence[list[int]], max_parents: int
) -> Iterator[tuple[int, int]]:
    """Pairs (u, v): an edge u → v that is there, or one that may be added."""
    for v, own in enumerate(parents):
        yield from ((u, v) for u in sorted(own))
        if len(own) < max_parents:
            yield from ((u, v) for u in near[v] if u not in own and v not in parents[u])


def _reaches(parents: Sequence[set[int]], start: int, end: int, without: tuple[int, int] | None = None) -> bool:
    """Whether a directed path leads from ``start`` to ``end``, without using one edge."""
    seen, waiting = {end}, [end]
    while waiting:
        v = waiting.pop()
        for u in parents[v]:
            if (u, v) == without or u in seen:
                continue
            if u == start:
                return True
            seen.add(u)
            waiting.append(u)
    return start == end
