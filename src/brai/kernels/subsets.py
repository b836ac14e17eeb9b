"""Dynamic programming over sets of variables: the best DAG, the k best classes, edge probabilities by orders.

A set is a bit mask with bit i for variable i. ``scores[v, m]`` is the local log score of v with parent set m. In m
the bit of v is left out, and bits above it are shifted down by one (`squeeze`, `widen`). The score is -inf if the
family is not allowed. Log scores may be shifted by a constant for each v. Sums are of positive terms, by their
logarithms, so there is no cancellation.

The algorithms are those of Silander & Myllymäki 2006 (best DAG), Chen & Tian 2014 (k best classes), Koivisto &
Sood 2004 and Koivisto 2006 (edges, with a prior over orders); see `brai.posterior.exact`.
"""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.runtime.jit import njit

Array: TypeAlias = NDArray[Any]

SAME = 1e-9  # relative tolerance; scores of equivalent DAGs differ only by rounding
FAR = 40.0  # nats; a term smaller by this is below the precision of a double


@njit
def squeeze(mask: int, v: int) -> int:
    """Remove the bit of v from a mask and shift higher bits down. The set must not contain v."""
    return (mask & ((1 << v) - 1)) | (mask >> (v + 1) << v)


@njit
def widen(mask: int, v: int) -> int:
    """The inverse of `squeeze`."""
    return (mask & ((1 << v) - 1)) | (mask >> v << (v + 1))


# --- the best DAG -------------------------------------------------------------------------------------


@njit
def best_parents(scores: Array) -> tuple[Array, Array]:
    """For each variable and set, the best score with parents within the set, and the parents; ties: the subset."""
    d, n = scores.shape
    best, which = scores.copy(), np.empty((d, n), np.int32)
    for v in range(d):
        for m in range(n):
            which[v, m] = m
            for b in range(d - 1):
                less = m ^ (1 << b)
                if less < m and (best[v, less] > best[v, m] or (best[v, less] == best[v, m] and which[v, m] == m)):
                    best[v, m], which[v, m] = best[v, less], which[v, less]
    return best, which


@njit
def best_sinks(best: Array) -> Array:
    """A sink of the best DAG over each set; ties: the first variable."""
    d = len(best)
    total, sink = np.full(1 << d, -np.inf), np.zeros(1 << d, np.int8)
    total[0] = 0.0
    for m in range(1, 1 << d):
        for v in range(d):
            less = m ^ (1 << v)
            if less < m:
                value = total[less] + best[v, squeeze(less, v)]
                if value > total[m]:
                    total[m], sink[m] = value, v
    return sink


# --- the k best classes -------------------------------------------------------------------------------


class Pool(NamedTuple):
    """The best equivalence classes over each set, best first, each as one DAG: a sink, its parents, the rest."""

    score: Array  # (2^d, k) float64
    key: Array  # (2^d, k) int64: hash of skeleton and v-structures
    sink: Array  # (2^d, k) int8
    parents: Array  # (2^d, k) int32: of the sink
    rank: Array  # (2^d, k) int32: the rest is the class of this rank over the set without the sink
    size: Array  # (2^d,) int64: number of classes


@njit
def joins(pool: Pool, mask: int, rank: int, among: int, near: Array) -> None:
    """For each v of the set ``among``, set near[v] to its parents within it, in the DAG of this rank."""
    while among:
        v = int(pool.sink[mask, rank])
        if among >> v & 1:
            among ^= 1 << v  # later iterations are predecessors of v, so v is not their parent
            near[v] = int(pool.parents[mask, rank]) & among
        rank, mask = pool.rank[mask, rank], mask ^ (1 << v)


@njit
def sink_key(near: Array, v: int, parents: int, edge_keys: Array, v_keys: Array) -> int:
    """The xor of the random keys of the edges and v-structures that a sink adds to a class."""
    key, d = np.int64(0), len(near)
    for p in range(d):
        if parents >> p & 1:
            key ^= edge_keys[p, v]
            for q in range(p + 1, d):
                if parents >> q & 1 and not (near[p] >> q & 1 or near[q] >> p & 1):
                    key ^= v_keys[v, p, q]
    return int(key)


@njit
def is_listed(pool: Pool, mask: int, value: float, key: int) -> bool:
    """Whether a class is already listed; only the last classes, those of equal score, are compared."""
    j, limit = pool.size[mask] - 1, value + SAME * max(1.0, abs(value))
    while j >= 0 and pool.score[mask, j] <= limit:
        if pool.key[mask, j] == key:
            return True
        j -= 1
    return False


@njit
def next_inside(ranked: Array, start: int, inside: int) -> int:
    """Index of the next subset of ``inside`` from ``start`` on; the length if there is none."""
    while start < len(ranked) and ranked[start] & ~inside:
        start += 1
    return start


