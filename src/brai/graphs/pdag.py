"""Partially directed acyclic graphs (PDAGs) over named variables: completion, extension, distance.

Data determine a directed acyclic graph (DAG) only up to its Markov equivalence class: the DAGs with the same
skeleton and the same v-structures (Verma & Pearl 1990). A class is represented by its completed PDAG (CPDAG): an
edge is directed if all DAGs of the class agree on its direction, and undirected otherwise.

Conventions: ``adjacency[i, j] = 1`` is the edge i → j ("row to column"), 1 both ways is i – j. Ties (the next node
of an order or an extension, the next edge to orient) go to the lowest index. The algorithms are in
`brai.graphs.adjacency`.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.graphs.adjacency import (
    Adjacency,
    bits,
    checked,
    completed,
    dag_to_cpdag,
    extend,
    masks,
    meek,
    topological_order,
)
from brai.graphs.adjacency import v_structures as v_structures_of
from brai.runtime import memory

if TYPE_CHECKING:
    import networkx as nx


PER_PAIR = 5  # bytes of memory per pair of nodes while a graph is made and checked
MANY = 4000  # nodes above which free memory is checked before a graph is made
LONG = 200  # characters of a name above which no similar name is searched: that takes quadratic time

Family: TypeAlias = tuple[int, tuple[int, ...]]  # a variable and its parents, in increasing order


class Draw(NamedTuple):
    """A DAG, given by its families sorted by child, and its log score."""

    families: tuple[Family, ...]
    log_score: float


class NoExtensionError(ValueError):
    """No DAG has the skeleton, the directed edges and the v-structures of the graph."""


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are not text or that repeat."""
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"node name {name!r} is {type(name).__name__}: names are strings, use str()")
    for name, n in Counter(names).items():
        if n > 1:
            raise ValueError(f"node name {name!r} is given {n} times: rename to make names distinct")


def blank(names: Sequence[str]) -> Adjacency:
    """The adjacency array of a graph without edges; MemoryError if graphs of this size do not fit into memory."""
    check_names(names)
    if (d := len(names)) > MANY:
        memory.check(PER_PAIR * d * d, f"a graph of {d} nodes, an array of {d} x {d},", "leave nodes out")
    return np.zeros((d, d), dtype=np.int8)


def _place(node: str, index: Mapping[str, int]) -> int:
    if node not in index:
        close = get_close_matches(str(node), index, n=1) if len(str(node)) <= LONG else []
        cure = f"did you mean {close[0]!r}?" if close else f"the nodes are {_few([*index])}"
        raise ValueError(f"unknown node {_short(node)}: {cure}")
    return index[node]


def _short(name: object) -> str:
    return f"{str(name)[:LONG]!r}..." if len(str(name)) > LONG else repr(name)


