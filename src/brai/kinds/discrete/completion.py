"""Missing cells of a discrete table: parameters drawn from their posterior, and missing cells drawn given these.

**Parameters.** Given a DAG and a completed table, each row of a conditional probability table has a Dirichlet
distribution with the parameters N_ijk + ess / (q r), the one that BDeu integrates over. With ess "table" an ess is
drawn for each family first, by its evidence (`brai.kinds.discrete.any_ess`).

**Cells.** Two moves, both of which leave P(missing cells | values that are there, parameters) as it is:

- one variable at a time, in all rows where it is missing, given its Markov blanket (Gibbs sampling; Tanner & Wong
  1987, Hruschka & Ebecken 2002);
- all missing cells of a row at once: they are proposed from the top of the DAG downwards, each given its parents,
  and accepted by the ratio of the probabilities of what was observed below them (independent Metropolis-Hastings).
  So cells that nearly determine each other can change together.

Reference: Tanner & Wong 1987, "The calculation of posterior distributions by data augmentation", JASA 82.
"""

from __future__ import annotations

import graphlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.data.dataset import Dataset
from brai.graphs.pdag import Family
from brai.kinds.discrete.any_ess import PARAMETERS, ess_weights

DENSE = 500_000  # cells of a table up to which all configurations have parameters of their own

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


class Table(NamedTuple):
    """Log probabilities of the states of a variable, by configuration of its parents."""

    parents: tuple[int, ...]
    strides: Codes  # of the parents
    logs: Floats  # (configurations, states)
    known: Codes | None  # which configurations; others share the last row. None for all

    def at(self, configurations: Codes) -> Codes:
        """The rows of ``logs`` for these configurations."""
        if self.known is None:
            return configurations
        place = np.minimum(np.searchsorted(self.known, configurations), len(self.known) - 1)
        return np.where(self.known[place] == configurations, place, len(self.known))

    def configurations(self, codes: Codes, without: int = -1) -> Codes:
        """The configuration of each row of codes (variables, rows); one parent may be left out."""
        out = np.zeros(codes.shape[1], np.int64)
        for p, stride in zip(self.parents, self.strides, strict=True):
            if p != without:
                out += stride * codes[p]
        return out


class Parameters(NamedTuple):
    """Drawn parameters of all variables, in the order of the table."""

    tables: tuple[Table, ...]
    order: tuple[int, ...]  # parents first
    children: tuple[tuple[int, ...], ...]


def drawn_parameters(
    data: Dataset, families: Sequence[Family], ess: float | str, rng: np.random.Generator
) -> Parameters:
    """Parameters of a DAG, drawn from their posterior given a completed table."""
    parents = dict(families)
    d = data.n_variables
    tables = tuple(drawn_table(data, v, parents[v], ess, rng) for v in range(d))
    children: list[list[int]] = [[] for _ in range(d)]
    for v in range(d):
        for p in parents[v]:
            children[p].append(v)
    return Parameters(tables, ordered([parents[v] for v in range(d)]), tuple(map(tuple, children)))


