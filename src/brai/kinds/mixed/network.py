"""A network of categories, ordered states and measurements, with its parameters in the units of the data.

Each variable has one of three local models (`brai.kinds.mixed.local_models`):

- ``table``: probabilities of its states for each configuration of its parents, which are categories;
- ``softmax``: log odds of its states, a sum of an intercept and an effect of each parent;
- ``linear``: a mean, a sum of an intercept and an effect of each parent, and the variance of normal noise.

The effect of a measurement is a slope, that of a variable with states a number for each state. A measurement whose
distribution is far from normal has ``quantiles``: models see its normal score, read off between them.

There is no closed form for marginals, so they are computed from random rows, weighted by the probability of what
is given. The number of rows is an argument, and the standard error is part of the answer.
"""

from __future__ import annotations

import graphlib
import json
import math
import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from brai.data.columns import DataError, aligned, shown
from brai.data.dataset import Dataset, columns_of_any
from brai.data.measurements import Floats, Measurements
from brai.data.mixed import Mixed
from brai.data.numbers import numbers, read
from brai.data.states import place_of
from brai.graphs.pdag import PDAG
from brai.kinds.mixed.variables import Variable, fitted
from brai.runtime import memory
from brai.runtime.atomic_files import write_text
from brai.runtime.checks import check_count, near
from brai.runtime.plain import decoded, encoded
from brai.runtime.seeds import RandomState, generator

_FORMAT, _VERSION = "brai-mixed-network", 1


class States(NamedTuple):
    """Probabilities of states, by label, with Monte Carlo standard errors."""

    states: tuple[Any, ...]
    probabilities: Floats
    standard_error: Floats

    def __iter__(self) -> Any:
        return iter(self.probabilities)

    def __repr__(self) -> str:
        told = (f"{s}: {p:.4f} ±{e:.4f}" for s, p, e in zip(*tuple.__iter__(self), strict=True))
        return f"States({', '.join(told)})"


class Amount(NamedTuple):
    """The distribution of a measurement: mean, standard deviation, quantiles; and the error of the mean."""

    mean: float
    sd: float
    quantiles: tuple[float, ...]  # 2.5, 25, 50, 75 and 97.5 %
    standard_error: float

    def __repr__(self) -> str:
        return f"Amount(mean={self.mean:.6g} ±{self.standard_error:.2g}, sd={self.sd:.6g})"


