"""`FamilyTable`: the scored parent sets of each variable, without those that one of their subsets beats.

Search over orders and MCMC work on this table. A parent set is kept only if its local score is higher than that
of each of its subsets: a subset causes no cycle that the set would not cause. At first these sets are scored:

- the empty set and all single parents,
- pairs of the PAIRS most promising candidate parents,
- larger sets, up to ``max_parents``, of the LARGER most promising candidates.

The table grows on demand: by given families, such as those of a tree's leaves (`add`), and by neighbours of the
families of a graph (`grow`).

**Slack.** A sum over graphs, as in MCMC, needs more sets. With ``slack`` the table also keeps sets whose score is
at most ``slack`` nats below that of a subset. A scored set that is left out then has at most exp(-slack) times the
weight of one of its subsets.

**Constant variables.** A variable with one state has no parents and no children: data say nothing about them.

**Required edges.** With ``required`` (row to column) each set of a variable contains its required parents, even if
these are more than ``max_parents``.

**Cost.** Each variable needs d - 1 local scores for single parents, and one for each pair of at most PAIRS
candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from itertools import chain, combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import Family
from brai.kernels.hill_climbing import TIE
from brai.kernels.orders import Sets, earliest_sets
from brai.kernels.parent_sets import larger_sets, pair_scores, single_gains
from brai.kinds.scores import FamilyScores
from brai.runtime.jit import announce

Listed: TypeAlias = list[tuple[tuple[int, ...], float]]

PAIRS = 60  # candidate parents of a variable; all their pairs are scored
LARGER = 14  # candidate parents of a variable; their larger sets are scored
SET = 500  # bytes for each parent set: a tuple in a dict, and its entries in arrays


class FamilyTable:
    """Scored parent sets; ``sets[v]`` is a dict from sorted parents of v to the local score, in no order.

    Parameters
    ----------
    scores : FamilyScores, which computes local scores
    max_parents : int, largest parent set listed; `add` takes larger ones too
    pairs, larger : int, numbers of candidate parents of which pairs and larger sets are scored
    slack : float, nats by which a set may score below one of its subsets
    allowed, required : (d, d) bool arrays, edges i → j that may and that must exist; by default all and none
    """

    def __init__(
        self,
        scores: FamilyScores,
        *,
        max_parents: int = 4,
        pairs: int = PAIRS,
        larger: int = LARGER,
        slack: float = 0.0,
        allowed: NDArray[np.bool_] | None = None,
        required: NDArray[np.bool_] | None = None,
    ):
        if max_parents < 0:
            raise ValueError(f"max_parents is {max_parents}: give the largest number of parents, 0 or more")
        if not 0 <= larger <= 24:
            raise ValueError(f"larger is {larger}: give the number of candidate parents for larger sets, 0 to 24")
        self.scores, self.max_parents, self.slack = scores, max_parents, slack
        self._margin = TIE - slack
        self.n_pairs, self.n_larger = pairs, larger
        d = scores.data.n_variables
        self.allowed = ~np.eye(d, dtype=bool) if allowed is None else np.array(allowed, bool)
        self.required = np.zeros((d, d), bool) if required is None else np.array(required, bool)
        if (able := scores.kind.allowed(scores.data)) is not None:
            self.allowed &= able
        constant = scores.kind.constant(scores.data)
        self.allowed[constant] = False
        self.allowed[:, constant] = False
        self.allowed |= self.required
        self._always = [tuple(np.flatnonzero(own).tolist()) for own in self.required.T]
        announce(larger_sets, scores.kind.compiled_for(scores.data))
        self.near: list[list[int]] = [[]] * d  # candidate parents of each variable, most promising first
        self.sets: list[dict[tuple[int, ...], float]] = [self._listed(v) for v in range(d)]
        self._looked: set[tuple[Family, float]] = set()  # (family, within) that `grow` has expanded
        self._sorted: list[Listed] = [[]] * d
        self._packed: list[tuple[NDArray[Any], ...]] = [()] * d

    def with_scores(self, scores: FamilyScores) -> FamilyTable:
        """A table of the same parent sets with other scores, such as those on a part of the rows."""
        table = copy(self)
        families = [(v, parents) for v, own in enumerate(self.sets) for parents in own]
        table.scores, table.sets = scores, [{} for _ in self.sets]
        for (v, parents), score in zip(families, scores.families(families), strict=True):
            table.sets[v][parents] = score
        table.near, table._looked = [list(own) for own in self.near], set()
        table._sorted, table._packed = [[]] * len(self.sets), [()] * len(self.sets)
        return table

    @property
    def bounds(self) -> NDArray[np.uint8]:
        """Edges as kernels expect them, (d, d): 0 is forbidden, 1 is allowed, MUST is required."""
        return np.asarray(self.allowed + self.required.astype(np.uint8))

    def least(self) -> tuple[Family, ...]:
        """The DAG that has the required edges only, as families."""
        return tuple(enumerate(self._always))

    def __len__(self) -> int:
        """Number of parent sets of all variables."""
        return sum(map(len, self.sets))

    def _listed(self, v: int) -> dict[tuple[int, ...], float]:
        if self._always[v]:
            return self._listed_with(v, self._always[v])
        evidence = self.scores.evidence(max(4, self.max_parents + 2))
        candidates = np.flatnonzero(self.allowed[:, v])
        alone, gains = single_gains(evidence, v, candidates)
        found: dict[tuple[int, ...], float] = {(): float(alone)}
        rank = np.argsort(-np.round(gains, 9), kind="stable")[: self.n_pairs]
        self.near[v] = candidates[rank].tolist()
        if self.max_parents == 0 or not len(candidates):
            return found
        for a in np.flatnonzero(gains > self._margin):
            found[(int(candidates[a]),)] = float(alone + gains[a])
        if self.max_parents == 1:
            return found
        near, own = candidates[rank], alone + gains[rank]
        pairs = pair_scores(evidence, v, near)
        pairs = np.maximum(pairs, pairs.T)
        better = np.maximum(np.maximum(own[:, None], own), alone)
        for a, b in np.argwhere(np.triu(pairs > better + self._margin, 1)):
            found[tuple(sorted((int(near[a]), int(near[b]))))] = float(pairs[a, b])
        if self.max_parents > 2 and len(near) > 2:
            best = np.maximum(pairs, better)
            promise = np.maximum(own - alone, (pairs - np.maximum(own, alone)).max(axis=1))
            few = np.argsort(-np.round(promise, 9), kind="stable")[: self.n_larger]
            self._list_larger(
                v, near[few], np.maximum(own, alone)[few], best[np.ix_(few, few)], float(alone), found
            )
        return found

    def _listed_with(self, v: int, always: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        """As `_listed`, for a variable with required parents ``always``: these alone, and with further parents."""
        candidates = [c for c in np.flatnonzero(self.allowed[:, v]).tolist() if c not in always]
        alone = self.scores.families([(v, always)])[0]
        found = {always: alone}
        best: dict[tuple[int, ...], float] = {(): alone}
        near = few = candidates
        for size in range(1, self.max_parents - len(always) + 1):
            pool = candidates if size == 1 else near if size == 2 else few
            more = list(combinations(pool, size))
            sets = [tuple(sorted((*always, *own))) for own in more]
            values = self.scores.families([(v, own) for own in sets])
            gain = dict.fromkeys(pool, -math.inf)
            for own, parents, value in zip(more, sets, values, strict=True):
                top = max(best[own[:i] + own[i + 1 :]] for i in range(size))
                best[own] = max(top, value)
                if value > top + self._margin:
                    found[parents] = value
                for i, c in enumerate(own):
                    gain[c] = max(gain[c], round(value - best[own[:i] + own[i + 1 :]], 9))
            if size == 1:
                first, promise = sorted(pool, key=lambda c: -gain[c])[: self.n_pairs], gain
                self.near[v], near = first, sorted(first)
            if size == 2:
                few = sorted(sorted(near, key=lambda c: -max(gain[c], promise[c]))[: self.n_larger])
        if not self.near[v]:
            self.near[v] = candidates[: self.n_pairs]
        return found

    def _list_larger(
        self,
        v: int,
        candidates: NDArray[np.int64],
        singles: NDArray[np.float64],
        pairs: NDArray[np.float64],
        alone: float,
        found: dict[tuple[int, ...], float],
    ) -> None:
        m = len(candidates)
        best = np.full(1 << m, -np.inf)
        best[0] = alone
        for a in range(m):
            best[1 << a] = singles[a]
            for b in range(a):
                best[1 << a | 1 << b] = pairs[a, b]
        most, room = min(self.max_parents, m), 4096
        while True:
            sets, values = np.empty((room, most), np.int64), np.empty(room)
            evidence = self.scores.evidence(max(4, self.max_parents + 2))
            n = int(larger_sets(evidence, v, candidates, best, most, self._margin, sets, values))
            if n <= room:
                break
            room = n
        for own, value in zip(sets[:n].tolist(), values[:n].tolist(), strict=True):
            found[tuple(sorted(p for p in own if p >= 0))] = value

    def add(self, families: Iterable[Family]) -> int:
        """Add given families, of any size, that beat their subsets; returns how many were added."""
        new = [f for f in dict.fromkeys(families) if f[1] not in self.sets[f[0]] and self._may(f)]
        new.sort(key=lambda family: len(family[1]))  # so that subsets are added before their supersets
        added = 0
        for (v, parents), score in zip(new, self.scores.families(new), strict=True):
            if score > self.best_within(v, parents) + self._margin:
                self.sets[v][parents] = score
                self.near[v] += [p for p in parents if p not in self.near[v]]
                added += 1
        return added

    def best_within(self, v: int, parents: tuple[int, ...]) -> float:
        """Highest local score of a listed set that is a subset of ``parents``."""
        known = self.sets[v]
        if 1 << len(parents) > len(known):
            inside = set(parents)
            return max(score for own, score in known.items() if inside.issuperset(own))
        subsets = chain.from_iterable(combinations(parents, n) for n in range(len(parents) + 1))
        return max(known[own] for own in subsets if own in known)

    def _may(self, family: Family) -> bool:
        v, parents = family
        return bool(self.allowed[list(parents), v].all()) and set(parents).issuperset(self._always[v])

    def grow(self, families: Sequence[Family], within: float = math.inf) -> int:
        """Add neighbours of the given families: one parent more, fewer or replaced. Returns how many were added.

        A family with an added or replaced parent has at most ``max_parents`` parents, and its score is at most
        ``within`` nats below that of the given family. The limit on parents is needed with BDeu: a variable that
        is nearly constant gains by ever more parents. New parents are taken from ``near``: the PAIRS most
        promising candidates, and parents in families that were added.
        """
        around: list[Family] = []
        families = [family for family in families if (family, within) not in self._looked]
        self._looked.update((family, within) for family in families)
        for (v, parents), own in zip(families, self.scores.families(families), strict=True):
            fewer = (tuple(p for p in parents if p != out) for out in parents if not self.required[out, v])
            bases = [parents, *fewer]
            around += [(v, base) for base in bases]
            for base in bases:
                if len(base) >= self.max_parents:
                    continue
                more = [(v, tuple(sorted((*base, x)))) for x in self.near[v] if x not in parents]
                least = max(self.best_within(v, base) + self._margin, own - within)
                found = zip(more, self.scores.families(more), strict=True)
                around += [family for family, score in found if score > least]
        return self.add(around)

    def arrays(self, *, any_order: bool = False) -> Sets:
        """The table as arrays for `brai.kernels.orders`; `families` converts choices back.

        With ``any_order`` a variable with required parents also has the empty set, for orders in which these come
        later. Its score is so low that every order that respects the required edges is better.
        """
        for v, own in enumerate(self.sets):
            if len(own) != len(self._sorted[v]):  # sets are added, never removed
                self._sorted[v] = sorted(own.items(), key=lambda item: (-item[1], item[0]))
                self._packed[v] = _packed(self._sorted[v])
        packed = self._packed
        if any_order and self.required.any():
            worst = -1.0 - 2 * sum(abs(own[always]) for own, always in zip(self.sets, self._always, strict=True))
            packed = [
                (np.append(own[0], worst), np.append(own[1], 0), own[2]) if always else own
                for own, always in zip(packed, self._always, strict=True)
            ]
        scores, sizes, members = (np.concatenate(parts) for parts in zip(*packed, strict=True))
        first = np.cumsum([0, *(len(own[0]) for own in packed)], dtype=np.int64)
        begin = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        return Sets(first, scores, begin, members, earliest_sets(first, begin, members))

    def families(self, sets: Sets, chosen: NDArray[np.int64]) -> tuple[Family, ...]:
        """The family of each variable, given the index of its chosen set in ``sets``."""
        starts = sets.first[:-1]
        return tuple((v, self._sorted[v][int(e - starts[v])][0]) for v, e in enumerate(chosen))


def _packed(listed: Listed) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int32]]:
    """Scores, sizes and concatenated members of the listed sets."""
    scores = np.array([score for _, score in listed])
    sizes = np.array([len(parents) for parents, _ in listed], np.int64)
    return scores, sizes, np.array([p for parents, _ in listed for p in parents], np.int32)


def bytes_needed(n_rows: int, d: int, max_parents: int) -> float:
    """Estimated bytes of a table and of a search on it."""
    larger = sum(math.comb(min(LARGER, d - 1), n) for n in range(3, min(max_parents, LARGER) + 1))
    sets = d + math.comb(min(PAIRS, d - 1), 2) + larger  # sets of a variable that are scored
    return SET * d * min(sets, 100 + n_rows / 20) + 40 * d * d + 4e6
