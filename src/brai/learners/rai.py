"""`RAI`: recursive autonomy identification, and the base class that it shares with `BRAI`."""

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
    """A part of the graph was not tested at higher orders because max_tests or the budget was reached."""


class RecursiveLearner(StructureLearner):
    """Base class of RAI and BRAI: sets up the Learner, and reports limits that were reached."""

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
                f"the tree needs {limit}; {truncated} groups were not refined further: {cure}",
                BudgetWarning,
                stacklevel=3,
            )
        self._keep(data, draw.families, draw.log_score)
        self.n_ci_tests_ = np.trim_zeros(learner.tally.ci_tests, "b").copy()


class RAI(RecursiveLearner):
    """Recursive autonomy identification (RAI; Yehezkel & Lerner 2009): one graph, learned by CI tests.

    Parameters
    ----------
    ci_test : {"cmi-c1", "cmi", "g2", "bayes-factor", "auto"}, CITest or Oracle; the conditional-independence test
    family_score : {"bdeu", "bic"}, the score that log_score_ reports; it does not affect the graph
    ess : float, equivalent sample size of BDeu (a Bayes-factor test has its own, CITest.ess)
    max_order : int, size of the largest condition set, or None for no limit
    max_tests : int, CI tests after which no group is refined further (with a warning), or None for no limit
    knowledge : Knowledge, a mapping with its arguments, pgmpy's ExpertKnowledge, or None for no background
        knowledge. dag_ always obeys it; docs/paper-map.md says how. Probabilities are over the DAGs of mpdag_,
        the only ones of cpdag_ that obey it

    Attributes
    ----------
    dag_, cpdag_ : PDAG, the learned DAG, and the CPDAG of its equivalence class
    mpdag_ : PDAG, cpdag_ with the further directions that follow from the knowledge; equal to cpdag_ without it
    log_score_ : float, score of dag_ on the data
    n_ci_tests_ : array, number of CI tests of each order
    n_repaired_ : int, number of groups whose graph had no DAG extension and was repaired
    n_truncated_ : int, number of groups that a limit (max_order, max_tests) left unrefined
    n_features_in_, feature_names_in_ : number and names of the variables
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
