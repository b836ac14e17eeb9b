"""Log predictive of MMHC under rules that implementations differ in, beside the paper's.

    python experiments/mmhc_rules.py --data FOLDER [--sets 10] [--json FILE]

Training rows 500, held-out rows 5000, disjoint; mean over data sets ± standard error.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from brai import MMHC, PDAG
from brai.research.paper.sources import NETWORKS, case
from brai.research.paper.table1 import PUBLISHED, measured

RULES: dict[str, dict[str, Any] | None] = {
    "no edges": None,
    "as published: strata, 5 rows a cell": {},
    "declared states, 5 rows a cell": {"df": "full"},
    "declared states, every test made": {"df": "full", "min_rows_per_cell": None},
    "declared states, every test made, level 0.01": {"df": "full", "min_rows_per_cell": None, "alpha": 0.01},
    "declared states, every test made, level 0.001": {"df": "full", "min_rows_per_cell": None, "alpha": 0.001},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", default=NETWORKS[:7])
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {rule: {} for rule in RULES}
    for network in args.networks:
        for version in range(1, args.sets + 1):
            one = case(args.data, network, version)
            for rule, settings in RULES.items():
                empty = PDAG(one.train.names, np.zeros((one.train.n_variables,) * 2, np.int8))
                dag = empty if settings is None else MMHC(**settings).fit(one.train).dag_
                value = measured(dag, one.train, one.test, one.truth)["predictive"]
                found[rule].setdefault(network, []).append(value)
    print(f"| | {' | '.join(args.networks)} |\n{'|---' * (len(args.networks) + 1)}|")
    for rule, values in found.items():
        cells = [f"{np.mean(v):.0f} ±{np.std(v, ddof=1) / len(v) ** 0.5:.0f}" for v in values.values()]
        print(f"| {rule} | {' | '.join(cells)} |")
    paper = [f"*{PUBLISHED[network].columns['MMHC'][0]:.0f}*" for network in args.networks]
    print(f"| *paper* | {' | '.join(paper)} |")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
