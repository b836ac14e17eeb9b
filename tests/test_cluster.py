"""The same on a cluster: real schedulers and workers in processes of their own, and what happens when they die."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time

import joblib
import pytest

from brai import Bootstrap, HillClimbing
from brai.runtime.checkpoint import Checkpoint
from brai.runtime.workers import ClusterError, Workers, as_they_come
from brai.tree import parallel_growth
from test_checkpoint import fitted, parts
from test_parallel import ASIA, learnt, members, outcome, same

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning"),
    pytest.mark.filterwarnings("default::DeprecationWarning:(distributed|dask|tornado|joblib)"),
]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            processes=True,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def parts_of_nodes(monkeypatch):
    monkeypatch.setattr(parallel_growth, "LARGE", 100)
    monkeypatch.setattr(parallel_growth, "ENOUGH", 4)


@pytest.fixture(scope="module")
def whole():
    """What a run gives that has neither cluster nor checkpoint."""
    return outcome(fitted(None))


@pytest.mark.parametrize("case", ["plain", "knowledge", "oracle", pytest.param("uint16", marks=pytest.mark.slow)])
def test_a_cluster_changes_nothing(case, client):
    wanted = learnt(case)[1]
    with joblib.parallel_config(backend="dask"):
        assert Workers(1).n > 1
        same(learnt(case)[1], wanted)


@pytest.mark.slow
def test_bootstraps_of_a_cluster_are_those_of_one_worker(client):
    wanted = Bootstrap(HillClimbing(), n=8, random_state=1).fit(ASIA)
    with joblib.parallel_config(backend="dask"):
        found = Bootstrap(HillClimbing(), n=8, random_state=1).fit(ASIA)
    assert members(found) == members(wanted)


def where(shared, x):
    return os.getpid(), shared[0] + x


def fails(x):
    raise OSError(f"task {x}")


def test_tasks_are_run_elsewhere_and_their_errors_are_their_own(client):
    with joblib.parallel_config(backend="dask"):
        found = Workers(1).run(where, [(x,) for x in range(6)], shared=([10],))
        assert [value for _, value in found] == [10, 11, 12, 13, 14, 15]
        assert os.getpid() not in {pid for pid, _ in found}
        with pytest.raises(OSError, match=r"task \d"):
            Workers(1).run(fails, [(x,) for x in range(3)])


# ---------------------------------------------------------------- workers that die


def killing(monkeypatch, client, prefix, n):
    """When the first part of this name is to be kept, n workers are killed; how often that happened."""
    save, killed = Checkpoint.save, []

    def watched(self, key, value):
        save(self, key, value)
        if key.startswith(prefix) and not killed:
            killed.extend(list(client.run(os.getpid).values())[:n])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    monkeypatch.setattr(Checkpoint, "save", watched)
    return killed


@pytest.mark.slow
@pytest.mark.parametrize(("prefix", "n"), [("tree", 1), ("orders", 2), ("chain-3", 1)])
def test_killed_workers_lose_nothing_and_change_nothing(prefix, n, client, tmp_path, whole, monkeypatch):
    client.wait_for_workers(2)
    killed = killing(monkeypatch, client, prefix, n)
    with joblib.parallel_config(backend="dask"):
        found = fitted(tmp_path / "run")
    assert len(killed) == n
    same(outcome(found), whole)


def slow(x):
    time.sleep(0.1)
    return x


def test_what_came_is_not_made_again(client):
    """The worker that made it may be killed."""
    client.wait_for_workers(2)
    pids = list(client.run(os.getpid).values())
    with joblib.parallel_config(backend="dask"):
        came = []
        for _, x in as_they_come(slow, [(x,) for x in range(8)]):
            came.append(x)
            if len(came) == 3:
                deadline = time.monotonic() + 60
                while sum(key.startswith("_given") for key in client.who_has()) > 5:  # all but these three
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
                os.kill(pids[0], signal.SIGKILL)
    assert sorted(came) == list(range(8))


# ---------------------------------------------------------------- a scheduler that dies


class Cluster:
    """A scheduler and a worker, each in a process of its own."""

    def __init__(self, folder):
        self._folder, self._file = folder, folder / "scheduler.json"
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        self._worker = self._start("dask_worker", "--nthreads", "2", "--no-nanny", "--death-timeout", "60")

    def _start(self, what, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{what}", *arguments]
        command += ["--no-dashboard", "--scheduler-file", str(self._file)]
        return subprocess.Popen(command, cwd=self._folder, stderr=subprocess.DEVNULL)

    def client(self):
        deadline = time.monotonic() + 60
        while not self._file.exists():
            assert time.monotonic() < deadline
            assert self.scheduler.poll() is None
            time.sleep(0.02)
        return distributed.Client(scheduler_file=str(self._file), set_as_default=True)

    def end(self):
        for process in (self.scheduler, self._worker):
            process.kill()
            process.wait()


@pytest.fixture
def frail(tmp_path):
    import dask

    cluster = Cluster(tmp_path)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # or a client waits half a minute for a scheduler to come back
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        client = cluster.client()
        try:
            client.wait_for_workers(1)
            yield cluster, client
        finally:
            client.close()
            cluster.end()


@pytest.mark.slow
def test_a_lost_scheduler_is_said_and_the_run_goes_on(frail, tmp_path, whole, monkeypatch):
    cluster, client = frail
    save = Checkpoint.save

    def watched(self, key, value):
        save(self, key, value)
        if key.startswith("tree"):
            cluster.scheduler.kill()
            cluster.scheduler.wait()

    with joblib.parallel_config(backend="dask", client=client):
        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "save", watched)
            with pytest.raises(ClusterError, match=r"(?s)the cluster was lost .* finished tasks are not"):
                fitted(tmp_path / "run")
        kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("*.part.brai")}
        assert any(name.startswith("tree") for name in kept)
        with pytest.raises(ClusterError, match="the cluster was lost"):  # it is tried again, and is not there
            fitted(tmp_path / "run")
        deadline = time.monotonic() + 60
        while client.status != "closed":
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(ClusterError, match="the cluster was lost"):
            fitted(tmp_path / "run")
    same(outcome(fitted(tmp_path / "run")), whole)
    for name, at in kept.items():
        assert (tmp_path / "run" / name).stat().st_mtime_ns == at
    assert len(parts(tmp_path / "run")) > len(kept)
