"""The local score of a family, counted on bit vectors or by row, whichever is cheaper (see
`brai.kinds.discrete.bit_tests`).

The parents are treated as a conditioning set. Counts for the first parents are kept until these change (`turn`),
so consecutive parent sets with a common prefix share them.
"""

from __future__ import annotations

import numpy as np

from brai.kernels.interface import Array, Evidence
from brai.kernels.simd import in_common
from brai.kinds.discrete.any_ess import GRID, highest_evidence, sum_of_cells
from brai.kinds.discrete.bit_tests import KEPT, LABELLED, SETUP, SLICED, WORTH, slice_further
from brai.kinds.discrete.contingency import Sample, Work, complexity, extend, grow
from brai.runtime.jit import lean


@lean
def sliced_counts(sample: Sample, work: Work, x: int, n: int) -> int:
    """Put the counts of the occupied cells of x and n parents into ``work.margins``; returns their number."""
    slices, first, r, m = work.slices, sample.first[x], sample.arities[x], 0
    for s in range(slices.n[n]):
        left = slices.sizes[n, s]
        for a in range(r - 1):
            if left == 0:
                break
            count = in_common(slices.strata[n, s], sample.bits[first + a])
            if count > 0:
                work.margins[m] = count
                left -= count
                m += 1
        if left > 0:
            work.margins[m] = left
            m += 1
    return m


@lean
def label_counts(sample: Sample, work: Work, labels: Array, n: int) -> int:
    """The same for cells that are row labels below n."""
    weights, m = sample.weights, 0
    for j in range(len(weights)):
        work.counts[labels[j]] += weights[j]
    for j in range(n):
        if work.counts[j] > 0:
            work.margins[m] = work.counts[j]
            work.counts[j] = 0
            m += 1
    return m


@lean
def counted_value(evidence: Evidence, x: int, n: int, size: float, on_bits: bool) -> float:
    """Score of x with n parents, whose configurations are at level n of the workspace.

    With ess "table" the part of the parents alone is kept until they change.
    """
    sample, cells, work = evidence.sample, evidence.terms, evidence.work
    slices, z, other, r, kept = work.slices, work.labels[n], work.labels[n + 1], sample.arities[x], len(GRID)
    total, value, is_auto = np.int64(0), 0.0, len(cells.grid) > 0
    for part in range(2):  # the parents, then x and the parents
        if part == 0 and is_auto and work.ready[KEPT] == n:
            continue
        if on_bits and part == 0:
            m = slices.n[n]
            for j in range(m):
                work.margins[j] = slices.sizes[n, j]
        elif on_bits:
            m = sliced_counts(sample, work, x, n)
        elif part == 0:
            m = label_counts(sample, work, z, slices.n_labels[n])
        else:
            cells_of_x = extend(z, slices.n_labels[n], sample.codes[x], r, other, work.scratch)
            m = label_counts(sample, work, other, cells_of_x)
        own = size if part == 0 else size * r
        if is_auto:
            value = highest_evidence(cells, work, work.margins, m, own)
        else:
            total = sum_of_cells(cells, work.margins, m, own) - total
        work.margins[:m] = 0
        if part == 0 and is_auto:
            work.totals[kept], work.ready[KEPT] = value, n
    if is_auto:
        return value - work.totals[kept]
    return total / cells.scale - complexity(cells, r, size)


@lean
def family_value(evidence: Evidence, x: int, parents: Array, n: int) -> float:
    """Score of x with parents[:n]; needs `begin` first, and `turn` if parents have changed since."""
    sample, work = evidence.sample, evidence.work
    ready, slices, labels, n_labels, size = work.ready, work.slices, work.labels, work.slices.n_labels, 1.0
    for j in range(n):
        size = grow(size, sample.arities[parents[j]])
    for j in range(ready[SLICED], n):
        slice_further(sample, work, j, parents[j])
    ready[SLICED] = max(ready[SLICED], n)
    cost = slices.n[n] * sample.arities[x] * ((sample.n_rows >> 6) + SETUP)
    on_bits = 0 < cost <= WORTH * len(sample.weights) + 512 and sample.first[x] >= 0
    if not on_bits:
        for j in range(ready[LABELLED], n):
            p = parents[j]
            n_labels[j + 1] = extend(
                labels[j], n_labels[j], sample.codes[p], sample.arities[p], labels[j + 1], work.scratch
            )
        ready[LABELLED] = max(ready[LABELLED], n)
    return counted_value(evidence, x, n, size, on_bits)
