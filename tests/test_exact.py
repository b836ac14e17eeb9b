"""Exact answers against sums over all DAGs, one by one, and against each other."""

import math
from functools import cache

import numpy as np
import pytest

from all_dags import all_dags, bdeu_scores, class_of, paths, weights
from brai import Dataset, exact, load_network
from brai.graphs.pdag import PDAG, families_of
from brai.kinds.scores import FamilyScores
from brai.posterior.weighted import Posterior
from conftest import random_data

CLOSE = {"rtol": 0, "atol": 1e-9}
SEEDS = range(4)


def topological_orders(dag):
    """The number of topological orders of a DAG, one node after the other."""
    d = len(dag)
    parents = [sum(1 << u for u in range(d) if dag[u, v]) for v in range(d)]
    ways = [1] + [0] * ((1 << d) - 1)
    for used in range(1 << d):
        for v in range(d):
            if not used >> v & 1 and not parents[v] & ~used:
                ways[used | 1 << v] += ways[used]
    return ways[-1]


@cache
def orders_of(d):
    return np.array([topological_orders(dag) for dag in all_dags(d)])


@cache
def problem(seed, d=5, rows=200):
    """Data whose columns are not in sorted order, and the BDeu score (ess 2) of every DAG."""
    rng = np.random.default_rng(seed)
    data = random_data(rng, d, rows, 3)
    data = data.select([data.names[i] for i in rng.permutation(d)])
    return data, bdeu_scores(all_dags(d), data, 2.0)


def obeying(d, max_parents):
    return (all_dags(d).sum(axis=1) <= max_parents).all(axis=1)


def best_of_classes(scores, classes):
    best = np.full(classes.max() + 1, -np.inf)
    np.maximum.at(best, classes, scores)
    return best


def graph(data, adjacency):
    return PDAG(data.names, np.asarray(adjacency).astype(np.int8))


# ---------------------------------------------------------------- the best network


@pytest.mark.kernels
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("max_parents", [None, 2, 1, 0])
def test_map_is_the_best_of_all_dags(seed, max_parents):
    data, scores = problem(seed)
    allowed = obeying(5, 5 if max_parents is None else max_parents)
    dag, log_score = exact.map_network(data, ess=2.0, max_parents=max_parents)
    assert log_score == pytest.approx(scores[allowed].max(), abs=1e-9)
    at = (all_dags(5) == dag.adjacency.astype(bool)).all(axis=(1, 2))
    assert scores[at] == pytest.approx(log_score, abs=1e-9)
    assert dag.names == data.names
    assert allowed[at].all()


def test_map_score_is_that_of_scoring_the_dag_and_bic_works():
    data = load_network("asia").sample(300, random_state=3)
    for score in ("bdeu", "bic"):
        dag, log_score = exact.map_network(data, score=score)
        own = FamilyScores(data, score)
        assert log_score == pytest.approx(own.total(families_of(dag)), abs=1e-9)
        for v, parents in families_of(dag):  # no better by one parent less
            for p in parents:
                fewer = tuple(u for u in parents if u != p)
                assert own.families([(v, fewer)])[0] <= own.families([(v, parents)])[0]


def test_parents_that_do_not_help_are_left_out():
    same = Dataset.from_codes(np.zeros((20, 3), int), arities=[1, 1, 1])  # every family scores 0
    dag, log_score = exact.map_network(same)
    assert dag.n_edges == 0
    assert log_score == 0


def test_one_variable():
    data = Dataset.from_codes(np.array([[0], [1], [1]]))
    assert exact.map_network(data)[0].n_edges == 0
    assert len(exact.k_best(data, 5)) == 1
    for prior in ("order", "dags"):
        assert exact.edge_probabilities(data, prior=prior).tolist() == [[0.0]]


# ---------------------------------------------------------------- the k best classes


@pytest.mark.kernels
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("max_parents", [None, 1])
def test_k_best_are_the_best_classes(seed, max_parents):
    data, scores = problem(seed)
    allowed = obeying(5, 5 if max_parents is None else max_parents)
    best = best_of_classes(np.where(allowed, scores, -np.inf), class_of(5))
    found = exact.k_best(data, 100, ess=2.0, max_parents=max_parents)
    assert len({cpdag for cpdag, _ in found}) == 100
    np.testing.assert_allclose([s for _, s in found], np.sort(best)[::-1][:100], **CLOSE)
    for cpdag, score in found:
        assert cpdag.is_cpdag()
        dag = cpdag.to_dag().adjacency.astype(bool)
        at = np.flatnonzero((all_dags(5) == dag).all(axis=(1, 2)))[0]
        assert scores[at] == pytest.approx(score, abs=1e-9)


