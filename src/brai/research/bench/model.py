"""The work of a conditional-independence (CI) test, counted independently of our kernels.

Work consists of 64-bit words, table look-ups and row visits. A test of x and y given Z on bit slices takes each
configuration z in which y varies, and each of its cells (z, y). It splits them by all states of x but the last,
and looks up a value for each part. Bit strings are stored in blocks of eight lanes; a z and its cells share a
block if they fit. Empty lanes and words are processed too. A test on rows visits each row once. Work that depends
only on y and Z is done once for all x; it is counted separately as "shared".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.kernels.simd import LANES
from brai.kinds.discrete.bit_tests import BESIDES, PER_ROW, SETUP, WORTH
from brai.kinds.discrete.samples import _BLOCKS, _STRATA, _words
from brai.research.bench.peers import Triple
from brai.research.bench.rates import Rates
from brai.tree.rai import Learner

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """Means over tests."""

    words: float  # words of 64 rows, compared with states of x
    filled: float  # share of these words in lanes that are used
    lookups: float  # look-ups of counts in all lanes, used or empty
    visits: float  # row visits, by tests that do not use bit slices
    sliced: float  # share of tests that use bit slices
    shared_words: float  # words to find the cells (z, y), divided among the tests that share them
    shared_lookups: float  # look-ups of cells (z, y) and of z
    shared_visits: float

    about: ClassVar[dict[str, str]] = {
        "words": "a test",
        "filled": "of 1",
        "lookups": "a test",
        "visits": "a test",
        "sliced": "of 1",
    }

    def alone(self, rates: Rates) -> float:
        """Nanoseconds of the work that a test does not share, at these rates."""
        return self.words / rates.words + self.lookups / rates.lookups + self.visits / rates.visits

    def shared(self, rates: Rates) -> float:
        """Nanoseconds of its part of the shared work."""
        return (
            self.shared_words / rates.words
            + self.shared_lookups / rates.lookups
            + self.shared_visits / rates.visits
        )


def mean_work(learner: Learner, k: int, triples: Sequence[Triple]) -> Work:
    """Mean work of these tests among the first k variables; shared work is divided by the number of x."""
    data: Any = learner.data
    parts: dict[tuple[int, tuple[int, ...]], _Part] = {}
    total = np.zeros(8)
    codes, n, words = data.codes.astype(np.int64), data.n_rows, _words(data.n_rows)
    for x, y, given in triples:
        if (y, given) not in parts:
            parts[y, given] = _Part.of(codes, data.arities, y, given)
        part, r = parts[y, given], int(data.arities[x])
        fits = part.blocks >= 0 and part.blocks * (r - 1) * ((n >> 6) + BESIDES) <= PER_ROW * n + 128
        lanes = part.blocks * LANES
        each = (r - 1) * words
        own = (lanes * each, part.lanes * each, lanes * r, 0, 1) if fits else (0, 0, 0, n, 0)
        sharing = k - 1 - y - sum(v > y for v in given)
        common = np.array([part.strings * words, part.lookups, 0 if part.strings else 2 * n]) / sharing
        total += (*own, *common)
    words_done, filled, *others = (total / len(triples)).tolist()
    return Work(words_done, filled / words_done if words_done else 1.0, *others)


class _Part(NamedTuple):
    """The work that all tests of one y and one Z share."""

    lanes: int  # number of z in which y varies, and of their cells
    blocks: int  # blocks of eight lanes; -1 if there are too many
    strings: int  # bit strings read or written to find them; 0 if there are too many
    lookups: int

    @classmethod
    def of(cls, codes: Ints, arities: Ints, y: int, given: tuple[int, ...]) -> _Part:
        n, r, before = codes.shape[1], int(arities[y]), _labels(codes, arities, given[:-1])
        z, last = _labels(codes, arities, given), int(arities[given[-1]]) if given else 0
        k, steps = int(z.max()) + 1, (int(before.max()) + 1) * last
        table = np.bincount(z * r + codes[y], minlength=k * r).reshape(k, r)
        taken = [1 + int(seen) for seen in np.count_nonzero(table, axis=1) if seen > 1]
        blocks = _blocks(taken)
        fits = k <= _STRATA and blocks <= _BLOCKS and steps * ((n >> 6) + SETUP) <= WORTH * n + 512
        strings = steps + k * (r - 1) + LANES * blocks
        return cls(sum(taken), blocks, strings, k + sum(taken)) if fits else cls(sum(taken), -1, 0, k + sum(taken))


def _blocks(taken: Sequence[int]) -> int:
    """Number of blocks for groups of lanes, filled in order; a group that does not fit starts a new block."""
    blocks, lane = 0, LANES
    for n in taken:
        if lane + n > LANES:
            more = -(-n // LANES)
            blocks, lane = blocks + more, n - (more - 1) * LANES
        else:
            lane += n
    return blocks


def _labels(codes: Ints, arities: Ints, given: Sequence[int]) -> Ints:
    """Rows labelled by the configurations of ``given`` that occur."""
    z = np.zeros(codes.shape[1], np.int64)
    for v in given:
        z = z * int(arities[v]) + codes[v]
    return np.unique(z, return_inverse=True)[1].reshape(-1)
