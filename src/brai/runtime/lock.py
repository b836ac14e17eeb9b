"""Locks a folder, so that one run at a time writes to it.

The lock is one of the operating system, on a file in the folder. It ends with the process that holds it, so a
killed run does not leave a locked folder. The file contains the process id and the host of the holder.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = ".in-use"


class FolderInUseError(OSError):
    """Another run is writing to the folder."""


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Lock the folder for this run. FolderInUseError if another run has locked it."""
    path = folder / NAME
    file = _locked(path)
    try:
        with suppress(OSError):  # on a full disk the lock is held nevertheless
            os.ftruncate(file, 0)
            os.write(file, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        yield
    finally:
        if sys.platform != "win32":  # Windows cannot delete an open file; once closed, another run may hold it
            with suppress(OSError):
                path.unlink()
        with suppress(OSError):
            _unlock(file)
        os.close(file)


def _locked(path: Path) -> int:
    """Open and lock the file. If the last holder has deleted it in the meantime, try again with a new file."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(file)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    return file
        except BlockingIOError:
            os.close(file)
            raise FolderInUseError(
                f"{path.parent} is in use by another run{_holder(path)}: wait for that run, or give another folder"
            ) from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _holder(path: Path) -> str:
    """The holder of the lock as text, or "" if the file does not say."""
    try:
        said = json.loads(path.read_bytes())
        pid, host = int(said["pid"]), str(said["host"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""
    return f" (process {pid}{'' if host == socket.gethostname() else f' on {host!r}'})"


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, 1 << 30, os.SEEK_SET)  # a byte beyond the text, so that others can read the text
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
        os.lseek(file, 0, os.SEEK_SET)

    def _unlock(file: int) -> None:
        os.lseek(file, 1 << 30, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)  # explicit, since a forked process may also have the file open
