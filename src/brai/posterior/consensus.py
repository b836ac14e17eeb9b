"""Consensus graph of a posterior (model averaging), and the table of edge probabilities.

The consensus graph joins the pairs of variables that are adjacent with at least the probability ``threshold``.
Edges are directed one at a time, in falling order of P(a → b); ties are broken by name:

1. The edge becomes a → b if P(a → b | adjacent) is above the level ``direction``, and the edges directed so far
   contain no directed path from b to a.
2. Otherwise it stays undirected.

So the graph has no directed cycle, and no edge points against its more probable direction.

The table has one row for each pair, with the columns of bnlearn's ``boot.strength``: ``strength`` is the
probability that the two are adjacent, ``direction`` is P(from → to) given that they are adjacent.

>>> edges = np.array([[0.0, 0.375, 0.125], [0.125, 0.0, 0.375], [0.0, 0.375, 0.0]])
>>> for row in table(("a", "b", "c"), edges): print(row)
{'from': 'b', 'to': 'c', 'strength': 0.75, 'direction': 0.5}
{'from': 'a', 'to': 'b', 'strength': 0.5, 'direction': 0.75}
{'from': 'a', 'to': 'c', 'strength': 0.125, 'direction': 1.0}
>>> print(consensus(("a", "b", "c"), edges).graph)
a -> b
b -- c
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.graphs.adjacency import topological_order
from brai.graphs.pdag import PDAG

Row: TypeAlias = dict[str, Any]

TIE = 1e-9  # probabilities that differ by less count as equal
DECIDED = 0.6  # pictures, reports and text show an arrow if ``direction`` is above this


@dataclass(frozen=True, eq=False)
class Consensus:
    """The consensus graph, and a row of the table for each of its edges.

    ``conflicts`` are the edges left undirected because their more probable direction would close a cycle.
    """

    graph: PDAG
    edges: list[Row]
    threshold: float
    conflicts: list[tuple[str, str]]

    def __str__(self) -> str:
        return f"{self.graph}\n({len(self.edges)} edges with probability {self.threshold:g} or more)"

    def to_dag(self) -> PDAG:
        """A DAG with the same skeleton: undirected edges follow a topological order of the directed ones."""
        graph = self.graph.reorder(sorted(self.graph.names))  # so that the order of columns has no influence
        rank = np.argsort(topological_order(graph.adjacency & ~graph.adjacency.T))
        dag = PDAG(graph.names, graph.adjacency & (rank[:, None] < rank))
        return dag.reorder(self.graph.names)


def _even(probability: float) -> float:
    """The probability without rounding error, so that equal probabilities compare equal."""
    return round(probability, 9)


def table(
    names: Sequence[str], edges: NDArray[np.float64], threshold: float = 0.0, both: bool = False
) -> list[Row]:
    """Rows (dicts: from, to, strength, direction) for pairs with a strength above 0 and at least ``threshold``.

    ``edges[i, j]`` is P(i → j). Rows are sorted by falling strength. Each pair is listed in its more probable
    direction; with ``both`` in both directions, as bnlearn does. pandas.DataFrame(rows) makes a data frame.
    """
    edges = np.asarray(edges, np.float64)
    if edges.shape != (len(names), len(names)):
        raise ValueError(f"edges has shape {edges.shape}: give P(i → j) for {len(names)} × {len(names)} variables")
    if not ((edges >= 0) & (edges <= 1 + TIE)).all():
        raise ValueError("edges contains values that are not probabilities: give numbers from 0 to 1")
    strength = np.minimum(edges + edges.T, 1.0)
    rows: list[Row] = []
    for i, j in np.argwhere(np.triu((strength > TIE) & (strength >= threshold - TIE), 1)):
        first = (edges[i, j] >= edges[j, i] - TIE) if names[i] < names[j] else (edges[i, j] > edges[j, i] + TIE)
        ways = [(i, j), (j, i)] if first else [(j, i), (i, j)]
        for a, b in ways if both else ways[:1]:
            share = float(edges[a, b] / (edges[a, b] + edges[b, a]))
            rows.append({"from": names[a], "to": names[b], "strength": float(strength[a, b]), "direction": share})
    rows.sort(key=lambda row: (-_even(row["strength"]), *sorted((row["from"], row["to"]))))  # stable
    return rows


def consensus(
    names: Sequence[str], edges: NDArray[np.float64], threshold: float = 0.5, direction: float = 0.5
) -> Consensus:
    """The consensus graph of edge probabilities ``edges[i, j]`` = P(i → j).

    Pairs of at least ``threshold`` are joined; an edge is directed if its direction is above ``direction``.
    """
    for name, value, least in (("threshold", threshold, 0.0), ("direction", direction, 0.5)):
        if not (isinstance(value, Real) and least <= value <= 1):
            raise ValueError(f"{name} is {value!r}: give a probability from {least:g} to 1")
    rows = table(names, edges, threshold)
    place = {name: i for i, name in enumerate(names)}
    graph = np.zeros((len(names),) * 2, np.int8)
    below = np.eye(len(names), dtype=bool)  # below[i, j]: j is i or a descendant of i
    conflicts = []
    for row in sorted(rows, key=lambda row: (-_even(row["strength"] * row["direction"]), row["from"], row["to"])):
        a, b = place[row["from"]], place[row["to"]]
        graph[a, b] = 1
        sure = row["direction"] > direction + TIE
        if sure and not below[b, a]:
            below[np.ix_(below[:, a], below[b])] = True
            continue
        graph[b, a] = 1
        if sure:
            conflicts.append((row["from"], row["to"]))
    return Consensus(PDAG(tuple(names), graph), rows, threshold, conflicts)
