"""Local models of mixed families: what is learned of a variable given its parents.

- A measurement is a linear function of the columns of its parents (`brai.data.coding`) plus normal noise, as in
  BGe.
- A variable with states whose parents are all categories has a table, as in a discrete network.
- With other parents it has a softmax regression: log odds of its states are linear in the columns of the parents.
  Coefficients have a standard normal prior, since columns are standardised; so they stay finite if a measurement
  separates the states. One row in N + 1 has any state, with equal probabilities.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from brai.data.measurements import Floats
from brai.data.mixed import Mixed
from brai.graphs.pdag import Family

NEVER = -30.0  # log odds of a state that never occurs
STEPS = 500  # of the fit of a softmax regression


class Softmax(NamedTuple):
    """Log odds of each state: intercept + slopes · columns, up to a constant."""

    intercept: Floats  # (states,)
    slopes: Floats  # (states, columns)
    n_rows: int

    def log_probabilities(self, columns: Floats) -> Floats:
        """Log probability of each state, (states, rows), for columns (columns, rows)."""
        odds = self.intercept[:, None] + self.slopes @ columns
        return smoothed(np.asarray(log_softmax(odds, axis=0)), self.n_rows)


def smoothed(logs: Floats, n_rows: int) -> Floats:
    """Log probabilities if one row in N + 1 has any state."""
    share = 1 / (n_rows + 1)
    return np.logaddexp(logs + np.log1p(-share), np.log(share / len(logs)))


def softmax_of(codes: NDArray[Any], n_states: int, columns: Floats) -> Softmax:
    """The softmax regression of states on columns (columns, rows)."""
    from sklearn.linear_model import LogisticRegression

    n, counts = len(codes), np.bincount(codes, minlength=n_states)
    seen = np.flatnonzero(counts)
    intercept, slopes = np.full(n_states, NEVER), np.zeros((n_states, len(columns)))
    intercept[seen] = np.log(counts[seen] / n)
    if len(seen) < 2 or not len(columns):
        return Softmax(intercept, slopes, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence: a nearly best fit is good enough
        found = LogisticRegression(C=1.0, max_iter=STEPS).fit(columns.T, codes)
    if len(seen) == 2:
        intercept[seen], slopes[seen[1]] = (0.0, found.intercept_[0]), found.coef_[0]
    else:
        intercept[seen], slopes[seen] = found.intercept_, found.coef_
    return Softmax(intercept, slopes, n)


def has_table(data: Mixed, family: Family) -> bool:
    """Whether a family has a table: a variable with states whose parents are categories."""
    x, parents = family
    return data.kinds[x] != "continuous" and all(data.kinds[p] == "discrete" for p in parents)


def design_of(data: Mixed, variables: Sequence[int]) -> Floats:
    """The columns of these variables, (columns, rows)."""
    return data.design[data.coding.columns_of(variables)]


def number_of(ess: float | str) -> float:
    """The weight of the prior of a regression in rows: as given, or 1."""
    return 1.0 if isinstance(ess, str) else float(ess)
