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

_announced: set[str] = set()


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
    return dispatcher


def _on_disk(dispatcher: Any) -> list[Any]:
    try:
        return [key[0] for key in dispatcher._cache._cache_file._load_index()]
    except Exception:  # a damaged or foreign index only means: compile again
        return []


def announce(dispatcher: Any, codes: object) -> None:
    """Say once that compiling takes a while, if there is no machine code for ``codes`` of that type."""
    if str(codes) in _announced or not hasattr(dispatcher, "signatures"):
        return
    known = [*dispatcher.signatures, *_on_disk(dispatcher)]
    if any(f"rray({codes}," in str(signature) for signature in known):
        return
    _announced.add(str(codes))
    print("brai: compiling for this machine, once; about a minute …", file=sys.stderr, flush=True)
