"""Memory: how much is free, and a refusal before work starts that would take more.

Nothing here knows what memory is needed for: each layer tells what it needs (``bytes_needed``,
`brai.kinds.base.Sizes`), and `brai.learners.memory` adds it up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SPARE = 0.9  # of what is free: so much may be asked for
CELL = 400  # bytes of a different cell of a text file: its text, number and value
CURE = "give fewer rows (Dataset.of(X[:n])) or columns"


# ---- what is free ----


def available(root: Path = Path("/")) -> int | None:
    """Bytes that this process can still get: of the machine, of its container, of its limits; None if unknown."""
    found = [*_machine(root), *_containers(root), *_limits(root)]
    return max(0, min(found)) if found else None


def _machine(root: Path) -> Iterator[int]:
    kilobytes = _fields(root / "proc/meminfo").get("MemAvailable")
    if kilobytes is not None:
        yield 1024 * kilobytes
    elif root == Path("/") and "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", {}):
        yield os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _containers(root: Path) -> Iterator[int]:
    """Of each control group that holds this process: its limit less what is used, but for files kept in memory."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("memory" if kinds else "")
        limit, used = ("limit_in_bytes", "usage_in_bytes") if kinds else ("max", "current")
        inner = top / path.strip("/")
        for folder in [inner, *inner.parents]:
            most, now = (_read(folder / f"memory.{name}").strip() for name in (limit, used))
            if most.isdigit() and now.isdigit():
                kept = _fields(folder / "memory.stat")
                yield int(most) - int(now) + kept.get("inactive_file", 0) + kept.get("active_file", 0)
            if folder == top:
                break


def _limits(root: Path) -> Iterator[int]:
    """Of the address space (ulimit -v)."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _read(root / "proc/self/statm").split()
    if most != resource.RLIM_INFINITY and pages:
        yield most - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def _fields(path: Path) -> dict[str, int]:
    """The numbers of a file of lines such as "MemAvailable: 1234 kB"."""
    lines = (line.replace(":", " ").split() for line in _read(path).splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


# ---- what is needed ----


@dataclass(frozen=True)
class Estimate:
    """Bytes by part; printed in GB."""

    parts: Mapping[str, float]

    @property
    def bytes(self) -> float:
        """The sum of all parts."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        listed = ", ".join(f"{part} {own / 1e9:.2f}" for part, own in self.parts.items())
        return f"{self.bytes / 1e9:.2f} GB: {listed}"


# ---- refusals ----


class NotEnoughError(MemoryError):
    """Work was refused before it took memory that is not there."""


def check(needed: float, what: str, cure: str = CURE) -> None:
    """Raise NotEnoughError, a MemoryError, if so many bytes are not free."""
    free = available()
    if free is not None and needed > SPARE * free:
        raise NotEnoughError(f"{what} needs about {_gb(needed)} of memory where {_gb(free)} are free: {cure}")


def check_table(n_rows: int, n_columns: int, name: str) -> None:
    """Refuse to read a table whose codes do not fit: those of columns, and all of them in one array."""
    what = f"reading {name}, {n_rows} rows of {n_columns} columns,"
    check(2 * n_rows * n_columns, what, "drop columns (drop=, --drop), or give fewer rows")


def _gb(n: float) -> str:
    return f"{n / 1e9:.2g} GB" if n < 1e11 else f"{n / 1e9:.0f} GB"
