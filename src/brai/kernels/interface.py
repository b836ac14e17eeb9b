"""How algorithms reach data: four verbs, for every kind of data.

An algorithm knows variables by their numbers, condition sets and parent sets; only a *kind* of data (`brai.kinds`)
knows what a row is. Kernels see data through `Evidence` and four functions:

- ``begin(evidence)``: start with the empty condition set;
- ``turn(evidence, level)``: the condition set has changed from its ``level``-th variable on, so what a kind keeps
  of the variables before it is still good;
- ``test(evidence, x, y, given, n, collider)``: the statistic of x and y given ``given[:n]``, its degrees of
  freedom and, if that came first, the decision. A ``collider`` of -1 asks for the statistic itself, 0 compares
  with the critical values of edges, 1 with those of v-structures;
- ``family_value(evidence, x, parents, n)``: the score of x with the parents ``parents[:n]``, in nats.

The statistic is N times the (conditional) mutual information, or a log Bayes factor, as an integer:
``terms.scale`` units to a nat. Integers have no rounding that depends on an order, so no decision does.

Which functions these are is decided by the type of ``evidence.sample``, a NamedTuple of the kind: at compile time
in compiled code, by a look-up where the JIT is switched off. So another kind costs nothing, and no algorithm asks
which one it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from brai.runtime.jit import inner, njit

Array: TypeAlias = NDArray[Any]
Fixed: TypeAlias = Any  # an int64 in fixed point

STRATA, CELLS, FULL = 0, 1, 2  # ways to count degrees of freedom, see brai.tree.independence
MUST = 2  # in an array of edges, row to column: the edge must be; 1: it may be, 0: it may not
DEPENDENT, OPEN, INDEPENDENT = -1, 0, 1  # decisions
ROUNDING = 1e-7  # nats; above the rounding of fixed-point sums, below anything that matters


class Rule(NamedTuple):
    """When a statistic means dependence; ``truth`` is a DAG for the d-separation oracle, else empty."""

    critical: Array  # (2, ·) float64, by degrees of freedom; row 1 is for colliders
    df: int
    truth: Array  # (d, d) uint8, or (0, 0)


NO_RULE = Rule(np.zeros((2, 2)), STRATA, np.zeros((0, 0), np.uint8))  # of evidence that only scores families


class Evidence(NamedTuple):
    """A sample of the data, and what tests and scores on it need."""

    sample: Any  # a NamedTuple of the kind: rows, how often each occurs, or what is left of them (moments)
    terms: Any  # a NamedTuple of the kind, with a field ``scale``: what a statistic or a score is made of
    rule: Rule
    work: Any  # a NamedTuple of the kind: scratch memory


class Verbs(NamedTuple):
    """The four functions of a kind."""

    begin: Callable[..., None]
    turn: Callable[..., None]
    test: Callable[..., tuple[Fixed, int, int]]
    family_value: Callable[..., float]


_VERBS: dict[type, Verbs] = {}


def register(sample: type, verbs: Verbs) -> None:
    """Samples of this type, a NamedTuple, are reached by these functions."""
    _VERBS[sample] = verbs


def begin(evidence: Evidence) -> None:
    """Start with the empty condition set."""
    _VERBS[type(evidence.sample)].begin(evidence)


def turn(evidence: Evidence, level: int) -> None:
    """The condition set has changed from its ``level``-th variable on."""
    _VERBS[type(evidence.sample)].turn(evidence, level)


def test(evidence: Evidence, x: int, y: int, given: Array, n: int, collider: int) -> tuple[Fixed, int, int]:
    """Statistic, degrees of freedom and decision of x and y given[:n]."""
    return _VERBS[type(evidence.sample)].test(evidence, x, y, given, n, collider)


def family_value(evidence: Evidence, x: int, parents: Array, n: int) -> float:
    """Score of x with the parents parents[:n], after `begin`, and `turn` where they changed."""
    return _VERBS[type(evidence.sample)].family_value(evidence, x, parents, n)


test.__test__ = False  # type: ignore[attr-defined]  # pytest takes it for a test


# --- the same in compiled code ---------------------------------------------------------------------------

_INLINE: Any = {"_nrt": False, "forceinline": True}  # see brai.runtime.jit.inner


def _verbs(evidence: Any) -> Verbs:
    """The functions for evidence of this type of numba's."""
    return _VERBS[evidence.types[0].instance_class]


