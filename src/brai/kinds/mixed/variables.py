"""The variables of a mixed network: their local models, and how these are learned, in the units of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax, ndtr, ndtri

from brai.data.coding import Contrasts, Scale
from brai.data.measurements import Floats
from brai.data.mixed import Mixed
from brai.graphs.pdag import PDAG
from brai.kinds import kind_of
from brai.kinds.discrete.network import Network
from brai.kinds.gaussian.bge import Prior, regression
from brai.kinds.mixed.local_models import design_of, has_table, number_of, smoothed, softmax_of

KNOTS = 101  # quantiles of a measurement that is far from normal
CELLS = 10**6  # of a table; a larger one is replaced by a softmax regression
DETERMINED = 1e-12  # least share of the variance of a measurement that its parents leave
LEAST = 1e-300  # variance


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable: its states or quantiles, its parents, and its local model."""

    name: str
    states: tuple[Any, ...] | None  # None for a measurement
    ordered: bool = False
    quantiles: Floats | None = None  # of a measurement that is far from normal, at equal steps of probability
    parents: tuple[int, ...] = ()
    model: str = "linear"  # "table", "softmax" or "linear"
    intercept: Floats | None = None  # (states,), or (1,)
    effects: tuple[Floats, ...] = ()  # by parent: (1, outputs) a slope, or (states of the parent, outputs)
    variance: float = 0.0  # 0 for a constant
    table: Floats | None = None  # (configurations of the parents, states)

    def score(self, values: Floats) -> Floats:
        """What models see of a measurement: its value, or its normal score."""
        if self.quantiles is None:
            return values
        shares = np.interp(values, self.quantiles, _shares(len(self.quantiles)))
        return np.asarray(ndtri(shares), np.float64)

    def value(self, scores: Floats) -> Floats:
        """The inverse of `score`."""
        if self.quantiles is None:
            return scores
        return np.asarray(np.interp(ndtr(scores), _shares(len(self.quantiles)), self.quantiles), np.float64)


def _shares(n: int) -> Floats:
    return (np.arange(n) + 0.5) / n


def fitted(data: Mixed, x: int, parents: tuple[int, ...], ess: float | str) -> Variable:
    """The local model of a variable, in the units of the data."""
    states, block = data.states_of(x), data.coding.blocks[x]
    quantiles = None
    if isinstance(block, Scale) and block.ranked is not None:
        quantiles = np.quantile(block.ranked, _shares(KNOTS))
    base = Variable(data.names[x], states, data.kinds[x] == "ordered", quantiles, parents)
    if states is None:
        return _linear(data, x, base, ess)
    cells = math.prod(len(data.states_of(p) or ()) for p in parents) * len(states)
    if has_table(data, (x, parents)) and cells <= CELLS:
        return _table(data, x, base, ess)
    fit = softmax_of(data.columns()[x], len(states), design_of(data, parents))
    intercept = (
        smoothed(np.asarray(log_softmax(fit.intercept))[:, None], data.n_rows)[:, 0]
        if not parents
        else fit.intercept
    )
    return _additive(data, base, "softmax", intercept, fit.slopes)


def _table(data: Mixed, x: int, base: Variable, ess: float | str) -> Variable:
    """A table of probabilities, as in a discrete network."""
    members = (*base.parents, x)
    own = data.labels.select([data.names[v] for v in members])
    last = len(members) - 1
    graph = np.zeros((len(members),) * 2, np.int8)
    graph[:last, last] = 1
    found = Network.fit(PDAG(own.names, graph), own, ess=ess)
    return replace(base, model="table", table=np.asarray(found.cpts[last]))


def _linear(data: Mixed, x: int, base: Variable, ess: float | str) -> Variable:
    """A regression on the columns of the parents, posterior means under BGe's prior."""
    scale = data.coding.blocks[x]
    assert isinstance(scale, Scale)
    prior, columns = Prior.of(len(data.design), number_of(ess)), data.coding.columns_of(base.parents)
    matrix = prior.matrix(kind_of(data).sample(data).moments.scatter)
    found = regression(matrix, prior, data.n_rows, int(data.coding.starts[x]), columns)
    model = _additive(data, base, "linear", np.array([scale.centre]), (found.mean * scale.spread)[None])
    if data.numbers.constant[data.numbers.names.index(base.name)]:
        return replace(model, variance=0.0)
    variance = max(found.variance, DETERMINED) * scale.spread * scale.spread
    if not LEAST < variance < math.inf:
        raise ValueError(
            f"the variance of {base.name!r} is too {'small' if variance <= LEAST else 'large'} for a float, its "
            f"standard deviation is {scale.spread:.2g}: give the column in other units"
        )
    return replace(model, variance=variance)


def _additive(data: Mixed, base: Variable, model: str, intercept: Floats, slopes: Floats) -> Variable:
    """Slopes of design columns (outputs, columns) as effects of values and states."""
    total, effects, at = np.array(intercept, np.float64), [], 0
    for p in base.parents:
        block = data.coding.blocks[p]
        if isinstance(block, Contrasts):
            width = block.rows.shape[1]
            effects.append(block.rows @ slopes[:, at : at + width].T)
        else:
            width = 1
            own = slopes[:, at] / block.spread
            effects.append(own[None])
            total -= own * block.centre
        at += width
    return replace(base, model=model, intercept=total, effects=tuple(effects))
