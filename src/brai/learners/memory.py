"""Memory that learning takes: estimated part by part, and refused before the work starts if it is not free.

- `estimate`: what learning from so many rows and variables takes.
- `foresee`: the same for data and a learner; MemoryError, with what is needed, what is free and the cure.
- `available`, `check`: see `brai.runtime.memory`.

Estimates are of the peak, and meant to be on the safe side by less than a factor of two. Only a tree that grows
without end is not foreseen; `max_tests` and `budget` end it. Exact learners have `brai.exact.estimate`.

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
from brai.search import family_table
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
    """What `BRAI` takes on so many rows and variables: ``states`` is the number for each variable, or for all.

    ``s``, ``polish`` and ``max_parents`` are those of `BRAI`. If ``chains`` is given, so many are added, each with
    so many ``draws``. Each of the ``workers`` but one takes a learner's memory besides. ``kind`` names the kind of
    the data.
    """
    levels = np.broadcast_to(np.asarray(states, dtype=np.int64), n_variables)
    sizes = kind_named(kind).sizes(n_rows, levels)
    parts = {"program": PROGRAM, "data": 2 * sizes.data}  # as it came, and sorted by name
    parts |= parallel_growth.bytes_needed(n_rows, n_variables, s, sizes, workers)
    if polish:
        parts["search"] = family_table.bytes_needed(n_rows, n_variables, max_parents)
    if chains:
        parts["chains"] = mcmc.bytes_needed(n_rows, levels, max_parents, chains, draws)
    return Estimate(parts)


def foresee(data: Any, settings: Any, *, chains: bool = False) -> Estimate:
    """What a learner with these settings (attributes, as of `BRAI`) takes; MemoryError if that is not free.

    What is there already, the program and the data, is not asked for again.
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
    found = estimate(data.n_rows, data.n_variables, states=kind.levels(data).tolist(), **chosen)
    free = available()
    if free is not None and found.bytes > SPARE * free:  # states that do not occur take less
        found = estimate(data.n_rows, data.n_variables, states=kind.levels_seen(data).tolist(), **chosen)
    what = f"learning from {data.n_rows} rows of {data.n_variables} variables"
    cure = CURE + ("; polish=False takes less" if getattr(settings, "polish", False) else "")
    if chains:
        what, cure = "drawing DAGs by chains", "lower max_parents, or ask for posterior_from='tree'"
    check(found.bytes - found.parts["program"] - found.parts["data"] / 2, f"{what} ({found})", cure)
    return found
