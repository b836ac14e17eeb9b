"""Recursive autonomy identification (RAI; Yehezkel & Lerner 2009), as restated in the B-RAI paper.

A graph over X and X_ex is refined by CI tests of order n (`Learner.increase_resolution`) and split into autonomous
groups (`Learner.split_autonomous`). Each group is treated in the same way at order n + 1, until no node has enough
potential parents for a conditioning set.

A group needs only a small part of the graph: its members, and those of X_ex that are parents of a member. Edges
from X_ex into the group keep their direction, and no edge leads out of the group (autonomy). So nothing outside
the group can change the result inside.

Background knowledge (`brai.graphs.knowledge`) is obeyed throughout. A pair that must not be adjacent is never
joined. A required edge is not tested. An edge whose head cannot be an ancestor of its tail is directed from the
start. A forbidden direction alone implies less: until the edge is decided, either end may still be an ancestor of
the other by another path. So forbidden directions are enforced last, in the DAG of each leaf, hence of each route.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.graphs.knowledge import Bounds
from brai.graphs.pdag import Family
from brai.kernels.extension import extension
from brai.kernels.groups import Known, Piece, cut_out, listed_parents, loads
from brai.kernels.interface import Evidence, associations
from brai.kernels.orientation import colliders, direct, orient, split
from brai.kernels.resolution import UNKNOWN, UNSOUGHT, Limits, Part, mark_variables, refine, refine_part
from brai.kinds import kind_of
from brai.kinds.base import Table
from brai.runtime.checkpoint import storable
from brai.runtime.jit import announce
from brai.tree.independence import CITest, Oracle

Ints: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]

NO_LIMIT = np.iinfo(np.int64).max
WHILE = 2_000_000  # approximate number of tests between two checks of the deadline


@storable("group")
@dataclass(frozen=True, slots=True)
class Group:
    """An autonomous group: X, the members of X_ex that matter to it, and the graph over both."""

    nodes: NDArray[np.int64]  # variables, in increasing order
    endo: NDArray[np.uint8]  # 1 for X, 0 for X_ex
    adj: NDArray[np.uint8]  # "row to column"
    sep: NDArray[np.int32]  # offset in the pool of the separating set of a pair that is not adjacent
    pool_end: int  # separating sets of this group lie before this offset of the pool
    cut: bool = False  # max_tests or the deadline was reached before all its tests were made

    def piece(self, pool: NDArray[np.int32], edges: Edges | None = None) -> Piece:
        """The group as kernels take it; with ``edges``, these replace the graph."""
        adj, sep = (self.adj, self.sep) if edges is None else (edges.adj, edges.sep)
        return Piece(self.nodes, self.endo, adj, sep, pool)

    def weight(self) -> int:
        """Estimate of the work: the sum of squared numbers of potential parents."""
        return int(loads(self.endo, self.adj)[1])

    @classmethod
    def complete(cls, d: int, bounds: Bounds | None = None) -> Group:
        """The group of the root call: all variables, and all edges that are allowed.

        An edge is directed if one end cannot be an ancestor of the other. The separating set of a pair that must
        not be joined is searched for (UNKNOWN) only if the two may have a common child and it is not certain that
        they have; else it is UNSOUGHT.
        """
        allowed, before = ~np.eye(d, dtype=bool), ~np.eye(d, dtype=bool)
        if bounds is not None:
            allowed, before = bounds.allowed, bounds.before.astype(bool)
        joined = allowed | allowed.T
        sep = np.zeros((d, d), np.int32)
        for i, j in np.argwhere(~joined).tolist():
            parents = joined[i] & joined[j] & before[i] & before[j]
            sep[i, j] = UNKNOWN if (parents & (before[:, i] | before[:, j])).any() else UNSOUGHT
        np.fill_diagonal(sep, 0)
        return cls(np.arange(d), np.ones(d, np.uint8), (joined & before).astype(np.uint8), sep, 0)


class Edges(NamedTuple):
    """The graph of a node while its tests are made in parts."""

    start: NDArray[np.uint8]  # adjacency at the start of the step
    adj: NDArray[np.uint8]
    sep: NDArray[np.int32]


class Removed(NamedTuple):
    """The edges that a part of the tests removed, their separating sets, and the number of tests."""

    edges: NDArray[np.int32]  # (m, 3): x, y, offset of the separating set in the pool
    pool: NDArray[np.int32]
    tests: int


@dataclass
class Tally:
    """The number of CI tests of a run, and which limits it reached."""

    ci_tests: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))  # by order
    repaired: int = 0  # leaves whose graph no DAG extends
    truncated: int = 0  # leaves at which max_order, max_tests or the deadline ended the recursion
    late: bool = False  # the deadline (of `time.monotonic`) was reached
    exhausted: bool = False  # max_tests was reached

    @property
    def total(self) -> int:
        """Number of CI tests of all orders."""
        return int(self.ci_tests.sum())

    def add(self, ci_tests: NDArray[np.int64], late: bool = False, exhausted: bool = False) -> None:
        """Add the counts and flags of another tally."""
        both = max(len(self.ci_tests), len(ci_tests))
        self.ci_tests = np.pad(self.ci_tests, (0, both - len(self.ci_tests)))
        self.ci_tests[: len(ci_tests)] += ci_tests
        self.late, self.exhausted = self.late or late, self.exhausted or exhausted


class Learner:
    """The steps of RAI on one data set with one CI test; `tally` counts the tests."""

    def __init__(
        self,
        data: Table,
        ci_test: CITest | Oracle,
        *,
        max_order: int | None = None,
        max_tests: int | None = None,
        deadline: float = math.inf,
        bounds: Bounds | None = None,
        association: NDArray[np.int64] | None = None,
    ):
        self.bounds = bounds or Bounds.free(data.n_variables)
        self._free = self.bounds.is_free
        self._known = Known(self.bounds.codes, self.bounds.before, not self._free)
        self.data, self.ci_test, self.tally, self.deadline = data, ci_test, Tally(), deadline
        self.max_order = NO_LIMIT if max_order is None else max_order
        self.max_tests = NO_LIMIT if max_tests is None else max_tests
        self.kind = kind_of(data)
        announce(refine_part, self.kind.compiled_for(data))
        self.sample = self.kind.sample(data)
        self._depth, self._work = 4, self.kind.workspace(data, 4)
        self._pool = np.zeros(1024, np.int32)
        if isinstance(ci_test, Oracle):
            self._terms = self.kind.test_terms(data, "cmi", 1.0)
            self._rules = (ci_test.rule(data.names),) * 2
            association = np.zeros((data.n_variables, data.n_variables), np.int64)
        else:
            self._terms = self.kind.test_terms(data, ci_test.name, ci_test.ess)
            self._rules = (
                ci_test.rule(data.n_rows, bootstrap=False),
                ci_test.rule(data.n_rows, bootstrap=True),
            )
        if association is None:
            association = np.zeros((data.n_variables, data.n_variables), np.int64)
            associations(self._evidence(self.sample), association)
        self.association = association
        self.association.setflags(write=False)

    def root(self) -> Group:
        """The group of all variables."""
        return Group.complete(self.data.n_variables, self.bounds)

    def is_resolved(self, group: Group, n: int) -> bool:
        """Exit condition (Algorithm 1, line 2): max over X of (|potential parents| - 1) < n.

        If the separating set of a forbidden pair is searched for, it is: max of |potential parents| < n. The ends
        of such a pair are not potential parents of each other.
        """
        most = int(loads(group.endo, group.adj)[0])
        return most - 1 + self._has_unknown(group) < n

    def _has_unknown(self, group: Group) -> bool:
        return not self._free and bool((group.sep[group.endo == 1] == UNKNOWN).any())

    def must_stop(self, n: int, limit: int) -> bool:
        """Whether a limit set by the user ends the recursion at order n, with ``limit`` tests left."""
        self.tally.late |= time.monotonic() > self.deadline
        self.tally.exhausted |= limit <= 0
        return n > self.max_order or limit <= 0 or self.tally.late

    def increase_resolution(self, group: Group, n: int, sample: Any, limit: int = NO_LIMIT) -> Group:
        """Remove edges by at most ``limit`` order-n tests, then direct edges (Algorithm 1, line 6)."""
        unknown = 0 if self._free else int((group.sep == UNKNOWN).sum())
        most, _, marks = map(int, loads(group.endo, group.adj))
        some = 1 + WHILE // (1 + len(group.adj) * math.comb(most, n))
        self._make_room(n, group.pool_end + (n + 1) * (marks + unknown + len(group.adj) // some + 1))
        edges = Edges(group.adj, group.adj.copy(), group.sep.copy())
        evidence, piece = self._evidence(sample), group.piece(self._pool, edges)
        limits = Limits(max(0, limit), self.deadline, some)
        tests, pool_end, cut = refine(
            evidence, piece, group.pool_end, n, self.association, self._known.bounds, limits
        )
        self.tally.ci_tests[n] += tests
        self.tally.exhausted |= bool(cut and tests >= limit)
        self.tally.late |= bool(cut and tests < limit)
        orient(evidence, piece, self._known, self.ci_test.verifies, self.tally.ci_tests)
        return Group(group.nodes, group.endo, edges.adj, edges.sep, pool_end, bool(cut))

    def variables(self, groups: Iterable[Group]) -> NDArray[np.int64]:
        """The variables that tests of these groups may involve."""
        mark = np.zeros(self.data.n_variables, np.uint8)
        for group in groups:
            mark_variables(group.nodes, group.sep, self._pool, mark)
        return np.flatnonzero(mark)

    def _evidence(self, sample: Any) -> Evidence:
        """The argument of kernels. Any sample other than the data is a bootstrap sample and has its own rule."""
        return Evidence(sample, self._terms, self._rules[sample is not self.sample], self._work)

    def drawn(self, seed: np.random.SeedSequence, used: Ints | None = None) -> Any:
        """A bootstrap sample, of the variables ``used`` if given, else of all."""
        return self.kind.bootstrap_sample(self.data, seed, used)

    def pool_of(self, group: Group) -> NDArray[np.int32]:
        """A copy of the part of the pool that contains the separating sets of a group."""
        return self._pool[: group.pool_end].copy()

    def load(self, pool: NDArray[np.int32]) -> None:
        """Replace the pool by that of another learner."""
        if len(pool) > len(self._pool):
            self._pool = np.zeros(2 * len(pool), np.int32)
        self._pool[: len(pool)] = pool

    def tests(self, group: Group, n: int, sample: Any, edges: Edges, which: int, first: int, last: int) -> Removed:
        """Make a part of the tests of a node, see `refine_part`; removed edges are also removed from ``edges``."""
        ends = slice(first, last)
        joined = edges.adj[:, ends] | edges.adj[ends].T
        most = (n + 1) * int(np.count_nonzero(joined) + (edges.sep[:, ends] == UNKNOWN).sum())
        self._make_room(n, most)
        pool, removed = np.zeros(most + 1, np.int32), np.zeros((most // (n + 1) + 1, 3), np.int32)
        evidence, part = self._evidence(sample), Part(n, which, first, last, NO_LIMIT)
        tests, end, n_removed, _ = refine_part(
            evidence,
            group.piece(pool, edges),
            edges.start,
            0,
            part,
            self.association,
            self._known.bounds,
            removed,
        )
        return Removed(removed[:n_removed], pool[:end], int(tests))

    def heads(
        self, group: Group, n: int, sample: Any, edges: Edges, pool: NDArray[np.int32], first: int, last: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Arrowheads of v-structures at nodes first..last-1 of a refined graph, and the tests made, by order."""
        self._make_room(n, 0)
        head, tally = np.zeros(edges.adj.shape, np.uint8), np.zeros(len(self.tally.ci_tests), np.int64)
        piece, before = group.piece(pool, edges), self._known.before
        colliders(self._evidence(sample), piece, before, self.ci_test.verifies, tally, first, last, head)
        return head[:, first:last].copy(), tally

    def directed(self, group: Group, edges: Edges, head: NDArray[np.uint8], pool: NDArray[np.int32]) -> Group:
        """Direct the refined graph: the last step of `increase_resolution`."""
        self.load(pool)
        direct(group.piece(pool, edges), self._known, head)
        return Group(group.nodes, group.endo, edges.adj, edges.sep, len(pool), False)

    def split_autonomous(self, group: Group) -> list[Group]:
        """Ancestor groups X_A1 … X_AK, then the descendant group X_D (Algorithm 1, line 7)."""
        label, k = split(group.endo, group.adj)
        if k == 0 and (label == 0).all():
            return [group]
        return [self._part(group, label, i) for i in (*range(1, k + 1), 0)]

    def families(self, group: Group) -> tuple[tuple[Family, ...], bool]:
        """Families of X in a DAG that extends the group's graph, and whether the graph was repaired."""
        dag, repaired = extension(group.endo, group.adj, group.nodes, self._known.bounds)
        parents, starts = listed_parents(dag, group.nodes)
        nodes, listed, first = group.nodes.tolist(), parents.tolist(), starts.tolist()
        members = np.flatnonzero(group.endo).tolist()
        own = tuple((nodes[i], tuple(listed[first[i] : first[i + 1]])) for i in members)
        return own, bool(repaired)

    def _part(self, group: Group, label: NDArray[np.int64], i: int) -> Group:
        nodes, endo, adj, sep = cut_out(group.nodes, group.adj, group.sep, label, i)
        return Group(nodes, endo, adj, sep, group.pool_end, group.cut)

    def _make_room(self, n: int, pool_size: int) -> None:
        if n + 3 > self._depth:
            self._depth, self._work = n + 6, self.kind.workspace(self.data, n + 6)
        if n + 2 > len(self.tally.ci_tests):
            self.tally.ci_tests = np.append(self.tally.ci_tests, np.zeros(n + 2, np.int64))
        if pool_size > len(self._pool):
            self._pool = np.append(self._pool, np.zeros(pool_size, np.int32))


def rai(learner: Learner, bootstrap: np.random.SeedSequence | None = None) -> tuple[Family, ...]:
    """Families of the DAG found by RAI on the data, or on a bootstrap sample with this seed."""
    sample = learner.drawn(bootstrap) if bootstrap is not None else learner.sample

    def recurse(group: Group, n: int) -> list[Family]:
        done = learner.is_resolved(group, n)
        left = learner.max_tests - learner.tally.total
        if done or learner.must_stop(n, left):
            families, repaired = learner.families(group)
            learner.tally.repaired += repaired
            learner.tally.truncated += group.cut or not done
            return list(families)
        refined = learner.increase_resolution(group, n, sample, left)
        return [f for part in learner.split_autonomous(refined) for f in recurse(part, n + 1)]

    return tuple(sorted(recurse(learner.root(), 0)))
