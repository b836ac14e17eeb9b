"""Parallel execution with joblib, whose configuration chooses threads, processes or a cluster.

Tasks are independent, start no further tasks, and have seeds of their own. So results do not depend on the number
of workers. By default tasks run in threads: compiled code releases the GIL, and data are not copied.
`joblib.parallel_config` chooses another backend. With ``backend="dask"`` tasks run on a dask.distributed cluster,
and ``n_jobs`` is ignored. Arguments that all tasks have in common (``shared``) are sent to each worker once.

If a worker is lost, its tasks are run again. If the scheduler is lost, a ClusterError is raised: at once if tasks
are running, else after dask's ``distributed.comm.timeouts.connect`` (30 s; ``...timeouts.tcp`` if a machine does
not respond).

With a checkpoint, results are stored on disk as tasks finish, and a task with a stored result is not run again.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import joblib
from joblib import Parallel, delayed
from joblib.parallel import ThreadingBackend, get_active_backend

from brai.runtime.checkpoint import Checkpoint, fingerprint

Result = TypeVar("Result")
SENT = 3  # maximal number of times that tasks are sent to a cluster that loses all its workers


class ClusterError(RuntimeError):
    """The cluster was lost. With a checkpoint, finished tasks are kept."""


@dataclass(frozen=True)
class Workers:
    """The number of workers, and the checkpoint that stores results."""

    n_jobs: int | None = 1
    checkpoint: Checkpoint | None = None
    prefix: str = ""  # of the keys in the checkpoint, where a run does the same step several times

    @property
    def n(self) -> int:
        """Number of tasks that run at the same time."""
        client = _cluster()
        if client is None:
            return int(joblib.effective_n_jobs(self.n_jobs))
        with suppress(Exception):  # a lost scheduler is reported by the next task
            return max(2, int(sum(client.ncores().values())))  # lost workers may come back
        return 2

    def knows(self, key: str) -> bool:
        """Whether the checkpoint contains a result with this key."""
        return self.checkpoint is not None and self.prefix + key in self.checkpoint

    def run(
        self,
        function: Callable[..., Result],
        tasks: Iterable[tuple[Any, ...]],
        *,
        shared: Sequence[Any] = (),
        keys: Sequence[str] | None = None,
        of: Sequence[Any] | None = None,
        kept: Callable[[Result], bool] = lambda result: True,
        advance: Callable[[], None] = lambda: None,
    ) -> list[Result]:
        """Results of function(*shared, *task), in the order of tasks; ``advance`` is called after each.

        With ``keys`` and a checkpoint, results for which ``kept`` is true are stored. ``of`` is for tasks that
        depend on earlier steps which a budget may have ended. It lists whatever else the results depend on; a
        stored result is then used only if its task was the same.
        """
        listed = list(tasks)
        found: list[Any] = [None] * len(listed)
        names, store = [self.prefix + key for key in keys or ()], None if keys is None else self.checkpoint
        if store is not None and of is not None:
            base = fingerprint(tuple(of))
            names = [f"{key}-{fingerprint((base, task))}" for key, task in zip(names, listed, strict=True)]
        todo = []
        for i in range(len(listed)):
            if store is not None and names[i] in store:
                found[i] = store.load(names[i])
                advance()
            else:
                todo.append(i)
        with closing(as_they_come(function, [listed[i] for i in todo], self.n_jobs, shared=shared)) as results:
            for at, result in results:
                found[todo[at]] = result
                if store is not None and kept(result):
                    store.save(names[todo[at]], result)
                advance()
        return found


ALONE = Workers()


def on_all_clocks(deadline: float) -> float:
    """Convert a deadline from `time.monotonic` to `time.time`: each machine has its own monotonic clock."""
    return deadline + time.time() - time.monotonic()


def on_this_clock(deadline: float) -> float:
    """The inverse of `on_all_clocks`."""
    return deadline + time.monotonic() - time.time()


def here(n_jobs: int | None) -> int:
    """Number of tasks that run at the same time in the memory of this machine; 1 if a cluster is used."""
    return 1 if _cluster() is not None else int(joblib.effective_n_jobs(n_jobs))


class Benches:
    """A pool of workspaces for one problem at a time; each is used by one task at a time, then reused."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Any]] = {}

    @contextmanager
    def one(self, key: str, make: Callable[[], Any]) -> Iterator[Any]:
        """An idle workspace for this problem, or a new one. Workspaces of other problems are released."""
        for other in list(self._idle):  # a copy, since other threads may add keys
            if other != key:
                self._idle.pop(other, None)
        idle = self._idle.setdefault(key, [])
        try:
            bench = idle.pop()  # atomic, since several threads may call this at the same time
        except IndexError:
            bench = make()
        yield bench
        idle.append(bench)

    def clear(self) -> None:
        """Release the memory."""
        self._idle.clear()


