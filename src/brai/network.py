"""A Bayesian network: a DAG over discrete variables and the distribution of each one given its parents.

>>> from brai.network import load_network
>>> asia = load_network("asia")
>>> data = asia.sample(1000, random_state=0)

Five small networks from the literature come with the package, in a JSON format of our own
(`Network.to_dict`); larger ones are read from BIF files, for instance those of an installed pgmpy.
"""

import graphlib
import importlib.resources
import importlib.util
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from brai._bif import BifError, normalised, parse_bif, read_text
from brai.data import Dataset
from brai.graphs import PDAG

__all__ = ["SHIPPED", "BifError", "Network", "RandomState", "load_network"]

SHIPPED = ("asia", "cancer", "earthquake", "sachs", "survey")
RandomState = int | np.random.SeedSequence | np.random.Generator | None
_FORMAT, _VERSION = "brai-network", 1


@dataclass(frozen=True, eq=False)
class Network:
    """A DAG with its parameters.

    `parents[i]` holds the indices of the parents of variable i. `cpts[i]` has a row for each configuration of
    these parents and a column for each state of i; rows sum to 1. Configurations are numbered in mixed radix,
    the first parent slowest: row = (code of parent 1) · r₂ + (code of parent 2) for two parents.
    The arrays are read-only. `name` and `citation` say where the network comes from, if that is known.
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    cpts: tuple[NDArray[np.float64], ...]
    name: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        d = len(self.names)
        if not d == len(self.states) == len(self.parents) == len(self.cpts):
            lengths = [len(part) for part in (self.names, self.states, self.parents, self.cpts)]
            raise ValueError(f"names, states, parents and cpts have unequal lengths {lengths}")
        if len(set(self.names)) != d:
            raise ValueError("variable names are not unique")
        for i, name in enumerate(self.names):
            own, states = self.parents[i], self.states[i]
            if not states or len(set(states)) != len(states):
                raise ValueError(f"states of {name!r} must be one or more distinct labels, got {states}")
            if len(set(own)) != len(own) or not all(0 <= p < d for p in own):
                raise ValueError(f"parents of {name!r} must be distinct indices below {d}, got {own}")
        object.__setattr__(self, "cpts", tuple(self._checked_cpt(i) for i in range(d)))
        self._order()

    def _checked_cpt(self, i: int) -> NDArray[np.float64]:
        cpt = np.array(self.cpts[i], dtype=np.float64, order="C")
        shape = (math.prod(len(self.states[p]) for p in self.parents[i]), len(self.states[i]))
        if cpt.shape != shape:
            raise ValueError(f"CPT of {self.names[i]!r} has shape {cpt.shape}, its family needs {shape}")
        if not ((cpt >= 0).all() and np.allclose(cpt.sum(axis=1), 1.0, rtol=0, atol=1e-9)):
            raise ValueError(f"CPT of {self.names[i]!r} has a row that is not a distribution (sum 1, none < 0)")
        cpt.flags.writeable = False
        return cpt

    def _order(self) -> tuple[int, ...]:
        """Variables in an order in which parents come before their children."""
        try:
            return tuple(graphlib.TopologicalSorter(dict(enumerate(self.parents))).static_order())
        except graphlib.CycleError as error:
            cycle = " → ".join(self.names[i] for i in error.args[1])
            raise ValueError(f"the network has a directed cycle: {cycle}") from None

    @property
    def pdag(self) -> PDAG:
        """The DAG."""
        return PDAG.from_parents(self.names, self.parents)

    def sample(self, n: int, random_state: RandomState = None) -> Dataset:
        """Draw `n` independent rows by forward sampling; states that were not drawn stay declared.

        A `Generator` is advanced; an int or a `SeedSequence` gives the same rows each time.
        """
        if n < 1:
            raise ValueError(f"n is the number of rows and must be 1 or more, got {n}")
        rng = np.random.default_rng(random_state)
        largest = max((len(states) for states in self.states), default=1) - 1
        codes = np.zeros((len(self.names), n), dtype=np.min_scalar_type(largest))
        for i in self._order():
            row = np.zeros(n, dtype=np.intp)
            for p in self.parents[i]:
                row *= len(self.states[p])
                row += codes[p]
            below = np.cumsum(self.cpts[i], axis=1)
            below /= below[:, -1:]  # exactly 1 from the last possible state on, so none beyond is drawn
            u = rng.random(n)
            for threshold in np.ascontiguousarray(below.T[:-1]):
                codes[i] += u >= threshold[row]
        arities = tuple(len(states) for states in self.states)
        return Dataset.from_codes(codes.T, arities=arities, names=self.names, states=self.states)

    @classmethod
    def read_bif(cls, path: str | os.PathLike[str]) -> Self:
        """Read a .bif or .bif.gz file; rows of the tables are normalised. Raises `BifError` with the line."""
        content = parse_bif(read_text(Path(path)), str(path))
        try:
            return cls(content.names, content.states, content.parents, content.cpts, name=content.name)
        except ValueError as error:
            raise BifError(f"{path}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """The network as plain JSON types; CPT rows in the order of `cpts`, parents by name."""
        variables = [
            {
                "name": name,
                "states": list(self.states[i]),
                "parents": [self.names[p] for p in self.parents[i]],
                "cpt": self.cpts[i].tolist(),
            }
            for i, name in enumerate(self.names)
        ]
        head = {"format": _FORMAT, "version": _VERSION, "name": self.name, "citation": self.citation}
        return {**head, "variables": variables}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The network that `to_dict` describes; CPT rows may be rounded and are normalised."""
        if content.get("format") != _FORMAT:
            raise ValueError(f"not a {_FORMAT} document: its format is {content.get('format')!r}")
        if content.get("version") != _VERSION:
            found = content.get("version")
            raise ValueError(f"{_FORMAT} version {found!r}, this brai reads {_VERSION}: install a newer brai")
        variables = content["variables"]
        index = {v["name"]: i for i, v in enumerate(variables)}
        parents, cpts = [], []
        for v in variables:
            if unknown := [p for p in v["parents"] if p not in index]:
                raise ValueError(f"parent {unknown[0]!r} of {v['name']!r} is not a variable of the network")
            parents.append(tuple(index[p] for p in v["parents"]))
            try:
                cpts.append(normalised(np.array(v["cpt"], dtype=np.float64, ndmin=2)))
            except ValueError as error:
                raise ValueError(f"CPT of {v['name']!r}: {error}") from None
        return cls(
            names=tuple(v["name"] for v in variables),
            states=tuple(tuple(v["states"]) for v in variables),
            parents=tuple(parents),
            cpts=tuple(cpts),
            name=content.get("name", ""),
            citation=content.get("citation", ""),
        )

    def to_json(self) -> str:
        """`to_dict` as text, laid out for reading: one line per CPT row."""
        return _layout(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The network of a text that `to_json` wrote."""
        return cls.from_dict(json.loads(text))


def _layout(content: Mapping[str, Any]) -> str:
    def line(key: str, value: object) -> str:
        return f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"

    blocks = []
    for v in content["variables"]:
        lines = [line(key, v[key]) for key in ("name", "states", "parents")]
        rows = ",\n".join(" " * 8 + json.dumps(row) for row in v["cpt"])
        blocks.append(
            "    {\n      " + ",\n      ".join(lines) + ',\n      "cpt": [\n' + rows + "\n      ]\n    }"
        )
    head = [line(key, value) for key, value in content.items() if key != "variables"]
    return "{\n  " + ",\n  ".join(head) + ',\n  "variables": [\n' + ",\n".join(blocks) + "\n  ]\n}\n"


def load_network(name_or_path: str | os.PathLike[str]) -> Network:
    """The network of this name or path.

    A name is one of `SHIPPED`, or of a network in an installed pgmpy (which is not imported); capitals do not
    matter. A path leads to a .bif, .bif.gz or .json file.
    """
    text = os.fspath(name_or_path)
    name = text.lower()
    if isinstance(name_or_path, str) and name in SHIPPED:
        shipped = importlib.resources.files("brai").joinpath("networks", f"{name}.json")
        return Network.from_json(shipped.read_text(encoding="utf-8"))
    path = Path(text)
    if path.suffix == ".json" and path.is_file():
        return Network.from_json(path.read_text(encoding="utf-8"))
    if path.is_file():
        return Network.read_bif(path)
    spec = importlib.util.find_spec("pgmpy") if path.name == text else None
    for package in (spec.submodule_search_locations if spec else None) or ():
        bif = Path(package, "utils", "example_models", f"{name}.bif.gz")
        if bif.is_file():
            return Network.read_bif(bif)
    raise ValueError(
        f"no network {text!r}: it is neither a file nor one of {', '.join(SHIPPED)}. Give the path of a .bif "
        "or .bif.gz file, or `pip install pgmpy`, which brings alarm, child, link, munin and others by name"
    )
