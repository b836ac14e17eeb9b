"""Algorithm 1 with parallel workers. The tree is the same as without.

Starting at the root, each task is one node, until there are enough nodes for all workers. Then each task is a
whole sub-tree. A node with very many CI tests would keep one worker busy while others are idle, so its tests are
divided among workers. This is done in four steps: tests of edges from X_ex; tests of edges inside X from the lower
end of each edge; from the higher end; tests of v-structures. Each step starts when the one before it is complete.

Tasks are independent, and samples are seeded by their path in the tree. So the tree is the same for any number of
workers, in threads, processes or on a cluster. Besides data and results, a worker needs the memory of one
`Learner`.
"""

from __future__ import annotations

import math
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.graphs.knowledge import Bounds
from brai.kernels.resolution import EARLIER, LATER, OUTER
from brai.kinds.base import Sizes, Table
from brai.kinds.scores import FamilyScores
from brai.runtime.progress import Progress
from brai.runtime.workers import Benches, Workers, on_all_clocks, on_this_clock
from brai.tree.ggt import GGT, BootstrapNode, Grower, Leaf, Node, grow, shares
from brai.tree.independence import CITest, Oracle
from brai.tree.rai import NO_LIMIT, Edges, Group, Learner, Removed, Tally

ENOUGH = 16  # number of nodes from which on tasks are sub-trees
LARGE = 500_000  # a node is large if the upper bound of its number of tests is at least this
PARTS = 8  # number of parts into which the tests of a large node are divided
LEVELS = 7  # assumed depth of the recursion, for memory; each level holds a bootstrap sample


@dataclass(frozen=True, eq=False)
class Problem:
    """The arguments that all tasks share; they are sent to each worker once."""

    data: Table
    ci_test: CITest | Oracle
    bounds: Bounds
    scores: FamilyScores
    s: int
    seed: np.random.SeedSequence
    max_order: int | None
    deadline: float  # of time.time
    association: NDArray[np.int64]
    key: str

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.data) + int(self.association.nbytes + self.bounds.allowed.nbytes)


class Call(NamedTuple):
    """The arguments of a recursive call of B-RAI."""

    group: Group
    pool: NDArray[np.int32]  # of separating sets
    n: int
    path: tuple[int, ...]
    limit: int  # maximal number of tests
    share: float  # fraction of the tree, for progress

    def key(self, kind: str) -> str:
        """The key of its result in a checkpoint."""
        return "-".join(map(str, (kind, *self.path)))


class Tested(NamedTuple):
    """The results of the tests of a large node, which were made in parts."""

    edges: Edges
    pool: NDArray[np.int32]
    head: NDArray[np.uint8]
    ci_tests: NDArray[np.int64]


class Part(NamedTuple):
    """A group below a node: its leaves, one for each sample; or the arguments of the recursive calls."""

    leaves: tuple[Leaf, ...]
    group: Group | None
    pool: NDArray[np.int32] | None
    limit: int


class Made(NamedTuple):
    """The result of a task: a sub-tree, or the groups below one node; and the number of tests."""

    node: Node | None
    parts: tuple[Part, ...]
    ci_tests: NDArray[np.int64]
    late: bool
    exhausted: bool

    @classmethod
    def of(cls, result: Sequence[Any]) -> Made:
        """Convert the result of a task, or plain tuples from a checkpoint."""
        node, parts, *cost = result
        return cls(node, tuple(Part(*part) for part in parts), *cost)


# --- tasks -----------------------------------------------------------------------------------------------

_benches = Benches()


