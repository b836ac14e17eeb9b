"""Groups: who is adjacent to whom, what a graph weighs, how a part is cut out.

Compiled, so that workers do not wait for Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai.kernels.interface import Array
from brai.runtime.jit import njit


class Piece(NamedTuple):
    """A group's part of the graph, indexed 0..k-1."""

    nodes: Array  # (k,) int64: the variables behind it
    endo: Array  # (k,) uint8: 1 for the endogenous ones (X), 0 for X_ex
    adj: Array  # (k, k) uint8, row to column
    sep: Array  # (k, k) int32: where the separating set of a pair lies in the pool
    pool: Array  # int32: separating sets, each its size, then its members


class Known(NamedTuple):
    """Background knowledge, by variable, row to column."""

    bounds: Array  # (d, d) uint8: 0 for an edge that may not be, 1 for one that may, MUST for one that must
    before: Array  # (d, d) uint8: whether one may be an ancestor of the other; MUST if it is one for certain
    strict: bool  # whether anything is known


NEARBY = 64  # rows of a graph whose columns are read together, or memory would be waited for


@njit
def joined(adj: Array, a: int, b: int) -> bool:
    """Whether a and b are adjacent."""
    return adj[a, b] or adj[b, a]


@njit
def neighbours(adj: Array) -> tuple[Array, Array]:
    """Adjacent nodes of all nodes in a row, in increasing order, and where those of each begin."""
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
