"""Score, prediction and structure of default BRAI and of what it is measured against, on the same data.

    python benchmarks/quality.py --data FOLDER [-o FOLDER] [--networks Alarm …] [--sets 10]
    python benchmarks/quality.py --data FOLDER --held-out --sets 3       # networks and rows nothing was chosen on

The cells of ``brai paper table1`` (BRAI, MMHC, GES, true graph; `brai.research.paper.table1` says what is
measured) and, for each data set, tabu search and order search for as much CPU time as BRAI took there, and
pyAgrum. After each network: how many families of the true graph score higher than every set of their variable in
the table of parent sets, so that the search cannot find them. Cells that ``table1.cells.jsonl`` in the output
folder holds are not computed again, nor those of a run before.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joint import missing
from search import pyagrum_learner

from brai import PDAG, Dataset, __version__
from brai.graphs.pdag import families_of
from brai.kinds.scores import FamilyScores
from brai.research.paper import table1
from brai.research.paper.cells import Cell, Journal, run
from brai.research.paper.record import document, write_json
from brai.research.paper.sources import NETWORKS, Case, case, network_of, origin
from brai.search.family_table import FamilyTable
from brai.search.from_tree import adjacency_of
from brai.search.hill_climbing import hill_climb
from brai.search.joint_parents import deepen
from brai.search.orders import search_by_order

HELD_OUT = [("sachs", 300), ("sachs", 2000), ("survey", 2000), ("asia", 200), ("alarm", 2000), ("mildew", 2000)]
HELD_OUT += [("munin1", 1000), ("barley", 2000), ("insurance", 5000), ("hailfinder", 2000)]
BNLEARN_TABU = {
    "Child": -62742,
    "Insurance": -68846,
    "Mildew": -255299,
    "Alarm": -50223,
    "Barley": -290833,
    "Hailfinder": -256724,
}
FROM_TABLE = ("true graph", "BRAI", "MMHC", "GES")
MANY = 100  # variables; on Munin pyAgrum does not end in three minutes: constant columns get ever more parents


# --- learners with a limit of time --------------------------------------------------------------------


def order_search(data: Dataset, seconds: float) -> PDAG:
    """Search over orders from random ones, for so long."""
    deadline = time.monotonic() + seconds
    table = FamilyTable(FamilyScores(data))
    found = search_by_order(
        table, restarts=10**6, kicks=10, grow=False, deadline=deadline, seed=np.random.SeedSequence(7)
    )
    if table.grow(found.families, 0.0):
        found = search_by_order(table, restarts=0, kicks=10, seed=np.random.SeedSequence(8))
    return PDAG.from_parents(data.names, [own for _, own in found.families])


def tabu(data: Dataset, seconds: float, most: int | None = 4) -> PDAG:
    """Tabu search from no edges, then from perturbed copies of the best, for so long."""
    scores, start = FamilyScores(data), time.process_time()
    best, turn = hill_climb(scores, max_parents=most), 0
    while time.process_time() - start < seconds:
        turn += 1
        found = hill_climb(
            scores,
            start=adjacency_of(best.families, data.n_variables),
            max_parents=most,
            orders=[range(data.n_variables)],
            restarts=5,
            seed=np.random.SeedSequence(turn),
        )
        best = max(best, found, key=lambda one: one.log_score)
    return PDAG.from_parents(data.names, [own for _, own in best.families])


def free_tabu(data: Dataset, seconds: float) -> PDAG:
    """The same with any number of parents."""
    return tabu(data, seconds, None)


def pyagrum(data: Dataset, seconds: float, tabu_list: bool = False) -> PDAG | None:
    """pyAgrum's greedy hill climbing, or local search with tabu list, on BDeu."""
    learner = pyagrum_learner(data)
    if learner is None or data.n_variables > MANY:
        return None
    if tabu_list:
        learner.useLocalSearchWithTabuList()
    else:
        learner.useGreedyHillClimbing()
    net = learner.learnBN()
    adjacency = np.zeros((len(data.names),) * 2, np.int8)
    place = {name: i for i, name in enumerate(data.names)}
    for a, b in net.arcs():
        adjacency[place[net.variable(a).name()], place[net.variable(b).name()]] = 1
    return PDAG(data.names, adjacency)


def pyagrum_tabu(data: Dataset, seconds: float) -> PDAG | None:
    """pyAgrum's local search with tabu list."""
    return pyagrum(data, seconds, tabu_list=True)


LEARNERS: dict[str, Callable[[Dataset, float], PDAG | None]] = {
    "tabu, same time": tabu,
    "tabu, same time, any number of parents": free_tabu,
    "order search, same time": order_search,
    "pyAgrum hc": pyagrum,
    "pyAgrum tabu": pyagrum_tabu,
}


# --- cells ------------------------------------------------------------------------------------------------


def compared(folder: Path, network: str, version: int, learner: str, seconds: float) -> dict[str, Any]:
    """A learner with a limit of time on a data set of Table 1."""
    return _measured(case(folder, network, version), learner, seconds)


@cache
def warm_up(learner: str) -> None:
    """Load what is compiled, which is not the learner's time."""
    LEARNERS[learner](table1.tiny().train, 0.01)


def _measured(one: Case, learner: str, seconds: float) -> dict[str, Any]:
    warm_up(learner)
    start = time.process_time()
    found = LEARNERS[learner](one.train.select(sorted(one.train.names)), seconds)
    spent = time.process_time() - start
    if found is None:
        return {"ended": False}
    return {**table1.measured(found, one.train, one.test, one.truth), "cpu_s": spent}


