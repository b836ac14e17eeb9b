"""A run that was stopped, however that came about, goes on to the result of one that was not."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import brai
from brai import BRAI, Bootstrap, HillClimbing
from brai.graphs.pdag import PDAG
from brai.kinds.scores import FamilyScores
from brai.runtime import checkpoint
from brai.runtime.archive import FormatError
from brai.runtime.checkpoint import Checkpoint, OtherRunError, described, fingerprint
from brai.runtime.lock import FolderInUseError, claimed
from brai.runtime.workers import Workers
from brai.search.family_table import FamilyTable
from brai.search.orders import search_by_order
from brai.tree import parallel_growth
from brai.tree.ggt import BootstrapNode, Leaf
from brai.tree.independence import Oracle
from brai.tree.rai import Group, Learner
from test_parallel import ASIA, members, outcome, same

pytestmark = [
    pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::brai.learners.rai.BudgetWarning"),
]

SETTINGS = {"n_chains": 2, "n_draws": 20, "thin": 10, "random_state": 3}
TESTS = os.path.dirname(__file__)
CHILD = """
import sys, time, warnings
sys.path.insert(0, sys.argv[1])
from test_checkpoint import Checkpoint, fitted, parallel_growth
parallel_growth.ENOUGH = 4
warnings.simplefilter("ignore")
save = Checkpoint.save
def slow(self, key, value):  # so that whoever watches comes in time
    save(self, key, value)
    time.sleep(0.02)
Checkpoint.save = slow
fitted(sys.argv[2], n_jobs=int(sys.argv[3]))
print("not stopped")
"""


def fitted(folder, data=ASIA, **more):
    """A fit and its chains."""
    model = BRAI(**{**SETTINGS, "checkpoint": folder, **more}).fit(data)
    model.chains()
    return model


@pytest.fixture(scope="module")
def whole():
    """What a run gives that has no checkpoint."""
    return outcome(fitted(None))


@pytest.fixture(autouse=True)
def many_subtrees(monkeypatch):
    monkeypatch.setattr(parallel_growth, "ENOUGH", 4)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


def parts(folder):
    return sorted(path.name for path in folder.glob("*.part.brai"))


def saved_by(monkeypatch, run):
    """What run() gives, and the keys that it saved."""
    keys, save = [], Checkpoint.save

    def watched(self, key, value):
        keys.append(key)
        save(self, key, value)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", watched)
        return run(), keys


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A folder with all parts of a run."""
    folder = tmp_path_factory.mktemp("full") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_growth, "ENOUGH", 4)
        fitted(folder)
    return folder


def copied(full, folder):
    folder.mkdir()
    for path in full.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())


def test_a_checkpoint_changes_nothing_and_holds_each_step(full, folder, whole, monkeypatch):
    kinds = {name.split("-")[0].removesuffix(".part.brai") for name in parts(full)}
    assert kinds == {"node", "tree", "orders", "tabu", "chain"}
    copied(full, folder)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    again, keys = saved_by(monkeypatch, lambda: fitted(folder))
    assert keys == []
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    same(outcome(again), whole)


@pytest.mark.parametrize(("after", "n_jobs"), [(0, 1), (1, 2), (4, 1), (9, 2), (18, 1), (30, 2), (45, 1), (60, 2)])
def test_a_run_that_ends_anywhere_goes_on(after, n_jobs, folder, whole, full, monkeypatch):
    """It ends as the next part is to be kept, and goes on with the other number of workers."""
    save = Checkpoint.save

    def ends(self, key, value):
        if len(self) == after:
            raise KeyboardInterrupt
        save(self, key, value)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", ends)
        with pytest.raises(KeyboardInterrupt):
            fitted(folder, n_jobs=n_jobs)
    kept = parts(folder)
    assert len(kept) == after
    found, keys = saved_by(monkeypatch, lambda: fitted(folder, n_jobs=3 - n_jobs))
    same(outcome(found), whole)
    assert not {f"{key}.part.brai" for key in keys} & set(kept)
    assert parts(folder) == parts(full)


