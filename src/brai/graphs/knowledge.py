"""Background knowledge about a graph: required and forbidden edges, tiers, roots and leaves; and beliefs.

Each statement is about single edges, so a DAG satisfies it if each of its families does. `Knowledge` refers to
variables by name. `Knowledge.bound` checks the names, looks for contradictions, and returns two arrays: the
allowed and the required edges. Without a contradiction some DAG satisfies the knowledge: the required edges alone.

>>> known = Knowledge(required=[("smoke", "lung")], tiers=[["asia", "smoke"], ["lung", "tub"]])
>>> known.bound(["asia", "lung", "smoke", "tub"]).allowed.astype(int)
array([[0, 1, 1, 1],
       [0, 0, 0, 1],
       [1, 1, 0, 1],
       [0, 1, 0, 0]])
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import shown
from brai.graphs.adjacency import dag_to_cpdag, extend
from brai.graphs.beliefs import Belief, KnowledgeError, beliefs_of, log_terms
from brai.graphs.pdag import PDAG
from brai.runtime.checks import near

__all__ = ["PGMPY", "Bounds", "Edge", "Knowledge", "KnowledgeError", "directed", "read_toml"]

Edge: TypeAlias = tuple[str, str]

MAX_PARTS = 100  # most parts of a dotted key in a TOML file
PGMPY = {"required_edges": "required", "forbidden_edges": "forbidden", "temporal_order": "tiers"}


class Bounds(NamedTuple):
    """Allowed and required edges, (d, d) row to column; a required edge is allowed, its reverse is not."""

    allowed: NDArray[np.bool_]
    required: NDArray[np.bool_]

    @classmethod
    def free(cls, d: int) -> Bounds:
        """No constraints: every edge is allowed, none is required."""
        return cls(~np.eye(d, dtype=bool), np.zeros((d, d), bool))

    @property
    def is_free(self) -> bool:
        """Whether every edge is allowed and none is required."""
        return bool(self.allowed.sum() == len(self.allowed) * (len(self.allowed) - 1))

    @property
    def codes(self) -> NDArray[np.uint8]:
        """0 for a forbidden edge, 1 for an allowed edge, 2 for a required edge (brai.kernels.interface.MUST)."""
        return np.asarray(self.allowed + self.required.astype(np.uint8))

    @property
    def before(self) -> NDArray[np.uint8]:
        """0 if i cannot be an ancestor of j, 2 if i → j is required, else 1."""
        if self.is_free:
            return np.ones(self.allowed.shape, np.uint8)
        may = _closure(self.allowed) & ~_closure(self.required).T
        return np.asarray(may + self.required.astype(np.uint8))

    def obeyed_by(self, adjacency: NDArray[Any]) -> bool:
        """Whether a DAG satisfies the constraints."""
        edges = np.asarray(adjacency, bool)
        return not (edges & ~self.allowed).any() and bool(edges[self.required].all())


@dataclass(frozen=True)
class Knowledge:
    """Constraints on a graph; variables that no statement names are unconstrained.

    Parameters
    ----------
    required : pairs (a, b), a → b is in the graph
    forbidden : pairs (a, b), a → b is not in the graph; b → a is allowed unless (b, a) is forbidden too
    tiers : groups of names, no edge leads from a later group to an earlier one
    roots : names without parents
    leaves : names without children
    beliefs : (a, b, p), the prior probability p of a → b; with a fourth part "adjacent" or "direction" that of an
        edge in either direction, or of this direction given an edge (brai.graphs.beliefs). A belief constrains
        nothing: data can overrule it
    """

    required: tuple[Edge, ...] = ()
    forbidden: tuple[Edge, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    roots: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    beliefs: tuple[Belief, ...] = ()

    def __post_init__(self) -> None:
        for name in ("required", "forbidden"):
            object.__setattr__(self, name, _edges(name, getattr(self, name)))
        for name in ("roots", "leaves"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        tiers = getattr(self, "tiers")  # noqa: B009 - not yet of its declared type
        if isinstance(tiers, str | bytes | Mapping) or not isinstance(tiers, Iterable):
            raise KnowledgeError(f"tiers is {shown(tiers)}: give groups of names, [['a', 'b'], ['c']]")
        object.__setattr__(self, "tiers", tuple(_names("a tier", tier) for tier in tiers))
        object.__setattr__(self, "beliefs", beliefs_of(self.beliefs))

    @classmethod
    def of(cls, value: Any) -> Knowledge:
        """Knowledge from None (no constraints), a mapping, or an object like pgmpy's ExpertKnowledge.

        The keys of a mapping are the arguments of Knowledge, or those of pgmpy: required_edges, forbidden_edges,
        temporal_order.
        """
        if value is None:
            return cls()
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            given = dict(value)
        else:
            given = {name: getattr(value, name) for name in (*PGMPY, "search_space") if hasattr(value, name)}
            if not given:
                raise KnowledgeError(
                    f"knowledge is of type {type(value).__name__}: give a Knowledge, a mapping with "
                    f"{', '.join(_FIELDS)}, or an object with {', '.join(PGMPY)}"
                )
        space = given.pop("search_space", None) or ()
        if not hasattr(space, "__len__") or len(space):
            raise KnowledgeError("knowledge has a search_space: give the edges outside of it as forbidden edges")
        settings: dict[str, Any] = {}
        for key, own in given.items():
            name = PGMPY.get(key, key)
            if name not in _FIELDS:
                raise KnowledgeError(
                    f"knowledge has the unknown entry {key!r}{near(str(key), [*_FIELDS, *PGMPY])}: "
                    f"entries are {', '.join(_FIELDS)}"
                )
            if name in settings:
                raise KnowledgeError(f"knowledge has {name!r} twice, once as {key!r}: give one of them")
            settings[name] = () if own is None else own
        return cls(**settings)

    @classmethod
    def from_toml(cls, path: str | Path) -> Knowledge:
        """Knowledge from a TOML file, such as

        ::

            required = [["smoke", "lung"]]
            forbidden = [["xray", "dysp"], ["dysp", "xray"]]
            tiers = [["asia", "smoke"], ["lung", "tub", "bronc"]]
            roots = ["asia"]
            leaves = ["xray"]
            beliefs = [["smoke", "bronc", 0.8], ["tub", "lung", 0.1, "adjacent"]]
        """
        try:
            return cls.of(read_toml(path))
        except KnowledgeError as error:
            raise KnowledgeError(f"{path}: {error}") from error
        except RecursionError:
            raise KnowledgeError(f"{path} is nested too deeply: give lists of names and of pairs") from None
        except ValueError as error:
            raise KnowledgeError(f"{path} is not a TOML file: {error}") from error

    def bound(self, names: Sequence[str]) -> Bounds:
        """The allowed and the required edges between these variables; KnowledgeError on a contradiction.

        If a path of required edges leads from a to b, then b → a is not allowed.
        """
        place = {name: i for i, name in enumerate(names)}
        self._check_names(place)
        allowed, required = Bounds.free(len(names))
        for a, b in self.required:
            required[place[a], place[b]] = True
        self._check_cycles(required, names)
        against = self._against()
        if broken := [said for edge in self.required for said in against(*edge)]:
            raise KnowledgeError(
                f"a required edge contradicts another statement: {'; '.join(broken)}: remove one of the two"
            )
        for a, b in self.forbidden:
            allowed[place[a], place[b]] = False
        tier = np.full(len(names), -1)
        for t, group in enumerate(self.tiers):
            tier[[place[name] for name in group]] = t
        allowed &= (tier[:, None] <= tier) | (tier < 0)
        allowed[:, [place[name] for name in self.roots]] = False
        allowed[[place[name] for name in self.leaves]] = False
        return Bounds(allowed & ~_closure(required).T, required)

    def log_terms(self, names: Sequence[str], log_ratio: float) -> NDArray[np.float64]:
        """The log prior that beliefs add for each edge, (d, d); (0, 0) without beliefs.

        ``log_ratio`` is that of the structure prior, see brai.graphs.beliefs.
        """
        if not self.beliefs:
            return np.zeros((0, 0))
        required = set(self.required)
        for own in self.beliefs:
            for edge in {(own.a, own.b), (own.b, own.a)} & required:
                raise KnowledgeError(f"{own} is a belief, but {_arrow(*edge)} is required: remove one of the two")
        return log_terms(self.beliefs, names, self.bound(names).allowed, log_ratio)

    def violations(self, dag: PDAG) -> list[str]:
        """Descriptions of the statements that a DAG violates; empty if it satisfies all of them."""
        if not dag.is_dag():
            raise ValueError("the graph is not a DAG: give a DAG, or use `admits` for an equivalence class")
        self.bound(dag.names)
        edges, against = dict.fromkeys(dag.directed_edges()), self._against()
        missing = [f"{_arrow(a, b)} is required but missing" for a, b in self.required if (a, b) not in edges]
        return missing + [said for edge in edges for said in against(*edge)]

    def admits(self, graph: PDAG) -> bool:
        """Whether some DAG in the equivalence class of a DAG or CPDAG satisfies the knowledge."""
        cpdag = graph.to_cpdag()
        edges = directed(cpdag, self.bound(cpdag.names))
        if edges is None:
            return False
        dag, left = extend(edges)
        return not left and np.array_equal(dag_to_cpdag(dag), cpdag.adjacency)

    def _against(self) -> Callable[[str, str], list[str]]:
        """A function that lists the reasons why a → b is not allowed."""
        forbidden, roots, leaves = set(self.forbidden), set(self.roots), set(self.leaves)
        tier = {name: t for t, names in enumerate(self.tiers) for name in names}

        def against(a: str, b: str) -> list[str]:
            edge = _arrow(a, b)
            found = [f"{edge} is forbidden"] if (a, b) in forbidden else []
            if a in tier and b in tier and tier[a] > tier[b]:
                found.append(f"{edge} leads from tier {tier[a] + 1} back to tier {tier[b] + 1}")
            found += [f"{edge} leads into the root {b!r}"] * (b in roots)
            return found + [f"{edge} leads out of the leaf {a!r}"] * (a in leaves)

        return against

    def _check_names(self, place: Mapping[str, int]) -> None:
        edges = (name for edge in (*self.required, *self.forbidden) for name in edge)
        in_tiers = [name for tier in self.tiers for name in tier]
        believed = (name for own in self.beliefs for name in own[:2])
        for name in (*edges, *in_tiers, *self.roots, *self.leaves, *believed):
            if name not in place:
                raise KnowledgeError(
                    f"knowledge names {name!r}, which is not a variable{near(name, place)}: correct the name"
                )
        for name, times in Counter(in_tiers).items():
            if times > 1:
                raise KnowledgeError(f"{name!r} is in the tiers {times} times: give it one tier")

    def _check_cycles(self, required: NDArray[np.bool_], names: Sequence[str]) -> None:
        waiting = required.sum(axis=0)  # required parents that are left
        ready = np.flatnonzero(waiting == 0).tolist()
        while ready:
            children = np.flatnonzero(required[ready.pop()])
            waiting[children] -= 1
            ready += children[waiting[children] == 0].tolist()
        left = waiting > 0
        if left.any():
            walk = [int(np.flatnonzero(left)[0])]
            while (up := int(np.flatnonzero(required[:, walk[-1]] & left)[0])) not in walk:
                walk.append(up)
            cycle = [up, *reversed(walk[walk.index(up) :])]
            edges = ", ".join(_arrow(names[i], names[j]) for i, j in pairwise(cycle))
            raise KnowledgeError(f"required edges form a cycle: {edges}: remove one of them")


def read_toml(path: str | Path) -> dict[str, Any]:
    """The content of a TOML file; RecursionError if it is nested too deeply.

    For a dotted key of n parts, a.a.a..., tomllib needs memory of order n². So long keys are refused first.
    """
    text = Path(path).read_text(encoding="utf-8")
    bare = re.sub("[ \t]", "", re.sub("\"[^\"\n]*\"|'[^'\n]*'", "quoted", text))
    for part in re.split(r"[\n,=#\[\]{}]", bare):
        if len(re.findall(r"(?<!\.)\.(?!\.)", part)) > MAX_PARTS:
            raise RecursionError(f"a key has more than {MAX_PARTS} parts")
    return tomllib.loads(text)


_FIELDS = tuple(field.name for field in fields(Knowledge))


def directed(graph: PDAG, bounds: Bounds) -> NDArray[np.int8] | None:
    """The graph with edges directed if only one direction is allowed; None if the graph violates the bounds."""
    edges = graph.adjacency.copy()
    undirected = edges & edges.T
    edges[undirected.astype(bool) & ~bounds.allowed] = 0
    joined = edges | edges.T
    if not np.array_equal(joined, graph.skeleton()) or (edges.astype(bool) & ~bounds.allowed).any():
        return None
    return edges if edges[bounds.required].all() else None


def _closure(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Transitive closure: whether a path leads from i to j."""
    if edges.sum() == len(edges) * (len(edges) - 1):  # all
        return np.ones_like(edges)
    found = edges.copy()
    for k in np.flatnonzero(edges.any(axis=0) & edges.any(axis=1)):
        found |= found[:, k, None] & found[k]
    return found


def _arrow(a: str, b: str) -> str:
    return f"{a!r} → {b!r}"


def _names(what: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise KnowledgeError(f"{what} is {shown(given)}: give a list of names")
    return tuple(dict.fromkeys(map(str, given)))


def _edges(what: str, given: Any) -> tuple[Edge, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise KnowledgeError(f"{what} is {shown(given)}: give pairs of names, [('a', 'b')] for a → b")
    found: dict[Edge, None] = {}
    for one in given:
        if isinstance(one, str | bytes | Mapping) or not isinstance(one, Sequence) or len(one) != 2:
            raise KnowledgeError(f"{what} holds {shown(one)}: give pairs of names, ('a', 'b') for a → b")
        a, b = map(str, one)
        if a == b:
            raise KnowledgeError(f"{what} holds {_arrow(a, b)}: an edge joins two variables, remove it")
        found[a, b] = None
    return tuple(found if isinstance(given, Sequence) else sorted(found))
