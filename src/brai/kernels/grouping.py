"""Groups: what their graphs weigh, and how a part is cut out. Compiled, so that workers do not wait for Python."""

from __future__ import annotations

import numpy as np

from brai._jit import njit
from brai.kernels.counts import Array


@njit
def loads(endo: Array, adj: Array) -> tuple[int, int, int]:
    """Most potential parents of a node of X, the sum of their squares, and the number of marks in the graph."""
    k, most, squares, marks = len(endo), 0, 0, 0
    parents = np.zeros(k, np.int64)
    for u in range(k):
        for v in range(k):
            parents[v] += adj[u, v]
    for v in range(k):
        marks += parents[v]
        if endo[v]:
            most = max(most, parents[v])
            squares += parents[v] * parents[v]
    return most, squares, marks


@njit
def cut_out(nodes: Array, adj: Array, sep: Array, label: Array, i: int) -> tuple[Array, Array, Array, Array]:
    """The part with this label and those that are parents of a member: nodes, endo, adj and sep."""
    k, n = len(nodes), 0
    kept = np.empty(k, np.int64)
    for u in range(k):
        here = label[u] == i
        for v in range(k):
            if here:
                break
            here = label[v] == i and adj[u, v] != 0
        if here:
            kept[n] = u
            n += 1
    own, endo = np.empty(n, nodes.dtype), np.zeros(n, np.uint8)
    edges, sets = np.empty((n, n), adj.dtype), np.empty((n, n), sep.dtype)
    for a in range(n):
        u = kept[a]
        own[a], endo[a] = nodes[u], label[u] == i
        for b in range(n):
            edges[a, b], sets[a, b] = adj[u, kept[b]], sep[u, kept[b]]
    return own, endo, edges, sets


@njit
def listed_parents(dag: Array, nodes: Array) -> tuple[Array, Array]:
    """Parents of all nodes in a row, as variables, and where those of each begin."""
    k = len(dag)
    first = np.zeros(k + 1, np.int64)
    for u in range(k):
        for v in range(k):
            first[v + 1] += dag[u, v]
    for v in range(k):
        first[v + 1] += first[v]
    out, at = np.empty(first[k], np.int64), first[:-1].copy()
    for u in range(k):
        for v in range(k):
            if dag[u, v]:
                out[at[v]] = nodes[u]
                at[v] += 1
    return out, first
