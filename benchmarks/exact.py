"""What exact answers cost, against the estimate made beforehand; and whether OrderSearch finds the proven optimum.

    python benchmarks/exact.py [--data FOLDER] [--json FILE]

Each task runs in a process of its own, so that its peak of memory is its own; time is CPU time after compilation.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from brai import DPMCMC, Dataset, OrderSearch, exact, load_network
from brai.research.paper.sources import case

CALLS = {
    "map": lambda data, most: exact.map_network(data, max_parents=most),
    "k_best": lambda data, most: exact.k_best(data, 100, max_parents=most),
    "order": lambda data, most: exact.edge_probabilities(data, prior="order", max_parents=most),
    "dags": lambda data, most: exact.edge_probabilities(data, prior="dags", max_parents=most),
}


def binary(d: int, rows: int, seed: int) -> Dataset:
    """A random network of binary variables, at most two parents each, with noise."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((rows, d), np.int64)
    for v in range(d):
        parents = rng.choice(v, min(v, rng.integers(0, 3)), replace=False)
        table = rng.random(1 << len(parents))
        at = codes[:, parents] @ (1 << np.arange(len(parents)))
        codes[:, v] = rng.random(rows) < table[at]
    return Dataset.from_codes(codes, arities=[2] * d)


PROBLEMS = {
    "asia, 500 rows": lambda: (load_network("asia").sample(500, random_state=1), None),
    "sachs, 500 rows": lambda: (load_network("sachs").sample(500, random_state=1), None),
    "15 binary, 1000 rows": lambda: (binary(15, 1000, 0), None),
    "20 binary, 1000 rows, in-degree 4": lambda: (binary(20, 1000, 0), 4),
}


def run(what: str, problem: str, pipe) -> None:
    """One task, in a process of its own."""
    small = load_network("cancer").sample(50, random_state=0)
    CALLS[what](small, None)  # compile
    data, most = PROBLEMS[problem]()
    start = time.process_time()
    CALLS[what](data, most)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    cost = exact.estimate(data.n_variables, what, n_rows=data.n_rows, max_parents=most, k=100)
    pipe.send(
        {"cpu_s": seconds, "gb": peak / 1e9, "estimated_s": cost.minutes * 60, "estimated_gb": cost.bytes / 1e9}
    )


def child_optima(folder: Path) -> list[dict]:
    """The proven optimum of each Child set, and what OrderSearch finds."""
    rows = []
    for version in range(1, 11):
        train = case(folder, "Child", version).train
        start = time.process_time()
        _, best = exact.map_network(train, max_parents=4)
        middle = time.process_time()
        found = OrderSearch(max_parents=4).fit(train).log_score_
        end = time.process_time()
        rows.append({"exact": best, "exact_s": middle - start, "found": found, "found_s": end - middle})
        print(
            f"| Child v{version} | {best:.4f} | {found:.4f} | {middle - start:.1f} | {end - middle:.2f} |",
            flush=True,
        )
    return rows


def chain_errors(sets: int = 5) -> dict[str, list[float]]:
    """Mean absolute errors of DP-MCMC's edge frequencies to the exact posterior, 500 rows, default settings."""
    errors: dict[str, list[float]] = {}
    for network in ("cancer", "earthquake", "survey", "asia"):
        errors[network] = []
        for seed in range(sets):
            data = load_network(network).sample(500, random_state=seed)
            apart = np.abs(
                DPMCMC(random_state=seed).fit(data).chain_.edge_probabilities() - exact.edge_probabilities(data)
            )
            errors[network].append(float(apart[~np.eye(len(apart), dtype=bool)].mean()))
        print(f"| DP-MCMC | {network} | {np.mean(errors[network]):.4f} ({max(errors[network]):.4f}) |", flush=True)
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the original data sets, for Child")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    context, results = multiprocessing.get_context("spawn"), {}
    print("| data | task | CPU s | estimated | GB | estimated |\n|---|---|---|---|---|---|")
    for problem in PROBLEMS:
        for what in CALLS:
            here, there = context.Pipe()
            process = context.Process(target=run, args=(what, problem, there))
            process.start()
            own = here.recv()
            process.join()
            results[f"{problem}: {what}"] = own
            print(
                f"| {problem} | {what} | {own['cpu_s']:.2f} | {own['estimated_s']:.2f} | "
                f"{own['gb']:.2f} | {own['estimated_gb']:.2f} |",
                flush=True,
            )
    print("\n| | network | mean absolute error of edges, mean (worst) |\n|---|---|---|")
    results["dp_mcmc"] = chain_errors()
    if args.data:
        print("\n| data | proven optimum | OrderSearch | CPU s, exact | CPU s |\n|---|---|---|---|---|")
        results["child"] = child_optima(args.data)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
