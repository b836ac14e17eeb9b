"""Learners for few variables: `Exact`, and `DPMCMC`, whose chain uses exact edge probabilities.

Both raise TooLargeError, before they start, if they would need more than ``max_gb`` or ``max_minutes``; see
`brai.posterior.exact.estimate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from brai.data.columns import DataError
from brai.data.incomplete import Incomplete
from brai.graphs.pdag import families_of
from brai.kinds.scores import spread
from brai.learners.base import StructureLearner
from brai.learners.completed import fit_completed
from brai.posterior import exact
from brai.posterior.dp_mcmc import Chain, sample_dags
from brai.posterior.mixture import mixture
from brai.posterior.weighted import Floats, Posterior, Prior
from brai.runtime.interrupts import interruptible
from brai.runtime.progress import status


class Exact(StructureLearner):
    """The DAG of highest score, the k best classes and the exact probability of every edge (brai.posterior.exact).

    If cells are missing, all of these are computed on completed tables, and probabilities are their means.

    Probabilities of edges and adjacencies (also in tables and consensus graphs) are sums over all DAGs, under the
    structure prior. Markov blankets, paths, predictions and effects use the k best classes only.

    Parameters
    ----------
    k : int, number of equivalence classes in `posterior()`; None for all with up to 5 variables, else 1000
    max_parents : int, largest number of parents of a node, or None for no limit
    family_score, ess, structure_prior : as in BRAI; here not "auto" by default
    max_gb, max_minutes : float, limits of memory and time; TooLargeError if the estimate is above
    verbose : bool, whether to show the current step on standard error

    Attributes
    ----------
    cpdag_, dag_, log_score_, n_features_in_, feature_names_in_ : as in RAI
    """

    saved: ClassVar[Mapping[str, str]] = {
        "_known_edges": "edges",
    }

    def __init__(
        self,
        k: int | None = None,
        *,
        max_parents: int | None = None,
        family_score: str = "auto",
        ess: Any = 1.0,
        structure_prior: Any = "uniform",
        max_gb: float = exact.MAX_GB,
        max_minutes: float = exact.MAX_MINUTES,
        verbose: bool = False,
    ):
        self.k = k
        self.max_parents = max_parents
        self.family_score = family_score
        self.ess = ess
        self.structure_prior = structure_prior
        self.max_gb = max_gb
        self.max_minutes = max_minutes
        self.verbose = verbose

    def _limits(self) -> dict[str, Any]:
        return {
            "score": self.family_score,
            "ess": self.ess_,
            "structure_prior": self.structure_prior_,
            "max_parents": self.max_parents,
            "max_gb": self.max_gb,
            "max_minutes": self.max_minutes,
        }

    @interruptible
    def fit(self, X: Any, y: Any = None) -> Exact:
        """Learn from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        if isinstance(taken := self._taken(X), Incomplete):
            return fit_completed(self, taken)  # type: ignore[no-any-return]
        self._check_count("k", least=1, none="a number that suits the data")
        data = self._taken(X)
        self._settle(data.select(sorted(data.names)))
        with status(self.verbose, "finding the best DAG"):
            dag, log_score = exact.map_network(data, **self._limits())
        self._keep(data, families_of(dag.reorder(sorted(data.names))), log_score)
        self._known_edges: Floats | None = None
        return self

    def posterior(self, k: int | None = None, prior: Prior = "dags") -> Posterior:
        """The k best equivalence classes as a `Posterior`; ``k`` is by default that of the learner."""
        check_is_fitted(self)
        k = self.k if k is None else k
        with status(self.verbose, "finding the best classes"):
            return mixture([exact.posterior(own, k=k, prior=prior, **self._limits()) for own in self._tables()])

    def _tables(self) -> list[Any]:
        """The training table, or completions of it."""
        if isinstance(self._train, Incomplete):
            return [table.select(self._train.names) for table in spread(self._train.tables)]
        return [self._train]

    def edge_probabilities(self) -> Floats:
        """P(i → j | data), exact over all DAGs; (d, d), in the order of feature_names_in_."""
        check_is_fitted(self)
        if self._known_edges is None:
            with status(self.verbose, "computing edge probabilities"):
                each = [exact.edge_probabilities(own, **self._limits()) for own in self._tables()]
                self._known_edges = np.asarray(np.mean(each, axis=0))
        return self._known_edges.copy()

    def adjacency_probabilities(self) -> Floats:
        """P(i and j are adjacent | data), exact over all DAGs."""
        edges = self.edge_probabilities()
        return np.minimum(edges + edges.T, 1.0)


