"""Search for the DAG of highest score: hill climbing and tabu search over graphs.

Hill climbing makes the best addition, deletion or reversal of an edge until none helps. Tabu search (Glover
1989) goes on from there to the best neighbour it has not been to lately. Many moves tie: with a
score-equivalent score both directions of a first edge gain the same, and which one is taken decides where the
search ends. bnlearn takes the one that comes first in the order of columns, and data sets often list causes
first. Here the order of columns is no matter: ties go to variables with few states, and in a second climb to
those that gain most with others; the better DAG is kept. Climbs from perturbed copies of the best one may
follow.

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
from brai.kernels.hill_climbing import TIE, Climb, Limits, Memo, climb, perturb, toggles
from brai.kinds.scores import FamilyScores
from brai.runtime.jit import announce

Adjacency = NDArray[np.uint8]
_Climbed: TypeAlias = tuple[float, NDArray[np.int64], NDArray[np.int64], bool]  # score, order, sets, in time
NO_LIMIT = 2**62
KICK_SIZE = 4  # moves in a kick, at most
MOVED, KICKED = 200_000, 20_000  # moves and kicks, times variables, after which time and signals are looked at
WITHIN = 0.0  # nats that a family may be below the one whose place it could take, to enter the table
ENOUGH = 1e-6  # share of the score; where a larger table gains less, it grows no more
_SLOTS = 2**18  # families remembered at a time; a collision forgets one


class Found(NamedTuple):
    """A DAG as its families, its log score, and what finding it took."""

    families: tuple[Family, ...]
    log_score: float
    n_moves: int
    n_scored: int
    in_time: bool = True  # no deadline cut it short


def hill_climb(  # arguments: options of a public function, by keyword
    scores: FamilyScores,
    *,
    start: NDArray[np.integer] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    required: NDArray[np.bool_] | None = None,
    max_parents: int | None = None,
    tabu: int = 20,
    patience: int = 20,
    restarts: int = 0,
    perturbations: int = 10,
    max_moves: int | None = None,
    orders: Sequence[Sequence[int]] | None = None,
    seed: np.random.SeedSequence | None = None,
    deadline: float = math.inf,
) -> Found:
    """Climb from ``start`` (adjacency, default no edges), then from ``restarts`` perturbed copies of the best DAG.

    ``allowed[i, j]`` says whether the edge i → j may be added; edges that are ``required`` are there from the
    beginning (a start must have them) and stay, whatever max_parents is. ``tabu`` is the length of the tabu list,
    0 for plain hill climbing; ``patience`` the number of moves without a new best after which tabu search ends.
    ``orders`` are the orders of variables by which ties are broken, one climb for each. At ``deadline`` (of
    `time.monotonic`) it ends with what it has.
    """
    d = scores.data.n_variables
    must = np.zeros((d, d), bool) if required is None else np.array(required, bool)
    may = ~np.eye(d, dtype=bool) if allowed is None else np.array(allowed, bool) | must
    limits = Limits(
        may + must.astype(np.uint8),
        d if max_parents is None else max_parents,
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
    evidence = scores.evidence(3 + max(min(limits.max_parents, d - 1), int(base.sum(axis=0).max())))
    delta, scored = toggles(evidence, base, limits, memo)
    if orders is None:
        orders = _tie_orders(scores, delta)
    best, best_score, moves = base, -np.inf, 0
    for attempt in range(len(orders) + restarts):
        adj = base.copy() if attempt < len(orders) else best.copy()
        if attempt >= len(orders):
            perturb(adj, limits.allowed, limits.max_parents, perturbations, state)
            delta, n = toggles(evidence, adj, limits, memo)
            scored += n
        order = np.array(orders[attempt % len(orders)], np.int64)
        now = _climb_at(adj, delta.copy(), tabu, memo)
        while (
            not climb(evidence, now, limits, order, memo, 1 + 50 * MOVED // d**2) and time.monotonic() < deadline
        ):
            pass  # compiled code takes no signals and knows no time, so it is called for short whiles
        score = scores.total(families_of(now.best))
        moves, scored = moves + int(now.counts[0]), scored + int(now.counts[1])
        if score > best_score + TIE:
            best, best_score = now.best, score
        if time.monotonic() > deadline:
            break
    return Found(families_of(best), best_score, moves, scored, time.monotonic() <= deadline)


def _climb_at(adj: Adjacency, delta: NDArray[np.float64], tabu: int, memo: Memo) -> Climb:
    """A climb that starts from this DAG."""
    here = np.bitwise_xor.reduce(memo.keys[adj.astype(bool)], initial=np.uint64(0))
    reach = np.zeros((len(adj), (len(adj) + 63) // 64), np.uint64)
    counts, gains = np.zeros(4, np.int64), np.zeros(2)
    return Climb(adj, adj.copy(), delta, reach, np.zeros(tabu, np.uint64), np.array([here]), counts, gains)


def _tie_orders(scores: FamilyScores, delta: NDArray[np.float64]) -> list[list[int]]:
    """Variables by their number of levels, and by what edges with others gain; equal ones as they come."""
    levels = scores.kind.levels(scores.data)
    gain = np.round(np.where(np.isfinite(delta), np.maximum(delta, 0.0), 0.0).sum(axis=0), 6)
    every = range(len(levels))
    return [sorted(every, key=lambda i: levels[i]), sorted(every, key=lambda i: -gain[i])]
