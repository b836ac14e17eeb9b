"""Kinds of option values: seconds, states of columns, a folder that can be written to."""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import click

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Seconds: 90, 90s, 1.5m, 1h, 1h30m."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """As seconds."""
        if isinstance(value, int | float):
            return float(value)
        parts = re.findall(r"(\d+(?:\.\d+)?)([smh]?)", value)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        if "".join(number + unit for number, unit in parts) != value or seconds <= 0:
            self.fail(f"{value!r} is no time: give seconds, or 90s, 5m, 1h30m", param, ctx)
        return seconds


def read_states(path: Path | None) -> dict[str, list[Any]] | None:
    """Labels of columns from a TOML file: ``column = ["low", "high"]``, one column a line."""
    if path is None:
        return None
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f'{path} is no TOML file: {error}. Give lines such as  rain = ["no", "yes"]') from error
    for name, labels in content.items():
        if not isinstance(labels, list):
            raise ValueError(f'{path}: {name} is {labels!r}: give a list of labels, {name} = ["no", "yes"]')
    return content


def writable(folder: Path) -> Path:
    """The folder, made if need be; OSError now if nothing can be written there, not after hours."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise OSError(f"cannot write into {folder}: {error.strerror}: give another folder with -o") from error
