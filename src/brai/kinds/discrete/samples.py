"""The arrays that kernels take, made from a Dataset: samples, cell values, workspaces."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from brai.data.dataset import Dataset
from brai.kernels.simd import LANES
from brai.kinds.base import Sizes
from brai.kinds.discrete.any_ess import GRID, PARAMETERS, ess_weights
from brai.kinds.discrete.bit_tests import slice_columns, sort_rows, string_places, take_columns
from brai.kinds.discrete.contingency import Cells, Sample, Slices, Work, extend

_SLOTS = 4093  # cached rows of BDeu cell values; prime, so that products of arities collide rarely
_MOST_CELLS = 10**9  # maximum for one scratch table
FEW_STATES = 32  # variables with more states have no bit vectors
_APART = 32  # padding, so that threads do not write to the same cache line
_STRATA, _BLOCKS = 64, 64  # maximal numbers of configurations of a conditioning set, and of blocks, as bit vectors
ORDER = 4  # usual maximum of the number of other variables in a table, for memory estimates
LEVELS = 7  # usual depth of the workspace, for memory estimates
_KEPT = 2048  # BDeu values are cached for counts below this
_ONE_ESS = (np.zeros(0), np.zeros(0))


def full_sample(data: Dataset) -> Sample:
    """The sample with every row once: the data D of the paper."""
    first, bits = _sliced(data, np.arange(data.n_rows), np.arange(data.n_variables))
    return Sample(data.codes, np.ones(data.n_rows, np.int32), data.arities, data.n_rows, first, bits)


def bootstrap_sample(data: Dataset, seed: np.random.SeedSequence, used: NDArray[np.int64] | None = None) -> Sample:
    """Rows drawn with replacement (Algorithm 1, line 10), as distinct rows and their multiplicities.

    If ``used`` is given, only these variables are filled in.
    """
    if used is None:
        used = np.arange(data.n_variables)
    drawn = data.bootstrap_rows(seed)
    rows, weights = np.empty(data.n_rows, np.int64), np.empty(data.n_rows, np.int32)
    m = sort_rows(drawn, rows, weights)
    codes = np.empty((data.n_variables, m), data.codes.dtype)
    take_columns(data.codes, rows[:m], used, codes)
    codes.setflags(write=False)  # like data.codes, so that both have the same type in compiled code
    return Sample(codes, weights[:m].copy(), data.arities, data.n_rows, *_sliced(data, drawn, used))


def _sliced(
    data: Dataset, rows: NDArray[np.int64], used: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Index of each variable's first bit vector, and the bit vectors of these rows."""
    first = np.empty(data.n_variables, np.int64)
    bits = np.zeros((string_places(data.arities, FEW_STATES, first) + 1, _words(data.n_rows)), np.uint64)
    slice_columns(data.codes, rows, used, first, bits)
    return first, bits


def _words(rows: int) -> int:
    """Number of 64-bit words for this number of rows, rounded up to a multiple of LANES."""
    return -(-rows // (64 * LANES)) * LANES


def _scale(n_rows: int) -> float:
    """Fixed-point units per nat: the largest power of 2 so that n_rows · 128 nats fit 62 bits, at most 2^40."""
    return 2.0 ** min(40, 62 - math.ceil(math.log2(128 * n_rows)))


def log_cells(n_rows: int, penalty: float = 0.0, *, nml: bool = False) -> Cells:
    """Cell values n log n, for mutual information and likelihood; with a penalty per free parameter for BIC."""
    n = np.arange(n_rows + 1)
    scale = _scale(n_rows)
    values = np.rint(n * np.log(np.maximum(n, 1)) * scale).astype(np.int64)
    return Cells(
        np.stack([values, -values]), np.zeros(1), 1.0, scale, False, penalty, float(nml * n_rows), *_ONE_ESS
    )


def bdeu_cells(n_rows: int, ess: float | str) -> Cells:
    """Cell values lgamma(n + ess / cells) - lgamma(ess / cells), for the Bayes factor and the BDeu score.

    ``ess`` is a number, or "table" for the best of each table (`brai.kinds.discrete.any_ess`).
    """
    values, keys = np.empty((_SLOTS, min(n_rows + 1, _KEPT)), np.int64), np.zeros(_SLOTS)
    if ess == "table":
        whole = gammaln(n_rows + GRID) - gammaln(GRID)
        return Cells(values, keys, 1.0, _scale(n_rows), True, 0.0, 0.0, GRID, whole)
    return Cells(values, keys, float(ess), _scale(n_rows), True, 0.0, 0.0, *_ONE_ESS)


def workspace(data: Dataset, depth: int) -> Work:
    """A workspace for conditioning sets of up to ``depth`` - 2 variables. Untouched pages take no memory."""
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
        np.zeros(5 + _APART, np.int64),
        np.zeros(len(GRID) + 1 + _APART),
    )


def sizes(n_rows: int, levels: NDArray[np.int64]) -> Sizes:
    """Estimated bytes for ``n_rows`` rows of variables with these numbers of states.

    Only the touched part of scratch tables counts. A table has the states of one variable times the configurations
    of the other variables of a test. Their number is bounded by the number of rows, and by the configurations of
    ORDER variables.
    """
    most, *others = (float(r) for r in np.sort(levels)[::-1][: ORDER + 1])
    code, words = 1 if most <= 256 else 2, _words(n_rows)
    bits = float(levels[levels <= FEW_STATES].sum() + 1) * 8 * words
    tables = 12.0 * most * min(2 * n_rows + 64 + most, math.prod(others))
    labels = LEVELS * n_rows * 4 + (LEVELS * (_STRATA + 1) + LANES * _BLOCKS) * 8 * words
    scratch = tables + labels + 16 * n_rows + 8 * _SLOTS * min(n_rows + 1, _KEPT) / 2
    drawn = 0.64 * n_rows * (len(levels) * code + 4) + bits  # 0.64: about the fraction of distinct rows
    return Sizes(float(n_rows) * len(levels) * code, bits + 4 * n_rows, drawn, scratch)


def configurations(data: Dataset, variables: Sequence[int]) -> NDArray[np.int32]:
    """A label for each row: rows have equal labels if all these variables have equal states in them."""
    work = workspace(data, 2)
    labels, other = work.labels
    n = 1
    for v in variables:
        n = extend(labels, n, data.codes[v], int(data.arities[v]), other, work.scratch)
        labels, other = other, labels
    return np.asarray(labels)


def ess_of(data: Dataset, child: int, parents: Sequence[int], ess: float | str) -> float:
    """``ess``, or if it is "table" the most probable one for this family."""
    if ess != "table":
        return float(ess)
    r, q = int(data.arities[child]), min(math.prod(data.arities[list(parents)].tolist()), 10**280)
    labels = configurations(data, parents).astype(np.int64)
    cells = np.unique(labels * r + data.codes[child], return_counts=True)[1]
    counts, margins = (own.astype(np.int32) for own in (cells, np.bincount(labels)))
    return float(PARAMETERS[ess_weights(PARAMETERS, counts, margins, float(q), r).argmax()])
