"""BDeu with the equivalent sample size of highest evidence for each set of variables (``ess="table"``).

With one ess for all families, a table of many cells has a tiny Dirichlet parameter for each, and one of few cells
a large parameter. So the ess decides whether variables with many states can have parents at all, and no single
value suits all families of a network. Here each set of variables S has a joint distribution of its own, whose ess
is that of highest evidence (empirical Bayes):

    F(S) = max_e log P(D_S | e),    P(D_S | e) = Γ(e) / Γ(e + N) · Π_cells Γ(n + e / cells) / Γ(e / cells)

and the score of x with parents Z is F(XZ) - F(Z). Properties of BDeu that are kept:

- all DAGs of an equivalence class have the same score, since it is a difference of a function of sets;
- with one e for all sets it would be the log probability of the states of x given those of Z;
- with many rows it penalises a parameter by log(N) / 2.

A variable whose states are equally frequent is described by a large e. So a parent set that tells all rows apart,
which predicts each row by 1 / states, gains nothing.

**A known bias.** The best e of Z need not be that of XZ. If Z is balanced and x is rare, F(Z) gains up to ½ log N
by a large e, and F(XZ) does not. So the family of x with the parents Z is penalised by that much, and a further
parent of x that is rare too costs less than it should. Limits on e by the size of the table were tried against
this bias. They make larger tables too cheap, and on networks with three or more states they add false edges.

**Why not an average over e?** Each average contains the prior probability of the values of e that matter, a cost
of one or two nats. A variable without parents pays it; for one with parents the costs of XZ and Z cancel. So every
edge would be cheaper by that amount. A maximum has no such cost.

**Parameters** are averaged over e, for each family separately: with ess "table" the probability of state k in
configuration j is the mean of (N_jk + e / qr) / (N_j + e / q) over the posterior of e given the counts of the
family (`ess_weights`). Here the evidence of e is that of the child given its parents, not of a joint table, and
values from ½ to 16384 are equally probable before the data. The e of highest evidence predicts worse: a family
that happens to look deterministic would get the smallest e.

P(D_S | e) has a single maximum in e (Levin & Reeds 1977). So GRID is climbed from a guess, WIDE values at a time.
Where the maximum is narrow, the values around it are looked at closely; then it is interpolated by a parabola.
Averages of BDeu over ess for each family, not equal within classes, are known as BDla (Cano et al. 2013).

References: Levin & Reeds 1977, "Compound multinomial likelihood functions are unimodal", Annals of Statistics 5;
Cano, Gómez-Olmedo, Masegosa & Moral 2013, "Locally averaged Bayesian Dirichlet metrics for learning the structure
and the parameters of Bayesian networks", International Journal of Approximate Reasoning 54.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from brai.kernels.interface import Array, Fixed
from brai.kinds.discrete.contingency import Cells, Work, cell_value, value_row
from brai.runtime.jit import lean, njit

WIDE = 4
STEP = 2**0.5
GRID = np.array([2.0 ** (k // 2) * (1, STEP)[k % 2] for k in range(-4, 8 * WIDE - 3)])  # 0.25 … 16384
PARAMETERS: NDArray[np.float64] = np.exp2(
    np.arange(-1.0, 15.0)
)  # values of ess over which parameters are averaged
NARROW = 2.0  # curvature, in nats, above which a maximum is looked at more closely


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
def highest_evidence(cells: Cells, work: Work, counts: Array, n: int, size: float) -> float:
    """max_e log P(D_S | e); counts[:n] are those of the occupied cells of a table of ``size`` cells."""
    totals, last, wide = work.totals, len(cells.grid) - 1, WIDE
    guess = math.log(size / (2 * cells.grid[0])) / math.log(STEP)
    at = min(last, max(0, wide * round(guess / wide)))
    best, low, high = -np.inf, at + 1, at - 1  # totals[low:high + 1:wide] are known
    k = at
    while True:
        totals[k] = log_evidence(cells, counts, n, size, k)
        low, high = min(low, k), max(high, k)
        if totals[k] > best:
            best, at = totals[k], k
        if at == high and high < last:  # values fall on both sides of the maximum, so look there next
            k = at + wide
        elif at == low and low > 0:
            k = at - wide
        elif wide > 1 and low < at < high and 2 * best - totals[at - wide] - totals[at + wide] > NARROW:
            wide //= 2  # the neighbours at the smaller distance are not known yet
            low = high = at
            k = at + wide
        else:
            break
    if not low < at < high:
        return best
    curve, slope = 2 * best - totals[at - wide] - totals[at + wide], totals[at + wide] - totals[at - wide]
    return best + slope * slope / (8 * max(curve, 1e-9))


# --- parameters ------------------------------------------------------------------------------------------


@njit
def ess_weights(grid: Array, counts: Array, margins: Array, q: float, r: int) -> Array:
    """Posterior probabilities of the values of ess for one family, equal before the data; see the docstring.

    ``counts`` are those of the cells of a child with r states and q configurations of its parents, ``margins``
    those of the configurations; cells without rows may be left out.
    """
    out = np.empty(len(grid))
    for k in range(len(grid)):
        row, cell = grid[k] / q, grid[k] / (q * r)
        of_row, of_cell, total = math.lgamma(row), math.lgamma(cell), 0.0
        for n in margins:
            if n > 0:
                total += of_row - math.lgamma(n + row)
        for n in counts:
            if n > 0:
                total += math.lgamma(n + cell) - of_cell
        out[k] = total
    out -= out.max()
    for k in range(len(grid)):
        out[k] = math.exp(out[k])
    return out / out.sum()


def grid_of(ess: float | str) -> NDArray[np.float64]:
    """The values of ess that parameters are averaged over: one number, or PARAMETERS if ess is "table"."""
    return np.array([float(ess)]) if ess != "table" else PARAMETERS


def averaged_means(counts: NDArray[np.int64], ess: float | str) -> NDArray[np.float64]:
    """Dirichlet posterior means from counts (configurations, states), averaged over ess if it is "table".

    A configuration without rows has a uniform row, also with ess 0 (maximum likelihood).
    """
    grid, (q, r), seen = grid_of(ess), counts.shape, counts.sum(axis=1, keepdims=True)
    weights = np.ones(1)
    if len(grid) > 1:  # int32: the type that predictions are compiled for
        weights = ess_weights(grid, counts.ravel().astype(np.int32), seen.ravel().astype(np.int32), float(q), r)
    out = np.zeros((q, r))
    for one, weight in zip(grid.tolist(), weights.tolist(), strict=True):
        out += weight * (counts + one / (q * r)) / np.maximum(seen + one / q, 1e-300)
    return np.where(seen > 0, out, 1 / r)
