"""DP-MCMC: a Markov chain over DAGs with proposals from exact edge probabilities (Eaton & Murphy 2007).

The prior over DAGs is uniform, or another structure prior (`brai.graphs.priors`). There are two
kinds of Metropolis–Hastings moves:

- local: an ordered pair (i, j) is drawn. If i → j exists, it is deleted; if j → i exists, it is reversed;
  otherwise i → j is added. The proposal is symmetric, so acceptance depends on the scores only.
- global: a whole graph is drawn, pair by pair, from the probabilities of i → j and j → i. Dynamic programming
  computes these under a prior on orders (`brai.posterior.exact.edge_probabilities`). The acceptance ratio contains
  the proposal probabilities, so that prior does not bias the chain.

Moves to a graph with a cycle or with too many parents are rejected.

Reference: Eaton & Murphy 2007, "Bayesian structure learning using dynamic programming and MCMC", UAI.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG
from brai.kernels import edge_chain, subsets
from brai.posterior.all_families import MAX_GB, MAX_MINUTES, FamilyScoreTable, Limits, Model
from brai.runtime.checks import check_count
from brai.runtime.jit import announce
from brai.runtime.seeds import RandomState, generator

KINDS = ("add", "delete", "reverse", "global")
_BLOCK = 50_000  # steps for which random numbers are drawn at once


@dataclass(frozen=True, eq=False)
class Chain:
    """DAGs in the order in which they were drawn.

    ``parents[t, v]`` is the parent set of node v in draw t as a bit mask: bit u is set if u → v. Here nodes are
    numbered by their place in the sorted names.
    """

    names: tuple[str, ...]  # in the order of the data
    parents: NDArray[np.int64]  # (n, d)
    log_scores: NDArray[np.float64]  # (n,)
    proposed: dict[str, int]  # moves by kind, burn-in included
    accepted: dict[str, int]

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def acceptance(self) -> dict[str, float]:
        """Acceptance rate by kind of move; 0 for a kind that was never proposed."""
        return {kind: self.accepted[kind] / max(1, self.proposed[kind]) for kind in KINDS}

    @property
    def _rank(self) -> list[int]:
        order = sorted(self.names)
        return [order.index(name) for name in self.names]

    def _adjacency(self, parents: NDArray[np.int64]) -> NDArray[np.int8]:
        of_parents = parents[:, None, self._rank] >> np.array(self._rank)[None, :, None]
        return np.asarray(of_parents & 1, np.int8)

    def adjacency(self) -> NDArray[np.bool_]:
        """``[t, i, j]``: whether i → j in draw t; nodes in the order of ``names``."""
        return self._adjacency(self.parents).view(np.bool_)

    def edge_probabilities(self) -> NDArray[np.float64]:
        """Relative frequency of i → j in the draws, (d, d), in the order of ``names``."""
        return np.stack([(self.parents >> u & 1).mean(axis=0)[self._rank] for u in self._rank])

    def dag(self, t: int) -> PDAG:
        """Draw t as a graph."""
        return PDAG(self.names, self._adjacency(self.parents[t : t + 1])[0])

    def draws(self) -> Iterator[tuple[PDAG, float]]:
        """The DAGs with their log scores, for `Posterior.from_draws` with ``drawn="dags"``."""
        distinct, which = np.unique(self.parents, axis=0, return_inverse=True)
        graphs = [PDAG(self.names, adjacency) for adjacency in self._adjacency(distinct)]
        return ((graphs[g], float(s)) for g, s in zip(which.ravel(), self.log_scores, strict=True))


def sample_dags(  # arguments: options of a public function, by keyword
    data: Any,
    n: int,
    *,
    burn_in: int = 10_000,
    thin: int = 100,
    global_share: float = 0.1,
    clip: float = 1e-3,
    score: str = "auto",
    ess: float | str = 1.0,
    structure_prior: Any = "uniform",
    max_parents: int | None = None,
    random_state: RandomState = 0,
    max_gb: float = MAX_GB,
    max_minutes: float = MAX_MINUTES,
) -> Chain:
    """Draw n DAGs, one every ``thin`` steps after ``burn_in`` steps; the chain starts without edges.

    ``global_share`` is the share of global moves. A pair of nodes has three states: i → j, j → i, not adjacent.
    ``clip`` is added to the probability of each before they are normalised, so that a global move can reach every
    DAG. A call that would need more than ``max_gb`` or ``max_minutes`` raises TooLargeError before it starts.
    """
    for name, value, least in (("n", n, 1), ("burn_in", burn_in, 0), ("thin", thin, 1)):
        check_count(name, value, least)
    if not 0 <= global_share <= 1:
        raise ValueError(f"global_share is {global_share!r}: give a number from 0 to 1")
    if not 0 < clip <= 1:
        raise ValueError(f"clip is {clip!r}: give a number above 0 and at most 1")
    model = Model(score, ess, max_parents, structure_prior)
    table = FamilyScoreTable.of(data, model, "order", Limits(max_gb, max_minutes))
    announce(edge_chain.walk, table.scores.dtype)
    chances = (subsets.order_edges(table.shifted()) + clip) / (1 + 3 * clip)
    d, rng = len(table.names), generator(random_state)
    parents, tally = np.zeros(d, np.int64), np.zeros((4, 2), np.int64)
    nothing, found = np.zeros((0, d), np.int64), np.zeros((n, d), np.int64)
    for moves in _moves(rng, burn_in, 1, d, global_share):
        edge_chain.walk(table.scores, chances, parents, moves, 1, nothing, tally)
    done = 0
    for moves in _moves(rng, n * thin, thin, d, global_share):
        more = len(moves.pair) // thin
        edge_chain.walk(table.scores, chances, parents, moves, thin, found[done : done + more], tally)
        done += more
    scores = np.array([table.total(own) for own in found.tolist()])
    proposed, accepted = (dict(zip(KINDS, column, strict=True)) for column in tally.T.tolist())
    return Chain(table.names, found, scores, proposed, accepted)


def _moves(
    rng: np.random.Generator, steps: int, thin: int, d: int, global_share: float
) -> Iterator[edge_chain.Moves]:
    """Random numbers for the steps, in blocks whose length is a multiple of ``thin``."""
    block = max(1, _BLOCK // thin) * thin
    for start in range(0, steps, block):
        size = min(block, steps - start)
        is_global = rng.random(size) < (global_share if d > 1 else 1.0)  # a single variable has no pairs
        pair = np.where(is_global, -1, rng.integers(0, max(1, d * (d - 1)), size))
        uniform = rng.random((int(is_global.sum()), d * (d - 1) // 2))
        yield edge_chain.Moves(pair, np.log1p(-rng.random(size)), uniform)
