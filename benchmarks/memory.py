"""Whether memory is foreseen: the highest point of a fit, in a process of its own, beside
`brai.runtime.memory.estimate`.

    python benchmarks/memory.py [--case alarm ...]

Also what reading a tall file takes: a million rows of 50 columns, text and numbers in turns. Linux only.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from brai import BRAI, Dataset, load_network
from brai.runtime import memory

WORDS = np.array(["low", "mid", "high", "very high", "none"])
CASES: dict[str, tuple[int, int, dict[str, Any]]] = {  # variables, rows, settings of BRAI; `chains` are added
    "alarm": (37, 500, {}),
    "alarm, chains": (37, 500, {"chains": True}),
    "300": (300, 500, {}),
    "300, chains": (300, 500, {"chains": True}),
    "300 binary, chains": (300, 500, {"chains": True, "states": 2}),
    "1000, tree": (1000, 500, {"polish": False}),
    "1000": (1000, 500, {}),
    "2000, tree": (2000, 200, {"polish": False}),
    "tall, tree": (50, 1_000_000, {"polish": False, "max_tests": 20_000}),
    "csv": (50, 1_000_000, {}),
    "parquet": (50, 1_000_000, {}),
}


def table(d: int, n: int, states: int = 3) -> Dataset:
    """Rows of a random network in which a variable has up to 3 of the 20 before it as parents."""
    rng = np.random.default_rng(0)
    codes = np.empty((d, n), np.uint8)
    for v in range(d):
        parents = rng.choice(np.arange(max(0, v - 20), v), min(v, int(rng.integers(0, 4))), replace=False)
        row = np.zeros(n, np.int64)
        for p in parents:
            row = row * states + codes[p]
        chances = rng.dirichlet(np.full(states, 0.5), states ** len(parents)).cumsum(axis=1)
        codes[v] = (rng.random(n)[:, None] > chances[row]).sum(axis=1).clip(0, states - 1)
    return Dataset.from_codes(codes.T, arities=[states] * d)


def write_tall(path: Path, d: int, n: int) -> None:
    """A file of text and numbers in turns."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 3 + j % 3, n) for j in range(d)]
    found = pa.table({f"v{j}": (own if j % 2 else WORDS[own].tolist()) for j, own in enumerate(columns)})
    if path.name.endswith("parquet"):
        parquet.write_table(found, path)
        return
    csv.write_csv(found, path)


def highest() -> float:
    """Bytes; getrusage would tell those of the process that started this one."""
    return 1024.0 * int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0])


def measure(case: str, path: Path) -> None:
    d, n, settings = CASES[case]
    warnings.simplefilter("ignore")
    if path.is_file():
        started = time.perf_counter()
        Dataset.from_file(path)
        print(json.dumps({"seconds": time.perf_counter() - started, "bytes": highest(), "foreseen": 0.0}))
        return
    chosen = dict(settings)
    chains, states = chosen.pop("chains", False), chosen.pop("states", 3)
    data = load_network("alarm").sample(n, random_state=1) if case.startswith("alarm") else table(d, n, states)
    model = BRAI(random_state=0, **chosen)
    foreseen = memory.foresee(data, model, chains=chains)
    started = time.perf_counter()
    model.fit(data)
    if chains:
        model.chains()
    taken = time.perf_counter() - started
    print(json.dumps({"seconds": taken, "bytes": highest(), "foreseen": foreseen.bytes}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure[0], Path(chosen.measure[1]))
        return
    print(f"{'case':20} {'rows':>8} {'variables':>9} {'seconds':>8} {'GB':>6} {'foreseen':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen.case:
            d, n, _ = CASES[case]
            path = Path(folder) / f"t.{case}"
            if case in ("csv", "parquet"):
                write_tall(path, d, n)
            command = [sys.executable, __file__, "--measure", case, str(path)]
            found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            foreseen = f"{found['foreseen'] / 1e9:8.2f}" if found["foreseen"] else "       –"
            print(
                f"{case:20} {n:8} {d:9} {found['seconds']:8.1f} {found['bytes'] / 1e9:6.2f} {foreseen}", flush=True
            )


if __name__ == "__main__":
    main()
