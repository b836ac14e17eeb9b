"""MCMC moves over DAGs with a table of scored parent sets, for any number of variables.

There are four kinds of moves, described in `brai.posterior.mcmc`. Three draw whole parent sets from the table: of
one node, of both ends of a reversed edge, of two nodes. The fourth toggles a single edge and does not use the
table, so that every DAG can be reached. Nodes whose parent set is not in the table are skipped by the other three.

A reversal needs four sums over parent sets, for which two searches for descendants suffice. Remove the parents of
u and v. Let U be u and its descendants in this graph, and V likewise for v. If v is a parent of u, the descendants
of v are U and V, whatever the other parents of u are; and vice versa. So the new parent set of u must contain v
and be disjoint from U; that of v must be disjoint from U and V. Membership is stored as marks on nodes. For two
nodes at once, parent sets of u (disjoint from U) intersect V or not, and those of v (disjoint from V) intersect U
or not. All pairs are acyclic except those in which both intersect.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from brai.kernels.hill_climbing import below
from brai.kernels.interface import MUST, Array, Evidence, begin
from brai.kernels.mcmc_space import OUTSIDE, Space, draw, gather, score_of, uniform
from brai.runtime.jit import lean, njit

GIBBS, REVERSAL, TOGGLE, PAIR = 0, 1, 2, 3  # kinds of moves
LEFT, RIGHT, IS_LEFT, IS_RIGHT = 1, 2, 4, 8  # marks: in U, in V, u itself, v itself


class Graph(NamedTuple):
    """A DAG, the table entries and scores of its families, and marks on nodes."""

    parents: Array  # (d, most) int32, unordered
    n_parents: Array  # (d,) int64
    children: Array  # (d, d) int32, unordered
    n_children: Array  # (d,) int64
    entry: Array  # (d,) int64: index of the parent set in the table, or OUTSIDE
    score: Array  # (d,) float64
    key: Array  # (d,) uint64: the hash of the family
    mark: Array  # (d,) uint8
    stack: Array  # (d,) int64
    room: Array  # (most,) int64: scratch for a parent set


# --- the graph -------------------------------------------------------------------------------------------


@lean
def has_parent(graph: Graph, v: int, p: int) -> bool:
    """Whether p → v."""
    for k in range(graph.n_parents[v]):
        if graph.parents[v, k] == p:
            return True
    return False


@lean
def link(graph: Graph, p: int, v: int) -> None:
    """Add p → v."""
    graph.parents[v, graph.n_parents[v]] = p
    graph.n_parents[v] += 1
    graph.children[p, graph.n_children[p]] = v
    graph.n_children[p] += 1


@lean
def take_out(items: Array, n: int, item: int) -> None:
    """Remove an item from items[:n]; the last item takes its place."""
    for k in range(n):
        if items[k] == item:
            items[k] = items[n - 1]
            break


@lean
def unlink(graph: Graph, p: int, v: int) -> None:
    """Remove p → v."""
    take_out(graph.parents[v], graph.n_parents[v], p)
    graph.n_parents[v] -= 1
    take_out(graph.children[p], graph.n_children[p], v)
    graph.n_children[p] -= 1


@lean
def mark_below(graph: Graph, v: int, mark: int, barred: int) -> None:
    """Mark v and its descendants, without paths through ``barred``."""
    graph.mark[v] |= mark
    graph.stack[0], top = v, 1
    while top > 0:
        top -= 1
        u = graph.stack[top]
        for k in range(graph.n_children[u]):
            c = graph.children[u, k]
            if c != barred and graph.mark[c] & mark == 0:
                graph.mark[c] |= mark
                graph.stack[top] = c
                top += 1


@lean
def put(space: Space, graph: Graph, v: int, e: int) -> bool:
    """Replace the parents of v by set e of the table; returns whether they changed."""
    if graph.entry[v] == e:
        return False
    for k in range(graph.n_parents[v]):
        p = graph.parents[v, k]
        take_out(graph.children[p], graph.n_children[p], v)
        graph.n_children[p] -= 1
    graph.n_parents[v] = 0
    sets, keys = space.sets, space.memo.keys
    graph.key[v] = keys[v, v]
    for k in range(sets.begin[e], sets.begin[e + 1]):
        link(graph, sets.members[k], v)
        graph.key[v] ^= keys[sets.members[k], v]
    graph.entry[v], graph.score[v] = e, sets.scores[e]
    return True


@njit
def settle(evidence: Evidence, space: Space, graph: Graph) -> None:
    """Compute keys, entries and scores of a graph from its edges."""
    begin(evidence)
    for v in range(len(graph.key)):
        graph.key[v] = space.memo.keys[v, v]
        for k in range(graph.n_parents[v]):
            graph.key[v] ^= space.memo.keys[graph.parents[v, k], v]
            graph.room[k] = graph.parents[v, k]
        n, key = graph.n_parents[v], graph.key[v]
        graph.entry[v], graph.score[v] = score_of(evidence, space, v, graph.room, n, key)


# --- moves: each returns whether the graph changed -------------------------------------------------------


@lean
def redraw(space: Space, graph: Graph, v: int, state: Array) -> bool:
    """GIBBS: draw the parents of v from their conditional distribution given the rest of the graph."""
    if graph.entry[v] == OUTSIDE:
        return False
    graph.mark[:] = 0
    mark_below(graph, v, LEFT, -1)
    n, _ = gather(space, 0, v, graph.mark, LEFT, 0)
    return put(space, graph, v, draw(space, 0, n, state))


@lean
def mark_both(graph: Graph, u: int, v: int) -> None:
    """Mark the sets U and V of descendants of u and v in the graph without the parents of both."""
    graph.mark[:] = 0
    mark_below(graph, u, LEFT, v)
    mark_below(graph, v, RIGHT, u)
    graph.mark[u] |= IS_LEFT
    graph.mark[v] |= IS_RIGHT


@lean
def turn(space: Space, graph: Graph, state: Array) -> bool:
    """REVERSAL: reverse a random edge u → v and draw new parents of both (Grzegorczyk & Husmeier 2008)."""
    n_edges = graph.n_parents.sum()
    if n_edges == 0:
        return False
    k, v = below(state, n_edges), 0
    while k >= graph.n_parents[v]:
        k -= graph.n_parents[v]
        v += 1
    u = graph.parents[v, k]
    if graph.entry[u] == OUTSIDE or graph.entry[v] == OUTSIDE:
        return False
    mark_both(graph, u, v)
    both = LEFT | RIGHT
    n_u, log_u = gather(space, 0, u, graph.mark, LEFT, IS_RIGHT)
    if n_u == 0:
        return False
    n_v, log_v = gather(space, 1, v, graph.mark, both, 0)
    if n_v == 0:
        return False
    _, back_v = gather(space, 2, v, graph.mark, RIGHT, IS_LEFT)  # the opposite move
    _, back_u = gather(space, 2, u, graph.mark, both, 0)
    new_u, new_v = draw(space, 0, n_u, state), draw(space, 1, n_v, state)
    begin = space.sets.begin
    after = n_edges - graph.n_parents[u] - graph.n_parents[v]
    after += begin[new_u + 1] - begin[new_u] + begin[new_v + 1] - begin[new_v]
    ratio = log_u + log_v - back_v - back_u + math.log(n_edges / after)
    if ratio < 0 and uniform(state) >= math.exp(ratio):
        return False
    put(space, graph, u, new_u)
    put(space, graph, v, new_v)
    return True


@lean
def redraw_pair(space: Space, graph: Graph, u: int, v: int, state: Array) -> bool:
    """PAIR: draw the parents of u and v from their joint conditional distribution given the rest of the graph."""
    if graph.entry[u] == OUTSIDE or graph.entry[v] == OUTSIDE:
        return False
    mark_both(graph, u, v)
    both = LEFT | RIGHT
    n_u, log_u = gather(space, 0, u, graph.mark, both, 0)
    n_v, log_v = gather(space, 1, v, graph.mark, both, 0)
    under_u, log_under_u = gather(space, 2, u, graph.mark, LEFT, RIGHT)  # u has parents in V
    under_v, log_under_v = gather(space, 3, v, graph.mark, RIGHT, LEFT)
    apart, u_below, v_below = log_u + log_v, log_under_u + log_v, log_u + log_under_v
    top = max(apart, max(u_below, v_below))
    apart, u_below, v_below = math.exp(apart - top), math.exp(u_below - top), math.exp(v_below - top)
    choice = uniform(state) * (apart + u_below + v_below)
    if choice < u_below or n_u == 0:
        new_u, new_v = draw(space, 2, under_u, state), draw(space, 1, n_v, state)
    elif choice < u_below + v_below or n_v == 0:
        new_u, new_v = draw(space, 0, n_u, state), draw(space, 3, under_v, state)
    else:
        new_u, new_v = draw(space, 0, n_u, state), draw(space, 1, n_v, state)
    changed = put(space, graph, u, new_u)
    return put(space, graph, v, new_v) or changed


@lean
def toggle(evidence: Evidence, space: Space, graph: Graph, i: int, j: int, state: Array) -> bool:
    """TOGGLE: delete i → j if present, else reverse j → i if present, else add i → j. Proposals are symmetric."""
    keys = space.memo.keys
    delete, reverse = has_parent(graph, j, i), has_parent(graph, i, j)
    if not delete and (graph.n_parents[j] >= space.most[j] or not space.allowed[i, j]):
        return False
    if (delete and space.allowed[i, j] == MUST) or (reverse and space.allowed[j, i] == MUST):
        return False
    own, n = graph.room, 0
    for k in range(graph.n_parents[j]):
        if graph.parents[j, k] != i:
            own[n] = graph.parents[j, k]
            n += 1
    if not delete:
        own[n] = i
        n += 1
    key_j, key_i = graph.key[j] ^ keys[i, j], graph.key[i] ^ keys[j, i]
    e_j, score_j = score_of(evidence, space, j, own, n, key_j)
    gain, e_i, score_i = score_j - graph.score[j], OUTSIDE, 0.0
    if reverse:
        n = 0
        for k in range(graph.n_parents[i]):
            if graph.parents[i, k] != j:
                own[n] = graph.parents[i, k]
                n += 1
        e_i, score_i = score_of(evidence, space, i, own, n, key_i)
        gain += score_i - graph.score[i]
    if gain < 0 and uniform(state) >= math.exp(gain):
        return False
    if delete:
        unlink(graph, i, j)
    else:
        if reverse:
            unlink(graph, j, i)
        graph.mark[:] = 0
        mark_below(graph, j, LEFT, -1)
        if graph.mark[i] != 0:
            if reverse:
                link(graph, j, i)
            return False
        link(graph, i, j)
        if reverse:
            graph.key[i], graph.entry[i], graph.score[i] = key_i, e_i, score_i
    graph.key[j], graph.entry[j], graph.score[j] = key_j, e_j, score_j
    return True


class Noted(NamedTuple):
    """The draws of a chain: DAGs and their log scores."""

    parents: Array  # (n, d, most) int16, padded with -1; (n, 0, 0) if only scores are stored
    scores: Array  # (n,) float64


@njit
def run(
    evidence: Evidence,
    space: Space,
    graph: Graph,
    shares: Array,
    steps: int,
    noted: Noted,
    tally: Array,
    state: Array,
) -> None:
    """Run a chain: ``steps`` moves, then store the graph and its log score, for each row of ``noted``.

    ``shares`` are the cumulative probabilities of the kinds of moves. ``tally`` counts, by kind, all moves and
    those that changed the graph.
    """
    begin(evidence)
    d, parents, scores = len(graph.key), noted.parents, noted.scores
    for t in range(len(scores)):
        for _ in range(steps):
            kind, chance = 0, uniform(state)
            while chance >= shares[kind]:
                kind += 1
            changed = False
            if kind == REVERSAL:
                changed = turn(space, graph, state)
            elif kind == GIBBS:
                changed = redraw(space, graph, below(state, d), state)
            elif d > 1:  # a single node has no pairs
                u = below(state, d)
                if kind == TOGGLE:
                    v = below(state, d - 1)
                    changed = toggle(evidence, space, graph, u, v + 1 if v >= u else v, state)
                else:
                    v = space.partners[u, below(state, space.partners.shape[1])]
                    changed = v >= 0 and redraw_pair(space, graph, u, v, state)
            tally[kind, 0] += 1
            tally[kind, 1] += changed
        scores[t] = graph.score.sum()
        if parents.shape[1] > 0:
            for v in range(len(graph.key)):
                for k in range(parents.shape[2]):
                    parents[t, v, k] = graph.parents[v, k] if k < graph.n_parents[v] else -1
