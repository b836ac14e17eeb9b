"""Speed of the core: the cost of a CI test, Alarm and Link, compiling and importing.

    python benchmarks/core.py --data FOLDER [--link] [--runs 7] [--json FILE]

One core, best of several runs, after compilation. Times compared with pyAgrum's greedy hill climbing are taken in
the same run. FOLDER holds mmhc/Alarm and networks/link.bif.gz; without it Alarm is sampled from the pgmpy wheel.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent / "experiments"))

import numpy as np

from brai import BRAI, CITest, Dataset, load_network
from brai.rai import Group, Learner


def best(function, runs: int) -> float:
    """Least CPU time of several runs, in seconds."""
    function()
    times = []
    for _ in range(runs):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def alarm(folder: Path | None) -> Dataset:
    if folder is None:
        return load_network("alarm").sample(500, random_state=1)
    from brai.paper.sources import case

    return case(folder, "Alarm", 1).train


def ci_test_cost(data: Dataset, runs: int) -> dict[str, float]:
    """Microseconds a test, all in: counting, deciding, enumerating, of one refinement by order."""
    return {f"order {order}": _cost_at(data, order, runs) for order in range(4)}


def _cost_at(data: Dataset, order: int, runs: int) -> float:
    learner = Learner(data, CITest("g2", alpha=0.9999, colliders=None))  # keeps edges: many tests
    group = Group.complete(data.n_variables if order < 2 else 14)
    spent = best(lambda: learner.increase_resolution(group, order, learner.sample, bootstrap=False), runs)
    return 1e6 * spent / (int(learner.tally.ci_tests[order]) / (runs + 1))


def hill_climbing(data: Dataset):
    """pyAgrum's greedy hill climbing with BDeu on the same rows."""
    import pandas as pd
    import pyagrum as gum

    labels = {n: [str(s) for s in own] for n, own in zip(data.names, data.states, strict=True)}
    frame = pd.DataFrame({n: np.array(labels[n])[c] for n, c in zip(data.names, data.codes, strict=True)})
    template = gum.BayesNet()
    for name in data.names:
        template.add(gum.LabelizedVariable(name, name, labels[name]))

    def learn():
        learner = gum.BNLearner(frame, template)
        learner.setNumberOfThreads(1)
        learner.useScoreBDeu()
        learner.useGreedyHillClimbing()
        return learner.learnDAG()

    return learn


def fresh_process(code: str, **environment: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, **environment}, capture_output=True
    )
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--link", action="store_true", help="also Link, 724 variables")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    data = alarm(args.data)
    report: dict = {"ci_test_us_at_500_rows": ci_test_cost(data, args.runs)}
    ours = best(lambda: BRAI.paper(3, random_state=0).fit(data), args.runs)
    report["alarm_s3_s"] = ours
    try:
        climb = best(hill_climbing(data), args.runs)
        report |= {"pyagrum_hill_climbing_s": climb, "ratio": ours / climb}
    except ImportError:
        print("pyAgrum is not installed: no ratio (pip install 'brai[bench]')", file=sys.stderr)
    numpy_alone = min(fresh_process("import numpy") for _ in range(5))
    report["import_brai_minus_numpy_s"] = min(fresh_process("import numpy, brai") for _ in range(5)) - numpy_alone
    report["import_estimators_minus_numpy_s"] = (
        min(fresh_process("import numpy; from brai import BRAI") for _ in range(3)) - numpy_alone
    )
    fit = "import brai; brai.BRAI(random_state=0).fit(brai.load_network('asia').sample(200, random_state=0))"
    with tempfile.TemporaryDirectory() as cache:
        first = fresh_process(fit, NUMBA_CACHE_DIR=cache)
        report["first_ever_compile_s"] = first - fresh_process(fit, NUMBA_CACHE_DIR=cache)
    if args.link:
        source = args.data / "networks" / "link.bif.gz" if args.data else "link"
        rows = load_network(source).sample(500, random_state=1)
        start = time.process_time()
        model = BRAI.paper(3, random_state=0).fit(rows)
        report["link_s3"] = {
            "cpu_s": time.process_time() - start,
            "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            "nodes": model.tree_.n_nodes,
            "truncated": model.tree_.n_truncated,
            "ci_tests": model.n_ci_tests_.tolist(),
            "bdeu": model.log_score_,
        }
    print(json.dumps(report, indent=1))
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
