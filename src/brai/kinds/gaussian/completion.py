"""Missing cells of a table of measurements: parameters drawn from their posterior, and missing cells given these.

**Parameters.** Given a DAG and a completed table, the regression of x on its parents has the posterior that BGe
integrates over (`brai.kinds.gaussian.bge`): the residual variance σ² is left / χ², the coefficients are normal
with covariance σ² R_ZZ⁻¹, and the level is normal with variance σ² / (N + α_mu).

**Cells.** All missing cells of a row are drawn at once. With the precision matrix K = (I - B) D⁻¹ (I - B)ᵀ of the
network, those of the variables M given the others O are normal with precision K_MM and mean
μ_M - K_MM⁻¹ K_MO (x_O - μ_O). Rows with the same missing variables share a factorisation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.data.measurements import Floats, Measurements
from brai.graphs.pdag import Family
from brai.kinds import kind_of
from brai.kinds.gaussian.bge import Prior, regression

LEAST = 1e-8  # residual variance of a standardised variable: others determine it


class Parameters(NamedTuple):
    """A normal distribution of all variables, in units of the data."""

    mean: Floats
    precision: Floats
    centre: Floats  # units that precision refers to
    spread: Floats


class Drawn(NamedTuple):
    """One draw of the regression of a variable on columns, in standardised units."""

    level: float
    slopes: Floats
    variance: float


def drawn_regression(
    matrix: Floats, prior: Prior, n_rows: int, x: int, columns: list[int], rng: np.random.Generator
) -> Drawn:
    """Level, slopes and residual variance from their joint posterior."""
    found = regression(matrix, prior, n_rows, x, columns)
    left = found.variance * max(found.df - 2, 1e-9)
    variance = max(left / rng.chisquare(found.df), LEAST)
    slopes = found.mean
    if columns:
        inverse = found.covariance / max(found.variance, 1e-300)
        root = np.linalg.cholesky(variance * inverse + 1e-15 * np.eye(len(columns)))
        slopes = slopes + root @ rng.standard_normal(len(columns))
    level = np.sqrt(variance / (n_rows + prior.alpha_mu)) * rng.standard_normal()
    return Drawn(float(level), slopes, float(variance))


def drawn_parameters(
    data: Measurements, families: Sequence[Family], ess: float, rng: np.random.Generator
) -> Parameters:
    """Parameters of a DAG, drawn from their posterior given a completed table."""
    d, parents = data.n_variables, dict(families)
    prior = Prior.of(d, ess)
    matrix = prior.matrix(kind_of(data).sample(data).scatter)
    loads, levels, scales = np.eye(d), np.zeros(d), np.ones(d)
    for v in range(d):
        own = list(parents[v])
        found = drawn_regression(matrix, prior, data.n_rows, v, own, rng)
        loads[own, v] = -found.slopes
        levels[v], scales[v] = found.level, found.variance
    mean = np.linalg.solve(loads.T, levels)
    return Parameters(np.asarray(mean), np.asarray(loads / scales @ loads.T, np.float64), data.centre, data.spread)


def refilled(
    data: Measurements, missing: NDArray[np.bool_], own: Parameters, sweeps: int, rng: np.random.Generator
) -> Measurements:
    """The table with all missing cells drawn anew; one sweep is enough, since draws are exact."""
    rows = np.flatnonzero(missing.any(axis=0))
    values = ((data.values[:, rows].T - own.centre) / own.spread - own.mean).T
    values[missing[:, rows]] = 0.0
    pull = own.precision @ values  # of the values that are there
    for gone, at in patterns(missing[:, rows]):
        cells = np.ix_(gone, at)
        root = np.linalg.cholesky(own.precision[np.ix_(gone, gone)])
        noise = rng.standard_normal((len(gone), len(at)))
        values[cells] = np.linalg.solve(root.T, noise - np.linalg.solve(root, pull[cells]))
    back = ((values.T + own.mean) * own.spread + own.centre).T
    columns = {}
    for v in np.flatnonzero(missing.any(axis=1) & ~data.constant).tolist():
        columns[v] = np.array(data.values[v])
        columns[v][missing[v]] = back[v, missing[v, rows]]
    return data.replaced(columns)


def log_weights(
    data: Measurements, missing: NDArray[np.bool_], own: Parameters, rng: np.random.Generator
) -> Floats:
    """Log density of what is there in each row; exact, so the random generator is not used."""
    values = (data.values.T - own.centre) / own.spread - own.mean
    out = np.zeros(data.n_rows)
    covariance = np.linalg.inv(own.precision)
    for _, at in patterns(missing):
        there = np.flatnonzero(~missing[:, at[0]])
        root = np.linalg.cholesky(covariance[np.ix_(there, there)])
        off = np.linalg.solve(root, values[np.ix_(at, there)].T)
        units = np.log(own.spread[there]).sum() + np.log(np.diag(root)).sum()
        out[at] = -0.5 * (off**2).sum(axis=0) - units - len(there) / 2 * np.log(2 * np.pi)
    return out


def patterns(missing: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The variables that are missing together, and the rows where they are; (variables, rows)."""
    packed = np.packbits(missing.T, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel()))
    for k, at in enumerate(np.split(order, ends[:-1])):
        yield np.flatnonzero(missing[:, first[k]]), at


def mean_network(networks: Sequence[Any]) -> Any:
    """The network whose parameters are the means of those of several networks of the same DAG."""
    from brai.kinds.gaussian.network import GaussianNetwork

    first = networks[0]
    intercepts = np.mean([own.intercepts for own in networks], axis=0)
    variances = np.mean([own.variances for own in networks], axis=0)
    slopes = [np.mean([own.coefficients[i] for own in networks], axis=0) for i in range(len(first.names))]
    return GaussianNetwork(
        first.names, first.parents, tuple(intercepts.tolist()), tuple(tuple(own.tolist()) for own in slopes),
        tuple(variances.tolist()), first.name,
    )  # fmt: skip
