"""Data augmentation: DAGs, parameters and missing cells drawn together, when cells of a table are missing.

A chain goes through rounds. Each round

1. draws DAGs by steps of MCMC (`brai.posterior.mcmc`) on the completed table, and keeps the last one;
2. draws its parameters from their posterior given the completed table;
3. draws the missing cells given the parameters and the values that are there.

Each step leaves the joint posterior of graph, parameters and missing cells as it is. So the DAGs are draws from
P(G | values that are there), if cells are missing at random: whether a cell is missing may depend on values that
are there, not on those that are missing (Rubin 1976). The uncertainty about missing cells is part of the result.

Several chains start from different completions. The table of parent sets is scored anew in each round.

References: Tanner & Wong 1987, "The calculation of posterior distributions by data augmentation", JASA 82.
Riggelsen & Feelders 2005, "Learning Bayesian network models from incomplete data using importance sampling",
AISTATS. Rubin 1976, "Inference and missing data", Biometrika 63.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.data.incomplete import Cells, Incomplete
from brai.graphs.pdag import Family
from brai.kinds import kind_of
from brai.kinds.scores import FamilyScores
from brai.posterior.chains import KINDS, Draws
from brai.posterior.mcmc import sample_dags
from brai.runtime.workers import ALONE, Workers
from brai.search.family_table import FamilyTable
from brai.search.fixed_table import FixedTable

SWEEPS = 3  # over the missing cells, in each round
FIRST = 15  # rounds with a fixed DAG before chains begin
EACH = 5  # DAGs of a round: cells change from round to round, so many short rounds mix best
LEAST = 20  # rounds of burn-in
VALUES, FEWEST = 3e8, 3  # values of all completed tables that are kept, and tables that are kept in any case
PARTS = 5  # into which rounds are divided; time is looked at between them


class Plan(NamedTuple):
    """Lengths of a chain."""

    burn_in: int  # rounds
    rounds: int  # that are kept
    draws: int  # DAGs of a round
    thin: int  # steps between DAGs

    @classmethod
    def of(cls, n_draws: int, thin: int) -> Plan:
        """The plan for this many DAGs of a chain."""
        rounds = max(PARTS, math.ceil(n_draws / EACH))
        return cls(max(LEAST, rounds // 4), rounds, math.ceil(n_draws / rounds), thin)


class Augmented(NamedTuple):
    """DAGs of all rounds, and completed tables of some."""

    data: Incomplete  # with draws: those at the end of parts of chains
    draws: Draws
    rounds: int  # of each chain; its draws are divided among them evenly


class Model(NamedTuple):
    """What is drawn from: the table with missing cells, the score and its prior, the ess of parameters."""

    data: Incomplete
    score: str
    ess: float | str
    prior: Any
    parameter_ess: float | str

    def scores(self, table: Any) -> FamilyScores:
        """Scores on a completed table."""
        return FamilyScores(table, self.score, self.ess, prior=self.prior)

    def again(self, table: Any, families: Sequence[Family], sweeps: int, rng: np.random.Generator) -> Any:
        """The table with its missing cells drawn anew, given a DAG with drawn parameters."""
        kind = kind_of(table)
        parameters = kind.drawn_parameters(table, families, self.parameter_ess, rng)
        return kind.refilled(table, self.data.missing, parameters, sweeps, rng)

    def filled(self, families: Sequence[Family], rounds: int, seed: np.random.SeedSequence) -> Any:
        """A completed table after rounds with one DAG."""
        table, rng = self.data.table, np.random.default_rng(seed)
        for _ in range(rounds):
            table = self.again(table, families, SWEEPS, rng)
        return table


def augment(  # arguments: options of a public function, by keyword
    model: Model,
    table: FamilyTable,
    start: Sequence[Family],
    plan: Plan,
    *,
    n_chains: int,
    max_parents: NDArray[np.int64],
    seed: np.random.SeedSequence,
    deadline: float = math.inf,
    advance: Callable[[], None] = lambda: None,
    workers: Workers = ALONE,
) -> Augmented:
    """Draw DAGs and completed tables from chains that start at the DAG ``start``.

    ``table`` has the parent sets. ``advance`` is called 2 PARTS times, after each part of burn-in and of the
    rounds. At ``deadline`` (`time.monotonic`) no further part begins; at least one part of the rounds is made.
    """
    tables = [model.filled(start, FIRST, _seed(seed, c)) for c in range(n_chains)]
    states = [(tuple(start), model.data.cells(own)) for own in tables]
    table = widened(model, table, tables, deadline)
    fixed = FixedTable.of(table)
    parts: list[list[Any]] = []
    turn = 0

    def go(rounds: int, noted: bool) -> None:
        nonlocal states, turn
        tasks = [(*state, rounds, noted, turn, c) for c, state in enumerate(states)]
        keys = [f"augment-{turn}-{c}" for c in range(n_chains)]
        shared = (model, fixed, plan, max_parents, seed)
        of = (fixed.children, fixed.parents, fixed.starts, plan, model.data.signature(), np.asarray(max_parents))
        found = workers.run(some_rounds, tasks, shared=shared, keys=keys, of=of)
        states, turn = [_state(own) for own in found], turn + 1
        if noted:
            parts.append(found)
        advance()

    for rounds in _divided(plan.burn_in):
        if time.monotonic() > deadline:
            break
        go(rounds, False)
    done = 0
    for rounds in _divided(plan.rounds):
        if parts and time.monotonic() > deadline:
            break
        go(rounds, True)
        done += rounds
    draws = [cells for part in parts for cells in (_state(own)[1] for own in part)]
    most = min(len(draws), max(FEWEST, int(VALUES / model.data.missing.size)))
    chosen = np.linspace(0, len(draws) - 1, most).round().astype(int).tolist()
    data = model.data.with_draws([draws[i] for i in chosen])
    return Augmented(data, _joined(data.names, parts, n_chains), done)


def _divided(n: int) -> list[int]:
    """n rounds in PARTS parts."""
    return [len(own) for own in np.array_split(np.arange(n), PARTS) if len(own)]


def some_rounds(  # arguments: what all tasks share, then one task
    model: Model,
    table: FixedTable,
    plan: Plan,
    max_parents: NDArray[np.int64],
    seed: np.random.SeedSequence,
    families: tuple[Family, ...],
    cells: Cells,
    rounds: int,
    noted: bool,
    turn: int,
    chain: int,
) -> tuple[Any, ...]:
    """Rounds of one chain: the last DAG and cells; with ``noted`` all DAGs, their log scores, and moves."""
    parents, scores, tally = [], [], np.zeros((len(KINDS), 2), np.int64)
    for i in range(rounds):
        walking, filling = _seed(seed, chain, turn + 1, i).spawn(2)
        complete = model.data.completed(cells)
        here = table.scored(model.scores(complete))
        n = plan.draws if noted else 1
        draws = sample_dags(
            here,
            n,
            starts=[families],
            thin=plan.thin if noted else plan.thin * plan.draws,
            burn_in=0,
            max_parents=max_parents,
            seed=walking,
            blocks=1,
        )
        families = draws.families(0, n - 1)
        complete = model.again(complete, families, SWEEPS, np.random.default_rng(filling))
        cells = model.data.cells(complete)
        if noted:
            parents.append(draws.parents[0])
            scores.append(draws.log_scores[0])
            tally += np.array([[each[kind] for each in (draws.proposed, draws.changed)] for kind in KINDS])
    last = [list(own) for _, own in families]
    if not noted:
        return last, list(cells), np.zeros((0, 0, 0), np.int16), np.zeros(0), tally
    width = max(own.shape[-1] for own in parents)
    wide = [np.pad(own, ((0, 0), (0, 0), (0, width - own.shape[-1])), constant_values=-1) for own in parents]
    return last, list(cells), np.concatenate(wide), np.concatenate(scores), tally


def _seed(seed: np.random.SeedSequence, *place: int) -> np.random.SeedSequence:
    """The seed of a chain, or of a round of it."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *place))


