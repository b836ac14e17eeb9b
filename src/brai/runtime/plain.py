"""Conversion of values to plain JSON and back, for all files of this package.

A value that JSON lacks is a dict with a ``type``. This module handles numbers, text and None; `brai.files.models`
adds settings.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def encoded(value: Any) -> Any:
    """A number, text or None as JSON; TypeError for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else {"type": "float", "value": str(float(value))}
    raise TypeError(f"it is {value!r}, of type {type(value).__name__}")


def decoded(value: Any) -> Any:
    """The inverse of `encoded`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict) and value.get("type") == "float":
        return float(value["value"])
    raise ValueError(f"{value!r} is neither a number nor text")
