"""The local score of a family, counted on bit vectors or by row, whichever is cheaper (see
`brai.kinds.discrete.bit_tests`).

The parents are treated as a conditioning set. Counts for the first parents are kept until these change (`turn`),
so consecutive parent sets with a common prefix share them.

**Surplus.** If a variable has many states that are equally frequent, "all states are equally probable" scores
higher than an estimated distribution: the difference is the surplus of the variable. A parent set whose
configurations occur once each gives just this score, since a Dirichlet prior predicts the first row of a
configuration by 1 / states. So variables without any dependence would have many parents. With a structure prior,
the surplus times the share of rows that are alone in their configuration is subtracted. A variable has no surplus
unless its states are many and about equally frequent; less than LEAST_SURPLUS nats is ignored. Scores with a
surplus can differ between DAGs of a class.
"""

from __future__ import annotations

import numpy as np

from brai.kernels.interface import Array, Evidence
from brai.kernels.simd import in_common
from brai.kinds.discrete.bit_tests import LABELLED, SETUP, SLICED, WORTH, slice_further
from brai.kinds.discrete.contingency import (
    Cells,
    Sample,
    Work,
    cell_value,
    complexity,
    extend,
    grow,
    has_surplus,
    label_value,
    surplus_of,
    value_row,
)
from brai.runtime.jit import lean


@lean
def sliced_value(sample: Sample, cells: Cells, work: Work, x: int, n: int, size: float) -> float:
    """Score of x with n parents, from the bit vectors of their configurations (level n of the workspace)."""
    slices, first, r, k = work.slices, sample.first[x], sample.arities[x], work.slices.n[n]
    total, row = np.int64(0), value_row(cells, size * r)
    for s in range(k):
        left = slices.sizes[n, s]
        for a in range(r - 1):
            if left == 0:
                break
            count = in_common(slices.strata[n, s], sample.bits[first + a])
            if count > 0:
                total += cell_value(cells, row, count, size * r)
                left -= count
        if left > 0:
            total += cell_value(cells, row, left, size * r)
    row = value_row(cells, size)
    for s in range(k):
        total -= cell_value(cells, row, slices.sizes[n, s], size)
    penalty = complexity(cells, r, size)
    if has_surplus(cells, x):
        penalty += surplus_of(cells, x, slices.sizes[n, :k], sample.n_rows)
    return total / cells.scale - penalty


@lean
def family_value(evidence: Evidence, x: int, parents: Array, n: int) -> float:
    """Score of x with parents[:n]; needs `begin` first, and `turn` if parents have changed since."""
    sample, cells, work = evidence.sample, evidence.terms, evidence.work
    ready, slices, labels, n_labels, size = work.ready, work.slices, work.labels, work.slices.n_labels, 1.0
    for j in range(n):
        size = grow(size, sample.arities[parents[j]])
    for j in range(ready[SLICED], n):
        slice_further(sample, work, j, parents[j])
    ready[SLICED] = max(ready[SLICED], n)
    cost = slices.n[n] * sample.arities[x] * ((sample.n_rows >> 6) + SETUP)
    if 0 < cost <= WORTH * len(sample.weights) + 512 and sample.first[x] >= 0:
        return sliced_value(sample, cells, work, x, n, size)
    for j in range(ready[LABELLED], n):
        p = parents[j]
        n_labels[j + 1] = extend(
            labels[j], n_labels[j], sample.codes[p], sample.arities[p], labels[j + 1], work.scratch
        )
    ready[LABELLED] = max(ready[LABELLED], n)
    return label_value(sample, cells, work, x, labels[n], n_labels[n], size, labels[n + 1])
