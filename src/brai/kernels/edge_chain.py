"""MCMC over DAGs with local moves and global proposals of whole graphs (Eaton & Murphy 2007).

A DAG is an array ``parents``; ``parents[v]`` is the parent set of v as a bit mask. Scores are as in
`brai.kernels.subsets`. The algorithm is described in `brai.posterior.dp_mcmc`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.kernels.subsets import squeeze
from brai.runtime.jit import njit

Array: TypeAlias = NDArray[Any]

ADD, DELETE, REVERSE, GLOBAL = 0, 1, 2, 3  # kinds of moves


class Moves(NamedTuple):
    """Random numbers of a chain; those of each step are in one row."""

    pair: Array  # (n,) int64: index of an ordered pair for a local move, -1 for a global one
    log_uniform: Array  # (n,): log of a uniform random number, for acceptance
    uniform: Array  # (global moves, pairs): uniform random numbers


@njit
def is_ancestor(parents: Array, a: int, v: int) -> bool:
    """Whether a directed path leads from a to v."""
    seen, edge = 0, parents[v]
    while edge:
        seen |= edge
        up = 0
        for u in range(len(parents)):
            if edge >> u & 1:
                up |= parents[u]
        edge = up & ~seen
    return seen >> a & 1 == 1


@njit
def is_acyclic(parents: Array) -> bool:
    """Whether the graph is acyclic: repeated removal of nodes without parents leaves no node."""
    left, before = (1 << len(parents)) - 1, 0
    while left != before:
        before = left
        for v in range(len(parents)):
            if left >> v & 1 and not parents[v] & left:
                left ^= 1 << v
    return left == 0


@njit
def draw_pairs(chances: Array, uniform: Array, parents: Array) -> None:
    """Draw each pair i < j independently: i → j with probability chances[i, j], j → i with chances[j, i]."""
    parents[:] = 0
    k = 0
    for i in range(len(parents)):
        for j in range(i + 1, len(parents)):
            if uniform[k] < chances[i, j]:
                parents[j] |= 1 << i
            elif uniform[k] < chances[i, j] + chances[j, i]:
                parents[i] |= 1 << j
            k += 1


@njit
def log_chance(chances: Array, parents: Array) -> float:
    """The log probability that `draw_pairs` draws this graph."""
    total = 0.0
    for i in range(len(parents)):
        for j in range(i + 1, len(parents)):
            if parents[j] >> i & 1:
                total += math.log(chances[i, j])
            elif parents[i] >> j & 1:
                total += math.log(chances[j, i])
            else:
                total += math.log(1 - chances[i, j] - chances[j, i])
    return total


@njit
def local_move(scores: Array, parents: Array, i: int, j: int, log_uniform: float, tally: Array) -> None:
    """Metropolis step: delete i → j if present, else reverse j → i if present, else add i → j. It is symmetric."""
    new_i, new_j = parents[i] & ~(1 << j), parents[j] ^ (1 << i)
    kind = ADD
    if parents[j] >> i & 1:
        kind = DELETE
    elif parents[i] >> j & 1:
        kind = REVERSE
    tally[kind, 0] += 1
    gain = scores[j, squeeze(new_j, j)] - scores[j, squeeze(parents[j], j)]
    if kind == REVERSE:
        gain += scores[i, squeeze(new_i, i)] - scores[i, squeeze(parents[i], i)]
    if gain <= log_uniform:
        return
    old_i = parents[i]
    parents[i] = new_i
    if kind != DELETE and is_ancestor(parents, j, i):
        parents[i] = old_i
        return
    parents[j] = new_j
    tally[kind, 1] += 1


@njit
def total_score(scores: Array, parents: Array) -> float:
    """Log score of a graph."""
    total = 0.0
    for v in range(len(parents)):
        total += scores[v, squeeze(parents[v], v)]
    return total


@njit
def walk(scores: Array, chances: Array, parents: Array, moves: Moves, thin: int, out: Array, tally: Array) -> None:
    """Metropolis–Hastings over DAGs, starting at ``parents``; every ``thin`` steps a graph is stored in ``out``.

    Local moves are symmetric. A global move draws all pairs anew; its acceptance ratio contains both proposal
    probabilities.
    """
    d, n_global = len(parents), 0
    new = np.empty(d, np.int64)
    for step in range(len(moves.pair)):
        pair = moves.pair[step]
        if pair >= 0:
            i, j = pair // (d - 1), pair % (d - 1)
            local_move(scores, parents, i, j + 1 if j >= i else j, moves.log_uniform[step], tally)
        else:
            draw_pairs(chances, moves.uniform[n_global], new)
            n_global += 1
            tally[GLOBAL, 0] += 1
            if is_acyclic(new):
                gain = total_score(scores, new) - total_score(scores, parents)
                gain += log_chance(chances, parents) - log_chance(chances, new)
                if gain > moves.log_uniform[step]:
                    parents[:] = new
                    tally[GLOBAL, 1] += 1
        if (step + 1) % thin == 0 and step // thin < len(out):
            out[step // thin] = parents
