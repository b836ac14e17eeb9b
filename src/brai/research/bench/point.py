"""One learning task in a separate process, so that its memory can be measured.

``python -m brai.research.bench.point WHAT ROWS`` prints JSON. WHAT is a network (a packaged name or a BIF file)
or the number of variables of a random network. Every kernel that Python calls is timed; the rest is time outside
compiled code.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brai.kinds import scores
from brai.kinds.discrete.network import load_network
from brai.learners.brai import BRAI
from brai.research.bench.samples import random_rows
from brai.tree import rai

KERNELS = {rai: ("associations", "refine", "orient", "split", "extension"), scores: ("family_values",)}


def peak_mb() -> float:
    """Peak memory so far; NaN if the system does not report it."""
    status = Path("/proc/self/status")  # in a new process `resource` starts at the peak of its parent
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line) / 2**10
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _timed(function: Callable[..., Any], name: str, spent: Counter[str]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        start = time.process_time()
        try:
            return function(*arguments)
        finally:
            spent[name] += time.process_time() - start  # type: ignore[assignment]

    return call


def point(what: str, rows: int) -> dict[str, Any]:
    """CPU seconds, memory and time per kernel of the tree with the settings of the paper, s = 3."""
    data = random_rows(int(what), rows) if what.isdigit() else load_network(what).sample(rows, random_state=1)
    BRAI.paper(3, ci_test="cmi-c1", random_state=0).fit(data.select(data.names[:10]))  # compile, load
    spent: Counter[str] = Counter()
    for module, names in KERNELS.items():
        for name in names:
            setattr(module, name, _timed(getattr(module, name), name, spent))
    before, start = peak_mb(), time.process_time()
    model = BRAI.paper(3, ci_test="cmi-c1", random_state=0).fit(data)
    seconds = time.process_time() - start
    return {
        "variables": data.n_variables,
        "cpu_s": seconds,
        "peak_mb": peak_mb(),
        "base_mb": before,
        "ci_tests": int(model.n_ci_tests_.sum()),
        "nodes": model.tree_.n_nodes,
        "shares": {name: own / seconds for name, own in spent.most_common()},
        "outside": 1 - sum(spent.values()) / seconds,
    }


if __name__ == "__main__":
    print(json.dumps(point(sys.argv[1], int(sys.argv[2]))))
