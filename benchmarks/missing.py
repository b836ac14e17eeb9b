"""Probabilities, graphs, predictions and effects from tables with missing cells, by several ways to treat these.

    python benchmarks/missing.py run --data FOLDER --journal FILE [--sets 2] [--shares 20] [--ways WAY ...]
    python benchmarks/missing.py show --journal FILE

Cases are those of benchmarks/missing_cases.py, 500 rows each. SHARES are per cent of cells.

A cell (case, mechanism and share; data set; way) is a line of the journal; a run that was stopped continues. Work
goes on in one process, which is stopped and started anew if a way takes longer than ``--limit`` seconds.

Ways: see WAYS. "structural EM" alternates five times between a graph by tabu search and completing the table with
that graph (most frequent value of 20 draws, for measurements their mean), from columns filled with their mode or
mean, as structural.em of bnlearn does with hard imputation. Its probabilities are those of BRAI on the last table,
and so are those of all other ways of completing a table once.

Measures: Brier score, ECE, log loss and average precision of pairs as in benchmarks/calibration.py; F1 and SHD of
the graph; mean log probability of 2000 complete rows (not with "label": its model has a state more); CPU seconds,
probabilities included; whether effect ± 1.96 effect_sd holds the true effect, for the PAIRS of a network: averaged
over graphs, and given the true DAG.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from calibration import ece, measured
from missing_cases import CASES, DISCRETE, MECHANISMS, PAIRS, ROWS, blanked, blanks, case_of
from mixed import Helper
from structure import errors, fill

from brai import BRAI, PDAG, DataError, HillClimbing
from brai.data.incomplete import Incomplete
from brai.graphs.pdag import families_of
from brai.graphs.priors import StructurePrior, family_prior
from brai.kinds import kind_of
from brai.learners.base import bounds_of
from brai.learners.completed import completed
from brai.posterior.weighted import Posterior
from brai.search.complete_families import Gains, climb

FEWEST = 20  # rows, for "drop"
ROUNDS, DRAWS = 5, 20  # of structural EM


# --- ways ------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What a way gives: a DAG, and a fitted model with probabilities."""

    dag: PDAG
    model: Any = None


def brai(table: Any) -> Found:
    model = BRAI(random_state=0).fit(table)
    model.edge_probabilities()
    return Found(model.dag_, model)


def dropped(table: Any, gone: np.ndarray) -> Found:
    left = blanked(table, gone, "drop")
    if left.n_rows < FEWEST:
        raise DataError(f"{left.n_rows} rows left")
    return brai(left)


def usual(data: Incomplete) -> Any:
    """Missing cells filled with the most frequent value, or the mean, of those that are there."""
    own = [column[~gone] for column, gone in zip(data.table.columns(), data.missing, strict=True)]
    return data.completed(tuple(np.full(len(at), typical(x)) for x, at in zip(own, data.holes, strict=True)))


def typical(values: np.ndarray) -> Any:
    """The mean of numbers, the most frequent code, the lowest of several."""
    if values.dtype.kind == "f":
        return values.mean()
    seen, counts = np.unique(values, return_counts=True)
    return seen[counts.argmax()]


def drawn_once(data: Incomplete) -> Any:
    """The last completed table of a chain of data augmentation."""
    learner = BRAI(n_chains=1, n_draws=100)
    return completed(learner, data, np.random.SeedSequence(0)).data.tables[-1].select(data.names)


def structural_em(data: Incomplete) -> Found:
    rng, kind = np.random.default_rng(0), kind_of(data.table)
    table = usual(data)
    for _ in range(ROUNDS):
        dag = HillClimbing().fit(table).dag_.reorder(data.names)
        draws, own = [], table
        for _ in range(DRAWS):
            parameters = kind.drawn_parameters(table, families_of(dag), 1.0, rng)
            own = kind.refilled(own, data.missing, parameters, 1, rng)
            draws.append(data.cells(own))
        table = data.completed(tuple(likeliest(np.stack(cells)) for cells in zip(*draws, strict=True)))
    return Found(dag, brai(table).model)


def likeliest(draws: np.ndarray) -> np.ndarray:
    """The typical value of each column of (draws, cells)."""
    return np.array([typical(own) for own in draws.T], draws.dtype)


def fast(data: Incomplete) -> Found:
    own = data.select(sorted(data.names))
    kind = kind_of(own)
    prior = family_prior(StructurePrior.of("fair"), own.names, None)
    gains = Gains(own, kind.score_named("auto"), 1.0, prior)
    families = climb(gains, bounds_of(None, own.names), kind.max_parents)
    return Found(PDAG.from_parents(own.names, [parents for _, parents in families]))


def from_holes(way: Callable[[Any], Any]) -> Callable[[Any, np.ndarray], Found]:
    return lambda table, gone: way(blanked(table, gone, "impute"))


