"""A data file as a stream of bytes or lines: read piece by piece, as often as it takes, never kept as a whole."""

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

from brai._columns import DataError, shown

PIECE = 1 << 20  # bytes read at a time
MARK = "\ufeff"  # of byte order; two tools may have put one each
FOREIGN = {
    b"\x1f\x8b": ("compressed by gzip", "add .gz to its name"),
    b"PAR1": ("a Parquet file", "name it .parquet"),
    b"PK\x03\x04": ("a zip archive or a workbook", "unpack it, or save the sheet as CSV"),
}
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """A file, plain or compressed as .gz, that can be read from its beginning again and again."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return repr(self.path.name)

    @property
    def is_compressed(self) -> bool:
        """Whether the name says so."""
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
            raise DataError(f"{name} is not a regular file: copy what it gives to one")
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

    def _next(self, file: IO[bytes]) -> bytes:
        try:
            return file.read(PIECE)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{self.name} is not a whole gzip file ({error}): compress it again") from None
        except OSError as error:
            raise OSError(f"cannot read {shown(str(self.path))} ({error.strerror}): check the path") from None

    @contextmanager
    def lines(self) -> Iterator[Iterator[str]]:
        """The lines of a text file, with their ends, without marks of byte order at the beginning."""
        with self.opened() as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
            yield chain([text.readline().lstrip(MARK)], text)

    def check_text(self) -> int:
        """Refuse what is not text in UTF-8, or nothing but white space; return about how many lines there are."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        newlines = returns = 0
        at_start = is_blank = True
        refusal: DataError | None = None
        for number, piece in enumerate(chain(self.pieces(), [b""])):
            if number == 0:
                self._check_kind(piece)
            if (at := piece.find(b"\0")) >= 0:
                line = newlines + piece.count(b"\n", 0, at) + 1
                raise DataError(
                    f"{self.name} has a NUL byte in line {line}, so it is not text: save it as UTF-8 text"
                )
            if refusal is None:
                try:
                    text = decoder.decode(piece, final=not piece)
                except UnicodeDecodeError as error:  # raised at the end: a NUL further on tells more
                    line = newlines + error.object.count(b"\n", 0, error.start) + 1
                    byte = f"0x{error.object[error.start]:02x}"
                    refusal = DataError(
                        f"{self.name} has the byte {byte} in line {line}, not UTF-8: save it as UTF-8"
                    )
                else:
                    text = text.lstrip(MARK) if at_start else text
                    at_start = at_start and not text
                    is_blank = is_blank and not text.strip()
            newlines += piece.count(b"\n")
            returns += piece.count(b"\r")
        if refusal is not None:
            raise refusal
        if is_blank:
            raise DataError(f"{self.name} is empty: give a file with a line of names and rows of data")
        return max(newlines, returns) + 1

    def _check_kind(self, start: bytes) -> None:
        for mark, (kind, cure) in FOREIGN.items():
            if start.startswith(mark):
                raise DataError(f"{self.name} is {kind}, not text: {cure}")
