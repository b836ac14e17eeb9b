"""From any table to named columns, and from a column of any type to a `Factor`.

Columns are processed one by one. A column becomes a `Factor`: its distinct values, and one index per row. Every
rule looks at the values, never at the rows.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from brai.runtime.text import plain

MAX_BITS = 2000  # size of an integer that is printed: Python refuses to print more than 4300 digits
MAX_TOLD = 160  # characters quoted from the error message of another package

Columns = tuple[list[Any], list[Any]]  # names; for each a 1-D array, a series, a sequence or a Factor


class DataError(ValueError):
    """The data cannot be used; the message names the column, the value and the cure.

    ``columns`` are the columns without which it could be used, if there are several of them, and ``parts`` their
    errors. The error of one column may name the ``kind`` with which it could be used. ``question`` is what is
    asked besides.
    """

    columns: tuple[str, ...] = ()
    column: str = ""
    kind: str = ""
    parts: tuple[DataError, ...] = ()
    question: DataError | None = None


@dataclass(frozen=True)
class Factor:
    """A column before its states are determined: the value of row r is `values[inverse[r]]`."""

    values: Sequence[Any]  # may repeat, or not occur in any row; a missing value is None, NaN, NaT or NA
    inverse: NDArray[Any]  # of the smallest integer type that fits
    declared: Sequence[Any] | None = None  # its states, from the type of the column or from the caller
    text: Sequence[str] | None = None  # in a text file: the cells from which `values` were parsed


@dataclass(frozen=True)
class Numbers:
    """A column of floats, NaN where a value is missing; for columns of very many different numbers."""

    values: NDArray[np.float64]
    words: frozenset[str] = frozenset()  # in a text file: those that stand for missing values


@dataclass(frozen=True)
class Unread:
    """A column of a file that is read lazily."""

    read: Callable[[str], Any]
    name: str  # in the file


def smallest_type(n: int) -> np.dtype[Any]:
    """The smallest integer type that holds 0 to n - 1."""
    return np.min_scalar_type(max(n, 1) - 1)


class _Shown(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80

    def repr_int(self, x: int, level: int) -> str:
        """Return the digits, or the number of bits if Python refuses to print so many digits."""
        return super().repr_int(x, level) if x.bit_length() <= MAX_BITS else f"an integer of {x.bit_length()} bits"


_SHOWN = _Shown()


def shown(value: Any) -> str:
    """Return a value as messages show it: its repr on one line, abbreviated in the middle if it is long."""
    text = _SHOWN.repr(value)
    return plain(" ".join(text.split()) if "\n" in text else text)


def told(text: object) -> str:
    """Return the message of another package as ours quote it: its first line, printable, cut if it is long."""
    lines = str(text).strip().splitlines() or [type(text).__name__]
    line = plain(lines[0])
    return line if len(line) <= MAX_TOLD else f"{line[:MAX_TOLD]}..."


def count(n: int, noun: str) -> str:
    """Return "1 row", "2 rows"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


# ---- any table → named columns ----


def columns_of(X: Any) -> Columns:
    """Split a frame, a 2-D array, a dict of columns or a list of rows into names and columns."""
    if isinstance(X, Mapping):
        return list(X), list(X.values())
    if isinstance(X, list | tuple):
        return _row_columns(X)
    if isinstance(X, np.ndarray):
        X = matrix(X)
        return default_names(X.shape[1]), list(X.T)
    return _frame_columns(X)


