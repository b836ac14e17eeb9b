"""Predictive probabilities of mixed families, by their local models (`brai.kinds.mixed.local_models`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from brai.data.coding import Scale
from brai.data.measurements import Floats
from brai.data.mixed import Mixed
from brai.graphs.pdag import Family
from brai.kinds import kind_of
from brai.kinds.discrete.predictions import blocks as table_blocks
from brai.kinds.gaussian.bge import Prior
from brai.kinds.gaussian.predictions import density
from brai.kinds.mixed.local_models import Softmax, design_of, has_table, number_of, softmax_of

_MOST_CELLS = 20_000_000  # maximum of families × rows in a block


def blocks(families: Sequence[Family], train: Mixed, test: Mixed, ess: float | str) -> Iterator[Floats]:
    """Yield log probabilities or densities (families, rows), by blocks of rows of ``test``.

    Densities are in the units of the data; those of normal scores in units of the score.
    """
    if train.names != test.names or train.kinds != test.kinds:
        raise ValueError("train and test differ in variables or kinds: build the test rows with conforming")
    fits = {family: fitted(train, family) for family in families}
    step = max(256, _MOST_CELLS // max(len(families), 1))
    for start in range(0, test.n_rows, step):
        part = test.rows(np.arange(start, min(start + step, test.n_rows)))
        yield block(families, fits, train, part, ess)


def fitted(train: Mixed, family: Family) -> Softmax | None:
    """The softmax regression of a family that has one."""
    x, parents = family
    states = train.states_of(x)
    if states is None or has_table(train, family):
        return None
    return softmax_of(train.columns()[x], len(states), design_of(train, parents))


def block(
    families: Sequence[Family],
    fits: dict[Family, Softmax | None],
    train: Mixed,
    part: Mixed,
    ess: float | str,
) -> Floats:
    """Log probabilities or densities (families, rows) of some rows."""
    out = np.empty((len(families), part.n_rows))
    tables = [i for i, family in enumerate(families) if has_table(train, family)]
    if tables:
        place = {name: i for i, name in enumerate(train.labels.names)}
        at = [place.get(name, -1) for name in train.names]
        listed = [(at[x], tuple(at[p] for p in parents)) for x, parents in (families[i] for i in tables)]
        out[tables] = np.concatenate(list(table_blocks(listed, train.labels, part.labels, ess)), axis=1)
    prior = Prior.of(len(train.design), number_of(ess))
    matrix = prior.matrix(kind_of(train).sample(train).moments.scatter)
    columns = part.columns()
    for i, (x, parents) in enumerate(families):
        fit = fits[families[i]]
        if fit is not None:
            logs = fit.log_probabilities(design_of(part, parents))
            out[i] = logs[columns[x], np.arange(part.n_rows)]
        elif train.kinds[x] == "continuous":
            scale = train.coding.blocks[x]
            assert isinstance(scale, Scale)
            members = train.coding.columns_of((*parents, x))
            out[i] = density(matrix, prior, train.n_rows, members, part.design) - math.log(scale.spread)
    return out
