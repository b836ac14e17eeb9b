"""A linear Gaussian network: each variable is a linear function of its parents plus normal noise.

>>> chain = GaussianNetwork(("a", "b"), ((), (0,)), (0.0, 1.0), ((), (2.0,)), (1.0, 0.25))
>>> chain.marginal("b", given={"a": 3})
Normal(mean=7.0, sd=0.5)
>>> chain.marginal("a", do={"b": 100})
Normal(mean=0.0, sd=1.0)

The joint distribution is multivariate normal, so marginal, conditional and interventional distributions are exact.
"""

from __future__ import annotations

import graphlib
import json
import math
import os
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from brai.data.columns import shown
from brai.data.measurements import Floats, Measurements
from brai.data.numbers import conforming, measurements_of
from brai.graphs.pdag import PDAG
from brai.kinds import kind_of
from brai.kinds.gaussian.bge import Prior, regression
from brai.runtime import memory
from brai.runtime.atomic_files import write_text
from brai.runtime.checks import near
from brai.runtime.seeds import RandomState, generator

_FORMAT, _VERSION = "brai-gaussian-network", 1


class Normal(NamedTuple):
    """A normal distribution; with several variables a vector and a matrix, in the order that was asked for."""

    mean: Any
    covariance: Any

    @property
    def sd(self) -> Any:
        """Standard deviation of each variable."""
        found = np.sqrt(np.diag(np.atleast_2d(self.covariance)))
        return float(found[0]) if np.ndim(self.covariance) == 0 else found

    def __repr__(self) -> str:
        mean, sd = (np.round(own, 6).tolist() for own in (self.mean, self.sd))
        return f"Normal(mean={mean}, sd={sd})"