@dataclass(frozen=True, eq=False, repr=False)
class MixedNetwork:
    """A DAG over variables of several kinds, with their local models."""

    variables: tuple[Variable, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"names are {shown(self.names)}: give distinct ones")
        for own in self.variables:
            if not all(0 <= p < len(self.variables) for p in own.parents):
                raise ValueError(f"parents of {own.name!r} must be indices of variables, got {shown(own.parents)}")
            if own.model not in ("table", "softmax", "linear"):
                raise ValueError(f"the model of {own.name!r} is {own.model!r}: choose table, softmax or linear")
        _ = self._order

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(own.name for own in self.variables)

    @property
    def states(self) -> tuple[tuple[Any, ...] | None, ...]:
        """States of each variable; None for measurements."""
        return tuple(own.states for own in self.variables)

    @cached_property
    def _order(self) -> tuple[int, ...]:
        graph = {i: own.parents for i, own in enumerate(self.variables)}
        try:
            return tuple(graphlib.TopologicalSorter(graph).static_order())
        except graphlib.CycleError as error:
            cycle = " → ".join(self.names[i] for i in error.args[1])
            raise ValueError(f"the network has a directed cycle: {cycle}") from None

    @property
    def pdag(self) -> PDAG:
        """The DAG."""
        return PDAG.from_parents(self.names, [own.parents for own in self.variables])

    def __repr__(self) -> str:
        edges = sum(len(own.parents) for own in self.variables)
        name = f"{self.name!r}, " if self.name else ""
        return f"MixedNetwork({name}{len(self.variables)} variables, {edges} edges)"

    # --- from data ---

    @classmethod
    def fit(cls, dag: PDAG, data: Mixed, *, ess: float | str = 1.0, name: str = "") -> Self:
        """The network of a DAG with parameters from a mixed table; ``ess`` is the weight of priors in rows."""
        if not dag.is_dag():
            raise ValueError(f"parameters need a DAG, got {dag!r}: take one of its DAGs, such as graph.to_dag()")
        if set(data.names) != set(dag.names):
            lone = sorted(set(data.names) ^ set(dag.names))
            raise ValueError(f"graph and data differ in {reprlib.repr(lone)}: give both over the same names")
        data = data.select(dag.names)
        parents = [tuple(np.flatnonzero(own).tolist()) for own in dag.adjacency.T]
        return cls(tuple(fitted(data, x, own, ess) for x, own in enumerate(parents)), name)

    # --- rows ---

    def _contribution(self, v: int, values: Mapping[int, Any], n: int) -> Floats:
        """(outputs, rows): the intercept and the effects of the parents."""
        own = self.variables[v]
        assert own.intercept is not None
        total = np.repeat(np.asarray(own.intercept, np.float64)[:, None], n, axis=1)
        for p, effect in zip(own.parents, own.effects, strict=True):
            parent = self.variables[p]
            if parent.states is None:
                total += effect[0][:, None] * parent.score(values[p])
            else:
                total += effect[values[p]].T
        return total

    def _log_states(self, v: int, values: Mapping[int, Any], n: int) -> Floats:
        """Log probability of each state, (states, rows)."""
        own = self.variables[v]
        if own.model == "table":
            assert own.table is not None
            at = np.zeros(n, np.int64)
            for p in own.parents:
                at = at * len(self.variables[p].states or ()) + values[p]
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(own.table[at].T))
        return np.asarray(log_softmax(self._contribution(v, values, n), axis=0))

    def _log_of(self, v: int, values: Mapping[int, Any], n: int) -> Floats:
        """Log probability or density of the values of a variable given those of its parents."""
        own = self.variables[v]
        if own.states is not None:
            return np.asarray(self._log_states(v, values, n)[values[v], np.arange(n)])
        off = own.score(values[v]) - self._contribution(v, values, n)[0]
        if own.variance == 0.0:  # a constant
            return np.where(off == 0.0, 0.0, -np.inf)
        return np.asarray(-(math.log(2 * math.pi * own.variance) + off**2 / own.variance) / 2)

    def _drawn(self, v: int, values: Mapping[int, Any], n: int, rng: np.random.Generator) -> NDArray[Any]:
        own = self.variables[v]
        if own.states is None:
            noise = math.sqrt(own.variance) * rng.standard_normal(n)
            return own.value(self._contribution(v, values, n)[0] + noise)
        shares = np.cumsum(np.exp(self._log_states(v, values, n)), axis=0)
        return np.minimum((rng.random(n) * shares[-1] > shares).sum(axis=0), len(own.states) - 1)

    def sample(self, n: int, random_state: RandomState = None) -> Any:
        """Draw ``n`` independent rows."""
        check_count("n", n, 1)
        memory.check(24.0 * n * len(self.variables), f"a sample of {n} rows", "draw fewer")
        rng = generator(random_state)
        values: dict[int, Any] = {}
        for v in self._order:
            values[v] = self._drawn(v, values, n, rng)
        return self._table(values, n)

    def _table(self, values: Mapping[int, Any], n: int) -> Any:
        has_states = [i for i, own in enumerate(self.variables) if own.states is not None]
        others = [i for i, own in enumerate(self.variables) if own.states is None]
        labels = None
        if has_states:
            names = tuple(self.names[i] for i in has_states)
            states = tuple(tuple(self.variables[i].states or ()) for i in has_states)
            labels = Dataset(np.stack([values[i] for i in has_states]).astype(np.uint16), names, states)
        if not others:
            return labels
        measured = Measurements(np.stack([values[i] for i in others]), tuple(self.names[i] for i in others))
        ranked = [own.name for own in self.variables if own.quantiles is not None]
        kinds: list[Any] = [
            "continuous" if own.states is None else "ordered" if own.ordered else "discrete"
            for own in self.variables
        ]
        return Mixed.of(self.names, kinds, labels, measured, ranked)

    def log_prob(self, X: Any) -> Floats:
        """Log density of each row of X: probabilities of states, densities of measurements.

        The density of a measurement with quantiles is that of its normal score.
        """
        columns = aligned(X, columns_of_any(X), self.names)
        values: dict[int, Any] = {}
        for i, (own, column) in enumerate(zip(self.variables, columns, strict=True)):
            if own.states is None:
                found = numbers(read(column))
                if found is None or np.isnan(found).any():
                    raise DataError(
                        f"column {shown(own.name)} must hold numbers without missing values: correct it"
                    )
                values[i] = found
            else:
                like = SimpleNamespace(names=(own.name,), states=(own.states,))
                values[i] = Dataset.conforming({own.name: column}, like).codes[0]
        n = len(values[0])
        return np.asarray(np.sum([self._log_of(v, values, n) for v in range(len(self.variables))], axis=0))

    def marginal(
        self,
        variable: str,
        *,
        do: Mapping[str, Any] | None = None,
        given: Mapping[str, Any] | None = None,
        n: int = 20_000,
        random_state: RandomState = 0,
    ) -> States | Amount:
        """The distribution of a variable after an intervention and given observations, from n weighted rows."""
        check_count("n", n, 2)
        target = self._at(variable)
        fixed, seen = self._settings("do", do or {}), self._settings("given", given or {})
        rng, values, logs = generator(random_state), {}, np.zeros(n)
        for v in self._order:
            if v in fixed or v in seen:
                values[v] = np.repeat(np.asarray(fixed[v] if v in fixed else seen[v]), n)
                if v not in fixed:
                    logs += self._log_of(v, values, n)
            else:
                values[v] = self._drawn(v, values, n, rng)
        if not np.isfinite(logs.max()):
            raise ValueError(f"given={dict(given or {})!r} has probability 0: leave some of it out")
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        own = self.variables[target]
        if own.states is not None:
            p = np.bincount(values[target], weights, minlength=len(own.states)).astype(np.float64)
            hits = values[target][None] == np.arange(len(own.states))[:, None]
            error = np.sqrt((weights**2 * (hits - p[:, None]) ** 2).sum(axis=1))
            return States(own.states, p, error)
        mean = float(weights @ values[target])
        variance = float(weights @ (values[target] - mean) ** 2)
        order = np.argsort(values[target])
        at = np.searchsorted(np.cumsum(weights[order]), (0.025, 0.25, 0.5, 0.75, 0.975))
        quantiles = values[target][order][np.minimum(at, n - 1)]
        error = math.sqrt(float((weights**2 * (values[target] - mean) ** 2).sum()))
        return Amount(mean, math.sqrt(max(variance, 0.0)), tuple(map(float, quantiles)), error)

    def _at(self, name: str) -> int:
        if name not in self.names:
            hint = near(str(name), self.names)
            raise ValueError(f"there is no variable {name!r}{hint}: choose among {reprlib.repr(list(self.names))}")
        return self.names.index(name)

    def _settings(self, what: str, setting: Mapping[str, Any]) -> dict[int, Any]:
        if not isinstance(setting, Mapping):
            raise ValueError(f"{what} is {setting!r}: give a dict of variable → value")
        found: dict[int, Any] = {}
        for name, value in setting.items():
            own = self.variables[i := self._at(name)]
            if own.states is not None:
                found[i] = place_of(own.states, value, f"{name!r} has no state")
                continue
            try:
                found[i] = float(value)
            except (TypeError, ValueError):
                raise ValueError(f"{what}: {name!r} is set to {value!r}, give a number") from None
        return found

    # --- files ---

    def to_dict(self) -> dict[str, Any]:
        """The network as plain JSON types, parents and states by name."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "name": self.name,
            "variables": [self._plain(own) for own in self.variables],
        }

    def _plain(self, own: Variable) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": own.name,
            "parents": [self.names[p] for p in own.parents],
            "model": own.model,
        }
        if own.states is not None:
            found |= {"states": [encoded(label) for label in own.states], "ordered": own.ordered}
        if own.quantiles is not None:
            found["quantiles"] = own.quantiles.tolist()
        if own.model == "table":
            assert own.table is not None
            return found | {"table": own.table.tolist()}
        assert own.intercept is not None
        found |= {"intercept": own.intercept.tolist(), "effects": [effect.tolist() for effect in own.effects]}
        return found | ({"variance": own.variance} if own.model == "linear" else {})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The network that `to_dict` describes."""
        if not isinstance(content, Mapping) or content.get("format") != _FORMAT:
            raise ValueError(f"not a {_FORMAT} document: write it with MixedNetwork.to_json")
        if content.get("version") != _VERSION:
            version = shown(content.get("version"))
            raise ValueError(f"{_FORMAT} version {version}, this brai reads {_VERSION}: install a newer brai")
        try:
            listed = list(content["variables"])
            index = {str(own["name"]): i for i, own in enumerate(listed)}
            return cls(tuple(_variable(own, index) for own in listed), str(content.get("name", "")))
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


def _variable(own: Mapping[str, Any], index: Mapping[str, int]) -> Variable:
    states = tuple(decoded(label) for label in own["states"]) if "states" in own else None
    table = np.array(own["table"], np.float64) if "table" in own else None
    return Variable(
        str(own["name"]),
        states,
        bool(own.get("ordered", False)),
        np.array(own["quantiles"], np.float64) if "quantiles" in own else None,
        tuple(index[name] for name in own["parents"]),
        str(own["model"]),
        np.array(own["intercept"], np.float64) if table is None else None,
        tuple(np.array(effect, np.float64) for effect in own.get("effects", ())),
        float(own.get("variance", 0.0)),
        table,
    )
