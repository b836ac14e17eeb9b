"""From a `Factor` to its states (labels) and codes, by the rules in `brai.data.dataset`."""

from __future__ import annotations

import reprlib
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.data.bins import MISSING as MISSING
from brai.data.bins import bin_of, sorted_labels
from brai.data.columns import MAX_BITS, DataError, Factor, is_hashable, shown, smallest_type, wrong_type
from brai.runtime.checks import near

MAX_STATES = 65_536  # what uint16 codes can distinguish
IDENTIFIER_ROWS = 20  # an undeclared column of more rows than this, all different, is an identifier
UNDECLARED = "add it to states= or drop those rows"  # advice for a value that is not among the states


class Written(str):
    """A number of a text file that no float represents: too large, or a fraction whose nearest float is whole."""

    __slots__ = ()

    def __repr__(self) -> str:
        return shown(str(self))[1:-1]


def spelled(column: Factor, states: Sequence[Any] | None) -> Factor:
    """The column with these states declared, if any; cells of a text file are matched to labels by their text."""
    if states is None:
        return column
    labels = {str(label): label for label in states}
    values = column.values
    if column.text is not None:
        values = [labels.get(cell, value) for cell, value in zip(column.text, values, strict=True)]
    return replace(column, values=values, declared=states)


def encode(name: str, column: Factor, cure: str = UNDECLARED) -> tuple[tuple[Any, ...], NDArray[Any]]:
    """Return the labels of a column without missing values, and the code of each of its `values`.

    Labels are the declared states, else the values that occur. A value that does not occur gets the code 0.
    `cure` is the advice for a value that is not among the states.
    """
    values = {i: column.values[i] for i in seen(column)}
    if column.declared is None:
        values = {i: whole(value) for i, value in values.items()}
        labels = states = sorted_states(name, list(values.values()), column.inverse.size)
    else:
        states, labels = tuple(column.declared), check_labels(name, column.declared)
    code = {state: i for i, state in enumerate(states)}
    lookup = np.zeros(len(column.values), dtype=smallest_type(len(labels)))
    for i, value in values.items():
        if value not in code:
            row = int((column.inverse == i).argmax()) + 1
            raise DataError(
                f"column {shown(name)} holds {shown(value)} in row {row}, which is not among its states "
                f"{shown(list(states))}: {cure}"
            )
        lookup[i] = code[value]
    return labels, lookup


def seen(column: Factor) -> list[int]:
    """The indices of the values that occur."""
    return np.flatnonzero(np.bincount(column.inverse, minlength=len(column.values))).tolist()


def as_label(value: Any, labels: Collection[Any]) -> Any:
    """Return the label that matches a value: the value itself, else a label of the same text ("0" for 0 and 0.0).

    If the labels are bins, a number matches the bin that contains it. A missing value matches the label "missing".
    A value that matches no label is returned unchanged.
    """
    if is_missing(value) and MISSING in labels:
        return MISSING
    if value in labels or is_missing(value) or _is_huge(value):
        return value
    if (own := bin_of(value, labels)) is not None:
        return own
    spelled = {str(label): label for label in labels}
    return next((spelled[text] for text in (str(value), str(whole(value))) if text in spelled), value)


def respelled(column: Factor, states: Sequence[Any]) -> Factor:
    """Return the column with its values replaced by the labels that match them."""
    labels = dict.fromkeys(states)
    return replace(column, values=[as_label(value, labels) for value in column.values])


def sorted_states(name: str, values: list[Any], n_rows: int) -> tuple[Any, ...]:
    """Return the states of an undeclared column; refuses mixed types, fractions and identifiers."""
    examples: dict[str, Any] = {}
    for value in values:
        is_number = isinstance(value, int | float | Written)
        kind = "bool" if isinstance(value, bool) else "number" if is_number else "text"
        if kind == "text" and not isinstance(value, str):
            raise wrong_type(name, type(value).__name__)
        examples.setdefault(kind, value)
    if len(examples) > 1:
        one, other, *_ = map(shown, examples.values())
        raise DataError(
            f"column {shown(name)} mixes types, such as {one} and {other}: convert all its values to one type"
        )
    fraction = next((v for kind in (float, Written) for v in values if isinstance(v, kind)), None)
    if fraction is not None:
        raise DataError(
            f"column {shown(name)} holds {fraction!r}, which is not an integer: discretise the column "
            "(discretize=, say) or list its values in states="
        )
    labels = sorted_labels(set(values))
    if len(labels) == n_rows > IDENTIFIER_ROWS:
        raise DataError(
            f"column {shown(name)} has {n_rows} different values in {n_rows} rows, such as {shown(labels[0])}, "
            "like an identifier: drop it, or declare it in states="
        )
    return check_labels(name, labels)


