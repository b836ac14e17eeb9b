"""Score, prediction and structure of default BRAI and of what it is measured against, in one run on the same data.

    python benchmarks/quality.py --data FOLDER [--networks Alarm …] [--sets 10] [--ges-sets 0] [--json FILE]
    python benchmarks/quality.py --data FOLDER --held-out            # networks and rows nothing was chosen on

For each learner: BDeu (ess 1) of its graph, sum of log predictive of the held-out rows (5000; parameters are
posterior means), structural Hamming distance to the true CPDAG, F1 of the skeleton, CPU seconds. "averaged" is
BRAI's prediction averaged over its MCMC posterior. Tabu and order search get as much CPU time as BRAI took.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from search import pyagrum_learner

from brai import BRAI, MMHC, PDAG, load_network
from brai.families import FamilyTable
from brai.graphs import families_of
from brai.polish import adjacency_of
from brai.predictive import log_predictive
from brai.scores import FamilyScores
from brai.search import hill_climb, search_by_order
from mmhc_data import load, true_graph

NETWORKS = ["Child", "Insurance", "Mildew", "Alarm", "Barley", "Hailfinder", "Munin", "Link"]
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
GES_SECONDS = 600


def brai_model(train: Any, seconds: float) -> BRAI:
    """The default, with a seed."""
    return BRAI(random_state=0).fit(train)


def order_search(train: Any, seconds: float) -> PDAG:
    """Search over orders from random ones, for so long."""
    data = train.select(sorted(train.names))
    deadline = time.monotonic() + seconds
    table = FamilyTable(FamilyScores(data))
    found = search_by_order(
        table, restarts=10**6, kicks=10, grow=False, deadline=deadline, seed=np.random.SeedSequence(7)
    )
    if table.grow(found.families, 0.0):
        found = search_by_order(table, restarts=0, kicks=10, seed=np.random.SeedSequence(8))
    return PDAG.from_parents(data.names, [own for _, own in found.families])


def tabu(train: Any, seconds: float, most: int | None = 4) -> PDAG:
    """Tabu search from no edges, then from perturbed copies of the best, for so long."""
    data = train.select(sorted(train.names))
    scores, start = FamilyScores(data), time.monotonic()
    best, turn = hill_climb(scores, max_parents=most), 0
    while time.monotonic() - start < seconds:
        turn += 1
        begin = adjacency_of(best.families, data.n_variables)
        found = hill_climb(
            scores,
            start=begin,
            max_parents=most,
            orders=[range(data.n_variables)],
            restarts=5,
            seed=np.random.SeedSequence(turn),
        )
        best = max(best, found, key=lambda one: one.log_score)
    return PDAG.from_parents(data.names, [own for _, own in best.families])


def free_tabu(train: Any, seconds: float) -> PDAG:
    """The same with any number of parents."""
    return tabu(train, seconds, None)


def mmhc(train: Any, seconds: float) -> PDAG:
    """MMHC as published."""
    return MMHC().fit(train).dag_


def pyagrum(train: Any, seconds: float, tabu_list: bool = False) -> PDAG | None:
    """pyAgrum's greedy hill climbing, or local search with tabu list, on BDeu."""
    learner = pyagrum_learner(train)
    if learner is None:
        return None
    if tabu_list:
        learner.useLocalSearchWithTabuList()
    else:
        learner.useGreedyHillClimbing()
    net = learner.learnBN()
    adjacency = np.zeros((len(train.names),) * 2, np.int8)
    place = {name: i for i, name in enumerate(train.names)}
    for a, b in net.arcs():
        adjacency[place[net.variable(a).name()], place[net.variable(b).name()]] = 1
    return PDAG(train.names, adjacency)


def pyagrum_tabu(train: Any, seconds: float) -> PDAG | None:
    """pyAgrum's local search with tabu list."""
    return pyagrum(train, seconds, tabu_list=True)


LEARNERS = {
    "BRAI": brai_model,
    "tabu, same time": tabu,
    "tabu, same time, any number of parents": free_tabu,
    "order search, same time": order_search,
    "MMHC": mmhc,
    "pyAgrum hc": pyagrum,
    "pyAgrum tabu": pyagrum_tabu,
}


def _ges(train: Any, pipe: Any) -> None:
    from causallearn.search.ScoreBased.GES import ges

    start = time.process_time()
    found = ges(np.asarray(train.codes.T, float), score_func="local_score_BDeu")["G"].graph
    adjacency = ((found == -1) & (found.T == 1)) | ((found == -1) & (found.T == -1))  # i → j, or i – j both ways
    pipe.send((adjacency.astype(np.int8), time.process_time() - start))


