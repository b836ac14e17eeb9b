"""CI tests on bit vectors: 64 rows at a time.

A variable with few states is stored as one bit vector for each state, with one bit for each row of the sample. A
row that was drawn several times has several bits. The count of a cell is the popcount of the AND of its bit
vectors. It costs N / 64 words, in SIMD vectors of eight, whatever the count. If a table has few cells, this is
cheaper than visiting the rows. If it has many, or a variable has many states, rows are visited instead
(`brai.kinds.discrete.contingency`). Both methods give the same integers.

All tests of y given Z share the bit vectors of the configurations z and of the cells (z, y). These are interleaved
in blocks of eight lanes (`brai.kernels.simd`). A test splits each of them by the states of x, adds the values of
the cells (x, y, z) and subtracts those of (x, z). A configuration z with only one state of y contributes nothing
(except with BDeu) and is left out.

A test stops as soon as its decision is certain. The contribution of a configuration of Z is at least 0 and at most
the entropy of y in its rows (times their number). So X and Y are dependent once the sum exceeds the critical value
of the largest possible df. They are independent once the sum plus the bounds of all remaining configurations
cannot exceed the critical value of the df so far.
"""

from __future__ import annotations

import numpy as np

from brai.kernels.interface import (
    CELLS,
    DEPENDENT,
    FULL,
    INDEPENDENT,
    OPEN,
    ROUNDING,
    Array,
    Evidence,
    Fixed,
    Rule,
    critical_value,
)
from brai.kernels.simd import LANES, count_lanes, fill_block, in_common, intersect, weigh_lanes
from brai.kinds.discrete.contingency import (
    Cells,
    Joint,
    Sample,
    Slices,
    Work,
    cell_value,
    extend,
    grow,
    join,
    statistic,
    value_row,
)
from brai.runtime.jit import inner, lean, njit

SETUP = 16  # fixed cost of a cell, in words
WORTH = 8  # cost of visiting a row, in words
BESIDES = 8  # fixed cost of a block, in words of each lane
PER_ROW = 4.0  # cost of visiting a row, in words of each lane
CERTAIN = 1e-8  # nats; above the rounding error of sums over up to 10^6 rows, below ROUNDING

LABELLED, SLICED, ROWS_OF, SLICES_OF, KEPT = 0, 1, 2, 3, 4  # indices in Work.ready
N_BLOCKS, SPARE, FILLED = 0, 1, 2  # indices in Slices.kept


@njit
def string_places(arities: Array, few: int, first: Array) -> int:
    """Fill ``first``: index of a variable's first bit vector, -1 if it has more than ``few`` states. Returns the
    number of bit vectors.
    """
    n = 0
    for v in range(len(arities)):
        first[v] = n if arities[v] <= few else -1
        n += arities[v] if arities[v] <= few else 0
    return n


