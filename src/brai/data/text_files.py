"""Data files: CSV, TSV, text and Parquet, each plain or compressed as .gz.

A text file is UTF-8, and its first line holds the names. White space around a cell is ignored. Columns get their
types by these rules:

- An empty cell is missing. A blank line is skipped. In a file of one column, however, a blank line is a cell,
  except for empty lines at the end of the file.
- A column is numeric if all its cells are numbers. Empty cells and NA, N/A, NaN, null, ?, - and a point do not
  count: they are missing values of that column (`brai.data.na`).
- The states of a numeric column are integers. If one of its numbers is not whole, the column is continuous, which
  is an error. If all are whole, but one is written like a code (07, +3, more than 18 digits) or is too large for a
  float (1e400), the column is text.
- Numbers are exact: 123456789012345678.0 and 123456789012345679.0 are two states, although they are equal floats.
- A column of numbers with decimal commas (3,5) is numeric; a warning names it (`brai.data.notation`).
- Any other column is text. What NA is in it `brai.data.missing_words` decides. Infinity is not a number.
- If `states=` declares a column, a cell that is spelled like a label is that label, before these rules apply.

Files are streamed. A text file is read in chunks of rows, which are encoded at once. A Parquet file is read column
by column (`brai.data.parquet`). A cell takes one or two bytes of memory, plus the distinct cells of each column. A
row of more than 32 MB is refused, because a row is held in memory as a whole.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterator, Sequence, Set
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from brai.data import stream
from brai.data.columns import Columns, DataError, Factor, Numbers, count, shown, smallest_type, told
from brai.data.na import AUTO, Words
from brai.data.notation import read_commas
from brai.data.parquet import parquet_columns
from brai.data.states import Written
from brai.data.stream import Source
from brai.runtime import memory

CELLS = 1 << 16  # most cells of a chunk of rows
TEXT = 1 << 24  # characters of text after which a chunk ends
MANY = 1 << 20  # distinct cells above which free memory is checked
NUMBERS = 4096  # distinct cells, all numbers, above which a column is kept as floats
SHORT = 100  # characters of a cell; a longer one counts as several
COLUMN = 2000  # bytes of a column before its first row
WIDE = 1 << 14  # columns above which free memory is checked
OTHERS = ",;\t|:#~^"  # possible delimiters of a file that seems to have one column
DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".txt": ",;\t| "}
READABLE = ".csv, .tsv, .txt or .parquet, plain or .gz"
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
DIGITS = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def read_columns(
    path: Path, delimiter: str | None, without: Set[str] = frozenset(), words: Words = AUTO
) -> Columns:
    """Return the names and columns of a data file; those named in ``without`` are left empty."""
    if os.path.isdir(path):
        raise DataError(f"{shown(str(path))} is a directory: give the path of a file")
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind not in (*DELIMITERS, ".parquet"):
        raise DataError(f"cannot tell the format of {shown(path.name)} from its name: name it {READABLE}")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise DataError(f"the delimiter is {shown(delimiter)}: give one character such as ';'")
    if kind == ".parquet":
        return parquet_columns(Source(path))
    return _text_columns(Source(path), delimiter, DELIMITERS[kind], without, words)


def _text_columns(
    source: Source, delimiter: str | None, candidates: str, without: Set[str], words: Words
) -> Columns:
    n_lines = source.check_text()
    chosen = delimiter or _sniffed(source, candidates)
    with source.lines() as lines:
        reader = Reader(source, lines, chosen, strict=True)
        rows = _rows(source, reader)
        names = [name.strip() for name in next(rows)]
        _check_width(names, source)
        columns = [Cells(name not in without, words) for name in names]
        memory.check_table(n_lines, sum(own.is_kept for own in columns), source.name)
        n_rows = _fill(columns, _chunks(rows, reader, len(names)), source, names)
    if n_rows == 0:
        raise DataError(f"{source.name} has a header line but no rows: give at least one row of data")
    if delimiter is None and len(names) == 1:
        _check_one_column(source, names[0])
    return names, read_commas(names, [own.factor() for own in columns], words, chosen, typed)


class Reader:
    """A csv.reader that refuses a row of too many characters, such as one with an open quote."""

    def __init__(self, source: Source, lines: Iterator[str], delimiter: str, strict: bool) -> None:
        self.taken = 0  # characters read so far
        self.before = 0  # characters of complete rows
        self.rows = csv.reader(
            self._counted(source, lines),
            delimiter=delimiter,
            strict=strict,
            skipinitialspace=delimiter != " ",
        )

    def _counted(self, source: Source, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            self.taken += len(line)
            if self.taken - self.before > stream.LONGEST:
                raise source.too_long(self.rows.line_num + 1)
            yield line

    def __iter__(self) -> Iterator[list[str]]:
        for row in self.rows:
            self.before = self.taken
            yield row


def _rows(source: Source, reader: Reader) -> Iterator[list[str]]:
    """The rows that are not blank, starting with the names; DataError if their lengths differ."""
    width = -1  # not known yet
    empty = 0  # empty lines of a one-column file: cells if another row follows
    try:
        for row in reader:
            if len(row) != width:
                if not row or (len(row) == 1 < width and not row[0].strip()):
                    empty += width == 1
                    continue  # a blank line
                if width >= 0:
                    cells, names = count(len(row), "cell"), count(width, "name")
                    is_comma = reader.rows.dialect.delimiter == "," and len(row) > width
                    raise DataError(
                        f"line {reader.rows.line_num} of {source.name} has {cells}, but the header has {names}: "
                        f"complete or drop that line, {'quote decimal commas, ' * is_comma}or give the delimiter="
                    )
                width = len(row)
            while empty:
                empty -= 1
                yield [""]
            yield row
    except csv.Error as error:
        line = reader.rows.line_num
        raise DataError(f"line {line} of {source.name} is not CSV ({told(error)}): fix its quotes") from None


def _chunks(rows: Iterator[list[str]], reader: Reader, width: int) -> Iterator[list[list[str]]]:
    """Chunks of rows, with fewer rows if cells are long."""
    chunk: list[list[str]] = []
    most, begin = max(1, CELLS // width), reader.taken
    for row in rows:
        chunk.append(row)
        if len(chunk) == most or reader.taken - begin > TEXT:
            yield chunk
            chunk, begin = [], reader.taken
    if chunk:
        yield chunk


def _check_width(names: Sequence[str], source: Source) -> None:
    if len(names) > WIDE:
        what = f"reading {source.name}, with {len(names)} columns,"
        memory.check(COLUMN * len(names), what, "give fewer columns, or end the header with a line break")


class Cells:
    """A column of a text file while it is read: its distinct cells, and for each row the index of its cell.

    A column of more than NUMBERS distinct cells, all numbers, is kept as floats from then on: distinct cells would
    take more memory than the numbers themselves.
    """

    def __init__(self, is_kept: bool = True, words: Words = AUTO) -> None:
        self.is_kept, self.words = is_kept, words
        self.index = _Index()
        self._parts: dict[np.dtype[Any], bytearray] = {}  # by integer type, which only grows
        self._floats: bytearray | None = None
        self._missing: set[str] = set()  # words that stand for missing values, if it is kept as floats
        self._may_be_numbers = True

    @property
    def n_different(self) -> int:
        """Number of distinct cells; of numbers, of all."""
        return len(self.index) if self._floats is None else len(self._floats) // 8

    @property
    def size(self) -> int:
        """Memory, counted in distinct cells."""
        return self.index.size + (0 if self._floats is None else 2 * len(self._floats) // memory.CELL)

    def add(self, cells: Sequence[str]) -> None:
        """Add rows."""
        if not self.is_kept:
            return
        if self._floats is not None:
            self._floats.extend(self._numbers(cells).tobytes())
            return
        self._add_coded(cells)
        if self._may_be_numbers and len(self.index) > NUMBERS:
            known = [cell.strip() for cell in self.index]
            self._may_be_numbers = all(self._is_measured(cell) for cell in known)
            if self._may_be_numbers:
                self._floats = bytearray(self._numbers(known)[self._inverse()].tobytes())
                self.index = _Index()

    def _add_coded(self, cells: Sequence[str]) -> None:
        if len(self.index) <= 256:
            try:
                self._append(np.dtype(np.uint8), bytes(map(self.index.__getitem__, cells)))
                return
            except ValueError:  # there are more than 256 now
                pass
        found = np.fromiter(map(self.index.__getitem__, cells), np.int64, len(cells))
        kind = smallest_type(len(self.index))
        self._append(kind, found.astype(kind).tobytes())

    def _append(self, kind: np.dtype[Any], codes: bytes) -> None:
        """Append to one buffer per type. An array per chunk would take too much memory if columns are many."""
        self._parts.setdefault(kind, bytearray()).extend(codes)

    def _inverse(self) -> np.ndarray[Any, Any]:
        """For each row the index of its cell; the buffers are released."""
        parts = [np.frombuffer(own, kind) for kind, own in self._parts.items()]
        self._parts = {}
        return np.concatenate([np.zeros(0, np.uint8), *parts])

    def factor(self) -> Factor | Numbers:
        """The column with its type; its buffers are released."""
        if self._floats is not None:
            return Numbers(np.frombuffer(self._floats, np.float64), frozenset(self._missing))
        inverse = self._inverse()
        text = [cell.strip() for cell in self.index]
        return Factor(typed(text, self.words), inverse, text=text)

    def _is_measured(self, cell: str) -> bool:
        """Whether a cell is a number that is not written like a code, or a missing one."""
        if self.words.among_numbers(cell):
            return True
        return NUMBER.fullmatch(cell) is not None and not (DIGITS.fullmatch(cell) and not INTEGER.fullmatch(cell))

    def _numbers(self, cells: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Cells as floats, NaN where they are missing."""
        try:
            found = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            found = np.fromiter(map(_float, cells), np.float64, len(cells))
        for i in np.flatnonzero(~np.isfinite(found)).tolist():
            own = cells[i].strip()
            if own and self.words.among_numbers(own):
                self._missing.add(own)
                found[i] = np.nan
            elif own and not NUMBER.fullmatch(own):
                raise DataError(
                    f"a column of more than {NUMBERS} different numbers holds {shown(own)} too: list such cells "
                    "in na= if they are missing, or leave the column out (drop=, --drop)"
                )
        return found


