"""An experiment as independent cells: each is computed once, and written to a journal when it is finished.

A journal is a text file with one JSON document per line: first a description of the run, then the finished cells.
A run that was killed, even in the middle of a line, resumes with the missing cells; so does a run with more cells
than before. Each cell has its own seed, so the results do not depend on interruptions or on the number of workers.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from brai.runtime.progress import counted
from brai.runtime.workers import as_they_come

Key = tuple[str, ...]
Result = dict[str, Any]


class Cell(NamedTuple):
    """A computation, function(*arguments), identified by its key."""

    key: Key
    function: Callable[..., Result]
    arguments: tuple[Any, ...]


class Journal:
    """The finished cells of a run, in a file."""

    def __init__(self, path: Path, header: Mapping[str, Any]):
        self.path, self.header = path, dict(header)
        self.done: dict[Key, Result] = {}
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            if not _line(self.header).startswith(content):
                raise self._foreign()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
            self._append(self.header)
            return
        before, *cells = self._parsed(whole)
        if before != self.header:
            differs = [k for k in {**before, **self.header} if before.get(k) != self.header.get(k)]
            said = ", ".join(f"{k} {before.get(k)!r} (now {self.header.get(k)!r})" for k in differs)
            raise ValueError(f"{path} is from a run with {said}: give another folder with -o, or delete it")
        if len(whole) < len(content):  # an incomplete last line
            with path.open("r+b") as file:
                file.truncate(len(whole))
        self.done = {tuple(line["key"]): line["result"] for line in cells}

    def _parsed(self, whole: bytes) -> list[Any]:
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
        except ValueError as error:
            raise self._foreign() from error
        if not all(isinstance(line, dict) for line in lines) or not all(
            line.keys() == {"key", "result"} for line in lines[1:]
        ):
            raise self._foreign()
        return lines

    def _foreign(self) -> ValueError:
        return ValueError(f"{self.path} is not a journal of finished cells: delete it, or give another -o")

    def add(self, key: Key, result: Result) -> None:
        """Add a finished cell, in memory and on disk."""
        self._append({"key": key, "result": result})
        self.done[key] = result

    def _append(self, content: Mapping[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(_line(content))
            file.flush()
            os.fsync(file.fileno())


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def run(
    journal: Journal, cells: Sequence[Cell], *, title: str, n_jobs: int = 1, show: bool = False
) -> list[Result]:
    """Results of all cells in their order; cells in the journal are not computed again."""
    missing = [cell for cell in cells if cell.key not in journal.done]
    with counted(show, title, len(cells)) as advance:
        advance(n=len(cells) - len(missing))
        tasks = [(cell.key, cell.function, cell.arguments) for cell in missing]
        for _, (key, result) in as_they_come(_finished, tasks, n_jobs, prefer="processes"):
            journal.add(key, result)
            advance(f"{title}: {' '.join(key)} done")
    return [journal.done[cell.key] for cell in cells]


def _finished(key: Key, function: Callable[..., Result], arguments: tuple[Any, ...]) -> tuple[Key, Result]:
    start = time.perf_counter()
    result = function(*arguments)
    return key, {**result, "seconds": time.perf_counter() - start}
