"""Search for a graph of higher score, started from the tree ("polish").

The published method ends with the best graph of the tree. Here a search follows:

1. The families of all leaves are added to a `FamilyTable`.
2. Searches over orders start from distinct draws of the tree and from random orders.
3. Tabu searches over DAGs start from the best DAGs found. They may use parent sets that are not in the table.
4. The families of the best DAG are added to the table, which grows around them; then a search over orders and a
   tabu search start from this DAG. Step 4 is repeated until neither search improves the score.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.graphs.adjacency import topological_order
from brai.graphs.knowledge import Bounds
from brai.graphs.pdag import Draw, Family
from brai.kernels.hill_climbing import TIE, Leaps
from brai.kinds.scores import FamilyScores
from brai.runtime.workers import ALONE, Workers, on_all_clocks, on_this_clock
from brai.search.family_table import FamilyTable
from brai.search.hill_climbing import hill_climb
from brai.search.joint_parents import leaps_in
from brai.search.orders import ENOUGH, search_by_order
from brai.tree.draws import best_route, sample_routes
from brai.tree.ggt import GGT

STARTS = 5  # graphs of the tree that searches start from, the best one included
TEMPERATURES = (10.0, 100.0, math.inf)  # of these draws; at temperature 1 nearly all are the best graph
RESTARTS, FEWER, MANY = 20, 10, 100  # random orders to start from; FEWER with more than MANY variables
CLIMBED = 15  # distinct results of these searches that tabu searches start from
KICKS = 10  # kicks per variable after each climb
ROUNDS = 20  # largest number of repetitions of step 4


class Polished(NamedTuple):
    """The best DAG found as families, its log score, and the log score after each step."""

    families: tuple[Family, ...]
    log_score: float
    trace: tuple[tuple[str, float], ...]  # (step, log score)


def polish(
    table: FamilyTable,
    tree: GGT | None,
    *,
    n_draws: int = STARTS,
    restarts: int | None = None,
    kicks: int = KICKS,
    deadline: float = math.inf,
    seed: np.random.SeedSequence,
    workers: Workers = ALONE,
) -> Polished:
    """Search for the DAG of highest score, starting from the tree if there is one.

    The families of the tree are added to ``table``. At ``deadline`` (`time.monotonic`) the best DAG so far is
    returned. ``n_draws`` is the number of graphs of the tree to start from; ``restarts`` is the number of random
    orders, None for RESTARTS or FEWER.
    """
    scores = table.scores
    trace: list[tuple[str, float]] = []
    draws: list[Draw] = []
    if tree is not None:
        table.add(family for leaf in tree.leaves for family in leaf.families)
        draws = distinct_draws(tree, n_draws, seed)
        trace.append(("tree", draws[0].log_score))
    d = scores.data.n_variables
    if restarts is None:
        restarts = RESTARTS if d <= MANY else FEWER
    starts = [order_of(draw.families, d) for draw in draws]
    found = search_by_order(
        table,
        restarts=restarts,
        kicks=kicks,
        starts=starts,
        grow=False,
        deadline=deadline,
        seed=seed,
        workers=workers,
    )
    trace.append(("orders", found.log_score))
    bounds = Bounds(table.allowed, table.required)
    limits = (scores, bounds, table.max_parents, leaps_in(table), on_all_clocks(deadline), seed)

    def climb(graphs: Sequence[Draw], key: str) -> Draw:
        """The best result of tabu searches from these DAGs."""
        tasks = [(one.families, one.log_score) for one in graphs]
        keys = [f"{key}-{i}" for i in range(len(tasks))]
        kept, of = (lambda own: own is not None and own[2]), [table.max_parents]
        ends = workers.run(climbed_graph, tasks, shared=limits, keys=keys, of=of, kept=kept)
        found = (Draw(*(own or task)[:2]) for own, task in zip(ends, tasks, strict=True))
        return max(found, key=lambda own: own.log_score)

    best = climb(found.ends[:CLIMBED], "tabu")
    trace.append(("tabu", best.log_score))
    for turn in range(ROUNDS):
        if time.monotonic() > deadline:
            break
        before = best.log_score
        table.add(best.families)
        start = [order_of(best.families, d)]
        found = search_by_order(
            table,
            restarts=0,
            kicks=kicks,
            starts=start,
            deadline=deadline,
            seed=seed,
            workers=workers,
            key=f"orders-{turn + 1}",
        )
        best = max(best, Draw(found.families, found.log_score), key=lambda own: own.log_score)
        trace.append(("orders", best.log_score))
        best = climb([best], f"tabu-again-{turn}")
        trace.append(("tabu", best.log_score))
        if best.log_score <= before + max(TIE, ENOUGH * abs(before)):
            break
    return Polished(best.families, best.log_score, tuple(trace))


def climbed_graph(
    scores: FamilyScores,
    bounds: Bounds,
    max_parents: int,
    leaps: Leaps,
    end: float,
    seed: np.random.SeedSequence,
    families: Sequence[Family],
    log_score: float,
) -> tuple[tuple[Family, ...], float, bool] | None:
    """Tabu search from a DAG: the best families, their log score, and whether the search finished in time.

    The limit on the parents of a variable is ``max_parents`` or, if larger, its number of parents in the DAG.
    Returns None if ``end`` (`time.time`) is past.
    """
    if time.time() > end:
        return None
    d = scores.data.n_variables
    most = np.full(d, max_parents, np.int64)
    for v, parents in families:
        most[v] = max(max_parents, len(parents))
    start, orders = adjacency_of(families, d), [range(d)]
    with scores.lent() as own:
        found = hill_climb(
            own,
            start=start,
            allowed=bounds.allowed,
            required=bounds.required,
            max_parents=most,
            orders=orders,
            leaps=leaps,
            seed=seed,
            deadline=on_this_clock(end),
        )
    before = Draw(tuple(families), log_score)
    best = max(before, Draw(found.families, found.log_score), key=lambda own: own.log_score)
    return best.families, best.log_score, found.in_time


def distinct_draws(tree: GGT, n: int, seed: np.random.SeedSequence) -> list[Draw]:
    """The best DAG of the tree and up to n - 1 others, drawn at rising temperatures until there are n."""
    rng = np.random.Generator(np.random.PCG64(seed))
    found = dict.fromkeys([best_route(tree)])
    for temperature in TEMPERATURES:
        if len(found) < n:
            found |= dict.fromkeys(sample_routes(tree, 4 * n, temperature, rng, "exact"))
    return list(found)[:n]


def climbed_draws(
    tree: GGT,
    table: FamilyTable,
    least: float,
    n: int,
    deadline: float,
    seed: np.random.SeedSequence,
    workers: Workers = ALONE,
) -> list[tuple[Family, ...]]:
    """DAGs that searches over orders reach from n draws of the tree, with a log score of at least ``least``.

    DAGs of equal score are returned once.
    """
    starts = [order_of(draw.families, table.scores.data.n_variables) for draw in distinct_draws(tree, n, seed)]
    found = search_by_order(
        table,
        restarts=0,
        kicks=KICKS,
        starts=starts,
        grow=False,
        deadline=deadline,
        seed=seed,
        workers=workers,
        key="chain-starts",
    )
    return [end.families for end in found.ends if end.log_score >= least]


def adjacency_of(families: Sequence[Family], d: int) -> NDArray[np.uint8]:
    """Adjacency matrix of a DAG given by families; row to column."""
    out = np.zeros((d, d), np.uint8)
    for v, parents in families:
        out[list(parents), v] = 1
    return out


def order_of(families: Sequence[Family], d: int) -> list[int]:
    """A topological order of a DAG given by families."""
    return list(topological_order(adjacency_of(families, d)))
