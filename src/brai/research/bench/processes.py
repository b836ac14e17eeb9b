"""Cases that need a separate process: compiling and importing, Link, scaling."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from brai.research.bench.measure import Measurement, Settings

_FIT = "import brai; brai.BRAI(random_state=0).fit(brai.load_network('asia').sample(200, random_state=0))"
_MB = "MB"


class Spent(NamedTuple):
    """Seconds of wall time and of CPU time."""

    wall: float
    cpu: float


def fresh(code: str, **environment: str) -> Spent:
    """The time that a new Python process takes to run the code."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env={**os.environ, **environment}
    )
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(time.perf_counter() - start, used)


def compiling(settings: Settings) -> Iterator[Measurement]:
    """The first fit on a machine, with an empty cache of compiled code; and the import time on top of numpy's."""
    codes = {"numpy": "import numpy", "brai": "import numpy, brai", "BRAI": "import numpy; from brai import BRAI"}
    least = dict.fromkeys(codes, math.inf)
    for _ in range(2 if settings.quick else max(3, settings.runs)):
        for name, code in codes.items():
            least[name] = min(least[name], fresh(code).cpu)
    for name, code, target in (("brai", "import brai", 0.3), ("BRAI", "from brai import BRAI", None)):
        beyond = max(0.0, least[name] - least["numpy"])
        yield Measurement("compile", f"{code}, beyond numpy", "s", beyond, None, None, target, "value")
    if settings.quick:
        settings.say("compile: --quick leaves out compiling, which takes half a minute")
        return
    with tempfile.TemporaryDirectory() as cache:
        first, second = (fresh(_FIT, NUMBA_CACHE_DIR=cache) for _ in range(2))
    yield Measurement("compile", "first fit ever, wall", "s", first.wall, "second fit", second.wall, 30, "value")
    yield Measurement("compile", "first fit ever, CPU", "s", first.cpu, "second fit", second.cpu)


def point(what: str, rows: int) -> dict[str, Any]:
    """The output of `brai.research.bench.point`."""
    command = [sys.executable, "-m", "brai.research.bench.point", what, str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"the process for {what!r}, {rows} rows, failed: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout))


def link(settings: Settings) -> Iterator[Measurement]:
    """The tree of Link, 724 variables: time, memory, and the share of time of each kernel."""
    path = settings.network("link")
    if path is None or settings.quick:
        why = "--quick leaves it out" if settings.quick else "give --data FOLDER with networks/link.bif.gz"
        settings.say(f"link: left out: {why}")
        return
    found = point(str(path), 500)
    yield Measurement("link", "tree, s = 3", "s", found["cpu_s"], None, None, 120, "value")
    yield Measurement("link", "peak memory", _MB, found["peak_mb"], None, None, 1024, "value")
    yield Measurement("link", "CI tests", "", found["ci_tests"])
    for name, share in found["shares"].items():
        yield Measurement("link", f"in {name}", "%", 100 * share)
    yield Measurement("link", "outside compiled code", "%", 100 * found["outside"])


def scale(settings: Settings) -> Iterator[Measurement]:
    """Time and memory of the tree against variables (500 rows) and against rows (Alarm)."""
    names = ("child", "insurance", "alarm", "hailfinder", "munin1", "link")
    kind, networks = "networks", [str(path) for name in names if (path := settings.network(name))]
    if not networks:
        kind, networks = "random networks", ["20", "40", "80", "160"]
    if settings.quick:
        kind, networks = "random networks", ["10", "20"]
    for what in networks:
        yield from _curve(f"{kind}, 500 rows", "variables", point(what, 500))
    for rows in (500,) if settings.quick else (500, 1500, 5000, 15000, 50000):
        yield from _curve("Alarm", "rows", {**point("alarm", rows), "rows": rows})


def _curve(name: str, axis: str, found: dict[str, Any]) -> Iterator[Measurement]:
    for what, unit, key in (("CPU", "s", "cpu_s"), ("memory", _MB, "peak_mb"), ("CI tests", "", "ci_tests")):
        yield Measurement("scale", f"{name}, {what} by {axis}", unit, found[key], at=found[axis])
