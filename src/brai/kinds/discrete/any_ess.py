"""BDeu averaged over the equivalent sample size (``ess="auto"``).

With one ess for all families, a table of many cells has a tiny Dirichlet parameter for each, and one of few cells
a large parameter. So the ess decides whether variables with many states can have parents at all, and no single
value suits all families of a network. Here each set of variables S has a joint distribution of its own, whose ess
has a log-uniform prior on GRID:

    P(D_S) = Σ_e P(D_S | e) / |GRID|,    P(D_S | e) = Γ(e) / Γ(e + N) · Π_cells Γ(n + e / cells) / Γ(e / cells)

and the score of x with parents Z is log P(D_XZ) - log P(D_Z). Three properties of BDeu are kept:

- the score is a log probability of the states of x given those of Z: for each e the marginal distribution of Z
  under the prior on XZ is the prior on Z, so the sum of P(D_XZ) over all columns x is P(D_Z);
- all DAGs of an equivalence class have the same score, since it is a difference of a function of sets;
- with many rows it penalises a parameter by log(N) / 2.

A variable whose states are equally frequent is described by a large e. So a parent set that tells all rows apart,
which predicts each row by 1 / states, gains nothing.

P(D_S | e) has a single maximum in e (Levin & Reeds 1977). So GRID is walked outward from a guess, WIDE values at a
time, until the terms are negligible. Where the maximum is narrow, the values around it are looked at closely, and
the sum is replaced by the integral of a Gaussian through the three highest terms. Averages of BDeu over ess for
each family, which are not equal within classes, are known as BDla (Cano et al. 2013).

References: Levin & Reeds 1977, "Compound multinomial likelihood functions are unimodal", Annals of Statistics 5;
Cano, Gómez-Olmedo, Masegosa & Moral 2013, "Locally averaged Bayesian Dirichlet metrics for learning the structure
and the parameters of Bayesian networks", International Journal of Approximate Reasoning 54.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from brai.data.dataset import Dataset
from brai.kernels.interface import Array, Fixed
from brai.kinds.discrete.contingency import Cells, Work, cell_value, value_row
from brai.runtime.jit import lean

WIDE = 4
STEP = 2**0.5
GRID = np.array([2.0 ** (k // 2) * (1, STEP)[k % 2] for k in range(-4, 8 * WIDE - 3)])  # 0.25 … 16384
FAR = 12.0  # nats; terms further below the largest are negligible
NARROW = 2 * math.pi  # curvature above which a Gaussian is integrated


@lean
def sum_of_cells(cells: Cells, counts: Array, n: int, size: float) -> Fixed:
    """Sum of the values of cells with counts[:n] rows, all above 0, in a table of ``size`` cells."""
    row, total = value_row(cells, size), np.int64(0)
    for j in range(n):
        total += cell_value(cells, row, counts[j], size)
    return total


@lean
def log_evidence(cells: Cells, counts: Array, n: int, size: float, k: int) -> float:
    """log P(D_S | e) for e = grid[k]. A table of size / e cells has the same parameters if ess is 1."""
    return sum_of_cells(cells, counts, n, size / cells.grid[k]) / cells.scale - cells.whole[k]


@lean
def log_average(cells: Cells, work: Work, counts: Array, n: int, size: float) -> float:
    """log P(D_S), up to a constant; counts[:n] are those of the occupied cells of a table of ``size`` cells."""
    totals, last = work.totals, len(cells.grid) - 1
    guess = math.log(size / (2 * cells.grid[0])) / math.log(STEP)
    k = low = high = at = min(last, max(0, WIDE * round(guess / WIDE)))
    best = -np.inf
    while True:
        totals[k] = log_evidence(cells, counts, n, size, k)
        if totals[k] > best:
            best, at = totals[k], k
        if high < last and totals[high] > best - FAR:
            k = high = high + WIDE
        elif low > 0 and totals[low] > best - FAR:
            k = low = low - WIDE
        else:
            break
    if low < at < high and 2 * best - totals[at - WIDE] - totals[at + WIDE] > NARROW:
        return narrow_average(cells, totals, counts, n, size, at)
    total = 0.0
    for j in range(low, high + 1, WIDE):
        total += math.exp(totals[j] - best)
    return best + math.log(total)


@lean
def narrow_average(cells: Cells, totals: Array, counts: Array, n: int, size: float, at: int) -> float:
    """The same near a narrow maximum, given the terms at ``at`` and WIDE values before and after."""
    wide, before, best, after = WIDE, totals[at - WIDE], totals[at], totals[at + WIDE]
    while wide > 1 and 2 * best - before - after > NARROW:
        wide //= 2
        for k in range(at - wide, at + wide + 1, 2 * wide):
            totals[k] = log_evidence(cells, counts, n, size, k)
        left, right = totals[at - wide], totals[at + wide]
        if left > best:
            at, best, after = at - wide, left, best
        elif right > best:
            at, before, best = at + wide, best, right
        else:
            before, after = left, right
    curve, slope = 2 * best - before - after, after - before
    return best + slope * slope / (8 * curve) + 0.5 * math.log(2 * math.pi / curve) + math.log(wide / WIDE)


def best_ess(counts: Array, size: float) -> float:
    """The ess of highest evidence for a table, given the counts of its occupied cells; for parameters."""
    n = counts.sum()
    prior = GRID[:, None] / size
    values = (gammaln(counts + prior) - gammaln(prior)).sum(axis=1) - gammaln(n + GRID) + gammaln(GRID)
    return float(GRID[values.argmax()])


def ess_of(data: Dataset, variables: Sequence[int], ess: float | str) -> float:
    """``ess``, or if it is "auto" that of highest evidence for the joint table of these variables."""
    if ess != "auto":
        return float(ess)
    labels, size = np.zeros(data.n_rows, np.int64), 1.0
    for v in variables:
        arity = int(data.arities[v])
        labels = np.unique(labels * arity + data.codes[v], return_inverse=True)[1].ravel()
        size = min(size * arity, 1e280)
    return best_ess(np.bincount(labels), size)