def ges(train: Any) -> tuple[PDAG, float] | None:
    """causal-learn's GES, if it ends in time."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_ges, args=(train, there))
    process.start()
    answer = here.recv() if here.poll(GES_SECONDS) else None
    process.kill()
    return None if answer is None else (PDAG(train.names, answer[0]).to_dag(), answer[1])


def measured(dag: PDAG, train: Any, test: Any, truth: PDAG) -> dict[str, float]:
    """What a DAG is worth."""
    names = sorted(train.names)
    own = families_of(dag.reorder(names))
    data = train.select(names)
    true, found = np.triu(truth.skeleton()), np.triu(dag.reorder(truth.names).skeleton())
    return {
        "bdeu": FamilyScores(data).total(own),
        "predictive": float(log_predictive(own, data, test.select(names)).sum()),
        "shd": dag.to_cpdag().shd(truth.to_cpdag()),
        "f1": 2 * float((true & found).sum()) / max(1, int(true.sum() + found.sum())),
    }


def one_set(train: Any, test: Any, truth: PDAG, with_ges: bool) -> dict[str, dict[str, float]]:
    """All learners on one data set."""
    rows: dict[str, dict[str, float]] = {"true graph": measured(truth, train, test, truth)}
    seconds = 0.0
    for name, learn in LEARNERS.items():
        if "pyAgrum" in name and train.n_variables > 100:
            continue  # on Munin it does not end in three minutes: constant columns get ever more parents
        start = time.process_time()
        found = learn(train, seconds)
        spent = time.process_time() - start
        print(f"  {name}: {spent:.1f} s", file=sys.stderr, flush=True)
        if found is None:
            continue
        if isinstance(found, BRAI):
            model, seconds = found, spent
            found = model.dag_
            start = time.process_time()
            averaged = float(model.score_samples(test).sum())
            chains = model.chains()
            rows["BRAI, averaged"] = {"predictive": averaged, "cpu_s": time.process_time() - start}
            rows["BRAI, averaged"] |= {"r_hat": chains.r_hat(), "ess": chains.ess()}
        rows[name] = {**measured(found, train, test, truth), "cpu_s": spent}
    if with_ges and (answer := ges(train)) is not None:
        rows["causal-learn GES"] = {**measured(answer[0], train, test, truth), "cpu_s": answer[1]}
    return rows


def shown(title: str, results: list[dict[str, dict[str, float]]]) -> None:
    """One table, means over data sets; ± is the standard error of the difference to BRAI."""
    print(f"\n**{title}**, {len(results)} data sets\n")
    print("| learner | BDeu | log predictive | SHD | skeleton F1 | CPU s |\n|---|---|---|---|---|---|")
    for name in dict.fromkeys(name for own in results for name in own):
        have = [own for own in results if name in own]

        def mean(key: str, form: str, name: str = name, have: Any = have) -> str:
            values = [own[name][key] for own in have if key in own[name]]
            return format(np.mean(values), form) if values else ""

        cells = [mean("bdeu", ".1f"), mean("predictive", ".0f"), mean("shd", ".1f"), mean("f1", ".3f")]
        label = name if len(have) == len(results) else f"{name} ({len(have)} sets)"
        print(f"| {label} | {' | '.join(cells)} | {mean('cpu_s', '.2f')} |", flush=True)
    if title in BNLEARN_TABU:
        print(f"| bnlearn tabu (measured once) | | {BNLEARN_TABU[title]} | | | |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--ges-sets", type=int, default=0, help="data sets that causal-learn's GES gets")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    BRAI(random_state=0).fit(load_network("cancer").sample(50, random_state=0)).chains()  # compiles
    done: dict[str, Any] = {}
    plan = (
        [(f"{n}, {r} rows", n, r) for n, r in HELD_OUT] if args.held_out else [(n, n, 500) for n in args.networks]
    )
    for title, network, rows in plan:
        done[title] = []
        for version in range(1, args.sets + 1):
            print(f"{title} {version}", file=sys.stderr, flush=True)
            if args.held_out:
                source = load_network(args.data / "networks" / f"{network}.bif.gz")
                train, test = (
                    source.sample(rows, random_state=version),
                    source.sample(5000, random_state=500 + version),
                )
                truth = source.pdag
            else:
                train, test = load(args.data, network, version)
                truth = true_graph(args.data, network)
            done[title].append(one_set(train, test, truth, version <= args.ges_sets))
            if args.json:
                args.json.write_text(json.dumps(done, indent=1))
        shown(title, done[title])


if __name__ == "__main__":
    main()