@njit
def slice_columns(codes: Array, rows: Array, used: Array, first: Array, bits: Array) -> None:
    """Set the bits of the variables ``used`` for the rows of a sample, which may contain repetitions."""
    for v in used:
        if first[v] >= 0:
            for i in range(len(rows)):
                bits[first[v] + codes[v, rows[i]], i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    bits[len(bits) - 1] = ~np.uint64(0)


@njit
def sort_rows(drawn: Array, rows: Array, weights: Array) -> int:
    """Sort the drawn rows in place. Fill ``rows`` with the distinct ones, ``weights`` with their multiplicities.

    Returns the number of distinct rows.
    """
    m, at = 0, 0
    times = np.zeros(len(weights), np.int32)
    for row in drawn:
        times[row] += 1
    for row in range(len(times)):
        if times[row] > 0:
            rows[m], weights[m] = row, times[row]
            m += 1
        for _ in range(times[row]):
            drawn[at] = row
            at += 1
    return m


@njit
def take_columns(codes: Array, rows: Array, used: Array, out: Array) -> None:
    """Copy the rows ``rows`` of the variables ``used`` to ``out``."""
    for v in used:
        for i in range(len(rows)):
            out[v, i] = codes[v, rows[i]]


@njit
def begin(evidence: Evidence) -> None:
    """Start with the empty conditioning set, for this sample."""
    sample, work = evidence.sample, evidence.work
    rows, slices = sample.n_rows, work.slices
    work.labels[0, : len(sample.weights)] = 0
    full, rest = rows >> 6, rows & 63
    slices.strata[0, 0, :] = 0
    slices.strata[0, 0, :full] = ~np.uint64(0)
    if rest:
        slices.strata[0, 0, full] = (np.uint64(1) << np.uint64(rest)) - np.uint64(1)
    slices.sizes[0, 0] = rows
    slices.n[0] = 1
    work.ready[KEPT] = -1
    turn(evidence, 0)


@inner
def turn(evidence: Evidence, level: int) -> None:
    """The conditioning set has changed from its ``level``-th variable on."""
    ready = evidence.work.ready
    ready[LABELLED], ready[SLICED] = min(ready[LABELLED], level), min(ready[SLICED], level)
    ready[ROWS_OF] = ready[SLICES_OF] = -1
    if ready[KEPT] > level:
        ready[KEPT] = -1


@lean
def slice_further(sample: Sample, work: Work, level: int, v: int) -> None:
    """Split the configurations of ``level`` variables by one more variable; store none if they are too many."""
    slices, first, m = work.slices, sample.first[v], 0
    to, most = level + 1, slices.sizes.shape[1]
    cost = slices.n[level] * sample.arities[v] * ((sample.n_rows >> 6) + SETUP)
    slices.n[to] = 0
    if first < 0 or cost > WORTH * len(sample.weights) + 512:
        return
    for s in range(slices.n[level]):
        for a in range(sample.arities[v]):
            if m == most:
                return
            count = intersect(slices.strata[level, s], sample.bits[first + a], slices.strata[to, m])
            slices.sizes[to, m] = count
            m += count > 0  # an empty one is overwritten
    slices.n[to] = m


@inner
def open_block(slices: Slices, b: int, source: int, other: int) -> None:
    """Initialise an empty block."""
    for lane in range(LANES):
        slices.source[b, lane], slices.other[b, lane] = source, other
        slices.held[b, lane] = slices.place[b, lane] = slices.weight[b, lane] = 0
    slices.rest[b], slices.whole[b] = 0, 1


@inner
def pair_up(evidence: Evidence, y: int, n: int, z_size: float) -> int:
    """Assign the configurations z and the cells (z, y) to lanes, for all tests of y given Z.

    Returns the number of blocks, -1 if there would be too many. A configuration and its cells are put into one
    block if they fit.
    """
    sample, cells, rule, work = evidence.sample, evidence.terms, evidence.rule, evidence.work
    kind = rule.df
    slices, first, r = work.slices, sample.first[y], sample.arities[y]
    strata, counts = slices.strata[n], slices.counts
    if slices.n[n] == 0 or first < 0:
        return -1
    none, every = len(strata) - 1, len(sample.bits) - 1
    b, lane, negative, spare = -1, LANES, cells.values.shape[1], 0
    for s in range(slices.n[n]):
        size, seen = slices.sizes[n, s], 0
        if size < 2 and not cells.bdeu:
            continue
        left = size
        for a in range(r - 1):
            counts[a] = in_common(strata[s], sample.bits[first + a])
            seen += counts[a] > 0
            left -= counts[a]
        counts[r - 1] = left
        seen += left > 0
        if seen < 2 and not cells.bdeu:
            continue
        if lane + 1 + seen > LANES:
            lane = LANES
        value = cell_value(cells, value_row(cells, z_size), size, z_size)
        for a in range(-1, r):
            if a >= 0 and counts[a] == 0:
                continue
            if lane == LANES:
                if a >= 0:
                    slices.whole[b] = 0
                b, lane = b + 1, 0
                if b == len(slices.blocks):
                    return -1
                open_block(slices, b, none, every)
            slices.source[b, lane] = s
            if a < 0:
                slices.held[b, lane], slices.place[b, lane] = size, negative
                slices.weight[b, lane] = seen - 1 if kind != CELLS else -1
            else:
                slices.other[b, lane] = first + a
                slices.held[b, lane], slices.weight[b, lane] = counts[a], kind == CELLS
                value -= cell_value(cells, value_row(cells, z_size * r), counts[a], z_size * r)
            lane += 1
        slices.rest[b] += value
        spare += seen - 1
    slices.rest[b + 1] = 0
    for j in range(b, -1, -1):
        slices.rest[j] += slices.rest[j + 1]
    slices.kept[SPARE], slices.kept[FILLED] = spare, 0
    return b + 1


@inner
def limit(cells: Cells, rule: Rule, collider: int, df: int) -> float:
    """The critical value in fixed point."""
    return (critical_value(rule, collider, df) + ROUNDING) * cells.scale


@inner
def sliced_statistic(
    evidence: Evidence, x: int, y: int, n: int, z_size: float, collider: int
) -> tuple[Fixed, int, int]:
    """Statistic and df as in `contingency.statistic`, after `pair_up`; and the decision if the test stops early.

    With ``collider`` = -1 the test does not stop early.
    """
    sample, cells, rule, work = evidence.sample, evidence.terms, evidence.rule, evidence.work
    slices, first, r, r_y, size = work.slices, sample.first[x], sample.arities[x], sample.arities[y], z_size
    n_blocks, rest = slices.kept[N_BLOCKS], slices.rest
    may_stop = collider >= 0 and not cells.bdeu and rule.df != CELLS
    df, value = 0, np.int64(0)
    full = int(min((r - 1) * (r_y - 1) * z_size, 2.0**40)) if rule.df == FULL else 0
    slack = CERTAIN * cells.scale
    highest = lowest = 0.0
    if may_stop:
        if rule.critical[collider, 0] == np.inf and rest[0] + slack <= limit(cells, rule, collider, 1):
            return np.int64(0), 1, INDEPENDENT
        highest = limit(cells, rule, collider, full if rule.df == FULL else slices.kept[SPARE] * (r - 1)) + slack
    for b in range(n_blocks):
        block, held, place, weight = slices.blocks[b], slices.held[b], slices.place[b], slices.weight[b]
        if b == slices.kept[FILLED]:  # not filled by an earlier test
            fill_block(block, slices.strata[n], slices.source[b], sample.bits, slices.other[b])
            slices.kept[FILLED] = b + 1
        if cells.bdeu:
            count_lanes(block, sample.bits, first, r, held, slices.split)
            added, states = bdeu_values(cells, slices.split, r, place, weight, size * r, size * r * r_y)
        else:
            added, states = weigh_lanes(block, sample.bits, first, r, held, place, weight, cells.values)
        value += added
        df += states
        if may_stop and slices.whole[b]:
            so_far = value + rest[0] - rest[b + 1]
            if so_far > highest:
                return so_far, df, DEPENDENT
            if df > 0 and b + 1 < n_blocks:
                lowest = limit(cells, rule, collider, full if rule.df == FULL else df) - slack
                if so_far + rest[b + 1] <= lowest:
                    return so_far, df, INDEPENDENT
    if rule.df == CELLS:
        df = max(0, df)
    elif rule.df == FULL:
        df = full
    return value + rest[0], df, OPEN


@inner
def bdeu_values(
    cells: Cells, counts: Array, r: int, place: Array, weight: Array, size_xz: float, size: float
) -> tuple[Fixed, int]:
    """Like `weigh_lanes`, for BDeu: values depend on the number of cells and are computed on demand."""
    total, states = np.int64(0), 0
    for lane in range(LANES):
        own, sign = (size, 1) if place[lane] == 0 else (size_xz, -1)
        row, seen = value_row(cells, own), -1
        for a in range(r):
            if counts[a, lane] > 0:
                total += sign * cell_value(cells, row, counts[a, lane], own)
                seen += 1
        states += weight[lane] * seen
    return total, states


@njit
def rows_statistic(evidence: Evidence, x: int, y: int, given: Array, n: int, z_size: float) -> tuple[Fixed, int]:
    """Statistic and df by visiting rows; the counts of (y, Z) are kept for the next test."""
    sample, cells, rule, work = evidence.sample, evidence.terms, evidence.rule, evidence.work
    labels, n_labels, ready, kept = work.labels, work.slices.n_labels, work.ready, work.joint
    if ready[ROWS_OF] != y:
        for j in range(ready[LABELLED], n):
            column, arity = sample.codes[given[j]], sample.arities[given[j]]
            n_labels[j + 1] = extend(labels[j], n_labels[j], column, arity, labels[j + 1], work.scratch)
        ready[LABELLED], ready[ROWS_OF] = n, y
        made = join(sample, cells, work, y, labels[n], n_labels[n], z_size, labels[n + 1])
        kept[0], kept[1], kept[2], kept[3] = made.n_base, made.product, made.rest, made.spare
    joint = Joint(labels[n], n_labels[n], z_size, labels[n + 1], kept[0], kept[1] == 1, kept[2], kept[3])
    return statistic(sample, cells, work, x, y, joint, rule.df)


@inner
def test(evidence: Evidence, x: int, y: int, given: Array, n: int, collider: int) -> tuple[Fixed, int, int]:
    """Statistic, df and decision of x and y given[:n], on bit vectors or rows, whichever is cheaper.

    The counts of (y, Z) are kept for the next test, until `turn` is called.
    """
    sample, work = evidence.sample, evidence.work
    ready, slices, z_size = work.ready, work.slices, 1.0
    for j in range(n):
        z_size = grow(z_size, sample.arities[given[j]])
    if ready[SLICES_OF] != y:
        for j in range(ready[SLICED], n):
            slice_further(sample, work, j, given[j])
        ready[SLICED], ready[SLICES_OF] = n, y
        slices.kept[N_BLOCKS] = pair_up(evidence, y, n, z_size)
    if slices.kept[N_BLOCKS] >= 0 and sample.first[x] >= 0:
        cost = slices.kept[N_BLOCKS] * (sample.arities[x] - 1) * ((sample.n_rows >> 6) + BESIDES)
        if cost <= PER_ROW * len(sample.weights) + 128:
            return sliced_statistic(evidence, x, y, n, z_size, collider)
    value, df = rows_statistic(evidence, x, y, given, n, z_size)
    return value, df, OPEN
