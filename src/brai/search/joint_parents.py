"""Parents that matter only together: all pairs of parents are scored, and larger sets grown from the best.

A `FamilyTable` ranks candidate parents by the gain of each alone. If a variable depends on two others jointly
(XOR, pedigrees, tables of two causes with many states), these rank low, and their family would not be scored.
`deepen` adds to a table:

1. **Pairs.** All pairs of parents of all variables are scored (`brai.kernels.parent_sets.strong_pairs`). The best
   KEPT of each variable that beat their subsets are added.
2. **Larger sets.** The best BASES sets of each variable are extended by every other variable; the best EXTENSIONS
   of each that beat their subsets are added. This is repeated up to ``max_parents``.

**Limits.** At most FAMILIES families of two parents are scored, fewer with many rows or many states, since a score
then takes longer. If there are more, each variable has a number of candidates, the best by their gain alone.
A pair is then scored if one of the two is a candidate; a pair without any effect of its members can be missed.
`Screen` says so, and docs/results/accuracy.md reports the recall. A deadline ends the work
early; what is found by then is added.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import Family
from brai.kernels.hill_climbing import TIE, Leaps
from brai.kernels.parent_sets import Kept, Singles, extensions, single_scores, strong_pairs
from brai.kinds.scores import FamilyScores
from brai.runtime.jit import announce
from brai.runtime.workers import ALONE, Workers, on_all_clocks
from brai.search.family_table import SET, FamilyTable, Listed

FAMILIES = 600_000_000  # with up to ROWS rows; in proportion fewer with more
ROWS = 1000
CELLS, DEARER = (
    32,
    8,
)  # with more configurations of two variables than CELLS, a family takes about DEARER times as long
KEPT, LEAST, ALL_KEPT = 300, 30, 250_000  # pairs of a variable that are kept; fewer if all would be more
BASES, EXTENSIONS = 8, 8  # sets of a variable and size that are extended, if d is not large; extensions kept
SHARE = 10  # extensions that are scored are at most a SHARE-th of FAMILIES, or one set of a variable and size
NEAR = 30.0  # nats
TASKS, CALL = 16, 4_000_000  # smallest number of tasks; families per compiled call, about a second


class Screen(NamedTuple):
    """Which pairs of parents were scored: those with a candidate of the variable."""

    candidates: int  # per variable; all others if there was no limit
    others: int
    in_time: bool  # whether the work ended before the deadline

    @property
    def notice(self) -> str:
        """What was left out, as a sentence; empty if nothing was."""
        found = []
        if self.candidates < self.others:
            found.append(
                f"Pairs of parents were scored if one of them is among the best {self.candidates} of "
                f"{self.others} candidates of a variable: parents that matter only together can be missed."
            )
        if not self.in_time:
            found.append("Time was over before all pairs of parents were scored.")
        return " ".join(found)


class Deepened(NamedTuple):
    """What was done."""

    added: int  # parent sets
    scored: int  # families of two parents
    screen: Screen
    families: tuple[Family, ...]  # those added that score at most NEAR nats below the variable's best


def families_within(n_rows: int, levels: NDArray[np.int64]) -> float:
    """Most families of two parents that are scored, for this number of rows and these numbers of values."""
    typical = math.exp(2 * float(np.log(np.maximum(levels, 1)).mean()))
    return FAMILIES * min(1.0, ROWS / max(1, n_rows)) / (1 if typical <= CELLS else DEARER)


def candidates_within(d: int, most: float) -> int:
    """Number of candidates per variable such that at most this number of families of two parents are scored."""
    if d * (d - 1) * (d - 2) / 2 <= most:
        return d - 1
    return max(1, min(d - 1, int(most / (d * (d - 1)))))


def kept_of(d: int) -> int:
    """Number of pairs that are kept for each of d variables."""
    return max(LEAST, min(KEPT, ALL_KEPT // d))


def deepen(
    table: FamilyTable,
    *,
    candidates: int | None = None,
    workers: Workers = ALONE,
    deadline: float = math.inf,
) -> Deepened:
    """Add pairs and larger sets to the table; ``candidates`` per variable, by default as many as the limit allows.

    Variables with required parents keep the sets they have.
    """
    scores, d = table.scores, table.scores.data.n_variables
    before = [set(own) for own in table.sets]
    free: NDArray[np.bool_] = np.logical_not(table.required).all(axis=0)
    most = families_within(scores.data.n_rows, scores.kind.levels(scores.data))
    n = candidates_within(d, most) if candidates is None else min(candidates, d - 1)
    scored, complete = 0, True
    if time.monotonic() > deadline:
        return Deepened(0, 0, Screen(n, d - 1, False), ())
    if d - 1 > table.n_pairs and table.max_parents >= 2:
        found, scored, complete = _pairs(scores, table.allowed & free, n, workers, deadline)
        for v, pairs in enumerate(found):
            table.sets[v] |= {pair: score for pair, score in pairs if pair not in table.sets[v]}
            fresh = dict.fromkeys(p for pair, _ in pairs for p in pair if p not in table.near[v])
            table.near[v] += list(fresh)[: table.n_pairs]
    if table.max_parents > 2 and d - 1 > table.n_larger:
        complete = _larger(table, free, most, deadline) and complete
    added = 0
    families: list[Family] = []
    for v, own in enumerate(table.sets):
        new = own.keys() - before[v]
        added += len(new)
        least = max(own.values()) - NEAR
        families += sorted((v, parents) for parents in new if own[parents] >= least)
    return Deepened(added, scored, Screen(n, d - 1, complete), tuple(families))


def leaps_of(scores: FamilyScores, allowed: NDArray[np.bool_]) -> Leaps:
    """The best pairs of parents of each variable, as moves of a hill climb."""
    d, levels = len(allowed), scores.kind.levels(scores.data)
    n = candidates_within(d, families_within(scores.data.n_rows, levels))
    found, _, _ = _pairs(scores, allowed, n, ALONE, math.inf)
    return _leaps([[pair for pair, _ in own] for own in found])


def leaps_in(table: FamilyTable) -> Leaps:
    """The best pairs of parents in a table, as moves of a hill climb."""
    most, found = kept_of(len(table.sets)), []
    for own in table.sets:
        pairs = ((score, parents) for parents, score in own.items() if len(parents) == 2)
        found.append([parents for _, parents in heapq.nlargest(most, pairs)])
    return _leaps(found)


def _leaps(found: Sequence[Sequence[tuple[int, ...]]]) -> Leaps:
    starts = np.cumsum([0, *map(len, found)], dtype=np.int64)
    return Leaps(starts, np.array([pair for own in found for pair in own], np.int64).reshape(-1, 2))


def _pairs(
    scores: FamilyScores, allowed: NDArray[np.bool_], n: int, workers: Workers, deadline: float
) -> tuple[list[Listed], int, bool]:
    """The best pairs of each variable with their scores, the number of families scored, and whether all were."""
    d = len(allowed)
    announce(strong_pairs, scores.kind.compiled_for(scores.data))
    alone, single = np.empty(d), np.full((d, d), -np.inf)
    single_scores(scores.evidence(4), allowed, alone, single)
    parents = np.flatnonzero(allowed.any(axis=1))
    singles = _nearest(alone, single, n)
    families = len(singles.children) * len(parents)  # at most: with two candidates a family would count twice
    bounds = _blocks(len(parents), max(TASKS, math.ceil(families / CALL)))
    shared = (scores, singles, parents, TIE, on_all_clocks(deadline))
    keys = [f"pairs-{first}-{last}" for first, last in bounds]
    results = workers.run(_block, bounds, shared=shared, keys=keys, of=[n], kept=lambda own: own is not None)
    done = [own for own in results if own is not None]
    scored = sum(int(own[3]) for own in done)
    if not done:
        return [[]] * d, 0, not results
    children, pairs, values, _ = zip(*done, strict=True)
    best = _best(np.concatenate(children), np.concatenate(pairs), np.concatenate(values), d)
    return best, scored, len(done) == len(results)


def _best(
    children: NDArray[np.int64], pairs: NDArray[np.int32], values: NDArray[np.float64], d: int
) -> list[Listed]:
    """The pairs of highest score of each child, the best first."""
    pairs = np.sort(pairs, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -values, children))
    starts = np.searchsorted(children[order], np.arange(d + 1))
    found: list[Listed] = []
    for first, last in pairwise(starts.tolist()):
        own = order[first : min(last, first + kept_of(d))]
        found.append(
            [((a, b), value) for (a, b), value in zip(pairs[own].tolist(), values[own].tolist(), strict=True)]
        )
    return found


def _nearest(alone: NDArray[np.float64], single: NDArray[np.float64], n: int) -> Singles:
    """The n parents of highest score of each child, as lists of children."""
    d = len(alone)
    near = single > -np.inf
    if n < d - 1:
        rank = np.argsort(-np.round(single, 9), axis=0, kind="stable")[:n]
        chosen = np.zeros((d, d), bool)
        np.put_along_axis(chosen, rank, True, axis=0)
        near &= chosen
    starts = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int64)
    return Singles(alone, single, starts, np.nonzero(near)[1].astype(np.int64), near.astype(np.uint8))


def _blocks(n: int, parts: int) -> list[tuple[int, int]]:
    """Ranges of the first parent with about equal numbers of pairs."""
    later = np.cumsum(np.arange(n - 1, -1, -1, dtype=float))
    ends = np.searchsorted(later, np.linspace(0, later[-1], parts + 1)[1:]) + 1 if n > 1 else np.array([n])
    edges = sorted({0, *np.minimum(ends, n).tolist()})
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def _block(
    scores: FamilyScores, singles: Singles, parents: Any, margin: float, end: float, first: int, last: int
) -> tuple[Any, Any, Any, int] | None:
    """Variables, pairs and scores found in one block, and the number of families scored; None if time is over."""
    if time.time() > end:
        return None
    d = len(singles.alone)
    most = kept_of(d)
    kept = Kept(np.zeros(d, np.int64), np.empty((d, most)), np.empty((d, most, 2), np.int32))
    with scores.lent() as own:
        scored = strong_pairs(own.evidence(4), singles, parents, first, last, margin, kept)
    filled = np.arange(most) < kept.n[:, None]
    return np.repeat(np.arange(d), kept.n), kept.pairs[filled], kept.scores[filled], int(scored)


def _larger(table: FamilyTable, free: NDArray[np.bool_], most: float, deadline: float) -> bool:
    """Extend the best sets of each variable, size by size; whether there was time for all."""
    scores = table.scores
    evidence = scores.evidence(table.max_parents + 2)
    announce(extensions, scores.kind.compiled_for(scores.data))
    d, sizes = len(free), table.max_parents - 2
    n_bases = max(1, min(BASES, int(most / SHARE / (d * d * sizes))))
    for v in np.flatnonzero(free & table.allowed.any(axis=0)).tolist():
        if time.monotonic() > deadline:
            return False
        candidates = np.flatnonzero(table.allowed[:, v])
        known = table.sets[v]
        for size in range(2, table.max_parents):
            bases = heapq.nlargest(n_bases, ((score, own) for own, score in known.items() if len(own) == size))
            if not bases:
                break
            least = np.array([score for score, _ in bases]) + TIE
            values = extensions(evidence, v, np.array([own for _, own in bases]), candidates)
            for i in np.flatnonzero((values > least[:, None]).any(axis=1)).tolist():
                rank = np.argsort(-values[i], kind="stable")[:EXTENSIONS]
                for c, value in zip(candidates[rank].tolist(), values[i, rank].tolist(), strict=True):
                    more = tuple(sorted((*bases[i][1], c)))
                    if value <= least[i] or more in known or value <= table.best_within(v, more) + TIE:
                        continue
                    known[more] = value
                    if c not in table.near[v]:
                        table.near[v].append(c)
    return True


def bytes_needed(d: int) -> float:
    """Estimated bytes of the search for pairs, and of the sets that are kept."""
    tasks = max(TASKS, min(FAMILIES, d**3 / 2) / CALL)
    return 17.0 * d * d + d * kept_of(d) * (SET + 24.0 * tasks / 4)
