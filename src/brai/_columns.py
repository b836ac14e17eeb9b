"""From any table to named columns, and from one column to its states and codes.

The rules are those of `brai.data`. Work is column by column: a column becomes a `Factor` (few values, one
index per row), and every rule looks at the values, never at the rows.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

MAX_STATES = 65_536  # what uint16 codes can tell apart
MAX_BITS = 2000  # of an integer: Python may refuse to spell larger ones (it does from 4300 digits on)
IDENTIFIER_ROWS = 20  # a column of more rows than this, all different and undeclared, is an identifier
UNDECLARED = "add it to states= or drop those rows"  # what to do about a value that is none of the states

Columns = tuple[list[Any], list[Any]]  # names; for each a 1-D array, a series, a sequence or a Factor


class DataError(ValueError):
    """Something is wrong with the data; the message names column, value and cure."""


@dataclass(frozen=True)
class Factor:
    """A column before its states are settled: the value of row r is `values[inverse[r]]`."""

    values: Sequence[Any]  # need not be distinct nor all occur; a missing value is None, NaN, NaT or NA
    inverse: NDArray[np.int64]
    declared: Sequence[Any] | None = None  # the states that the type of the column declares
    text: Sequence[str] | None = None  # from a text file: the cells behind `values`


class _Shown(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80

    def repr_int(self, x: int, level: int) -> str:
        """Return the digits, or the size where Python refuses to make so many."""
        return super().repr_int(x, level) if x.bit_length() <= MAX_BITS else f"an integer of {x.bit_length()} bits"


_SHOWN = _Shown()


def shown(value: Any) -> str:
    """Return how a value looks in a message: its repr in one line, the middle left out if it is long."""
    text = _SHOWN.repr(value)
    return " ".join(text.split()) if "\n" in text else text


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
        reason = str(error).strip().split("\n")[0]
        raise DataError(f"the lazy frame cannot be collected ({reason}): mend its query") from error


def matrix(X: NDArray[Any]) -> NDArray[Any]:
    """Return X if it is rows × columns; masked cells become None."""
    if X.dtype.names:
        fields = shown(list(X.dtype.names))
        raise DataError(f"the data is an array with the fields {fields}: give pandas.DataFrame(X), or columns")
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
            raise DataError(f"row {number} is {shown(row)}, so the data is 1-D: give a list of cells for each row")
        if len(row) != len(rows[0]):
            cells = count(len(row), "cell")
            raise DataError(f"row {number} has {cells} where row 1 has {len(rows[0])}: complete it or drop it")
    return default_names(len(rows[0])), list(zip(*rows, strict=True))


def default_names(n: int) -> list[str]:
    """Return x0, x1, …: the names of columns that came without."""
    return [f"x{i}" for i in range(n)]


def check_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Return the names as a tuple of distinct, non-empty str; integers are spelled out."""
    if not isinstance(names, Iterable):
        raise DataError(f"the names are {shown(names)}: give a list with the name of each column")
    out = tuple(str(n) if isinstance(n, int | np.integer) else n for n in names)
    if not out:
        raise DataError("the data has no columns: give at least one")
    for number, name in enumerate(out, 1):
        if not isinstance(name, str):
            raise DataError(f"the name of column {number} is {shown(name)}, not text: rename it to a str")
        if not name.strip():
            raise DataError(f"column {number} has an empty name ({name!r}): name it, or drop it (row numbers?)")
    return check_unique(out)


def check_unique(names: Sequence[Any]) -> tuple[Any, ...]:
    """Return the names as a tuple if no two are equal."""
    for name, times in Counter(names).items():
        if times > 1:
            raise _repeated(name, times)
    return tuple(names)


def _repeated(name: Any, times: int) -> DataError:
    return DataError(f"{times} columns are named {shown(name)}: rename or drop the repeated columns")


# ---- one column → Factor ----