def stopped(folder, pattern, how, n_jobs=1):
    """Run in another process until there is a part of this name, then send it a signal; what it said."""
    command = [sys.executable, "-c", CHILD, TESTS, str(folder), str(n_jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            deadline = time.monotonic() + 120
            while not list(folder.glob(pattern)):
                assert time.monotonic() < deadline
                assert child.poll() is None, child.stderr.read()
                time.sleep(0.002)
            child.send_signal(how)
            said = child.communicate(timeout=60)
        finally:
            child.kill()
    assert "not stopped" not in said[0]
    return child.returncode, said[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_run_that_is_killed_again_and_again_goes_on(folder, whole, full, monkeypatch):
    seen = {}
    for pattern, n_jobs in (("tree-*", 2), ("tabu-*", 1), ("chain-9-*", 2)):
        code, _ = stopped(folder, pattern, signal.SIGKILL, n_jobs)
        assert code == -signal.SIGKILL
        for path in folder.glob("*.part.brai"):  # nothing was made again
            assert seen.setdefault(path.name, path.stat().st_mtime_ns) == path.stat().st_mtime_ns
    assert len(seen) < len(parts(full))
    found, keys = saved_by(monkeypatch, lambda: fitted(folder))
    same(outcome(found), whole)
    assert not {f"{key}.part.brai" for key in keys} & set(seen)
    for path in folder.glob("*.part.brai"):
        assert seen.get(path.name, path.stat().st_mtime_ns) == path.stat().st_mtime_ns


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_ends_a_run_and_it_goes_on(folder, whole):
    for pattern in ("tree-*", "chain-9-*"):
        code, said = stopped(folder, pattern, signal.SIGINT, 2)
        assert code == -signal.SIGINT
        assert said.rstrip().endswith("KeyboardInterrupt")
        assert not list(folder.glob(".*"))
    same(outcome(fitted(folder)), whole)


# ---------------------------------------------------------------- a full disk


@pytest.mark.parametrize(("step", "n_jobs"), [("write", 1), ("fsync", 2), ("replace", 1)])
def test_a_full_disk_is_named_and_loses_nothing(step, n_jobs, folder, whole, monkeypatch):
    full = threading.Event()
    owner, name = {"write": (zipfile.ZipFile, "writestr"), "fsync": (os, "fsync"), "replace": (Path, "replace")}[
        step
    ]
    own, save = getattr(owner, name), Checkpoint.save

    def fails(*arguments, **named):
        if full.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        return own(*arguments, **named)

    def watched(self, key, value):
        if len(self) == 8:
            full.set()
        save(self, key, value)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fails)
        patch.setattr(Checkpoint, "save", watched)
        with pytest.raises(OSError, match="No space left on device") as error:
            fitted(folder, n_jobs=n_jobs)
        assert error.value.errno == errno.ENOSPC
        assert str(folder) in str(error.value)
        assert "free some space and run again" in str(error.value)
        kept = parts(folder)
        assert len(kept) == 8
        assert not list(folder.glob(".*"))
    found, keys = saved_by(monkeypatch, lambda: fitted(folder))
    same(outcome(found), whole)
    assert not {f"{key}.part.brai" for key in keys} & set(kept)


def test_a_disk_that_is_full_from_the_start(folder, monkeypatch):
    def fails(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match="the checkpoint cannot be written") as error:
            fitted(folder)
    assert str(folder) in str(error.value)
    assert list(folder.iterdir()) == []


# ---------------------------------------------------------------- damaged, foreign


@pytest.mark.parametrize("kind", ["node", "tree", "orders", "tabu", "chain"])
def test_a_damaged_part_is_named_with_the_cure(kind, full, folder, whole):
    copied(full, folder)
    path = sorted(folder.glob(f"{kind}*"))[0]
    content = path.read_bytes()
    for damaged in (b"", content[:20], content[: len(content) // 2], content[:-1], b"hello", content[::-1]):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="Delete this file, and its part is computed again") as error:
            fitted(folder)
        assert str(path) in str(error.value)
    path.unlink()
    same(outcome(fitted(folder)), whole)
    assert path.read_bytes() == content


def test_a_part_under_the_name_of_another_is_damaged(full, folder):
    copied(full, folder)
    one, two, *_ = sorted(folder.glob("tree-*"))
    one.write_bytes(two.read_bytes())
    with pytest.raises(FormatError, match="it is the part 'tree-") as error:
        fitted(folder)
    assert str(one) in str(error.value)


@pytest.mark.parametrize("value", [["array", 7, "<i8"], ["array"], ["what", 1], [["tuple"]], ["group", 1], []])
def test_a_part_with_other_content_is_damaged(value, folder):
    folder.mkdir()
    store = Checkpoint(folder)
    store.save("x", 1)
    with zipfile.ZipFile(folder / "x.part.brai") as archive:
        meta = json.loads(archive.read("meta.json"))
    with zipfile.ZipFile(folder / "x.part.brai", "w") as archive:
        archive.writestr("meta.json", json.dumps({**meta, "value": value}))
    with pytest.raises(FormatError, match="Delete this file"):
        store.load("x")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"s": 2}, "s 3 (now 2)"),
        ({"random_state": 4}, "seed "),
        ({"ess": 2.0}, "ess 'auto' (now 2.0)"),
        ({"ci_test": "g2"}, "ci_test 'auto' (now 'g2')"),
        ({"knowledge": {"roots": ["smoke"]}}, "knowledge None (now"),
        ({"data": brai.load_network("asia").sample(400, random_state=1)}, "data "),
        ({"data": ASIA.select(list(ASIA.names)[::-1])}, "data "),
    ],
)
def test_another_run_is_refused_and_the_difference_named(changed, said, full, folder):
    copied(full, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError, match="give another folder, or delete this one") as error:
        fitted(folder, **changed)
    assert str(folder) in str(error.value)
    assert said in str(error.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_another_learner_is_refused(full):
    with pytest.raises(ValueError, match=r"learner 'BRAI' \(now 'Bootstrap'\)"):
        Bootstrap(HillClimbing(), n=2, random_state=3, checkpoint=full).fit(ASIA)


def test_workers_budget_and_talk_may_differ(full, whole, monkeypatch, capsys):
    found, keys = saved_by(monkeypatch, lambda: fitted(str(full), n_jobs=3, budget=1000.0, verbose=True))
    assert keys == []
    same(outcome(found), whole)


OTHERS = [brai.load_network("asia").sample(300, random_state=seed) for seed in (8, 9)]


def test_two_runs_that_start_together_do_not_mix(folder, monkeypatch):
    """Whoever comes second is told so, and the first one's result is that of a run alone."""
    written = checkpoint.write_text

    def slowly(path, text):  # so that both look before either has written
        time.sleep(0.2)
        written(path, text)

    monkeypatch.setattr(checkpoint, "write_text", slowly)
    alone = [outcome(fitted(None, data)) for data in OTHERS]
    for _ in range(4):
        found: dict[int, object] = {}
        gate = threading.Barrier(2)

        def one(i, found=found, gate=gate):
            gate.wait()
            try:
                found[i] = outcome(fitted(folder, OTHERS[i]))
            except (FolderInUseError, OtherRunError) as error:
                found[i] = error

        threads = [threading.Thread(target=one, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = [i for i in range(2) if not isinstance(found[i], Exception)]
        assert done  # nobody keeps both out
        for i in done:
            same(found[i], alone[i])
        for i in set(range(2)) - set(done):
            assert str(folder) in str(found[i])
        Checkpoint(folder).clear()
        assert not folder.exists()


def test_a_folder_in_use_is_refused_with_who_uses_it(folder):
    folder.mkdir()
    with claimed(folder), pytest.raises(FolderInUseError, match="give another folder") as error:
        fitted(folder)
    assert str(folder) in str(error.value)
    assert f"process {os.getpid()}" in str(error.value)
    assert list(folder.iterdir()) == []


def test_a_part_of_another_run_is_refused(full, folder, tmp_path):
    """Parts know their place in the tree; they know their run too."""
    fitted(tmp_path / "other", OTHERS[0])
    for kind in ("node", "tree", "orders"):
        copied(full, folder)
        ours = {path.name for path in folder.glob(f"{kind}*")}
        theirs = [path for path in sorted((tmp_path / "other").glob(f"{kind}*")) if path.name in ours]
        if not theirs:
            continue
        (folder / theirs[0].name).write_bytes(theirs[0].read_bytes())
        with pytest.raises(FormatError, match="it is a part of another run") as error:
            fitted(folder)
        assert theirs[0].name in str(error.value)
        Checkpoint(folder).clear()


@pytest.mark.parametrize("name", ["", b"x", 3])
def test_what_is_no_folder_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="give the name of a folder, or None"):
        fitted(name)
    assert list(tmp_path.iterdir()) == []


def test_no_seed_no_checkpoint(folder):
    with pytest.raises(ValueError, match="a checkpoint needs a random_state"):
        fitted(folder, random_state=None)
    with pytest.raises(ValueError, match="a checkpoint needs a random_state"):
        Bootstrap(HillClimbing(), n=2, checkpoint=folder).fit(ASIA)
    with pytest.raises(ValueError, match="random_state of the estimator too"):
        Bootstrap(HillClimbing(random_state=None), n=2, checkpoint=folder, random_state=1).fit(ASIA)
    assert not folder.exists()


@pytest.mark.parametrize("content", ["", "{", "[1]", "null"])
def test_a_damaged_description_is_named(content, full, folder):
    copied(full, folder)
    (folder / "run.json").write_text(content)
    with pytest.raises(ValueError, match="is damaged: delete the folder") as error:
        fitted(folder)
    assert str(folder / "run.json") in str(error.value)


def test_parts_without_a_description_are_refused(full, folder):
    copied(full, folder)
    (folder / "run.json").unlink()
    with pytest.raises(ValueError, match=r"parts of a run and no run\.json"):
        fitted(folder)


def test_a_file_is_no_folder(folder):
    folder.write_text("mine")
    with pytest.raises(NotADirectoryError, match="is a file"):
        fitted(folder)
    assert folder.read_text() == "mine"


def test_foreign_files_and_what_a_kill_left_are_let_be(full, folder, whole):
    copied(full, folder)
    (folder / "notes.txt").write_text("mine")
    (folder / ".tree-0-0.part.brai.0123abcd.part").write_bytes(b"half")
    same(outcome(fitted(folder)), whole)
    Checkpoint(folder).clear()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    Checkpoint(folder).clear()
    assert not folder.exists()


# ---------------------------------------------------------------- budget


@pytest.mark.parametrize(("asked", "n_jobs"), [(0, 1), (1, 2), (3, 1), (6, 2)])
def test_what_the_budget_cut_is_not_kept(asked, n_jobs, folder, full, whole, monkeypatch):
    """The time is up when it was asked for so many times; the tree is cut, and so search and chains differ."""
    left, must_stop = iter(range(asked)), Learner.must_stop

    def late(self, n, limit):
        self.tally.late |= next(left, None) is None
        return must_stop(self, n, limit) or self.tally.late

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "must_stop", late)
        cut = fitted(folder, n_jobs=n_jobs, budget=1000.0)
    assert cut.tree_.n_truncated
    whole_ones, kept = (
        {name for name in parts(own) if name.startswith(("tree", "node"))} for own in (full, folder)
    )
    assert kept < whole_ones
    assert (len(kept) > 0) == (asked > 0)
    for name in kept:
        assert (folder / name).read_bytes() == (full / name).read_bytes()
    same(outcome(fitted(folder)), whole)


@pytest.mark.parametrize("budget", [1e-9, 0.05, 0.2])
def test_a_budget_leaves_nothing_behind_that_harms(budget, folder, whole):
    """Whatever it cuts on this machine: the tree, the search, chains in the middle of their burn-in."""
    fitted(folder, budget=budget)
    same(outcome(fitted(folder)), whole)


def test_chains_that_a_budget_cut(full, folder, whole):
    copied(full, folder)
    for path in folder.glob("chain-*"):
        path.unlink()
    model = BRAI(**SETTINGS, checkpoint=folder).fit(ASIA)
    model.set_params(budget=1e-9)
    assert model.chains().parents.shape[1] < 20
    same(outcome(fitted(folder)), whole)


@pytest.mark.parametrize("first", [1, 3])
def test_a_search_on_another_table_is_another_one(first, folder):
    """A cut tree leaves another table to the search."""
    folder.mkdir()
    workers, scores, seed = (
        Workers(1, Checkpoint(folder)),
        FamilyScores(ASIA, "bdeu", 1.0),
        np.random.SeedSequence(1),
    )
    for most in (first, 4 - first):
        wanted, found = (
            search_by_order(FamilyTable(scores, max_parents=most), restarts=3, kicks=1, seed=seed, workers=own)
            for own in (Workers(1), workers)
        )
        assert (found.families, found.log_score, found.ends) == (wanted.families, wanted.log_score, wanted.ends)


# ---------------------------------------------------------------- Bootstrap


def bag(folder=None, learner=None, **more):
    arguments = {"n": 8, "random_state": 1, "checkpoint": folder, **more}
    return Bootstrap(learner or HillClimbing(), **arguments).fit(ASIA)


@pytest.mark.parametrize(("after", "n_jobs"), [(0, 1), (1, 2), (5, 1), (7, 2)])
def test_a_bootstrap_goes_on(after, n_jobs, folder, monkeypatch):
    wanted, save = bag(), Checkpoint.save

    def ends(self, key, value):
        if len(self) == after:
            raise KeyboardInterrupt
        save(self, key, value)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", ends)
        with pytest.raises(KeyboardInterrupt):
            bag(folder, n_jobs=n_jobs)
    assert len(parts(folder)) == after
    found, keys = saved_by(monkeypatch, lambda: bag(folder, n_jobs=3 - n_jobs))
    assert len(keys) == 8 - after
    assert members(found) == members(wanted)
    assert found.dag_ == wanted.dag_
    assert found.log_score_ == wanted.log_score_


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"n": 9}, r"n 8 \(now 9\)"), ({"random_state": 2}, "seed"), ({}, r"estimator\.max_parents None \(now 1\)")],
)
def test_another_bootstrap_is_refused(changed, said, folder):
    bag(folder)
    with pytest.raises(ValueError, match=said):
        bag(folder, HillClimbing(max_parents=None if changed else 1), **changed)


