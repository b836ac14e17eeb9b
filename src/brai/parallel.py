"""The one door to parallel work: joblib, whose configuration chooses threads, processes or a cluster.

Tasks are flat and independent, and each knows its own seed: results do not depend on the number of workers. By
default they run in threads, since compiled code holds no lock; ``joblib.parallel_config(backend=...)`` chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, delayed

Result = TypeVar("Result")


def run(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None = 1,
    advance: Callable[[], None] = lambda: None,
) -> list[Result]:
    """Results of function(*task), in the order of tasks; ``advance`` is called after each."""
    found = []
    results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(function)(*task) for task in tasks
    )
    for result in results:
        found.append(result)
        advance()
    return found


def results_as_they_come(
    function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], n_jobs: int | None = 1
) -> Iterator[Result]:
    """Results of function(*task) as soon as each is there; in processes, for tasks that are not compiled code.

    Tasks are handed out one by one: in a batch, a finished one would wait for the others.
    """
    yield from Parallel(n_jobs=n_jobs, prefer="processes", return_as="generator_unordered", batch_size=1)(
        delayed(function)(*task) for task in tasks
    )
