"""Measurements: a table of real numbers. `brai.data.intake` says which columns are continuous.

``transform="normal-scores"`` replaces each column by normal quantiles of its ranks, for columns whose distribution
is far from normal. Equal values have the mean of their ranks. New rows are ranked among the rows of the table.

>>> from brai import Dataset
>>> Dataset.of({"length": [5.1, 4.9, 4.7], "width": [3.5, 3.0, 3.2]})
Measurements(3 rows, 2 variables)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from brai.data.columns import DataError, check_names, count, shown
from brai.runtime.checks import near

Floats: TypeAlias = NDArray[np.float64]
Transform: TypeAlias = Literal["none", "normal-scores"]


@dataclass(frozen=True, eq=False, repr=False)
class Measurements:
    """An immutable table of real numbers; `Dataset.of` returns one for columns of measurements."""

    kind: ClassVar[str] = "gaussian"  # see brai.kinds

    values: Floats  # (variables, rows), C-contiguous, read-only
    names: tuple[str, ...]
    transform: Transform = "none"
    reference: Floats | None = None  # with normal scores: the sorted values before, (variables, rows)

    def __post_init__(self) -> None:
        values = np.array(self.values, np.float64, order="C")
        names = check_names(self.names)
        if values.ndim != 2 or len(values) != len(names):
            raise DataError(f"values have the shape {values.shape}: give a row for each of {len(names)} variables")
        if values.shape[1] == 0:
            raise DataError("the data has no rows: give at least one")
        if not np.isfinite(values).all():
            v, row = map(int, np.argwhere(~np.isfinite(values))[0])
            raise DataError(
                f"column {shown(names[v])} holds {values[v, row]} in row {row + 1}: correct it, or drop that row"
            )
        values.setflags(write=False)
        for field, value in (("values", values), ("names", names)):
            object.__setattr__(self, field, value)

    def transformed(self, values: Floats) -> Measurements:
        """New rows on the scale of this table: as they are, or as normal scores by its ranks."""
        if self.reference is None:
            return Measurements(values, self.names)
        n = self.n_rows
        ranks = [
            (np.searchsorted(known, own, "left") + np.searchsorted(known, own, "right")) / 2
            for known, own in zip(self.reference, values, strict=True)
        ]
        return Measurements(_quantiles(np.clip(np.stack(ranks), 0.5, n - 0.5) / n), self.names, self.transform)

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""
        return len(self.names)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return int(self.values.shape[1])

    @cached_property
    def centre(self) -> Floats:
        """Mean of each variable."""
        return self._standard[0]

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of each variable (with N in the denominator); 1 for a constant one."""
        return self._standard[1]

    @cached_property
    def _standard(self) -> tuple[Floats, Floats]:
        top = np.abs(self.values).max(axis=1)
        unit = np.where(top > 0, top, 1.0)[:, None]  # so that squares neither overflow nor vanish
        scaled = self.values / unit
        mean = scaled.mean(axis=1)
        sd = scaled.std(axis=1)
        sd = np.where(sd > 1e-14, sd, 0.0)
        return mean * unit[:, 0], np.where(sd > 0, sd * unit[:, 0], 1.0)

    @cached_property
    def standardised(self) -> Floats:
        """(values - centre) / spread; 0 for a constant variable."""
        out = self.values / self.spread[:, None] - (self.centre / self.spread)[:, None]
        out[self.constant] = 0.0
        out.setflags(write=False)
        return out

    @cached_property
    def constant(self) -> NDArray[np.bool_]:
        """Which variables have one value only."""
        return np.asarray(self.values.min(axis=1) == self.values.max(axis=1))

    def states_of(self, v: int) -> None:
        """None: measurements have no states."""

    def columns(self) -> Floats:
        """The values of each variable."""
        return self.values

    def replaced(self, columns: Mapping[int, Floats]) -> Measurements:
        """The same table with other values for some variables."""
        values = np.array(self.values)
        for v, own in columns.items():
            values[v] = own
        return unchecked(values, self.names, self.transform, self.reference)

    def rows(self, which: NDArray[np.int64]) -> Measurements:
        """The table of these rows."""
        return unchecked(np.ascontiguousarray(self.values[:, which]), self.names, self.transform, self.reference)

    def select(self, columns: Iterable[str]) -> Measurements:
        """The table of these columns (names), in this order."""
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        place = {name: i for i, name in enumerate(self.names)}
        for name in wanted:
            if name not in place:
                hint = near(str(name), self.names)
                raise DataError(f"there is no column {shown(name)}{hint}: choose among {shown(list(self.names))}")
        at = [place[name] for name in wanted]
        known = None if self.reference is None else self.reference[at]
        return unchecked(self.values[at], wanted, self.transform, known)

    def signature(self) -> str:
        """A digest of names and values, which tells tables apart."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.names, self.values.shape, self.transform)).encode())
        digest.update(np.ascontiguousarray(self.values).data)
        return digest.hexdigest()

    def to_dict(self) -> dict[str, list[float]]:
        """The values of each column, for instance for pandas.DataFrame(data.to_dict())."""
        return {name: own.tolist() for name, own in zip(self.names, self.values, strict=True)}

    def __sizeof__(self) -> int:
        return int(self.values.nbytes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Bypass the constructor: it would copy values that a worker has memory-mapped."""
        return unchecked, (self.values, self.names, self.transform, self.reference)

    def __repr__(self) -> str:
        return f"Measurements({count(self.n_rows, 'row')}, {count(self.n_variables, 'variable')})"


def unchecked(
    values: Floats, names: tuple[str, ...], transform: Transform = "none", reference: Floats | None = None
) -> Measurements:
    """Data that were checked before, such as a copy in another process."""
    data, values = object.__new__(Measurements), np.asarray(values)
    values.setflags(write=False)
    fields = {"values": values, "names": names, "transform": transform, "reference": reference}
    for field, value in fields.items():
        object.__setattr__(data, field, value)
    return data


def _quantiles(shares: Floats) -> Floats:
    """Quantiles of the standard normal distribution."""
    return np.asarray(ndtri(shares), np.float64)


def rankdata(values: Floats) -> Floats:
    """Ranks from 1 on; equal values have the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], np.float64)


def scored(values: Floats, names: tuple[str, ...]) -> Measurements:
    """The table of normal scores: normal quantiles of (rank - ½) / N."""
    ranks = np.stack([rankdata(own) for own in values])
    scores = _quantiles((ranks - 0.5) / values.shape[1])
    return Measurements(scores, names, "normal-scores", np.sort(values, axis=1))