@njit
def best_over(pool: Pool, mask: int, scores: Array, ranked: Array, edge_keys: Array, v_keys: Array) -> None:
    """List the best classes over a set: each is a class over the set without a sink, and a parent set of the sink.

    The heap contains, for each sink and each of its parent sets considered so far, the best class not yet tried.
    The next parent set is added when the one before has been tried. So classes are found in order of decreasing
    score, and equivalent DAGs one after the other.
    """
    k, d = pool.score.shape[1], len(scores)
    near = np.empty(d, np.int64)
    heap = [(0.0, 0, 0)]  # minus the score, index of the parent set · d + sink, rank of the class
    heap.pop()
    for v in range(d):
        if mask >> v & 1:
            rest = mask ^ (1 << v)
            at = next_inside(ranked[v], 0, squeeze(rest, v))
            heapq.heappush(heap, (-pool.score[rest, 0] - scores[v, ranked[v, at]], at * d + v, 0))
    while len(heap) > 0 and pool.size[mask] < k:
        minus, which, i = heapq.heappop(heap)
        v, at = which % d, which // d
        own, rest = int(ranked[v, at]), mask ^ (1 << v)
        if i + 1 < pool.size[rest]:
            heapq.heappush(heap, (-pool.score[rest, i + 1] - scores[v, own], which, i + 1))
        if i == 0:
            at = next_inside(ranked[v], at + 1, squeeze(rest, v))
            if at < ranked.shape[1]:
                heapq.heappush(heap, (-pool.score[rest, 0] - scores[v, ranked[v, at]], at * d + v, 0))
        parents = widen(own, v)
        if parents & (parents - 1):  # two or more parents: there may be v-structures
            joins(pool, rest, i, parents, near)
        key = pool.key[rest, i] ^ sink_key(near, v, parents, edge_keys, v_keys)
        if not is_listed(pool, mask, -minus, key):
            n = pool.size[mask]
            pool.score[mask, n], pool.key[mask, n], pool.sink[mask, n] = -minus, key, v
            pool.parents[mask, n], pool.rank[mask, n] = parents, i
            pool.size[mask] += 1


@njit
def k_best_classes(scores: Array, ranked: Array, edge_keys: Array, v_keys: Array, pool: Pool) -> None:
    """Fill the pool, set by set; ``ranked[v]`` lists the allowed parent sets of v by decreasing score."""
    pool.size[0] = 1  # the empty graph
    pool.score[0, 0] = 0.0
    for mask in range(1, 1 << len(scores)):
        best_over(pool, mask, scores, ranked, edge_keys, v_keys)


# --- edge probabilities, uniform prior over orders ----------------------------------------------------


@njit
def add_logs(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b < a - FAR or b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@njit
def sum_subsets(logs: Array) -> None:
    """Replace the value of each set by the log sum over its subsets (zeta transform), in place."""
    step = 1
    while step < len(logs):
        for m in range(len(logs)):
            if m & step:
                logs[m] = add_logs(logs[m], logs[m ^ step])
        step *= 2


@njit
def sum_supersets(logs: Array) -> None:
    """Replace the value of each set by the log sum over its supersets, in place."""
    step = 1
    while step < len(logs):
        for m in range(len(logs)):
            if not m & step:
                logs[m] = add_logs(logs[m], logs[m | step])
        step *= 2


@njit
def add_edges(edges: Array, v: int, logs: Array) -> None:
    """Add the probability of each parent set of v to the edges from its members."""
    for m in range(1, len(logs)):
        if logs[m] > -np.inf:
            probability, u, left = math.exp(logs[m]), 0, widen(m, v)
            while left:
                if left & 1:
                    edges[u, v] += probability
                u, left = u + 1, left >> 1


@njit
def subset_sums(scores: Array) -> Array:
    """For each variable and set, the log sum over parent sets within the set."""
    sums = scores.copy()
    for v in range(len(sums)):
        sum_subsets(sums[v])
    return sums


@njit
def order_sums(sums: Array) -> tuple[Array, Array]:
    """For each set, the log sum over all orders of its members, and over all orders of the other variables."""
    d, every = len(sums), (1 << len(sums)) - 1
    before, after = np.full(every + 1, -np.inf), np.full(every + 1, -np.inf)
    before[0], after[every] = 0.0, 0.0
    for m in range(every):
        for v in range(d):
            if not m >> v & 1:
                before[m | 1 << v] = add_logs(before[m | 1 << v], before[m] + sums[v, squeeze(m, v)])
    for m in range(every - 1, -1, -1):
        for v in range(d):
            if not m >> v & 1:
                after[m] = add_logs(after[m], after[m | 1 << v] + sums[v, squeeze(m, v)])
    return before, after


@njit
def order_edges(scores: Array) -> Array:
    """P(u → v) with an order-modular prior: forward–backward over sets of predecessors (Koivisto 2006)."""
    d = len(scores)
    before, after = order_sums(subset_sums(scores))
    edges, rest = np.zeros((d, d)), np.empty(scores.shape[1])
    for v in range(d):
        for m in range(len(rest)):
            wide = widen(m, v)
            rest[m] = before[wide] + after[wide | 1 << v] - after[0]
        sum_supersets(rest)
        add_edges(edges, v, scores[v] + rest)
    return edges
