"""What a fitted model answers: the same for any order of columns, kind of table, copy or second fit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from brai import BRAI, RAI, Dataset, Posterior, load_network
from brai.graphs.pdag import PDAG, families_of
from brai.kinds.scores import FamilyScores
from conftest import random_data

MATRICES = (
    "edge_probabilities",
    "adjacency_probabilities",
    "markov_blanket_probabilities",
    "path_probabilities",
)


@pytest.mark.parametrize("seed", range(4))
def test_order_of_columns_changes_only_the_order_of_answers(seed):
    rng = np.random.default_rng(seed)
    data = random_data(rng, 12, 150, density=0.3)
    order = rng.permutation(12)
    other = data.select([data.names[i] for i in order])
    a, b = (BRAI(2, random_state=3).fit(d) for d in (data, other))
    for name in MATRICES:
        assert np.array_equal(getattr(a, name)()[np.ix_(order, order)], getattr(b, name)())
    few = [m.path_probabilities(n_dags=3, random_state=5) for m in (a, b)]  # drawn, not enumerated
    assert np.array_equal(few[0][np.ix_(order, order)], few[1])
    assert np.array_equal(a.score_samples(data), b.score_samples(data))
    assert np.array_equal(a.score_samples(other, average=False), b.score_samples(data, average=False))
    assert a.edge_table() == b.edge_table()
    assert a.consensus().graph == b.consensus().graph.reorder(data.names)
    assert a.consensus().to_dag() == b.consensus().to_dag().reorder(data.names)
    effects = [m.causal_effect(data.names[0], data.names[5], n_dags=10) for m in (a, b)]
    assert effects[0].effect == effects[1].effect
    assert np.array_equal(effects[0].distribution, effects[1].distribution)


def test_arrays_are_matched_by_position(rng):
    """Among 12 unnamed columns x10 sorts before x2."""
    data = random_data(rng, 12, 100, max_arity=2)
    rows = data.codes.T.astype(int)
    model = BRAI(2, random_state=0).fit(rows)
    named = pd.DataFrame(rows, columns=model.feature_names_in_)
    assert np.array_equal(model.score_samples(rows), model.score_samples(named[named.columns[::-1]]))
    expected = model.network().log_prob(named)
    assert model.score_samples(rows, average=False) == pytest.approx(expected, abs=1e-9)


def test_best_graph_predicts_as_its_network_does(rng):
    data = random_data(rng, 6, 80)
    for model in (RAI().fit(data), BRAI(2, ess=3.0, random_state=0).fit(data)):
        assert model.score_samples(data, average=False) == pytest.approx(model.network().log_prob(data), abs=1e-9)
        assert model.score(data) == pytest.approx(model.score_samples(data).mean())
    likely = RAI().fit(data)
    assert likely.network(ess=0).log_prob(data).sum() >= likely.network().log_prob(data).sum()


def test_one_more_row_is_a_ratio_of_scores(rng):
    """P(row | G, D) = P(D, row | G) / P(D | G), so averaging is over posteriors that can be scored anew."""
    data = random_data(rng, 5, 60)
    rows = data.codes.T
    train, row = (
        Dataset.from_codes(own, arities=data.arities, names=data.names) for own in (rows[:-1], rows[-1:])
    )
    model = BRAI(3, random_state=0, ess=1.0).fit(train)
    posterior = model.model_posterior()
    total = 0.0
    for cpdag, p in zip(posterior.cpdags, posterior.probabilities, strict=True):
        families = families_of(cpdag.to_dag())
        total += p * np.exp(FamilyScores(data).total(families) - FamilyScores(train).total(families))
    assert model.score_samples(row)[0] == pytest.approx(np.log(total), abs=1e-9)


def test_second_fit_forgets_the_first(rng):
    first, second = random_data(rng, 5, 80), random_data(rng, 6, 90)
    model = BRAI(2, random_state=0).fit(first)
    model.edge_probabilities()
    fresh = BRAI(2, random_state=0).fit(second)
    assert np.array_equal(model.fit(second).edge_probabilities(), fresh.edge_probabilities())
    assert model.score(second) == fresh.score(second)


def test_copies(rng):
    data = random_data(rng, 5, 80)
    model = BRAI(2, random_state=0).fit(data)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.edge_probabilities(), model.edge_probabilities())
    assert np.array_equal(again.score_samples(data), model.score_samples(data))
    assert not hasattr(clone(model), "dag_")
    assert np.array_equal(
        pickle.loads(pickle.dumps(model.posterior())).edge_probabilities(), model.edge_probabilities()
    )


def test_draws_are_weighed_by_frequency(rng):
    model = BRAI(3, random_state=0).fit(random_data(rng, 6, 80, density=0.6))
    posterior = model.posterior(draws=200, temperature=20.0, prior="classes", random_state=4)
    drawn = [graph for graph, _ in model.sample(200, 20.0, random_state=4)]
    assert len(posterior) == len(set(drawn)) > 1
    for cpdag, p in zip(posterior.cpdags, posterior.probabilities, strict=True):
        assert p == pytest.approx(drawn.count(cpdag) / 200)


def test_draws_are_at_least_one(rng):
    model = BRAI(2, random_state=0).fit(random_data(rng, 4, 50))
    with pytest.raises(ValueError, match="draws is 0"):
        model.posterior(draws=0)
    assert model.posterior(draws=5).prior == "classes"
    assert model.posterior().prior == "dags"


def test_rai_is_one_class():
    asia = load_network("asia")
    model = RAI().fit(asia.sample(5000, random_state=0))
    assert len(model.posterior()) == 1
    assert set(np.unique(model.adjacency_probabilities())) == {0.0, 1.0}
    assert np.array_equal(model.markov_blanket_probabilities() == 1, model.cpdag_.moral())


@pytest.mark.slow
def test_held_out_score_chooses(rng):
    data = load_network("asia").sample(600, random_state=0)
    frame = pd.DataFrame(
        {n: pd.Categorical.from_codes(c, s) for n, c, s in zip(data.names, data.codes, data.states, strict=True)}
    )
    scores = cross_val_score(BRAI(2, random_state=0), frame, cv=3)
    assert np.isfinite(scores).all()
    assert scores.mean() == pytest.approx(-2.3, abs=0.3)


@pytest.mark.parametrize("name", ["posterior", *MATRICES, "consensus", "edge_table", "network"])
def test_unfitted(name):
    for model in (BRAI(), RAI()):
        with pytest.raises(NotFittedError):
            getattr(model, name)()
    with pytest.raises(NotFittedError):
        BRAI().score(np.zeros((2, 2), int))


def test_another_posterior_can_be_asked(rng):
    data = random_data(rng, 6, 80, density=0.6)
    model = BRAI(3, ess=1.0, random_state=0).fit(data)  # with ess "table" DAGs of a class predict nearly the same
    flat = model.posterior(draws=100, temperature=50.0)
    one = Posterior.from_scores([(model.cpdag_, 0.0)])
    assert model.score(data, posterior=one) == pytest.approx(model.score(data, average=False))
    assert model.score(data, posterior=flat) != model.score(data)
    assert model.log_predictive(data, posterior=one) == pytest.approx(80 * model.score(data, average=False))
    effects = [model.causal_effect("v00", "v01", posterior=p).p_causes for p in (flat, one)]
    assert effects == [p.path_probabilities()[0, 1] for p in (flat, one)]
    assert flat.edge_table() != model.edge_table()
    assert one.consensus().graph.skeleton().sum() == 2 * model.cpdag_.n_edges
    with pytest.raises(ValueError, match="draws=500"):
        model.posterior(temperature=10)
    with pytest.raises(ValueError, match="adjustment is 'none'"):
        model.causal_effect("v00", "v01", adjustment="none")


def test_a_graph_without_weight_is_no_trouble(rng):
    """Its probability is 0 or next to it; warnings are errors here."""
    data = random_data(rng, 4, 40)
    full, empty = PDAG(data.names, np.triu(np.ones((4, 4)), 1)), PDAG.from_edges(data.names)
    model = RAI().fit(data)
    for score in (-1e5, -740.0, -320.0):
        posterior = Posterior.from_scores([(full, 0.0), (empty, score)])
        alone = Posterior.from_scores([(full, 0.0)])
        found = model.score_samples(data, posterior=posterior)
        assert found == pytest.approx(model.score_samples(data, posterior=alone), abs=1e-12)
        assert np.isfinite(model.log_predictive(data, posterior=posterior))


def test_an_estimate_is_a_number():
    chain = PDAG.from_edges("abc", undirected=[("a", "b"), ("b", "c")])
    found = Posterior.from_scores([(chain, 0.0)]).probability(lambda dag: dag.has_path("a", "c"))
    assert float(found) == pytest.approx(1 / 3)


def test_modules_are_attributes():
    import brai

    assert callable(brai.posterior.effects.causal_effect)
    with pytest.raises(AttributeError, match="nothing"):
        brai.nothing
