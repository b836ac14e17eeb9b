"""The one decorator of all compiled functions.

House rules: machine code is cached on disk, runs without the GIL, never ``parallel``, never ``fastmath``.

Numba keys the cache of a function by the file that holds it, so a function compiled into its caller could
outlive a change of its own source. Here the key is a digest of all kernel files: a change in any of them
compiles all of them anew. Where no cache can be written, functions are compiled in each process.
"""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

A_WHILE = 60.0  # seconds
_announced: dict[str, float] = {}  # when, by type
_looked_at: set[tuple[int, str]] = set()  # looking on disk takes longer than many a kernel


def _digest() -> str:
    """Digest of this file and of all kernel files."""
    digest = hashlib.blake2b(digest_size=16)
    package = Path(__file__).parents[1]
    compiled = sorted((*(package / "kernels").glob("*.py"), *(package / "kinds").rglob("*.py")))
    for file in (Path(__file__), *compiled):
        digest.update(file.read_bytes())
    return digest.hexdigest()


_STAMP = _digest()


def njit(function: Callable[..., Any]) -> Any:
    """Compile on first use and keep the machine code on disk where that is possible."""
    return _compiled(function, _nrt=True)  # said aloud, or a function would take it from its first caller


def lean(function: Callable[..., Any]) -> Any:
    """For what runs millions of times inside a kernel: references to arrays are not counted.

    Counting them took two thirds of the time of a CI test. So it neither makes nor returns arrays, and calls
    nothing that returns any.
    """
    return _compiled(function, _nrt=False)


def inner(function: Callable[..., Any]) -> Any:
    """The same, as a part of whatever calls it: an argument that is a tuple of arrays takes time to hand over."""
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        dispatcher: Any = numba.njit(cache=True, nogil=True, **options)(function)
        dispatcher._cache._cache_file._source_stamp = _STAMP
        _keep_own(dispatcher._cache)
    except (RuntimeError, AttributeError, OSError):  # no place to write to, or another numba inside
        dispatcher = numba.njit(nogil=True, **options)(function)
    if hasattr(dispatcher, "get_call_template"):  # not where the JIT is switched off
        _plain_integers(dispatcher)
    return dispatcher


def _keep_own(cache: Any) -> None:
    """Keep machine code on disk only for types of this package.

    The list of what is kept names the types. Those of a kind of data that lives elsewhere (`brai.kinds.register`)
    cannot be imported by every program, and then the whole list could not be read.
    """
    save = cache.save_overload

    def save_own(sig: Any, data: Any) -> None:
        if all(map(_is_own, getattr(sig, "args", sig))):
            save(sig, data)

    cache.save_overload = save_own


def _is_own(kind: Any) -> bool:
    if not isinstance(kind, numba.types.BaseTuple):
        return True
    made = getattr(kind, "instance_class", None)
    return (made is None or made.__module__.startswith("brai.")) and all(map(_is_own, getattr(kind, "types", ())))


def _plain_integers(dispatcher: Any) -> None:
    """Let other kernels call one machine code with all integers.

    Numba would compile a function anew for each number that is written out in a call, and for each narrow type:
    that was half of all compiling.
    """
    made = dispatcher.get_call_template

    def template(arguments: Any, keywords: Any) -> Any:
        return made([_plain(own) for own in arguments], keywords)

    dispatcher.get_call_template = template


def _plain(own: Any) -> Any:
    types: Any = numba.types
    own = types.unliteral(own)
    return types.int64 if isinstance(own, types.Integer) and own.bitwidth < 64 else own


def _on_disk(dispatcher: Any) -> list[Any]:
    try:
        return [key[0] for key in dispatcher._cache._cache_file._load_index()]
    except Exception:  # a damaged or foreign index only means: compile again
        return []


def announce(dispatcher: Any, codes: object) -> None:
    """Say once that compiling takes a while, if there is no machine code for ``codes`` of that type.

    What comes within that while is meant by it too.
    """
    key = (id(dispatcher), str(codes))
    if key in _looked_at or not hasattr(dispatcher, "signatures"):
        return
    _looked_at.add(key)
    known = [*dispatcher.signatures, *_on_disk(dispatcher)]
    if any(f"rray({codes}," in str(signature) for signature in known) or str(codes) in _announced:
        return
    now, last = time.monotonic(), max(_announced.values(), default=-math.inf)
    _announced[str(codes)] = now
    if now < last + A_WHILE:
        return
    print("brai: compiling for this machine, once; up to a minute …", file=sys.stderr, flush=True)
