"""Missing cells in the report: which are missing together, what that depends on, and what imputation assumes.

Whether a cell is missing is an indicator, 1 or 0. Pairs of indicators are compared by the phi coefficient, which
is their correlation. An indicator and the values of another column are compared by mutual information; G is twice
that times the number of rows. Measurements are cut at their quartiles first. P-values of the strongest
associations come from the distribution of G over permutations: mean and variance are those of random tables with
the same margins, its shape that of a gamma distribution. They are multiplied by the number of pairs (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, xlogy
from scipy.stats import chi2

from brai.data.incomplete import Incomplete
from brai.graphs.indicators import indicator_of
from brai.posterior.imputation import Imputed
from brai.show.missingness import LETTERS, counts, cut, percent
from brai.show.report.columns import column_of
from brai.show.report.labels import number, rounded

Plain: TypeAlias = dict[str, Any]
Floats: TypeAlias = NDArray[np.float64]

ROWS = (2000, 20_000)  # least and most rows that are looked at, evenly spaced
WORK = 4e7  # rows × indicators × columns
INDICATORS = 100  # columns with missing cells that are compared, those with most
COLUMNS = 300  # columns whose values they are compared with
STATES = 12  # of a column; rarer ones are taken together
LEVEL = 0.05  # of corrected p-values
PHI = 0.1  # smallest coefficient that is shown
LEAST = 3  # rows in which both are missing
PAIRS = 10  # that are shown
REFINED = 3  # associations of an indicator whose p-values come from random tables
TABLES = 400  # random tables
LISTED = 50  # imputed cells that are shown
DRAWN = 4_000_000  # values of cells that are drawn for them, at most
DRAWS = 20  # least completions of a cell


def panel(model: Any, names: Sequence[str], cells: bool) -> Plain | None:
    """All that the panel shows; None for a complete table. ``cells``: also imputed cells of single rows."""
    data = model._train
    if (found := counts(data)) is None:
        return None
    data = data.select(names)
    depends, others = dependences(data)
    return {
        "cells": found["cells"],
        "of": found["of"],
        "rows": found["rows"],
        "n_rows": data.n_rows,
        "tables": found["completed_tables"],
        "shares": [[i, int(n)] for i, n in enumerate(data.missing.sum(axis=1)) if n],
        "blocks": blocks(data)[:PAIRS],
        "together": [[own.first, own.second, round(own.phi, 3), own.both] for own in together(data)],
        "depends": [[own.column, own.on, own.in_words(names), float(f"{own.p:.2g}")] for own in depends],
        "alone": others,
        "assumed": assumed(data, names, bool(depends)),
        "imputed": imputed(model, names) if cells else [],
    }


def assumed(data: Incomplete, names: Sequence[str], found: bool) -> str:
    """What "missing at random" means for this table, and what would break it."""
    name = cut(names[int(np.argmax(data.missing.sum(axis=1)))])
    told = (
        "Imputation assumes that cells are missing at random: whether a cell is missing may depend on what is in "
        "the table, but not on the missing value itself once that is known. "
    )
    if found:
        told += (
            "Here missingness depends on other columns. Imputation takes that into account, as long as these are "
            "in the table; leaving out rows with missing cells could bias the result. "
        )
    return told + (
        "The assumption would be wrong if, for example, among rows that agree in all other columns, some values "
        f"of {name} were missing more often than others. The data cannot show that: ask how they were collected. "
        "Probabilities, parameters and effects are averaged over the completed tables, so they include the "
        "uncertainty about missing cells."
    )


def imputed(model: Any, names: Sequence[str]) -> list[list[Any]]:
    """[row from 1, column, value, how sure, other values] of the most uncertain cells, at most LISTED."""
    train = model._train
    if int(train.missing.sum()) * DRAWS > DRAWN:
        return []
    if len(train.draws) >= DRAWS:
        found = Imputed.of(train.table, train.missing, train.tables)
    elif hasattr(model, "impute"):
        found = model.impute(n=DRAWS)
    else:
        return []
    place = {name: i for i, name in enumerate(names)}
    spread = {name: float(np.std(found.whole.columns()[v])) or 1.0 for v, name in enumerate(found.whole.names)}
    states = sorted(
        (own for own in found.cells if own.sd is None), key=lambda own: own.probability or 0.0
    )  # stable
    numbers = [own for own in found.cells if own.sd is not None]
    numbers.sort(key=lambda own: -(own.sd or 0.0) / spread[own.column])
    share = round(LISTED * len(states) / max(1, len(found.cells)))
    return [_cell(own, place[own.column]) for own in states[:share] + numbers[: LISTED - share]]


def _cell(own: Any, at: int) -> list[Any]:
    if own.sd is not None:
        low, high = (number(rounded(value, own.sd)) for value in (own.low, own.high))
        return [own.row + 1, at, number(rounded(own.value, own.sd)), None, f"95 % from {low} to {high}"]
    ranked = sorted(own.states.items(), key=lambda one: -one[1])[1:3]
    rest = ", ".join(f"{cut(str(label))}: {percent(p)}" for label, p in ranked)
    return [own.row + 1, at, cut(str(own.value)), round(own.probability, 3), rest]


# --- associations -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Together:
    """Two columns that are missing together often, or rarely."""

    first: int
    second: int
    phi: float
    both: int  # rows


@dataclass(frozen=True)
class Dependence:
    """The strongest association of an indicator with values of another column."""

    column: int  # whose cells are missing
    on: int
    where: str  # values of the other column, such as "= f"
    inside: float  # share of the cells missing where these values are
    outside: float
    p: float  # corrected

    def in_words(self, names: Sequence[str]) -> str:
        """As a sentence."""
        way = "more" if self.inside > self.outside else "less"
        shares = f"{percent(self.inside)} against {percent(self.outside)}"
        return (
            f"{cut(names[self.column])} is missing {way} often where {cut(names[self.on])} {self.where}: {shares}"
        )


def blocks(data: Incomplete) -> list[list[int]]:
    """Columns that are missing in exactly the same rows, if there are some; the largest blocks first."""
    same: dict[bytes, list[int]] = {}
    for v, own in enumerate(data.missing):
        if own.any():
            same.setdefault(np.packbits(own).tobytes(), []).append(v)
    found = [own for own in same.values() if len(own) > 1 and data.missing[own[0]].sum() >= LEAST]
    return sorted(found, key=len, reverse=True)


def together(data: Incomplete) -> list[Together]:
    """Pairs of columns whose indicators are correlated, the strongest first; only the first column of a block."""
    chosen, gone = _indicators(data, _looked_at(data))
    others = {v for own in blocks(data) for v in own[1:]}
    alone = [k for k, v in enumerate(chosen.tolist()) if v not in others]
    chosen, gone = chosen[alone], gone[alone]
    if len(chosen) < 2:
        return []
    p = gone.mean(axis=1)
    both = (gone @ gone.T) / gone.shape[1]
    sd = np.sqrt(p * (1 - p))
    phi = (both - np.outer(p, p)) / np.maximum(np.outer(sd, sd), 1e-12)
    limit = max(PHI, 4 / np.sqrt(gone.shape[1]))  # four standard errors of zero
    least = LEAST / gone.shape[1]
    i, j = np.nonzero(np.triu((np.abs(phi) >= limit) & ((phi < 0) | (both >= least)), 1))
    rank = np.lexsort((j, i, -np.abs(phi[i, j]).round(9)))[:PAIRS]
    pairs = [(int(chosen[i[k]]), int(chosen[j[k]]), float(phi[i[k], j[k]])) for k in rank]
    return [Together(a, b, own, int((data.missing[a] & data.missing[b]).sum())) for a, b, own in pairs]


def dependences(data: Incomplete) -> tuple[list[Dependence], list[int]]:
    """For each column with missing cells its strongest association, if any; and the columns without one."""
    rows = _looked_at(data)
    chosen, gone = _indicators(data, rows)
    tables: dict[int, tuple[Floats, list[str]]] = {}  # other column → (states, indicators, 2), words
    logs: dict[int, Floats] = {}  # other column → log p-value for each indicator
    columns = list(_columns(data, rows))
    ends = np.cumsum([0, *(len(words) for _, _, words in columns)])
    one = np.zeros((ends[-1], len(rows)), np.float32)  # a row for each state of each column
    for start, (_, codes, _) in zip(ends[:-1], columns, strict=True):
        here = np.flatnonzero(codes >= 0)
        one[start + codes[here], here] = 1
    missing = one @ gone.T
    both = np.stack([missing, one.sum(axis=1)[:, None] - missing], axis=-1).astype(np.float64)
    for start, end, (u, _, words) in zip(ends[:-1], ends[1:], columns, strict=True):
        tables[u] = both[start:end], words
        logs[u] = chi2.logsf(_g(both[start:end].transpose(1, 0, 2)), len(words) - 1)
    n_pairs = sum(int(u != v) for u in tables for v in chosen.tolist())
    found, others = [], []
    for k, v in enumerate(chosen.tolist()):
        first = sorted((float(logs[u][k]), u) for u in tables if u != v)[:REFINED]
        ranked = [(_p_value(tables[u][0][:, k], v, u) * n_pairs, log, u) for log, u in first]
        p, _, u = min(ranked, default=(1.0, 0.0, 0))
        if p >= LEVEL:
            others.append(v)
            continue
        own, words = tables[u][0][:, k], tables[u][1]
        rest = own.sum(axis=0) - own
        state = int(np.argmax(_g(np.stack([own, rest], axis=1))))
        inside, outside = (float(one[0] / one.sum()) for one in (own[state], rest[state]))
        found.append(Dependence(v, u, words[state], inside, outside, p))
    return found, others


def _looked_at(data: Incomplete) -> NDArray[np.int64]:
    n, k = data.n_rows, min(INDICATORS, int(data.missing.any(axis=1).sum()))
    most = int(np.clip(WORK / (k * min(data.n_variables, COLUMNS)), *ROWS))
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _indicators(data: Incomplete, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The columns with most missing cells, in the order of the table, and their indicators."""
    n = data.missing.sum(axis=1)
    most = np.argsort(-n, kind="stable")[:INDICATORS]
    chosen = np.sort(most[n[most] > 0])
    return chosen, data.missing[np.ix_(chosen, rows)].astype(np.float32)


