"""``brai paper``: the commands and their common options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_NEEDS = ("matplotlib", "jsonschema")


@click.group()
def paper() -> None:
    """Repeat the experiments of the paper.

    Tables and figures show the published results next to ours, and more. A run that was stopped resumes when the
    same command is given again.
    """


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option(
                "--data",
                type=click.Path(path_type=Path, exists=True, file_okay=False),
                help="Folder with the original data sets and networks.  [default: sample the packaged networks]",
            ),
            click.option(
                "-o",
                "--output",
                type=click.Path(path_type=Path, file_okay=False),
                default=Path("paper-results"),
                show_default=True,
                help="Folder for JSON, PNG and finished cells.",
            ),
            click.option("--jobs", type=int, default=1, show_default=True, help="Processes; -1 for all cores."),
            click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed."),
            click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
            click.option("--quiet", is_flag=True, help="No progress bar."),
        )
    ):
        command = option(command)
    return command


_readings = click.option(
    "--readings",
    "given",
    default="",
    help="Further readings of the paper's CI test for RAI and B-RAI, separated by commas, or 'all'.",
)


def _read(given: str) -> list[str]:
    """Readings by name."""
    from brai.research.paper.readings import READINGS, test_of

    names = list(READINGS) if given.strip().lower() == "all" else _split(given)
    for name in names:
        try:
            test_of(name)
        except KeyError:
            known = ", ".join(READINGS)
            raise click.UsageError(f"no reading {name!r}: choose from {known}, fixed:NUMBER, or all") from None
    return names


def _run(
    experiment: str,
    module: Any,
    cells: list[Any],
    *,
    output: Path,
    jobs: int,
    seed: int,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Compute the missing cells, check the result, and write it."""
    import json

    from brai import __version__
    from brai.research.paper import record
    from brai.research.paper.cells import Journal, run

    journal = Journal(
        output / f"{experiment}.cells.jsonl", {"experiment": experiment, "brai": __version__, "seed": seed}
    )
    try:
        results = run(journal, cells, title=experiment, n_jobs=jobs, show=not quiet)
    except KeyboardInterrupt:
        done = sum(cell.key in journal.done for cell in cells)
        click.echo(f"brai: {done} of {len(cells)} cells are saved; the same command resumes from there", err=True)
        raise
    rows = module.flat(cells, results)
    lines = module.summary(rows)
    content = record.document(
        experiment, seed, sum(row["seconds"] for row in results), {**settings, "summary": lines, "cells": rows}
    )
    record.check(experiment, content)
    record.write_json(output / f"{experiment}.json", content)
    record.write(output / f"{experiment}.md", module.as_text(lines))
    module.picture(lines, output / f"{experiment}.png")
    click.echo(json.dumps(content) if as_json else module.as_text(lines))
    if not as_json:
        click.echo(f"{output / experiment}.json, .md, .png", err=True)


def _check_installed() -> None:
    """Fail before hours of work, not after, if the optional packages are missing."""
    import importlib.util

    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise click.UsageError(f"{' and '.join(missing)} not installed: pip install 'brai[paper]'")


@paper.command()
@click.option("--networks", default=None, help="Names, separated by commas.  [default: all eight]")
@click.option("--sets", type=click.IntRange(1, 10), default=10, show_default=True, help="Data sets per network.")
@click.option("--columns", default=None, help="Learners, separated by commas.  [default: all]")
@click.option(
    "--bootstraps", type=click.IntRange(1), default=1000, show_default=True, help="Bootstrap samples of BS-MMHC."
)
@_readings
@_common
def table1(
    networks: str | None,
    sets: int,
    columns: str | None,
    bootstraps: int,
    given: str,
    data: Path | None,
    **options: Any,
) -> None:
    """Log predictive probability of held-out rows.

    Learners: RAI, MMHC (max-min hill climbing), BS-MMHC (its bootstrap), B-RAI; tabu search, GES (greedy
    equivalence search), BRAI. Eight networks. With --readings and no --columns, only RAI and B-RAI under these.
    """
    _check_installed()
    from brai.research.paper import sources
    from brai.research.paper import table1 as experiment
    from brai.research.paper.readings import label

    more = [label(learner, reading) for reading in _read(given) for learner in ("RAI", "B-RAI")]
    every = [] if more else list(experiment.COLUMNS)
    chosen = [*(every if columns is None else _names(columns, experiment.COLUMNS)), *more]
    listed = sources.NETWORKS if networks is None else _split(networks)
    made = experiment.cells(data, listed, sets, chosen, bootstraps=bootstraps, seed=options["seed"])
    if columns is not None and "GES" in chosen:
        without = [name for name in listed if not experiment.may_end(sources.proper_name(name))]
        if without:
            click.echo(
                f"brai: no GES on {', '.join(without)}: too large, or causal-learn is not installed", err=True
            )
    if not made:
        raise click.UsageError("nothing to compute: choose other --columns or --networks")
    _run("table1", experiment, made, **options)


def _split(given: str) -> list[str]:
    """Names separated by commas, without duplicates."""
    return list(dict.fromkeys(name.strip().lower() for name in given.split(",") if name.strip()))


def _names(given: str, known: Any) -> list[str]:
    lower = {name.lower(): name for name in known}
    names = _split(given)
    for name in names:
        if name not in lower:
            raise click.UsageError(f"no learner {name!r}: choose from {', '.join(known)}")
    return [lower[name] for name in names]


@paper.command()
@click.option("--sets", type=click.IntRange(1, 10), default=10, show_default=True, help="Alarm data sets.")
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Trials per data set, in the right panel.",
)
@_readings
@_common
def figure3(sets: int, trials: int, given: str, data: Path | None, **options: Any) -> None:
    """What a tree holds, and what it costs.

    Left panel: distinct CPDAGs (equivalence classes) in a tree against rows. Right panel: log predictive
    probability against conditional-independence tests, for B-RAI and for bootstraps of RAI.
    """
    _check_installed()
    from brai.research.paper import figure3 as experiment

    made = experiment.cells(data, sets, trials, seed=options["seed"], more=_read(given))
    _run("figure3", experiment, made, **options)


@paper.command()
@click.option("--networks", default=None, help="Names, separated by commas.  [default: all four]")
@click.option("--sets", type=click.IntRange(1), default=20, show_default=True, help="Data sets per network.")
@click.option("--small", is_flag=True, help="A twentieth of the draws of each method, for a quick try.")
@_readings
@_common
def figure4(networks: str | None, sets: int, small: bool, given: str, data: Path | None, **options: Any) -> None:
    """Area under the ROC curve on four small networks.

    ROC (receiver operating characteristic) curves of edge, Markov-blanket and path probabilities.
    """
    _check_installed()
    from brai.research.paper import figure4 as experiment

    every = experiment.NETWORKS if networks is None else _split(networks)
    made = experiment.cells(data, every, sets, small=small, seed=options["seed"], more=_read(given))
    _run("figure4", experiment, made, **options)
