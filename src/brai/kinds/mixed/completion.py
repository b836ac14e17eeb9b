"""Missing cells of a mixed table: parameters drawn from their posterior, and missing cells drawn given these.

**Parameters** are those of local models (`brai.kinds.mixed.local_models`): a table has Dirichlet rows, a
regression of a measurement the posterior of BGe, and a softmax regression a normal approximation at its mode.

**Cells** are drawn one variable at a time, in all rows where it is missing, given its Markov blanket. States are
drawn by their exact probabilities. A measurement is proposed from the normal distribution that its own regression
and those of its measured children give, and accepted by the ratio of the probabilities of its other children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from brai.data.coding import Contrasts
from brai.data.measurements import Floats
from brai.data.mixed import Mixed
from brai.graphs.pdag import Family
from brai.kinds import kind_of
from brai.kinds.discrete import completion as of_tables
from brai.kinds.gaussian.bge import Prior
from brai.kinds.gaussian.completion import Drawn, drawn_regression
from brai.kinds.mixed.local_models import has_table, number_of, smoothed, softmax_of
from brai.kinds.mixed.network import MixedNetwork


class Odds(NamedTuple):
    """A draw of a softmax regression: intercept + slopes · columns are log odds."""

    intercept: Floats
    slopes: Floats  # (states, columns)


class Parameters(NamedTuple):
    """Local models of all variables: a table of the categories' network, a regression, or log odds."""

    parents: tuple[tuple[int, ...], ...]
    columns: tuple[list[int], ...]  # of the design, for the parents of each variable
    models: tuple[Any, ...]  # of_tables.Table, Drawn or Odds
    children: tuple[tuple[int, ...], ...]
    n_rows: int  # of the training table


def drawn_parameters(
    data: Mixed, families: Sequence[Family], ess: float | str, rng: np.random.Generator
) -> Parameters:
    """Parameters of a DAG, drawn from their posterior given a completed table."""
    parents = tuple(own for _, own in sorted(families))
    d = data.n_variables
    columns = tuple(data.coding.columns_of(own) for own in parents)
    children: list[list[int]] = [[] for _ in range(d)]
    for v, own in enumerate(parents):
        for p in own:
            children[p].append(v)
    models = tuple(_model(data, v, parents[v], columns[v], ess, rng) for v in range(d))
    return Parameters(parents, columns, models, tuple(map(tuple, children)), data.n_rows)


def _model(
    data: Mixed, x: int, parents: tuple[int, ...], columns: list[int], ess: float | str, rng: np.random.Generator
) -> Any:
    states = data.states_of(x)
    if states is None:
        prior = Prior.of(len(data.design), number_of(ess))
        matrix = prior.matrix(kind_of(data).sample(data).moments.scatter)
        return drawn_regression(matrix, prior, data.n_rows, int(data.coding.starts[x]), columns, rng)
    if has_table(data, (x, parents)):
        names = data.labels.names
        own = [names.index(data.names[v]) for v in (x, *parents)]
        return of_tables.drawn_table(data.labels, own[0], tuple(own[1:]), ess, rng)._replace(parents=parents)
    fit = softmax_of(data.columns()[x], len(states), data.design[columns])
    return _drawn_odds(fit, data.design[columns], rng)


def _drawn_odds(fit: Any, columns: Floats, rng: np.random.Generator) -> Odds:
    """A draw from the normal approximation of the posterior, with a unit prior on all slopes and intercepts.

    States are taken one at a time, each with the diagonal block of the information matrix.
    """
    p = np.exp(fit.log_probabilities(columns))
    full = np.concatenate([np.ones((1, columns.shape[1])), columns])
    intercept, slopes = fit.intercept.copy(), fit.slopes.copy()
    for k in range(len(p)):
        weight = p[k] * (1 - p[k])
        root = np.linalg.cholesky((full * weight) @ full.T + np.eye(len(full)))
        step = np.linalg.solve(root.T, rng.standard_normal(len(full)))
        intercept[k] += step[0]
        slopes[k] += step[1:]
    return Odds(intercept, slopes)


