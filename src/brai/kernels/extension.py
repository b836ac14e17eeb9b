"""The DAG of a leaf: a consistent extension of its graph, or a similar DAG if there is none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai.kernels.groups import neighbours
from brai.kernels.interface import MUST, Array
from brai.kernels.simd import LANES, in_common
from brai.runtime.jit import inner, lean, njit


class Sinks(NamedTuple):
    """The cost of making each node a sink. Sets of nodes are bit vectors, one row for each node.

    Making v a sink adds a v-structure for each u of ``open_ends[v]`` and each w adjacent to v but not to u.
    """

    joint: Array  # (k, words) uint64: adjacent nodes
    open_ends: Array  # nodes with an undirected edge that may be directed into this one
    apart: Array  # remaining nodes that are not adjacent
    costs: Array  # (k, 3) int64: edges dropped, edges reversed, new v-structures


@njit
def extension(endo: Array, adj: Array, nodes: Array, bounds: Array) -> tuple[Array, bool]:
    """DAG of a leaf: parents of each node of X (k × k), and whether the graph had to be repaired.

    The algorithm of Dor & Tarsi 1992 repeatedly removes a node that is a sink and whose undirected neighbours are
    adjacent to all its other neighbours. If there is no such node, no DAG extends the graph. Then the node with
    the fewest outgoing edges is removed; ties are resolved by the fewest new v-structures, then by the lowest
    index. Its outgoing edges are reversed.

    Before that, edges are made to obey ``bounds`` (d, d, by variable). An undirected edge with one forbidden
    direction is directed. An edge in a forbidden direction is reversed or, if it comes from X_ex, dropped. In the
    algorithm, an edge that may not be reversed is dropped; nodes are first compared by the number of dropped
    edges. A required edge (MUST) is never dropped: such edges form no cycle, so there is always a node without an
    outgoing one.
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
            if endo[u] and here[u]:  # costs of other nodes are unchanged
                edge_cost(adj, nodes, bounds, u, best, -1, costs[u])
                costs[u, 2] -= in_common(open_ends[u], apart[best])
                if has_bit(open_ends[u], best):
                    costs[u, 2] -= in_common(joint[u], apart[best])
    return dag, repaired


@inner
def words(k: int) -> int:
    """Number of words for k bits, rounded up to whole SIMD vectors (`brai.kernels.simd`)."""
    return (k + 64 * LANES - 1) // (64 * LANES) * LANES


@inner
def set_bit(row: Array, i: int) -> None:
    """Add i to a set."""
    row[i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@inner
def clear_bit(row: Array, i: int) -> None:
    """Remove i from a set."""
    row[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))


@inner
def has_bit(row: Array, i: int) -> bool:
    """Whether i is in a set."""
    return (row[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) == np.uint64(1)


@lean
def is_less(a: Array, b: Array) -> bool:
    """Whether a is lexicographically less than b."""
    for i in range(len(a)):
        if a[i] != b[i]:
            return a[i] < b[i]
    return False


@lean
def edge_cost(adj: Array, nodes: Array, bounds: Array, v: int, u: int, sign: int, out: Array) -> bool:
    """Add ``sign`` times the cost of the edge between v and u if v becomes a sink: dropped or reversed.

    Returns whether the edge is undirected and may be directed into v; its cost is then the new v-structures.
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
    """Fill the sets of v, and the costs of its dropped and reversed edges."""
    joint, open_ends, apart = sinks.joint[v], sinks.open_ends[v], sinks.apart[v]
    for u in range(len(adj)):
        set_bit(apart, u)
    clear_bit(apart, v)
    for u in near:
        set_bit(joint, u)
        clear_bit(apart, u)
        if edge_cost(adj, nodes, bounds, v, u, 1, sinks.costs[v]):
            set_bit(open_ends, u)
