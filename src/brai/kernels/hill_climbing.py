"""Hill climbing and tabu search over DAGs: repeatedly the best addition, deletion or reversal of an edge.

`leap` adds two parents at once, for variables that depend on two others only jointly: no single edge gains there.

``adj`` is "row to column". ``delta[i, j]`` is the change of the local score of j if i → j is toggled (added or
deleted). A reversal is two toggles. After a move only the columns of changed families are computed again.

Among equal gains (within TIE) the first pair in ``order`` is chosen, by row, then column; addition and deletion
before reversal. Ties are frequent: with a score-equivalent score both directions of a first edge gain the same.

``allowed[i, j]`` is 0 if i → j may not be added, and MUST if it may be neither deleted nor reversed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brai.kernels.interface import MUST, Array, Evidence, begin, family_value, turn
from brai.runtime.jit import lean, njit

TIE = 1e-9
NONE, TOGGLE, REVERSE = 0, 1, 2


@lean
def next_random(state: Array) -> int:
    """64 random bits (xorshift64, Marsaglia 2003); ``state`` is an array of one uint64, not 0."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return x


@lean
def below(state: Array, n: int) -> int:
    """A random integer in 0..n-1."""
    return np.int64((next_random(state) >> np.uint64(11)) % np.uint64(n))  # type: ignore[return-value]


@lean
def parents_of(adj: Array, j: int, buffer: Array) -> int:
    """Write the parents of j to ``buffer``, in increasing order; returns their number."""
    n = 0
    for i in range(len(adj)):
        if adj[i, j]:
            buffer[n] = i
            n += 1
    return n


class Memo(NamedTuple):
    """A cache of family scores. The hash of a family is the xor of the keys of its edges (Zobrist 1970)."""

    keys: Array  # (d, d) uint64, random; keys[j, j] is the hash of j without parents
    hashes: Array  # (slots,) uint64, 0 if empty; the number of slots is a power of 2
    scores: Array  # (slots,) float64


@lean
def recalled(memo: Memo, value: int) -> tuple[int, bool]:
    """The slot of a family with this hash, and whether it contains its score."""
    slot = int(value & np.uint64(len(memo.hashes) - 1))
    return slot, memo.hashes[slot] == value


class Limits(NamedTuple):
    """The constraints of a climb."""

    allowed: Array  # (d, d) uint8, see the docstring of the module
    max_parents: Array  # (d,) int64
    patience: int  # tabu search ends after this number of moves without a new best
    max_moves: int


class Climb(NamedTuple):
    """The state of a climb."""

    adj: Array
    best: Array  # the best DAG so far
    delta: Array
    reach: Array  # see `reachable`
    tabu: Array  # ring buffer of hashes of graphs; empty for plain hill climbing
    here: Array  # (1,) uint64: hash of adj
    counts: Array  # (4,) int64: moves, scored families, moves since the last new best, graphs added to tabu
    gains: Array  # (2,) float64: scores of adj and of the best DAG, relative to the start


@njit
def toggle_column(evidence: Evidence, adj: Array, limits: Limits, j: int, delta: Array, memo: Memo) -> int:
    """Fill delta[:, j]; returns the number of families scored (not found in the cache)."""
    d, scored, allowed = len(adj), 0, limits.allowed
    own, given = np.empty(d + 1, np.int64), np.empty(d + 1, np.int64)
    n = parents_of(adj, j, own)
    here = memo.keys[j, j]
    for k in range(n):
        here ^= memo.keys[own[k], j]
        given[k] = own[k]
    begin(evidence)
    slot, known = recalled(memo, here)
    if not known:
        memo.hashes[slot], scored = here, scored + 1
        memo.scores[slot] = family_value(evidence, j, given, n)
    now = memo.scores[slot]
    for i in range(d):
        delta[i, j] = -np.inf
        if i == j or adj[i, j] or not allowed[i, j] or n >= limits.max_parents[j]:
            continue
        slot, known = recalled(memo, here ^ memo.keys[i, j])
        if not known:
            given[n] = i
            turn(evidence, n)
            memo.hashes[slot], scored = here ^ memo.keys[i, j], scored + 1
            memo.scores[slot] = family_value(evidence, j, given, n + 1)
        delta[i, j] = memo.scores[slot] - now
    for leaving in range(n):
        i = own[leaving]
        if allowed[i, j] == MUST:
            continue
        slot, known = recalled(memo, here ^ memo.keys[i, j])
        if not known:
            for k in range(leaving):
                given[k] = own[k]
            for k in range(leaving + 1, n):
                given[k - 1] = own[k]
            turn(evidence, 0)
            memo.hashes[slot], scored = here ^ memo.keys[i, j], scored + 1
            memo.scores[slot] = family_value(evidence, j, given, n - 1)
        delta[i, j] = memo.scores[slot] - now
    return scored


