"""Tests and scores on second moments. Their cost does not depend on the number of rows.

A sample is the scatter matrix S of columns about their means. A variable is a block of columns: one for a
measurement, several for a category (`brai.kinds.mixed`), none for a constant.

- **Mutual information** of a normal distribution. With C the partial covariance given Z,
  CMI = -½ log(det C_xy,xy / (det C_x,x det C_y,y)), which is -½ log(1 - c_xy² / (c_xx c_yy)) for single columns.
  The statistic is N times that, with as many degrees of freedom as x has columns times those of y. Its mean under
  independence is df / 2 as for tables, so all critical values carry over. For single columns the G-test on it is
  Fisher's z test but for terms of order 1 / N.
- **BGe**, the log marginal likelihood under a normal-Wishart prior (Geiger & Heckerman 2002, corrected by Kuipers,
  Moffa & Heckerman 2014), from R = S + t I: data are standardised, and the prior mean ν is that of the sample.
  `brai.kinds.gaussian.bge` has the formula. A Bayes factor is a difference of such scores.
- **BIC**: the log-likelihood of a regression, minus ½ log N for each parameter. For blocks this is the degenerate
  Gaussian score (Andrews, Ramsey & Cooper 2019).

All need determinants of principal submatrices. The condition set is factorised once by Cholesky's method, row by
row; `turn(level)` keeps the first rows. The Schur complement of a column takes one triangular solution.

**Collinear variables.** A column whose variance given the condition set is below NONE times its own variance is
determined by it. In a condition set it adds nothing, and its row of the factor is zero. In a test it has no degree
of freedom; if none is left the data do not decide, as if a discrete condition set determined the variable.

Reference: Andrews, Ramsey & Cooper 2019, "Learning high-dimensional directed acyclic graphs with mixed
data-types", Proceedings of Machine Learning Research 104.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brai.kernels.interface import OPEN, Array, Evidence, Fixed, Verbs, register
from brai.runtime.jit import lean

NONE = 1e-9  # share of a variance that counts as zero
LIKELIHOOD, BAYES, BIC = 0, 1, 2


class Moments(NamedTuple):
    """A sample: what is left of its rows."""

    scatter: Array  # (columns, columns)
    starts: Array  # (d + 1,) int64: the columns of variable v are starts[v] to starts[v + 1]
    n_rows: int


class Terms(NamedTuple):
    """What a statistic or a score is made of."""

    statistic: int  # LIKELIHOOD, BAYES or BIC
    ridge: float  # t of BGe, which is added to the diagonal; else 0
    constants: Array  # (columns + 1,) of BGe by number of columns before, see `brai.kinds.gaussian.bge.constants`
    weights: Array  # (columns + 2,) of BGe by number of columns in a set: half of N + α_w - d + l
    penalty: float  # of BIC, for each parameter
    scale: float  # units per nat


class Factor(NamedTuple):
    """Workspace: the Cholesky factor of the condition set, and further rows for the variables of a test."""

    rows: Array  # (size, size)
    columns: Array  # (size,) int64: the column of each row
    log_det: Array  # (size + 1,): of the first columns
    ends: Array  # (depth + 1,) int64: number of rows for the first variables of the condition set
    ready: Array  # (1 + padding,) int64: how many variables of the condition set are factorised


@lean
def begin(evidence: Evidence) -> None:
    """Start with the empty condition set."""
    evidence.work.ready[0] = 0
    evidence.work.ends[0] = 0
    evidence.work.log_det[0] = 0.0


@lean
def turn(evidence: Evidence, level: int) -> None:
    """The condition set has changed from its ``level``-th variable on."""
    if level < evidence.work.ready[0]:
        evidence.work.ready[0] = level


@lean
def solve(evidence: Evidence, n: int, c: int, out: Array) -> float:
    """Solve L out = matrix[columns, c] for the first n rows of the factor; returns c's variance given them."""
    matrix, rows, columns = evidence.sample.scatter, evidence.work.rows, evidence.work.columns
    left = matrix[c, c] + evidence.terms.ridge
    for i in range(n):
        value, own = matrix[c, columns[i]], rows[i]
        for j in range(i):
            value -= own[j] * out[j]
        value = value / own[i] if own[i] > 0 else 0.0
        out[i] = value
        left -= value * value
    return left


@lean
def append(evidence: Evidence, n: int, c: int) -> float:
    """Append column c as row n of the factor; returns its variance given the rows before, 0 if determined."""
    work, matrix = evidence.work, evidence.sample.scatter
    own = work.rows[n]
    left = solve(evidence, n, c, own)
    work.columns[n] = c
    if left > NONE * (matrix[c, c] + evidence.terms.ridge):
        own[n] = math.sqrt(left)
        work.log_det[n + 1] = work.log_det[n] + math.log(left)
        return left
    own[n] = 0.0
    work.log_det[n + 1] = work.log_det[n]
    return 0.0


