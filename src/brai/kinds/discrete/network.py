"""A Bayesian network: a DAG over discrete variables and the distribution of each one given its parents.

>>> from brai.kinds.discrete.network import load_network
>>> asia = load_network("asia")
>>> data = asia.sample(1000, random_state=0)

The package contains six networks from the literature, in its own JSON format (`Network.to_dict`). Others are read
from BIF files, for instance those of an installed pgmpy. `Network.fit` estimates the parameters of a DAG from
data. `Network.marginal` computes exact distributions of variables, also under interventions.

>>> asia.marginal("lung", do={"smoke": "yes"}).tolist()
[0.1, 0.9]
"""

import graphlib
import importlib.resources
import importlib.util
import itertools
import json
import math
import os
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import is_hashable, shown
from brai.data.dataset import Dataset
from brai.data.states import as_label, check_labels
from brai.graphs.pdag import PDAG
from brai.kinds.discrete import bif
from brai.kinds.discrete.any_ess import averaged_means
from brai.kinds.discrete.bif import BifContent, BifError, format_bif, normalised, parse_bif, read_text, write_text
from brai.kinds.discrete.inference import joint
from brai.runtime import memory
from brai.runtime.checks import near
from brai.runtime.seeds import RandomState, generator

__all__ = ["SHIPPED", "BifError", "Network", "load_network"]

