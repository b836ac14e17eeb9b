"""Local search over orders of the variables.

The score of an order is the sum over variables of the best scored parent set all of whose members come before
(Teyssier & Koller 2005). A move takes one variable out and puts it where the score is highest (Alonso-Barba et
al. 2013): all its places are tried by walking left and right, where each step changes only the variable
itself and the one it passes. A climb ends when no variable has a better place.

From there iterated local search goes on: a kick makes room for a parent set that is better than the chosen one
but does not fit, then only the variables that it changed, and those that these change, are moved; what is
worse than before is taken back.

A table of sets: those of variable v are first[v]..first[v+1], best first; the members of set e are
members[begin[e]:begin[e+1]]. The empty set is always among them; where a variable must have certain parents it
is the last one, with a score below that of any order that gives them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai.kernels.hill_climbing import TIE, below
from brai.kernels.interface import Array
from brai.runtime.jit import lean, njit

ALL = 2**62  # variables of a queue


class Sets(NamedTuple):
    """A table of scored parent sets; see above."""

    first: Array  # (d + 1,) int64
    scores: Array  # (sets,) float64
    begin: Array  # (sets + 1,) int64
    members: Array  # int32
    earliest: Array  # (d, d) int32: [v, p] is the first set of v with the member p, -1 if there is none


class Order(NamedTuple):
    """An order, the place of each variable in it, the set chosen for each, and the variables to be looked at."""

    order: Array  # (d,) int64
    place: Array  # (d,) int64
    chosen: Array  # (d,) int64
    queue: Array  # (d,) int64: a ring
    waits: Array  # (d,) bool: whether a variable is in it
    ends: Array  # (2,) int64: where it starts, and how many are in it


@njit
def new_order(d: int) -> Order:
    """Room for an order."""
    order, place, chosen, queue = np.arange(d), np.arange(d), np.zeros(d, np.int64), np.zeros(d, np.int64)
    return Order(order, place, chosen, queue, np.zeros(d, np.bool_), np.zeros(2, np.int64))


@njit
def earliest_sets(first: Array, begin: Array, members: Array) -> Array:
    """The first set of each variable with each member."""
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
    """The first set from e on whose members all come before ``limit``."""
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
    """The best set of u if v may be a member, with others that come before ``limit``; ``now`` is that without."""
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
    """Where v gains most, and how much."""
    order, place, chosen = now.order, now.place, now.chosen
    here, start = place[v], sets.scores[chosen[v]]
    to, best, passed, own = here, TIE, 0.0, chosen[v]
    for k in range(here - 1, -1, -1):  # to the left: the others may take v as a parent
        u = order[k]
        passed += sets.scores[with_member(sets, u, chosen[u], v, place, k)] - sets.scores[chosen[u]]
        own = best_set(sets, own, place, k)
        gain = passed + sets.scores[own] - start
        if gain > best:
            to, best = k, gain
    passed, own = 0.0, chosen[v]
    place[v] = len(order)  # comes after all it passes
    for k in range(here + 1, len(order)):  # to the right: the others lose v
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
    """Put v into the queue, unless it is there."""
    if not now.waits[v]:
        now.waits[v] = True
        now.queue[(now.ends[0] + now.ends[1]) % len(now.queue)] = v
        now.ends[1] += 1


@lean
def move(sets: Sets, now: Order, v: int, to: int) -> None:
    """Put v at ``to``; variables that get another set are to be looked at."""
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
    """Sets and score of an order."""
    for k in range(len(now.order)):
        now.place[now.order[k]] = k
    for k in range(len(now.order)):
        v = now.order[k]
        now.chosen[v] = best_set(sets, sets.first[v], now.place, k)
    return total(sets, now)


@lean
def total(sets: Sets, now: Order) -> float:
    """Score of an order that is settled."""
    out = 0.0
    for v in range(len(now.chosen)):
        out += sets.scores[now.chosen[v]]
    return out


@lean
def shuffle(order: Array, state: Array) -> None:
    """A random order."""
    for k in range(len(order) - 1, 0, -1):
        j = below(state, k + 1)
        order[k], order[j] = order[j], order[k]


@njit
def follow(sets: Sets, now: Order, limit: int) -> bool:
    """Move what is in the queue, and what that changes, ``limit`` variables at most; whether anything moved."""
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
    """Put all variables into the queue, in random turns; ``turn`` is overwritten."""
    shuffle(turn, state)
    for v in turn:
        look_at(now, v)


@lean
def kick(sets: Sets, now: Order, state: Array) -> None:
    """Make room for a set better than the chosen one of some variable: put it, or the members, elsewhere."""
    v = below(state, len(now.order))
    better = now.chosen[v] - sets.first[v]
    if better == 0:
        return
    e = sets.first[v] + below(state, better)
    if below(state, 2):  # v comes after the last of them
        last = now.place[v]
        for k in range(sets.begin[e], sets.begin[e + 1]):
            last = max(last, now.place[sets.members[k]])
        move(sets, now, v, last)
    else:  # they come just before v
        for k in range(sets.begin[e], sets.begin[e + 1]):
            p = sets.members[k]
            if now.place[p] > now.place[v]:
                move(sets, now, p, now.place[v])


@njit
def kick_often(sets: Sets, now: Order, best: float, kicks: int, size: int, state: Array) -> float:
    """Iterated local search: up to ``size`` kicks or swaps, climb, keep what is no worse than ``best``, which is
    that of the order at the beginning. Returns the best score.
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
