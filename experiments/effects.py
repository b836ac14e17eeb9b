"""How well are causal effects recovered from data, with the true graph and with a learned one?

    python experiments/effects.py [--data FOLDER] [--sets 10] [--rows 500 5000] [--json FILE]

Rows are sampled from the five networks inside the package, and from larger ones of FOLDER/networks if given (a
third as many sets). The effect is that of moving the cause from its first to its last state on the mean outcome
(states count 0, 1, 2, …); the truth is truncated factorisation of the network. Pairs are all ordered ones of small
networks; of larger ones up to 60 that have a directed path in every DAG of the true class. Root mean squared error
over pairs and data sets, and how often the truth lies within 2 standard deviations, among pairs with an effect.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import permutations
from pathlib import Path

import numpy as np

from brai import BRAI, Network, __version__, load_network
from brai.kinds.discrete.network import SHIPPED
from brai.posterior.effects import causal_effect
from brai.posterior.weighted import Posterior

LARGER = ("child", "insurance", "alarm", "hailfinder")
WAYS = [(graph, how) for graph in ("true class", "learned", "learned, flat") for how in ("optimal", "parents")]


def truth(network: Network, x: str, y: str) -> float:
    """Effect by truncated factorisation."""
    states = network.states[network.names.index(x)]
    value = np.arange(len(network.states[network.names.index(y)]))
    to, start = (network.marginal(y, do={x: states[i]}) @ value for i in (-1, 0))
    return float(to - start)


def chosen_pairs(network: Network, every: bool) -> list[tuple[str, str]]:
    """All pairs; or those with a path in every DAG of the class, at most 60 of them."""
    if every:
        return list(permutations(network.names, 2))
    paths = Posterior.from_scores([(network.pdag, 0.0)]).path_probabilities()
    found = [(network.names[x], network.names[y]) for x, y in np.argwhere(paths > 1 - 1e-9)]
    order = np.random.default_rng(0).permutation(len(found))[:60]
    return [found[i] for i in order]


def one_set(network: Network, pairs: list[tuple[str, str]], n: int, version: int) -> list[dict]:
    """One row a pair of variables."""
    data = network.sample(n, random_state=np.random.SeedSequence([n, version]))
    model = BRAI(random_state=0).fit(data)
    posteriors = {
        "true class": Posterior.from_scores([(network.pdag, 0.0)]),
        "learned": model.posterior(),
        "learned, flat": model.posterior(draws=500, temperature=10.0),
    }
    rows = []
    for x, y in pairs:
        values = {state: i for i, state in enumerate(network.states[network.names.index(y)])}
        row: dict = {"x": x, "y": y}
        for graph, how in WAYS:
            found = causal_effect(posteriors[graph], data, x, y, values=values, adjustment=how, n_dags=500)
            row[f"{graph}, {how}"] = {"effect": found.effect, "sd": found.effect_sd}
        a, b = (data.codes[network.names.index(name)].astype(float) for name in (x, y))
        groups = [b[a == code] for code in (a.max(), a.min())]
        row["P(y | x)"] = {"effect": float(np.subtract(*(group.mean() for group in groups)))}
        rows.append(row)
    return rows


def summary(rows: list[dict]) -> dict:
    """Root mean squared error, and share of pairs with an effect whose truth is within 2 standard deviations."""
    found: dict = {}
    for key in [k for k in rows[0] if isinstance(rows[0][k], dict)]:
        off = np.array([row[key]["effect"] - row["truth"] for row in rows])
        found[key] = {"rmse": float(np.sqrt(np.mean(off**2)))}
        if "sd" in rows[0][key]:
            real = np.array([abs(row["truth"]) > 1e-12 for row in rows])
            within = np.abs(off) <= 2 * np.array([row[key]["sd"] for row in rows]) + 1e-12
            found[key]["covered"] = float(within[real].mean())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = []
    heads = [f"{graph}, {how}" for graph, how in WAYS] + ["P(y | x)"]
    print("| network | rows | pairs | " + " | ".join(h.replace("|", "\\|") for h in heads) + " |")
    print("|---" * (len(heads) + 3) + "|")
    for name in [*SHIPPED, *(LARGER if args.data else ())]:
        small = name in SHIPPED
        network = load_network(name if small else args.data / "networks" / f"{name}.bif.gz")
        pairs = chosen_pairs(network, every=small)
        true = {pair: truth(network, *pair) for pair in pairs}
        for n in args.rows:
            rows: list[dict] = []
            for version in range(args.sets if small else max(1, args.sets // 3)):
                print(f"{name} {n} {version}", file=sys.stderr, flush=True)
                rows += one_set(network, pairs, n, version)
            for row in rows:
                row["truth"] = true[row["x"], row["y"]]
            found = summary(rows)
            results.append({"network": name, "rows": n, "pairs": len(pairs), "ways": found})
            shown = [
                f"{own['rmse']:.3f}" + (f" ({own['covered']:.0%})" if "covered" in own else "")
                for own in (found[head] for head in heads)
            ]
            print(f"| {name} | {n} | {len(pairs)} | " + " | ".join(shown) + " |", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"brai": __version__, "sets": args.sets, "results": results}, indent=1))


if __name__ == "__main__":
    main()
