"""`MMHC`: max-min hill climbing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from brai.data.incomplete import Incomplete
from brai.graphs.pdag import families_of
from brai.learners.base import StructureLearner
from brai.learners.completed import fit_completed
from brai.learners.score_search import HillClimbing
from brai.runtime.interrupts import interruptible
from brai.search.hyperparameters import Settled
from brai.search.mmpc import neighbourhoods


class MMHC(StructureLearner):
    """Max-min hill climbing (Tsamardinos, Brown & Aliferis 2006): skeleton by CI tests, directions by score.

    Parameters
    ----------
    alpha : float, significance level of the G² tests
    min_rows_per_cell : float, a test with fewer rows per cell (on average) is not made; None to make all tests
    df : {"strata", "cells", "full"}, how degrees of freedom are counted; see brai.search.mmpc
    max_order : int, size of the largest condition set, or None for no limit
    tabu, patience, ties : as in HillClimbing; tabu and patience are those of the paper by default
    max_parents, family_score, ess, structure_prior, knowledge : as in HillClimbing. CI tests do not use the
        knowledge; after them, pairs forbidden in both directions leave the skeleton, and required edges are
        added to it

    Attributes
    ----------
    skeleton_ : (d, d) bool array, pairs that hill climbing may join
    n_ci_tests_ : array, number of CI tests of each order
    cpdag_, dag_, mpdag_, log_score_, n_features_in_, feature_names_in_ : as in RAI
    """

    saved: ClassVar[Mapping[str, str]] = {
        "n_ci_tests_": "tests",
        "skeleton_": "skeleton",
    }

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
        family_score: str = "auto",
        ess: Any = 1.0,
        structure_prior: Any = "uniform",
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
        self.structure_prior = structure_prior

    @interruptible
    def fit(self, X: Any, y: Any = None) -> MMHC:
        """Learn from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        if isinstance(taken := self._taken(X), Incomplete):
            return fit_completed(self, taken)  # type: ignore[no-any-return]
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
            structure_prior=self.structure_prior,
        ).fit(data)
        self._take(Settled(climbing.ess_, climbing.structure_prior_, tuple(climbing.hyperparameters_)))
        self._keep(data, families_of(climbing.dag_.reorder(sorted(data.names))), climbing.log_score_)
        self.skeleton_, self.n_ci_tests_ = near, skeleton.n_ci_tests
        return self
