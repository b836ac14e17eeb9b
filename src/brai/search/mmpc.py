"""Max-min hill climbing: I. Tsamardinos, L. E. Brown & C. F. Aliferis (2006), "The max-min hill-climbing Bayesian
network structure learning algorithm", Machine Learning 65, 31-78.

MMPC finds the skeleton: two variables are neighbours if no condition set it tries makes them independent
(`neighbourhoods`, the paper's Algorithms 1 and 2). Hill climbing then directs and prunes it (Algorithm 3;
`brai.learners.MMHC`): from no edges, by BDeu, with a tabu list of 100 graphs, ended by 15 moves without a new
best.

**Test** (section 4). G² with the p-value of χ²; p below alpha = 0.05 is dependence. The association of two
dependent variables is higher the smaller p is, ties broken by G² as in the paper, then by name. p-values are
compared by their logarithm, so those too small for a float still differ.

**Too few rows** (section 4). "We do not perform an independence test (i.e., we assume independence) unless there
are at least five training instances on average per parameter (count) to be estimated". A count is a cell of the
table of X, T and Z by declared states. The paper goes on that only the other condition sets "actually
participate" and that false positives may stay, "in the worst case all other nodes". Its authors' later program
(Mens X Machina toolbox: heuristicapplier, citcacalculator) does the same, and so it is here: a set Z without
enough rows takes no part, and independence is assumed only where not even the pair alone has enough.
``min_rows_per_cell=None`` makes every test.

**Degrees of freedom** (``df=``, see `brai.tree.independence`). The paper refers to the effective number of
parameters of Steck & Jaakkola (2002): occupied cells XYZ + Z - XZ - YZ, here "cells". By it variables that
determine each other have no degree of freedom, hence no association. The authors' program drops the empty rows
and columns of each stratum instead: "strata", the default. "full" takes all declared states, as the test "mi" of
bnlearn does. No degree of freedom means p = 1.

**Left open by the paper.** Phase II looks at members in the order in which they entered, and conditions on those
still in, as the authors' program does (bnlearn conditions on those already dropped, too). Optimisations 4 and 5
of section 6 are not in use: they drop or admit a variable by what an earlier target found, so results would
depend on the order of the targets.
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
    """Which variables are neighbours, and the tests it took."""

    adjacency: NDArray[np.bool_]  # (d, d), symmetric, in the order of the columns
    n_ci_tests: NDArray[np.int64]  # by order


def neighbourhoods(
    data: Any,
    *,
    alpha: float = 0.05,
    min_rows_per_cell: float | None = 5.0,
    max_order: int | None = None,
    df: Literal["strata", "cells", "full"] = "strata",
) -> Skeleton:
    """Parents and children of every variable: MMPC (Algorithm 2) with each variable as the target.

    Condition sets hold at most ``max_order`` variables; None sets no limit of its own.
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
    """The arguments as kernels take them; ValueError if one makes no sense."""
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