def factor(name: str, column: Any) -> Factor:
    """Reduce a column of any kind to its values and where they stand."""
    if isinstance(column, Factor):
        return column
    if not isinstance(column, np.ndarray | list | tuple | range | nw.Series):
        try:
            column = nw.from_native(column, series_only=True)
        except TypeError:
            kind = type(column).__name__
            raise DataError(f"column {shown(name)} is of type {kind}: give a list, an array or a series") from None
    if isinstance(column, nw.Series):
        return _series_factor(name, column)
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
    elif series.dtype in (nw.Int128, nw.UInt128):  # numpy has none
        return _object_factor(name, series.to_list())
    elif series.dtype.is_temporal() or series.dtype.is_nested() or series.dtype.is_decimal():
        raise _wrong_type(name, series.dtype)
    array, null = series.to_numpy(), series.is_null().to_numpy().astype(bool)
    if null.any():
        array = array.astype(object)
        array[null] = None
    found = _array_factor(name, array)
    return Factor(found.values, found.inverse, declared)


def _category_factor(series: nw.Series[Any]) -> Factor:
    """The categories of pandas or arrow, of any type; a missing value is None."""
    native = series.to_native()
    if series.implementation.is_pandas_like() and hasattr(native, "cat"):
        labels, codes = native.cat.categories.tolist(), native.cat.codes.to_numpy()
    else:  # arrow, or arrow inside pandas
        array: Any = series.to_arrow()
        array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
        labels, codes = array.dictionary.to_pylist(), array.indices.cast("int64").fill_null(-1).to_numpy()
    inverse = np.where(codes < 0, len(labels), codes).astype(np.int64)
    return Factor([*labels, None], inverse, [label for label in labels if label is not None])


def _array_factor(name: str, array: NDArray[Any]) -> Factor:
    if array.dtype.kind in "OT":  # objects; numpy's variable-width strings
        return _object_factor(name, array.tolist())
    if array.dtype.kind not in "biufU":
        raise _wrong_type(name, array.dtype)
    values, inverse = np.unique(array, return_inverse=True)
    return Factor(values.tolist(), inverse)


def _object_factor(name: str, column: Sequence[Any]) -> Factor:
    cells = [v.item() if isinstance(v, np.generic) else v for v in column]
    keys = cells if len(set(map(type, cells))) == 1 else list(zip(map(type, cells), cells, strict=True))
    try:  # in keys, True, 1 and 1.0 are told apart
        index = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    except TypeError:
        raise _wrong_type(name, type(next(c for c in cells if not _is_hashable(c))).__name__) from None
    inverse = np.fromiter(map(index.__getitem__, keys), np.int64, len(keys))
    return Factor(list(index) if keys is cells else [key[1] for key in index], inverse)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _wrong_type(name: str, kind: Any) -> DataError:
    known = "Complex data not supported: " if str(kind).startswith("complex") else ""  # scikit-learn's words
    return DataError(
        f"{known}column {shown(name)} is of type {kind}, which has no states: "
        "convert it to text, integers or a category"
    )


# ---- Factor → states and codes ----


def encode(
    name: str, column: Factor, states: Sequence[Any] | None, cure: str = UNDECLARED
) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """Return labels and codes of a column, with these states if any, else with the values seen.

    `cure` is what to do about a value that is none of the states.
    """
    times = np.bincount(column.inverse, minlength=len(column.values))
    known = _known_texts(column, states)
    seen: list[int] = np.flatnonzero(times).tolist()
    _check_missing(name, column, [i for i in seen if i not in known], times)
    if states is None:
        values = {i: _whole(column.values[i]) for i in seen}
        labels = states = _sorted_states(name, list(values.values()), column.inverse.size)
    else:
        values = {i: column.values[i] for i in seen}
        labels = check_labels(name, states)
    code = {state: i for i, state in enumerate(states)}
    lookup = np.zeros(len(column.values), dtype=np.int64)
    for i, value in values.items():
        found = known.get(i, code.get(value))
        if found is None:
            row = int((column.inverse == i).argmax()) + 1
            raise DataError(
                f"column {shown(name)} holds {shown(value)} in row {row}, which is not among its states "
                f"{shown(list(states))}: {cure}"
            )
        lookup[i] = found
    return labels, lookup[column.inverse]


