"""Conditional-independence (CI) tests on weighted counts, and the d-separation oracle.

Every test compares a statistic of X, Y given Z, in nats, with a critical value that depends on the degrees
of freedom df. X and Y are independent if the statistic is at most the critical value.

==============  =================================  ============================================================
name            statistic                          critical value
==============  =================================  ============================================================
cmi             N · CMI                            N · threshold (default 0.01 nats)
cmi-c1          N · CMI                            threshold · df / 2 = threshold · N · C1 (default 1 / ln 2)
g2              N · CMI, half of G²                half the (1 - alpha) quantile of χ² with df
bayes-factor    log Bayes factor, BDeu with ess    0: dependent if Y as a parent of X raises the score
==============  =================================  ============================================================

**C1**, the paper's threshold, is the leading term of the bias of the plug-in CMI (Treves & Panzeri 1995): its
mean when X and Y are independent. That article states it in bits, df / (2 N ln 2); in nats it is df / 2N. The
default compares the CMI in nats with C1 as printed, that is with 1 / ln 2 = 1.44 times the mean. With
``threshold=1`` the units agree, but about two in five independent pairs are then found dependent, for any N. Both
are compared in docs/results/tests-and-thresholds.md.

**A fixed threshold** (cmi) does not depend on N. ``threshold="auto"`` lets the learner choose one of GRID: RAI and
B-RAI fit with one after the other, the largest first, and keep the fit whose graph has the highest score on the
training data. A smaller threshold takes more tests, in the end very many. So a fit is cut at 200 d² tests (at most
a million) or five times those of the best fit so far, or at max_tests; no smaller threshold is tried after that.
Yehezkel and Lerner (2009) chose one threshold per network for RAI; the paper does not say which ones it used.

**Degrees of freedom** (``df=``): "strata", the default, is the sum of (states of X seen - 1)(states of Y seen - 1)
over the occupied configurations of Z. "cells" counts occupied cells XYZ + Z - XZ - YZ. It is the same if every
cell is occupied, but too small in sparse tables, where it may even be zero for a strong dependence. "full" uses
all declared states, (|X| - 1)(|Y| - 1)|Z|; it is too large in sparse tables.

**df = 0**: every configuration of Z occurs with only one state of X or only one of Y, as when Z determines X. CMI
and C1 are both zero, and the data do not decide. By the threshold X and Y are independent, and this is the
default. With ``undecided="keep"`` such a test removes no edge (a constant variable is still independent of all
others). That helps if variables determine each other, but can take very many tests. Such a test does not refute a
v-structure.

**Bootstrap samples.** Resampling adds noise: on a bootstrap sample the mean of N · CMI is higher by about df / 2
than on the data from which it was drawn (Steck & Jaakkola 2003). With ``correction`` (the default) the critical
value on bootstrap samples is raised by df / 2. It is not raised on the data.

**Colliders.** A v-structure x → z ← y implies that x and y, independent given S, are dependent given S and z.
``colliders=0.05`` (the default) verifies this by a G-test at that level; "same" uses the test itself; None accepts
every v-structure. The Bayes factor has no level, so there a number means "same".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG
from brai.kernels.interface import CELLS, FULL, STRATA, Rule
from brai.runtime.checks import check_positive

NAMES = ("cmi", "cmi-c1", "g2", "bayes-factor")
DF = {"strata": STRATA, "cells": CELLS, "full": FULL}
GRID = (
    0.5,
    0.3,
    0.2,
    0.12,
    0.08,
    0.05,
    0.03,
    0.02,
    0.01,
    0.005,
    0.002,
)  # thresholds of "auto", in nats; fewest tests first
_THRESHOLD = {"cmi": 0.01, "cmi-c1": 1 / math.log(2)}


@dataclass(frozen=True)
class CITest:
    """A CI test and its level. The fields are explained in the docstring of the module."""

    name: str = "cmi-c1"
    threshold: float | Literal["auto"] | None = None  # cmi: nats, or "auto"; cmi-c1: multiple of C1
    alpha: float = 0.05  # g2
    ess: float = 10.0  # bayes-factor
    df: Literal["strata", "cells", "full"] = "strata"
    undecided: Literal["remove", "keep"] = "remove"  # what a test with df = 0 does to an edge
    correction: bool = True
    colliders: float | Literal["same"] | None = 0.05

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"unknown CI test {self.name!r}: choose one of {', '.join(NAMES)}")
        if self.df not in DF:
            raise ValueError(f"unknown df {self.df!r}: choose one of {', '.join(DF)}")
        if self.undecided not in ("remove", "keep"):
            raise ValueError(f"undecided is {self.undecided!r}: choose 'remove' or 'keep'")
        if self.threshold is not None and self.name not in _THRESHOLD:
            raise ValueError(f"the test {self.name} has no threshold: leave it out")
        if isinstance(self.threshold, str) and (self.name, self.threshold) != ("cmi", "auto"):
            cure = "give a number, or 'auto'" if self.name == "cmi" else "give a number; only cmi has 'auto'"
            raise ValueError(f"the threshold of {self.name} is {self.threshold!r}: {cure}")
        for field in ("alpha", "colliders"):
            level = getattr(self, field)
            if isinstance(level, str) and (field, level) == ("colliders", "same"):
                continue
            if level is None and field == "colliders":
                continue
            if not (isinstance(level, float | int) and 0 < level < 1):
                raise ValueError(f"{field} is {level!r}: give a level between 0 and 1, such as 0.05")
        for field in ("threshold", "ess"):
            value = getattr(self, field)
            if not (field == "threshold" and value in (None, "auto")):
                check_positive(field, value)

    @classmethod
    def of(cls, test: str | CITest, *, bootstrap: bool = False, alpha: float | None = None) -> CITest:
        """The test of this name; a CITest is returned unchanged.

        "auto" is cmi-c1, or the G-test at level ``alpha`` if the kind of data has one (`Kind.test_level`). If most
        tests are made on bootstrap samples, whose critical values are raised, the threshold of cmi-c1 is 1 C1.
        That was best for B-RAI over ten networks and 500 to 5000 rows (docs/results/tests-and-thresholds.md).
        """
        if isinstance(test, CITest):
            return test
        if test == "auto" and alpha is not None:
            return cls("g2", alpha=alpha)
        if test == "auto":
            return cls("cmi-c1", threshold=1.0 if bootstrap else None)
        return cls(test)

    @property
    def choices(self) -> tuple[CITest, ...]:
        """The tests to choose from: one per threshold of GRID if the threshold is "auto", else this one."""
        return tuple(replace(self, threshold=t) for t in GRID) if self.threshold == "auto" else (self,)

    @property
    def verifies(self) -> bool:
        """Whether v-structures are tested before they are accepted."""
        return self.colliders is not None

    @lru_cache(maxsize=16)  # noqa: B019 - at most 16 entries, and a test is a small object
    def rule(self, n_rows: int, *, bootstrap: bool) -> Rule:
        """Critical values for data of ``n_rows`` rows."""
        df = np.arange(min(max(4 * n_rows, 64), 2**16), dtype=float)
        own = self._critical(df, n_rows)
        level = self.colliders
        if isinstance(level, float) and self.name != "bayes-factor":
            seen = replace(self, name="g2", threshold=None, alpha=level)._critical(df, n_rows)
        else:
            seen = own
        critical = np.stack([own, seen])
        if bootstrap and self.correction:
            critical += df / 2
        if self.df != "cells":  # with "cells", df may be 0 for a strong dependence
            critical[:, 0] = (np.inf if self.undecided == "remove" else -np.inf), -np.inf
        return Rule(critical, DF[self.df], np.zeros((0, 0), np.uint8))

    def _critical(self, df: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
        threshold = _THRESHOLD.get(self.name) if self.threshold is None else self.threshold
        if isinstance(threshold, str):
            raise ValueError("threshold='auto' is for RAI and BRAI, which choose one: give a number here")
        match self.name:
            case "cmi":
                return np.full(len(df), n_rows * float(threshold or 0))
            case "cmi-c1":
                return float(threshold or 0) * df / 2
            case "g2":
                from scipy.special import chdtri

                return np.concatenate([[0.0], np.asarray(chdtri(df[1:], self.alpha)) / 2])
            case _:
                return np.zeros(len(df))


@dataclass(frozen=True)
class Oracle:
    """A perfect CI test: d-separation in a known DAG."""

    dag: PDAG
    verifies: bool = True

    def __post_init__(self) -> None:
        if not self.dag.is_dag():
            raise ValueError("the oracle needs a DAG: give PDAG.to_dag() of the graph")

    def rule(self, names: tuple[str, ...]) -> Rule:
        """The rule of d-separation in the DAG, with variables in the order of ``names``."""
        truth = self.dag.reorder(names).adjacency.astype(np.uint8)
        return Rule(np.zeros((2, 2)), STRATA, truth)
