"""IncreaseResolution (Algorithm 1, line 6), first half: remove edges between independent variables."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from brai.kernels.groups import Piece
from brai.kernels.interface import CELLS, MUST, Array, Evidence, begin, d_separated, independent, test, turn
from brai.runtime.jit import njit

OUTER, BOTH, LATER, EARLIER = 0, 1, 2, 3  # parts of the tests, see `refine_part`


class Limits(NamedTuple):
    """Limits for the tests of a node."""

    budget: int = 2**62  # number of tests
    deadline: float = math.inf  # of time.monotonic
    some: int = 2**31  # nodes in one compiled call, which checks neither signals nor time


UNLIMITED = Limits()
NOTHING = np.zeros((0, 3), np.int32)  # no room: removed edges are not listed
UNKNOWN, UNSOUGHT = -1, -2  # instead of a separating set, for a pair that must not be adjacent, see `refine`


@njit
def mark_variables(nodes: Array, sep: Array, pool: Array, mark: Array) -> None:
    """Mark the variables that tests of a group may involve: its nodes, and members of their separating sets."""
    for v in nodes:
        mark[v] = 1
    for a in range(len(sep)):
        for b in range(a):
            at = sep[a, b]
            if at >= 0:
                for m in range(pool[at]):
                    mark[pool[at + 1 + m]] = 1


@njit
def potential_parents(graph: Array, nodes: Array, y: int, association: Array, out: Array) -> int:
    """Parents and undirected neighbours of y, in order of decreasing association with y, ties by index."""
    m = 0
    for x in range(len(graph)):
        if graph[x, y]:
            strength, j = association[nodes[y], nodes[x]], m
            while j > 0 and association[nodes[y], nodes[out[j - 1]]] < strength:
                out[j] = out[j - 1]
                j -= 1
            out[j] = x
            m += 1
    return m


@njit
def next_combination(chosen: Array, n: int, m: int) -> int:
    """Advance to the next n-subset of 0..m-1; returns the first position that changed, or -1 after the last."""
    j = n - 1
    while j >= 0 and chosen[j] == m - n + j:
        j -= 1
    if j >= 0:
        chosen[j] += 1
        for i in range(j + 1, n):
            chosen[i] = chosen[i - 1] + 1
    return j


@njit
def to_be_tested(graph: Array, x: int, y: int, endogenous: int, chosen: Array, n: int, candidates: Array) -> bool:
    """Whether the conditioning set does not contain x and was not already tested from the side of x."""
    known = endogenous and x < y
    for j in range(n):
        c = candidates[chosen[j]]
        if c == x:
            return False
        if not graph[c, x] or c == y:
            known = False
    return not known


class Part(NamedTuple):
    """A part of the tests of a node."""

    n: int  # order of the tests
    which: int  # OUTER, BOTH, LATER, EARLIER
    first: int  # edges into the nodes first..last-1 are tested
    last: int
    budget: int  # maximal number of tests


@njit
def refine_part(
    evidence: Evidence,
    piece: Piece,
    start: Array,
    pool_end: int,
    part: Part,
    association: Array,
    bounds: Array,
    removed: Array,
) -> tuple[int, int, int, bool]:
    """Test edges into the nodes first..last-1 at order n, see `refine`: those from X_ex (OUTER), or inside X.

    ``start`` is the graph at the start of the phase. Inside X, an edge is tested from its lower end (LATER: to
    nodes of higher index), then, if it remains, from its higher end (EARLIER). BOTH does both for each node in
    turn, with less counting. The parts of LATER are independent of each other, and so are those of EARLIER.
    Removed edges are written to ``removed`` (x, y, offset in the pool), up to its capacity.

    Returns the number of tests, the new end of the pool, the number of rows written to ``removed``, and whether
    the budget was exhausted.
    """
    rule, n, which, n_removed = evidence.rule, part.n, part.which, 0
    nodes, endo, adj, sep, pool = piece
    k, tests, oracle = len(nodes), 0, len(rule.truth) > 0
    candidates, targets = np.empty(k, np.int64), np.empty(k, np.int64)
    chosen, given = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    inside, empty = which != OUTER, -1
    begin(evidence)
    for y in range(part.first, part.last):
        if not endo[y]:
            continue
        n_targets = 0
        for x in range(k):
            if (which == LATER and x < y) or (which == EARLIER and x > y) or endo[x] != inside:
                continue
            if not (adj[y, x] or adj[x, y] or sep[y, x] == UNKNOWN):  # adj[y, x] first: it is contiguous
                continue
            if bounds[nodes[y], nodes[x]] != MUST and bounds[nodes[x], nodes[y]] != MUST:
                targets[n_targets] = x
                n_targets += 1
        if n_targets == 0:
            continue
        m = potential_parents(start, nodes, y, association, candidates) if n > 0 else 0
        changed = 0 if m >= n else -1
        for j in range(n):
            chosen[j] = j
        while changed >= 0 and n_targets > 0:
            for j in range(changed, n):
                given[j] = nodes[candidates[chosen[j]]]
            turn(evidence, changed)
            left = 0  # number of remaining targets
            for i in range(n_targets):
                x = targets[i]
                targets[left] = x
                left += 1
                if not to_be_tested(start, x, y, inside, chosen, n, candidates):
                    continue
                if tests == part.budget:
                    return tests, pool_end, n_removed, True
                tests += 1
                if oracle:
                    apart = d_separated(rule.truth, nodes[x], nodes[y], given, n)
                else:
                    value, df, decision = test(evidence, nodes[x], nodes[y], given, n, 0)
                    constant = n == 0 and df == 0 and rule.df != CELLS
                    apart = constant or independent(evidence, value, df, decision, 0)
                if apart:
                    adj[x, y] = adj[y, x] = 0
                    left -= 1
                    if n > 0 or empty < 0:  # the empty set is stored once
                        empty = pool_end
                        pool[pool_end] = n
                        for j in range(n):
                            pool[pool_end + 1 + j] = given[j]
                        pool_end += n + 1
                    sep[x, y] = sep[y, x] = empty
                    if n_removed < len(removed):
                        removed[n_removed, 0], removed[n_removed, 1], removed[n_removed, 2] = x, y, empty
                        n_removed += 1
            n_targets = left
            changed = next_combination(chosen, n, m)
    return tests, pool_end, n_removed, False


def refine(
    evidence: Evidence,
    piece: Piece,
    pool_end: int,
    n: int,
    association: Array,
    bounds: Array,
    limits: Limits = UNLIMITED,
) -> tuple[int, int, bool]:
    """Test all edges into X at order n: first edges X_ex → X, then edges inside X.

    Conditioning sets for x – y are the n-subsets of the potential parents of y, then (inside X) of those of x;
    each set is tested once. Potential parents are those at the start of the phase, so the removed edges do not
    depend on the order of tests. For a removed edge, sep[x, y] is the offset of its separating set in ``pool``
    (its size, then its members). Returns the number of tests, the new end of the pool, and whether a limit has
    left out tests.

    ``bounds`` (d, d) is background knowledge. A required edge (MUST) is not tested. A forbidden pair is not
    adjacent from the start. If its separating set is UNKNOWN, the pair is tested as if it were adjacent, so that
    v-structures can be found; but its ends are not potential parents of each other.
    """
    k, endo, adj = len(piece.nodes), piece.endo, piece.adj
    tests, cut = 0, False
    for which in (BOTH,) if endo.all() else (OUTER, BOTH):
        start = adj.copy()
        for first in range(0, k, limits.some):
            cut = cut or (first > 0 and time.monotonic() > limits.deadline)
            if not cut:
                part = Part(n, which, first, min(k, first + limits.some), limits.budget - tests)
                made, pool_end, _, cut = refine_part(
                    evidence, piece, start, pool_end, part, association, bounds, NOTHING
                )
                tests += made
    return tests, pool_end, cut
