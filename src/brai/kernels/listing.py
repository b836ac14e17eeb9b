"""Scored parent sets of one variable: every set of up to two candidates, and larger ones of the promising few.

Sets are grown candidate by candidate, so rows are labelled once for all sets with a common beginning. A set is
kept only if it scores higher than each of its subsets: no order of the variables would ever prefer it
otherwise.
"""

from __future__ import annotations

import numpy as np

from brai._jit import njit
from brai.kernels.counts import Array, Cells, Sample, Work, extend, grow, label_value


@njit
def single_gains(sample: Sample, cells: Cells, work: Work, x: int, candidates: Array) -> tuple[float, Array]:
    """Score of x without parents, and what each candidate alone gains on it."""
    rows = len(sample.weights)
    z, other = work.labels[0], work.labels[3]
    z[:rows] = 0
    alone = label_value(sample, cells, work, x, z, 1, 1.0, other)
    gains = np.empty(len(candidates))
    for a in range(len(candidates)):
        p = candidates[a]
        n = extend(z, 1, sample.codes[p], sample.arities[p], work.labels[1], work.scratch)
        size = grow(1.0, sample.arities[p])
        gains[a] = label_value(sample, cells, work, x, work.labels[1], n, size, other) - alone
    return alone, gains


@njit
def pair_scores(sample: Sample, cells: Cells, work: Work, x: int, candidates: Array) -> Array:
    """Score of x with each pair of candidates (upper triangle)."""
    m, rows = len(candidates), len(sample.weights)
    base, one, two, other = work.labels[0], work.labels[1], work.labels[2], work.labels[3]
    base[:rows] = 0
    out = np.full((m, m), -np.inf)
    for a in range(m):
        p = candidates[a]
        n_one = extend(base, 1, sample.codes[p], sample.arities[p], one, work.scratch)
        for b in range(a + 1, m):
            q = candidates[b]
            n = extend(one, n_one, sample.codes[q], sample.arities[q], two, work.scratch)
            size = grow(grow(1.0, sample.arities[p]), sample.arities[q])
            out[a, b] = label_value(sample, cells, work, x, two, n, size, other)
    return out


@njit
def larger_sets(
    sample: Sample,
    cells: Cells,
    work: Work,
    x: int,
    candidates: Array,
    best: Array,
    most: int,
    margin: float,
    sets: Array,
    scores: Array,
) -> int:
    """Sets of 3..most candidates that beat all their subsets by a margin; returns their number.

    They go into sets (padded with -1) and scores.

    Sets of candidates are bit masks; ``best[mask]`` is the highest score of the set or a subset, known for up
    to two members and filled in here for more. Returns as many as there are, even if there was not room for
    all.
    """
    m, rows, found = len(candidates), len(sample.weights), 0
    chosen = np.empty(most, np.int64)
    labels = np.zeros(most + 1, np.int64)
    sizes = np.ones(most + 1)
    labels[0] = 1
    work.labels[0][:rows] = 0
    for size in range(3, most + 1):  # by size, so that all subsets are known
        depth = 0
        chosen[0] = -1
        while depth >= 0:
            chosen[depth] += 1
            if chosen[depth] > m - (size - depth):
                depth -= 1
                continue
            p = candidates[chosen[depth]]
            z, to = work.labels[depth], work.labels[depth + 1]
            labels[depth + 1] = extend(z, labels[depth], sample.codes[p], sample.arities[p], to, work.scratch)
            sizes[depth + 1] = grow(sizes[depth], sample.arities[p])
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
            score = label_value(sample, cells, work, x, to, labels[size], sizes[size], work.labels[most + 1])
            best[mask] = max(top, score)
            if score > top + margin:
                if found < len(scores):
                    scores[found] = score
                    sets[found, :] = -1
                    for k in range(size):
                        sets[found, k] = candidates[chosen[k]]
                found += 1
    return found
