"""Contingency tables: the statistic of a CI test and the score of a family, by one mechanism.

For a set of variables A let F(A) be the sum, over the occupied cells of A's contingency table, of a value
that depends only on the cell's count n and on the number of cells. Then

- F(XYZ) + F(Z) - F(XZ) - F(YZ) is N times the conditional mutual information if the value is n log n, and
  the log Bayes factor of dependence if it is the BDeu value lgamma(n + ess / cells) - lgamma(ess / cells);
- F(XZ) - F(Z) is the log-likelihood, or the BDeu score, of the family X with parents Z.

Values are integers (fixed point, ``scale`` units per nat). Integer sums do not depend on the order of cells, rows,
states or variables, so decisions do not either.

Tables contain only the occupied configurations of Z, hence at most about rows × states of one variable cells. The
cells of a small table are read in order; those of a large one are found by visiting the rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brai.kernels.interface import CELLS, FULL, ROUNDING, Array, Evidence, Fixed, critical_value, d_separated
from brai.runtime.jit import inner, lean, njit

UNSET = np.iinfo(np.int64).min  # a cell value that is not computed yet
DENSE = 2  # a table of at most DENSE × rows cells is read in order


class Sample(NamedTuple):
    """Distinct rows and their multiplicities; and the same as bit vectors, see `brai.kinds.discrete.bit_tests`."""

    codes: Array  # (d, M) unsigned
    weights: Array  # (M,) int32
    arities: Array  # (d,) int64
    n_rows: int  # N, the sum of the weights
    first: Array  # (d,) int64: index of the first bit vector of a variable, -1 if it has too many states
    bits: Array  # (states of all these variables + 1, words) uint64; the last bit vector is all ones


class Cells(NamedTuple):
    """Cell values: one row for each number of cells (BDeu); or two rows, n log n and its negative."""

    values: Array  # (slots, counts) int64
    keys: Array  # (slots,) float64: the number of cells for which a row is valid
    ess: float
    scale: float
    bdeu: bool
    penalty: float  # nats for each free parameter (BIC)
    nml_rows: float  # number of rows, for the penalty of qNML; else 0
    grid: Array  # values of ess to choose from, see `brai.kinds.discrete.any_ess`; or (0,) for one ess
    whole: Array  # for each of them lgamma(N + ess) - lgamma(ess)


class Slices(NamedTuple):
    """Workspace for bit vectors; level j is for the first j variables of a conditioning set."""

    strata: Array  # (depth, configurations + 1, words) uint64: bit vectors of the occupied configurations
    sizes: Array  # (depth, configurations) int64: number of rows of each
    n: Array  # (depth,) int64: number of occupied configurations, 0 if too many
    n_labels: Array  # (depth,) int64: number of labels in Work.labels
    blocks: Array  # (blocks, words, 8) uint64: bit vectors of a configuration and its cells with y, interleaved
    source: Array  # (blocks, 8) int64: index of the configuration; the last one is always empty
    other: Array  # (blocks, 8) int64: index of the bit vector of the state of y
    held: Array  # (blocks, 8) int64: number of rows
    place: Array  # (blocks, 8) int64: offset in the cell values; that of a configuration selects the negatives
    weight: Array  # (blocks, 8) int64: added to the degrees of freedom for each state of x beyond the first
    rest: Array  # (blocks + 1,) int64: F(Z) - F(YZ) of configurations that end in this block or a later one
    whole: Array  # (blocks,) int64: whether no configuration continues in the next block
    counts: Array  # (states,) int64: of y in one configuration
    split: Array  # (states, 8) int64: of x in one block
    kept: Array  # (3,) int64: number of blocks or -1; sum of (states of y - 1) over z; number of filled blocks


class Work(NamedTuple):
    """Workspace. Counts, margins and scratch are zero between calls."""

    counts: Array  # int32
    margins: Array  # int32
    scratch: Array  # int32
    seen: Array  # (rows,) int32
    labels: Array  # (depth, rows) int32
    slices: Slices
    joint: Array  # (4,) int64: the scalars of the current Joint
    ready: Array  # (5,) int64: which results for the conditioning set are valid, see brai.kinds.discrete.bit_tests
    totals: Array  # (values of ess + 1,) float64; the last is for the conditioning set


class Joint(NamedTuple):
    """Rows labelled by (z, y), and the quantities that all tests of y given Z share."""

    z: Array  # label of the configuration of Z, by row
    n_z: int
    z_size: float  # number of configurations of Z, by declared states
    base: Array  # label of (z, y), by row
    n_base: int
    product: bool  # whether base = z * arity of y + y
    rest: Fixed  # F(Z) - F(YZ)
    spare: int  # number of occupied cells of Z, minus that of YZ


@inner
def value_row(cells: Cells, size: float) -> int:
    """Index of the row of values for a table of ``size`` cells; a row for another size may be overwritten."""
    if not cells.bdeu:
        return 0
    slot = int(size * 2.0**20 % len(cells.keys))  # a number of cells may be divided by an ess
    if cells.keys[slot] != size:
        cells.keys[slot] = size
        cells.values[slot, :] = UNSET
    return slot


@inner
def cell_value(cells: Cells, row: int, count: int, size: float) -> Fixed:
    """Value of a cell with ``count`` > 0 rows, in a table of ``size`` cells; computed once."""
    kept = count < cells.values.shape[1]
    if kept and cells.values[row, count] != UNSET:
        return cells.values[row, count]
    if cells.bdeu:
        prior = cells.ess / size
        value = np.int64(np.rint((math.lgamma(count + prior) - math.lgamma(prior)) * cells.scale))
    else:
        value = np.int64(np.rint(count * math.log(count) * cells.scale))
    if kept:
        cells.values[row, count] = value
    return value


@lean
def extend(labels: Array, n_labels: int, column: Array, arity: int, out: Array, scratch: Array) -> int:
    """Label rows by (label, column) and return the number of labels.

    All pairs are numbered if they are few, else only the occupied ones, in order of appearance.
    """
    rows = len(column)
    if n_labels * arity <= max(16, rows // 2):
        for i in range(rows):
            out[i] = labels[i] * arity + column[i]
        return n_labels * arity
    n = 0
    for i in range(rows):
        pair = labels[i] * arity + column[i]
        if scratch[pair] == 0:
            n += 1
            scratch[pair] = n
        out[i] = scratch[pair] - 1
    for i in range(rows):
        scratch[labels[i] * arity + column[i]] = 0
    return n


@lean
def drain(counts: Array, n: int, cells: Cells, size: float) -> tuple[Fixed, int]:
    """F and the number of occupied cells of counts[:n], which is then set to zero."""
    row = value_row(cells, size)
    total, occupied = np.int64(0), 0
    for j in range(n):
        if counts[j] > 0:
            total += cell_value(cells, row, counts[j], size)
            occupied += 1
            counts[j] = 0
    return total, occupied


@inner
def grow(size: float, arity: int) -> float:
    """Number of configurations with one more variable, bounded to avoid overflow."""
    return min(size * arity, 1e280)


@njit
def join(
    sample: Sample, cells: Cells, work: Work, y: int, z: Array, n_z: int, z_size: float, base: Array
) -> Joint:
    """Count (z, y), for all tests of y given Z; sets ``work.seen[z]`` to the number of states of y in z."""
    weights, column, arity = sample.weights, sample.codes[y], sample.arities[y]
    counts, margins, seen, rows = work.counts, work.margins, work.seen, len(sample.weights)
    n_base = n_z * arity
    product = n_base <= DENSE * rows + 16
    if product:
        for i in range(rows):
            base[i] = z[i] * arity + column[i]
    else:
        n_base = extend(z, n_z, column, arity, base, work.scratch)
    for j in range(n_z):
        seen[j] = 0
    for i in range(rows):
        counts[base[i]] += weights[i]
        margins[z[i]] += weights[i]
    size = z_size * arity
    row = value_row(cells, size)
    f_yz, occupied = np.int64(0), 0
    for i in range(rows):
        count = counts[base[i]]
        if count > 0:
            f_yz += cell_value(cells, row, count, size)
            occupied += 1
            seen[z[i]] += 1
            counts[base[i]] = 0
    f_z, strata = drain(margins, n_z, cells, z_size)
    return Joint(z, n_z, z_size, base, n_base, product, f_z - f_yz, strata - occupied)


@lean
def statistic(
    sample: Sample, cells: Cells, work: Work, x: int, y: int, joint: Joint, kind: int
) -> tuple[Fixed, int]:
    """F(XYZ) + F(Z) - F(XZ) - F(YZ) in fixed point, and its degrees of freedom, after `join` of y and Z."""
    weights, column, z, base = sample.weights, sample.codes[x], joint.z, joint.base
    r, r_y, rows = sample.arities[x], sample.arities[y], len(sample.weights)
    counts, margins, seen = work.counts, work.margins, work.seen
    for i in range(rows):
        counts[base[i] * r + column[i]] += weights[i]
    size_xz = joint.z_size * r
    size = size_xz * r_y
    row = value_row(cells, size)
    f_xyz, f_xz, occupied, df = np.int64(0), np.int64(0), joint.spare, 0
    if joint.product and joint.n_base * r <= max(DENSE * rows, 256):  # read [z][y][x] in order, and sum to [z][x]
        j = 0
        for stratum in range(joint.n_z):
            for _ in range(r_y):
                for a in range(stratum * r, stratum * r + r):
                    count = counts[j]
                    if count > 0:
                        f_xyz += cell_value(cells, row, count, size)
                        occupied += 1
                        margins[a] += count
                        counts[j] = 0
                    j += 1
        row = value_row(cells, size_xz)
        for stratum in range(joint.n_z):
            here = 0
            for a in range(stratum * r, stratum * r + r):
                if margins[a] > 0:
                    f_xz += cell_value(cells, row, margins[a], size_xz)
                    here += 1
                    margins[a] = 0
            if here > 0:
                occupied -= here
                df += (here - 1) * (seen[stratum] - 1)
    else:  # visit the cells row by row
        for i in range(rows):
            j = base[i] * r + column[i]
            margins[z[i] * r + column[i]] += weights[i]
            if counts[j] > 0:
                f_xyz += cell_value(cells, row, counts[j], size)
                occupied += 1
                counts[j] = 0
        row = value_row(cells, size_xz)
        for i in range(rows):
            j = z[i] * r + column[i]
            if margins[j] > 0:
                f_xz += cell_value(cells, row, margins[j], size_xz)
                occupied -= 1
                df += seen[z[i]] - 1
                margins[j] = 0
        for stratum in range(joint.n_z):
            df -= max(seen[stratum] - 1, 0)
    if kind == CELLS:
        df = max(0, occupied)
    elif kind == FULL:
        df = int(min((r - 1) * (r_y - 1) * joint.z_size, 2.0**40))
    return f_xyz - f_xz + joint.rest, df


@njit
def ci_test(evidence: Evidence, x: int, y: int, given: Array, n_given: int, collider: int) -> float:
    """Statistic minus critical value of a single CI test, in nats; infinite with the oracle."""
    sample, cells, rule, work = evidence.sample, evidence.terms, evidence.rule, evidence.work
    if len(rule.truth) > 0:
        return -np.inf if d_separated(rule.truth, x, y, given, n_given) else np.inf
    labels, n_z, size = work.labels, 1, 1.0
    labels[0, : len(sample.weights)] = 0
    for j in range(n_given):
        v = given[j]
        n_z = extend(labels[j], n_z, sample.codes[v], sample.arities[v], labels[j + 1], work.scratch)
        size = grow(size, sample.arities[v])
    joint = join(sample, cells, work, y, labels[n_given], n_z, size, labels[n_given + 1])
    value, df = statistic(sample, cells, work, x, y, joint, rule.df)
    return value / cells.scale - critical_value(rule, collider, df) - ROUNDING


@lean
def complexity(cells: Cells, r: int, size: float) -> float:
    """What BIC or qNML subtracts for a variable of r states whose parents have ``size`` configurations."""
    if cells.nml_rows > 0:
        return regret(cells.nml_rows, r * size) - regret(cells.nml_rows, size)
    return cells.penalty * (r - 1) * size


@lean
def regret(n: float, k: float) -> float:
    """Log of the normaliser of the multinomial NML distribution: n rows, k cells (Szpankowski & Weinberger 2012).

    The approximation is uniform in k / n; its error is of order 1 / n.
    """
    if k <= 1:
        return 0.0
    a = k / n
    c = 0.5 + 0.5 * np.sqrt(1 + 4 / a)
    return n * (np.log(a) + (a + 2) * np.log(c) - 1 / c) - 0.5 * np.log(c + 2 / a)
