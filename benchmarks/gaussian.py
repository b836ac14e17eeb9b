"""Graphs, predictions and probabilities from continuous data, of BRAI and of other packages.

    python benchmarks/gaussian.py run --data FOLDER --journal FILE [--sets 10] [--rows 100 500 2000] [--limit 600]
    python benchmarks/gaussian.py show --journal FILE

Samples of linear Gaussian networks whose graph is known: ECOLI70 and MAGIC-NIAB of the data folder, and random
ones (random-D: D variables, about 1.5 D edges, coefficients from 0.3 to 1 of either sign). Learners run in
processes of their own and are stopped after ``--limit`` seconds. A cell (network, rows, data set, learner) is a
line of the journal; a run that was stopped continues. Peers that are not installed are left out.

Measures: F1 of the skeleton, SHD to the true CPDAG, the mean log density of 2000 other rows under the graph with
parameters by least squares, CPU seconds. For learners with probabilities: ECE, Brier and log loss of pairs as in
benchmarks/calibration.py. Bins are quantiles: three for each column, learned with BDeu.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from calibration import ece, measured
from structure import fill, of_causal_learn, of_edges

from brai import BRAI, MMHC, PDAG, RAI, Bootstrap, Dataset, HillClimbing, OrderSearch
from brai.kinds.gaussian.network import GaussianNetwork

NETWORKS = ("ecoli70", "magic-niab", "random-30", "random-60")
TEST_ROWS = 2000


def network_of(folder: Path, name: str) -> GaussianNetwork:
    """A network of the data folder, or a random one."""
    if name.startswith("random-"):
        return random_network(int(name.removeprefix("random-")))
    content = json.loads((folder / "gaussian" / f"{name}.json").read_text())
    names = tuple(content["nodes"])
    own = [content["cpds"][node] for node in names]

    def number(value: Any) -> float:
        return float(np.ravel(value)[0])

    return GaussianNetwork(
        names,
        tuple(tuple(names.index(p) for p in one["parents"]) for one in own),
        tuple(number(one["coefficients"]["(Intercept)"]) for one in own),
        tuple(tuple(number(one["coefficients"][p]) for p in one["parents"]) for one in own),
        tuple(number(one["variance"]) for one in own),
        name,
    )


def random_network(d: int) -> GaussianNetwork:
    """A random linear model with names that do not tell the order."""
    rng = np.random.default_rng(d)
    parents = [tuple(np.flatnonzero(rng.random(v) < 3 / d).tolist()) for v in range(d)]
    weights = tuple(tuple((rng.uniform(0.3, 1, len(p)) * rng.choice([-1, 1], len(p))).tolist()) for p in parents)
    names = tuple(f"v{i:03d}" for i in rng.permutation(d))
    return GaussianNetwork(names, tuple(parents), (0.0,) * d, weights, tuple(rng.uniform(0.5, 2, d).tolist()))


# --- learners --------------------------------------------------------------------------------------------


def fitted(model: Any) -> Callable[[Any], tuple[PDAG, Any]]:
    def learn(data: Any) -> tuple[PDAG, Any]:
        own = model.fit(data)
        sure = isinstance(model, BRAI | Bootstrap)
        return own.cpdag_, own.edge_probabilities() if sure else None

    return learn


def in_bins(model: Any, bins: int = 3) -> Callable[[Any], tuple[PDAG, Any]]:
    def learn(data: Any) -> tuple[PDAG, Any]:
        cuts = [np.quantile(own, np.arange(1, bins) / bins) for own in data.values]
        codes = [np.searchsorted(cut, own) for cut, own in zip(cuts, data.values, strict=True)]
        return model.fit(
            Dataset.from_codes(np.array(codes).T, names=data.names, arities=[bins] * len(codes))
        ).cpdag_, None

    return learn


def causal_learn(how: str) -> Callable[[Any], tuple[PDAG, Any]]:
    def learn(data: Any) -> tuple[PDAG, Any]:
        rows = np.ascontiguousarray(data.standardised.T)
        if how == "PC":
            found = import_module("causallearn.search.ConstraintBased.PC").pc(
                rows, 0.01, "fisherz", show_progress=False
            )
            return of_causal_learn(data, found.G.graph), None
        if how == "GES":
            found = import_module("causallearn.search.ScoreBased.GES").ges(rows, "local_score_BIC")["G"]
        else:
            module = import_module(f"causallearn.search.PermutationBased.{how}")
            found = getattr(module, how.lower())(rows, "local_score_BIC", verbose=False)
        return of_causal_learn(data, found.graph), None

    return learn


def pgmpy(data: Any) -> tuple[PDAG, Any]:
    import pandas
    from pgmpy.estimators import HillClimbSearch

    frame = pandas.DataFrame(data.to_dict())
    dag = HillClimbSearch(frame).estimate(scoring_method="bic-g", show_progress=False)
    return of_edges(data, list(dag.edges())), None


def pyagrum(data: Any) -> tuple[PDAG, Any]:
    import pandas
    import pyagrum
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor

    frame = pandas.DataFrame(data.to_dict())
    processor = DiscreteTypeProcessor(defaultDiscretizationMethod="quantile", defaultNumberOfBins=3)
    learner = pyagrum.BNLearner(frame, processor.discretizedTemplate(frame))
    learner.useGreedyHillClimbing()
    found = learner.learnBN()
    return of_edges(data, [(found.variable(a).name(), found.variable(b).name()) for a, b in found.arcs()]), None


LEARNERS: dict[str, tuple[str, Callable[[Any], tuple[PDAG, Any]]]] = {
    "BRAI": ("", fitted(BRAI(random_state=0))),
    "BRAI, model alone": ("", fitted(BRAI(random_state=0, posterior_from="mcmc"))),
    "RAI": ("", fitted(RAI())),
    "tabu search, BGe": ("", fitted(HillClimbing())),
    "MMHC, BGe": ("", fitted(MMHC())),
    "50 bootstraps of tabu": ("", fitted(Bootstrap(HillClimbing(), 50, random_state=0))),
    "OrderSearch on bins": ("", in_bins(OrderSearch())),
    "pgmpy, hill climbing": ("pgmpy", pgmpy),
    "pyAgrum, its bins": ("pyagrum", pyagrum),
    "causal-learn, PC": ("causallearn", causal_learn("PC")),
    "causal-learn, GES": ("causallearn", causal_learn("GES")),
    "causal-learn, BOSS": ("causallearn", causal_learn("BOSS")),
    "causal-learn, GRaSP": ("causallearn", causal_learn("GRaSP")),
}


def one(send: Any, folder: Path, network: str, rows: int, version: int, learner: str) -> None:
    """Learn in a process of its own; the time of compiled code that is loaded is not counted."""
    warnings.simplefilter("ignore")
    source = network_of(folder, network)
    data = source.sample(rows, random_state=version)
    test = source.sample(TEST_ROWS, random_state=10_000 + version)
    learn = LEARNERS[learner][1]
    if not LEARNERS[learner][0]:
        learn(random_network(5).sample(50, random_state=0))
    start = time.process_time()
    found, edges = learn(data)
    cell: dict[str, Any] = {"cpu_s": time.process_time() - start}
    found, truth = found.reorder(data.names), source.pdag
    own, true = found.skeleton().astype(bool), truth.skeleton().astype(bool)
    cell["f1"] = float(2 * (own & true).sum() / max(1, own.sum() + true.sum()))
    cell["shd"] = found.shd(truth.to_cpdag())
    with suppress(ValueError):  # PC may return a graph that no DAG extends
        cell["density"] = float(GaussianNetwork.fit(found.to_dag(), data, ess=0).log_prob(test).mean())
    if edges is not None:
        cell |= measured(np.asarray(edges), truth)
    send.send(cell)


def run(args: argparse.Namespace) -> None:
    """Fill the journal."""
    fill(args, LEARNERS, one)


def show(args: argparse.Namespace) -> None:
    """A table for each number of rows: F1, SHD, log density, CPU seconds; then probabilities."""
    cells = defaultdict(list)
    for line in args.journal.read_text().splitlines():
        cell = json.loads(line)
        cells[cell["rows"], cell["learner"], cell["network"]].append(cell)
    for rows in sorted({key[0] for key in cells}):
        networks = [n for n in NETWORKS if any(key[0] == rows and key[2] == n for key in cells)]
        print(f"\n{rows} rows: F1 of the skeleton, SHD, mean log density of other rows, CPU s\n")
        print(f"| | {' | '.join(networks)} |\n|---{'|---' * len(networks)}|")
        for learner in LEARNERS:
            row = [told(cells.get((rows, learner, network), [])) for network in networks]
            if any(row):
                print(f"| {learner} | {' | '.join(row)} |")
        print(f"\n{rows} rows: ECE / Brier / log loss of pairs\n")
        print(f"| | {' | '.join(networks)} |\n|---{'|---' * len(networks)}|")
        for learner in LEARNERS:
            row = [sure(cells.get((rows, learner, network), [])) for network in networks]
            if any(row):
                print(f"| {learner} | {' | '.join(row)} |")


def told(own: list[dict[str, Any]]) -> str:
    """Means over data sets, as text."""
    ended = [cell for cell in own if "f1" in cell]
    if not ended:
        return "did not end" if own else ""
    f1, shd, cpu = (np.mean([cell[key] for cell in ended]) for key in ("f1", "shd", "cpu_s"))
    density = [cell["density"] for cell in ended if "density" in cell]
    return f"{f1:.3f}, {shd:.1f}, " + (f"{np.mean(density):.2f}, " if density else "–, ") + f"{cpu:.2g} s"


def sure(own: list[dict[str, Any]]) -> str:
    """ECE, Brier and log loss of learners with probabilities."""
    known = [cell for cell in own if "pairs" in cell]
    if not known:
        return ""
    brier, loss = (np.mean([cell["pairs"][key] for cell in known]) for key in ("brier", "log_loss"))
    return f"{ece(known, 'pairs'):.3f} / {brier:.1f} / {loss:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--limit", type=float, default=600.0)
    args = parser.parse_args()
    {"run": run, "show": show}[args.what](args)


if __name__ == "__main__":
    main()
