"""Decomposable scores: the log score of a graph is the sum of the scores of its families.

- ``bdeu``: log marginal likelihood under a Dirichlet prior with equivalent sample size ``ess`` (Heckerman,
  Geiger & Chickering 1995), the paper's score with ess = 1. States are the declared ones; parent
  configurations that never occur contribute nothing.
- ``bic``: log-likelihood minus log(N) / 2 for each free parameter.

Scores are in nats and are always those of the full data, never of a bootstrap sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.data.dataset import Dataset
from brai.graphs.pdag import Family
from brai.kinds.discrete.contingency import Cells, Sample, Work
from brai.kinds.discrete.family_scores import family_values
from brai.kinds.discrete.samples import bdeu_cells, full_sample, log_cells, workspace
from brai.runtime.checks import check_positive
from brai.runtime.jit import announce

NAMES = ("bdeu", "bic")


class FamilyScores:
    """Scores of families on one data set, each computed once while the cache has room.

    The cache holds at most ``capacity`` families; when it is full it is emptied, which changes no score.
    """

    def __init__(self, data: Dataset, score: str = "bdeu", ess: float = 1.0, capacity: int = 1_000_000):
        if score not in NAMES:
            raise ValueError(f"unknown score {score!r}: choose one of {', '.join(NAMES)}")
        self.data, self.score, self.capacity = data, score, capacity
        self.ess = check_positive("ess", ess)
        self._sample = full_sample(data)
        penalty = math.log(data.n_rows) / 2
        self._cells = bdeu_cells(data.n_rows, ess) if score == "bdeu" else log_cells(data.n_rows, penalty)
        self._work = workspace(data, 2)
        self._known: dict[Family, float] = {}
        self.n_computed = 0

    def twin(self) -> FamilyScores:
        """The same scores with scratch memory of its own, for another thread."""
        return FamilyScores(self.data, self.score, self.ess, self.capacity)

    def __getstate__(self) -> dict[str, Any]:
        """A copy elsewhere has scratch memory of its own."""
        return {"data": self.data, "score": self.score, "ess": self.ess, "capacity": self.capacity}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __sizeof__(self) -> int:
        return int(self.data.codes.nbytes)

    def arrays(self, depth: int) -> tuple[Sample, Cells, Work]:
        """What kernels score with: sample, cell values, and scratch memory with ``depth`` arrays of labels."""
        if len(self._work.labels) < depth:
            self._work = workspace(self.data, depth)
        return self._sample, self._cells, self._work

    def families(self, families: Sequence[Family]) -> list[float]:
        """Score of each family."""
        known = self._known
        missing = list(dict.fromkeys(f for f in families if f not in known))
        new = dict(zip(missing, self._compute(missing), strict=True)) if missing else {}
        found = [known[f] if f in known else new[f] for f in families]
        if len(known) + len(new) > self.capacity:
            known.clear()
        if len(new) <= self.capacity:
            known.update(new)
        return found

    def total(self, families: Iterable[Family]) -> float:
        """Log score of a graph, or of part of one: the sum over its families."""
        return float(sum(self.families(list(families))))

    def _compute(self, families: list[Family]) -> list[float]:
        announce(family_values, self.data.codes.dtype)
        self.n_computed += len(families)
        kernel = self.arrays(2 + max(len(parents) for _, parents in families))
        values: list[float] = family_values(*kernel, *family_arrays(families)).tolist()
        return values


def family_arrays(families: Sequence[Family]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Families as kernels take them: children, all parents in a row, and where those of each family start."""
    children = np.array([child for child, _ in families], np.int64)
    parents = np.array([p for _, own in families for p in own], np.int64)
    return children, parents, np.cumsum([0, *(len(own) for _, own in families)], dtype=np.int64)
