"""MMPC with G² tests: parents and children by the max-min heuristic (Tsamardinos, Brown & Aliferis 2006).

Associations are compared by the logarithm of the p-value, which does not underflow. Conventions are described in
`brai.search.mmpc`. Numbers of algorithms are those of that paper.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brai.kernels.interface import Array, Evidence, begin, test, turn
from brai.kernels.resolution import next_combination
from brai.runtime.jit import njit

EPSILON = 2.0**-53


class Level(NamedTuple):
    """When a test is made, and when it finds dependence."""

    log_alpha: float  # dependent if log p is below this
    rows_per_cell: float  # minimal average number of rows per cell of a test's table
    n_rows: int
    levels: Array  # (d,) int64: number of states, by which a variable multiplies the number of cells
    max_order: int  # maximal size of conditioning sets


class Pool(NamedTuple):
    """The variables from which conditioning sets are formed."""

    members: Array  # int64, new ones first
    m: int  # number of members
    n_new: int  # number of new members; each conditioning set contains at least one


class Candidates(NamedTuple):
    """The variables not yet found independent of the target, and the minimum association of each so far."""

    open: Array  # (d,) uint8
    log_p: Array  # (d,) float64: the largest so far
    statistic: Array  # (d,) int64: statistic of that test, in fixed point


@njit
def log_chi2_sf(g2: float, df: int) -> float:
    """Log of the probability that χ² with df degrees of freedom exceeds g2; 0 if df is 0.

    This is the regularised upper incomplete gamma function Q(a, x) with a = df / 2, x = g2 / 2: the series of 1 -
    Q for x < a + 1, Lentz's continued fraction otherwise (Press et al., Numerical Recipes, 6.2).
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
    evidence: Evidence, level: Level, target: int, pool: Pool, order: int, left: Candidates, tally: Array
) -> int:
    """Test each open variable given every ``order``-subset of the pool with a new member.

    An independent variable is closed. For the others the minimum association is updated. A conditioning set
    without enough rows is skipped. If there are not enough rows for the empty set, the variable is assumed
    independent. Returns the number of tests.
    """
    levels, scale = level.levels, evidence.terms.scale
    chosen, given = np.arange(order + 1), np.empty(order + 1, np.int64)
    tests, changed, n_open = 0, 0, np.count_nonzero(left.open)
    while n_open > 0 and changed >= 0 and (order == 0 or chosen[0] < pool.n_new):
        size = 1.0
        for j in range(order):
            given[j] = pool.members[chosen[j]]
            size = min(size * levels[given[j]], 1e280)
        turn(evidence, changed)
        for x in range(len(levels)):
            if not left.open[x]:
                continue
            if level.n_rows < level.rows_per_cell * size * levels[target] * levels[x]:
                if order == 0:
                    left.open[x] = 0
                    n_open -= 1
                continue
            value, df, _ = test(evidence, x, target, given, order, -1)
            tests += 1
            log_p = log_chi2_sf(2 * value / scale, df)
            if log_p >= level.log_alpha:
                left.open[x] = 0
                n_open -= 1
            elif log_p > left.log_p[x] or (log_p == left.log_p[x] and value < left.statistic[x]):
                left.log_p[x], left.statistic[x] = log_p, value
        changed = next_combination(chosen, order, pool.m)
    tally[order] += tests
    return tests


@njit
def max_min(left: Candidates) -> int:
    """The open variable with the largest minimum association; ties by G², then by index; -1 if none is open."""
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
def backward(evidence: Evidence, level: Level, target: int, cpc: Array, m: int, tally: Array) -> int:
    """Phase II (Algorithm 1, lines 9-13) in place; returns the number of remaining members.

    Members are tested in the order in which they were added. A member was already tested given sets of older
    members when it was added, so only sets with a younger member are tested.
    """
    d, i = len(level.levels), 0
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
            if not weaken(evidence, level, target, Pool(pool, m - 1, younger), order, left, tally):
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
def mmpc_bar(evidence: Evidence, level: Level, target: int, cpc: Array, tally: Array) -> int:
    """Algorithm 1 for one target: writes its candidate parents and children to cpc and returns their number.

    Of the optimisations of the paper (section 6), the two that do not change the result are used: a variable of
    minimum association zero is not tested again, and only conditioning sets with the newest member are tested.
    """
    d, m = len(level.levels), 0
    pool = np.empty(d, np.int64)
    left = Candidates(np.ones(d, np.uint8), np.full(d, -np.inf), np.zeros(d, np.int64))
    left.open[target] = 0
    weaken(evidence, level, target, Pool(pool, 0, 0), 0, left, tally)
    newest = max_min(left)
    while newest >= 0:  # Phase I (lines 2-8)
        pool[1 : m + 1] = cpc[:m]
        pool[0] = cpc[m] = newest
        m += 1
        left.open[newest] = 0
        order = 1
        while order <= min(m, level.max_order):
            if not weaken(evidence, level, target, Pool(pool, m, 1), order, left, tally):
                break  # no larger set has enough rows, or no variable is open
            order += 1
        newest = max_min(left)
    return backward(evidence, level, target, cpc, m, tally)


@njit
def parents_and_children(evidence: Evidence, level: Level, tally: Array) -> Array:
    """Algorithm 2 for every target: x and y are neighbours if each is in the other's candidate set."""
    d = len(level.levels)
    begin(evidence)
    found, cpc = np.zeros((d, d), np.uint8), np.empty(d, np.int64)
    for target in range(d):
        for j in range(mmpc_bar(evidence, level, target, cpc, tally)):
            found[target, cpc[j]] = 1
    return found & found.T
