"""The graph generative tree (GGT) and Algorithm 1, which grows it.

The tree is an AND/OR tree. A bootstrap node has K + 1 autonomous groups (AND), and for each of them s sub-trees,
one for each bootstrap sample (OR). Choosing one sub-tree for each group, down to the leaves, is a *route*: the
families of its leaves are those of one DAG, since a group receives edges only from itself and from groups above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.counting import bootstrap_sample
from brai.graphs import Family
from brai.kernels.counts import Sample
from brai.rai import Group, Learner
from brai.scores import FamilyScores

Progress: TypeAlias = Callable[[float, int], None]  # share of the tree that is done, CI tests made


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """Families of an autonomous group and their log score on the full data."""

    families: tuple[Family, ...]
    log_score: float
    repaired: bool = False  # no DAG extends its graph: see kernels.orienting.extension
    truncated: bool = False  # a limit of the user's ended the recursion


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapNode:
    """groups[i][t] is the child labelled Anc_i^t in the paper; the last group is Dec^t."""

    order: int  # n: the order of the CI tests made at this node
    groups: tuple[tuple[Node, ...], ...]


Node: TypeAlias = Leaf | BootstrapNode


@dataclass(frozen=True, eq=False)
class GGT:
    """A graph generative tree over the variables ``names``, and what it cost to grow."""

    root: Node
    names: tuple[str, ...]
    s: int
    n_ci_tests: NDArray[np.int64]  # by order
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)  # what was worked out once, by whom and how

    def __getstate__(self) -> dict[str, Any]:
        """A copy has other nodes: what was worked out about these ones stays behind."""
        return {**self.__dict__, "memo": {}}

    def nodes(self) -> Iterator[Node]:
        """Each node once, parents before children; a leaf that serves several t is one node."""
        stack: list[Node] = [self.root]
        seen: set[int] = set()
        while stack:
            node = stack.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                if isinstance(node, BootstrapNode):
                    stack.extend(child for group in node.groups for child in group)

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
        """Number of leaves whose graph no DAG extends and that were repaired."""
        return sum(leaf.repaired for leaf in self.leaves)

    @property
    def n_truncated(self) -> int:
        """Number of leaves that max_order or max_tests made."""
        return sum(leaf.truncated for leaf in self.leaves)

    @cached_property
    def depth(self) -> int:
        """Number of bootstrap nodes on the longest way down; the highest order tested is one less."""

        def depth(node: Node) -> int:
            if isinstance(node, Leaf):
                return 0
            return 1 + max(depth(child) for group in node.groups for child in group)

        return depth(self.root)

    @cached_property
    def n_routes(self) -> int:
        """Number of routes, exactly."""

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


def grow(
    learner: Learner,
    scores: FamilyScores,
    s: int,
    seed: np.random.SeedSequence,
    progress: Progress | None = None,
) -> GGT:
    """Algorithm 1: construct a graph generative tree.

    The samples of a node are seeded by its place in the tree, so no other part of the tree has a say in them.
    """

    def leaf(group: Group, *, truncated: bool) -> Leaf:
        families, repaired = learner.families(group)  # lines 3–4
        return Leaf(families, scores.total(families), repaired, truncated)

    def b_rai(group: Group, n: int, sample: Sample, path: tuple[int, ...], share: float) -> Node:
        refined = learner.increase_resolution(group, n, sample, bootstrap=bool(path))  # line 6
        parts = learner.split_autonomous(refined)  # line 7
        children = [done(part, n + 1) for part in parts]  # line 2 of the calls of lines 12 and 14
        share /= len(parts)
        progressed(share * sum(child is not None for child in children))
        grown: list[list[Node]] = [[child] * s if child else [] for child in children]
        if None in children:
            used = learner.variables(p for p, child in zip(parts, children, strict=True) if child is None)
            for t in range(s):  # line 9
                drawn = bootstrap_sample(learner.data, _at(seed, (*path, t)), used)  # line 10
                for i, part in enumerate(parts):  # lines 11–15; the last one is X_D
                    if children[i] is not None:
                        continue
                    if learner.must_stop(n + 1):
                        grown[i].append(leaf(part, truncated=True))
                        progressed(share / s)
                    else:
                        grown[i].append(b_rai(part, n + 1, drawn, (*path, t, i), share / s))
        return BootstrapNode(n, tuple(map(tuple, grown)))  # line 8

    def done(group: Group, n: int) -> Leaf | None:
        return leaf(group, truncated=group.cut) if learner.is_resolved(group, n) else None

    finished = 0.0

    def progressed(share: float) -> None:
        nonlocal finished
        finished += share
        if progress is not None:
            progress(min(finished, 1.0), int(learner.tally.ci_tests.sum()))

    root = learner.root()
    tree = done(root, 0) or b_rai(root, 0, learner.sample, (), 1.0)
    tests = np.trim_zeros(learner.tally.ci_tests, "b")
    return GGT(tree, learner.data.names, s, tests)


def _at(seed: np.random.SeedSequence, path: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *path))
