"""The completed PDAG of a DAG."""

from __future__ import annotations

import numpy as np

from brai.kernels.interface import Array
from brai.runtime.jit import njit


@njit
def complete(dag: Array) -> tuple[bool, Array]:
    """Whether the graph is a DAG, and its CPDAG: the DAG with reversible edges made undirected.

    This is Label-Edges of Chickering 1995. Nodes y are visited in topological order; x is the last parent of y in
    that order. All edges into y are compelled if some w → x is compelled and w is not a parent of y, or if another
    parent of y is not a parent of x. Otherwise w → y is compelled if w → x is, and all other edges are reversible.
    """
    d, n, done = len(dag), 0, 0
    waiting, order, rank = np.zeros(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    for p in range(d):
        for y in range(d):
            waiting[y] += dag[p, y] != 0
    for y in range(d):
        if waiting[y] == 0:
            order[n] = y
            n += 1
    while done < n:  # Kahn's algorithm
        p = order[done]
        rank[p] = done
        done += 1
        for y in range(d):
            if dag[p, y]:
                waiting[y] -= 1
                if waiting[y] == 0:
                    order[n] = y
                    n += 1
    out = dag.copy()
    if n < d:
        return False, out
    parents, compelled = np.empty(d, np.int64), np.zeros((d, d), np.bool_)  # compelled[y, p] for p → y
    for i in range(d):
        y, m, x = order[i], 0, -1
        for p in range(d):
            if dag[p, y]:
                parents[m] = p
                m += 1
                if x < 0 or rank[p] > rank[x]:
                    x = p
        if m == 0:
            continue
        every = False
        for w in range(d):
            every = every or (compelled[x, w] and not dag[w, y])
        for p in parents[:m]:
            every = every or (p != x and not dag[p, x])
        for p in parents[:m]:
            compelled[y, p] = every or compelled[x, p]
            out[y, p] = not compelled[y, p]
    return True, out
