"""Sampling of parent sets from a table by their scores, and look-up of a set in the table.

A set is admissible if no member has a forbidden mark and, if required, some member has a required mark. For speed
each set has a signature with bit p mod 64 for each member p. With up to 64 variables the signature is exact. With
more, it decides most cases, and members are checked in the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from brai.kernels.hill_climbing import Memo, next_random, recalled
from brai.kernels.interface import Array, Evidence, family_value, turn
from brai.kernels.orders import Sets
from brai.runtime.jit import lean, njit

DEPTH = 35.0  # a scan ends at this distance (nats) from the best admissible set; exp(-35) is below rounding
DEEP = 600.0  # precomputed weights are used up to this distance (nats) from the variable's best set
OUTSIDE = -1  # index of a set that is not in the table


class Space(NamedTuple):
    """The search space of a chain: the table, a hash index of it, a cache of other scores, allowed edges."""

    sets: Sets
    signatures: Array  # (sets,) uint64
    chances: Array  # (sets,) float64: exp(score - score of the variable's best set)
    hashes: Array  # (slots,) uint64, 0 if empty; the number of slots is a power of 2, above the number of sets
    entries: Array  # (slots,) int64
    memo: Memo
    allowed: Array  # (d, d) uint8: an edge is allowed (1), forbidden (0) or required (MUST)
    most: Array  # (d,) int64: largest number of parents of a variable
    partners: Array  # (d, k) int64: possible partners of a node in a PAIR move, padded with -1
    found: Array  # (4, most sets of a variable) int64: admissible sets
    weights: Array  # (4, most sets of a variable) float64: their weights


@lean
def uniform(state: Array) -> float:
    """A uniform random number in [0, 1)."""
    return float(next_random(state) >> np.uint64(11)) * 2.0**-53


@lean
def bit(v: int) -> np.uint64:
    """The bit of node v in a signature."""
    return np.uint64(1) << np.uint64(v & 63)


@njit
def index_sets(sets: Sets, keys: Array, hashes: Array, entries: Array, signatures: Array, chances: Array) -> None:
    """Fill the hash index (open addressing, linear probing), the signatures and the chances."""
    for v in range(len(keys)):
        for e in range(sets.first[v], sets.first[v + 1]):
            chances[e] = math.exp(sets.scores[e] - sets.scores[sets.first[v]])
            value = keys[v, v]
            for p in sets.members[sets.begin[e] : sets.begin[e + 1]]:
                value ^= keys[p, v]
                signatures[e] |= bit(p)
            slot = np.int64(value & np.uint64(len(hashes) - 1))
            while hashes[slot] != np.uint64(0):
                slot = (slot + 1) % len(hashes)
            hashes[slot], entries[slot] = value, e


@lean
def entry_of(space: Space, value: int) -> int:
    """Index of the set with this hash, or OUTSIDE."""
    slot = np.int64(value & np.uint64(len(space.hashes) - 1))
    while space.hashes[slot] != np.uint64(0):
        if space.hashes[slot] == value:
            return space.entries[slot]
        slot = (slot + 1) % len(space.hashes)
    return OUTSIDE


@lean
def score_of(evidence: Evidence, space: Space, v: int, parents: Array, n: int, value: int) -> tuple[int, float]:
    """Entry and score of a family: from the table, from the cache, or computed.

    ``parents`` is scratch memory: it is sorted before a score is computed, so that the last bits of a score do not
    depend on the way to the family.
    """
    e = entry_of(space, value)
    if e != OUTSIDE:
        return e, space.sets.scores[e]
    slot, known = recalled(space.memo, value)
    if not known:
        for k in range(1, n):
            p, j = parents[k], k
            while j > 0 and parents[j - 1] > p:
                parents[j] = parents[j - 1]
                j -= 1
            parents[j] = p
        turn(evidence, 0)
        space.memo.hashes[slot] = value
        space.memo.scores[slot] = family_value(evidence, v, parents, n)
    return OUTSIDE, space.memo.scores[slot]


@lean
def signature(mark: Array, marks: int) -> np.uint64:
    """Signature of the nodes that have one of the marks."""
    found = np.uint64(0)
    for v in range(len(mark)):
        if mark[v] & marks:
            found |= bit(v)
    return found


@lean
def meets(sets: Sets, e: int, mark: Array, marks: int) -> bool:
    """Whether a member of set e has one of the marks."""
    for k in range(sets.begin[e], sets.begin[e + 1]):
        if mark[sets.members[k]] & marks:
            return True
    return False


@lean
def gather(space: Space, row: int, v: int, mark: Array, never: int, need: int) -> tuple[int, float]:
    """Find the sets of v without a mark of ``never`` and, unless ``need`` is 0, with a mark of ``need``.

    Returns their number and the log of the sum of exp(score). Sets and weights are stored in a row of ``space``.
    """
    sets, signatures, found, weights = space.sets, space.signatures, space.found[row], space.weights[row]
    exact, none, first = len(mark) <= 64, np.uint64(0), sets.first[v]
    out, wanted = signature(mark, never), signature(mark, need)
    n, top, end, total, kept = 0, 0.0, -np.inf, 0.0, True
    for e in range(first, sets.first[v + 1]):
        if sets.scores[e] < end:
            break
        if signatures[e] & out != none and (exact or meets(sets, e, mark, never)):
            continue
        if need != 0:
            if signatures[e] & wanted == none or not (exact or meets(sets, e, mark, need)):
                continue
        if n == 0:
            top = sets.scores[e]
            end, kept = top - DEPTH, top > sets.scores[first] - DEEP
        weight = space.chances[e] if kept else math.exp(sets.scores[e] - top)
        found[n], weights[n] = e, weight
        total += weight
        n += 1
    if n == 0:
        return 0, -np.inf
    return n, (sets.scores[first] if kept else top) + math.log(total)


@lean
def draw(space: Space, row: int, n: int, state: Array) -> int:
    """Draw one of the n sets found by `gather`, in proportion to its weight."""
    total = 0.0
    for k in range(n):
        total += space.weights[row, k]
    left = uniform(state) * total
    for k in range(n):
        left -= space.weights[row, k]
        if left < 0:
            return space.found[row, k]
    return space.found[row, 0]
