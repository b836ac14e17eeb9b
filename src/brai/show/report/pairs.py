"""The data behind an edge: the picture that suits the kinds of its two columns.

- **Two columns with states**: how often each state of one occurs in each state of the other (`Bars`).
- **States and a measurement**: quartiles of the measurement in each state (`Boxes`).
- **Two measurements**: points with a regression line (`Points`); if the child has other parents in the best graph,
  also what remains of both after a regression on these (a partial residual plot, also added-variable plot).

Measurements that the model takes as normal scores are drawn on that scale, with the units of the data at the axis.
`picture` computes; `plain` rounds for the page. `brai.show.plots.edge` draws the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.data.incomplete import Incomplete
from brai.data.measurements import Floats
from brai.data.mixed import Mixed
from brai.graphs.pdag import PDAG
from brai.show.report.columns import STATES, Column, Plain, column_of, has_columns
from brai.show.report.labels import label_of, number, rounded

SEGMENTS = 6  # parts of a bar
SHOWN = 500  # points of a scatter plot
MOST = 60  # edges with a picture in a page
STEPS = 1000  # positions of points along an axis of the page
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)  # quantiles at the axis of normal scores
FLAT = 1e-9  # share of the variance below which nothing remains

Ticks: TypeAlias = list[tuple[float, str]]


@dataclass(frozen=True, eq=False)
class Bars:
    """How often each state of ``to`` occurs in each state of ``of``."""

    of: Column
    to: Column
    rows: list[str]
    parts: list[str]
    counts: NDArray[np.int64]  # (rows, parts)
    together: tuple[int, int]  # states that share a row, or a part

    @property
    def title(self) -> str:
        """In plain words."""
        return f"{self.to.label} in each state of {self.of.label}"


class Box(NamedTuple):
    """Quartiles of a group, and the outermost values within 1.5 times their distance (Tukey 1977)."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    n: int
    beyond: int  # values outside low and high


@dataclass(frozen=True, eq=False)
class Boxes:
    """A measurement in each state of another column, on the scale that the model sees, and in units."""

    of: Column
    to: Column
    rows: list[str]
    boxes: list[Box]
    units: list[tuple[float, ...]]  # low, q1, median, q3, high in the units of the data
    together: int
    ticks: Ticks | None

    @property
    def title(self) -> str:
        """In plain words."""
        return f"{self.to.label} in each state of {self.of.label}"


class View(NamedTuple):
    """Points, which of them are drawn, the line through them, and the words at the axes."""

    x: Floats
    y: Floats
    shown: NDArray[np.int64]
    slope: float
    intercept: float
    correlation: float
    labels: tuple[str, str]
    ticks: tuple[Ticks | None, Ticks | None]


@dataclass(frozen=True, eq=False)
class Points:
    """Two measurements; the child is ``y``, and ``given`` are its other parents in the best graph."""

    x: Column
    y: Column
    raw: View
    given: tuple[str, ...]
    partial: View | None  # both less what ``given`` predict
    why: str = ""  # why there is no such view

    @property
    def title(self) -> str:
        """In plain words."""
        return f"{self.y.label} against {self.x.label}"


Picture: TypeAlias = Bars | Boxes | Points


def picture(data: Any, dag: PDAG, a: str, b: str) -> Picture | None:
    """The picture of the pair a, b, drawn from a to b; None if a column cannot be drawn."""
    if not has_columns(data):
        return None
    first, second = column_of(data, a), column_of(data, b)
    if not (first.drawable and second.drawable):
        return None
    rows = _known(first, second)
    if rows is not None and not rows.any():
        return None
    if first.kind == "measurement" and second.kind == "measurement":
        x, y = (second, first) if dag.has_edge(b, a) else (first, second)
        return _points(data, dag, x, y)
    if rows is not None:
        first, second = first.at(rows), second.at(rows)
    if first.kind != "measurement" and second.kind != "measurement":
        return _bars(first, second)
    return _boxes(second, first) if first.kind == "measurement" else _boxes(first, second)


def _known(*columns: Column) -> NDArray[np.bool_] | None:
    """The rows in which none of these is missing; None for all rows."""
    known = [own.known for own in columns if own.known is not None]
    return np.logical_and.reduce(known) if known else None