def _few(names: Sequence[str], most: int = 8) -> str:
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return ", ".join([*map(_short, names[:most]), *more])


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
        names, a = tuple(self.names), checked(self.adjacency)
        check_names(names)
        if len(a) != len(names):
            raise ValueError(f"{len(names)} names for an adjacency of shape {a.shape}: give one name per row")
        object.__setattr__(self, "names", names)
        # an array over immutable bytes: not even setflags(write=True) makes it writable
        object.__setattr__(self, "adjacency", np.ndarray(a.shape, np.int8, a.tobytes()))

    @classmethod
    def _trusted(cls, names: tuple[str, ...], adjacency: Adjacency) -> PDAG:
        """A graph from names and an array that were checked before."""
        made = object.__new__(cls)
        object.__setattr__(made, "names", names)
        object.__setattr__(made, "adjacency", np.ndarray(adjacency.shape, np.int8, adjacency.tobytes()))
        return made

    @classmethod
    def from_edges(
        cls,
        names: Iterable[str],
        directed: Iterable[Sequence[str]] = (),
        undirected: Iterable[Sequence[str]] = (),
    ) -> PDAG:
        """Graph from pairs of names: (a, b) in ``directed`` is a → b. An edge may be repeated."""
        a = blank(names := tuple(names))
        index = {name: i for i, name in enumerate(names)}
        for kind, edges in (((1, 0), directed), ((1, 1), undirected)):
            for tail, head in edges:
                i, j = _place(tail, index), _place(head, index)
                if i == j:
                    raise ValueError(f"edge from {tail!r} to itself: a PDAG has no self loops, remove it")
                if (a[i, j], a[j, i]) not in ((0, 0), kind):
                    raise ValueError(f"two different edges between {tail!r} and {head!r}: keep one of them")
                a[i, j], a[j, i] = kind
        return cls._trusted(names, a)

    @classmethod
    def from_parents(cls, names: Iterable[str], parents: Sequence[Sequence[int]]) -> PDAG:
        """DAG in which node i has the parents ``parents[i]``, indices into names."""
        d = len(names := tuple(names))
        if len(parents) != d:
            raise ValueError(f"{len(parents)} parent lists for {d} names: give one per node, [] for no parents")
        a = blank(names)
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
        """Graph from networkx, in its order of nodes. Opposite arcs and edges of an nx.Graph are undirected."""
        at = {name: i for i, name in enumerate(graph)}
        a = blank(tuple(at))
        for tail, head in graph.edges():
            a[at[tail], at[head]] = 1
        return cls(tuple(at), a if graph.is_directed() else a | a.T)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PDAG):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.adjacency, other.adjacency)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
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
        return masks(self.adjacency)

    def _at(self, node: str) -> int:
        return _place(node, self._index)

    def _named(self, mask: int) -> tuple[str, ...]:
        return tuple(self.names[i] for i in bits(mask))

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

    def has_edge(self, a: str, b: str) -> bool:
        """Whether a → b."""
        return bool(self._sets[1][self._at(a)] >> self._at(b) & 1)

    def has_path(self, a: str, b: str) -> bool:
        """Whether a directed path leads from a to b."""
        seen, edge, goal = 0, self._sets[1][self._at(a)], 1 << self._at(b)
        while edge & ~seen:
            seen |= edge
            edge = 0
            for node in bits(seen):
                edge |= self._sets[1][node]
        return bool(seen & goal)

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Adjacent nodes and other parents of children. It is the same in a CPDAG and in each DAG of its class."""
        pa, ch, _, near = self._sets
        i = self._at(node)
        blanket = near[i]
        for child in bits(ch[i]):
            blanket |= pa[child]
        return self._named(blanket & ~(1 << i))

    def is_dag(self) -> bool:
        """Whether every edge is directed and there is no directed cycle."""
        return not any(self._sets[2]) and not extend(self.adjacency)[1]

    def is_cpdag(self) -> bool:
        """Whether the graph has a DAG extension whose completion is the graph itself."""
        dag, left = extend(self.adjacency)
        return not left and np.array_equal(dag_to_cpdag(dag), self.adjacency)

    def v_structures(self) -> set[tuple[str, str, str]]:
        """Triples (a, c, b) with a → c ← b, a and b not adjacent, a before b in names."""
        return {(self.names[a], self.names[c], self.names[b]) for a, c, b in v_structures_of(self.adjacency)}

    def to_dag(self) -> PDAG:
        """A DAG with the same skeleton, directed edges and v-structures (Dor & Tarsi 1992).

        Sinks of lowest index are removed first. Without such a DAG, NoExtensionError names the nodes left over.
        """
        dag, left = extend(self.adjacency)
        if left:
            nodes = _few([self.names[i] for i in left], 20)
            raise NoExtensionError(
                f"no DAG extends this graph: each of the nodes {nodes}, made a sink, "
                "reverses an edge or adds a v-structure; remove or reverse an edge among them"
            )
        return PDAG(self.names, dag)

    def to_cpdag(self) -> PDAG:
        """The CPDAG of the class of this DAG, or of the extension of this PDAG (Chickering 1995)."""
        made = completed(self.adjacency)
        return PDAG._trusted(self.names, dag_to_cpdag(self.to_dag().adjacency) if made is None else made)

    def meek(self) -> PDAG:
        """The closure under Meek's rules R1–R3, which direct compelled edges (`brai.graphs.adjacency.meek`)."""
        return PDAG(self.names, meek(self.adjacency))

    def skeleton(self) -> NDArray[np.bool_]:
        """Symmetric array: whether i and j are adjacent."""
        return (self.adjacency | self.adjacency.T).view(np.bool_)

    def moral(self) -> NDArray[np.bool_]:
        """The moral graph as a symmetric array: whether i and j are adjacent or have a common child.

        It is the same for a CPDAG and for each DAG of its class.
        """
        moral = self.skeleton()
        for p in self._sets[0]:
            moral[np.ix_(together := list(bits(p)), together)] = True
        np.fill_diagonal(moral, False)
        return moral

    def reorder(self, names: Iterable[str]) -> PDAG:
        """The same graph with its nodes in another order."""
        names = tuple(names)
        if names == self.names:
            return self
        order = _permutation(self.names, names)
        return PDAG._trusted(names, self.adjacency[order][:, order])

    def shd(self, other: PDAG) -> int:
        """Structural Hamming distance (SHD, Tsamardinos et al. 2006); nodes are matched by name.

        It counts the pairs whose edge is missing, extra or differently oriented. To compare equivalence classes,
        convert both graphs with to_cpdag() first.
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


@lru_cache(maxsize=16)  # thousands of graphs are reordered the same way
def _permutation(names: tuple[str, ...], wanted: tuple[str, ...]) -> NDArray[np.int64]:
    """Index in ``names`` of each of the wanted names, which are the same in another order."""
    index = {name: i for i, name in enumerate(names)}
    order = [_place(name, index) for name in wanted]
    if not len(set(order)) == len(order) == len(names):
        times = Counter(wanted)
        wrong = [name for name in names if times[name] != 1]
        raise ValueError(f"nodes {_few(wrong)} are missing or repeated in the order: give each node once")
    return np.array(order, np.int64)


def cpdag_of(families: Iterable[Family], names: tuple[str, ...]) -> PDAG:
    """The completed PDAG (CPDAG) of the DAG with these families, one per name; the names are not checked."""
    d = len(names)
    cells = bytearray(d * d)
    for child, parents in families:
        for parent in parents:
            cells[parent * d + child] = 1
    return PDAG._trusted(names, np.frombuffer(cells, np.int8).reshape(d, d)).to_cpdag()


def families_of(dag: PDAG | NDArray[Any]) -> tuple[Family, ...]:
    """Families of a DAG, given as a PDAG or an adjacency array, in the order of its nodes."""
    adjacency = dag.adjacency if isinstance(dag, PDAG) else dag
    return tuple((child, tuple(np.flatnonzero(own).tolist())) for child, own in enumerate(adjacency.T))


def family_arrays(families: Sequence[Family]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Families as arrays for kernels: children, concatenated parents, and the offsets of the parents."""
    children = np.array([child for child, _ in families], np.int64)
    parents = np.array([p for _, own in families for p in own], np.int64)
    return children, parents, np.cumsum([0, *(len(own) for _, own in families)], dtype=np.int64)
