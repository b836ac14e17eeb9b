"""From the tree to the best graph that can be found: search over orders, started with what the tree knows.

The published method takes the best graph of the tree. Its families and its draws are worth more: the families of
all leaves go into a `FamilyTable` with the most promising sets around them, and searches over orders start from
distinct draws of the tree besides random orders. Around the best graph the table grows, and the search goes on
until nothing improves; then tabu search over graphs, which is not bound to the table, has the last word.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.adjacency import topological_order
from brai.families import FamilyTable
from brai.graphs import Family
from brai.kernels.climbing import TIE
from brai.sampling import Draw, best_route, sample_routes
from brai.search import hill_climb, search_by_order
from brai.tree import GGT

STARTS = 5  # draws of the tree that searches start from, the best one included
TEMPERATURE = 10.0  # of these draws: at 1 they are nearly always the best one
RESTARTS = 5  # searches from random orders
KICKS = 10  # for each variable, after each climb
ROUNDS = 20  # tabu searches at most


class Polished(NamedTuple):
    """The best DAG found, its log score, the table it was found on, and what the steps reached."""

    families: tuple[Family, ...]
    log_score: float
    table: FamilyTable
    trace: tuple[tuple[str, float], ...]  # (step, log score)


def polish(
    table: FamilyTable,
    tree: GGT | None,
    *,
    starts: int = STARTS,
    restarts: int = RESTARTS,
    kicks: int = KICKS,
    deadline: float = math.inf,
    seed: np.random.SeedSequence,
) -> Polished:
    """Search on from a tree; the table takes in its families. At ``deadline`` (of `time.monotonic`) it ends."""
    scores = table.scores
    trace: list[tuple[str, float]] = []
    draws: list[Draw] = []
    if tree is not None:
        table.add(family for leaf in tree.leaves for family in leaf.families)
        draws = distinct_draws(tree, starts, seed)
        trace.append(("tree", draws[0].log_score))
    d = scores.data.n_variables
    orders = [order_of(draw.families, d) for draw in draws]
    found = search_by_order(table, restarts=restarts, kicks=kicks, starts=orders, deadline=deadline, seed=seed)
    trace.append(("orders", found.log_score))
    best, score = found.families, found.log_score
    for _ in range(ROUNDS):
        if time.monotonic() > deadline:
            break
        climbed = hill_climb(scores, start=adjacency_of(best, d), allowed=table.allowed, seed=seed)
        if climbed.log_score <= score + TIE:
            break
        trace.append(("tabu", climbed.log_score))
        table.add(climbed.families)
        found = search_by_order(
            table,
            restarts=0,
            kicks=kicks,
            starts=[order_of(climbed.families, d)],
            deadline=deadline,
            seed=seed,
        )
        best, score = max(
            (climbed.families, climbed.log_score), (found.families, found.log_score), key=lambda own: own[1]
        )
        trace.append(("orders", score))
    return Polished(best, score, table, tuple(trace))


def distinct_draws(tree: GGT, n: int, seed: np.random.SeedSequence) -> list[Draw]:
    """The best DAG of the tree, and further ones drawn at a high temperature."""
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = sample_routes(tree, max(0, n - 1), TEMPERATURE, rng, "exact")
    return list(dict.fromkeys([best_route(tree), *drawn]))


def adjacency_of(families: Sequence[Family], d: int) -> NDArray[np.uint8]:
    """A DAG as an array, row to column."""
    out = np.zeros((d, d), np.uint8)
    for v, parents in families:
        out[list(parents), v] = 1
    return out


def order_of(families: Sequence[Family], d: int) -> list[int]:
    """A topological order of a DAG."""
    return list(topological_order(adjacency_of(families, d)))
