"""A table with missing cells: a completed table, which of its cells were missing, and drawn completions.

`Dataset.of(X, missing="impute")` returns one where cells are missing. At first a missing cell holds a random value
of its column, so that states, scales and kinds are those of the values that are there. Learners replace it by
draws from the joint posterior of graph, parameters and missing cells (`brai.posterior.augmentation`).

>>> from brai import Dataset
>>> Dataset.of({"rain": ["no", None, "yes", "no"], "wet": ["no", "no", "yes", None]})
Incomplete(4 rows, 2 variables, 2 of 8 cells missing)
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import DataError, Factor, count, shown
from brai.data.measurements import Floats
from brai.data.missing import missing_rows

Cells: TypeAlias = tuple[NDArray[Any], ...]  # for each variable the values of its missing cells, by row
NAMED = 10  # columns that a message names
PREFIX = "incomplete-"  # of the names of kinds


@dataclass(frozen=True, eq=False, repr=False)
class Incomplete:
    """An immutable table with missing cells."""

    table: Any  # a Dataset, Measurements or Mixed; missing cells hold random values of their columns
    missing: NDArray[np.bool_]  # (variables, rows)
    draws: tuple[Cells, ...] = ()  # completions; none before a learner has made them

    def __post_init__(self) -> None:
        expected = (self.table.n_variables, self.table.n_rows)
        if self.missing.shape != expected:
            raise DataError(f"missing has the shape {self.missing.shape}: give {expected}")
        self.missing.setflags(write=False)

    @property
    def kind(self) -> str:
        """The name of the kind, see `brai.kinds`."""
        return PREFIX + str(self.table.kind)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(self.table.names)

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""
        return int(self.table.n_variables)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return int(self.table.n_rows)

    @cached_property
    def holes(self) -> tuple[NDArray[np.int64], ...]:
        """For each variable the rows in which it is missing."""
        return tuple(np.flatnonzero(own) for own in self.missing)

    @cached_property
    def tables(self) -> tuple[Any, ...]:
        """The completed tables; only the first, with random values, before a learner has made them."""
        return tuple(self.completed(cells) for cells in self.draws) or (self.table,)

    def completed(self, cells: Cells) -> Any:
        """The table with these values in its missing cells."""
        columns = {}
        for v, (rows, own) in enumerate(zip(self.holes, cells, strict=True)):
            if len(rows):
                column = np.array(self.table.columns()[v])
                column[rows] = own
                columns[v] = column
        return self.table.replaced(columns)

    def cells(self, table: Any) -> Cells:
        """The values of a completed table in the missing cells."""
        return tuple(own[rows] for own, rows in zip(table.columns(), self.holes, strict=True))

    def with_draws(self, draws: Sequence[Cells]) -> Incomplete:
        """The same table with completions."""
        return Incomplete(self.table, self.missing, tuple(draws))

    def select(self, columns: Iterable[str]) -> Incomplete:
        """The table of these columns (names), in this order."""
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        table = self.table.select(wanted)
        place = {name: i for i, name in enumerate(self.names)}
        at = [place[name] for name in wanted]
        draws = tuple(tuple(cells[i] for i in at) for cells in self.draws)
        return Incomplete(table, self.missing[at], draws)

    def rows(self, which: NDArray[np.int64]) -> Incomplete:
        """The table of these rows, with their completions."""
        missing = self.missing[:, which]
        own = Incomplete(self.table.rows(which), missing)
        if not self.draws:
            return own
        return own.with_draws([own.cells(table.rows(which)) for table in self.tables])

    def signature(self) -> str:
        """A digest of the values that are there, and of which are missing."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(self.table.signature().encode())
        digest.update(np.packbits(self.missing).data)
        return digest.hexdigest()

    def to_dict(self) -> dict[str, list[Any]]:
        """The values of each column, None where one is missing."""
        whole = self.table.to_dict()
        return {
            name: [None if gone else value for value, gone in zip(whole[name], own.tolist(), strict=True)]
            for name, own in zip(self.names, self.missing, strict=True)
        }

    def __sizeof__(self) -> int:
        return int(self.table.__sizeof__() + self.missing.nbytes)

    def __repr__(self) -> str:
        size = f"{count(self.n_rows, 'row')}, {count(self.n_variables, 'variable')}"
        return f"Incomplete({size}, {int(self.missing.sum())} of {self.missing.size} cells missing)"


class Filled(NamedTuple):
    """Columns without missing values, and where these were."""

    names: list[str]
    factors: dict[int, Factor]  # columns that are not numbers, by place among ``names``
    values: dict[int, Floats]
    missing: NDArray[np.bool_]  # (columns, rows)
    kept: list[int]  # places of the columns before empty ones were left out


def filled(names: Sequence[str], factors: dict[int, Factor], values: dict[int, Floats]) -> Filled | None:
    """Put a random value of its column into each missing cell; None if no cell is missing.

    Columns without any value are left out, with a warning. Rows without any value stay, so that rows keep their
    numbers; they say nothing. The random values depend on the name and the values of the column only, so the order
    of columns does not matter.
    """
    gone = {i: np.isnan(own) for i, own in values.items()} | {i: missing_rows(own) for i, own in factors.items()}
    if not any(own.any() for own in gone.values()):
        return None
    kept = [i for i in range(len(names)) if not gone[i].all()]
    if not kept:
        raise DataError("all cells are missing: give a table with values")
    if len(kept) < len(names):
        out = [shown(names[i]) for i in range(len(names)) if i not in kept]
        more = f" and {len(out) - NAMED} more" if len(out) > NAMED else ""
        warnings.warn(
            f"{', '.join(out[:NAMED])}{more} hold{'s' if len(out) == 1 else ''} no value: left out", stacklevel=5
        )
    missing = np.stack([gone[i] for i in kept])
    whole, numbers = {}, {}
    for at, i in enumerate(kept):
        if i in values:
            numbers[at] = _drawn(names[i], values[i], missing[at])
        else:
            whole[at] = replace(factors[i], inverse=_drawn(names[i], factors[i].inverse, missing[at]))
    return Filled([names[i] for i in kept], whole, numbers, missing, kept)


def _drawn(name: str, column: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """The column with random values, of those that are there, in its missing cells."""
    if not missing.any():
        return column
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
    out = column.copy()
    out[missing] = rng.choice(column[~missing], int(missing.sum()))
    return out
