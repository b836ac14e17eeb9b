"""Markov equivalence classes: counting, listing and uniformly sampling the DAGs of a CPDAG.

The undirected edges of a completed PDAG (CPDAG) form chain components, each a connected chordal graph. A DAG of
the class orients each component independently, without a directed cycle or a v-structure. So each component has
one root (Andersson, Madigan & Perlman 1997). Choosing the root orients part of the component. What stays
undirected consists of connected chordal graphs again (He, Jia & Yu 2015).

This recursion lists and draws DAGs, each represented by one topological order. A root is drawn in proportion to
the number of DAGs that have it. ``cliquepicking`` counts them in polynomial time (Wienöbst, Bannach & Liśkiewicz
2021); its own sampler is not used, because it takes no seed.

>>> found = EquivalenceClass(PDAG.from_edges("abc", undirected=[("a", "b"), ("b", "c")]))
>>> found.size, [found.to_dag(order).directed_edges() for order in found.orders()]
(3, [[('a', 'b'), ('b', 'c')], [('b', 'a'), ('b', 'c')], [('b', 'a'), ('c', 'b')]])

References: Andersson, Madigan & Perlman 1997, "A characterization of Markov equivalence classes for acyclic
digraphs", Annals of Statistics 25. He, Jia & Yu 2015, "Counting and exploring sizes of Markov equivalence
classes of directed acyclic graphs", JMLR 16. Wienöbst, Bannach & Liśkiewicz 2021, "Polynomial-time algorithms
for counting and sampling Markov equivalent DAGs", AAAI; extended in JMLR 24, 2023.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain, product
from typing import NamedTuple, TypeAlias

import cliquepicking
import numpy as np
from numpy.typing import NDArray

from brai.graphs.adjacency import array, bits, masks
from brai.graphs.pdag import PDAG

Chordal: TypeAlias = tuple[int, ...]  # connected chordal graph on 0..n-1: for each node the set of its neighbours
Masks: TypeAlias = list[int]  # for each node a set of nodes
Directions: TypeAlias = tuple[
    NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]
]  # tails, heads, P(tail → head)

MOST_PARTS = 1_000  # most distinct parts of a component for which directions are computed exactly


class Part(NamedTuple):
    """A chordal graph inside a larger graph: its node i is nodes[i] there."""

    nodes: tuple[int, ...]
    graph: Chordal


@lru_cache(2**13)
def _single(node: int) -> Part:
    return Part((node,), (0,))


def _connected(nodes: int, near: Sequence[int]) -> Iterator[Part]:
    """Connected components of the subgraph induced by a set of nodes; the nodes of each are renumbered from 0."""
    while nodes:
        found, edge = 0, nodes & -nodes
        while edge:
            found |= edge
            reached = 0
            for i in bits(edge):
                reached |= near[i]
            edge = reached & nodes & ~found
        nodes &= ~found
        if found.bit_count() == 1:
            yield _single(found.bit_length() - 1)
            continue
        members = tuple(bits(found))
        place = {node: i for i, node in enumerate(members)}
        yield Part(members, tuple(sum(1 << place[j] for j in bits(near[i] & found)) for i in members))


@lru_cache(2**14)
def parts_after(graph: Chordal, root: int) -> tuple[Part, ...]:
    """The root, then the parts that stay undirected given this root; other edges go from earlier to later parts.

    Algorithm 1 of Wienöbst et al.: a lexicographic search from the root. Unvisited nodes are kept in a sequence of
    sets. Each visited node splits every set into its neighbours and, after them, the other nodes. A set that
    becomes first while none of its nodes is visited forms one or more parts.
    """
    sets = [1 << root, (1 << len(graph)) - 1 & ~(1 << root)]
    before, after = [-1, 0], [1, -1]  # previous and next set of each set
    home, first, visited, started = [1] * len(graph), 0, 0, 1 << root
    parts = [_single(root)]
    while first >= 0:
        if not sets[first]:
            first = after[first]
            if first >= 0:
                before[first] = -1
            continue
        low = sets[first] & -sets[first]
        if not started & low:
            started |= sets[first]
            parts.extend(_connected(sets[first], graph))
        sets[first] ^= low
        visited |= low
        new: dict[int, int] = {}
        for i in bits(graph[low.bit_length() - 1] & ~visited):
            old = home[i]
            if old not in new:  # neighbours move to a new set in front of their old one
                new[old] = len(sets)
                sets.append(0)
                before.append(before[old])
                after.append(old)
                if before[old] >= 0:
                    after[before[old]] = new[old]
                before[old] = new[old]
                if old == first:
                    first = new[old]
            home[i] = new[old]
            sets[new[old]] |= 1 << i
            sets[old] ^= 1 << i
    return tuple(parts)


@lru_cache(2**16)
def count(graph: Chordal) -> int:
    """Number of orientations of a connected chordal graph without directed cycles and v-structures."""
    return int(cliquepicking.mec_size([(i, j) for i, near in enumerate(graph) for j in bits(near)]))


def _is_tree(graph: Chordal) -> bool:
    return sum(near.bit_count() for near in graph) == 2 * (len(graph) - 1)


@lru_cache(2**12)
def roots(graph: Chordal) -> list[float]:
    """Cumulative probabilities of the roots in a uniform draw."""
    if _is_tree(graph):  # the root determines all directions
        ways = [1] * len(graph)
    else:
        ways = [math.prod(count(own.graph) for own in parts_after(graph, root)) for root in range(len(graph))]
    total = sum(ways)
    return [added / total for added in accumulate(ways)]


def _draw(part: Part, uniform: Callable[[], float]) -> list[int]:
    if len(part.nodes) == 1:
        return list(part.nodes)
    cumulative = roots(part.graph)
    root = bisect_right(cumulative, uniform(), hi=len(cumulative) - 1)
    return [part.nodes[i] for own in parts_after(part.graph, root) for i in _draw(own, uniform)]


def _first(part: Part) -> list[int]:
    if len(part.nodes) == 1:
        return list(part.nodes)
    return [part.nodes[i] for own in parts_after(part.graph, 0) for i in _first(own)]


def _orders(part: Part) -> Iterator[tuple[int, ...]]:
    if len(part.nodes) == 1:
        yield part.nodes
        return
    for root in range(len(part.graph)):
        for orders in product(*map(_orders, parts_after(part.graph, root))):
            yield tuple(part.nodes[i] for i in chain.from_iterable(orders))


class TooManyPartsError(RuntimeError):
    """A component has too many parts to compute its edge directions exactly."""


@lru_cache(2**10)
def _directions(graph: Chordal, limit: int) -> Directions | None:
    """P(i → j) for the edges of a connected chordal graph over all its orientations; None beyond ``limit`` parts.

    The root determines some edges, and the recursion into the remaining parts the others. Results are cached per
    part.
    """
    known: dict[Chordal, NDArray[np.float64]] = {}
    begun = 0

    def directions(graph: Chordal) -> NDArray[np.float64]:
        nonlocal begun
        if graph not in known:
            begun += 1
            if begun > limit:
                raise TooManyPartsError
            known[graph] = _tree_directions(graph) if _is_tree(graph) else by_root(graph)
        return known[graph]

    def by_root(graph: Chordal) -> NDArray[np.float64]:
        edges = array(graph).view(bool)
        found, rank = np.zeros(edges.shape), np.empty(len(graph), np.int64)
        for root, share in enumerate(np.diff(roots(graph), prepend=0.0)):
            parts = parts_after(graph, root)
            for k, part in enumerate(parts):
                rank[list(part.nodes)] = k
            found += share * (edges & (rank[:, None] < rank))
            for part in parts:
                if len(part.nodes) > 1:
                    found[np.ix_(part.nodes, part.nodes)] += share * directions(part.graph)
        return found

    try:
        found = directions(graph)
    except TooManyPartsError:
        return None
    tails, heads = np.nonzero(array(graph))
    return tails, heads, found[tails, heads]


def _tree_directions(graph: Chordal) -> NDArray[np.float64]:
    """P(i → j) in a tree: the share of nodes on the side of i, because every node is the root equally often."""
    n, found, above, below = len(graph), np.zeros((len(graph),) * 2), [-1] * len(graph), [1] * len(graph)
    order = [0]
    for i in order:  # grows while it is read
        for j in bits(graph[i] & ~(1 << above[i] if above[i] >= 0 else 0)):
            above[j] = i
            order.append(j)
    for j in reversed(order[1:]):
        found[j, above[j]], found[above[j], j] = below[j] / n, 1 - below[j] / n
        below[above[j]] += below[j]
    return found


class EquivalenceClass:
    """The DAGs of a CPDAG (it is not checked that it is one).

    A DAG is represented by a topological order of its nodes: it has the directed edges of the CPDAG, and the
    undirected ones oriented along the order.
    """

    def __init__(self, cpdag: PDAG):
        self.cpdag = cpdag
        self._pa, self._ch, self._ne, _ = masks(cpdag.adjacency)
        self._components = self._sorted(list(_connected((1 << len(cpdag.names)) - 1, self._ne)))

    def _sorted(self, parts: list[Part]) -> list[Part]:
        """Components in topological order: directed edges go from earlier to later ones."""
        home = {node: k for k, part in enumerate(parts) for node in part.nodes}
        above = [{home[p] for node in part.nodes for p in bits(self._pa[node])} for part in parts]
        below = [{home[c] for node in part.nodes for c in bits(self._ch[node])} for part in parts]
        ready, done = [k for k, up in enumerate(above) if not up], []
        while ready:
            done.append(k := ready.pop())
            for later in below[k]:
                above[later].discard(k)
                if not above[later]:
                    ready.append(later)
        return [parts[k] for k in done]

    @cached_property
    def size(self) -> int:
        """Number of DAGs."""
        return math.prod(count(part.graph) for part in self._components if len(part.nodes) > 1)

    def first(self) -> list[int]:
        """One DAG of the class, always the same."""
        return [node for part in self._components for node in _first(part)]

    def orders(self) -> Iterator[list[int]]:
        """Every DAG once. All orientations of each component are held in memory: check ``size`` first."""
        for orders in product(*map(_orders, self._components)):
            yield list(chain.from_iterable(orders))

    def draw(self, rng: np.random.Generator) -> list[int]:
        """A uniform draw of a DAG."""
        return [node for part in self._components for node in _draw(part, rng.random)]

    def parents(self, order: Sequence[int]) -> Masks:
        """Parents of each node in the DAG of this order."""
        parents, before = self._pa.copy(), 0
        for node in order:
            parents[node] |= self._ne[node] & before
            before |= 1 << node
        return parents

    def ancestors(self, order: Sequence[int]) -> Masks:
        """Ancestors of each node in the DAG of this order, without the node itself."""
        found, before = [0] * len(order), 0
        for node in order:
            above = mine = self._pa[node] | self._ne[node] & before
            while mine:
                low = mine & -mine
                above |= found[low.bit_length() - 1]
                mine ^= low
            found[node] = above
            before |= 1 << node
        return found

    def to_dag(self, order: Sequence[int]) -> PDAG:
        """The DAG of this order."""
        return PDAG(self.cpdag.names, array(self.parents(order)).T)

    def certain_parents(self) -> Masks:
        """For each node the nodes that are a parent of it in every DAG."""
        return self._pa

    def possible_parents(self) -> Masks:
        """For each node the nodes that are a parent of it in some DAG."""
        return [p | n for p, n in zip(self._pa, self._ne, strict=True)]

    def possible_ancestors(self) -> Masks:
        """For each node the nodes that are an ancestor of it in some DAG."""
        found = [0] * len(self._pa)
        for part in self._components:
            above = sum(1 << node for node in part.nodes)
            for p in bits(self._pa[part.nodes[0]]):  # all nodes of a component have the same parents
                above |= found[p] | 1 << p
            for node in part.nodes:
                found[node] = above & ~(1 << node)
        return found

    def certain_ancestors(self) -> Masks:
        """For each node the nodes from which a path of compelled edges leads to it."""
        found = [0] * len(self._pa)
        for node in chain.from_iterable(part.nodes for part in self._components):
            for p in bits(self._pa[node]):
                found[node] |= found[p] | 1 << p
        return found

    def edge_probabilities(self, limit: int = MOST_PARTS) -> NDArray[np.float64]:
        """Exact P(i → j) over the DAGs of the class; TooManyPartsError if a component has too many parts."""
        found = array(self._pa).T.astype(np.float64)
        for part in self._components:
            if len(part.nodes) > 1:
                directions = _directions(part.graph, limit)
                if directions is None:
                    raise TooManyPartsError(f"a component has more than {limit} parts: draw DAGs, or raise limit")
                tails, heads, probabilities = directions
                nodes = np.array(part.nodes)
                found[nodes[tails], nodes[heads]] = probabilities
        return found
