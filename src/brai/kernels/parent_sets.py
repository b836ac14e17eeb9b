"""Scored parent sets of one variable: all sets of up to two candidates, and larger sets of the best candidates.

Sets are enumerated with common prefixes, so that counts for a prefix are shared. A set is kept only if its score
is higher than that of each subset: otherwise no order of the variables would use it.
"""

from __future__ import annotations

import numpy as np

from brai.kernels.interface import Array, Evidence, begin, family_value, turn
from brai.runtime.jit import njit


@njit
def single_gains(evidence: Evidence, x: int, candidates: Array) -> tuple[float, Array]:
    """Score of x without parents, and the gain of each single candidate."""
    begin(evidence)
    given, gains = np.zeros(1, np.int64), np.empty(len(candidates))
    alone = family_value(evidence, x, given, 0)
    for a in range(len(candidates)):
        given[0] = candidates[a]
        turn(evidence, 0)
        gains[a] = family_value(evidence, x, given, 1) - alone
    return alone, gains


@njit
def pair_scores(evidence: Evidence, x: int, candidates: Array) -> Array:
    """Score of x with each pair of candidates (upper triangle)."""
    m, given = len(candidates), np.zeros(2, np.int64)
    out = np.full((m, m), -np.inf)
    begin(evidence)
    for a in range(m):
        given[0] = candidates[a]
        turn(evidence, 0)
        for b in range(a + 1, m):
            given[1] = candidates[b]
            turn(evidence, 1)
            out[a, b] = family_value(evidence, x, given, 2)
    return out


@njit
def larger_sets(
    evidence: Evidence,
    x: int,
    candidates: Array,
    best: Array,
    most: int,
    margin: float,
    sets: Array,
    scores: Array,
) -> int:
    """Find sets of 3..most candidates that score higher than all their subsets by more than ``margin``.

    They are written to ``sets`` (padded with -1) and ``scores``. Sets of candidates are bit masks; ``best[mask]``
    is the highest score of the set or a subset, given for up to two members and filled in here for more. Returns
    the number of sets found, which may exceed the capacity of ``sets``.
    """
    m, found = len(candidates), 0
    chosen, given = np.empty(most, np.int64), np.empty(most, np.int64)
    begin(evidence)
    for size in range(3, most + 1):  # by size, so that all subsets are known
        depth = 0
        chosen[0] = -1
        while depth >= 0:
            chosen[depth] += 1
            if chosen[depth] > m - (size - depth):
                depth -= 1
                continue
            given[depth] = candidates[chosen[depth]]
            turn(evidence, depth)
            if depth < size - 1:
                depth += 1
                chosen[depth] = chosen[depth - 1]
                continue
            mask = 0
            for k in range(size):
                mask |= 1 << chosen[k]
            top = -np.inf
            for k in range(size):
                top = max(top, best[mask & ~(1 << chosen[k])])
            score = family_value(evidence, x, given, size)
            best[mask] = max(top, score)
            if score > top + margin:
                if found < len(scores):
                    scores[found] = score
                    sets[found, :] = -1
                    for k in range(size):
                        sets[found, k] = candidates[chosen[k]]
                found += 1
    return found
