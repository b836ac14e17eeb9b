"""P(y | do(x)) in one causal DAG, estimated from categorical data by adjustment for a set z of other variables.

    P(y | do(x)) = Σ_z P(y | x, z) P(z)      (Pearl 2009, Causality, theorem 3.3.2)

The parents of x are a valid set unless y is one of them; `brai.posterior.effects` chooses the sets.

Cell probabilities (z, x, y) have a Dirichlet prior with parameter ess / cells for each cell, as in BDeu. The
posterior mean and variance of P(y | do(x)), and of a linear function of it, are exact: P(z) ~ Dirichlet(A p), and
given P(z) the functions θ_j of P(y | x, z = j) are independent, with means h_j and variances v_j. So

    E Σ_j P_j θ_j   = Σ_j p_j h_j
    Var Σ_j P_j θ_j = (Σ_j p_j h_j² - (Σ_j p_j h_j)² + Σ_j p_j (A p_j + 1) v_j) / (A + 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.data.dataset import Dataset
from brai.data.states import place_of
from brai.kinds.discrete.samples import configurations, ess_of
from brai.runtime.checks import check_ess

Floats: TypeAlias = NDArray[np.float64]

_MOST_CELLS = 2_000_000  # cells (z, x, y) in one block


class Adjusted(NamedTuple):
    """Posterior mean and variance of P(y | do(x)), with states of x in rows, and of one effect.

    ``support`` is, for each state of x, the probability of the configurations of z that occur with it in the data.
    """

    mean: Floats
    variance: Floats
    effect: float
    effect_variance: float
    support: Floats


def adjusted(
    data: Dataset, x: int, y: int, given: Sequence[int], weights: Floats, ess: float | str = 1.0
) -> Adjusted:
    """Adjust for the variables ``given``; the effect is Σ weights[x, y] P(y | do(x)).

    With ess "table" it is the most probable ess of y given x and ``given``.
    """
    ess = ess_of(data, y, (x, *given), check_ess(ess))
    if x == y or {x, y} & set(given):
        raise ValueError(f"x = {x}, y = {y} and {tuple(given)} overlap: give distinct variables")
    r_x, r_y = int(data.arities[x]), int(data.arities[y])
    q = min(math.prod(data.arities[list(given)].tolist()), 10**280)  # bounded, so that it fits a float
    total = data.n_rows + ess
    table, effect, support = _Sums((r_x, r_y)), _Sums(()), np.zeros(r_x)
    for counts, alike in _blocks(data, x, y, given, q):
        seen = counts.sum(axis=2)
        p = (seen.sum(axis=1) + ess / q) / total
        size = seen + ess / (q * r_x)  # sum of the Dirichlet parameters of P(y | x, z)
        mean = (counts + ess / (q * r_x * r_y)) / size[:, :, None]
        first, second = (np.einsum("jxy,xy->jx", mean, w) for w in (weights, weights**2))
        table.add(p, alike, total, mean, mean * (1 - mean) / (size[:, :, None] + 1))
        apart = np.maximum(second - first**2, 0.0)
        effect.add(p, alike, total, first.sum(axis=1), (apart / (size + 1)).sum(axis=1))
        support += alike * (p @ (seen > 0))
    change, change_variance = effect.moments(total)
    return Adjusted(*table.moments(total), float(change), float(change_variance), support)


def unchanged(data: Dataset, x: int, y: int, ess: float | str = 1.0) -> Adjusted:
    """P(y) for all states of x: there is no directed path from x to y, hence no effect."""
    ess = ess_of(data, y, (), check_ess(ess))
    r_x, r_y, total = int(data.arities[x]), int(data.arities[y]), data.n_rows + ess
    p = (np.bincount(data.codes[y], minlength=r_y) + ess / r_y) / total
    variance = p * (1 - p) / (total + 1)
    return Adjusted(np.tile(p, (r_x, 1)), np.tile(variance, (r_x, 1)), 0.0, 0.0, np.ones(r_x))


class _Sums:
    """Σ p h, Σ p h² and Σ p (A p + 1) v over configurations of z."""

    def __init__(self, shape: tuple[int, ...]):
        self._first, self._second, self._within = (np.zeros(shape) for _ in range(3))

    def add(self, p: Floats, alike: float, total: float, h: Floats, v: Floats) -> None:
        """Add configurations with probabilities p, means h and variances v, each ``alike`` times."""
        self._first += alike * np.tensordot(p, h, 1)
        self._second += alike * np.tensordot(p, h**2, 1)
        self._within += alike * np.tensordot(p * (total * p + 1), v, 1)

    def moments(self, total: float) -> tuple[Floats, Floats]:
        """Mean and variance."""
        between = np.maximum(self._second - self._first**2, 0.0)
        return self._first, (between + self._within) / (total + 1)


def _blocks(data: Dataset, x: int, y: int, given: Sequence[int], q: int) -> Iterator[tuple[Floats, float]]:
    """Yield counts (z, x, y) and a multiplicity: blocks of configurations that occur, then one for all others."""
    r_x, r_y = int(data.arities[x]), int(data.arities[y])
    labels = np.unique(configurations(data, given), return_inverse=True)[1]
    order = np.argsort(labels, kind="stable")
    labels, n = labels[order], int(labels.max()) + 1
    cells = (data.codes[x].astype(np.int64) * r_y + data.codes[y])[order]
    step = max(1, _MOST_CELLS // (r_x * r_y))
    for start in range(0, n, step):
        stop = min(start + step, n)
        rows = slice(*np.searchsorted(labels, [start, stop]))
        flat = (labels[rows] - start) * (r_x * r_y) + cells[rows]
        counts = np.bincount(flat, minlength=(stop - start) * r_x * r_y)
        yield counts.reshape(-1, r_x, r_y).astype(np.float64), 1.0
    if q > n:
        yield np.zeros((1, r_x, r_y)), float(q - n)


class Question(NamedTuple):
    """A query for an effect: the change of x, and the values of the states of y."""

    x: int
    y: int
    change: tuple[Any, Any]
    values: dict[Any, float]
    weights: Floats  # (states of x, states of y): the effect is Σ weights · P(y | do(x))
    cause_states: tuple[Any, ...]
    outcome_states: tuple[Any, ...]

    @classmethod
    def of(cls, data: Dataset, x: int, y: int, change: Any, values: Any) -> Question:
        """Check and convert states and values; for defaults see `brai.posterior.effects.causal_effect`."""
        change, values = _change(data, x, change), _values(data, y, values)
        weights = _weights(data, x, y, change, values)
        return cls(x, y, change, values, weights, data.states[x], data.states[y])


def _change(data: Dataset, x: int, change: tuple[Any, Any] | None) -> tuple[Any, Any]:
    states = data.states[x]
    if change is None:
        return states[0], states[-1]
    if not (isinstance(change, tuple | list) and len(change) == 2):
        raise ValueError(f"change is {change!r}: give two states of {data.names[x]!r}, (from, to)")
    one, other = (states[place_of(states, state, f"{data.names[x]!r} has no state")] for state in change)
    return one, other


def _values(data: Dataset, y: int, values: Mapping[Any, float] | None) -> dict[Any, float]:
    known, name = data.states[y], data.names[y]
    if values is None:
        numbers = all(isinstance(label, int | float) for label in known)
        return {label: float(label) for label in known} if numbers else {known[-1]: 1.0}
    if not isinstance(values, Mapping):
        raise ValueError(f"values is {values!r}: give a dict of state of {name!r} → number")
    if wrong := [value for value in values.values() if not (isinstance(value, Real) and math.isfinite(value))]:
        raise ValueError(f"values contains {wrong[0]!r}: give finite numbers")
    return {known[place_of(known, label, f"{name!r} has no state")]: float(own) for label, own in values.items()}


def _weights(data: Dataset, x: int, y: int, change: tuple[Any, Any], values: Mapping[Any, float]) -> Floats:
    """Coefficients of the effect in P(y | do(x))."""
    outcome = np.array([values.get(label, 0.0) for label in data.states[y]])
    outcome -= outcome.mean()  # leaves differences unchanged, and avoids cancellation with large labels
    weights = np.zeros((len(data.states[x]), len(outcome)))
    weights[data.states[x].index(change[0])] -= outcome
    weights[data.states[x].index(change[1])] += outcome
    return weights
