"""How the columns of a mixed table become numbers: a block of columns for each variable.

- **A category** of K states becomes K - 1 columns. They span the same space as indicators of its states, have
  mean 0, variance 1, and no correlation with each other. So it does not matter which state comes first: another
  choice would be a rotation. States that hardly occur share a row, since little can be learned of each.
- **An ordered column** becomes one column, the normal quantile of the middle of each state's ranks.
- **A measurement** becomes one column: standardised, or normal quantiles of its ranks.

A coding is made from the training rows, and applied to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from brai.data.measurements import Floats, rankdata

RARE = 5  # rows below which states of a category share a row; fewer in small tables
WIDEST = 32  # groups of states of a category


@dataclass(frozen=True, eq=False)
class Scale:
    """How one measurement becomes a column: (value - centre) / spread of the value, or of its normal score."""

    centre: float
    spread: float
    ranked: Floats | None = None  # the sorted values of the training rows, for normal scores

    @classmethod
    def of(cls, values: Floats, centre: float, spread: float, *, ranked: bool) -> Scale:
        """The scale of a column with this mean and standard deviation; ``ranked`` for normal scores."""
        if not ranked:
            return cls(centre, spread)
        scores = ndtri((rankdata(values) - 0.5) / len(values))
        return cls(float(scores.mean()), float(scores.std()) or 1.0, np.sort(values))

    def scores(self, values: Floats) -> Floats:
        """The values, or their normal scores among the training rows."""
        if self.ranked is None:
            return np.asarray(values, np.float64)
        n = len(self.ranked)
        ranks = (np.searchsorted(self.ranked, values, "left") + np.searchsorted(self.ranked, values, "right")) / 2
        return np.asarray(ndtri(np.clip(ranks, 0.5, n - 0.5) / n), np.float64)

    def values(self, column: Floats) -> Floats:
        """The values of a column of the design, in the units of the data: the inverse of `column`."""
        scores = column * self.spread + self.centre
        if self.ranked is None:
            return np.asarray(scores, np.float64)
        n = len(self.ranked)
        return np.asarray(np.interp(ndtr(scores) * n - 0.5, np.arange(n), self.ranked), np.float64)

    def column(self, values: Floats) -> Floats:
        """The column of the design, (1, rows)."""
        scores = self.scores(values)
        return np.asarray((scores / self.spread - self.centre / self.spread)[None], np.float64)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """How states become columns: a row for each state."""

    rows: Floats  # (states, columns)
    groups: NDArray[np.int64]  # (states,): states with the same number share a row

    @classmethod
    def of_category(cls, counts: NDArray[np.int64]) -> Contrasts:
        """Uncorrelated columns of mean 0 and variance 1, by the counts of the states."""
        groups = _groups(counts)
        share = np.bincount(groups, counts) / counts.sum()
        root = np.sqrt(share)
        basis = np.linalg.svd(root[None])[2][1:].T if len(share) > 1 else np.zeros((1, 0))
        return cls(np.ascontiguousarray((basis / root[:, None])[groups]), groups)

    @classmethod
    def of_order(cls, counts: NDArray[np.int64]) -> Contrasts:
        """One column: the normal quantile of the middle of the ranks of each state."""
        n = float(counts.sum())
        middle = np.clip(np.cumsum(counts) - counts / 2, 0.5, n - 0.5) / n
        scores, share = ndtri(middle), counts / n
        centre = float(share @ scores)
        spread = float(np.sqrt(share @ (scores - centre) ** 2))
        groups = np.arange(len(counts))
        if spread < 1e-12:
            return cls(np.zeros((len(counts), 0)), groups)
        return cls(np.ascontiguousarray(((scores - centre) / spread)[:, None]), groups)

    def column(self, codes: NDArray[Any]) -> Floats:
        """The columns of the design, (columns, rows)."""
        return np.ascontiguousarray(self.rows[codes].T)


def _groups(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The group of each state: of its own, or together with other rare ones; those that never occur are rare."""
    least = min(RARE, counts.sum() / (2 * max(1, int((counts > 0).sum()))))
    common = (counts >= least) & (counts > 0)
    if common.sum() > WIDEST - 1:
        common &= np.isin(np.arange(len(counts)), np.argsort(-counts, kind="stable")[: WIDEST - 1])
    if counts[~common].sum() < least:  # a group of its own would be rare, too
        others = counts[common].argmin() if common.any() else 0
        groups = np.full(len(counts), others)
        groups[common] = np.arange(common.sum())
        return groups
    groups = np.full(len(counts), int(common.sum()))
    groups[common] = np.arange(common.sum())
    return groups


@dataclass(frozen=True, eq=False)
class Coding:
    """The blocks of all variables of a table, in its order."""

    blocks: tuple[Scale | Contrasts, ...]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(d + 1,): the columns of variable v are starts[v] to starts[v + 1]."""
        widths = [1 if isinstance(own, Scale) else own.rows.shape[1] for own in self.blocks]
        return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)

    def columns_of(self, variables: Sequence[int]) -> list[int]:
        """The columns of these variables."""
        return [c for v in variables for c in range(self.starts[v], self.starts[v + 1])]

    def select(self, variables: Sequence[int]) -> Coding:
        """The coding of these variables, in this order."""
        return Coding(tuple(self.blocks[v] for v in variables))
