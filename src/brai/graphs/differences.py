"""The edges of a graph as lines to draw or list, and the edges in which two graphs differ."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from brai.graphs.pdag import PDAG


class Line(NamedTuple):
    """An edge between two nodes, by their indices; an undirected edge has the smaller index first."""

    tail: int
    head: int
    directed: bool


class Difference(NamedTuple):
    """A pair of nodes at which two graphs differ: its edge in the first and in the second, None if absent."""

    first: Line | None
    second: Line | None

    @property
    def line(self) -> Line:
        """The edge of the second graph, or of the first graph if it was removed."""
        found = self.second or self.first
        assert found is not None
        return found

    @property
    def kind(self) -> Literal["added", "removed", "turned"]:
        """The change from the first graph to the second."""
        return "added" if self.first is None else "removed" if self.second is None else "turned"


def lines(graph: PDAG) -> list[Line]:
    """The edges in the order of their tails."""
    a = graph.adjacency
    return [Line(i, j, not a[j, i]) for i, j in np.argwhere(a).tolist() if i < j or not a[j, i]]


def differences(first: PDAG, second: PDAG) -> list[Difference]:
    """The pairs at which two graphs differ, in indices of ``first``; as many as the Hamming distance (SHD)."""
    one, two = (
        {(min(line[:2]), max(line[:2])): line for line in lines(graph)}
        for graph in (first, second.reorder(first.names))
    )
    pairs = sorted(pair for pair in one.keys() | two.keys() if one.get(pair) != two.get(pair))
    return [Difference(one.get(pair), two.get(pair)) for pair in pairs]
