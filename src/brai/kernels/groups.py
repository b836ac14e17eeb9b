"""Groups: adjacent nodes, numbers of potential parents, sub-graphs.

These functions are compiled, so that threads do not wait for the GIL.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai.kernels.interface import Array
from brai.runtime.jit import njit


class Piece(NamedTuple):
    """The sub-graph of a group, indexed 0..k-1."""

    nodes: Array  # (k,) int64: the variables
    endo: Array  # (k,) uint8: 1 for endogenous nodes (X), 0 for X_ex
    adj: Array  # (k, k) uint8, row to column
    sep: Array  # (k, k) int32: offset in the pool of the separating set of a pair
    pool: Array  # int32: separating sets; each is its size, then its members


class Known(NamedTuple):
    """Background knowledge, by variable, row to column."""

    bounds: Array  # (d, d) uint8: 0 for a forbidden edge, 1 for an allowed one, MUST for a required one
    before: Array  # (d, d) uint8: whether row may be an ancestor of column; MUST if it certainly is
    strict: bool  # whether there is any knowledge


NEARBY = 64  # block size for reading columns of a graph, to use cache lines well


@njit
def joined(adj: Array, a: int, b: int) -> bool:
    """Whether a and b are adjacent."""
    return adj[a, b] or adj[b, a]


@njit
def neighbours(adj: Array) -> tuple[Array, Array]:
    """Adjacency lists (first, near): the neighbours of v are near[first[v]:first[v+1]], in increasing order."""
    k = len(adj)
    both, first = np.empty((k, k), np.uint8), np.zeros(k + 1, np.int64)
    for block in range(0, k, NEARBY):
        for v in range(k):
            for u in range(block, min(k, block + NEARBY)):
                both[v, u] = joined(adj, v, u)
    for v in range(k):
        first[v + 1] = first[v]
        for u in range(k):
            first[v + 1] += both[v, u]
    near, n = np.empty(first[k], np.int64), 0
    for v in range(k):
        for u in range(k):
            if both[v, u]:
                near[n] = u
                n += 1
    return first, near


@njit
def loads(endo: Array, adj: Array) -> tuple[int, int, int]:
    """Maximum and sum of squares of the numbers of potential parents in X, and the number of ones in ``adj``."""
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
    """The sub-graph of the nodes with label i and of their parents: nodes, endo, adj and sep."""
    k, n, m = len(nodes), 0, 0
    kept, members = np.empty(k, np.int64), np.empty(k, np.int64)
    for v in range(k):
        if label[v] == i:
            members[m] = v
            m += 1
    for u in range(k):
        here = label[u] == i
        for v in members[:m]:
            if here:
                break
            here = adj[u, v] != 0
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
    """Parent lists (out, first): the parents of v are out[first[v]:first[v+1]], as variables."""
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
