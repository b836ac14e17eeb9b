"""Algorithms on graphs given as adjacency arrays: order, completion, Meek rules, extension, d-separation.

Conventions are those of `brai.graphs.pdag`: ``adjacency[i, j] = 1`` is i → j ("row to column"), 1 both ways is
i – j, and ties go to the lowest index. Internally, a set of nodes is a Python integer with bit i for node i.
References are listed in `brai.graphs.pdag`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Adjacency: TypeAlias = NDArray[np.int8]


def bits(mask: int) -> Iterator[int]:
    """Members of a set, in increasing order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def rows(adjacency: Adjacency) -> list[int]:
    """For each row the set of columns that hold 1."""
    packed = np.packbits(adjacency.view(bool), axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def masks(adjacency: Adjacency) -> tuple[list[int], list[int], list[int], list[int]]:
    """For each node the sets of its parents, its children, its undirected neighbours, and all adjacent nodes."""
    both = list(zip(rows(adjacency), rows(adjacency.T), strict=True))
    pa, ch = [i & ~o for o, i in both], [o & ~i for o, i in both]
    return pa, ch, [o & i for o, i in both], [o | i for o, i in both]


def array(rows: Sequence[int]) -> Adjacency:
    """The inverse of `rows`."""
    d, width = len(rows), (len(rows) + 7) // 8
    packed = np.frombuffer(bytearray().join(row.to_bytes(width, "little") for row in rows), dtype=np.uint8)
    return np.unpackbits(packed.reshape(d, width), axis=1, count=d, bitorder="little").view(np.int8)


def checked(adjacency: ArrayLike) -> Adjacency:
    """A copy of the array; ValueError if it is not a square 0/1 array with a zero diagonal."""
    a = np.asarray(adjacency)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"adjacency has shape {a.shape}: give a square (d, d) array, one row per node")
    for i, j in np.argwhere((a != 0) & (a != 1)):
        raise ValueError(f"adjacency[{i}, {j}] is {a[i, j]}: write 1 for an edge from row to column, else 0")
    for i in np.flatnonzero(a.diagonal()):
        raise ValueError(f"adjacency[{i}, {i}] is 1, a self loop: set the diagonal to 0")
    return a.astype(np.int8)


def topological_order(adjacency: ArrayLike, names: Sequence[str] | None = None) -> list[int]:
    """Nodes of a DAG, parents before children; ties go to the lowest index.

    ValueError if there is a cycle; the message shows it, with ``names`` if given. An undirected edge is a cycle.
    """
    a = checked(adjacency)
    pa, ch, shown = rows(a.T), rows(a), names or range(len(a))
    waiting = [p.bit_count() for p in pa]
    ready = [i for i, n in enumerate(waiting) if n == 0]  # sorted, so a heap
    order: list[int] = []
    while ready:  # Kahn's algorithm
        order.append(heappop(ready))
        for j in bits(ch[order[-1]]):
            waiting[j] -= 1
            if waiting[j] == 0:
                heappush(ready, j)
    if len(order) < len(pa):
        left = sum(1 << i for i, n in enumerate(waiting) if n)
        walk = [next(bits(left))]  # each node left has a parent left, so walking up must return to a node
        while (up := next(bits(pa[walk[-1]] & left))) not in walk:
            walk.append(up)
        cycle = " → ".join(str(shown[i]) for i in [up, *reversed(walk[walk.index(up) :])])
        raise ValueError(f"not a DAG: {cycle} is a cycle; reverse an edge of it (undirected: use PDAG.to_dag())")
    return order


def dag_to_cpdag(adjacency: ArrayLike) -> Adjacency:
    """The completed PDAG (CPDAG) of a DAG: compelled edges stay directed, reversible edges become undirected."""
    topological_order(given := checked(adjacency))  # refuses a cycle
    made = completed(given)
    assert made is not None
    return made


def completed(adjacency: Adjacency) -> Adjacency | None:
    """The same for an adjacency array that was checked before; None if it is not a DAG."""
    from brai.kernels.completion import complete  # imported here because numba is slow to import

    given = np.ascontiguousarray(adjacency, np.int8).view()
    given.setflags(write=False)  # one compiled version for all arguments
    is_dag, made = complete(given)
    return made if is_dag else None


