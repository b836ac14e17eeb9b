"""The history of benchmark runs: a JSON file with a list of records, one per run, oldest first."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from brai import __version__
from brai.research.bench.measure import Measurement, Settings
from brai.research.paper.record import machine
from brai.runtime.atomic_files import write_text

SLOWER = 1.3  # factor above which a figure is reported as slower
STORED = ("stored", "second fit")  # suffixes of peers that were not measured in alternation with ours
Record = dict[str, Any]
_FIELDS = {field.name for field in fields(Measurement)}


def record(measurements: Iterable[Measurement], settings: Settings) -> Record:
    """The record of a run."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "brai": __version__,
        "machine": machine(),
        "runs": settings.runs,
        "quick": settings.quick,
        "measurements": [one.to_dict() for one in measurements],
    }


def _commit() -> str | None:
    """The commit of the source, if it is in a git repository."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return found.stdout.strip() or None


def read(path: Path) -> list[Record]:
    """All records of a file; none if there is no file yet."""
    if not path.exists():
        return []
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}: give another file with --history") from error
    if not isinstance(records, list) or not all(
        isinstance(one, dict) and "measurements" in one for one in records
    ):
        raise ValueError(f"{path} holds no list of runs: give another file with --history")
    return records


def append(path: Path, new: Record) -> list[Record]:
    """Append a record atomically; return all records."""
    records = [*read(path), new]
    write_text(path, json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    return records


def measured(one: Record) -> dict[str, Measurement]:
    """The measurements of a record by their keys; fields added by a later version are ignored."""
    found = (Measurement(**{k: v for k, v in own.items() if k in _FIELDS}) for own in one["measurements"])
    return {own.key: own for own in found}


class Change(NamedTuple):
    """A figure of the last run and of the one before it."""

    key: str
    before: float
    now: float
    slower: bool
    unit: str


def changes(records: list[Record]) -> list[Change]:
    """Each figure of the last record, compared with the latest earlier record of the same kind that has it.

    Ratios to a peer in the same run are compared. Figures without a peer are compared only if the processor is the
    same.
    """
    if len(records) < 2:
        raise ValueError(f"runs in the history: {len(records)}; two are needed to compare")
    last, found = records[-1], []
    for key, now in measured(last).items():
        for earlier in reversed(records[:-1]):
            before = measured(earlier).get(key)
            if before is None or earlier["quick"] != last["quick"]:
                continue
            if (figures := _comparable(before, now, earlier, last)) is not None:
                found.append(figures)
            break
    return found


def _comparable(before: Measurement, now: Measurement, earlier: Record, last: Record) -> Change | None:
    live = now.peer is not None and not now.peer.endswith(STORED)
    if live and before.ratio and now.ratio:
        a, b, unit = before.ratio, now.ratio, "ratio"
    elif earlier["machine"].get("processor") == last["machine"].get("processor"):
        a, b, unit = before.value, now.value, now.unit
    else:
        return None
    grown = (a / b if b else math.inf) if now.more else (b / a if a else math.inf)
    return Change(now.key, a, b, grown > SLOWER and a != b, unit)
