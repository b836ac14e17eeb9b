"""Where to cut one column of numbers; `brai.data.merging` looks at several columns together.

A partition is the tuple of places at which the sorted distinct values of a column are cut: place i is between
value i - 1 and value i. Equal values are never separated, so there may be fewer bins than asked for.

**Quantiles**: equal numbers of rows, as nearly as ties allow. **Width**: bins of equal width; cuts with no value
between them are one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]
Partition: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Values:
    """A column of numbers: its distinct values, ascending, and the place of the value of each row (-1: none)."""

    distinct: Floats
    place: Codes

    @classmethod
    def of(cls, column: Floats) -> Values:
        """A column of finite numbers; NaN where a value is missing."""
        known = ~np.isnan(column)
        distinct, inverse = np.unique(column[known] + 0.0, return_inverse=True)  # -0.0 is 0.0
        place = np.full(len(column), -1, np.int64)
        place[known] = inverse
        return cls(distinct, place)

    def counts(self, rows: Codes | None = None) -> Codes:
        """The number of rows with each distinct value."""
        place = self.place if rows is None else self.place[rows]
        return np.bincount(place[place >= 0], minlength=len(self.distinct))

    def codes(self, partition: Partition, rows: Codes | None = None) -> Codes:
        """The bin of each row; -1 where it is missing."""
        place = self.place if rows is None else self.place[rows]
        return np.where(place < 0, -1, np.searchsorted(partition, place, side="right"))


def quantiles(counts: Codes, k: int) -> Partition:
    """Cuts into k bins of equal numbers of rows: at the place nearest to each quantile, the lower one of two."""
    below = np.cumsum(counts)[:-1]  # rows below place 1, 2, …
    if not len(below):
        return ()
    wanted = counts.sum() * np.arange(1, k) / k
    right = np.clip(np.searchsorted(below, wanted), 0, len(below) - 1)
    left = np.searchsorted(below, below[np.maximum(right - 1, 0)])  # the first place with as many rows below
    nearest = np.where(np.abs(below[left] - wanted) <= np.abs(below[right] - wanted), left, right)
    inside = nearest[(below[nearest] > 0) & (below[nearest] < counts.sum())]
    return tuple(np.unique(inside + 1).tolist())


def widths(distinct: Floats, k: int) -> tuple[Partition, list[float]]:
    """Cuts into k bins of equal width, those that separate no values left out; and the numbers there."""
    if len(distinct) < 2:
        return (), []
    share = np.arange(1, k) / k
    ends = distinct[0] * (1 - share) + distinct[-1] * share  # the range itself may overflow
    places, first = np.unique(np.searchsorted(distinct, ends), return_index=True)
    inside = (places > 0) & (places < len(distinct))
    return tuple(places[inside].tolist()), ends[first[inside]].tolist()


def between(low: float, high: float, near: float | None = None) -> float:
    """The shortest decimal number above ``low``, up to ``high``; near a number, by default the middle.

    Cutting there instead of elsewhere between two values separates the same rows.
    """
    middle = low / 2 + high / 2 if near is None else min(max(near, low), high)
    apart = high / 2 - low / 2
    if not math.isfinite(apart) or apart <= 0:
        return high
    first = math.ceil(math.log10(apart)) + 1
    for digits in range(min(first, 308), max(first - 25, -300), -1):
        ratio = middle / 10.0**digits
        if abs(ratio) > 2**53:
            break
        for whole in sorted({math.floor(ratio), math.ceil(ratio)}, key=lambda own: (abs(own - ratio), own)):
            found = float(f"{whole}e{digits}")
            if low < found <= high and abs(found - middle) <= apart:
                return found
    return high