def ordered(parents: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The variables, parents first."""
    return tuple(graphlib.TopologicalSorter(dict(enumerate(parents))).static_order())


def drawn_table(
    data: Dataset, x: int, parents: tuple[int, ...], ess: float | str, rng: np.random.Generator
) -> Table:
    """Parameters of one family."""
    arities, r = data.arities, int(data.arities[x])
    strides, q = np.zeros(len(parents), np.int64), 1
    for i, p in enumerate(parents):
        strides[i] = q
        q *= int(arities[p])
    found = Table(parents, strides, np.zeros((0, r)), None)
    at = found.configurations(data.codes)
    known: Codes | None = None
    n = q
    if q * r > DENSE:
        known, at = np.unique(at, return_inverse=True)
        n = len(known)
    counts = np.bincount(at * r + data.codes[x], minlength=n * r).reshape(n, r)
    logs = _log_dirichlet(counts + _ess_of(counts, ess, q, rng) / (q * r), rng)
    if known is not None:
        logs = np.concatenate([logs, np.full((1, r), -np.log(r))])
    return found._replace(logs=logs, known=known)


def _ess_of(counts: Codes, ess: float | str, q: int, rng: np.random.Generator) -> float:
    """The ess of a family: as given, or drawn by its evidence."""
    if ess != "table":
        return float(ess)
    margins = counts.sum(axis=1)
    weights = ess_weights(
        PARAMETERS, counts.ravel().astype(np.int32), margins.astype(np.int32), float(q), counts.shape[1]
    )
    return float(rng.choice(PARAMETERS, p=weights))


def _log_dirichlet(alpha: Any, rng: np.random.Generator) -> Floats:
    """Log of draws from Dirichlet distributions, one a row; also for parameters near 0."""
    logs = np.log(rng.standard_gamma(alpha + 1)) + np.log1p(-rng.random(alpha.shape)) / alpha
    logs -= logs.max(axis=1, keepdims=True)
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def refilled(
    data: Dataset, missing: NDArray[np.bool_], own: Parameters, sweeps: int, rng: np.random.Generator
) -> Dataset:
    """The table after ``sweeps`` of both moves over its missing cells."""
    rows = np.flatnonzero(missing.any(axis=0))
    gaps = missing[:, rows]
    codes = data.codes[:, rows].astype(np.int64)
    holes = [np.flatnonzero(gone) for gone in gaps]
    several = np.flatnonzero(gaps.sum(axis=0) > 1)
    for _ in range(sweeps):
        if len(several):
            codes[:, several] = _proposed(codes[:, several], gaps[:, several], own, rng)
        for v in rng.permutation(len(codes)).tolist():
            if len(holes[v]):
                codes[v, holes[v]] = drawn_states(_blanket(codes[:, holes[v]], v, own), rng)
    columns = {}
    for v in range(len(codes)):
        if len(holes[v]):
            columns[v] = np.array(data.codes[v])
            columns[v][rows] = codes[v]
    return data.replaced(columns)


def _blanket(codes: Codes, v: int, own: Parameters) -> Floats:
    """Log probability of each state of v given its Markov blanket, up to a constant, (rows, states)."""
    table = own.tables[v]
    out = np.array(table.logs[table.at(table.configurations(codes))])
    states = np.arange(out.shape[1])
    for c in own.children[v]:
        child = own.tables[c]
        stride = child.strides[child.parents.index(v)]
        at = child.at(child.configurations(codes, without=v)[:, None] + stride * states)
        out += child.logs[at, codes[c][:, None]]
    return out


def drawn_states(logs: Floats, rng: np.random.Generator) -> Codes:
    """A state for each row, by log probabilities (rows, states) that are known up to a constant."""
    shares = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    return np.minimum((rng.random(len(logs)) * shares[:, -1] >= shares.T).sum(axis=0), logs.shape[1] - 1)


def _proposed(codes: Codes, gaps: NDArray[np.bool_], own: Parameters, rng: np.random.Generator) -> Codes:
    """Rows with all their missing cells proposed anew, where that is accepted."""
    new, ratio = codes.copy(), np.zeros(codes.shape[1])
    for v in own.order:
        table = own.tables[v]
        at = np.flatnonzero(gaps[v])
        if len(at):
            part = new[:, at]
            new[v, at] = drawn_states(table.logs[table.at(table.configurations(part))], rng)
        if any(gaps[p].any() for p in table.parents) and len(at) < len(ratio):
            before, after = (table.at(table.configurations(own_codes)) for own_codes in (codes, new))
            gain = table.logs[after, codes[v]] - table.logs[before, codes[v]]
            ratio += np.where(gaps[v], 0.0, gain)
    accepted = np.log1p(-rng.random(len(ratio))) < ratio
    return np.asarray(np.where(accepted, new, codes))


def log_weights(data: Dataset, missing: NDArray[np.bool_], own: Parameters, rng: np.random.Generator) -> Floats:
    """Log of an unbiased estimate of the probability of what is there in each row, by one random completion.

    Missing cells are drawn from the top downwards, each given its parents; the weight is the probability of the
    values that are there (likelihood weighting; Fung & Chang 1990).
    """
    codes, total = data.codes.astype(np.int64), np.zeros(data.n_rows)
    for v in own.order:
        table = own.tables[v]
        logs = table.logs[table.at(table.configurations(codes))]
        gone = missing[v]
        total += np.where(gone, 0.0, logs[np.arange(len(total)), codes[v]])
        if gone.any():
            codes[v, gone] = drawn_states(logs[gone], rng)
    return total


def mean_network(networks: Sequence[Any]) -> Any:
    """The network whose parameters are the means of those of several networks of the same DAG."""
    from brai.kinds.discrete.network import Network

    first = networks[0]
    cpts = tuple(np.mean([own.cpts[i] for own in networks], axis=0) for i in range(len(first.names)))
    return Network(first.names, first.states, first.parents, cpts, first.name)
