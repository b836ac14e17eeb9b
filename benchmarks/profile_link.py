"""Where the time goes on Link (724 variables, 500 rows): share of compiled code, and of each kernel.

    python benchmarks/profile_link.py --network link.bif.gz [--rows 500]

Every kernel that Python calls is wrapped in a timer; what is left is time outside compiled code.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from brai import BRAI, load_network, rai, scores

KERNELS = {rai: ["associations", "refine", "orient", "split", "extension"], scores: ["family_values"]}


def timed(function, name: str, spent: Counter, calls: Counter):
    def call(*arguments):
        start = time.process_time()
        try:
            return function(*arguments)
        finally:
            spent[name] += time.process_time() - start
            calls[name] += 1

    return call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", required=True)
    parser.add_argument("--rows", type=int, default=500)
    args = parser.parse_args()
    data = load_network(args.network).sample(args.rows, random_state=1)
    BRAI.paper(3, random_state=0).fit(data.select(data.names[:40]))  # compile first
    spent, calls = Counter(), Counter()
    for module, names in KERNELS.items():
        for name in names:
            setattr(module, name, timed(getattr(module, name), name, spent, calls))
    start = time.process_time()
    model = BRAI.paper(3, random_state=0).fit(data)
    total = time.process_time() - start
    for name, seconds in spent.most_common():
        print(f"{name:14s} {seconds:8.2f} s {seconds / total:6.1%}  {calls[name]:6d} calls")
    outside = total - sum(spent.values())
    print(f"{'outside':14s} {outside:8.2f} s {outside / total:6.1%}")
    print(f"{'all':14s} {total:8.2f} s; CI tests by order: {model.n_ci_tests_.tolist()}")


if __name__ == "__main__":
    main()
