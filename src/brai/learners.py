"""Front doors to score-based learners, and to the bootstrap of any learner."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from brai._interrupt import interruptible
from brai.base import StructureLearner
from brai.checkpoint import Checkpoint
from brai.comparators.mmhc import neighbourhoods
from brai.data import Dataset
from brai.families import FamilyTable
from brai.graphs import PDAG, families_of
from brai.knowledge import Knowledge
from brai.parallel import Workers
from brai.posterior import Posterior, Prior
from brai.progress import counted
from brai.randomness import seed_sequence
from brai.search import hill_climb, search_by_order


class HillClimbing(StructureLearner):
    """Hill climbing and tabu search over DAGs: the best addition, deletion or reversal of an edge, repeatedly.

    Parameters
    ----------
    tabu : int, length of the tabu list; 0 is plain hill climbing
    patience : int, moves without a new best after which tabu search ends
    restarts : int, further climbs from perturbed copies of the best DAG
    perturbations : int, edges toggled to perturb it
    ties : "auto" or "columns". "columns" breaks ties by the order of columns, as bnlearn does; "auto" does not
        look at it, and climbs twice, see brai.search
    max_parents : int, or None
    start : PDAG to start from (a DAG), or None for no edges
    allowed : (d, d) bool array in the order of columns, which edges i → j may be added; or None for all
    knowledge : as in RAI; required edges stay, though they be more than max_parents
    family_score, ess : as in RAI
    random_state : for restarts

    Attributes
    ----------
    cpdag_, dag_, mpdag_, log_score_, n_features_in_, feature_names_in_ : as in RAI
    n_moves_, n_scored_ : int, moves made and families scored
    """

    def __init__(
        self,
        *,
        tabu: int = 20,
        patience: int = 20,
        restarts: int = 0,
        perturbations: int = 10,
        ties: Literal["auto", "columns"] = "auto",
        max_parents: int | None = None,
        start: PDAG | None = None,
        allowed: Any = None,
        knowledge: Any = None,
        family_score: str = "bdeu",
        ess: float = 1.0,
        random_state: Any = 0,
    ):
        self.knowledge = knowledge
        self.tabu = tabu
        self.patience = patience
        self.restarts = restarts
        self.perturbations = perturbations
        self.ties = ties
        self.max_parents = max_parents
        self.start = start
        self.allowed = allowed
        self.family_score = family_score
        self.ess = ess
        self.random_state = random_state

    @interruptible
    def fit(self, X: Any, y: Any = None) -> HillClimbing:
        """Search from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        self._check_count("tabu", "restarts", "perturbations")
        self._check_count("max_parents", none="no limit")
        self._check_count("patience", least=1)
        if self.ties not in ("auto", "columns"):
            raise ValueError(f"ties is {self.ties!r}: choose 'auto' or 'columns'")
        data, scores = self._scores(X)
        rank = [data.names.index(name) for name in scores.data.names]
        bounds, known = self._bounds(scores.data.names), self._knowledge()
        start = _start_graph(self.start, scores.data.names)
        if known is not None and self.start is not None and (broken := known.violations(self.start)):
            raise ValueError(f"start does not obey the knowledge: {'; '.join(broken)}: change it, or leave it out")
        allowed = _allowed_edges(self.allowed, rank)
        if allowed is not None:
            for i, j in np.argwhere(bounds.required & ~allowed):
                names = scores.data.names
                raise ValueError(f"{names[i]!r} → {names[j]!r} is required and not allowed: allow it")
        found = hill_climb(
            scores,
            start=start,
            allowed=bounds.allowed if allowed is None else bounds.allowed & allowed,
            required=bounds.required,
            max_parents=self.max_parents,
            tabu=self.tabu,
            patience=self.patience,
            restarts=self.restarts,
            perturbations=self.perturbations,
            orders=None if self.ties == "auto" else [np.argsort(rank).tolist()],
            seed=seed_sequence(self.random_state),
        )
        self._keep(data, found.families, found.log_score)
        self.n_moves_, self.n_scored_ = found.n_moves, found.n_scored
        return self


