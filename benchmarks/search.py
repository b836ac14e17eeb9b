"""BDeu and CPU time of the score-based learners on the original data sets, beside bnlearn's figures and pyAgrum.

    python benchmarks/search.py --data FOLDER [--networks Child …] [--sets 10] [--json FILE]

500 rows, equivalent sample size 1; means over data sets. bnlearn's figures (5.2.1: hc, tabu) were measured once;
pyAgrum's greedy hill climbing is timed in this run (its own BDeu has ess 1 as well), CPU seconds for each fit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from brai import BRAI, MMHC, Bootstrap, HillClimbing, OrderSearch
from brai.research.paper.sources import case

BNLEARN = {
    "Child": (-6638, -6633),
    "Insurance": (-7331, -7323),
    "Alarm": (-5322, -5263),
    "Hailfinder": (-27170, -27169),
    "Mildew": (-27835, -27835),
    "Barley": (-32192, -32132),
}
LEARNERS = {
    "hc as bnlearn": lambda: HillClimbing(tabu=0, ties="columns"),
    "tabu as bnlearn": lambda: HillClimbing(tabu=10, patience=10, ties="columns"),
    "HillClimbing": HillClimbing,
    "HillClimbing, 20 restarts": lambda: HillClimbing(restarts=20),
    "OrderSearch": OrderSearch,
    "BRAI": lambda: BRAI(random_state=0),
}


def pyagrum_learner(data: Any) -> Any:
    """pyAgrum's learner on BDeu with the data inside and all declared states; None if it is not installed."""
    try:
        import pandas as pd
        import pyagrum as gum
    except ImportError:
        return None
    frame = pd.DataFrame(data.codes.T.astype(int).astype(str), columns=data.names)
    template = gum.BayesNet()
    for name, arity in zip(data.names, data.arities.tolist(), strict=True):
        template.add(gum.LabelizedVariable(name, name, [str(i) for i in range(arity)]))
    learner = gum.BNLearner(frame, template)
    learner.useScoreBDeu()
    return learner


def pyagrum_seconds(data: Any) -> float | None:
    """CPU time of its hill climbing, the data already inside."""
    learner = pyagrum_learner(data)
    if learner is None:
        return None
    learner.useGreedyHillClimbing()
    start = time.process_time()
    learner.learnBN()
    return time.process_time() - start


def show_mmhc(folder: Path) -> None:
    """MMHC on the first Alarm set, as published and as bnlearn has it, and what 1000 bootstraps of it take."""
    train = case(folder, "Alarm", 1).train
    bnlearn = MMHC(min_rows_per_cell=None, df="full", tabu=0, ties="columns")
    for name, learner in (("MMHC()", MMHC()), ("MMHC as bnlearn", bnlearn)):
        model = learner.fit(train)
        n, edges = int(model.skeleton_.sum()) // 2, model.dag_.n_edges
        print(f"{name}, Alarm 1: {n} neighbours, {edges} edges, BDeu {model.log_score_:.2f}")
    start = time.process_time()
    Bootstrap(MMHC(), 1000, random_state=0).fit(train)
    print(f"1000 bootstraps of MMHC() on Alarm 1: {time.process_time() - start:.1f} CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", default=list(BNLEARN))
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results: dict = {}
    for network in args.networks:
        found: dict = {name: {"bdeu": [], "cpu_s": []} for name in LEARNERS}
        seconds = []
        for version in range(1, args.sets + 1):
            print(f"{network} {version}", file=sys.stderr, flush=True)
            train = case(args.data, network, version).train
            if not results and version == 1:
                for make in LEARNERS.values():
                    make().fit(train)  # compile
            for name, make in LEARNERS.items():
                start = time.process_time()
                model = make().fit(train)
                found[name]["cpu_s"].append(time.process_time() - start)
                found[name]["bdeu"].append(model.log_score_)
            seconds.append(pyagrum_seconds(train))
        results[network] = {"learners": found, "bnlearn": BNLEARN.get(network), "pyagrum_hc_cpu_s": seconds}
    heads = ["bnlearn hc / tabu", *LEARNERS, "pyAgrum hc"]
    print("| network | " + " | ".join(heads) + " |\n|---" + "|---" * len(heads) + "|")
    for network, own in results.items():
        cells = [" / ".join(map(str, own["bnlearn"])) if own["bnlearn"] else ""]
        cells += [
            f"{np.mean(each['bdeu']):.1f}, {1000 * np.mean(each['cpu_s']):.0f} ms"
            for each in own["learners"].values()
        ]
        known = [s for s in own["pyagrum_hc_cpu_s"] if s is not None]
        cells.append(f"{1000 * np.mean(known):.0f} ms" if known else "not installed")
        print(f"| {network} | " + " | ".join(cells) + " |")
    show_mmhc(args.data)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
