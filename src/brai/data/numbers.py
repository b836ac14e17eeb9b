"""Which columns of a table are measurements, and such columns as a table.

- A column with a fraction is continuous. So is a column of integers with more than FEW different values, if all
  columns of the table are: these are measurements or counts. ``kinds={"age": "discrete"}`` or
  ``{"score": "continuous"}`` decide otherwise.
- Beside measurements, integers with few values count as numbers, too.
- Row numbers (all integers of a range, once each) are identifiers, which is an error.
- Missing values are an error, or their rows are dropped. Infinities are errors.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from brai.data.columns import (
    Columns,
    DataError,
    Factor,
    Numbers,
    Unread,
    aligned,
    check_names,
    columns_of,
    count,
    shown,
)
from brai.data.measurements import Floats, Measurements, Transform, scored, unchecked
from brai.data.states import IDENTIFIER_ROWS, Written, is_missing
from brai.data.text_files import read_columns
from brai.runtime.checks import near

FEW = 12  # different integers up to which a column holds labels
LOOKED = 1000  # rows that are looked at first
LARGEST = 1000  # bits of an integer that counts as a number
TAILS = 10.0  # excess kurtosis above which a column is far from normal
HEAVY = 5  # columns that a message names


def source_columns(X: Any) -> Columns:
    """Names and columns of a table of measurements, a frame, an array, or a file."""
    if isinstance(X, Measurements):
        return list(X.names), list(X.values)
    return file_columns(X, None) if isinstance(X, str | os.PathLike) else columns_of(X)


def file_columns(path: str | os.PathLike[str], delimiter: str | None, without: Set[str] = frozenset()) -> Columns:
    """Names and columns of a file."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise DataError(f"the path is {shown(path)}: give the path of a file")
    return read_columns(Path(path), delimiter, without)


def read(column: Any) -> Any:
    """A column of a file that is read lazily; any other column is returned."""
    return column.read(column.name) if isinstance(column, Unread) else column


# --- one column -----------------------------------------------------------------------------------------


class Looks(NamedTuple):
    """What a column of numbers looks like."""

    fractions: bool
    many: bool  # integers with more than FEW different values
    rows: int


def numbers(column: Any) -> Floats | None:
    """A column as floats, NaN where it is missing; None if it does not hold numbers only."""
    if isinstance(column, Numbers):
        return column.values
    if isinstance(column, Factor):
        if column.declared is not None or not all(map(_is_number, column.values)):
            return None
        return np.asarray(_floats(column.values)[column.inverse])
    if isinstance(column, list | tuple | range):
        return _floats(column) if all(map(_is_number, column)) else None
    if isinstance(column, np.ndarray):
        return _array_numbers(column)
    if not isinstance(column, nw.Series):
        try:
            column = nw.from_native(column, series_only=True)
        except TypeError:
            return None
    if not column.dtype.is_numeric() or column.dtype.is_decimal():
        return None
    if column.dtype.is_integer() and (column.null_count() > 0 or column.dtype in (nw.Int128, nw.UInt128)):
        return _floats(column.to_list())  # some packages refuse to cast large integers
    return np.array(column.to_numpy(), np.float64)


def _array_numbers(column: NDArray[Any]) -> Floats | None:
    if column.ndim != 1:
        return None
    if isinstance(column, np.ma.MaskedArray):
        return numbers(column.tolist())
    if column.dtype.kind == "O":
        return numbers(column.tolist())
    return np.array(column, np.float64) if column.dtype.kind in "iuf" else None


def _floats(values: Sequence[Any]) -> Floats:
    return np.array([np.nan if is_missing(v) else float(v) for v in values], np.float64)


def _is_number(value: Any) -> bool:
    """Whether a cell holds a number, or is missing."""
    if isinstance(value, int):
        return not isinstance(value, bool) and value.bit_length() <= LARGEST
    return is_missing(value) or isinstance(value, float | np.integer | np.floating | Written)


def looks(values: Floats) -> Looks:
    """Whether there are fractions, and whether there are many different integers."""
    n = len(values)
    first = values[:LOOKED]
    if (first[np.isfinite(first)] % 1 != 0).any():
        return Looks(True, False, n)
    known = values[np.isfinite(values)]
    return Looks(bool((known % 1 != 0).any()), len(np.unique(known)) > FEW, n)


def _counts_rows(values: Floats) -> bool:
    """Whether a column has all integers of a range, once each."""
    n = len(values)
    if n <= IDENTIFIER_ROWS or not np.isfinite(values).all() or np.ptp(values) != n - 1:
        return False
    return bool((np.diff(np.sort(values)) == 1).all())


