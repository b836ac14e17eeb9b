"""What a CI test must do, counted without our kernels: strings of bits, look-ups of values, visits of rows.

A test of x and y given Z on bit slices compares each occupied cell (z, y) with the states of x, all but the last,
and stops where the cell is used up; it looks up one value for each occupied cell (x, y, z) and (x, z). On rows it
visits each row once. What y and Z need alone is counted once for all x; it is kept apart as "shared".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.bench.peers import Triple
from brai.bench.rates import Rates
from brai.counting import _PAIRS, _STRATA
from brai.kernels.slicing import SETUP, WORTH
from brai.rai import Learner

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """Means over tests."""

    words: float  # of 64 rows, compared with states of x
    strings: float  # that these words are of
    lookups: float  # of cells (x, y, z) and (x, z)
    visits: float  # of rows, by tests that do not use slices
    sliced: float  # share of tests that use slices
    shared_words: float  # to find the cells (z, y), divided among the tests that share them
    shared_lookups: float  # of cells (z, y) and z
    shared_visits: float

    about: ClassVar[dict[str, str]] = {
        "words": "a test",
        "strings": "a test",
        "lookups": "a test",
        "visits": "a test",
        "sliced": "of 1",
    }

    def alone(self, rates: Rates) -> float:
        """Nanoseconds of what a test does for itself, at these rates, and nothing else."""
        return self.words / rates.words + self.lookups / rates.lookups + self.visits / rates.visits

    def decided(self, rates: Rates) -> float:
        """The same with strings one after the other, each deciding what is next."""
        return self.strings / rates.strings + self.visits / rates.visits

    def shared(self, rates: Rates) -> float:
        """Nanoseconds of its part of what tests share."""
        return (
            self.shared_words / rates.words
            + self.shared_lookups / rates.lookups
            + self.shared_visits / rates.visits
        )


def mean_work(learner: Learner, k: int, triples: Sequence[Triple]) -> Work:
    """Work of these tests among the first k variables; what y and Z need is divided by the x that there are."""
    data = learner.data
    parts: dict[tuple[int, tuple[int, ...]], _Part] = {}
    total = np.zeros(8)
    codes, n, words = data.codes.astype(np.int64), data.n_rows, -(-data.n_rows // 64)
    for x, y, given in triples:
        if (y, given) not in parts:
            parts[y, given] = _Part.of(codes, data.arities, y, given)
        part, r = parts[y, given], int(data.arities[x])
        table = np.bincount(part.zy * r + codes[x], minlength=(int(part.zy.max()) + 1) * r).reshape(-1, r)
        lookups = np.count_nonzero(table) + np.count_nonzero(np.bincount(part.z * r + codes[x]))
        sliced = part.strings > 0 and part.cells * (r - 1) * ((n >> 6) + SETUP) <= _limit(n)
        strings = _strings(table, r - 1)
        own = (strings * words, strings, lookups, 0, 1) if sliced else (0, 0, lookups, n, 0)
        sharing = k - 1 - y - sum(v > y for v in given)
        common = np.array([part.strings * words, part.lookups, 0 if part.strings else 2 * n]) / sharing
        total += (*own, *common)
    return Work(*(total / len(triples)).tolist())


class _Part(NamedTuple):
    """What all tests of one y and one Z share."""

    z: Ints  # label of the configuration, by row
    zy: Ints
    cells: int  # (z, y) that occur
    strings: int  # compared to find them; 0 if they are too many for slices
    lookups: int

    @classmethod
    def of(cls, codes: Ints, arities: Ints, y: int, given: tuple[int, ...]) -> _Part:
        n, r, before = codes.shape[1], int(arities[y]), _labels(codes, arities, given[:-1])
        z, last = _labels(codes, arities, given), int(arities[given[-1]]) if given else 0
        k, steps = int(z.max()) + 1, (int(before.max()) + 1) * last
        table = np.bincount(z * r + codes[y], minlength=k * r).reshape(k, r)
        fits = k <= _STRATA and k * r <= _PAIRS and steps * ((n >> 6) + SETUP) <= _limit(n)
        cells = int(np.count_nonzero(table))
        return cls(z, z * r + codes[y], cells, _strings(table, r) + steps if fits else 0, cells + k)


def _limit(n: int) -> int:
    """Words beyond which visiting the rows is cheaper, as `brai.kernels.slicing` has it."""
    return WORTH * n + 512


def _labels(codes: Ints, arities: Ints, given: Sequence[int]) -> Ints:
    """Rows labelled by the configurations of ``given`` that occur."""
    z = np.zeros(codes.shape[1], np.int64)
    for v in given:
        z = z * int(arities[v]) + codes[v]
    return np.unique(z, return_inverse=True)[1].reshape(-1)


def _strings(table: Ints, most: int) -> int:
    """Strings compared: for each occupied cell, the states up to the last that occurs, at most ``most``."""
    last = table.shape[1] - np.argmax(table[:, ::-1] > 0, axis=1)
    return int(np.minimum(last, most)[table.any(axis=1)].sum())
