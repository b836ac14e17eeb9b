"""Predictive probabilities of families: training rows are counted, test rows looked up."""

from __future__ import annotations

import math

import numpy as np

from brai.kinds.discrete.contingency import Array, Work, extend, grow
from brai.runtime.jit import njit


@njit
def family_predictions(
    codes: Array,
    n_train: int,
    arities: Array,
    work: Work,
    children: Array,
    parents: Array,
    starts: Array,
    ess: float,
) -> Array:
    """Log probability of the child's state given its parents', by family and row of codes[:, n_train:].

    Dirichlet posterior means (N_ijk + ess / (q r)) / (N_ij + ess / q) of the rows before; families as in
    `brai.kinds.discrete.contingency.family_values`.
    """
    rows, labels = codes.shape[1], work.labels
    out = np.empty((len(children), rows - n_train))
    for i in range(len(children)):
        z, xz, n, size = labels[0], labels[1], 1, 1.0
        z[:rows] = 0
        for p in parents[starts[i] : starts[i + 1]]:
            n = extend(z, n, codes[p], arities[p], xz, work.scratch)
            z, xz = xz, z
            size = grow(size, arities[p])
        x, r = children[i], arities[children[i]]
        extend(z, n, codes[x], r, xz, work.scratch)
        for j in range(n_train):
            work.counts[xz[j]] += 1
            work.margins[z[j]] += 1
        prior, cell = ess / size, ess / (size * r)
        for j in range(n_train, rows):
            out[i, j - n_train] = math.log((work.counts[xz[j]] + cell) / (work.margins[z[j]] + prior))
        for j in range(n_train):
            work.counts[xz[j]] = 0
            work.margins[z[j]] = 0
    return out
