"""The rules of `brai.data.text_files` for text files, on the whole text at once: what the streamed reader must
equal.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from brai import DataError
from brai.data.columns import Columns, Factor, count, shown
from brai.data.stream import FOREIGN
from brai.data.text_files import DELIMITERS, OTHERS, typed


def read_text(path: Path, delimiter: str | None = None) -> Columns:
    """Names and columns, each with a value of its own for every row."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path.name!r} is not a complete gzip file ({error}): compress it again") from None
    text = decoded(path, content)
    if not text.strip():
        raise DataError(f"{path.name!r} is empty: give a file with a line of names and rows of data")
    chosen = delimiter or sniffed(text, DELIMITERS[Path(path.name.removesuffix(".gz")).suffix])
    reader = reader_of(text, chosen, True)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if not row or (rows and len(row) == 1 < len(rows[0]) and not row[0].strip()):
                continue
            if rows and len(row) != len(rows[0]):
                cells, names = count(len(row), "cell"), count(len(rows[0]), "name")
                is_comma = chosen == "," and len(row) > len(rows[0])
                raise DataError(
                    f"line {reader.line_num} of {path.name!r} has {cells}, but the header has {names}: "
                    f"complete or drop that line, {'quote decimal commas, ' * is_comma}or give the delimiter="
                )
            rows.append(row)
    except csv.Error as error:
        raise DataError(f"line {reader.line_num} of {path.name!r} is not CSV ({error}): fix its quotes") from None
    if len(rows) == 1:
        raise DataError(f"{path.name!r} has a header line but no rows: give at least one row of data")
    names = [name.strip() for name in rows[0]]
    if delimiter is None and len(names) == 1:
        for other in OTHERS:
            even, width = cut(text, other)
            if even:
                raise DataError(
                    f"{path.name!r} has one column, {shown(names[0])}, that {other!r} would split into {width}: "
                    f"give the delimiter= {other!r}, or quote the cells"
                )
    columns = [[cell.strip() for cell in cells] for cells in zip(*rows[1:], strict=True)]
    return names, [Factor(typed(cells), np.arange(len(cells)), text=cells) for cells in columns]


def decoded(path: Path, content: bytes) -> str:
    for start, (kind, cure) in FOREIGN.items():
        if content.startswith(start):
            raise DataError(f"{path.name!r} is {kind}, not text: {cure}")
    if (at := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, at) + 1
        raise DataError(f"{path.name!r} has a NUL byte in line {line}, so it is not text: save it as UTF-8 text")
    try:
        return content.decode("utf-8").lstrip("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"0x{content[error.start]:02x}"
        raise DataError(
            f"{path.name!r} has the byte {byte} in line {line}, so it is not UTF-8: save it as UTF-8"
        ) from None


def reader_of(text: str, delimiter: str, strict: bool) -> Any:
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != " ")


def sniffed(text: str, candidates: str) -> str:
    def fitness(delimiter: str) -> tuple[bool, bool, int]:
        even, width = cut(text, delimiter)
        return even, width > 0 and delimiter != " ", width

    return max(candidates, key=fitness)


def cut(text: str, delimiter: str) -> tuple[bool, int]:
    try:
        widths = [len(row) for row in islice(reader_of(text, delimiter, False), 50) if row]
    except csv.Error:
        return False, 0
    return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0
