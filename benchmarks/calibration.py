"""Whether probabilities mean what they say: against the exact posterior, and against the true graph.

    python benchmarks/calibration.py --data FOLDER [--sets 10] [--plot FILE] [--json FILE]

Small networks: mean absolute error of P(i → j) to the exact posterior over all DAGs (500 rows, means over data
sets). Larger ones (original data, 500 rows): are pairs that are adjacent with probability p adjacent in the true
graph with frequency p? ECE is the expected calibration error, over pairs of probability 0.01 or more in ten bins;
Brier is the squared error summed over all pairs. The same for directed edges, against the true DAG.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from brai import BRAI, MMHC, RAI, Bootstrap, HillClimbing, exact, load_network
from brai.research.paper.sources import case, true_graph

SMALL = ["cancer", "earthquake", "survey", "asia", "sachs"]
LARGE = ["Alarm", "Child", "Insurance", "Hailfinder"]
WAYS: dict[str, Any] = {
    "BRAI, MCMC": lambda data: BRAI(random_state=0).fit(data),
    "BRAI.paper, 100 best": lambda data: BRAI.paper(ci_test="cmi-c1", random_state=0).fit(data),
    "BRAI.paper, draws at temperature 10": lambda data: BRAI.paper(ci_test="cmi-c1", random_state=0).fit(data),
    "bootstrap of RAI (200)": lambda data: Bootstrap(RAI(max_tests=50_000), 200, random_state=0).fit(data),
    "bootstrap of MMHC (200)": lambda data: Bootstrap(MMHC(), 200, random_state=0).fit(data),
    "bootstrap of tabu (200)": lambda data: Bootstrap(HillClimbing(), 200, random_state=0).fit(data),
}


def edges_by(name: str, data: Any) -> np.ndarray:
    """P(i → j) by one of the ways."""
    model = WAYS[name](data)
    if "temperature" in name:
        return np.asarray(model.posterior(draws=500, temperature=10).edge_probabilities())
    return np.asarray(model.edge_probabilities())


def against_exact(sets: int) -> dict[str, dict[str, list[float]]]:
    """Mean absolute errors by network and way."""
    errors: dict[str, dict[str, list[float]]] = {}
    for network in SMALL:
        errors[network] = {name: [] for name in WAYS}
        for seed in range(sets):
            data = load_network(network).sample(500, random_state=seed)
            truth = exact.edge_probabilities(data)
            off = ~np.eye(len(truth), dtype=bool)
            for name in WAYS:
                errors[network][name].append(float(np.abs(edges_by(name, data) - truth)[off].mean()))
        print(network, file=sys.stderr, flush=True)
    return errors


def bins_of(probability: np.ndarray, is_true: np.ndarray) -> list[list[float]]:
    """For ten bins: number, mean probability, frequency."""
    rows = []
    which = np.minimum((probability * 10).astype(int), 9)
    for b in range(10):
        own = (which == b) & (probability >= 0.01)
        if own.any():
            rows.append([int(own.sum()), float(probability[own].mean()), float(is_true[own].mean())])
    return rows


def ece(rows: list[list[float]]) -> float:
    """Expected calibration error of bins."""
    total = sum(n for n, _, _ in rows)
    return float(sum(n * abs(p - f) for n, p, f in rows) / max(1, total))


def against_truth(folder: Path, sets: int) -> dict[str, Any]:
    """Reliability by network and way, pooled over data sets."""
    found: dict[str, Any] = {}
    for network in LARGE:
        truth = true_graph(folder, network)
        upper = np.triu_indices(len(truth.names), 1)
        off = ~np.eye(len(truth.names), dtype=bool)
        pooled: dict[str, Any] = {name: {"pairs": [], "edges": [], "cpu_s": 0.0} for name in WAYS}
        for version in range(1, sets + 1):
            train = case(folder, network, version).train
            for name in WAYS:
                start = time.process_time()
                edges = edges_by(name, train.select(truth.names))
                pooled[name]["cpu_s"] += (time.process_time() - start) / sets
                adjacent = np.minimum(edges + edges.T, 1.0)
                pooled[name]["pairs"].append((adjacent[upper], truth.skeleton()[upper]))
                pooled[name]["edges"].append((edges[off], truth.adjacency.astype(bool)[off]))
            print(network, version, file=sys.stderr, flush=True)
        found[network] = {}
        for name, own in pooled.items():
            found[network][name] = {"cpu_s": own["cpu_s"]}
            for kind in ("pairs", "edges"):
                p, t = (np.concatenate(part) for part in zip(*own[kind], strict=True))
                rows = bins_of(p, t)
                brier = float(((p - t) ** 2).sum()) / sets
                found[network][name][kind] = {"bins": rows, "ece": ece(rows), "brier": brier}
    return found


def plot(found: dict[str, Any], path: Path) -> None:
    """Reliability diagrams of adjacent pairs."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(4 * len(found), 4.2), sharey=True, layout="constrained")
    for axis, (network, ways) in zip(axes, found.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        for name, own in ways.items():
            rows = [row for row in own["pairs"]["bins"] if row[0] >= 5]
            width = 2.5 if "MCMC" in name else 1.0
            axis.plot(
                [p for _, p, _ in rows], [f for *_, f in rows], "o-", markersize=3, linewidth=width, label=name
            )
        axis.set_title(network)
        axis.set_xlabel("probability that a pair is adjacent")
    axes[0].set_ylabel("share of such pairs that are")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    errors = against_exact(args.sets)
    print("| P(i → j) by | " + " | ".join(SMALL) + " |\n|---" + "|---" * len(SMALL) + "|")
    for name in WAYS:
        cells = (f"{np.mean(errors[n][name]):.4f} ({np.max(errors[n][name]):.4f})" for n in SMALL)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    found = against_truth(args.data, args.sets)
    print(
        "\n| way | "
        + " | ".join(f"{n}: ECE, Brier; directed" for n in LARGE)
        + " |\n|---"
        + "|---" * len(LARGE)
        + "|"
    )
    for name in WAYS:
        cells = []
        for network in LARGE:
            pairs, edges = found[network][name]["pairs"], found[network][name]["edges"]
            cells.append(f"{pairs['ece']:.3f}, {pairs['brier']:.1f}; {edges['ece']:.3f}, {edges['brier']:.1f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"exact": errors, "truth": found}, indent=1))
    if args.plot:
        plot(found, args.plot)


if __name__ == "__main__":
    main()
