"""Which columns of a table are categories, ordered states or measurements, and the table that follows.

- A column with a fraction is continuous. So is a column of integers with more than FEW different values: these are
  measurements or counts.
- Beside measurements, integers with three to FEW values are ordered, and a column of one value is continuous.
- A pandas categorical that is ordered, and a polars Enum, are ordered. All other columns are discrete.
- ``kinds={"age": "discrete"}``, ``{"stage": "ordered"}`` or ``{"score": "continuous"}`` decide otherwise.

A table without measurements is a Dataset: order is not used there. With measurements only it is `Measurements`,
else `brai.data.mixed.Mixed`. There measurements that are far from normal, also within the states of the other
columns, are taken as normal scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast, get_args

import narwhals as nw
import numpy as np

from brai.data.coding import Contrasts
from brai.data.columns import Columns, DataError, Factor, Numbers, check_names, count, factor, shown
from brai.data.incomplete import Incomplete, filled
from brai.data.measurements import Floats, Measurements, Transform
from brai.data.missing import missing_rows, which
from brai.data.mixed import ColumnKind, Mixed
from brai.data.notation import check_labels
from brai.data.numbers import (
    Looks,
    TailsWarning,
    check_column,
    far_from_normal,
    looks,
    measured,
    not_numbers,
    numbers,
)
from brai.data.problems import Problems, Question
from brai.data.states import declared_states, spelled
from brai.runtime.checks import near

Labelled: TypeAlias = Callable[..., Any]  # (columns, states, missing=, problems=) → Dataset


def kinds_of(names: Sequence[str], given: Mapping[str, str] | None) -> dict[str, ColumnKind]:
    """The kinds that the caller states, checked."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError(f"kinds= is of type {type(given).__name__}: give a dict of column name → kind")
    found: dict[str, ColumnKind] = {}
    for name, kind in given.items():
        if name not in names:
            hint = near(str(name), [str(n) for n in names])
            raise DataError(f"there is no column {shown(name)}{hint}: choose among {shown(list(names))}")
        if kind not in get_args(ColumnKind):
            raise DataError(
                f"the kind of {shown(name)} is {shown(kind)}: choose 'discrete', 'ordered' or 'continuous'"
            )
        found[str(name)] = cast(ColumnKind, kind)
    return found


class Sorted(NamedTuple):
    """The kind of each column of a table, and those of numbers as floats."""

    kinds: tuple[ColumnKind, ...]
    values: dict[int, Floats]  # of all continuous columns
    given: dict[str, ColumnKind]  # what the caller stated
    problems: Problems  # of columns of text that hold no labels

    @property
    def floats(self) -> list[Floats]:
        """The continuous columns, in their order."""
        return [self.values[i] for i in sorted(self.values)]


def sorted_out(table: Columns, kinds: Mapping[str, str] | None, states: Mapping[str, Any] | None) -> Sorted:
    """The kind of each column, by the rules of this module."""
    names, columns = [str(name) for name in table[0]], table[1]
    given = kinds_of(names, kinds)
    declared = set(map(str, states)) if isinstance(states, Mapping) else set()
    seen: dict[int, Looks] = {}
    values: dict[int, Floats] = {}
    for i, name in enumerate(names):
        if given.get(name) in ("discrete", "ordered") or (name in declared and name not in given):
            continue
        if (own := numbers(columns[i])) is not None:
            seen[i] = looks(own)
            if seen[i].is_measured or name in given:
                values[i] = own
        elif given.get(name) == "continuous":
            raise not_numbers(name)
    found: list[ColumnKind] = []
    for i, name in enumerate(names):
        if values and i in seen and seen[i].distinct < 2:
            values.setdefault(i, cast(Floats, numbers(columns[i])))
        if i in values:
            found.append("continuous")
        elif name in given:
            found.append(given[name])
        elif (values and i in seen and seen[i].distinct > 2) or is_ordered(columns[i]):
            found.append("ordered")
        else:
            found.append("discrete")
    return Sorted(tuple(found), values, given, Problems())


def check_text(table: Columns, found: Sorted, declared: Collection[str]) -> Columns:
    """The table with columns of text as factors; what is wrong with these goes to ``found.problems``."""
    columns = list(table[1])
    for i, name in enumerate(map(str, table[0])):
        if i in found.values or name in found.given or name in declared or is_ordered(columns[i]):
            continue
        with found.problems.of(name):
            columns[i] = factor(name, columns[i])
            check_labels(name, columns[i])
    return table[0], columns


def is_ordered(column: Any) -> bool:
    """Whether the type of a column says that its states have an order: an ordered categorical, a polars Enum."""
    if isinstance(column, list | tuple | range | np.ndarray | Factor | Numbers):
        return False
    try:
        series = nw.from_native(column, series_only=True)
    except TypeError:
        return False
    if isinstance(series.dtype, nw.Enum) and series.implementation.is_polars():
        return True
    native = series.to_native()
    return bool(getattr(getattr(native, "cat", None), "ordered", False))


def check_lengths(names: Sequence[str], columns: Sequence[Any], found: Sorted) -> None:
    """DataError if columns of numbers and others differ in length."""
    lengths = [len(found.values[i]) if i in found.values else length(own) for i, own in enumerate(columns)]
    for name, n in zip(names, lengths, strict=True):
        if n != lengths[0]:
            raise DataError(
                f"column {shown(name)} has {count(n, 'row')}, but column {shown(names[0])} has {lengths[0]}: "
                "give columns of equal length"
            )


def length(column: Any) -> int:
    """Number of rows of a column."""
    return int(column.inverse.size) if isinstance(column, Factor) else len(column)


