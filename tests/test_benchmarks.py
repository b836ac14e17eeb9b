"""``brai bench``: times are taken by turns, the table says what was measured, and runs are kept and compared."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from brai.cli import cli
from brai.research.bench import history, page, table
from brai.research.bench.measure import PATIENCE, Measurement, Settings, again, interleave


def bench(*words):
    return CliRunner().invoke(cli, ["bench", *map(str, words)])


def measurement(value=1.0, **changes):
    return Measurement(**{"case": "c", "name": "n", "unit": "s", "value": value, **changes})


def record(*measurements, quick=False, processor="one"):
    own = [one.to_dict() for one in measurements]
    return {"quick": quick, "machine": {"processor": processor}, "measurements": own}


# --- the command -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two quick runs of two cases."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("bench")
    for more in ((), ("--compare", "--plot", folder / "runs.png")):
        result = bench("alarm-tree", "fit-and-chains", "--quick", "--history", folder / "runs.json", *more)
        assert result.exit_code == 0, result.output
        (folder / "said.txt").write_text(result.output, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_table_has_every_measurement(folder):
    said = (folder / "said.txt").read_text(encoding="utf-8")
    for one in json.loads((folder / "runs.json").read_text(encoding="utf-8"))[-1]["measurements"]:
        own = re.escape(table.number(one["value"]))
        assert re.search(rf"^{re.escape(one['name'])} +{own} s\b", said, re.MULTILINE), (one, said)
    assert re.search(r"^fit-and-chains: chains\(\) .*×", said, re.MULTILINE), "compared with the run before"


@pytest.mark.slow
def test_history_says_what_was_run_and_where(folder):
    first, second = json.loads((folder / "runs.json").read_text(encoding="utf-8"))
    assert first["date"] <= second["date"]
    assert {"processor", "cores", "numpy", "numba"} <= set(second["machine"])
    cases = {one["case"]: one for one in second["measurements"]}
    assert set(cases) == {"alarm-tree", "fit-and-chains"}
    assert all(one["value"] > 0 for one in second["measurements"])


@pytest.mark.slow
def test_picture_is_a_png(folder):
    assert (folder / "runs.png").read_bytes().startswith(b"\x89PNG")


def test_unknown_case_is_refused_with_those_there_are():
    result = bench("alarm-twee")
    assert isinstance(result.exception, ValueError)
    assert "'alarm-twee'" in str(result.exception)
    assert "alarm-tree" in str(result.exception)


def test_comparing_needs_a_history():
    assert "--history FILE" in str(bench("--compare").exception)


def test_help_names_every_case():
    from brai.research.bench.cases import CASES

    said = re.sub(r"\s+", " ", bench("--help").output)
    assert ", ".join(CASES) in said


def test_missing_peer_is_said_once(monkeypatch):
    from brai.research.bench import peers

    monkeypatch.setitem(peers.PACKAGES, "pyAgrum", "no_such_module")
    said: list[str] = []
    settings = Settings(say=said.append)
    assert peers.installed(settings, "pyAgrum") == peers.installed(settings, "pyAgrum") == []
    assert len(said) == 1
    assert "brai[bench]" in said[0]


def test_without_peers_everything_of_ours_is_measured(monkeypatch):
    from brai.research.bench import peers
    from brai.research.bench.cases import run

    for name in peers.PACKAGES:
        monkeypatch.setitem(peers.PACKAGES, name, "no_such_module")
    found = dict(run(["ci-test", "alarm-tree"], Settings(runs=1, quick=True, say=lambda _: None)))
    assert [one.name for one in found["ci-test"]] == [
        f"order {n}, {rows} rows" for rows in (500, 5000) for n in range(4)
    ]
    assert [one.peer for one in found["alarm-tree"]] == [None]
    assert all(0 < one.value < 1000 for one in found["ci-test"])


# --- times -------------------------------------------------------------------------------------------------


def test_candidates_take_turns_after_a_round_of_warm_up():
    turns: list[str] = []
    made = {name: again(lambda name=name: turns.append(name)) for name in ("ours", "theirs", "slow")}
    times = interleave(made, 2, cold=["slow"])
    assert turns == ["ours", "theirs", *["ours", "theirs", "slow"] * 2]
    assert set(times) == set(made)


def test_best_run_counts_and_patience_ends(monkeypatch):
    clock = iter([0.0, 5.0, 5.0, 7.0, 7.0, 7.0 + PATIENCE])  # runs of 5, 2 and PATIENCE seconds
    monkeypatch.setattr("brai.research.bench.measure.time.process_time", lambda: next(clock))
    assert interleave({"one": again(lambda: None)}, 9) == {"one": 2.0}


def test_target_is_met_or_not():
    assert measurement(2.0, peer="p", peer_value=2.0, target=1.0).met is True
    assert measurement(2.1, peer="p", peer_value=2.0, target=1.0).met is False
    assert measurement(2.0, target=3.0, target_of="value").met is True
    assert measurement(2.0, target=3.0, target_of="value", more=True).met is False
    assert measurement(2.0, target=1.0).met is None  # no peer, no ratio


# --- the model of a test -----------------------------------------------------------------------------------


def test_work_of_a_test_counted_by_hand():
    import numpy as np

    from brai.data.dataset import Dataset
    from brai.research.bench.model import mean_work
    from brai.tree.independence import CITest
    from brai.tree.rai import Learner

    x, y, z = [0, 0, 1, 2, 0, 0], [0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 1, 1]
    data = Dataset.from_codes(np.array([y, x, z]).T, arities=[2, 3, 2], names=["y", "x", "z"])
    work = mean_work(Learner(data, CITest("g2")), 3, [(1, 0, (2,))])
    # each of two z has two cells: 6 of 8 lanes, split by two of three states; 6 rows take 8 words
    assert work.words == 8 * 2 * 8
    assert work.filled == 6 / 8
    assert work.lookups == 8 * 3
    assert (work.sliced, work.visits) == (1, 0)
    assert work.shared_words == (2 + 2 + 8) * 8  # z of one cell, one state of y in each, a block
    assert work.shared_lookups == 4 + 2 + 2  # cells and z, each z once more


# --- runs that are kept -------------------------------------------------------------------------------------


def test_slower_is_told_by_the_ratio_to_a_live_peer():
    before = measurement(1.0, peer="pyAgrum", peer_value=1.0)
    busy = measurement(3.0, peer="pyAgrum", peer_value=3.0)  # all is slower: the machine
    slower = measurement(1.4, peer="pyAgrum", peer_value=1.0)
    assert [one.slower for one in history.changes([record(before), record(busy)])] == [False]
    assert [one.slower for one in history.changes([record(before), record(slower)])] == [True]


def test_figures_without_a_peer_are_compared_on_one_machine_only():
    before, after = measurement(1.0), measurement(1.4)
    assert [one.slower for one in history.changes([record(before), record(after)])] == [True]
    assert history.changes([record(before), record(after, processor="other")]) == []
    assert [one.slower for one in history.changes([record(after), record(before)])] == [False]
    more = (measurement(1.4, more=True), measurement(1.0, more=True))
    assert [one.slower for one in history.changes([record(one) for one in more])] == [True]


def test_a_stored_peer_does_not_tell_of_the_machine():
    before, after = (measurement(value, peer="bnlearn, stored", peer_value=9.0) for value in (1.0, 1.4))
    assert history.changes([record(before), record(after, processor="other")]) == []
    (change,) = history.changes([record(before), record(after)])
    assert (change.unit, change.slower) == ("s", True)


def test_compared_with_the_latest_run_that_has_it_and_is_as_quick():
    runs = [record(measurement(2.0)), record(measurement(9.0), quick=True), record(), record(measurement(2.2))]
    (change,) = history.changes(runs)
    assert (change.before, change.now) == (2.0, 2.2)


def test_one_run_cannot_be_compared():
    with pytest.raises(ValueError, match="two are needed"):
        history.changes([record(measurement())])


def test_file_that_is_no_history_is_left_alone(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(ValueError, match="no list of runs"):
        history.append(path, record(measurement()))
    assert path.read_text(encoding="utf-8") == '{"a": 1}'


# --- pages ----------------------------------------------------------------------------------------------------


def test_page_gets_its_table_and_keeps_the_rest(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- bench: c -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    new = table.markdown([measurement(0.5, peer="p", peer_value=1.0, target=1.0)])
    assert page.fill(path, {"c": new, "other": "x"}) == ["c"]
    text = path.read_text(encoding="utf-8")
    assert "| n | 0.5 s | p | 1 s | 0.5 | ≤ 1 | met |" in text
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("<!-- end -->\nafter\n")
    with pytest.raises(ValueError, match="no place for other"):
        page.fill(path, {"other": "x"})
