"""The draws that probabilities of `BRAI` are computed from: chains on the data, and on halves of it.

Chains start at the best graph, and where searches from different draws of the tree end. Starts whose score is far
below the best are left out: a chain could stay in such a mode, and it would count as much as the others.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.data.incomplete import Incomplete
from brai.graphs.pdag import Family, families_of
from brai.kinds.scores import spread
from brai.learners.base import bounds_of
from brai.learners.completed import lengths_of
from brai.posterior.bagged import BAGS, sample_bagged
from brai.posterior.chains import APART, ESS, R_HAT, Draws
from brai.posterior.mcmc import BLOCKS, sample_dags
from brai.runtime.progress import counted, status
from brai.runtime.workers import Workers
from brai.search.family_table import FamilyTable
from brai.search.from_tree import climbed_draws
from brai.search.joint_parents import deepen

MODES = 10.0  # nats below the best graph where chains may start: lower modes weigh next to nothing


class ConvergenceWarning(UserWarning):
    """The chains have not converged; probabilities computed from them are rough."""


def table_of_chains(model: Any, workers: Workers, deadline: float) -> FamilyTable:
    """The parent sets for chains: those of a search, of the tree, of the best graph, and near it."""
    data = model._train.tables[-1] if isinstance(model._train, Incomplete) else model._train
    scores = model._family_scores(data.select(sorted(data.names)))
    names = scores.data.names
    best = families_of(model.dag_.reorder(names))
    bounds = bounds_of(model._obeyed, names)._asdict()
    slack = scores.kind.slack
    table = FamilyTable(scores, max_parents=model._most_parents(data), slack=slack, **bounds)
    table.add(family for leaf in model.tree_.leaves for family in leaf.families)
    table.add(best)
    if (joint := getattr(model, "_joint", None)) is None:  # a loaded model
        joint = deepen(table, workers=workers, deadline=halfway(deadline)).families
    table.add(joint)
    table.grow(best, slack)
    return table


def draw_chains(model: Any, table: FamilyTable, workers: Workers, deadline: float) -> Draws:
    """DAGs of chains on the data."""
    names = table.scores.data.names
    best = families_of(model.dag_.reorder(names))
    least, n = model.log_score_ - MODES, 2 * model.n_chains
    climbed = climbed_draws(model.tree_, table, least, n, deadline, model._seed, workers)
    starts = [*dict.fromkeys([best, *climbed])][: model.n_chains]
    starts += [best] * (model.n_chains - len(starts))
    n_draws, thin = lengths_of(model, model.n_features_in_)
    with counted(model.verbose, "chains over DAGs", BLOCKS) as advance:
        return sample_dags(
            table,
            n_draws,
            starts=starts,
            thin=thin,
            burn_in=thin * n_draws // 2,
            max_parents=limits(table.max_parents, starts, len(names)),
            seed=branch(model._seed, 1),
            deadline=deadline,
            advance=advance,
            workers=workers,
        )


def draw_bags(model: Any, workers: Workers, deadline: float) -> Draws:
    """DAGs of chains on halves of the rows; in all as many as the chains on the data draw."""
    with status(model.verbose, "listing parent sets"):
        table = table_of_chains(model, workers, deadline)
    best = families_of(model.dag_.reorder(table.scores.data.names))
    n_draws, thin = lengths_of(model, model.n_features_in_)
    others: list[Any] = []
    if isinstance(model._train, Incomplete):
        others = [model._family_scores(own.select(sorted(own.names))) for own in spread(model._train.tables)]
    with counted(model.verbose, "halves of the rows", BAGS) as advance:
        return sample_bagged(
            table,
            best,
            max(1, math.ceil(model.n_chains * n_draws / BAGS)),
            thin=thin,
            max_parents=limits(table.max_parents, [best], len(best)),
            seed=branch(model._seed, 2),
            others=others,
            deadline=deadline,
            advance=advance,
            workers=workers,
        )


def halfway(deadline: float) -> float:
    """Half of the time that is left."""
    return deadline if math.isinf(deadline) else (time.monotonic() + deadline) / 2


def limits(max_parents: int, starts: Sequence[Sequence[Family]], d: int) -> NDArray[np.int64]:
    """Most parents of each variable: ``max_parents``, or as many as it has in a start."""
    most = np.full(d, max_parents, np.int64)
    for start in starts:
        for v, own in start:
            most[v] = max(most[v], len(own))
    return most


def branch(seed: np.random.SeedSequence, part: int) -> np.random.SeedSequence:
    """A seed of its own for a part of the work, whatever was drawn before; the tree has paths from 0 on."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2**32 - 1 - part))


def warn_of_chains(chains: Draws) -> None:
    """Give a ConvergenceWarning if the chains have not converged."""
    found = chains.convergence()
    if not found.converged:
        warnings.warn(
            f"the chains have not converged: R-hat {found.r_hat:.2f} (limit {R_HAT}), effective sample size "
            f"{found.ess:.0f} (at least {ESS}), edge probabilities differ by up to {found.largest:.2f} between "
            f"chains (limit {APART}): increase n_draws or thin and fit again, or take probabilities as rough",
            ConvergenceWarning,
            stacklevel=4,
        )
