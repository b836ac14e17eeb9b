"""RAI with a d-separation oracle must return the true CPDAG: networks from a folder, and random DAGs.

python experiments/oracle.py --data FOLDER [--max-nodes 60] [--random 2000]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from brai import PDAG, RAI, Dataset, Oracle, load_network


def exact(dag: PDAG) -> tuple[bool, RAI]:
    blank = np.zeros((2, len(dag.names)), int)  # with the oracle only the names count
    model = RAI(Oracle(dag)).fit(Dataset.from_codes(blank, arities=[2] * len(dag.names), names=dag.names))
    return model.cpdag_ == dag.to_cpdag(), model


def random_dag(rng: np.random.Generator) -> PDAG:
    d = int(rng.integers(2, 16))
    upper = np.triu(rng.random((d, d)) < rng.uniform(0.1, 0.6), 1)
    order = rng.permutation(d)
    return PDAG(tuple(f"n{i:02d}" for i in range(d)), upper[np.ix_(order, order)].astype(np.int8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--max-nodes", type=int, default=60)
    parser.add_argument("--random", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for path in sorted((args.data / "networks").glob("*.bif.gz")):
        dag = load_network(path).pdag
        if len(dag.names) <= args.max_nodes:
            start = time.process_time()
            right, model = exact(dag)
            spent = time.process_time() - start
            print(
                f"{path.name:20s} {len(dag.names):3d} nodes {dag.n_edges:3d} edges "
                f"{'exact' if right else 'WRONG'} {spent:6.1f} s, CI tests by order {model.n_ci_tests_.tolist()}",
                flush=True,
            )
    rng = np.random.default_rng(args.seed)
    wrong = sum(not exact(random_dag(rng))[0] for _ in range(args.random))
    print(f"{args.random} random DAGs of 2–15 nodes: {wrong} wrong")


if __name__ == "__main__":
    main()
