"""A Gaussian copula: draws of the normal table behind a mixed one.

The comparator of benchmarks/mixed.py. Each column is a normal variable seen through its ranks. Given the
covariance matrix Σ the normal value of a row is truncated to the interval of its state; given all of them Σ is
inverse Wishart (Gibbs sampling). Margins are plugged in: values of measurements stay at their normal scores, and
intervals end at the normal quantiles of cumulative shares. (In Hoff's rank likelihood they end at the extreme
values of the neighbouring states. With thousands of rows that chain mixes worse.) The states of a
category are ordered first: by the first component of the means that other columns have in each of them.

Reference: Hoff 2007, "Extending the rank likelihood for semiparametric copula estimation", Annals of Applied
Statistics 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import invwishart

from brai.data.measurements import Measurements, rankdata

BURN_IN, APART = 60, 15  # sweeps


def ordered(data: Any, v: int) -> np.ndarray:
    """The codes of a column with states, so that their order has a meaning."""
    codes = np.asarray(data.columns()[v], np.int64)
    k = len(data.states_of(v))
    if data.kinds[v] == "ordered" or k < 3:
        return codes
    counts = np.bincount(codes, minlength=k)
    others = np.delete(data.design, data.coding.columns_of([v]), axis=0)
    means = np.stack([np.bincount(codes, own, k) for own in others], axis=1) / np.maximum(counts, 1)[:, None]
    first = np.linalg.svd(means * np.sqrt(counts)[:, None], full_matrices=False)[2][0]
    return np.argsort(np.argsort(means @ first, kind="stable"))[codes]


def truncated(low: Any, high: Any, mean: np.ndarray, sd: float, rng: np.random.Generator) -> np.ndarray:
    """Normal draws between two bounds."""
    a, b = ndtr((low - mean) / sd), ndtr((high - mean) / sd)
    share = np.clip(a + (b - a) * rng.random(len(mean)), 1e-12, 1 - 1e-12)
    return np.clip(mean + sd * ndtri(share), low, high)


def drawn(data: Any, n_draws: int, seed: int = 0) -> Iterator[Measurements]:
    """Tables drawn from the posterior."""
    rng, n, d = np.random.default_rng(seed), data.n_rows, data.n_variables
    has_states = [v for v in range(d) if data.states_of(v) is not None]
    own = [ordered(data, v) if v in has_states else data.columns()[v] for v in range(d)]
    z = np.stack([ndtri((rankdata(column) - 0.5) / n) for column in own])
    z /= np.maximum(z.std(axis=1), 1e-9)[:, None]
    bounds = {}
    for v in has_states:
        counts = np.bincount(own[v])
        ends = ndtri(np.concatenate([[0.0], np.minimum(np.cumsum(counts) / n, 1.0)]))
        bounds[v] = ends[own[v]], ends[own[v] + 1]
    for sweep in range(1, BURN_IN + APART * (n_draws - 1) + 1):
        covariance = invwishart.rvs(n + d + 2, (d + 2) * np.eye(d) + z @ z.T, random_state=rng)
        sd = np.sqrt(np.diag(covariance))
        precision = np.linalg.inv(covariance / np.outer(sd, sd))
        for v in has_states:
            mean = z[v] - (precision[v] @ z) / precision[v, v]
            z[v] = truncated(*bounds[v], mean, 1 / np.sqrt(precision[v, v]), rng)
        if sweep >= BURN_IN and (sweep - BURN_IN) % APART == 0:
            yield Measurements(z.copy(), data.names)