def test_every_class_is_found_once():
    data, scores = problem(7, d=4)
    found = exact.k_best(data, 1000, ess=2.0)
    assert len(found) == len({cpdag for cpdag, _ in found}) == 185
    np.testing.assert_allclose([s for _, s in found], np.sort(best_of_classes(scores, class_of(4)))[::-1], **CLOSE)


def test_classes_of_equal_score_are_kept_apart():
    same = Dataset.from_codes(np.zeros((20, 4), int), arities=[1, 1, 1, 1])  # every class scores 0
    assert len({cpdag for cpdag, _ in exact.k_best(same, 1000)}) == 185
    assert len({cpdag for cpdag, _ in exact.k_best(same, 50)}) == 50


# ---------------------------------------------------------------- edges


@pytest.mark.kernels
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("prior", ["order", "dags"])
@pytest.mark.parametrize("max_parents", [None, 2, 0])
def test_edges_are_sums_over_all_dags(seed, prior, max_parents):
    data, scores = problem(seed)
    allowed = obeying(5, 5 if max_parents is None else max_parents)
    w = np.exp(scores - scores[allowed].max()) * allowed * (orders_of(5) if prior == "order" else 1)
    found = exact.edge_probabilities(data, prior=prior, ess=2.0, max_parents=max_parents)
    np.testing.assert_allclose(found, np.tensordot(w / w.sum(), all_dags(5), 1), **CLOSE)


@pytest.mark.kernels
@pytest.mark.parametrize("prior", ["order", "dags"])
def test_nothing_is_lost_where_scores_are_thousands_of_nats_apart(prior):
    """Copies of one variable: the empty set is so far below that its exponential is 0."""
    rng = np.random.default_rng(5)
    column = rng.integers(0, 3, 4000)
    data = Dataset.from_codes(np.stack([column, column, 2 - column, rng.integers(0, 2, 4000)], axis=1))
    scores = bdeu_scores(all_dags(4), data, 1.0)
    assert scores.max() - scores.min() > 2000
    w = np.exp(scores - scores.max()) * (orders_of(4) if prior == "order" else 1)
    found = exact.edge_probabilities(data, prior=prior)
    np.testing.assert_allclose(found, np.tensordot(w / w.sum(), all_dags(4), 1), **CLOSE)


def test_without_data_edges_are_shares_of_dags():
    """Every family scores 0, so probabilities are numbers of DAGs: of 6 nodes 3 781 503 (Robinson 1973)."""
    same = Dataset.from_codes(np.zeros((10, 6), int), arities=[1] * 6)
    found = exact.edge_probabilities(same)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(found[off], found[0, 1], **CLOSE)
    n_with_edge = found[0, 1] * 3_781_503
    assert n_with_edge == pytest.approx(round(n_with_edge), abs=1e-4)


@pytest.mark.slow
def test_the_sum_without_signs_takes_over_when_terms_cancel(monkeypatch):
    data = load_network("asia").sample(500, random_state=1)
    signed = exact.edge_probabilities(data)
    monkeypatch.setattr(exact, "_LOSS", -1.0)
    monkeypatch.setattr(exact.dag_sums, "dag_edges_by_sinks", lambda scores: (np.full((8, 8), np.nan), math.nan))
    unsigned = exact.edge_probabilities(data)
    np.testing.assert_allclose(signed, unsigned, **CLOSE)
    with pytest.raises(
        ArithmeticError, match=r"wrong by nan or more; 'layers' over 8 variables takes .*max_gb=0\.3002"
    ):
        exact.edge_probabilities(data, max_gb=0.3002)


# ---------------------------------------------------------------- the posterior


@pytest.mark.parametrize("prior", ["dags", "classes"])
def test_posterior_of_few_variables_holds_every_class(prior):
    data, scores = problem(1, d=4)
    found = exact.posterior(data, prior=prior, ess=2.0)
    w = weights(scores, class_of(4), prior)
    assert len(found) == 185
    np.testing.assert_allclose(found.edge_probabilities(), np.tensordot(w, all_dags(4), 1), **CLOSE)
    np.testing.assert_allclose(found.path_probabilities(), np.tensordot(w, paths(all_dags(4)), 1), **CLOSE)


def test_posterior_of_five_variables_holds_every_class():
    data, scores = problem(2)
    found = exact.posterior(data, ess=2.0)
    assert len(found) == 8782
    best = np.sort(best_of_classes(scores, class_of(5)))[::-1]
    np.testing.assert_allclose(np.sort(found.log_scores)[::-1], best, **CLOSE)


# ---------------------------------------------------------------- larger networks: each other


