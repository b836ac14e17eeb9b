"""Which columns of a table are cut into bins, how, and where: settings, cut points, and the columns as bins.

`brai.discretize` describes the settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from brai.data.bins import labels_of, number_text
from brai.data.columns import Columns, DataError, Factor, Numbers, count, factor, shown
from brai.data.cutting import Codes, Floats, Partition, Values, between, quantiles, widths
from brai.data.merging import EXACT, FINE, SWEEPS, WIDEST, Joint
from brai.data.missing import missing_rows
from brai.data.numbers import check_column, looks, numbers
from brai.runtime.checks import near

METHODS = ("quantile", "width", "hartemink", "score")
OTHERS = "*"  # in a dict of settings: all other columns of measurements
MOST = 8  # bins that are tried if the number is chosen
LEAST_ROWS = 5  # rows of a bin, on average, if the number is chosen
FIRST = 4  # bins of a column before its number is chosen
COARSE = 20  # quantile bins from which merging starts, if the number is chosen by "score"
ROWS = 20_000  # rows on which columns are compared with each other
STATES = 50  # states of a column of labels that is compared with others

Settings: TypeAlias = Any  # a str, or a dict of column → str, int, list of cut points or None


@dataclass(frozen=True)
class Way:
    """How a column is cut: by a method into a number of bins (None: chosen), or at these points."""

    method: str
    bins: int | None = None
    cuts: tuple[float, ...] = ()

    def __str__(self) -> str:
        if self.method == "cuts":
            return ",".join(map(number_text, self.cuts))
        return self.method if self.bins is None else f"{self.method}:{self.bins}"


@dataclass(frozen=True)
class Cut:
    """Where a column was cut, and how the places were found."""

    way: Way
    points: tuple[float, ...]
    partition: Partition = ()
    merged: int | None = None  # bins that were merged, for partitions by merging

    @property
    def labels(self) -> tuple[str, ...]:
        """The states, from low to high."""
        return labels_of(self.points)


def way_of(given: Any, what: str = "discretize") -> Way | None:
    """A setting as a `Way`; None if a column is left as it is.

    >>> way_of("hartemink:3")
    Way(method='hartemink', bins=3, cuts=())
    >>> way_of([18, 40, 65]) == way_of("18,40,65")
    True
    """
    if given is None or given == "none":
        return None
    if isinstance(given, Way):
        return given
    if isinstance(given, str):
        method, colon, number = given.strip().partition(":")
        if method in METHODS and (not colon or number == "auto"):
            return Way(method)
        if method in METHODS and number.isdecimal() and len(number) < 7:
            return Way(method, _bins(int(number), what))
        try:
            points = [float(part) for part in given.split(",")]
        except ValueError:
            hint = near(method, METHODS) if method not in METHODS else ""
            raise _unknown(given, what, hint) from None
        return _at(points, given, what)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return Way("quantile", _bins(int(given), what))
    if isinstance(given, list | tuple | np.ndarray):
        try:
            return _at([float(one) for one in given], given, what)
        except (TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
    raise _unknown(given, what, "")


def _unknown(given: Any, what: str, hint: str) -> DataError:
    return DataError(
        f"{what} is {shown(given)}{hint}: give 'quantile:4', 'width:5', 'hartemink:3' or 'score' (without a "
        "number it is chosen), a number of bins, or a list of cut points"
    )


def _bins(number: int, what: str) -> int:
    if not 2 <= number <= 65_535:
        raise DataError(f"{what} asks for {count(number, 'bin')}: give 2 to 65535")
    return number


def _at(points: list[float], given: Any, what: str) -> Way:
    if not points or not all(map(math.isfinite, points)) or any(a >= b for a, b in pairwise(points)):
        raise DataError(f"{what} has the cut points {shown(given)}: give finite numbers in ascending order")
    return Way("cuts", None, tuple(point + 0.0 for point in points))


def ways(
    given: Settings, names: Sequence[str], argument: str = "discretize"
) -> tuple[Way | None, dict[str, Way | None]]:
    """The way of columns that are not named, and those of columns that are."""
    if not isinstance(given, Mapping):
        return way_of(given, argument), {}
    named: dict[str, Way | None] = {}
    for name, own in given.items():
        if str(name) not in names and name != OTHERS:
            hint = near(str(name), [str(n) for n in names])
            known = shown(list(names))
            raise DataError(f"{argument}: there is no column {shown(name)}{hint}: choose among {known}")
        named[str(name)] = way_of(own, f"{argument} of column {shown(name)}")
    return named.pop(OTHERS, None), named


def to_cut(
    names: Sequence[str], columns: Sequence[Any], default: Way | None, named: Mapping[str, Way | None]
) -> dict[str, tuple[Way, Floats]]:
    """The columns that are cut, as floats: those that are named, and others of measurements."""
    found = {}
    for name, column in zip(names, columns, strict=True):
        way = named.get(name, default)
        if way is None:
            continue
        own = numbers(column)
        if own is None:
            if name in named:
                raise not_cut(name)
        elif name in named or looks(own).is_measured:
            check_column(name, own, {name})
            if np.isnan(own).all():
                raise DataError(f"column {shown(name)} has no values that could be cut: drop it")
            found[name] = way, own
    return found


def not_cut(name: str) -> DataError:
    """The error for a column without numbers that is to be cut."""
    return DataError(f"column {shown(name)} does not hold numbers only, so it cannot be cut: convert it")


def codes_of(name: str, column: Any) -> Codes | None:
    """The states of another column as codes, -1 where it is missing; None if there are too many."""
    own = factor(name, column)
    values, inverse = np.unique(own.inverse, return_inverse=True)
    return None if len(values) > STATES else np.where(missing_rows(own), -1, inverse)


def cuts_of(
    chosen: Mapping[str, tuple[Way, Floats]], others: Mapping[str, Codes]
) -> tuple[dict[str, Cut], Joint | None]:
    """Where each column is cut. ``others`` are columns of states; the Joint is what merged columns were cut on."""
    values = {name: Values.of(own) for name, (_, own) in chosen.items()}
    if not values:
        return {}, None
    ways = {name: way for name, (way, _) in chosen.items()}
    found = {name: cut for name, way in ways.items() if (cut := _alone(way, values[name]))}
    if len(found) == len(values):
        return {name: found[name] for name in chosen}, None
    joint = _joint({name: own for name, (_, own) in chosen.items()}, values, others)
    found |= _together(joint, ways, found)
    for name, cut in found.items():  # by the values of all rows
        if cut.way.bins is not None and cut.way.method in ("quantile", "width") and ways[name] != cut.way:
            found[name] = _alone(cut.way, values[name]) or cut
    return {name: found[name] for name in chosen}, joint


def _alone(way: Way, values: Values) -> Cut | None:
    """A cut that does not depend on other columns; None if it does."""
    if way.method == "cuts":
        return Cut(way, way.cuts, tuple(np.searchsorted(values.distinct, way.cuts).tolist()))
    if way.bins is None or way.method not in ("quantile", "width"):
        return None
    if way.method == "quantile":
        return at(way, values, quantiles(values.counts(), way.bins))
    partition, ends = widths(values.distinct, way.bins)
    points = [_point(values, i, end) for i, end in zip(partition, ends, strict=True)]
    return Cut(way, tuple(points), partition)


def at(way: Way, values: Values, partition: Partition, merged: int | None = None) -> Cut:
    """The cut at these places, with short numbers as cut points."""
    return Cut(way, tuple(_point(values, i) for i in partition), partition, merged)


def _point(values: Values, i: int, close: float | None = None) -> float:
    return between(float(values.distinct[i - 1]), float(values.distinct[i]), close)


def _joint(columns: Mapping[str, Floats], values: Mapping[str, Values], others: Mapping[str, Codes]) -> Joint:
    """All columns, with some of the rows if there are many."""
    n = len(next(iter(columns.values())))
    if n <= ROWS:
        return Joint(values, others)
    rows = np.sort(np.random.default_rng(0).choice(n, ROWS, replace=False))
    some = {name: own[rows] for name, own in columns.items()}
    empty = [name for name, own in some.items() if np.isnan(own).all()]
    few = {name: Values.of(columns[name] if name in empty else own) for name, own in some.items()}
    for name in empty:  # hardly any values: all of them are somewhere else
        few[name] = Values(few[name].distinct, np.full(ROWS, -1, np.int64))
    return Joint(few, {name: own[rows] for name, own in others.items()})


def _together(joint: Joint, ways: Mapping[str, Way], fixed: Mapping[str, Cut]) -> dict[str, Cut]:
    """The cuts that depend on other columns, or whose number is chosen."""
    free = {name: way for name, way in ways.items() if name not in fixed}
    for name in ways:
        joint.put(name, tuple(np.searchsorted(joint.values[name].distinct, fixed[name].points).tolist())
                  if name in fixed else joint.fine(name, FIRST))  # fmt: skip
    d, n = len(ways), int(max(own.counts().sum() for own in joint.values.values()))
    merging = {name: way.bins or 2 for name, way in free.items() if way.method == "hartemink"}
    fine = max(2, min(FINE, WIDEST // d, n // LEAST_ROWS), *(2 * k for k in merging.values())) if merging else FINE
    if lonely := [name for name in merging if not joint.others(name)]:
        raise DataError(f"column {shown(lonely[0])} has no other column to be compared with: use 'quantile'")
    paths = joint.hartemink(merging, fine) if merging else {}
    for name, path in paths.items():
        if free[name].bins is None:
            joint.put(name, next((own for own in path if len(own) < FIRST), path[-1]))
    chosen = {name: way for name, way in free.items() if way.bins is None or way.method == "score"}
    best = _by_evidence(joint, chosen, paths)
    for name in merging:
        if name not in best:
            best[name] = "hartemink", joint.partitions[name], len(paths[name][0]) + 1
    found = {}
    for name, (method, partition, merged) in best.items():
        way = Way(method, len(partition) + 1) if method in ("quantile", "width") else free[name]
        found[name] = at(way, joint.values[name], partition, merged)
    return found


Choice: TypeAlias = tuple[str, Partition, int | None]


def _by_evidence(
    joint: Joint, chosen: Mapping[str, Way], paths: Mapping[str, Sequence[Partition]]
) -> dict[str, Choice]:
    """The partition of highest evidence of each column, one column after the other until nothing changes."""
    best: dict[str, Choice] = {}
    for _ in range(SWEEPS):
        before = dict(best)
        for name in sorted(chosen):
            near_ones = joint.nearest(name)
            options = _options(joint, name, chosen[name], near_ones, paths.get(name, ()))
            evidence = joint.evidence(name, [own[1] for own in options], near_ones)
            values = [own - _cost(option) for own, option in zip(evidence, options, strict=True)]
            enough = max(values) - EXACT * (1 + abs(max(values)))
            best[name] = next(one for one, own in zip(options, values, strict=True) if own >= enough)
            joint.put(name, best[name][1])
        if best == before:
            break
    return best


def _cost(option: Choice) -> float:
    """The log of the number of ways to choose the cut points."""
    _, partition, merged = option
    return 0.0 if merged is None else math.log(math.comb(merged - 1, len(partition)))


def _options(
    joint: Joint, name: str, way: Way, near_ones: Sequence[str], path: Sequence[Partition]
) -> list[Choice]:
    """The partitions that are compared, those of few bins first."""
    values = joint.values[name]
    counts = values.counts()
    most = way.bins or max(2, min(MOST, int(counts.sum()) // LEAST_ROWS))
    numbers_of_bins = range(way.bins or 2, most + 1)
    simple: dict[str, Callable[[int], Partition]] = {
        "quantile": lambda k: quantiles(counts, k),
        "width": lambda k: widths(values.distinct, k)[0],
    }
    method = "quantile" if way.method == "score" else way.method
    found: list[Choice] = []
    if method in simple:
        found += [(method, simple[method](k), None) for k in numbers_of_bins]
    if way.method == "score" and near_ones:
        start = joint.fine(name, max(COARSE, 2 * most))
        path = joint.beside(name, start, near_ones).path(start, 2)
    if path:
        merged = len(path[0]) + 1
        kept = [own for own in path if numbers_of_bins[0] <= len(own) + 1 <= most] or [path[-1]]
        found += [("merged" if way.method == "score" else way.method, own, merged) for own in kept]
    return sorted(dict.fromkeys(found), key=lambda option: len(option[1]))


def as_factor(values: Floats, cut: Cut) -> Factor:
    """A column of numbers as bins; missing values stay missing."""
    gone, labels = np.isnan(values), cut.labels
    codes = np.searchsorted(cut.points, values, side="right")
    inverse = np.where(gone, len(labels), codes).astype(np.min_scalar_type(len(labels)))
    return Factor([*labels, None], inverse, declared=labels)


def rows_of(column: Any) -> int:
    """Number of rows of a column."""
    if isinstance(column, Factor):
        return int(column.inverse.size)
    return len(column.values if isinstance(column, Numbers) else column)


def binned(table: Columns, given: Settings, left: Mapping[str, str] | None, states: Any) -> Columns:
    """The table with columns cut into bins, for `Dataset.of`.

    Columns whose kind or states the caller gives are left as they are. A table that cannot be used is returned.
    """
    names, columns = [str(name) for name in table[0]], list(table[1])
    if given is None or len({rows_of(own) for own in columns}) != 1 or len(set(names)) < len(names):
        return table
    default, named = ways(given, names)
    own = {str(name) for one in (left, states) if isinstance(one, Mapping) for name in one}
    if both := sorted(own & {name for name, way in named.items() if way is not None}):
        raise DataError(f"column {shown(both[0])} has bins in discretize=, and a kind or states: name it once")
    chosen = to_cut(names, columns, default, dict.fromkeys(own) | named)
    for name, (_, values) in chosen.items():
        check_column(name, values, named)
    others = {
        name: codes
        for name, column in zip(names, columns, strict=True)
        if name not in chosen and (codes := codes_of(name, column)) is not None
    }
    found, _ = cuts_of(chosen, others)
    for i, name in enumerate(names):
        if name in found:
            columns[i] = as_factor(chosen[name][1], found[name])
    return list(table[0]), columns