def _bars(of: Column, to: Column) -> Bars:
    rows, codes, merged = of.grouped(STATES)
    parts, others, also = to.grouped(SEGMENTS)
    counts = np.bincount(codes * len(parts) + others, minlength=len(rows) * len(parts))
    return Bars(of, to, rows, parts, counts.reshape(len(rows), len(parts)), (merged, also))


def _boxes(of: Column, to: Column) -> Boxes:
    rows, codes, merged = of.grouped(STATES)
    assert to.values is not None
    boxes, units = [], []
    for k in range(len(rows)):
        own = np.flatnonzero(codes == k)
        own = own[np.argsort(to.seen[own], kind="stable")]
        boxes.append(box := box_of(to.seen[own]))
        below = int(np.searchsorted(to.seen[own], box.low))
        inside = to.values[own][below : below + box.n - box.beyond]
        middle = np.quantile(to.values[own], (0.25, 0.5, 0.75)).tolist()
        units.append((float(inside[0]), *middle, float(inside[-1])))
    return Boxes(of, to, rows, boxes, units, merged, _ticks(to))


def box_of(ordered: Floats) -> Box:
    """The box of values in ascending order."""
    q1, median, q3 = np.quantile(ordered, (0.25, 0.5, 0.75)).tolist()
    reach = 1.5 * (q3 - q1)
    inside = ordered[(ordered >= q1 - reach) & (ordered <= q3 + reach)]
    if not len(inside):  # by rounding
        inside = ordered
    return Box(float(inside[0]), q1, median, q3, float(inside[-1]), len(ordered), len(ordered) - len(inside))


def _ticks(column: Column) -> Ticks | None:
    """Positions and units along the axis of normal scores; None for an axis in units."""
    if column.scores is None or column.values is None:
        return None
    order = np.argsort(column.scores, kind="stable")
    at = order[np.rint(np.array(SHARES) * (len(order) - 1)).astype(int)]
    spread = float(np.subtract(*np.quantile(column.values, (0.75, 0.25)))) or float(np.ptp(column.values))
    found = {float(column.scores[i]): number(rounded(column.values[i], spread, 2)) for i in at.tolist()}
    return sorted(found.items())


# --- two measurements -----------------------------------------------------------------------------------


def _points(data: Any, dag: PDAG, x: Column, y: Column) -> Points | None:
    rows = _known(x, y)
    here = [x, y] if rows is None else [x.at(rows), y.at(rows)]
    if not all(own.drawable for own in here):
        return None
    scored = [f"{own.label}{', spaced by normal scores' * (own.scores is not None)}" for own in here]
    raw = _view(here[0].seen, here[1].seen, (scored[0], scored[1]), (_ticks(here[0]), _ticks(here[1])))
    given = tuple(name for name in dag.parents(y.name) if name != x.name)
    if not given:
        return Points(x, y, raw, given, None, f"{y.label} has no other parents in the best graph")
    rows, design = _known(x, y, *(column_of(data, name) for name in given)), _design(data, given)
    if rows is not None:
        here, design = [x.at(rows), y.at(rows)], design[:, rows]
    if design.shape[1] < len(design) + 3:
        return Points(x, y, raw, given, None, f"too few rows have no missing value in {_listed(given)}")
    left = [_remainder(own.seen, design) for own in here]
    for own, rest in zip(here, left, strict=True):
        if rest.std() <= FLAT * own.seen.std():
            return Points(x, y, raw, given, None, f"{own.label} is a linear function of {_listed(given)}")
    words = [
        f"{own.label}{' (normal score)' * (own.scores is not None)}, less what {_listed(given)} "
        f"predict{'s' * (len(given) == 1)}"
        for own in here
    ]
    return Points(x, y, raw, given, _view(left[0], left[1], (words[0], words[1]), (None, None)))


def _view(x: Floats, y: Floats, labels: tuple[str, str], ticks: tuple[Ticks | None, Ticks | None]) -> View:
    own, other = x - x.mean(), y - y.mean()
    sx, sy = float(own.std()), float(other.std())
    correlation = float(np.mean((own / sx) * (other / sy)))
    slope, rows = correlation * sy / sx, np.arange(len(x))
    if len(rows) > SHOWN:
        rows = np.sort(np.random.default_rng(0).choice(len(rows), SHOWN, replace=False))
    return View(x, y, rows, slope, float(y.mean() - slope * x.mean()), correlation, labels, ticks)


