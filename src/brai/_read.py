"""Data files: CSV, TSV, text and Parquet, each plain or compressed as .gz.

How the cells of a text file (UTF-8, first line = names) are typed; white space around a cell is dropped:

- An empty cell is missing. A line of nothing but white space is skipped, but where there is one column only, it
  is a cell.
- A column is one of numbers if all its cells are, leaving out empty cells and NA, N/A, NaN and null (in any
  case), which are then missing. Its states are integers; if one of its numbers is not whole, the column is
  continuous, which is an error. But if all are whole and one is written as codes are (07, +3, more than 18
  digits), the column is text.
- Any other column is text, and NA in it is a label like any other.
- Where `states=` declares a column, a cell stands for the label that is spelled so, before these rules apply.

Files are read in a stream: a text file some rows at a time, which become codes at once, a Parquet file column by
column (`brai._parquet`). What is kept of a cell is a byte or two, and of each column its different cells.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai import memory
from brai._columns import Columns, DataError, Factor, count, shown, smallest_type
from brai._parquet import parquet_columns
from brai._stream import Source

CELLS = 1 << 16  # of a text file that are turned into codes at a time
MANY = 1 << 20  # different cells from which on memory is looked at
OTHERS = ",;\t|:#~^"  # that may be the delimiter of a file which seems to have one column
DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".txt": ",;\t| "}
READABLE = ".csv, .tsv, .txt or .parquet, plain or .gz"
NOT_AVAILABLE = frozenset({"na", "n/a", "nan", "null"})
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
DIGITS = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?)", re.IGNORECASE)


def read_columns(path: Path, delimiter: str | None, without: Set[str] = frozenset()) -> Columns:
    """Return the names and columns of a data file; those named in ``without`` are left empty."""
    if os.path.isdir(path):
        raise DataError(f"{shown(str(path))} is a directory: give the path of a file")
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind not in (*DELIMITERS, ".parquet"):
        raise DataError(f"cannot tell the format of {shown(path.name)} from its name: name it {READABLE}")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise DataError(f"the delimiter is {delimiter!r}: give one character such as ';'")
    if kind == ".parquet":
        return parquet_columns(Source(path))
    return _text_columns(Source(path), delimiter, DELIMITERS[kind], without)


def _text_columns(source: Source, delimiter: str | None, candidates: str, without: Set[str]) -> Columns:
    n_lines = source.check_text()
    chosen = delimiter or _sniffed(source, candidates)
    with source.lines() as lines:
        rows = _rows(source, _reader(lines, chosen, strict=True))
        names = [name.strip() for name in next(rows)]
        columns = [Cells(is_kept=name not in without) for name in names]
        memory.check_table(n_lines, sum(own.is_kept for own in columns), source.name)
        n_rows = _fill(columns, rows, source, names)
    if n_rows == 0:
        raise DataError(f"{source.name} has a line of names but no rows: give at least one row of data")
    if delimiter is None and len(names) == 1:
        _check_one_column(source, names[0])
    return names, [own.factor() for own in columns]


def _rows(source: Source, reader: Any) -> Iterator[list[str]]:
    """The rows that are not blank, from the names on, all of one length."""
    width = -1  # not known yet
    try:
        for row in reader:
            if len(row) != width:
                if not row or (len(row) == 1 < width and not row[0].strip()):
                    continue  # a blank line
                if width >= 0:
                    cells, names = count(len(row), "cell"), count(width, "name")
                    raise DataError(
                        f"line {reader.line_num} of {source.name} has {cells} where the file has {names}: "
                        "complete or drop that line, or give the delimiter="
                    )
                width = len(row)
            yield row
    except csv.Error as error:
        raise DataError(f"line {reader.line_num} of {source.name} is not CSV ({error}): mend its quotes") from None


class Cells:
    """A column of a text file as it comes: its different cells, and which of them stands in each row."""

    def __init__(self, is_kept: bool = True) -> None:
        self.is_kept = is_kept
        self.index = _Index()
        self._parts: list[NDArray[Any]] = [np.zeros(0, np.uint8)]

    def add(self, cells: Sequence[str]) -> None:
        """Take in more rows."""
        if not self.is_kept:
            return
        if len(self.index) <= 256:
            try:
                self._parts.append(np.frombuffer(bytes(map(self.index.__getitem__, cells)), np.uint8))
                return
            except ValueError:  # there are more than 256 now
                pass
        found = np.fromiter(map(self.index.__getitem__, cells), np.int64, len(cells))
        self._parts.append(found.astype(smallest_type(len(self.index))))

    def factor(self) -> Factor:
        """The column, typed as a whole; nothing is left here."""
        inverse = np.concatenate(self._parts)
        self._parts.clear()
        text = [cell.strip() for cell in self.index]
        return Factor(_typed(text), inverse, text=text)


class _Index(dict[str, int]):
    """The number of each cell, in the order in which they were first asked for."""

    def __missing__(self, cell: str) -> int:
        self[cell] = number = len(self)
        return number


def _fill(columns: list[Cells], rows: Iterator[list[str]], source: Source, names: Sequence[str]) -> int:
    """Take in all rows, some at a time; return their number."""
    n_rows, room = 0, MANY
    while chunk := list(islice(rows, max(1, CELLS // len(columns)))):
        n_rows += len(chunk)
        for own, cells in zip(columns, zip(*chunk, strict=True), strict=True):
            own.add(cells)
        held = sum(len(own.index) for own in columns)
        if held > room:  # there may be as many again before the next look
            most, name = max((len(own.index), name) for own, name in zip(columns, names, strict=True))
            memory.check(
                held * memory.CELL,
                f"reading {source.name}, with {most} different values of {shown(name)} in {n_rows} rows,",
                "drop such columns (drop=, --drop), or discretise them",
            )
            room = 2 * held
    return n_rows


def _reader(lines: Iterable[str], delimiter: str, strict: bool) -> Any:
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != " ")


def _sniffed(source: Source, candidates: str) -> str:
    """Return the delimiter that cuts the first rows evenly, into most cells; a space if no other does."""

    def fitness(delimiter: str) -> tuple[bool, bool, int]:
        even, width = _cut(source, delimiter)
        return even, width > 0 and delimiter != " ", width

    return max(candidates, key=fitness)


def _cut(source: Source, delimiter: str) -> tuple[bool, int]:
    """Return whether it cuts the first rows evenly, into more than one cell, and the first row into how many."""
    with source.lines() as lines:
        try:
            widths = [len(row) for row in islice(_reader(lines, delimiter, strict=False), 50) if row]
        except csv.Error:
            return False, 0
    return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0


def _check_one_column(source: Source, name: str) -> None:
    """Refuse one column that is several, cut by what the name of the file does not lead to expect."""
    for other in OTHERS:
        even, width = _cut(source, other)
        if even:
            raise DataError(
                f"{source.name} has one column, {shown(name)}, that {other!r} would cut into {width}: "
                f"give the delimiter= {other!r}, or quote the cells"
            )


def _typed(cells: list[str]) -> list[Any]:
    """Return the values of a column's cells by the rules above; missing is None."""
    present = [cell for cell in cells if cell and cell.casefold() not in NOT_AVAILABLE]
    if present and all(map(NUMBER.fullmatch, present)):
        numbers = {cell: int(cell) if INTEGER.fullmatch(cell) else float(cell) for cell in present}
        whole = all(DIGITS.fullmatch(cell) or float(v).is_integer() for cell, v in numbers.items())
        written_as_text = any(DIGITS.fullmatch(cell) and not INTEGER.fullmatch(cell) for cell in present)
        if not (whole and written_as_text):
            return [numbers.get(cell) for cell in cells]
    return [cell or None for cell in cells]
