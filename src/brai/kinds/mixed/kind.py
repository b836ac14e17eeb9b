"""Mixed tables as a `Kind`: counts of categories, moments of all variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from brai.data.dataset import Dataset
from brai.data.measurements import Measurements
from brai.data.mixed import Mixed
from brai.graphs.pdag import PDAG, Family
from brai.kinds import kind_named
from brai.kinds.base import Kind, Sizes
from brai.kinds.discrete import samples
from brai.kinds.gaussian.kind import factor_for, scatter_of, terms_of
from brai.kinds.gaussian.moments import BAYES, BIC, LIKELIHOOD, Moments
from brai.kinds.mixed.location import Both, Terms, Workspace, register_verbs
from brai.kinds.mixed.rows import conforming
from brai.runtime.checks import check_ess
from brai.runtime.plain import decoded, encoded

register_verbs()

_APART = 32  # padding, so that threads do not write to the same cache line


class MixedKind(Kind):
    """The kind of tables with categories, ordered states and measurements."""

    name = "mixed"
    scores = ("dg", "location", "bic")
    ess_choices = (0.3, 1.0, 3.0, 10.0, 30.0)
    linear = True
    max_parents = 6
    slack = 5.0  # a superfluous parent costs about half the log of the rows, whatever the other parents
    test_level = 0.01

    def __init__(self) -> None:
        self._full: WeakKeyDictionary[Mixed, Both] = WeakKeyDictionary()
        self._categories: WeakKeyDictionary[Mixed, Dataset] = WeakKeyDictionary()

    def conforming(self, X: Any, like: Mixed) -> Mixed:
        """Match columns by name, states by label; measurements are on the scale of ``like``."""
        return conforming(X, like)

    def resampled(self, data: Mixed, seed: np.random.SeedSequence) -> Mixed:
        """A bootstrap sample as a table, with rows in the order of the data."""
        return data.rows(np.sort(_drawn(data, seed)))

    def halved(self, data: Mixed, seed: np.random.SeedSequence) -> Mixed:
        """Half of the rows, in the order of the data."""
        n = data.n_rows
        return data.rows(np.sort(np.random.default_rng(seed).choice(n, max(1, n // 2), replace=False)))

    def stored(self, data: Mixed) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Kinds, transformations and labels as JSON; codes and values as arrays."""
        arrays: dict[str, NDArray[Any]] = {"values": data.numbers.values}
        about = {"kinds": list(data.kinds), "ranked": sorted(data.ranked)}
        if data.labels is not None:
            arrays["codes"] = data.labels.codes
            about["states"] = [[encoded(label) for label in own] for own in data.labels.states]
        return about, arrays

    def restored(self, names: tuple[str, ...], about: Any, arrays: Any) -> Mixed:
        """The inverse of `stored`."""
        kinds = about["kinds"]
        if not isinstance(kinds, list) or len(kinds) != len(names):
            raise ValueError(f"kinds are {kinds!r}, not one for each of {len(names)} columns")
        if not set(kinds) <= {"discrete", "ordered", "continuous"}:
            raise ValueError(f"kinds are {kinds!r}")
        has_states = tuple(name for name, kind in zip(names, kinds, strict=True) if kind != "continuous")
        others = tuple(name for name, kind in zip(names, kinds, strict=True) if kind == "continuous")
        numbers = Measurements(arrays.take("values", "float64", len(others), None), others)
        if not set(about["ranked"]) <= set(others):
            raise ValueError(f"ranked is {about['ranked']!r}, not names of measurements")
        labels = None
        if has_states:
            states = tuple(tuple(decoded(label) for label in own) for own in about["states"])
            code = "uint8" if max(map(len, states)) <= 256 else "uint16"
            labels = Dataset(arrays.take("codes", code, len(has_states), None), has_states, states)
        return Mixed.of(names, kinds, labels, numbers, about["ranked"])

    def categories(self, data: Mixed) -> Dataset:
        """The discrete columns; one constant column if there are none."""
        if data not in self._categories:
            own = [name for name, kind in zip(data.names, data.kinds, strict=True) if kind == "discrete"]
            none = Dataset(np.zeros((1, data.n_rows), np.uint8), ("none",), ((0,),))
            self._categories[data] = data.labels.select(own) if own else none
        return self._categories[data]

    def drawn_parameters(
        self, data: Mixed, families: Sequence[Family], ess: float | str, rng: np.random.Generator
    ) -> Any:
        """Draws of all local models."""
        from brai.kinds.mixed.completion import drawn_parameters

        return drawn_parameters(data, families, ess, rng)

    def refilled(
        self, data: Mixed, missing: NDArray[np.bool_], parameters: Any, sweeps: int, rng: np.random.Generator
    ) -> Mixed:
        """The table with its missing cells drawn anew."""
        from brai.kinds.mixed.completion import refilled

        return refilled(data, missing, parameters, sweeps, rng)

    def log_weights(
        self, data: Mixed, missing: NDArray[np.bool_], parameters: Any, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """By likelihood weighting."""
        from brai.kinds.mixed.completion import log_weights

        return log_weights(data, missing, parameters, rng)

    def mean_network(self, networks: Sequence[Any]) -> Any:
        """The network with the mean of all parameters."""
        from brai.kinds.mixed.completion import mean_network

        return mean_network(networks)

    def sample(self, data: Mixed) -> Both:
        """Codes and moments of all rows; cached for each table."""
        if data not in self._full:
            moments = Moments(scatter_of(data.design), data.coding.starts, data.n_rows)
            counts = kind_named("discrete").sample(self.categories(data))
            self._full[data] = Both(counts, moments, data.among_categories)
        return self._full[data]

    def bootstrap_sample(
        self, data: Mixed, seed: np.random.SeedSequence, used: NDArray[np.int64] | None = None
    ) -> Both:
        """The same rows as codes and as weighted moments; if ``used`` is given, only of these variables."""
        weights = np.bincount(_drawn(data, seed), minlength=data.n_rows).astype(np.float64)
        variables = range(data.n_variables) if used is None else used.tolist()
        at = data.coding.columns_of(variables)
        scatter = np.zeros((len(data.design),) * 2)
        scatter[np.ix_(at, at)] = scatter_of(data.design[at], weights)
        among = data.among_categories[list(variables)]
        counts = samples.bootstrap_sample(self.categories(data), seed, among[among >= 0])
        return Both(counts, Moments(scatter, data.coding.starts, data.n_rows), data.among_categories)

    def workspace(self, data: Mixed, depth: int) -> Workspace:
        """Tables of counts, and triangular matrices for the columns of a condition set."""
        size = int(np.sort(np.diff(data.coding.starts))[::-1][:depth].sum()) + 1
        return Workspace(
            samples.workspace(self.categories(data), depth),
            factor_for(depth, size),
            factor_for(depth, size),
            np.zeros(depth + _APART, np.int64),
            np.zeros(depth + _APART, np.int64),
            np.zeros(depth + 1 + _APART, np.int64),
            np.zeros(1 + _APART, np.int64),
        )

    def test_terms(self, data: Mixed, test: str, ess: float) -> Terms:
        """Cell values and moments: Bayes factors, or likelihoods."""
        bayes = test == "bayes-factor"
        cells = samples.bdeu_cells(data.n_rows, ess) if bayes else samples.log_cells(data.n_rows)
        own = terms_of(len(data.design), data.n_rows, BAYES if bayes else LIKELIHOOD, 1.0, cells.scale)
        return Terms(cells, own, True, cells.scale)

    def score_terms(self, data: Mixed, score: str, ess: float | str) -> Terms:
        """BDeu and BGe together, BGe of blocks alone (dg), or its BIC."""
        number = float(check_ess(ess))
        cells = samples.bdeu_cells(data.n_rows, number)
        own = terms_of(len(data.design), data.n_rows, BIC if score == "bic" else BAYES, number, cells.scale)
        return Terms(cells, own, score == "location", cells.scale)

    def compiled_for(self, data: Mixed) -> str:
        """The type of the codes."""
        return str(self.categories(data).codes.dtype)

    def levels(self, data: Mixed) -> NDArray[np.int64]:
        """Numbers of states; 1 for measurements."""
        return np.array([len(data.states_of(v) or (0,)) for v in range(data.n_variables)], np.int64)

    def constant(self, data: Mixed) -> NDArray[np.bool_]:
        """Which variables have only one value."""
        still = dict(zip(data.numbers.names, data.numbers.constant, strict=True))
        widths = np.diff(data.coding.starts)
        return np.array([still.get(name, width == 0) for name, width in zip(data.names, widths, strict=True)])

    def common_share(self, data: Mixed) -> NDArray[np.float64]:
        """Fraction of rows with the most common state; 0 for measurements."""
        shares = [
            0.0 if kind == "continuous" else float(np.bincount(own).max()) / data.n_rows
            for kind, own in zip(data.kinds, data.columns(), strict=True)
        ]
        return np.array(shares)

    def sizes(self, n_rows: int, levels: NDArray[np.int64]) -> Sizes:
        """Bytes of codes, values, columns and moments."""
        counts = samples.sizes(n_rows, levels)
        columns = float(np.maximum(levels - 1, 1).sum())
        own, squared = 8.0 * n_rows * columns, 16 * columns * columns
        return Sizes(counts.data + own, counts.full + own + squared, counts.drawn + own + squared, counts.scratch)

    def predictions(
        self, families: Sequence[Family], train: Mixed, test: Mixed, ess: float | str
    ) -> Iterator[NDArray[np.float64]]:
        """Log probabilities of states, and log densities of measurements, by the local model of each family."""
        from brai.kinds.mixed.predictions import blocks

        return blocks(families, train, test, ess)

    def parameters(self, dag: PDAG, data: Mixed, ess: float | str) -> Any:
        """A `MixedNetwork`."""
        from brai.kinds.mixed.network import MixedNetwork

        return MixedNetwork.fit(dag, data, ess=ess)

    def coefficients(self, data: Mixed, weights: Mapping[Family, float], ess: float | str) -> Any:
        """Standardised coefficients of edges between measurements or ordered columns; NaN for others."""
        from brai.kinds.mixed.effects import coefficients

        return coefficients(data, weights, ess)

    def total_effects(self, data: Mixed, dags: Sequence[Sequence[Family]], ess: float | str, rng: Any) -> Any:
        """Not defined: effects of categories are not one number."""
        raise ValueError("total effects of all pairs are for measurements: ask causal_effect for one pair")

    def question(self, data: Mixed, x: int, y: int, change: Any, values: Any) -> Any:
        """A checked query: two values or states of the cause, and values of the states of the outcome."""
        from brai.kinds.mixed.adjustment import Question

        return Question.of(data, x, y, change, values)

    def adjusted(self, data: Mixed, question: Any, given: Sequence[int] | None, ess: float | str) -> Any:
        """P(y | do(x)) or E(y | do(x)), by a regression of y on x and ``given``."""
        from brai.kinds.mixed.adjustment import adjusted

        return adjusted(data, question, given, ess)


def _drawn(data: Mixed, seed: np.random.SeedSequence) -> NDArray[np.int64]:
    return np.random.Generator(np.random.PCG64(seed)).integers(0, data.n_rows, data.n_rows)


KIND = MixedKind()
