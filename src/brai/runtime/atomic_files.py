"""Atomic writing: a file is either complete or absent."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def replace(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Write a temporary file with ``fill``, flush it to disk, and rename it to ``path``.

    Symbolic links are followed: the target is replaced and the link stays. A path that exists and is not a regular
    file (a folder, pipe or device) raises an OSError. Every OSError names the file.
    """
    path = plain_file(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r}: make it first")
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        if error.errno is None:
            raise
        # the error of a full disk does not contain the file name
        raise OSError(error.errno, f"{error.strerror}: cannot write", str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    with suppress(OSError):  # some systems cannot open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def plain_file(path: Path) -> Path:
    """The path with symbolic links resolved. OSError if it exists and is not a regular file."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        raise OSError(errno.ELOOP, "the symbolic links form a loop: give another name", str(path)) from None
    if real.exists() and not real.is_file():
        raise OSError(errno.EINVAL, "not a regular file, so it is not replaced: give another name", str(path))
    return real


def write_text(path: Path, content: str) -> None:
    """Write text as UTF-8, atomically."""
    write_bytes(path, content.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes, atomically."""
    replace(path, lambda file: _fill(file, content))


def _fill(file: BinaryIO, content: bytes) -> None:
    file.write(content)