def test_a_learner_with_a_checkpoint_can_be_saved(folder, tmp_path):
    model = bag(folder)
    brai.save(model, tmp_path / "model.brai")
    assert brai.load(tmp_path / "model.brai").checkpoint is None  # where to write is not told by a file


# ---------------------------------------------------------------- what a part can hold


def test_values_come_back(folder):
    folder.mkdir()
    store = Checkpoint(folder)
    leaf, other = Leaf(((0, (1, 2)), (3, ())), -1.5, True, False), Leaf(((4, ()),), float("-inf"))
    value = (
        BootstrapNode(1, ((leaf, leaf), (other, BootstrapNode(2, ((leaf,),))))),
        [1, "text", None, True, float("inf"), float("nan"), np.float64(0.1), np.int32(7), np.bool_(False)],
        np.array([2**64 - 1, 0], np.uint64),
        np.array([[True, False]]),
        np.zeros((0, 3), np.int16),
        Group(np.arange(3), np.ones(3, np.uint8), np.eye(3, dtype=np.uint8), np.ones((3, 3), np.int32), 5, True),
    )
    store.save("x", value)
    assert "x" in store
    assert len(store) == 1
    node, plain, large, truth, nothing, group = store.load("x")
    first, second = node.groups
    assert first[0] is first[1] is second[1].groups[0][0]
    assert (first[0].families, first[0].log_score, first[0].repaired) == (leaf.families, -1.5, True)
    assert second[0].log_score == -np.inf
    assert plain[:5] == [1, "text", None, True, np.inf]
    assert np.isnan(plain[5])
    assert plain[6:] == [0.1, 7, False]
    for found, own in ((large, value[2]), (truth, value[3]), (nothing, value[4])):
        np.testing.assert_array_equal(found, own)
        assert found.dtype == own.dtype
    assert (group.pool_end, group.cut) == (5, True)
    np.testing.assert_array_equal(group.sep, value[5].sep)
    with pytest.raises(TypeError, match="a checkpoint cannot store a PDAG"):
        store.save("y", brai.load_network("asia").pdag)
    assert "y" not in store


