"""The completed PDAG of a DAG."""

from __future__ import annotations

import numpy as np

from brai.kernels.interface import Array
from brai.runtime.jit import njit


@njit
def complete(dag: Array) -> tuple[bool, Array]:
    """Make the reversible edges of a DAG undirected; False if the graph is none.

    Label-Edges of Chickering 1995: nodes y in topological order, and the edge x → y with x last in that
    order; this one visit labels every edge into y. All are compelled if some w → x is compelled with w no
    parent of y, or another parent of y is no parent of x; else w → y is where w → x is, the rest reversible.
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
