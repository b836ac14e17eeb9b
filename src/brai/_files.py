"""Files that are whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def replace(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Let ``fill`` write a new file beside ``path``, bring it to the disk, and put it in place of the old one."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r}: make it first")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    with suppress(OSError):  # not every system lets a folder be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_text(path: Path, content: str) -> None:
    """Text in UTF-8, whole or not at all."""
    write_bytes(path, content.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """The same for bytes."""
    replace(path, lambda file: _fill(file, content))


def _fill(file: BinaryIO, content: bytes) -> None:
    file.write(content)
