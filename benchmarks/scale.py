"""CPU time and memory against the number of variables and of rows; a table, JSON and a plot.

    python benchmarks/scale.py --data FOLDER [--json FILE] [--plot FILE]

Rows are sampled from FOLDER/networks/*.bif.gz; each point is a process of its own, so that peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

BY_VARIABLES = [
    ("child", 500),
    ("insurance", 500),
    ("alarm", 500),
    ("hailfinder", 500),
    ("munin1", 500),
    ("link", 500),
]
BY_ROWS = [("alarm", n) for n in (500, 1500, 5000, 15000, 50000)]

POINT = """
import json, resource, sys, time
from brai import BRAI, load_network
data = load_network(sys.argv[1]).sample(int(sys.argv[2]), random_state=1)
BRAI.paper(3, random_state=0).fit(data.select(data.names[:10]))  # compile, load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
model = BRAI.paper(3, random_state=0).fit(data)
print(json.dumps({
    "variables": data.n_variables, "rows": data.n_rows, "cpu_s": time.process_time() - start,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "base_mb": before / 1024,
    "ci_tests": int(model.n_ci_tests_.sum()), "nodes": model.tree_.n_nodes,
}))
"""


def measure(folder: Path, network: str, rows: int) -> dict:
    path = folder / "networks" / f"{network}.bif.gz"
    done = subprocess.run(
        [sys.executable, "-c", POINT, str(path), str(rows)], capture_output=True, text=True, check=True
    )
    point = {"network": network, **json.loads(done.stdout)}
    line = (
        "{network:11s} {variables:4d} variables {rows:6d} rows {cpu_s:8.2f} s {peak_mb:6.0f} MB "
        "(of it {base_mb:.0f} before) {ci_tests:9d} tests {nodes:5d} nodes"
    )
    print(line.format(**point), flush=True)
    return point


def plot(by_variables: list[dict], by_rows: list[dict], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for ax, points, key, title in (
        (axes[0], by_variables, "variables", "500 rows"),
        (axes[1], by_rows, "rows", "Alarm, 37 variables"),
    ):
        x = [p[key] for p in points]
        ax.loglog(x, [p["cpu_s"] for p in points], "o-", color="tab:blue", label="CPU time")
        ax.set(xlabel=key, ylabel="CPU seconds", title=f"B-RAI (s = 3, paper settings), {title}")
        ax.yaxis.label.set_color("tab:blue")
        right = ax.twinx()
        right.plot(x, [p["peak_mb"] for p in points], "s--", color="tab:orange", label="peak memory")
        right.set_ylim(0, 1.15 * max(p["peak_mb"] for p in points))
        right.set_ylabel("peak memory, MB", color="tab:orange")
        labels = [f"{p['network']} {p[key]}" if key == "variables" else f"{p[key]:,}" for p in points]
        ax.set_xticks(x, labels, rotation=60 if key == "variables" else 0, fontsize=8)
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    figure.savefig(file, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    by_variables = [measure(args.data, *point) for point in BY_VARIABLES]
    by_rows = [measure(args.data, *point) for point in BY_ROWS]
    if args.json:
        args.json.write_text(json.dumps({"by_variables": by_variables, "by_rows": by_rows}, indent=1))
    if args.plot:
        plot(by_variables, by_rows, args.plot)


if __name__ == "__main__":
    main()
