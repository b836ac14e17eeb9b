"""Learning from tables with missing cells: completed tables first, then the learner on these.

`completed` starts from a graph that is scored on the rows that are there (`brai.search.complete_families`),
chooses hyperparameters on a table completed with it, and draws completed tables and DAGs by data augmentation
(`brai.posterior.augmentation`). The first graph misses edges, so cells completed with it are too noisy, and such
a table favours other hyperparameters. So a graph is searched on it, the cells are completed with that one, and
the choice is made again until it stays the same.

`BRAI` takes its probabilities from these DAGs. A learner of a single graph learns one from each completed table;
its posterior gives them equal weights, and `dag_` is the one of highest mean score over all tables.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from brai.data.incomplete import Incomplete
from brai.graphs.pdag import PDAG, Draw, Family, families_of
from brai.graphs.priors import StructurePrior, family_prior
from brai.kinds import kind_of
from brai.kinds.scores import FamilyScores
from brai.learners.memory import foresee
from brai.posterior.augmentation import FIRST, PARTS, Augmented, Model, Plan, augment
from brai.runtime.progress import counted, status
from brai.runtime.seeds import seed_sequence
from brai.runtime.workers import ALONE, Workers
from brai.search.complete_families import Gains, climb
from brai.search.family_table import FamilyTable
from brai.search.from_tree import order_of
from brai.search.orders import search_by_order

CHAINS = 4  # of learners that have no such setting
KICKS = 2  # per variable, after the climb of a search
TURNS = 4  # times at most that hyperparameters are chosen, on better and better completions
LATER = 10  # seeds of completions after the first
BRANCH = 7  # of the seed: searches and chains of the learners themselves use smaller numbers
CANDIDATES = 100  # drawn DAGs of highest score that are considered for the best graph
START = 0.25  # of the time that is left goes to the first graph


def completed(
    learner: Any,
    data: Incomplete,
    seed: np.random.SeedSequence,
    workers: Workers = ALONE,
    deadline: float = math.inf,
) -> Augmented:
    """Completed tables and DAGs, with variables sorted by name; sets the hyperparameters of the learner."""
    data = data.select(sorted(data.names))
    foresee(data, learner)
    verbose = bool(getattr(learner, "verbose", False))
    bounds, most = learner._bounds(data.names), learner._most_parents(data)
    score = kind_of(data).score_named(learner.family_score)
    with status(verbose, "a first graph from the values that are there"):
        ess = 1.0 if learner.ess == "auto" else learner.ess
        given = getattr(learner, "structure_prior", "fair")
        prior = family_prior(
            StructurePrior.of("fair" if given == "auto" else given), data.names, learner._knowledge()
        )
        first = climb(Gains(data, score, ess, prior), bounds, most, _share(deadline, START))
        halfway = _share(deadline, 0.5)
        model, best = Model(data, score, ess, prior, ess), first
    with status(verbose, "choosing hyperparameters, listing parent sets"):
        for turn in range(TURNS):
            table = model.filled(best, FIRST, _branch(seed, 0 if turn == 0 else LATER + turn))
            before = (learner.ess_, learner.structure_prior_) if turn else None
            learner._settle(table)
            scores = learner._family_scores(table)
            sets = FamilyTable(scores, max_parents=most, slack=scores.kind.slack, **bounds._asdict())
            sets.add(best)
            start = order_of(best, len(best))
            found = search_by_order(
                sets, restarts=0, kicks=KICKS, starts=[start], grow=False, seed=_branch(seed, 1)
            )
            best = found.families
            model = Model(data, scores.score, scores.ess, scores.prior, learner._parameter_ess)
            if before == (learner.ess_, learner.structure_prior_) or time.monotonic() > halfway:
                break
    limits = np.full(data.n_variables, most, np.int64)
    for v, parents in best:
        limits[v] = max(limits[v], len(parents))
    with counted(verbose, "completed tables and DAGs", 2 * PARTS) as advance:
        return augment(
            model,
            sets,
            best,
            Plan.of(*lengths_of(learner, data.n_variables)),
            n_chains=getattr(learner, "n_chains", CHAINS),
            max_parents=limits,
            seed=_branch(seed, 2),
            deadline=deadline,
            advance=advance,
            workers=workers,
        )


def lengths_of(learner: Any, d: int) -> tuple[int, int]:
    """Draws of each chain, and steps between draws."""
    n_draws, thin = getattr(learner, "n_draws", None), getattr(learner, "thin", None)
    return n_draws or (1000 if d <= 20 else 250), thin or max(100, 10 * d)


def best_over_tables(learner: Any, found: Augmented, others: Sequence[Sequence[Family]], seed: Any) -> Draw:
    """The DAG of highest mean score over completed tables: one drawn, one of others, or the end of a search."""
    scores, draws = learner._family_scores(found.data), found.draws
    rank = np.argsort(-draws.log_scores, axis=None, kind="stable")[:CANDIDATES]
    places = np.unravel_index(rank, draws.log_scores.shape)
    drawn = [draws.families(int(c), int(t)) for c, t in zip(*places, strict=True)]
    listed = list(dict.fromkeys([*map(tuple, others), *drawn]))
    totals = [scores.total(own) for own in listed]
    best = listed[int(np.argmax(np.round(totals, 9)))]
    bounds = learner._bounds(found.data.names)
    own: FamilyScores = scores.each[-1]
    table = FamilyTable(own, max_parents=learner._most_parents(found.data), **bounds._asdict())
    table.add(family for dag in listed for family in dag)
    table = table.with_scores(scores)
    for v, parents in best:
        table.sets[v].setdefault(parents, scores.families([(v, parents)])[0])
    again = search_by_order(
        table, restarts=0, kicks=KICKS, starts=[order_of(best, len(best))], grow=False, seed=_branch(seed, 3)
    )
    if again.log_score > max(totals):
        return Draw(again.families, again.log_score)
    return Draw(tuple(best), max(totals))


def fit_completed(learner: Any, data: Incomplete) -> Any:
    """Fit a learner of single graphs to completed tables; see above."""
    seed = seed_sequence(getattr(learner, "random_state", 0))
    workers = Workers(getattr(learner, "n_jobs", 1))
    found = completed(learner, data, seed, workers)
    settled = {"ess": learner.ess_, "structure_prior": learner.structure_prior_.plain()}
    known = learner.get_params(deep=False)
    plain = clone(learner).set_params(**{name: own for name, own in settled.items() if name in known})
    tables = [table.select(data.names) for table in found.data.tables]
    fits = workers.run(_fitted, [(table,) for table in tables], shared=(plain,))
    members = [PDAG(data.names, dag) for dag, _ in fits]
    scores = learner._family_scores(found.data)
    families = [families_of(dag.reorder(scores.data.names)) for dag in members]
    totals = {own: scores.total(own) for own in dict.fromkeys(families)}
    best = max(totals, key=lambda own: round(totals[own], 9))
    learner._keep(found.data.select(data.names), best, totals[best])
    learner._members = [(dag.to_cpdag(), totals[own]) for dag, own in zip(members, families, strict=True)]
    for name in learner.saved:
        if name in fits[families.index(best)][1]:
            setattr(learner, name, fits[families.index(best)][1][name])
    return learner


def _fitted(learner: Any, table: Any) -> tuple[NDArray[np.int8], dict[str, Any]]:
    """Fit a copy to a completed table; returns its DAG and its fitted attributes."""
    model = clone(learner).fit(table)
    return model.dag_.reorder(table.names).adjacency, dict(vars(model))


def _share(deadline: float, share: float) -> float:
    """When this share of the time that is left is over; infinity stays."""
    now = time.monotonic()
    return deadline if math.isinf(deadline) else now + share * (deadline - now)


def _branch(seed: np.random.SeedSequence, part: int) -> np.random.SeedSequence:
    """A seed for a part of this work."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2**32 - 1 - BRANCH, part))
