"""Checks of arguments: invalid numbers raise an error that says what to give; hints for misspelled names."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

MOST = 2**53  # larger integers are not represented exactly as floats


def check_count(name: str, value: Any, least: int = 0, none: str = "") -> None:
    """ValueError unless value is an integer of at least ``least``, or None where ``none`` says what None means."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole and least <= value <= MOST) and not (none and value is None):
        cure = f", or None for {none}" if none else ""
        span = f"from {least} on" if not whole or value < least else f"up to {MOST}"
        raise ValueError(f"{name} is {_told(value)}: give a whole number {span}{cure}")


def _told(value: Any) -> str:
    """A value as text for a message; a very large integer is abbreviated."""
    huge = isinstance(value, int) and value.bit_length() > 99
    return f"a number of {value.bit_length()} bits" if huge else repr(value)


def check_positive(name: str, value: Any) -> float:
    """The value as a float. ValueError unless it is above 0 and finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
        raise ValueError(f"{name} is {value!r}: give a number above 0")
    return float(value)


def check_ess(value: Any) -> float | str:
    """An equivalent sample size: "table", or a number above 0."""
    if isinstance(value, str) and value == "table":
        return value
    try:
        return check_positive("ess", value)
    except ValueError as error:
        raise ValueError(f"{error}, or 'table'") from None


def near(name: str, known: Iterable[str]) -> str:
    """A hint that lists known names of similar spelling, to append to an unknown name; "" if there are none."""
    found = get_close_matches(name, list(known), 3) or [one for one in known if one.casefold() == name.casefold()]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""