def _state(found: tuple[Any, ...]) -> tuple[tuple[Family, ...], Cells]:
    return tuple((v, tuple(own)) for v, own in enumerate(found[0])), tuple(found[1])


def _joined(names: tuple[str, ...], parts: Sequence[Sequence[Any]], n_chains: int) -> Draws:
    """The draws of all parts, chain by chain."""
    width = max(own[2].shape[-1] for part in parts for own in part)

    def wide(own: NDArray[np.int16]) -> NDArray[np.int16]:
        return np.pad(own, ((0, 0), (0, 0), (0, width - own.shape[-1])), constant_values=-1)

    parents = np.stack([np.concatenate([wide(part[c][2]) for part in parts]) for c in range(n_chains)])
    scores = np.stack([np.concatenate([part[c][3] for part in parts]) for c in range(n_chains)])
    tally = np.sum([own[4] for part in parts for own in part], axis=0)
    proposed, changed = (dict(zip(KINDS, column, strict=True)) for column in tally.T.tolist())
    return Draws(names, parents, scores, proposed, changed)


def widened(model: Model, table: FamilyTable, tables: Sequence[Any], deadline: float = math.inf) -> FamilyTable:
    """The table with the parent sets that are good on other completed tables, too."""
    out = table.with_scores(table.scores)
    for complete in tables:
        if time.monotonic() > deadline:
            break
        other = FamilyTable(
            model.scores(complete),
            max_parents=table.max_parents,
            pairs=table.n_pairs,
            larger=table.n_larger,
            slack=table.slack,
            allowed=table.allowed,
            required=table.required,
        )
        fresh = [(v, own) for v, sets in enumerate(other.sets) for own in sets if own not in out.sets[v]]
        for (v, own), score in zip(fresh, out.scores.families(fresh), strict=True):
            out.sets[v][own] = score
    return out


def missing_information(draws: Draws, rounds: int) -> NDArray[np.float64]:
    """For each edge the share of its uncertainty that is due to missing cells, (d, d); 0 if it is certain.

    Two draws of a chain one after the other are more alike if they are made on the same completed table than if
    the cells are drawn anew in between. The difference of their covariances is the part of the variance p (1 - p)
    of the edge that changes with the cells (the fraction of missing information; Rubin 1987). What takes the chain
    more than one round to change is not in it, so it is rather too small where chains mix slowly.
    """
    chains, n, d, _ = draws.parents.shape
    each = n // rounds
    out = np.zeros((d, d))
    if each < 2 or rounds < 2:
        return out
    inside = np.arange(1, n) % each != 0  # whether draw t + 1 is of the same round as draw t
    for v in range(d):
        present = np.zeros((chains, n, d), bool)
        c, t, k = np.nonzero(draws.parents[:, :, v] >= 0)
        present[c, t, draws.parents[c, t, v, k]] = True
        both = present[:, 1:] & present[:, :-1]
        p = present.mean(axis=(0, 1))
        apart = both[:, inside].mean(axis=(0, 1)) - both[:, ~inside].mean(axis=(0, 1))
        whole = p * (1 - p)
        out[:, v] = np.where(whole > 1e-9, np.clip(apart / np.maximum(whole, 1e-9), 0.0, 1.0), 0.0)
    return out
