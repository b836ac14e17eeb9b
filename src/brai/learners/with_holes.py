"""What learners do with missing cells once they are fitted: predict rows that have some, and impute them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from brai.data.incomplete import Incomplete
from brai.graphs.pdag import PDAG, families_of
from brai.kinds import kind_of
from brai.posterior.augmentation import missing_information
from brai.posterior.imputation import Imputed
from brai.posterior.weighted import Floats, Posterior
from brai.runtime.checks import check_count
from brai.runtime.interrupts import interruptible
from brai.runtime.seeds import generator

ROW_MODELS, ROW_DRAWS = 40, 10  # draws of graph and parameters, and completions of a row for each
NEW_SWEEPS = 10  # over the missing cells of rows that were not learned from


class WithHoles:
    """Methods of learners for tables and rows with missing cells."""

    _train: Any
    _tested: Any
    _dags: Any
    _parameter_ess: Any
    _rounds: int = 0  # of data augmentation, for each chain
    dag_: PDAG

    def _of_rows_with_holes(self, test: Incomplete, average: bool, posterior: Posterior | None) -> Floats:
        """Log predictive probability of what is there in each row."""
        names = sorted(self._train.names)
        drawn = self._drawn_models(ROW_MODELS, np.random.default_rng(0), average, posterior)
        rows = test.select(names)
        kind, logs = kind_of(rows.table), []
        for _, parameters, rng in drawn:
            logs += [kind.log_weights(rows.table, rows.missing, parameters, rng) for _ in range(ROW_DRAWS)]
        return np.asarray(logsumexp(logs, axis=0) - math.log(len(logs)))

    def _drawn_models(
        self, n: int, rng: np.random.Generator, average: bool = True, posterior: Posterior | None = None
    ) -> Iterator[tuple[Any, Any, np.random.Generator]]:
        """n completed tables, with parameters of a DAG that are drawn given these; variables sorted by name."""
        train = self._train.select(sorted(self._train.names))
        tables = train.tables if isinstance(train, Incomplete) else (train,)
        if average:
            _, dags, shares = self._dags(posterior)
            chosen = rng.choice(len(dags), n, p=shares)
        else:
            dags, chosen = [families_of(self.dag_.reorder(train.names))], np.zeros(n, np.int64)
        for i, which in enumerate(chosen.tolist()):
            table = tables[i % len(tables)]
            parameters = kind_of(table).drawn_parameters(table, dags[which], self._parameter_ess, rng)
            yield table, parameters, rng

    @interruptible
    def impute(self, X: Any = None, *, n: int = 100, random_state: Any = 0) -> Imputed:
        """Missing cells with their probabilities: those of the training table, or of other rows X.

        They are averaged over ``n`` draws of DAG, parameters and cells. The result has a row for each missing
        cell, and `table()` with the most probable values put in; see `brai.posterior.imputation`.
        """
        check_is_fitted(self)
        check_count("n", n, 1)
        data = self._train if X is None else self._tested(X)
        if not isinstance(data, Incomplete):
            return Imputed.of(data, np.zeros((data.n_variables, data.n_rows), bool), [])
        rows, drawn = data.select(sorted(data.names)), []
        for own, parameters, rng in self._drawn_models(n, generator(random_state)):
            start, sweeps = (own, 1) if X is None else (rows.table, NEW_SWEEPS)
            drawn.append(kind_of(own).refilled(start, rows.missing, parameters, sweeps, rng).select(data.names))
        return Imputed.of(data.table, data.missing, drawn)

    def missing_information(self) -> Floats:
        """For each edge (row to column) the share of its uncertainty that missing cells are responsible for.

        See `brai.posterior.augmentation.missing_information`. Zero for a table without missing cells.
        """
        check_is_fitted(self)
        names = self._train.names
        chains = getattr(self, "_known_chains", None)
        if not isinstance(self._train, Incomplete) or chains is None or not self._rounds:
            return np.zeros((len(names), len(names)))
        found = missing_information(chains, self._rounds)
        rank = [chains.names.index(name) for name in names]
        return np.asarray(found[np.ix_(rank, rank)])
