"""Discrete data: the one form of data that every algorithm of this package uses.

Conventions
-----------
- `Dataset.codes[v, r]` is the code of variable v in row r (variable-major); `states[v][code]` is its label.
- A column declares its states by its type (pandas Categorical, polars Enum, arrow dictionary; a polars Categorical
  does not) or by the argument `states=`, which takes precedence. Declared states keep their order, including those
  that never occur.
- The states of any other column are its values, sorted as in Python. Whole floats count as integers.
- Labels are plain Python objects. A declared label that is neither text nor a number is replaced by its str().
- Identifiers raise a `DataError` that names column, value and cure. Messages count data rows from 1.
- A column that is almost one (more than 20 values, and more than half as many as rows) gives a warning.
- `brai.data.missing` describes what becomes of missing values, `brai.data.missing_words` which words mean missing,
  `brai.data.text_files` how the cells of a text file get their types.

>>> data = Dataset.of({"rain": ["no", "yes", "no"], "wet": [0, 1, 1]}, states={"wet": [0, 1, 2]})
>>> data
Dataset(3 rows, 2 variables, 2–3 states)
>>> data.states
(('no', 'yes'), (0, 1, 2))
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import (
    Columns,
    DataError,
    Factor,
    aligned,
    check_names,
    count,
    default_names,
    factor,
    matrix,
    shown,
    smallest_type,
)
from brai.data.discretizing import binned
from brai.data.incomplete import Incomplete
from brai.data.intake import by_kinds
from brai.data.measurements import Measurements, Transform
from brai.data.missing import CURE, Way, settled
from brai.data.missing_words import settled_words
from brai.data.mixed import Mixed
from brai.data.na import AUTO, Words
from brai.data.numbers import file_columns, read, source_columns
from brai.data.problems import Problems, check_range
from brai.data.states import (
    UNDECLARED,
    check_arity,
    check_known,
    check_labels,
    declared_states,
    encode,
    respelled,
    spelled,
    warn_of_identifiers,
)

__all__ = ["DataError", "Dataset"]

States = Mapping[str, Sequence[Any]]


class Variables(Protocol):
    """Named variables and their states: a Dataset, a Network."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""

    @property
    def states(self) -> tuple[tuple[Any, ...], ...]:
        """Labels of each variable in code order."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """An immutable table of discrete variables; build it with `of`, `from_file` or `from_codes`."""

    kind: ClassVar[str] = "discrete"  # see brai.kinds

    codes: NDArray[Any]  # (variables, rows), C-contiguous, uint8 or uint16 (the smaller that fits), read-only
    names: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]  # labels in code order

    def __post_init__(self) -> None:
        names = check_names(self.names)
        given = np.asarray(self.codes)
        if given.ndim != 2 or not len(names) == len(self.states) == len(given):
            raise DataError("codes, names and states differ in length: give one entry of each per variable")
        if given.dtype.kind not in "iu":
            raise DataError(f"codes are of type {given.dtype}, not integers: use Dataset.of for other values")
        if given.shape[1] == 0:
            raise DataError("the data has no rows: give at least one")
        states = tuple(check_labels(name, own) for name, own in zip(names, self.states, strict=True))
        check_range(given, names, states)
        codes = np.ascontiguousarray(given, dtype=smallest_type(max(map(len, states))))
        if np.may_share_memory(codes, given) and (codes.flags.writeable or codes.base is not None):
            codes = codes.copy()  # the caller could still write to it
        codes.setflags(write=False)
        for field, value in (("codes", codes), ("names", names), ("states", states)):
            object.__setattr__(self, field, value)

    @classmethod
    def of(  # arguments: how X is converted
        cls,
        X: Any,
        *,
        states: States | None = None,
        names: Iterable[str] | None = None,
        missing: Way = "impute",
        kinds: Mapping[str, str] | None = None,
        transform: Transform = "none",
        discretize: Any = None,
        na: Any = None,
    ) -> Any:
        """Convert X: a pandas, polars or pyarrow table, a 2-D array, a dict of columns, rows, or a file path.

        The result is a Dataset, `Measurements` if the columns are continuous, or `Mixed` if some are
        (`brai.data.intake` has the rules). `kinds` says for single columns whether they are "discrete", "ordered"
        or "continuous"; `transform` is that of measurements. `states` declares the labels of the columns it names,
        in code order. `names` renames the columns; those of an array or a list of rows are x0, x1, … by default.
        `missing` says what to do with missing values: with "impute" the result is an `Incomplete` table, and
        learners average over completions of it; "drop" drops rows, "label" makes missing a state, "error" refuses.
        `discretize` cuts measurements into bins: "quantile:4", {"age": [18, 65]} (`brai.discretize`). `na` lists
        words that are missing in any column: ["NA", "?"] (`brai.data.missing_words`). X is not changed.

        >>> Dataset.of({"wet": [0, None, 1]}, missing="label").states
        ((0, 1, 'missing'),)
        """
        own_tables = Dataset | Measurements | Mixed | Incomplete
        if isinstance(X, own_tables) and all(given is None for given in (states, names, kinds, discretize, na)):
            return X
        own, columns = columns_of_any(X, words := Words.of(na))
        columns = list(map(read, columns))
        listed = own if names is None else list(names) if isinstance(names, Iterable) else names
        if not isinstance(listed, list) or len(listed) != len(columns):
            return cls._of_columns((own, columns), states, listed, missing)
        table, question = settled_words((listed, columns), words, states)
        table = binned(table, discretize, kinds, states)
        return by_kinds(table, states, missing, kinds, transform, cls._of_columns, question)

    @classmethod
    def conforming(cls, X: Any, like: Variables) -> Dataset:
        """Return X over exactly the variables of `like` (a Dataset, a Network), in their order, with their states.

        Columns are matched by name, in any order; those of an array or a list of rows by position. A value that
        is not a state is matched to a state by its text: 0 to "0", "0" to 0, True to "True". A missing value is
        matched to the state "missing", if there is one.

        >>> train = Dataset.of({"rain": ["no", "yes", "no"], "wet": ["0", "1", "1"]})
        >>> Dataset.conforming({"wet": [1, 0], "rain": ["no", "no"]}, train).codes
        array([[0, 0],
               [1, 0]], dtype=uint8)
        """
        if isinstance(X, Dataset) and (X.names, X.states) == (like.names, like.states):
            return X
        columns = aligned(X, columns_of_any(X), like.names)
        declared = dict(zip(like.names, like.states, strict=True))
        found = [
            respelled(factor(name, column), declared[name])
            for name, column in zip(like.names, columns, strict=True)
        ]
        cure = "fit on Dataset.of(X, states={column: labels}) with all labels, or drop those rows"
        gone = "drop the rows or impute"
        return cls._of_columns((list(like.names), found), declared, cures=(cure, gone))

    @classmethod
    def from_file(  # arguments: those of `of`, and how the file is read
        cls,
        path: str | os.PathLike[str],
        *,
        states: States | None = None,
        delimiter: str | None = None,
        drop: Iterable[str] = (),
        missing: Way = "impute",
        kinds: Mapping[str, str] | None = None,
        transform: Transform = "none",
        discretize: Any = None,
        na: Any = None,
    ) -> Any:
        """Read a .csv, .tsv, .txt or .parquet file, or any of these with .gz; see `brai.data.text_files`.

        Columns in `drop` are left out, whatever they hold. The other arguments are as in `of`.
        """
        out = {drop} if isinstance(drop, str) else set(drop)
        names, columns = file_columns(path, delimiter, out, words := Words.of(na))
        check_known(out, names)
        kept = [i for i, name in enumerate(names) if name not in out]
        read_in = [names[i] for i in kept], [read(columns[i]) for i in kept]
        table, question = settled_words(read_in, words, states)
        table = binned(table, discretize, kinds, states)
        return by_kinds(table, states, missing, kinds, transform, cls._of_columns, question)

    @classmethod
    def from_codes(
        cls,
        codes: Any,
        *,
        arities: Sequence[int] | NDArray[Any] | None = None,
        names: Iterable[str] | None = None,
        states: States | Sequence[Sequence[Any]] | None = None,
    ) -> Dataset:
        """Convert rows × columns of integer codes that are already 0..arity-1.

        The labels of a column come from `states` (by name, or one sequence per column); by default they are
        0..arity-1. Its arity comes from `arities`; by default it is the largest code + 1.
        """
        try:
            table = np.asanyarray(codes)
        except ValueError:
            raise DataError("the rows of codes differ in length: give rows × columns") from None
        table = matrix(table)
        if table.dtype.kind not in "iu":
            raise DataError(f"codes are of type {table.dtype}, not integers: use Dataset.of for other values")
        names = check_names(default_names(table.shape[1]) if names is None else names)
        sizes = [int(own) + 1 for own in table.max(axis=0, initial=0)] if arities is None else arities
        each = names if states is None or isinstance(states, Mapping) else states
        for what, things in (("names", names), ("arities", sizes), ("lists of states", each)):
            if not hasattr(things, "__len__"):
                raise DataError(f"the {what} are {shown(things)}: give one per column")
            if len(things) != table.shape[1]:
                raise DataError(f"{len(things)} {what} for {table.shape[1]} columns: give one per column")
        if states is not None and not isinstance(states, Mapping):
            states = dict(zip(names, states, strict=True))
        declared = declared_states(names, states)
        labels = []
        for name, size in zip(names, sizes, strict=True):
            if not isinstance(size, int | np.integer) or size < 1:
                raise DataError(f"column {shown(name)} has arity {shown(size)}: give a whole number from 1 on")
            check_arity(name, int(size))
            labels.append(check_labels(name, declared.get(name, range(size))))
            if arities is not None and size != len(labels[-1]):
                raise DataError(
                    f"column {shown(name)} has arity {size} but {len(labels[-1])} states: make them agree"
                )
        return cls(table.T, names, tuple(labels))

    @classmethod
    def _of_columns(
        cls,
        table: Columns,
        states: States | None,
        names: Iterable[str] | None = None,
        missing: Way = "error",
        cures: tuple[str, str] = (UNDECLARED, CURE),
        problems: Problems | None = None,
    ) -> Dataset:
        """`cures` are the advice for a value that is not among the states, and for a missing value.

        `problems` has those of other columns.
        """
        own, columns = table
        names = check_names(own if names is None else names)
        if len(names) != len(columns):
            raise DataError(f"{len(names)} names for {len(columns)} columns: give one name per column")
        declared = declared_states(names, states)
        factors: list[Factor] = []
        problems = problems or Problems()
        for name, column in zip(names, columns, strict=True):
            with problems.of(name):
                factors.append(spelled(factor(name, column), declared.get(name)))
        if len(factors) < len(names):
            problems.tell()
        for name, column in zip(names, factors, strict=True):
            if (n := column.inverse.size) != factors[0].inverse.size:
                raise DataError(
                    f"column {shown(name)} has {count(n, 'row')}, but column "
                    f"{shown(names[0])} has {factors[0].inverse.size}: give columns of equal length"
                )
        undeclared = [i for i, column in enumerate(factors) if column.declared is None]
        factors = settled(names, factors, missing, cures[1], declared)
        found = []
        for name, column in zip(names, factors, strict=True):
            with problems.of(name):
                found.append(encode(name, column, cures[0]))
        problems.tell()
        warn_of_identifiers([names[i] for i in undeclared], [factors[i] for i in undeclared])
        labels, lookups = zip(*found, strict=True)
        codes = np.empty((len(names), factors[0].inverse.size), smallest_type(max(map(len, labels))))
        for own, lookup, column in zip(codes, lookups, factors, strict=True):
            own[:] = lookup[column.inverse]
        codes.setflags(write=False)  # so that the constructor makes no copy
        return cls(codes, names, labels)

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return int(self.codes.shape[1])

    @cached_property
    def arities(self) -> NDArray[np.int64]:
        """Number of states of each variable, including those that never occur."""
        arities = np.array([len(labels) for labels in self.states], dtype=np.int64)
        arities.setflags(write=False)
        return arities

    def canonical_order(self) -> NDArray[np.int64]:
        """Return the permutation that sorts variables by name; it makes results independent of column order."""
        return np.array(sorted(range(self.n_variables), key=self.names.__getitem__), dtype=np.int64)

    def bootstrap_rows(self, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Return the indices of N rows drawn with replacement."""
        return np.random.Generator(np.random.PCG64(seed)).integers(0, self.n_rows, self.n_rows)

    def select(self, columns: Iterable[str]) -> Dataset:
        """Return the data set of these columns (names), in this order."""
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        check_known(wanted, self.names)
        place = {name: i for i, name in enumerate(self.names)}
        at = [place[name] for name in wanted]
        codes, states = self.codes[at], tuple(self.states[i] for i in at)
        codes.setflags(write=False)  # so that the constructor makes no copy
        if len(set(at)) == len(at) > 0 and codes.dtype == smallest_type(max(map(len, states))):
            return _as_it_was(codes, wanted, states)  # already checked
        return Dataset(codes, wanted, states)

    def states_of(self, v: int) -> tuple[Any, ...]:
        """The states of a variable."""
        return self.states[v]

    def columns(self) -> NDArray[Any]:
        """The codes of each variable."""
        return self.codes

    def replaced(self, columns: Mapping[int, NDArray[Any]]) -> Dataset:
        """The same table with other codes for some variables."""
        codes = np.array(self.codes)
        for v, own in columns.items():
            codes[v] = own
        return _as_it_was(codes, self.names, self.states)

    def rows(self, which: NDArray[np.int64]) -> Dataset:
        """The data set of these rows; states that no longer occur are kept."""
        return Dataset(self.codes[:, which], self.names, self.states)

    def signature(self) -> str:
        """A digest of names, states and codes, which tells tables apart."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.names, self.states, self.codes.shape, self.codes.dtype.str)).encode())
        digest.update(np.ascontiguousarray(self.codes).data)
        return digest.hexdigest()

    def __sizeof__(self) -> int:
        return int(self.codes.nbytes)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the labels of each column, for instance for pandas.DataFrame(data.to_dict())."""
        columns = zip(self.names, self.codes, self.states, strict=True)
        return {name: [states[code] for code in codes.tolist()] for name, codes, states in columns}

    def __reduce__(self) -> tuple[Any, ...]:
        """Bypass the constructor: it would copy codes that a worker has memory-mapped, and check all of them."""
        return _as_it_was, (self.codes, self.names, self.states)

    def __repr__(self) -> str:
        low, high = int(self.arities.min()), int(self.arities.max())
        states = count(low, "state") if low == high else f"{low}–{high} states"
        return f"Dataset({count(self.n_rows, 'row')}, {count(self.n_variables, 'variable')}, {states})"


def _as_it_was(codes: NDArray[Any], names: tuple[str, ...], states: tuple[tuple[Any, ...], ...]) -> Dataset:
    """Data that were checked before, such as a copy in another process. Pickling loses numpy's read-only flag."""
    data, codes = object.__new__(Dataset), np.asarray(codes)
    codes.setflags(write=False)
    for field, value in (("codes", codes), ("names", names), ("states", states)):
        object.__setattr__(data, field, value)
    return data


def columns_of_any(X: Any, words: Words = AUTO) -> Columns:
    """Names and columns of any table, or of a file."""
    if isinstance(X, Mixed):
        own = dict(zip(*_own_columns(X.labels), strict=True)) if X.labels is not None else {}
        own |= dict(zip(X.numbers.names, X.numbers.values, strict=True))
        return list(X.names), [own[name] for name in X.names]
    return _own_columns(X) if isinstance(X, Dataset) else source_columns(X, words)


def _own_columns(data: Dataset) -> Columns:
    columns = [
        Factor(states, codes, declared=states) for codes, states in zip(data.codes, data.states, strict=True)
    ]
    return list(data.names), columns
