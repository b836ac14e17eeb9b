"""One graph for a whole posterior, and the table of its edges.

The consensus graph has the pairs of variables that are adjacent with at least a given probability. How each edge
is drawn is settled pair by pair, the surest direction first (highest P(a → b), ties by name):

1. a → b if that is the more probable direction, by more than the level asked for, and no directed path leads
   from b to a through edges directed before;
2. else the edge stays undirected: the posterior has no direction for it that fits with surer ones.

So there is never a directed cycle, and no edge points against its more probable direction.

A table has one row for each pair, with the columns of bnlearn's ``boot.strength``: ``strength`` is the probability
that the two are adjacent, ``direction`` the probability of from → to if they are.

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

TIE = 1e-9  # probabilities closer than this are equal
DECIDED = 0.6  # up to this probability of a direction, pictures, reports and text show none


@dataclass(frozen=True, eq=False)
class Consensus:
    """The graph, and for each of its edges a row of the table; ``conflicts`` are the edges that point nowhere
    because their more probable direction would have closed a cycle.
    """

    graph: PDAG
    edges: list[Row]
    threshold: float
    conflicts: list[tuple[str, str]]

    def __str__(self) -> str:
        return f"{self.graph}\n({len(self.edges)} edges of probability {self.threshold:g} or more)"

    def to_dag(self) -> PDAG:
        """A DAG with all its edges: the undirected ones follow a topological order of the directed ones."""
        graph = self.graph.reorder(sorted(self.graph.names))  # so that the order of columns is no matter
        rank = np.argsort(topological_order(graph.adjacency & ~graph.adjacency.T))
        dag = PDAG(graph.names, graph.adjacency & (rank[:, None] < rank))
        return dag.reorder(self.graph.names)


def _even(probability: float) -> float:
    """Without rounding noise, so that equal probabilities are ties."""
    return round(probability, 9)


def table(
    names: Sequence[str], edges: NDArray[np.float64], threshold: float = 0.0, both: bool = False
) -> list[Row]:
    """Rows from, to, strength, direction for each pair with some strength, of at least ``threshold``.

    ``edges[i, j]`` is P(i → j). A pair is listed in its more probable direction, strongest first; with ``both``
    in either direction, as bnlearn does. pandas.DataFrame(rows) makes it a frame.
    """
    edges = np.asarray(edges, np.float64)
    if edges.shape != (len(names), len(names)):
        raise ValueError(f"edges has shape {edges.shape}: give P(i → j) for {len(names)} × {len(names)} variables")
    if not ((edges >= 0) & (edges <= 1 + TIE)).all():
        raise ValueError("edges holds values that are no probabilities: give numbers from 0 to 1")
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
    """The consensus graph of edge probabilities; an edge is directed if its direction is above ``direction``."""
    for name, value, least in (("threshold", threshold, 0.0), ("direction", direction, 0.5)):
        if not (isinstance(value, Real) and least <= value <= 1):
            raise ValueError(f"{name} is {value!r}: give a probability from {least:g} to 1")
    rows = table(names, edges, threshold)
    place = {name: i for i, name in enumerate(names)}
    graph = np.zeros((len(names),) * 2, np.int8)
    below = np.eye(len(names), dtype=bool)  # below[i, j]: a directed path leads from i to j, or i is j
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
