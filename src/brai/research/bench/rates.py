"""The rates of this machine: the inner loops of a CI test alone, on data that fit into the first-level cache.

The first two loops are parts of our kernels, so a ratio to them shows the overhead of a test. Their own speed is
given in words and values per nanosecond.

The loops are compiled in each process: the cache of `brai.runtime.jit` covers only the files of kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np

from brai.kernels.simd import LANES, count_lanes, weigh_lanes
from brai.kinds.discrete.samples import _words
from brai.research.bench.measure import Run

# as `brai.runtime.jit.lean` has it
_compiled: Any = numba.njit(nogil=True, _nrt=False)  # type: ignore[call-overload,unused-ignore]


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def _and_count(block: Any, bits: Any, held: Any, out: Any, times: int) -> int:
    """Count the common bits of the eight strings of a block with each of ``bits``."""
    total = 0
    for _ in range(times):
        count_lanes(block, bits, 0, len(bits) + 1, held, out)
        total += out[0, 0]
    return total


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def _look_up(block: Any, bits: Any, places: Any, held: Any, table: Any, times: int) -> int:
    """Look up and sum values for empty strings, so that there is nothing to count."""
    total = 0
    for _ in range(times):
        for i in range(len(places)):
            total += weigh_lanes(block, bits, 0, 2, held, places[i], held, table)[0]
    return total


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def _visit(base: Any, column: Any, weights: Any, counts: Any, times: int) -> int:
    """Add each row to its cell."""
    for _ in range(times):
        for i in range(len(base)):
            counts[base[i] * 3 + column[i]] += weights[i]
    return int(counts[0])


@dataclass(frozen=True)
class Rates:
    """Operations per nanosecond of CPU time."""

    words: float  # words of 64 rows: AND, population count, add
    lookups: float  # look-ups of n log n
    visits: float  # rows added to a table

    about: ClassVar[dict[str, tuple[str, str]]] = {
        "words": ("AND and count the ones", "words of 64 rows / ns"),
        "lookups": ("look up n log n", "values / ns"),
        "visits": ("put a row into its cell", "rows / ns"),
    }


class Loop(NamedTuple):
    """A loop that is timed, and its number of operations."""

    run: Run
    size: int


def loops(rows: int, *, long: bool = True) -> dict[str, Loop]:
    """One loop for each of `Rates`, for data of ``rows`` rows: strings of rows / 64 words, rows + 1 values."""
    rng = np.random.default_rng(0)
    words = _words(rows)
    strings = 8 if words > 32 else 32  # with the block 10 kB for 80 words, 2.5 kB for 8
    block, bits = (rng.integers(0, 2**63, shape).astype(np.uint64) for shape in ((words, LANES), (strings, words)))
    held, out = np.full(LANES, rows), np.zeros((strings + 1, LANES), np.int64)
    table, places = rng.integers(0, 2**40, (1, rows + 1)), rng.integers(0, rows + 1, (64, LANES))
    empty, nothing = np.zeros((0, LANES), np.uint64), np.zeros((2, 0), np.uint64)
    base, column = rng.integers(0, 40, rows).astype(np.int32), rng.integers(0, 3, rows).astype(np.uint8)
    weights, cells = np.ones(rows, np.int32), np.zeros(256, np.int32)
    work = 2 * 10**7 if long else 10**6
    return {
        "words": _loop(lambda times: _and_count(block, bits, held, out, times), strings * LANES * words, 4 * work),
        "lookups": _loop(
            lambda times: _look_up(empty, nothing, places, 0 * held, table, times), 2 * places.size, 2 * work
        ),
        "visits": _loop(lambda times: _visit(base, column, weights, cells, times), rows, work // 4),
    }


def _loop(run: Callable[[int], Any], size: int, work: int) -> Loop:
    """A loop of ``size`` operations per call, and about ``work`` in total."""
    times = max(1, work // size)
    return Loop(lambda: run(times), times * size)
