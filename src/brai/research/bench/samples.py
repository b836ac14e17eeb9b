"""The data of the cases: rows of a packaged network, of a network in the data folder, or of a random network."""

from __future__ import annotations

import numpy as np

from brai.data.dataset import Dataset
from brai.kinds.discrete.network import load_network
from brai.research.bench.measure import Settings


def alarm(rows: int = 500) -> Dataset:
    """The sample of Alarm that most cases use; it is the same in every run."""
    return load_network("alarm").sample(rows, random_state=1)


def random_rows(variables: int, rows: int = 500, seed: int = 0) -> Dataset:
    """Rows of a random network: 2 to 4 states, at most 3 parents, which are among the 6 preceding variables."""
    rng = np.random.default_rng(seed)
    arities = rng.integers(2, 5, variables)
    codes = np.zeros((variables, rows), np.int64)
    for v in range(variables):
        near = np.arange(max(0, v - 6), v)
        config = np.zeros(rows, np.int64)
        for p in rng.choice(near, min(len(near), int(rng.integers(1, 4))), replace=False):
            config = config * arities[p] + codes[p]
        table = rng.dirichlet(np.full(arities[v], 0.4), int(config.max()) + 1).cumsum(axis=1)
        codes[v] = np.minimum((rng.random(rows)[:, None] > table[config]).sum(axis=1), arities[v] - 1)
    return Dataset.from_codes(codes.T, arities=arities.tolist())


def as_large_as_hailfinder(settings: Settings) -> tuple[str, Dataset]:
    """Hailfinder if the data folder has it, else a random network of as many variables."""
    path = settings.network("hailfinder")
    if path is not None:
        return "Hailfinder", load_network(path).sample(500, random_state=1)
    return "random, 56 variables", random_rows(56)
