"""CPDAGs of the tree of `BRAI`: draws, the best, all of them."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from brai.graphs.pdag import PDAG, Draw, cpdag_of
from brai.runtime.interrupts import interruptible
from brai.runtime.seeds import generator
from brai.tree.draws import Count, Method, count_distinct, distribution, k_best, sample_routes
from brai.tree.ggt import GGT


class TreeGraphs:
    """Methods of `BRAI` for the graphs of its tree."""

    draw: Method
    tree_: GGT
    dag_: PDAG
    mpdag_: PDAG
    log_score_: float
    _class: Any

    @interruptible
    def sample(self, n: int = 1, temperature: float = 1.0, random_state: Any = None) -> list[tuple[PDAG, float]]:
        """Draw n CPDAGs of the tree with their log scores; ``draw`` says how.

        With knowledge they are directed as mpdag_ is: all their DAGs obey. The same goes for `k_best` and
        `distribution`.
        """
        check_is_fitted(self)
        rng = generator(random_state)
        classes: dict[Draw, PDAG] = {}
        drawn = sample_routes(self.tree_, n, temperature, rng, self.draw)
        for one in drawn:
            if one not in classes:
                cpdag = cpdag_of(one.families, self.tree_.names)
                classes[one] = self._class(cpdag, self.dag_.names)
        return [(classes[one], one.log_score) for one in drawn]

    @interruptible
    def k_best(self, k: int) -> list[tuple[PDAG, float]]:
        """The k distinct CPDAGs of highest score in the tree, best first; fewer if there are fewer.

        A better one that polishing found is the first.
        """
        check_is_fitted(self)
        found = [(self._class(cpdag, self.dag_.names), score) for cpdag, score in k_best(self.tree_, k)]
        if all(graph != self.mpdag_ for graph, _ in found):
            found = [(self.mpdag_, self.log_score_), *found][:k]
        return found

    @interruptible
    def distribution(self, temperature: float = 1.0, limit: int = 100_000) -> list[tuple[PDAG, float, float]]:
        """Every distinct CPDAG of the tree with its log score and its exact probability in "exact" draws.

        TooManyError if the tree holds more than ``limit`` distinct DAGs.
        """
        check_is_fitted(self)
        rows = distribution(self.tree_, temperature, limit)
        return [(self._class(cpdag, self.dag_.names), score, share) for cpdag, score, share in rows]

    @interruptible
    def n_distinct(self, limit: int | None = None) -> Count:
        """Number of distinct CPDAGs in the tree: exact up to ``limit`` distinct DAGs, else a bound."""
        check_is_fitted(self)
        return count_distinct(self.tree_, limit)
