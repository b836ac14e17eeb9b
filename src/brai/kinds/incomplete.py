"""Tables with missing cells as a `Kind`, on top of another one: answers are averaged over completed tables.

Algorithms never see such a table: a learner is given completed ones (`brai.learners.completed`). What follows from
a fitted model goes through this kind:

- predictions of a family are averaged over the completed tables, which is the posterior mean of its parameters;
- networks have the mean of the parameters;
- effects and coefficients are combined by Rubin's rules: the variance within tables plus that between them.

Reference: Rubin 1987, "Multiple imputation for nonresponse in surveys", Wiley.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.data.incomplete import PREFIX, Incomplete
from brai.graphs.pdag import PDAG, Family
from brai.kinds.base import Kind, Sizes

MOST_CELLS = 10_000_000  # families × rows in a block of predictions


class IncompleteKind(Kind):
    """The kind of tables with missing cells whose completed tables are of the kind ``inner``."""

    def __init__(self, inner: Kind):
        self.inner, self.name = inner, PREFIX + inner.name
        self.scores, self.ess_choices, self.per_table = inner.scores, inner.ess_choices, inner.per_table
        self.test_level, self.network_file = inner.test_level, inner.network_file
        self.max_parents, self.linear, self.slack = inner.max_parents, inner.linear, inner.slack

    def conforming(self, X: Any, like: Incomplete) -> Any:
        """As the kind of the completed tables does."""
        return self.inner.conforming(X, like.table)

    def resampled(self, data: Incomplete, seed: np.random.SeedSequence) -> Any:
        """A bootstrap sample of a completed table, another one each time."""
        return self.inner.resampled(_one(data, seed), seed)

    def halved(self, data: Incomplete, seed: np.random.SeedSequence) -> Any:
        """Half of the rows of a completed table, another one each time."""
        return self.inner.halved(_one(data, seed), seed)

    def stored(self, data: Incomplete) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The table with random values, which cells were missing, and the completions."""
        about, arrays = self.inner.stored(data.table)
        arrays["missing"] = np.packbits(data.missing, axis=1)
        drawn = np.array([np.concatenate(cells) for cells in data.draws], np.float64)
        arrays["completions"] = drawn.reshape(len(data.draws), int(data.missing.sum()))
        return {**about, "n_rows": data.n_rows}, arrays

    def restored(self, names: tuple[str, ...], about: Any, arrays: Any) -> Incomplete:
        """The inverse of `stored`."""
        table = self.inner.restored(names, about, arrays)
        n = table.n_rows
        if about.get("n_rows") != n:
            raise ValueError(f"n_rows is {about.get('n_rows')!r}, but the table has {n}")
        packed = arrays.take("missing", "uint8", len(names), (n + 7) // 8)
        missing = np.unpackbits(packed, axis=1, count=n).astype(bool)
        drawn = arrays.take("completions", "float64", None, int(missing.sum()))
        ends = np.cumsum(missing.sum(axis=1))[:-1]
        types = [column.dtype for column in table.columns()]
        draws = [
            tuple(own.astype(kind) for own, kind in zip(np.split(row, ends), types, strict=True)) for row in drawn
        ]
        return Incomplete(table, missing, tuple(draws))

    # --- for kernels: completed tables are given to these ---

    def _refused(self, *_: Any) -> Any:
        raise TypeError("kernels work on completed tables: take one of data.tables")

    sample = bootstrap_sample = workspace = test_terms = score_terms = _refused  # type: ignore[assignment]

    def compiled_for(self, data: Incomplete) -> str:
        """As for the completed tables."""
        return self.inner.compiled_for(data.table)

    # --- properties of variables: those of the values that are there ---

    def levels(self, data: Incomplete) -> NDArray[np.int64]:
        """As for the completed tables."""
        return self.inner.levels(data.table)

    def levels_seen(self, data: Incomplete) -> NDArray[np.int64]:
        """As for the completed tables."""
        return self.inner.levels_seen(data.table)

    def constant(self, data: Incomplete) -> NDArray[np.bool_]:
        """Which variables have only one value."""
        return self.inner.constant(data.table)

    def common_share(self, data: Incomplete) -> NDArray[np.float64]:
        """As for the completed tables."""
        return self.inner.common_share(data.table)

    def allowed(self, data: Incomplete) -> NDArray[np.bool_] | None:
        """As for the completed tables."""
        return self.inner.allowed(data.table)

    def sizes(self, n_rows: int, levels: NDArray[np.int64]) -> Sizes:
        """As for the completed tables."""
        return self.inner.sizes(n_rows, levels)

    # --- averages over completed tables ---

    def predictions(
        self, families: Sequence[Family], train: Incomplete, test: Any, ess: float | str
    ) -> Iterator[NDArray[np.float64]]:
        """Log of the mean probability of each family's child."""
        step = max(256, MOST_CELLS // max(len(families), 1))
        for start in range(0, test.n_rows, step):
            part = test.rows(np.arange(start, min(start + step, test.n_rows)))
            total: Any = -np.inf
            for table in train.tables:  # one at a time: the blocks of all would not fit in memory
                found = list(self.inner.predictions(families, table, part, ess))
                total = np.logaddexp(total, found[0] if len(found) == 1 else np.concatenate(found, axis=1))
            yield np.asarray(total - np.log(len(train.tables)))

    def parameters(self, dag: PDAG, data: Incomplete, ess: float | str) -> Any:
        """A network with the mean of the parameters."""
        return self.inner.mean_network([self.inner.parameters(dag, table, ess) for table in data.tables])

    def drawn_parameters(
        self, data: Any, families: Sequence[Family], ess: float | str, rng: np.random.Generator
    ) -> Any:
        """Parameters drawn given one of the completed tables."""
        return self.inner.drawn_parameters(data.tables[rng.integers(len(data.tables))], families, ess, rng)

    def coefficients(self, data: Incomplete, weights: Mapping[Family, float], ess: float | str) -> Any:
        """Mean and standard deviation over graphs, parameters and tables."""
        each = [self.inner.coefficients(table, weights, ess) for table in data.tables]
        mean = np.mean([own.mean for own in each], axis=0)
        variance = np.mean([own.sd**2 for own in each], axis=0) + _between([own.mean for own in each])
        return type(each[0])(mean, np.sqrt(variance))

    def total_effects(self, data: Incomplete, dags: Sequence[Sequence[Family]], ess: float | str, rng: Any) -> Any:
        """The DAGs are divided among the completed tables."""
        parts = [dags[m :: len(data.tables)] for m in range(len(data.tables))]
        each = [
            self.inner.total_effects(table, own, ess, rng)
            for table, own in zip(data.tables, parts, strict=True)
            if len(own)
        ]
        draws = np.concatenate([own.draws for own in each])
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        return type(each[0])(each[0].names, draws.mean(axis=0), draws.std(axis=0), low, high, draws)

    def question(self, data: Incomplete, x: int, y: int, change: Any, values: Any) -> Any:
        """As for the completed tables."""
        return self.inner.question(data.table, x, y, change, values)

    def adjusted(self, data: Incomplete, question: Any, given: Sequence[int] | None, ess: float | str) -> Any:
        """Means over tables; variances within tables and between them are added."""
        each = [self.inner.adjusted(table, question, given, ess) for table in data.tables]
        first = each[0]
        return type(first)(
            np.mean([own.mean for own in each], axis=0),
            np.mean([own.variance for own in each], axis=0) + _between([own.mean for own in each]),
            float(np.mean([own.effect for own in each])),
            float(np.mean([own.effect_variance for own in each]) + _between([own.effect for own in each])),
            np.mean([own.support for own in each], axis=0),
        )


def _one(data: Incomplete, seed: np.random.SeedSequence) -> Any:
    """One of the completed tables, drawn with a seed."""
    own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
    return data.tables[int(np.random.default_rng(own).integers(len(data.tables)))]


def _between(values: Sequence[Any]) -> Any:
    """Variance between tables, by Rubin's rules: (1 + 1 / M) times their variance."""
    m = len(values)
    return np.zeros_like(values[0]) if m < 2 else (1 + 1 / m) * np.var(values, axis=0, ddof=1)