class _Rows:
    """Rows in the course of a completion: codes and columns of the design."""

    def __init__(self, data: Mixed, rows: NDArray[np.int64]):
        self.blocks, self.starts = data.coding.blocks, data.coding.starts
        self.design = np.array(data.design[:, rows])
        self.codes = np.stack([
            np.zeros(len(rows), np.int64) if data.kinds[v] == "continuous" else own[rows].astype(np.int64)
            for v, own in enumerate(data.columns())
        ])  # fmt: skip

    def part(self, columns: list[int], at: NDArray[np.int64]) -> Floats:
        """Some columns of the design, in some rows."""
        return np.asarray(self.design[np.array(columns, np.int64)[:, None], at])

    def set_states(self, v: int, at: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        block = self.blocks[v]
        assert isinstance(block, Contrasts)
        self.codes[v, at] = codes
        self.design[self.starts[v] : self.starts[v + 1], at] = block.column(codes)


def refilled(
    data: Mixed, missing: NDArray[np.bool_], own: Parameters, sweeps: int, rng: np.random.Generator
) -> Mixed:
    """The table after ``sweeps`` over its missing cells."""
    where = np.flatnonzero(missing.any(axis=0))
    rows, gaps = _Rows(data, where), missing[:, where]
    holes = [np.flatnonzero(gone) for gone in gaps]
    for _ in range(sweeps):
        for v in rng.permutation(data.n_variables).tolist():
            if len(holes[v]):
                _step(rows, v, holes[v], own, rng)
    columns: dict[int, NDArray[Any]] = {}
    constant = kind_of(data).constant(data)
    for v in range(data.n_variables):
        if len(holes[v]) and not constant[v]:
            block = data.coding.blocks[v]
            columns[v] = np.array(data.columns()[v])
            found = rows.codes[v] if isinstance(block, Contrasts) else block.values(rows.design[rows.starts[v]])
            columns[v][where[holes[v]]] = found[holes[v]]
    return data.replaced(columns)


def _step(rows: _Rows, v: int, at: NDArray[np.int64], own: Parameters, rng: np.random.Generator) -> None:
    """Draw a variable in the rows ``at`` given its Markov blanket."""
    block = rows.blocks[v]
    if isinstance(block, Contrasts):
        logs = _log_states(rows, v, at, own)
        for c in own.children[v]:
            logs += _of_child(rows, v, c, at, own, block.rows)
        rows.set_states(v, at, of_tables.drawn_states(logs, rng))
        return
    column, model = rows.starts[v], own.models[v]
    precision = np.full(len(at), 1 / model.variance)
    pull = _mean(rows, v, at, own) * precision
    others = []
    for c in own.children[v]:
        child = own.models[c]
        if not isinstance(child, Drawn):
            others.append(c)
            continue
        slope = child.slopes[own.columns[c].index(column)]
        left = rows.design[rows.starts[c], at] - _mean(rows, c, at, own) + slope * rows.design[column, at]
        precision += slope**2 / child.variance
        pull += slope * left / child.variance
    proposed = pull / precision + rng.standard_normal(len(at)) / np.sqrt(precision)
    before = rows.design[column, at].copy()
    old = sum((_log_of(rows, c, at, own) for c in others), np.zeros(len(at)))
    rows.design[column, at] = proposed
    new = sum((_log_of(rows, c, at, own) for c in others), np.zeros(len(at)))
    refused = np.log1p(-rng.random(len(at))) >= new - old
    rows.design[column, at[refused]] = before[refused]


def _mean(rows: _Rows, v: int, at: NDArray[np.int64], own: Parameters) -> Floats:
    """The mean of a measurement given its parents."""
    model = own.models[v]
    return np.asarray(model.level + model.slopes @ rows.part(own.columns[v], at))


def _log_states(rows: _Rows, v: int, at: NDArray[np.int64], own: Parameters) -> Floats:
    """Log probability of each state of a variable given its parents, (rows, states)."""
    model = own.models[v]
    if isinstance(model, of_tables.Table):
        return np.array(model.logs[model.at(model.configurations(rows.codes[:, at]))])
    odds = model.intercept[:, None] + model.slopes @ rows.part(own.columns[v], at)
    return np.array(smoothed(np.asarray(log_softmax(odds, axis=0)), own.n_rows).T)


def _log_of(rows: _Rows, v: int, at: NDArray[np.int64], own: Parameters) -> Floats:
    """Log probability of the states of a variable."""
    return np.asarray(_log_states(rows, v, at, own)[np.arange(len(at)), rows.codes[v, at]])


def _of_child(rows: _Rows, v: int, c: int, at: NDArray[np.int64], own: Parameters, contrasts: Floats) -> Floats:
    """Log probability of a child of v for each state of v, (rows, states)."""
    model = own.models[c]
    if isinstance(model, of_tables.Table):
        stride = model.strides[model.parents.index(v)]
        base = model.configurations(rows.codes[:, at], without=v)
        found = model.at(base[:, None] + stride * np.arange(len(contrasts)))
        return np.asarray(model.logs[found, rows.codes[c, at][:, None]])
    inside = [own.columns[c].index(k) for k in range(rows.starts[v], rows.starts[v + 1])]
    now = rows.design[rows.starts[v] : rows.starts[v + 1], at]
    if isinstance(model, Drawn):
        slopes = model.slopes[inside]
        left = rows.design[rows.starts[c], at] - _mean(rows, c, at, own) + slopes @ now
        return np.asarray(-((left[:, None] - contrasts @ slopes) ** 2) / (2 * model.variance))
    slopes = model.slopes[:, inside]
    odds = model.intercept[:, None] + model.slopes @ rows.part(own.columns[c], at) - slopes @ now
    out = np.empty((len(at), len(contrasts)))
    for s, row in enumerate(contrasts):
        logs = smoothed(np.asarray(log_softmax(odds + (slopes @ row)[:, None], axis=0)), own.n_rows)
        out[:, s] = logs[rows.codes[c, at], np.arange(len(at))]
    return out


def log_weights(data: Mixed, missing: NDArray[np.bool_], own: Parameters, rng: np.random.Generator) -> Floats:
    """Log of an unbiased estimate of the density of what is there in each row, by one random completion.

    In the units of the data; of normal scores in units of the score.
    """
    everything = np.arange(data.n_rows)
    rows, total = _Rows(data, everything), np.zeros(data.n_rows)
    for v in of_tables.ordered(own.parents):
        gone, block = missing[v], data.coding.blocks[v]
        if isinstance(block, Contrasts):
            logs = _log_states(rows, v, everything, own)
            total += np.where(gone, 0.0, logs[everything, rows.codes[v]])
            if gone.any():
                at = np.flatnonzero(gone)
                rows.set_states(v, at, of_tables.drawn_states(logs[at], rng))
            continue
        model, column = own.models[v], rows.starts[v]
        mean = _mean(rows, v, everything, own)
        off = rows.design[column] - mean
        density = -(np.log(2 * np.pi * model.variance) + off**2 / model.variance) / 2 - np.log(block.spread)
        total += np.where(gone, 0.0, density)
        noise = np.sqrt(model.variance) * rng.standard_normal(data.n_rows)
        rows.design[column] = np.where(gone, mean + noise, rows.design[column])
    return total


def mean_network(networks: Sequence[Any]) -> MixedNetwork:
    """The network whose parameters are the means of those of several networks of the same DAG."""
    first = networks[0]
    found = []
    for i, base in enumerate(first.variables):
        each = [own.variables[i] for own in networks]
        if base.model == "table":
            found.append(replace(base, table=np.mean([own.table for own in each], axis=0)))
            continue
        found.append(
            replace(
                base,
                intercept=np.mean([own.intercept for own in each], axis=0),
                effects=tuple(np.mean([own.effects[j] for own in each], axis=0) for j in range(len(base.parents))),
                variance=float(np.mean([own.variance for own in each])),
            )
        )
    return MixedNetwork(tuple(found), first.name)
