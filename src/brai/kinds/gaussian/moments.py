"""Tests and scores on second moments. Their cost does not depend on the number of rows.

A sample is the scatter matrix S of the variables about their means.

- **Mutual information** of a normal distribution. With c the partial covariance given Z,
  CMI = -½ log(1 - c_xy² / (c_xx c_yy)). The statistic is N times that, with one degree of freedom. Its mean under
  independence is ½ as for tables, so all critical values carry over. The G-test on it is Fisher's z test but for
  terms of order 1 / N.
- **BGe**, the log marginal likelihood under a normal-Wishart prior (Geiger & Heckerman 2002, corrected by Kuipers,
  Moffa & Heckerman 2014), from R = S + t I: data are standardised, and the prior mean ν is that of the sample.
  `brai.kinds.gaussian.bge` has the formula. A Bayes factor is a difference of such scores.
- **BIC**: the log-likelihood of a regression, minus ½ log N for each parameter.

All need determinants of principal submatrices. The condition set is factorised once by Cholesky's method, row by
row; `turn(level)` keeps the first rows. The Schur complement of a variable takes one triangular solution.

**Collinear variables.** A variable whose variance given the condition set is below NONE times its own variance is
determined by it. In a condition set it adds nothing, and its row of the factor is zero. In a test there are zero
degrees of freedom: the data do not decide, as if a discrete condition set determined the variable.
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

    scatter: Array  # (d, d)
    n_rows: int


class Terms(NamedTuple):
    """What a statistic or a score is made of."""

    statistic: int  # LIKELIHOOD, BAYES or BIC
    ridge: float  # t of BGe, which is added to the diagonal; else 0
    constants: Array  # (depth,) of BGe by number of parents, see `brai.kinds.gaussian.bge.constants`
    weights: Array  # (depth + 1,) of BGe by size of a set: half of N + α_w - d + l
    penalty: float  # of BIC, for each parameter
    scale: float  # units per nat


class Factor(NamedTuple):
    """Workspace: the Cholesky factor of the condition set, and two vectors."""

    rows: Array  # (depth, depth)
    log_det: Array  # (depth + 1,): of the first variables
    solved: Array  # (2, depth)
    ready: Array  # (1 + padding,) int64: how many rows of the factor are valid


@lean
def begin(evidence: Evidence) -> None:
    """Start with the empty condition set."""
    evidence.work.ready[0] = 0
    evidence.work.log_det[0] = 0.0


@lean
def turn(evidence: Evidence, level: int) -> None:
    """The condition set has changed from its ``level``-th variable on."""
    if level < evidence.work.ready[0]:
        evidence.work.ready[0] = level


@lean
def solve(evidence: Evidence, given: Array, n: int, x: int, out: Array) -> float:
    """Solve L out = matrix[given, x] for the first n rows of the factor; returns the variance of x given them."""
    matrix, rows = evidence.sample.scatter, evidence.work.rows
    left = matrix[x, x] + evidence.terms.ridge
    for i in range(n):
        value, own = matrix[x, given[i]], rows[i]
        for j in range(i):
            value -= own[j] * out[j]
        value = value / own[i] if own[i] > 0 else 0.0
        out[i] = value
        left -= value * value
    return left


@lean
def factorise(evidence: Evidence, given: Array, n: int) -> None:
    """Complete the factor of the condition set given[:n]."""
    work, matrix = evidence.work, evidence.sample.scatter
    for i in range(work.ready[0], n):
        v, own = given[i], work.rows[i]
        left = solve(evidence, given, i, v, own)
        if left > NONE * (matrix[v, v] + evidence.terms.ridge):
            own[i] = math.sqrt(left)
            work.log_det[i + 1] = work.log_det[i] + math.log(left)
        else:
            own[i] = 0.0
            work.log_det[i + 1] = work.log_det[i]
    if n > work.ready[0]:
        work.ready[0] = n


@lean
def bge(terms: Terms, log_det: float, left: float, n: int) -> float:
    """BGe of a variable with n parents: their log determinant, and the Schur complement of the variable."""
    return terms.constants[n] - terms.weights[n + 1] * (log_det + math.log(left)) + terms.weights[n] * log_det


@lean
def test(evidence: Evidence, x: int, y: int, given: Array, n: int, collider: int) -> tuple[Fixed, int, int]:
    """N times the mutual information of x and y given[:n], or the log Bayes factor; its df; no early decision."""
    terms, work = evidence.terms, evidence.work
    matrix = evidence.sample.scatter
    factorise(evidence, given, n)
    of_x, of_y = work.solved[0], work.solved[1]
    left_x = solve(evidence, given, n, x, of_x)
    left_y = solve(evidence, given, n, y, of_y)
    if min(left_x - NONE * matrix[x, x], left_y - NONE * matrix[y, y]) <= 0:
        return np.int64(0), 0, OPEN
    both = matrix[x, y]
    for i in range(n):
        both -= of_x[i] * of_y[i]
    alone = max(1.0 - both * both / (left_x * left_y), NONE)
    if terms.statistic == BAYES:
        log_det = work.log_det[n]
        more = bge(terms, log_det + math.log(left_y), left_x * alone, n + 1)
        value = more - bge(terms, log_det, left_x, n)
    else:
        value = -0.5 * evidence.sample.n_rows * math.log(alone)
    return np.int64(np.rint(value * terms.scale)), 1, OPEN


@lean
def family_value(evidence: Evidence, x: int, parents: Array, n: int) -> float:
    """BGe or BIC of x with parents[:n]."""
    terms, work, rows = evidence.terms, evidence.work, evidence.sample.n_rows
    matrix = evidence.sample.scatter
    factorise(evidence, parents, n)
    left = solve(evidence, parents, n, x, work.solved[0])
    if terms.statistic == BAYES:
        return bge(terms, work.log_det[n], left, n)
    left = max(left, NONE * matrix[x, x], 1e-300)
    return -0.5 * rows * (math.log(2 * math.pi * left / rows) + 1) - terms.penalty * (n + 2)


def register_verbs() -> None:
    """Register the functions for samples of measurements."""
    register(Moments, Verbs(begin, turn, test, family_value))
