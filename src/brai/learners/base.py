"""Base class of all structure learners: fitted attributes, probabilities, prediction and causal effects.

Variables are sorted by name while learning, so the order of the columns affects only the order of the output.
"""

from __future__ import annotations

import math
import reprlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from brai.data.dataset import DataError
from brai.data.incomplete import Incomplete
from brai.data.missing import check_array
from brai.data.new_rows import conforming_with_holes
from brai.graphs.knowledge import Bounds, Knowledge
from brai.graphs.mpdag import restricted
from brai.graphs.pdag import PDAG, Family, families_of
from brai.graphs.priors import StructurePrior, family_prior
from brai.kinds import kind_of, table_of
from brai.kinds.scores import FamilyScores, MeanScores, spread
from brai.learners.memory import foresee
from brai.learners.with_holes import WithHoles
from brai.posterior.consensus import Consensus, consensus, table
from brai.posterior.effects import Adjustment, Effect, causal_effect
from brai.posterior.prediction import averaged_log_predictive, joint_log_predictive, log_predictive
from brai.posterior.weighted import Floats, Posterior
from brai.posterior.weighted import Prior as Weighing
from brai.posterior.with_knowledge import posterior_of_classes
from brai.runtime.checks import check_count, near
from brai.runtime.seeds import generator
from brai.search.hyperparameters import Settled, Tried, settle


def bounds_of(known: Knowledge | None, names: tuple[str, ...]) -> Bounds:
    """The allowed and the required edges between these variables."""
    return Bounds.free(len(names)) if known is None else known.bound(names)


