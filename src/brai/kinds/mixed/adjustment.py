"""P(y | do(x)) or E(y | do(x)) in one causal DAG, for variables of any kind, by adjustment for a set z.

- If all are categories: sums over a table (`brai.kinds.discrete.adjustment`).
- A measurement y: the regression of y on x and z. Its posterior is that of BGe, so mean and variance are exact.
  If y is taken as normal scores, the mean in the units of the data is found by its quantiles.
- A variable y with states: a softmax regression of y on x and z, averaged over the rows with x set to each value
  (the g-formula, Robins 1986). The variance is that of the normal approximation of the posterior at its mode.

Reference: Robins 1986, "A new approach to causal inference in mortality studies", Mathematical Modelling 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from brai.data.coding import Contrasts, Scale
from brai.data.measurements import Floats
from brai.data.mixed import Mixed
from brai.kinds import kind_named, kind_of
from brai.kinds.discrete import adjustment as of_tables
from brai.kinds.discrete.adjustment import Adjusted
from brai.kinds.gaussian.bge import Prior, regression
from brai.kinds.mixed.local_models import design_of, number_of, softmax_of

_POINTS = ndtri((np.arange(200) + 0.5) / 200)  # of a standard normal distribution, for means of quantiles


class Question(NamedTuple):
    """A query for an effect: the change of x, and the values of the states of y."""

    x: int
    y: int
    change: tuple[Any, Any]
    values: dict[Any, float]
    cause_states: tuple[Any, ...]
    outcome_states: tuple[Any, ...]
    of_mean: bool

    @classmethod
    def of(cls, data: Mixed, x: int, y: int, change: Any, values: Any) -> Question:
        """Check the change and the values; by default a measurement goes up by one standard deviation."""
        causes, outcomes = data.states_of(x), data.states_of(y)
        change = _change(data, x, change)
        if outcomes is None:
            if values is not None:
                told = "a dict" if isinstance(values, Mapping) else repr(values)
                raise ValueError(f"values is {told}, but {data.names[y]!r} is a measurement: leave it out")
            return cls(x, y, change, {"mean": 1.0}, causes or change, ("mean",), True)
        found = of_tables._values(data.labels, data.labels.names.index(data.names[y]), values)
        return cls(x, y, change, found, causes or change, outcomes, False)

    @property
    def contrast(self) -> Floats:
        """(cause_states, outcome_states): the effect is Σ contrast · table."""
        outcome = np.array([self.values.get(label, 0.0) for label in self.outcome_states])
        weights = np.zeros((len(self.cause_states), len(outcome)))
        weights[self.cause_states.index(self.change[0])] -= outcome
        weights[self.cause_states.index(self.change[1])] += outcome
        return weights


def _change(data: Mixed, x: int, change: Any) -> tuple[Any, Any]:
    states, name = data.states_of(x), data.names[x]
    if states is not None:
        return of_tables._change(data.labels, data.labels.names.index(name), change)
    values = data.columns()[x]
    if change is None:
        change = (float(values.mean()), float(values.mean() + values.std()))
    try:
        one, other = (float(own) for own in change)
    except (TypeError, ValueError):
        raise ValueError(f"change is {change!r}: give two numbers, values of {name!r}, (from, to)") from None
    if not (math.isfinite(one) and math.isfinite(other)):
        raise ValueError(f"change is {change!r}: give finite numbers")
    return one, other


def settings(data: Mixed, question: Question) -> Floats:
    """The columns of x at each of cause_states, (columns, cause_states)."""
    block = data.coding.blocks[question.x]
    if isinstance(block, Contrasts):
        return block.column(np.arange(len(question.cause_states)))
    return block.column(np.array(question.cause_states, np.float64))


def adjusted(data: Mixed, question: Question, given: Sequence[int] | None, ess: float | str) -> Adjusted:
    """The effect adjusted for ``given``; None if there is no directed path from x to y."""
    x, y = question.x, question.y
    involved = (x, y, *(given or ()))
    if all(data.kinds[v] == "discrete" for v in involved):
        return _by_table(data, question, given, ess)
    support = _support(data, question)
    if question.of_mean:
        return _of_mean(data, question, given, ess, support)
    return _of_states(data, question, given, support)


def _support(data: Mixed, question: Question) -> Floats:
    """Whether each of cause_states was observed, or lies within the range of the data."""
    own = data.columns()[question.x]
    if data.kinds[question.x] == "continuous":
        points = np.array(question.cause_states, np.float64)
        return np.asarray((points >= own.min()) & (points <= own.max()), np.float64)
    return np.asarray(np.bincount(own, minlength=len(question.cause_states)) > 0, np.float64)


def _by_table(data: Mixed, question: Question, given: Sequence[int] | None, ess: float | str) -> Adjusted:
    kind: Any = kind_of(data)
    categories, at = kind.categories(data), data.among_categories
    own = of_tables.Question.of(categories, at[question.x], at[question.y], question.change, question.values)
    z = None if given is None else [int(at[v]) for v in given]
    found: Adjusted = kind_named("discrete").adjusted(categories, own, z, ess)
    return found


def _of_mean(
    data: Mixed, question: Question, given: Sequence[int] | None, ess: float | str, support: Floats
) -> Adjusted:
    """E(y | do(x)) of a measurement."""
    scale, starts = data.coding.blocks[question.y], data.coding.starts
    assert isinstance(scale, Scale)
    prior, n = Prior.of(len(data.design), number_of(ess)), data.n_rows
    matrix = prior.matrix(kind_of(data).sample(data).moments.scatter)
    columns = [] if given is None else data.coding.columns_of((question.x, *given))
    found = regression(matrix, prior, n, int(starts[question.y]), columns)
    k = len(question.cause_states)
    points = settings(data, question) if given is not None else np.zeros((0, k))
    own = points.shape[0]
    slope, spread = found.mean[:own], found.covariance[:own, :own]
    score = slope @ points
    variance = np.einsum("ik,ij,jk->k", points, spread, points) + found.variance / (n + prior.alpha_mu)
    weights = question.contrast[:, 0]
    step = points @ weights
    effect, effect_variance = float(slope @ step), float(step @ spread @ step)
    unit = scale.spread
    if scale.ranked is None:
        mean = scale.centre + unit * score
    else:
        left = math.sqrt(
            max(1.0 - float(slope @ slope), 0.05)
        )  # of the score when x is set; columns have variance 1
        values = np.sort(data.columns()[question.y])
        mean = np.array([_mean_of_quantiles(values, scale.centre + unit * (m + left * _POINTS)) for m in score])
        unit = _unit(mean, score, unit)
        effect = float(weights @ mean)
    return Adjusted(
        mean[:, None], (unit**2 * variance)[:, None], unit * effect if scale.ranked is None else effect,
        unit**2 * effect_variance, support,
    )  # fmt: skip


def _mean_of_quantiles(values: Floats, scores: Floats) -> float:
    """The mean of a measurement whose normal scores are these; ``values`` are sorted."""
    ranks = ndtr(scores) * len(values) - 0.5
    return float(np.interp(ranks, np.arange(len(values)), values).mean())


def _unit(mean: Floats, score: Floats, spread: float) -> float:
    """Units of the data for one unit of the score, between the extreme settings."""
    low, high = int(score.argmin()), int(score.argmax())
    apart = float(score[high] - score[low])
    return float((mean[high] - mean[low]) / apart) if apart > 1e-9 else spread


def _of_states(data: Mixed, question: Question, given: Sequence[int] | None, support: Floats) -> Adjusted:
    """P(y | do(x)) of a variable with states, by a softmax regression averaged over the rows."""
    codes, n_states = data.columns()[question.y], len(question.outcome_states)
    k, weights = len(question.cause_states), question.contrast
    if given is None:
        counts = np.bincount(codes, minlength=n_states) + 1 / n_states
        p = counts / counts.sum()
        table = np.tile(p, (k, 1))
        return Adjusted(table, table * (1 - table) / (counts.sum() + 1), 0.0, 0.0, support)
    columns = design_of(data, (question.x, *given))
    fit = softmax_of(codes, n_states, columns)
    points = settings(data, question)
    own, ones = len(points), np.ones((1, data.n_rows))
    covariance = _covariance(np.exp(fit.log_probabilities(columns)), np.concatenate([ones, columns]))
    table, slopes = np.empty((k, n_states)), np.empty((k, n_states, len(covariance)))
    for j in range(k):
        there = columns.copy()
        there[:own] = points[:, j : j + 1]
        p = np.exp(fit.log_probabilities(there))
        full = np.concatenate([ones, there])
        table[j] = p.mean(axis=1)
        mixed = np.einsum("ar,br,cr->abc", p, p, full, optimize=True) / data.n_rows
        single = p @ full.T / data.n_rows
        for a in range(n_states):
            own_slope = -mixed[a]
            own_slope[a] += single[a]
            slopes[j, a] = own_slope.ravel()
    variance = np.einsum("jap,pq,jaq->ja", slopes, covariance, slopes, optimize=True)
    whole = np.einsum("ja,jap->p", weights, slopes)
    return Adjusted(
        table, np.maximum(variance, 0.0), float((weights * table).sum()),
        max(float(whole @ covariance @ whole), 0.0), support,
    )  # fmt: skip


def _covariance(p: Floats, columns: Floats) -> Floats:
    """Covariance of the coefficients (states × columns) of a softmax regression, at the mode of the posterior."""
    size, n = len(p) * len(columns), len(columns)
    hessian = np.zeros((size, size))
    for a in range(len(p)):
        for b in range(a + 1):
            weight = p[a] * ((a == b) - p[b])
            own = (columns * weight) @ columns.T
            hessian[a * n : a * n + n, b * n : b * n + n] = own
            hessian[b * n : b * n + n, a * n : a * n + n] = own.T
    ridge = np.ones((len(p), n))
    ridge[:, 0] = 0.0  # the intercept has a flat prior
    return np.asarray(np.linalg.pinv(hessian + np.diag(ridge.ravel()), hermitian=True))
