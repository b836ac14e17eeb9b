"""MMPC with its G² tests: parents and children by the max-min heuristic (Tsamardinos, Brown & Aliferis 2006).

Associations are compared by the logarithm of the p-value, which does not underflow; see `brai.search.mmpc`
for the conventions. "Algorithm 1" is the paper's numbering.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brai.kernels.resolution import next_combination
from brai.kinds.discrete.contingency import Array, Cells, Joint, Sample, Work, extend, grow, join, statistic
from brai.runtime.jit import njit

EPSILON = 2.0**-53


class Level(NamedTuple):
    """When a test is made, and when its result means dependence."""

    log_alpha: float  # dependent if log p is below
    rows_per_cell: float  # a test needs as many rows for each cell of its table, on average
    df: int  # how degrees of freedom are counted: STRATA, CELLS, FULL
    max_order: int  # of condition sets


class Candidates(NamedTuple):
    """The variables still to be told apart from the target, and each one's minimum association so far."""

    open: Array  # (d,) uint8
    log_p: Array  # (d,) float64: the largest met
    statistic: Array  # (d,) int64: of that test, in fixed point


@njit
def log_chi2_sf(g2: float, df: int) -> float:
    """Log of the probability that χ² with df degrees of freedom exceeds g2; 0 where df is 0.

    The upper incomplete gamma ratio Q(a, x) with a = df / 2, x = g2 / 2: by the series of 1 - Q below x = a + 1,
    by Lentz's continued fraction above (Press et al., Numerical Recipes, 6.2).
    """
    a, x = df / 2, g2 / 2
    if df <= 0 or x <= 0:
        return 0.0
    front = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1:
        term = total = 1 / a
        k = a
        while term > total * EPSILON:
            k += 1
            term *= x / k
            total += term
        return math.log1p(-min(math.exp(front) * total, 1 - EPSILON))
    b = x + 1 - a
    c, d = 1e300, 1 / b
    value, i = d, 0
    while True:
        i += 1
        step = -i * (i - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        value *= c * d
        if abs(c * d - 1) <= 4 * EPSILON or i > 100_000:
            return front + math.log(value)


@njit
def weaken(
    sample: Sample,
    cells: Cells,
    work: Work,
    level: Level,
    target: int,
    pool: Array,
    m: int,
    n_new: int,
    order: int,
    left: Candidates,
    tally: Array,
) -> int:
    """Test each open variable given every ``order``-subset of pool[:m] with a member in pool[:n_new].

    An independent variable is closed; of the others the minimum association is kept. A condition set without
    enough rows takes no part; without enough rows for the empty set there is no test at all, and independence
    is assumed. Returns how many tests were made.
    """
    n_rows, arities, labels = sample.weights.sum(), sample.arities, work.labels
    chosen, n_labels = np.arange(order + 1), np.ones(order + 1, np.int64)
    z, base = labels[order], labels[order + 1]
    joint = Joint(z, 0, 1.0, base, 0, False, np.int64(0), 0)
    labels[0, : len(sample.weights)] = 0
    tests, changed, labelled, n_open = 0, 0, 0, np.count_nonzero(left.open)
    while n_open > 0 and changed >= 0 and (order == 0 or chosen[0] < n_new):
        labelled = min(labelled, changed)
        size, joined = 1.0, False
        for j in range(order):
            size = grow(size, arities[pool[chosen[j]]])
        for x in range(len(arities)):
            if not left.open[x]:
                continue
            if n_rows < level.rows_per_cell * size * arities[target] * arities[x]:
                if order == 0:
                    left.open[x] = 0
                    n_open -= 1
                continue
            if not joined:
                for j in range(labelled, order):
                    v = pool[chosen[j]]
                    column, out = sample.codes[v], labels[j + 1]
                    n_labels[j + 1] = extend(labels[j], n_labels[j], column, arities[v], out, work.scratch)
                labelled, joined = order, True
                joint = join(sample, cells, work, target, z, n_labels[order], size, base)
            value, df = statistic(sample, cells, work, x, target, joint, level.df)
            tests += 1
            log_p = log_chi2_sf(2 * value / cells.scale, df)
            if log_p >= level.log_alpha:
                left.open[x] = 0
                n_open -= 1
            elif log_p > left.log_p[x] or (log_p == left.log_p[x] and value < left.statistic[x]):
                left.log_p[x], left.statistic[x] = log_p, value
        changed = next_combination(chosen, order, m)
    tally[order] += tests
    return tests


@njit
def max_min(left: Candidates) -> int:
    """The open variable of maximum minimum association; ties by G², then by index; -1 if none is open."""
    best = -1
    for x in range(len(left.open)):
        if left.open[x] and (
            best < 0
            or left.log_p[x] < left.log_p[best]
            or (left.log_p[x] == left.log_p[best] and left.statistic[x] > left.statistic[best])
        ):
            best = x
    return best


@njit
def backward(
    sample: Sample, cells: Cells, work: Work, level: Level, target: int, cpc: Array, m: int, tally: Array
) -> int:
    """Phase II (Algorithm 1, lines 9-13) in place; returns the number of members that stay.

    Members are looked at in the order in which they entered. What is older than a member was conditioned on
    before it entered, so only sets with a younger one are tested.
    """
    d, i = len(sample.arities), 0
    pool = np.empty(m + 1, np.int64)
    left = Candidates(np.zeros(d, np.uint8), np.full(d, -np.inf), np.zeros(d, np.int64))
    while i < m:
        x, younger, order = cpc[i], m - 1 - i, 1
        for j in range(younger):
            pool[j] = cpc[i + 1 + j]
        for j in range(i):
            pool[younger + j] = cpc[j]
        left.open[x] = 1
        while order <= min(m - 1, level.max_order) and left.open[x]:
            if not weaken(sample, cells, work, level, target, pool, m - 1, younger, order, left, tally):
                break
            order += 1
        if left.open[x]:
            i += 1
        else:
            cpc[i : m - 1] = cpc[i + 1 : m].copy()
            m -= 1
        left.open[x] = 0
    return m


@njit
def mmpc_bar(sample: Sample, cells: Cells, work: Work, level: Level, target: int, cpc: Array, tally: Array) -> int:
    """Algorithm 1 for one target: its candidate parents and children into cpc; returns how many.

    Of the paper's optimisations (section 6) the two that can change nothing are in use: a variable of minimum
    association zero is not looked at again, and only condition sets with the newest member are tested.
    """
    d, m = len(sample.arities), 0
    pool = np.empty(d, np.int64)
    left = Candidates(np.ones(d, np.uint8), np.full(d, -np.inf), np.zeros(d, np.int64))
    left.open[target] = 0
    weaken(sample, cells, work, level, target, pool, 0, 0, 0, left, tally)
    newest = max_min(left)
    while newest >= 0:  # Phase I (lines 2-8)
        pool[1 : m + 1] = cpc[:m]
        pool[0] = cpc[m] = newest
        m += 1
        left.open[newest] = 0
        order = 1
        while order <= min(m, level.max_order):
            if not weaken(sample, cells, work, level, target, pool, m, 1, order, left, tally):
                break  # no larger set has enough rows, or no variable is open
            order += 1
        newest = max_min(left)
    return backward(sample, cells, work, level, target, cpc, m, tally)


@njit
def parents_and_children(sample: Sample, cells: Cells, work: Work, level: Level, tally: Array) -> Array:
    """Algorithm 2 for every target: x and y are neighbours if each is in the other's candidate set."""
    d = len(sample.arities)
    found, cpc = np.zeros((d, d), np.uint8), np.empty(d, np.int64)
    for target in range(d):
        for j in range(mmpc_bar(sample, cells, work, level, target, cpc, tally)):
            found[target, cpc[j]] = 1
    return found & found.T
