"""The parent sets of a `FamilyTable` as arrays, to be scored many times on tables of the same variables.

Families are scored in the order of their parents, so that those with the same parents share the work on these.
Then the sets of each variable are sorted by score, as searches and chains expect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import Family
from brai.kernels.interface import family_values
from brai.kernels.orders import Sets, earliest_sets
from brai.kinds.scores import FamilyScores
from brai.runtime.jit import announce
from brai.search.family_table import FamilyTable


@dataclass(frozen=True, eq=False)
class FixedTable:
    """Parent sets, by variable and then by their members; scores are computed by `scored`."""

    children: NDArray[np.int64]
    parents: NDArray[np.int64]  # of all sets, one after the other
    starts: NDArray[np.int64]  # (sets + 1,)
    first: NDArray[np.int64]  # (d + 1,): the sets of variable v are first[v] to first[v + 1]
    max_parents: int
    bounds: NDArray[np.uint8]
    near: tuple[tuple[int, ...], ...]
    fewest: tuple[Family, ...]

    @classmethod
    def of(cls, table: FamilyTable) -> FixedTable:
        """The parent sets of a table."""
        listed = [sorted(own) for own in table.sets]
        sizes = np.array([len(own) for sets in listed for own in sets], np.int64)
        return cls(
            np.repeat(np.arange(len(listed)), [len(sets) for sets in listed]),
            np.array([p for sets in listed for own in sets for p in own], np.int64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.cumsum([0, *map(len, listed)], dtype=np.int64),
            table.max_parents,
            table.bounds,
            tuple(map(tuple, table.near)),
            table.least(),
        )

    def scored(self, scores: FamilyScores) -> ScoredTable:
        """The table with scores on one data set."""
        announce(family_values, scores.kind.compiled_for(scores.data))
        sizes = np.diff(self.starts)
        evidence = scores.evidence(2 + int(sizes.max(initial=0)))
        order, parents, starts = self._by_parents
        values = np.empty(len(self.children))
        values[order] = family_values(evidence, self.children[order], parents, starts)
        rank = np.lexsort((np.arange(len(values)), -values, self.children))
        members, begin = _gathered(self.parents, self.starts, rank)
        members = members.astype(np.int32)
        sets = Sets(self.first, values[rank], begin, members, earliest_sets(self.first, begin, members))
        return ScoredTable(scores, self, sets)

    @property
    def _by_parents(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The order of sets by their members, and these in that order; computed once."""
        known: Any = self.__dict__.get("_order")
        if known is None:
            sizes = np.diff(self.starts)
            width = int(sizes.max(initial=0))
            keys = np.full((len(sizes), width), -1, np.int64)
            keys[np.arange(width) < sizes[:, None]] = self.parents
            order = np.lexsort((self.children, *keys.T[::-1]))
            known = order, *_gathered(self.parents, self.starts, order)
            self.__dict__["_order"] = known
        order, parents, starts = known
        return order, parents, starts


def _gathered(
    values: NDArray[np.int64], starts: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The parts of ``values`` in another order, and where they start."""
    sizes = np.diff(starts)[order]
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    inside = np.arange(begin[-1]) - np.repeat(begin[:-1], sizes)
    return values[np.repeat(starts[:-1][order], sizes) + inside], begin


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """What chains need of a `FamilyTable`; no sets are added."""

    scores: FamilyScores
    fixed: FixedTable
    sets: Sets

    @property
    def max_parents(self) -> int:
        """Largest parent set listed."""
        return self.fixed.max_parents

    @property
    def bounds(self) -> NDArray[np.uint8]:
        """Edges that are forbidden, allowed or required."""
        return self.fixed.bounds

    @property
    def near(self) -> tuple[tuple[int, ...], ...]:
        """Candidate parents of each variable."""
        return self.fixed.near

    def least(self) -> tuple[Family, ...]:
        """The DAG that has the required edges only."""
        return self.fixed.fewest

    def add(self, families: Iterable[Family]) -> int:
        """Nothing is added."""
        return 0

    def arrays(self) -> Sets:
        """The sets, sorted by score."""
        return self.sets

    def __len__(self) -> int:
        return len(self.sets.scores)
