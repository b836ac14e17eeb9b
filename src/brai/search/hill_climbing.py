"""Search for the DAG of highest score: hill climbing and tabu search over graphs.

Hill climbing makes the best addition, deletion or reversal of an edge until no move improves the score. Tabu
search (Glover 1989) then continues with the best neighbour that was not visited recently. Further climbs may start
from perturbed copies of the best DAG.

**Ties.** Many moves have equal gains: with a score-equivalent score both directions of a first edge do. The choice
affects the final DAG. bnlearn prefers the variable that comes first in the order of columns, which helps where
data sets list causes first. Here the order of columns has no influence. Two climbs are made, and the better DAG is
kept: one prefers variables with few states, the other variables whose single edges gain most.

Reference: Glover 1989, "Tabu search, part I", ORSA Journal on Computing 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import Family, families_of
from brai.kernels.hill_climbing import TIE, Climb, Leaps, Limits, Memo, climb, leap, perturb, toggles
from brai.kinds.scores import FamilyScores
from brai.runtime.jit import announce

Adjacency: TypeAlias = NDArray[np.uint8]
NO_LIMIT = 2**62
MOVED = 200_000  # moves, times variables, between checks of time and signals
_SLOTS = 2**18  # entries of the cache of local scores; a collision overwrites an entry


class Found(NamedTuple):
    """A DAG as families, its log score, and the numbers of moves made and families scored."""

    families: tuple[Family, ...]
    log_score: float
    n_moves: int
    n_scored: int
    in_time: bool = True  # whether the search ended before the deadline


def hill_climb(  # arguments: options of a public function, by keyword
    scores: FamilyScores,
    *,
    start: NDArray[np.integer] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    required: NDArray[np.bool_] | None = None,
    max_parents: int | NDArray[np.int64] | None = None,
    tabu: int = 20,
    patience: int = 20,
    restarts: int = 0,
    perturbations: int = 10,
    max_moves: int | None = None,
    orders: Sequence[Sequence[int]] | None = None,
    leaps: Leaps | None = None,
    seed: np.random.SeedSequence | None = None,
    deadline: float = math.inf,
) -> Found:
    """Climb from ``start``, then from ``restarts`` copies of the best DAG with ``perturbations`` edges toggled.

    ``start`` is an adjacency matrix; by default it has the required edges only. ``allowed[i, j]`` says whether the
    edge i → j may be added. ``required`` edges must be in ``start``; they stay, whatever max_parents is. ``tabu``
    is the length of the tabu list, 0 for plain hill climbing. Tabu search ends after ``patience`` moves without a
    new best score. ``orders`` are orders of the variables that break ties, one climb each; None for the two
    described above. ``leaps`` are pairs of parents: where a climb ends, those that improve the score are added at
    once, and the climb continues. ``max_parents`` is one limit for all variables, or an array with one for each.
    At ``deadline`` (`time.monotonic`) the best DAG so far is returned.
    """
    d = scores.data.n_variables
    must = np.zeros((d, d), bool) if required is None else np.array(required, bool)
    may = ~np.eye(d, dtype=bool) if allowed is None else np.array(allowed, bool) | must
    limits = Limits(
        may + must.astype(np.uint8),
        np.full(d, d if max_parents is None else max_parents, np.int64),
        patience,
        max_moves or NO_LIMIT,
    )
    rng = np.random.Generator(np.random.PCG64(seed))
    keys = rng.integers(1, 2**64, (d, d), np.uint64)
    memo = Memo(keys, np.zeros(_SLOTS, np.uint64), np.zeros(_SLOTS))
    state = rng.integers(1, 2**64, 1, np.uint64)
    announce(climb, scores.kind.compiled_for(scores.data))
    base = np.array(must if start is None else start, np.uint8)
    for i, j in np.argwhere(must & (base == 0)):
        names = scores.data.names
        raise ValueError(f"start lacks the required edge {names[i]!r} → {names[j]!r}: add it, or leave start out")
    evidence = scores.evidence(3 + max(min(int(limits.max_parents.max()), d - 1), int(base.sum(axis=0).max())))
    delta, scored = toggles(evidence, base, limits, memo)
    if orders is None:
        orders = _tie_orders(scores, delta)
    best, best_score, moves, some = base, -np.inf, 0, 1 + 50 * MOVED // d**2
    for attempt in range(len(orders) + restarts):
        adj = base.copy() if attempt < len(orders) else best.copy()
        if attempt >= len(orders):
            perturb(adj, limits.allowed, limits.max_parents, perturbations, state)
            delta, n = toggles(evidence, adj, limits, memo)
            scored += n
        order = np.array(orders[attempt % len(orders)], np.int64)
        now, more = _climb_at(adj, delta.copy(), tabu, memo), True
        while more:
            while not climb(evidence, now, limits, order, memo, some) and time.monotonic() < deadline:
                pass  # compiled code checks neither signals nor time, so each call is short
            moves, scored = moves + int(now.counts[0]), scored + int(now.counts[1])
            more = leaps is not None and time.monotonic() < deadline
            if more and (more := leap(evidence, now.best, limits, leaps) > 0):
                gains, n = toggles(evidence, now.best, limits, memo)
                now, scored = _climb_at(now.best, gains, tabu, memo), scored + n
        score = scores.total(families_of(now.best))
        if score > best_score + TIE:
            best, best_score = now.best, score
        if time.monotonic() > deadline:
            break
    return Found(families_of(best), best_score, moves, scored, time.monotonic() <= deadline)


def _climb_at(adj: Adjacency, delta: NDArray[np.float64], tabu: int, memo: Memo) -> Climb:
    """State of a climb that starts from this DAG."""
    here = np.bitwise_xor.reduce(memo.keys[adj.astype(bool)], initial=np.uint64(0))
    reach = np.zeros((len(adj), (len(adj) + 63) // 64), np.uint64)
    counts, gains = np.zeros(4, np.int64), np.zeros(2)
    return Climb(adj, adj.copy(), delta, reach, np.zeros(tabu, np.uint64), np.array([here]), counts, gains)


def _tie_orders(scores: FamilyScores, delta: NDArray[np.float64]) -> list[list[int]]:
    """Two orders: by number of levels, and by the sum of positive gains of edges into a variable."""
    levels = scores.kind.levels(scores.data)
    gain = np.round(np.where(np.isfinite(delta), np.maximum(delta, 0.0), 0.0).sum(axis=0), 6)
    every = range(len(levels))
    return [sorted(every, key=lambda i: levels[i]), sorted(every, key=lambda i: -gain[i])]
