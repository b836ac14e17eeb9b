"""Bins as states: their labels, and the bin that contains a number.

A column that is cut at 18 and 35 has the states "< 18", "[18, 35)" and ">= 35": the lower end belongs to the bin,
the upper end does not. The outer bins are open, so every number falls into exactly one bin. A bin is a label like
any other, so tables, files and models need nothing else; the cut points are read from the labels. So a number is
understood wherever a state is: in rows to predict, as evidence, as the change of an effect.

Intervals of `pandas.cut`, such as "(18, 35]", are read as well. Labels count as bins if no two of them overlap;
the state "missing" may be among them.

>>> labels_of([18, 35])
('< 18', '[18, 35)', '>= 35')
>>> bin_of(18, labels_of([18, 35]))
'[18, 35)'
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

ALL = "any number"  # the label of the only bin of a column that is not cut
MISSING = "missing"  # the label of missing values where they are a state

_NUMBER = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf)"
_BETWEEN = re.compile(rf"([\[(])\s*({_NUMBER}),\s*({_NUMBER})\s*([\])])")
_BESIDE = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({_NUMBER})")
_TEXT = re.compile(rf"\s*{_NUMBER}\s*")

End = tuple[float, int]  # a point between numbers: (x, 0) lies just below x, (x, 1) just above it


@dataclass(frozen=True)
class Bins:
    """Bins from low to high: the numbers of a bin lie between its ends."""

    labels: tuple[str, ...]
    lows: tuple[End, ...]
    highs: tuple[End, ...]

    def containing(self, number: float) -> str | None:
        """The label of the bin that contains a number; None if none does."""
        i = bisect_right(self.lows, (number, 0)) - 1
        return self.labels[i] if i >= 0 and (number, 0) < self.highs[i] else None


def number_text(number: float) -> str:
    """A number as labels show it: the shortest text that reads back as the same float."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(float(number))


def labels_of(cuts: Sequence[float]) -> tuple[str, ...]:
    """The labels of the bins between ascending cut points."""
    if not len(cuts):
        return (ALL,)
    texts = [number_text(cut) for cut in cuts]
    between = [f"[{low}, {high})" for low, high in pairwise(texts)]
    return (f"< {texts[0]}", *between, f">= {texts[-1]}")


@lru_cache(maxsize=256)
def bins_of(labels: tuple[Any, ...]) -> Bins | None:
    """The labels as bins; None if one of them is no interval, or if two overlap."""
    found = []
    for label in labels:
        if label == MISSING and len(labels) > 1:
            continue
        ends = _ends(label) if isinstance(label, str) else None
        if ends is None:
            return None
        found.append((*ends, label))
    found.sort()
    if not found or any(one[1] > other[0] for one, other in pairwise(found)):
        return None
    lows, highs, texts = zip(*found, strict=True)
    return Bins(texts, lows, highs)


def bin_of(value: Any, labels: Collection[Any]) -> str | None:
    """The label of the bin that contains a number, or a number written as text; None if there is none."""
    if not isinstance(value, int | float | str) or isinstance(value, bool) or not _is_text(labels):
        return None
    bins = bins_of(tuple(labels))
    number = None if bins is None else _number(value)
    return None if bins is None or number is None else bins.containing(number)


def sorted_labels(values: Collection[Any]) -> tuple[Any, ...]:
    """Distinct values in ascending order: bins by their numbers, "missing" last, anything else as Python sorts."""
    bins = bins_of.__wrapped__(tuple(values)) if len(values) > 1 and _is_text(values) else None
    if bins is None:
        return tuple(sorted(values))
    return (*bins.labels, *[MISSING] * (MISSING in values))


def _is_text(labels: Collection[Any]) -> bool:
    """Whether the first label is text; most labels need no closer look."""
    return isinstance(next(iter(labels), None), str)


def _ends(label: str) -> tuple[End, End] | None:
    """The lower and the upper end of an interval; None for other text."""
    if label == ALL:
        return (-math.inf, 0), (math.inf, 1)
    if found := _BETWEEN.fullmatch(label):
        left, low, high, right = found.groups()
        ends = (float(low), int(left == "(")), (float(high), int(right == "]"))
        return ends if ends[0] < ends[1] else None
    if found := _BESIDE.fullmatch(label):
        sign, text = found.groups()
        end = (float(text), int(sign in ("<=", "≤", ">")))
        return ((-math.inf, 0), end) if sign[0] in "<≤" else (end, (math.inf, 1))
    return None


def _number(value: Any) -> float | None:
    """The value as a finite float; None if it is none."""
    if isinstance(value, str) and not _TEXT.fullmatch(value):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
