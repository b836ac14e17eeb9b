"""Which CI test serves B-RAI best: the tree's own MAP (no polish) over networks, row counts and seeds.

    python experiments/auto_test.py --data FOLDER [--networks alarm …] [--rows 500 1000] [--seeds 3] [--json F]

Rows are sampled from the networks; a test is judged by the mean log predictive of 2000 other rows: what each row
loses against the best test on the same sample, in nats. A run makes at most a million CI tests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from brai import BRAI, CITest, load_network

CHOSEN_ON = ["asia", "child", "insurance", "alarm", "hailfinder", "barley"]
TESTS = {
    "cmi-c1, 1.44": CITest("cmi-c1"),
    "cmi-c1, 1": CITest("cmi-c1", threshold=1.0),
    "cmi-c1, 2": CITest("cmi-c1", threshold=2.0),
    "g2, 0.05": CITest("g2", alpha=0.05),
    "g2, 0.01": CITest("g2", alpha=0.01),
    "g2, 0.001": CITest("g2", alpha=0.001),
    "bayes-factor, ess 1": CITest("bayes-factor", ess=1.0),
    "bayes-factor, ess 10": CITest("bayes-factor", ess=10.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", default=CHOSEN_ON)
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 1000, 5000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for network in args.networks:
        source = load_network(args.data / "networks" / f"{network}.bif.gz")
        for rows in args.rows:
            print(network, rows, file=sys.stderr, flush=True)
            for seed in range(args.seeds):
                train, test = source.sample(rows, random_state=seed), source.sample(2000, random_state=900 + seed)
                for name, ci_test in TESTS.items():
                    start = time.process_time()
                    model = BRAI(
                        ci_test=ci_test,
                        polish=False,
                        max_tests=1_000_000,
                        random_state=seed,
                        posterior_from="tree",
                    ).fit(train)
                    seconds = time.process_time() - start
                    score = model.score(test, average=False)
                    results.append(
                        {
                            "network": network,
                            "rows": rows,
                            "seed": seed,
                            "test": name,
                            "score": score,
                            "cpu_s": seconds,
                        }
                    )
    cells = [(network, rows) for network in args.networks for rows in args.rows]
    print("| test | " + " | ".join(f"{n} {r}" for n, r in cells) + " | mean | worst | CPU s |")
    print("|---" * (len(cells) + 4) + "|")
    for name in TESTS:
        losses = []
        for network, rows in cells:
            own = [r for r in results if (r["network"], r["rows"]) == (network, rows)]
            best = {s: max(r["score"] for r in own if r["seed"] == s) for s in range(args.seeds)}
            losses.append(np.mean([best[r["seed"]] - r["score"] for r in own if r["test"] == name]))
        seconds = np.mean([r["cpu_s"] for r in results if r["test"] == name])
        shown = " | ".join(f"{loss:.2f}" for loss in losses)
        print(f"| {name} | {shown} | {np.mean(losses):.2f} | {np.max(losses):.2f} | {seconds:.2f} |")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
