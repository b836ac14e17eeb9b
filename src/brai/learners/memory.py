"""Memory needed for learning: estimates by part, and a check before the work starts.

- `estimate`: memory for a given number of rows and variables.
- `foresee`: the same for data and a learner; MemoryError if it is not free.
- `available`, `check`: see `brai.runtime.memory`.

Estimates are of the peak. They are meant to be too high rather than too low, by less than a factor of two. A very
large tree is not predicted; `max_tests` and `budget` limit it. For exact learners see `brai.exact.estimate`.

>>> print(estimate(1_000_000, 50, polish=False))
1.08 GB: program 0.34, data 0.10, samples 0.44, scratch 0.20, graphs 0.00, tree 0.00
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brai.kinds import kind_named, kind_of
from brai.posterior import mcmc
from brai.runtime.memory import CURE, SPARE, Estimate, available, check
from brai.runtime.workers import here
from brai.search import family_table, joint_parents
from brai.tree import parallel_growth

__all__ = ["Estimate", "available", "check", "estimate", "foresee"]

PROGRAM = 3.4e8  # bytes of Python, its libraries and compiled code


def estimate(  # arguments: options of a public function, by keyword
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
    kind: str = "discrete",
) -> Estimate:
    """Estimate the memory that `BRAI` needs for a table of ``n_rows`` × ``n_variables``.

    ``states`` is the number of states of each variable, or one number for all. ``s``, ``polish`` and
    ``max_parents`` are those of `BRAI`. ``chains`` is the number of Markov chains, each with ``draws`` draws. Each
    further worker needs the memory of a learner. ``kind`` is the name of the kind of data.
    """
    levels = np.broadcast_to(np.asarray(states, dtype=np.int64), n_variables)
    sizes = kind_named(kind).sizes(n_rows, levels)
    parts = {"program": PROGRAM, "data": 2 * sizes.data}  # in the order of columns, and sorted by name
    parts |= parallel_growth.bytes_needed(n_rows, n_variables, s, sizes, workers)
    if polish:
        parts["search"] = family_table.bytes_needed(n_rows, n_variables, max_parents)
        if n_variables > family_table.PAIRS + 1:
            parts["search"] += joint_parents.bytes_needed(n_variables)
    if chains:
        parts["chains"] = mcmc.bytes_needed(n_rows, levels, max_parents, chains, draws)
    return Estimate(parts)


def foresee(data: Any, settings: Any, *, chains: bool = False) -> Estimate:
    """Estimate the memory of a learner with these settings (attributes, as of `BRAI`); MemoryError if not free.

    Program and data are already in memory, so they need not be free.
    """
    chosen: dict[str, Any] = {"polish": getattr(settings, "polish", hasattr(settings, "larger"))}
    for name in ("s", "max_parents"):
        if isinstance(value := getattr(settings, name, None), int):
            chosen[name] = value
    if hasattr(settings, "n_jobs"):
        chosen["workers"] = here(settings.n_jobs)
    if chains:
        chosen |= {"chains": settings.n_chains, "draws": settings.n_draws or 1000}
    kind = kind_of(data)
    chosen["kind"] = kind.name
    chosen.setdefault("max_parents", kind.max_parents)
    found = estimate(data.n_rows, data.n_variables, states=kind.levels(data).tolist(), **chosen)
    free = available()
    if free is not None and found.bytes > SPARE * free:  # count only states that occur
        found = estimate(data.n_rows, data.n_variables, states=kind.levels_seen(data).tolist(), **chosen)
    what = f"learning from {data.n_rows} rows of {data.n_variables} variables"
    cure = CURE + ("; polish=False needs less" if getattr(settings, "polish", False) else "")
    if chains:
        what, cure = "drawing DAGs by chains", "lower max_parents, or set posterior_from='tree'"
    check(found.bytes - found.parts["program"] - found.parts["data"] / 2, f"{what} ({found})", cure)
    return found
