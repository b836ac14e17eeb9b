"""Many variables: time and memory of the published tree on random networks, with one worker and with two.

    python benchmarks/large.py [--sizes 500 1000 2000 5000] [--rows 1000] [--json FILE] [--plot FILE]
    python benchmarks/large.py --networks link.bif.gz munin.bif.gz --rows 500 [--default] [--processes]

With --default it is `BRAI()`, search and all; with --processes workers are processes. Each point is a process of
its own, so that its highest memory is its own. 5000 variables take about 10 minutes. A variable of a random
network has 2 to 4 states and, on average, 1.5 parents (at most 3) among the 100 before it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np

from brai import BRAI, Dataset, load_network


def random_rows(variables: int, rows: int, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    arities = rng.integers(2, 5, variables)
    codes = np.zeros((rows, variables), np.uint8)
    for v in range(variables):
        n = min(v, 3, rng.poisson(1.5))
        parents = rng.choice(np.arange(max(0, v - 100), v), n, replace=False) if n else []
        place, size = np.zeros(rows, int), 1
        for p in parents:
            place, size = place * arities[p] + codes[:, p], size * int(arities[p])
        table = rng.dirichlet(np.full(arities[v], 0.5), size).cumsum(axis=1)
        codes[:, v] = np.minimum((rng.random(rows)[:, None] > table[place]).sum(axis=1), arities[v] - 1)
    names = [f"v{i:05d}" for i in range(variables)]
    return Dataset.from_codes(codes, arities=arities.tolist(), names=names)


def point(what: str, rows: int, workers: int, default: bool, backend: str) -> dict:
    random = what.isdigit()
    data = random_rows(int(what), rows) if random else load_network(what).sample(rows, random_state=1)
    make = BRAI if default else BRAI.paper
    few = data.select(data.names[:20])
    with joblib.parallel_config(backend=backend):
        make(2, random_state=0, n_jobs=workers).fit(few)  # compile, load
        best = None
        for _ in range(3 if len(data.names) < 1500 and not default else 1):
            wall, cpu = time.perf_counter(), time.process_time()
            model = make(3, random_state=0, n_jobs=workers, max_tests=None).fit(data)
            taken = time.perf_counter() - wall, time.process_time() - cpu
            best = min(best or taken, taken)
    return {
        "network": None if random else Path(what).name.split(".")[0],
        "variables": data.n_variables,
        "rows": rows,
        "workers": workers,
        "wall_s": best[0],
        "cpu_s": best[1],
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "ci_tests": model.n_ci_tests_.tolist(),
        "nodes": model.tree_.n_nodes,
        "score": model.log_score_,
    }


def in_process(*arguments: object) -> dict:
    command = [sys.executable, __file__, "--point", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    line = "{variables:5d} variables {workers} workers: {wall_s:7.1f} s wall {cpu_s:7.1f} s CPU {peak_gb:5.2f} GB"
    print(line.format(**found), f"{sum(found['ci_tests']):,} tests", flush=True)
    return found


def plot(points: list[dict], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for workers, mark in ((1, "o-"), (2, "s--")):
        own = [p for p in points if p["workers"] == workers]
        if own:
            x = [p["variables"] for p in own]
            said = f"{workers} worker{'s' * (workers > 1)}"
            left.loglog(x, [p["wall_s"] for p in own], mark, label=said)
            right.loglog(x, [p["peak_gb"] for p in own], mark, label=said)
    sizes = sorted({p["variables"] for p in points})
    for ax, what in ((left, "seconds (of the clock)"), (right, "highest memory, GB")):
        ax.set(xlabel="variables", ylabel=what, title="B-RAI (s = 3, paper settings), 1000 rows")
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        ax.legend()
    left.set_yticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
    right.set_yticks([0.3, 0.5, 1, 2, 3], ["0.3", "0.5", "1", "2", "3"])
    figure.savefig(file, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000, 5000])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--networks", nargs="+", help="BIF files instead of random networks")
    parser.add_argument("--default", action="store_true", help="BRAI() instead of BRAI.paper")
    parser.add_argument("--processes", action="store_true", help="workers are processes")
    parser.add_argument("--point", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.point:
        print(json.dumps(point(*args.point)))
        return
    points = []
    backend = "loky" if args.processes else "threading"
    for what in args.networks or map(str, args.sizes):
        points += [in_process(what, args.rows, workers, args.default, backend) for workers in (1, 2)]
        if args.json:
            args.json.write_text(json.dumps(points, indent=1) + "\n")
        if args.plot and not args.networks:
            plot(points, args.plot)


if __name__ == "__main__":
    main()
