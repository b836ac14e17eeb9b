"""Coefficients and total effects when the graph is uncertain, from DAGs that were drawn.

**Coefficients.** An edge p → v has a standardised regression coefficient in each DAG that contains it. Within a
DAG its posterior is a t distribution (`brai.kinds.gaussian.bge`). Mean and standard deviation are over both, DAGs
that have the edge, and parameters.

**Total effects** of all pairs at once (Viinikka et al. 2020): for each DAG the coefficients B are drawn from their
posterior, and the effect of one unit of x on the mean of y is an entry of (I - B)⁻¹, in the units of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from brai.data.measurements import Floats, Measurements
from brai.graphs.pdag import Family
from brai.kinds import kind_of
from brai.kinds.gaussian.bge import Prior, Regression, regression


class Coefficients(NamedTuple):
    """Standardised coefficients of edges, row to column; NaN for an edge that is in no DAG."""

    mean: Floats
    sd: Floats


class TotalEffects(NamedTuple):
    """Change of the mean of the column variable by one unit of the row variable, over DAGs and parameters."""

    names: tuple[str, ...]
    mean: Floats
    sd: Floats
    low: Floats  # 2.5 % quantile
    high: Floats  # 97.5 % quantile
    draws: Floats  # (draws, d, d)


def _regressions(data: Measurements, families: Sequence[Family], ess: float) -> list[Regression]:
    prior = Prior.of(data.n_variables, ess)
    matrix = prior.matrix(kind_of(data).sample(data).scatter)
    return [regression(matrix, prior, data.n_rows, x, list(parents)) for x, parents in families]


def coefficients(data: Measurements, weights: Mapping[Family, float], ess: float) -> Coefficients:
    """Posterior mean and standard deviation of the coefficient of each edge, given that it exists."""
    d = data.n_variables
    mass, first, second = np.zeros((3, d, d))
    families = [family for family in weights if family[1]]
    for (x, parents), found in zip(families, _regressions(data, families, ess), strict=True):
        own, weight = list(parents), weights[x, parents]
        mass[own, x] += weight
        first[own, x] += weight * found.mean
        second[own, x] += weight * (found.mean**2 + np.diag(found.covariance))
    with np.errstate(invalid="ignore"):
        mean = first / mass
        return Coefficients(mean, np.sqrt(np.maximum(second / mass - mean**2, 0.0)))


def total_effects(
    data: Measurements, dags: Sequence[Sequence[Family]], ess: float, rng: np.random.Generator
) -> TotalEffects:
    """Draw coefficients once for each DAG, and compute all total effects."""
    d = data.n_variables
    known: dict[Family, Regression] = {}
    fresh = list(dict.fromkeys(family for dag in dags for family in dag if family[1]))
    known = dict(zip(fresh, _regressions(data, fresh, ess), strict=True))
    roots = {family: np.linalg.cholesky(own.covariance) for family, own in known.items()}
    draws = np.empty((len(dags), d, d))
    for i, dag in enumerate(dags):
        direct = np.zeros((d, d))
        for x, parents in dag:
            if parents:
                own = known[x, parents]
                spread = (own.df - 2) / rng.chisquare(own.df)  # the covariance is that of the t distribution
                noise = roots[x, parents] @ rng.standard_normal(len(parents)) * np.sqrt(spread)
                direct[list(parents), x] = own.mean + noise
        draws[i] = np.linalg.inv(np.eye(d) - direct)
    draws *= data.spread[None, None, :] / data.spread[None, :, None]
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return TotalEffects(data.names, draws.mean(axis=0), draws.std(axis=0), low, high, draws)