def _float(cell: str) -> float:
    """A cell as a float, NaN if it is none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


class _Index(dict[str, int]):
    """The index of each distinct cell, in order of first occurrence."""

    size = 0  # number of distinct cells; a long one counts as several

    def __missing__(self, cell: str) -> int:
        self[cell] = number = len(self)
        self.size += 1 + len(cell) // SHORT
        return number


def _fill(columns: list[Cells], chunks: Iterator[list[list[str]]], source: Source, names: Sequence[str]) -> int:
    """Add all rows, chunk by chunk; return their number."""
    n_rows, room = 0, MANY
    for chunk in chunks:
        n_rows += len(chunk)
        for own, name, cells in zip(columns, names, zip(*chunk, strict=True), strict=True):
            try:
                own.add(cells)
            except DataError as error:
                raise DataError(f"column {shown(name)}: {error}") from None
        held = sum(own.size for own in columns)
        if held > room:  # the number may double before the next check
            most, name = max(zip(columns, names, strict=True), key=lambda pair: pair[0].size)
            values = f"{most.n_different} different values of {shown(name)}"
            memory.check(
                held * memory.CELL,
                f"reading {source.name}, with {values} in {n_rows} rows,",
                "drop such columns (drop=, --drop), or discretise them",
            )
            room = 2 * held
    return n_rows


def _sniffed(source: Source, candidates: str) -> str:
    """Return the delimiter that splits the first rows evenly, into most cells; a space only if no other does."""

    def fitness(delimiter: str) -> tuple[bool, bool, int]:
        even, width = _cut(source, delimiter)
        return even, width > 0 and delimiter != " ", width

    return max(candidates, key=fitness)


def _cut(source: Source, delimiter: str) -> tuple[bool, int]:
    """Return whether it splits the first rows evenly into more than one cell, and the cells of the first row."""
    with source.lines() as lines:
        try:
            widths = [len(row) for row in islice(Reader(source, lines, delimiter, strict=False), 50) if row]
        except csv.Error:
            return False, 0
    return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0


def _check_one_column(source: Source, name: str) -> None:
    """Refuse a single column that another delimiter, unusual for this file name, would split into several."""
    for other in OTHERS:
        even, width = _cut(source, other)
        if even:
            raise DataError(
                f"{source.name} has one column, {shown(name)}, that {other!r} would split into {width}: "
                f"give the delimiter= {other!r}, or quote the cells"
            )


def typed(cells: list[str], words: Words = AUTO) -> list[Any]:
    """Return the values of the cells of a column by the rules above; a missing value is None."""
    present = [cell for cell in cells if not words.among_numbers(cell)]
    if present and all(map(NUMBER.fullmatch, present)):
        whole = all(map(_is_whole, present))
        if not (whole and any(map(_is_code, present))):
            numbers = {cell: _number(cell) for cell in present}
            numbers = numbers if whole else _told_apart(numbers)
            return [numbers.get(cell) for cell in cells]
    return [cell or None for cell in cells]


def _is_whole(cell: str) -> bool:
    """Whether a number is exactly whole: 1e-400 is not, although it is 0.0 as a float."""
    if DIGITS.fullmatch(cell):
        return True
    try:
        exact = Decimal(cell)
    except InvalidOperation:  # an exponent of more than 18 digits
        mantissa, _, exponent = cell.lower().partition("e")
        return not exponent.startswith("-") or Decimal(mantissa) == 0
    return exact == exact.to_integral_value()


def _is_code(cell: str) -> bool:
    """Whether a whole number is written like a code, or too large for a float."""
    return not INTEGER.fullmatch(cell) and (bool(DIGITS.fullmatch(cell)) or math.isinf(float(cell)))


def _number(cell: str) -> int | float | Written:
    """The number in a cell: a whole number exactly, a fraction as its nearest float if that is a fraction too."""
    if INTEGER.fullmatch(cell):
        return int(cell)
    nearest = float(cell)
    if math.isinf(nearest) or (nearest.is_integer() and not _is_whole(cell)):
        return Written(cell)
    exact = int(Decimal(cell)) if nearest.is_integer() and nearest else nearest
    return nearest if nearest == exact else exact


def _told_apart(numbers: dict[str, Any]) -> dict[str, Any]:
    """The same, but different numbers with the same nearest float are kept as written."""
    first: dict[float, Decimal] = {}
    shared = set()
    for cell, number in numbers.items():
        if isinstance(number, float) and not number.is_integer():
            exact = Decimal(cell)
            if first.setdefault(number, exact) != exact:
                shared.add(number)
    return {cell: Written(cell) if number in shared else number for cell, number in numbers.items()}
