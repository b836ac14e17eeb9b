"""Max-min hill climbing: I. Tsamardinos, L. E. Brown & C. F. Aliferis (2006), "The max-min hill-climbing Bayesian
network structure learning algorithm", Machine Learning 65, 31-78.

MMPC finds the skeleton: two variables are neighbours if no tested condition set makes them independent
(`neighbourhoods`, the paper's Algorithms 1 and 2). Hill climbing then adds and directs edges within the skeleton
(Algorithm 3; `brai.learners.MMHC`). It starts without edges, uses BDeu and a tabu list of 100 graphs, and ends
after 15 moves without a new best score.

**Test** (section 4). G² with the p-value of χ²; p below alpha = 0.05 is dependence. A smaller p means a stronger
association. Ties are broken by G², as in the paper, then by name. Logarithms of p are compared, so values too
small for a float still differ.

**Too few rows** (section 4). "We do not perform an independence test (i.e., we assume independence) unless there
are at least five training instances on average per parameter (count) to be estimated". A count is a cell of the
table of X, T and Z by declared states. The paper adds that only the other condition sets "actually participate"
and that false positives may remain, "in the worst case all other nodes". The authors' later program (Mens X
Machina toolbox: heuristicapplier, citcacalculator) does the same, and so does this module. A condition set Z
without enough rows is skipped. Independence is assumed only if there are too few rows even for the empty set.
``min_rows_per_cell=None`` makes every test.

**Degrees of freedom** (``df=``, see `brai.tree.independence`). The paper refers to the effective number of
parameters of Steck & Jaakkola (2002), occupied cells XYZ + Z - XZ - YZ: here "cells". With it, variables that
determine each other have no degrees of freedom, hence no association. The authors' program instead drops the empty
rows and columns of each stratum: "strata", the default. "full" counts all declared states, as the test "mi" of
bnlearn does. Zero degrees of freedom mean p = 1.

**Left open by the paper.** Phase II checks the candidates in the order in which they were added, and conditions on
the remaining candidates only, as the authors' program does (bnlearn also conditions on those already removed).
Optimisations 4 and 5 of section 6 are not used: they remove or add a variable because of the result for an earlier
target, so results would depend on the order of the targets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from brai.kernels.interface import NO_RULE, Evidence, Rule
from brai.kernels.mmpc import Level, parents_and_children
from brai.kinds import kind_of
from brai.runtime.checks import check_positive
from brai.runtime.jit import announce
from brai.tree.independence import DF


@dataclass(frozen=True)
class Skeleton:
    """The neighbours of each variable, and the number of CI tests made."""

    adjacency: NDArray[np.bool_]  # (d, d), symmetric, in the order of the columns
    n_ci_tests: NDArray[np.int64]  # by order of the test


def neighbourhoods(
    data: Any,
    *,
    alpha: float = 0.05,
    min_rows_per_cell: float | None = 5.0,
    max_order: int | None = None,
    df: Literal["strata", "cells", "full"] = "strata",
) -> Skeleton:
    """Parents and children of every variable: MMPC (Algorithm 2) with each variable as the target.

    Condition sets have at most ``max_order`` variables; None for no limit.
    """
    order = sorted(range(data.n_variables), key=data.names.__getitem__)
    inside = data.select([data.names[i] for i in order])
    kind, d = kind_of(inside), data.n_variables
    rule, level = _rule(df), _level(alpha, min_rows_per_cell, max_order, inside)
    tally = np.zeros(level.max_order + 1, np.int64)
    announce(parents_and_children, kind.compiled_for(data))
    work = kind.workspace(inside, level.max_order + 2)
    evidence = Evidence(kind.sample(inside), kind.test_terms(inside, "g2", 1.0), rule, work)
    found = parents_and_children(evidence, level, tally)
    adjacency = np.zeros((d, d), np.bool_)
    adjacency[np.ix_(order, order)] = found
    return Skeleton(adjacency, np.trim_zeros(tally, "b"))


def _rule(df: str) -> Rule:
    if df not in DF:
        raise ValueError(f"unknown df {df!r}: choose one of {', '.join(DF)}")
    return NO_RULE._replace(df=DF[df])


def _level(alpha: float, rows_per_cell: float | None, max_order: int | None, data: Any) -> Level:
    """The arguments as kernels expect them; ValueError if one is invalid."""
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha!r}: give a level between 0 and 1, such as 0.05")
    if max_order is not None and (not isinstance(max_order, int | np.integer) or max_order < 0):
        raise ValueError(f"max_order is {max_order!r}: give 0, 1, 2, … or None for no limit")
    most = max(data.n_variables - 2, 0)
    return Level(
        math.log(alpha),
        0.0 if rows_per_cell is None else check_positive("min_rows_per_cell", rows_per_cell),
        data.n_rows,
        kind_of(data).levels(data),
        most if max_order is None else min(int(max_order), most),
    )
