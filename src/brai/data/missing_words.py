"""Words such as NA, ? and - in columns of text: missing, or labels?

A file cannot say. R writes NA for a missing value, and many files have "?"; but both may be labels. So:

- **Among numbers** such a word is missing. A column of a frame that is text because of it becomes numbers.
- **Among labels** it is a question. All columns are asked about at once, by one error with the line to paste.
  It is not asked if the same word stands among the numbers of the same file: then it is missing, with a note.
- ``na=`` answers: words that it lists are missing in any column, others are labels. So do declared states.
- A dash is a label where all other labels are of plus signs.

>>> from brai import Dataset
>>> Dataset.of({"vote": ["y", "?", "n"], "party": ["a", "b", "a"]}, na="?")
Incomplete(3 rows, 2 variables, 1 of 6 cells missing)
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from brai.data.columns import Columns, DataError, Factor, Numbers, factor, shown
from brai.data.na import Words
from brai.data.numbers import numbers
from brai.data.problems import Question
from brai.data.states import Written, is_missing, seen
from brai.data.text_files import NUMBER, typed

NAMED = 8  # columns that a message names
SIGNS = re.compile(r"[+/±-]+")


class MissingWordsError(DataError):
    """Words that may mean missing stand among labels, and nothing says what they mean."""

    def __init__(self, found: Mapping[str, Sequence[str]], numeric: Sequence[str]) -> None:
        self.found = {word: tuple(names) for word, names in found.items()}  # the columns of each word
        self.numeric = tuple(numeric)  # words that are missing among the numbers of the same file
        super().__init__(self.told(_in_python))

    def told(self, spelled: Callable[[Sequence[str]], str]) -> str:
        """The message; ``spelled`` writes the setting that lists words."""
        many = len(self.found) > 1
        where = "; ".join(f"{shown(word)} in {listed(names)}" for word, names in self.found.items())
        missing, labels = spelled([*self.numeric, *self.found]), spelled(self.numeric)
        they, are = ("they are", "labels") if many else ("it is", "a label")
        return (
            f"{where}: among labels {'these' if many else 'this'} may mean missing, or be {are}: give {missing} "
            f"if {they} missing, {labels} if {they} {are}"
        )


def _in_python(words: Sequence[str]) -> str:
    quoted = ", ".join(f'"{word}"' if word.isprintable() and '"' not in word else repr(word) for word in words)
    return f"Dataset.of(X, na=[{quoted}])"


def as_option(words: Sequence[str]) -> str:
    """The setting on the command line."""
    return f"--na {shlex.quote(','.join(words))}"


def listed(names: Sequence[str]) -> str:
    """The first columns, and how many there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(shown, names[:NAMED])) + more


class Settled(NamedTuple):
    """A table in which words that mean missing are missing, and what is still to be asked."""

    table: Columns
    question: Question


def settled_words(table: Columns, words: Words, states: Any) -> Settled:
    """Put missing values for words that mean missing, by the rules above; ``states`` as for `Dataset.of`."""
    names, columns = [str(name) for name in table[0]], [_without(own, words) for own in table[1]]
    if words.only_empty:
        return Settled((table[0], columns), lambda _: None)
    declared = {str(k): v for k, v in states.items()} if isinstance(states, Mapping) else {}
    told: dict[str, dict[str, list[str]]] = {fate: {} for fate in (*NOTES, "asked")}  # word → columns
    numeric = _among_numbers(columns)
    for i, name in enumerate(names):
        own = columns[i] = _text(columns[i])
        if isinstance(own, Factor) and own.declared is None and name not in declared:
            columns[i], found = _as_numbers(own, words)
            for word in found:
                numeric.setdefault(word.casefold(), set()).add(word)
                if own.text is None:
                    told["read"].setdefault(word, []).append(name)
    for i, name in enumerate(names):
        if isinstance(own := columns[i], Factor) and own.declared is None:
            columns[i], fates = _settled(own, words, numeric, declared.get(name))
            for word, fate in fates.items():
                told[fate].setdefault(word, []).append(name)
    for fate, (where, what) in NOTES.items():
        for word, its in told[fate].items():
            warnings.warn(f"{shown(word)} {where} {listed(its)}: {what}", stacklevel=3)
    spelled = sorted({word for own in numeric.values() for word in own})
    return Settled((table[0], columns), partial(_question, told["asked"], spelled))


def _question(
    asked: Mapping[str, Sequence[str]], numeric: Sequence[str], besides: Collection[str]
) -> MissingWordsError | None:
    """The error that asks about words, but for columns that have another problem."""
    left = {word: [name for name in names if name not in besides] for word, names in asked.items()}
    found = {word: names for word, names in left.items() if names}
    return MissingWordsError(found, numeric) if found else None


NOTES = {  # of a word, by its fate
    "read": ("stands among the numbers of", "read as numbers, with these cells missing"),
    "taken": ("stands among the labels of", "taken as missing, as among numbers; na= decides"),
    "undeclared": ("is no declared state of", "taken as missing"),
    "kept": ("stands among the labels of", "taken as a label, since na= does not list it"),
}


