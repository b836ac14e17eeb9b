"""A data file as a stream of bytes or lines: read piece by piece, as often as needed, never loaded as a whole."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, cast

from brai.data.columns import DataError, shown
from brai.runtime import memory

PIECE = 1 << 20  # bytes read at a time
LONGEST = 32_000_000  # most bytes of a line, and most characters of a row
SPLIT = 30  # bytes of memory per byte of a line once it is split into cells
MARK = "\ufeff"  # byte order mark; there may be two if two tools added one each
FOREIGN = {
    b"\x1f\x8b": ("compressed by gzip", "add .gz to its name"),
    b"PAR1": ("a Parquet file", "name it .parquet"),
    b"PK\x03\x04": ("a zip archive or a workbook", "unpack it, or save the sheet as CSV"),
}
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """A file, plain or compressed as .gz, that can be read from its beginning more than once."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return repr(self.path.name)

    @property
    def is_compressed(self) -> bool:
        """Whether the name ends in .gz."""
        return self.path.name.lower().endswith(".gz")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The bytes of the file, decompressed."""
        with self._file() as file:
            if not self.is_compressed:
                yield file
                return
            with gzip.GzipFile(fileobj=file) as content:
                yield cast(IO[bytes], content)

    def _file(self) -> IO[bytes]:
        name = shown(str(self.path))
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise DataError(f"{name} is not a regular file: copy its content to a file first")
        try:
            return self.path.open("rb")
        except (FileNotFoundError, ValueError):  # a path with a NUL is a ValueError
            cure = (
                "download it, and give the path of the file" if ADDRESS.match(str(self.path)) else "check the path"
            )
            raise FileNotFoundError(f"there is no file {name}: {cure}") from None
        except PermissionError:
            raise PermissionError(f"reading {name} is not permitted: change its permissions, or copy it") from None
        except OSError as error:
            raise OSError(f"cannot read {name} ({error.strerror}): check the path") from None

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the file, decompressed, a piece at a time."""
        with self.opened() as file:
            while piece := self._next(file):
                yield piece

    def content(self, cure: str) -> io.BytesIO:
        """All bytes of the file, decompressed; MemoryError with a cure as soon as they are too many."""
        content, room = io.BytesIO(), PIECE
        for piece in self.pieces():
            size = content.tell()
            if size + len(piece) > room:  # the size may double before the next check
                room = 2 * (size + len(piece))
                memory.check(room - size, f"{self.name}, of which {size / 1e6:.0f} MB are read so far,", cure)
            content.write(piece)
        content.seek(0)
        return content

    def _next(self, file: IO[bytes]) -> bytes:
        try:
            return file.read(PIECE)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{self.name} is not a complete gzip file ({error}): compress it again") from None
        except OSError as error:
            raise OSError(f"cannot read {shown(str(self.path))} ({error.strerror}): check the path") from None

    @contextmanager
    def lines(self) -> Iterator[Iterator[str]]:
        """The lines of a text file, with their line ends, without byte order marks at the beginning."""
        with self.opened() as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
            yield chain([text.readline().lstrip(MARK)], text)

    def check_text(self) -> int:
        """Refuse what is not UTF-8 text, or only white space; return the approximate number of lines."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        lines = _Lines()
        at_start = is_blank = True
        refusal: DataError | None = None
        for number, piece in enumerate(chain(self.pieces(), [b""])):
            if number == 0:
                self._check_kind(piece)
            if (at := piece.find(b"\0")) >= 0:
                line = lines.newlines + piece.count(b"\n", 0, at) + 1
                raise DataError(
                    f"{self.name} has a NUL byte in line {line}, so it is not text: save it as UTF-8 text"
                )
            if refusal is None:
                try:
                    text = decoder.decode(piece, final=not piece)
                except UnicodeDecodeError as error:  # raised later: a NUL byte further on is a better reason
                    line = lines.newlines + error.object.count(b"\n", 0, error.start) + 1
                    byte = f"0x{error.object[error.start]:02x}"
                    refusal = DataError(
                        f"{self.name} has the byte {byte} in line {line}, so it is not UTF-8: save it as UTF-8"
                    )
                else:
                    text = text.lstrip(MARK) if at_start else text
                    at_start = at_start and not text
                    is_blank = is_blank and not text.strip()
            line = lines.number
            lines.add(piece)
            if lines.longest > LONGEST:
                raise refusal or self.too_long(line)
        if refusal is not None:
            raise refusal
        if is_blank:
            raise DataError(f"{self.name} is empty: give a file with a line of names and rows of data")
        if lines.longest > PIECE:
            what = f"reading {self.name}, with a line of {lines.longest / 1e6:.0f} MB,"
            memory.check(SPLIT * lines.longest, what, "give fewer columns")
        return lines.number

    def too_long(self, line: int) -> DataError:
        """The error for a line, or a row of many lines, that would fill the memory."""
        return DataError(
            f"the row in line {line} of {self.name} is longer than {LONGEST / 1e6:.0f} MB: "
            "end each row with a line break, and fix its quotes"
        )

    def _check_kind(self, start: bytes) -> None:
        for mark, (kind, cure) in FOREIGN.items():
            if start.startswith(mark):
                raise DataError(f"{self.name} is {kind}, not text: {cure}")


class _Lines:
    """The number of lines, and an upper bound on the longest: lines within a piece are not measured."""

    def __init__(self) -> None:
        self.newlines = self.returns = self.longest = 0
        self._begun = 0  # bytes of a line that has not ended yet

    @property
    def number(self) -> int:
        """The approximate number of lines."""
        return max(self.newlines, self.returns) + 1

    def add(self, piece: bytes) -> None:
        """Process the next bytes."""
        ends = [at for end in (b"\n", b"\r") if (at := piece.find(end)) >= 0]
        self.longest = max(self.longest, self._begun + min(ends, default=len(piece)))
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        self._begun = self._begun + len(piece) if last < 0 else len(piece) - 1 - last
        self.newlines += piece.count(b"\n")
        self.returns += piece.count(b"\r")
