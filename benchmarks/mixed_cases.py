"""Sources of mixed tables whose graph is known, for benchmarks/mixed.py. All is drawn anew for each data set.

- NAME-cut, random-D-cut: a linear Gaussian network (benchmarks/gaussian.py). A third of the columns is cut at
  random quantiles into 2 to 4 categories in random order, a third into 3 to 5 ordered states, a third is left.
- NAME-noisy: a discrete network. A third of the variables is measured: each state has a mean, 3 to 5 units above
  that of the state before, plus standard normal noise. Every other one of them is exp(value / 2). The children
  depend on the state, not on the measurement, so the graph is the true one only as far as a state can be read off.
- cg-X: a random conditional Gaussian network of 24 variables, about 1.5 edges each, at most three parents. Half
  are measurements, linear in measurements; in every other one slopes and shifts differ for each configuration of
  its categories, else categories add shifts. The others are categories of 2 to 4 states: a logit for each
  configuration of parents that are categories, plus slopes of measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gaussian import network_of
from scipy.special import ndtri

from brai import PDAG, Dataset, load_network

CHOICE = ("ecoli70-cut", "child-noisy", "alarm-noisy", "cg-a")
REPORT = ("magic-niab-cut", "insurance-noisy", "hailfinder-noisy", "random-24-cut", "random-36-cut", "cg-b")


class Source(NamedTuple):
    """A graph, and a way to draw rows; columns of codes or values, in the order of the graph."""

    pdag: PDAG
    kinds: tuple[str, ...]
    n_states: tuple[int, ...]  # 0 for measurements
    draw: Callable[[int, Any], list[np.ndarray]]

    def sample(self, n: int, seed: Any) -> Any:
        """A table as a user would give it."""
        columns, states = {}, {}
        for name, own, k in zip(self.pdag.names, self.draw(n, seed), self.n_states, strict=True):
            columns[name] = [f"s{code}" for code in own] if k else own.tolist()
            if k:
                states[name] = [f"s{code}" for code in range(k)]
        kinds = dict(zip(self.pdag.names, self.kinds, strict=True))
        return Dataset.of(columns, kinds=kinds, states=states)


def source_of(folder: Path, name: str, version: int) -> Source:
    """The source of a data set."""
    own, _, way = name.rpartition("-")
    rng = np.random.default_rng([version, *name.encode()])
    if own == "cg":
        return conditional(rng)
    if way == "cut":
        return cut(network_of(folder, own), rng)
    return noisy(load_network(folder / "networks" / f"{own}.bif.gz"), rng)


def cut(network: Any, rng: np.random.Generator) -> Source:
    """A linear Gaussian network with columns that are cut."""
    d = len(network.names)
    roles = np.array(["discrete", "ordered", "continuous"])[rng.permutation(d) % 3]
    mean, covariance = network.joint()
    sd = np.sqrt(np.diag(covariance))
    cuts, labels = [], []
    for role in roles:
        k = {"discrete": rng.integers(2, 5), "ordered": rng.integers(3, 6), "continuous": 1}[role]
        cuts.append(ndtri(np.cumsum(rng.dirichlet([5.0] * k))[:-1]))
        labels.append(rng.permutation(k) if role == "discrete" else np.arange(k))

    def draw(n: int, seed: Any) -> list[np.ndarray]:
        values = network.sample(n, random_state=seed).values
        codes = [labels[v][np.searchsorted(cuts[v], (values[v] - mean[v]) / sd[v])] for v in range(d)]
        return [values[v] if roles[v] == "continuous" else codes[v] for v in range(d)]

    n_states = tuple(0 if role == "continuous" else len(own) for role, own in zip(roles, labels, strict=True))
    return Source(network.pdag, tuple(map(str, roles)), n_states, draw)


def noisy(network: Any, rng: np.random.Generator) -> Source:
    """A discrete network of which a third of the variables is measured."""
    d, arities = len(network.names), [len(own) for own in network.states]
    measured = rng.permutation(d)[: d // 3].tolist()
    means = {v: np.cumsum(rng.uniform(3, 5, arities[v])) for v in measured}

    def draw(n: int, seed: Any) -> list[np.ndarray]:
        own = np.random.default_rng([seed, 1])
        columns = list(network.sample(n, random_state=seed).codes)
        for place, v in enumerate(measured):
            values = means[v][columns[v]] + own.standard_normal(n)
            columns[v] = np.exp(values / 2) if place % 2 else values
        return columns

    kinds = tuple("continuous" if v in means else "discrete" for v in range(d))
    return Source(network.pdag, kinds, tuple(0 if v in means else arities[v] for v in range(d)), draw)


def conditional(rng: np.random.Generator, d: int = 24) -> Source:
    """A random conditional Gaussian network, in which categories may depend on measurements."""
    arities = rng.permutation(np.repeat([0, 1], d // 2)) * rng.integers(2, 5, d)
    parents = [rng.permutation(np.flatnonzero(rng.random(v) < 3.3 / d))[:3] for v in range(d)]
    models = []
    for v in range(d):
        states = [p for p in parents[v] if arities[p]]
        numbers = [p for p in parents[v] if not arities[p]]
        q, r = int(np.prod([arities[p] for p in states], dtype=int)), int(arities[v])
        slopes = rng.uniform(0.4, 1.2, (q, len(numbers), max(r, 1)))
        slopes *= rng.choice([-1, 1], slopes.shape)
        shifts = rng.normal(0, 1.2 if r else 1.0, (q, max(r, 1)))
        if r or v % 2:  # the same slopes in all configurations
            slopes[:] = slopes[0]
        if not r and v % 2 and states:  # shifts add up
            of_each = [rng.normal(0, 1.0, arities[p]) for p in states]
            shifts = np.array([sum(own) for own in cells(of_each)])[:, None]
        models.append((states, numbers, slopes, shifts))
    sizes = np.tile([0.0, 1.0], (d, 1))  # mean and spread of measurements

    def draw(n: int, seed: Any) -> list[np.ndarray]:
        own, columns = np.random.default_rng(seed), []
        for v, (states, numbers, slopes, shifts) in enumerate(models):
            at = np.zeros(n, int)
            for p in states:
                at = at * arities[p] + columns[p]
            values = np.stack([columns[p] for p in numbers]) if numbers else np.zeros((0, n))
            outcome = shifts[at].T + np.einsum("nkr,kn->rn", slopes[at], values)
            if arities[v]:
                columns.append((outcome + own.gumbel(size=outcome.shape)).argmax(axis=0))
            else:
                columns.append((outcome[0] + own.standard_normal(n) - sizes[v, 0]) / sizes[v, 1])
        return columns

    for v in range(d):  # each measurement has about mean 0 and variance 1
        if not arities[v]:
            pilot = draw(2000, 0)[v]
            sizes[v] = pilot.mean(), pilot.std()
    names = [f"v{i:02d}" for i in rng.permutation(d)]  # they do not tell the order
    kinds = tuple("discrete" if r else "continuous" for r in arities)
    return Source(PDAG.from_parents(names, [tuple(map(int, p)) for p in parents]), kinds, tuple(arities), draw)


def cells(parts: list[np.ndarray]) -> list[tuple[float, ...]]:
    """All combinations of a value of each part, the first varying slowest."""
    found: list[tuple[float, ...]] = [()]
    for part in parts:
        found = [(*own, value) for own in found for value in part]
    return found