COMPLETE, IMPUTE, LABEL, ONCE = "complete data", "impute (default)", "label", "single draw"
GRAPH = "families on their rows (graph only)"
WAYS: dict[str, tuple[str, Callable[[Any, np.ndarray], Found]]] = {
    COMPLETE: ("", lambda table, gone: brai(table)),
    IMPUTE: ("", from_holes(brai)),
    LABEL: ("", lambda table, gone: brai(blanked(table, gone, "label"))),
    "mode or mean": ("", from_holes(lambda data: brai(usual(data)))),
    ONCE: ("", from_holes(lambda data: brai(drawn_once(data)))),
    "structural EM": ("", from_holes(structural_em)),
    "drop": ("", dropped),
    GRAPH: ("", from_holes(fast)),
}


# --- cells -----------------------------------------------------------------------------------------------


@cache
def warm(folder: Path) -> None:
    """Load compiled code, on few rows and columns of each kind of data."""
    for name in ("asia", "ecoli70", "cg-a"):
        table = case_of(folder, name, 1).table
        table = table.select(table.names[:6]).rows(np.arange(60))
        for data in (table, blanked(table, blanks(table, "MCAR", 0.1, 1), "impute")):
            BRAI(n_draws=5, random_state=0).fit(data).edge_probabilities()


def one(send: Any, folder: Path, network: str, rows: int, version: int, way: str) -> None:
    """Learn from one data set; an empty answer if the way cannot."""
    warnings.simplefilter("ignore")
    warm(folder)
    name, *blanking = network.split()
    if not blanking:  # only to load compiled code
        return send.send({})
    own = case_of(folder, name, version)
    gone = blanks(own.table, blanking[0], float(blanking[1]) / 100, version)
    start = time.process_time()
    try:
        found = WAYS[way][1](own.table, gone)
    except DataError:
        return send.send({})
    cell: dict[str, Any] = {"cpu_s": time.process_time() - start}
    names = own.table.names
    cell |= errors(found.dag.reorder(names).to_cpdag(), own.truth.to_cpdag())
    true = int(own.truth.skeleton().sum() / 2)
    cell["f1"] = 2 * (true - cell["missed"]) / max(1, 2 * true - cell["missed"] + cell["false"])
    if found.model is not None:
        truth = own.truth.reorder(found.model.feature_names_in_)
        cell |= measured(np.asarray(found.model.edge_probabilities()), truth)
        if way != LABEL:
            cell["density"] = found.model.score(own.test)
        if own.network is not None and way in (COMPLETE, IMPUTE, ONCE):
            cell["effects"] = [effect(found.model, own.network, *pair) for pair in PAIRS[name]]
    if way == IMPUTE:
        converged = found.model.chains().convergence()
        cell |= {"r_hat": converged.r_hat, "apart": converged.largest}
    return send.send(cell)


def effect(model: Any, network: Any, cause: str, outcome: str) -> list[float]:
    """The effect, its standard deviation; both given the true DAG; and the true effect."""
    found, given = (
        model.causal_effect(cause, outcome, posterior=over)
        for over in (None, Posterior.from_scores([(network.pdag.reorder(model.feature_names_in_), 0.0)]))
    )
    low, high = (network.marginal(outcome, do={cause: state}) for state in found.change)
    states = network.states[network.names.index(outcome)]
    true = sum(found.values.get(s, 0.0) * (b - a) for s, a, b in zip(states, low, high, strict=True))
    return [float(x) for x in (found.effect, found.effect_sd, given.effect, given.effect_sd, true)]


