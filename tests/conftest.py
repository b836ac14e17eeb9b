"""Shared by all tests: a stable hypothesis profile, random DAGs, data with real dependence in it."""

from __future__ import annotations

import os
import warnings

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from brai import BRAI
from brai.data.dataset import Dataset

collect_ignore = ["golden/make.py"]  # needs foreign software

settings.register_profile(
    "stable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("stable")


def pytest_collection_finish(session):
    """Before a large run each of two workers compiles for another type of codes; else both would compile the same.

    What the other has compiled comes from disk then. Where all is compiled it takes a second.
    """
    states = {"gw0": 3, "gw1": 300}.get(os.environ.get("PYTEST_XDIST_WORKER", ""))
    if states and len(session.items) > 1000 and not numba.config.DISABLE_JIT:
        codes = np.random.default_rng(0).integers(0, [states, 2, 2, 2], (100, 4))
        with warnings.catch_warnings(action="ignore"):  # so few draws do not converge
            data = Dataset.from_codes(codes, arities=[states, 2, 2, 2])
            BRAI(s=2, n_draws=10, random_state=0).fit(data).edge_probabilities()


def random_dag(rng: np.random.Generator, d: int, density: float) -> np.ndarray:
    """Adjacency ("row to column") of a DAG whose topological order is random."""
    upper = np.triu(rng.random((d, d)) < density, 1)
    order = rng.permutation(d)
    return upper[np.ix_(order, order)].astype(np.int8)


def random_data(rng: np.random.Generator, d: int, n: int, max_arity: int = 4, density: float = 0.5) -> Dataset:
    """Rows from a random network with sharp tables; names sort in column order."""
    dag = random_dag(rng, d, density)
    arities = rng.integers(2, max_arity + 1, d)
    codes = np.zeros((n, d), int)
    done: list[int] = []
    while len(done) < d:
        v = next(v for v in range(d) if v not in done and all(p in done for p in np.flatnonzero(dag[:, v])))
        config = np.zeros(n, int)
        for p in np.flatnonzero(dag[:, v]):
            config = config * arities[p] + codes[:, p]
        table = rng.dirichlet(np.full(arities[v], 0.4), config.max() + 1).cumsum(axis=1)
        codes[:, v] = np.minimum((rng.random(n)[:, None] > table[config]).sum(axis=1), arities[v] - 1)
        done.append(v)
    return Dataset.from_codes(codes, arities=arities.tolist(), names=[f"v{i:02d}" for i in range(d)])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20181203)