def _start_graph(start: PDAG | None, names: tuple[str, ...]) -> np.ndarray[Any, Any] | None:
    if start is None:
        return None
    if not isinstance(start, PDAG) or not start.is_dag():
        raise ValueError(f"start is {start!r}: give a DAG, such as graph.to_dag(), or None")
    return start.reorder(names).adjacency


def _allowed_edges(allowed: Any, rank: list[int]) -> np.ndarray[Any, Any] | None:
    if allowed is None:
        return None
    edges = np.array(allowed, bool)
    if edges.shape != (len(rank), len(rank)):
        raise ValueError(f"allowed has shape {edges.shape}: give one row and one column for each of {len(rank)}")
    edges = edges[np.ix_(rank, rank)]
    np.fill_diagonal(edges, False)
    return edges


class OrderSearch(StructureLearner):
    """Local search over orders of the variables, on a table of scored parent sets.

    Parameters
    ----------
    restarts : int, climbs from random orders
    kicks : int, kicks after each climb, for each variable: iterated local search
    max_parents : int, largest parent set
    pairs, larger : int, candidates of which pairs, and larger sets, are listed
    grow : bool, whether it may
    knowledge : as in HillClimbing
    family_score, ess : as in RAI
    random_state : of the orders

    Attributes
    ----------
    cpdag_, dag_, mpdag_, log_score_, n_features_in_, feature_names_in_ : as in RAI
    n_sets_, n_reached_ : int, parent sets in the table; climbs of the last search that reached the best score
    """

    def __init__(
        self,
        *,
        restarts: int = 20,
        kicks: int = 20,
        max_parents: int = 4,
        pairs: int = 60,
        larger: int = 14,
        grow: bool = True,
        knowledge: Any = None,
        family_score: str = "bdeu",
        ess: float = 1.0,
        random_state: Any = 0,
    ):
        self.knowledge = knowledge
        self.restarts = restarts
        self.kicks = kicks
        self.max_parents = max_parents
        self.pairs = pairs
        self.larger = larger
        self.grow = grow
        self.family_score = family_score
        self.ess = ess
        self.random_state = random_state

    @interruptible
    def fit(self, X: Any, y: Any = None) -> OrderSearch:
        """Search from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        self._check_count("restarts", least=1)
        self._check_count("kicks", "max_parents", "pairs", "larger")
        data, scores = self._scores(X)
        bounds = self._bounds(scores.data.names)._asdict()
        table = FamilyTable(scores, max_parents=self.max_parents, pairs=self.pairs, larger=self.larger, **bounds)
        seed = seed_sequence(self.random_state)
        found = search_by_order(table, restarts=self.restarts, kicks=self.kicks, grow=self.grow, seed=seed)
        self._keep(data, found.families, found.log_score)
        self.n_sets_, self.n_reached_ = found.n_sets, found.n_reached
        return self


class MMHC(StructureLearner):
    """Max-min hill climbing (Tsamardinos, Brown & Aliferis 2006): neighbours by tests, directions by score.

    Parameters
    ----------
    alpha : float, level of the G² tests
    min_rows_per_cell : float, rows per cell below which a test is not made; None for no such rule
    df : {"strata", "cells", "full"}, how degrees of freedom are counted; see brai.comparators.mmhc
    max_order : int, largest condition set, or None
    tabu, patience, ties : of the hill climbing, as in HillClimbing; those of the paper by default
    max_parents, family_score, ess, knowledge : as in HillClimbing. Tests do not look at knowledge; neighbours are
        then parted, and joined, as it says

    Attributes
    ----------
    skeleton_ : (d, d) bool array, the neighbours that hill climbing may join
    n_ci_tests_ : array, tests made, by order
    cpdag_, dag_, mpdag_, log_score_, n_features_in_, feature_names_in_ : as in RAI
    """

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        min_rows_per_cell: float | None = 5.0,
        df: Literal["strata", "cells", "full"] = "strata",
        max_order: int | None = None,
        tabu: int = 100,
        patience: int = 15,
        ties: Literal["auto", "columns"] = "auto",
        max_parents: int | None = None,
        knowledge: Any = None,
        family_score: str = "bdeu",
        ess: float = 1.0,
    ):
        self.knowledge = knowledge
        self.alpha = alpha
        self.min_rows_per_cell = min_rows_per_cell
        self.df = df
        self.max_order = max_order
        self.tabu = tabu
        self.patience = patience
        self.ties = ties
        self.max_parents = max_parents
        self.family_score = family_score
        self.ess = ess

    @interruptible
    def fit(self, X: Any, y: Any = None) -> MMHC:
        """Learn from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        data = self._taken(X)
        allowed, required = self._bounds(data.names)
        skeleton = neighbourhoods(
            data,
            alpha=self.alpha,
            min_rows_per_cell=self.min_rows_per_cell,
            max_order=self.max_order,
            df=self.df,
        )
        near = (skeleton.adjacency & (allowed | allowed.T)) | required | required.T
        climbing = HillClimbing(
            knowledge=self.knowledge,
            tabu=self.tabu,
            patience=self.patience,
            ties=self.ties,
            max_parents=self.max_parents,
            allowed=near,
            family_score=self.family_score,
            ess=self.ess,
        ).fit(data)
        self._keep(data, families_of(climbing.dag_.reorder(sorted(data.names))), climbing.log_score_)
        self.skeleton_, self.n_ci_tests_ = near, skeleton.n_ci_tests
        return self


