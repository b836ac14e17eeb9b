"""``brai paper … --readings``: the experiments under other readings of the paper's CI test."""

from __future__ import annotations

import pytest

from brai.research.paper import figure3, readings
from brai.tree.independence import CITest
from test_paper import done, run

FAST = "fixed,fixed:0.2-unverified,auto-raised"
USED = ["fixed", "fixed:0.2-unverified", "auto-raised"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readings")
    return folder, done(folder, "table1", "--networks", "alarm", "--sets", 2, "--readings", FAST)


def test_table1_has_a_column_for_each_learner_and_reading(table):
    folder, content = table
    columns = [line["column"] for line in content["summary"]]
    assert columns == [readings.label(learner, name) for name in USED for learner in ("RAI", "B-RAI")]
    own = {line["column"]: line for line in content["summary"]}
    assert own["RAI, fixed"]["paper"] == own["RAI, auto-raised"]["paper"] == -52198
    assert "threshold" in own["B-RAI, auto-raised"]
    assert "threshold" not in own["B-RAI, fixed"]
    text = (folder / "table1.md").read_text()
    assert "| Alarm | -52198 → -51174 |" in text
    assert all(f"| {name} | " in text for name in USED)
    assert (folder / "table1.png").stat().st_size > 5000


def test_the_threshold_matters(table):
    values = {line["column"]: line["predictive"] for line in table[1]["summary"]}
    assert len(set(values.values())) == len(values)


def test_figure3_adds_curves(tmp_path):
    content = done(tmp_path, "figure3", "--sets", 1, "--trials", 1, "--readings", "fixed:0.2")
    rules = {line["rule"] for line in content["summary"] if line["panel"] == "left"}
    assert rules == {*figure3.RULES, "fixed:0.2"}
    curves = [line["curve"] for line in content["summary"] if line["panel"] == "right"]
    assert curves.count("B-RAI, fixed:0.2") == 4
    assert curves.count("RAI, fixed:0.2") == 27


def test_figure4_adds_methods(tmp_path):
    settings = ("--networks", "cancer", "--sets", 1, "--small", "--readings", "c1,auto-raised")
    content = done(tmp_path, "figure4", *settings)
    areas = {(line["method"], line["k"], line["feature"]): line["auc"] for line in content["summary"]}
    assert areas["B-RAI, auto-raised", 15, "edge"] == areas["B-RAI", 15, "edge"]  # it is the default
    assert ("B-RAI, c1", 5, "path") in areas
    assert "B-RAI, c1" in (tmp_path / "figure4.md").read_text()


@pytest.mark.parametrize("name", ["c2", "fixed:2", "fixed:0.1x", "auto:0.1"])
def test_an_unknown_reading_is_refused(name, tmp_path):
    result = run("table1", "--readings", name, "-o", tmp_path)
    assert result.exit_code == 2
    assert f"no reading {name!r}" in result.output
    assert "auto-raised" in result.output


def test_a_fixed_threshold_by_number():
    assert readings.test_of("fixed:0.02") == CITest("cmi", threshold=0.02, correction=False)
    assert readings.test_of("fixed:0.02-unverified").colliders is None
    mixed = ["auto", "fixed:0.02", "c1", "fixed"]
    assert sorted(mixed, key=readings.place) == ["c1", "fixed", "fixed:0.02", "auto"]
    assert readings.max_tests(724) == 20 * readings.max_tests(56)