def run(args: argparse.Namespace) -> None:
    """Fill the journal: complete data first, then the first data set of all cases."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the process of the helper: matrices are small
    helper, plan = Helper(), argparse.Namespace(**vars(args) | {"rows": [ROWS]})
    if COMPLETE in args.ways:
        plan.networks, plan.learners = [f"{name} none 0" for name in args.cases], [COMPLETE]
        fill(plan, WAYS, one, helper)
    plan.networks = [f"{n} {how} {share}" for share in args.shares for how in args.mechanisms for n in args.cases]
    plan.learners = [way for way in args.ways if way != COMPLETE]
    fill(plan, WAYS, one, helper)


# --- tables ----------------------------------------------------------------------------------------------

Cells = dict[tuple[str, str, int], dict[str, dict[int, dict[str, Any]]]]  # (way, how, share): case: set: cell
MEASURES: dict[str, tuple[Callable[[list[dict[str, Any]]], float], str]] = {
    "Brier": (lambda own: float(np.mean([cell["pairs"]["brier"] for cell in own])), ".1f"),
    "ECE": (lambda own: ece(own, "pairs"), ".3f"),
    "log loss": (lambda own: float(np.mean([cell["pairs"]["log_loss"] for cell in own])), ".1f"),
    "AP": (lambda own: float(np.mean([cell["pairs"]["ap"] for cell in own])), ".3f"),
    "F1": (lambda own: float(np.mean([cell["f1"] for cell in own])), ".3f"),
    "SHD": (lambda own: float(np.mean([cell["shd"] for cell in own])), ".1f"),
    "log probability of other rows": (lambda own: float(np.mean([cell["density"] for cell in own])), ".2f"),
    "CPU s": (lambda own: float(np.mean([cell["cpu_s"] for cell in own])), ".1f"),
}


def show(args: argparse.Namespace) -> None:
    """Tables for each mechanism and share, then the loss by share, then effects."""
    cells: Cells = defaultdict(lambda: defaultdict(dict))
    for line in args.journal.read_text().splitlines():
        cell = json.loads(line)
        name, how, share = cell["network"].split()
        if "shd" in cell:
            cells[cell["learner"], how, int(share)][name][cell["set"]] = cell
    settings = sorted({key[1:] for key in cells} - {("none", 0)}, key=lambda own: (own[0] != "MCAR", own[1]))
    for setting in settings:
        sets = {name: sorted(own) for name, own in cells[IMPUTE, *setting].items()}
        told = ", ".join(f"{name} {len(own)}" for name, own in sets.items())
        print(f"\n## {setting[0]}, {setting[1]} % missing\n\nData sets: {told}")
        for title in MEASURES:
            table(title, cells, setting, sets)
    others = [way for way in WAYS if way not in (COMPLETE, IMPUTE, GRAPH)]
    print("\n## Loss of Brier to complete data, mean over cases that both ways have: the way / impute\n")
    print(f"| | {' | '.join(others)} |\n|---{'|---' * len(others)}|")
    for setting in settings:
        row = [losses(cells, way, setting) for way in others]
        print(f"| {setting[0]} {setting[1]} % | {' | '.join(row)} |")
    coverage(cells)


def table(title: str, cells: Cells, setting: tuple[str, int], sets: dict[str, list[int]]) -> None:
    """One measure: ways by cases, on the data sets that "impute" has; fewer are marked by *."""
    measure, form = MEASURES[title]
    names = [name for name in CASES if name in sets]
    print(f"\n{title}\n\n| | {' | '.join(names)} | mean of discrete |\n|---{'|---' * len(names)}|---|")
    for way in WAYS:
        row, numbers = [], {}
        for name in names:
            of_way = cells[way, "none", 0] if way == COMPLETE else cells[way, *setting]
            own = [of_way[name][version] for version in sets[name] if version in of_way[name]]
            try:
                numbers[name] = measure(own) if own else np.nan
            except KeyError:  # the way has no such measure
                numbers[name] = np.nan
            short = "*" if len(own) < len(sets[name]) else ""
            row.append("" if np.isnan(numbers[name]) else f"{numbers[name]:{form}}{short}")
        mean = np.mean([numbers[name] for name in names if name in DISCRETE] or [np.nan])
        if any(row):
            print(f"| {way} | {' | '.join(row)} | {'' if np.isnan(mean) else f'{mean:{form}}'} |")


def losses(cells: Cells, way: str, setting: tuple[str, int]) -> str:
    """Brier minus that of complete data, of a way and of "impute"; how often "impute" has the lower one."""
    found, won, n = [], 0, 0
    for name in CASES:
        own = (cells[COMPLETE, "none", 0][name], cells[way, *setting][name], cells[IMPUTE, *setting][name])
        both = sorted(set.intersection(*({version for version, c in o.items() if "pairs" in c} for o in own)))
        if both:
            numbers = np.array([[of[version]["pairs"]["brier"] for version in both] for of in own])
            found.append((numbers[1:] - numbers[0]).mean(axis=1))
            won, n = won + int((numbers[2] < numbers[1]).sum()), n + len(both)
    if not found:
        return ""
    theirs, ours = np.mean(found, axis=0)
    return f"{theirs:.1f} / {ours:.1f} (lower in {won} of {n})"


def coverage(cells: Cells) -> None:
    """How often effect ± 1.96 sd holds the truth, the mean sd, the error; over graphs, and given the true DAG."""
    print("\n## Effects: intervals that hold the truth, mean sd, root mean squared error\n")
    columns = [f"{name}, {over}" for name in PAIRS for over in ("learned graphs", "true DAG")]
    print(f"| | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    for (way, how, share), by_case in list(cells.items()):
        row = []
        for name in PAIRS:
            known: Iterable[list[float]] = (e for cell in by_case[name].values() for e in cell.get("effects", []))
            numbers = np.array(list(known)).reshape(-1, 5)
            for at in (0, 2):
                off, sd = np.abs(numbers[:, at] - numbers[:, 4]), numbers[:, at + 1]
                held = int((off <= 1.96 * sd).sum())
                some = f"{held} of {len(off)}, {sd.mean():.3f}, {np.sqrt((off**2).mean()):.3f}" if len(off) else ""
                row.append(some)
        if any(row):
            print(f"| {way}{'' if way == COMPLETE else f', {how} {share} %'} | {' | '.join(row)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=2)
    parser.add_argument("--shares", type=int, nargs="+", default=[20])
    parser.add_argument("--mechanisms", nargs="+", default=MECHANISMS, choices=MECHANISMS)
    parser.add_argument("--cases", nargs="+", default=CASES, choices=CASES)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--limit", type=float, default=300.0)
    args = parser.parse_args()
    {"run": run, "show": show}[args.what](args)


if __name__ == "__main__":
    main()
