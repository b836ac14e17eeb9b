"""Memory: how much is available, and an error before work starts that would need more.

This module does not know what the memory is for. Each layer estimates its own needs (``bytes_needed``,
`brai.kinds.base.Sizes`), and `brai.learners.memory` adds them up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SPARE = 0.9  # share of the available memory that may be used
CELL = 400  # bytes for each distinct cell of a text file: its text, code and value
CURE = "give fewer rows (Dataset.of(X[:n])) or columns"


# ---- available memory ----


def available(root: Path = Path("/")) -> int | None:
    """Bytes that this process can still allocate: minimum over machine, container, ulimit; None if unknown."""
    found = [*_machine(root), *_containers(root), *_limits(root)]
    return max(0, min(found)) if found else None


def _machine(root: Path) -> Iterator[int]:
    kilobytes = _fields(root / "proc/meminfo").get("MemAvailable")
    if kilobytes is not None:
        yield 1024 * kilobytes
    elif root == Path("/") and "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", {}):
        yield os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _containers(root: Path) -> Iterator[int]:
    """For each control group of this process: its limit minus the memory in use, file caches not counted."""
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
    """Bytes left of the address space (ulimit -v)."""
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
    """The numbers in a file with lines such as "MemAvailable: 1234 kB", by name."""
    lines = (line.replace(":", " ").split() for line in _read(path).splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


# ---- estimates ----


@dataclass(frozen=True)
class Estimate:
    """Estimated bytes for each part; printed in GB."""

    parts: Mapping[str, float]

    @property
    def bytes(self) -> float:
        """The sum of all parts."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        listed = ", ".join(f"{part} {own / 1e9:.2f}" for part, own in self.parts.items())
        return f"{self.bytes / 1e9:.2f} GB: {listed}"


# ---- checks ----


class NotEnoughError(MemoryError):
    """The work was not started, since it needs more memory than is available."""


def check(needed: float, what: str, cure: str = CURE) -> None:
    """Raise NotEnoughError, a MemoryError, if fewer than ``needed`` bytes are available."""
    free = available()
    if free is not None and needed > SPARE * free:
        raise NotEnoughError(f"{what} needs about {_gb(needed)} of memory, but {_gb(free)} are free: {cure}")


def check_table(n_rows: int, n_columns: int, name: str) -> None:
    """Raise NotEnoughError if the codes of a table do not fit: by column, and once more in one array."""
    what = f"reading {name}, {n_rows} rows of {n_columns} columns,"
    check(2 * n_rows * n_columns, what, "drop columns (drop=, --drop), or give fewer rows")


def _gb(n: float) -> str:
    return f"{n / 1e9:.2g} GB" if n < 1e11 else f"{n / 1e9:.0f} GB"
