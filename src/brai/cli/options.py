"""Option values (durations, states of columns, output folders), and messages in terms of command-line options."""

from __future__ import annotations

import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from brai.runtime.text import plain_lines

_WORDS = {  # advice for Python: advice for the command line
    'Dataset.of(X, missing="drop")': "--missing drop",
    'missing="label"': "--missing label",
    'missing="impute"': "--missing impute",
    "states=": "--states FILE",
    "discretize=": "--discretize HOW",
    "na=": "--na",
    "name it in kinds=": "give --kind COLUMN=continuous",
    "take it as labels with kinds=": "take it as labels with --kind COLUMN=discrete",
    'transform="normal-scores"': "--transform normal-scores",
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
            self.fail(f"{value!r} is not a duration: give seconds, or 90s, 5m, 1h30m", param, ctx)
        return seconds


class EssOption(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number, table or auto."""

    name = "number|table|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As a float, "table" or "auto"."""
        if value in ("auto", "table"):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number, nor table or auto", param, ctx)


class PriorOption(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A structure prior: auto, uniform, fair, strength:1.5, edges:40."""

    name = "prior"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As the argument ``structure_prior`` of BRAI."""
        if not isinstance(value, str) or value in ("auto", "uniform", "fair"):
            return value
        from brai.graphs.priors import StructurePrior

        name, _, number = value.partition(":")
        try:
            return StructurePrior.of({name: float(number)}).plain()
        except ValueError:
            self.fail(f"{value!r} is not a prior: give auto, uniform, fair, strength:1.5 or edges:40", param, ctx)


def read_states(path: Path | None) -> dict[str, list[Any]] | None:
    """States of columns from a TOML file: ``column = ["low", "high"]``, one line per column."""
    if path is None:
        return None
    from brai.data.columns import shown
    from brai.graphs.knowledge import read_toml

    try:
        content = read_toml(path)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f'{path} is not a TOML file: {why}. Give lines such as  rain = ["no", "yes"]') from error
    for name, labels in content.items():
        if not isinstance(labels, list):
            raise ValueError(f'{path}: {name} is {shown(labels)}: give a list of labels, {name} = ["no", "yes"]')
    return content


def read_kinds(given: tuple[str, ...]) -> dict[str, str]:
    """Kinds of columns from words such as age=discrete."""
    found = {}
    for word in given:
        name, equals, kind = word.rpartition("=")
        if not equals or not name:
            raise click.UsageError(f"--kind {word!r} names no kind: give COLUMN=discrete, =ordered or =continuous")
        found[name] = kind
    return found


def read_words(given: str | None) -> list[str] | None:
    """Words that mean missing from NA,? ; none of them from an empty text."""
    return None if given is None else [word for own in given.split(",") if (word := own.strip())]


def writable(folder: Path) -> Path:
    """The folder, created if needed. OSError now, not after hours of work, if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise OSError(f"cannot write into {folder}: {error.strerror}: give another folder with -o") from error


def warn(message: object) -> None:
    """Print a warning as one line on standard error."""
    click.echo(f"brai: warning: {plain_lines(str(message))}", err=True)


@contextmanager
def in_options() -> Iterator[None]:
    """Errors and warnings inside name command-line options instead of Python arguments."""
    from brai.data.columns import DataError

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            yield
        except DataError as error:
            raise DataError(_told(error)) from error
    for one in told:
        warn(_as_options(str(one.message)))


def _told(error: Any) -> str:
    """The message of a DataError, with options to paste."""
    from brai.data.missing_words import MissingWordsError, as_option
    from brai.data.problems import described

    if isinstance(error, MissingWordsError):
        return error.told(as_option)
    if not error.parts:
        return _as_options(str(error), error.column)
    out = "".join(f" --drop {shlex.quote(name)}" for name in error.columns)
    kept = "".join(f" --kind {shlex.quote(f'{own.column}={own.kind}')}" for own in error.parts if own.kind)
    messages = [_as_options(str(own), own.column) for own in error.parts]
    asked = f". Besides, {_told(error.question)}" if error.question is not None else ""
    cure = f":{kept and f' keep some with{kept}, or'} leave all out with{out}" if len(messages) > 1 else ""
    return f"{described(error.parts, messages)}{cure}{asked}"


def _as_options(message: str, column: str = "") -> str:
    """The message with its advice, the part after the last colon, in terms of command-line options."""
    problem, colon, cure = message.rpartition(": ")
    for words, option in _WORDS.items():
        cure = cure.replace(words, option)
    for dummy in ("--drop COLUMN", "--kind COLUMN") if column else ():
        cure = cure.replace(dummy, f"{dummy.split()[0]} {shlex.quote(column)}")
    return problem + colon + cure