class Bootstrap(StructureLearner):
    """The classic bootstrap of any learner here: it is fitted to n samples drawn with replacement.

    Parameters
    ----------
    estimator : the learner, such as MMHC() or HillClimbing(); its scores are those of the members
    n : int, bootstrap samples
    n_jobs : int, workers (joblib: -1 for all cores; threads, or what joblib.parallel_config says; see
        brai.parallel); changes no result
    checkpoint : a folder for finished members, or None. A run that was killed goes on from there with the same
        data, settings and seeds (that of the learner too), to the same result
    random_state : of the samples; a random_state of the learner is left as it is
    verbose : bool, a progress bar on standard error

    Attributes
    ----------
    members_ : list of (CPDAG, log score), in the order of samples; scores are those on the full data
    cpdag_, dag_, log_score_ : the member of highest score on the full data
    n_ci_tests_ : array, CI tests made for each member
    n_features_in_, feature_names_in_

    `posterior()` weighs members by how often they came; so `edge_table()` is bnlearn's ``boot.strength``. With
    ``by="score"`` distinct members are weighed by their scores on the full data.
    """

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
        """That of the learner."""
        return str(self.estimator.family_score)

    @property
    def ess(self) -> float:  # type: ignore[override]
        """That of the learner."""
        return float(self.estimator.ess)

    @interruptible
    def fit(self, X: Any, y: Any = None) -> Bootstrap:
        """Learn from n bootstrap samples of a table; y is ignored."""
        self._check_count("n", least=1)
        data, scores = self._scores(X)
        seed = seed_sequence(self.random_state)
        if self.checkpoint is not None and self.estimator.get_params().get("random_state", 0) is None:
            raise ValueError("a checkpoint needs a random_state of the learner too, so that members are the same")
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
        """The members as a weighted set: by how often each came, or distinct ones by their scores."""
        check_is_fitted(self)
        if by == "score":
            return self._weighed(lambda own: Posterior.from_scores(self.members_, own), prior or "dags")
        if by != "frequency":
            raise ValueError(f"by is {by!r}: choose 'frequency' or 'score'")
        return self._weighed(lambda own: Posterior.from_draws(self.members_, own), prior or "classes")


class _Member(NamedTuple):
    """What is kept of a copy of the estimator."""

    dag: PDAG
    cpdag: PDAG
    n_ci_tests: int


def _fitted(
    estimator: Any, data: Dataset, seed: np.random.SeedSequence
) -> tuple[NDArray[np.int8], NDArray[np.int8], int]:
    """What a copy of the estimator finds in a bootstrap sample: DAG, CPDAG, number of CI tests."""
    rows = np.repeat(np.arange(data.n_rows), data.bootstrap_weights(seed))
    model = clone(estimator).fit(Dataset(data.codes[:, rows], data.names, data.states))
    tests = int(np.sum(getattr(model, "n_ci_tests_", 0)))
    return model.dag_.reorder(data.names).adjacency, model.cpdag_.reorder(data.names).adjacency, tests
