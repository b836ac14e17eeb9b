"""IncreaseResolution, second half (v-structures, Meek rules), and SplitAutonomous."""

from __future__ import annotations

import numpy as np

from brai.kernels.groups import Known, Piece, joined, neighbours
from brai.kernels.interface import MUST, Array, Evidence, begin, d_separated, independent, test, turn
from brai.runtime.jit import njit

WHILE = 2_000_000  # approximate number of pairs of neighbours in one compiled call


@njit
def colliders(
    evidence: Evidence,
    piece: Piece,
    before: Array,
    verify: bool,
    tally: Array,
    first: int,
    last: int,
    head: Array,
) -> None:
    """Fill head[:, first:last] with the arrowheads of v-structures x → z ← y, for z of X in first..last-1.

    The graph is not changed, so ranges are independent of each other. ``tally`` counts tests by order.

    In a v-structure x and y are not adjacent, and z is not in their separating set S. If ``verify`` is true, the
    v-structure is accepted only if x and y are dependent given S and z. Edges X_ex → X keep their heads; other
    heads are determined anew. One v-structure suffices for an arrowhead, so tests that cannot add a head are
    skipped. ``before[x, z]`` (d, d, by variable) is whether x may be an ancestor of z by background knowledge; an
    edge gets no head against it. If x certainly is one (MUST), the edge x → z has its head from the start.
    """
    nodes, endo, adj, sep, pool = piece
    truth, k = evidence.rule.truth, len(nodes)
    given, near = np.empty(len(tally), np.int64), np.empty(k, np.int64)
    oracle = len(truth) > 0
    begin(evidence)
    for x in range(k):
        if not endo[x]:
            for z in range(first, last):
                head[x, z] = adj[x, z] and endo[z]
        else:
            for z in range(first, last):
                head[x, z] = endo[z] and joined(adj, x, z) and before[nodes[x], nodes[z]] == MUST
    for z in range(first, last):
        if not endo[z]:
            continue
        degree, alone = 0, False
        for x in range(k):
            if joined(adj, z, x):
                near[degree] = x
                degree += 1
        for i in range(degree):
            x = near[i]
            for j in range(i + 1, degree):
                y = near[j]
                if joined(adj, x, y) or (head[x, z] and head[y, z]):
                    continue
                at = sep[x, y]
                if at < 0 or not before[nodes[x], nodes[z]] or not before[nodes[y], nodes[z]]:
                    continue
                size, inside = pool[at], False
                for m in range(size):
                    given[m] = pool[at + 1 + m]
                    inside = inside or given[m] == nodes[z]
                if inside:
                    continue
                if verify:
                    tally[size + 1] += 1
                    if size > 0 or not alone:  # with S = {}, the usual case, counts for z are shared
                        turn(evidence, 0)
                        alone = size == 0
                    given[size] = nodes[z]
                    if oracle:
                        apart = d_separated(truth, nodes[x], nodes[y], given, size + 1)
                    else:
                        value, df, decision = test(evidence, nodes[y], nodes[x], given, size + 1, 1)
                        apart = independent(evidence, value, df, decision, 1)
                    if apart:
                        continue
                head[x, z] = head[y, z] = 1


@njit
def separates(sep: Array, pool: Array, a: int, c: int, node: int) -> bool:
    """Whether the separating set of a and c is known and contains a variable."""
    at = sep[a, c]
    if at >= 0:
        for m in range(pool[at]):
            if pool[at + 1 + m] == node:
                return True
    return False


@njit
def meek_fires(piece: Piece, strict: bool, near: Array, head: Array, b: int, c: int) -> bool:
    """Whether Meek rule R1, R2 or R3 (1995) orients b – c as b → c; ``near`` contains the neighbours of b.

    R1 and R3 use that a → b ← c, or a → b ← e, is not a v-structure. With background knowledge (``strict``) this
    is required explicitly: b must be in the separating set, hence an ancestor of one of the two. Otherwise it
    would not be certain, since forbidden pairs are not tested like others.
    """
    nodes, _, adj, sep, pool = piece
    for a in near:
        if a == c:
            continue
        if head[a, b] and not joined(adj, a, c):  # R1: a → b
            if not strict or separates(sep, pool, a, c, nodes[b]):
                return True
        into_c = head[a, c] and not head[c, a]
        if into_c and head[b, a] and not head[a, b]:  # R2: b → a → c
            return True
        if into_c and not head[a, b] and not head[b, a]:  # R3: b – a → c, b – e → c
            for e in near:
                if (
                    e < a
                    and head[e, c]
                    and not head[c, e]
                    and not head[e, b]
                    and not head[b, e]
                    and not joined(adj, a, e)
                    and (not strict or separates(sep, pool, a, e, nodes[b]))
                ):
                    return True
    return False


