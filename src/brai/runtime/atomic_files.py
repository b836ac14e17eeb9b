"""Files that are whole or not there."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def replace(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Let ``fill`` write a new file beside ``path``, bring it to the disk, and put it in place of the old one.

    A symbolic link is followed, so that the file it leads to is replaced and the link stays. What is there and is
    no plain file (a folder, a pipe, a device) is refused. An OSError names the file.
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
        # a full disk names no file
        raise OSError(error.errno, f"{error.strerror}: cannot write", str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    with suppress(OSError):  # not every system lets a folder be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def plain_file(path: Path) -> Path:
    """The file that a path leads to, links followed; OSError if it is no plain file."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        raise OSError(errno.ELOOP, "the link leads nowhere: give another name", str(path)) from None
    if real.exists() and not real.is_file():
        raise OSError(errno.EINVAL, "this is no plain file, so it is not replaced: give another name", str(path))
    return real


def write_text(path: Path, content: str) -> None:
    """Text in UTF-8, whole or not at all."""
    write_bytes(path, content.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """The same for bytes."""
    replace(path, lambda file: _fill(file, content))


def _fill(file: BinaryIO, content: bytes) -> None:
    file.write(content)
