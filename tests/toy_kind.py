"""A kind of data that lives in the tests only: real numbers, scored and tested by their covariance.

It proves the seam: tree, search, chains, posterior and workers run on it, and nothing outside `brai.kinds` knows
it. Score: the Gaussian log-likelihood of a regression, with BIC's penalty. Test: N times the Gaussian mutual
information, -N/2 log(1 - r²), with one degree of freedom. Partial covariances come from a sweep over the condition
set, prefix by prefix; that is what `turn` is about.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brai import kinds
from brai.kernels.interface import OPEN, Evidence, Verbs, register
from brai.kinds.base import Kind, Sizes
from brai.runtime.jit import lean, njit

SCALE = 2.0**30


@dataclass(frozen=True, eq=False)
class Reals:
    """A table of real numbers."""

    values: np.ndarray  # (variables, rows)
    names: tuple[str, ...]
    kind: str = "toy"

    @property
    def n_rows(self) -> int:
        return self.values.shape[1]

    @property
    def n_variables(self) -> int:
        return len(self.names)

    def select(self, columns: Sequence[str]) -> Reals:
        return Reals(self.values[[self.names.index(name) for name in columns]], tuple(columns))

    def signature(self) -> str:
        return hashlib.blake2b(self.values.tobytes() + repr(self.names).encode(), digest_size=16).hexdigest()


class Moments(NamedTuple):
    """A sample: what is left of its rows."""

    covariance: np.ndarray
    n_rows: int


class Terms(NamedTuple):
    penalty: float
    scale: float


class Swept(NamedTuple):
    """Partial covariances: level j is given the first j variables of the condition set."""

    levels: np.ndarray  # (depth, d, d)
    given: np.ndarray  # (depth,) int64
    ready: np.ndarray  # (1,) int64


@njit
def begin(evidence):
    evidence.work.levels[0] = evidence.sample.covariance
    evidence.work.ready[0] = 0


@lean
def turn(evidence, level):
    evidence.work.ready[0] = min(evidence.work.ready[0], level)


@lean
def sweep(work, given, n):
    for j in range(work.ready[0], n):
        before, after, v = work.levels[j], work.levels[j + 1], given[j]
        pivot = max(before[v, v], 1e-12)
        for a in range(len(before)):
            for b in range(len(before)):
                after[a, b] = before[a, b] - before[a, v] * before[v, b] / pivot
    work.ready[0] = max(work.ready[0], n)


@lean
def test(evidence, x, y, given, n, collider):
    work = evidence.work
    sweep(work, given, n)
    c = work.levels[n]
    r2 = c[x, y] * c[x, y] / max(c[x, x] * c[y, y], 1e-300)
    value = -0.5 * evidence.sample.n_rows * math.log(max(1.0 - r2, 1e-12))
    return np.int64(np.rint(value * evidence.terms.scale)), 1, OPEN


@lean
def family_value(evidence, x, parents, n):
    work, rows = evidence.work, evidence.sample.n_rows
    sweep(work, parents, n)
    variance = max(work.levels[n, x, x], 1e-12)
    return -0.5 * rows * (math.log(2 * math.pi * variance) + 1) - evidence.terms.penalty * (n + 2)


class Toy(Kind):
    """Gaussian moments, in a few lines."""

    name = "toy"
    scores = ("bdeu", "bic")  # one score, under the names that learners ask for

    def conforming(self, X, like):
        return X

    def resampled(self, data: Reals, seed: np.random.SeedSequence) -> Reals:
        rows = np.sort(np.random.default_rng(seed).integers(0, data.n_rows, data.n_rows))
        return Reals(data.values[:, rows], data.names)

    def halved(self, data: Reals, seed: np.random.SeedSequence) -> Reals:
        rows = np.random.default_rng(seed).choice(data.n_rows, data.n_rows // 2, replace=False)
        return Reals(data.values[:, rows], data.names)

    def stored(self, data: Reals):
        return {}, {"values": data.values}

    def restored(self, names, about, arrays):
        return Reals(arrays.take("values", "float64", len(names), None), names)

    def sample(self, data: Reals) -> Moments:
        return self._moments(data, np.arange(data.n_rows))

    def bootstrap_sample(self, data: Reals, seed: np.random.SeedSequence, used: Any = None) -> Moments:
        return self._moments(data, np.random.default_rng(seed).integers(0, data.n_rows, data.n_rows))

    def _moments(self, data: Reals, rows: np.ndarray) -> Moments:
        return Moments(np.ascontiguousarray(np.cov(data.values[:, rows], bias=True)), data.n_rows)

    def workspace(self, data: Reals, depth: int) -> Swept:
        d = data.n_variables
        return Swept(np.zeros((depth + 1, d, d)), np.zeros(depth, np.int64), np.zeros(1, np.int64))

    def test_terms(self, data: Reals, test: str, ess: float) -> Terms:
        return Terms(0.0, SCALE)

    def score_terms(self, data: Reals, score: str, ess: float) -> Terms:
        return Terms(math.log(data.n_rows) / 2, SCALE)

    def compiled_for(self, data: Reals) -> str:
        return "float64"

    def levels(self, data: Reals) -> np.ndarray:
        return np.ones(data.n_variables, np.int64)

    def constant(self, data: Reals) -> np.ndarray:
        return data.values.std(axis=1) == 0

    def sizes(self, n_rows: int, levels: np.ndarray) -> Sizes:
        d = len(levels)
        return Sizes(8.0 * n_rows * d, 8.0 * d * d, 8.0 * d * d, 64.0 * d * d)

    def predictions(self, families, train, test, ess):
        raise NotImplementedError

    def parameters(self, dag, data, ess):
        raise NotImplementedError

    def question(self, data, x, y, change, values):
        raise NotImplementedError

    def adjusted(self, data, question, given, ess):
        raise NotImplementedError


# Compiled algorithms are cached by the type of the sample: a change of this file must be another type.
_digest = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=4).hexdigest()
Moments.__name__ = Moments.__qualname__ = f"Moments_{_digest}"
register(Moments, Verbs(begin, turn, test, family_value))
kinds.register(Toy())


def linear_table(dag: np.ndarray, rows: int, seed: int) -> Reals:
    """Rows of a linear Gaussian network over this DAG (row to column, in topological order)."""
    rng, d = np.random.default_rng(seed), len(dag)
    values = np.zeros((d, rows))
    for v in range(d):
        values[v] = rng.normal(size=rows) + sum(
            rng.choice([-1.0, 1.0]) * values[p] for p in np.flatnonzero(dag[:, v])
        )
    return Reals(values, tuple(f"v{i:02d}" for i in range(d)))


__all__ = ["Evidence", "Reals", "Toy", "linear_table"]
