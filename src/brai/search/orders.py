"""Search over orders: the best DAG that a `FamilyTable` holds, and a table that grows around it.

See `brai.kernels.orders` for the moves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brai.graphs.pdag import Draw, Family
from brai.kernels.hill_climbing import TIE
from brai.kernels.orders import Order, Sets, follow, kick_often, look_at_all, new_order, settle, shuffle, total
from brai.runtime.jit import announce
from brai.runtime.workers import ALONE, Workers, on_all_clocks
from brai.search.family_table import FamilyTable

Adjacency = NDArray[np.uint8]
_Climbed: TypeAlias = tuple[float, NDArray[np.int64], NDArray[np.int64], bool]  # score, order, sets, in time
NO_LIMIT = 2**62
KICK_SIZE = 4  # moves in a kick, at most
MOVED, KICKED = 200_000, 20_000  # moves and kicks, times variables, after which time and signals are looked at
WITHIN = 0.0  # nats that a family may be below the one whose place it could take, to enter the table
ENOUGH = 1e-6  # share of the score; where a larger table gains less, it grows no more
_SLOTS = 2**18  # families remembered at a time; a collision forgets one


class OrderFound(NamedTuple):
    """The DAG of the best order, its log score, the number of sets in the table, and of climbs that reached it.

    ``ends`` are the distinct ends of all climbs on the last table, best first.
    """

    families: tuple[Family, ...]
    log_score: float
    n_sets: int
    n_reached: int
    ends: list[Draw]


def search_by_order(  # arguments: options of a public function, by keyword
    table: FamilyTable,
    *,
    restarts: int = 20,
    kicks: int = 20,
    starts: Sequence[ArrayLike] = (),
    grow: bool = True,
    deadline: float = math.inf,
    seed: np.random.SeedSequence | None = None,
    workers: Workers = ALONE,
    key: str = "orders",
) -> OrderFound:
    """Iterated local search over orders, from each of ``starts`` and from ``restarts`` random ones.

    After each climb there are ``kicks`` kicks for each variable. Where the table grows around the best DAG, the
    search goes on from there. At ``deadline`` (of `time.monotonic`) it ends with what it has, one climb at least.
    Climbs have random numbers of their own, so workers may share them; in a checkpoint they are kept by ``key``.
    """
    announce(kick_often, np.dtype(np.int64))
    d = table.scores.data.n_variables
    random = np.random.Generator(np.random.PCG64(seed))
    end = on_all_clocks(deadline)
    best = _Best(np.arange(d), np.zeros(d, np.int64), -math.inf, 0)
    sets = table.arrays(any_order=True)
    if len(table) == d:  # one set each: all orders have the same score
        starts, restarts, kicks = [range(d)], 0, 0
    # ends of climbs, by score: what has the same score is nearly always the same class
    ends: dict[float, tuple[float, NDArray[np.int64]]] = {}

    def search(orders: Sequence[ArrayLike | None], turn: int) -> None:
        nonlocal best
        states = random.integers(1, 2**64, (len(orders), 1), np.uint64)
        tasks = [(order, state, i > 0) for i, (order, state) in enumerate(zip(orders, states, strict=True))]
        shared = (sets, table.required, kicks * d, end)
        keys = [f"{key}-{turn}-{i}" for i in range(len(tasks))]
        for own in workers.run(_climbed, tasks, shared=shared, keys=keys, of=shared[:-1], kept=_in_time):
            if own is not None:
                score, order, chosen, _ = own
                ends[round(score, 6)] = score, chosen
                best = best.or_better(order, chosen, score)

    search([*starts, *[None] * (restarts if starts or restarts else 1)], 0)
    turn = 0
    while grow and time.monotonic() < deadline and table.grow(table.families(sets, best.chosen), WITHIN):
        turn += 1
        before, sets = best.log_score, table.arrays(any_order=True)
        now = new_order(d)
        now.order[:] = best.order  # its sets have other places in the table now
        score = float(settle(sets, now))
        best = _Best(best.order, now.chosen.copy(), score, 0)
        ends.clear()
        search([best.order], turn)
        if best.log_score <= before + max(TIE, ENOUGH * abs(before)):
            break
    ranked = [Draw(table.families(sets, own), score) for _, (score, own) in sorted(ends.items(), reverse=True)]
    return OrderFound(table.families(sets, best.chosen), best.log_score, len(table), best.n_reached, ranked)


def _climbed(
    sets: Sets,
    required: NDArray[np.bool_],
    kicks: int,
    end: float,
    start: ArrayLike | None,
    state: NDArray[np.uint64],
    may_skip: bool,
) -> _Climbed | None:
    """Where a climb from an order, or a random one, ends, or is at ``end`` (of `time.time`); None after it."""
    if may_skip and time.time() > end:
        return None
    now, state = new_order(len(required)), state.copy()
    if start is None:
        shuffle(now.order, state)
    else:
        now.order[:] = start
    if required.any():
        now.order[:] = _obeying(now.order.tolist(), required)
    in_time = climb_order(sets, now, state, end) and kicked(sets, now, kicks, state, end)
    return float(settle(sets, now)), now.order, now.chosen, in_time


def _in_time(climbed: _Climbed | None) -> bool:
    """Whether a climb came to its end."""
    return climbed is not None and climbed[-1]


def climb_order(sets: Sets, now: Order, state: NDArray[np.uint64], end: float = math.inf) -> bool:
    """Move variables, in random turns, until none gains; False if that was cut short at ``end``.

    Compiled code takes no signals and knows no time, so it is called for short whiles.
    """
    turn, limit, moved = now.order.copy(), 1 + MOVED // len(now.order), True
    settle(sets, now)
    while moved:
        look_at_all(now, turn, state)
        moved = False
        while now.ends[1] > 0:
            moved |= bool(follow(sets, now, limit))
            if time.time() > end:
                return False
    return True


def kicked(sets: Sets, now: Order, kicks: int, state: NDArray[np.uint64], end: float = math.inf) -> bool:
    """Iterated local search from an order, then a climb; False if that was cut short at ``end``."""
    settle(sets, now)
    best, some = float(total(sets, now)), 1 + KICKED // len(now.order)
    for done in range(0, kicks, some):
        best = float(kick_often(sets, now, best, min(some, kicks - done), KICK_SIZE, state))
        if time.time() > end:
            return False
    return climb_order(sets, now, state, end)


def _obeying(order: list[int], required: NDArray[np.bool_]) -> list[int]:
    """The order, but for variables that wait for parents they must have."""
    waits = required.sum(axis=0)
    found: list[int] = []
    while order:
        found.append(v := next(v for v in order if waits[v] == 0))
        order.remove(v)
        waits -= required[v]
    return found


class _Best(NamedTuple):
    """The best order so far, and how many searches ended with its score."""

    order: NDArray[np.int64]
    chosen: NDArray[np.int64]
    log_score: float
    n_reached: int

    def or_better(self, order: NDArray[np.int64], chosen: NDArray[np.int64], score: float) -> _Best:
        if score > self.log_score + TIE:
            return _Best(order, chosen, score, 1)
        return self._replace(n_reached=self.n_reached + (score > self.log_score - TIE))
