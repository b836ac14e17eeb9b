"""The DAG of a leaf: an extension of its graph, or the nearest DAG where there is none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai.kernels.groups import neighbours
from brai.kernels.interface import MUST, Array
from brai.kernels.simd import LANES, in_common
from brai.runtime.jit import inner, lean, njit


class Sinks(NamedTuple):
    """For each node what it would cost to make it a sink; sets of nodes are strings of bits.

    To make v a sink adds a v-structure for each u of its open ends and each w that is joined with v and apart
    from u.
    """

    joint: Array  # (k, words) uint64: those joined with it
    open_ends: Array  # those whose edge is undirected, and may end in it
    apart: Array  # all others that are still there
    costs: Array  # (k, 3) int64: edges dropped, edges turned, new v-structures


@njit
def extension(endo: Array, adj: Array, nodes: Array, bounds: Array) -> tuple[Array, bool]:
    """DAG of a leaf: parents of each node of X (k × k), and whether it had to be repaired.

    Dor & Tarsi 1992 takes away, again and again, a node that is a sink and whose undirected neighbours are
    adjacent to all its other adjacent nodes. If there is none, no DAG extends the graph. Then the node
    with the fewest outgoing edges goes, among those the one that adds the fewest new v-structures, then
    the one of lowest index; its outgoing edges are turned.

    Before that, edges go as ``bounds`` (d, d, by variable) let them: one that is undirected is directed, one that
    is directed the wrong way is turned or, from X_ex, dropped. Then an edge that may not be turned is dropped, and
    before all else the node that goes is one that drops fewest. An edge that must be (MUST) is never dropped:
    such edges form no cycle, so there is a node from which none leads on.
    """
    k, repaired = len(endo), False
    adj = adj.copy()
    for u in range(k):
        for v in range(k):
            if adj[u, v] and bounds[nodes[u], nodes[v]] == 0 and (endo[u] or endo[v]):
                adj[u, v] = 0
                if not adj[v, u]:
                    repaired = True
                    adj[v, u] = endo[u] and endo[v]
    first, near = neighbours(adj)
    here, dag = np.ones(k, np.uint8), np.zeros((k, k), np.uint8)
    n_words, left = words(k), 0
    joint, open_ends = np.zeros((k, n_words), np.uint64), np.zeros((k, n_words), np.uint64)
    apart, costs = np.zeros((k, n_words), np.uint64), np.zeros((k, 3), np.int64)
    sinks = Sinks(joint, open_ends, apart, costs)
    for v in range(k):
        note_edges(adj, nodes, bounds, near[first[v] : first[v + 1]], v, sinks)
        left += endo[v]
    for v in range(k):
        for e in range(first[v], first[v + 1]):
            if has_bit(open_ends[v], near[e]):
                costs[v, 2] += in_common(joint[v], apart[near[e]])
    for _ in range(left):
        best = -1
        for v in range(k):
            if endo[v] and here[v] and (best < 0 or is_less(costs[v], costs[best])):
                best = v
                if costs[v, 0] == 0 and costs[v, 1] == 0 and costs[v, 2] == 0:
                    break
        repaired = repaired or costs[best, 0] > 0 or costs[best, 1] > 0 or costs[best, 2] > 0
        here[best] = 0
        for v in range(k):
            clear_bit(apart[v], best)
        for e in range(first[best], first[best + 1]):
            u = near[e]
            dag[u, best] = here[u] and bounds[nodes[u], nodes[best]] > 0
            if endo[u] and here[u]:  # nothing has changed for others
                edge_cost(adj, nodes, bounds, u, best, -1, costs[u])
                costs[u, 2] -= in_common(open_ends[u], apart[best])
                if has_bit(open_ends[u], best):
                    costs[u, 2] -= in_common(joint[u], apart[best])
    return dag, repaired


@inner
def words(k: int) -> int:
    """Words that hold k bits, in whole vectors (`brai.kernels.simd`)."""
    return (k + 64 * LANES - 1) // (64 * LANES) * LANES


@inner
def set_bit(row: Array, i: int) -> None:
    """Put i into a set."""
    row[i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@inner
def clear_bit(row: Array, i: int) -> None:
    """Take i out of a set."""
    row[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))


@inner
def has_bit(row: Array, i: int) -> bool:
    """Whether i is in a set."""
    return (row[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) == np.uint64(1)


@lean
def is_less(a: Array, b: Array) -> bool:
    """Whether a comes before b, as tuples are compared."""
    for i in range(len(a)):
        if a[i] != b[i]:
            return a[i] < b[i]
    return False


@lean
def edge_cost(adj: Array, nodes: Array, bounds: Array, v: int, u: int, sign: int, out: Array) -> bool:
    """Add what the edge of v with u costs if v becomes a sink: whether it is dropped, or turned; see `extension`.

    True if it is undirected and may end in v: such an edge costs new v-structures.
    """
    if not adj[v, u]:
        return False
    if bounds[nodes[v], nodes[u]] == MUST:
        out[0] += sign * len(adj) * len(adj)
    elif bounds[nodes[u], nodes[v]] == 0:
        out[0] += sign
    elif not adj[u, v]:
        out[1] += sign
    else:
        return True
    return False


@lean
def note_edges(adj: Array, nodes: Array, bounds: Array, near: Array, v: int, sinks: Sinks) -> None:
    """Fill in the sets of v, and what dropped and turned edges cost."""
    joint, open_ends, apart = sinks.joint[v], sinks.open_ends[v], sinks.apart[v]
    for u in range(len(adj)):
        set_bit(apart, u)
    clear_bit(apart, v)
    for u in near:
        set_bit(joint, u)
        clear_bit(apart, u)
        if edge_cost(adj, nodes, bounds, v, u, 1, sinks.costs[v]):
            set_bit(open_ends, u)
