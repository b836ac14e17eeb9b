"""The original data sets of the paper's Table 1 (Tsamardinos, Brown & Aliferis 2006), read from a folder.

``<folder>/mmhc/<Net>/<Net>_pool.npz`` holds the pool of rows and, for each of the 10 versions, the indices of 500
training rows and of 5000 test rows that are disjoint from them; ``<Net>_meta.json`` the names and arities.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from brai import PDAG, Dataset, load_network


def load(folder: Path, network: str, version: int) -> tuple[Dataset, Dataset]:
    """Training rows and held-out rows of version 1..10; Link, whose original rows are lost, is sampled anew."""
    if network == "Link":
        source = load_network(folder / "networks" / "link.bif.gz")
        return source.sample(500, random_state=version), source.sample(5000, random_state=1000 + version)
    base = folder / "mmhc" / network
    if not base.is_dir():
        raise SystemExit(f"no folder {base}: give --data the folder that holds mmhc/{network}")
    meta = json.loads((base / f"{network}_meta.json").read_text())
    arrays = np.load(base / f"{network}_pool.npz")
    pool = arrays["pool"]
    # three columns of Munin are constant and have no arity of their own
    arities = [a or int(top) + 1 for a, top in zip(meta["arity_network"], pool.max(axis=0), strict=True)]
    train, test = (
        Dataset.from_codes(pool[arrays[key][version - 1]], arities=arities, names=meta["columns"])
        for key in ("idx_s500", "idx_test5000")
    )
    return train, test


def true_graph(folder: Path, network: str) -> PDAG:
    """The DAG that the data come from."""
    if network == "Link":
        return load_network(folder / "networks" / "link.bif.gz").pdag
    path = folder / "mmhc" / network / f"{network}_graph_data_order.csv.gz"
    with gzip.open(path, "rt") as lines:
        names = next(lines).strip().split(",")
        return PDAG(names, np.loadtxt(lines, dtype=np.int8, delimiter=","))
