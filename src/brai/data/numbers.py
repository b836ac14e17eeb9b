"""Columns of numbers, and such columns as a table of measurements; `brai.data.intake` says which columns are.

- Row numbers (all integers of a range, once each) are identifiers, which is an error.
- Missing values and infinities are errors.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Sequence, Set
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
    shown,
)
from brai.data.measurements import Floats, Measurements, Transform, scored, unchecked
from brai.data.missing import which
from brai.data.na import AUTO, Words
from brai.data.problems import Problems
from brai.data.states import IDENTIFIER_ROWS, Written, is_missing
from brai.data.text_files import read_columns

FEW = 12  # different integers up to which a column holds labels
LOOKED = 1000  # rows that are looked at first
LARGEST = 1000  # bits of an integer that counts as a number
TAILS = 10.0  # excess kurtosis above which a column is far from normal
SKEWED = 2.0  # skewness, likewise
HEAVY = 5  # columns that a message names
CURE = 'Dataset.of(X, missing="drop") removes these rows, missing="impute" imputes them'


def source_columns(X: Any, words: Words = AUTO) -> Columns:
    """Names and columns of a table of measurements, a frame, an array, or a file."""
    if isinstance(X, Measurements):
        return list(X.names), list(X.values)
    return file_columns(X, None, words=words) if isinstance(X, str | os.PathLike) else columns_of(X)


def file_columns(
    path: str | os.PathLike[str], delimiter: str | None, without: Set[str] = frozenset(), words: Words = AUTO
) -> Columns:
    """Names and columns of a file."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise DataError(f"the path is {shown(path)}: give the path of a file")
    return read_columns(Path(path), delimiter, without, words)


def read(column: Any) -> Any:
    """A column of a file that is read lazily; any other column is returned."""
    return column.read(column.name) if isinstance(column, Unread) else column


# --- one column -----------------------------------------------------------------------------------------


class Looks(NamedTuple):
    """What a column of numbers looks like."""

    fractions: bool
    distinct: int  # different values, up to FEW + 1; of fractions not counted further

    @property
    def is_measured(self) -> bool:
        """Whether it holds measurements: fractions, or more than FEW different integers."""
        return self.fractions or self.distinct > FEW


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
    if column.dtype == nw.Object:
        return numbers(column.to_list())
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
    """Whether there are fractions, and how many different integers."""
    first = values[:LOOKED]
    if (first[np.isfinite(first)] % 1 != 0).any():
        return Looks(True, FEW + 1)
    known = values[np.isfinite(values)]
    return Looks(bool((known % 1 != 0).any()), min(len(np.unique(known)), FEW + 1))


def _counts_rows(values: Floats) -> bool:
    """Whether a column has all integers of a range, once each."""
    n = len(values)
    if n <= IDENTIFIER_ROWS or not np.isfinite(values).all() or np.ptp(values) != n - 1:
        return False
    return bool(values[0] % 1 == 0 and (np.diff(np.sort(values)) == 1).all())


def check_column(name: str, values: Floats, given: Collection[str]) -> None:
    """DataError if a column of numbers is an identifier (unless its kind is given) or has infinities."""
    if name not in given and _counts_rows(values):
        error = DataError(
            f"column {shown(name)} has {len(values)} different values in {len(values)} rows, all integers from "
            f"{values.min():.0f} on, like an identifier: drop it, or name it in kinds="
        )
        error.kind = "continuous"
        raise error
    if (endless := np.isinf(values)).any():
        row = int(endless.argmax()) + 1
        raise DataError(f"infinite values in {shown(name)} (row {row}): correct them, or drop those rows")


def measured(
    names: Sequence[str], columns: Sequence[Floats], transform: Transform = "none", given: Collection[str] = ()
) -> Measurements:
    """Columns of numbers as a table."""
    problems = Problems()
    for name, own in zip(names, columns, strict=True):
        with problems.of(name):
            check_column(name, own, given)
    problems.tell()
    values = np.stack(columns)
    if (gone := np.isnan(values)).any():
        holes = {v: n for v, n in enumerate(gone.sum(axis=1).tolist()) if n}
        raise DataError(f"{which(names, holes)}, the first in row {int(gone.any(axis=0).argmax()) + 1}: {CURE}")
    if transform == "normal-scores":
        return scored(values, tuple(names))
    if transform != "none":
        raise DataError(f"transform is {shown(transform)}: choose 'none' or 'normal-scores'")
    _warn_of_tails(names, values)
    return Measurements(values, tuple(names))


class TailsWarning(UserWarning):
    """A measurement is far from normal."""


def far_from_normal(table: Measurements) -> list[int]:
    """Which measurements are far from normal, by excess kurtosis or skewness."""
    if table.n_rows < 20:
        return []
    skew = np.mean(table.standardised**3, axis=1)
    return np.flatnonzero((_excess(table) > TAILS) | (np.abs(skew) > SKEWED)).tolist()


def _excess(table: Measurements) -> Floats:
    """Excess kurtosis."""
    return np.asarray(np.mean(table.standardised**4, axis=1) - 3)


def _warn_of_tails(names: Sequence[str], values: Floats) -> None:
    """Warn of columns that are far from normal, by their excess kurtosis."""
    table = unchecked(values, tuple(names))
    if table.n_rows < 20:
        return
    excess = _excess(table)
    if heavy := np.flatnonzero(excess > TAILS).tolist():
        told = ", ".join(
            f"{shown(names[v])} ({excess[v]:.0f})" for v in sorted(heavy, key=lambda v: -excess[v])[:HEAVY]
        )
        more = f" and {len(heavy) - HEAVY} more" if len(heavy) > HEAVY else ""
        warnings.warn(
            f"far from normal, with heavy tails or outliers (excess kurtosis): {told}{more}: look at these "
            'columns, or use transform="normal-scores"',
            TailsWarning,
            stacklevel=5,
        )


def measurements_of(X: Any) -> Measurements:
    """Any table of numbers as measurements; integers with few values count as numbers."""
    if isinstance(X, Measurements):
        return X
    names, columns = source_columns(X)
    found = []
    for name, column in zip(names, columns, strict=True):
        if (own := numbers(read(column))) is None:
            raise not_numbers(name)
        found.append(own)
    return measured(check_names(names), found, given=set(map(str, names)))


def not_numbers(name: str) -> DataError:
    """The error for a column that should hold numbers."""
    return DataError(f"column {shown(name)} does not hold numbers only, so it is not continuous: convert it")


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
