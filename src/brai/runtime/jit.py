"""Decorators of compiled functions.

Rules for all of them: machine code is cached on disk and runs without the GIL; ``parallel`` and ``fastmath`` are
not used.

Numba keys its cache by the source file of a function. A function that is inlined into a caller in another file
could therefore be outdated. Here the key is a digest of all kernel files: a change in any file recompiles all.
Where no cache can be written, every process compiles the functions.
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

A_WHILE = 60.0  # seconds between two notices
_announced: dict[str, float] = {}  # time of the notice, by type
_looked_at: set[tuple[int, str]] = set()  # a look-up on disk takes longer than many kernels, so it is made once


def _digest() -> str:
    """Digest of this file, of all kernel files, and of those files of kinds that hold compiled functions."""
    digest = hashlib.blake2b(digest_size=16)
    package = Path(__file__).parents[1]
    texts = [
        Path(__file__).read_bytes(),
        *(file.read_bytes() for file in sorted((package / "kernels").glob("*.py"))),
    ]
    of_kinds = (file.read_bytes() for file in sorted((package / "kinds").rglob("*.py")))
    texts += [
        text for text in of_kinds if any(f"\n@{own}\n".encode() in text for own in ("njit", "lean", "inner"))
    ]
    for text in texts:
        digest.update(text)
    return digest.hexdigest()


_STAMP = _digest()


def njit(function: Callable[..., Any]) -> Any:
    """Compile on first use, and cache the machine code on disk where possible."""
    return _compiled(function, _nrt=True)  # explicit, since it would be inherited from the first caller


def lean(function: Callable[..., Any]) -> Any:
    """Compile without reference counting, for functions that a kernel calls millions of times.

    Reference counting took two thirds of the time of a CI test. Such a function must not create or return arrays,
    nor call a function that returns one.
    """
    return _compiled(function, _nrt=False)


def inner(function: Callable[..., Any]) -> Any:
    """Like `lean`, and always inlined: passing a tuple of arrays as an argument takes time."""
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        dispatcher: Any = numba.njit(cache=True, nogil=True, **options)(function)
        dispatcher._cache._cache_file._source_stamp = _STAMP
        _keep_own(dispatcher._cache)
    except (RuntimeError, AttributeError, OSError):  # no writable cache, or a numba with other internals
        dispatcher = numba.njit(nogil=True, **options)(function)
    if hasattr(dispatcher, "get_call_template"):  # absent if the JIT is disabled
        _plain_integers(dispatcher)
    return dispatcher


def _keep_own(cache: Any) -> None:
    """Cache machine code on disk only for argument types of this package.

    The index of the cache refers to the types. Types of a kind of data outside the package (`brai.kinds.register`)
    may not be importable in another program, which then could not read the index at all.
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
    """Make calls from other kernels use one specialisation for all integer types.

    Numba would otherwise compile a function again for each literal integer in a call and for each narrow integer
    type. That was half of the compile time.
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
    except Exception:  # an index that cannot be read only means that functions are compiled again
        return []


def announce(dispatcher: Any, codes: object) -> None:
    """Print that compiling takes a while, if there is no machine code yet for arrays of type ``codes``.

    There is at most one notice for each type, and none within `A_WHILE` seconds of the last.
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
    print("brai: compiling for this machine (once, takes up to a minute) …", file=sys.stderr, flush=True)
