"""Discrete data as a `Kind`: counts of codes, BDeu and BIC, Dirichlet parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from brai.data.dataset import Dataset
from brai.data.missing import check_array
from brai.data.states import MISSING
from brai.graphs.pdag import PDAG, Family
from brai.kinds.base import Kind, Sizes
from brai.kinds.discrete import samples
from brai.kinds.discrete.contingency import Cells, Sample, Work
from brai.kinds.discrete.offspring import register_verbs
from brai.runtime.checks import check_ess
from brai.runtime.plain import decoded, encoded

register_verbs()


class Discrete(Kind):
    """The kind of discrete data."""

    name = "discrete"
    scores = ("bdeu", "bic", "qnml")
    ess_choices = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    network_file = "network.bif"
    per_table = True

    def __init__(self) -> None:
        self._full: WeakKeyDictionary[Dataset, Sample] = WeakKeyDictionary()

    def conforming(self, X: Any, like: Dataset) -> Dataset:
        """Match columns by name and values by label. Invalid arrays raise the errors that scikit-learn expects."""
        if not any(MISSING in own for own in like.states):
            check_array(X)
        return Dataset.conforming(X, like)

    def resampled(self, data: Dataset, seed: np.random.SeedSequence) -> Dataset:
        """A bootstrap sample as a table, with rows in the order of the data."""
        return Dataset(data.codes[:, np.sort(data.bootstrap_rows(seed))], data.names, data.states)

    def halved(self, data: Dataset, seed: np.random.SeedSequence) -> Dataset:
        """Half of the rows, in the order of the data; states that no longer occur are kept."""
        n = data.n_rows
        rows = np.random.default_rng(seed).choice(n, max(1, n // 2), replace=False)
        return Dataset(data.codes[:, np.sort(rows)], data.names, data.states)

    def stored(self, data: Dataset) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The labels as JSON, and the codes as an array."""
        return {"states": [[encoded(label) for label in labels] for labels in data.states]}, {"codes": data.codes}

    def restored(self, names: tuple[str, ...], about: Any, arrays: Any) -> Dataset:
        """The inverse of `stored`."""
        states = tuple(tuple(decoded(label) for label in labels) for labels in about["states"])
        code = "uint8" if max(map(len, states)) <= 256 else "uint16"
        return Dataset(arrays.take("codes", code, len(states), None), names, states)

    def drawn_parameters(
        self, data: Dataset, families: Sequence[Family], ess: float | str, rng: np.random.Generator
    ) -> Any:
        """Dirichlet draws of all tables."""
        from brai.kinds.discrete.completion import drawn_parameters

        return drawn_parameters(data, families, ess, rng)

    def refilled(
        self, data: Dataset, missing: NDArray[np.bool_], parameters: Any, sweeps: int, rng: np.random.Generator
    ) -> Dataset:
        """The table with its missing cells drawn anew."""
        from brai.kinds.discrete.completion import refilled

        return refilled(data, missing, parameters, sweeps, rng)

    def log_weights(
        self, data: Dataset, missing: NDArray[np.bool_], parameters: Any, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """By likelihood weighting."""
        from brai.kinds.discrete.completion import log_weights

        return log_weights(data, missing, parameters, rng)

    def mean_network(self, networks: Sequence[Any]) -> Any:
        """The network with the mean of all parameters."""
        from brai.kinds.discrete.completion import mean_network

        return mean_network(networks)

    def sample(self, data: Dataset) -> Sample:
        """Every row once; cached for each table."""
        if data not in self._full:
            self._full[data] = samples.full_sample(data)
        return self._full[data]

    def bootstrap_sample(
        self, data: Dataset, seed: np.random.SeedSequence, used: NDArray[np.int64] | None = None
    ) -> Sample:
        """The distinct rows and their multiplicities, and the same as bit vectors."""
        return samples.bootstrap_sample(data, seed, used)

    def workspace(self, data: Dataset, depth: int) -> Work:
        """Row labels, contingency tables and bit vectors."""
        return samples.workspace(data, depth)

    def test_terms(self, data: Dataset, test: str, ess: float) -> Cells:
        """Cell values: lgamma for the Bayes factor, n log n for all others."""
        return samples.bdeu_cells(data.n_rows, ess) if test == "bayes-factor" else samples.log_cells(data.n_rows)

    def score_terms(self, data: Dataset, score: str, ess: float | str) -> Cells:
        """Cell values of BDeu, or of the likelihood with the penalty of BIC or qNML."""
        if score == "bdeu":
            return samples.bdeu_cells(data.n_rows, check_ess(ess))
        if score == "qnml":
            return samples.log_cells(data.n_rows, nml=True)
        return samples.log_cells(data.n_rows, math.log(data.n_rows) / 2)

    def compiled_for(self, data: Dataset) -> str:
        """The type of the codes."""
        return str(data.codes.dtype)

    def levels(self, data: Dataset) -> NDArray[np.int64]:
        """Numbers of declared states."""
        return data.arities

    def levels_seen(self, data: Dataset) -> NDArray[np.int64]:
        """Numbers of states that occur."""
        return np.array([len(np.unique(own)) for own in data.codes], np.int64)

    def common_share(self, data: Dataset) -> NDArray[np.float64]:
        """Fraction of rows with the most common state."""
        return np.array([np.bincount(own).max() / data.n_rows for own in data.codes])

    def constant(self, data: Dataset) -> NDArray[np.bool_]:
        """Which variables have only one state."""
        return np.asarray(data.arities == 1)

    def sizes(self, n_rows: int, levels: NDArray[np.int64]) -> Sizes:
        """Bytes of codes, bit vectors and contingency tables."""
        return samples.sizes(n_rows, levels)

    def predictions(
        self, families: Sequence[Family], train: Dataset, test: Dataset, ess: float | str
    ) -> Iterator[NDArray[np.float64]]:
        """Log probabilities by Dirichlet posterior means."""
        from brai.kinds.discrete.predictions import blocks

        return blocks(families, train, test, ess)

    def parameters(self, dag: PDAG, data: Dataset, ess: float | str) -> Any:
        """A `Network` whose parameters are Dirichlet posterior means."""
        from brai.kinds.discrete.network import Network

        return Network.fit(dag, data, ess=ess)

    def question(self, data: Dataset, x: int, y: int, change: Any, values: Any) -> Any:
        """A checked query: two states of the cause, and values of the states of the outcome."""
        from brai.kinds.discrete.adjustment import Question

        return Question.of(data, x, y, change, values)

    def adjusted(self, data: Dataset, question: Any, given: Sequence[int] | None, ess: float | str) -> Any:
        """P(y | do(x)) = Σ_z P(y | x, z) P(z)."""
        from brai.kinds.discrete.adjustment import adjusted, unchanged

        x, y = question.x, question.y
        if given is None:
            return unchanged(data, x, y, ess)
        return adjusted(data, x, y, given, question.weights, ess)


KIND = Discrete()
