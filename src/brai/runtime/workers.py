"""The one door to parallel work: joblib, whose configuration chooses threads, processes or a cluster.

Tasks are flat and independent, and each knows its own seed: results do not depend on the number of workers. By
default they run in threads: compiled code holds no lock, and data are not copied. `joblib.parallel_config` chooses
something else; under ``backend="dask"`` tasks go to the workers of a dask.distributed cluster, whatever ``n_jobs``
says. What all tasks need (``shared``) goes to each worker once.

A worker that is lost loses nothing. A scheduler that is lost is a ClusterError: at once if tasks are under way,
else after dask's ``distributed.comm.timeouts.connect`` (30 s; a machine that falls silent: ``...timeouts.tcp``).

With a checkpoint, results are kept on disk as they come, and a task whose result is there is not run again.
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
SENT = 3  # times that a cluster is sent the same tasks, at most, if it loses all its workers


class ClusterError(RuntimeError):
    """The cluster was lost; with a checkpoint, what is done is kept."""


@dataclass(frozen=True)
class Workers:
    """Who works, and where results are kept."""

    n_jobs: int | None = 1
    checkpoint: Checkpoint | None = None
    prefix: str = ""  # of the keys in the checkpoint, where a run does the same step several times

    @property
    def n(self) -> int:
        """How many tasks run side by side."""
        client = _cluster()
        if client is None:
            return int(joblib.effective_n_jobs(self.n_jobs))
        with suppress(Exception):  # the scheduler is lost: the next task will tell
            return max(2, int(sum(client.ncores().values())))  # lost workers may come back
        return 2

    def knows(self, key: str) -> bool:
        """Whether the result of this key is in the checkpoint."""
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

        Results with a key go to the checkpoint, if there is one and they are to be ``kept``. Where tasks are what
        earlier steps made, and a budget may have ended these, ``of`` lists what else the results depend on: a
        result is taken from the checkpoint only if its task was the same.
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
    """A deadline of `time.monotonic` as one of `time.time`: other machines have other clocks of their own."""
    return deadline + time.time() - time.monotonic()


def on_this_clock(deadline: float) -> float:
    """The way back."""
    return deadline + time.monotonic() - time.time()


def here(n_jobs: int | None) -> int:
    """How many tasks run side by side in the memory of this machine; those of a cluster run elsewhere."""
    return 1 if _cluster() is not None else int(joblib.effective_n_jobs(n_jobs))


class Benches:
    """Scratch memory for tasks of one problem at a time: made once for each worker, used by one task at a time."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Any]] = {}

    @contextmanager
    def one(self, key: str, make: Callable[[], Any]) -> Iterator[Any]:
        """A bench that nobody works at; those of other problems are cleared away."""
        for other in list(self._idle):  # in one go: threads may add to it
            if other != key:
                self._idle.pop(other, None)
        idle = self._idle.setdefault(key, [])
        try:
            bench = idle.pop()  # threads may ask at the same time
        except IndexError:
            bench = make()
        yield bench
        idle.append(bench)

    def clear(self) -> None:
        """Give the memory back."""
        self._idle.clear()


def as_they_come(
    function: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int | None = 1,
    *,
    shared: Sequence[Any] = (),
    prefer: Literal["threads", "processes"] = "threads",
) -> Generator[tuple[int, Result]]:
    """Number and result of each task as soon as it is there; they are handed out one by one."""
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
        if not getattr(backend, "supports_return_generator", False):  # multiprocessing: a fork of threads may hang
            name = type(backend).__name__.removesuffix("Backend").lower()
            raise ValueError(f"joblib's backend {name!r} cannot be used: choose 'loky', 'threading' or 'dask'")
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator_unordered", batch_size=1)
        results = parallel(delayed(_numbered)(i, function, shared, task) for i, task in enumerate(tasks))
        with _quietly_closed(results):
            for own in results:  # noqa: UP028 - yield from would close them itself
                yield own


def _in_threads(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], shared: Sequence[Any], n: int
) -> Iterator[tuple[int, Result]]:
    """Where joblib says threads: its own loop looks for results every 10 ms, which is longer than many a task."""
    pool = ThreadPoolExecutor(min(n, len(tasks)))
    try:
        waiting = [pool.submit(_alone, i, function, shared, task) for i, task in enumerate(tasks)]
        for future in as_completed(waiting):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # nobody waits for what nobody wants


def _alone(
    i: int, function: Callable[..., Result], shared: Sequence[Any], task: tuple[Any, ...]
) -> tuple[int, Result]:
    """A task that has no workers of its own, as in joblib's threads."""
    with joblib.parallel_config(backend="sequential"):
        return i, function(*shared, *task)


@contextmanager
def _quietly_closed(results: Any) -> Iterator[None]:
    """Joblib warns where results are not all taken: after an error or Ctrl-C nobody wants them."""
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
    """Each worker gets a copy of what is shared: with joblib's own way it is lost when one worker is.

    A task whose worker is lost is run again by another; the result is the same, since it has its own seed. If all
    workers are lost, and others come, what is shared is sent again.
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
                future.release()  # or a worker would keep it, and it would be made again if that one is lost
                del left[i]
                yield i, result
        except Exception as error:
            told = isinstance(error, CancelledError | CommClosedError | KilledWorker | TimeoutError | OSError)
            often = isinstance(error, KilledWorker)  # a task whose workers were lost again and again
            here = client.status == "running"
            if (failed and not often) or (here and not told):  # the error of a task, or of this program
                raise
            if often or not (here and turns):
                raise ClusterError(
                    f"the cluster was lost ({type(error).__name__}: {error}): start it again and fit again; with "
                    "a checkpoint, what is done is not done again"
                ) from error
        finally:
            with suppress(Exception):  # a lost scheduler cannot cancel
                client.cancel([*futures, *sent])


def _given(function: Callable[..., Result], task: tuple[Any, ...], *shared: Any) -> Result:
    return function(*shared, *task)
