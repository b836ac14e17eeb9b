"""Kinds of option values: seconds, states of columns, a folder to write to; and the words of the command line."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from brai.runtime.text import plain_lines

_WORDS = {  # of cures in Python: on the command line
    'Dataset.of(X, missing="drop")': "--missing drop",
    'missing="label"': "--missing label",
    "states=": "--states FILE",
    "delimiter=": "--delimiter",
    "drop it": "leave it out (--drop COLUMN)",
    "drop the emptiest columns": "leave out the emptiest columns (--drop COLUMN)",
}
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
    from brai.data.columns import shown
    from brai.graphs.knowledge import read_toml

    try:
        content = read_toml(path)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f'{path} is no TOML file: {why}. Give lines such as  rain = ["no", "yes"]') from error
    for name, labels in content.items():
        if not isinstance(labels, list):
            raise ValueError(f'{path}: {name} is {shown(labels)}: give a list of labels, {name} = ["no", "yes"]')
    return content


def writable(folder: Path) -> Path:
    """The folder, made if need be; OSError now if nothing can be written there, not after hours."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise OSError(f"cannot write into {folder}: {error.strerror}: give another folder with -o") from error


def warn(message: object) -> None:
    """One line on standard error."""
    click.echo(f"brai: warning: {plain_lines(str(message))}", err=True)


@contextmanager
def in_options() -> Iterator[None]:
    """Say what is refused and warned of inside with options where Python has arguments."""
    from brai.data.dataset import DataError

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            yield
        except DataError as error:
            raise DataError(_as_options(str(error))) from error
    for one in told:
        warn(_as_options(str(one.message)))


def _as_options(message: str) -> str:
    """The cure, which is what follows the last colon, in words of the command line."""
    problem, colon, cure = message.rpartition(": ")
    for words, option in _WORDS.items():
        cure = cure.replace(words, option)
    return problem + colon + cure
