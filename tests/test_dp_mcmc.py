"""The chain over DAGs against the exact posterior."""

import numpy as np
import pytest

from all_dags import all_dags, bdeu_scores
from brai import Dataset, Posterior, exact, load_network
from brai.graphs.pdag import families_of
from brai.kinds.scores import FamilyScores
from brai.posterior.dp_mcmc import KINDS, sample_dags
from conftest import random_data


def off(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


@pytest.mark.parametrize("name", ["cancer", "earthquake", "survey", "asia"])
def test_edge_frequencies_are_exact_probabilities(name):
    data = load_network(name).sample(500, random_state=1)
    truth = exact.edge_probabilities(data)
    chain = sample_dags(data, 50_000, thin=20, random_state=0)
    assert off(np.abs(chain.edge_probabilities() - truth)).mean() < 0.01
    prior_of_proposals = exact.edge_probabilities(data, prior="order")
    assert off(np.abs(prior_of_proposals - truth)).mean() > 0.01  # that the bound can tell apart
    assert all(0 < chain.acceptance[kind] < 1 for kind in KINDS)


@pytest.mark.parametrize("global_share", [0.0, 0.1, 1.0])
def test_each_dag_is_drawn_as_often_as_it_should(global_share):
    """Local moves alone, global moves alone, and both, have one distribution: every DAG by its score."""
    data = random_data(np.random.default_rng(3), 3, 12, 2)
    scores = bdeu_scores(all_dags(3), data, 1.0)
    w = np.exp(scores - scores.max())
    w /= w.sum()
    chain = sample_dags(data, 40_000, thin=5, global_share=global_share, random_state=1)
    drawn = chain.adjacency()
    shares = [(drawn == dag).all(axis=(1, 2)).mean() for dag in all_dags(3)]
    assert sum(shares) == pytest.approx(1)
    np.testing.assert_allclose(shares, w, rtol=0, atol=0.012)
    assert w.max() - w.min() > 0.024


def test_draws_make_a_posterior():
    data = load_network("survey").sample(500, random_state=1)
    chain = sample_dags(data, 20_000, random_state=0)
    found = Posterior.from_draws(chain.draws(), drawn="dags")
    assert off(np.abs(found.edge_probabilities() - exact.edge_probabilities(data))).mean() < 0.01


def test_log_scores_are_those_of_the_dags_and_in_degree_is_kept():
    data = load_network("asia").sample(200, random_state=2)
    data = data.select(data.names[::-1])
    chain = sample_dags(data, 50, max_parents=2, ess=3.0, thin=50, random_state=5)
    scores = FamilyScores(data, ess=3.0)
    np.testing.assert_allclose(chain.edge_probabilities(), chain.adjacency().mean(axis=0), rtol=0, atol=1e-12)
    for (dag, score), drawn in zip(chain.draws(), chain.adjacency(), strict=True):
        assert dag.is_dag()
        assert np.array_equal(dag.adjacency, drawn)
        assert dag.names == data.names
        assert max(len(own) for _, own in families_of(dag)) <= 2
        assert scores.total(families_of(dag)) == pytest.approx(score, abs=1e-9)
    assert len({dag for dag, _ in chain.draws()}) > 10


@pytest.mark.kernels
def test_seed_and_order_of_columns():
    data = load_network("asia").sample(200, random_state=2)
    one, two = (sample_dags(data, 300, random_state=4) for _ in range(2))
    assert np.array_equal(one.parents, two.parents)
    assert not np.array_equal(one.parents, sample_dags(data, 300, random_state=5).parents)
    turned = sample_dags(data.select(data.names[::-1]), 300, random_state=4)
    assert np.array_equal(one.parents, turned.parents)
    assert np.array_equal(one.adjacency(), turned.adjacency()[:, ::-1, ::-1])


@pytest.mark.kernels
def test_moves_are_counted():
    data = load_network("cancer").sample(100, random_state=2)
    chain = sample_dags(data, 70, burn_in=33, thin=3, global_share=0.5, random_state=0)
    assert len(chain) == 70
    assert sum(chain.proposed.values()) == 33 + 210
    assert 80 < chain.proposed["global"] < 160
    assert all(chain.accepted[kind] <= chain.proposed[kind] for kind in KINDS)


@pytest.mark.kernels
def test_blocks_do_not_change_the_chain(monkeypatch):
    """Draws are at steps burn_in + thin, burn_in + 2 thin, …, also where a block of random numbers ends."""
    data = load_network("cancer").sample(100, random_state=2)
    every = sample_dags(data, 120, burn_in=0, thin=1, global_share=0.0, random_state=0)
    third = sample_dags(data, 40, burn_in=0, thin=3, global_share=0.0, random_state=0)
    assert np.array_equal(every.parents[2::3], third.parents)
    monkeypatch.setattr("brai.posterior.dp_mcmc._BLOCK", 50)
    short = sample_dags(data, 40, burn_in=0, thin=3, global_share=0.0, random_state=0)
    assert np.array_equal(short.parents[:16], sample_dags(data, 16, burn_in=0, thin=3, global_share=0.0).parents)
    assert (short.parents[-1] != 0).any()


@pytest.mark.kernels
def test_one_variable():
    assert sample_dags(Dataset.from_codes(np.array([[0], [1]])), 3).parents.tolist() == [[0], [0], [0]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"thin": 0}, "thin is 0"),
        ({"burn_in": -1}, "burn_in is -1"),
        ({"global_share": 1.5}, "global_share is 1.5"),
        ({"clip": 0.0}, "clip is 0.0"),
        ({"max_gb": 1e-6}, "max_gb=1e-06"),
    ],
)
def test_wrong_values_are_named(wrong, message):
    data = load_network("cancer").sample(20, random_state=0)
    with pytest.raises(ValueError, match=message):
        sample_dags(data, **{"n": 5, **wrong})
