"""How well are causal effects recovered from data when the graph has to be learned?

    python experiments/effects.py [--sets 10] [--rows 500 5000] [--json FILE]

Rows are sampled from the five networks inside the package; for every ordered pair of variables the effect of
moving the cause from its first to its last state on the mean outcome (states count 0, 1, 2, …) is compared with
the truth, truncated factorisation of the network. Root mean squared error over pairs and data sets, and how
often the truth lies within 2 standard deviations (over graphs and parameters), among pairs with an effect.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import permutations
from pathlib import Path

import numpy as np

from brai import BRAI, Network, __version__, load_network
from brai.causal import Effect, causal_effect
from brai.network import SHIPPED
from brai.posterior import Posterior

LEARNERS = ("posterior, 100 best", "best CPDAG", "true CPDAG", "no graph: P(y | x)")


def truth(network: Network, x: str, y: str) -> float:
    """Effect by truncated factorisation."""
    states = network.states[network.names.index(x)]
    value = np.arange(len(network.states[network.names.index(y)]))
    to, start = (network.marginal(y, do={x: states[i]}) @ value for i in (-1, 0))
    return float(to - start)


def associated(network: Network, data, x: str, y: str) -> float:
    """Difference of the means of y between rows with the last and the first state of x."""
    a, b = (data.codes[network.names.index(name)].astype(float) for name in (x, y))
    groups = [b[a == code] for code in (len(network.states[network.names.index(x)]) - 1, 0)]
    return float(np.subtract(*(group.mean() if len(group) else b.mean() for group in groups)))


def rows_of(network: Network, n: int, version: int) -> list[dict]:
    """One row a pair of variables."""
    data = network.sample(n, random_state=np.random.SeedSequence([n, version]))
    model = BRAI(random_state=0).fit(data)
    posteriors = {
        "posterior, 100 best": model.posterior(),
        "best CPDAG": Posterior.from_scores([(model.cpdag_, 0.0)]),
        "true CPDAG": Posterior.from_scores([(network.pdag, 0.0)]),
    }
    found = []
    for x, y in permutations(network.names, 2):
        values = {state: i for i, state in enumerate(network.states[network.names.index(y)])}
        row: dict = {"x": x, "y": y, "truth": truth(network, x, y)}
        for name, posterior in posteriors.items():
            effect: Effect = causal_effect(posterior, data, x, y, values=values)
            row[name] = {"effect": effect.effect, "sd": effect.effect_sd}
        row["no graph: P(y | x)"] = {"effect": associated(network, data, x, y)}
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = []
    print("| network | rows | " + " | ".join(LEARNERS) + " | truth within 2 sd: posterior | true CPDAG |")
    print("|---" * (len(LEARNERS) + 4) + "|")
    for name in SHIPPED:
        network = load_network(name)
        for n in args.rows:
            found = []
            for version in range(args.sets):
                print(f"{name} {n} {version}", file=sys.stderr, flush=True)
                found += rows_of(network, n, version)
            results.append({"network": name, "rows": n, **summary(found)})
            shown = [f"{results[-1]['rmse'][key]:.3f}" for key in LEARNERS]
            shown += [f"{results[-1]['covered'][key]:.0%}" for key in ("posterior, 100 best", "true CPDAG")]
            print(f"| {name} | {n} | " + " | ".join(shown) + " |", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"brai": __version__, "sets": args.sets, "results": results}, indent=1))


def summary(found: list[dict]) -> dict:
    """Errors of all pairs; coverage of the pairs that have an effect."""
    rmse = {
        k: float(np.sqrt(np.mean([(row[k]["effect"] - row["truth"]) ** 2 for row in found]))) for k in LEARNERS
    }
    real = [row for row in found if abs(row["truth"]) > 1e-12]
    covered = {
        k: float(np.mean([abs(row[k]["effect"] - row["truth"]) <= 2 * row[k]["sd"] + 1e-12 for row in real]))
        for k in LEARNERS[:-1]
    }
    return {"rmse": rmse, "covered": covered, "pairs": len(found), "with_effect": len(real)}


if __name__ == "__main__":
    main()
