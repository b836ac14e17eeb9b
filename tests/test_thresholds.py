"""CITest("cmi", threshold="auto"): the threshold is chosen by the score on the training data."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from brai import BRAI, RAI, CITest, load, load_network, save
from brai.learners.rai import BudgetWarning
from brai.research.paper import readings
from brai.show.report.build import page_data
from brai.tree.independence import GRID

AUTO = CITest("cmi", threshold="auto", correction=False)


@pytest.fixture(scope="module")
def data():
    return load_network("asia").sample(300, random_state=3)


def learners(test):
    return [RAI(test), BRAI.paper(2, ci_test=test, random_state=5)]


def test_the_grid_goes_from_few_tests_to_many():
    assert list(GRID) == sorted(set(GRID), reverse=True)
    assert len(AUTO.choices) == len(GRID)
    assert all(replace(one, threshold="auto") == AUTO for one in AUTO.choices)
    assert CITest("g2").choices == (CITest("g2"),)


@pytest.mark.parametrize("which", [0, 1])
def test_the_choice_is_the_best_single_fit(data, which):
    chosen = learners(AUTO)[which].fit(data)
    curve = chosen.threshold_curve_
    assert [tried.threshold for tried in curve] == list(GRID[: len(curve)])
    for tried in curve:
        one = learners(replace(AUTO, threshold=tried.threshold))[which].fit(data)
        assert (one.log_score_, one.n_ci_tests_.sum()) == (tried.log_score, tried.ci_tests)
        assert one.threshold_ is None
        assert one.threshold_curve_ == []
    best = max(tried.log_score for tried in curve)
    assert chosen.log_score_ == best
    assert chosen.threshold_ == next(tried.threshold for tried in curve if tried.log_score == best)
    same = learners(replace(AUTO, threshold=chosen.threshold_))[which].fit(data)
    assert same.dag_ == chosen.dag_
    assert np.array_equal(same.n_ci_tests_, chosen.n_ci_tests_)


def test_no_smaller_threshold_is_tried_after_a_truncated_fit(data, monkeypatch):
    assert len(RAI(AUTO).fit(data).threshold_curve_) == len(GRID)
    monkeypatch.setattr("brai.learners.rai.TRY_TESTS", 30)
    monkeypatch.setattr("brai.learners.rai.RISE", 1)
    with pytest.warns(BudgetWarning, match=r"30 CI tests with the threshold .*: give the threshold as a number"):
        curve = RAI(AUTO).fit(data).threshold_curve_
    assert [tried.truncated for tried in curve] == [False] * (len(curve) - 1) + [True]
    assert len(curve) < len(GRID)


def test_limits_are_told(data):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        curve = RAI(AUTO, max_tests=28).fit(data).threshold_curve_
    assert any(tried.truncated for tried in curve)
    assert not any(tried.truncated for tried in RAI(AUTO).fit(data).threshold_curve_)
    with pytest.warns(BudgetWarning, match=r"1 of \d+ thresholds"):
        hasty = BRAI.paper(2, ci_test=AUTO, random_state=0, budget=1e-9).fit(data)
    assert len(hasty.threshold_curve_) == 1


def test_a_checkpoint_keeps_the_trees_of_thresholds_apart(data, tmp_path):
    model = BRAI.paper(2, ci_test=AUTO, random_state=5)
    plain = model.fit(data)
    for _ in range(2):  # the second time from the finished parts
        kept = BRAI.paper(2, ci_test=AUTO, random_state=5, checkpoint=tmp_path / "parts").fit(data)
        assert kept.threshold_curve_ == plain.threshold_curve_
        assert kept.dag_ == plain.dag_


def test_the_choice_is_saved_and_reported(data, tmp_path):
    model = BRAI.paper(2, ci_test=AUTO, random_state=5).fit(data)
    save(model, tmp_path / "model.brai")
    again = load(tmp_path / "model.brai")
    assert again.threshold_curve_ == model.threshold_curve_
    assert again.threshold_ == model.threshold_
    assert page_data(model)["thresholds"] == [list(tried) for tried in model.threshold_curve_]
    assert page_data(RAI().fit(data))["thresholds"] == []


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"name": "cmi", "threshold": "best"}, ["'best'", "auto"]),
        ({"name": "cmi-c1", "threshold": "auto"}, ["cmi-c1", "only cmi"]),
        ({"name": "g2", "threshold": "auto"}, ["g2", "threshold"]),
    ],
)
def test_other_words_are_refused(test, words):
    with pytest.raises(ValueError, match=words[0]) as error:
        CITest(**test)
    assert words[1] in str(error.value)


def test_a_rule_needs_a_number():
    with pytest.raises(ValueError, match="give a number"):
        AUTO.rule(100, bootstrap=False)


def test_polish_and_chains_follow_the_choice(data):
    model = BRAI(2, AUTO, random_state=1, n_draws=300).fit(data)
    assert model.threshold_ in GRID
    assert model.log_score_ >= max(tried.log_score for tried in model.threshold_curve_)
    assert model.edge_probabilities().shape == (8, 8)


# --- readings of the paper's test ------------------------------------------------------------------------


def test_readings_come_in_pairs():
    for name, test in readings.READINGS.items():
        if not name.endswith("-unverified"):
            assert readings.READINGS[f"{name}-unverified"] == replace(test, colliders=None)
            assert test.verifies


def test_a_reading_settles_on_a_number(data):
    test = readings.settled("B-RAI", "auto", data, seed=5)
    model = readings.model_of("B-RAI", "auto", data.n_variables, 5).fit(data)
    assert test == replace(readings.READINGS["auto"], threshold=model.threshold_)
    assert readings.settled("RAI", "fixed", data, seed=5) == readings.READINGS["fixed"]


def test_comparison_with_the_paper():
    def line(network, column, predictive, paper):
        return {"network": network, "column": column, "predictive": predictive, "paper": paper}

    lines = [
        line("A", "RAI, auto", -110.0, -100.0),
        line("A", "B-RAI, auto", -99.0, -90.0),
        line("B", "RAI, auto", -100.0, -100.0),
        line("B", "B-RAI, auto", -120.0, -100.0),
        line("B", "RAI, fixed", -100.0, -100.0),
    ]
    (row,) = readings.compared(lines)
    assert row == {
        "reading": "auto",
        "networks": 2,
        "ahead": 1,
        "distance": pytest.approx((0.1 + 0.1 + 0 + 0.2) / 4),
    }
    assert "| auto | 1 of 2 | 10.0% |" in readings.as_text(lines)
    assert readings.as_text([]) == ""
    assert sorted(["B-RAI, auto", "RAI, auto", "RAI, c1"], key=readings.rank) == [
        "RAI, c1",
        "RAI, auto",
        "B-RAI, auto",
    ]
