"""Measurements and timing: CPU time, best of several runs, alternating between ours and the peers'."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Run = Callable[[], Any]
Prepare = Callable[[], Run]  # prepares the function that is timed; the preparation is not timed

PATIENCE = 12.0  # CPU seconds after which a candidate is not run again


@dataclass(frozen=True)
class Measurement:
    """One figure of ours, and that of a peer if there is one."""

    case: str
    name: str
    unit: str
    value: float
    peer: str | None = None
    peer_value: float | None = None
    target: float | None = None  # upper limit, or lower limit if more is better
    target_of: Literal["value", "ratio"] = "ratio"
    more: bool = False  # whether more is better
    at: float | None = None  # x coordinate, for a point of a curve

    @property
    def ratio(self) -> float | None:
        """Ours divided by the peer's: below 1 means that ours is faster or smaller."""
        return self.value / self.peer_value if self.peer_value else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        measured = self.value if self.target_of == "value" else self.ratio
        if self.target is None or measured is None:
            return None
        return measured >= self.target if self.more else measured <= self.target

    @property
    def key(self) -> str:
        """Its name, the same in every run."""
        place = "" if self.at is None else f" at {self.at:g}"
        return f"{self.case}: {self.name}{place}" + (f" / {self.peer}" if self.peer else "")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass
class Settings:
    """The settings of a case, and the function that reports what was left out."""

    runs: int = 5
    quick: bool = False
    data: Path | None = None
    say: Callable[[str], None] = print
    missing: set[str] = field(default_factory=set)  # peers already reported as missing

    def network(self, name: str) -> Path | None:
        """The file of a network in the data folder, if it is there."""
        path = None if self.data is None else self.data / "networks" / f"{name}.bif.gz"
        return path if path is not None and path.is_file() else None


def interleave(candidates: Mapping[str, Prepare], runs: int, *, cold: Container[str] = ()) -> dict[str, float]:
    """Least CPU seconds of each candidate over ``runs`` rounds; each round runs every candidate once.

    A warm-up round comes first, without the candidates in ``cold``. A candidate that has used `PATIENCE` seconds
    in timed rounds is not run again.
    """
    spent = dict.fromkeys(candidates, 0.0)
    best: dict[str, float] = {}
    for name, prepare in candidates.items():
        if name not in cold:
            prepare()()
    for _ in range(runs):
        for name, prepare in candidates.items():
            if spent[name] > PATIENCE:
                continue
            run = prepare()
            start = time.process_time()
            run()
            seconds = time.process_time() - start
            spent[name] += seconds
            best[name] = min(seconds, best.get(name, seconds))
    return best


def again(run: Run) -> Prepare:
    """A candidate that needs no preparation."""
    return lambda: run
