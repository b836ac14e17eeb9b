"""The data sets of the experiments: the original ones if a folder holds them, else samples of the networks.

The originals are the data sets of Tsamardinos, Brown & Aliferis 2006, which Table 1 of the paper uses:

- ``<folder>/mmhc/<Net>/<Net>_pool.npz`` has a pool of rows and, for each of 10 versions, the indices of 500
  training rows and of 5000 other rows for the test.
- ``<Net>_meta.json`` has names and arities, ``<Net>_graph_data_order.csv.gz`` the true DAG.
- ``<folder>/networks/<net>.bif.gz`` are networks with parameters.

Without a folder, samples are drawn from the networks of this package.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from brai.data.dataset import Dataset
from brai.graphs.pdag import PDAG
from brai.kinds.discrete.network import Network, load_network

NETWORKS = ("Child", "Insurance", "Mildew", "Alarm", "Barley", "Hailfinder", "Munin", "Link")
TRAIN_ROWS, TEST_ROWS = 500, 5000
_TEST_SEED = 1000  # first seed of the test samples
_BIF = {"munin": "munin1"}  # Munin in the paper is the first of its four parts
Origin = Literal["original", "sampled"]


@dataclass(frozen=True)
class Case:
    """Training rows, held-out rows, and their source."""

    train: Dataset
    test: Dataset
    truth: PDAG
    origin: Origin
    source: Callable[[], tuple[Network, Dataset]]  # the true network, and held-out rows with its states

    @cached_property
    def ceiling(self) -> float:
        """Log probability of the held-out rows under the true network."""
        network, rows = self.source()
        return float(network.log_prob(rows).sum())


def proper_name(network: str) -> str:
    """The name of a network as the paper writes it."""
    return network[:1].upper() + network[1:].lower()


def origin(folder: Path | None, network: str) -> Origin:
    """Where the rows come from: "original" if the folder has them, else "sampled"."""
    return "original" if folder is not None and _mmhc(folder, network).is_dir() else "sampled"


def case(folder: Path | None, network: str, version: int) -> Case:
    """The training and test rows of this version, counted from 1."""
    if folder is not None and origin(folder, network) == "original":
        return _original(folder, network, version)
    source = network_of(folder, network)
    train = source.sample(TRAIN_ROWS, random_state=version)
    test = source.sample(TEST_ROWS, random_state=_TEST_SEED + version)
    return Case(train, test, source.pdag, "sampled", lambda: (source, test))


def true_graph(folder: Path, network: str) -> PDAG:
    """The DAG that generated the data."""
    if origin(folder, network) == "sampled":
        return network_of(folder, network).pdag
    with gzip.open(_mmhc(folder, network) / f"{proper_name(network)}_graph_data_order.csv.gz", "rt") as lines:
        names = next(lines).strip().split(",")
        return PDAG(tuple(names), np.loadtxt(lines, dtype=np.int8, delimiter=","))


@lru_cache(maxsize=2)
def network_of(folder: Path | None, network: str) -> Network:
    """A network with its parameters, from the folder or from the package."""
    name = _BIF.get(network.lower(), network.lower())
    if folder is not None and (path := folder / "networks" / f"{name}.bif.gz").is_file():
        return load_network(path)
    try:
        return load_network(name)
    except ValueError as error:
        raise ValueError(f"no data for {network!r}: give --data a folder that has it, or: {error}") from error


def _mmhc(folder: Path, network: str) -> Path:
    return folder / "mmhc" / proper_name(network)


def _original(folder: Path, network: str, version: int) -> Case:
    base, name = _mmhc(folder, network), proper_name(network)
    meta = json.loads((base / f"{name}_meta.json").read_text())
    arrays = np.load(base / f"{name}_pool.npz")
    versions = len(arrays["idx_s500"])
    if not 1 <= version <= versions:
        raise ValueError(f"{name} has {versions} original data sets, no number {version}: ask for fewer sets")
    pool, chosen = arrays["pool"], arrays["idx_test5000"][version - 1]
    # three constant columns of Munin have no arity in the file
    arities = [a or int(top) + 1 for a, top in zip(meta["arity_network"], pool.max(axis=0), strict=True)]

    def rows(which: Any) -> Dataset:
        return Dataset.from_codes(pool[which], arities=arities, names=meta["columns"])

    train, test, truth = rows(arrays["idx_s500"][version - 1]), rows(chosen), true_graph(folder, network)

    def source() -> tuple[Network, Dataset]:
        if name == "Alarm":  # its data were generated with other parameters than those of the published network
            rest = np.setdiff1d(np.arange(len(pool)), chosen)
            return Network.fit(truth, rows(rest)), test
        network_ = network_of(folder, network)
        known = test.select(network_.names)  # without the constant columns of Munin
        return network_, Dataset(known.codes, known.names, network_.states)  # codes are in the order of its states

    return Case(train, test, truth, "original", source)
