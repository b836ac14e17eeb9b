"""From a Dataset to the arrays that the kernels count on: samples, cell values, scratch memory."""

from __future__ import annotations

import math

import numpy as np

from brai.data import Dataset
from brai.kernels.counts import UNSET, Cells, Sample, Work

_SLOTS = 4093  # rows of BDeu cell values kept at a time; prime, so that products of arities spread
_KEPT = 2048  # counts below this have their BDeu value kept


def full_sample(data: Dataset) -> Sample:
    """Every row once: the data D of the paper."""
    return Sample(data.codes, np.ones(data.n_rows, np.int32), data.arities)


def bootstrap_sample(data: Dataset, seed: np.random.SeedSequence) -> Sample:
    """Rows drawn with replacement (Algorithm 1, line 10), as the rows that occur and their weights."""
    weights = data.bootstrap_weights(seed)
    rows = np.flatnonzero(weights)
    return Sample(data.codes.take(rows, axis=1), weights[rows].astype(np.int32), data.arities)


def _scale(n_rows: int) -> float:
    """Fixed-point units to a nat: as many as leave sums of n_rows · 128 nats inside 62 bits, at most 2^40."""
    return 2.0 ** min(40, 62 - math.ceil(math.log2(128 * n_rows)))


def log_cells(n_rows: int) -> Cells:
    """Cell value n log n: mutual information and likelihood."""
    n = np.arange(n_rows + 1)
    scale = _scale(n_rows)
    values = np.rint(n * np.log(np.maximum(n, 1)) * scale).astype(np.int64)
    return Cells(values[None, :], np.zeros(1), 1.0, scale, False)


def bdeu_cells(n_rows: int, ess: float) -> Cells:
    """Cell value lgamma(n + ess / cells) - lgamma(ess / cells): Bayes factor and BDeu score."""
    values = np.empty((_SLOTS, min(n_rows + 1, _KEPT)), np.int64)
    return Cells(values, np.zeros(_SLOTS), float(ess), _scale(n_rows), True)


def workspace(data: Dataset, depth: int) -> Work:
    """Scratch memory for condition sets of up to ``depth`` - 2 variables; pages not used cost nothing."""
    rows, r = data.n_rows, int(data.arities.max())
    table = (2 * rows + 64 + r) * r
    return Work(
        np.zeros(table, np.int32),
        np.zeros(table, np.int32),
        np.zeros(table, np.int32),
        np.zeros(2 * rows + 64, np.int32),
        np.zeros((depth, rows), np.int32),
    )


__all__ = ["UNSET", "bdeu_cells", "bootstrap_sample", "full_sample", "log_cells", "workspace"]