def without_holes(names: Sequence[str], columns: Sequence[Any], found: Sorted) -> tuple[list[Any], Sorted]:
    """The table without the rows in which a value is missing, in a column of any kind."""
    factors = {i: factor(names[i], own) for i, own in enumerate(columns) if i not in found.values}
    gone = {i: np.isnan(own) for i, own in found.values.items()} | {i: missing_rows(f) for i, f in factors.items()}
    holes = {i: int(own.sum()) for i, own in sorted(gone.items()) if own.any()}
    if not holes:
        return list(columns), found
    kept = ~np.any([gone[i] for i in holes], axis=0)
    if not kept.any():
        raise DataError(
            f"{which(names, holes)}, and no row is complete: impute them, or drop the emptiest columns"
        )
    warnings.warn(f"{int((~kept).sum())} of {len(kept)} rows dropped: {which(names, holes)}", stacklevel=5)
    shorter = {i: replace(own, inverse=own.inverse[kept]) for i, own in factors.items()}
    values = {i: own[kept] for i, own in found.values.items()}
    return [shorter.get(i) if i in shorter else values[i] for i in range(len(names))], found._replace(
        values=values
    )


def _with_holes(
    table: Columns, found: Sorted, states: Mapping[str, Any] | None, transform: Transform, labelled: Labelled
) -> Any:
    """The table, as `Incomplete` if cells are missing: it is made of columns whose missing cells are filled."""
    columns = list(table[1])
    try:
        names = check_names(table[0])
        declared = declared_states(names, states)
        factors = {
            i: spelled(factor(names[i], own), declared.get(names[i]))
            for i, own in enumerate(columns)
            if i not in found.values
        }
        columns = [factors.get(i, own) for i, own in enumerate(columns)]
        check_lengths(names, columns, found)
    except DataError:  # told below, together with all other problems
        return _of_kinds(table, found, states, "error", transform, labelled)
    whole = filled(names, factors, found.values)
    if whole is None:
        return _of_kinds((list(names), columns), found, states, "error", transform, labelled)
    own = found._replace(kinds=tuple(found.kinds[i] for i in whole.kept), values=whole.values)
    listed = [whole.factors[i] if i in whole.factors else whole.values[i] for i in range(len(whole.names))]
    if isinstance(states, Mapping):
        empty = set(names) - set(whole.names)
        states = {name: labels for name, labels in states.items() if name not in empty} or None
    made = _of_kinds((whole.names, listed), own, states, "error", transform, labelled)
    return Incomplete(made, whole.missing)


def _skewed(measurements: Measurements, labels: Any) -> list[int]:
    """Measurements that are far from normal even within the states of other columns.

    A column whose mean depends on a category is a mixture of normal distributions; normal scores would bend its
    relations to other measurements.
    """
    found = far_from_normal(measurements)
    if not found:
        return []
    counts = [
        np.bincount(own, minlength=len(states)) for own, states in zip(labels.codes, labels.states, strict=True)
    ]
    blocks = [Contrasts.of_category(own).column(codes) for own, codes in zip(counts, labels.codes, strict=True)]
    rows = np.concatenate([np.ones((1, labels.n_rows)), *blocks])
    if len(rows) > labels.n_rows / 10:  # so many states that they would fit anything
        return found
    values = measurements.standardised[found]
    left = values - np.linalg.lstsq(rows.T, values.T, rcond=None)[0].T @ rows
    names = tuple(measurements.names[v] for v in found)
    return [found[i] for i in far_from_normal(Measurements(left, names))]


def by_kinds(
    table: Columns,
    states: Mapping[str, Any] | None,
    missing: str,
    kinds: Mapping[str, str] | None,
    transform: Transform,
    labelled: Labelled,
    question: Question = lambda _: None,
) -> Any:
    """The table by the kinds of its columns; ``labelled`` makes a Dataset of columns.

    ``question`` gives what is asked about columns, but for those with another problem.
    """
    found = sorted_out(table, kinds, states)
    found.problems.question = question
    table = check_text(table, found, set(map(str, states)) if isinstance(states, Mapping) else set())
    if missing == "impute":
        return _with_holes(table, found, states, transform, labelled)
    return _of_kinds(table, found, states, missing, transform, labelled)


def _of_kinds(
    table: Columns,
    found: Sorted,
    states: Mapping[str, Any] | None,
    missing: str,
    transform: Transform,
    labelled: Labelled,
) -> Any:
    """The table of columns whose kinds are known."""
    columns: Sequence[Any] = table[1]
    if not found.values:
        return labelled(table, states, missing=missing, problems=found.problems)
    names = check_names(table[0])
    check_lengths(names, columns, found)
    if missing == "drop":
        columns, found = without_holes(names, columns, found)
    if len(found.values) == len(names):
        return measured(names, found.floats, transform, found.given)
    if transform not in get_args(Transform):
        raise DataError(f"transform is {shown(transform)}: choose 'none' or 'normal-scores'")
    problems = found.problems
    for i, own in sorted(found.values.items()):
        with problems.of(names[i]):
            check_column(names[i], own, found.given)
    has_states = [i for i in range(len(names)) if i not in found.values]
    table = [names[i] for i in has_states], [columns[i] for i in has_states]
    labels = labelled(table, states, missing=missing, problems=problems)
    own_names = [names[i] for i in sorted(found.values)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TailsWarning)  # such columns are ranked
        measurements = measured(own_names, found.floats, given=found.given)
    ranked = own_names if transform == "normal-scores" else [own_names[v] for v in _skewed(measurements, labels)]
    return Mixed.of(names, found.kinds, labels, measurements, ranked)
