"""What this machine can do: the loops a CI test is made of, alone, on data that stay in the first-level cache.

They are compiled in each process: the cache of `brai._jit` looks at the files of kernels only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np

from brai.bench.measure import Run
from brai.kernels.slicing import ones

# as `brai._jit.lean` has it
_compiled: Any = numba.njit(nogil=True, _nrt=False)  # type: ignore[call-overload,unused-ignore]


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def _and_count(a: Any, b: Any, times: int) -> int:
    """The bits that strings have in common, one string of ``b`` against each of ``a``."""
    total = 0
    for t in range(times):
        other = b[t % len(b)]
        for s in range(len(a)):
            one, n = a[s], 0
            for i in range(len(one)):
                n += ones(one[i] & other[i])
            total += n ^ t
    return total


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def _look_up(table: Any, counts: Any, times: int) -> int:
    """Values of counts, added up."""
    total = 0
    for t in range(times):
        for i in range(len(counts)):
            total += table[counts[i]] ^ t
    return total


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def _visit(base: Any, column: Any, weights: Any, counts: Any, times: int) -> int:
    """Rows added to the cells they are in."""
    for _ in range(times):
        for i in range(len(base)):
            counts[base[i] * 3 + column[i]] += weights[i]
    return int(counts[0])


@_compiled  # type: ignore[untyped-decorator,unused-ignore]
def _decide(cells: Any, counts: Any, states: Any, table: Any, margins: Any, times: int) -> int:
    """Cells compared with one state after the other until they are used up, as in a test: each count decides."""
    total, done = 0, 0
    for t in range(times * len(cells)):
        table_of, left_of = cells[t % len(cells)], counts[t % len(cells)]
        for x in range(len(states)):
            own = states[x]
            for c in range(len(table_of)):
                left, cell = left_of[c], table_of[c]
                for a in range(len(own) - 1):
                    if left == 0:
                        break
                    state, n = own[a], 0
                    for i in range(len(cell)):
                        n += ones(cell[i] & state[i])
                    done += 1
                    if n > 0:
                        total += table[n]
                        margins[a] += n
                        left -= n
                if left > 0:
                    total += table[left]
                    margins[len(own) - 1] += left
    return done if total else 0


@dataclass(frozen=True)
class Rates:
    """Things done in a nanosecond of CPU time."""

    words: float  # 64 rows: AND, count the ones, add
    lookups: float  # cell values n log n
    visits: float  # rows put into a table
    strings: float  # compared one after the other, each count looked up and deciding what is next

    about: ClassVar[dict[str, tuple[str, str]]] = {
        "words": ("AND and count the ones", "words of 64 rows / ns"),
        "lookups": ("look up n log n", "values / ns"),
        "visits": ("put a row into its cell", "rows / ns"),
        "strings": ("compare, look up, decide", "strings / ns"),
    }


class Loop(NamedTuple):
    """A loop that is timed, and the number of things it does."""

    run: Run
    size: int


def loops(rows: int, *, long: bool = True) -> dict[str, Loop]:
    """One loop for each of `Rates`, for data of so many rows: strings of rows / 64 words, rows + 1 values."""
    rng = np.random.default_rng(0)
    words = -(-rows // 64)
    strings = 8 if words > 32 else 64  # 8 strings of 79 words are 5 kB, 64 of 8 are 4 kB
    a, b = (rng.integers(0, 2**63, (n, words)).astype(np.uint64) for n in (strings, 4))
    table, counts = rng.integers(0, 2**40, rows + 1), rng.integers(0, rows + 1, 512)
    base, column = rng.integers(0, 40, rows).astype(np.int32), rng.integers(0, 3, rows).astype(np.uint8)
    weights, cells = np.ones(rows, np.int32), np.zeros(256, np.int32)
    work = 2 * 10**7 if long else 10**6
    return {
        "words": _loop(lambda times: _and_count(a, b, times), strings * words, work),
        "lookups": _loop(lambda times: _look_up(table, counts, times), len(counts), work),
        "visits": _loop(lambda times: _visit(base, column, weights, cells, times), rows, work // 4),
        "strings": _cells(rows, table, rng, work // 20),
    }


def _cells(rows: int, table: Any, rng: np.random.Generator, work: int) -> Loop:
    """Tables of 32 cells against 37 variables; there are 64, or the machine would learn what each branch does."""
    labels = [rng.choice(32, rows, p=rng.dirichlet(np.full(32, 0.4))) for _ in range(64)]
    cells = np.stack([_strings(own, 32) for own in labels])
    counts = np.stack([np.bincount(own, minlength=32) for own in labels])
    states = np.stack([_strings(rng.choice(3, rows, p=rng.dirichlet(np.ones(3))), 3) for _ in range(37)])
    margins = np.zeros(3, np.int64)
    compared = int(_decide(cells, counts, states, table, margins, 1))
    return _loop(lambda times: _decide(cells, counts, states, table, margins, times), compared, work)


def _strings(codes: Any, n: int) -> Any:
    """The bits of each code."""
    padded = np.zeros((n, -(-len(codes) // 64) * 64), np.uint8)
    padded[codes, np.arange(len(codes))] = 1
    return np.packbits(padded, axis=1).view(np.uint64)


def _loop(run: Callable[[int], Any], size: int, work: int) -> Loop:
    """A loop that does ``size`` things at a time, and about ``work`` in all."""
    times = max(1, work // size)
    return Loop(lambda: run(times), times * size)
