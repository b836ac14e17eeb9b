"""``brai bench``: measure, show a table, keep a history, draw a picture."""

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
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Of which the best counts.")
@click.option("--history", type=_FILE, help="JSON file that this run is added to.")
@click.option("--compare", is_flag=True, help="Show the last run of the history beside the one before.")
@click.option("--plot", type=_FILE, help="Write a picture (PNG).")
@click.option("--markdown", is_flag=True, help="Print tables for a page.")
@click.option("--into", type=_FILE, help="Page (Markdown) whose tables are written anew.")
@click.option("--quick", is_flag=True, help="Little data and one run: whether all works, in a minute.")
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
    """Measure what brai costs, beside pyAgrum, pgmpy and causal-learn where they are installed.

    Without a CASE all are run, some minutes. Times are CPU time, best of several runs, ours and theirs by turns; a
    ratio below 1 means that brai is cheaper. With --compare and no CASE nothing is measured.

    \b
    Cases: ci-test, roofline, alarm-tree, alarm-posterior,
    hill-climbing, fit-and-chains, compile, link, scale.
    """
    if compare and history is None:
        raise ValueError("--compare needs the file of the runs: give --history FILE")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise ValueError("NUMBA_DISABLE_JIT is set, so nothing is compiled and times mean nothing: unset it")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from brai.research.bench import history as kept
    from brai.research.bench import page, picture, table
    from brai.research.bench.cases import CASES, run
    from brai.research.bench.measure import Settings

    unknown = [name for name in case if name not in CASES]
    if unknown:
        raise ValueError(f"unknown case {unknown[0]!r}: choose of {', '.join(CASES)}")
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
        click.echo(f"\nthe last run beside the one before\n{table.compared(kept.changes(records))}")
    if plot:
        picture.draw(plot, every, records)
