"""``brai bench``: measure, print tables, keep a history, draw a figure."""

from __future__ import annotations

import os
from pathlib import Path

import click

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("case", nargs=-1)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with networks/*.bif.gz, for link, scale and Hailfinder.",
)
@click.option(
    "--runs", type=click.IntRange(1), default=5, show_default=True, help="Number of runs; the fastest counts."
)
@click.option("--history", type=_FILE, help="JSON file to which this run is appended.")
@click.option("--compare", is_flag=True, help="Compare the last run of the history with the one before.")
@click.option("--plot", type=_FILE, help="Write a figure (PNG).")
@click.option("--markdown", is_flag=True, help="Print tables in Markdown.")
@click.option("--into", type=_FILE, help="Markdown page in which the tables are updated.")
@click.option("--quick", is_flag=True, help="Little data and one run, to check in a minute that everything works.")
def bench(
    case: tuple[str, ...],
    data: Path | None,
    runs: int,
    history: Path | None,
    compare: bool,
    plot: Path | None,
    markdown: bool,
    into: Path | None,
    quick: bool,
) -> None:
    """Measure time and memory.

    Peers (pyAgrum, pgmpy, causal-learn) are measured too if they are installed. Without a CASE all cases run,
    which takes some minutes. Times are CPU times, the best of several runs; runs of brai and of the peers
    alternate. A ratio below 1 means that brai is faster. With --compare and no CASE nothing is measured.

    \b
    Cases: ci-test, roofline, pairs, alarm-tree, alarm-posterior,
    hill-climbing, fit-and-chains, compile, link, scale.
    """
    if compare and history is None:
        raise ValueError("--compare needs the file with the history: give --history FILE")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise ValueError("NUMBA_DISABLE_JIT is set, so nothing is compiled and times are meaningless: unset it")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from brai.research.bench import history as kept
    from brai.research.bench import page, picture, table
    from brai.research.bench.cases import CASES, run
    from brai.research.bench.measure import Settings

    unknown = [name for name in case if name not in CASES]
    if unknown:
        raise ValueError(f"unknown case {unknown[0]!r}: choose from {', '.join(CASES)}")
    records = kept.read(history) if history else []
    found = {}
    if case or not compare:
        settings = Settings(1 if quick else runs, quick, data, lambda line: click.echo(line, err=True))
        shown = table.markdown if markdown else table.text
        for name, own in run(dict.fromkeys(case or CASES), settings):
            found[name] = own
            if own:
                click.echo(f"\n## {name}\n\n{shown(own)}" if markdown else f"\n{name}\n{shown(own)}")
        every = [one for own in found.values() for one in own]
        if history:
            records = kept.append(history, kept.record(every, settings))
        if into:
            page.fill(into, {name: table.markdown(own) for name, own in found.items() if own})
    else:
        every = [*kept.measured(records[-1]).values()] if records else []
    if compare:
        click.echo(f"\nthe last run compared with the one before\n{table.compared(kept.changes(records))}")
    if plot:
        picture.draw(plot, every, records)
