"""Whether probabilities mean what they say: against the exact posterior, and against the true graph.

    python benchmarks/calibration.py exact [--sets 10]
    python benchmarks/calibration.py truth --data FOLDER --journal FILE [--sets 10] [--rows 500 5000] [--jobs 2]
    python benchmarks/calibration.py show --journal FILE [--plot FILE]

``exact``: small networks, mean absolute error of P(i → j) to the exact posterior over all DAGs (500 rows), under
each structure prior and with beliefs. ``truth``: larger networks (the original data where there are 500 rows, else
samples): are pairs that are adjacent with probability p adjacent in the true graph with frequency p? Each data set
and way is a line of the journal; a run that was stopped continues. ``show`` prints tables and draws reliability
diagrams.

ECE is the expected calibration error, over pairs of probability 0.01 or more in ten bins. Brier is the squared
error, log loss is -log of the probability of what is true, with probabilities between 0.001 and 0.999; both are
sums over all pairs, means over data sets. AP is the average precision of the ranking of pairs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from brai import BRAI, MMHC, Bootstrap, HillClimbing, Knowledge, OrderSearch, exact, load_network
from brai.research.paper.sources import case, true_graph

SMALL = ("cancer", "earthquake", "survey", "asia", "sachs")
LARGE = ("Alarm", "Child", "Insurance", "Hailfinder", "Mildew", "Barley", "munin1", "sachs")
ORIGINAL = LARGE[:6]  # networks with original data sets of 500 rows
PRIORS = ("uniform", "fair", {"strength": 1.5}, {"edges": 6})
DEFAULT = "BRAI (default)"
BOOTSTRAPS = 50
CLIP = 1e-3


def _bootstrap(learner: Any) -> Callable[[Any], np.ndarray]:
    return lambda data: np.asarray(Bootstrap(learner, BOOTSTRAPS, random_state=0).fit(data).edge_probabilities())


def _brai(**settings: Any) -> Callable[[Any], np.ndarray]:
    return lambda data: np.asarray(BRAI(random_state=0, **settings).fit(data).edge_probabilities())


WAYS: dict[str, Callable[[Any], np.ndarray]] = {
    "uniform prior, ess 1": _brai(structure_prior="uniform", ess=1.0, posterior_from="mcmc"),
    "fair prior, ess 1": _brai(structure_prior="fair", ess=1.0, posterior_from="mcmc"),
    "learned, model alone": _brai(posterior_from="mcmc"),
    DEFAULT: _brai(),
    "bagged, uniform prior, ess 1": _brai(structure_prior="uniform", ess=1.0),
    f"{BOOTSTRAPS} bootstraps of tabu": _bootstrap(HillClimbing()),
    f"{BOOTSTRAPS} bootstraps of MMHC": _bootstrap(MMHC()),
    f"{BOOTSTRAPS} bootstraps of OrderSearch": _bootstrap(OrderSearch(restarts=3, kicks=5)),
    f"{BOOTSTRAPS} bootstraps of OrderSearch, fair": _bootstrap(
        OrderSearch(restarts=3, kicks=5, structure_prior="fair")
    ),
}


def data_of(folder: Path, network: str, rows: int, version: int) -> tuple[Any, Any]:
    """Training rows, and the true DAG over the same names."""
    if network in ORIGINAL and rows == 500:
        truth = true_graph(folder, network)
        return case(folder, network, version).train.select(truth.names), truth
    source = load_network(folder / "networks" / f"{network.lower()}.bif.gz")
    return source.sample(rows, random_state=version), source.pdag


def bins_of(probability: np.ndarray, is_true: np.ndarray) -> list[list[float]]:
    """For ten bins: number, sum of probabilities, number that are true."""
    which = np.minimum((probability * 10).astype(int), 9)
    which[probability < 0.01] = -1
    return [[float(own.sum()), float(probability[own].sum()), float(is_true[own].sum())]
            for own in (which == b for b in range(10))]  # fmt: skip


def measured(edges: np.ndarray, truth: Any) -> dict[str, Any]:
    """Bins, Brier, log loss and average precision, of pairs and of directed edges."""
    upper, off = np.triu_indices(len(edges), 1), ~np.eye(len(edges), dtype=bool)
    found = {}
    for kind, p, t in (
        ("pairs", np.minimum(edges + edges.T, 1.0)[upper], truth.skeleton()[upper].astype(float)),
        ("edges", edges[off], truth.adjacency.astype(float)[off]),
    ):
        clipped = np.clip(p, CLIP, 1 - CLIP)
        order = np.argsort(-p, kind="stable")
        hits = np.cumsum(t[order]) / np.arange(1, len(t) + 1)
        found[kind] = {
            "bins": bins_of(p, t),
            "brier": float(((p - t) ** 2).sum()),
            "log_loss": float(-(t * np.log(clipped) + (1 - t) * np.log(1 - clipped)).sum()),
            "ap": float((hits * t[order]).sum() / t.sum()),
        }
    return found


def one(task: tuple[Path, str, int, int, str]) -> dict[str, Any]:
    """A cell: one network, number of rows, data set and way."""
    folder, network, rows, version, way = task
    warnings.simplefilter("ignore")
    data, truth = data_of(folder, network, rows, version)
    start = time.process_time()
    edges = WAYS[way](data)
    cell = {"network": network, "rows": rows, "set": version, "way": way, "cpu_s": time.process_time() - start}
    return {**cell, **measured(edges, truth)}


def against_truth(args: argparse.Namespace) -> None:
    """Fill the journal: the first data set of all networks, then the second, and so on."""
    known = set()
    if args.journal.exists():
        known = {tuple(json.loads(line)[key] for key in ("network", "rows", "set", "way"))
                 for line in args.journal.read_text().splitlines()}  # fmt: skip
    tasks = [
        (args.data, network, rows, version, way)
        for version in range(1, args.sets + 1)
        for rows in args.rows
        for network in args.networks
        for way in args.ways or WAYS
        if (network, rows, version, way) not in known
    ]
    with multiprocessing.get_context("spawn").Pool(args.jobs) as pool, args.journal.open("a") as journal:
        for done, cell in enumerate(pool.imap_unordered(one, tasks), 1):
            journal.write(json.dumps(cell) + "\n")
            journal.flush()
            told = f"{cell['network']} {cell['rows']} {cell['set']} {cell['way']}: {cell['cpu_s']:.1f} s"
            print(f"{done}/{len(tasks)} {told}", file=sys.stderr, flush=True)


def ece(cells: list[dict[str, Any]], kind: str) -> float:
    """Expected calibration error, pooled over data sets."""
    bins = np.sum([cell[kind]["bins"] for cell in cells], axis=0)
    return float(np.abs(bins[:, 1] - bins[:, 2]).sum() / max(1.0, bins[:, 0].sum()))


def show(args: argparse.Namespace) -> None:
    """Tables of the journal, one per number of rows."""
    cells: dict[tuple[int, str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in args.journal.read_text().splitlines():
        cell = json.loads(line)
        cells[cell["rows"], cell["way"], cell["network"]].append(cell)
    for rows in sorted({key[0] for key in cells}):
        networks = [n for n in LARGE if any(key[0] == rows and key[2] == n for key in cells)]
        print(f"\n{rows} rows: ECE / Brier / log loss / AP of pairs; ECE / Brier of directed edges; (data sets)\n")
        print(
            "| | "
            + " | ".join(networks)
            + " | mean ECE, sum of log loss, CPU s |\n|---" * 1
            + "|---" * (len(networks) + 1)
            + "|"
        )
        for way in WAYS:
            row, eces, losses, cpu = [], [], [], []
            for network in networks:
                own = cells.get((rows, way, network), [])
                if not own:
                    row.append("")
                    continue
                mean = {kind: {name: np.mean([c[kind][name] for c in own]) for name in ("brier", "log_loss", "ap")}
                        for kind in ("pairs", "edges")}  # fmt: skip
                eces.append(ece(own, "pairs"))
                losses.append(mean["pairs"]["log_loss"])
                cpu.append(np.mean([c["cpu_s"] for c in own]))
                pairs, edges = mean["pairs"], mean["edges"]
                row.append(
                    f"{eces[-1]:.3f} / {pairs['brier']:.1f} / {losses[-1]:.1f} / {pairs['ap']:.3f}; "
                    f"{ece(own, 'edges'):.3f} / {edges['brier']:.1f} ({len(own)})"
                )
            if eces:
                last = f"{np.mean(eces):.3f}, {np.sum(losses):.1f}, {np.mean(cpu):.1f}"
                print(f"| {way} | {' | '.join(row)} | {last} |")
    if args.plot:
        plot(cells, args.plot)


def plot(cells: dict[tuple[int, str, str], list[dict[str, Any]]], path: Path) -> None:
    """Reliability diagrams of adjacent pairs."""
    import matplotlib.pyplot as plt

    rows = min(key[0] for key in cells)
    networks = [n for n in LARGE if any(key[0] == rows and key[2] == n for key in cells)]
    figure, axes = plt.subplots(
        2, (len(networks) + 1) // 2, figsize=(15, 8), sharex=True, sharey=True, layout="constrained"
    )
    shown = ("uniform prior, ess 1", "learned, model alone", DEFAULT, f"{BOOTSTRAPS} bootstraps of tabu")
    for axis, network in zip(axes.flat, networks, strict=False):
        axis.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        for number, way in enumerate(shown):
            own = cells.get((rows, way, network), [])
            if own:
                bins = np.sum([cell["pairs"]["bins"] for cell in own], axis=0)
                bins = bins[bins[:, 0] >= 5]
                width = 2.5 if way == DEFAULT else 1.0
                axis.plot(
                    bins[:, 1] / bins[:, 0],
                    bins[:, 2] / bins[:, 0],
                    "o-",
                    markersize=3,
                    linewidth=width,
                    color=f"C{number}",
                    label=way,
                )
        axis.set_title(network)
    figure.supxlabel("probability that a pair is adjacent")
    figure.supylabel("share of such pairs that are")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    figure.savefig(path, dpi=110)


def against_exact(args: argparse.Namespace) -> None:
    """Mean absolute error of edge probabilities by chains, under each prior and with beliefs."""
    print("| prior | " + " | ".join(SMALL) + " |\n|---" + "|---" * len(SMALL) + "|")
    for prior in (*PRIORS, "fair, with beliefs"):
        row = []
        for network in SMALL:
            errors = []
            for seed in range(args.sets):
                data = load_network(network).sample(500, random_state=seed)
                known = None
                if prior == "fair, with beliefs":
                    a, b, c, d = sorted(data.names)[:4]
                    known = Knowledge(beliefs=[(a, b, 0.8), (b, c, 0.6, "adjacent"), (c, d, 0.9, "direction")])
                structure = "fair" if isinstance(prior, str) and "beliefs" in prior else prior
                truth = exact.edge_probabilities(data, structure_prior=structure, knowledge=known, max_parents=4)
                model = BRAI(
                    random_state=0, ess=1.0, structure_prior=structure, knowledge=known, posterior_from="mcmc"
                )
                off = ~np.eye(len(truth), dtype=bool)
                errors.append(float(np.abs(model.fit(data).edge_probabilities() - truth)[off].mean()))
            row.append(f"{np.mean(errors):.4f} ({np.max(errors):.4f})")
        print(f"| {prior} | {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("exact", "truth", "show"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--networks", nargs="+", default=LARGE)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    {"exact": against_exact, "truth": against_truth, "show": show}[args.what](args)


if __name__ == "__main__":
    main()
