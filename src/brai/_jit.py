"""The one decorator of all compiled functions.

House rules: machine code is cached on disk, runs without the GIL, never ``parallel``, never ``fastmath``.

Numba keys the cache of a function by the file that holds it, so a function compiled into its caller could
outlive a change of its own source. Here the key is a digest of all kernel files: a change in any of them
compiles all of them anew. Where no cache can be written, functions are compiled in each process.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

_COMPILED: list[Any] = []
_announced = False


def _digest() -> str:
    """Digest of this file and of all kernel files."""
    digest = hashlib.blake2b(digest_size=16)
    here = Path(__file__)
    for file in (here, *sorted((here.parent / "kernels").glob("*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()


_STAMP = _digest()


def njit(function: Callable[..., Any]) -> Any:
    """Compile on first use and keep the machine code on disk where that is possible."""
    try:
        dispatcher: Any = numba.njit(cache=True, nogil=True)(function)
        dispatcher._cache._cache_file._source_stamp = _STAMP
    except (RuntimeError, AttributeError, OSError):  # no place to write to, or another numba inside
        dispatcher = numba.njit(nogil=True)(function)
    _COMPILED.append(dispatcher)
    return dispatcher


def _on_disk(dispatcher: Any) -> bool:
    try:
        return bool(dispatcher._cache._cache_file._load_index())
    except Exception:  # a damaged or foreign index only means: compile again
        return False


def announce(dispatcher: Any) -> None:
    """Say once that compiling takes a while, if ``dispatcher`` is neither in memory nor on disk."""
    global _announced
    if _announced or getattr(dispatcher, "signatures", True) or _on_disk(dispatcher):
        return
    _announced = True
    print("brai: compiling for this machine, once; about 20 seconds …", file=sys.stderr, flush=True)
