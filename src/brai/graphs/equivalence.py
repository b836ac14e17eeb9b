"""Markov equivalence classes: how many DAGs a CPDAG stands for, all of them, and uniform draws.

The undirected edges of a CPDAG fall into chain components, each a connected chordal graph. A DAG of the class
directs every component on its own, without a directed cycle or a v-structure, and so from one root (Andersson,
Madigan & Perlman 1997). Choosing the root directs part of the component; what stays undirected are connected
chordal graphs again (He, Jia & Yu 2015). That recursion lists and draws DAGs here, each as one topological
order. Roots are drawn in proportion to the number of DAGs they leave; ``cliquepicking`` counts these in
polynomial time (Wienöbst, Bannach & Liśkiewicz 2021). Its own sampler takes no seed, so it is not used.

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

Chordal: TypeAlias = tuple[int, ...]  # connected chordal graph on 0..n-1: per node the set of its neighbours
Masks: TypeAlias = list[int]  # per node a set of nodes
Directions: TypeAlias = tuple[
    NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]
]  # tails, heads, P(tail → head)

MOST_PARTS = 1_000  # different parts of one component up to which directions are worked out exactly


class Part(NamedTuple):
    """A chordal graph inside a larger one: node i of it is nodes[i] there."""

    nodes: tuple[int, ...]
    graph: Chordal


@lru_cache(2**13)
def _single(node: int) -> Part:
    return Part((node,), (0,))


def _connected(nodes: int, near: Sequence[int]) -> Iterator[Part]:
    """Connected components of the graph induced on a set of nodes, each on its own numbers."""
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
    """The root, then the parts that stay undirected once it is the root; other edges go from earlier to later.

    Algorithm 1 of Wienöbst et al.: a lexicographic search from the root. The nodes wait in a sequence of sets,
    split by each visited node into its neighbours and, after them, the others; a set nobody of which was
    visited before it came first is a part, or several.
    """
    sets = [1 << root, (1 << len(graph)) - 1 & ~(1 << root)]
    before, after = [-1, 0], [1, -1]  # by set, the ones beside it
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
            if old not in new:  # neighbours move to a set of their own, in front of where they were
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
    """Number of ways to direct a connected chordal graph without cycle or v-structure."""
    return int(cliquepicking.mec_size([(i, j) for i, near in enumerate(graph) for j in bits(near)]))


def _is_tree(graph: Chordal) -> bool:
    return sum(near.bit_count() for near in graph) == 2 * (len(graph) - 1)


@lru_cache(2**12)
def roots(graph: Chordal) -> list[float]:
    """Probability of each root in a uniform draw, added up."""
    if _is_tree(graph):  # a root directs it all
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
    """A component is too entangled to work out its directions exactly."""


@lru_cache(2**10)
def _directions(graph: Chordal, limit: int) -> Directions | None:
    """P(i → j) for the edges of a connected chordal graph, over all ways to direct it; None beyond limit parts.

    The root directs some edges, and the parts it leaves do the rest. A part that turns up again is not worked
    out again.
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
    """P(i → j) in a tree: the share of nodes on the side of i, for any of them may be the root."""
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
    """The DAGs of one CPDAG (taken to be one, not checked). A DAG is given by a topological order of its nodes:
    it has the directed edges of the CPDAG, and its undirected edges along the order.
    """

    def __init__(self, cpdag: PDAG):
        self.cpdag = cpdag
        self._pa, self._ch, self._ne, _ = masks(cpdag.adjacency)
        self._components = self._sorted(list(_connected((1 << len(cpdag.names)) - 1, self._ne)))

    def _sorted(self, parts: list[Part]) -> list[Part]:
        """Components in an order in which directed edges go from earlier to later ones."""
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
        """One DAG, always the same."""
        return [node for part in self._components for node in _first(part)]

    def orders(self) -> Iterator[list[int]]:
        """Every DAG once. The ways to direct each component are all kept: look at ``size`` first."""
        for orders in product(*map(_orders, self._components)):
            yield list(chain.from_iterable(orders))

    def draw(self, rng: np.random.Generator) -> list[int]:
        """A DAG, each with the same probability."""
        return [node for part in self._components for node in _draw(part, rng.random)]

    def parents(self, order: Sequence[int]) -> Masks:
        """Parents of each node in the DAG of this order."""
        parents, before = self._pa.copy(), 0
        for node in order:
            parents[node] |= self._ne[node] & before
            before |= 1 << node
        return parents

    def ancestors(self, order: Sequence[int]) -> Masks:
        """Ancestors of each node in the DAG of this order, itself left out."""
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
        """For each node those that are a parent of it in every DAG."""
        return self._pa

    def possible_parents(self) -> Masks:
        """For each node those that are a parent of it in some DAG."""
        return [p | n for p, n in zip(self._pa, self._ne, strict=True)]

    def possible_ancestors(self) -> Masks:
        """For each node those that are an ancestor of it in some DAG: no others can ever be one."""
        found = [0] * len(self._pa)
        for part in self._components:
            above = sum(1 << node for node in part.nodes)
            for p in bits(self._pa[part.nodes[0]]):  # all nodes of a component have the same parents
                above |= found[p] | 1 << p
            for node in part.nodes:
                found[node] = above & ~(1 << node)
        return found

    def certain_ancestors(self) -> Masks:
        """For each node those from which compelled edges lead to it."""
        found = [0] * len(self._pa)
        for node in chain.from_iterable(part.nodes for part in self._components):
            for p in bits(self._pa[node]):
                found[node] |= found[p] | 1 << p
        return found

    def edge_probabilities(self, limit: int = MOST_PARTS) -> NDArray[np.float64]:
        """P(i → j) over the DAGs of the class, exactly; TooManyPartsError if a component has too many parts."""
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