def measured(
    names: Sequence[str],
    columns: Sequence[Floats],
    missing: str,
    transform: Transform,
    given: Mapping[str, str],
) -> Measurements:
    """Columns of numbers as a table; missing values are an error or dropped."""
    values = np.stack(columns)
    if rows := [name for name, own in zip(names, values, strict=True) if name not in given and _counts_rows(own)]:
        raise DataError(
            f"column {shown(rows[0])} has {values.shape[1]} different values in {values.shape[1]} rows, all "
            f"integers from {values[names.index(rows[0])].min():.0f} on, like an identifier: drop it, or name it "
            "in kinds="
        )
    if (endless := np.isinf(values)).any():
        which = np.flatnonzero(endless.any(axis=1)).tolist()
        told = ", ".join(f"{shown(names[v])} (row {int(endless[v].argmax()) + 1})" for v in which[:HEAVY])
        raise DataError(f"infinite values in {told}: correct them, or drop those rows")
    gone = np.isnan(values)
    if gone.any():
        holes = gone.sum(axis=1)
        told = ", ".join(f"{shown(names[v])} {holes[v]}" for v in np.flatnonzero(holes)[:10])
        if missing != "drop":
            row = int(gone.any(axis=0).argmax()) + 1
            raise DataError(
                f"missing values ({told}), the first in row {row}: "
                'Dataset.of(X, missing="drop") removes these rows; or impute them'
            )
        kept: NDArray[np.bool_] = np.logical_not(gone.any(axis=0))
        if not kept.any():
            raise DataError(f"missing values ({told}), and no row is complete: impute them, or drop such columns")
        warnings.warn(f"{int((~kept).sum())} of {len(kept)} rows dropped: missing values ({told})", stacklevel=5)
        values = values[:, kept]
    if transform == "normal-scores":
        return scored(values, tuple(names))
    if transform != "none":
        raise DataError(f"transform is {shown(transform)}: choose 'none' or 'normal-scores'")
    _warn_of_tails(names, values)
    return Measurements(values, tuple(names))


def _warn_of_tails(names: Sequence[str], values: Floats) -> None:
    """Warn of columns that are far from normal, by their excess kurtosis."""
    table = unchecked(values, tuple(names))
    if table.n_rows < 20:
        return
    excess = np.mean(table.standardised**4, axis=1) - 3
    if heavy := np.flatnonzero(excess > TAILS).tolist():
        told = ", ".join(
            f"{shown(names[v])} ({excess[v]:.0f})" for v in sorted(heavy, key=lambda v: -excess[v])[:HEAVY]
        )
        more = f" and {len(heavy) - HEAVY} more" if len(heavy) > HEAVY else ""
        warnings.warn(
            f"far from normal, with heavy tails or outliers (excess kurtosis): {told}{more}: look at these "
            'columns, or use transform="normal-scores"',
            stacklevel=5,
        )


def kinds_of(names: Sequence[str], given: Mapping[str, str] | None) -> dict[str, str]:
    """The kinds that the caller states, checked."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(f"kinds= is of type {type(given).__name__}: give a dict of column name → kind")
    for name, kind in given.items():
        if name not in names:
            hint = near(str(name), [str(n) for n in names])
            raise DataError(f"there is no column {shown(name)}{hint}: choose among {shown(list(names))}")
        if kind not in ("discrete", "continuous"):
            raise DataError(f"the kind of {shown(name)} is {shown(kind)}: choose 'discrete' or 'continuous'")
    return {str(name): kind for name, kind in given.items()}


def as_measurements(
    table: Columns,
    kinds: Mapping[str, str] | None,
    states: Mapping[str, Any] | None,
    missing: str,
    transform: Transform,
) -> Measurements | None:
    """The table if its columns are continuous; None if they are discrete; DataError if there are both."""
    names, columns = [str(name) for name in table[0]], table[1]
    given = kinds_of(names, kinds)
    discrete = {name for name, kind in given.items() if kind == "discrete"}
    discrete |= set(map(str, states)) if isinstance(states, Mapping) else set()
    seen: dict[int, Looks] = {}
    for i, name in enumerate(names):
        if name not in discrete and (own := numbers(columns[i])) is not None:
            seen[i] = looks(own)
    told = [i for i, name in enumerate(names) if given.get(name) == "continuous"]
    if wrong := [names[i] for i in told if i not in seen]:
        raise DataError(
            f"column {shown(wrong[0])} does not hold numbers only, so it is not continuous: convert it"
        )
    certain = told + [i for i, look in seen.items() if look.fractions and i not in told]
    if not certain and not (len(seen) == len(names) and all(look.many for look in seen.values())):
        return None
    if labels := [name for i, name in enumerate(names) if i not in seen]:
        raise DataError(
            f"the columns {shown([names[i] for i in certain])} are measurements, but {shown(labels)} are labels: "
            "drop the one or the other, or cut the measurements into classes (pandas.qcut)"
        )
    check_names(names)
    for i, look in seen.items():
        if look.rows != seen[0].rows:
            raise DataError(
                f"column {shown(names[i])} has {count(look.rows, 'row')}, but column {shown(names[0])} has "
                f"{seen[0].rows}: give columns of equal length"
            )
    return measured(names, [numbers(own) for own in columns], missing, transform, given)  # type: ignore[misc]


def measurements_of(X: Any) -> Measurements:
    """Any table of numbers as measurements; integers with few values count as numbers."""
    if isinstance(X, Measurements):
        return X
    names, columns = source_columns(X)
    kinds = dict.fromkeys(map(str, names), "continuous")
    found = as_measurements((names, list(map(read, columns))), kinds, None, "error", "none")
    assert found is not None
    return found


def conforming(X: Any, like: Measurements) -> Measurements:
    """X over exactly the variables of ``like``, in their order and on their scale; for rows to predict."""
    if isinstance(X, Measurements) and X.transform != "none":
        return X.select(like.names)
    values = []
    for name, column in zip(like.names, aligned(X, source_columns(X), like.names), strict=True):
        own = numbers(read(column))
        if own is None:
            raise DataError(
                f"column {shown(name)} is not a column of numbers, as in the training data: convert it"
            )
        if np.isnan(own).any():
            row = int(np.isnan(own).argmax()) + 1
            raise DataError(f"column {shown(name)} has a missing value in row {row}: drop the row or impute")
        values.append(own)
    return like.transformed(np.stack(values))
