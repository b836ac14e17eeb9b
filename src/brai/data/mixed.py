"""A table of categories, ordered states and measurements together.

>>> from brai import Dataset
>>> Dataset.of({"sex": ["f", "m", "f", "m"], "weight": [61.5, 80.2, 58.0, 77.1]})
Mixed(4 rows, 2 variables: 1 category, 1 measurement)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.data.coding import Coding, Contrasts, Scale
from brai.data.columns import DataError, count, shown
from brai.data.measurements import Floats, Measurements
from brai.runtime.checks import near

ColumnKind: TypeAlias = Literal["discrete", "ordered", "continuous"]
_WORDS = {"discrete": ("category", "categories"), "ordered": ("ordered", "ordered")}
_WORDS["continuous"] = ("measurement", "measurements")


@dataclass(frozen=True, eq=False, repr=False)
class Mixed:
    """An immutable table of columns of several kinds; `Dataset.of` returns one where these occur together.

    ``labels`` holds the columns that have states (discrete and ordered), ``numbers`` the continuous ones in the
    units of the data, both in the order of ``names``. At least one column is continuous.
    """

    kind: ClassVar[str] = "mixed"  # see brai.kinds

    names: tuple[str, ...]
    kinds: tuple[ColumnKind, ...]
    labels: Any  # a Dataset, or None
    numbers: Measurements
    ranked: frozenset[str]  # measurements that are taken as normal scores
    coding: Coding

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        kinds: Sequence[ColumnKind],
        labels: Any,
        numbers: Measurements,
        ranked: Iterable[str] = (),
    ) -> Mixed:
        """The table, with a coding made from its rows."""
        has_states = {name for name, kind in zip(names, kinds, strict=True) if kind != "continuous"}
        if has_states != set(labels.names if labels else ()) or set(numbers.names) != set(names) - has_states:
            raise DataError(
                "kinds do not fit the columns: give labels of discrete and ordered columns, numbers else"
            )
        if labels is not None and labels.n_rows != numbers.n_rows:
            raise DataError(
                f"labels have {labels.n_rows} rows, numbers {numbers.n_rows}: give columns of equal length"
            )
        own = cls(tuple(names), tuple(kinds), labels, numbers, frozenset(ranked), Coding(()))
        object.__setattr__(own, "coding", own._coded())
        return own

    def _coded(self) -> Coding:
        blocks: list[Scale | Contrasts] = []
        for name, kind in zip(self.names, self.kinds, strict=True):
            if kind == "continuous":
                i = self.numbers.names.index(name)
                centre, spread = float(self.numbers.centre[i]), float(self.numbers.spread[i])
                blocks.append(Scale.of(self.numbers.values[i], centre, spread, ranked=name in self.ranked))
            else:
                i = self.labels.names.index(name)
                counts = np.bincount(self.labels.codes[i], minlength=len(self.labels.states[i]))
                blocks.append(Contrasts.of_category(counts) if kind == "discrete" else Contrasts.of_order(counts))
        return Coding(tuple(blocks))

    @cached_property
    def design(self) -> Floats:
        """All variables as numbers, (columns, rows); see `brai.data.coding`."""
        found = [block.column(own) for block, own in zip(self.coding.blocks, self.columns(), strict=True)]
        out = np.ascontiguousarray(np.concatenate(found))
        out.setflags(write=False)
        return out

    def columns(self) -> list[NDArray[Any]]:
        """The codes or the values of each variable."""
        states = {} if self.labels is None else dict(zip(self.labels.names, self.labels.codes, strict=True))
        values = dict(zip(self.numbers.names, self.numbers.values, strict=True))
        return [values[name] if name in values else states[name] for name in self.names]

    def states_of(self, v: int) -> tuple[Any, ...] | None:
        """The states of a variable; None for a measurement."""
        if self.kinds[v] == "continuous":
            return None
        states: tuple[Any, ...] = self.labels.states[self.labels.names.index(self.names[v])]
        return states

    @cached_property
    def among_categories(self) -> NDArray[np.int64]:
        """For each variable its place among the discrete ones, or -1."""
        discrete = np.array([kind == "discrete" for kind in self.kinds])
        return np.where(discrete, np.cumsum(discrete) - 1, -1)

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self.numbers.n_rows

    def replaced(self, columns: Mapping[int, NDArray[Any]]) -> Mixed:
        """The same table with other codes or values for some variables, and the same coding."""
        states, values = {}, {}
        for v, own in columns.items():
            name = self.names[v]
            if self.kinds[v] == "continuous":
                values[self.numbers.names.index(name)] = own
            else:
                states[self.labels.names.index(name)] = own
        labels = self.labels.replaced(states) if states else self.labels
        numbers = self.numbers.replaced(values) if values else self.numbers
        return Mixed(self.names, self.kinds, labels, numbers, self.ranked, self.coding)

    def rows(self, which: NDArray[np.int64]) -> Mixed:
        """The table of these rows, with the same coding."""
        labels = None if self.labels is None else self.labels.rows(which)
        return Mixed(self.names, self.kinds, labels, self.numbers.rows(which), self.ranked, self.coding)

    def select(self, columns: Iterable[str]) -> Any:
        """The table of these columns (names), in this order.

        Without measurements it is still a table of this kind, so that graphs over parts of it can be scored.
        """
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        place = {name: i for i, name in enumerate(self.names)}
        for name in wanted:
            if name not in place:
                hint = near(str(name), self.names)
                raise DataError(f"there is no column {shown(name)}{hint}: choose among {shown(list(self.names))}")
        at = [place[name] for name in wanted]
        kinds = tuple(self.kinds[i] for i in at)
        states = [name for name, kind in zip(wanted, kinds, strict=True) if kind != "continuous"]
        values = [name for name, kind in zip(wanted, kinds, strict=True) if kind == "continuous"]
        labels = self.labels.select(states) if states else None
        numbers = self.numbers.select(values)
        return Mixed(wanted, kinds, labels, numbers, self.ranked & set(values), self.coding.select(at))

    def signature(self) -> str:
        """A digest of names, kinds and values, which tells tables apart."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.names, self.kinds, sorted(self.ranked))).encode())
        digest.update(("" if self.labels is None else self.labels.signature()).encode())
        digest.update(self.numbers.signature().encode())
        return digest.hexdigest()

    def to_dict(self) -> dict[str, list[Any]]:
        """Labels and numbers of each column, for instance for pandas.DataFrame(data.to_dict())."""
        known = {} if self.labels is None else self.labels.to_dict()
        known |= self.numbers.to_dict()
        return {name: known[name] for name in self.names}

    def __sizeof__(self) -> int:
        return int(self.numbers.values.nbytes + (0 if self.labels is None else self.labels.codes.nbytes))

    def __repr__(self) -> str:
        numbers = [
            f"{n} {_WORDS[kind][n > 1]}" for kind in _WORDS if (n := sum(own == kind for own in self.kinds))
        ]
        rows, variables = count(self.n_rows, "row"), count(self.n_variables, "variable")
        return f"Mixed({rows}, {variables}: {', '.join(numbers)})"
