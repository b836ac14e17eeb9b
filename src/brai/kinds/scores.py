"""Decomposable scores: the log score of a graph is the sum of the local scores of its families.

- ``bdeu``: log marginal likelihood under a Dirichlet prior with equivalent sample size ``ess`` (Heckerman,
  Geiger & Chickering 1995), the paper's score with ess = 1. All declared states count; parent
  configurations that do not occur contribute nothing.
- ``bic``: log-likelihood minus log(N) / 2 for each free parameter.
- ``bge``: the same for measurements, under a normal-Wishart prior (`brai.kinds.gaussian.bge`). ``ess`` is the
  weight of the prior in rows.
- ``qnml``: log-likelihood minus the difference of two penalties of normalised maximum likelihood (NML), that of
  the family and that of the parents (Silander et al. 2018). It has no hyperparameter.

A structure prior (`brai.graphs.priors`) is added to the score of each family.

``auto`` is the marginal likelihood of the kind of data: BDeu or BGe.

Scores are in nats, and always computed on the full data, not on a bootstrap sample.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from brai.graphs.pdag import Family, family_arrays
from brai.kernels.interface import NO_PRIOR, NO_RULE, Evidence, Prior, family_values
from brai.kinds import kind_of
from brai.kinds.base import Table
from brai.runtime.checks import check_ess
from brai.runtime.jit import announce


class FamilyScores:
    """Scores of families on one data set, with a cache.

    ``ess`` is a number, or "table": each table has its own (`brai.kinds.discrete.any_ess`).
    The cache contains at most ``capacity`` families. When it is full it is cleared, which does not change scores.
    """

    def __init__(
        self,
        data: Table,
        score: str = "auto",
        ess: float | str = 1.0,
        capacity: int = 1_000_000,
        prior: Prior = NO_PRIOR,
    ):
        self.kind = kind_of(data)
        score = self.kind.score_named(score)
        self.data, self.score, self.capacity, self.prior = data, score, capacity, prior
        self.ess = check_ess(ess)
        self._terms = self.kind.score_terms(data, score, self.ess)
        self._work, self._depth = self.kind.workspace(data, 2), 2
        self._known: dict[Family, float] = {}
        self._idle: list[FamilyScores] = []
        self.n_computed = 0

    def twin(self) -> FamilyScores:
        """A copy with its own workspace and cache, for another thread."""
        return FamilyScores(**self.__getstate__())

    @contextmanager
    def lent(self) -> Iterator[FamilyScores]:
        """A twin for exclusive use in the context; it is reused afterwards."""
        try:
            twin = self._idle.pop()  # atomic, since several threads may call this at the same time
        except IndexError:
            twin = self.twin()
        yield twin
        self._idle.append(twin)

    def __getstate__(self) -> dict[str, Any]:
        """The state without workspace and cache, which a copy creates anew."""
        names = ("data", "score", "ess", "capacity", "prior")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.data)

    def evidence(self, depth: int) -> Evidence:
        """The argument of kernels, with a workspace for sets of up to ``depth`` - 2 parents."""
        if self._depth < depth:
            self._work, self._depth = self.kind.workspace(self.data, depth), depth
        return Evidence(self.kind.sample(self.data), self._terms, NO_RULE, self._work, self.prior)

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
        """Log score of a graph, or of a part of one: the sum over its families."""
        return float(sum(self.families(list(families))))

    def _compute(self, families: list[Family]) -> list[float]:
        announce(family_values, self.kind.compiled_for(self.data))
        self.n_computed += len(families)
        evidence = self.evidence(2 + max(len(parents) for _, parents in families))
        values: list[float] = family_values(evidence, *family_arrays(families)).tolist()
        return values


MOST = 20  # completed tables that mean scores are taken over


def spread(tables: Sequence[Any]) -> list[Any]:
    """At most MOST of the tables, evenly."""
    chosen = np.unique(np.linspace(0, len(tables) - 1, MOST).astype(int))
    return [tables[i] for i in chosen.tolist()]


class MeanScores:
    """Scores of families as means over completed tables, for a table with missing cells.

    It has what a search over a `FamilyTable` needs once parent sets are listed; kernels take no such scores.
    """

    def __init__(self, data: Any, each: Sequence[FamilyScores]):
        self.data, self.each = data, tuple(each)
        self.kind, self.score, self.ess, self.prior = kind_of(data), each[0].score, each[0].ess, each[0].prior

    def families(self, families: Sequence[Family]) -> list[float]:
        """Mean score of each family."""
        found = [scores.families(families) for scores in self.each]
        return [sum(own) / len(found) for own in zip(*found, strict=True)]

    def total(self, families: Iterable[Family]) -> float:
        """Mean log score of a graph."""
        return float(sum(self.families(list(families))))
