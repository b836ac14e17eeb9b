"""Measurements, and how times are taken: CPU time, best of several runs, ours and theirs by turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Run = Callable[[], Any]
Prepare = Callable[[], Run]  # makes what is run and timed; making it is not timed

PATIENCE = 12.0  # CPU seconds after which a candidate is not run again


@dataclass(frozen=True)
class Measurement:
    """One figure of ours, and the same of a peer if there is one."""

    case: str
    name: str
    unit: str
    value: float
    peer: str | None = None
    peer_value: float | None = None
    target: float | None = None  # at most this; at least, where more is better
    target_of: Literal["value", "ratio"] = "ratio"
    more: bool = False  # whether more is better
    at: float | None = None  # place on the axis, where it is a point of a curve

    @property
    def ratio(self) -> float | None:
        """Ours divided by theirs: below 1 is cheaper."""
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
        """What it is called from run to run."""
        place = "" if self.at is None else f" at {self.at:g}"
        return f"{self.case}: {self.name}{place}" + (f" / {self.peer}" if self.peer else "")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass
class Settings:
    """What a case is told, and where it says what it left out."""

    runs: int = 5
    quick: bool = False
    data: Path | None = None
    say: Callable[[str], None] = print
    missing: set[str] = field(default_factory=set)  # peers that were said to be missing

    def network(self, name: str) -> Path | None:
        """The file of a network in the data folder, if it is there."""
        path = None if self.data is None else self.data / "networks" / f"{name}.bif.gz"
        return path if path is not None and path.is_file() else None


def interleave(candidates: Mapping[str, Prepare], runs: int, *, cold: Container[str] = ()) -> dict[str, float]:
    """Least CPU seconds of each candidate over ``runs`` rounds, in each of which every candidate has its turn.

    A round of warm-up comes first, without those of ``cold``. A candidate that has had `PATIENCE` seconds in timed
    rounds keeps what it has.
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