def _frame_columns(X: Any) -> Columns:
    try:
        frame = nw.from_native(X, allow_series=True)
    except nw.exceptions.DuplicateError:
        names = X.column_names if hasattr(X, "column_names") else X.columns
        raise _repeated(*Counter(names).most_common(1)[0]) from None
    except UnicodeDecodeError as error:
        raise DataError(f"a column has the name {shown(error.object)}, which is not UTF-8: rename it") from None
    except TypeError:
        kind = ("sparse " if hasattr(X, "toarray") else "") + type(X).__name__
        raise TypeError(
            f"cannot read data from {kind}: give a pandas, polars or pyarrow table, a 2-D array, "
            "a dict of columns, a list of rows or a file path"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = _collected(frame)
    if isinstance(frame, nw.Series):
        raise DataError("the data is 1-D (one series): give rows × columns, such as series.to_frame()")
    return list(check_unique(frame.columns)), list(frame.iter_columns())


def _collected(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    try:
        return frame.collect()
    except Exception as error:  # the query is the caller's, and may run anything
        raise DataError(f"the lazy frame cannot be collected ({told(error)}): fix its query") from error


def matrix(X: NDArray[Any]) -> NDArray[Any]:
    """Return X if it is rows × columns; masked cells become None."""
    if X.dtype.names:
        fields = shown(list(X.dtype.names))
        raise DataError(f"the data is an array with fields {fields}: give pandas.DataFrame(X) or a 2-D array")
    if X.ndim != 2:
        raise DataError(f"the data is {X.ndim}-D: give rows × columns, such as X.reshape(-1, 1) for one column")
    if isinstance(X, np.ma.MaskedArray):
        cells = X.data.astype(object)
        cells[np.ma.getmaskarray(X)] = None
        return cells if np.ma.is_masked(X) else np.asarray(X)
    return np.asarray(X)


def _row_columns(rows: Sequence[Any]) -> Columns:
    if not rows:
        raise DataError("the data has no rows: give at least one")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list | tuple | np.ndarray) or getattr(row, "ndim", 1) == 0:
            raise DataError(f"row {number} is {shown(row)}, so the data is 1-D: give a list of cells per row")
        if len(row) != len(rows[0]):
            cells = count(len(row), "cell")
            raise DataError(f"row {number} has {cells}, but row 1 has {len(rows[0])}: complete it or drop it")
    return default_names(len(rows[0])), list(zip(*rows, strict=True))


def default_names(n: int) -> list[str]:
    """Return x0, x1, …: the default names of columns."""
    return [f"x{i}" for i in range(n)]


def check_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Return the names as a tuple of distinct, non-empty strings; integers are converted to text."""
    if not isinstance(names, Iterable):
        raise DataError(f"the names are {shown(names)}: give a list with the name of each column")
    out = tuple(str(n) if isinstance(n, int | np.integer) else n for n in names)
    if not out:
        raise DataError("the data has no columns: give at least one")
    for number, name in enumerate(out, 1):
        if not isinstance(name, str):
            raise DataError(f"the name of column {number} is {shown(name)}, not text: rename it to a str")
        if not name.strip():
            raise DataError(
                f"column {number} has an empty name ({shown(name)}): name it, or drop it (row numbers?)"
            )
    return check_unique(out)


def check_unique(names: Sequence[Any]) -> tuple[Any, ...]:
    """Return the names as a tuple if no two are equal."""
    for name, times in Counter(names).items():
        if times > 1:
            raise _repeated(name, times)
    return tuple(names)


def _repeated(name: Any, times: int) -> DataError:
    return DataError(f"{times} columns are named {shown(name)}: rename or drop the repeated columns")


def matched(names: Sequence[str], columns: Sequence[Any], wanted: Sequence[str]) -> list[Any]:
    """Return the columns in the order of the wanted names; DataError if a column is missing or extra."""
    at = {name: i for i, name in enumerate(names)}
    if missing := [name for name in wanted if name not in at]:
        raise DataError(
            f"the data lacks {shown(missing)}, its columns are {shown(list(names))}: "
            "give a column of that name for each variable"
        )
    if extra := sorted(set(names).difference(wanted), key=at.__getitem__):
        raise DataError(
            f"the data has the extra columns {shown(extra)}, but the variables are "
            f"{shown(list(wanted))}: drop the extra columns"
        )
    return [columns[at[name]] for name in wanted]


def aligned(X: Any, table: Columns, wanted: Sequence[str]) -> list[Any]:
    """The columns of X for these variables: matched by name; by position if X has no names."""
    own, columns = table
    if not isinstance(X, list | tuple | np.ndarray):
        return matched(check_names(own), columns, wanted)
    if len(columns) != len(wanted):
        raise DataError(
            f"the data has {count(len(columns), 'column')} without names for the {len(wanted)} "
            f"variables {shown(list(wanted))}: give one each in this order, or name the columns"
        )
    return list(columns)


# ---- one column → Factor ----


def factor(name: str, column: Any) -> Factor:
    """Reduce a column of any type to its values and, for each row, the index of its value."""
    if isinstance(column, Unread):
        column = column.read(column.name)
    if isinstance(column, Factor):
        return column
    if isinstance(column, Numbers):
        column = column.values
    if not isinstance(column, np.ndarray | list | tuple | range | nw.Series):
        try:
            column = nw.from_native(column, series_only=True)
        except TypeError:
            kind = type(column).__name__
            raise DataError(f"column {shown(name)} is of type {kind}: give a list, an array or a series") from None
    if isinstance(column, nw.Series):
        try:
            return _series_factor(name, column)
        except UnicodeDecodeError as error:
            raise not_utf8(name, error) from None
        except Exception as error:
            if isinstance(error, MemoryError) or not type(error).__module__.startswith("pyarrow"):
                raise
            cure = "convert it to text, integers or a category"
            raise DataError(f"column {shown(name)} cannot be read ({told(error)}): {cure}") from error
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise DataError(f"column {shown(name)} is {column.ndim}-D: give one value per row")
        if isinstance(column, np.ma.MaskedArray):
            column = matrix(column[:, None])[:, 0]
        return _array_factor(name, column)
    return _object_factor(name, column)


def _series_factor(name: str, series: nw.Series[Any]) -> Factor:
    declared: Sequence[Any] | None = None
    if series.dtype in (nw.Categorical, nw.Enum):
        if not series.implementation.is_polars():
            return _category_factor(series)
        if isinstance(series.dtype, nw.Enum):
            declared = series.dtype.categories
    elif series.dtype in (nw.Int128, nw.UInt128):  # numpy has no such type
        return _object_factor(name, series.to_list())
    elif series.dtype.is_temporal() or series.dtype.is_nested() or series.dtype.is_decimal():
        raise wrong_type(name, series.dtype)
    elif series.dtype == nw.String and series.implementation.is_pyarrow():  # avoids a Python str per cell
        return replace(
            _category_factor(nw.from_native(series.to_native().dictionary_encode(), series_only=True)),
            declared=None,
        )
    null = series.is_null().to_numpy().astype(bool)
    if null.any() and (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        return _filled_factor(name, series, null)
    array = series.to_numpy()
    if array.dtype.kind == "U" and series.str.contains("\0", literal=True).any():  # numpy drops it at the end
        array = np.array(series.to_list(), object)
    if null.any():
        array = array.astype(object)
        array[null] = None
    found = _array_factor(name, array)
    return Factor(found.values, found.inverse, declared)


def _filled_factor(name: str, series: nw.Series[Any], null: NDArray[np.bool_]) -> Factor:
    """A numeric column with missing values. numpy would convert its integers to floats and round large ones."""
    found = _array_factor(name, series.fill_null(False if series.dtype == nw.Boolean else 0).to_numpy())
    inverse = found.inverse.astype(smallest_type(len(found.values) + 1))
    inverse[null] = len(found.values)
    return Factor([*found.values, None], inverse)


def _category_factor(series: nw.Series[Any]) -> Factor:
    """A categorical column of pandas or arrow; a missing value is None."""
    native = series.to_native()
    if series.implementation.is_pandas_like() and hasattr(native, "cat"):
        labels, codes = native.cat.categories.tolist(), native.cat.codes.to_numpy()
    else:  # arrow, or arrow inside pandas
        labels, codes = _arrow_categories(series.to_arrow())
    inverse = np.where(codes < 0, len(labels), codes).astype(smallest_type(len(labels) + 1))
    return Factor([*labels, None], inverse, [label for label in labels if label is not None])


def _arrow_categories(array: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """The values of an arrow dictionary array, and the index of the value in each row (-1: missing)."""
    array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
    return array.dictionary.to_pylist(), array.indices.cast("int64").fill_null(-1).to_numpy()


def _array_factor(name: str, array: NDArray[Any]) -> Factor:
    if array.dtype.kind in "OT":  # objects; numpy's variable-width strings
        return _object_factor(name, array.tolist())
    if array.dtype.kind not in "biufU":
        raise wrong_type(name, array.dtype)
    values, inverse = _distinct(array)
    return Factor(values.tolist(), inverse.astype(smallest_type(len(values)), copy=False))


def _distinct(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same as numpy.unique, but without sorting if integers span a small range."""
    if array.dtype.kind not in "iu" or not array.size:
        return np.unique(array, return_inverse=True)
    low, high = int(array.min()), int(array.max())
    if high - low >= 1 << 16 or high >= 1 << 63:
        return np.unique(array, return_inverse=True)
    above = array.astype(np.int64) - low
    found = np.flatnonzero(np.bincount(above))
    place = np.zeros(high - low + 1, smallest_type(len(found)))
    place[found] = np.arange(len(found))
    return found + low, place[above]


def _object_factor(name: str, column: Sequence[Any]) -> Factor:
    cells = [v.item() if isinstance(v, np.generic) else v for v in column]
    keys = cells if len(set(map(type, cells))) == 1 else list(zip(map(type, cells), cells, strict=True))
    try:  # keys distinguish True, 1 and 1.0
        index = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    except TypeError:
        raise wrong_type(name, type(next(c for c in cells if not is_hashable(c))).__name__) from None
    inverse = np.fromiter(map(index.__getitem__, keys), smallest_type(len(index)), len(keys))
    return Factor(list(index) if keys is cells else [key[1] for key in index], inverse)


def is_hashable(value: Any) -> bool:
    """Whether the value can be the key of a dict."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def wrong_type(name: str, kind: Any) -> DataError:
    """The error for a column of a type that has no states."""
    known = "Complex data not supported: " if str(kind).startswith("complex") else ""  # scikit-learn expects this
    return DataError(
        f"{known}column {shown(name)} is of type {told(kind)}, which has no states: "
        "convert it to text, integers or a category"
    )


def not_utf8(name: str, error: UnicodeDecodeError) -> DataError:
    """The error for text that is not UTF-8, which arrow allows."""
    return DataError(f"column {shown(name)} holds {shown(error.object)}, not UTF-8: encode its text as UTF-8")
