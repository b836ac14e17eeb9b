"""Hyperparameters chosen on the training data: the equivalent sample size (ess), and the strength of the prior.

The evidence of a pair (ess, strength κ) is approximated at the best graph G that a hill climb finds:

    log P(D | G, ess) + log P(G | κ),    log P(G | κ) = Σ_v -κ log C(d - 1, k_v) - log Z(κ)

where k_v is the number of parents of v. Z is the normaliser of the prior, for which acyclicity is ignored: the
product over variables of Σ_k C(d - 1, k)^(1 - κ), k up to the limit on parents. Climbs take milliseconds for tens
of variables.

1. With κ = 1, ess goes from 1 up or down the list `Kind.ess_choices` while the evidence rises.
2. For discrete data "table", an ess of its own for each table (`brai.kinds.discrete.any_ess`), is chosen instead
   if its evidence is higher by EACH for each variable: each has one more parameter, over which the evidence is a
   maximum. A maximum over a parameter without meaning gains ½ nat on average.
3. With this ess, κ goes from 1 up or down the list STRENGTHS. One other than 1 must be better by WORTH. For
   measurements values above 1 are tried only if the climb with κ = 1 finds no edge at all. The best graph leaves
   out edges that are merely probable, so its evidence favours a prior that is too strong, and weak edges are lost.
   (Discrete tables with many states need such values against edges from nothing.)

With more than LARGE variables the climbs are made on LARGE of them: each brings the variables that it depends on
most.

Climbs from the empty graph miss parents that matter only together, and miss more of them with a small ess. So the
choice of ess is looked at again when a search has found a better graph (`reconsidered`): climbs then start from
that graph, on all variables.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.graphs.knowledge import Bounds
from brai.graphs.pdag import Draw
from brai.graphs.priors import StructurePrior, log_choose
from brai.kernels.interface import Prior
from brai.kernels.parent_sets import single_gains
from brai.kinds import kind_of
from brai.kinds.scores import FamilyScores
from brai.runtime.checks import check_ess
from brai.runtime.jit import announce
from brai.search.hill_climbing import Found, hill_climb

STRENGTHS = (0.5, 1.0, 1.5, 2.0, 3.0)
WORTH = 3.0  # nats of evidence that a strength other than 1 must gain: a Bayes factor of 20
EACH = 1.0  # nats of evidence for each variable that an ess for each table must gain
LARGE = 200  # variables
NEXT = 3  # variables that each brings
AGAIN = 2  # numbers, those of highest evidence at a graph, from which climbs start to reconsider the choice


class Tried(NamedTuple):
    """A pair of hyperparameters, and its log evidence."""

    ess: float | str
    strength: float
    log_evidence: float


class Settled(NamedTuple):
    """The hyperparameters of a fit, and those that were compared if a choice was made."""

    ess: float | str
    prior: StructurePrior
    tried: tuple[Tried, ...] = ()


def settle(
    data: Any,
    score: str,
    ess: Any,
    structure_prior: Any,
    bounds: Bounds,
    max_parents: int,
    deadline: float = math.inf,
) -> Settled:
    """Replace "auto" by what has the highest evidence; other values stay.

    ``data`` has its variables sorted by name. Scores other than the marginal likelihood do not depend on ess; for
    them it is chosen by that, for predictions. At ``deadline`` (`time.monotonic`) the best so far is taken.
    """
    learned, chosen = structure_prior == "auto", isinstance(ess, str) and ess == "auto"
    prior = StructurePrior(1.0) if learned else StructurePrior.of(structure_prior)
    ess = 1.0 if chosen else check_ess(ess)
    if not (chosen or learned) or data.n_variables < 2:
        return Settled(ess, prior)
    kind = kind_of(data)
    bayes, score = kind.scores[0], kind.score_named(score)
    part = some_variables(data, bounds)
    own, inside = data.select([data.names[v] for v in part]), np.ix_(part, part)
    limits = Bounds(bounds.allowed[inside], bounds.required[inside])
    tried: dict[tuple[float | str, float], float] = {}
    empty: dict[tuple[float | str, float], bool] = {}

    def evidence(score: str, ess: float | str, prior: StructurePrior) -> float:
        key = (ess, prior.strength)
        if key not in tried or score != bayes:
            scores = FamilyScores(own, score, ess, prior=Prior(prior.sizes(own.n_variables), np.zeros((0, 0))))
            found = climbed(scores, limits, max_parents)
            tried[key] = found.log_score - log_normaliser(prior, own.n_variables, max_parents)
            empty[key] = not any(parents for _, parents in found.families)
        return tried[key]

    def late() -> bool:
        return time.monotonic() > deadline

    if chosen:
        ess = uphill(kind.ess_choices, lambda one: evidence(bayes, one, prior), 0.0, late)
        if kind.per_table and not late():
            better = evidence(bayes, "table", prior) - _cost(own, "table") > evidence(bayes, ess, prior)
            ess = "table" if better else ess
    if learned and not late():
        evidence(score, ess, prior)
        any_strength = empty[ess, 1.0] or not kind.linear
        values = STRENGTHS if any_strength else STRENGTHS[: STRENGTHS.index(1.0) + 1]
        best = uphill(values, lambda one: evidence(score, ess, StructurePrior(one)), WORTH, late)
        prior = StructurePrior(best)
    order = sorted(tried.items(), key=lambda one: (isinstance(one[0][0], str), one))
    return Settled(ess, prior, tuple(Tried(*key, value) for key, value in order))


def reconsidered(
    scores: FamilyScores, best: Draw, settled: Settled, bounds: Bounds, most: Sequence[int]
) -> Settled:
    """The hyperparameters with the ess of highest evidence near a graph, the best that a search with them found.

    Climbs start from the graph: with "table", and with the AGAIN numbers that have the highest evidence there.
    Another ess must be better by WORTH. ``most`` is the largest number of parents of each variable.
    """
    data, prior = scores.data, scores.prior
    start = np.zeros((data.n_variables, data.n_variables), np.uint8)
    for v, parents in best.families:
        start[list(parents), v] = 1
    choices = scores.kind.ess_choices
    here = {one: FamilyScores(data, ess=one, prior=prior).total(best.families) for one in choices}
    likely = sorted(here, key=lambda one: -here[one])[:AGAIN]
    found: dict[float | str, float] = {settled.ess: best.log_score}
    others: list[float | str] = [*likely, *["table"] * scores.kind.per_table]
    for one in others:
        if one not in found:
            found[one] = hill_climb(
                FamilyScores(data, ess=one, prior=prior),
                start=start,
                allowed=bounds.allowed,
                required=bounds.required,
                max_parents=np.array(most, np.int64),
                tabu=0,
                orders=[range(data.n_variables)],
                seed=np.random.SeedSequence(0),
            ).log_score
    evidence = {one: score - _cost(data, one) for one, score in found.items()}
    ess = max(evidence, key=lambda one: evidence[one])
    if evidence[ess] <= evidence[settled.ess] + WORTH:
        return settled
    strength = settled.prior.strength
    order = sorted(found, key=lambda one: (isinstance(one, str), one))
    return Settled(ess, settled.prior, tuple(Tried(one, strength, found[one]) for one in order))


def _cost(data: Any, ess: float | str) -> float:
    """What the choice of an ess for each table costs."""
    return EACH * float(data.n_variables) if ess == "table" else 0.0


def uphill(
    values: Sequence[float], evidence: Callable[[float], float], worth: float, late: Callable[[], bool]
) -> float:
    """The value of highest evidence, found by going from 1 up or down while the evidence rises.

    A value other than 1 must be better by ``worth``.
    """
    start = at = values.index(1.0)
    first = best = evidence(1.0)
    for step in (1, -1):
        while 0 <= at + step < len(values) and not late() and (more := evidence(values[at + step])) > best:
            at, best = at + step, more
        if at != start:
            break
    return values[at] if best > first + worth else 1.0


def climbed(scores: FamilyScores, bounds: Bounds, max_parents: int) -> Found:
    """The best graph that hill climbing finds."""
    return hill_climb(
        scores,
        allowed=bounds.allowed,
        required=bounds.required,
        max_parents=max_parents,
        tabu=0,
        seed=np.random.SeedSequence(0),
    )


def log_normaliser(prior: StructurePrior, d: int, max_parents: int) -> float:
    """Log of the sum of the prior's weights over all graphs of d variables, cycles included."""
    sizes = prior.sizes(d) if not prior.is_uniform else np.zeros(d)
    most = min(max_parents, d - 1) + 1
    return d * float(np.logaddexp.reduce(log_choose(d - 1)[:most] + sizes[:most]))


def some_variables(data: Any, bounds: Bounds) -> NDArray[np.int64]:
    """All variables, or LARGE that depend on each other: from the first on, each brings its NEXT best parents."""
    d = data.n_variables
    if d <= LARGE:
        return np.arange(d)
    scores = FamilyScores(data)
    evidence = scores.evidence(4)
    announce(single_gains, scores.kind.compiled_for(data))
    chosen: dict[int, None] = {}
    waiting = list(range(d))[::-1]
    constant = scores.kind.constant(data)
    while waiting and len(chosen) < LARGE:
        v = waiting.pop()
        if v in chosen or constant[v]:
            continue
        chosen[v] = None
        others = np.flatnonzero(bounds.allowed[:, v])
        if len(others):
            _, gains = single_gains(evidence, v, others)
            waiting += others[np.argsort(-np.round(gains, 9), kind="stable")[:NEXT]].tolist()[::-1]
    return np.array(sorted(chosen), np.int64)
