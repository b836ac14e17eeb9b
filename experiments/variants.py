"""Log predictive of RAI and B-RAI under each reading of what the paper leaves open.

    python experiments/variants.py --data FOLDER [--networks Alarm …] [--sets 10] [--json FILE]

Training rows 500, held-out rows 5000, disjoint; mean over data sets ± standard error; the paper's figures beside.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from brai import BRAI, RAI, CITest, __version__
from brai.graphs.pdag import families_of
from brai.posterior.prediction import log_predictive
from brai.research.paper.sources import case
from brai.research.paper.table1 import PUBLISHED

PAPER = {name: (row.columns["RAI"][0], row.columns["B-RAI"][0]) for name, row in PUBLISHED.items()}

VARIANTS = {
    "default: C1 in bits (1.44 C1), df by strata, colliders at 0.05": CITest("cmi-c1"),
    "every v-structure believed": CITest("cmi-c1", colliders=None),
    "colliders verified by the test itself": CITest("cmi-c1", colliders="same"),
    "colliders at 0.2": CITest("cmi-c1", colliders=0.2),
    "C1 in nats (1 C1)": CITest("cmi-c1", threshold=1.0),
    "1 C1, every v-structure believed": CITest("cmi-c1", threshold=1.0, colliders=None),
    "1 C1, colliders verified by the test itself": CITest("cmi-c1", threshold=1.0, colliders="same"),
    "2 C1": CITest("cmi-c1", threshold=2.0),
    "1 C1, df full": CITest("cmi-c1", threshold=1.0, df="full"),
    "df full": CITest("cmi-c1", df="full"),
    "df cells": CITest("cmi-c1", df="cells"),
    "no correction on bootstrap samples": CITest("cmi-c1", correction=False),
    "tests with df = 0 remove no edge": CITest("cmi-c1", undecided="keep"),
    "g2 at 0.05": CITest("g2"),
    "bayes-factor, ess 10": CITest("bayes-factor"),
    "bayes-factor, ess 1": CITest("bayes-factor", ess=1.0),
}


def cell(make, networks: dict[int, tuple]) -> dict:
    """Mean log predictive of one learner over data sets."""
    values, scores, edges, tests, start = [], [], [], [], time.process_time()
    for train, test in networks.values():
        model = make().fit(train)
        values.append(log_predictive(families_of(model.dag_), train, test).sum())
        scores.append(model.log_score_)
        edges.append(model.dag_.n_edges)
        tests.append(int(model.n_ci_tests_.sum()))
    return {
        "log_predictive": float(np.mean(values)),
        "se": float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None,
        "bdeu": float(np.mean(scores)),
        "edges": float(np.mean(edges)),
        "ci_tests": float(np.mean(tests)),
        "cpu_s": time.process_time() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", default=["Alarm", "Child", "Insurance", "Hailfinder"])
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--only", nargs="+", help="words a variant's name must contain")
    parser.add_argument("--max-tests", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=0, help="of B-RAI")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results: dict = {}
    for network in args.networks:
        cases = {v: case(args.data, network, v) for v in range(1, args.sets + 1)}
        data = {v: (one.train, one.test) for v, one in cases.items()}
        for name, test in VARIANTS.items():
            if args.only and not any(word in name for word in args.only):
                continue
            row = {
                "RAI": cell(lambda t=test: RAI(t, max_tests=args.max_tests), data),
                "B-RAI": cell(
                    lambda t=test: BRAI.paper(3, ci_test=t, random_state=args.seed, max_tests=args.max_tests), data
                ),
            }
            results.setdefault(network, {})[name] = row
            shown = "  ".join(
                f"{k} {c['log_predictive']:10.0f} ±{c['se'] or 0:5.0f} ({c['edges']:.0f} edges)"
                for k, c in row.items()
            )
            print(f"{network:11s} {name:55s} {shown}", file=sys.stderr, flush=True)
        print(f"{network:11s} {'paper':55s} RAI {PAPER[network][0]}  B-RAI {PAPER[network][1]}", file=sys.stderr)
    print("| variant | " + " | ".join(f"{n} RAI | {n} B-RAI" for n in results) + " |")
    print("|---" * (2 * len(results) + 1) + "|")
    for name in next(iter(results.values())):
        cells = [
            f"{results[n][name][k]['log_predictive']:.0f} ±{results[n][name][k]['se'] or 0:.0f}"
            for n in results
            for k in ("RAI", "B-RAI")
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("| *paper* | " + " | ".join(f"*{v:.0f}*" for n in results for v in PAPER[n]) + " |")
    if args.json:
        shown = {"sets": args.sets, "max_tests": args.max_tests, "brai": __version__, "results": results}
        args.json.write_text(json.dumps(shown, indent=1))


if __name__ == "__main__":
    main()
