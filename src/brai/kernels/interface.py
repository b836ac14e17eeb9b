"""Access of algorithms to data: four functions, for every kind of data.

Algorithms use indices of variables, conditioning sets and parent sets. Only a *kind* of data (`brai.kinds`)
depends on what a row is. Kernels access data through `Evidence` and four functions:

- ``begin(evidence)``: start with the empty conditioning set;
- ``turn(evidence, level)``: the conditioning set has changed from its ``level``-th variable on, so cached results
  for the variables before it stay valid;
- ``test(evidence, x, y, given, n, collider)``: the statistic of x and y given ``given[:n]``, its degrees of
  freedom, and the decision if the test stopped early. With ``collider`` = -1 the statistic is always complete; 0
  selects the critical values for edges, 1 those for v-structures;
- ``family_value(evidence, x, parents, n)``: the local score of x with parents ``parents[:n]``, in nats. A kind
  computes what the data say; the log prior of the family (`Prior`) is added here, for every kind alike.

The statistic is N times the (conditional) mutual information, or a log Bayes factor, as an integer with
``terms.scale`` units per nat. Integer sums do not depend on the order of terms, so decisions do not either.

The functions are selected by the type of ``evidence.sample``, a NamedTuple of the kind: at compile time in
compiled code, by a dictionary if the JIT is disabled. So further kinds cost no time, and algorithms do not depend
on the kind.
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

STRATA, CELLS, FULL = 0, 1, 2  # definitions of the degrees of freedom, see brai.tree.independence
MUST = 2  # in an array of edges, row to column: the edge is required; 1: allowed, 0: forbidden
DEPENDENT, OPEN, INDEPENDENT = -1, 0, 1  # decisions; OPEN: compare the statistic with the critical value
ROUNDING = 1e-7  # nats; above the rounding error of fixed-point sums, below relevant differences


class Rule(NamedTuple):
    """The decision rule of a CI test; ``truth`` is a DAG for the d-separation oracle, else empty."""

    critical: Array  # (2, ·) float64, by degrees of freedom; row 1 is for colliders
    df: int
    truth: Array  # (d, d) uint8, or (0, 0)


NO_RULE = Rule(np.zeros((2, 2)), STRATA, np.zeros((0, 0), np.uint8))  # for evidence that is only used for scores


class Prior(NamedTuple):
    """The log prior of a family: a term for its number of parents, and one for each edge (see `graphs.priors`)."""

    sizes: Array  # (d,) float64, by number of parents; or (0,) for none
    edges: Array  # (d, d) float64, row to column; or (0, 0) for none


NO_PRIOR = Prior(np.zeros(0), np.zeros((0, 0)))


class Evidence(NamedTuple):
    """A sample of the data, with everything that tests and scores on it need."""

    sample: Any  # a NamedTuple of the kind: rows and their multiplicities, or sufficient statistics
    terms: Any  # a NamedTuple of the kind, with a field ``scale``: the terms of a statistic or a score
    rule: Rule
    work: Any  # a NamedTuple of the kind: workspace
    prior: Prior = NO_PRIOR


class Verbs(NamedTuple):
    """The four functions of a kind."""

    begin: Callable[..., None]
    turn: Callable[..., None]
    test: Callable[..., tuple[Fixed, int, int]]
    family_value: Callable[..., float]
    offspring: Callable[..., None] | None = None  # by default, `family_value` of each child


_VERBS: dict[type, Verbs] = {}


def register(sample: type, verbs: Verbs) -> None:
    """Register the four functions for samples of this type, a NamedTuple."""
    _VERBS[sample] = verbs


def begin(evidence: Evidence) -> None:
    """Start with the empty conditioning set."""
    _VERBS[type(evidence.sample)].begin(evidence)


def turn(evidence: Evidence, level: int) -> None:
    """The conditioning set has changed from its ``level``-th variable on."""
    _VERBS[type(evidence.sample)].turn(evidence, level)


def test(evidence: Evidence, x: int, y: int, given: Array, n: int, collider: int) -> tuple[Fixed, int, int]:
    """Statistic, degrees of freedom and decision for x and y given[:n]."""
    return _VERBS[type(evidence.sample)].test(evidence, x, y, given, n, collider)


def family_value(evidence: Evidence, x: int, parents: Array, n: int) -> float:
    """Score of x with parents[:n]; needs `begin` first, and `turn` if parents have changed since."""
    own = _VERBS[type(evidence.sample)].family_value(evidence, x, parents, n)
    return own + log_prior(evidence.prior, x, parents, n)


def offspring(evidence: Evidence, children: Array, parents: Array, n: int, least: Array, out: Array) -> None:
    """Score of each child with the same parents[:n], as `family_value`; or -inf if it is not above least[i]."""
    own = _VERBS[type(evidence.sample)].offspring
    if own is None:
        each_value(evidence, children, parents, n, least, out)
    else:
        own(evidence, children, parents, n, least_data(evidence.prior, children, parents, n, least), out)
        add_prior(evidence.prior, children, parents, n, out)


test.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it


# --- the same in compiled code ---------------------------------------------------------------------------

_INLINE: Any = {"_nrt": False, "forceinline": True}  # see brai.runtime.jit.inner


def _verbs(evidence: Any) -> Verbs:
    """The functions for evidence of this numba type."""
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
    return lambda evidence, x, parents, n: own(evidence, x, parents, n) + log_prior(evidence.prior, x, parents, n)


@overload(offspring, jit_options=_INLINE, strict=False)
def _offspring(evidence: Any, children: Any, parents: Any, n: Any, least: Any, out: Any) -> Any:
    own = _verbs(evidence).offspring
    if own is None:
        return lambda evidence, children, parents, n, least, out: each_value(
            evidence, children, parents, n, least, out
        )

    def scored(evidence: Any, children: Any, parents: Any, n: Any, least: Any, out: Any) -> None:
        own(evidence, children, parents, n, least_data(evidence.prior, children, parents, n, least), out)
        add_prior(evidence.prior, children, parents, n, out)

    return scored


# --- common to all kinds ---------------------------------------------------------------------------------


@inner
def log_prior(prior: Prior, x: int, parents: Array, n: int) -> float:
    """Log prior of the family of x with parents[:n]."""
    value = prior.sizes[n] if len(prior.sizes) > 0 else 0.0
    if len(prior.edges) > 0:
        for i in range(n):
            value += prior.edges[parents[i], x]
    return value


@njit
def least_data(prior: Prior, children: Array, parents: Array, n: int, least: Array) -> Array:
    """What the data must add to the log prior of each child for a score of ``least``."""
    out = np.empty(len(children))
    for i in range(len(children)):
        out[i] = least[i] - log_prior(prior, children[i], parents, n)
    return out


@njit
def add_prior(prior: Prior, children: Array, parents: Array, n: int, out: Array) -> None:
    """Add the log prior of each child to its score."""
    for i in range(len(children)):
        out[i] += log_prior(prior, children[i], parents, n)


@inner
def critical_value(rule: Rule, collider: int, df: int) -> float:
    """The critical value, in nats, for a statistic with these degrees of freedom."""
    critical, last = rule.critical[collider], rule.critical.shape[1] - 1
    value = critical[min(df, last)]
    if df > last:  # linear extrapolation
        value += (df - last) * (critical[last] - critical[last - 1])
    return value


@inner
def independent(evidence: Evidence, value: Fixed, df: int, decision: int, collider: int) -> bool:
    """Whether a test found independence: by its early decision, or else by the critical value."""
    if decision != OPEN:
        return decision == INDEPENDENT
    return value / evidence.terms.scale - critical_value(evidence.rule, collider, df) - ROUNDING <= 0


@njit
def each_value(evidence: Evidence, children: Array, parents: Array, n: int, least: Array, out: Array) -> None:
    """`offspring` of kinds that have no faster one."""
    for i in range(len(children)):
        out[i] = family_value(evidence, children[i], parents, n)


@njit
def associations(evidence: Evidence, out: Array) -> None:
    """Fill ``out`` with the marginal association of every pair: the statistic with an empty conditioning set."""
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
    seen = np.zeros(2 * d, np.uint8)  # 2 v: the ball reaches v from a child; 2 v + 1: from a parent
    stack = np.empty(2 * d, np.int64)
    stack[0], top = 2 * x, 1
    seen[2 * x] = 1
    while top > 0:
        top -= 1
        v, from_parent = stack[top] // 2, stack[top] % 2
        if v == y:
            return False
        down = observed[v] == 0
        up = from_parent == observed[v]  # passes up through an unobserved node, bounces off an observed one
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