def _cells(own: Factor) -> tuple[dict[int, Any], dict[int, str]]:
    """The values that occur and are not missing, and the cells of text among them, by place in `Factor.values`."""
    present = {k: value for k in seen(own) if not is_missing(value := own.values[k])}
    return present, {k: value.strip() for k, value in present.items() if type(value) is str}


def _as_numbers(own: Factor, words: Words) -> tuple[Factor, list[str]]:
    """The numbers that a column of text spells, and the words among them; unchanged if there are no such words."""
    present, cells = _cells(own)
    found = {k: cell for k, cell in cells.items() if words.usual(cell)}
    rest = [value for k, value in present.items() if k not in found]
    if not found or not rest or not all(map(_is_number, rest)):
        return own, []
    at = [k for k in cells if k not in found]
    numbers = dict(zip(at, typed([cells[k] for k in at], words), strict=True))
    values = [None if k in found else numbers.get(k, value) for k, value in enumerate(own.values)]
    return replace(own, values=values), list(found.values())


def _is_number(value: Any) -> bool:
    """Whether a value is a number, or text that spells one."""
    if isinstance(value, str):
        return NUMBER.fullmatch(value.strip()) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _settled(
    own: Factor, words: Words, numeric: Mapping[str, set[str]], labels: Any
) -> tuple[Factor, dict[str, str]]:
    """A column of labels with its words settled, and the fate of each word."""
    present, cells = _cells(own)
    found = {k: cell for k, cell in cells.items() if words.usual(cell)}
    if not found:
        return own, {}
    if labels is not None:
        known = set(map(str, labels)) if isinstance(labels, Sequence | np.ndarray) else set(cells.values())
        found = {k: cell for k, cell in found.items() if cell not in known}
        return _with_holes(own, set(found)), dict.fromkeys(found.values(), "undeclared")
    rest = [value for k, value in present.items() if k not in found]
    if not rest:
        return _with_holes(own, set(found)), {}
    if set(found.values()) == {"-"} and all(SIGNS.fullmatch(str(value)) for value in rest):
        return own, {}
    if words.given is not None:
        return own, dict.fromkeys(found.values(), "kept")
    fates = {cell: "taken" if cell.casefold() in numeric else "asked" for cell in found.values()}
    return _with_holes(own, {k for k, cell in found.items() if fates[cell] == "taken"}), fates


def _without(column: Any, words: Words) -> Any:
    """The column without the words that the caller lists."""
    if not words.given:
        return column
    own = _text(column)
    if isinstance(own, Factor):
        if own.declared is not None:
            return column
        gone = {k for k in seen(own) if type(cell := own.values[k]) is str and cell.strip() in words.given}
        column = own = _with_holes(own, gone) if gone else own
    coded = [float(word) for word in words.given if NUMBER.fullmatch(word)]
    if coded and (values := numbers(own)) is not None and (away := np.isin(values, coded)).any():
        if isinstance(own, Factor):
            return _with_holes(own, set(np.unique(own.inverse[away]).tolist()))
        return Numbers(np.where(away, np.nan, values))
    return column


def _among_numbers(columns: Sequence[Any]) -> dict[str, set[str]]:
    """The words that are missing among the numbers of a text file: in small letters, and as they are spelled."""
    found: dict[str, set[str]] = {}
    for own in columns:
        spelled: Sequence[str] = ()
        if isinstance(own, Numbers):
            spelled = sorted(own.words)
        elif isinstance(own, Factor) and own.text is not None:
            spelled = [own.text[k] for k in seen(own) if own.values[k] is None and own.text[k]]
            if not any(isinstance(own.values[k], int | float | Written) for k in seen(own)):
                spelled = ()
        for word in spelled:
            found.setdefault(word.casefold(), set()).add(word)
    return found


def _text(column: Any) -> Any:
    """A column that holds text as a Factor; any other column, or one that cannot be read, as it is."""
    if isinstance(column, Factor | Numbers | range):
        return column
    if isinstance(column, list | tuple):
        holds = any(isinstance(cell, str) for cell in column)
    elif isinstance(column, np.ndarray):
        holds = column.dtype.kind in "UT" or (
            column.dtype.kind == "O" and column.ndim == 1 and any(isinstance(cell, str) for cell in column)
        )
    else:
        try:
            series = nw.from_native(column, series_only=True)
        except TypeError:
            return column
        holds = series.dtype in (nw.String, nw.Object) or (
            series.dtype == nw.Categorical and series.implementation.is_polars()
        )
    if not holds:
        return column
    try:
        return factor("", column)
    except (DataError, TypeError):
        return column  # told elsewhere


def _with_holes(own: Factor, gone: set[int]) -> Factor:
    """The column with these values missing."""
    return (
        replace(own, values=[None if k in gone else value for k, value in enumerate(own.values)]) if gone else own
    )
