"""Further columns of states for a complete table of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from brai.data.dataset import Dataset
from brai.data.measurements import Floats, Measurements
from brai.data.mixed import ColumnKind, Mixed


def with_states(table: Any, leaves: Dataset) -> Any:
    """A complete table with more columns of states."""
    if isinstance(table, Dataset):
        return _both(table, leaves)
    names = (*table.names, *leaves.names)
    added: list[ColumnKind] = ["discrete"] * leaves.n_variables
    if isinstance(table, Measurements):
        ranked = () if table.reference is None else table.names
        numbers: list[ColumnKind] = ["continuous"] * table.n_variables
        return Mixed.of(names, (*numbers, *added), leaves, Measurements(_values(table), table.names), ranked)
    labels = leaves if table.labels is None else _both(table.labels, leaves)
    return Mixed.of(names, (*table.kinds, *added), labels, table.numbers, table.ranked)


def _both(one: Dataset, other: Dataset) -> Dataset:
    return Dataset(
        np.concatenate([one.codes, other.codes]), (*one.names, *other.names), (*one.states, *other.states)
    )


def _values(table: Measurements) -> Floats:
    """The values in the units of the data."""
    if table.reference is None:
        return table.values
    found: list[NDArray[np.float64]] = []
    for known, scores in zip(table.reference, table.values, strict=True):
        ranks = np.rint(2 * (ndtr(scores) * len(known) + 0.5)) / 2  # equal values have the mean of their ranks
        found.append(known[np.clip(np.floor(ranks).astype(int), 1, len(known)) - 1])
    return np.stack(found)
