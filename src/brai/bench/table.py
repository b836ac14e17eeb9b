"""Measurements as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from brai.bench.history import Change
from brai.bench.measure import Measurement

_HEAD = ("", "brai", "peer", "theirs", "ratio", "target", "")
_WORK = ("words", "strings", "lookups", "visits", "sliced")  # of the case roofline: one row for each order


def number(value: float | None) -> str:
    """Three digits that matter."""
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
    name = one.name if one.at is None else f"{one.name}: {one.at:,.0f}"
    own, theirs = _with_unit(one.value, one.unit), _with_unit(one.peer_value, one.unit)
    return name, own, one.peer or "", theirs, number(one.ratio), target, met


def tables(measurements: Sequence[Measurement]) -> list[list[tuple[str, ...]]]:
    """Rows with their heads first: all measurements of a case, then what its tests do where that was counted."""
    work = [one for one in measurements if one.case == "roofline" and one.name.endswith(_WORK)]
    rows = [_row(one) for one in measurements if one not in work]
    made = [[_HEAD, *rows]]
    counted: dict[str, dict[str, str]] = {}
    for one in work:
        name, _, field = one.name.rpartition(", ")
        counted.setdefault(name, {})[field] = f"{one.value:.1f}" if field != "sliced" else f"{one.value:.0%}"
    if counted:
        own = [(name, *(fields[field] for field in _WORK)) for name, fields in counted.items()]
        made.append([("a test", "words of 64 rows", "strings", "look-ups", "rows visited", "on slices"), *own])
    return made


def text(measurements: Sequence[Measurement]) -> str:
    """Aligned columns."""
    return "\n\n".join(_aligned(rows) for rows in tables(measurements) if len(rows) > 1)


def markdown(measurements: Sequence[Measurement]) -> str:
    """The same for a page."""
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
    """What was before, what is now, and what is slower."""
    rows = [("", "before", "now", "", "")]
    for one in changes:
        times = f"{one.now / one.before:.2f}×" if one.before else ""
        unit = "" if one.unit == "ratio" else one.unit
        own = (_with_unit(one.before, unit), _with_unit(one.now, unit), times, "SLOWER" if one.slower else "")
        rows.append((one.key, *own))
    return _aligned(rows)