def warn_of_identifiers(names: Sequence[str], columns: Sequence[Factor]) -> None:
    """Warn of columns in which almost every row has a value of its own; exact identifiers are refused."""
    found = []
    for name, column in zip(names, columns, strict=True):
        n_values, n_rows = len({whole(column.values[i]) for i in seen(column)}), column.inverse.size
        if n_values > IDENTIFIER_ROWS and 2 * n_values > n_rows:
            found.append(f"{shown(name)} ({n_values} different values in {n_rows} rows)")
    if found:
        looks = "looks like an identifier" if len(found) == 1 else "look like identifiers"
        warnings.warn(
            f"little can be learned from {' and '.join(found)}, which {looks}: "
            "drop it, merge its values, or declare it in states=",
            stacklevel=5,
        )


def check_labels(name: str, labels: Sequence[Any]) -> tuple[Any, ...]:
    """Return the labels as a tuple of distinct plain objects."""
    sized = not isinstance(labels, str | bytes | set | frozenset | Mapping | type) and hasattr(labels, "__len__")
    if not sized or (isinstance(labels, np.ndarray) and labels.ndim == 0):
        given = shown(labels)
        raise DataError(f"the states of column {shown(name)} are {given}: give a list of labels, in code order")
    check_arity(name, len(labels))
    plain = tuple(_label(name, label) for label in labels)
    for label, times in Counter(plain).items():
        if is_missing(label):
            raise DataError(f"the states of column {shown(name)} hold {label!r}: give missing values a label")
        if times > 1:
            raise DataError(f"the states of column {shown(name)} hold {shown(label)} {times} times: list it once")
    return plain


def check_arity(name: str, arity: int) -> None:
    """Refuse more states than codes can distinguish."""
    if arity > MAX_STATES:
        raise DataError(f"column {shown(name)} has {arity} states, more than {MAX_STATES}: merge some or drop it")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def whole(value: Any) -> Any:
    """Return a whole float as an integer, anything else unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > MAX_BITS


def _label(name: str, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if _is_huge(value) or not is_hashable(value):
        raise DataError(f"the states of column {shown(name)} hold {shown(value)}: give text or numbers as labels")
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)  # a plain number, not the member of an enum
    if isinstance(value, str):
        return str.__str__(value)
    return value if is_missing(value) else str(value)


def place_of(known: Sequence[Any], wanted: Any, problem: str = "there is no variable") -> int:
    """The index of a name or label among the known ones; DataError with the problem and the choices if unknown."""
    if (label := as_label(wanted, known)) not in known:
        hint = near(str(wanted), [str(one) for one in known])
        raise DataError(f"{problem} {wanted!r}{hint}: choose among {reprlib.repr(list(known))}")
    return known.index(label)


def declared_states(
    names: Sequence[str], states: Mapping[str, Sequence[Any]] | None
) -> dict[str, tuple[Any, ...]]:
    """The states that the caller gives, checked."""
    if states is None:
        return {}
    if not isinstance(states, Mapping):
        raise DataError(f"states= is of type {type(states).__name__}: give a dict of column name → labels")
    named = {str(name): labels for name, labels in states.items()}
    check_known(named, names)
    for name, labels in named.items():
        check_labels(name, labels)
    return {name: tuple(labels) for name, labels in named.items()}


def check_known(wanted: Iterable[str], names: Sequence[str]) -> None:
    """DataError if a column is not among the names."""
    known = frozenset(names)
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            hint = near(str(name), names)
            raise DataError(f"there is no column {shown(name)}{hint}: choose among {shown(list(names))}")