@overload(begin, jit_options=_INLINE, strict=False)
def _begin(evidence: Any) -> Any:
    own = _verbs(evidence).begin
    return lambda evidence: own(evidence)


@overload(turn, jit_options=_INLINE, strict=False)
def _turn(evidence: Any, level: Any) -> Any:
    own = _verbs(evidence).turn
    return lambda evidence, level: own(evidence, level)


@overload(test, jit_options=_INLINE, strict=False)
def _test(evidence: Any, x: Any, y: Any, given: Any, n: Any, collider: Any) -> Any:
    own = _verbs(evidence).test
    return lambda evidence, x, y, given, n, collider: own(evidence, x, y, given, n, collider)


@overload(family_value, jit_options=_INLINE, strict=False)
def _family_value(evidence: Any, x: Any, parents: Any, n: Any) -> Any:
    own = _verbs(evidence).family_value
    return lambda evidence, x, parents, n: own(evidence, x, parents, n)


# --- what all kinds share --------------------------------------------------------------------------------


@inner
def critical_value(rule: Rule, collider: int, df: int) -> float:
    """The value in nats that a statistic with these degrees of freedom must pass."""
    critical, last = rule.critical[collider], rule.critical.shape[1] - 1
    value = critical[min(df, last)]
    if df > last:  # goes on in a straight line
        value += (df - last) * (critical[last] - critical[last - 1])
    return value


@inner
def independent(evidence: Evidence, value: Fixed, df: int, decision: int, collider: int) -> bool:
    """What a test says."""
    if decision != OPEN:
        return decision == INDEPENDENT
    return value / evidence.terms.scale - critical_value(evidence.rule, collider, df) - ROUNDING <= 0


@njit
def associations(evidence: Evidence, out: Array) -> None:
    """The statistic of every pair given nothing: how strongly variables go together."""
    given = np.empty(0, np.int64)
    begin(evidence)
    for y in range(len(out)):
        for x in range(y):
            value, _, _ = test(evidence, x, y, given, 0, -1)
            out[x, y] = out[y, x] = value


@njit
def family_values(evidence: Evidence, children: Array, parents: Array, starts: Array) -> Array:
    """Score of each family in nats; the parents of children[i] are parents[starts[i]:starts[i+1]]."""
    out = np.empty(len(children))
    begin(evidence)
    before, n_before = 0, 0
    for i in range(len(children)):
        first, n, level = starts[i], starts[i + 1] - starts[i], 0
        while level < min(n, n_before) and parents[first + level] == parents[before + level]:
            level += 1
        turn(evidence, level)
        out[i] = family_value(evidence, children[i], parents[first:], n)
        before, n_before = first, n
    return out


@njit
def d_separated(dag: Array, x: int, y: int, given: Array, n_given: int) -> bool:
    """Whether given[:n_given] d-separates x and y (Bayes ball, Shachter 1998)."""
    d = len(dag)
    observed = np.zeros(d, np.uint8)
    for i in range(n_given):
        observed[given[i]] = 1
    seen = np.zeros(2 * d, np.uint8)  # 2 v: the ball comes to v from a child; 2 v + 1: from a parent
    stack = np.empty(2 * d, np.int64)
    stack[0], top = 2 * x, 1
    seen[2 * x] = 1
    while top > 0:
        top -= 1
        v, from_parent = stack[top] // 2, stack[top] % 2
        if v == y:
            return False
        down = observed[v] == 0
        up = from_parent == observed[v]  # passes up through a free node, bounces off an observed one
        for u in range(d):
            if up and dag[u, v] and not seen[2 * u]:
                seen[2 * u] = 1
                stack[top] = 2 * u
                top += 1
            if down and dag[v, u] and not seen[2 * u + 1]:
                seen[2 * u + 1] = 1
                stack[top] = 2 * u + 1
                top += 1
    return True