class StructureLearner(WithHoles, BaseEstimator):  # type: ignore[misc]
    """An estimator that learns a DAG; subclasses have the arguments ``family_score`` and ``ess``."""

    saved: ClassVar[Mapping[str, str]] = {}  # fitted attributes to save: name, kind (brai.files.codecs)
    family_score: str
    ess: Any  # a number, "table" or "auto"
    ess_: float | str  # a number, or "table"
    structure_prior_: StructurePrior
    hyperparameters_: list[Tried]
    _known_posterior: Posterior | None
    _members: list[tuple[PDAG, float]] | None  # one CPDAG for each completed table, if cells were missing
    _obeyed: Knowledge | None  # background knowledge that the learned graphs obey

    def __sklearn_tags__(self) -> Any:
        """Input is numbers or strings, also missing; there is no target."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        tags.target_tags.required = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def _scores(self, X: Any) -> tuple[Any, FamilyScores]:
        """The data in its column order, and local scores on the data with variables sorted by name.

        Hyperparameters that are "auto" are chosen here.
        """
        data = self._taken(X)
        foresee(data, self)
        sorted_data = data.select(sorted(data.names))
        self._settle(sorted_data)
        return data, self._family_scores(sorted_data)

    def _settle(self, data: Any) -> None:
        """Set ess_, structure_prior_ and hyperparameters_; ``data`` has its variables sorted by name."""
        self._take(self._settled(data))

    def _take(self, settled: Settled) -> None:
        self.ess_, self.structure_prior_ = settled.ess, settled.prior
        self.hyperparameters_ = list(settled.tried)

    def _settled(self, data: Any) -> Settled:
        """The hyperparameters for this data."""
        return settle(
            data.tables[-1] if isinstance(data, Incomplete) else data,
            self.family_score,
            self.ess,
            getattr(self, "structure_prior", "uniform"),
            self._bounds(data.names),
            self._most_parents(data),
            self._deadline(),
        )

    def _most_parents(self, data: Any) -> int:
        """The limit on parents: that of the learner, or the usual one for the kind of data."""
        most = getattr(self, "max_parents", None)
        return kind_of(data).max_parents if most is None else int(most)

    @property
    def score_(self) -> str:
        """The name of the family score that was used."""
        check_is_fitted(self)
        return kind_of(self._train).score_named(self.family_score)

    @property
    def _parameter_ess(self) -> float | str:
        """The ess of parameters: as given; averaged over, for each family, if it was left to the data."""
        return "table" if isinstance(self.ess, str) else self.ess_

    def _deadline(self, share: float = 1.0) -> float:
        """When this share of the time for a fit is over (`time.monotonic`)."""
        return math.inf

    def _family_scores(self, data: Any) -> Any:
        """Local scores on a table, with the hyperparameters of the fit; means if cells are missing."""
        if isinstance(data, Incomplete):
            return MeanScores(data, [self._family_scores(table) for table in spread(data.tables)])
        prior = family_prior(self.structure_prior_, data.names, self._knowledge())
        return FamilyScores(data, self.family_score, self.ess_, prior=prior)

    def _knowledge(self) -> Knowledge | None:
        """Background knowledge: the argument ``knowledge``, or None for learners without it."""
        known = getattr(self, "knowledge", None)
        return None if known is None else Knowledge.of(known)

    def _bounds(self, names: tuple[str, ...]) -> Bounds:
        """The allowed and the required edges between these variables; raises if the knowledge is contradictory."""
        return bounds_of(self._knowledge(), names)

    def _check(self) -> None:
        """Raise ValueError for invalid arguments."""

    def _check_count(self, *names: str, least: int = 0, none: str = "") -> None:
        """Check that arguments are integers of at least ``least``; ``none`` says what None means, if allowed."""
        for name in names:
            check_count(name, getattr(self, name), least, none)

    @staticmethod
    def _taken(X: Any) -> Any:
        """The data as a table; invalid arrays raise the errors that scikit-learn expects."""
        check_array(X)
        return table_of(X, missing="impute")

    def _tested(self, X: Any) -> Any:
        """Test data, encoded with the variables and states of the training data; cells may be missing."""
        like = self._train.table if isinstance(self._train, Incomplete) else self._train
        try:
            return conforming_with_holes(X, like, lambda own: kind_of(like).conforming(own, like))
        except DataError as error:
            n = X.shape[1] if isinstance(X, np.ndarray) and X.ndim == 2 else self.n_features_in_
            if n == self.n_features_in_:
                raise
            expected = f"{type(self).__name__} is expecting {self.n_features_in_} features as input"
            raise DataError(f"X has {n} features, but {expected}: {error}") from None

    def _keep(self, data: Any, families: tuple[Family, ...], log_score: float) -> None:
        """Set the fitted attributes, given the families of a DAG over variables sorted by name."""
        names = tuple(sorted(data.names))
        dag = PDAG.from_parents(names, [own for _, own in sorted(families)]).reorder(data.names)
        self._obeyed = self._knowledge()
        self.dag_, self.cpdag_ = dag, dag.to_cpdag()
        self.mpdag_ = self._class(self.cpdag_, dag.names)
        self.log_score_ = log_score
        self.n_features_in_ = data.n_variables
        self.feature_names_in_ = np.array(data.names, dtype=object)
        self._train, self._known_posterior, self._members = data, None, None

    @property
    def log_prior_(self) -> float:
        """Log prior of dag_ up to a constant: the structure prior, and beliefs. Part of log_score_."""
        check_is_fitted(self)
        dag = self.dag_.reorder(sorted(self.dag_.names))
        sizes, edges = family_prior(self.structure_prior_, dag.names, self._obeyed)
        total = 0.0
        for v, parents in families_of(dag):
            total += float(sizes[len(parents)]) if len(sizes) else 0.0
            total += float(edges[list(parents), v].sum()) if len(edges) else 0.0
        return total

    @property
    def log_likelihood_(self) -> float:
        """What the data say of dag_: its log marginal likelihood (BDeu), or BIC or qNML. Part of log_score_."""
        return self.log_score_ - self.log_prior_

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Names of the variables, in the order of the rows and columns of all results."""
        check_is_fitted(self)
        return self.feature_names_in_.copy()

    def _class(self, cpdag: PDAG, names: tuple[str, ...]) -> PDAG:
        """The CPDAG with nodes in this order; with knowledge, the MPDAG that it implies."""
        graph = cpdag.reorder(names)
        return graph if self._obeyed is None else restricted(graph, self._obeyed)

    def _weighed(self, weigh: Callable[[Weighing], Posterior], prior: Weighing) -> Posterior:
        """A posterior over equivalence classes; with knowledge, over those of their DAGs that obey it."""
        if self._obeyed is None:
            return weigh(prior)
        return posterior_of_classes(weigh("classes"), self._obeyed, prior)

    # --- results ---

    def posterior(self) -> Posterior:
        """Learned graphs with probabilities: here one CPDAG or, with knowledge, those of its DAGs that obey it.

        If cells of the table were missing, there is a CPDAG for each completed table.
        """
        check_is_fitted(self)
        if self._members is not None:
            members = self._members
            return self._weighed(lambda prior: Posterior.from_draws(members, prior, source="completed"), "classes")
        return self._weighed(
            lambda prior: Posterior.from_scores([(self.cpdag_, self.log_score_)], prior, "one"), "dags"
        )

    def _posterior(self) -> Posterior:
        """The posterior with default settings, computed once."""
        check_is_fitted(self)
        if self._known_posterior is None:
            self._known_posterior = self.posterior()
        return self._known_posterior

    def _predicting(self) -> Posterior:
        """The posterior that predictions are averaged over."""
        return self._posterior()

    def edge_probabilities(self) -> Floats:
        """P(i → j | data), (d, d), in the order of feature_names_in_."""
        return self._posterior().edge_probabilities()

    def adjacency_probabilities(self) -> Floats:
        """P(i and j are adjacent | data)."""
        return self._posterior().adjacency_probabilities()

    def markov_blanket_probabilities(self) -> Floats:
        """P(i is in the Markov blanket of j | data)."""
        return self._posterior().markov_blanket_probabilities()

    def path_probabilities(self, n_dags: int | None = None, random_state: Any = 0) -> Floats:
        """P(there is a directed path from i to j | data); arguments and standard errors: `Posterior.paths`."""
        return self._posterior().path_probabilities(n_dags, random_state)

    def edge_probability(self, a: str, b: str) -> float:
        """P(a → b | data), by names; for many pairs call `edge_probabilities` once."""
        return self._between(self.edge_probabilities(), a, b)

    def adjacency_probability(self, a: str, b: str) -> float:
        """P(a and b are adjacent | data), by names."""
        return self._between(self.adjacency_probabilities(), a, b)

    def markov_blanket_probability(self, a: str, b: str) -> float:
        """P(a is in the Markov blanket of b | data), by names."""
        return self._between(self.markov_blanket_probabilities(), a, b)

    def path_probability(self, a: str, b: str) -> float:
        """P(there is a directed path from a to b | data), by names."""
        return self._between(self.path_probabilities(), a, b)

    def _between(self, matrix: Floats, a: str, b: str) -> float:
        names = self._train.names
        for name in (a, b):
            if name not in names:
                known = reprlib.repr(list(names))
                raise ValueError(f"there is no variable {name!r}{near(str(name), names)}: choose among {known}")
        return float(matrix[names.index(a), names.index(b)])

    def edge_table(self, threshold: float = 0.0, both: bool = False) -> list[dict[str, Any]]:
        """Edges as rows (from, to, strength, direction); see `brai.posterior.consensus.table`."""
        edges = self.edge_probabilities()
        return table(self._train.names, edges, threshold, both)

    def consensus(self, threshold: float = 0.5, direction: float = 0.5) -> Consensus:
        """The graph of the pairs that are adjacent with at least this probability; see
        `brai.posterior.consensus`.
        """
        edges = self.edge_probabilities()
        return consensus(self._train.names, edges, threshold, direction)

    def score_samples(self, X: Any, *, average: bool = True, posterior: Posterior | None = None) -> Floats:
        """Log predictive probability of each row of X.

        With ``average`` it is averaged over ``posterior``, else it is that of dag_. The default is `posterior()`
        or, if that is bagged, the posterior of the model: halves of the rows know less. X has the variables of the
        training data, in any order, and only states that the training data declare. Of a row with missing cells it
        is the probability of the others, estimated by random completions under DAGs and parameters that are drawn.
        """
        check_is_fitted(self)
        test = self._tested(X)
        if isinstance(test, Incomplete):
            return self._of_rows_with_holes(test, average, posterior)
        if average:
            return averaged_log_predictive(posterior or self._predicting(), self._train, test, self._parameter_ess)
        names = sorted(self._train.names)  # so that sums do not depend on the order of columns
        dag = self.dag_.reorder(names)
        return log_predictive(families_of(dag), self._train.select(names), test.select(names), self._parameter_ess)

    def score(self, X: Any, y: Any = None, *, average: bool = True, posterior: Posterior | None = None) -> float:
        """Mean of `score_samples`; y is ignored."""
        return float(self.score_samples(X, average=average, posterior=posterior).mean())

    def log_predictive(self, X: Any, *, posterior: Posterior | None = None) -> float:
        """log P(X | data) = log Σ_G P(X | G) P(G | data); all rows of X together are the paper's D_new."""
        check_is_fitted(self)
        test = self._tested(X)
        if isinstance(test, Incomplete):
            raise DataError("rows with missing cells have no joint probability here: sum score_samples(X) instead")
        return joint_log_predictive(posterior or self._predicting(), self._train, test, self._parameter_ess)

    def network(self, ess: float | str | None = None) -> Any:
        """The Bayesian network of dag_: its parameters are Dirichlet posterior means.

        ``ess`` is the equivalent sample size of their prior, by default that of the learner; 0 for maximum
        likelihood; "table" averages over ess, for each family by its own evidence (so does "auto"). dag_ is one
        DAG of its equivalence class. Data do not determine the direction of edges that are undirected in cpdag_,
        but ``marginal(do=...)`` depends on it; `causal_effect` averages over all directions.
        """
        check_is_fitted(self)
        return kind_of(self._train).parameters(self.dag_, self._train, self._parameter_ess if ess is None else ess)

    def edge_coefficients(self) -> Any:
        """Standardised coefficients of edges, row to column: ``mean`` and ``sd`` over graphs and parameters.

        Given that the edge exists; NaN if it is in no graph. None for discrete data, whose edges have tables.
        """
        if not kind_of(self._train).linear:
            return None
        names, dags, shares = self._dags()
        weights: dict[Family, float] = defaultdict(float)
        for dag, share in zip(dags, shares, strict=True):
            for family in dag:
                weights[family] += share
        found = kind_of(self._train).coefficients(self._train.select(names), weights, self._parameter_ess)
        rank = [names.index(name) for name in self._train.names]
        return type(found)(*(own[np.ix_(rank, rank)] for own in found))

    def total_effects(self, n: int = 1000, random_state: Any = 0) -> Any:
        """Total causal effects of all pairs of measurements, from n DAGs and parameters drawn from the posterior.

        The result has ``names``, ``mean``, ``sd``, ``low`` and ``high`` (95 %) and the ``draws``: the change of
        the mean of the column variable when the row variable is raised by one unit.
        """
        check_count("n", n, 1)
        if not kind_of(self._train).linear:
            raise ValueError("total effects of all pairs are for measurements: ask causal_effect for one pair")
        rng = generator(random_state)
        names, dags, shares = self._dags()
        chosen = rng.choice(len(dags), n, p=shares)
        data = self._train.select(names)
        found = kind_of(data).total_effects(data, [dags[i] for i in chosen], self._parameter_ess, rng)
        rank = [names.index(name) for name in self._train.names]
        return type(found)(self._train.names, *(own[..., rank, :][..., rank] for own in found[1:]))

    def _dags(
        self, posterior: Posterior | None = None
    ) -> tuple[tuple[str, ...], Sequence[Sequence[Family]], Floats]:
        """Names, DAGs as families, and their probabilities: draws of chains, else one DAG of each class."""
        posterior = posterior or self._predicting()
        if posterior.chains is None:
            names, graphs = posterior.families()
            return tuple(names), graphs, posterior.probabilities
        chains = posterior.chains
        dags = [chains.families(c, t) for c, t in np.ndindex(*chains.log_scores.shape)]
        return chains.names, dags, np.full(len(dags), 1 / len(dags))

    def causal_effect(  # arguments: options of a public function, by keyword
        self,
        cause: str,
        outcome: str,
        *,
        change: tuple[Any, Any] | None = None,
        values: Mapping[Any, float] | None = None,
        adjustment: Adjustment = "optimal",
        posterior: Posterior | None = None,
        n_dags: int | None = None,
        random_state: Any = 0,
    ) -> Effect:
        """P(outcome | do(cause)) averaged over a posterior (default: `posterior()`).

        The effect is the change of the mean outcome when the cause goes from change[0] to change[1], by default
        from its first to its last state. ``values`` maps states of the outcome to numbers; {"yes": 1} is for
        P(outcome = yes). Other arguments are as in `brai.posterior.effects.causal_effect`.
        """
        return causal_effect(
            posterior or self._posterior(),
            self._train,
            cause,
            outcome,
            change=change,
            values=values,
            ess=self._parameter_ess,
            adjustment=adjustment,
            n_dags=n_dags,
            random_state=random_state,
        )
