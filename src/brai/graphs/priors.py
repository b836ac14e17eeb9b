"""Prior distributions over DAGs that are products over families.

The log prior of a DAG is, up to a constant, a sum over variables of log rho(k), where k is the number of parents
of the variable among the d - 1 others:

- ``uniform``: log rho(k) = 0, all DAGs are equally probable;
- ``fair``: log rho(k) = -log C(d - 1, k), all numbers of parents are equally probable and, given the number, all
  parent sets are (Koivisto & Sood 2004; the name is that of Eggeling et al. 2019);
- ``{"strength": κ}``: log rho(k) = -κ log C(d - 1, k); 0 is uniform, 1 is fair;
- ``{"edges": m}``: log rho(k) = k log r, where r is such that the expected number of edges is m.

A product over families ignores that a DAG has no cycles. So the statements above about rho are exact given an
order of the variables, and "expected" includes acyclicity for up to EXACT variables. Constraints (knowledge, a
limit on parents) condition the prior: DAGs that obey keep their relative probabilities.

All of these give the DAGs of an equivalence class the same probability: reversing a covered edge swaps the numbers
of parents of its ends (Chickering 1995).

References: Koivisto & Sood 2004, "Exact Bayesian structure discovery in Bayesian networks", JMLR 5; Eggeling,
Viinikka, Vuoksenmaa & Koivisto 2019, "On structure priors for learning Bayesian networks", AISTATS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.graphs.knowledge import Knowledge
from brai.kernels.interface import Prior

EXACT = 60  # variables up to which the expected number of edges accounts for acyclicity
CHOICES = "'uniform', 'fair', {'strength': number of 0 or more} or {'edges': expected number of edges}"


@dataclass(frozen=True)
class StructurePrior:
    """A prior over DAGs by numbers of parents: a strength, or an expected number of edges."""

    strength: float = 0.0
    edges: float | None = None

    @classmethod
    def of(cls, given: Any) -> StructurePrior:
        """A prior from what a user writes: see the docstring of the module."""
        if isinstance(given, StructurePrior):
            return given
        if given in ("uniform", "fair"):
            return cls(1.0 if given == "fair" else 0.0)
        if isinstance(given, Mapping) and len(given) == 1:
            ((name, value),) = given.items()
            number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
            if name == "strength" and number and value >= 0:
                return cls(float(value))
            if name == "edges" and number and value > 0:
                return cls(edges=float(value))
        raise ValueError(f"structure_prior is {given!r}: choose {CHOICES}")

    @property
    def is_uniform(self) -> bool:
        """Whether all DAGs are equally probable."""
        return self.strength == 0 and self.edges is None

    def sizes(self, d: int) -> NDArray[np.float64]:
        """log rho(k) for k = 0 … d - 1 parents of a variable among d; (0,) if the prior is uniform."""
        if self.is_uniform or d < 2:
            return np.zeros(0)
        if self.edges is not None:
            return np.asarray(np.arange(d) * math.log(edge_odds(d, self.edges)), np.float64)
        return -self.strength * log_choose(d - 1)

    def plain(self) -> Any:
        """As a user would write it, for files and messages."""
        if self.edges is not None:
            return {"edges": self.edges}
        named = {0.0: "uniform", 1.0: "fair"}
        return named.get(self.strength, {"strength": self.strength})

    def sentence(self) -> str:
        """What the prior assumes, in words."""
        if self.edges is not None:
            return f"Before the data, a graph is expected to have {self.edges:g} edges."
        if self.strength == 0:
            return "Before the data, all DAGs are equally probable."
        if self.strength == 1:
            return "Before the data, a variable has any number of parents with equal probability (fair prior)."
        return (
            f"Before the data, sparse graphs are favoured: {self.strength:g} times the log penalty of the fair "
            "prior, under which a variable has any number of parents with equal probability."
        )


def log_choose(n: int) -> NDArray[np.float64]:
    """log C(n, k) for k = 0 … n."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, n + 1)))])
    return np.asarray(factorials[n] - factorials - factorials[::-1])


def edge_odds(d: int, edges: float) -> float:
    """The weight r of an edge for which the expected number of edges of a DAG of d variables is ``edges``."""
    most = d * (d - 1) / 2
    if not 0 < edges < most:
        raise ValueError(
            f"the expected number of edges is {edges:g}: {d} variables have more than 0 and fewer than {most:g}"
        )
    if d > EXACT:
        return edges / (most - edges) / 2
    low, high = -60.0, 60.0  # log r
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_edges(d, math.exp(middle)) < edges else (low, middle)
    return math.exp((low + high) / 2)


def expected_edges(d: int, r: float) -> float:
    """The mean number of edges of a DAG of d variables, if its weight is r to the number of its edges."""
    step = 1e-4
    return (log_weight(d, r * math.exp(step)) - log_weight(d, r * math.exp(-step))) / (2 * step)


def log_weight(d: int, r: float) -> float:
    """Log of the sum of r ** edges over all DAGs of d variables.

    DAGs are counted by their number of sources (variables without parents); each term is positive (Robinson 1973).
    """
    more = math.log1p(r)
    counted = [np.zeros(0)]  # counted[n][k - 1]: log weight of DAGs of n variables with k sources
    for n in range(1, d + 1):
        choose, own = log_choose(n), np.empty(n)
        for k in range(1, n):  # j sources of the rest have an edge from one of the k sources, others may have
            j = np.arange(1, n - k + 1)
            met = j * (k * more + math.log(-math.expm1(-k * more)))
            own[k - 1] = choose[k] + np.logaddexp.reduce(met + k * (n - k - j) * more + counted[n - k])
        own[n - 1] = 0.0
        counted.append(own)
    return float(np.logaddexp.reduce(counted[d]))


def family_prior(structure: StructurePrior, names: Sequence[str], known: Knowledge | None) -> Prior:
    """The log prior of families of these variables, for kernels: the structure prior, and beliefs."""
    sizes = structure.sizes(len(names))
    if known is None or not known.beliefs:
        return Prior(sizes, np.zeros((0, 0)))
    return Prior(sizes, known.log_terms(names, float(sizes[1] - sizes[0]) if len(sizes) > 1 else 0.0))
