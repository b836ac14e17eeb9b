"""Measurements as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from brai.research.bench.history import Change
from brai.research.bench.measure import Measurement

_HEAD = ("", "brai", "peer", "theirs", "ratio", "target", "")
_WORK = ("words", "filled", "lookups", "visits", "sliced")  # columns of the case roofline, one row per order


def number(value: float | None) -> str:
    """A number with three significant digits."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _with_unit(value: float | None, unit: str) -> str:
    return "" if value is None else f"{number(value)} {unit}".rstrip()


def _row(one: Measurement) -> tuple[str, ...]:
    target = ""
    if one.target is not None:
        sign, unit = "≥" if one.more else "≤", one.unit if one.target_of == "value" else ""
        target = f"{sign} {number(one.target)} {unit}".rstrip()
    met = {None: "", True: "met", False: "not met"}[one.met]
    own, theirs = _with_unit(one.value, one.unit), _with_unit(one.peer_value, one.unit)
    return one.name, own, one.peer or "", theirs, _ratio(one.ratio), target, met


def _ratio(value: float | None) -> str:
    """A ratio, with more digits if it is near 1."""
    return f"{value:.4f}" if value is not None and abs(value - 1) < 0.02 else number(value)


def tables(measurements: Sequence[Measurement]) -> list[list[tuple[str, ...]]]:
    """Tables, each with its header row: measurements; points of curves; work of CI tests; time of CI tests."""
    work = [one for one in measurements if one.case == "roofline" and one.name.endswith(_WORK)]
    points = [one for one in measurements if one.at is not None]
    tests = [one for one in measurements if one.case == "roofline" and one.peer]
    rows = [_row(one) for one in measurements if one not in (*work, *points, *tests)]
    return [_filled([_HEAD, *rows]), _points(points), _work(work), _tests(tests)]


def _filled(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows without empty columns."""
    kept = [i for i in range(len(rows[0])) if i < 2 or any(row[i] for row in rows[1:])]
    return [tuple(row[i] for i in kept) for row in rows]


def _points(measurements: Sequence[Measurement]) -> list[tuple[str, ...]]:
    """One row per x coordinate; names are "series, what by axis"."""
    found: dict[str, dict[str, str]] = {}
    for one in measurements:
        name, _, axis = one.name.rpartition(" by ")
        series, _, what = name.rpartition(", ")
        found.setdefault(f"{series}: {one.at:,.0f} {axis}", {})[what] = _with_unit(one.value, one.unit)
    columns = list(dict.fromkeys(what for own in found.values() for what in own))
    return [("", *columns), *((name, *(own.get(what, "") for what in columns)) for name, own in found.items())]


def _work(measurements: Sequence[Measurement]) -> list[tuple[str, ...]]:
    """One row per order and number of rows."""
    found: dict[str, dict[str, str]] = {}
    for one in measurements:
        name, _, field = one.name.rpartition(", ")
        found.setdefault(name, {})[field] = f"{one.value:.0%}" if one.unit == "of 1" else f"{one.value:.1f}"
    head = ("a test", "words of 64 rows", "of full lanes", "look-ups", "rows visited", "on slices")
    return [head, *((name, *(own[field] for field in _WORK)) for name, own in found.items())]


def _tests(measurements: Sequence[Measurement]) -> list[tuple[str, ...]]:
    """One row per order and number of rows: the measured time, and ratios to each model."""
    found: dict[str, dict[str, str]] = {}
    for one in measurements:
        name, _, way = one.name.rpartition(", ")
        own = found.setdefault(name, {})
        own[way] = _with_unit(one.value, one.unit)
        if one.target is not None:
            own[one.peer or ""] = _with_unit(one.peer_value, one.unit)
        own[f"{way} / {one.peer}"] = number(one.ratio)
        if one.target is not None:
            own[f"target: ≤ {number(one.target)}"] = "met" if one.met else "not met"
    columns = list(dict.fromkeys(column for own in found.values() for column in own))
    return [("", *columns), *((name, *(own.get(one, "") for one in columns)) for name, own in found.items())]


def text(measurements: Sequence[Measurement]) -> str:
    """The tables as text with aligned columns."""
    return "\n\n".join(_aligned(rows) for rows in tables(measurements) if len(rows) > 1)


def markdown(measurements: Sequence[Measurement]) -> str:
    """The tables in Markdown."""
    return "\n\n".join(_piped(rows) for rows in tables(measurements) if len(rows) > 1)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
    return "\n".join(lines)


def _piped(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def compared(changes: Iterable[Change]) -> str:
    """A table of the figures before and now, with those that are slower."""
    rows = [("", "before", "now", "", "")]
    for one in changes:
        times = f"{one.now / one.before:.2f}×" if one.before else ""
        unit = "" if one.unit == "ratio" else one.unit
        own = (_with_unit(one.before, unit), _with_unit(one.now, unit), times, "SLOWER" if one.slower else "")
        rows.append((one.key, *own))
    return _aligned(rows)
