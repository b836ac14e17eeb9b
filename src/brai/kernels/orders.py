"""Local search over orders of the variables.

The score of an order is the sum over variables of the best parent set whose members all precede the variable
(Teyssier & Koller 2005). A move inserts one variable at its best position (Alonso-Barba et al. 2013). All
positions are evaluated by moving it step by step to the left and to the right; each step changes only the parent
sets of the variable and of the one it passes. A climb ends when no variable has a better position.

Iterated local search continues from there. A kick changes the order so that a better parent set of some variable
becomes possible. Then variables whose parent sets have changed are moved, and those changed by these moves. A
result that is worse than before is undone.

The table of parent sets: those of variable v are first[v]..first[v+1], best first; the members of set e are
members[begin[e]:begin[e+1]]. Every variable has the empty set. If parents are required, the empty set comes last,
with a score below that of every order that allows the required parents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai.kernels.hill_climbing import TIE, below
from brai.kernels.interface import Array
from brai.runtime.jit import lean, njit

ALL = 2**62  # no limit for `follow`


class Sets(NamedTuple):
    """A table of scored parent sets, see the docstring of the module."""

    first: Array  # (d + 1,) int64
    scores: Array  # (sets,) float64
    begin: Array  # (sets + 1,) int64
    members: Array  # int32
    earliest: Array  # (d, d) int32: [v, p] is the first set of v that contains p, -1 if there is none


class Order(NamedTuple):
    """An order, its inverse, the chosen parent set of each variable, and a queue of variables to move."""

    order: Array  # (d,) int64
    place: Array  # (d,) int64: position of each variable
    chosen: Array  # (d,) int64
    queue: Array  # (d,) int64: a ring buffer
    waits: Array  # (d,) bool: whether a variable is in the queue
    ends: Array  # (2,) int64: start and length of the queue


@njit
def new_order(d: int) -> Order:
    """A new order 0..d-1 with an empty queue."""
    order, place, chosen, queue = np.arange(d), np.arange(d), np.zeros(d, np.int64), np.zeros(d, np.int64)
    return Order(order, place, chosen, queue, np.zeros(d, np.bool_), np.zeros(2, np.int64))


@njit
def earliest_sets(first: Array, begin: Array, members: Array) -> Array:
    """For each variable and each candidate, the first set that contains it, see `Sets.earliest`."""
    d = len(first) - 1
    out = np.full((d, d), -1, np.int32)
    for v in range(d):
        for e in range(first[v], first[v + 1]):
            for k in range(begin[e], begin[e + 1]):
                if out[v, members[k]] < 0:
                    out[v, members[k]] = e
    return out


@lean
def best_set(sets: Sets, e: int, place: Array, limit: int) -> int:
    """The first set from e on whose members are all at positions before ``limit``."""
    while True:
        good = True
        for k in range(sets.begin[e], sets.begin[e + 1]):
            if place[sets.members[k]] >= limit:
                good = False
                break
        if good:
            return e
        e += 1


@lean
def with_member(sets: Sets, u: int, now: int, v: int, place: Array, limit: int) -> int:
    """The best set of u from v and variables at positions before ``limit``; ``now`` is the best one without v."""
    e = sets.earliest[u, v]
    if e < 0:
        return now
    while e < now:
        has, rest = False, True
        for k in range(sets.begin[e], sets.begin[e + 1]):
            p = sets.members[k]
            if p == v:
                has = True
            elif place[p] >= limit:
                rest = False
                break
        if has and rest:
            return e
        e += 1
    return now


@lean
def is_member(sets: Sets, e: int, v: int) -> bool:
    """Whether v is in set e."""
    for k in range(sets.begin[e], sets.begin[e + 1]):
        if sets.members[k] == v:
            return True
    return False


@lean
def best_place(sets: Sets, now: Order, v: int) -> tuple[int, float]:
    """The position of v with the largest gain, and the gain."""
    order, place, chosen = now.order, now.place, now.chosen
    here, start = place[v], sets.scores[chosen[v]]
    to, best, passed, own = here, TIE, 0.0, chosen[v]
    for k in range(here - 1, -1, -1):  # to the left: v becomes a possible parent of u
        u = order[k]
        passed += sets.scores[with_member(sets, u, chosen[u], v, place, k)] - sets.scores[chosen[u]]
        own = best_set(sets, own, place, k)
        gain = passed + sets.scores[own] - start
        if gain > best:
            to, best = k, gain
    passed, own = 0.0, chosen[v]
    place[v] = len(order)  # after all variables that it passes
    for k in range(here + 1, len(order)):  # to the right: v is no longer a possible parent of u
        u = order[k]
        if is_member(sets, chosen[u], v):
            passed += sets.scores[best_set(sets, chosen[u], place, k)] - sets.scores[chosen[u]]
        own = with_member(sets, v, own, u, place, k)
        gain = passed + sets.scores[own] - start
        if gain > best:
            to, best = k, gain
    place[v] = here
    return to, best


@lean
def look_at(now: Order, v: int) -> None:
    """Add v to the queue, unless it is in it."""
    if not now.waits[v]:
        now.waits[v] = True
        now.queue[(now.ends[0] + now.ends[1]) % len(now.queue)] = v
        now.ends[1] += 1


@lean
def move(sets: Sets, now: Order, v: int, to: int) -> None:
    """Move v to position ``to``; variables whose parent set changes are added to the queue."""
    order, place, chosen = now.order, now.place, now.chosen
    here = place[v]
    step = 1 if to > here else -1
    for k in range(here, to, step):
        order[k] = order[k + step]
        place[order[k]] = k
    order[to] = v
    place[v] = to
    for k in range(here, to, step):
        u = order[k]
        new = chosen[u]
        if step < 0:
            new = with_member(sets, u, new, v, place, k + 1)
        elif is_member(sets, new, v):
            new = best_set(sets, new, place, k)
        if new != chosen[u]:
            chosen[u] = new
            look_at(now, u)
    new = best_set(sets, sets.first[v], place, to)
    if new != chosen[v]:
        chosen[v] = new
        look_at(now, v)


@njit
def settle(sets: Sets, now: Order) -> float:
    """Compute positions and parent sets of an order from ``now.order``; returns its score."""
    for k in range(len(now.order)):
        now.place[now.order[k]] = k
    for k in range(len(now.order)):
        v = now.order[k]
        now.chosen[v] = best_set(sets, sets.first[v], now.place, k)
    return total(sets, now)


@lean
def total(sets: Sets, now: Order) -> float:
    """Score of an order whose parent sets are up to date."""
    out = 0.0
    for v in range(len(now.chosen)):
        out += sets.scores[now.chosen[v]]
    return out


@lean
def shuffle(order: Array, state: Array) -> None:
    """Shuffle an order in place (Fisher–Yates)."""
    for k in range(len(order) - 1, 0, -1):
        j = below(state, k + 1)
        order[k], order[j] = order[j], order[k]


@njit
def follow(sets: Sets, now: Order, limit: int) -> bool:
    """Process at most ``limit`` variables of the queue, moving each to its best position; whether any moved."""
    moved, n = False, 0
    while now.ends[1] > 0 and n < limit:
        n += 1
        v = now.queue[now.ends[0]]
        now.ends[0] = (now.ends[0] + 1) % len(now.queue)
        now.ends[1] -= 1
        now.waits[v] = False
        to, gain = best_place(sets, now, v)
        if gain > TIE and to != now.place[v]:
            move(sets, now, v, to)
            moved = True
    return moved


@njit
def look_at_all(now: Order, turn: Array, state: Array) -> None:
    """Add all variables to the queue in random order; ``turn`` is a permutation and is shuffled."""
    shuffle(turn, state)
    for v in turn:
        look_at(now, v)


@lean
def kick(sets: Sets, now: Order, state: Array) -> None:
    """Make a random better parent set of a random variable possible, by moving the variable or the members."""
    v = below(state, len(now.order))
    better = now.chosen[v] - sets.first[v]
    if better == 0:
        return
    e = sets.first[v] + below(state, better)
    if below(state, 2):  # move v behind the last member
        last = now.place[v]
        for k in range(sets.begin[e], sets.begin[e + 1]):
            last = max(last, now.place[sets.members[k]])
        move(sets, now, v, last)
    else:  # move later members just before v
        for k in range(sets.begin[e], sets.begin[e + 1]):
            p = sets.members[k]
            if now.place[p] > now.place[v]:
                move(sets, now, p, now.place[v])


@njit
def kick_often(sets: Sets, now: Order, best: float, kicks: int, size: int, state: Array) -> float:
    """Iterated local search: 1..size random kicks or swaps, then a climb, repeated ``kicks`` times.

    A result below ``best``, initially the score of the order, is undone. Returns the best score.
    """
    d = len(now.order)
    order, place, chosen = now.order.copy(), now.place.copy(), now.chosen.copy()
    for _ in range(kicks):
        for _ in range(1 + below(state, size)):
            if below(state, 2):
                kick(sets, now, state)
            else:
                i, j = below(state, d), below(state, d)
                v, u = now.order[i], now.order[j]
                move(sets, now, v, j)
                move(sets, now, u, i)
        follow(sets, now, ALL)
        score = total(sets, now)
        if score >= best - TIE:
            best = max(score, best)
            order[:], place[:], chosen[:] = now.order, now.place, now.chosen
        else:
            now.order[:], now.place[:], now.chosen[:] = order, place, chosen
    return best
