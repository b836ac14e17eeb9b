"""Front doors: `BRAI` and `RAI`, with the manners of scikit-learn estimators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from brai.base import StructureLearner
from brai.data import Dataset
from brai.graphs import PDAG
from brai.independence import CITest, Oracle
from brai.posterior import Posterior, Prior
from brai.progress import tree_progress
from brai.rai import Learner, rai
from brai.randomness import generator, seed_sequence
from brai.sampling import (
    Count,
    Draw,
    Method,
    best_route,
    count_distinct,
    distribution,
    k_best,
    sample_routes,
    to_dag,
)
from brai.scores import FamilyScores
from brai.tree import GGT, grow

MAX_TESTS = 100_000_000


class BudgetWarning(UserWarning):
    """Part of the graph was left at a low order because max_tests was reached."""


class _RecursiveLearner(StructureLearner):
    """What RAI and B-RAI share: arguments to a Learner, and what its tests took."""

    ci_test: Any
    max_order: int | None
    max_tests: int | None

    def _start(self, X: Any) -> tuple[Dataset, Learner, FamilyScores]:
        data, scores = self._scores(X)
        self._check_count("max_order", "max_tests")
        test = self.ci_test if isinstance(self.ci_test, Oracle) else CITest.of(self.ci_test)
        return data, Learner(scores.data, test, max_order=self.max_order, max_tests=self.max_tests), scores

    def _finish(self, data: Dataset, learner: Learner, draw: Draw, truncated: int) -> None:
        if truncated and learner.is_exhausted:
            warnings.warn(
                f"more than max_tests = {self.max_tests} CI tests are needed; {truncated} groups were left as "
                "they stood: raise max_tests, or lower max_order",
                BudgetWarning,
                stacklevel=3,
            )
        self._keep(data, draw.families, draw.log_score)
        self.n_ci_tests_ = np.trim_zeros(learner.tally.ci_tests, "b").copy()


class RAI(_RecursiveLearner):
    """Recursive autonomy identification (Yehezkel & Lerner 2009): one graph from one pass over the data.

    Parameters
    ----------
    ci_test : {"cmi-c1", "cmi", "g2", "bayes-factor", "auto"}, CITest or Oracle
    family_score : {"bdeu", "bic"}, for log_score_ only
    ess : float, equivalent sample size of that score (a Bayes-factor test has its own, CITest.ess)
    max_order : int, largest condition set, or None
    max_tests : int, CI tests after which no further group is refined (with a warning), or None for no limit

    Attributes
    ----------
    cpdag_, dag_ : PDAG of the class found, and of one DAG of it
    log_score_ : float, the score of dag_ on the data
    n_ci_tests_ : array, CI tests made, by order
    n_repaired_, n_truncated_ : int, groups whose graph no DAG extends and that were repaired; that a limit cut off
    n_features_in_, feature_names_in_
    """

    def __init__(
        self,
        ci_test: Any = "cmi-c1",
        *,
        family_score: str = "bdeu",
        ess: float = 1.0,
        max_order: int | None = None,
        max_tests: int | None = MAX_TESTS,
    ):
        self.ci_test = ci_test
        self.family_score = family_score
        self.ess = ess
        self.max_order = max_order
        self.max_tests = max_tests

    def fit(self, X: Any, y: Any = None) -> RAI:
        """Learn from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        data, learner, scores = self._start(X)
        families = rai(learner)
        tally = learner.tally
        self._finish(data, learner, Draw(families, scores.total(families)), tally.truncated)
        self.n_repaired_, self.n_truncated_ = tally.repaired, tally.truncated
        return self


