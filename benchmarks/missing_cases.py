"""Complete tables whose graph is known, and which of their cells are blanked, for benchmarks/missing.py.

Tables have 500 rows: Alarm, Child, Insurance and Hailfinder (original data), samples of Asia and ECOLI70, and
cg-a, a mixed table of benchmarks/mixed_cases.py.

- MCAR (missing completely at random): each cell with the same probability.
- MAR (missing at random): two columns stay complete. In half of the others the probability depends on these two
  by a logistic function, in the rest it is the same for all rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from calibration import ORIGINAL, data_of
from gaussian import network_of
from mixed_cases import source_of

from brai import PDAG, Dataset, load_network
from brai.research.paper.sources import case

DISCRETE = ("asia", "Child", "Insurance", "Alarm", "Hailfinder")
CASES = (*DISCRETE, "ecoli70", "cg-a")
MECHANISMS = ("MCAR", "MAR")
PAIRS = {
    "asia": (("smoke", "lung"), ("smoke", "dysp"), ("bronc", "dysp")),
    "Alarm": (("HYPOVOLEMIA", "STROKEVOLUME"), ("CATECHOL", "HR"), ("VENTALV", "ARTCO2")),
}
ROWS, TEST_ROWS = 500, 2000
STREAM = 991  # of blanked cells: the seed alone would give the numbers that the rows were drawn with
VARIED = 0.95  # most common value at most, of columns that others depend on
SLOPE = 1.5  # of the logistic function, for each of two standardised columns


class Case(NamedTuple):
    """A complete table, rows for predictions, the true DAG, and the true network if effects are asked for."""

    table: Any
    test: Any
    truth: PDAG
    network: Any = None


def case_of(folder: Path, name: str, version: int) -> Case:
    """A data set of a case."""
    later = 10_000 + version
    if name == "ecoli70":
        network = network_of(folder, name)
        test = network.sample(TEST_ROWS, random_state=later)
        return Case(network.sample(ROWS, random_state=version), test, network.pdag)
    if name == "cg-a":
        source = source_of(folder, name, version)
        return Case(source.sample(ROWS, version), source.sample(TEST_ROWS, later), source.pdag)
    table, truth = data_of(folder, name, ROWS, version)
    if name in ORIGINAL:
        original = case(folder, name, version)
        network = original.source()[0] if name in PAIRS else None
        return Case(table, original.test.rows(np.arange(TEST_ROWS)), truth, network)
    network = load_network(folder / "networks" / f"{name.lower()}.bif.gz")
    return Case(table, network.sample(TEST_ROWS, random_state=later), truth, network)


def blanks(table: Any, mechanism: str, share: float, seed: int) -> np.ndarray:
    """Which cells are missing, (variables, rows)."""
    rng = np.random.default_rng([seed, STREAM])
    columns = [np.asarray(own, float) for own in table.columns()]
    chance = np.full((len(columns), table.n_rows), share)
    if mechanism == "MAR":
        varied = [
            v for v, own in enumerate(columns) if np.unique(own, return_counts=True)[1].max() < VARIED * len(own)
        ]
        two = rng.choice(varied, 2, replace=False)
        chance[two] = 0
        others = rng.permutation(np.setdiff1d(np.arange(len(columns)), two))
        causes = np.stack([(columns[v] - columns[v].mean()) / columns[v].std() for v in two])
        for v in others[: len(others) // 2]:
            chance[v] = logistic(SLOPE * rng.choice([-1, 1], 2) @ causes, share)
    return rng.random(chance.shape) < chance


def logistic(slope: np.ndarray, mean: float) -> np.ndarray:
    """1 / (1 + exp(-level - slope)) with the level at which the mean is as given."""
    low, high = -50.0, 50.0
    for _ in range(60):
        level = (low + high) / 2
        found = 1 / (1 + np.exp(-level - slope))
        low, high = (level, high) if found.mean() < mean else (low, level)
    return np.asarray(found)


def blanked(table: Any, gone: np.ndarray, missing: Any) -> Any:
    """The table as a user would give it, with cells left out."""
    names, whole = table.names, table.to_dict()
    own = {n: [None if out else x for x, out in zip(whole[n], gone[v], strict=True)] for v, n in enumerate(names)}
    kinds = getattr(table, "kinds", ("discrete" if hasattr(table, "states") else "continuous",) * len(names))
    if hasattr(table, "states_of"):
        listed = [table.states_of(v) for v in range(len(names))]
    else:
        listed = list(getattr(table, "states", [None] * len(names)))
    states = {name: given for name, given in zip(names, listed, strict=True) if given is not None}
    return Dataset.of(own, kinds=dict(zip(names, kinds, strict=True)), states=states or None, missing=missing)
