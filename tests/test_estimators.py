"""Front doors: identities of what is handed out, invariance, seeds, errors."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from brai import BRAI, RAI, CITest, Dataset, load_network
from brai.graphs.pdag import families_of
from brai.kinds.scores import FamilyScores
from brai.learners import drawing
from brai.posterior.chains import Convergence
from brai.runtime.seeds import seed_sequence
from brai.tree.draws import TooManyError
from conftest import random_data


def score_from_scratch(model, data):
    return FamilyScores(data, model.family_score, model.ess).total(families_of(model.dag_))


@given(
    seed=st.integers(0, 10**6), d=st.integers(1, 9), s=st.integers(1, 3), test=st.sampled_from(["cmi-c1", "g2"])
)
def test_identities(seed, d, s, test):
    data = random_data(np.random.default_rng(seed), d, 80)
    plain = BRAI(s, test, random_state=seed, structure_prior="uniform", ess=1.0)
    for model in (plain.fit(data), RAI(test).fit(data)):
        assert model.log_score_ == pytest.approx(score_from_scratch(model, data), abs=1e-9)
        assert model.dag_.is_dag()
        assert model.cpdag_.is_cpdag()
        assert model.cpdag_ == model.dag_.to_cpdag()
        assert (model.n_features_in_, tuple(model.feature_names_in_)) == (d, data.names)
    polished = BRAI(s, test, random_state=seed).fit(data)
    model = BRAI(s, test, random_state=seed, polish=False).fit(data)
    assert polished.log_score_ >= model.log_score_ - 1e-9
    assert polished.k_best(10)[0] == (polished.cpdag_, pytest.approx(polished.log_score_))
    ranked = model.k_best(10)
    assert ranked[0][1] == pytest.approx(model.log_score_, abs=1e-9)
    assert ranked[0][0] == model.cpdag_ or ranked[0][1] == pytest.approx(ranked[1][1], abs=1e-9)
    assert [x for _, x in ranked] == sorted((x for _, x in ranked), reverse=True)
    assert len({g for g, _ in ranked}) == len(ranked)
    for graph, _ in [*ranked, *model.sample(20, np.inf, random_state=1)]:
        assert graph.is_cpdag()
        assert graph.names == data.names
    assert {g for g, _ in model.sample(5, 0.0)} == {model.cpdag_}


@given(seed=st.integers(0, 10**6))
def test_order_of_columns_changes_only_the_order_of_the_output(seed):
    rng = np.random.default_rng(seed)
    data = random_data(rng, 8, 120)
    order = [data.names[i] for i in rng.permutation(8)]
    for make in (lambda: BRAI(2, random_state=3), lambda: BRAI.paper(2, random_state=3), lambda: RAI("g2")):
        a, b = make().fit(data), make().fit(data.select(order))
        assert b.cpdag_.names == tuple(order)
        assert b.cpdag_.reorder(data.names) == a.cpdag_
        assert b.dag_.reorder(data.names) == a.dag_
        assert b.log_score_ == a.log_score_  # to the last bit
        assert np.array_equal(a.n_ci_tests_, b.n_ci_tests_)
        if isinstance(a, BRAI):
            draws = [m.sample(20, 5.0, random_state=9) for m in (a, b)]
            assert [(g, x) for g, x in draws[0]] == [(g.reorder(data.names), x) for g, x in draws[1]]
            assert a.tree_.n_routes == b.tree_.n_routes


def fingerprint() -> str:
    data = load_network("asia").sample(300, random_state=5)
    model = BRAI(3, random_state=11).fit(data)
    return repr((sorted(leaf.families for leaf in model.tree_.leaves), model.log_score_, model.tree_.n_routes))


def test_same_seed_same_tree_in_a_new_process():
    code = "import sys; sys.path.insert(0, 'tests'); from test_estimators import fingerprint; print(fingerprint())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == fingerprint()


def test_seeds(rng):
    data = random_data(rng, 8, 100)
    leaves = [len(BRAI(3, random_state=i).fit(data).tree_.leaves) for i in range(4)]
    assert len(set(leaves)) > 1
    for kind in (5, np.int64(5), np.random.SeedSequence(5)):
        assert seed_sequence(kind).entropy == 5
    assert seed_sequence(None).entropy != seed_sequence(None).entropy
    drawn = [seed_sequence(np.random.default_rng(1)).entropy, seed_sequence(np.random.default_rng(1)).entropy]
    assert drawn[0] == drawn[1]
    assert seed_sequence(np.random.RandomState(1)).entropy == seed_sequence(np.random.RandomState(1)).entropy
    for wrong in (-1, "a", 1.5):
        with pytest.raises(ValueError, match="random_state"):
            seed_sequence(wrong)


def test_input_is_not_changed_and_kinds_agree(rng):
    data = random_data(rng, 5, 80)
    frame = pd.DataFrame(dict(zip(data.names, data.codes.astype(int), strict=True)))
    before = frame.copy()
    table = BRAI(2, random_state=0).fit(frame)
    pd.testing.assert_frame_equal(frame, before)
    seen = Dataset.of(frame)
    assert table.cpdag_ == BRAI(2, random_state=0).fit(seen).cpdag_


def test_paper_settings():
    model = BRAI.paper(4, random_state=2)
    test = CITest("cmi", threshold="auto")
    assert (model.s, model.ci_test, model.polish, model.draw, model.ess) == (4, test, False, "paper", 1.0)
    assert BRAI.paper(ci_test="cmi-c1").ci_test == "cmi-c1"
    assert BRAI.paper(ci_test=CITest("g2")).ci_test == CITest("g2")
    assert BRAI().get_params()["polish"] is True


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"s": 0}, "s is 0"),
        ({"s": 1.5}, "s is 1.5"),
        ({"ci_test": "nothing"}, "'nothing'"),
        ({"family_score": "mdl"}, "'mdl'"),
        ({"draw": "best"}, "'best'"),
        ({"ess": 0}, "ess is 0"),
        ({"max_order": -1}, "max_order is -1"),
        ({"max_tests": "many"}, "max_tests is 'many'"),
        ({"random_state": -3}, "random_state is -3"),
    ],
)
def test_wrong_arguments(settings, word):
    with pytest.raises(ValueError, match=word):
        BRAI(**settings).fit(np.array([[0, 1], [1, 0], [1, 1]]))


def test_wrong_ways_to_draw(rng):
    model = BRAI(2, random_state=0).fit(random_data(rng, 4, 40))
    with pytest.raises(ValueError, match="temperature is -1"):
        model.sample(1, -1)
    with pytest.raises(ValueError, match="temperature is nan"):
        model.sample(1, np.nan)
    with pytest.raises(ValueError, match="'best'"):
        model.set_params(draw="best").sample(1)
    with pytest.raises(ValueError, match="n is -3"):
        model.set_params(draw="exact").sample(-3)
    with pytest.raises(ValueError, match="k is 0"):
        model.k_best(0)
    with pytest.raises(NotFittedError):
        BRAI().sample()


@pytest.mark.parametrize("temperature", [1e-320, 1e-300, 1e-9, 1e300])
def test_extreme_temperatures(rng, temperature):
    model = BRAI(3, random_state=0, polish=False).fit(random_data(rng, 7, 100, density=0.6))
    found = {graph for graph, _ in model.sample(50, temperature, random_state=0)}
    assert (found == {model.cpdag_}) if temperature < 1 else len(found) > 1


def test_distribution(rng):
    model = BRAI(3, random_state=0, polish=False).fit(random_data(rng, 6, 80, density=0.6))
    rows = model.distribution(20.0)
    assert sum(p for *_, p in rows) == pytest.approx(1.0)
    assert len(rows) == model.n_distinct().n > 1
    assert model.distribution(0.0)[0] == (model.cpdag_, pytest.approx(model.log_score_), pytest.approx(1.0))
    with pytest.raises(TooManyError, match="raise the limit"):
        model.distribution(limit=1)


def test_count_of_distinct_graphs_becomes_a_bound(rng):
    model = BRAI(3, random_state=0).fit(random_data(rng, 6, 80, density=0.6))
    exact, bound = model.n_distinct(), model.n_distinct(limit=1)
    assert exact.exact
    assert not bound.exact
    assert bound.n >= exact.n


def test_verbose_shows_progress(rng, capsys):
    BRAI(2, random_state=0, verbose=True).fit(random_data(rng, 5, 60))
    assert "CI tests" in capsys.readouterr().err


@pytest.mark.parametrize(("polish", "share"), [(True, 0.4), (False, 1.0)])
def test_a_budget_leaves_time_for_the_search(polish, share, monkeypatch):
    seen = []
    chosen = BRAI._chosen

    def noted(self, scores, one, deadline):
        seen.append(deadline - time.monotonic())
        return chosen(self, scores, one, deadline)

    monkeypatch.setattr(BRAI, "_chosen", noted)
    BRAI(polish=polish, budget=1000, random_state=0).fit(load_network("cancer").sample(50, random_state=0))
    assert seen == [pytest.approx(1000 * share, abs=50)]


@pytest.mark.parametrize(
    ("r_hat", "ess", "differ", "good"),
    [(1.0, 500, 0.2, True), (1.0, 500, 0.8, False), (1.2, 500, 0.1, False), (1.0, 20, 0.1, False)],
)
def test_each_sign_of_chains_apart_warns(r_hat, ess, differ, good):
    chains = SimpleNamespace(convergence=lambda: Convergence(r_hat, ess, differ, 0.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drawing.warn_of_chains(chains)
    assert [one.category for one in caught] == ([] if good else [drawing.ConvergenceWarning])