def lacking(one: Case) -> dict[str, Any]:
    """Families of the true graph that would win and are not in the table, and by how much in all."""
    data = one.train.select(sorted(one.train.names))
    scores = FamilyScores(data)
    truth = families_of(one.truth.reorder(data.names))
    table = FamilyTable(scores)
    deepen(table)
    n, nats = missing(table, truth, scores.families(list(truth)))
    return {"families": n, "nats": nats}


def lacking_in(folder: Path, network: str, version: int) -> dict[str, Any]:
    """The same for a data set of Table 1."""
    return lacking(case(folder, network, version))


def held_out(folder: Path, network: str, rows: int, version: int) -> dict[str, Any]:
    """All learners on a sample of a network."""
    source = network_of(folder, network)
    train, test = source.sample(rows, random_state=version), source.sample(5000, random_state=500 + version)
    one = Case(train, test, source.pdag, "sampled", lambda: (source, test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {"BRAI": table1.brai(one, 0), "true graph": table1.true_graph(one, 0), "MMHC": table1.mmhc(one, 0)}
    for learner in LEARNERS:
        found[learner] = _measured(one, learner, found["BRAI"]["cpu_s"])
    return {**found, "lacking": lacking(one)}


def on_table1(args: argparse.Namespace, journal: Journal) -> dict[str, list[dict[str, Any]]]:
    """For each network and data set what each learner reached."""
    done: dict[str, list[dict[str, Any]]] = {}
    for network in args.networks:
        cells = table1.cells(args.data, [network], args.sets, FROM_TABLE, bootstraps=1, seed=0)
        own: dict[int, dict[str, Any]] = {version: {} for version in range(1, args.sets + 1)}
        for cell, result in zip(cells, run(journal, cells, title=network, show=True), strict=True):
            own[int(cell.key[2])][cell.key[3]] = result
        timed = [
            Cell(
                (network, origin(args.data, network), str(version), learner),
                compared,
                (args.data, network, version, learner, found["BRAI"]["cpu_s"]),
            )
            for version, found in own.items()
            for learner in args.learners
        ]
        for cell, result in zip(timed, run(journal, timed, title=network, show=True), strict=True):
            own[int(cell.key[2])][cell.key[3]] = result
        checks = [
            Cell(
                (network, origin(args.data, network), str(version), "lacking"),
                lacking_in,
                (args.data, network, version),
            )
            for version in own
        ]
        for cell, result in zip(checks, run(journal, checks, title=network, show=True), strict=True):
            own[int(cell.key[2])]["lacking"] = result
        done[network] = list(own.values())
        show(network, done[network])
    return done


def on_held_out(args: argparse.Namespace, journal: Journal) -> dict[str, list[dict[str, Any]]]:
    """The same on samples that nothing was chosen on."""
    done = {}
    for network, rows in HELD_OUT:
        cells = [
            Cell(("held-out", network, str(rows), str(version)), held_out, (args.data, network, rows, version))
            for version in range(1, args.sets + 1)
        ]
        title = f"{network}, {rows} rows"
        done[title] = run(journal, cells, title=title, show=True)
        show(title, done[title])
    return done


def show(title: str, results: Sequence[dict[str, Any]]) -> None:
    """One table, means over data sets."""
    print(f"\n**{title}**, {len(results)} data sets\n")
    print("| learner | BDeu | log predictive | SHD | skeleton F1 | CPU s |\n|---|---|---|---|---|---|")
    for name in dict.fromkeys(name for own in results for name in own if isinstance(own[name], dict)):
        have = [own[name] for own in results if "predictive" in own.get(name, {})]
        if not have:
            continue

        def mean(key: str, form: str, have: Any = have) -> str:
            return format(np.mean([one[key] for one in have]), form) if key in have[0] else ""

        label = name if len(have) == len(results) else f"{name} ({len(have)} sets)"
        figures = [mean("bdeu", ".1f"), mean("predictive", ".0f"), mean("shd", ".1f"), mean("f1", ".3f")]
        print(f"| {label} | {' | '.join(figures)} | {mean('cpu_s', '.2f')} |", flush=True)
        if name == "BRAI":
            figures = ["", mean("averaged", ".0f"), "", "", mean("averaged_cpu_s", ".2f")]
            print(f"| BRAI, averaged | {' | '.join(figures)} |", flush=True)
    lost = [own["lacking"] for own in results if "lacking" in own]
    if lost:
        n, nats = (np.mean([one[key] for one in lost]) for key in ("families", "nats"))
        print(f"\nTrue families that would win and are not in the table: {n:.1f}, {nats:.1f} nats", flush=True)
    if title in BNLEARN_TABU:
        print(f"| bnlearn tabu (measured once) | | {BNLEARN_TABU[title]} | | | |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=Path("paper-results"))
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--held-out", action="store_true")
    args = parser.parse_args()
    header = {"experiment": "table1", "brai": __version__, "seed": 0}
    journal = Journal(args.output / "table1.cells.jsonl", header)
    done = on_held_out(args, journal) if args.held_out else on_table1(args, journal)
    results = [one for sets in done.values() for own in sets for one in own.values() if isinstance(one, dict)]
    seconds = sum(one.get("seconds", 0.0) for one in results)
    name = "quality_heldout" if args.held_out else "quality"
    write_json(args.output / f"{name}.json", {**document(name, 0, seconds, {}), **done})


if __name__ == "__main__":
    main()
