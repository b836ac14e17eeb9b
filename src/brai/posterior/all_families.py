"""Scores of all families of few variables, and what computations on them cost; for `brai.posterior.exact`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import count
from brai.graphs.adjacency import bits
from brai.graphs.knowledge import Bounds, Knowledge
from brai.graphs.pdag import PDAG
from brai.graphs.priors import StructurePrior, family_prior
from brai.kernels import subsets
from brai.kinds import table_of
from brai.kinds.scores import FamilyScores
from brai.runtime.checks import check_count

Task: TypeAlias = Literal["map", "k_best", "order", "dags", "layers", "table"]
Floats: TypeAlias = NDArray[np.float64]

MAX_GB, MAX_MINUTES = 8.0, 10.0
N_CLASSES = {1: 1, 2: 2, 3: 11, 4: 185, 5: 8782}  # equivalence classes by number of variables
_CHUNK = 50_000  # families scored in one call
_CURES = {
    "map": "set max_parents, leave variables out",
    "k_best": "lower k, set max_parents, leave variables out",
    "order": "set max_parents, leave variables out",
    "dags": "use prior='order', draw DAGs (brai.posterior.dp_mcmc), leave variables out",
    "layers": "draw DAGs by a chain (BRAI.chains, brai.posterior.dp_mcmc), leave variables out",
    "table": "set max_parents, leave variables out",
}


class TooLargeError(ValueError):
    """The computation would need more memory or time than allowed."""


class Limits(NamedTuple):
    """Limits of memory (GB) and time (minutes) of a call."""

    max_gb: float = MAX_GB
    max_minutes: float = MAX_MINUTES


class Cost(NamedTuple):
    """Estimated cost of a call: bytes of memory, elementary steps, and minutes on one core."""

    bytes: float
    operations: float
    minutes: float


# --- cost -----------------------------------------------------------------------------------------------


def estimate(d: int, what: Task, *, n_rows: int = 1000, max_parents: int | None = None, k: int = 100) -> Cost:
    """Estimate memory and time of a task on d variables.

    Tasks: "map" is `map_network`; "k_best" is `k_best`; "order" and "dags" are `edge_probabilities` with that
    prior; "layers" is `sample_dags`, and the fallback of "dags"; "table" is the array of local scores alone.

    Steps: local scores take one for each family, row and parent. To these, "map" and "order" add d² 2^d, "dags"
    3^d, "layers" 4^d, "k_best" d 2^d k. Time is for one core, meant to be right within a factor of three.
    """
    if what not in _CURES:
        raise ValueError(f"what is {what!r}: choose one of {', '.join(_CURES)}")
    d = min(d, 200)  # larger values are refused anyway, and would overflow
    most = d - 1 if max_parents is None else min(max_parents, d - 1)
    sizes = [(n, float(math.comb(d - 1, n))) for n in range(most + 1)]
    n_families, cells = d * sum(c for _, c in sizes), d * 2.0 ** (d - 1)
    counted = d * n_rows * sum((n + 3) * c for n, c in sizes)
    steps, seconds, memory = counted, 1.5e-9 * counted + 2e-6 * n_families, 8 * cells + 3e8  # Python, numba
    if what == "map":
        steps, seconds, memory = steps + d * cells, seconds + 2e-9 * d * cells, memory + 12 * cells + 9 * 2.0**d
    elif what == "order":
        steps, seconds, memory = steps + d * cells, seconds + 1.2e-8 * d * cells, memory + 16 * cells + 16 * 2.0**d
    elif what == "dags":
        steps, seconds, memory = steps + 2 * 3.0**d, seconds + 2.5e-8 * 3.0**d, memory + 24 * cells + 64 * 2.0**d
    elif what == "layers":
        steps, seconds = steps + 2 * 4.0**d, seconds + 2e-8 * 4.0**d
        memory += 16 * (d * 3.0 ** (d - 1) + 3.0**d) + 16 * cells
    elif what == "k_best":
        k = min(k, N_CLASSES.get(d, k))
        scan = cells * n_families / d  # parent sets skipped because they are not in the subset
        steps, memory = steps + cells * k + scan, memory + 25 * k * 2.0**d + 24 * cells
        seconds += 1e-7 * cells * k + 5e-10 * scan + 2e-4 * k
    return Cost(memory, steps, seconds / 60)


def refuse(d: int, what: Task, cost: Cost, max_gb: float, max_minutes: float) -> None:
    """Raise TooLargeError if the cost is above the limits."""
    if cost.bytes > max_gb * 1e9 or cost.minutes > max_minutes:
        raise TooLargeError(
            f"{what!r} over {count(d, 'variable')} takes about {cost.bytes / 1e9:.3g} GB and {cost.minutes:.3g} "
            f"minutes; limits: max_gb={max_gb:g}, max_minutes={max_minutes:g}: {_CURES[what]}, or raise the limits"
        )


class Model(NamedTuple):
    """What a family scores: the score and its ess, the structure prior, knowledge, and a limit on parents."""

    score: str = "auto"
    ess: float | str = 1.0
    max_parents: int | None = None
    structure_prior: Any = "uniform"
    knowledge: Any = None


@dataclass(frozen=True)
class FamilyScoreTable:
    """Local log scores of all families, as `brai.kernels.subsets` expects them."""

    names: tuple[str, ...]  # in the order of the data
    order: tuple[str, ...]  # sorted
    scores: Floats  # (d, 2^(d-1)) over sorted names; -inf for too many parents

    @classmethod
    def of(
        cls,
        data: Any,
        model: Model,
        what: Task,
        limits: Limits,
        k: int = 1,
    ) -> FamilyScoreTable:
        """Score all families of the data; TooLargeError if the task ``what`` would exceed the limits.

        Families that the knowledge forbids have the score -inf.
        """
        data, max_parents = table_of(data), model.max_parents
        check_count("max_parents", max_parents, none="no limit")
        d = data.n_variables
        cost = estimate(d, what, n_rows=data.n_rows, max_parents=max_parents, k=k)
        refuse(d, what, cost, *limits)
        order = tuple(sorted(data.names))
        known = None if model.knowledge is None else Knowledge.of(model.knowledge)
        prior = family_prior(StructurePrior.of(model.structure_prior), order, known)
        scores = FamilyScores(data.select(order), model.score, model.ess, capacity=0, prior=prior)
        table = _all_scores(scores, d, d - 1 if max_parents is None else max_parents)
        if known is not None:
            _forbid(table, known.bound(order))
        return cls(data.names, order, table)

    def shifted(self) -> Floats:
        """Scores shifted so that the best of each variable is 0; this changes no probability."""
        return np.ascontiguousarray(self.scores - self.scores.max(axis=1, keepdims=True))

    def total(self, parents: list[int]) -> float:
        """Log score of a DAG given by parent sets (bit masks) over sorted names."""
        return float(sum(self.scores[v, subsets.squeeze(own, v)] for v, own in enumerate(parents)))

    def dag(self, parents: list[int]) -> PDAG:
        """The DAG given by parent sets (bit masks) over sorted names; its nodes are in the order of the data."""
        return PDAG.from_parents(self.order, [tuple(bits(own)) for own in parents]).reorder(self.names)

    def outward(self, matrix: Floats) -> Floats:
        """Reorder a matrix from sorted names to the order of the data."""
        rank = [self.order.index(name) for name in self.names]
        return matrix[np.ix_(rank, rank)]


def _all_scores(scores: FamilyScores, d: int, max_parents: int) -> Floats:
    table = np.full((d, 1 << (d - 1)), -np.inf)
    for v in range(d):
        others = [u for u in range(d) if u != v]
        for size in range(min(max_parents, d - 1) + 1):
            sets = combinations(others, size)
            while chunk := list(islice(sets, _CHUNK)):
                members = np.array(chunk, np.int64).reshape(len(chunk), size)
                at = (1 << (members - (members > v))).sum(axis=1)
                table[v, at] = scores.families([(v, own) for own in chunk])
    return table


def _forbid(table: Floats, bounds: Bounds) -> None:
    """Set the score of each family that violates the bounds to -inf."""
    sets = np.arange(table.shape[1])
    for v, own in enumerate(table):
        for place, u in enumerate(u for u in range(len(table)) if u != v):
            inside = sets >> place & 1 == 1
            if not bounds.allowed[u, v]:
                own[inside] = -np.inf
            if bounds.required[u, v]:
                own[~inside] = -np.inf
        if not np.isfinite(own).any():
            raise ValueError(
                "the knowledge requires more parents of a variable than max_parents: raise max_parents"
            )
