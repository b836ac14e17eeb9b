"""Sums over all DAGs, and posterior edge probabilities under a uniform prior over DAGs.

Every DAG has a unique partition into layers: first the roots, then the nodes all of whose parents are roots, and
so on; each node has a parent in the layer before its own (Kuipers & Moffa 2017). A state of the dynamic program is
(U, T): U is the union of the layers so far, T the last layer. Its index is a number in base 3, with digit 1 for a
node of U, and 2 if the node is also in T.

This takes 4^d steps, and all terms are positive (`dag_edges`). Tian & He 2009 sum over DAGs in 3^d steps by
inclusion–exclusion over sets of sinks, whose terms may cancel (`dag_edges_by_sinks`, which also returns the loss
of precision). Sets and scores are as in `brai.kernels.subsets`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.kernels.subsets import (
    add_edges,
    add_logs,
    order_sums,
    squeeze,
    subset_sums,
    sum_subsets,
    sum_supersets,
    widen,
)
from brai.runtime.jit import njit

Array: TypeAlias = NDArray[Any]

RARE = 1e-40  # states of lower probability are skipped


@njit
def base_three(d: int) -> Array:
    """For each set, Σ 3^i over its members i."""
    out, power = np.zeros(1 << d, np.int64), 1
    for i in range(d):
        out[1 << i : 2 << i] = out[: 1 << i] + power
        power *= 3
    return out


@njit
def sums_with(scores: Array, t: int, out: Array) -> None:
    """For each set, the log sum over parent sets within it that contain t."""
    for m in range(len(scores)):
        out[m] = scores[m] if m >> t & 1 else -np.inf
    sum_subsets(out)


@njit
def meeting_sums(scores: Array, three: Array, out: Array) -> None:
    """Log sums over the parent sets of one variable that are within U and intersect T, for each (U, T).

    Parent sets are divided by their lowest member of T.
    """
    n, others = len(scores), 0
    while 1 << others < n:
        others += 1
    by_lowest = np.empty((others, n))
    for t in range(others):
        sums_with(scores, t, by_lowest[t])
    for u in range(1, n):
        last = u
        while last:
            t = 0
            while not last >> t & 1:
                t += 1
            rest = last ^ (1 << t)
            value = by_lowest[t, u]
            if rest:
                value = add_logs(value, out[three[u ^ (1 << t)] + three[rest]])
            out[three[u] + three[last]] = value
            last = (last - 1) & u


@njit
def spread_back(mass: Array, sums: Array, scores: Array, three: Array) -> Array:
    """Log probability of each parent set of one variable, from the probability of each preceding state (U, T).

    This is reverse-mode differentiation of `meeting_sums`; ``mass`` is overwritten.
    """
    n, others = len(scores), 0
    while 1 << others < n:
        others += 1
    by_lowest = np.full((others, n), -np.inf)
    for i in range(len(mass)):
        mass[i] = math.log(mass[i]) - sums[i] if mass[i] > 0 else -np.inf
    for u in range(n - 1, 0, -1):
        last = u
        while last:
            t = 0
            while not last >> t & 1:
                t += 1
            rest, here = last ^ (1 << t), mass[three[u] + three[last]]
            if here > -np.inf:
                by_lowest[t, u] = add_logs(by_lowest[t, u], here)
                if rest:
                    to = three[u ^ (1 << t)] + three[rest]
                    mass[to] = add_logs(mass[to], here)
            last = (last - 1) & u
    total = np.full(n, -np.inf)
    for t in range(others):
        sum_supersets(by_lowest[t])
        for m in range(n):
            if m >> t & 1:
                total[m] = add_logs(total[m], by_lowest[t, m])
    return total + scores


class Layers(NamedTuple):
    """Tables of the sum over layers, and scratch arrays for the next layer."""

    three: Array  # (2^d,) int64: see `base_three`
    sums: Array  # (d, 3^(d-1)): log sums over parent sets within U that intersect T
    after: Array  # (3^d,): log sum over all continuations of (U, T)
    logs: Array  # (2^d,): log weight of each possible next layer
    place: Array  # (2^d,) int64: index of the state that it leads to
    free: Array  # (d,) int64: nodes that are not in U


@njit
def next_places(tables: Layers, d: int, used: int) -> int:
    """Enumerate the possible next layers after U and the states they lead to; returns the number of free nodes."""
    n = 0
    for v in range(d):
        if not used >> v & 1:
            tables.free[n] = v
            n += 1
    mask = np.zeros(1 << n, np.int64)
    for x in range(1, 1 << n):
        b = 0
        while not x >> b & 1:
            b += 1
        mask[x] = mask[x & (x - 1)] | (1 << tables.free[b])
        tables.place[x] = tables.three[used | mask[x]] + tables.three[mask[x]]
    return n


@njit
def next_logs(tables: Layers, scores: Array, used: int, last: int, n: int) -> None:
    """Log weights of the possible next layers after (U, T), numbered as in `next_places`, with continuations."""
    logs = tables.logs
    logs[0] = 0.0
    for b in range(n):
        v = tables.free[b]
        if used == 0:
            own = scores[v, 0]
        else:
            own = tables.sums[v, tables.three[squeeze(used, v)] + tables.three[squeeze(last, v)]]
        for x in range(1 << b):
            logs[x | 1 << b] = logs[x] + own
    for x in range(1, 1 << n):
        logs[x] += tables.after[tables.place[x]]


@njit
def log_total(logs: Array) -> float:
    """log Σ exp(logs)."""
    top, total = logs.max(), 0.0
    if top == -np.inf:
        return top
    for x in logs:
        total += math.exp(x - top)
    return top + math.log(total)


@njit
def look_ahead(tables: Layers, scores: Array) -> None:
    """Fill ``after`` by backward recursion, from U with all nodes to the empty set."""
    d, every = len(scores), (1 << len(scores)) - 1
    for used in range(every, -1, -1):
        n = next_places(tables, d, used)
        last = used
        while True:
            at = tables.three[used] + tables.three[last]
            if n == 0:
                tables.after[at] = 0.0
            else:
                next_logs(tables, scores, used, last, n)
                tables.after[at] = log_total(tables.logs[1 : 1 << n])
            last = (last - 1) & used
            if last == 0 or used == 0:
                break


@njit
def go_through(tables: Layers, scores: Array, mass: Array) -> None:
    """Forward pass: ``mass[v]`` is the probability that v is in the layer after (U, T), for each (U, T)."""
    d, every = len(scores), (1 << len(scores)) - 1
    chance = np.zeros(len(tables.after))
    chance[0] = 1.0
    for used in range(every):
        n, last = next_places(tables, d, used), used
        while True:
            at = tables.three[used] + tables.three[last]
            if chance[at] > RARE:
                next_logs(tables, scores, used, last, n)
                own = np.zeros(n)
                for x in range(1, 1 << n):
                    p = chance[at] * math.exp(tables.logs[x] - tables.after[at])
                    if p > RARE:
                        chance[tables.place[x]] += p
                        for b in range(n):
                            own[b] += p * (x >> b & 1)
                for b in range(n):
                    v = tables.free[b]
                    mass[v, tables.three[squeeze(used, v)] + tables.three[squeeze(last, v)]] = own[b]
            last = (last - 1) & used
            if last == 0 or used == 0:
                break


@njit
def sum_layers(scores: Array) -> Layers:
    """The tables of the sum over layers, in 4^d steps."""
    d, small = len(scores), 3 ** (len(scores) - 1)
    sums = np.full((d, small), -np.inf)
    three = base_three(d)
    for v in range(d):
        meeting_sums(scores[v], three, sums[v])
    room = 1 << d
    tables = Layers(
        three,
        sums,
        np.full(3 * small, -np.inf),
        np.empty(room),
        np.zeros(room, np.int64),
        np.zeros(d, np.int64),
    )
    look_ahead(tables, scores)
    return tables


@njit
def dag_edges(scores: Array) -> Array:
    """P(u → v) with a uniform prior over DAGs, by the sum over layers."""
    d, tables = len(scores), sum_layers(scores)
    mass = np.zeros(tables.sums.shape)
    go_through(tables, scores, mass)
    edges = np.zeros((d, d))
    for v in range(d):
        mass[v, 0] = 0.0  # a root has no parents
        add_edges(edges, v, spread_back(mass[v], tables.sums[v], scores[v], tables.three))
    return edges


@njit
def draw_parents(scores: Array, used: int, last: int, log_sum: float, u: float) -> int:
    """Draw a parent set within U that intersects T, in proportion to its score.

    All sets are squeezed, see `brai.kernels.subsets`; ``u`` is a uniform random number.
    """
    own, left = used, u
    found = 0
    while own:
        if own & last:
            found = own
            left -= math.exp(scores[own] - log_sum)
            if left < 0:
                break
        own = (own - 1) & used
    return found


@njit
def draw_dags(scores: Array, tables: Layers, uniforms: Array, out: Array) -> None:
    """Draw independent DAGs from the posterior; out[t, v] is a parent set. Each DAG takes 2 d uniform numbers."""
    d = len(scores)
    every = (1 << d) - 1
    for t in range(len(out)):
        used, last, k = 0, 0, 0
        while used < every:
            n = next_places(tables, d, used)
            next_logs(tables, scores, used, last, n)
            after = tables.after[tables.three[used] + tables.three[last]]
            left, layer = uniforms[t, k], 1
            for x in range(1, 1 << n):
                p = math.exp(tables.logs[x] - after)
                if p > 0:
                    layer = x
                left -= p
                if left < 0:
                    break
            k += 1
            members = 0
            for b in range(n):
                if layer >> b & 1:
                    v = tables.free[b]
                    members |= 1 << v
                    own = 0
                    if used:
                        within, meeting = squeeze(used, v), squeeze(last, v)
                        log_sum = tables.sums[v, tables.three[within] + tables.three[meeting]]
                        own = draw_parents(scores[v], within, meeting, log_sum, uniforms[t, d + v])
                    out[t, v] = widen(own, v)
            used, last = used | members, members


# --- by inclusion–exclusion ----------------------------------------------------------------------------
#
# g_v(U) is the sum over parent sets of v within U. Z(S), the sum over all DAGs on S, is Σ_T ± Z(S - T) Π_{v in T}
# g_v(S - T) over sets T of sinks. Y(U), the sum over all continuations of U, is Σ_T ± Π_{v in T} g_v(U) Y(U + T);
# its terms with v in T are the DAGs in which U is the set of non-descendants of v. Both are stored as fractions of
# the sum over orders, which is at least as large, by a factor of at most d!.


class Sinks(NamedTuple):
    """The sets T that can be added to U."""

    mask: Array  # (2^d,) int64
    logs: Array  # (2^d,): Σ log g_v(U) over T
    sign: Array  # (2^d,): 1 for an odd number of members, else -1
    free: Array  # (d,) int64: nodes that are not in U


@njit
def next_sinks(sinks: Sinks, sums: Array, used: int) -> int:
    """Enumerate the sets that can be added to U; returns the number of free nodes."""
    n = 0
    sinks.mask[0], sinks.logs[0], sinks.sign[0] = 0, 0.0, -1.0
    for v in range(len(sums)):
        if not used >> v & 1:
            own, half = sums[v, squeeze(used, v)], 1 << n
            for x in range(half):
                sinks.mask[half + x] = sinks.mask[x] | 1 << v
                sinks.logs[half + x] = sinks.logs[x] + own
                sinks.sign[half + x] = -sinks.sign[x]
            sinks.free[n] = v
            n += 1
    return n


@njit
def log_or_nothing(x: float) -> float:
    """log x, or -inf if x is at most 0 by rounding."""
    return math.log(x) if x > 0 else -np.inf


@njit
def dag_edges_by_sinks(scores: Array) -> tuple[Array, float]:
    """P(u → v) with a uniform prior over DAGs, in 3^d steps, and a lower bound of the absolute error.

    The bound is the largest deviation from 1 of the total probability of a variable's parent sets, or the largest
    negative probability.
    """
    d, room = len(scores), 1 << len(scores)
    sums = subset_sums(scores)
    before, after = order_sums(sums)
    sinks = Sinks(np.zeros(room, np.int64), np.zeros(room), np.zeros(room), np.zeros(d, np.int64))
    share, terms = np.zeros(room), np.zeros(room)
    share[0] = 1.0
    for used in range(room - 1):
        n, here = next_sinks(sinks, sums, used), log_or_nothing(share[used]) + before[used]
        for x in range(1, 1 << n):
            to = used | sinks.mask[x]
            share[to] += sinks.sign[x] * math.exp(here + sinks.logs[x] - before[to])
    total = log_or_nothing(share[room - 1]) + before[room - 1]
    rest, check = np.full(scores.shape, -np.inf), np.zeros(d)
    loss = 0.0 if total > -np.inf else np.inf
    after_logs = after.copy()  # log Y
    for used in range(room - 2, -1, -1):
        n = next_sinks(sinks, sums, used)
        for x in range(1, 1 << n):
            terms[x] = sinks.sign[x] * math.exp(sinks.logs[x] + after_logs[used | sinks.mask[x]] - after[used])
        after_logs[used] = after[used] + log_or_nothing(terms[1 : 1 << n].sum())
        here = log_or_nothing(share[used]) + before[used] + after[used] - total
        for b in range(n - 1, -1, -1):  # sum the terms with the b-th node, then merge them with those without
            own, v = terms[1 << b : 2 << b].sum(), sinks.free[b]
            terms[: 1 << b] += terms[1 << b : 2 << b]
            chance, at = own * math.exp(here), squeeze(used, v)
            check[v] += chance
            loss = max(loss, -chance)
            rest[v, at] = here + log_or_nothing(own) - sums[v, at]
    edges = np.zeros((d, d))
    for v in range(d):
        loss = max(loss, abs(check[v] - 1))
        sum_supersets(rest[v])
        add_edges(edges, v, scores[v] + rest[v])
    return edges, loss