@njit
def reachable(adj: Array, reach: Array) -> None:
    """Set reach[i] to the descendants of i, as a bit vector. The graph must be acyclic.

    This is a depth-first search; a node is complete after its children. ``adj`` is read by rows.
    """
    d = len(adj)
    done, path, at = np.zeros(d, np.uint8), np.empty(d, np.int64), np.zeros(d, np.int64)
    for root in range(d):
        depth = 0
        if not done[root]:
            path[0], depth = root, 1
        while depth > 0:
            i = path[depth - 1]
            if at[i] == 0:
                reach[i, :] = np.uint64(0)
            while at[i] < d and (not adj[i, at[i]] or done[at[i]]):
                j = at[i]
                if adj[i, j]:
                    for w in range(reach.shape[1]):
                        reach[i, w] |= reach[j, w]
                    reach[i, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
                at[i] += 1
            if at[i] < d:
                path[depth] = at[i]
                depth += 1
            else:
                done[i] = 1
                depth -= 1


@lean
def is_below(reach: Array, i: int, j: int) -> bool:
    """Whether a directed path leads from i to j."""
    return (reach[i, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != np.uint64(0)


@lean
def may_reverse(adj: Array, reach: Array, i: int, j: int) -> bool:
    """Whether i → j is the only directed path from i to j, so that it can be reversed."""
    lone = True
    for c in range(len(adj)):
        lone &= c == j or not adj[i, c] or not is_below(reach, c, j)
    return lone


@lean
def is_listed(hashes: Array, n: int, value: int) -> bool:
    """Whether a graph is in the tabu list, a ring buffer of hashes; n hashes were added so far."""
    listed = False
    for k in range(min(n, len(hashes))):
        listed |= hashes[k] == value
    return listed


@njit
def best_move(now: Climb, most: Array, order: Array, keys: Array) -> tuple[int, int, int, float]:
    """Kind, i, j and gain of the best move to a DAG that is not in the tabu list; ``most`` is max_parents."""
    adj, delta, reach, tabu, here, n_tabu = now.adj, now.delta, now.reach, now.tabu, now.here[0], now.counts[3]
    n_parents = np.zeros(len(adj), np.int64)
    for i in range(len(adj)):
        for j in range(len(adj)):
            n_parents[j] += adj[i, j]
    kind, a, b, best = NONE, 0, 0, -np.inf
    for i in order:
        for j in order:
            gain = delta[i, j]
            if gain > best + TIE and (adj[i, j] or (not adj[j, i] and not is_below(reach, j, i))):
                if not is_listed(tabu, n_tabu, here ^ keys[i, j]):
                    kind, a, b, best = TOGGLE, i, j, gain
            if adj[i, j] and n_parents[i] < most[i]:
                gain = delta[i, j] + delta[j, i]
                if gain > best + TIE and may_reverse(adj, reach, i, j):
                    if not is_listed(tabu, n_tabu, here ^ keys[i, j] ^ keys[j, i]):
                        kind, a, b, best = REVERSE, i, j, gain
    return kind, a, b, best


@njit
def toggles(evidence: Evidence, adj: Array, limits: Limits, memo: Memo) -> tuple[Array, int]:
    """The complete array delta, and the number of families scored."""
    delta, scored = np.full(adj.shape, -np.inf), 0
    for j in range(len(adj)):
        scored += toggle_column(evidence, adj, limits, j, delta, memo)
    return delta, scored


@njit
def climb(evidence: Evidence, now: Climb, limits: Limits, order: Array, memo: Memo, some: int) -> bool:
    """Continue a climb for at most ``some`` moves; returns whether it has ended.

    With an empty tabu list it ends at the first local maximum. Otherwise the best move that leads to none of the
    last len(tabu) graphs is made, even downhill, until ``patience`` consecutive moves have found no new best.
    """
    for _ in range(some):
        if now.counts[0] >= limits.max_moves:
            return True
        reachable(now.adj, now.reach)
        if len(now.tabu) > 0:
            now.tabu[now.counts[3] % len(now.tabu)] = now.here[0]
            now.counts[3] += 1
        kind, i, j, gain = best_move(now, limits.max_parents, order, memo.keys)
        if kind == NONE or (gain <= TIE and len(now.tabu) == 0):
            return True
        now.adj[i, j] ^= 1
        now.here[0] ^= memo.keys[i, j]
        now.counts[1] += toggle_column(evidence, now.adj, limits, j, now.delta, memo)
        if kind == REVERSE:
            now.adj[j, i] = 1
            now.here[0] ^= memo.keys[j, i]
            now.counts[1] += toggle_column(evidence, now.adj, limits, i, now.delta, memo)
        now.gains[0] += gain
        now.counts[0] += 1
        now.counts[2] += 1
        if now.gains[0] > now.gains[1] + TIE:
            now.gains[1] = now.gains[0]
            now.counts[2] = 0
            now.best[:] = now.adj
        elif now.counts[2] >= limits.patience:
            return True
    return False


class Leaps(NamedTuple):
    """Pairs of parents that may be added at once; those of v are pairs[starts[v]:starts[v + 1]]."""

    starts: Array  # (d + 1,) int64
    pairs: Array  # (·, 2) int64


@njit
def best_leap(
    evidence: Evidence, adj: Array, reach: Array, limits: Limits, leaps: Leaps, j: int
) -> tuple[float, int]:
    """Gain and index of the best pair to add to the parents of j; -inf and -1 if there is none."""
    given = np.empty(len(adj) + 2, np.int64)
    n, best, chosen = parents_of(adj, j, given), -np.inf, -1
    if n + 2 > limits.max_parents[j]:
        return best, chosen
    begin(evidence)
    now = family_value(evidence, j, given, n)
    for k in range(leaps.starts[j], leaps.starts[j + 1]):
        a, b = leaps.pairs[k]
        if adj[a, j] or adj[b, j] or not limits.allowed[a, j] or not limits.allowed[b, j]:
            continue
        if is_below(reach, j, a) or is_below(reach, j, b):
            continue
        given[n], given[n + 1] = a, b
        turn(evidence, n)
        gain = family_value(evidence, j, given, n + 2) - now
        if gain > best + TIE:
            best, chosen = gain, k
    return best, chosen


@njit
def leap(evidence: Evidence, adj: Array, limits: Limits, leaps: Leaps) -> int:
    """Add pairs of parents to a DAG, the best first, until none improves the score; returns how many.

    A gain found earlier stays valid unless the parents of its variable change or the pair would close a cycle, so
    only such gains are computed again.
    """
    d, made = len(adj), 0
    reach = np.zeros((d, (d + 63) // 64), np.uint64)
    gains, chosen = np.empty(d), np.empty(d, np.int64)
    reachable(adj, reach)
    for j in range(d):
        gains[j], chosen[j] = best_leap(evidence, adj, reach, limits, leaps, j)
    while True:
        j = int(np.argmax(gains))
        if gains[j] <= TIE:
            return made
        a, b = leaps.pairs[chosen[j]]
        if not is_below(reach, j, a) and not is_below(reach, j, b):
            adj[a, j] = adj[b, j] = 1
            made += 1
            reachable(adj, reach)
        gains[j], chosen[j] = best_leap(evidence, adj, reach, limits, leaps, j)


@njit
def perturb(adj: Array, allowed: Array, most: Array, n: int, state: Array) -> None:
    """Toggle n random edges; toggles that would violate a constraint or create a cycle are skipped."""
    d = len(adj)
    reach = np.zeros((d, (d + 63) // 64), np.uint64)
    for _ in range(n):
        reachable(adj, reach)
        i, j = below(state, d), below(state, d)
        if adj[i, j]:
            adj[i, j] = allowed[i, j] == MUST
        elif (
            i != j and allowed[i, j] and not adj[j, i] and not is_below(reach, j, i) and adj[:, j].sum() < most[j]
        ):
            adj[i, j] = 1