def test_an_empty_checkpoint_is_one(folder):
    """It has a length, and may not count as none."""
    folder.mkdir()
    store = Checkpoint(folder)
    assert Workers(1, store).run(abs, [(-1,), (-2,)], keys=["a", "b"]) == [1, 2]
    assert len(store) == 2
    assert Workers(1, store).knows("a")
    assert not Workers(1, store).knows("c")


def test_a_part_is_taken_for_the_same_task_only(folder):
    folder.mkdir()
    workers = Workers(1, Checkpoint(folder))
    assert workers.run(max, [(1, 2)], keys=["a"], of=[np.arange(3)]) == [2]
    assert workers.run(min, [(1, 2)], keys=["a"], of=[np.arange(3)]) == [2]
    assert workers.run(min, [(1, 3)], keys=["a"], of=[np.arange(3)]) == [1]
    assert workers.run(min, [(1, 2)], keys=["a"], of=[np.arange(4)]) == [1]


def test_fingerprints_tell_values_apart():
    values = [1, 1.5, "1", None, True, (1, 2), [1, 2], ((1,), 2), np.arange(4), np.arange(4).reshape(2, 2)]
    values += [np.arange(4, dtype=np.int32), np.arange(4)[::-1], np.zeros(4, bool), np.zeros(4, np.uint8)]
    assert len({fingerprint(value) for value in values}) == len(values)
    assert fingerprint(np.arange(8)[::2]) == fingerprint(np.array([0, 2, 4, 6]))


def test_settings_are_described_alike_in_every_process():
    names = [f"v{i}" for i in range(20)]
    one, two = (Oracle(PDAG.from_edges(names, [(names[0], own)])) for own in names[1:3])
    assert described(one) != described(two)
    assert described(HillClimbing(allowed=np.eye(3, dtype=bool))) == described(
        HillClimbing(allowed=np.eye(3, dtype=bool))
    )
    assert described(HillClimbing(allowed=np.eye(3, dtype=bool))) != described(HillClimbing())
    assert described(BRAI(n_jobs=2, verbose=True)) == described(BRAI())
    assert described({"roots": set(names)}) == {"roots": sorted(names)}
    assert described(np.float64(1.0)) == described(1.0)
    assert "0x" not in json.dumps(described([one, BRAI(knowledge={"roots": {"a"}}), HillClimbing()]))
