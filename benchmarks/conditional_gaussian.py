"""The conditional Gaussian score as bnlearn has it, with hill climbing: a comparator for benchmarks/mixed.py.

A measurement has a regression of its own, with a variance of its own, in each configuration of the categories
among its parents; a category has a table. The score is the log-likelihood minus ½ log N for each parameter (BIC).
Edges from measurements to categories are forbidden. Ordered states are categories. A family is not allowed if a
configuration that occurs has too few rows for its regression.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brai import PDAG


class ConditionalGaussian:
    """Scores of families."""

    def __init__(self, data: Any) -> None:
        self.columns, self.n = data.columns(), data.n_rows
        self.arities = [len(data.states_of(v) or ()) for v in range(data.n_variables)]

    def allowed(self, parent: int, child: int) -> bool:
        """Whether the edge is allowed."""
        return parent != child and not (self.arities[child] and not self.arities[parent])

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """Log-likelihood and penalty of a family."""
        states = [p for p in parents if self.arities[p]]
        numbers = [p for p in parents if not self.arities[p]]
        q = math.prod(self.arities[p] for p in states)
        at = np.zeros(self.n, np.int64)
        for p in states:
            at = at * self.arities[p] + self.columns[p]
        _, at = np.unique(at, return_inverse=True)
        if r := self.arities[child]:
            counts = np.bincount(at * r + self.columns[child], minlength=(at.max() + 1) * r).reshape(-1, r)
            total = counts.sum(axis=1, keepdims=True)
            fit = float((counts * np.log(np.maximum(counts, 1) / total)).sum())
            return fit - math.log(self.n) / 2 * (r - 1) * q
        y, k = self.columns[child], len(numbers) + 1
        design = np.stack([np.ones(self.n), *(self.columns[p] for p in numbers)], axis=1)
        fit = 0.0
        for rows in np.split(np.argsort(at, kind="stable"), np.cumsum(np.bincount(at))[:-1]):
            own = design[rows]
            if len(rows) <= k:
                return -math.inf
            error = y[rows] - own @ np.linalg.lstsq(own, y[rows], rcond=None)[0]
            variance = float(error @ error) / len(rows)
            if variance < 1e-12:
                return -math.inf
            fit -= len(rows) / 2 * (math.log(2 * math.pi * variance) + 1)
        return fit - math.log(self.n) / 2 * (k + 1) * q


def climb(data: Any) -> PDAG:
    """The CPDAG of the DAG where hill climbing ends: edges are added, deleted and reversed."""
    scores, d = ConditionalGaussian(data), data.n_variables
    parents: list[tuple[int, ...]] = [()] * d
    values = np.array([scores.score(v, ()) for v in range(d)])
    gains = np.full((d, d), -np.inf)  # of toggling the edge row → column

    def toggled(p: int, v: int) -> tuple[int, ...]:
        return tuple(sorted(set(parents[v]) ^ {p}))

    def renew(v: int) -> None:
        for p in range(d):
            if scores.allowed(p, v):
                gains[p, v] = scores.score(v, toggled(p, v)) - values[v]

    for v in range(d):
        renew(v)
    while True:
        graph = np.zeros((d, d), bool)
        for v in range(d):
            graph[list(parents[v]), v] = True
        reach = np.eye(d, dtype=bool)
        reach |= graph
        for _ in range(d.bit_length()):  # paths of twice the length
            reach = reach.astype(float) @ reach > 0
        moves = np.where(graph, gains, np.where(reach.T, -np.inf, gains))
        p, v = np.unravel_index(moves.argmax(), moves.shape)
        best = [(float(moves[p, v]), p, v, False)]
        for p, v in np.argwhere(graph):
            between = [c for c in np.flatnonzero(graph[p]) if c != v]
            if not reach[between, v].any():  # no other path, which would become a cycle
                best.append((float(gains[p, v] + gains[v, p]), p, v, True))
        gain, p, v, turned = max(best)
        if gain < 1e-8:
            return PDAG(data.names, graph.astype(np.int8)).to_cpdag()
        for a, b in ((p, v), (v, p))[: 1 + turned]:
            parents[b] = toggled(a, b)
            values[b] = scores.score(b, parents[b])
            renew(b)