@pytest.mark.parametrize("name", ["asia", "sachs"])
def test_answers_agree_with_each_other(name):
    data = load_network(name).sample(500, random_state=1)
    dag, log_score = exact.map_network(data)
    best = exact.k_best(data, 100)
    assert dag.to_cpdag() == best[0][0]
    assert log_score == pytest.approx(best[0][1], abs=1e-9)
    own = FamilyScores(data)
    for cpdag, score in best:
        assert own.total(families_of(cpdag.to_dag())) == pytest.approx(score, abs=1e-9)
    assert [s for _, s in best] == sorted((s for _, s in best), reverse=True)
    for fewer in (1, 10):
        assert exact.k_best(data, fewer) == best[:fewer]


def test_edges_over_all_dags_are_those_of_the_best_classes_where_these_have_all_the_weight():
    data = load_network("sachs").sample(500, random_state=1)
    found = exact.posterior(data, k=300).edge_probabilities()
    np.testing.assert_allclose(found, exact.edge_probabilities(data), rtol=0, atol=1e-7)
    assert np.abs(found - exact.edge_probabilities(data, prior="order")).max() > 0.01  # another prior


@pytest.mark.parametrize("prior", ["order", "dags"])
def test_order_of_columns_changes_nothing(prior):
    data = load_network("asia").sample(200, random_state=2)
    turned = data.select(data.names[::-1])
    found = exact.edge_probabilities(turned, prior=prior)[::-1, ::-1]
    assert np.array_equal(exact.edge_probabilities(data, prior=prior), found)
    dag, log_score = exact.map_network(data)
    assert exact.map_network(turned) == (dag.reorder(turned.names), log_score)
    assert exact.k_best(turned, 20) == [(c.reorder(turned.names), s) for c, s in exact.k_best(data, 20)]


def test_edges_point_from_row_to_column():
    rng = np.random.default_rng(0)
    z, a = rng.integers(0, 2, (2, 1000))
    effect = np.where(rng.random(1000) < 0.1, rng.integers(0, 2, 1000), z & a)
    data = Dataset.from_codes(np.stack([z, effect, a], axis=1), names=["z", "effect", "a"])
    for prior in ("order", "dags"):
        found = exact.edge_probabilities(data, prior=prior)
        assert found[0, 1] > 0.9
        assert found[2, 1] > 0.9
        assert found[1].max() < 0.1
    assert exact.map_network(data)[0].directed_edges() == [("z", "effect"), ("a", "effect")]


# ---------------------------------------------------------------- what it takes


def test_too_large_is_refused_before_anything_is_scored(monkeypatch):
    data = random_data(np.random.default_rng(0), 40, 50, 2, 0.1)
    monkeypatch.setattr("brai.posterior.all_families.FamilyScores", None)  # not to be called
    with pytest.raises(exact.TooLargeError, match=r"'map' over 40 variables takes about .* GB and .* minutes"):
        exact.map_network(data)
    with pytest.raises(exact.TooLargeError, match="lower k, set max_parents"):
        exact.k_best(data.select(data.names[:20]), 10_000, max_parents=3)
    with pytest.raises(exact.TooLargeError, match=r"max_gb=0\.001"):
        exact.edge_probabilities(data.select(data.names[:10]), prior="order", max_gb=0.001)
    with pytest.raises(exact.TooLargeError, match="prior='order'"):
        exact.edge_probabilities(data.select(data.names[:24]), prior="dags", max_parents=2)


def test_estimates_grow_with_the_task():
    for what in ("map", "k_best", "order", "dags", "layers", "table"):
        costs = [exact.estimate(d, what) for d in (5, 10, 15, 20, 1000)]
        for part in range(3):
            values = [cost[part] for cost in costs]
            assert values == sorted(values)
            assert all(math.isfinite(v) for v in values)
    assert exact.estimate(20, "map", max_parents=4).minutes < exact.estimate(20, "map").minutes
    assert exact.estimate(12, "k_best", k=1000).bytes > exact.estimate(12, "k_best", k=10).bytes


def test_twenty_variables_are_within_the_limits():
    for what in ("map", "order", "dags"):
        cost = exact.estimate(20, what, n_rows=1000, max_parents=4)
        assert cost.bytes < 8e9
        assert cost.minutes < 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: exact.k_best(data, 0), "k is 0"),
        (lambda data: exact.k_best(data, True), "k is True"),
        (lambda data: exact.map_network(data, max_parents=-1), "max_parents is -1"),
        (lambda data: exact.map_network(data, max_parents=1.5), "max_parents is 1.5"),
        (lambda data: exact.edge_probabilities(data, prior="classes"), "prior is 'classes'"),
        (lambda data: exact.map_network(data, score="aic"), "unknown score 'aic'"),
        (lambda data: exact.estimate(5, "paths"), "what is 'paths'"),
    ],
)
def test_wrong_values_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(problem(0)[0])


def test_k_best_posterior_needs_no_enumeration():
    data = load_network("asia").sample(200, random_state=2)
    found = exact.posterior(data, k=30)
    assert isinstance(found, Posterior)
    assert len(found) == 30
