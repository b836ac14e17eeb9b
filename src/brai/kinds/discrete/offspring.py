"""Local scores of many children with the same parents.

The configurations of the parents are found once. A child with few states is counted on bit vectors, with eight
configurations in the lanes of a block (`brai.kernels.simd`); otherwise the rows are visited, ordered by
configuration. Both give the integers of `brai.kinds.discrete.family_scores`.

**Bound.** The score of a family is a sum over configurations. In each, it is highest if the child has only one
state there. So the score is at most the sum over the configurations so far plus this bound for the others. As soon
as that is not above the score that a family must exceed, the rest is skipped. Configurations are sorted by size,
the largest first, so this happens early.
"""

from __future__ import annotations

import numpy as np

from brai.kernels.interface import Array, Evidence, Verbs, register
from brai.kernels.simd import LANES, fill_block, weigh_lanes
from brai.kinds.discrete.bit_tests import LABELLED, ROWS_OF, SLICED, SLICES_OF, begin, slice_further, test, turn
from brai.kinds.discrete.contingency import (
    Cells,
    Sample,
    cell_value,
    complexity,
    extend,
    grow,
    value_row,
)
from brai.kinds.discrete.family_scores import family_value
from brai.runtime.jit import lean, njit

ARITIES = 64  # states of a child up to which bounds are kept


@lean
def complete_row(cells: Cells, size: float) -> int:
    """As `value_row`; all values of the row are computed. That of an empty cell is 0."""
    row = value_row(cells, size)
    values = cells.values
    if values[row, 0] != 0:
        values[row, 0] = 0
        for count in range(1, values.shape[1]):
            cell_value(cells, row, count, size)
    return row


@njit
def ordered_rows(labels: Array, n_labels: int, weights: Array) -> tuple[Array, Array, Array]:
    """Rows sorted by label, labels of most rows first; where each label begins; and the rows' weight of each."""
    sizes, counts = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    for i in range(len(weights)):
        sizes[labels[i]] += weights[i]
        counts[labels[i]] += 1
    rank = np.argsort(-sizes, kind="mergesort")
    starts, n = np.zeros(n_labels + 1, np.int64), 0
    at, held = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    for label in rank:
        if counts[label] > 0:
            at[label], held[n] = starts[n], sizes[label]
            starts[n + 1] = starts[n] + counts[label]
            n += 1
    rows = np.empty(len(weights), np.int64)
    for i in range(len(weights)):
        rows[at[labels[i]]] = i
        at[labels[i]] += 1
    return rows, starts[: n + 1], held[:n]


@lean
def fill_bounds(cells: Cells, held: Array, step: int, size: float, out: Array) -> None:
    """Fill out[j] with the highest possible value of the configurations from j · step on."""
    row, total, n = complete_row(cells, size), np.int64(0), len(held)
    last = (n + step - 1) // step
    out[last] = 0
    for j in range(last - 1, -1, -1):
        for s in range(j * step, min(n, (j + 1) * step)):
            total += cells.values[row, held[s]]
        out[j] = total


@njit
def offspring(evidence: Evidence, children: Array, parents: Array, n: int, least: Array, out: Array) -> None:
    """Score of each child with parents[:n]; -inf if it is certainly not above least[i].

    Needs `begin` first, and `turn` if parents have changed since.
    """
    sample, cells, work = evidence.sample, evidence.terms, evidence.work
    ready, slices, labels, n_labels, size = work.ready, work.slices, work.labels, work.slices.n_labels, 1.0
    if sample.n_rows >= cells.values.shape[1] or len(children) < 2 or len(cells.grid) > 0:
        for i in range(len(children)):
            out[i] = family_value(evidence, children[i], parents, n)
        return
    for j in range(n):
        size = grow(size, sample.arities[parents[j]])
    for j in range(ready[SLICED], n):
        slice_further(sample, work, j, parents[j])
    ready[SLICED] = max(ready[SLICED], n)
    ready[ROWS_OF] = ready[SLICES_OF] = -1
    k = slices.n[n]
    blocks = (k + LANES - 1) // LANES
    on_bits = k > 0 and blocks <= len(slices.blocks)
    f_z, step = np.int64(0), LANES if on_bits else 1
    if on_bits:
        rank = np.argsort(-slices.sizes[n, :k], kind="mergesort")
        held = slices.sizes[n, :k][rank]
        rows, starts = np.empty(0, np.int64), np.empty(0, np.int64)
        none, every = slices.strata.shape[1] - 1, len(sample.bits) - 1
        for b in range(blocks):
            for lane in range(LANES):
                s = b * LANES + lane
                slices.source[b, lane] = rank[s] if s < k else none
                slices.other[b, lane] = every
                slices.held[b, lane] = held[s] if s < k else 0
                slices.weight[b, lane] = 0
            fill_block(slices.blocks[b], slices.strata[n], slices.source[b], sample.bits, slices.other[b])
    else:
        for j in range(ready[LABELLED], n):
            p = parents[j]
            n_labels[j + 1] = extend(
                labels[j], n_labels[j], sample.codes[p], sample.arities[p], labels[j + 1], work.scratch
            )
        ready[LABELLED] = max(ready[LABELLED], n)
        rows, starts, held = ordered_rows(labels[n], n_labels[n], sample.weights)
        blocks = len(held)
    row = complete_row(cells, size)
    for own in held:
        f_z += cells.values[row, own]
    bounds, known = np.zeros((ARITIES + 1, blocks + 1), np.int64), np.zeros(ARITIES + 1, np.uint8)
    for i in range(len(children)):
        x = children[i]
        r = sample.arities[x]
        if on_bits and sample.first[x] < 0:
            out[i] = family_value(evidence, x, parents, n)
            continue
        penalty = complexity(cells, r, size)
        need = (least[i] + penalty) * cells.scale + f_z
        if r <= ARITIES and not known[r]:
            fill_bounds(cells, held, step, size * r, bounds[r])
            known[r] = 1
        bound = bounds[r] if r <= ARITIES else bounds[0]
        if r <= ARITIES and bound[0] <= need:
            out[i] = -np.inf
            continue
        row = complete_row(cells, size * r)
        total, done = np.int64(0), 0
        if on_bits:
            first, place = sample.first[x], row * cells.values.shape[1]
            for b in range(blocks):
                for lane in range(LANES):
                    slices.place[b, lane] = place
                total += weigh_lanes(
                    slices.blocks[b],
                    sample.bits,
                    first,
                    r,
                    slices.held[b],
                    slices.place[b],
                    slices.weight[b],
                    cells.values,
                )[0]
                done = b + 1
                if r <= ARITIES and total + bound[done] <= need:
                    break
        else:
            column, counts, values = sample.codes[x], work.counts, cells.values[row]
            for s in range(blocks):
                for at in range(starts[s], starts[s + 1]):
                    j = rows[at]
                    before = counts[column[j]]
                    after = before + sample.weights[j]
                    total += values[after] - values[before]
                    counts[column[j]] = after
                for at in range(starts[s], starts[s + 1]):
                    counts[column[rows[at]]] = 0
                done = s + 1
                if r <= ARITIES and total + bound[done] <= need:
                    break
        out[i] = (total - f_z) / cells.scale - penalty if done == blocks else -np.inf


def register_verbs() -> None:
    """Register the functions for discrete samples."""
    register(Sample, Verbs(begin, turn, test, family_value, offspring))
