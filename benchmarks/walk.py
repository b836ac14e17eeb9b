"""The walk of a table from ``brai learn`` to the report: modules, calls between them, what is made how often.

    python benchmarks/walk.py [--network alarm] [--rows 500]

A hop is a pair of modules of which one calls the other. "Made" counts objects that are costly to make. Only the
command line is used, so any version of the package can run it (PYTHONPATH chooses).
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import brai

MADE = {  # by the name of the function and of the class or module that has it
    "FamilyScores": ("__init__", "FamilyScores"),
    "full sample": ("full_sample", None),
    "FamilyTable": ("__init__", "FamilyTable"),
    "reordered graphs": ("reorder", "PDAG"),
    "scratch memory": ("workspace", None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="alarm")
    parser.add_argument("--rows", type=int, default=500)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    home = str(Path(brai.__file__).parent)
    hops: Counter[tuple[str, str]] = Counter()
    modules: set[str] = set()
    made: Counter[str] = Counter()

    def module_of(frame: Any) -> str | None:
        file = frame.f_code.co_filename
        return file[len(home) + 1 : -3].replace("/", ".") if file.startswith(home) else None

    def watch(frame: Any, event: str, argument: Any) -> None:
        if event != "call" or (here := module_of(frame)) is None:
            return
        modules.add(here)
        caller = frame.f_back
        while caller is not None and module_of(caller) is None:
            caller = caller.f_back
        if caller is not None and (there := module_of(caller)) != here:
            hops[there, here] += 1
        owner = type(frame.f_locals["self"]).__name__ if "self" in frame.f_locals else None
        for name, (function, wanted) in MADE.items():
            if frame.f_code.co_name == function and wanted == owner:
                made[name] += 1

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        data = brai.load_network(given.network).sample(given.rows, random_state=0)
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(data.names)
            writer.writerows([data.states[v][c] for v, c in enumerate(row)] for row in data.codes.T.tolist())
        from brai.cli import cli

        arguments = ["learn", str(table), "-o", str(Path(folder, "out")), "--quiet", "--json"]
        printed, sys.stdout = sys.stdout, open(Path(folder, "printed"), "w")  # noqa: SIM115
        sys.setprofile(watch)
        try:
            cli.main(arguments, standalone_mode=False)
        finally:
            sys.setprofile(None)
            sys.stdout = printed
    print(json.dumps({"modules": len(modules), "hops": len(hops), "calls": sum(hops.values()), "made": made}))


if __name__ == "__main__":
    main()
