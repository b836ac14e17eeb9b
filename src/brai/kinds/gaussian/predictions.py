"""Predictive densities of families: ratios of multivariate t densities (`brai.kinds.gaussian.bge`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from brai.data.measurements import Floats, Measurements
from brai.graphs.pdag import Family
from brai.kinds import kind_of
from brai.kinds.gaussian.bge import Prior

_MOST_CELLS = 20_000_000  # maximum of families × rows in a block


def blocks(families: Sequence[Family], train: Measurements, test: Measurements, ess: float) -> Iterator[Floats]:
    """Yield log densities (families, rows) in the units of the data, by blocks of rows of ``test``."""
    if train.names != test.names:
        raise ValueError("train and test differ in variables: give both the same columns")
    prior, n = Prior.of(train.n_variables, ess), train.n_rows
    matrix = prior.matrix(kind_of(train).sample(train).scatter)
    step = max(256, _MOST_CELLS // max(len(families), 1))
    for start in range(0, test.n_rows, step):
        rows = (test.values[:, start : start + step] - train.centre[:, None]) / train.spread[:, None]
        out = np.empty((len(families), rows.shape[1]))
        for i, (x, parents) in enumerate(families):
            out[i] = density(matrix, prior, n, (*parents, x), rows) - math.log(train.spread[x])
        yield out


def density(matrix: Floats, prior: Prior, n: int, family: Sequence[int], rows: Floats) -> Floats:
    """Log density of the last variable of ``family`` given the others, for standardised rows."""
    df = n + prior.alpha_w - prior.d + 1
    scale = (n + prior.alpha_mu + 1) / ((n + prior.alpha_mu) * df)
    members = list(family)
    factor = np.linalg.cholesky(matrix[np.ix_(members, members)] * scale)
    white = solve_triangular(factor, rows[members], lower=True) ** 2
    before, size = white[:-1].sum(axis=0), len(members)
    return np.asarray(
        gammaln((df + size) / 2)
        - gammaln((df + size - 1) / 2)
        - math.log(df * math.pi) / 2
        - math.log(factor[-1, -1])
        - (df + size) / 2 * np.log1p((before + white[-1]) / df)
        + (df + size - 1) / 2 * np.log1p(before / df)
    )