@lean
def factorise(evidence: Evidence, given: Array, n: int) -> int:
    """Complete the factor of the condition set given[:n]; returns its number of rows."""
    work, starts = evidence.work, evidence.sample.starts
    for i in range(work.ready[0], n):
        v, m = given[i], work.ends[i]
        for c in range(starts[v], starts[v + 1]):
            append(evidence, m, c)
            m += 1
        work.ends[i + 1] = m
    if n > work.ready[0]:
        work.ready[0] = n
    return work.ends[n]


@lean
def append_block(evidence: Evidence, n: int, v: int) -> int:
    """Append the columns of variable v as rows n and following; returns how many are not determined before."""
    starts, free = evidence.sample.starts, 0
    for c in range(starts[v], starts[v + 1]):
        if append(evidence, n + c - starts[v], c) > 0:
            free += 1
    return free


@lean
def bge_set(terms: Terms, log_det: float, n: int) -> float:
    """The part of BGe that depends on determinants, for a set of n columns."""
    return -terms.weights[n] * log_det


@lean
def block_value(evidence: Evidence, n: int, width: int) -> float:
    """BGe of the block of ``width`` rows after row n, given the first n rows of the factor."""
    terms, log_det = evidence.terms, evidence.work.log_det
    value = bge_set(terms, log_det[n + width], n + width) - bge_set(terms, log_det[n], n)
    for i in range(n, n + width):
        value += terms.constants[i]
    return value


@lean
def test(evidence: Evidence, x: int, y: int, given: Array, n: int, collider: int) -> tuple[Fixed, int, int]:
    """N times the mutual information of x and y given[:n], or the log Bayes factor; its df; no early decision."""
    terms, starts, m = evidence.terms, evidence.sample.starts, factorise(evidence, given, n)
    r_x, r_y = starts[x + 1] - starts[x], starts[y + 1] - starts[y]
    if terms.statistic == BAYES:
        append_block(evidence, m, y)
        append_block(evidence, m + r_y, x)
        value = block_value(evidence, m + r_y, r_x)
        append_block(evidence, m, x)
        value -= block_value(evidence, m, r_x)
        return np.int64(np.rint(value * terms.scale)), r_x * r_y, OPEN
    if r_x == 1 and r_y == 1:
        value, df = of_columns(evidence, m, starts[x], starts[y])
    else:
        value, df = of_blocks(evidence, m, x, y)
    return np.int64(np.rint(value * terms.scale)), df, OPEN


@lean
def of_columns(evidence: Evidence, m: int, x: int, y: int) -> tuple[float, int]:
    """N times the mutual information of two columns given the first m rows of the factor, and its df."""
    matrix, rows = evidence.sample.scatter, evidence.work.rows
    of_x, of_y = rows[m], rows[m + 1]
    left_x, left_y = solve(evidence, m, x, of_x), solve(evidence, m, y, of_y)
    if min(left_x - NONE * matrix[x, x], left_y - NONE * matrix[y, y]) <= 0:
        return 0.0, 0
    both = matrix[x, y]
    for i in range(m):
        both -= of_x[i] * of_y[i]
    return -0.5 * evidence.sample.n_rows * math.log(max(1.0 - both * both / (left_x * left_y), NONE)), 1


@lean
def of_blocks(evidence: Evidence, m: int, x: int, y: int) -> tuple[float, int]:
    """The same for two variables of any number of columns."""
    starts, log_det, n_rows = evidence.sample.starts, evidence.work.log_det, evidence.sample.n_rows
    r_x, r_y = starts[x + 1] - starts[x], starts[y + 1] - starts[y]
    free_y = append_block(evidence, m, y)
    after_y = append_block(evidence, m + r_y, x)
    given_y = log_det[m + r_y + r_x] - log_det[m + r_y]
    free_x = append_block(evidence, m, x)
    given_y += (free_x - after_y) * math.log(NONE * n_rows)  # columns of x that y determines
    return max(0.5 * n_rows * (log_det[m + r_x] - log_det[m] - given_y), 0.0), free_x * free_y


@lean
def family_value(evidence: Evidence, x: int, parents: Array, n: int) -> float:
    """BGe or BIC of x with parents[:n]."""
    terms, rows, starts = evidence.terms, evidence.sample.n_rows, evidence.sample.starts
    matrix, m = evidence.sample.scatter, factorise(evidence, parents, n)
    width = starts[x + 1] - starts[x]
    if terms.statistic == BAYES:
        append_block(evidence, m, x)
        return block_value(evidence, m, width)
    value = 0.0
    for i in range(m, m + width):
        c = starts[x] + i - m
        left = append(evidence, i, c)
        left = max(left, NONE * matrix[c, c], 1e-300)
        value += -0.5 * rows * (math.log(2 * math.pi * left / rows) + 1) - terms.penalty * (i + 2)
    return value


def register_verbs() -> None:
    """Register the functions for samples of measurements."""
    register(Moments, Verbs(begin, turn, test, family_value))
