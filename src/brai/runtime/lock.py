"""A folder that one run at a time may write to.

The lock is the operating system's, on a file in the folder: it ends with the process that holds it, however that
ends, so a run that was killed never leaves a folder locked. The file says who holds it.
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
    """Hold the folder for this run alone; FolderInUseError if another run holds it."""
    path = folder / NAME
    file = _locked(path)
    try:
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.ftruncate(file, 0)
            os.write(file, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        yield
    finally:
        if sys.platform != "win32":  # an open file cannot be deleted there, and a closed one may be another's
            with suppress(OSError):
                path.unlink()
        with suppress(OSError):
            _unlock(file)
        os.close(file)


def _locked(path: Path) -> int:
    """The open file, locked; a file that its last holder deleted in between is left, and a new one made."""
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
                f"{path.parent} is in use by another run{_holder(path)}: wait for its end, or give another folder"
            ) from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _holder(path: Path) -> str:
    """Who holds the lock, as far as the file tells."""
    try:
        said = json.loads(path.read_bytes())
        pid, host = int(said["pid"]), str(said["host"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""
    return f" (process {pid}{'' if host == socket.gethostname() else f' on {host!r}'})"


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, 1 << 30, os.SEEK_SET)  # a byte beyond the text, so that others can read that
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
        fcntl.flock(file, fcntl.LOCK_UN)  # said aloud: a forked process may have the file open too
