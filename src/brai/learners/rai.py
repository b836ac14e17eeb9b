"""`RAI`: recursive autonomy identification, and the base class that it shares with `BRAI`."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from brai.data.incomplete import Incomplete
from brai.graphs.pdag import Draw
from brai.kinds.scores import FamilyScores
from brai.learners.base import StructureLearner
from brai.learners.completed import fit_completed
from brai.runtime.interrupts import interruptible
from brai.tree.independence import CITest, Oracle
from brai.tree.rai import Learner, rai

MAX_TESTS = 100_000_000
TRY_TESTS, EACH, RISE = 1_000_000, 200, 5  # limits on the tests of a try with "auto", see `_try_tests`


class BudgetWarning(UserWarning):
    """A part of the graph was not tested at higher orders because max_tests or the budget was reached."""


class Try(NamedTuple):
    """A fit with one threshold, for CITest(threshold="auto")."""

    threshold: float  # nats
    log_score: float  # of its best graph, on the training data
    ci_tests: int
    truncated: bool  # whether max_tests or the budget ended it

    @classmethod
    def of(cls, test: CITest, learner: Learner, found: Fit) -> Try:
        """What a fit with this test gave."""
        tally = learner.tally
        cut = bool(found.truncated) and (tally.late or tally.exhausted)
        return cls(float(test.threshold or 0), found.draw.log_score, int(tally.ci_tests.sum()), cut)


class Fit(NamedTuple):
    """What one pass of RAI or B-RAI found."""

    draw: Draw  # the best graph
    truncated: int  # groups that a limit cut off
    more: Any = None


class Chosen(NamedTuple):
    """The best fit, and the thresholds that were tried."""

    learner: Learner
    found: Fit
    curve: list[Try]


class RecursiveLearner(StructureLearner):
    """Base class of RAI and BRAI: sets up the Learner, chooses a threshold, reports limits that were reached."""

    ci_test: Any
    max_order: int | None
    max_tests: int | None
    bootstraps = False  # whether most tests are made on bootstrap samples

    def _start(self, X: Any) -> tuple[Any, FamilyScores]:
        self._check_limits()
        return self._scores(X)

    def _check_limits(self) -> None:
        self._check_count("max_order", "max_tests", none="no limit")

    def _chosen(
        self, scores: FamilyScores, one: Callable[[Learner, str], Fit], deadline: float = math.inf
    ) -> Chosen:
        """The fit of highest score over the thresholds to choose from; the first of equals.

        ``one`` makes a fit; the text that it is given tells one fit from another.
        """
        test = (
            self.ci_test
            if isinstance(self.ci_test, Oracle)
            else CITest.of(self.ci_test, bootstrap=self.bootstraps, alpha=scores.kind.test_level)
        )
        if isinstance(test, Oracle) or test.threshold != "auto":
            learner = self._learner(scores, test, deadline)
            return Chosen(learner, one(learner, ""), [])
        curve: list[Try] = []
        best: tuple[Learner, Fit] | None = None
        association = None
        for choice in test.choices:
            if best is not None and time.monotonic() > deadline:
                break
            learner = self._learner(scores, choice, deadline, association)
            if best is not None:
                learner.max_tests = min(learner.max_tests, _try_tests(scores.data.n_variables, best[0]))
            association, found = learner.association, one(learner, f"{choice.threshold}-")
            curve.append(Try.of(choice, learner, found))
            if best is None or found.draw.log_score > best[1].draw.log_score:
                best = learner, found
            if curve[-1].truncated:  # smaller thresholds take even more tests
                break
        assert best is not None
        if time.monotonic() > deadline and len(curve) < len(test.choices):
            warnings.warn(
                f"the budget ended after {len(curve)} of {len(test.choices)} thresholds; the best one is used: "
                "raise the budget",
                BudgetWarning,
                stacklevel=4,
            )
        return Chosen(*best, curve)

    def _learner(
        self, scores: FamilyScores, test: CITest | Oracle, deadline: float, association: Any = None
    ) -> Learner:
        return Learner(
            scores.data,
            test,
            max_order=self.max_order,
            max_tests=self.max_tests,
            deadline=deadline,
            bounds=self._bounds(scores.data.names),
            association=association,
        )

    def _finish(self, data: Any, chosen: Chosen, draw: Draw) -> None:
        learner, truncated = chosen.learner, chosen.found.truncated
        late = learner.tally.late
        if truncated and (late or learner.tally.exhausted):
            limit = "more time than the budget" if late else f"more than max_tests = {learner.max_tests} CI tests"
            cure = "raise the budget" if late else "raise max_tests, or lower max_order"
            if not late and learner.max_tests != self.max_tests:  # the limit of a try with threshold="auto"
                limit = f"more than {learner.max_tests} CI tests with the threshold {self._best(chosen.curve)}"
                cure = "give the threshold as a number, or lower max_order"
            warnings.warn(
                f"the tree needs {limit}; {truncated} groups were not refined further: {cure}",
                BudgetWarning,
                stacklevel=3,
            )
        self._keep(data, draw.families, draw.log_score)
        self.n_ci_tests_ = np.trim_zeros(learner.tally.ci_tests, "b").copy()
        self.threshold_curve_ = chosen.curve

    @property
    def threshold_(self) -> float | None:
        """The threshold that CITest(threshold="auto") chose: the first of highest score; None with other tests."""
        check_is_fitted(self)
        return self._best(self.threshold_curve_)

    @staticmethod
    def _best(curve: list[Try]) -> float | None:
        return max(curve, key=lambda tried: tried.log_score).threshold if curve else None


def _try_tests(d: int, best: Learner) -> int:
    """Most tests of a try: EACH d², at most TRY_TESTS, or RISE times those of the best try so far."""
    return max(min(TRY_TESTS, EACH * d * d), RISE * int(best.tally.ci_tests.sum()))


class RAI(RecursiveLearner):
    """Recursive autonomy identification (RAI; Yehezkel & Lerner 2009): one graph, learned by CI tests.

    Parameters
    ----------
    ci_test : {"cmi-c1", "cmi", "g2", "bayes-factor", "auto"}, CITest or Oracle; the conditional-independence test.
        "auto" is cmi-c1, the paper's; for measurements it is the G-test (Fisher's z) at the level 0.01
    family_score : as in BRAI, the score that log_score_ reports; it does not affect the graph
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
    threshold_ : float, the threshold that CITest("cmi", threshold="auto") chose; None with other tests
    threshold_curve_ : list of Try (threshold, log_score, ci_tests, truncated), one per threshold that was tried
    n_repaired_ : int, number of groups whose graph had no DAG extension and was repaired
    n_truncated_ : int, number of groups that a limit (max_order, max_tests) left unrefined
    n_features_in_, feature_names_in_ : number and names of the variables
    """

    saved: ClassVar[Mapping[str, str]] = {
        "n_repaired_": "count",
        "n_truncated_": "count",
        "n_ci_tests_": "tests",
        "threshold_curve_": "thresholds",
    }

    def __init__(
        self,
        ci_test: Any = "auto",
        *,
        family_score: str = "auto",
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
        if isinstance(taken := self._taken(X), Incomplete):
            return fit_completed(self, taken)  # type: ignore[no-any-return]
        data, scores = self._start(X)

        def one(learner: Learner, prefix: str) -> Fit:
            families = rai(learner)
            return Fit(Draw(families, scores.total(families)), learner.tally.truncated)

        chosen = self._chosen(scores, one)
        self._finish(data, chosen, chosen.found.draw)
        tally = chosen.learner.tally
        self.n_repaired_, self.n_truncated_ = tally.repaired, tally.truncated
        return self
