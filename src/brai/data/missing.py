"""Missing values of a table: raise an error, drop their rows, or make missing a state of its own.

`brai.data.incomplete` keeps them, for learners that impute them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import DataError, Factor, count, shown
from brai.data.states import MISSING, is_missing, seen, sorted_states, whole

Way: TypeAlias = Literal["impute", "error", "drop", "label"]

NAMED = 10  # columns with missing values that a message names
CURE = (
    'Dataset.of(X, missing="drop") removes these rows, missing="label" makes missing a state, missing="impute" '
    "imputes them"
)


def settled(
    names: Sequence[str],
    columns: Sequence[Factor],
    way: Way,
    cure: str = CURE,
    declared: Mapping[str, Sequence[Any]] = {},
) -> list[Factor]:
    """The columns with missing values resolved; `declared` holds the states that the caller gave."""
    if way not in get_args(Way):
        raise DataError(f"missing is {shown(way)}: choose 'impute', 'drop', 'label' or 'error'")
    holes = {i: n for i, column in enumerate(columns) if (n := int(missing_rows(column).sum()))}
    if not holes:
        return list(columns)
    if way == "label":
        for i, n in holes.items():
            if MISSING not in declared.get(names[i], ()):
                _check_apart(names[i], columns[i], n)
        return [_labelled(names[i], own) if i in holes else own for i, own in enumerate(columns)]
    whole_rows = np.ones(columns[0].inverse.size, bool)
    for i in holes:
        whole_rows &= ~missing_rows(columns[i])
    if way == "error":
        raise DataError(f"{which(names, holes)}, the first in row {int(whole_rows.argmin()) + 1}: {cure}")
    if not whole_rows.any():
        raise DataError(
            f'{which(names, holes)}, and no row is complete: missing="label" makes missing a state; or impute '
            "them, or drop the emptiest columns"
        )
    left_out = int((~whole_rows).sum())
    warnings.warn(f"{left_out} of {count(len(whole_rows), 'row')} dropped: {which(names, holes)}", stacklevel=4)
    return [replace(column, inverse=column.inverse[whole_rows]) for column in columns]


def missing_rows(column: Factor) -> NDArray[np.bool_]:
    """Which rows are missing."""
    gone = [i for i in seen(column) if is_missing(column.values[i])]
    return np.isin(column.inverse, gone) if gone else np.zeros(column.inverse.size, bool)


def _check_apart(name: str, column: Factor, n_missing: int) -> None:
    """Refuse a label that equals the label of missing values, unless the caller declared it."""
    found = [i for i in seen(column) if isinstance(own := column.values[i], str) and own == MISSING]
    if found:
        row = int((column.inverse == found[0]).argmax()) + 1
        others = count(n_missing, "missing value")
        raise DataError(
            f"column {shown(name)} holds the text {MISSING!r} in row {row}, which is also the label of its "
            f"{others}: rename it in the data, or list it in states= if both mean the same"
        )


def _labelled(name: str, column: Factor) -> Factor:
    """The column with missing as its last state, or as the declared state of that name."""
    states: Sequence[Any] | None = column.declared
    if states is None:
        present = [whole(column.values[i]) for i in seen(column) if not is_missing(column.values[i])]
        n_rows = int((~missing_rows(column)).sum())
        states = sorted_states(name, present, n_rows)
    values = [MISSING if is_missing(value) else value for value in column.values]
    return replace(column, values=values, declared=[*states, *[MISSING] * (MISSING not in states)])


def which(names: Sequence[str], holes: dict[int, int]) -> str:
    """Text that lists the columns with missing values, and how many each has."""
    if len(holes) == 1:
        ((i, n),) = holes.items()
        return f"column {shown(names[i])} has {count(n, 'missing value')}"
    listed = [f"{shown(names[i])} {n}" for i, n in list(holes.items())[:NAMED]]
    more = f" and {len(holes) - NAMED} more" if len(holes) > NAMED else ""
    return f"{len(holes)} columns have missing values ({', '.join(listed)}{more})"


def check_array(X: Any) -> None:
    """Refuse an array without columns, and one of numbers with inf, in the words of scikit-learn."""
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return
    if X.shape[1] == 0:
        raise DataError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required: give columns")
    if X.dtype.kind != "f" or not np.isinf(X).any():
        return
    row, column = map(int, np.argwhere(np.isinf(X))[0])
    raise DataError(f"column 'x{column}' holds inf in row {row + 1}: drop the row, or give it a label")
