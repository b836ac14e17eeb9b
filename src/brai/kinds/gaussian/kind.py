"""Measurements as a `Kind`: second moments, BGe and BIC, linear regressions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from brai.data.measurements import Measurements
from brai.data.numbers import conforming
from brai.graphs.pdag import PDAG, Family
from brai.kinds.base import Kind, Sizes
from brai.kinds.gaussian import bge
from brai.kinds.gaussian.moments import BAYES, BIC, LIKELIHOOD, Factor, Moments, Terms, register_verbs
from brai.runtime.checks import check_ess

register_verbs()

SCALE = 2.0**30  # units per nat
BLOCK, ALONE = 64, 2**18  # variables, and multiplications of a block: OpenBLAS needs more for a second thread
_APART = 32  # padding, so that threads do not write to the same cache line


class Gaussian(Kind):
    """The kind of measurements."""

    name = "gaussian"
    scores = ("bge", "bic")
    ess_choices = (0.3, 1.0, 3.0, 10.0, 30.0)
    linear = True
    max_parents = 8  # a parent takes one parameter, and a score does not depend on the number of rows
    slack = 5.0  # a superfluous parent costs about half the log of the rows, whatever the other parents
    test_level = 0.01  # C1 with one degree of freedom finds a fifth of all independent pairs dependent

    def __init__(self) -> None:
        self._full: WeakKeyDictionary[Measurements, Moments] = WeakKeyDictionary()

    def conforming(self, X: Any, like: Measurements) -> Measurements:
        """Match columns by name, or by position for arrays."""
        return conforming(X, like)

    def resampled(self, data: Measurements, seed: np.random.SeedSequence) -> Measurements:
        """A bootstrap sample as a table, with rows in the order of the data."""
        return data.rows(np.sort(_drawn(data, seed)))

    def halved(self, data: Measurements, seed: np.random.SeedSequence) -> Measurements:
        """Half of the rows, in the order of the data."""
        n = data.n_rows
        return data.rows(np.sort(np.random.default_rng(seed).choice(n, max(1, n // 2), replace=False)))

    def stored(self, data: Measurements) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The values, and the sorted ones before a transformation."""
        arrays = {"values": data.values}
        if data.reference is not None:
            arrays["reference"] = data.reference
        return {"transform": data.transform}, arrays

    def restored(self, names: tuple[str, ...], about: Any, arrays: Any) -> Measurements:
        """The inverse of `stored`."""
        values = arrays.take("values", "float64", len(names), None)
        if about["transform"] not in ("none", "normal-scores"):
            raise ValueError(f"transform is {about['transform']!r}")
        known = None
        if about["transform"] != "none":
            known = arrays.take("reference", "float64", len(names), None)
        return Measurements(values, names, about["transform"], known)

    def drawn_parameters(
        self, data: Measurements, families: Sequence[Family], ess: float | str, rng: np.random.Generator
    ) -> Any:
        """A draw of all regressions."""
        from brai.kinds.gaussian.completion import drawn_parameters

        return drawn_parameters(data, families, self.number(ess), rng)

    def refilled(
        self,
        data: Measurements,
        missing: NDArray[np.bool_],
        parameters: Any,
        sweeps: int,
        rng: np.random.Generator,
    ) -> Measurements:
        """The table with its missing cells drawn anew."""
        from brai.kinds.gaussian.completion import refilled

        return refilled(data, missing, parameters, sweeps, rng)

    def log_weights(
        self, data: Measurements, missing: NDArray[np.bool_], parameters: Any, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Exact: a normal density."""
        from brai.kinds.gaussian.completion import log_weights

        return log_weights(data, missing, parameters, rng)

    def mean_network(self, networks: Sequence[Any]) -> Any:
        """The network with the mean of all parameters."""
        from brai.kinds.gaussian.completion import mean_network

        return mean_network(networks)

    def sample(self, data: Measurements) -> Moments:
        """Moments of all rows; cached for each table."""
        if data not in self._full:
            self._full[data] = Moments(scatter_of(data.standardised), _single(data), data.n_rows)
        return self._full[data]

    def bootstrap_sample(
        self, data: Measurements, seed: np.random.SeedSequence, used: NDArray[np.int64] | None = None
    ) -> Moments:
        """Weighted moments; if ``used`` is given, only of these variables."""
        weights = np.bincount(_drawn(data, seed), minlength=data.n_rows).astype(np.float64)
        if used is None:
            return Moments(scatter_of(data.standardised, weights), _single(data), data.n_rows)
        scatter = np.zeros((data.n_variables, data.n_variables))
        scatter[np.ix_(used, used)] = scatter_of(data.standardised[used], weights)
        return Moments(scatter, _single(data), data.n_rows)

    def workspace(self, data: Measurements, depth: int) -> Factor:
        """A triangular matrix of the size of the condition set."""
        return factor_for(depth, depth)

    def test_terms(self, data: Measurements, test: str, ess: float) -> Terms:
        """BGe with ess 1 for the Bayes factor, the likelihood for all others."""
        return terms_of(data.n_variables, data.n_rows, BAYES if test == "bayes-factor" else LIKELIHOOD, 1.0)

    def score_terms(self, data: Measurements, score: str, ess: float | str) -> Terms:
        """Constants of BGe, or the penalty of BIC."""
        return terms_of(data.n_variables, data.n_rows, BIC if score == "bic" else BAYES, float(check_ess(ess)))

    def compiled_for(self, data: Measurements) -> str:
        """Kernels are compiled once, for floats."""
        return "float64"

    def levels(self, data: Measurements) -> NDArray[np.int64]:
        """Not applicable: 1 for each."""
        return np.ones(data.n_variables, np.int64)

    def constant(self, data: Measurements) -> NDArray[np.bool_]:
        """Which variables have only one value."""
        return data.constant

    def sizes(self, n_rows: int, levels: NDArray[np.int64]) -> Sizes:
        """Bytes of values and moments."""
        d = float(len(levels))
        return Sizes(8.0 * n_rows * d, 8.0 * n_rows * d + 16 * d * d, 16 * d * d + 8.0 * n_rows * d, 8.0 * 20 * 20)

    def predictions(
        self, families: Sequence[Family], train: Measurements, test: Measurements, ess: float | str
    ) -> Iterator[NDArray[np.float64]]:
        """Log densities by multivariate t distributions."""
        from brai.kinds.gaussian.predictions import blocks

        return blocks(families, train, test, self.number(ess))

    def parameters(self, dag: PDAG, data: Measurements, ess: float | str) -> Any:
        """A `GaussianNetwork` whose parameters are posterior means."""
        from brai.kinds.gaussian.network import GaussianNetwork

        return GaussianNetwork.fit(dag, data, ess=self.number(ess))

    def coefficients(self, data: Measurements, weights: Mapping[Family, float], ess: float | str) -> Any:
        """Standardised coefficients of edges."""
        from brai.kinds.gaussian.effects import coefficients

        return coefficients(data, weights, self.number(ess))

    def total_effects(
        self, data: Measurements, dags: Sequence[Sequence[Family]], ess: float | str, rng: Any
    ) -> Any:
        """Total effects of all pairs, one draw of the coefficients of each DAG."""
        from brai.kinds.gaussian.effects import total_effects

        return total_effects(data, dags, self.number(ess), rng)

    def question(self, data: Measurements, x: int, y: int, change: Any, values: Any) -> Any:
        """A checked query: two values of the cause."""
        from brai.kinds.gaussian.adjustment import Question

        return Question.of(data, x, y, change, values)

    def adjusted(self, data: Measurements, question: Any, given: Sequence[int] | None, ess: float | str) -> Any:
        """E(y | do(x)) by the regression of y on x and ``given``."""
        from brai.kinds.gaussian.adjustment import adjusted

        return adjusted(data, question, given, self.number(ess))

    @staticmethod
    def number(ess: float | str) -> float:
        """The weight of the prior of parameters: as given, or 1 row."""
        return 1.0 if isinstance(ess, str) else float(ess)


def _drawn(data: Measurements, seed: np.random.SeedSequence) -> NDArray[np.int64]:
    return np.random.Generator(np.random.PCG64(seed)).integers(0, data.n_rows, data.n_rows)


def _single(data: Measurements) -> NDArray[np.int64]:
    """One column for each variable."""
    return np.arange(data.n_variables + 1)


def terms_of(n_columns: int, n_rows: int, statistic: int, ess: float, scale: float = SCALE) -> Terms:
    """What a statistic or score of this many columns and rows is made of."""
    prior = bge.Prior.of(n_columns, ess)
    weights = np.array([prior.weight(n_rows, size) for size in range(n_columns + 2)])
    ridge = prior.t if statistic == BAYES else 0.0
    constants = bge.constants(prior, n_rows, n_columns)
    return Terms(statistic, ridge, constants, weights, math.log(max(n_rows, 1)) / 2, scale)


def factor_for(depth: int, size: int) -> Factor:
    """A workspace for ``depth`` variables with ``size`` columns."""
    return Factor(
        np.zeros((size, size + 8)),
        np.zeros(size + _APART, np.int64),
        np.zeros(size + 1 + _APART),
        np.zeros(depth + 1 + _APART, np.int64),
        np.zeros(1 + _APART, np.int64),
    )


def scatter_of(values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Scatter matrix about the mean of values (columns, rows)."""
    rows = values if weights is None else values * weights
    n = values.shape[1]
    mean = rows.sum(axis=1) / n
    return products(rows, values) - n * np.outer(mean, mean)


def products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The symmetric matrix a bᵀ, by blocks so small that BLAS uses one thread for each.

    With several threads its last bits would depend on how many were idle.
    """
    d, n = a.shape
    out = np.empty((d, d))
    for i in range(0, d, BLOCK):
        for j in range(0, i + 1, BLOCK):
            x, y = a[i : i + BLOCK], b[j : j + BLOCK]
            step = max(16, ALONE // (len(x) * len(y)))
            total = np.zeros((len(x), len(y)))
            for k in range(0, n, step):
                total += x[:, k : k + step] @ y[:, k : k + step].T
            out[i : i + BLOCK, j : j + BLOCK] = total
            out[j : j + BLOCK, i : i + BLOCK] = total.T
    return np.asarray((out + out.T) / 2)


KIND = Gaussian()
