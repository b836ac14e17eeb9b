"""Edges from nothing: tables of independent columns must give an empty graph and no probable edge.

    python benchmarks/nothing.py [--quick]

Columns are uniform, or skewed (probabilities from a Dirichlet distribution), with 2 to 200 states, 50 to 5000
rows, 10 to 300 columns. Printed: edges of the MAP graph, the highest probability of an adjacent pair, CPU seconds;
and the edges of the MAP graph under a uniform prior with ess 1 for the smaller tables.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from brai import BRAI, Dataset

CASES = [(2, 50, 10), (2, 500, 100), (2, 5000, 30), (5, 500, 30), (5, 50, 100), (20, 500, 30), (20, 50, 30)]
CASES += [(50, 1000, 30), (200, 50, 10), (200, 500, 30), (200, 5000, 30), (3, 500, 300), (10, 2000, 100)]
QUICK = CASES[:6]


def main() -> None:
    warnings.simplefilter("ignore")
    print("| states | rows | columns | kind | edges | highest probability | CPU s | edges, uniform prior, ess 1 |")
    print("|---" * 8 + "|")
    for states, rows, columns in QUICK if "--quick" in sys.argv else CASES:
        for kind in ("uniform", "skewed"):
            rng = np.random.default_rng(states + rows + columns)
            shares = [rng.dirichlet(np.full(states, 1e6 if kind == "uniform" else 0.5)) for _ in range(columns)]
            codes = np.stack([rng.choice(states, rows, p=own) for own in shares], axis=1)
            data = Dataset.from_codes(codes, arities=[states] * columns)
            start = time.process_time()
            model = BRAI(random_state=0).fit(data)
            highest = model.adjacency_probabilities().max()
            spent = time.process_time() - start
            before = ""
            if columns <= 30:
                plain = BRAI(random_state=0, structure_prior="uniform", ess=1.0, posterior_from="mcmc").fit(data)
                before = str(plain.dag_.n_edges)
            found = f"{model.dag_.n_edges} | {highest:.3f} | {spent:.1f} | {before}"
            print(f"| {states} | {rows} | {columns} | {kind} | {found} |", flush=True)


if __name__ == "__main__":
    main()
