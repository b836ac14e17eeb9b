"""Front doors to exact answers and to DP-MCMC."""

import numpy as np
import pytest
from sklearn.base import clone

from brai import DPMCMC, Bootstrap, Exact, Posterior, exact, load_network
from brai.graphs.pdag import families_of
from brai.kinds.scores import FamilyScores
from brai.posterior.exact import TooLargeError


@pytest.fixture(scope="module")
def data():
    return load_network("asia").sample(300, random_state=5)


@pytest.fixture(scope="module")
def model(data):
    return Exact(k=50).fit(data)


def test_exact_gives_the_answers_of_the_functions(data, model):
    dag, log_score = exact.map_network(data)
    assert (model.dag_, model.cpdag_, model.log_score_) == (dag, dag.to_cpdag(), log_score)
    edges = exact.edge_probabilities(data)
    assert np.array_equal(model.edge_probabilities(), edges)
    np.testing.assert_allclose(model.adjacency_probabilities(), edges + edges.T, atol=1e-12)
    assert [c for c, _ in exact.k_best(data, 50)] == sorted(
        model.posterior().cpdags, key=[c for c, _ in exact.k_best(data, 50)].index
    )
    assert len(model.posterior(k=3)) == 3


def test_tables_and_consensus_are_those_of_all_dags(model):
    edges, names = model.edge_probabilities(), model.feature_names_in_.tolist()
    row = model.edge_table()[0]
    i, j = names.index(row["from"]), names.index(row["to"])
    assert row["strength"] == pytest.approx(edges[i, j] + edges[j, i])
    assert row["strength"] * row["direction"] == pytest.approx(edges[i, j])
    assert {frozenset((e["from"], e["to"])) for e in model.consensus(0.5).edges} == {
        frozenset((names[i], names[j])) for i, j in np.argwhere(np.triu(edges + edges.T >= 0.5))
    }


def test_what_is_handed_out_cannot_change_the_model(model):
    model.edge_probabilities()[:] = 7
    assert model.edge_probabilities().max() <= 1


def test_exact_predicts_and_refuses(data, model):
    rows = load_network("asia").sample(50, random_state=6)
    assert model.score(rows) == pytest.approx(model.score_samples(rows).mean())
    with pytest.raises(TooLargeError, match=r"max_gb=0\.01"):
        Exact(max_gb=0.01).fit(data)
    with pytest.raises(ValueError, match="k is 0"):
        Exact(k=0).fit(data)


def test_dp_mcmc_holds_the_best_of_its_draws(data):
    model = DPMCMC(2000, random_state=3).fit(data)
    assert model.log_score_ == model.chain_.log_scores.max()
    names = sorted(data.names)
    own = FamilyScores(data.select(names)).total(families_of(model.dag_.reorder(names)))
    assert own == pytest.approx(model.log_score_, abs=1e-9)
    posterior = model.posterior()
    assert isinstance(posterior, Posterior)
    assert posterior.probabilities.sum() == pytest.approx(1)
    assert np.abs(model.edge_probabilities() - model.chain_.edge_probabilities()).max() < 0.1
    assert np.array_equal(DPMCMC(2000, random_state=3).fit(data).chain_.parents, model.chain_.parents)
    assert not np.array_equal(DPMCMC(2000, random_state=4).fit(data).chain_.parents, model.chain_.parents)


def test_the_order_of_columns_changes_nothing(data):
    turned = data.select(data.names[::-1])
    for learner in (Exact(k=20), DPMCMC(500, random_state=1)):
        one, other = clone(learner).fit(data), clone(learner).fit(turned)
        assert one.dag_ == other.dag_.reorder(data.names)
        np.testing.assert_allclose(one.edge_probabilities(), other.edge_probabilities()[::-1, ::-1], atol=1e-12)


def test_both_are_estimators_like_the_others(data):
    assert clone(DPMCMC(7, thin=3)).get_params()["thin"] == 3
    strengths = Bootstrap(Exact(), n=5, random_state=0).fit(data).edge_table()
    assert strengths[0]["strength"] == 1.0
