"""The graph generative tree (GGT) and Algorithm 1, which grows it.

The tree is an AND/OR tree. A bootstrap node has K + 1 autonomous groups (AND), and for each of them s sub-trees,
one for each bootstrap sample (OR). A *route* is a choice of one sub-tree for each group, down to the leaves. The
families of its leaves form one DAG, since edges into a group come only from the group itself and from groups
above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import Family
from brai.kinds.scores import FamilyScores
from brai.runtime.checkpoint import storable
from brai.runtime.progress import Progress
from brai.tree.rai import NO_LIMIT, Group, Learner

FEW, MANY = 40, 10_000  # leaves of groups of up to FEW nodes are cached (samples often agree), at most MANY


@storable("leaf")
@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """Families of an autonomous group and their log score on the full data."""

    families: tuple[Family, ...]
    log_score: float
    repaired: bool = False  # no DAG extends its graph, see brai.kernels.extension
    truncated: bool = False  # a limit set by the user ended the recursion


@storable("node")
@dataclass(frozen=True, slots=True, eq=False)
class BootstrapNode:
    """groups[i][t] is the child labelled Anc_i^t in the paper; the last group is Dec^t."""

    order: int  # n: the order of the CI tests made at this node
    groups: tuple[tuple[Node, ...], ...]


Node: TypeAlias = Leaf | BootstrapNode


@dataclass(frozen=True, eq=False)
class GGT:
    """A graph generative tree over the variables ``names``, and the number of CI tests that it took."""

    root: Node
    names: tuple[str, ...]
    s: int
    n_ci_tests: NDArray[np.int64]  # by order
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)  # cached results, by method and parameters

    def __getstate__(self) -> dict[str, Any]:
        """The state without the cache, which refers to nodes by identity: a copy has other nodes."""
        return {**self.__dict__, "memo": {}}

    def nodes(self) -> Iterator[Node]:
        """Yield each node once, parents before children. A leaf that is shared by several t is one node."""
        stack: list[Node] = [self.root]
        seen: set[int] = set()
        while stack:
            node = stack.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                if isinstance(node, BootstrapNode):
                    for group in node.groups:
                        stack.extend(group[:1] if is_one(group) else group)

    def rescored(self, scores: FamilyScores) -> GGT:
        """The same tree with other scores of its leaves."""
        known: dict[int, Node] = {}

        def again(node: Node) -> Node:
            if id(node) not in known:
                if isinstance(node, Leaf):
                    known[id(node)] = replace(node, log_score=scores.total(node.families))
                else:
                    groups = tuple(tuple(again(child) for child in group) for group in node.groups)
                    known[id(node)] = BootstrapNode(node.order, groups)
            return known[id(node)]

        return GGT(again(self.root), self.names, self.s, self.n_ci_tests)

    @property
    def n_nodes(self) -> int:
        """Number of bootstrap nodes and leaves."""
        return sum(1 for _ in self.nodes())

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """All leaves, each once."""
        return tuple(node for node in self.nodes() if isinstance(node, Leaf))

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    @property
    def n_repaired(self) -> int:
        """Number of leaves that were repaired, since no DAG extends their graph."""
        return sum(leaf.repaired for leaf in self.leaves)

    @property
    def n_truncated(self) -> int:
        """Number of leaves at which a limit set by the user ended the recursion."""
        return sum(leaf.truncated for leaf in self.leaves)

    @cached_property
    def depth(self) -> int:
        """Number of bootstrap nodes on the longest path from the root; the highest order of a test is one less."""

        def depth(node: Node) -> int:
            if isinstance(node, Leaf):
                return 0
            return 1 + max(depth(child) for group in node.groups for child in group)

        return depth(self.root)

    @cached_property
    def n_routes(self) -> int:
        """Exact number of routes."""

        def routes(node: Node) -> int:
            if isinstance(node, Leaf):
                return 1
            product = 1
            for group in node.groups:
                product *= sum(routes(child) for child in group)
            return product

        return routes(self.root)

    def __repr__(self) -> str:
        return f"<GGT: {self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.depth}, s = {self.s}>"


def is_one(group: Sequence[Node]) -> bool:
    """Whether all samples of a group share one node."""
    return group.count(group[0]) == len(group)


class Grower:
    """Algorithm 1 with one learner: the steps that create nodes, and the recursion."""

    def __init__(
        self,
        learner: Learner,
        scores: FamilyScores,
        s: int,
        seed: np.random.SeedSequence,
        progress: Progress | None = None,
    ):
        self.learner, self.scores, self.s, self.seed = learner, scores, s, seed
        self._progress, self._finished = progress, 0.0
        self._known: dict[tuple[bytes, ...], tuple[tuple[Family, ...], float, bool]] = {}  # leaves, by graph

    def sample(self, path: tuple[int, ...], groups: Iterable[Group]) -> Any:
        """The bootstrap sample for a path in the tree, of the variables that these groups need (line 10)."""
        seed = np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, *path))
        return self.learner.drawn(seed, self.learner.variables(groups))

    def leaf(self, group: Group, *, truncated: bool) -> Leaf:
        """The leaf of a group: the families of its DAG and their score (lines 3–4)."""
        if len(group.nodes) > FEW:
            return Leaf(*self._scored(group), truncated)
        key = group.nodes.tobytes(), group.endo.tobytes(), group.adj.tobytes()
        if key not in self._known:
            if len(self._known) >= MANY:
                self._known.clear()
            self._known[key] = self._scored(group)
        return Leaf(*self._known[key], truncated)

    def _scored(self, group: Group) -> tuple[tuple[Family, ...], float, bool]:
        families, repaired = self.learner.families(group)
        return families, self.scores.total(families), repaired

    def done(self, group: Group, n: int) -> Leaf | None:
        """The leaf of a group that meets the exit condition (line 2), else None."""
        return self.leaf(group, truncated=group.cut) if self.learner.is_resolved(group, n) else None

    def b_rai(
        self, group: Group, n: int, sample: Any, path: tuple[int, ...], limit: int, share: float = 1.0
    ) -> Node:
        """The sub-tree of a group that does not meet the exit condition, with at most ``limit`` CI tests.

        ``sample`` is the bootstrap sample for tests of order n, ``path`` the place in the tree, and ``share`` the
        fraction of the whole tree, for the progress bar.
        """
        learner, before = self.learner, self.learner.tally.total
        refined = learner.increase_resolution(group, n, sample, limit)  # line 6
        parts = learner.split_autonomous(refined)  # line 7
        children = [self.done(part, n + 1) for part in parts]  # line 2 of the calls of lines 12 and 14
        left = limit if limit == NO_LIMIT else limit - (learner.tally.total - before)
        limits = shares(
            [part if child is None else None for part, child in zip(parts, children, strict=True)], left, self.s
        )
        share /= len(parts)
        self.progressed(share * sum(child is not None for child in children))
        grown: list[list[Node]] = [[child] * self.s if child else [] for child in children]
        if None in children:
            open_parts = [part for part, child in zip(parts, children, strict=True) if child is None]
            for t in range(self.s):  # line 9
                drawn = self.sample((*path, t), open_parts)  # line 10
                for i, part in enumerate(parts):  # lines 11–15; the last one is X_D
                    if children[i] is not None:
                        continue
                    if learner.must_stop(n + 1, limits[i]):
                        grown[i].append(self.leaf(part, truncated=True))
                        self.progressed(share / self.s)
                    else:
                        below = self.b_rai(part, n + 1, drawn, (*path, t, i), limits[i], share / self.s)
                        grown[i].append(below)
        return BootstrapNode(n, tuple(map(tuple, grown)))  # line 8

    def progressed(self, share: float) -> None:
        """Report that a further fraction of the tree is done."""
        self._finished += share
        if self._progress is not None:
            self._progress(min(self._finished, 1.0), self.learner.tally.total)


def shares(groups: Sequence[Group | None], left: int, s: int) -> list[int]:
    """Divide ``left`` tests among groups: the limit for each of the s calls of a group. None is a finished group.

    Limits are proportional to the sum of squared numbers of potential parents. Tests that one call does not use
    are not passed on to another, since the result would then depend on the order of the calls.
    """
    if left == NO_LIMIT:
        return [NO_LIMIT] * len(groups)
    weights = [0 if own is None else own.weight() for own in groups]
    total = s * max(1, sum(weights))
    return [left * weight // total for weight in weights]


def grow(
    learner: Learner, scores: FamilyScores, s: int, seed: np.random.SeedSequence, progress: Progress | None = None
) -> GGT:
    """Algorithm 1: construct a graph generative tree.

    The samples of a node are seeded by its path in the tree, so they do not depend on other parts of the tree.
    """
    grower, root = Grower(learner, scores, s, seed, progress), learner.root()
    tree = grower.done(root, 0) or grower.b_rai(root, 0, learner.sample, (), learner.max_tests)
    return GGT(tree, learner.data.names, s, np.trim_zeros(learner.tally.ci_tests, "b"))
