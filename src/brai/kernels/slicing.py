"""CI tests on bit slices: 64 rows at a time.

A variable of few states is a string of bits for each of its states, one bit a row of the sample; rows drawn
several times have several bits. The rows of a cell are the bits that its strings have in common, so a cell costs
N / 64 words, whatever is in it. That is cheaper than visiting the rows while a table has few cells; where it has
many, or a variable has many states, rows are visited (`brai.kernels.counts`). Both count the same integers.

A test stops when its decision is certain. Each configuration of Z adds to the statistic what is not negative and
at most the entropy of y in its rows; so a sum that is above the critical value of the largest possible df stays
there, and one that all the rest cannot lift above the critical value of the df so far stays below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import config, types
from numba.extending import intrinsic

from brai._jit import inner, lean, njit
from brai.kernels.counts import (
    CELLS,
    FULL,
    ROUNDING,
    Array,
    Cells,
    Fixed,
    Joint,
    Rule,
    Sample,
    Work,
    cell_value,
    excess,
    extend,
    grow,
    join,
    statistic,
    value_row,
)

SETUP = 16  # what a cell costs besides its words, in words
WORTH = 5  # words that are cheaper than visiting a row
CERTAIN = 1e-8  # nats; above the rounding of all sums, below ROUNDING

LABELLED, SLICED, ROWS_OF, SLICES_OF = 0, 1, 2, 3  # places in Work.ready
DEPENDENT, OPEN, INDEPENDENT = -1, 0, 1


def ones(word: Any) -> int:
    """Number of ones in a word."""
    return int(word).bit_count()


if not config.DISABLE_JIT:  # type: ignore[attr-defined,unused-ignore]

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    def ones(typing, word):  # type: ignore[no-untyped-def]
        """The same, by the instruction that there is for it."""

        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), code


@njit
def slice_columns(codes: Array, rows: Array, variables: Array, first: Array, bits: Array) -> None:
    """Set the bits of these variables for the rows of a sample, which may come several times; all others stay."""
    for v in variables:
        if first[v] >= 0:
            for i in range(len(rows)):
                bits[first[v] + codes[v, rows[i]], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@njit
def take_columns(codes: Array, rows: Array, variables: Array, out: Array) -> None:
    """Rows of these variables."""
    for v in variables:
        for i in range(len(rows)):
            out[v, i] = codes[v, rows[i]]


@inner
def in_common(a: Array, b: Array) -> int:
    """Number of bits that two strings have in common."""
    n = 0
    for i in range(len(a)):
        n += ones(a[i] & b[i])
    return n


@inner
def intersect(a: Array, b: Array, out: Array) -> int:
    """The bits that two strings have in common, and their number."""
    n = 0
    for i in range(len(a)):
        word = a[i] & b[i]
        out[i] = word
        n += ones(word)
    return n


@njit
def begin(sample: Sample, work: Work) -> None:
    """Start with the empty condition set, for this sample."""
    rows, slices = sample.n_rows, work.slices
    work.labels[0, : len(sample.weights)] = 0
    full, rest = rows >> 6, rows & 63
    slices.strata[0, 0, :] = 0
    slices.strata[0, 0, :full] = ~np.uint64(0)
    if rest:
        slices.strata[0, 0, full] = (np.uint64(1) << np.uint64(rest)) - np.uint64(1)
    slices.sizes[0, 0] = rows
    slices.n[0] = 1
    turn(work, 0)


@inner
def turn(work: Work, level: int) -> None:
    """The condition set has changed from its ``level``-th variable on."""
    ready = work.ready
    ready[LABELLED], ready[SLICED] = min(ready[LABELLED], level), min(ready[SLICED], level)
    ready[ROWS_OF] = ready[SLICES_OF] = -1


@lean
def slice_further(sample: Sample, work: Work, level: int, v: int) -> None:
    """The configurations of one more variable; none are kept if they are too many."""
    slices, first, m = work.slices, sample.first[v], 0
    to, most = level + 1, slices.sizes.shape[1]
    cost = slices.n[level] * sample.arities[v] * ((sample.n_rows >> 6) + SETUP)
    slices.n[to] = 0
    if first < 0 or cost > WORTH * len(sample.weights) + 512:
        return
    for s in range(slices.n[level]):
        left = slices.sizes[level, s]
        for a in range(sample.arities[v]):
            if left == 0:
                break
            if m == most:
                return
            count = intersect(slices.strata[level, s], sample.bits[first + a], slices.strata[to, m])
            if count > 0:
                slices.sizes[to, m] = count
                left -= count
                m += 1
    slices.n[to] = m


@inner
def pair_up(sample: Sample, cells: Cells, work: Work, y: int, n: int, z_size: float) -> int:
    """Count (z, y) on slices, shared by all tests of y given Z; the number of cells, 0 if there are too many."""
    slices, first, r = work.slices, sample.first[y], sample.arities[y]
    k, occupied = slices.n[n], 0
    if k == 0 or first < 0 or k * r > len(slices.counts):
        return 0
    row = value_row(cells, z_size * r)
    for s in range(k):
        left, seen, value = slices.sizes[n, s], 0, np.int64(0)
        for b in range(r):
            at, count = s * r + b, 0
            if left > 0:
                count = intersect(slices.strata[n, s], sample.bits[first + b], slices.pairs[at])
            if count > 0:
                value += cell_value(cells, row, count, z_size * r)
                left -= count
                seen += 1
            slices.counts[at] = count
        slices.rest[s], slices.seen[s] = -value, seen
        occupied += seen
    row = value_row(cells, z_size)
    slices.rest[k] = 0
    for s in range(k - 1, -1, -1):
        slices.rest[s] += slices.rest[s + 1] + cell_value(cells, row, slices.sizes[n, s], z_size)
    slices.kept[1] = occupied - k
    return occupied


@inner
def limit(cells: Cells, rule: Rule, collider: int, df: int) -> float:
    """The value in fixed point that the statistic must pass."""
    critical, last = rule.critical[collider], rule.critical.shape[1] - 1
    value = critical[min(df, last)]
    if df > last:  # goes on in a straight line
        value += (df - last) * (critical[last] - critical[last - 1])
    return (value + ROUNDING) * cells.scale


@inner
def sliced_statistic(
    sample: Sample, cells: Cells, rule: Rule, work: Work, x: int, y: int, n: int, z_size: float, collider: int
) -> tuple[Fixed, int, int]:
    """Statistic and df as `counts.statistic` has them, after `pair_up`; and the decision where that came first.

    A ``collider`` of -1 asks for the number itself.
    """
    slices, margins = work.slices, work.margins
    first, r, r_y, k = sample.first[x], sample.arities[x], sample.arities[y], slices.n[n]
    row, size = value_row(cells, z_size * r_y * r), z_size * r_y * r
    may_stop = collider >= 0 and not cells.bdeu and rule.df != CELLS
    df, occupied, value = 0, 0, np.int64(0)
    full = int(min((r - 1) * (r_y - 1) * z_size, 2.0**40)) if rule.df == FULL else 0
    slack = CERTAIN * cells.scale
    highest = lowest = 0.0
    if may_stop:
        if rule.critical[collider, 0] == np.inf and slices.rest[0] + slack <= limit(cells, rule, collider, 1):
            return np.int64(0), 1, INDEPENDENT
        highest = limit(cells, rule, collider, full if rule.df == FULL else slices.kept[1] * (r - 1)) + slack
    for s in range(k):
        seen = slices.seen[s]
        if seen < 2 and not cells.bdeu and rule.df != CELLS:  # y is constant here
            continue
        at = s * r
        for b in range(s * r_y, s * r_y + r_y):
            left = slices.counts[b]
            for a in range(r - 1):
                if left == 0:
                    break
                count = in_common(slices.pairs[b], sample.bits[first + a])
                if count > 0:
                    value += cell_value(cells, row, count, size)
                    occupied += 1
                    margins[at + a] += count
                    left -= count
            if left > 0:
                value += cell_value(cells, row, left, size)
                occupied += 1
                margins[at + r - 1] += left
        here = 0
        for a in range(at, at + r):
            if margins[a] > 0:
                here += 1
                if not cells.bdeu:
                    value -= cell_value(cells, row, margins[a], size)
                    margins[a] = 0
        df += (here - 1) * (seen - 1)
        occupied -= here + seen - 1
        if not cells.bdeu:
            value += slices.rest[s] - slices.rest[s + 1]
            if may_stop:
                if value > highest:
                    return value, df, DEPENDENT
                if df > 0 and s + 1 < k:
                    lowest = limit(cells, rule, collider, full if rule.df == FULL else df) - slack
                    if value + slices.rest[s + 1] <= lowest:
                        return value, df, INDEPENDENT
    if cells.bdeu:
        value += slices.rest[0]
        row, size = value_row(cells, z_size * r), z_size * r
        for a in range(k * r):
            if margins[a] > 0:
                value -= cell_value(cells, row, margins[a], size)
                margins[a] = 0
    if rule.df == CELLS:
        df = max(0, occupied)
    elif rule.df == FULL:
        df = full
    return value, df, OPEN


@njit
def rows_statistic(
    sample: Sample, cells: Cells, kind: int, work: Work, x: int, y: int, given: Array, n: int, z_size: float
) -> tuple[Fixed, int]:
    """Statistic and df by visiting rows; what is counted of (y, Z) is kept for the next test."""
    labels, n_labels, ready, kept = work.labels, work.slices.n_labels, work.ready, work.joint
    if ready[ROWS_OF] != y:
        for j in range(ready[LABELLED], n):
            column, arity = sample.codes[given[j]], sample.arities[given[j]]
            n_labels[j + 1] = extend(labels[j], n_labels[j], column, arity, labels[j + 1], work.scratch)
        ready[LABELLED], ready[ROWS_OF] = n, y
        made = join(sample, cells, work, y, labels[n], n_labels[n], z_size, labels[n + 1])
        kept[0], kept[1], kept[2], kept[3] = made.n_base, made.product, made.rest, made.spare
    joint = Joint(labels[n], n_labels[n], z_size, labels[n + 1], kept[0], kept[1] == 1, kept[2], kept[3])
    return statistic(sample, cells, work, x, y, joint, kind)


@inner
def test(
    sample: Sample, cells: Cells, rule: Rule, work: Work, x: int, y: int, given: Array, n: int, collider: int
) -> tuple[Fixed, int, int]:
    """Statistic, df and decision of x and y given[:n], on slices or rows, whichever is cheaper; see `turn`.

    What is counted of (y, Z) is kept for the next test.
    """
    ready, slices, z_size = work.ready, work.slices, 1.0
    for j in range(n):
        z_size = grow(z_size, sample.arities[given[j]])
    if ready[SLICES_OF] != y:
        for j in range(ready[SLICED], n):
            slice_further(sample, work, j, given[j])
        ready[SLICED], ready[SLICES_OF] = n, y
        slices.kept[0] = pair_up(sample, cells, work, y, n, z_size)
    kept, words = slices.kept[0] * (sample.arities[x] - 1), (sample.n_rows >> 6) + SETUP
    if kept > 0 and sample.first[x] >= 0 and kept * words <= WORTH * len(sample.weights) + 512:
        return sliced_statistic(sample, cells, rule, work, x, y, n, z_size, collider)
    value, df = rows_statistic(sample, cells, rule.df, work, x, y, given, n, z_size)
    return value, df, OPEN


@inner
def independent(value: Fixed, df: int, decision: int, cells: Cells, rule: Rule, collider: int) -> bool:
    """What a test says."""
    return decision == INDEPENDENT or (decision == OPEN and excess(cells, rule, collider, value, df) <= 0)


@njit
def associations(sample: Sample, cells: Cells, rule: Rule, work: Work) -> Array:
    """The statistic of every pair given nothing, in fixed point: how strongly variables go together."""
    d, given = len(sample.codes), np.empty(0, np.int64)
    out = np.zeros((d, d), np.int64)
    begin(sample, work)
    for y in range(d):
        for x in range(y):
            value, _, _ = test(sample, cells, rule, work, x, y, given, 0, -1)
            out[x, y] = out[y, x] = value
    return out
