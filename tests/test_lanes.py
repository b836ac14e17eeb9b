"""Strings of bits, eight words at a time, against the same bits one by one."""

from __future__ import annotations

import numpy as np
import pytest

from brai.kernels import simd
from brai.kernels.simd import LANES
from brai.runtime.jit import njit

pytestmark = pytest.mark.kernels


@njit
def kernel(a, b, out, block, bits, first, r, held, place, weight, values, counts):
    """All of them, from compiled code, as they are used."""
    n, m = simd.in_common(a, b), simd.intersect(a, b, out)
    simd.count_lanes(block, bits, first, r, held, counts)
    total, states = simd.weigh_lanes(block, bits, first, r, held, place, weight, values)
    return n, m, total, states


@njit
def filled(block, strings, sources, bits, others):
    simd.fill_block(block, strings, sources, bits, others)


def one_by_one(words):
    """Bits of strings along the last axis."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1).astype(np.int64)


def strings(rng, n, words):
    """Some dense, some nearly empty, some all ones."""
    made = rng.integers(0, 2**64, (n, words), np.uint64)
    made[rng.random(n) < 0.3] &= rng.integers(0, 2**16, words, np.uint64)
    made[rng.random(n) < 0.1] = ~np.uint64(0)
    return made


@pytest.mark.parametrize("words", [8, 16, 80])
@pytest.mark.parametrize("r", [1, 2, 3, 7])
def test_counts_and_values(rng, words, r):
    for _ in range(20):
        bits, columns = strings(rng, 12, words), strings(rng, LANES, words)
        block, first = np.ascontiguousarray(columns.T), int(rng.integers(0, 12 - r + 2))
        split = one_by_one(columns) @ one_by_one(bits[first : first + r - 1]).T  # (lane, state)
        held = split.sum(axis=1) + rng.integers(0, 3, LANES)
        values = rng.integers(-(2**40), 2**40, (2, held.max() + 1))
        place, weight = rng.choice([0, values.shape[1]], LANES), rng.integers(-2, 5, LANES)
        out, counts = np.zeros(words, np.uint64), np.zeros((r, LANES), np.int64)
        n, m, total, states = kernel(
            bits[0], columns[0], out, block, bits, first, r, held, place, weight, values, counts
        )
        assert n == m == (one_by_one(bits[0]) & one_by_one(columns[0])).sum()
        assert (out == bits[0] & columns[0]).all()
        expected = np.column_stack([split, held - split.sum(axis=1)])
        assert (expected == counts.T).all()
        assert total == sum(values.flat[p + n] for p, own in zip(place, expected, strict=True) for n in own)
        assert states == sum(w * (np.count_nonzero(own) - 1) for w, own in zip(weight, expected, strict=True))


@pytest.mark.parametrize("words", [8, 24])
def test_strings_side_by_side(rng, words):
    own, bits, block = strings(rng, 20, words), strings(rng, 30, words), np.zeros((words, LANES), np.uint64)
    sources, others = rng.integers(0, 20, LANES), rng.integers(0, 30, LANES)
    filled(block, own, sources, bits, others)
    assert (block == (own[sources] & bits[others]).T).all()
