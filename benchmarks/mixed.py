"""Graphs, predictions and probabilities from mixed tables, of BRAI and of other ways.

    python benchmarks/mixed.py run --data FOLDER --journal FILE [--sets 2] [--rows 300 1000 5000] [--limit 120]
    python benchmarks/mixed.py show --journal FILE

The sources are those of benchmarks/mixed_cases.py, in two halves: defaults are chosen on CHOICE and reported on
REPORT. A cell (network, rows, data set, learner) is a line of the journal; a run that was stopped continues. A
learner is stopped after ``--limit`` seconds. Peers that are not installed are left out.

Measures: F1 of the skeleton, SHD to the true CPDAG, the mean log density of 1000 other rows under one DAG of the
graph with the local models of `brai.kinds.mixed` (so all learners have the same parameters, whatever theirs are),
CPU seconds. With probabilities: ECE and log loss of pairs as in benchmarks/calibration.py. BRAI has no
probabilities with more than MOST rows, to save time.

Bins are three quantiles for each measurement; ordered states are then categories. With copula draws
(benchmarks/copula.py) probabilities are means over graphs of drawn tables, and the graph has the pairs above ½.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from calibration import ece, measured
from conditional_gaussian import climb
from copula import drawn
from gaussian import causal_learn, pyagrum
from mixed_cases import CHOICE, REPORT, source_of
from structure import fill, of_edges

from brai import BRAI, PDAG, Dataset, HillClimbing
from brai.data.measurements import Measurements
from brai.graphs.pdag import families_of
from brai.kinds import kind_of

TEST_ROWS = 1000
MOST = 1000  # rows with which BRAI computes probabilities
Learn = Callable[[Any], tuple[PDAG, Any]]


def fitted(model: Any) -> Learn:
    def learn(data: Any) -> tuple[PDAG, Any]:
        own = model.fit(data)
        sure = isinstance(model, BRAI) and data.n_rows <= MOST
        return own.cpdag_, own.edge_probabilities() if sure else None

    return learn


def in_bins(model: Any, bins: int = 3) -> Learn:
    def learn(data: Any) -> tuple[PDAG, Any]:
        codes, arities = [], []
        for v, own in enumerate(data.columns()):
            if (states := data.states_of(v)) is None:
                own = np.searchsorted(np.quantile(own, np.arange(1, bins) / bins), own)
            codes.append(own)
            arities.append(bins if states is None else len(states))
        table = Dataset.from_codes(np.stack(codes, axis=1), names=data.names, arities=arities)
        return fitted(model)(table)

    return learn


def by_copula(model: Any, n_draws: int) -> Learn:
    def learn(data: Any) -> tuple[PDAG, Any]:
        chances = []
        for table in drawn(data, n_draws):
            found, edges = fitted(model)(table)
            both = found.adjacency & found.adjacency.T
            chances.append(found.adjacency - both / 2 if edges is None else edges)
        return likely(data.names, np.mean(chances, axis=0)), np.mean(chances, axis=0)

    return learn


def likely(names: tuple[str, ...], edges: np.ndarray) -> PDAG:
    """The CPDAG of a DAG of the pairs that are more likely adjacent than not, the likeliest first."""
    reach, graph = np.eye(len(names), dtype=bool), np.zeros((len(names),) * 2, np.int8)
    pairs = np.triu(edges + edges.T)
    for a, b in np.argwhere(pairs > 0.5)[np.argsort(-pairs[pairs > 0.5], kind="stable")]:
        a, b = (a, b) if edges[a, b] >= edges[b, a] else (b, a)
        a, b = (b, a) if reach[b, a] else (a, b)
        graph[a, b] = 1
        reach |= np.outer(reach[:, a], reach[b])
    return PDAG(names, graph).to_cpdag()


def of_codes(learn: Learn) -> Learn:
    """A learner of measurements, given the codes of states as numbers."""
    return lambda data: learn(Measurements(np.array(data.columns(), float), data.names))


def pgmpy(data: Any) -> tuple[PDAG, Any]:
    import pandas
    from pgmpy.estimators import HillClimbSearch

    frame = pandas.DataFrame(data.to_dict())
    for name, kind in zip(data.names, data.kinds, strict=True):
        if kind != "continuous":
            frame[name] = frame[name].astype("category")
    dag = HillClimbSearch(frame).estimate(scoring_method="bic-cg", show_progress=False)
    return of_edges(data, list(dag.edges())), None


LEARNERS: dict[str, tuple[str, Learn]] = {
    "BRAI, location": ("", fitted(BRAI(random_state=0))),
    "BRAI, dg": ("", fitted(BRAI(random_state=0, family_score="dg"))),
    "BRAI, bic": ("", fitted(BRAI(random_state=0, family_score="bic"))),
    "BRAI on bins": ("", in_bins(BRAI(random_state=0))),
    "BRAI, 4 copula draws": ("", by_copula(BRAI(random_state=0, posterior_from="mcmc"), 4)),
    "tabu, location": ("", fitted(HillClimbing())),
    "tabu, dg": ("", fitted(HillClimbing(family_score="dg"))),
    "tabu, bic": ("", fitted(HillClimbing(family_score="bic"))),
    "tabu on bins": ("", in_bins(HillClimbing())),
    "tabu, 10 copula draws": ("", by_copula(HillClimbing(), 10)),
    "conditional Gaussian, climb": ("", lambda data: (climb(data), None)),
    "pgmpy, its conditional Gaussian": ("pgmpy", pgmpy),
    "pyAgrum, its bins": ("pyagrum", pyagrum),
    "causal-learn, PC on codes": ("causallearn", of_codes(causal_learn("PC"))),
    "causal-learn, BOSS on codes": ("causallearn", of_codes(causal_learn("BOSS"))),
}


def one(send: Any, folder: Path, network: str, rows: int, version: int, learner: str) -> None:
    """Learn from one data set."""
    warnings.simplefilter("ignore")
    source = source_of(folder, network, version)
    data, rest = source.sample(rows, version), source.sample(TEST_ROWS, 10_000 + version)
    start = time.process_time()
    found, edges = LEARNERS[learner][1](data)
    cell: dict[str, Any] = {"cpu_s": time.process_time() - start}
    found, truth = found.reorder(data.names), source.pdag
    own, true = found.skeleton().astype(bool), truth.skeleton().astype(bool)
    cell["f1"] = float(2 * (own & true).sum() / max(1, own.sum() + true.sum()))
    cell["false"], cell["missed"] = int((own & ~true).sum() / 2), int((~own & true).sum() / 2)
    cell["shd"] = found.shd(truth.to_cpdag())
    with suppress(ValueError):  # PC may return a graph that no DAG extends
        families, test = families_of(found.to_dag()), kind_of(data).conforming(rest, data)
        parts = kind_of(data).predictions(families, data, test, 1.0)
        cell["density"] = float(np.concatenate(list(parts), axis=1).sum(axis=0).mean())
    if edges is not None:
        cell |= measured(np.asarray(edges), truth)
    send.send(cell)


class Helper:
    """A process that keeps what it has compiled or loaded from one task to the next."""

    def __init__(self) -> None:
        self.process: Any = None
        self.warm: set[str] = set()

    def __call__(self, function: Callable[..., None], seconds: float, *task: Any) -> dict[str, Any]:
        """What the function sends, or {} if it did not end in time or failed; the process then ends."""
        learner = task[-1]
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, there = context.Pipe()
            self.process, self.warm = context.Process(target=serve, args=(there,), daemon=True), set()
            self.process.start()
            there.close()
        if learner not in self.warm:  # load compiled code first, on few rows; that time is not counted
            self.warm.add(learner)
            self(function, 10 * seconds, task[0], "cg-a", 60, 1, learner)
            if self.process is None:
                return {}
        self.pipe.send((function, task))
        with suppress(EOFError):
            if self.pipe.poll(seconds):
                return dict(self.pipe.recv())
        self.process.kill()
        self.process.join()
        self.process = None
        return {}


def serve(pipe: Any) -> None:
    """Work on tasks as they come."""
    with suppress(EOFError):  # the parent has ended
        while True:
            function, task = pipe.recv()
            function(pipe, *task)


def run(args: argparse.Namespace) -> None:
    """Fill the journal."""
    fill(args, LEARNERS, one, Helper())


def show(args: argparse.Namespace) -> None:
    """Tables for each half and number of rows."""
    cells = defaultdict(list)
    for line in args.journal.read_text().splitlines():
        cell = json.loads(line)
        cells[cell["rows"], cell["learner"], cell["network"]].append(cell)
    for half, networks in (("choice", CHOICE), ("report", REPORT)):
        for rows in sorted({key[0] for key in cells if key[2] in networks}):
            for title, tell in TABLES.items():
                print(f"\n{half}, {rows} rows: {title}\n\n| | {' | '.join(networks)} | mean |")
                print(f"|---{'|---' * len(networks)}|---|")
                for learner in LEARNERS:
                    own = [cells.get((rows, learner, network), []) for network in networks]
                    ended = [[cell for cell in some if "f1" in cell] for some in own]
                    row = [
                        tell([some]) if some else "–" if tried else ""
                        for tried, some in zip(own, ended, strict=True)
                    ]
                    if any(text.strip("–") for text in row):
                        print(f"| {learner} | {' | '.join([*row, tell(ended) if all(ended) else ''])} |")


Groups = list[list[dict[str, Any]]]  # cells of each network


def average(groups: Groups, key: str) -> float:
    """The mean over networks of means over data sets; NaN if a cell lacks it."""
    return float(np.mean([np.mean([cell.get(key, np.nan) for cell in own]) for own in groups]))


def graphs(groups: Groups) -> str:
    return f"{average(groups, 'f1'):.3f}, {average(groups, 'shd'):.1f}"


def densities(groups: Groups) -> str:
    return "" if np.isnan(mean := average(groups, "density")) else f"{mean:.2f}"


def chances(groups: Groups) -> str:
    if any("pairs" not in cell for own in groups for cell in own):
        return ""
    loss = np.mean([np.mean([cell["pairs"]["log_loss"] for cell in own]) for own in groups])
    return f"{np.mean([ece(own, 'pairs') for own in groups]):.3f} / {loss:.1f}"


def times(groups: Groups) -> str:
    return f"{average(groups, 'cpu_s'):.2g}"


TABLES = {
    "F1 of the skeleton, SHD": graphs,
    "mean log density of other rows": densities,
    "ECE / log loss of pairs": chances,
    "CPU s": times,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 5000])
    parser.add_argument("--networks", nargs="+", default=[*CHOICE, *REPORT])
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--limit", type=float, default=120.0)
    args = parser.parse_args()
    {"run": run, "show": show}[args.what](args)


if __name__ == "__main__":
    main()
