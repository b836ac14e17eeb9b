"""Search over orders of the variables, with parent sets from a `FamilyTable`.

An order defines a DAG: each variable gets its best parent set among the variables before it. The table can grow
around the best DAG found. See `brai.kernels.orders` for the moves.
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

_Climbed: TypeAlias = tuple[float, NDArray[np.int64], NDArray[np.int64], bool]  # score, order, sets, in time
KICK_SIZE = 4  # largest number of moves in a kick
MOVED, KICKED = 200_000, 20_000  # moves and kicks, times variables, between checks of time and signals
WITHIN = 0.0  # nats that a family added to the table may score below the one it could replace
ENOUGH = 1e-6  # smallest relative gain of the score for which the table grows again


class OrderFound(NamedTuple):
    """The DAG of the best order as families, with its log score.

    ``n_sets`` is the number of parent sets in the table, ``n_reached`` the number of climbs that reached the best
    score, ``ends`` the distinct results of all climbs on the final table, best first.
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
    """Iterated local search over orders, from each of ``starts`` and from ``restarts`` random orders.

    A climb is followed by ``kicks`` kicks per variable. With ``grow`` the table grows around the best DAG, and the
    search continues from there while the score improves. At ``deadline`` (`time.monotonic`) the best order so far
    is returned, after at least one climb. Each climb has its own random seed, so climbs run in parallel on
    ``workers``; ``key`` is the prefix of their names in a checkpoint.
    """
    announce(kick_often, np.dtype(np.int64))
    d = table.scores.data.n_variables
    random = np.random.Generator(np.random.PCG64(seed))
    end = on_all_clocks(deadline)
    best = _Best(np.arange(d), np.zeros(d, np.int64), -math.inf, 0)
    sets = table.arrays(any_order=True)
    if len(table) == d:  # one parent set per variable: all orders have the same score
        starts, restarts, kicks = [list(range(d))], 0, 0
    # results of climbs by score; those of equal score are nearly always in one equivalence class
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
        now.order[:] = best.order  # indices of its sets have changed, as the table has grown
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
    """Score, order and chosen sets after a climb from ``start`` (None: random), and whether it finished in time.

    The climb is cut short at ``end`` (`time.time`). With ``may_skip`` None is returned if ``end`` is past.
    """
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
    """Whether a climb was made and finished in time."""
    return climbed is not None and climbed[-1]


def climb_order(sets: Sets, now: Order, state: NDArray[np.uint64], end: float = math.inf) -> bool:
    """Move variables, taken in random order, until no move improves the score; False if cut short at ``end``.

    Compiled code checks neither signals nor time, so each call is short.
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
    """Iterated local search from an order, then a climb; False if cut short at ``end``."""
    settle(sets, now)
    best, some = float(total(sets, now)), 1 + KICKED // len(now.order)
    for done in range(0, kicks, some):
        best = float(kick_often(sets, now, best, min(some, kicks - done), KICK_SIZE, state))
        if time.time() > end:
            return False
    return climb_order(sets, now, state, end)


def _obeying(order: list[int], required: NDArray[np.bool_]) -> list[int]:
    """The order, changed as little as needed for required parents to come before their children."""
    waits = required.sum(axis=0)
    found: list[int] = []
    while order:
        found.append(v := next(v for v in order if waits[v] == 0))
        order.remove(v)
        waits -= required[v]
    return found


class _Best(NamedTuple):
    """The best order so far, and the number of climbs that ended with its score."""

    order: NDArray[np.int64]
    chosen: NDArray[np.int64]
    log_score: float
    n_reached: int

    def or_better(self, order: NDArray[np.int64], chosen: NDArray[np.int64], score: float) -> _Best:
        if score > self.log_score + TIE:
            return _Best(order, chosen, score, 1)
        return self._replace(n_reached=self.n_reached + (score > self.log_score - TIE))
