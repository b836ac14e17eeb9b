"""Refusals of numbers that make no sense, with the value and the cure; hints at names that were meant."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

MOST = 2**53  # a larger whole number is not told apart from its neighbours where it is made a float


def check_count(name: str, value: Any, least: int = 0, none: str = "") -> None:
    """Refuse what is not a whole number from ``least`` on; ``none`` says what None means, if it is allowed."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and least <= value <= MOST) and not (none and value is None):
        cure = f", or None for {none}" if none else ""
        span = f"from {least} on" if not whole or value < least else f"up to {MOST}"
        raise ValueError(f"{name} is {_told(value)}: give a whole number {span}{cure}")


def _told(value: Any) -> str:
    """A value in a message; the digits of a very large number are not all told."""
    huge = isinstance(value, int) and value.bit_length() > 99
    return f"a number of {value.bit_length()} bits" if huge else repr(value)


def check_positive(name: str, value: Any) -> float:
    """A number above 0 and below infinity; ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
        raise ValueError(f"{name} is {value!r}: give a number above 0")
    return float(value)


def near(name: str, known: Iterable[str]) -> str:
    """A hint at the known names that are spelled nearly so, to stand behind the unknown one; "" without any."""
    found = get_close_matches(name, list(known), 3) or [one for one in known if one.casefold() == name.casefold()]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""
