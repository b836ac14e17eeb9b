"""Errors of learned graphs, of BRAI and of other packages, on samples of networks whose graph is known.

    python benchmarks/structure.py run --data FOLDER --journal FILE [--sets 3] [--rows 500 2000] [--limit 600]
    python benchmarks/structure.py show --journal FILE [--plot FILE]

Learners run in processes of their own and are stopped after ``--limit`` seconds. A cell (network, rows, data set,
learner) is a line of the journal; a run that was stopped continues. Peers that are not installed are left out.

Measures: false and missed pairs of the skeleton; SHD to the true CPDAG (structural Hamming distance: pairs that
are missing, extra, or directed differently); and the parent adjustment distance (Henckel, Würtzen &
Weichwald 2024, package gadjid): the share of ordered pairs (x, y) for which adjusting for the parents of x in the
learned graph would not give the effect of x on y.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from brai import BRAI, MMHC, PDAG, HillClimbing, load_network
from brai.research.bench.peers import climber

NETWORKS = ("Child", "Insurance", "Alarm", "Hailfinder", "Mildew", "Barley", "sachs", "munin1")
PEERS = {"pyAgrum": "pyagrum", "pgmpy": "pgmpy", "causal-learn": "causallearn"}


def of_edges(data: Any, edges: list[tuple[str, str]]) -> PDAG:
    """A DAG from its edges."""
    place = {name: i for i, name in enumerate(data.names)}
    adjacency = np.zeros((len(place),) * 2, np.int8)
    for a, b in edges:
        adjacency[place[a], place[b]] = 1
    return PDAG(data.names, adjacency).to_cpdag()


def of_causal_learn(data: Any, marks: np.ndarray) -> PDAG:
    """A graph of causal-learn: marks[i, j] is that at j of the edge i - j, 1 for an arrow and -1 for a tail."""
    adjacency = ((marks.T == 1) & (marks == -1)).T
    tails = (marks == -1) & (marks.T == -1)
    return PDAG(data.names, (adjacency.T | tails).astype(np.int8))


def causal_learn(how: str) -> Callable[[Any], PDAG]:
    """PC with G² tests at level 0.05, or a search with BDeu."""

    def learn(data: Any) -> PDAG:
        codes = np.ascontiguousarray(data.codes.T).astype(np.int64)
        if how == "PC":
            found = import_module("causallearn.search.ConstraintBased.PC").pc(
                codes, 0.05, "gsq", show_progress=False
            )
            return of_causal_learn(data, found.G.graph)
        if how == "GES":
            found = import_module("causallearn.search.ScoreBased.GES").ges(codes, "local_score_BDeu")["G"]
        else:
            module = import_module(f"causallearn.search.PermutationBased.{how}")
            found = getattr(module, how.lower())(codes, "local_score_BDeu", verbose=False)
        return of_causal_learn(data, found.graph)

    return learn


def fitted(model: Any) -> Callable[[Any], PDAG]:
    return lambda data: model.fit(data).cpdag_


LEARNERS: dict[str, tuple[str, Callable[[Any], PDAG]]] = {
    "BRAI": ("", fitted(BRAI(random_state=0))),
    "BRAI, uniform prior, ess 1": ("", fitted(BRAI(random_state=0, structure_prior="uniform", ess=1.0))),
    "tabu search": ("", fitted(HillClimbing())),
    "MMHC": ("", fitted(MMHC())),
    "pyAgrum, hill climbing": ("pyagrum", lambda data: of_edges(data, climber("pyAgrum", data)())),
    "pgmpy, hill climbing": ("pgmpy", lambda data: of_edges(data, climber("pgmpy", data)())),
    "causal-learn, PC": ("causallearn", causal_learn("PC")),
    "causal-learn, GES": ("causallearn", causal_learn("GES")),
    "causal-learn, BOSS": ("causallearn", causal_learn("BOSS")),
    "causal-learn, GRaSP": ("causallearn", causal_learn("GRaSP")),
}


def gadjid_matrix(graph: PDAG) -> np.ndarray:
    """Row to column: 1 for a directed edge; an undirected one is 2, in one place."""
    adjacency = np.asarray(graph.adjacency, np.int8)
    both = adjacency & adjacency.T
    return (adjacency & ~both & 1) + 2 * np.triu(both).astype(np.int8)


def errors(found: PDAG, truth: PDAG) -> dict[str, float]:
    """All measures; the adjustment distance only if the graph is a CPDAG and gadjid is installed."""
    upper = np.triu_indices(len(truth.names), 1)
    own, true = found.skeleton()[upper].astype(bool), truth.skeleton()[upper].astype(bool)
    measured = {"false": int((own & ~true).sum()), "missed": int((~own & true).sum()), "shd": found.shd(truth)}
    if find_spec("gadjid") is not None and found.is_cpdag():
        distance = import_module("gadjid").parent_aid
        share, _ = distance(gadjid_matrix(truth), gadjid_matrix(found), edge_direction="from row to column")
        measured["adjustment"] = float(share)
    return measured


def one(send: Any, folder: Path, network: str, rows: int, version: int, learner: str) -> None:
    """Learn in a process of its own; the time of compiled code that is loaded is not counted."""
    warnings.simplefilter("ignore")
    source = load_network(folder / "networks" / f"{network.lower()}.bif.gz")
    data = source.sample(rows, random_state=version)
    learn = LEARNERS[learner][1]
    if not LEARNERS[learner][0]:
        learn(load_network("cancer").sample(50, random_state=0))
    start = time.process_time()
    found = learn(data)
    send.send({"cpu_s": time.process_time() - start, **errors(found.reorder(data.names), source.pdag.to_cpdag())})


def limited(function: Callable[..., None], seconds: float, *task: Any) -> dict[str, Any]:
    """What ``function`` sends from a process of its own, or {} if it did not end in time or failed."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(False)
    process = context.Process(target=function, args=(send, *task))
    process.start()
    send.close()
    try:
        return receive.recv() if receive.poll(seconds) else {}
    except EOFError:
        return {}
    finally:
        process.kill()
        process.join()