def as_they_come(
    function: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int | None = 1,
    *,
    shared: Sequence[Any] = (),
    prefer: Literal["threads", "processes"] = "threads",
) -> Generator[tuple[int, Result]]:
    """Yield the index and the result of each task as soon as it has finished."""
    client = _cluster()
    if client is not None and tasks:
        yield from _on_cluster(client, function, tasks, shared)
    elif len(tasks) < 2 or joblib.effective_n_jobs(n_jobs) == 1:
        for i, task in enumerate(tasks):
            yield i, function(*shared, *task)
    elif isinstance(get_active_backend(prefer=prefer)[0], ThreadingBackend):
        yield from _in_threads(function, tasks, shared, int(joblib.effective_n_jobs(n_jobs)))
    else:
        backend = get_active_backend(prefer=prefer)[0]
        if not getattr(backend, "supports_return_generator", False):  # multiprocessing: forking threads may hang
            name = type(backend).__name__.removesuffix("Backend").lower()
            raise ValueError(f"joblib's backend {name!r} cannot be used: choose 'loky', 'threading' or 'dask'")
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator_unordered", batch_size=1)
        results = parallel(delayed(_numbered)(i, function, shared, task) for i, task in enumerate(tasks))
        with _quietly_closed(results):
            for own in results:  # noqa: UP028 - yield from would close the generator itself
                yield own


def _in_threads(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], shared: Sequence[Any], n: int
) -> Iterator[tuple[int, Result]]:
    """Run tasks in threads. Joblib's own loop polls for results every 10 ms, which is longer than many tasks."""
    pool = ThreadPoolExecutor(min(n, len(tasks)))
    try:
        waiting = [pool.submit(_alone, i, function, shared, task) for i, task in enumerate(tasks)]
        for future in as_completed(waiting):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # results that are not needed any more are not waited for


def _alone(
    i: int, function: Callable[..., Result], shared: Sequence[Any], task: tuple[Any, ...]
) -> tuple[int, Result]:
    """Run a task that must not start further workers, as in joblib's threads."""
    with joblib.parallel_config(backend="sequential"):
        return i, function(*shared, *task)


@contextmanager
def _quietly_closed(results: Any) -> Iterator[None]:
    """Suppress joblib's warning about unused results, which is pointless after an error or Ctrl-C."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.close()


def _numbered(
    i: int, function: Callable[..., Result], shared: Sequence[Any], task: tuple[Any, ...]
) -> tuple[int, Result]:
    return i, function(*shared, *task)


def _cluster() -> Any:
    """The dask client that joblib is configured to use, or None."""
    backend, _ = get_active_backend()
    return backend.client if type(backend).__name__ == "DaskDistributedBackend" else None


def _on_cluster(
    client: Any, function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], shared: Sequence[Any]
) -> Iterator[tuple[int, Result]]:
    """Run tasks on a dask cluster. Each worker gets a copy of ``shared``; joblib keeps one, lost with its worker.

    A task whose worker is lost is run again by another; the result is the same, since the task has its own seed.
    If all workers are lost and new ones join, ``shared`` is sent again.
    """
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed import as_completed as as_they_end
    from distributed.comm.core import CommClosedError

    left, turns = dict(enumerate(tasks)), SENT
    while left:
        futures: dict[Any, int] = {}
        sent: list[Any] = []
        failed, turns = False, turns - 1
        try:
            sent = client.scatter(list(shared), broadcast=True, hash=False) if shared else []
            futures = {client.submit(_given, function, task, *sent, pure=False): i for i, task in left.items()}
            for future in as_they_end(list(futures)):  # type: ignore[no-untyped-call,unused-ignore]
                failed = future.status == "error"
                i, result = futures[future], future.result()
                del futures[future]
                future.release()  # a result kept by a worker would be computed again if that worker is lost
                del left[i]
                yield i, result
        except Exception as error:
            told = isinstance(error, CancelledError | CommClosedError | KilledWorker | TimeoutError | OSError)
            often = isinstance(error, KilledWorker)  # several workers were lost while they ran this task
            here = client.status == "running"
            if (failed and not often) or (here and not told):  # the error of a task, or of this program
                raise
            if often or not (here and turns):
                raise ClusterError(
                    f"the cluster was lost ({type(error).__name__}: {error}): start it again and fit again; with "
                    "a checkpoint, finished tasks are not run again"
                ) from error
        finally:
            with suppress(Exception):  # a lost scheduler cannot cancel
                client.cancel([*futures, *sent])


def _given(function: Callable[..., Result], task: tuple[Any, ...], *shared: Any) -> Result:
    return function(*shared, *task)
