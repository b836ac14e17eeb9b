"""``--discretize``: settings from words and TOML files, and a note on where columns were cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


def read_cuts(given: tuple[str, ...]) -> dict[str, Any] | None:
    """Settings from quantile:4, age=hartemink:3, age=18,40,65 or FILE.toml; later ones replace earlier ones."""
    from brai.data.discretizing import OTHERS, way_of

    found: dict[str, Any] = {}
    for word in given:
        name, equals, how = word.rpartition("=")
        if word.endswith(".toml"):
            found |= _from_file(Path(word))
        elif equals and not name:
            raise click.UsageError(f"--discretize {word!r} names no column: write COLUMN=quantile:4")
        else:
            found[name if equals else OTHERS] = how
    for name, how in found.items():
        way_of(how, "--discretize" if name == OTHERS else f"--discretize of column {name!r}")
    return found or None


def _from_file(path: Path) -> dict[str, Any]:
    """Settings from a TOML file: ``column = "quantile:4"`` or ``column = [18, 40, 65]``, one line per column."""
    from brai.graphs.knowledge import read_toml

    try:
        return read_toml(path)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}: give a TOML file, or a setting") from error
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f'{path} is not a TOML file: {why}. Give lines such as  age = "quantile:4"') from error


def told_cuts(data: Any) -> list[str]:
    """Lines that say where columns of a table are cut."""
    from brai.data.bins import bins_of, number_text

    table = getattr(data, "table", data)
    labels = getattr(table, "labels", table)
    found = []
    for name, states in zip(getattr(labels, "names", ()), getattr(labels, "states", ()), strict=True):
        bins = bins_of(states)
        if bins is not None and len(bins.labels) > 1:
            found.append(f"{name} is cut at {', '.join(number_text(low[0]) for low in bins.lows[1:])}")
    if found:
        found.append(
            "Bins lose information. Measurements need not be cut: without --discretize they are taken as numbers."
        )
    return found
