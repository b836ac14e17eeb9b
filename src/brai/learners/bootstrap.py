"""`Bootstrap`: the nonparametric bootstrap of any structure learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from brai.data.incomplete import Incomplete
from brai.graphs.knowledge import Knowledge
from brai.graphs.pdag import PDAG, families_of
from brai.kinds import kind_of
from brai.learners.base import StructureLearner
from brai.learners.completed import completed
from brai.posterior.weighted import Posterior, Prior
from brai.runtime.checkpoint import Checkpoint
from brai.runtime.interrupts import interruptible
from brai.runtime.progress import counted
from brai.runtime.seeds import seed_sequence
from brai.runtime.workers import Workers
from brai.search.hyperparameters import Settled


class Bootstrap(StructureLearner):
    """The nonparametric bootstrap of a structure learner: it is fitted to n samples of the rows.

    `posterior()` weights the learned graphs (members) by their frequency, so `edge_table()` corresponds to
    bnlearn's ``boot.strength``. ``posterior(by="score")`` weights distinct members by their scores on the full
    data.

    Parameters
    ----------
    estimator : the learner, such as MMHC() or HillClimbing(). Members are scored with its family_score and ess
    n : int, number of bootstrap samples; each has as many rows as the data, drawn with replacement
    n_jobs : int, workers (joblib: -1 for all cores; threads, or what joblib.parallel_config says; see
        brai.runtime.workers). The result does not depend on it
    checkpoint : a folder for finished members, or None. A run that was killed continues from there with the same
        data, settings and seeds (also that of the estimator), to the same result
    random_state : int, SeedSequence, Generator, RandomState or None, the seed of the samples. It does not change
        the random_state of the estimator
    verbose : bool, whether to show a progress bar on standard error

    Attributes
    ----------
    members_ : list of (CPDAG, log score), one for each sample; scores are those on the full data
    cpdag_, dag_, log_score_ : the member of highest score on the full data
    n_ci_tests_ : array, number of CI tests made for each member
    n_features_in_, feature_names_in_ : number and names of the variables
    """

    saved: ClassVar[Mapping[str, str]] = {
        "n_ci_tests_": "tests",
        "members_": "members",
    }

    def __init__(
        self,
        estimator: Any,
        n: int = 200,
        *,
        n_jobs: int | None = 1,
        checkpoint: Any = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.n = n
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    @property
    def family_score(self) -> str:  # type: ignore[override]
        """family_score of the estimator."""
        return str(self.estimator.family_score)

    @property
    def ess(self) -> Any:
        """Equivalent sample size of the estimator."""
        return self.estimator.ess

    def _settled(self, data: Any) -> Settled:
        """Hyperparameters that are "auto" are chosen once, on the full data, to score the members."""
        found: Settled = self.estimator._settled(data)
        return found

    @interruptible
    def fit(self, X: Any, y: Any = None) -> Bootstrap:
        """Learn from n bootstrap samples of a table; y is ignored."""
        self._check_count("n", least=1)
        data, seed = self._taken(X), seed_sequence(self.random_state)
        if isinstance(data, Incomplete):  # each sample is drawn from another completed table
            data = completed(self.estimator, data, seed, Workers(self.n_jobs)).data.select(data.names)
        data, scores = self._scores(data)
        if self.checkpoint is not None and self.estimator.get_params().get("random_state", 0) is None:
            raise ValueError("a checkpoint needs a random_state of the estimator too, to give the same members")
        tasks, keys = [(own,) for own in seed.spawn(self.n)], [f"member-{i}" for i in range(self.n)]
        with (
            Checkpoint.of(self, data, seed) as store,
            counted(self.verbose, "bootstrap samples", self.n) as advance,
        ):
            workers = Workers(self.n_jobs, store)
            found = workers.run(_fitted, tasks, shared=(self.estimator, data), keys=keys, advance=advance)
        models = [_Member(PDAG(data.names, dag), PDAG(data.names, cpdag), n) for dag, cpdag, n in found]
        families = [families_of(model.dag.reorder(scores.data.names)) for model in models]
        log_scores = [scores.total(own) for own in families]
        best = int(np.argmax(np.round(log_scores, 9)))
        self._keep(data, families[best], log_scores[best])
        self.members_ = [(model.cpdag, score) for model, score in zip(models, log_scores, strict=True)]
        self.n_ci_tests_ = np.array([model.n_ci_tests for model in models])
        return self

    def _knowledge(self) -> Knowledge | None:
        known: Knowledge | None = self.estimator._knowledge()
        return known

    def posterior(self, by: Literal["frequency", "score"] = "frequency", prior: Prior | None = None) -> Posterior:
        """The members as a `Posterior`, weighted by their frequency, or distinct members by their scores.

        The default ``prior`` is "classes" for frequencies and "dags" for scores.
        """
        check_is_fitted(self)
        if by == "score":
            return self._weighed(
                lambda own: Posterior.from_scores(self.members_, own, "bootstrap"), prior or "dags"
            )
        if by != "frequency":
            raise ValueError(f"by is {by!r}: choose 'frequency' or 'score'")
        return self._weighed(
            lambda own: Posterior.from_draws(self.members_, own, source="bootstrap"), prior or "classes"
        )


class _Member(NamedTuple):
    """What is kept of an estimator fitted to a sample."""

    dag: PDAG
    cpdag: PDAG
    n_ci_tests: int


def _fitted(
    estimator: Any, data: Any, seed: np.random.SeedSequence
) -> tuple[NDArray[np.int8], NDArray[np.int8], int]:
    """Fit a copy of the estimator to a bootstrap sample; returns its DAG, CPDAG and number of CI tests."""
    model = clone(estimator).fit(kind_of(data).resampled(data, seed))
    tests = int(np.sum(getattr(model, "n_ci_tests_", 0)))
    return model.dag_.reorder(data.names).adjacency, model.cpdag_.reorder(data.names).adjacency, tests
