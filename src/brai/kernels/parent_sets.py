"""Scored parent sets: sets of up to two candidates of a variable, larger sets of its best candidates, and pairs of
parents of all variables at once.

Sets are enumerated with common prefixes, so that counts for a prefix are shared. A set is kept only if its score
is higher than that of each subset: otherwise no order of the variables would use it.

`strong_pairs` has the pair of parents in the outer loops and the children in the inner one. The configurations of
a pair are the same for all children, so they are found once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai.kernels.interface import Array, Evidence, begin, family_value, offspring, turn
from brai.runtime.jit import lean, njit


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
def single_scores(evidence: Evidence, allowed: Array, alone: Array, out: Array) -> None:
    """Fill in the score of each variable without parents, and with each allowed parent: out[parent, child]."""
    given = np.zeros(1, np.int64)
    begin(evidence)
    for x in range(len(alone)):
        alone[x] = family_value(evidence, x, given, 0)
    for a in range(len(alone)):
        given[0] = a
        turn(evidence, 0)
        for x in range(len(alone)):
            if allowed[a, x]:
                out[a, x] = family_value(evidence, x, given, 1)


@njit
def extensions(evidence: Evidence, x: int, bases: Array, candidates: Array) -> Array:
    """Score of x with the parents of each base (row) and one candidate more (column); -inf if it is in there."""
    n, out = bases.shape[1], np.full((len(bases), len(candidates)), -np.inf)
    given = np.empty(n + 1, np.int64)
    begin(evidence)
    for b in range(len(bases)):
        given[:n] = bases[b]
        turn(evidence, 0)
        for i in range(len(candidates)):
            inside = False
            for j in range(n):
                inside |= bases[b, j] == candidates[i]
            if not inside:
                given[n] = candidates[i]
                turn(evidence, n)
                out[b, i] = family_value(evidence, x, given, n + 1)
    return out


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


class Singles(NamedTuple):
    """What is known of single parents, for all variables."""

    alone: Array  # (d,) score of each variable without parents
    scores: Array  # (d, d) score with one parent, row (parent) to column (child); -inf if not allowed
    starts: Array  # (d + 1,) where the children of each parent begin, see `children`
    children: Array  # for which a pair with this parent is scored: it is among the child's candidates
    near: Array  # (d, d) uint8: the same as a matrix


class Kept(NamedTuple):
    """The best pairs of each variable: binary heaps with the lowest score at the root."""

    n: Array  # (d,) int64: how many there are
    scores: Array  # (d, most)
    pairs: Array  # (d, most, 2) int32


@lean
def keep(kept: Kept, x: int, score: float, a: int, b: int) -> None:
    """Put a pair into the heap of x; if the heap is full, in place of the pair of lowest score."""
    scores, pairs, n = kept.scores[x], kept.pairs[x], kept.n[x]
    if n < len(scores):  # sift up
        i = n
        kept.n[x] = n + 1
        while i > 0 and scores[(i - 1) // 2] > score:
            up = (i - 1) // 2
            scores[i], pairs[i, 0], pairs[i, 1] = scores[up], pairs[up, 0], pairs[up, 1]
            i = up
    else:  # sift down
        i = 0
        while 2 * i + 1 < n:
            down = 2 * i + 1
            if down + 1 < n and scores[down + 1] < scores[down]:
                down += 1
            if scores[down] >= score:
                break
            scores[i], pairs[i, 0], pairs[i, 1] = scores[down], pairs[down, 0], pairs[down, 1]
            i = down
    scores[i], pairs[i, 0], pairs[i, 1] = score, a, b


@njit
def strong_pairs(
    evidence: Evidence, singles: Singles, parents: Array, first: int, last: int, margin: float, kept: Kept
) -> int:
    """Score pairs {parents[i], parents[j]}, first <= i < last, i < j; keep those that beat their subsets.

    A child is scored if one of the pair is among its candidates and both are allowed. Returns the number of
    families scored.
    """
    given, scored, d = np.zeros(2, np.int64), 0, len(singles.alone)
    children, least, values = np.empty(d, np.int64), np.empty(d), np.empty(d)
    begin(evidence)
    for i in range(first, last):
        a = parents[i]
        given[0] = a
        turn(evidence, 0)
        own = singles.children[singles.starts[a] : singles.starts[a + 1]]
        for j in range(i + 1, len(parents)):
            b = parents[j]
            given[1] = b
            turn(evidence, 1)
            others = singles.children[singles.starts[b] : singles.starts[b + 1]]
            n = 0
            for part in range(2):
                for x in own if part == 0 else others:
                    one, two = singles.scores[a, x], singles.scores[b, x]
                    if (part == 1 and singles.near[a, x]) or one == -np.inf or two == -np.inf:
                        continue
                    children[n], least[n] = x, max(singles.alone[x], max(one, two)) + margin
                    if kept.n[x] == kept.scores.shape[1]:
                        least[n] = max(least[n], kept.scores[x, 0])
                    n += 1
            offspring(evidence, children[:n], given, 2, least[:n], values[:n])
            scored += n
            for k in range(n):
                if values[k] > least[k]:
                    keep(kept, children[k], values[k], a, b)
    return scored


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