def _columns(data: Incomplete, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], list[str]]]:
    """Columns as codes, -1 where missing, and what each code means in words."""
    for u in range(min(data.n_variables, COLUMNS)):
        if indicator_of(data.names[u], data.names) is not None:
            continue
        there = ~data.missing[u][rows]
        if not there.any():
            continue
        own = column_of(data.table, data.names[u])
        codes = np.full(len(rows), -1)
        if own.values is not None:
            codes[there], words = _quarters(own.values[rows][there])
        else:
            codes[there], words = _grouped(np.asarray(own.codes)[rows][there], own.states)
        if len(words) > 1:
            yield u, codes, words


def _quarters(values: Floats) -> tuple[NDArray[np.int64], list[str]]:
    cuts = np.unique(np.quantile(values, (0.25, 0.5, 0.75)))
    cuts = cuts[cuts > values.min()]
    text = [number(rounded(float(own), float(np.ptp(values)), 2)) for own in cuts]
    if not text:
        return np.zeros(len(values), np.int64), [""]
    between = [f"is from {low} to {high}" for low, high in pairwise(text)]
    return np.searchsorted(cuts, values, "right"), [f"is below {text[0]}", *between, f"is {text[-1]} or more"]


def _grouped(codes: NDArray[np.int64], states: Sequence[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Codes in which rare states share one."""
    n = np.bincount(codes, minlength=len(states))
    used = np.flatnonzero(n)
    kept = used if len(used) <= STATES else np.sort(used[np.argsort(-n[used], kind="stable")[: STATES - 1]])
    words = [f"= {str(states[k])[:LETTERS]}" for k in kept.tolist()]
    place = np.full(len(states), len(kept))
    place[kept] = np.arange(len(kept))
    if len(kept) < len(used):
        words.append(f"is one of {len(used) - len(kept)} rare states")
    return place[codes], words


def _g(tables: Floats) -> Floats:
    """G of tables of counts (…, rows, columns): twice mutual information in nats times the number of rows."""
    n, rows, columns = tables.sum(axis=(-2, -1)), tables.sum(axis=-1), tables.sum(axis=-2)
    cells = xlogy(tables, tables).sum(axis=(-2, -1)) + xlogy(n, n)
    margins = xlogy(rows, rows).sum(axis=-1) + xlogy(columns, columns).sum(axis=-1)
    return np.asarray(np.maximum(0.0, 2 * (cells - margins)))


def _p_value(table: Floats, v: int, u: int) -> float:
    """P-value of G among random tables with the same margins."""
    rows, gone = table.sum(axis=1).astype(np.int64), int(table[:, 0].sum())
    if gone in (0, rows.sum()):
        return 1.0
    first = np.random.default_rng([v, u]).multivariate_hypergeometric(rows, gone, TABLES, method="marginals")
    g = _g(np.stack([first, rows - first], axis=-1).astype(np.float64))
    mean, variance = float(g.mean()), float(g.var())
    return float(gammaincc(mean**2 / variance, _g(table) * mean / variance)) if variance > 0 else 1.0
