"""From a Dataset to the arrays that the kernels count on: samples, cell values, scratch memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from brai.data.dataset import Dataset
from brai.kernels.simd import LANES
from brai.kinds.base import Sizes
from brai.kinds.discrete.bit_tests import slice_columns, sort_rows, string_places, take_columns
from brai.kinds.discrete.contingency import Cells, Sample, Slices, Work, extend

_SLOTS = 4093  # rows of BDeu cell values kept at a time; prime, so that products of arities spread
_MOST_CELLS = 10**9  # of one scratch table
FEW_STATES = 32  # a variable of more is not kept as bits
_APART = 32  # numbers of room after what is written all the time, or threads would slow each other down
_STRATA, _BLOCKS = 64, 64  # configurations of a condition set, and blocks of them and their cells, kept as bits
ORDER = 4  # variables that one is tested with and given, mostly, at most
LEVELS = 7  # of condition sets for which labels are kept
_KEPT = 2048  # counts below this have their BDeu value kept


def full_sample(data: Dataset) -> Sample:
    """Every row once: the data D of the paper."""
    first, bits = _sliced(data, np.arange(data.n_rows), np.arange(data.n_variables))
    return Sample(data.codes, np.ones(data.n_rows, np.int32), data.arities, data.n_rows, first, bits)


def bootstrap_sample(data: Dataset, seed: np.random.SeedSequence, used: NDArray[np.int64] | None = None) -> Sample:
    """Rows drawn with replacement (Algorithm 1, line 10), as the rows that occur and their weights.

    With ``used`` only these variables are filled in.
    """
    if used is None:
        used = np.arange(data.n_variables)
    drawn = data.bootstrap_rows(seed)
    rows, weights = np.empty(data.n_rows, np.int64), np.empty(data.n_rows, np.int32)
    m = sort_rows(drawn, rows, weights)
    codes = np.empty((data.n_variables, m), data.codes.dtype)
    take_columns(data.codes, rows[:m], used, codes)
    codes.setflags(write=False)  # as data.codes is: one machine code for both
    return Sample(codes, weights[:m].copy(), data.arities, data.n_rows, *_sliced(data, drawn, used))


def _sliced(
    data: Dataset, rows: NDArray[np.int64], used: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Where the bits of each variable begin, and the bits, for these rows."""
    first = np.empty(data.n_variables, np.int64)
    bits = np.zeros((string_places(data.arities, FEW_STATES, first) + 1, _words(data.n_rows)), np.uint64)
    slice_columns(data.codes, rows, used, first, bits)
    return first, bits


def _words(rows: int) -> int:
    """Number of 64-bit words for so many rows, a multiple of LANES."""
    return -(-rows // (64 * LANES)) * LANES


def _scale(n_rows: int) -> float:
    """Fixed-point units to a nat: as many as leave sums of n_rows · 128 nats inside 62 bits, at most 2^40."""
    return 2.0 ** min(40, 62 - math.ceil(math.log2(128 * n_rows)))


def log_cells(n_rows: int, penalty: float = 0.0) -> Cells:
    """Cell value n log n: mutual information and likelihood; a penalty for each free parameter makes it BIC."""
    n = np.arange(n_rows + 1)
    scale = _scale(n_rows)
    values = np.rint(n * np.log(np.maximum(n, 1)) * scale).astype(np.int64)
    return Cells(np.stack([values, -values]), np.zeros(1), 1.0, scale, False, penalty)


def bdeu_cells(n_rows: int, ess: float) -> Cells:
    """Cell value lgamma(n + ess / cells) - lgamma(ess / cells): Bayes factor and BDeu score."""
    values = np.empty((_SLOTS, min(n_rows + 1, _KEPT)), np.int64)
    return Cells(values, np.zeros(_SLOTS), float(ess), _scale(n_rows), True, 0.0)


def workspace(data: Dataset, depth: int) -> Work:
    """Scratch memory for condition sets of up to ``depth`` - 2 variables; pages not used cost nothing."""
    rows, r = data.n_rows, int(data.arities.max())
    table = (2 * rows + 64 + r) * r
    if table > _MOST_CELLS:
        name = data.names[int(data.arities.argmax())]
        raise MemoryError(
            f"the variable {name!r} has {r} states, so that tables of {rows} rows would take "
            f"{12 * table / 1e9:.0f} GB: merge its rare states, or drop it"
        )
    return Work(
        np.zeros(table, np.int32),
        np.zeros(table, np.int32),
        np.zeros(table, np.int32),
        np.zeros(2 * rows + 64 + r, np.int32),
        np.zeros((depth, rows), np.int32),
        Slices(
            strata=np.zeros((depth, _STRATA + 1, _words(rows)), np.uint64),
            sizes=np.zeros((depth, _STRATA), np.int64),
            n=np.zeros(depth + _APART, np.int64),
            n_labels=np.ones(depth + _APART, np.int64),
            blocks=np.zeros((_BLOCKS, _words(rows), LANES), np.uint64),
            source=np.zeros((_BLOCKS, LANES), np.int64),
            other=np.zeros((_BLOCKS, LANES), np.int64),
            held=np.zeros((_BLOCKS, LANES), np.int64),
            place=np.zeros((_BLOCKS, LANES), np.int64),
            weight=np.zeros((_BLOCKS, LANES), np.int64),
            rest=np.zeros(_BLOCKS + 1, np.int64),
            whole=np.zeros(_BLOCKS, np.int64),
            counts=np.zeros(FEW_STATES, np.int64),
            split=np.zeros((FEW_STATES, LANES), np.int64),
            kept=np.zeros(3 + _APART, np.int64),
        ),
        np.zeros(4 + _APART, np.int64),
        np.zeros(4 + _APART, np.int64),
    )


def sizes(n_rows: int, levels: NDArray[np.int64]) -> Sizes:
    """Bytes that so many rows of variables with so many states take.

    Of the tables in scratch memory only what is touched counts. A table has the states of one variable times the
    configurations of those it is tested with and given: at most so many as rows, and as ORDER other variables
    have.
    """
    most, *others = (float(r) for r in np.sort(levels)[::-1][: ORDER + 1])
    code, words = 1 if most <= 256 else 2, _words(n_rows)
    bits = float(levels[levels <= FEW_STATES].sum() + 1) * 8 * words
    tables = 12.0 * most * min(2 * n_rows + 64 + most, math.prod(others))
    labels = LEVELS * n_rows * 4 + (LEVELS * (_STRATA + 1) + LANES * _BLOCKS) * 8 * words
    scratch = tables + labels + 16 * n_rows + 8 * _SLOTS * min(n_rows + 1, _KEPT) / 2
    drawn = 0.64 * n_rows * (len(levels) * code + 4) + bits  # the rows that occur, in a sample with replacement
    return Sizes(float(n_rows) * len(levels) * code, bits + 4 * n_rows, drawn, scratch)


def configurations(data: Dataset, variables: Sequence[int]) -> NDArray[np.int32]:
    """A label for the joint state of these variables in each row: rows have the same one if all states agree."""
    work = workspace(data, 2)
    labels, other = work.labels
    n = 1
    for v in variables:
        n = extend(labels, n, data.codes[v], int(data.arities[v]), other, work.scratch)
        labels, other = other, labels
    return np.asarray(labels)