SHIPPED = ("alarm", "asia", "cancer", "earthquake", "sachs", "survey")
_FORMAT, _VERSION = "brai-network", 1
_MAX_CELLS = 5 * 10**7  # maximal size of one learned CPT
_LIST: Any = (list, tuple, np.ndarray)  # types accepted for a JSON array


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A DAG with its parameters.

    `parents[i]` contains the indices of the parents of variable i. `cpts[i]` has a row for each configuration of
    these parents and a column for each state of i; rows sum to 1. `states[i]` contains the labels of these states:
    text, numbers or bools. Configurations are numbered in mixed radix, the first parent varying slowest:
    row = (code of parent 1) · r₂ + (code of parent 2) for two parents.
    The arrays are read-only. `name` and `citation` state the source of the network, if known.
    """

    names: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]
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
            twice = Counter(self.names).most_common(1)[0][0]
            raise ValueError(f"variable names are not unique: {shown(twice)} is given twice, rename one")
        for i, name in enumerate(self.names):
            own, states = self.parents[i], self.states[i]
            if not states or len(set(states)) != len(states):
                raise ValueError(f"states of {name!r} must be one or more distinct labels, got {shown(states)}")
            if len(set(own)) != len(own) or not all(0 <= p < d for p in own):
                raise ValueError(f"parents of {name!r} must be distinct indices below {d}, got {shown(own)}")
        labels = tuple(check_labels(name, own) for name, own in zip(self.names, self.states, strict=True))
        object.__setattr__(self, "states", labels)
        object.__setattr__(self, "cpts", tuple(self._checked_cpt(i) for i in range(d)))
        self._order()

    def _checked_cpt(self, i: int) -> NDArray[np.float64]:
        cpt = np.asarray(self.cpts[i], dtype=np.float64)
        q, r = bif.size_of([len(self.states[p]) for p in self.parents[i]]), len(self.states[i])
        if cpt.shape != (q, r):
            need = f"({bif.spelled(q)}, {r})"
            raise ValueError(f"CPT of {self.names[i]!r} has shape {cpt.shape}, its family needs {need}")
        if not ((cpt >= 0).all() and np.allclose(cpt.sum(axis=1), 1.0, rtol=0, atol=1e-9)):
            raise ValueError(f"CPT of {self.names[i]!r} has a row that is not a distribution (sum 1, none < 0)")
        own = np.array(normalised(cpt), order="C")  # a copy; normalising is idempotent
        own.flags.writeable = False
        return own

    def _order(self) -> tuple[int, ...]:
        """The variables in topological order."""
        try:
            return tuple(graphlib.TopologicalSorter(dict(enumerate(self.parents))).static_order())
        except graphlib.CycleError as error:
            cycle = " → ".join(self.names[i] for i in error.args[1])
            raise ValueError(f"the network has a directed cycle: {cycle}") from None

    def __repr__(self) -> str:
        parameters = sum(cpt.shape[0] * (cpt.shape[1] - 1) for cpt in self.cpts)
        edges = sum(map(len, self.parents))
        name = f"{self.name!r}, " if self.name else ""
        return f"Network({name}{len(self.names)} variables, {edges} edges, {parameters} free parameters)"

    @property
    def pdag(self) -> PDAG:
        """The DAG."""
        return PDAG.from_parents(self.names, self.parents)

    @classmethod
    def fit(cls, dag: PDAG, X: Any, *, ess: float | str = 1.0, name: str = "") -> Self:
        """The network of a DAG with parameters estimated from X (`Dataset.of`), variables ordered as in the DAG.

        Parameters are posterior means under the Dirichlet prior of BDeu with equivalent sample size `ess`:
        θ_ijk = (N_ijk + ess / (q r)) / (N_ij + ess / q), for r states and q configurations of the parents.
        `ess=0` is maximum likelihood; with `ess="table"` they are averaged over ess, for each family by its own
        evidence. A configuration that does not occur has a uniform row, for any `ess`.
        """
        number = isinstance(ess, Real) and not isinstance(ess, bool) and 0 <= ess < math.inf
        if not number and ess != "table":
            raise ValueError(f"ess is {ess!r}: give an equivalent sample size of 0 or more, or 'table'")
        if not dag.is_dag():
            raise ValueError(f"parameters need a DAG, got {dag!r}: take one of its DAGs, such as graph.to_dag()")
        data = Dataset.of(X, missing="error")
        if set(data.names) != set(dag.names):
            both = [dict.fromkeys(dag.names), dict.fromkeys(data.names)]
            lone = [[name for name in own if name not in other] for own, other in (both, both[::-1])]
            raise ValueError(
                f"variables {reprlib.repr(lone[0])} are in the graph only, {reprlib.repr(lone[1])} in the data "
                "only: give data and graph over the same names"
            )
        data = data.select(dag.names)
        parents = tuple(tuple(np.flatnonzero(own).tolist()) for own in dag.adjacency.T)
        cpts = tuple(_posterior_mean(data, i, own, ess) for i, own in enumerate(parents))
        return cls(data.names, data.states, parents, cpts, name=name)

    def log_prob(self, X: Any) -> NDArray[np.float64]:
        """Log probability (in nats) of each row of X, -inf if it is 0; X as for `Dataset.conforming`."""
        data = Dataset.conforming(X, self)
        out = np.zeros(data.n_rows)
        with np.errstate(divide="ignore"):
            for codes, parents, cpt in zip(data.codes, self.parents, self.cpts, strict=True):
                out += np.log(cpt[_configurations(data.codes, parents, self.states), codes])
        return out

    def marginal(
        self,
        variables: str | Sequence[str],
        *,
        do: Mapping[str, Any] | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> NDArray[np.float64]:
        """Exact distribution of one variable, or joint distribution of several: one axis for each, in this order.

        `do={name: label}` is an intervention: it sets the variable to this state, whatever its parents are.
        `given` conditions on observations after the intervention. MemoryError if the network is too dense; the
        algorithm is described in `brai.kinds.discrete.inference`.
        """
        wanted = (variables,) if isinstance(variables, str) else tuple(variables)
        if not wanted or len(set(wanted)) < len(wanted):
            raise ValueError(f"give one or more variables, each once, got {wanted}")
        query = [self._at(name) for name in wanted]
        fixed = {what: self._codes(what, setting or {}) for what, setting in (("do", do), ("given", given))}
        table = joint(self.names, self.parents, self.cpts, query, **fixed)
        total = table.sum()
        if not total > 0:
            under = f" under do={dict(do)!r}" if do else ""
            raise ValueError(f"given={dict(given or {})!r} has probability 0{under}: leave some of it out")
        table /= total
        return table

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def _at(self, name: str) -> int:
        if name not in self._index:
            hint = near(str(name), self.names)
            raise ValueError(f"there is no variable {name!r}{hint}: choose among {reprlib.repr(list(self.names))}")
        return self._index[name]

    def _codes(self, what: str, setting: Mapping[str, Any]) -> dict[int, int]:
        if not isinstance(setting, Mapping):
            raise ValueError(f"{what} is {setting!r}: give a dict of variable → label")
        codes = {}
        for name, given in setting.items():
            states = self.states[i := self._at(name)]
            if (label := as_label(given, states)) not in states:
                known = reprlib.repr(list(states))
                raise ValueError(f"{what}: {name!r} has no state {given!r}, choose among {known}")
            codes[i] = states.index(label)
        return codes

    def sample(self, n: int, random_state: RandomState = None) -> Dataset:
        """Draw `n` independent rows by forward sampling; the result declares all states, also those not drawn.

        A `Generator` is advanced; an int or a `SeedSequence` gives the same rows each time.
        """
        if n < 1:
            raise ValueError(f"n is the number of rows and must be 1 or more, got {n}")
        rng = generator(random_state)
        largest = max((len(states) for states in self.states), default=1) - 1
        kind = np.min_scalar_type(largest)
        memory.check(n * (3 * len(self.names) * kind.itemsize + 32), f"a sample of {n} rows", "draw fewer")
        codes = np.zeros((len(self.names), n), dtype=kind)
        for i in self._order():
            row = _configurations(codes, self.parents[i], self.states)
            below = np.cumsum(self.cpts[i], axis=1)
            below /= below[:, -1:]  # exactly 1 from the last possible state on, so later states are not drawn
            u = rng.random(n)
            for threshold in np.ascontiguousarray(below.T[:-1]):
                codes[i] += u >= threshold[row]
        arities = tuple(len(states) for states in self.states)
        return Dataset.from_codes(codes.T, arities=arities, names=self.names, states=self.states)

    @classmethod
    def read_bif(cls, path: str | os.PathLike[str]) -> Self:
        """Read a .bif or .bif.gz file; rows of the tables are normalised. An invalid file raises `BifError`."""
        content = parse_bif(read_text(Path(path)), str(path))
        try:
            return cls(content.names, content.states, content.parents, content.cpts, name=content.name)
        except ValueError as error:
            raise BifError(f"{path}: {error}") from None

    def to_bif(self) -> str:
        """BIF 0.15 text. Reading it restores the network except the citation and the type of labels (1 is "1")."""
        return format_bif(BifContent(self.name, self.names, self.states, self.parents, self.cpts))

    text = to_bif  # the usual text of a network, see `Kind.network_file`

    def write_bif(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bif` to a file atomically, gzip-compressed if its name ends with .gz."""
        write_text(Path(path), self.to_bif())

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
        found = content if isinstance(content, Mapping) else {}
        if found.get("format") != _FORMAT:
            kind = f"its format is {shown(found['format'])}" if "format" in found else f"it is {shown(content)}"
            raise ValueError(f"not a {_FORMAT} document: {kind}: write it with Network.to_dict or to_json")
        if content.get("version") != _VERSION:
            version = shown(content.get("version"))
            raise ValueError(f"{_FORMAT} version {version}, this brai reads {_VERSION}: install a newer brai")
        variables = _part(content, "variables", _LIST, "the network", "a list of variables")
        names = [_part(v, "name", str, f"variable {i + 1}", "text") for i, v in enumerate(variables)]
        index = {name: i for i, name in enumerate(names)}
        states, parents, cpts = [], [], []
        for name, v in zip(names, variables, strict=True):
            states.append(tuple(_part(v, "states", _LIST, shown(name), "a list of labels")))
            if odd := [label for label in states[-1] if not is_hashable(label)]:
                raise ValueError(f"a state of {shown(name)} is {shown(odd[0])}: give text or numbers as labels")
            own = _part(v, "parents", _LIST, shown(name), "a list of names, [] for none")
            if unknown := [p for p in own if not isinstance(p, str) or p not in index]:
                which = f"parent {shown(unknown[0])} of {shown(name)}"
                raise ValueError(f"{which} is not a variable of the network: correct the name, or add it")
            parents.append(tuple(index[p] for p in own))
            try:
                cpts.append(normalised(_table(_part(v, "cpt", _LIST, "the variable", "a list of rows"))))
            except ValueError as error:
                raise ValueError(f"CPT of {shown(name)}: {error}") from None
        head = [_part({key: "", **content}, key, str, "the network", "text") for key in ("name", "citation")]
        return cls(tuple(names), tuple(states), tuple(parents), tuple(cpts), *head)

    def to_json(self) -> str:
        """`to_dict` as JSON text, with one line for each CPT row."""
        return _layout(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`."""
        return cls.from_dict(parse_json(text, _FORMAT))


def parse_json(text: str, form: str) -> Any:
    """The content of a JSON text. ValueError if it is not JSON; ``form`` is the expected document type."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"cannot be read as JSON: {why}: give a {form} document") from None


def _part(of: Any, key: str, kind: Any, owner: str, cure: str) -> Any:
    """An entry of a document, checked to be of type ``kind``."""
    if not isinstance(of, Mapping):
        raise ValueError(f"{owner} is {shown(of)}: give an object with name, states, parents and cpt")
    if not isinstance(value := of.get(key), kind):
        raise ValueError(f"{key} of {owner} is {shown(value)}: give {cure}")
    return value


def _table(cpt: Any) -> NDArray[np.float64]:
    """A list of rows of numbers, or one row, as an array."""
    rows = cpt if len(cpt) and all(isinstance(row, _LIST) for row in cpt) else [cpt]
    for cell in itertools.chain.from_iterable(rows):  # numpy would convert text to numbers
        if not isinstance(cell, int | float | np.number):
            raise ValueError(f"{shown(cell)} is not a probability: give rows of numbers")
    try:
        return np.array(rows, dtype=np.float64)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{error}: give rows of numbers, of equal length") from None


def _configurations(
    codes: NDArray[Any], parents: Sequence[int], states: Sequence[Sequence[Any]]
) -> NDArray[np.intp]:
    """The row of the CPT, given by the states of the parents, for each row of the data (codes[variable, row])."""
    row = np.zeros(codes.shape[1], dtype=np.intp)
    for p in parents:
        row *= len(states[p])
        row += codes[p]
    return row


def _posterior_mean(data: Dataset, child: int, parents: Sequence[int], ess: float | str) -> NDArray[np.float64]:
    r, q = len(data.states[child]), bif.size_of([len(data.states[p]) for p in parents])
    own, cells = reprlib.repr([data.names[p] for p in parents]), bif.spelled(q * r)
    what, cure = f"the table of {data.names[child]!r} given its parents {own}", "remove parents or merge states"
    if q * r > _MAX_CELLS:
        raise MemoryError(f"{what} would have {cells} cells, more than {_MAX_CELLS:.0e}: {cure}")
    if q * r > bif.SMALL:
        memory.check(bif.PER_CELL * q * r, f"{what} has {cells} cells and", cure)
    cell = _configurations(data.codes, parents, data.states) * r + data.codes[child]
    counts = np.bincount(cell, minlength=q * r).reshape(q, r)
    return averaged_means(counts, ess)


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

    A name is one of `SHIPPED`, or of a network in an installed pgmpy (which is not imported); case is ignored. A
    path is that of a .bif, .bif.gz or .json file.
    """
    text = os.fspath(name_or_path)
    name = text.lower()
    if isinstance(name_or_path, str) and name in SHIPPED:
        shipped = importlib.resources.files("brai").joinpath("networks", f"{name}.json")
        return Network.from_json(shipped.read_text(encoding="utf-8"))
    path = Path(text)
    if path.suffix == ".json" and path.is_file():
        content = read_text(path)
        try:
            return Network.from_json(content)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    if path.is_file():
        return Network.read_bif(path)
    spec = importlib.util.find_spec("pgmpy") if path.name == text else None
    for package in (spec.submodule_search_locations if spec else None) or ():
        bif = Path(package, "utils", "example_models", f"{name}.bif.gz")
        if bif.is_file():
            return Network.read_bif(bif)
    raise ValueError(
        f"no network {text!r}: it is neither a file nor one of {', '.join(SHIPPED)}. Give the path of a .bif "
        "or .bif.gz file, or `pip install pgmpy`, which contains child, link, munin and others"
    )