@njit
def meek(piece: Piece, known: Known, first: Array, near: Array, head: Array) -> None:
    """Apply the Meek rules until nothing changes. All rules of a round see the same graph, so the order of nodes
    does not matter.

    An edge that is directed both ways gets two heads, like one between conflicting v-structures. No edge is
    directed from b to c if b cannot be an ancestor of c (``before``, see `colliders`).
    """
    nodes, endo, before = piece.nodes, piece.endo, known.before
    n, new = 1, np.empty((len(near), 2), np.int64)
    while n > 0:
        n = 0
        for b in range(len(endo)):
            own = near[first[b] : first[b + 1]]
            for c in own:
                if not (endo[b] and endo[c] and before[nodes[b], nodes[c]]) or head[b, c] or head[c, b]:
                    continue
                if meek_fires(piece, known.strict, own, head, b, c):
                    new[n, 0], new[n, 1] = b, c
                    n += 1
        for i in range(n):
            head[new[i, 0], new[i, 1]] = 1


@njit
def direct(piece: Piece, known: Known, head: Array) -> None:
    """Direct the edges into X, in place, by the heads of v-structures and the Meek rules.

    Edges with two heads keep both during the Meek rules and are undirected afterwards: at a low order, an edge
    that a higher order will remove can correctly have both. For the same reason, knowledge about ancestors directs
    edges last: from an edge that may still be removed, rules R2 and R3 could draw wrong conclusions.
    """
    nodes, endo, adj, before = piece.nodes, piece.endo, piece.adj, known.before
    first, near = neighbours(adj)
    meek(piece, known, first, near, head)
    for a in range(len(adj)):
        for b in near[first[a] : first[a + 1]]:
            if endo[a] and endo[b] and not before[nodes[b], nodes[a]]:
                head[a, b] = 1
    for a in range(len(adj)):
        for b in near[first[a] : first[a + 1]]:
            if b < a and (endo[a] or endo[b]):
                adj[a, b] = not (head[b, a] and not head[a, b])
                adj[b, a] = not (head[a, b] and not head[b, a])


def orient(evidence: Evidence, piece: Piece, known: Known, verify: bool, tally: Array) -> None:
    """Direct the edges into X, in place; ``tally`` counts tests by order."""
    k = len(piece.nodes)
    some = 1 + WHILE // (k * k + 1)
    head = np.zeros((k, k), np.uint8)
    for first in range(0, k, some):  # compiled code does not see signals, so each call is short
        colliders(evidence, piece, known.before, verify, tally, first, min(k, first + some), head)
    direct(piece, known, head)


@njit
def components(endo: Array, adj: Array) -> Array:
    """Index of the strongly connected component of each node of X, -1 for X_ex (Tarjan 1972).

    A component has a higher index than all components reachable from it.
    """
    k, n, time, depth, top = len(endo), 0, 0, 0, 0
    found, low = np.full(k, -1), np.full(k, -1)  # Tarjan's index and low-link
    label, open_nodes, path, at = (
        np.full(k, -1),
        np.empty(k, np.int64),
        np.empty(k, np.int64),
        np.zeros(k, np.int64),
    )
    for root in range(k):
        if not endo[root] or found[root] >= 0:
            continue
        path[0], depth = root, 1
        while depth > 0:
            v = path[depth - 1]
            if found[v] < 0:
                found[v] = low[v] = time
                time += 1
                open_nodes[top] = v
                top += 1
            deeper = False
            while at[v] < k:
                u = at[v]
                if endo[u] and adj[v, u]:
                    if found[u] < 0:
                        path[depth] = u
                        depth += 1
                        deeper = True
                        break
                    if label[u] < 0:
                        low[v] = min(low[v], low[u])
                at[v] += 1
            if deeper:
                continue
            depth -= 1
            if low[v] == found[v]:
                while True:
                    top -= 1
                    label[open_nodes[top]] = n
                    if open_nodes[top] == v:
                        break
                n += 1
    return label


@njit
def split(endo: Array, adj: Array) -> tuple[Array, int]:
    """SplitAutonomous: a label for each node (0 for X_D, 1..K for the ancestor sets, -1 for X_ex), and K.

    X_D are the nodes of lowest topological order. A node is in X_D if each node that it reaches along directed and
    undirected edges also reaches it. The ancestor sets are the connected components of the other nodes.
    """
    k, label = len(endo), components(endo, adj)
    leads_on, group, stack = np.zeros(k, np.uint8), np.full(k, -1), np.empty(k, np.int64)
    for v in range(k):
        for u in range(k):
            if endo[v] and endo[u] and adj[v, u] and label[u] != label[v]:
                leads_on[label[v]] = 1
    for v in range(k):
        if endo[v] and not leads_on[label[v]]:
            group[v] = 0
    n = 0
    for s in range(k):
        if endo[s] and group[s] < 0:
            n += 1
            group[s] = n
            stack[0], top = s, 1
            while top > 0:
                top -= 1
                v = stack[top]
                for u in range(k):
                    if endo[u] and group[u] < 0 and joined(adj, v, u):
                        group[u] = n
                        stack[top] = u
                        top += 1
    return group, n