def _check_missing(name: str, column: Factor, seen: list[int], times: NDArray[np.int64]) -> None:
    missing = [i for i in seen if _is_missing(column.values[i])]
    if missing:
        first = int(np.flatnonzero(np.isin(column.inverse, missing))[0]) + 1
        number = count(int(times[missing].sum()), "missing value")
        raise DataError(
            f"column {shown(name)} has {number}, the first in row {first}: "
            "drop the rows, impute, or give missing its own label"
        )


def _known_texts(column: Factor, states: Sequence[Any] | None) -> dict[int, int]:
    """In a text file a cell stands for the declared state that is spelled so: index of the cell → code."""
    if column.text is None or states is None:
        return {}
    spelled = {str(label): code for code, label in enumerate(states)}
    return {i: spelled[cell] for i, cell in enumerate(column.text) if cell in spelled}


def as_label(value: Any, labels: Collection[Any]) -> Any:
    """Return the label that a value stands for: itself, else the one spelled alike ("0" for 0 and 0.0, 0 for "0").

    A value that stands for none of the labels, or is missing, is returned as it is.
    """
    if value in labels or _is_missing(value) or _is_huge(value):
        return value
    spelled = {str(label): label for label in labels}
    return next((spelled[text] for text in (str(value), str(_whole(value))) if text in spelled), value)


def respelled(column: Factor, states: Sequence[Any]) -> Factor:
    """Return the column with its values replaced by the labels that they stand for."""
    labels = dict.fromkeys(states)
    return Factor([as_label(value, labels) for value in column.values], column.inverse, text=column.text)


def _sorted_states(name: str, values: list[Any], n_rows: int) -> tuple[Any, ...]:
    examples: dict[str, Any] = {}
    for value in values:
        kind = "bool" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "text"
        if kind == "text" and not isinstance(value, str):
            raise _wrong_type(name, type(value).__name__)
        examples.setdefault(kind, value)
    if len(examples) > 1:
        one, other, *_ = map(shown, examples.values())
        raise DataError(
            f"column {shown(name)} mixes types, such as {one} and {other}: convert all its values to one type"
        )
    fraction = next((v for v in values if isinstance(v, float)), None)
    if fraction is not None:
        raise DataError(
            f"column {shown(name)} holds {fraction!r}, which is not an integer: discretise the column "
            "(pandas.cut, say) or list its values in states="
        )
    labels = tuple(sorted(set(values)))
    if len(labels) == n_rows > IDENTIFIER_ROWS:
        raise DataError(
            f"column {shown(name)} has {n_rows} different values in {n_rows} rows, such as {shown(labels[0])}, as "
            "an identifier has: drop it, or declare its states="
        )
    return check_labels(name, labels)


def check_labels(name: str, labels: Sequence[Any]) -> tuple[Any, ...]:
    """Return the labels as a tuple of distinct plain objects."""
    sized = not isinstance(labels, str | bytes | set | frozenset | Mapping | type) and hasattr(labels, "__len__")
    if not sized or (isinstance(labels, np.ndarray) and labels.ndim == 0):
        given = shown(labels)
        raise DataError(f"the states of column {shown(name)} are {given}: give a list of labels, in code order")
    check_arity(name, len(labels))
    plain = tuple(_label(name, label) for label in labels)
    for label, times in Counter(plain).items():
        if _is_missing(label):
            raise DataError(f"the states of column {shown(name)} hold {label!r}: give missing its own label")
        if times > 1:
            raise DataError(f"the states of column {shown(name)} hold {shown(label)} {times} times: list it once")
    return plain


def check_arity(name: str, arity: int) -> None:
    """Refuse more states than codes can tell apart."""
    if arity > MAX_STATES:
        raise DataError(f"column {shown(name)} has {arity} states, more than {MAX_STATES}: merge some or drop it")


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > MAX_BITS


def _label(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if _is_huge(value) or not _is_hashable(value):
        raise DataError(f"the states of column {shown(name)} hold {shown(value)}: give text or numbers as labels")
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)  # a plain one, not the member of an enum
    if isinstance(value, str):
        return str.__str__(value)
    return value if _is_missing(value) else str(value)
