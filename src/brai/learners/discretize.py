"""Bins for columns of numbers, with cut points that are part of the model.

Measurements need not be cut: tables of numbers, alone or beside labels, have models of their own
(`brai.data.intake`). Bins lose information, and they are for relations that are not linear, or for thresholds that
mean something.

A setting says how columns are cut:

- ``"quantile:4"``: four bins with equal numbers of rows, as nearly as ties allow.
- ``"width:5"``: five bins of equal width; those without rows are joined with a neighbour.
- ``"hartemink:3"``: from many quantile bins, neighbours are merged that lose least mutual information with the
  other columns (Hartemink 2001).
- ``"score"``: quantile bins, or bins merged from twenty quantile bins, whichever have the highest evidence.
- Without a number (``"quantile"``), the number of bins, 2 to 8, is that of highest evidence; see
  `brai.data.merging`.
- ``4`` is ``"quantile:4"``. ``[18, 40, 65]`` or ``"18,40,65"`` are cut points. ``None`` or ``"none"``: not cut.

A bin contains its lower end but not its upper end, and the outer bins are open: cuts at 18 and 40 make the states
"< 18", "[18, 40)" and ">= 40". A cut between two values is put at the shortest decimal number between them.

>>> import numpy as np
>>> frame = {"age": np.arange(20.0, 80.0, 0.5), "sex": ["f", "m"] * 60}
>>> cut = Discretizer(bins=3).fit(frame)
>>> cut.cut_points_
{'age': [40.0, 60.0]}
>>> cut.transform({"age": [12, 40, 99], "sex": ["f", "f", "m"]})["age"]
['< 40', '[40, 60)', '>= 60']
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from brai.data.bins import number_text
from brai.data.columns import DataError, Factor, aligned, check_names, count, shown
from brai.data.cutting import Floats, Values, between, quantiles, widths
from brai.data.dataset import Dataset, columns_of_any
from brai.data.discretizing import (
    METHODS,
    Cut,
    Way,
    as_factor,
    codes_of,
    cuts_of,
    not_cut,
    rows_of,
    to_cut,
    way_of,
    ways,
)
from brai.data.measurements import Measurements
from brai.data.merging import Joint
from brai.data.numbers import numbers, read
from brai.runtime.checks import check_count
from brai.runtime.seeds import generator

__all__ = ["Discretizer", "Way", "way_of"]

INTERVAL = (0.05, 0.95)  # of a cut point over bootstrap samples


class Discretizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cut columns of numbers into bins.

    Parameters
    ----------
    method : "quantile", "width", "hartemink" or "score", for columns of measurements: fractions, or more than 12
        different integers. Other columns are left alone.
    bins : number of bins, or "auto": that of highest evidence.
    columns : settings of single columns, such as ``{"age": 4, "bp": "hartemink:3", "weight": [50, 70, 90]}``; None
        leaves a column alone.
    encode : "labels", or "codes" from 0 on.
    resamples : bootstrap samples for the intervals of cut points; 0 for none.
    random_state : seed of these samples.

    Attributes
    ----------
    cut_points_ : dict of column → ascending cut points.
    cut_intervals_ : dict of column → an interval (low, high) for each cut: from 5% to 95% of bootstrap samples of
        the rows, with the same number of bins. For "hartemink" and "score" the bins of other columns are held.
    bins_ : dict of column → labels from low to high.
    methods_ : dict of column → the setting that was used, such as "quantile:4".

    `transform` returns a table of the sort that it is given: a frame whose bins are ordered categories, a dict, an
    array, or a Dataset for a file or a table of this package. Values outside the training range are in the outer
    bins. Missing values stay missing. ``print(discretizer)`` says where columns are cut, and how sure that is.
    """

    def __init__(
        self,
        method: str = "quantile",
        bins: int | str = "auto",
        columns: Mapping[str, Any] | None = None,
        *,
        encode: str = "labels",
        resamples: int = 30,
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.bins = bins
        self.columns = columns
        self.encode = encode
        self.resamples = resamples
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Numbers and text are accepted, missing values too; there is no target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None) -> Discretizer:
        """Find the cut points; y is ignored."""
        default, X = self._checked(), _source(X)
        names, columns = _columns(X)
        _, named = ways(self.columns or {}, names, "columns")
        chosen = to_cut(names, columns, default, named)
        left = [(name, own) for name, own in zip(names, columns, strict=True) if name not in chosen]
        others = {name: codes for name, own in left if (codes := _codes(name, own)) is not None}
        found, joint = cuts_of(chosen, others)
        self.n_features_in_ = len(names)
        self._names = names
        if _has_names(X):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._cuts = found
        self.cut_points_ = {name: list(cut.points) for name, cut in found.items()}
        self.bins_ = {name: cut.labels for name, cut in found.items()}
        self.methods_ = {name: _told(cut) for name, cut in found.items()}
        rng = generator(self.random_state)
        ranges = {
            name: _intervals(name, found[name], chosen[name][1], joint, self.resamples, rng)
            for name in sorted(found)
        }
        self.cut_intervals_ = {name: ranges[name] for name in found}
        return self

    def transform(self, X: Any) -> Any:
        """The table with bins in place of numbers; X is not changed."""
        check_is_fitted(self)
        X = _source(X)
        names, columns = _columns(X)
        if len(names) != self.n_features_in_:
            expected = f"{type(self).__name__} is expecting {self.n_features_in_} features as input"
            known = shown(list(self._names))
            raise DataError(f"X has {len(names)} features, but {expected}: give the columns {known}")
        source = X if _has_names(X) and self._has_names else []
        own = dict(zip(self._names, aligned(source, (list(names), columns), self._names), strict=True))
        cut = {name: self._binned(name, own[name]) for name in self._cuts}
        return _like(X, names, {name: cut.get(name, own[name]) for name in self._names}, self._cuts, self.encode)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Names of the columns, as they came."""
        check_is_fitted(self)
        if input_features is not None and list(map(str, input_features)) != list(self._names):
            if self._has_names:
                raise ValueError("input_features is not equal to feature_names_in_: leave it out")
            if len(input_features) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), got "
                    f"{len(input_features)}"
                )
            return np.array(input_features, dtype=object)
        return np.array(self._names, dtype=object)

    def summary(self) -> str:
        """Where columns are cut, one line each, with the interval of each cut point."""
        check_is_fitted(self)
        if not self._cuts:
            return "no column is cut: none holds measurements, or all are left out"
        lines = []
        for name, cut in self._cuts.items():
            told = [_range(*one) for one in zip_longest(cut.points, self.cut_intervals_[name])]
            where = f"cut at {', '.join(told)}" if told else "all values in one bin"
            lines.append(f"{name}: {count(len(cut.labels), 'bin')} ({self.methods_[name]}), {where}")
        if self.resamples and any(self.cut_intervals_.values()):
            lines.append(
                "In parentheses: from 5% to 95% of the cut points of bootstrap samples. Results that change "
                "within these ranges depend on the cuts."
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "_cuts") else repr(self)

    @property
    def _has_names(self) -> bool:
        return hasattr(self, "feature_names_in_")

    def _checked(self) -> Way:
        if self.method not in METHODS:
            raise ValueError(f"method is {self.method!r}: choose one of {', '.join(map(repr, METHODS))}")
        if self.encode not in ("labels", "codes"):
            raise ValueError(f"encode is {self.encode!r}: choose 'labels' or 'codes'")
        check_count("resamples", self.resamples)
        if self.bins == "auto":
            return Way(self.method)
        check_count("bins", self.bins, 2)
        return way_of(f"{self.method}:{self.bins}", "bins") or Way(self.method)

    def _binned(self, name: str, column: Any) -> Factor:
        if (values := numbers(column)) is None:
            raise not_cut(name)
        if (endless := np.isinf(values)).any():
            row = int(endless.argmax()) + 1
            raise DataError(f"infinite values in {shown(name)} (row {row}): correct them, or drop those rows")
        return as_factor(values, self._cuts[name])


def _source(X: Any) -> Any:
    """X, or an array made of it if it is nothing better; DataError if it has another shape than a table."""
    if hasattr(X, "__array__") and not isinstance(X, np.ndarray) and not hasattr(X, "columns"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim != 2:
        raise DataError(f"X is {X.ndim}-D. Reshape your data: give rows × columns, such as X.reshape(-1, 1)")
    return X


def _has_names(X: Any) -> bool:
    return not isinstance(X, np.ndarray | list | tuple)


def _columns(X: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Names and columns of any table."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and 0 in X.shape:
        what = ("sample(s)", "feature(s)")[int(X.shape[0] > 0)]
        raise DataError(f"X has 0 {what} (shape={X.shape}) while a minimum of 1 is required: give data")
    if isinstance(X, Measurements) and X.transform != "none":
        raise DataError("X holds normal scores: give the table in its own units, so that cuts mean something")
    given, unread = columns_of_any(X)
    names, columns = check_names(given), [read(column) for column in unread]
    sizes = [rows_of(column) for column in columns]
    for name, n in zip(names, sizes, strict=True):
        if n != sizes[0]:
            raise DataError(
                f"column {shown(name)} has {count(n, 'row')}, but column {shown(names[0])} has {sizes[0]}: "
                "give columns of equal length"
            )
    return names, columns


def _codes(name: str, column: Any) -> Any:
    """The states of a column that is not cut; None for one that cannot be compared, such as dates."""
    try:
        return codes_of(name, column)
    except DataError as error:
        if "Complex" in str(error):
            raise
        return None


def _range(point: float, span: tuple[float, float] | None) -> str:
    """A cut point with its interval."""
    around = "" if span is None else f" ({number_text(span[0])} to {number_text(span[1])})"
    return number_text(point) + around


def _told(cut: Cut) -> str:
    if cut.way.method == "cuts":
        return "given"
    return f"{cut.way.method}:{len(cut.labels)}"


def _intervals(
    name: str, cut: Cut, column: Floats, joint: Joint | None, resamples: int, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """For each cut point, the range of the same cut in bootstrap samples of the rows."""
    if not resamples or not cut.points or cut.way.method == "cuts":
        return []
    k, merging = len(cut.points) + 1, joint is not None and cut.merged is not None
    values = joint.values[name] if joint is not None and merging else Values.of(column)
    near = (joint.nearest(name) if cut.way.method == "score" else joint.others(name)) if joint and merging else []
    drawn: list[list[float]] = []
    for _ in range(resamples):
        rows = rng.integers(0, len(values.place), len(values.place))
        counts = values.counts(rows)
        if joint is not None and merging:
            fine = quantiles(counts, cut.merged or k)
            partition = joint.beside(name, fine, near, rows).path(fine, k)[-1]
        elif cut.way.method == "width":
            drawn.append(widths(values.distinct[counts > 0], k)[1])
            continue
        else:
            partition = quantiles(counts, k)
        drawn.append([between(values.distinct[i - 1], values.distinct[i]) for i in partition])
    found = []
    for i, point in enumerate(cut.points):
        own = [c[i] if len(c) == len(cut.points) else min(c, key=lambda p: abs(p - point)) for c in drawn if c]
        low, high = np.quantile([*own, point], INTERVAL, method="inverted_cdf").tolist()
        found.append((_short(min(low, point), cut), _short(max(high, point), cut)))
    return found


def _short(number: float, cut: Cut) -> float:
    """A number with as many decimals as the cut points have."""
    decimals = max(len(number_text(point).partition(".")[2]) for point in cut.points)
    return number if decimals > 15 else round(number, decimals)


# --- a table of the sort that was given --------------------------------------------------------------


def _like(X: Any, names: Sequence[str], columns: Mapping[str, Any], cuts: Mapping[str, Cut], encode: str) -> Any:
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    codes = encode == "codes"
    if pandas is not None and isinstance(X, pandas.DataFrame):
        out = X.copy()
        for name, at in zip(names, X.columns, strict=True):
            if name in cuts:
                own = columns[name]
                bins = pandas.Categorical.from_codes(_signed(own), list(own.declared), ordered=True)
                out[at] = _numbers(own) if codes else pandas.Series(bins, index=X.index)
        return out
    if polars is not None and isinstance(X, polars.DataFrame | polars.LazyFrame):
        series = [
            polars.Series(name, _cells(own, codes), dtype=polars.Int64 if codes else polars.Enum(own.declared))
            for name in names
            if name in cuts and (own := columns[name])
        ]
        return X.with_columns(series)
    if isinstance(X, np.ndarray | list | tuple):
        parts = [
            (_numbers(own) if codes else np.array(_cells(own), object)) if name in cuts else np.asarray(own)
            for name, own in columns.items()
        ]
        same = all(part.dtype.kind in "iufb" for part in parts)
        return np.column_stack(parts) if same else np.column_stack([part.astype(object) for part in parts])
    if isinstance(X, Mapping):
        given = dict(zip(names, X.items(), strict=True))
        return {key: _cells(columns[n], codes) if n in cuts else own for n, (key, own) in given.items()}
    if type(X).__module__.startswith("pyarrow"):
        for i, name in enumerate(names):
            if name in cuts:
                X = X.set_column(i, name, [_cells(columns[name], codes)])
        return X
    if codes:
        what = f"a {type(X).__name__}" if not isinstance(X, str | os.PathLike) else "a file"
        raise ValueError(f"encode='codes' is for frames, dicts and arrays, not for {what}: leave it out")
    return Dataset.of({name: columns[name] for name in names})


def _signed(own: Factor) -> Any:
    """Codes of rows, -1 where a value is missing."""
    codes = own.inverse.astype(np.int64)
    return np.where(codes == len(own.values) - 1, -1, codes)


def _numbers(own: Factor) -> Any:
    """Codes of rows; as floats with NaN if values are missing."""
    codes = _signed(own)
    return np.where(codes < 0, np.nan, codes) if (codes < 0).any() else codes


def _cells(own: Factor, codes: bool = False) -> list[Any]:
    """Labels or codes of rows, None where a value is missing."""
    found = [*range(len(own.values) - 1), None] if codes else list(own.values)
    return [found[i] for i in own.inverse.tolist()]
