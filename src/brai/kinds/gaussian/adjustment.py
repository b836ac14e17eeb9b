"""E(y | do(x)) in one causal DAG, by the regression of y on x and an adjustment set z (Pearl 2009, section 3.3).

In a linear model the effect of one unit of x on the mean of y is the coefficient of x in that regression, for
every valid adjustment set. Its posterior is a t distribution (`brai.kinds.gaussian.bge`), whose mean and variance
are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from brai.data.measurements import Floats, Measurements
from brai.kinds import kind_of
from brai.kinds.gaussian.bge import Prior, regression


class Adjusted(NamedTuple):
    """Posterior mean and variance of E(y | do(x)) at two values of x, and of their difference."""

    mean: Floats  # (2, 1)
    variance: Floats
    effect: float
    effect_variance: float
    support: Floats  # (2,): 1 if the value of x is within the range of the data, else 0


class Question(NamedTuple):
    """A query for an effect: the change of x."""

    x: int
    y: int
    change: tuple[Any, Any]
    values: dict[Any, float]
    cause_states: tuple[Any, ...]
    outcome_states: tuple[Any, ...]
    of_mean: bool = True

    @classmethod
    def of(cls, data: Measurements, x: int, y: int, change: Any, values: Any) -> Question:
        """Check the values; by default the cause goes from its mean up by one standard deviation."""
        if values is not None:
            kind = "a dict" if isinstance(values, Mapping) else repr(values)
            raise ValueError(f"values is {kind}, but {data.names[y]!r} is continuous: leave it out")
        if change is None:
            change = (float(data.centre[x]), float(data.centre[x] + data.spread[x]))
        try:
            one, other = (float(own) for own in change)
        except (TypeError, ValueError):
            raise ValueError(
                f"change is {change!r}: give two numbers, values of {data.names[x]!r}, (from, to)"
            ) from None
        if not (isinstance(one, Real) and math.isfinite(one) and math.isfinite(other)):
            raise ValueError(f"change is {change!r}: give finite numbers")
        return cls(x, y, (one, other), {"mean": 1.0}, (one, other), ("mean",))


def adjusted(data: Measurements, question: Question, given: Sequence[int] | None, ess: float) -> Adjusted:
    """The effect adjusted for ``given``; None if there is no directed path from x to y."""
    x, y, n = question.x, question.y, data.n_rows
    points = np.array([[float(own)] for own in question.change])
    support = ((points >= data.values[x].min()) & (points <= data.values[x].max()))[:, 0].astype(float)
    prior = Prior.of(data.n_variables, ess)
    matrix = prior.matrix(kind_of(data).sample(data).scatter)
    if given is None:
        found = regression(matrix, prior, n, y, [])
        variance = data.spread[y] ** 2 * found.variance / (n + prior.alpha_mu)
        return Adjusted(np.full((2, 1), data.centre[y]), np.full((2, 1), variance), 0.0, 0.0, support)
    found = regression(matrix, prior, n, y, [x, *given])
    slope = found.mean[0] * data.spread[y] / data.spread[x]
    slope_variance = found.covariance[0, 0] * (data.spread[y] / data.spread[x]) ** 2
    level = data.spread[y] ** 2 * found.variance / (n + prior.alpha_mu)
    off = points - data.centre[x]
    step = float(points[1, 0] - points[0, 0])
    return Adjusted(
        data.centre[y] + slope * off,
        level + slope_variance * off**2,
        float(slope * step),
        float(slope_variance * step**2),
        support,
    )
