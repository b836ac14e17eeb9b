"""Score-based learners: `HillClimbing` and `OrderSearch`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from brai.data.incomplete import Incomplete
from brai.graphs.pdag import PDAG
from brai.learners.base import StructureLearner
from brai.learners.completed import fit_completed
from brai.runtime.interrupts import interruptible
from brai.runtime.seeds import seed_sequence
from brai.search.family_table import FamilyTable
from brai.search.hill_climbing import hill_climb
from brai.search.joint_parents import deepen, leaps_of
from brai.search.orders import search_by_order


class HillClimbing(StructureLearner):
    """Hill climbing and tabu search over DAGs: the best addition, deletion or reversal of an edge, repeatedly.

    Parameters
    ----------
    tabu : int, length of the tabu list; 0 for plain hill climbing
    patience : int, tabu search ends after this many moves without a new best score
    restarts : int, number of further climbs from perturbed copies of the best DAG
    perturbations : int, number of random edges toggled in such a copy
    ties : {"auto", "columns"}, how ties are broken. "columns" prefers the first columns, as bnlearn does. "auto"
        does not depend on the order of columns, and climbs twice; see brai.search.hill_climbing
    max_parents : int, largest number of parents of a node, or None for no limit
    joint : bool, whether moves may add two parents at once where no single edge improves the score. All pairs of
        parents are scored for that (brai.search.joint_parents), which takes a minute with a thousand variables
    start : PDAG, the DAG to start from, or None for no edges except required ones
    allowed : (d, d) bool array in the order of columns, whether the edge i → j may be added; None for all edges
    knowledge : as in RAI. Required edges are kept even if they are more than max_parents
    family_score, ess, structure_prior : the score to maximise, the equivalent sample size of its prior
        (BDeu, BGe), and the prior over DAGs that is added; as in BRAI, but not "auto" by default
    random_state : int, SeedSequence, Generator, RandomState or None, the seed of restarts

    Attributes
    ----------
    cpdag_, dag_, mpdag_, log_score_, n_features_in_, feature_names_in_ : as in RAI
    n_moves_, n_scored_ : int, numbers of moves made and of families scored
    """

    saved: ClassVar[Mapping[str, str]] = {
        "n_moves_": "count",
        "n_scored_": "count",
    }

    def __init__(
        self,
        *,
        tabu: int = 20,
        patience: int = 20,
        restarts: int = 0,
        perturbations: int = 10,
        ties: Literal["auto", "columns"] = "auto",
        max_parents: int | None = None,
        joint: bool = False,
        start: PDAG | None = None,
        allowed: Any = None,
        knowledge: Any = None,
        family_score: str = "auto",
        ess: Any = 1.0,
        structure_prior: Any = "uniform",
        random_state: Any = 0,
    ):
        self.knowledge = knowledge
        self.tabu = tabu
        self.patience = patience
        self.restarts = restarts
        self.perturbations = perturbations
        self.ties = ties
        self.max_parents = max_parents
        self.joint = joint
        self.start = start
        self.allowed = allowed
        self.family_score = family_score
        self.ess = ess
        self.structure_prior = structure_prior
        self.random_state = random_state

    @interruptible
    def fit(self, X: Any, y: Any = None) -> HillClimbing:
        """Learn from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        if isinstance(taken := self._taken(X), Incomplete):
            return fit_completed(self, taken)  # type: ignore[no-any-return]
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
                raise ValueError(f"{names[i]!r} → {names[j]!r} is required and not allowed: change allowed")
        allowed = bounds.allowed if allowed is None else bounds.allowed & allowed
        found = hill_climb(
            scores,
            start=start,
            allowed=allowed,
            required=bounds.required,
            max_parents=self.max_parents,
            tabu=self.tabu,
            patience=self.patience,
            restarts=self.restarts,
            perturbations=self.perturbations,
            orders=None if self.ties == "auto" else [np.argsort(rank).tolist()],
            leaps=leaps_of(scores, allowed) if self.joint else None,
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
        raise ValueError(f"allowed has shape {edges.shape}: its numbers of rows and columns must be {len(rank)}")
    edges = edges[np.ix_(rank, rank)]
    np.fill_diagonal(edges, False)
    return edges


class OrderSearch(StructureLearner):
    """Iterated local search over orders of the variables, on a table of scored parent sets.

    Parameters
    ----------
    restarts : int, number of climbs from random orders
    kicks : int, number of random perturbations (kicks) per variable after each climb, each with a local search
    max_parents : int, size of the largest parent set that is listed; None for 4, or 8 with measurements
    pairs : int, number of candidate parents of each variable of which all pairs are scored
    larger : int, number of candidate parents of each variable of which larger sets are scored, 0 to 24
    grow : bool, whether parent sets near those of the best DAG may be added to the table
    knowledge, family_score, ess, structure_prior : as in HillClimbing
    random_state : int, SeedSequence, Generator, RandomState or None, the seed of orders and kicks

    Attributes
    ----------
    cpdag_, dag_, mpdag_, log_score_, n_features_in_, feature_names_in_ : as in RAI
    n_sets_ : int, number of parent sets in the table
    n_reached_ : int, number of climbs of the last search that reached the best score
    """

    saved: ClassVar[Mapping[str, str]] = {
        "n_sets_": "count",
        "n_reached_": "count",
    }

    def __init__(
        self,
        *,
        restarts: int = 20,
        kicks: int = 20,
        max_parents: int | None = None,
        pairs: int = 60,
        larger: int = 14,
        grow: bool = True,
        knowledge: Any = None,
        family_score: str = "auto",
        ess: Any = 1.0,
        structure_prior: Any = "uniform",
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
        self.structure_prior = structure_prior
        self.random_state = random_state

    @interruptible
    def fit(self, X: Any, y: Any = None) -> OrderSearch:
        """Learn from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        if isinstance(taken := self._taken(X), Incomplete):
            return fit_completed(self, taken)  # type: ignore[no-any-return]
        self._check_count("restarts", least=1)
        self._check_count("kicks", "pairs", "larger")
        self._check_count("max_parents", none="the usual limit for the kind of data")
        data, scores = self._scores(X)
        bounds = self._bounds(scores.data.names)._asdict()
        most = self._most_parents(scores.data)
        table = FamilyTable(scores, max_parents=most, pairs=self.pairs, larger=self.larger, **bounds)
        deepen(table)
        seed = seed_sequence(self.random_state)
        found = search_by_order(table, restarts=self.restarts, kicks=self.kicks, grow=self.grow, seed=seed)
        self._keep(data, found.families, found.log_score)
        self.n_sets_, self.n_reached_ = found.n_sets, found.n_reached
        return self