def _design(data: Any, names: Sequence[str]) -> Floats:
    """Standardised columns of these variables, as the model sees them: (columns, rows)."""
    at = [data.names.index(name) for name in names]
    if isinstance(data, Incomplete):
        data = data.table
    if isinstance(data, Mixed):
        return np.asarray(data.design[data.coding.columns_of(at)])
    return np.asarray(data.standardised[at])


def _remainder(y: Floats, design: Floats) -> Floats:
    """What a regression on the columns leaves, by normal equations."""
    centred, design = y - y.mean(), design - design.mean(axis=1, keepdims=True)
    slopes = np.linalg.lstsq(design @ design.T, design @ centred, rcond=None)[0]
    return np.asarray(centred - slopes @ design)


def _listed(given: Sequence[str], most: int = 3) -> str:
    names = [label_of(name) for name in given]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# --- for the page ---------------------------------------------------------------------------------------


def pictures(data: Any, dag: PDAG, pairs: Sequence[tuple[str, str]]) -> list[Plain]:
    """The pictures of these pairs as plain values."""
    names = {name: i for i, name in enumerate(data.names)}
    found = []
    for a, b in pairs:
        if (own := picture(data, dag, a, b)) is not None:
            known = {"a": names[a], "b": names[b], "title": own.title, **plain(own, names)}
            rows = _known(column_of(data, a), column_of(data, b))
            found.append(known | ({} if rows is None else {"without": int((~rows).sum())}))
    return found


def plain(own: Picture, names: dict[str, int]) -> Plain:
    """A picture as plain values."""
    if isinstance(own, Bars):
        return {
            "type": "bars",
            "of": names[own.of.name],
            "to": names[own.to.name],
            "rows": own.rows,
            "parts": own.parts,
            "counts": own.counts.tolist(),
            "ramp": own.to.in_order,
            "together": list(own.together),
        }
    if isinstance(own, Boxes):
        seen, values = own.to.seen, own.to.values
        assert values is not None
        spread, unit = float(seen.std()), float(values.std())
        return {
            "type": "boxes",
            "of": names[own.of.name],
            "to": names[own.to.name],
            "rows": own.rows,
            "boxes": [[rounded(v, spread) for v in box[:5]] + list(box[5:]) for box in own.boxes],
            "units": [[rounded(v, unit) for v in box] for box in own.units],
            "together": own.together,
            "ticks": _plain_ticks(own.ticks, spread),
        }
    views = [_plain_view(view) for view in (own.raw, own.partial) if view is not None]
    return {
        "type": "points",
        "x": names[own.x.name],
        "y": names[own.y.name],
        "views": views,
        "given": [names[name] for name in own.given],
        "why": own.why,
    }


def _plain_ticks(ticks: Ticks | None, spread: float) -> list[list[Any]] | None:
    return None if ticks is None else [[rounded(at, spread), text] for at, text in ticks]


def _plain_view(view: View) -> Plain:
    """Points as steps along the axes, from the lowest to the highest value of all rows."""
    axes = []
    for values, label, ticks in zip((view.x, view.y), view.labels, view.ticks, strict=True):
        low, high, spread = float(values.min()), float(values.max()), float(values.std())
        steps = np.rint((values[view.shown] - low) / (high - low) * STEPS).astype(int)
        axes.append(
            {
                "label": label,
                "low": rounded(low, spread, 4),
                "high": rounded(high, spread, 4),
                "steps": steps.tolist(),
                "ticks": _plain_ticks(ticks, spread),
            }
        )
    ends = [view.intercept + view.slope * float(end) for end in (view.x.min(), view.x.max())]
    spread = float(view.y.std())
    return {
        "n": len(view.x),
        "x": axes[0],
        "y": axes[1],
        "line": [rounded(end, spread, 4) for end in ends],
        "slope": float(f"{view.slope:.4g}"),
        "correlation": round(view.correlation, 4),
    }
