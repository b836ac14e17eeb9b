"""Text columns that hold no labels: dates, times, free text, and numbers that are not written as numbers.

- **Decimal commas.** In a text file a column is read as numbers if all its cells are numbers with a comma as
  decimal sign, such as 3,5, and a warning names it. A comma inside a cell is not the delimiter, or it is quoted.
  "1,234" may be either; it is read as 1.234 if the delimiter is another and another column has decimal commas.
- **All others** are errors if the column has more than FEW different cells, since fewer may well be labels:
  dates; times; numbers with thousands separators ("1,234"), with a unit or sign ("12 kg", "45%"), with a decimal
  comma in a frame; numbers but for some cells ("inf", ">100"); free text that hardly repeats.

``kinds={column: "discrete"}`` and ``states=`` take any of them as labels.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from brai.data.columns import DataError, Factor, count, shown
from brai.data.na import USUAL, Words
from brai.data.states import IDENTIFIER_ROWS, Written, is_missing, seen

FEW = 12  # different cells up to which a column of text holds labels, as of integers
LOOKED = 2000  # different cells that are looked at
MOST = 0.9  # share of the cells that have to look alike
WORDS = 4  # words of a cell of free text, on average
NAMED = 10  # columns that a warning names
LABELS = "or take it as labels with kinds="

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?(\d+(,\d+)?|,\d+)(e[+-]?\d+)?", re.IGNORECASE)
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234
_GROUPS = r"\d{1,3}(?:[,.'\u2019 \u00a0\u202f]\d{3})+(?:[.,]\d+)?"
_THOUSANDS = re.compile(rf"[+-]?{_GROUPS}")
_AMOUNT = rf"[+-]?(?:{_GROUPS}|\d+(?:[.,]\d+)?|[.,]\d+)"
_SIGN = r"[%‰$€£¥°]"
_UNIT = re.compile(rf"(?P<before>{_SIGN}|[A-Z]{{3}} )?\s*{_AMOUNT}\s*(?P<after>[^\d\s.,;:+-]\S{{0,11}})?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?"
_TIME = re.compile(_CLOCK, re.IGNORECASE)
_DATE = re.compile(
    rf"(?:(?:1[5-9]|2[01])\d\d[-/.](?:0?[1-9]|1[0-2])(?:[-/.]\d{{1,2}})?|\d{{1,2}}[-/.]\d{{1,2}}[-/.](?:\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}\.?[- ]{_MONTH}[- ,]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}|{_MONTH}[- ]\d{{2,4}})"
    rf"(?:[T ]+{_CLOCK}(?: ?(?:z|utc|[+-]\d{{2}}:?\d{{2}}))?)?",
    re.IGNORECASE,
)


# --- decimal commas of text files -----------------------------------------------------------------------


def read_commas(
    names: Sequence[str],
    columns: Sequence[Any],
    words: Words,
    delimiter: str,
    typed: Callable[[list[str], Words], list[Any]],
) -> list[Any]:
    """The columns of a text file; those of numbers with decimal commas have numbers as values, with a warning."""
    looks = [_commas(own.text, words) if isinstance(own, Factor) and own.text else None for own in columns]
    if True not in looks:
        return list(columns)
    found = [i for i, own in enumerate(looks) if own or (own is False and delimiter != ",")]
    out = list(columns)
    for i in found:
        out[i] = replace(columns[i], values=typed([cell.replace(",", ".") for cell in columns[i].text], words))
    told = ", ".join(shown(names[i]) for i in found[:NAMED]) + " …" * (len(found) > NAMED)
    cell = next(cell for cell in columns[looks.index(True)].text if "," in cell)
    warnings.warn(
        f"decimal commas in {told}: read as numbers, {cell} as {cell.replace(',', '.')} "
        "(list the cells in states= if they are labels)",
        stacklevel=6,
    )
    return out


def _commas(cells: Sequence[str], words: Words) -> bool | None:
    """Whether cells are numbers with decimal commas; False if these may separate thousands; else None."""
    present = [cell for cell in cells if not words.among_numbers(cell)]
    if not any("," in cell for cell in present) or not all(map(_COMMA.fullmatch, present)):
        return None
    return any("," in cell and not _EITHER.fullmatch(cell) for cell in present)


# --- what is neither labels nor numbers -----------------------------------------------------------------


def check_labels(name: str, column: Factor) -> None:
    """DataError if a column of text, whose states are not declared, holds something else than labels."""
    if column.declared is not None:
        return
    first = islice((i for i in seen(column) if not is_missing(column.values[i])), LOOKED)
    cells = [(i, str(own).strip()) for i in first if isinstance(own := column.values[i], str | Written)]
    cells = [(i, cell) for i, cell in cells if cell]
    texts = [cell for _, cell in cells]
    if len(texts) <= FEW or any(isinstance(column.values[i], Written) for i, _ in cells):
        return
    if found := _problem(column, cells, texts):
        what, cure = found
        repeats = len(seen(column)) < column.inverse.size
        error = DataError(f"column {shown(name)} holds {what}: {cure}drop it{', ' + LABELS if repeats else ''}")
        error.kind = "discrete" if repeats else ""
        raise error


def _problem(column: Factor, cells: Sequence[tuple[int, str]], texts: Sequence[str]) -> tuple[str, str] | None:
    """What a column holds, and what to do; None if these may be labels. ``cells`` are numbered as the values."""
    if found := _notation(texts):
        return found
    numbers = [cell for cell in texts if _NUMBER.fullmatch(cell)]
    if MOST * len(texts) <= len(numbers) < len(texts):
        odd = [(i, cell) for i, cell in cells if not _NUMBER.fullmatch(cell)]
        i, cell = min(odd, key=lambda own: own[1].casefold() in USUAL)  # the first that is no word for missing
        row = int((column.inverse == i).argmax()) + 1
        others = len(texts) - len(numbers) - 1
        more = f" and {count(others, 'other')}" if others else ""
        return f"numbers, but {shown(cell)} in row {row}{more}", "correct or empty such cells, or "
    n_rows = column.inverse.size
    words = sum(len(cell.split()) for cell in texts) / len(texts)
    if len(texts) > IDENTIFIER_ROWS and 2 * len(texts) > min(n_rows, LOOKED) and words >= WORDS:
        return f"free text, such as {shown(texts[0])}, {len(seen(column))} different in {n_rows} rows", ""
    return None


def _notation(cells: Sequence[str]) -> tuple[str, str] | None:
    """What the cells are, and how to make numbers of them; None if they are nothing of that sort."""
    if cell := _alike(cells, _DATE):
        return f"dates, such as {shown(cell)}", "replace them by numbers (days since the first), or "
    if cell := _alike(cells, _TIME):
        return f"times, such as {shown(cell)}", "replace them by numbers (hours), or "
    plain = [bool(_NUMBER.fullmatch(cell)) for cell in cells]
    others = [cell for cell, own in zip(cells, plain, strict=True) if not own]
    if not others:
        return None  # codes, such as 007
    if all(map(_COMMA.fullmatch, cells)) and not all(map(_EITHER.fullmatch, others)):
        return f"numbers with a decimal comma, such as {shown(others[0])}", "write a point instead, or "
    if all(map(_EITHER.fullmatch, others)):
        example = shown(others[0])
        return f"numbers with a comma for thousands or decimals, such as {example}", "write them without it, or "
    if all(map(_THOUSANDS.fullmatch, others)):
        return f"numbers with thousands separators, such as {shown(others[0])}", "write the digits alone, or "
    units = Counter(unit for cell in others if (unit := _unit(cell)))
    if units and units.most_common(1)[0][1] + sum(plain) >= MOST * len(cells) and 2 * sum(plain) < len(cells):
        cell = next(cell for cell in others if _unit(cell) == units.most_common(1)[0][0])
        return f"numbers with a unit or sign, such as {shown(cell)}", "write the numbers alone, or "
    return None


def _alike(cells: Sequence[str], pattern: re.Pattern[str]) -> str | None:
    """An example if most cells match."""
    found = [cell for cell in cells if pattern.fullmatch(cell)]
    return found[0] if len(found) >= MOST * len(cells) else None


def _unit(cell: str) -> tuple[str, str] | None:
    """What stands before and after the number in a cell."""
    if not (found := _UNIT.fullmatch(cell)):
        return None
    before, after = found["before"] or "", found["after"]
    return (before, after) if before or after else None
