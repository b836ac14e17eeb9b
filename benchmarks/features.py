"""Time from a fitted tree to feature posteriors, prediction and effects: Alarm and Link, 100 CPDAGs.

    python benchmarks/features.py --data FOLDER [--json FILE]

CPU seconds of one run each; the posterior is flattened (scores × 0.02) so that no CPDAG has nearly all the weight.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

from brai import BRAI, load_network
from brai.posterior.effects import causal_effect
from brai.posterior.prediction import averaged_log_predictive
from brai.posterior.weighted import Posterior


def measure(network: Path) -> dict[str, float]:
    net = load_network(network)
    train, test = net.sample(500, random_state=1), net.sample(5000, random_state=2)
    model = BRAI(s=3 if len(net.names) > 100 else 6, random_state=0).fit(train)
    averaged_log_predictive(model.posterior(1), train, test)  # compiles
    found: dict[str, float] = {"variables": len(net.names)}

    def timed(name, function):
        start = time.process_time()
        result = function()
        found[name] = time.process_time() - start
        return result

    best = timed("k best", lambda: model.k_best(100))
    flat = [(cpdag, score * 0.02) for cpdag, score in best]
    posterior = timed("weights (class sizes)", lambda: Posterior.from_scores(flat))
    found["CPDAGs"], found["effective"] = len(posterior), posterior.n_effective
    timed("edges, exact", posterior.edges)
    timed("adjacencies, exact", posterior.adjacency_probabilities)
    timed("Markov blankets, exact", posterior.markov_blanket_probabilities)
    paths = timed("paths", posterior.paths)
    found["DAGs looked at"], found["largest standard error"] = paths.n_dags, float(paths.standard_error.max())
    timed("predictive of 5000 rows", lambda: averaged_log_predictive(posterior, train, test))
    reach = np.asarray(paths.value)
    x, y = np.unravel_index(int(np.argmin(np.abs(reach - 0.5))), reach.shape)  # a pair that is in doubt
    timed("one causal effect", lambda: causal_effect(posterior, train, posterior.names[x], posterior.names[y]))
    found["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    columns = {name: measure(args.data / "networks" / f"{name}.bif.gz") for name in ("alarm", "link")}
    print("| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for key in next(iter(columns.values())):
        print(f"| {key} | " + " | ".join(f"{own[key]:.4g}" for own in columns.values()) + " |")
    if args.json:
        args.json.write_text(json.dumps(columns, indent=1))


if __name__ == "__main__":
    main()
