"""Beliefs: prior probabilities of single edges, as an expert states them.

A belief is (a, b, p), optionally with a fourth part that says what p is the probability of:

- ``"edge"`` (default): a → b is in the graph;
- ``"adjacent"``: a and b are adjacent, in either direction;
- ``"direction"``: the edge is a → b, given that a and b are adjacent.

**Algebra.** A pair of variables has three states: not adjacent, a → b, b → a. For a pair that nothing else is
known about, a structure prior (`brai.graphs.priors`) gives them the weights 1, r, r, where r = rho(1) / rho(0).
Beliefs replace these by probabilities (Jeffrey's rule): what a belief says nothing about keeps its relative
weights. "edge" keeps the ratio of the other two states, "adjacent" that of the two directions, and "direction" the
probability that the two are adjacent. Two beliefs about a pair determine all three. The log prior of a DAG then
has, for each edge a → b, the additional term

    log (P(a → b) / P(not adjacent)) - log r.

So a prior with beliefs is still a product over families. For two variables the stated probabilities are exact. In
a larger graph they are those of a pair whose variables have no other parents; acyclicity and further parents
change them a little. A forbidden direction is a state of weight 0.

The terms of a → b and b → a differ, so DAGs of an equivalence class may have different probabilities.

References: Jeffrey 1965, "The logic of decision"; Castelo & Siebes 2000, "Priors on network structures. Biasing
the search for Bayesian networks", International Journal of Approximate Reasoning 24 (three states of a pair).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

KINDS = ("edge", "adjacent", "direction")
SAME = 1e-9  # probabilities that differ by less are equal


class KnowledgeError(ValueError):
    """Knowledge that contradicts itself, or that names unknown variables."""


class Belief(NamedTuple):
    """A prior probability about the pair a, b."""

    a: str
    b: str
    probability: float
    about: str = "edge"

    def __str__(self) -> str:
        what = {"edge": "{} → {}", "adjacent": "{} – {}", "direction": "{} → {}, given an edge"}[self.about]
        return f"P({what.format(self.a, self.b)}) = {self.probability:g}"


def beliefs_of(given: Any) -> tuple[Belief, ...]:
    """Beliefs from what a user writes, checked one by one."""
    cure = "give (a, b, probability), or (a, b, probability, 'adjacent' or 'direction')"
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise KnowledgeError(f"beliefs is {given!r}: {cure}")
    found: dict[Belief, None] = {}
    for one in given:
        if isinstance(one, str | bytes | Mapping) or not isinstance(one, Sequence) or len(one) not in (3, 4):
            raise KnowledgeError(f"beliefs holds {one!r}: {cure}")
        a, b, p, *about = one
        if about and about[0] not in KINDS:
            raise KnowledgeError(f"a belief is about {about[0]!r}: choose one of {', '.join(KINDS)}")
        if str(a) == str(b):
            raise KnowledgeError(f"a belief names {str(a)!r} twice: an edge joins two variables, remove it")
        if not isinstance(p, Real) or isinstance(p, bool) or not 0 < float(p) < 1:
            raise KnowledgeError(
                f"the belief about {str(a)!r} and {str(b)!r} has the probability {p!r}: give a number between 0 "
                "and 1; an edge that is certain is required, one that is impossible is forbidden"
            )
        found[Belief(str(a), str(b), float(p), *about)] = None
    return tuple(found)


def states_of(a: str, b: str, stated: Sequence[Belief], weights: Sequence[float]) -> tuple[float, float, float]:
    """Probabilities of "not adjacent", a → b and b → a, given their weights under the structure prior.

    KnowledgeError if the beliefs contradict each other or the weights (a forbidden direction has weight 0).
    """
    known: dict[str, float] = {}
    for own in stated:
        same = own.a == a
        key = {"edge": "ab" if same else "ba", "adjacent": "adjacent", "direction": "direction"}[own.about]
        p = own.probability if same or own.about != "direction" else 1 - own.probability
        if key in known and abs(known[key] - p) > SAME:
            raise _impossible(stated, "they say different things about the same pair")
        known[key] = p
    none, forth, back = weights
    if forth + back == 0:
        raise _impossible(stated, "an edge between the two is forbidden")
    for key, weight in (("ab", forth), ("ba", back)):
        if key in known and weight == 0:
            raise _impossible(stated, "this edge is forbidden")
    if "direction" in known and min(forth, back) == 0:
        raise _impossible(stated, "only one direction is allowed")
    x, y = _directions(known, none, forth, back)
    if min(x if forth else 1.0, y if back else 1.0, 1 - x - y) <= 0:
        raise _impossible(stated, "together they leave nothing for one of: no edge, one direction, the other")
    if "adjacent" in known and abs(x + y - known["adjacent"]) > SAME:
        raise _impossible(stated, "the edges do not add up to the probability that the two are adjacent")
    if "direction" in known and abs(x - known["direction"] * (x + y)) > SAME:
        raise _impossible(stated, "the edges do not have the ratio that the direction says")
    return 1 - x - y, x, y


def _directions(known: Mapping[str, float], none: float, forth: float, back: float) -> tuple[float, float]:
    """P(a → b) and P(b → a) from the known probabilities and the weights of the three states."""
    share = known.get("direction", forth / (forth + back))
    if "ab" in known and "ba" in known:
        return known["ab"], known["ba"]
    for key, other, of in (("ab", back, share), ("ba", forth, 1 - share)):
        if key in known:
            p = known[key]
            if "adjacent" in known:
                rest = known["adjacent"] - p if other else 0.0
            elif "direction" in known:
                rest = p * (1 - of) / of
            else:
                rest = (1 - p) * other / (other + none)
            return (p, rest) if key == "ab" else (rest, p)
    adjacent = known.get("adjacent", (forth + back) / (none + forth + back))
    return adjacent * share, adjacent * (1 - share)


def log_terms(
    stated: Sequence[Belief], names: Sequence[str], allowed: NDArray[np.bool_], log_ratio: float
) -> NDArray[np.float64]:
    """The additional log prior of each edge, (d, d) row to column.

    ``log_ratio`` is log rho(1) - log rho(0) of the structure prior, and ``allowed`` says which edges are possible.
    """
    place = {name: i for i, name in enumerate(names)}
    ratio, out = math.exp(log_ratio), np.zeros((len(names), len(names)))
    pairs: dict[tuple[str, str], list[Belief]] = {}
    for own in stated:
        pairs.setdefault((min(own.a, own.b), max(own.a, own.b)), []).append(own)
    missing = np.zeros_like(out)  # 1 - P of each edge; 0 for none
    for (a, b), own_beliefs in pairs.items():
        i, j = place[a], place[b]
        weights = (1.0, ratio * float(allowed[i, j]), ratio * float(allowed[j, i]))
        none, x, y = states_of(a, b, own_beliefs, weights)
        for at, p in (((i, j), x), ((j, i), y)):
            if p > 0:
                out[at] = math.log(p / none) - log_ratio
                missing[at] = 1 - p
    _check_cycles(names, missing)
    return out


def _check_cycles(names: Sequence[str], missing: NDArray[np.float64]) -> None:
    """Raise if edges of a cycle are so probable that the cycle would have a positive probability.

    The edges of a cycle are all present with at least the probability 1 - Σ (1 - p), which must not be above 0.
    """
    lengths, before = dijkstra(missing, return_predecessors=True)
    for i, j in np.argwhere(missing > 0).tolist():
        if lengths[j, i] + missing[i, j] >= 1 - SAME:
            continue
        cycle = [i]
        while cycle[-1] != j:
            cycle.append(int(before[j, cycle[-1]]))
        cycle = [i, *cycle[::-1]]
        if len(cycle) > 3:  # two beliefs about a pair are checked by `states_of`
            edges = (f"P({names[u]} → {names[v]}) = {1 - missing[u, v]:.3g}" for u, v in pairwise(cycle))
            raise KnowledgeError(
                f"beliefs are impossible: {', '.join(edges)} would give a cycle a positive probability: lower one "
                "of them"
            )


def _impossible(stated: Sequence[Belief], reason: str) -> KnowledgeError:
    return KnowledgeError(f"beliefs are impossible: {'; '.join(map(str, stated))}: {reason}: change or remove one")
