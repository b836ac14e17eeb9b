"""Independent draws of DAGs against the posterior summed over all of them, one by one."""

import numpy as np
import pytest
from scipy.stats import chi2

from all_dags import all_dags, bdeu_scores, blankets, paths, weights
from brai import exact, load_network
from brai.graphs.pdag import families_of
from brai.kinds.scores import FamilyScores
from brai.posterior.exact import TooLargeError
from conftest import random_data

N = 20_000


def problem(seed, d=4, rows=60):
    """Few rows, so that many DAGs have their share; columns are not in sorted order."""
    rng = np.random.default_rng(seed)
    data = random_data(rng, d, rows, 3)
    return data.select([data.names[i] for i in rng.permutation(d)])


def counts_of(draws, dags):
    """How often each DAG of the list was drawn; KeyError for another one."""
    place = {dag.astype(np.int8).tobytes(): i for i, dag in enumerate(dags)}
    found = np.zeros(len(dags), int)
    for dag, _ in draws:
        found[place[dag.adjacency.tobytes()]] += 1
    return found


def p_value(counts, probabilities):
    """Of the chi-square test; what is expected less than 5 times counts as one."""
    expected = counts.sum() * probabilities
    rare = expected < 5
    seen = np.append(counts[~rare], counts[rare].sum())
    awaited = np.append(expected[~rare], expected[rare].sum())
    return chi2.sf(((seen - awaited) ** 2 / awaited).sum(), len(seen) - 1)


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(3))
def test_each_dag_is_drawn_as_often_as_it_is_probable(seed):
    data = problem(seed)
    scores = bdeu_scores(all_dags(4), data, 1.0)
    draws = exact.sample_dags(data, N, random_state=seed)
    assert all(dag.names == data.names for dag, _ in draws)
    counts, right = counts_of(draws, all_dags(4)), weights(scores, None, "dags")
    assert len(right) == 543
    assert (right * N >= 5).sum() > 20  # not about a handful of DAGs
    assert p_value(counts, right) > 1e-4
    # the same test would see another prior: half a nat more for each edge
    tilted = weights(scores + 0.5 * all_dags(4).sum(axis=(1, 2)), None, "dags")
    assert p_value(counts, tilted) < 1e-12
    for feature in (lambda graphs: graphs, paths, blankets):
        exactly = np.tensordot(right, feature(all_dags(4)), 1)
        found = np.tensordot(counts / N, feature(all_dags(4)), 1)
        error = np.sqrt(np.maximum(exactly * (1 - exactly), 1e-9) / N)
        assert np.abs(found - exactly).max() > 0
        assert (np.abs(found - exactly) / error).max() < 4.5


def test_every_score_ess_and_limit_has_its_own_distribution():
    data = problem(5)
    few = all_dags(4)[(all_dags(4).sum(axis=1) <= 1).all(axis=1)]
    draws = exact.sample_dags(data, N, ess=8.0, max_parents=1, random_state=1)
    counts = counts_of(draws, few)
    assert p_value(counts, weights(bdeu_scores(few, data, 8.0), None, "dags")) > 1e-4
    assert p_value(counts, weights(bdeu_scores(few, data, 1.0), None, "dags")) < 1e-12
    own = FamilyScores(data, "bic")
    totals = np.array([own.total([(v, tuple(np.flatnonzero(g[:, v]))) for v in range(4)]) for g in all_dags(4)])
    draws = exact.sample_dags(data, N, score="bic", random_state=1)
    assert p_value(counts_of(draws, all_dags(4)), weights(totals, None, "dags")) > 1e-4


def test_edges_of_asia_are_as_frequent_as_they_are_probable():
    data = load_network("asia").sample(200, random_state=2)
    draws = exact.sample_dags(data, 5000, random_state=3)
    found = np.mean([dag.adjacency for dag, _ in draws], axis=0)
    exactly = exact.edge_probabilities(data)
    error = np.sqrt(exactly * (1 - exactly) / 5000)
    unsure = (exactly > 1e-3) & (exactly < 1 - 1e-3)
    assert unsure.sum() > 20
    assert (np.abs(found - exactly)[unsure] / error[unsure]).max() < 4.5
    assert np.abs(found - exactly)[~unsure].max() < 0.005
    assert np.abs(found - exactly.T).max() > 0.1  # row to column


def test_scores_are_those_of_the_dags():
    data = problem(1)
    draws = exact.sample_dags(data, 50, random_state=0)
    scores = FamilyScores(data)
    for dag, log_score in draws:
        assert dag.is_dag()
        assert log_score == pytest.approx(scores.total(families_of(dag)), abs=1e-9)


def test_draws_do_not_depend_on_those_before():
    data = problem(2)
    edges = np.array([dag.adjacency for dag, _ in exact.sample_dags(data, N, random_state=4)], float)
    unsure = (edges.mean(axis=0) > 0.05) & (edges.mean(axis=0) < 0.95)
    assert unsure.sum() >= 4
    centred = (edges - edges.mean(axis=0))[:, unsure]
    for lag in (1, 2):
        correlation = (centred[lag:] * centred[:-lag]).mean(axis=0) / centred.var(axis=0)
        assert np.abs(correlation).max() < 4.5 / np.sqrt(N)


def test_a_seed_reproduces():
    data = problem(3)
    one, same, other = (exact.sample_dags(data, 200, random_state=seed) for seed in (7, 7, 8))
    assert one == same
    assert one != other
    rng = np.random.default_rng(7)
    assert exact.sample_dags(data, 200, random_state=rng) != exact.sample_dags(data, 200, random_state=rng)


def test_the_order_of_columns_changes_only_the_order_of_nodes():
    data = problem(4)
    turned = data.select([data.names[i] for i in (2, 0, 3, 1)])
    for (dag, score), (other, same) in zip(
        exact.sample_dags(data, 300, random_state=1),
        exact.sample_dags(turned, 300, random_state=1),
        strict=True,
    ):
        assert other.names == turned.names
        assert other.reorder(data.names) == dag
        assert score == pytest.approx(same, abs=1e-9)


def test_one_variable_has_one_dag():
    data = load_network("asia").sample(20, random_state=0).select(["smoke"])
    ((dag, score),) = exact.sample_dags(data, 1, random_state=0)
    assert dag.adjacency.tolist() == [[0]]
    assert score == pytest.approx(FamilyScores(data).total([(0, ())]))


def test_what_cannot_be_is_refused():
    data = problem(0)
    with pytest.raises(ValueError, match="n is 0"):
        exact.sample_dags(data, 0)
    with pytest.raises(ValueError, match="score"):
        exact.sample_dags(data, 1, score="nonsense")
    large = load_network("alarm").sample(50, random_state=0)
    with pytest.raises(TooLargeError, match="'layers' over 37 variables"):
        exact.sample_dags(large, 1)
    with pytest.raises(TooLargeError, match=r"max_gb=0\.01"):
        exact.sample_dags(data, 1, max_gb=0.01)
