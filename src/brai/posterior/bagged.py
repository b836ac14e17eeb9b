"""The bagged posterior: chains on random halves of the rows, beside those on all rows.

The posterior of a model is certain about what the model says of these rows. It does not say how much would be
different with other rows of the same source. Bagging averages the posteriors given samples of the rows (BayesBag,
Huggins & Miller 2023), and what depends on few rows loses probability.

The samples are halves, drawn without replacement (subagging, Bühlmann & Yu 2002; for many estimators they vary as
bootstrap samples do, Friedman & Hall 2007). In a bootstrap sample rows occur several times. Copies of rows look
like dependence, most of all between variables with many states: independent columns of 20 states had edges of
probability 0.6 there. Halves have no copies.

Of the draws, a third (OWN) are those of the chains on the data, the others come from BAGS halves, equally many
from each. For each half

1. the parent sets of the chains' table are scored on it;
2. a search over orders starts from the best graph of the data;
3. a chain starts where the search ends, with its own burn-in.

What else was tried: docs/results/calibration.md.

References: Huggins & Miller 2023, "Reproducible model selection using bagged posteriors", Bayesian Analysis 18;
Bühlmann & Yu 2002, "Analyzing bagging", Annals of Statistics 30; Friedman & Hall 2007, "On bagging and nonlinear
estimation", Journal of Statistical Planning and Inference 137.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG, Family, families_of
from brai.kinds.scores import FamilyScores
from brai.posterior.chains import KINDS, Draws
from brai.posterior.mcmc import sample_dags
from brai.runtime.workers import ALONE, Workers, on_all_clocks, on_this_clock
from brai.search.family_table import FamilyTable
from brai.search.from_tree import order_of
from brai.search.orders import search_by_order

BAGS = 20
OWN = 1 / 3
KICKS = 2  # per variable, after the climb of each search
BURN_IN = 0.5  # as a share of the draws


class Length(NamedTuple):
    """Draws of a chain, and steps between them."""

    n: int
    thin: int


def sample_bagged(  # arguments: options of a public function, by keyword
    table: FamilyTable,
    best: Sequence[Family],
    n: int,
    *,
    thin: int,
    max_parents: NDArray[np.int64],
    seed: np.random.SeedSequence,
    others: Sequence[FamilyScores] = (),
    deadline: float = math.inf,
    advance: Callable[[], None] = lambda: None,
    workers: Workers = ALONE,
) -> Draws:
    """Draw n DAGs from a chain on each of BAGS halves of the rows; chain c of the result is that of half c.

    ``table`` has the parent sets, ``best`` is the DAG where searches start, as families. At ``deadline``
    (`time.monotonic`) no further half is begun; there is at least one. If cells are missing, ``others`` are the
    scores on completed tables; these take turns.
    """
    shared = (table, tuple(best), Length(n, thin), max_parents, on_all_clocks(deadline), seed, tuple(others))
    tasks, keys = [(i,) for i in range(BAGS)], [f"bag-{i}" for i in range(BAGS)]
    of = [table.arrays(), tuple(best), n, thin]
    found = workers.run(one_bag, tasks, shared=shared, keys=keys, of=of, kept=_is_done, advance=advance)
    done = [own for own in found if own is not None]
    width = max(own[0].shape[-1] for own in done)
    parents = np.stack([_widened(own[0], width) for own in done])
    scores, tally = np.stack([own[1] for own in done]), np.stack([own[2] for own in done])
    proposed, changed = (dict(zip(KINDS, column, strict=True)) for column in tally.sum(axis=0).tolist())
    return Draws(table.scores.data.names, parents, scores, proposed, changed)


def _is_done(own: object) -> bool:
    return own is not None


def one_bag(
    table: FamilyTable,
    best: tuple[Family, ...],
    length: Length,
    max_parents: NDArray[np.int64],
    end: float,
    seed: np.random.SeedSequence,
    others: tuple[FamilyScores, ...],
    number: int,
) -> tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.int64]] | None:
    """Parents and log scores of the draws on one half, and the moves; None if ``end`` is past.

    The first is drawn in any case.
    """
    if time.time() > end and number > 0:
        return None
    n, thin = length
    drawing, searching, walking = (
        np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number, part)) for part in range(3)
    )
    scores = others[number % len(others)] if others else table.scores
    own = table.with_scores(on_half(scores, drawing))
    start = [order_of(best, len(best))]
    found = search_by_order(own, restarts=0, kicks=KICKS, starts=start, grow=False, seed=searching)
    most = max_parents.copy()
    for v, parents in found.families:
        most[v] = max(most[v], len(parents))
    draws = sample_dags(
        own,
        n,
        starts=[found.families],
        thin=thin,
        burn_in=int(BURN_IN * n * thin),
        max_parents=most,
        seed=walking,
        deadline=on_this_clock(end),
    )
    moves = np.array([[counts[kind] for kind in KINDS] for counts in (draws.proposed, draws.changed)], np.int64)
    kept = np.arange(n) % draws.log_scores.shape[1]  # a deadline may have left fewer than n
    return draws.parents[0][kept], draws.log_scores[0][kept], moves


def _widened(parents: NDArray[np.int16], width: int) -> NDArray[np.int16]:
    """Parents with room for ``width`` of each node, padded with -1."""
    more = width - parents.shape[-1]
    return np.pad(parents, ((0, 0), (0, 0), (0, more)), constant_values=-1)


def on_half(scores: FamilyScores, seed: np.random.SeedSequence) -> FamilyScores:
    """The same scores on half of the rows."""
    data = scores.kind.halved(scores.data, seed)
    return FamilyScores(data, scores.score, scores.ess, scores.capacity, scores.prior)


def combined(
    chains: Draws, bags: Draws, scores: FamilyScores, names: Sequence[str]
) -> Iterator[tuple[PDAG, float]]:
    """DAGs of both with their log scores on the data; OWN of them are from the chains.

    Draws of the chains are left out evenly, or repeated if there are too few.
    """
    n_bags, n_own = bags.log_scores.size, chains.log_scores.size
    wanted = max(1, round(n_bags * OWN / (1 - OWN)))
    own = list(chains.draws(names))
    for at in np.linspace(0, n_own, wanted, endpoint=False).astype(int).tolist():
        yield own[at]
    known: dict[PDAG, float] = {}
    for at, (dag, _) in enumerate(bags.draws(names)):
        if dag not in known:
            c, t = divmod(at, bags.log_scores.shape[1])
            known[dag] = scores.total(bags.families(c, t))
        yield dag, known[dag]


def with_scores(drawn: Iterable[tuple[PDAG, float]], scores: Any) -> Iterator[tuple[PDAG, float]]:
    """The same DAGs with these log scores."""
    known: dict[PDAG, float] = {}
    for dag, _ in drawn:
        if dag not in known:
            known[dag] = scores.total(families_of(dag))
        yield dag, known[dag]
