"""Names, states and numbers as short text."""

from __future__ import annotations

import math
import unicodedata

CELLS = 22  # most letters of a name in the drawing


def label_of(name: str, cells: int = CELLS) -> str:
    """A name on one line of at most ``cells`` letters; wide letters count twice."""
    flat = "".join(c if c.isprintable() else " " for c in name[: 4 * cells])
    flat = flat.strip() or "(blank)"
    if cells_of(flat) <= cells and len(name) <= 4 * cells:
        return flat
    while cells_of(flat) >= cells:
        flat = flat[:-1]
    return flat + "…"


def cells_of(text: str) -> int:
    """The width of a text in letters; wide letters count twice."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def rounded(number: float, spread: float, digits: int = 3) -> float:
    """A number rounded so that differences of the size of ``spread`` keep this many digits."""
    if not (spread > 0 and math.isfinite(spread)):
        return float(number)
    found = round(float(number), digits - 1 - math.floor(math.log10(spread)))
    return found + 0.0  # not -0


def number(value: float) -> str:
    """A number that was rounded, with separators of thousands."""
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3g}".replace("-", "−")
    return f"{value:,.10g}".replace("-", "−")