class BRAI(_RecursiveLearner):
    """Bayesian structure learning by recursive bootstrap (B-RAI; Rohekar et al. 2018).

    Parameters
    ----------
    s : int, bootstrap samples at each node of the tree
    ci_test : "auto" or as in RAI. "auto" is "cmi-c1" in this version.
    family_score : {"bdeu", "bic"}, the score of the leaves
    ess, max_order, max_tests : as in RAI
    polish : bool. Search on from the tree's best graph. In this version nothing is done and nothing claimed:
        the MAP is that of the tree.
    draw : {"exact", "paper"}, how `sample` draws; see brai.sampling
    random_state : int, SeedSequence, Generator, RandomState or None. The same seed gives the same tree.
    verbose : bool, a progress bar on standard error

    Attributes
    ----------
    cpdag_, dag_, log_score_, n_ci_tests_ : as in RAI, for the best graph of the tree (MAP)
    tree_ : GGT with n_nodes, n_leaves, n_routes, depth, n_repaired, n_truncated
    """

    def __init__(
        self,
        s: int = 3,
        ci_test: Any = "auto",
        *,
        family_score: str = "bdeu",
        ess: float = 1.0,
        polish: bool = True,
        draw: Method = "exact",
        max_order: int | None = None,
        max_tests: int | None = MAX_TESTS,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.s = s
        self.ci_test = ci_test
        self.family_score = family_score
        self.ess = ess
        self.polish = polish
        self.draw = draw
        self.max_order = max_order
        self.max_tests = max_tests
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, s: int = 3, *, random_state: Any = None, verbose: bool = False, **changes: Any) -> BRAI:
        """The published algorithm: CMI test with the C1 threshold, BDeu with ess 1, no polish, Algorithm 2.

        What the paper leaves open is settled as docs/paper-map.md lists; of that, the raised threshold on
        bootstrap samples (CITest.correction) and the test of v-structures (CITest.colliders) are not in it.
        """
        settings = {"ci_test": "cmi-c1", "family_score": "bdeu", "ess": 1.0, "polish": False, "draw": "paper"}
        return cls(s, random_state=random_state, verbose=verbose, **{**settings, **changes})

    def fit(self, X: Any, y: Any = None) -> BRAI:
        """Grow the tree from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset."""
        if not (isinstance(self.s, int | np.integer) and self.s >= 1):
            raise ValueError(f"s is {self.s!r}: give the number of bootstrap samples, a whole number from 1 on")
        if self.draw not in ("exact", "paper"):
            raise ValueError(f"draw is {self.draw!r}: choose 'exact' or 'paper'")
        seed = seed_sequence(self.random_state)
        data, learner, scores = self._start(X)
        with tree_progress(self.verbose) as progress:
            tree = grow(learner, scores, int(self.s), seed, progress)
        self._finish(data, learner, best_route(tree), tree.n_truncated)
        self.tree_: GGT = tree
        return self

    def sample(self, n: int = 1, temperature: float = 1.0, random_state: Any = None) -> list[tuple[PDAG, float]]:
        """Draw n CPDAGs of the tree with their log scores; ``draw`` says how."""
        check_is_fitted(self)
        rng = generator(random_state)
        classes: dict[Draw, PDAG] = {}
        drawn = sample_routes(self.tree_, n, temperature, rng, self.draw)
        for one in drawn:
            if one not in classes:
                classes[one] = self._class(to_dag(one.families, self.tree_.names).to_cpdag())
        return [(classes[one], one.log_score) for one in drawn]

    def k_best(self, k: int) -> list[tuple[PDAG, float]]:
        """The k distinct CPDAGs of highest score in the tree, best first; fewer if there are fewer."""
        check_is_fitted(self)
        return [(self._class(cpdag), score) for cpdag, score in k_best(self.tree_, k)]

    def distribution(self, temperature: float = 1.0, limit: int = 100_000) -> list[tuple[PDAG, float, float]]:
        """Every distinct CPDAG of the tree with its log score and its exact probability in "exact" draws.

        TooManyError if the tree holds more than ``limit`` distinct DAGs.
        """
        check_is_fitted(self)
        rows = distribution(self.tree_, temperature, limit)
        return [(self._class(cpdag), score, probability) for cpdag, score, probability in rows]

    def posterior(
        self,
        k: int = 100,
        *,
        draws: int | None = None,
        temperature: float | None = None,
        prior: Prior | None = None,
        random_state: Any = 0,
    ) -> Posterior:
        """Graphs of the tree with their probabilities: the k best distinct CPDAGs, weighed by their scores (the
        paper's); or, if ``draws`` is given, so many draws at a temperature (1), weighed by how often each came.

        ``prior`` is uniform on "dags", by default for the k best (the paper's), or on "classes", by default for
        draws: the tree draws CPDAGs by their scores whatever their sizes, and "dags" multiplies by these.
        """
        check_is_fitted(self)
        if draws is None:
            if temperature is not None:
                raise ValueError("temperature is that of draws: give their number too, draws=500")
            return Posterior.from_scores(self.k_best(k), prior or "dags")
        if draws < 1:
            raise ValueError(f"draws is {draws}: give the number of draws, a whole number from 1 on")
        drawn = self.sample(draws, 1.0 if temperature is None else temperature, random_state)
        return Posterior.from_draws(drawn, prior or "classes")

    def n_distinct(self, limit: int | None = None) -> Count:
        """Number of distinct CPDAGs in the tree: exact up to ``limit`` distinct DAGs, else a bound."""
        check_is_fitted(self)
        return count_distinct(self.tree_, limit)

    def _class(self, cpdag: PDAG) -> PDAG:
        return cpdag.reorder(tuple(self.feature_names_in_))
