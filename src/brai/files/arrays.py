"""Graphs, trees, chains and posteriors as plain arrays, and back. docs/file-format.md describes the arrays.

A list of lists is stored as one array of items and one of offsets: list k is ``items[first[k] : first[k + 1]]``.
Arrays that are read are untrusted input: a ValueError says what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG, Family
from brai.posterior.chains import KINDS, Draws
from brai.posterior.dp_mcmc import KINDS as DP_KINDS
from brai.posterior.dp_mcmc import Chain
from brai.posterior.weighted import Posterior, Source
from brai.runtime import memory
from brai.tree.ggt import GGT, BootstrapNode, Leaf, Node

Arrays: TypeAlias = dict[str, NDArray[Any]]
ITEM = 120  # bytes of memory per number of a tree: in a list, in a tuple, in a node


class Stored:
    """The arrays of a file; each is taken once, and checked."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]):
        self._left = dict(arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def items(self, prefix: str) -> int:
        """The number of items in all arrays whose names begin with the prefix."""
        return sum(array.size for name, array in self._left.items() if name.startswith(prefix))

    def take(self, name: str, dtype: str, *shape: int | None) -> NDArray[Any]:
        """The array of this name, which must have this type and shape; None means any length."""
        if name not in self._left:
            raise ValueError(f"the array {name!r} is missing")
        array = self._left.pop(name)
        fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
        if not fits or array.dtype.newbyteorder("=") != np.dtype(dtype):
            wanted = f"{dtype} of shape {shape}".replace("None", "any")
            raise ValueError(f"the array {name!r} is {array.dtype} of shape {array.shape}, not {wanted}")
        return array.astype(dtype, copy=False)

    def integers(self, name: str, low: int, high: int, *shape: int | None, dtype: str = "int32") -> NDArray[Any]:
        """Integers from low up to, but not including, high."""
        array = self.take(name, dtype, *shape)
        if array.size and not (array.min() >= low and array.max() < high):
            raise ValueError(
                f"the array {name!r} holds numbers from {array.min()} to {array.max()}, not only from "
                f"{low} to {high - 1}"
            )
        return array

    def numbers(self, name: str, *shape: int | None, nan: bool = False) -> NDArray[np.float64]:
        """Finite numbers; NaN only if it is allowed."""
        array = self.take(name, "float64", *shape)
        if not (np.isfinite(array) | (np.isnan(array) if nan else False)).all():
            raise ValueError(f"the array {name!r} holds numbers that are not finite")
        return array

    def lists(self, name: str, items: Any, n: int | None = None) -> list[Any]:
        """The lists in ``items``, split at the offsets in the array of this name; n lists if n is given."""
        first = self.take(name, "int64", None if n is None else n + 1).tolist()
        if not first or first[0] != 0 or first[-1] != len(items) or any(b < a for a, b in pairwise(first)):
            raise ValueError(f"the array {name!r} does not rise from 0 to {len(items)}")
        return [items[a:b] for a, b in pairwise(first)]

    def done(self) -> None:
        """Refuse arrays that were not taken."""
        if self._left:
            raise ValueError(f"the array {min(self._left)!r} does not belong to it")


def _places(lists: Sequence[Any]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _flat(lists: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    return np.array([item for own in lists for item in own], np.int32)


# --- graphs -----------------------------------------------------------------------------------------


def graphs_to(prefix: str, graphs: Sequence[PDAG]) -> Arrays:
    """Arcs (row, column) of the adjacency arrays, graph after graph."""
    arcs = [np.argwhere(graph.adjacency).astype(np.int32) for graph in graphs]
    return {f"{prefix}.arcs": np.concatenate(arcs).reshape(-1, 2), f"{prefix}.first": _places(arcs)}


def graphs_from(prefix: str, stored: Stored, names: tuple[str, ...]) -> list[PDAG]:
    """Graphs over these names."""
    d = len(names)
    arcs = stored.lists(f"{prefix}.first", stored.integers(f"{prefix}.arcs", 0, d, None, 2))
    what = f"reading {len(arcs)} graphs of {d} variables"
    memory.check(2.0 * len(arcs) * d * d, what, "read it on a larger machine")
    graphs = []
    for own in arcs:
        adjacency = np.zeros((d, d), np.int8)
        adjacency[own[:, 0], own[:, 1]] = 1
        graphs.append(PDAG(names, adjacency))
    return graphs


# --- trees ------------------------------------------------------------------------------------------


def tree_to(tree: GGT) -> Arrays:
    """The nodes, children before parents and the root last; the families of the leaves in the same order."""
    place: dict[int, int] = {}
    nodes: list[Node] = []
    stack: list[tuple[Node, bool]] = [(tree.root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in place:
            continue
        if ready or isinstance(node, Leaf):
            place[id(node)] = len(nodes)
            nodes.append(node)
        else:
            stack.append((node, True))
            stack.extend((child, False) for group in node.groups for child in group)
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    groups = [() if isinstance(node, Leaf) else node.groups for node in nodes]
    children = [[place[id(child)] for child in group] for own in groups for group in own]
    families = [family for leaf in leaves for family in leaf.families]
    parents = [own for _, own in families]
    return {
        "tree.order": np.array([-1 if isinstance(node, Leaf) else node.order for node in nodes], np.int32),
        "tree.groups": _places(groups),
        "tree.children.first": _places(children),
        "tree.children": _flat(children),
        "tree.log_score": np.array([leaf.log_score for leaf in leaves], float),
        "tree.flags": np.array([leaf.repaired + 2 * leaf.truncated for leaf in leaves], np.uint8),
        "tree.families": _places([leaf.families for leaf in leaves]),
        "tree.variable": np.array([child for child, _ in families], np.int32),
        "tree.parents.first": _places(parents),
        "tree.parents": _flat(parents),
        "tree.n_ci_tests": tree.n_ci_tests.astype(np.int64),
    }


def tree_from(stored: Stored, names: tuple[str, ...], s: int) -> GGT:
    """The tree; it is checked that every route through it is a DAG over all names."""
    d = len(names)
    what = f"reading a tree of {stored.items('tree.')} numbers"
    memory.check(ITEM * stored.items("tree."), what, "read it on a larger machine")
    order = stored.integers("tree.order", -1, d + 1, None).tolist()
    log_scores = stored.numbers("tree.log_score", order.count(-1)).tolist()
    flags = stored.integers("tree.flags", 0, 4, len(log_scores), dtype="uint8").tolist()
    variables = stored.integers("tree.variable", 0, d, None).tolist()
    listed = stored.integers("tree.parents", 0, d, None).tolist()
    parents = stored.lists("tree.parents.first", listed, len(variables))
    pairs = [(v, tuple(own)) for v, own in zip(variables, parents, strict=True)]
    families = iter(stored.lists("tree.families", pairs, len(log_scores)))
    children = stored.lists("tree.children.first", stored.integers("tree.children", 0, len(order), None).tolist())
    groups = stored.lists("tree.groups", children, len(order))
    tests = stored.integers("tree.n_ci_tests", 0, 2**62, None, dtype="int64")
    nodes: list[Node] = []
    spans: list[tuple[int, int]] = []  # per node: bit sets of its variables, and of their parents outside it
    used: set[int] = set()
    scored = iter(zip(log_scores, flags, strict=True))
    for k, (n, own) in enumerate(zip(order, groups, strict=True)):
        if n < 0:
            if own:
                raise ValueError(f"leaf {k} of the tree has groups")
            found = tuple(next(families))
            score, flag = next(scored)
            nodes.append(Leaf(found, score, bool(flag & 1), bool(flag & 2)))
            spans.append(_leaf_span(k, found))
            continue
        below = [child for group in own for child in group]
        if not own or not all(own) or max(below) >= k or any(0 <= order[c] <= n for c in below):
            raise ValueError(f"node {k} of the tree has no groups, or invalid children")
        used.update(below)
        nodes.append(BootstrapNode(n, tuple(tuple(nodes[child] for child in group) for group in own)))
        spans.append(_node_span(k, [[spans[child] for child in group] for group in own]))
    if not nodes or len(used) != len(nodes) - 1:
        raise ValueError("the tree has no nodes, or nodes without a parent node")
    if spans[-1] != ((1 << d) - 1, 0):
        raise ValueError(f"the tree is not over all {d} variables")
    return GGT(nodes[-1], names, s, tests)


def _leaf_span(k: int, families: Sequence[Family]) -> tuple[int, int]:
    left = dict(families)
    own = sum(1 << v for v in left)
    if not left or len(left) < len(families) or any(len(set(p)) < len(p) for p in left.values()):
        raise ValueError(f"leaf {k} of the tree has no families, or a repeated one")
    outside = 0
    for parents in left.values():
        for p in parents:
            outside |= 1 << p
    while free := [v for v, parents in left.items() if not any(p in left for p in parents)]:
        for v in free:
            del left[v]
    if left:
        raise ValueError(f"the families of leaf {k} of the tree form a cycle")
    return own, outside & ~own


def _node_span(k: int, groups: Sequence[Sequence[tuple[int, int]]]) -> tuple[int, int]:
    """Check that sub-trees of a group share variables, groups are disjoint, and no parent is in a later group."""
    own = outside = 0
    for group in groups:
        variables = group[0][0]
        if own & variables or outside & variables or any(other != variables for other, _ in group):
            raise ValueError(f"the groups of node {k} of the tree are not disjoint sets of variables")
        own |= variables
        for _, needed in group:
            outside |= needed
    return own, outside & ~own


# --- chains, posteriors -----------------------------------------------------------------------------


def draws_to(draws: Draws, of: str = "chains") -> Arrays:
    """The DAGs of the chains, and by kind the number of moves proposed and of those that changed the DAG."""
    moves = [[counts[kind] for kind in KINDS] for counts in (draws.proposed, draws.changed)]
    return {
        f"{of}.parents": draws.parents,
        f"{of}.log_scores": draws.log_scores,
        f"{of}.moves": np.array(moves, np.int64),
    }


def draws_from(stored: Stored, names: tuple[str, ...], kinds: Sequence[str], of: str = "chains") -> Draws:
    """The chains, over these names."""
    d = len(names)
    parents = stored.integers(f"{of}.parents", -1, d, None, None, d, None, dtype="int16")
    if not parents.shape[0] or not parents.shape[1]:
        raise ValueError("the chains have no draws")
    ranked = np.sort(parents, axis=3)
    if ((ranked[..., 1:] == ranked[..., :-1]) & (ranked[..., 1:] >= 0)).any() or not all(map(_are_dags, parents)):
        raise ValueError("a draw of the chains is not a DAG")
    scores = stored.numbers(f"{of}.log_scores", *parents.shape[:2])
    return Draws(names, parents, scores, *_moves(f"{of}.moves", stored, kinds, KINDS))


def _moves(name: str, stored: Stored, kinds: Sequence[str], known: Sequence[str]) -> tuple[dict[str, int], ...]:
    """Numbers of moves by their names; 0 for a kind of move that the file does not have."""
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise ValueError(f"moves is {kinds!r}, not a list of names")
    rows = stored.integers(name, 0, 2**62, 2, len(kinds), dtype="int64").tolist()
    return tuple({**dict.fromkeys(known, 0), **dict(zip(kinds, row, strict=True))} for row in rows)


def chain_to(chain: Chain) -> tuple[dict[str, Any], Arrays]:
    """DAGs of a DP-MCMC chain, as sets of parents; numbers of moves."""
    kinds = list(chain.proposed)
    moves = [[counts[kind] for kind in kinds] for counts in (chain.proposed, chain.accepted)]
    arrays = {"chain.parents": chain.parents, "chain.log_scores": chain.log_scores}
    return {"moves": kinds}, {**arrays, "chain.moves": np.array(moves, np.int64)}


def chain_from(stored: Stored, names: tuple[str, ...], kinds: Sequence[str]) -> Chain:
    """A DP-MCMC chain over these names."""
    d = len(names)
    parents = stored.integers("chain.parents", 0, 1 << d, None, d, dtype="int64") if d < 63 else None
    if parents is None or not len(parents):
        raise ValueError("the chain has no draws, or too many variables")
    scores = stored.numbers("chain.log_scores", len(parents))
    found = Chain(names, parents, scores, *_moves("chain.moves", stored, kinds, DP_KINDS))
    for graph, _ in found.draws():
        if not graph.is_dag():
            raise ValueError("a draw of the chain is not a DAG")
    return found


def _are_dags(parents: NDArray[np.int16]) -> bool:
    """Whether all draws of a chain are DAGs: nodes whose parents are all placed are placed, until none is left."""
    n, d, _ = parents.shape
    placed = np.zeros((n, d + 1), bool)
    placed[:, -1] = True  # -1, no parent
    at = np.arange(n)[:, None, None]
    while True:
        free = placed[at, parents].all(axis=2)
        if np.array_equal(free, placed[:, :-1]):
            return bool(free.all())
        placed[:, :-1] = free


def posterior_to(posterior: Posterior) -> Arrays:
    """The graphs, most probable first, with their probabilities and log scores."""
    own = {"probabilities": posterior.probabilities, "log_scores": posterior.log_scores}
    return {**graphs_to("cpdags", posterior.cpdags), **own}


def posterior_from(stored: Stored, names: tuple[str, ...], prior: Any, source: Any = "given") -> Posterior:
    """The posterior, over graphs with these names."""
    if prior not in ("dags", "classes"):
        raise ValueError(f"its prior is {prior!r}, not 'dags' or 'classes'")
    cpdags = graphs_from("cpdags", stored, names)
    probabilities = stored.numbers("probabilities", len(cpdags))
    scores = stored.numbers("log_scores", len(cpdags), nan=True)
    if not cpdags or len(set(cpdags)) < len(cpdags) or not all(g.is_cpdag() or g.is_dag() for g in cpdags):
        raise ValueError("its graphs are not distinct CPDAGs or DAGs, or there are none")
    falling = bool((np.diff(probabilities) <= 0).all())
    if not (falling and probabilities[-1] >= 0 and abs(probabilities.sum() - 1) < 1e-6):
        raise ValueError("its probabilities do not sum to 1, or are not in decreasing order")
    for own in (probabilities, scores):
        own.setflags(write=False)
    if source not in get_args(Source):
        raise ValueError(f"its source is {source!r}, not one of {', '.join(get_args(Source))}")
    return Posterior(tuple(cpdags), probabilities, scores, prior, source)
