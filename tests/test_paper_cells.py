"""Cells and their journal: nothing that is finished is lost or computed again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from brai.research.paper.cells import Cell, Journal, run

HEADER = {"experiment": "test", "seed": 3}
CHILD = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_paper_cells import HEADER, Journal, run, slow_cells
results = run(Journal(Path(sys.argv[2]), HEADER), slow_cells(Path(sys.argv[3])), title="test")
"""


def square(n, log=None, stop=None):
    """n², with a mark in a folder for each call."""
    if log is not None:
        with (log / f"{n}").open("a") as file:
            file.write("x")
    if n == stop:
        raise KeyboardInterrupt
    return {"square": n * n, "third": n / 3}


def slow_square(n, log):
    time.sleep(0.05)
    return square(n, log)


def cells_of(numbers, log=None, stop=None):
    return [Cell(("n", str(n)), square, (n, log, stop)) for n in numbers]


def slow_cells(log):
    return [Cell(("n", str(n)), slow_square, (n, log)) for n in range(20)]


def calls(log):
    return {int(path.name): len(path.read_text()) for path in log.iterdir()}


def plain(results):
    return [{key: value for key, value in result.items() if key != "seconds"} for result in results]


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "test.cells.jsonl"


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_journal_has_the_run_and_then_a_cell_a_line(path):
    results = run(Journal(path, HEADER), cells_of((2, 5)), title="test")
    assert plain(results) == [{"square": 4, "third": 2 / 3}, {"square": 25, "third": 5 / 3}]
    assert all(0 <= result["seconds"] < 5 for result in results)
    header, *lines = lines_of(path)
    assert header == HEADER
    assert lines == [{"key": ["n", "2"], "result": results[0]}, {"key": ["n", "5"], "result": results[1]}]
    assert Journal(path, HEADER).done == {("n", "2"): results[0], ("n", "5"): results[1]}


def test_finished_cells_are_not_computed_again(path, log):
    first = run(Journal(path, HEADER), cells_of((1, 2, 3), log), title="test")
    assert calls(log) == {1: 1, 2: 1, 3: 1}
    before = path.read_bytes()
    assert run(Journal(path, HEADER), cells_of((1, 2, 3), log), title="test") == first
    assert path.read_bytes() == before
    # another order, more cells, fewer cells
    more = run(Journal(path, HEADER), cells_of((4, 3, 1), log), title="test")
    assert [more[1], more[2]] == [first[2], first[0]]
    assert more[0]["square"] == 16
    assert calls(log) == {1: 1, 2: 1, 3: 1, 4: 1}


@pytest.mark.parametrize("kept", [1, 0.5, 0])
def test_the_rest_of_a_line_is_cut_off_and_its_cell_computed_again(path, log, kept):
    """A line that lacks its line break, one cut in the middle, one of which a byte is there."""
    first = run(Journal(path, HEADER), cells_of((1, 2, 3), log), title="test")
    content = path.read_bytes()
    last = content.rindex(b"\n", 0, -1) + 1
    path.write_bytes(content[: last + max(1, int(kept * (len(content) - 1 - last)))])
    journal = Journal(path, HEADER)
    assert set(journal.done) == {("n", "1"), ("n", "2")}
    assert path.read_bytes() == content[:last]
    again = run(journal, cells_of((1, 2, 3), log), title="test")
    assert plain(again) == plain(first)
    assert again[:2] == first[:2]
    assert calls(log) == {1: 1, 2: 1, 3: 2}
    assert [line["key"][1] for line in lines_of(path)[1:]] == ["1", "2", "3"]


