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
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from brai._columns import Columns, DataError, Factor, columns_of, count, shown

OTHERS = ",;\t|:#~^"  # that may be the delimiter of a file which seems to have one column
FOREIGN = {
    b"\x1f\x8b": ("compressed by gzip", "add .gz to its name"),
    b"PAR1": ("a Parquet file", "name it .parquet"),
    b"PK\x03\x04": ("a zip archive or a workbook", "unpack it, or save the sheet as CSV"),
}
DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".txt": ",;\t| "}
READABLE = ".csv, .tsv, .txt or .parquet, plain or .gz"
NOT_AVAILABLE = frozenset({"na", "n/a", "nan", "null"})
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
DIGITS = re.compile(r"[+-]?[0-9]+")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?)", re.IGNORECASE)


def read_columns(path: Path, delimiter: str | None) -> Columns:
    """Return the names and columns of a data file."""
    if os.path.isdir(path):
        raise DataError(f"{shown(str(path))} is a directory: give the path of a file")
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind not in (*DELIMITERS, ".parquet"):
        raise DataError(f"cannot tell the format of {shown(path.name)} from its name: name it {READABLE}")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise DataError(f"the delimiter is {delimiter!r}: give one character such as ';'")
    content = _content(path)
    if kind == ".parquet":
        return columns_of(_parquet(path, content))
    return _text_columns(path, _decoded(path, content), delimiter, DELIMITERS[kind])


def _content(path: Path) -> bytes:
    name = shown(str(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise DataError(f"{name} is not a regular file: copy what it gives to one")
    try:
        content = path.read_bytes()
    except (FileNotFoundError, ValueError):  # a path with a NUL is a ValueError
        cure = "download it, and give the path of the file" if ADDRESS.match(str(path)) else "check the path"
        raise FileNotFoundError(f"there is no file {name}: {cure}") from None
    except PermissionError:
        raise PermissionError(f"reading {name} is not permitted: change its permissions, or copy it") from None
    except OSError as error:
        raise OSError(f"cannot read {name} ({error.strerror}): check the path") from None
    if path.name.lower().endswith(".gz"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path.name!r} is not a whole gzip file ({error}): compress it again") from None
    return content


def _parquet(path: Path, content: bytes) -> Any:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        try:
            import polars
        except ImportError:
            raise ImportError("reading Parquet needs pyarrow or polars: pip install 'brai[parquet]'") from None
        try:
            return polars.read_parquet(io.BytesIO(content))
        except polars.exceptions.PolarsError as error:
            raise _damaged(path, error) from None
    try:
        return parquet.ParquetFile(pyarrow.BufferReader(content)).read()
    except (pyarrow.ArrowException, OSError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> DataError:
    reason = str(error).split("\n")[0].split(". ")[0].rstrip(".:")
    return DataError(f"{path.name!r} is not a valid Parquet file ({reason}): write it again")


def _decoded(path: Path, content: bytes) -> str:
    for start, (kind, cure) in FOREIGN.items():
        if content.startswith(start):
            raise DataError(f"{path.name!r} is {kind}, not text: {cure}")
    at = content.find(b"\0")
    if at >= 0:
        line = content.count(b"\n", 0, at) + 1
        raise DataError(f"{path.name!r} has a NUL byte in line {line}, so it is not text: save it as UTF-8 text")
    try:
        return content.decode("utf-8").lstrip("\ufeff")  # two tools may have put a mark each
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"0x{content[error.start]:02x}"
        raise DataError(f"{path.name!r} has the byte {byte} in line {line}, not UTF-8: save it as UTF-8") from None


def _text_columns(path: Path, text: str, delimiter: str | None, candidates: str) -> Columns:
    if not text.strip():
        raise DataError(f"{path.name!r} is empty: give a file with a line of names and rows of data")
    reader = _reader(text, delimiter or _sniffed(text, candidates), strict=True)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if not row or (rows and len(row) == 1 < len(rows[0]) and not row[0].strip()):
                continue  # a blank line
            if rows and len(row) != len(rows[0]):
                cells, names = count(len(row), "cell"), count(len(rows[0]), "name")
                raise DataError(
                    f"line {reader.line_num} of {path.name!r} has {cells} where the file has {names}: "
                    "complete or drop that line, or give the delimiter="
                )
            rows.append(row)
    except csv.Error as error:
        raise DataError(f"line {reader.line_num} of {path.name!r} is not CSV ({error}): mend its quotes") from None
    if len(rows) == 1:
        raise DataError(f"{path.name!r} has a line of names but no rows: give at least one row of data")
    if delimiter is None and len(rows[0]) == 1:
        _check_one_column(path, text, rows[0][0])
    return [name.strip() for name in rows[0]], [_text_factor(cells) for cells in zip(*rows[1:], strict=True)]


def _reader(text: str, delimiter: str, strict: bool) -> Any:
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != " ")


def _sniffed(text: str, candidates: str) -> str:
    """Return the delimiter that cuts the first rows evenly, into most cells; a space if no other does."""

    def fitness(delimiter: str) -> tuple[bool, bool, int]:
        even, width = _cut(text, delimiter)
        return even, width > 0 and delimiter != " ", width

    return max(candidates, key=fitness)


def _cut(text: str, delimiter: str) -> tuple[bool, int]:
    """Return whether it cuts the first rows evenly, into more than one cell, and the first row into how many."""
    try:
        widths = [len(row) for row in islice(_reader(text, delimiter, strict=False), 50) if row]
    except csv.Error:
        return False, 0
    return len(set(widths)) == 1 and widths[0] > 1, widths[0]


def _check_one_column(path: Path, text: str, name: str) -> None:
    """Refuse one column that is several, cut by what the name of the file does not lead to expect."""
    for other in OTHERS:
        even, width = _cut(text, other)
        if even:
            raise DataError(
                f"{path.name!r} has one column, {shown(name)}, that {other!r} would cut into {width}: "
                f"give the delimiter= {other!r}, or quote the cells"
            )


def _text_factor(cells: tuple[str, ...]) -> Factor:
    index = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    inverse = np.fromiter(map(index.__getitem__, cells), np.int64, len(cells))
    text = [cell.strip() for cell in index]
    return Factor(_typed(text), inverse, text=text)


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
