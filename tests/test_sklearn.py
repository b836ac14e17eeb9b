"""The manners of scikit-learn: its own checks, pipelines, cloning, search over settings, any kind of table.

No check is excused. `check_array_api_input` skips itself unless SCIPY_ARRAY_API is set: data are categories, which
the array API has no type for.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from brai import BRAI, MMHC, RAI, Bootstrap, Dataset, HillClimbing, Network, OrderSearch, load_network

LEARNERS = [
    BRAI(s=2, n_draws=20, random_state=0),
    RAI(),
    HillClimbing(),
    OrderSearch(restarts=2),
    MMHC(),
    Bootstrap(RAI(), n=2, random_state=0),
]


@parametrize_with_checks(LEARNERS)
@pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix for nan or inf")
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def codes():
    return load_network("cancer").sample(300, random_state=0).codes.T.astype(int)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_tables_of_any_kind_give_the_same(learner, codes):
    names = [f"v{i}" for i in range(codes.shape[1])]
    frame = pd.DataFrame(codes, columns=names)
    before = frame.copy(deep=True)
    tables = [frame, pl.from_pandas(frame), pl.from_pandas(frame).to_arrow(), Dataset.of(frame)]
    models = [clone(learner).fit(table) for table in tables]
    pd.testing.assert_frame_equal(frame, before)
    for model in models:
        assert model.cpdag_ == models[0].cpdag_
        assert model.log_score_ == models[0].log_score_
        assert list(model.get_feature_names_out()) == list(model.feature_names_in_) == names
    unnamed = clone(learner).fit(codes)
    assert list(unnamed.feature_names_in_) == [f"x{i}" for i in range(codes.shape[1])]
    assert unnamed.log_score_ == pytest.approx(models[0].log_score_)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_clone_and_settings(learner):
    copy = clone(learner)
    assert copy.get_params().keys() == learner.get_params().keys()
    with pytest.raises(NotFittedError):
        copy.score(np.zeros((2, 2), int))
    with pytest.raises(NotFittedError):
        copy.get_feature_names_out()


def test_pipeline_discretises_and_learns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    X = pd.DataFrame({"x": x, "y": x + 0.3 * rng.normal(size=400), "z": rng.normal(size=400)})
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform", dtype=np.float64).set_output(
        transform="pandas"
    )
    model = make_pipeline(bins, HillClimbing())
    model.fit(X)
    assert [tuple(sorted(edge)) for edge in model[-1].cpdag_.undirected_edges()] == [("x", "y")]
    assert np.isfinite(model.score(X))


def test_cross_validation_prefers_the_true_graph_to_none(codes):
    scores = cross_val_score(HillClimbing(), codes, cv=3)
    empty = cross_val_score(HillClimbing(max_parents=0), codes, cv=3)
    assert scores.mean() > empty.mean()


def test_grid_search_finds_the_better_setting():
    rows = load_network("asia").sample(400, random_state=1).codes.T
    X = pd.DataFrame(rows, columns=list("abcdefgh")).astype(pd.CategoricalDtype([0, 1]))  # all states in each fold
    search = GridSearchCV(HillClimbing(), {"max_parents": [0, 3]}, cv=3).fit(X)
    assert search.best_params_ == {"max_parents": 3}
    found = [cross_val_score(HillClimbing(max_parents=n), X, cv=3).mean() for n in (0, 3)]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], found)


def test_score_is_the_mean_log_probability_of_rows(codes):
    train, test = codes[:200], codes[200:]
    model = HillClimbing().fit(train)
    network = Network.fit(model.dag_, Dataset.of(train))
    assert model.score(test) == pytest.approx(network.log_prob(Dataset.conforming(test, network)).mean())