@dataclass(frozen=True, eq=False, repr=False)
class GaussianNetwork:
    """A DAG with its parameters: x_i = intercept_i + Σ_p coefficient_ip x_p + noise of variance variances[i].

    ``coefficients[i]`` belongs to the parents in ``parents[i]``, which are indices. A variance may be 0.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    intercepts: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    variances: tuple[float, ...]
    name: str = ""

    def __post_init__(self) -> None:
        d = len(self.names)
        parts = (self.parents, self.intercepts, self.coefficients, self.variances)
        if any(len(own) != d for own in parts) or len(set(self.names)) != d:
            raise ValueError(f"give {d} distinct names, and parents and parameters of each")
        for i, name in enumerate(self.names):
            own = self.parents[i]
            if len(set(own)) != len(own) or not all(0 <= p < d for p in own):
                raise ValueError(f"parents of {name!r} must be distinct indices below {d}, got {shown(own)}")
            if len(self.coefficients[i]) != len(own):
                raise ValueError(f"{name!r} has {len(own)} parents and {len(self.coefficients[i])} coefficients")
            numbers = (self.intercepts[i], self.variances[i], *self.coefficients[i])
            if not all(math.isfinite(number) for number in numbers) or self.variances[i] < 0:
                raise ValueError(f"parameters of {name!r} must be finite, and its variance 0 or more")
        _ = self._order

    @cached_property
    def _order(self) -> tuple[int, ...]:
        try:
            return tuple(graphlib.TopologicalSorter(dict(enumerate(self.parents))).static_order())
        except graphlib.CycleError as error:
            cycle = " → ".join(self.names[i] for i in error.args[1])
            raise ValueError(f"the network has a directed cycle: {cycle}") from None

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"GaussianNetwork({name}{len(self.names)} variables, {sum(map(len, self.parents))} edges)"

    @property
    def pdag(self) -> PDAG:
        """The DAG."""
        return PDAG.from_parents(self.names, self.parents)

    @classmethod
    def fit(cls, dag: PDAG, X: Any, *, ess: float = 1.0, name: str = "") -> Self:
        """The network of a DAG with parameters from a table of measurements: posterior means under BGe's prior.

        ``ess`` is the weight of the prior in rows; 0 is least squares.
        """
        if not dag.is_dag():
            raise ValueError(f"parameters need a DAG, got {dag!r}: take one of its DAGs, such as graph.to_dag()")
        if not (isinstance(ess, int | float) and 0 <= ess < math.inf):
            raise ValueError(f"ess is {ess!r}: give a weight in rows of 0 or more")
        data = measurements_of(X)
        if set(data.names) != set(dag.names):
            lone = sorted(set(data.names) ^ set(dag.names))
            raise ValueError(f"graph and data differ in {reprlib.repr(lone)}: give both over the same names")
        data = data.select(dag.names)
        scatter, n = kind_of(data).sample(data).scatter, data.n_rows
        prior = Prior.of(data.n_variables, max(ess, 1e-9))
        matrix = prior.matrix(scatter) if ess > 0 else scatter + 1e-12 * n * np.eye(data.n_variables)
        parents = tuple(tuple(np.flatnonzero(own).tolist()) for own in dag.adjacency.T)
        intercepts, coefficients, variances = [], [], []
        for x, own in enumerate(parents):
            found = regression(matrix, prior, n, x, list(own))
            slopes = found.mean * data.spread[x] / data.spread[list(own)]
            noise = found.variance if ess > 0 else found.variance * max(found.df - 2, 1e-9) / n
            coefficients.append(tuple(slopes.tolist()))
            intercepts.append(float(data.centre[x] - slopes @ data.centre[list(own)]))
            variances.append(float(0.0 if data.constant[x] else noise * data.spread[x] ** 2))
        return cls(data.names, parents, tuple(intercepts), tuple(coefficients), tuple(variances), name)

    # --- distributions ---

    def joint(self, do: Mapping[str, float] | None = None) -> tuple[Floats, Floats]:
        """Mean and covariance matrix of all variables, under an intervention if ``do`` is given."""
        fixed = self._values("do", do or {})
        d = len(self.names)
        mean, loads = np.zeros(d), np.zeros((d, d))  # loads: effects of the noise terms
        for i in self._order:
            if i in fixed:
                mean[i] = fixed[i]
                continue
            own, slopes = list(self.parents[i]), np.array(self.coefficients[i])
            mean[i] = self.intercepts[i] + slopes @ mean[own]
            loads[i] = slopes @ loads[own]
            loads[i, i] = math.sqrt(self.variances[i])
        return mean, loads @ loads.T

    def marginal(
        self,
        variables: str | Sequence[str],
        *,
        do: Mapping[str, float] | None = None,
        given: Mapping[str, float] | None = None,
    ) -> Normal:
        """Exact distribution of one variable or several, after an intervention and given observations."""
        wanted = (variables,) if isinstance(variables, str) else tuple(variables)
        if not wanted or len(set(wanted)) < len(wanted):
            raise ValueError(f"give one or more variables, each once, got {wanted}")
        query, seen = [self._at(name) for name in wanted], self._values("given", given or {})
        mean, covariance = self.joint(do)
        known = list(seen)
        centre, spread = mean[query], covariance[np.ix_(query, query)]
        if known:
            inner, cross = covariance[np.ix_(known, known)], covariance[np.ix_(query, known)]
            weights = cross @ np.linalg.pinv(inner, hermitian=True)
            centre = centre + weights @ (np.array(list(seen.values())) - mean[known])
            spread = spread - weights @ cross.T
        if isinstance(variables, str):
            return Normal(float(centre[0]), float(max(spread[0, 0], 0.0)))
        return Normal(centre, spread)

    def total_effects(self) -> Floats:
        """Change of the mean of column j when row i is raised by one unit by intervention; 1 on the diagonal."""
        d = len(self.names)
        direct = np.zeros((d, d))
        for i, own in enumerate(self.parents):
            direct[list(own), i] = self.coefficients[i]
        return np.asarray(np.linalg.inv(np.eye(d) - direct))

    def log_prob(self, X: Any) -> Floats:
        """Log density of each row of X, whose columns are matched by name."""
        like = Measurements(np.zeros((len(self.names), 1)), self.names)
        rows = conforming(X, like).values
        out = np.zeros(rows.shape[1])
        for i, own in enumerate(self.parents):
            off = rows[i] - self.intercepts[i] - np.array(self.coefficients[i]) @ rows[list(own)]
            if self.variances[i] == 0:
                out += np.where(np.abs(off) <= 1e-9 * max(1.0, abs(self.intercepts[i])), 0.0, -np.inf)
            else:
                out -= (math.log(2 * math.pi * self.variances[i]) + off**2 / self.variances[i]) / 2
        return out

    def sample(self, n: int, random_state: RandomState = None) -> Measurements:
        """Draw ``n`` independent rows."""
        if n < 1:
            raise ValueError(f"n is the number of rows and must be 1 or more, got {n}")
        rng, d = generator(random_state), len(self.names)
        memory.check(16.0 * n * d, f"a sample of {n} rows", "draw fewer")
        rows = np.zeros((d, n))
        for i in self._order:
            own = list(self.parents[i])
            rows[i] = self.intercepts[i] + np.array(self.coefficients[i]) @ rows[own]
            rows[i] += math.sqrt(self.variances[i]) * rng.standard_normal(n)
        return Measurements(rows, self.names)

    def _at(self, name: str) -> int:
        if name not in self.names:
            hint = near(str(name), self.names)
            raise ValueError(f"there is no variable {name!r}{hint}: choose among {reprlib.repr(list(self.names))}")
        return self.names.index(name)

    def _values(self, what: str, setting: Mapping[str, Any]) -> dict[int, float]:
        if not isinstance(setting, Mapping):
            raise ValueError(f"{what} is {setting!r}: give a dict of variable → number")
        found = {}
        for name, value in setting.items():
            try:
                found[self._at(name)] = float(value)
            except (TypeError, ValueError):
                if name not in self.names:
                    raise
                raise ValueError(f"{what}: {name!r} is set to {value!r}, give a number") from None
        return found

    # --- files ---

    def to_dict(self) -> dict[str, Any]:
        """The network as plain JSON types, parents by name."""
        variables = [
            {
                "name": name,
                "parents": [self.names[p] for p in self.parents[i]],
                "intercept": self.intercepts[i],
                "coefficients": list(self.coefficients[i]),
                "variance": self.variances[i],
            }
            for i, name in enumerate(self.names)
        ]
        return {"format": _FORMAT, "version": _VERSION, "name": self.name, "variables": variables}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The network that `to_dict` describes."""
        if not isinstance(content, Mapping) or content.get("format") != _FORMAT:
            raise ValueError(f"not a {_FORMAT} document: write it with GaussianNetwork.to_json")
        if content.get("version") != _VERSION:
            version = shown(content.get("version"))
            raise ValueError(f"{_FORMAT} version {version}, this brai reads {_VERSION}: install a newer brai")
        try:
            variables = list(content["variables"])
            index = {str(v["name"]): i for i, v in enumerate(variables)}
            return cls(
                tuple(index),
                tuple(tuple(index[p] for p in v["parents"]) for v in variables),
                tuple(float(v["intercept"]) for v in variables),
                tuple(tuple(float(c) for c in v["coefficients"]) for v in variables),
                tuple(float(v["variance"]) for v in variables),
                str(content.get("name", "")),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"the {_FORMAT} document lacks or misstates {error}: write it again") from None

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    text = to_json  # the usual text of a network, see `Kind.network_file`

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The network of a text that `to_json` wrote."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not JSON: {error}") from None
        return cls.from_dict(content)

    def write_json(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file, atomically."""
        write_text(Path(path), self.to_json())