class Bench:
    """The workspace of a worker: its own learner, and the sample that it used last."""

    def __init__(self, problem: Problem):
        self.learner = Learner(
            problem.data,
            problem.ci_test,
            max_order=problem.max_order,
            deadline=on_this_clock(problem.deadline),
            bounds=problem.bounds,
            association=problem.association,
        )
        self.grower = Grower(self.learner, problem.scores.twin(), problem.s, problem.seed)
        self._drawn: tuple[tuple[int, ...], Any] = (), self.learner.sample

    def sample(self, call: Call) -> Any:
        """The sample of a call. It is cached, since consecutive tasks are often tests of the same call."""
        if call.path != self._drawn[0]:
            self.learner.load(call.pool)
            drawn = self.grower.sample(call.path[:-1], [call.group]) if call.path else self.learner.sample
            self._drawn = call.path, drawn
        return self._drawn[1]


@contextmanager
def _bench(problem: Problem) -> Iterator[Bench]:
    """A workspace for one task, with a tally of zero."""
    with _benches.one(problem.key, lambda: Bench(problem)) as bench:
        bench.learner.tally = Tally()
        yield bench


def subtree(problem: Problem, call: Call) -> Made:
    """Task: the sub-tree of a call."""
    with _bench(problem) as bench:
        sample = bench.sample(call)
        bench.learner.load(call.pool)
        node = bench.grower.b_rai(call.group, call.n, sample, call.path, call.limit)
        tally = bench.learner.tally
        return Made(node, (), tally.ci_tests, tally.late, tally.exhausted)


def one_node(problem: Problem, call: Call, tested: Tested | None) -> Made:
    """Task: one node. If its tests were made in parts (``tested``), only the steps after them."""
    with _bench(problem) as bench:
        learner, ci_tests = bench.learner, np.zeros(0, np.int64)
        if tested is not None:
            edges, pool, head, ci_tests = tested
            refined = learner.directed(call.group, _own_copy(edges), head.copy(), pool)
        else:
            sample = bench.sample(call)
            learner.load(call.pool)
            refined = learner.increase_resolution(call.group, call.n, sample, call.limit)
        return _made(bench.grower, call, refined, ci_tests)


def some_tests(problem: Problem, call: Call, edges: Edges, which: int, first: int, last: int) -> Removed:
    """Task: a part of the CI tests of a node."""
    with _bench(problem) as bench:
        sample = bench.sample(call)
        return bench.learner.tests(call.group, call.n, sample, _own_copy(edges), which, first, last)


def _own_copy(edges: Edges) -> Edges:
    """The edges in writeable arrays: arrays from another process are read-only."""
    start, adj, sep = edges
    return edges if adj.flags.writeable and sep.flags.writeable else Edges(start, adj.copy(), sep.copy())


