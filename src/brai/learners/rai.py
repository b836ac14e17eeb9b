"""What RAI and B-RAI share, and the front door to RAI."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from brai.graphs.pdag import Draw
from brai.kinds.scores import FamilyScores
from brai.learners.base import StructureLearner
from brai.runtime.interrupts import interruptible
from brai.tree.independence import CITest, Oracle
from brai.tree.rai import Learner, rai

MAX_TESTS = 100_000_000


class BudgetWarning(UserWarning):
    """Part of the graph was left at a low order because max_tests or the budget was reached."""


class RecursiveLearner(StructureLearner):
    """What RAI and B-RAI share: arguments to a Learner, and what its tests took."""

    ci_test: Any
    max_order: int | None
    max_tests: int | None
    bootstraps = False  # whether most tests are made on bootstrap samples

    def _start(self, X: Any, deadline: float = math.inf) -> tuple[Any, Learner, FamilyScores]:
        data, scores = self._scores(X)
        self._check_count("max_order", "max_tests", none="no limit")
        test = self.ci_test
        if not isinstance(test, Oracle):
            test = CITest.of(test, bootstrap=self.bootstraps)
        order, tests = self.max_order, self.max_tests
        learner = Learner(
            scores.data,
            test,
            max_order=order,
            max_tests=tests,
            deadline=deadline,
            bounds=self._bounds(scores.data.names),
        )
        return data, learner, scores

    def _finish(self, data: Any, learner: Learner, draw: Draw, truncated: int) -> None:
        late = learner.tally.late
        if truncated and (late or learner.tally.exhausted):
            limit = "more time than the budget" if late else f"more than max_tests = {self.max_tests} CI tests"
            cure = "raise the budget" if late else "raise max_tests, or lower max_order"
            warnings.warn(
                f"the tree needs {limit}; {truncated} groups were left as they stood: {cure}",
                BudgetWarning,
                stacklevel=3,
            )
        self._keep(data, draw.families, draw.log_score)
        self.n_ci_tests_ = np.trim_zeros(learner.tally.ci_tests, "b").copy()


class RAI(RecursiveLearner):
    """Recursive autonomy identification (Yehezkel & Lerner 2009): one graph from one pass over the data.

    Parameters
    ----------
    ci_test : {"cmi-c1", "cmi", "g2", "bayes-factor", "auto"}, CITest or Oracle
    family_score : {"bdeu", "bic"}, for log_score_ only
    ess : float, equivalent sample size of that score (a Bayes-factor test has its own, CITest.ess)
    max_order : int, largest condition set, or None
    max_tests : int, CI tests after which no further group is refined (with a warning), or None for no limit
    knowledge : Knowledge, a mapping with its arguments, pgmpy's ExpertKnowledge, or None. dag_ obeys it always;
        docs/paper-map.md says how. Of the DAGs of cpdag_ only those of mpdag_ do, and probabilities are over these

    Attributes
    ----------
    cpdag_, dag_ : PDAG of the class found, and of one DAG of it
    mpdag_ : PDAG, cpdag_ with the edges directed that are so in all DAGs that obey the knowledge, if there is any
    log_score_ : float, the score of dag_ on the data
    n_ci_tests_ : array, CI tests made, by order
    n_repaired_, n_truncated_ : int, groups whose graph no DAG extends and that were repaired; that a limit cut off
    n_features_in_, feature_names_in_
    """

    saved: ClassVar[Mapping[str, str]] = {
        "n_repaired_": "count",
        "n_truncated_": "count",
        "n_ci_tests_": "tests",
    }

    def __init__(
        self,
        ci_test: Any = "cmi-c1",
        *,
        family_score: str = "bdeu",
        ess: float = 1.0,
        max_order: int | None = None,
        max_tests: int | None = MAX_TESTS,
        knowledge: Any = None,
    ):
        self.knowledge = knowledge
        self.ci_test = ci_test
        self.family_score = family_score
        self.ess = ess
        self.max_order = max_order
        self.max_tests = max_tests

    @interruptible
    def fit(self, X: Any, y: Any = None) -> RAI:
        """Learn from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        data, learner, scores = self._start(X)
        families = rai(learner)
        tally = learner.tally
        self._finish(data, learner, Draw(families, scores.total(families)), tally.truncated)
        self.n_repaired_, self.n_truncated_ = tally.repaired, tally.truncated
        return self