def meek(adjacency: ArrayLike) -> Adjacency:
    """Orient undirected edges by rules R1–R3 of Meek 1995 until none applies. x – y becomes x → y if

    - R1: w → x, with w and y not adjacent (else a new v-structure),
    - R2: x → w → y (else a directed cycle),
    - R3: x – v → y and x – w → y, with v and w not adjacent (else one or the other).

    Applied to a skeleton with its v-structures this gives the CPDAG; R4 is needed only with background knowledge.
    If several pairs (x, y) can be oriented, the lexicographically first is next. The order matters only in a graph
    without a consistent extension, where rules can contradict each other.
    """
    pa, ch, ne, near = masks(checked(adjacency))

    def ruled(x: int, y: int) -> bool:
        between = ne[x] & pa[y]
        return (
            bool(pa[x] & ~near[y])  # R1
            or bool(ch[x] & pa[y])  # R2
            or any(between & ~near[v] & ~(1 << v) for v in bits(between))  # R3
        )

    queue = [(x, y) for x in range(len(pa)) for y in bits(ne[x])]  # sorted, so a heap; holds all candidate pairs
    while queue:
        x, y = heappop(queue)
        if ne[x] >> y & 1 and ruled(x, y):
            ne[x], ne[y] = ne[x] ^ 1 << y, ne[y] ^ 1 << x
            ch[x], pa[y] = ch[x] | 1 << y, pa[y] | 1 << x
            fresh = [(y, c) for c in bits(ne[y] & ~near[x])]  # R1 with w = x
            fresh += [(x, c) for c in bits(ne[x] & ch[y])]  # R2 with x → y as its first edge
            fresh += [(c, y) for c in bits(ne[y] & (pa[x] | ne[x]))]  # R2 as its second edge; R3 with v or w = x
            for pair in fresh:
                heappush(queue, pair)
    return array([c | n for c, n in zip(ch, ne, strict=True)])


def extend(adjacency: Adjacency) -> tuple[Adjacency, list[int]]:
    """Consistent extension by Dor & Tarsi 1992, and the nodes left over if there is none."""
    pa, ch, ne, near = masks(adjacency)
    found, left = [0] * len(pa), set(range(len(pa)))
    queue = sorted(left)  # a heap; a node that cannot be removed is queued again when a neighbour is removed
    while queue:
        x = heappop(queue)
        # (a) x is a sink, (b) each y – x is adjacent to all others adjacent to x
        if x in left and not ch[x] and not any(near[x] & ~near[y] & ~(1 << y) for y in bits(ne[x])):
            found[x] = near[x]
            left.remove(x)
            for y in bits(near[x]):
                ch[y], ne[y], near[y] = ch[y] & ~(1 << x), ne[y] & ~(1 << x), near[y] & ~(1 << x)
                heappush(queue, y)
    return array(found).T, sorted(left)


def v_structures(adjacency: Adjacency) -> set[tuple[int, int, int]]:
    """Triples (a, c, b) with a → c ← b, a < b not adjacent."""
    pa, _, _, near = masks(adjacency)
    pairs = ((a, c, b) for c, p in enumerate(pa) for a, b in combinations(bits(p), 2))
    return {(a, c, b) for a, c, b in pairs if not near[a] >> b & 1}


def markov_equivalent(a: ArrayLike, b: ArrayLike) -> bool:
    """Whether two DAGs (or CPDAGs) have the same skeleton and the same v-structures (Verma & Pearl 1990)."""
    a, b = checked(a), checked(b)
    if a.shape != b.shape:
        raise ValueError(f"graphs of {len(a)} and {len(b)} nodes: compare graphs over the same nodes")
    return np.array_equal(a | a.T, b | b.T) and v_structures(a) == v_structures(b)


def d_separated(parents: Sequence[Sequence[int]], x: int, y: int, given: Iterable[int]) -> bool:
    """Whether ``given`` d-separates x and y in the DAG with these parent lists (Bayes ball, Shachter 1998).

    The parent lists must be acyclic. That is not checked, because an oracle calls this for every CI test.
    """
    z = set(given)
    for node in (x, y, *z):
        if not 0 <= node < len(parents):
            raise ValueError(f"node {node} is not in the graph: nodes are 0 to {len(parents) - 1}")
    if x == y or x in z or y in z:
        raise ValueError(f"x = {x}, y = {y}, given = {sorted(z)} overlap: remove the repeated node")
    children: dict[int, list[int]] = {}
    above = [x, y, *z]
    while above:  # only the ancestors of x, y and z matter: an open path stays within them
        if (node := above.pop()) not in children:
            children[node] = []
            above.extend(parents[node])
    for node in children:
        for parent in parents[node]:
            children[parent].append(node)
    stack, seen = [(x, True)], set()  # (node, whether the ball comes from a child)
    while stack:
        if (ball := stack.pop()) not in seen:
            seen.add(ball)
            node, from_child = ball
            if node == y:
                return False
            if node not in z:
                stack.extend((child, False) for child in children[node])
            if from_child != (node in z):  # passes up through an unobserved node, bounces off an observed one
                stack.extend((parent, True) for parent in parents[node])
    return True
