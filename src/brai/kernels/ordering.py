"""Local search over orders of the variables.

The score of an order is the sum over variables of the best scored parent set all of whose members come before
(Teyssier & Koller 2005). A move takes one variable out and puts it where the score is highest (Alonso-Barba et
al. 2013): all its places are tried by walking left and right, where each step changes only the variable
itself and the one it passes.

A table of sets: those of variable v are first[v]..first[v+1], best first; the members of set e are
members[begin[e]:begin[e+1]]. The last set of each variable is the empty one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai._jit import njit
from brai.kernels.climbing import TIE, below
from brai.kernels.counts import Array


class Sets(NamedTuple):
    """A table of scored parent sets; see above."""

    first: Array  # (d + 1,) int64
    scores: Array  # (sets,) float64
    begin: Array  # (sets + 1,) int64
    members: Array  # int32


@njit
def fits(sets: Sets, e: int, place: Array, limit: int) -> bool:
    """Whether all members of set e have a place before ``limit``."""
    for k in range(sets.begin[e], sets.begin[e + 1]):
        if place[sets.members[k]] >= limit:
            return False
    return True


@njit
def best_set(sets: Sets, v: int, place: Array, limit: int) -> int:
    """The best set of v whose members all come before ``limit``."""
    e = sets.first[v]
    while not fits(sets, e, place, limit):
        e += 1
    return e


@njit
def with_member(sets: Sets, u: int, now: int, v: int, place: Array) -> int:
    """The best set of u if v may be a member as well; ``now`` is the best without."""
    for e in range(sets.first[u], now):
        has, rest = False, True
        for k in range(sets.begin[e], sets.begin[e + 1]):
            p = sets.members[k]
            if p == v:
                has = True
            elif place[p] >= place[u]:
                rest = False
                break
        if has and rest:
            return e
    return now


@njit
def without_member(sets: Sets, u: int, now: int, v: int, place: Array) -> int:
    """The best set of u if v may no longer be a member; ``now`` is the best with it."""
    e = now
    while True:
        good = True
        for k in range(sets.begin[e], sets.begin[e + 1]):
            p = sets.members[k]
            if p == v or place[p] >= place[u]:
                good = False
                break
        if good:
            return e
        e += 1


@njit
def best_place(sets: Sets, order: Array, place: Array, chosen: Array, v: int) -> tuple[int, float]:
    """Where v gains most, and how much."""
    here, start = place[v], sets.scores[chosen[v]]
    to, best, passed = here, TIE, 0.0
    for k in range(here - 1, -1, -1):  # to the left: the others may take v as a parent
        u = order[k]
        passed += sets.scores[with_member(sets, u, chosen[u], v, place)] - sets.scores[chosen[u]]
        gain = passed + sets.scores[best_set(sets, v, place, k)] - start
        if gain > best:
            to, best = k, gain
    passed = 0.0
    place[v] = len(order)  # v itself is no member of its own sets, and comes after all it passes
    for k in range(here + 1, len(order)):  # to the right: the others lose v
        u = order[k]
        passed += sets.scores[without_member(sets, u, chosen[u], v, place)] - sets.scores[chosen[u]]
        gain = passed + sets.scores[best_set(sets, v, place, k + 1)] - start
        if gain > best:
            to, best = k, gain
    place[v] = here
    return to, best


@njit
def move(sets: Sets, order: Array, place: Array, chosen: Array, v: int, to: int) -> None:
    """Put v at ``to`` and choose sets anew where that matters."""
    here = place[v]
    step = 1 if to > here else -1
    for k in range(here, to, step):
        order[k] = order[k + step]
        place[order[k]] = k
    order[to] = v
    place[v] = to
    for k in range(min(here, to), max(here, to) + 1):
        u = order[k]
        chosen[u] = best_set(sets, u, place, k)


@njit
def settle(sets: Sets, order: Array, place: Array, chosen: Array) -> float:
    """Sets and score of an order."""
    total = 0.0
    for k in range(len(order)):
        place[order[k]] = k
    for k in range(len(order)):
        v = order[k]
        chosen[v] = best_set(sets, v, place, k)
        total += sets.scores[chosen[v]]
    return total


@njit
def climb_order(sets: Sets, order: Array, place: Array, chosen: Array, state: Array) -> float:
    """Move variables, in random turns, until none gains; returns the score."""
    d = len(order)
    settle(sets, order, place, chosen)
    turn = np.arange(d)
    idle = 0
    while idle < d:
        for k in range(d - 1, 0, -1):
            j = below(state, k + 1)
            turn[k], turn[j] = turn[j], turn[k]
        for v in turn:
            to, gain = best_place(sets, order, place, chosen, v)
            if gain > TIE and to != place[v]:
                move(sets, order, place, chosen, v, to)
                idle = 0
            else:
                idle += 1
                if idle >= d:
                    break
    return settle(sets, order, place, chosen)


@njit
def search_orders(
    sets: Sets, starts: Array, restarts: int, swaps: int, best_order: Array, best_chosen: Array, state: Array
) -> tuple[float, int]:
    """Climb from each row of starts and ``restarts`` times more, from random orders and near the best by turns.

    Returns the best score and how many climbs reached it; its order and sets are left in the last arguments.
    """
    d = len(best_order)
    place, chosen, order = np.empty(d, np.int64), np.empty(d, np.int64), np.arange(d)
    best, reached = -np.inf, 0
    for attempt in range(len(starts) + restarts):
        if attempt < len(starts):
            order[:] = starts[attempt]
        elif (attempt - len(starts)) % 2 == 0 or best == -np.inf:
            for k in range(d - 1, 0, -1):
                j = below(state, k + 1)
                order[k], order[j] = order[j], order[k]
        else:
            order[:] = best_order
            for _ in range(swaps):
                i, j = below(state, d), below(state, d)
                order[i], order[j] = order[j], order[i]
        score = climb_order(sets, order, place, chosen, state)
        if score > best + TIE:
            best, reached = score, 0
            best_order[:] = order
            best_chosen[:] = chosen
        if score > best - TIE:
            reached += 1
    return best, reached