class DPMCMC(StructureLearner):
    """DAGs drawn by a Markov chain with proposals from exact edge probabilities (DP-MCMC; Eaton & Murphy 2007).

    Parameters
    ----------
    n : int, number of DAGs to draw
    burn_in, thin : int, steps before the first draw, and steps between draws
    global_share : float, share of proposals that replace the whole graph
    max_parents : int, largest number of parents of a node, or None for no limit
    family_score, ess, structure_prior : as in BRAI; here not "auto" by default
    max_gb, max_minutes : float, limits of memory and time; TooLargeError if the estimate is above
    random_state : int, SeedSequence, Generator, RandomState or None, the seed of the chain
    verbose : bool, whether to show the current step on standard error

    Attributes
    ----------
    cpdag_, dag_, log_score_ : the drawn DAG of highest score, its equivalence class and its score
    chain_ : brai.posterior.dp_mcmc.Chain, the DAGs in the order in which they were drawn, and acceptance rates
    n_features_in_, feature_names_in_ : number and names of the variables
    """

    saved: ClassVar[Mapping[str, str]] = {
        "chain_": "chain",
    }

    def __init__(
        self,
        n: int = 10_000,
        *,
        burn_in: int = 10_000,
        thin: int = 100,
        global_share: float = 0.1,
        max_parents: int | None = None,
        family_score: str = "auto",
        ess: Any = 1.0,
        structure_prior: Any = "uniform",
        max_gb: float = exact.MAX_GB,
        max_minutes: float = exact.MAX_MINUTES,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        self.n = n
        self.burn_in = burn_in
        self.thin = thin
        self.global_share = global_share
        self.max_parents = max_parents
        self.family_score = family_score
        self.ess = ess
        self.structure_prior = structure_prior
        self.max_gb = max_gb
        self.max_minutes = max_minutes
        self.random_state = random_state
        self.verbose = verbose

    @interruptible
    def fit(self, X: Any, y: Any = None) -> DPMCMC:
        """Run the chain on a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        data = self._taken(X)
        if isinstance(data, Incomplete):
            raise DataError(
                f"DPMCMC takes no missing cells, and {int(data.missing.sum())} of {data.missing.size} are: "
                'use BRAI or Exact, or Dataset.of(X, missing="drop")'
            )
        self._settle(data.select(sorted(data.names)))
        with status(self.verbose, "drawing DAGs by a chain"):
            self.chain_: Chain = sample_dags(
                data,
                self.n,
                burn_in=self.burn_in,
                thin=self.thin,
                global_share=self.global_share,
                score=self.family_score,
                ess=self.ess_,
                structure_prior=self.structure_prior_,
                max_parents=self.max_parents,
                random_state=self.random_state,
                max_gb=self.max_gb,
                max_minutes=self.max_minutes,
            )
        best = int(np.argmax(np.round(self.chain_.log_scores, 9)))
        dag = self.chain_.dag(best).reorder(sorted(data.names))
        self._keep(data, families_of(dag), float(self.chain_.log_scores[best]))
        return self

    def posterior(self, prior: Prior = "dags") -> Posterior:
        """The equivalence classes of the DAGs drawn, weighted by their frequency."""
        check_is_fitted(self)
        return Posterior.from_draws(self.chain_.draws(), prior, "dags", "mcmc")