def some_heads(
    problem: Problem, call: Call, edges: Edges, pool: NDArray[np.int32], first: int, last: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Task: a part of the v-structures of a node."""
    with _bench(problem) as bench:
        return bench.learner.heads(call.group, call.n, bench.sample(call), edges, pool, first, last)


def _made(grower: Grower, call: Call, refined: Group, ci_tests: NDArray[np.int64]) -> Made:
    learner, n = grower.learner, call.n + 1
    learner.tally.add(ci_tests)
    groups = learner.split_autonomous(refined)
    leaves = [grower.done(group, n) for group in groups]
    left = call.limit if call.limit == NO_LIMIT else call.limit - learner.tally.total
    limits = shares([g if leaf is None else None for g, leaf in zip(groups, leaves, strict=True)], left, grower.s)
    parts = []
    for group, leaf, limit in zip(groups, leaves, limits, strict=True):
        if leaf is not None:
            parts.append(Part((leaf,) * grower.s, None, None, 0))
        elif learner.must_stop(n, limit):
            leaf = grower.leaf(group, truncated=True)
            parts.append(Part(tuple(replace(leaf) for _ in range(grower.s)), None, None, 0))
        else:
            parts.append(Part((), group, learner.pool_of(group), limit))
    tally = learner.tally
    return Made(None, tuple(parts), tally.ci_tests, tally.late, tally.exhausted)


# --- scheduling ------------------------------------------------------------------------------------------


def grow_with(
    workers: Workers,
    learner: Learner,
    scores: FamilyScores,
    s: int,
    seed: np.random.SeedSequence,
    progress: Progress | None = None,
) -> GGT:
    """Like `brai.tree.ggt.grow`, with parallel workers or a checkpoint."""
    if workers.n == 1 and workers.checkpoint is None:
        return grow(learner, scores, s, seed, progress)
    grower, root = Grower(learner, scores, s, seed, progress), learner.root()
    if (leaf := grower.done(root, 0)) is not None:
        return GGT(leaf, learner.data.names, s, np.trim_zeros(learner.tally.ci_tests, "b"))
    problem = Problem(
        learner.data,
        learner.ci_test,
        learner.bounds,
        scores,
        s,
        seed,
        None if learner.max_order == NO_LIMIT else learner.max_order,
        on_all_clocks(learner.deadline),
        learner.association,
        secrets.token_hex(8),
    )
    calls = [Call(root, np.zeros(0, np.int32), 0, (), learner.max_tests, 1.0)]
    made: dict[tuple[int, ...], Made] = {}

    def note(call: Call, result: Made, share: float) -> None:
        made[call.path] = result
        learner.tally.add(result.ci_tests, result.late, result.exhausted)
        grower.progressed(share)

    while calls and (len(calls) < ENOUGH or any(_is_large(call) for call in calls)):
        large, whole = _divided(calls, workers)
        tasks = [*((call, None) for call in whole), *zip(large, _in_parts(workers, problem, large), strict=True)]
        keys = [call.key("node") for call, _ in tasks]
        results = workers.run(one_node, tasks, shared=(problem,), keys=keys, kept=_in_time)
        calls = []
        for (call, _), result in zip(tasks, map(Made.of, results), strict=True):
            done = sum(part.group is None for part in result.parts) / len(result.parts)
            note(call, result, call.share * done)
            calls += _calls(call, result, s)
    calls.sort(key=lambda call: -call.group.weight())  # the largest first, so that none runs alone at the end
    advance = iter(calls).__next__
    keys = [call.key("tree") for call in calls]
    for call, result in zip(
        calls,
        workers.run(
            subtree,
            [(call,) for call in calls],
            shared=(problem,),
            keys=keys,
            kept=_in_time,
            advance=lambda: grower.progressed(advance().share),
        ),
        strict=True,
    ):
        note(call, Made.of(result), 0.0)
    _benches.clear()
    return GGT(_assembled(made, s), learner.data.names, s, np.trim_zeros(learner.tally.ci_tests, "b"))


def _calls(call: Call, made: Made, s: int) -> list[Call]:
    """The recursive calls of lines 12 and 14."""
    share = call.share / (len(made.parts) * s)
    return [
        Call(part.group, part.pool, call.n + 1, (*call.path, t, i), part.limit, share)
        for t in range(s)
        for i, part in enumerate(made.parts)
        if part.group is not None and part.pool is not None
    ]


def _assembled(made: dict[tuple[int, ...], Made], s: int, path: tuple[int, ...] = ()) -> Node:
    own = made[path]
    if own.node is not None:
        return own.node
    groups: tuple[tuple[Node, ...], ...] = tuple(
        part.leaves or tuple(_assembled(made, s, (*path, t, i)) for t in range(s))
        for i, part in enumerate(own.parts)
    )
    return BootstrapNode(len(path) // 2, groups)


def _in_time(made: Made) -> bool:
    return not made.late


def _divided(calls: Sequence[Call], workers: Workers) -> tuple[list[Call], list[Call]]:
    """Nodes whose tests are divided, and other nodes. A multiple of ``workers.n`` large nodes is not divided."""
    large = [call for call in calls if _is_large(call) and not workers.knows(call.key("node"))]
    in_parts = large[len(large) // workers.n * workers.n :]
    cut = {call.path for call in in_parts}
    return in_parts, [call for call in calls if call.path not in cut]


def _is_large(call: Call) -> bool:
    """Whether a node has so many tests that they are divided; false if the limit may end them early."""
    parents = call.group.adj.sum(axis=0, dtype=np.int64)
    most = sum(math.comb(m, call.n) * (m + 1) for m in parents.tolist())
    return bool(LARGE <= most < call.limit)


def _in_parts(workers: Workers, problem: Problem, calls: Sequence[Call]) -> list[Tested]:
    """Make the tests of large nodes in parts, step by step."""
    edges = [Edges(call.group.adj.copy(), call.group.adj.copy(), call.group.sep.copy()) for call in calls]
    pools = [call.pool for call in calls]
    tallies = [Tally(np.zeros(call.n + 3, np.int64)) for call in calls]
    for which in (OUTER, LATER, EARLIER):
        if which == LATER:
            edges = [own._replace(start=own.adj.copy()) for own in edges]
        tasks = [
            (i, (call, edges[i], which, *ends))
            for i, call in enumerate(calls)
            for ends in _ranges(call, edges[i], which)
        ]
        results = workers.run(some_tests, [task for _, task in tasks], shared=(problem,))
        for (i, _), removed in zip(tasks, results, strict=True):
            x, y, at = removed.edges.T
            edges[i].adj[x, y] = edges[i].adj[y, x] = 0
            edges[i].sep[x, y] = edges[i].sep[y, x] = at + len(pools[i])
            pools[i] = np.concatenate([pools[i], removed.pool])
            tallies[i].ci_tests[calls[i].n] += removed.tests
    heads = [np.zeros(own.adj.shape, np.uint8) for own in edges]
    parts = [(i, ends) for i, call in enumerate(calls) for ends in _ranges(call, edges[i], None)]
    asked = [(calls[i], edges[i], pools[i], *ends) for i, ends in parts]
    for (i, (begin, end)), (head, tally) in zip(
        parts, workers.run(some_heads, asked, shared=(problem,)), strict=True
    ):
        heads[i][:, begin:end] = head
        tallies[i].add(tally)
    tests = [own.ci_tests for own in tallies]
    return [Tested(*own) for own in zip(edges, pools, heads, tests, strict=True)]


def _ranges(call: Call, edges: Edges, which: int | None) -> list[tuple[int, int]]:
    """Ranges of nodes with about equal work, for the tests ``which``, or for v-structures if it is None."""
    inside = call.group.endo.astype(bool)
    joined = (edges.adj | edges.adj.T).astype(bool)
    degree = edges.start.sum(axis=0, dtype=float)
    if which is None:
        work = joined.sum(axis=0, dtype=float) ** 2
    else:
        matters = {OUTER: ~inside[:, None] & joined, LATER: np.tril(joined), EARLIER: np.triu(joined)}[which]
        work = matters.sum(axis=0, dtype=float) * degree**call.n
    work = np.where(inside, work, 0.0)
    if work.sum() == 0:
        return [(0, len(work))] if not (call.group.sep >= 0).all() else []
    steps = np.searchsorted(np.cumsum(work), np.linspace(0, work.sum(), PARTS + 1)[1:-1])
    ends = sorted({0, *map(int, steps), len(work)})
    return list(pairwise(ends))


def bytes_needed(n_rows: int, d: int, s: int, sizes: Sizes, workers: int = 1) -> dict[str, float]:
    """Estimated bytes of samples, scratch memory, graphs, the tree and further workers."""
    parts = {
        "samples": 2 * sizes.full + LEVELS * sizes.drawn + 24 * n_rows,
        "scratch": sizes.scratch,
        "graphs": d * d * (20.0 + 5 * (LEVELS + 1)),
        "tree": 5000.0 * s * d,
    }
    if workers > 1:
        each = sizes.scratch + sizes.full + LEVELS * (sizes.drawn + 5.0 * d * d)
        parts["workers"] = (workers - 1) * each
    return parts
