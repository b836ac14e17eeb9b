"""DAGs drawn by Markov chains, with convergence diagnostics: R-hat, effective sample size, disagreement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG, Family

MOVES = {"gibbs": 0.2, "reversal": 0.2, "toggle": 0.4, "pair": 0.2}  # kinds of moves, and the probability of each
KINDS = tuple(MOVES)
R_HAT, ESS, APART = 1.05, 100, 0.3  # limits for "converged"; APART is for edge frequencies
STILL = 1e-12  # variance of log scores below this is rounding error


class Convergence(NamedTuple):
    """Convergence diagnostics of chains; the methods of `Draws` define them."""

    r_hat: float
    ess: float
    largest: float  # difference of an edge frequency between two chains
    mean: float  # difference, over pairs of chains and ordered pairs of nodes

    @property
    def mixed(self) -> bool:
        """Whether R-hat and the effective sample size of the log score are within their limits."""
        return self.r_hat <= R_HAT and self.ess >= ESS

    @property
    def converged(self) -> bool:
        """Whether the chains are mixed and no edge frequency differs by more than APART between chains."""
        return self.mixed and self.largest <= APART


@dataclass(frozen=True, eq=False)
class Draws:
    """DAGs drawn by several chains, in the order in which they were drawn."""

    names: tuple[str, ...]
    parents: NDArray[np.int16]  # (chains, n, d, most): parents of each node, unordered, padded with -1
    log_scores: NDArray[np.float64]  # (chains, n)
    proposed: dict[str, int]  # moves by kind, over all chains, burn-in included
    changed: dict[str, int]  # moves that changed the graph

    @property
    def acceptance(self) -> dict[str, float]:
        """Acceptance rate by kind of move: the share that changed the graph; 0 if no such move was made."""
        return {kind: self.changed[kind] / max(1, self.proposed[kind]) for kind in KINDS}

    def edge_frequencies(self) -> NDArray[np.float64]:
        """``[c, i, j]``: relative frequency of i → j in chain c."""
        chains, n, d, _ = self.parents.shape
        found = np.zeros((chains, d, d))
        for c, v in np.ndindex(chains, d):
            own = self.parents[c, :, v]
            found[c, :, v] = np.bincount(own[own >= 0], minlength=d) / n
        return found

    def disagreement(self) -> tuple[float, float]:
        """Largest and mean difference of edge frequencies, over pairs of chains and ordered pairs of nodes."""
        found, d = self.edge_frequencies(), len(self.names)
        if len(found) < 2 or d < 2:
            return 0.0, 0.0
        largest = total = 0.0
        pairs = list(combinations(found, 2))
        for one, other in pairs:
            apart = np.abs(one - other)
            largest, total = max(largest, float(apart.max())), total + float(apart.sum())
        return largest, total / (len(pairs) * d * (d - 1))

    def ess(self) -> float:
        """Effective sample size of the log score, over all chains (Geyer 1992; Vehtari et al. 2021)."""
        chains, n = self.log_scores.shape
        if n < 4:
            return float(chains)
        centred = self.log_scores - self.log_scores.mean(axis=1, keepdims=True)
        power = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
        covariance = (np.fft.irfft(power, axis=1)[:, :n] / (n - 1)).mean(axis=0)
        between = self.log_scores.mean(axis=1).var(ddof=1) if chains > 1 else 0.0
        if covariance[0] < STILL:  # constant log score within each chain
            return float(chains if between > STILL else chains * n)
        rho = 1 - (covariance[0] - covariance) / (covariance[0] * (n - 1) / n + between)
        pairs = np.minimum.accumulate(rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1))  # made monotone
        length = 2 * pairs[pairs > 0].sum() - 1
        return float(chains * n / max(length, 1.0))

    def r_hat(self) -> float:
        """Split R-hat of the log score: compares the variance between half chains with that within them.

        Near 1 if the chains agree; NaN with fewer than four draws per chain.
        """
        half = self.log_scores.shape[1] // 2
        if half < 2:
            return math.nan
        parts = np.concatenate([self.log_scores[:, :half], self.log_scores[:, -half:]])
        within, between = parts.var(axis=1, ddof=1).mean(), parts.mean(axis=1).var(ddof=1)
        if within < STILL:
            return math.inf if between > STILL else 1.0
        return float(np.sqrt((half - 1) / half + between / within))

    def convergence(self) -> Convergence:
        """All convergence diagnostics."""
        return Convergence(self.r_hat(), self.ess(), *self.disagreement())

    def families(self, chain: int, t: int) -> tuple[Family, ...]:
        """Draw t of a chain as families."""
        own = self.parents[chain, t].tolist()
        return tuple((v, tuple(sorted(p for p in parents if p >= 0))) for v, parents in enumerate(own))

    def dag(self, chain: int, t: int) -> PDAG:
        """Draw t of a chain as a graph."""
        return PDAG.from_parents(self.names, [own for _, own in self.families(chain, t)])

    def draws(self, names: Sequence[str] | None = None) -> Iterator[tuple[PDAG, float]]:
        """The DAGs of all chains with log scores, for `Posterior.from_draws` with ``drawn="dags"``.

        Nodes are in the order of ``names``, by default that of the chains.
        """
        made: dict[bytes, PDAG] = {}
        for c, t in np.ndindex(*self.log_scores.shape):
            own = np.sort(self.parents[c, t], axis=1).tobytes()
            if own not in made:
                dag = self.dag(c, t)
                made[own] = dag if names is None else dag.reorder(names)
            yield made[own], float(self.log_scores[c, t])
