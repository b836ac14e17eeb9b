"""Predictive probabilities of families: counts of the training rows, evaluated at the test rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from brai.data.dataset import Dataset
from brai.graphs.pdag import Family, family_arrays
from brai.kernels.interface import Array
from brai.kinds.discrete.any_ess import ess_weights, grid_of
from brai.kinds.discrete.contingency import Work, extend, grow
from brai.kinds.discrete.samples import workspace
from brai.runtime.checks import check_ess
from brai.runtime.jit import announce, njit

_MOST_CELLS = 20_000_000  # maximum of families × rows in a block, and of rows × states in scratch tables


@njit
def family_predictions(
    codes: Array,
    n_train: int,
    arities: Array,
    work: Work,
    children: Array,
    parents: Array,
    starts: Array,
    grid: Array,
) -> Array:
    """Log probability of the child's state given those of its parents, by family and row of codes[:, n_train:].

    Probabilities are Dirichlet posterior means (N_ijk + ess / (q r)) / (N_ij + ess / q), with counts of the first
    n_train rows, averaged over the values of ess in ``grid`` by the evidence of the family. Families are given as
    in `brai.kernels.interface.family_values`.
    """
    rows, labels, weights = codes.shape[1], work.labels, np.ones(1)
    out = np.empty((len(children), rows - n_train))
    for i in range(len(children)):
        z, xz, n, size = labels[0], labels[1], 1, 1.0
        z[:rows] = 0
        for p in parents[starts[i] : starts[i + 1]]:
            n = extend(z, n, codes[p], arities[p], xz, work.scratch)
            z, xz = xz, z
            size = grow(size, arities[p])
        x, r = children[i], arities[children[i]]
        cells = extend(z, n, codes[x], r, xz, work.scratch)
        for j in range(n_train):
            work.counts[xz[j]] += 1
            work.margins[z[j]] += 1
        if len(grid) > 1:
            weights = ess_weights(grid, work.counts[:cells], work.margins[:n], size, r)
        known = np.zeros(cells)  # 0: not computed yet, or exactly 0
        for j in range(n_train, rows):
            cell = xz[j]
            if known[cell] == 0:
                p = 0.0
                for k in range(len(grid)):
                    own = work.counts[cell] + grid[k] / (size * r)
                    p += weights[k] * own / (work.margins[z[j]] + grid[k] / size)
                known[cell] = math.log(p)
            out[i, j - n_train] = known[cell]
        for j in range(n_train):
            work.counts[xz[j]] = 0
            work.margins[z[j]] = 0
    return out


def blocks(
    families: Sequence[Family], train: Dataset, test: Dataset, ess: float | str
) -> Iterator[NDArray[np.float64]]:
    """Yield log probabilities (families, rows), by blocks of rows of ``test``.

    With ess "table" they are averaged over ess, for each family by its own evidence.
    """
    if train.names != test.names or train.states != test.states:
        raise ValueError("train and test differ in variables or states: build both with the same states=")
    grid = grid_of(check_ess(ess))
    listed = family_arrays(families)
    scratch = _MOST_CELLS // int(train.arities.max()) - train.n_rows
    block = max(256, min(_MOST_CELLS // max(len(families), 1), scratch))
    announce(family_predictions, train.codes.dtype)
    for start in range(0, test.n_rows, block):
        codes = np.concatenate([train.codes, test.codes[:, start : start + block]], axis=1)
        work = workspace(Dataset(codes, train.names, train.states), 2)
        yield family_predictions(codes, train.n_rows, train.arities, work, *listed, grid)
