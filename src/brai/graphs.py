"""Directed, undirected and mixed graphs over named variables: PDAG, completion, extension, distance.

A Bayesian network is known from data up to its Markov equivalence class: the DAGs with one skeleton and
one set of v-structures (Verma & Pearl 1990). A class is written as its completed PDAG (CPDAG): an edge is
directed if all DAGs of the class direct it so, and undirected otherwise.

Conventions: ``adjacency[i, j] = 1`` is the edge i → j ("row to column"), 1 both ways is i – j. Where a
choice is free (next node of an order, of an extension; next edge to orient) the lowest index is taken.
Inside, a set of nodes is a Python integer (bit i for node i): its operations cost next to nothing.

>>> print(PDAG.from_edges("abcd", directed=[("a", "c"), ("b", "c"), ("c", "d")]).to_cpdag())
a -> c
b -> c
c -> d
>>> print(PDAG.from_edges("xyz", directed=[("x", "y"), ("y", "z")]).to_cpdag())
x -- y
y -- z

References: Chickering 1995, "A transformational characterization of equivalent Bayesian network structures",
UAI. Chickering 2002, "Optimal structure identification with greedy search", JMLR 3. Dor & Tarsi 1992,
"A simple algorithm to construct a consistent extension of a partially oriented graph", UCLA TR R-185.
Meek 1995, "Causal inference and causal explanation with background knowledge", UAI. Shachter 1998,
"Bayes-ball: the rational pastime", UAI. Tsamardinos, Brown & Aliferis 2006, "The max-min hill-climbing
Bayesian network structure learning algorithm", Machine Learning 65. Verma & Pearl 1990, "Equivalence and
synthesis of causal models", UAI.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from heapq import heappop, heappush
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import networkx as nx

Adjacency: TypeAlias = NDArray[np.int8]


class NoExtensionError(ValueError):
    """No DAG has the skeleton, the directed edges and the v-structures of the graph."""


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _rows(adjacency: Adjacency) -> list[int]:
    packed = np.packbits(adjacency.view(bool), axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _masks(adjacency: Adjacency) -> tuple[list[int], list[int], list[int], list[int]]:
    """Per node the sets of its parents, its children, its undirected neighbours, and all of them."""
    both = list(zip(_rows(adjacency), _rows(adjacency.T), strict=True))
    pa, ch = [i & ~o for o, i in both], [o & ~i for o, i in both]
    return pa, ch, [o & i for o, i in both], [o | i for o, i in both]


def _array(rows: Sequence[int]) -> Adjacency:
    d, width = len(rows), (len(rows) + 7) // 8
    packed = np.frombuffer(bytearray().join(row.to_bytes(width, "little") for row in rows), dtype=np.uint8)
    return np.unpackbits(packed.reshape(d, width), axis=1, count=d, bitorder="little").view(np.int8)


def _checked(adjacency: ArrayLike) -> Adjacency:
    a = np.asarray(adjacency)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"adjacency has shape {a.shape}: give a square (d, d) array, one row a node")
    for i, j in np.argwhere((a != 0) & (a != 1)):
        raise ValueError(f"adjacency[{i}, {j}] is {a[i, j]}: write 1 for an edge from row to column, else 0")
    for i in np.flatnonzero(a.diagonal()):
        raise ValueError(f"adjacency[{i}, {i}] is 1, a self loop: set the diagonal to 0")
    return a.astype(np.int8)


def topological_order(adjacency: ArrayLike, names: Sequence[str] | None = None) -> list[int]:
    """Nodes of a DAG, parents before children; of the nodes that may come next, the lowest index first.

    ValueError shows a cycle, by ``names`` if given; an undirected edge, set both ways, is one.
    """
    a = _checked(adjacency)
    pa, ch, shown = _rows(a.T), _rows(a), names or range(len(a))
    waiting = [p.bit_count() for p in pa]
    ready = [i for i, n in enumerate(waiting) if n == 0]  # sorted, so a heap
    order: list[int] = []
    while ready:  # Kahn's algorithm
        order.append(heappop(ready))
        for j in _bits(ch[order[-1]]):
            waiting[j] -= 1
            if waiting[j] == 0:
                heappush(ready, j)
    if len(order) < len(pa):
        left = sum(1 << i for i, n in enumerate(waiting) if n)
        walk = [next(_bits(left))]  # each node left has a parent left: walking up must come back
        while (up := next(_bits(pa[walk[-1]] & left))) not in walk:
            walk.append(up)
        cycle = " → ".join(str(shown[i]) for i in [up, *reversed(walk[walk.index(up) :])])
        raise ValueError(f"not a DAG: {cycle} is a cycle; turn an edge of it (undirected: use PDAG.to_dag())")
    return order


def dag_to_cpdag(adjacency: ArrayLike) -> Adjacency:
    """Complete a DAG: its compelled edges stay directed, its reversible edges become undirected.

    Label-Edges of Chickering 1995: nodes y in topological order, and the edge x → y with x last in that
    order; this one visit labels every edge into y. All are compelled if some w → x is compelled with w no
    parent of y, or another parent of y is no parent of x; else w → y is where w → x is, the rest reversible.
    """
    order, pa = topological_order(adjacency), _rows(_checked(adjacency).T)
    position = {node: k for k, node in enumerate(order)}
    compelled = [0] * len(pa)
    for y in order:
        if pa[y]:
            x = max(_bits(pa[y]), key=position.__getitem__)
            every = compelled[x] & ~pa[y] or pa[y] & ~pa[x] & ~(1 << x)
            compelled[y] = pa[y] if every else compelled[x]
    reversible = [p & ~c for p, c in zip(pa, compelled, strict=True)]
    return _array(pa).T | _array(reversible)


def meek(adjacency: ArrayLike) -> Adjacency:
    """Orient undirected edges by rules R1–R3 of Meek 1995 until none applies. x – y becomes x → y if

    - R1: w → x, with w and y not adjacent (else a new v-structure),
    - R2: x → w → y (else a directed cycle),
    - R3: x – v → y and x – w → y, with v and w not adjacent (else one or the other).

    On skeleton and v-structures this gives the CPDAG (R4 is needed only with background knowledge). Of the
    pairs (x, y) that a rule orients the lexicographically first goes first; that matters only in a graph
    with no consistent extension, where rules can contradict each other.
    """
    pa, ch, ne, near = _masks(_checked(adjacency))

    def ruled(x: int, y: int) -> bool:
        between = ne[x] & pa[y]
        return (
            bool(pa[x] & ~near[y])  # R1
            or bool(ch[x] & pa[y])  # R2
            or any(between & ~near[v] & ~(1 << v) for v in _bits(between))  # R3
        )

    queue = [(x, y) for x in range(len(pa)) for y in _bits(ne[x])]  # sorted, so a heap; keeps all ruled pairs
    while queue:
        x, y = heappop(queue)
        if ne[x] >> y & 1 and ruled(x, y):
            ne[x], ne[y] = ne[x] ^ 1 << y, ne[y] ^ 1 << x
            ch[x], pa[y] = ch[x] | 1 << y, pa[y] | 1 << x
            fresh = [(y, c) for c in _bits(ne[y] & ~near[x])]  # R1 with w = x
            fresh += [(x, c) for c in _bits(ne[x] & ch[y])]  # R2, x → y its first edge
            fresh += [(c, y) for c in _bits(ne[y] & (pa[x] | ne[x]))]  # R2, its second; R3 with v or w = x
            for pair in fresh:
                heappush(queue, pair)
    return _array([c | n for c, n in zip(ch, ne, strict=True)])


def _extend(adjacency: Adjacency) -> tuple[Adjacency, list[int]]:
    """Consistent extension by Dor & Tarsi 1992, and the nodes left when there is none."""
    pa, ch, ne, near = _masks(adjacency)
    found, left = [0] * len(pa), set(range(len(pa)))
    queue = sorted(left)  # a heap; a node that may not go is asked again when one near it goes
    while queue:
        x = heappop(queue)
        # (a) x is a sink, (b) each y – x is adjacent to all others adjacent to x
        if x in left and not ch[x] and not any(near[x] & ~near[y] & ~(1 << y) for y in _bits(ne[x])):
            found[x] = near[x]
            left.remove(x)
            for y in _bits(near[x]):
                ch[y], ne[y], near[y] = ch[y] & ~(1 << x), ne[y] & ~(1 << x), near[y] & ~(1 << x)
                heappush(queue, y)
    return _array(found).T, sorted(left)


def _v_structures(adjacency: Adjacency) -> set[tuple[int, int, int]]:
    pa, _, _, near = _masks(adjacency)
    pairs = ((a, c, b) for c, p in enumerate(pa) for a, b in combinations(_bits(p), 2))
    return {(a, c, b) for a, c, b in pairs if not near[a] >> b & 1}


def markov_equivalent(a: ArrayLike, b: ArrayLike) -> bool:
    """Whether two DAGs (or CPDAGs) have one skeleton and the same v-structures (Verma & Pearl 1990)."""
    a, b = _checked(a), _checked(b)
    if a.shape != b.shape:
        raise ValueError(f"graphs of {len(a)} and {len(b)} nodes: compare graphs over the same nodes")
    return np.array_equal(a | a.T, b | b.T) and _v_structures(a) == _v_structures(b)


def d_separated(parents: Sequence[Sequence[int]], x: int, y: int, given: Iterable[int]) -> bool:
    """Whether ``given`` d-separates x and y in the DAG with these parent lists (Bayes ball, Shachter 1998).

    The parent lists are taken to be acyclic (not checked: this runs once for every CI test of an oracle).
    """
    z = set(given)
    for node in (x, y, *z):
        if not 0 <= node < len(parents):
            raise ValueError(f"node {node} is not in the graph: nodes are 0 to {len(parents) - 1}")
    if x == y or x in z or y in z:
        raise ValueError(f"x = {x}, y = {y}, given = {sorted(z)} overlap: remove the repeated node")
    children: dict[int, list[int]] = {}
    above = [x, y, *z]
    while above:  # only the ancestors of x, y and z matter: no open path leaves them
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
            if from_child != (node in z):  # passes up through a free node, bounces off a given one
                stack.extend((parent, True) for parent in parents[node])
    return True


def _few(names: Sequence[str], most: int = 8) -> str:
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return ", ".join([*map(repr, names[:most]), *more])


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@dataclass(frozen=True, eq=False, repr=False)
class PDAG:
    """Partially directed graph over distinct names; immutable, equal and hashed by names and adjacency.

    ``adjacency[i, j] = 1`` is i → j ("row to column"), 1 both ways is i – j; kept as a read-only int8 copy.
    """

    names: tuple[str, ...]
    adjacency: Adjacency

    def __post_init__(self) -> None:
        names, a = tuple(self.names), _checked(self.adjacency)
        for name, n in Counter(names).items():
            if not isinstance(name, str):
                raise ValueError(f"node name {name!r} is {type(name).__name__}: names are strings, use str()")
            if n > 1:
                raise ValueError(f"node name {name!r} is given {n} times: rename to make names distinct")
        if len(a) != len(names):
            raise ValueError(f"{len(names)} names for an adjacency of shape {a.shape}: give one name a row")
        object.__setattr__(self, "names", names)
        # an array over immutable bytes: not even setflags(write=True) opens it
        object.__setattr__(self, "adjacency", np.ndarray(a.shape, np.int8, a.tobytes()))

    @classmethod
    def from_edges(
        cls,
        names: Iterable[str],
        directed: Iterable[Sequence[str]] = (),
        undirected: Iterable[Sequence[str]] = (),
    ) -> PDAG:
        """Graph from pairs of names: (a, b) in ``directed`` is a → b. Repeating an edge is harmless."""
        d = len(names := tuple(names))
        blank = cls(names, a := np.zeros((d, d), dtype=np.int8))
        for kind, edges in (((1, 0), directed), ((1, 1), undirected)):
            for tail, head in edges:
                i, j = blank._at(tail), blank._at(head)
                if i == j:
                    raise ValueError(f"edge from {tail!r} to itself: a PDAG has no self loops, remove it")
                if (a[i, j], a[j, i]) not in ((0, 0), kind):
                    raise ValueError(f"two different edges join {tail!r} and {head!r}: keep one of them")
                a[i, j], a[j, i] = kind
        return cls(names, a)

    @classmethod
    def from_parents(cls, names: Iterable[str], parents: Sequence[Sequence[int]]) -> PDAG:
        """DAG in which node i has the parents ``parents[i]``, indices into names."""
        d = len(names := tuple(names))
        if len(parents) != d:
            raise ValueError(f"{len(parents)} parent lists for {d} names: give one a node, [] for no parents")
        a = np.zeros((d, d), dtype=np.int8)
        for child, listed in enumerate(parents):
            for parent in listed:
                if not 0 <= parent < d:
                    raise ValueError(f"parent {parent} of node {child} is not a node: nodes are 0 to {d - 1}")
                a[parent, child] = 1
        graph = cls(names, a)
        topological_order(a, names)  # refuses a cycle
        return graph

    @classmethod
    def from_networkx(cls, graph: nx.Graph) -> PDAG:
        """Nodes in the order of ``graph``; two opposite arcs, or an edge of an nx.Graph, are undirected."""
        at = {name: i for i, name in enumerate(graph)}
        a = np.zeros((len(at), len(at)), dtype=np.int8)
        for tail, head in graph.edges():
            a[at[tail], at[head]] = 1
        return cls(tuple(at), a if graph.is_directed() else a | a.T)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PDAG):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.adjacency, other.adjacency)

    def __hash__(self) -> int:
        return hash((self.names, self.adjacency.tobytes()))

    def __reduce__(self) -> tuple[type[PDAG], tuple[tuple[str, ...], Adjacency]]:
        return PDAG, (self.names, self.adjacency)  # through the constructor: copies are read-only too

    def __repr__(self) -> str:
        n = len(self.undirected_edges())
        return f"<PDAG: {len(self.names)} nodes, {self.n_edges - n} directed and {n} undirected edges>"

    def __str__(self) -> str:
        lines = [f"{a} -> {b}" for a, b in self.directed_edges()]
        return "\n".join(lines + [f"{a} -- {b}" for a, b in self.undirected_edges()]) or "(no edges)"

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _sets(self) -> tuple[list[int], list[int], list[int], list[int]]:
        return _masks(self.adjacency)

    def _at(self, node: str) -> int:
        if node not in self._index:
            close = get_close_matches(str(node), self.names, n=1)
            cure = f"did you mean {close[0]!r}?" if close else f"the nodes are {_few(self.names)}"
            raise ValueError(f"unknown node {node!r}: {cure}")
        return self._index[node]

    def _named(self, mask: int) -> tuple[str, ...]:
        return tuple(self.names[i] for i in _bits(mask))

    def directed_edges(self) -> list[tuple[str, str]]:
        """Edges a → b as (a, b), in the order of names."""
        return [(self.names[i], b) for i, c in enumerate(self._sets[1]) for b in self._named(c)]

    def undirected_edges(self) -> list[tuple[str, str]]:
        """Edges a – b as (a, b), a before b in names, in the order of names."""
        return [(self.names[i], b) for i, n in enumerate(self._sets[2]) for b in self._named(n >> i << i)]

    @property
    def n_edges(self) -> int:
        """Number of edges, directed and undirected."""
        return sum(near.bit_count() for near in self._sets[3]) // 2

    def parents(self, node: str) -> tuple[str, ...]:
        """Nodes a with a → node."""
        return self._named(self._sets[0][self._at(node)])

    def children(self, node: str) -> tuple[str, ...]:
        """Nodes b with node → b."""
        return self._named(self._sets[1][self._at(node)])

    def neighbors(self, node: str) -> tuple[str, ...]:
        """Nodes b with node – b."""
        return self._named(self._sets[2][self._at(node)])

    def adjacent(self, node: str) -> tuple[str, ...]:
        """Parents, children and neighbours."""
        return self._named(self._sets[3][self._at(node)])

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Adjacent nodes and other parents of children: in a CPDAG as in each DAG of its class."""
        pa, ch, _, near = self._sets
        i = self._at(node)
        blanket = near[i]
        for child in _bits(ch[i]):
            blanket |= pa[child]
        return self._named(blanket & ~(1 << i))

    def is_dag(self) -> bool:
        """Whether every edge is directed and there is no directed cycle."""
        return not any(self._sets[2]) and not _extend(self.adjacency)[1]

    def is_cpdag(self) -> bool:
        """Whether the graph has a DAG extension whose completion is the graph itself."""
        dag, left = _extend(self.adjacency)
        return not left and np.array_equal(dag_to_cpdag(dag), self.adjacency)

    def v_structures(self) -> set[tuple[str, str, str]]:
        """Triples (a, c, b) with a → c ← b, a and b not adjacent, a before b in names."""
        return {(self.names[a], self.names[c], self.names[b]) for a, c, b in _v_structures(self.adjacency)}

    def to_dag(self) -> PDAG:
        """A DAG with the same skeleton, directed edges and v-structures (Dor & Tarsi 1992), sinks of lowest
        index taken away first; NoExtensionError names the nodes left when there is none.
        """
        dag, left = _extend(self.adjacency)
        if left:
            nodes = _few([self.names[i] for i in left], 20)
            raise NoExtensionError(
                f"no DAG extends this graph: every one of the nodes {nodes}, made a sink, "
                "turns an edge or adds a v-structure; remove or turn an edge among them"
            )
        return PDAG(self.names, dag)

    def to_cpdag(self) -> PDAG:
        """Completed PDAG of the class of this DAG, or of the extensions of this PDAG (Chickering 1995)."""
        return PDAG(self.names, dag_to_cpdag(self.to_dag().adjacency))

    def skeleton(self) -> NDArray[np.bool_]:
        """Symmetric array: i and j are adjacent."""
        return (self.adjacency | self.adjacency.T).view(np.bool_)

    def moral(self) -> NDArray[np.bool_]:
        """Symmetric array: adjacent, or parents of one child; in a CPDAG as in each DAG of its class."""
        moral = self.skeleton()
        for p in self._sets[0]:
            moral[np.ix_(together := list(_bits(p)), together)] = True
        np.fill_diagonal(moral, False)
        return moral

    def reorder(self, names: Iterable[str]) -> PDAG:
        """The same graph, its nodes in another order."""
        names = tuple(names)
        order = [self._at(name) for name in names]
        if sorted(order) != list(range(len(self.names))):
            wrong = [name for name in self.names if names.count(name) != 1]
            raise ValueError(f"nodes {_few(wrong)} are missing or repeated in the order: give each node once")
        return PDAG(names, self.adjacency[np.ix_(order, order)])

    def shd(self, other: PDAG) -> int:
        """Structural Hamming distance (Tsamardinos et al. 2006), nodes matched by name: one for each pair
        whose edge is missing, extra or otherwise oriented. For classes, complete both by to_cpdag() first.
        """
        if lone := sorted(set(self.names) ^ set(other.names)):
            raise ValueError(f"nodes {_few(lone)} are in one graph only: compare graphs over the same nodes")
        differ = self.adjacency != other.reorder(self.names).adjacency
        return int((differ | differ.T).sum()) // 2

    def to_networkx(self) -> nx.DiGraph:
        """networkx.DiGraph over the names; an undirected edge is two opposite arcs."""
        try:
            import networkx as nx
        except ImportError as error:
            raise ImportError("networkx is not installed: pip install 'brai[networkx]'") from error
        graph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from((self.names[i], self.names[j]) for i, j in np.argwhere(self.adjacency))
        return graph

    def to_dot(self) -> str:
        """Graphviz text: nodes, directed edges, undirected edges (dir=none), each in the order of names."""
        lines = [f"  {_quoted(name)};" for name in self.names]
        lines += [f"  {_quoted(a)} -> {_quoted(b)};" for a, b in self.directed_edges()]
        lines += [f"  {_quoted(a)} -> {_quoted(b)} [dir=none];" for a, b in self.undirected_edges()]
        return "\n".join(["digraph {", *lines, "}", ""])