def test_a_run_that_was_killed_while_it_wrote_the_first_line_starts_anew(path):
    path.parent.mkdir()
    path.write_bytes(json.dumps(HEADER).encode()[:10])
    assert Journal(path, HEADER).done == {}
    assert lines_of(path) == [HEADER]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({**HEADER, "seed": 4}, "seed 3 (now 4)"),
        ({**HEADER, "experiment": "other"}, "experiment 'test' (now 'other')"),
        ({**HEADER, "more": 1}, "more None (now 1)"),
        ({"seed": 3}, "experiment 'test' (now None)"),
    ],
)
def test_a_journal_of_another_run_is_refused(path, header, said):
    run(Journal(path, HEADER), cells_of((1,)), title="test")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="give another folder with -o") as error:
        Journal(path, header)
    assert str(path) in str(error.value)
    assert said in str(error.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\x89PNG\r\n\x1a\n\x00\n", b'{"experiment": \n'])
def test_a_foreign_file_is_refused_and_left_as_it_is(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a journal of finished cells") as error:
        Journal(path, HEADER)
    assert str(path) in str(error.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"hello", b"a,b\n1,2"])
def test_a_foreign_file_without_a_line_break_is_left_as_it_is(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a journal of finished cells"):
        Journal(path, HEADER)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", ["[1, 2]\n", json.dumps(HEADER) + '\n{"x": 1}\n'])
def test_json_that_is_no_journal_is_refused(path, content):
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(ValueError, match="not a journal of finished cells"):
        Journal(path, HEADER)


def test_what_json_does_not_know_is_not_written(path):
    journal = Journal(path, HEADER)
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.add(("n", "1"), {"value": float("nan")})
    assert lines_of(path) == [HEADER]
    assert journal.done == {}


def test_the_number_of_workers_changes_nothing(tmp_path):
    cells = cells_of((5, 1, 4, 2, 3, 0))
    one, two = (
        run(Journal(tmp_path / f"{jobs}.jsonl", HEADER), cells, title="test", n_jobs=jobs) for jobs in (1, 2)
    )
    assert [result["square"] for result in one] == [25, 1, 16, 4, 9, 0]
    assert plain(two) == plain(one)
    assert sorted(line["key"] for line in lines_of(tmp_path / "2.jsonl")[1:]) == [["n", str(n)] for n in range(6)]


def timed(seconds):
    time.sleep(seconds)
    return {"end": time.time()}


def test_a_cell_is_journalled_as_soon_as_it_is_finished(path, monkeypatch):
    """Also where quick cells come before slow ones, and there are two workers."""
    late, add = [], Journal.add

    def watched(journal, key, result):
        add(journal, key, result)
        late.append(time.time() - result["end"])

    monkeypatch.setattr(Journal, "add", watched)
    cells = [Cell((str(n),), timed, (0.001 if n < 40 else 0.7,)) for n in range(46)]
    run(Journal(path, HEADER), cells, title="test", n_jobs=2)
    assert len(late) == 46
    assert max(late) < 0.5


def test_an_interrupt_keeps_finished_cells(path, log):
    with pytest.raises(KeyboardInterrupt):
        run(Journal(path, HEADER), cells_of(range(6), log, stop=3), title="test")
    assert set(Journal(path, HEADER).done) == {("n", "0"), ("n", "1"), ("n", "2")}
    results = run(Journal(path, HEADER), cells_of(range(6), log), title="test")
    assert [result["square"] for result in results] == [0, 1, 4, 9, 16, 25]
    assert calls(log) == {0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1}


def test_a_cell_that_fails_keeps_the_finished_ones(path):
    cells = [*cells_of((1, 2)), Cell(("n", "bad"), square, ("bad",))]
    with pytest.raises(TypeError):
        run(Journal(path, HEADER), cells, title="test")
    assert set(Journal(path, HEADER).done) == {("n", "1"), ("n", "2")}


def test_a_killed_run_loses_no_finished_cell(path, log, tmp_path):
    child = subprocess.Popen([sys.executable, "-c", CHILD, os.path.dirname(__file__), str(path), str(log)])
    try:
        deadline = time.monotonic() + 60
        while not (path.exists() and path.read_bytes().count(b"\n") >= 5):
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.01)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert child.returncode == -signal.SIGKILL
    before = path.read_bytes()
    finished = before.count(b"\n") - 1
    assert 4 <= finished < 20
    assert finished <= len(calls(log)) <= finished + 1  # at most the one in work

    results = run(Journal(path, HEADER), slow_cells(log), title="test")
    undisturbed = run(Journal(tmp_path / "x.jsonl", HEADER), cells_of(range(20)), title="test")
    assert plain(results) == plain(undisturbed)
    whole = before[: before.rindex(b"\n") + 1]
    assert path.read_bytes()[: len(whole)] == whole
    assert results[:finished] == [json.loads(line)["result"] for line in whole.splitlines()[1:]]
    assert {n: times for n, times in calls(log).items() if n < finished} == dict.fromkeys(range(finished), 1)
    assert len(lines_of(path)) == 21
