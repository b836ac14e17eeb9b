"""Memory is foreseen: how much is free, what a table or a fit takes, and a refusal before the work starts.

- `available`: bytes that this process can still get.
- `estimate`: what learning from so many rows and variables takes, part by part.
- `check`, `check_table`, `foresee`: MemoryError, with what is needed, what is free and the cure.

Estimates are of the highest point, and meant to be on the safe side by less than a factor of two. Only a tree that
grows without end is not foreseen; `max_tests` and `budget` end it. Exact learners have
`brai.posterior.exact.estimate`.

>>> print(estimate(1_000_000, 50, polish=False))
1.08 GB: program 0.34, data 0.10, samples 0.44, scratch 0.20, graphs 0.00, tree 0.00
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from brai.data.dataset import Dataset

SPARE = 0.9  # of what is free: so much may be asked for
CELL = 400  # bytes of a different cell of a text file: its text, number and value
SET = 500  # bytes of a parent set in a table: a tuple in a dict, and its place in arrays
PROGRAM = 3.4e8  # bytes of Python, its libraries and compiled code
LEVELS = 7  # of the recursion that are open at a time; at each there is a bootstrap sample
ORDER = 4  # variables that one is tested with and given, mostly, at most
NEEDLESS = 22.0  # nats that needless parents may cost and still be listed for chains
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


# ---- what it takes ----


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


def estimate(
    n_rows: int,
    n_variables: int,
    *,
    states: int | Sequence[int] = 3,
    s: int = 3,
    polish: bool = True,
    max_parents: int = 4,
    chains: int = 0,
    draws: int = 1000,
    workers: int = 1,
) -> Estimate:
    """What `BRAI` takes on so many rows and variables: ``states`` is the number for each variable, or for all.

    ``s``, ``polish`` and ``max_parents`` are those of `BRAI`. If ``chains`` is given, so many are added, each with
    so many ``draws``. Each of the ``workers`` but one takes a learner's memory besides.
    """
    N, d = n_rows, n_variables
    arities = np.broadcast_to(np.asarray(states, dtype=np.int64), d)
    most = int(arities.max(initial=1))
    code = 1 if most <= 256 else 2
    parts = {"program": PROGRAM, "data": 2.0 * N * d * code}  # as it came, and sorted by name
    sliced = _sliced(N, arities)
    drawn = 0.64 * N * (d * code + 4) + sliced  # the rows that occur, in a sample with replacement
    parts["samples"] = 2 * (sliced + 4 * N) + LEVELS * drawn + 24 * N
    parts["scratch"] = _scratch(N, arities)
    parts["graphs"] = d * d * (20.0 + 5 * (LEVELS + 1))
    parts["tree"] = 5000.0 * s * d
    if workers > 1:
        each = parts["scratch"] + sliced + 4 * N + LEVELS * (drawn + 5.0 * d * d)
        parts["workers"] = (workers - 1) * each
    if polish:
        parts["search"] = SET * d * min(_all_sets(d, max_parents), 100 + N / 20) + 40 * d * d + 4e6
    if chains:
        listed = SET * _listed(N, arities, max_parents)
        parts["chains"] = listed + chains * (d * d * 4 + 2.0 * draws * d * min(max_parents, d)) + d * d * 8 + 4e6
    return Estimate(parts)


def _sliced(N: int, arities: np.ndarray[Any, Any]) -> float:
    """Bytes of one sample as bits (`brai.kinds.discrete.samples`)."""
    from brai.kinds.discrete.samples import FEW_STATES, _words

    return float(arities[arities <= FEW_STATES].sum() + 1) * 8 * _words(N)


def _scratch(N: int, arities: np.ndarray[Any, Any]) -> float:
    """Bytes of `brai.kinds.discrete.samples.workspace` that are touched, and of cell values.

    A table has the states of one variable times the configurations of those it is tested with and given: at most
    so many as rows, and as ORDER other variables have.
    """
    from brai.kernels.simd import LANES
    from brai.kinds.discrete.samples import _BLOCKS, _KEPT, _SLOTS, _STRATA, _words

    most, *next_ones = (float(r) for r in np.sort(arities)[::-1][: ORDER + 1])
    others = math.prod(next_ones)
    tables = 12.0 * most * min(2 * N + 64 + most, others)
    labels = LEVELS * N * 4 + (LEVELS * (_STRATA + 1) + LANES * _BLOCKS) * 8 * _words(N)
    return tables + labels + 16 * N + 8 * _SLOTS * min(N + 1, _KEPT) / 2


def _all_sets(d: int, max_parents: int) -> float:
    """Parent sets of a variable that a FamilyTable looks at."""
    from brai.search.family_table import LARGER, PAIRS

    larger = sum(math.comb(min(LARGER, d - 1), n) for n in range(3, min(max_parents, LARGER) + 1))
    return d + math.comb(min(PAIRS, d - 1), 2) + larger


def _listed(N: int, arities: np.ndarray[Any, Any], max_parents: int) -> float:
    """Parent sets of all variables that chains keep: those whose parameters cost little, needed or not."""
    from brai.search.family_table import LARGER, PAIRS

    d, price = len(arities), math.log(max(N, 2)) / 2
    mean = math.exp(float(np.log(arities).mean()))
    total = 100.0 * d
    for states, times in zip(*np.unique(arities, return_counts=True), strict=True):
        for n in range(1, min(max_parents, max(2, LARGER)) + 1):
            sets = math.comb(min(d - 1, (d, PAIRS, LARGER)[min(n, 3) - 1]), n)
            if states > 1 and (states - 1) * (mean**n - 1) * price <= NEEDLESS:
                total += float(times) * sets
    return total


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


def foresee(data: Dataset, settings: Any, *, chains: bool = False) -> Estimate:
    """What a learner with these settings (attributes, as of `BRAI`) takes; MemoryError if that is not free.

    What is there already, the program and the data, is not asked for again.
    """
    from brai.runtime.workers import here

    chosen: dict[str, Any] = {"polish": getattr(settings, "polish", hasattr(settings, "larger"))}
    for name in ("s", "max_parents"):
        if isinstance(value := getattr(settings, name, None), int):
            chosen[name] = value
    if hasattr(settings, "n_jobs"):
        chosen["workers"] = here(settings.n_jobs)
    if chains:
        chosen |= {"chains": settings.n_chains, "draws": settings.n_draws or 1000}
    found = estimate(data.n_rows, data.n_variables, states=data.arities.tolist(), **chosen)
    free = available()
    if free is not None and found.bytes > SPARE * free:  # states that do not occur take less
        seen = [len(np.unique(own)) for own in data.codes]
        found = estimate(data.n_rows, data.n_variables, states=seen, **chosen)
    what = f"learning from {data.n_rows} rows of {data.n_variables} variables"
    cure = CURE + ("; polish=False takes less" if getattr(settings, "polish", False) else "")
    if chains:
        what, cure = "drawing DAGs by chains", "lower max_parents, or ask for posterior_from='tree'"
    check(found.bytes - found.parts["program"] - data.codes.nbytes, f"{what} ({found})", cure)
    return found


def _gb(n: float) -> str:
    return f"{n / 1e9:.2g} GB" if n < 1e11 else f"{n / 1e9:.0f} GB"