def run(args: argparse.Namespace) -> None:
    """Fill the journal."""
    fill(args, LEARNERS, one)


def fill(
    args: argparse.Namespace,
    learners: dict[str, tuple[str, Any]],
    function: Callable[..., None],
    within: Callable[..., dict[str, Any]] = limited,
) -> None:
    """Make the cells that the journal lacks. A learner that did not end is not tried on more rows or sets.

    ``within`` runs a task within a time limit, like `limited`.
    """
    cells = [json.loads(line) for line in args.journal.read_text().splitlines()] if args.journal.exists() else []
    known = {(c["network"], c["rows"], c["set"], c["learner"]) for c in cells}
    stuck = {(c["network"], c["learner"]) for c in cells if "shd" not in c}
    with args.journal.open("a") as journal:
        for version in range(1, args.sets + 1):
            for rows in args.rows:
                for network in args.networks:
                    for learner in args.learners:
                        place = (network, rows, version, learner)
                        package = learners[learner][0]
                        missing = package and find_spec(package) is None
                        if place in known or missing or (network, learner) in stuck:
                            continue
                        found = within(function, args.limit, args.data, *place)
                        stuck |= set() if found else {(network, learner)}
                        cell = dict(zip(("network", "rows", "set", "learner"), place, strict=True)) | found
                        journal.write(json.dumps(cell) + "\n")
                        journal.flush()
                        print({key: cell[key] for key in cell if not isinstance(cell[key], dict)}, flush=True)


def show(args: argparse.Namespace) -> None:
    """A table for each number of rows: false + missed, SHD, adjustment distance."""
    cells = defaultdict(list)
    for line in args.journal.read_text().splitlines():
        cell = json.loads(line)
        cells[cell["rows"], cell["learner"], cell["network"]].append(cell)
    for rows in sorted({key[0] for key in cells}):
        networks = [n for n in NETWORKS if any(key[0] == rows and key[2] == n for key in cells)]
        print(f"\n{rows} rows: false + missed pairs, SHD, adjustment distance\n")
        print(f"| | {' | '.join(networks)} |\n|---{'|---' * len(networks)}|")
        for learner in LEARNERS:
            row = [told(cells.get((rows, learner, network), [])) for network in networks]
            if any(row):
                print(f"| {learner} | {' | '.join(row)} |")
    if args.plot:
        plot(cells, args.plot)


def told(own: list[dict[str, Any]]) -> str:
    """Means over data sets, as text."""
    ended = [cell for cell in own if "shd" in cell]
    if not ended:
        return "did not end" if own else ""
    false, missed, shd = (np.mean([cell[key] for cell in ended]) for key in ("false", "missed", "shd"))
    distance = [cell["adjustment"] for cell in ended if "adjustment" in cell]
    return f"{false:.1f} + {missed:.1f}, {shd:.1f}" + (f", {np.mean(distance):.2f}" if distance else "")


def plot(cells: dict[tuple[int, str, str], list[dict[str, Any]]], path: Path) -> None:
    """SHD by rows, a panel for each network."""
    import matplotlib.pyplot as plt

    networks = [n for n in NETWORKS if any(key[2] == n for key in cells)]
    figure, axes = plt.subplots(2, (len(networks) + 1) // 2, figsize=(14, 7), layout="constrained")
    for axis, network in zip(axes.flat, networks, strict=False):
        for number, learner in enumerate(LEARNERS):
            own = sorted({key[0] for key in cells if key[1:] == (learner, network)})
            own = [rows for rows in own if any("shd" in cell for cell in cells[rows, learner, network])]
            means = [np.mean([c["shd"] for c in cells[rows, learner, network] if "shd" in c]) for rows in own]
            style = {"linewidth": 2.5, "color": "black"} if learner == "BRAI" else {"color": f"C{number % 10}"}
            axis.plot(own, means, "o-", markersize=3, label=learner, **style)
        axis.set(title=network, xscale="log")
        axis.set_ylim(bottom=0)
    figure.supxlabel("rows")
    figure.supylabel("SHD to the true CPDAG")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=3)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2000, 10000])
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    {"run": run, "show": show}[args.what](args)


if __name__ == "__main__":
    main()
