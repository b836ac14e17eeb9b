"""Does averaging over the graphs of the tree predict better than its best graph (MAP)?

    python experiments/averaging.py --data FOLDER [--networks Alarm …] [--sets 10] [-s 3] [--json FILE]

Sum of log predictive probabilities of 5000 held-out rows, 500 training rows, mean over data sets ± standard error;
differences to the MAP are paired. Averaging is row by row, log Σ_G P(row | G) P(G | D); "jointly" takes all
rows for one D_new.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from brai import BRAI, __version__
from brai.posterior.prediction import averaged_log_predictive, joint_log_predictive
from brai.research.paper.sources import case

WAYS = {
    "10 best": {"k": 10},
    "100 best": {"k": 100},
    "100 best, prior on classes": {"k": 100, "prior": "classes"},
    "1000 best": {"k": 1000},
    "1000 draws, temperature 1": {"draws": 1000},
    "1000 draws, temperature 10": {"draws": 1000, "temperature": 10.0},
    "1000 draws, temperature 100": {"draws": 1000, "temperature": 100.0},
}


def one_set(train, test, s: int, seed: int) -> dict:
    """Log predictive of one data set, by way of averaging."""
    model = BRAI(s, random_state=seed).fit(train)
    found = {"MAP": {"value": float(model.score_samples(test, average=False).sum())}}
    for name, way in WAYS.items():
        posterior = model.posterior(**way)
        rows = averaged_log_predictive(posterior, train, test)
        found[name] = {
            "value": float(rows.sum()),
            "jointly": joint_log_predictive(posterior, train, test),
            "cpdags": len(posterior),
            "n_effective": posterior.n_effective,
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", default=["Alarm", "Child", "Insurance", "Hailfinder"])
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("-s", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results: dict = {}
    for network in args.networks:
        for version in range(1, args.sets + 1):
            print(f"{network} {version}", file=sys.stderr, flush=True)
            one = case(args.data, network, version)
            train, test = one.train, one.test
            results.setdefault(network, []).append(one_set(train, test, args.s, args.seed))
    for network, sets in results.items():
        base = np.array([found["MAP"]["value"] for found in sets])
        print(f"\n{network}: MAP {base.mean():.0f} ±{base.std(ddof=1) / np.sqrt(len(base)):.0f}\n")
        print("| posterior | difference to MAP | better on | jointly | CPDAGs | effective |")
        print("|---|---|---|---|---|---|")
        for name in WAYS:
            gain = np.array([found[name]["value"] for found in sets]) - base
            joint = np.array([found[name]["jointly"] for found in sets]) - base
            shown = [np.mean([found[name][key] for found in sets]) for key in ("cpdags", "n_effective")]
            print(
                f"| {name} | {gain.mean():+.1f} ±{gain.std(ddof=1) / np.sqrt(len(gain)):.1f} "
                f"| {int((gain > 0).sum())} of {len(gain)} | {joint.mean():+.1f} "
                f"| {shown[0]:.0f} | {shown[1]:.1f} |"
            )
    if args.json:
        head = {"brai": __version__, "sets": args.sets, "s": args.s, "seed": args.seed}
        args.json.write_text(json.dumps({**head, "results": results}, indent=1))


if __name__ == "__main__":
    main()
