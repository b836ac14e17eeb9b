"""The posterior over structures against sums over all DAGs, one by one; draws against exact answers."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_dags import all_dags, bdeu_scores, blankets, class_of, equivalent, members, paths, weights
from brai import BRAI, RAI
from brai.graphs.equivalence import EquivalenceClass, TooManyPartsError
from brai.graphs.pdag import PDAG
from brai.posterior.weighted import Posterior
from brai.posterior.with_knowledge import posterior_of_dags
from conftest import random_dag, random_data

CLOSE = {"rtol": 0, "atol": 1e-9}


def graph_of(adjacency, names=None):
    adjacency = np.asarray(adjacency).astype(np.int8)
    return PDAG(tuple(f"v{i:02d}" for i in range(len(adjacency))) if names is None else names, adjacency)


def dag_of(d, edges):
    a = np.zeros((d, d), bool)
    for i, j in edges:
        a[i, j] = True
    return a


def every_class(data, ess, rng):
    """One DAG of each class, not always the same, with its score; and the scores of all DAGs."""
    d = data.n_variables
    scores, classes = bdeu_scores(all_dags(d), data, ess), class_of(d)
    order = rng.permutation(len(classes))
    chosen = order[np.unique(classes[order], return_index=True)[1]]
    return [(graph_of(all_dags(d)[g], data.names), scores[g]) for g in rng.permutation(chosen)], scores


def mean(w, features):
    return np.tensordot(w, features, 1)


# ---------------------------------------------------------------- sums over all DAGs


def user_feature(dag):
    return len(dag.parents("v01")) >= 2 and "v03" not in dag.children("v00")


def user_number(dag):
    return dag.n_edges * len(dag.parents("v02"))


def by_hand(graphs):
    feature = (graphs[:, :, 1].sum(axis=1) >= 2) & ~graphs[:, 0, 3]
    return feature, graphs.sum(axis=(1, 2)) * graphs[:, :, 2].sum(axis=1)


@pytest.mark.parametrize("prior", ["dags", "classes"])
@pytest.mark.parametrize(
    ("d", "seed"), [(4, 0), (4, 1), (4, 2), (4, 3), pytest.param(5, 4, marks=pytest.mark.slow)]
)
def test_complete_set_of_classes(d, seed, prior):
    rng = np.random.default_rng(seed)
    data, ess = random_data(rng, d, 25, 3), [1.0, 0.3, 5.0][seed % 3]
    scored, scores = every_class(data, ess, rng)
    found = Posterior.from_scores(scored, prior=prior)
    graphs, w = all_dags(d), weights(scores, class_of(d), prior)
    assert found.prior == prior
    assert found.names == data.names
    assert len(found.cpdags) == len(scored)
    assert found.n_effective > 3  # the data leave something open
    edges, ways = found.edges(), found.paths()
    np.testing.assert_allclose(edges.value, mean(w, graphs), **CLOSE)
    np.testing.assert_allclose(
        found.adjacency_probabilities(), mean(w, graphs | graphs.transpose(0, 2, 1)), **CLOSE
    )
    np.testing.assert_allclose(found.markov_blanket_probabilities(), mean(w, blankets(graphs)), **CLOSE)
    np.testing.assert_allclose(ways.value, mean(w, paths(graphs)), **CLOSE)
    for estimate in (edges, ways):
        assert estimate.exact
        assert not np.any(estimate.standard_error)
    feature, number = by_hand(graphs)
    questions = [(user_feature, feature), (user_number, number)]
    if d == 5:  # 29281 calls each
        questions = questions[: prior == "dags"]
    for question, answer in questions:
        estimate = found.probability(question)
        assert (estimate.exact, estimate.standard_error, estimate.n_dags) == (True, 0.0, len(graphs))
        assert estimate.value == pytest.approx(mean(w, answer), abs=1e-9)
    of_classes = np.sort(np.bincount(class_of(d), w))[::-1]
    np.testing.assert_allclose(found.probabilities, of_classes, **CLOSE)
    assert found.n_effective == pytest.approx(1 / np.sum(of_classes**2))


def test_priors_differ():
    """Otherwise the two are the same test."""
    rng = np.random.default_rng(9)
    scored, _ = every_class(random_data(rng, 4, 25, 3), 1.0, rng)
    by_dag, by_class = (Posterior.from_scores(scored, prior).edge_probabilities() for prior in ("dags", "classes"))
    assert np.abs(by_dag - by_class).max() > 0.01


# ---------------------------------------------------------------- what a posterior holds


def test_graphs_are_completed_and_merged():
    chain = equivalent(dag_of(4, [(0, 1), (1, 2), (2, 3)]))
    collider = dag_of(4, [(0, 1), (2, 1), (1, 3)])
    scored = [(graph_of(dag), -3.0) for dag in chain] + [(graph_of(collider), -1.5)]
    found = Posterior.from_scores(scored)
    assert found.cpdags == (graph_of(collider).to_cpdag(), graph_of(chain[0]).to_cpdag())
    size = dict(zip(found.cpdags, found.class_sizes, strict=True))
    assert size == {graph_of(chain[0]).to_cpdag(): 4, graph_of(collider).to_cpdag(): 1}
    np.testing.assert_allclose(found.probabilities, np.array([np.exp(1.5), 4]) / (np.exp(1.5) + 4), rtol=1e-12)
    assert found.log_scores.tolist() == [-1.5, -3.0]
    by_class = Posterior.from_scores(scored, prior="classes")
    np.testing.assert_allclose(by_class.probabilities, np.array([np.exp(1.5), 1]) / (np.exp(1.5) + 1), rtol=1e-12)
    assert by_class.n_effective == pytest.approx((np.exp(1.5) + 1) ** 2 / (np.exp(3) + 1))


def test_most_probable_is_not_best_scored():
    large, small = graph_of(dag_of(3, [(0, 1), (0, 2), (1, 2)])), graph_of(dag_of(3, [(0, 1), (2, 1)]))
    found = Posterior.from_scores([(small, 1.0), (large, 0.0)])
    assert found.cpdags == (large.to_cpdag(), small)
    assert found.log_scores.tolist() == [0.0, 1.0]
    assert Posterior.from_scores([(small, 1.0), (large, 0.0)], "classes").cpdags == (small, large.to_cpdag())


def test_scores_of_any_magnitude():
    """Only differences count, and those of thousands of nats leave no NaN."""
    graphs = [graph_of(dag_of(3, edges)) for edges in ([], [(0, 1)], [(0, 1), (2, 1)])]
    far = Posterior.from_scores(zip(graphs, [-1e6, -1e6 + 1, -1e6 - 5000], strict=True), "classes")
    np.testing.assert_allclose(far.probabilities, [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 0], rtol=1e-9)


@given(seed=st.integers(0, 10**6))
def test_weights_of_draws(seed):
    """By how often, times the size of the class where the sampler is uniform on classes and the prior on DAGs."""
    rng = np.random.default_rng(seed)
    graphs = [graph_of(random_dag(rng, 5, 0.5)) for _ in range(4)]
    draws = [graphs[i] for i in rng.integers(0, 4, 30)]
    often = Counter(graph.to_cpdag() for graph in draws)
    size = {graph: len(equivalent(graph.to_dag().adjacency)) for graph in often}
    for prior, drawn, power in (
        ("dags", "classes", 1),
        ("dags", "dags", 0),
        ("classes", "classes", 0),
        ("classes", "dags", -1),
    ):
        found = Posterior.from_draws(draws, prior=prior, drawn=drawn)
        expected = {graph: n * float(size[graph]) ** power for graph, n in often.items()}
        total = sum(expected.values())
        assert found.prior == prior
        assert list(found.probabilities) == sorted(found.probabilities, reverse=True)
        assert dict(zip(found.cpdags, found.probabilities, strict=True)) == pytest.approx(
            {graph: value / total for graph, value in expected.items()}, rel=1e-12
        )
    scored = Posterior.from_draws([(graph, float(graph.n_edges)) for graph in draws])
    assert np.array_equal(scored.probabilities, Posterior.from_draws(draws).probabilities)
    assert scored.log_scores.tolist() == [graph.n_edges for graph in scored.cpdags]


def test_draws_of_dags_give_back_the_posterior():
    """DAGs drawn by their scores are a sample of the posterior under the prior on DAGs."""
    data = random_data(np.random.default_rng(5), 4, 25, 3)
    scores = bdeu_scores(all_dags(4), data, 1.0)
    rng = np.random.default_rng(6)
    for prior in ("dags", "classes"):
        drawn = rng.choice(len(scores), 4000, p=weights(scores, class_of(4), "dags"))
        found = Posterior.from_draws([graph_of(all_dags(4)[g]) for g in drawn], prior=prior, drawn="dags")
        exact = mean(weights(scores, class_of(4), prior), all_dags(4))
        assert np.abs(found.edge_probabilities() - exact).max() < 0.05


# ---------------------------------------------------------------- drawing DAGs from large classes

LARGE = {
    "clique of 7": [(7, [(i, j) for i in range(7) for j in range(i + 1, 7)], 0.0)],
    "path of 9": [(9, [(i, i + 1) for i in range(8)], 0.0)],
    "tree of 9": [(9, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (6, 7), (6, 8)], 0.0)],
    "cliques of 4 in a row": [(8, [(i, j) for i in range(8) for j in range(i + 1, min(i + 4, 8))], 0.0)],
    "clique of 6 with a tail": [(8, [(i, j) for i in range(6) for j in range(i + 1, 6)] + [(5, 6), (6, 7)], 0.0)],
    "three classes": [
        (8, [(i, j) for i in range(6) for j in range(i + 1, 6)] + [(6, 7)], -6.5),
        (8, [(0, i) for i in range(1, 8)] + [(1, 2), (3, 4)], -4.0),
        (8, [(0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (5, 6), (6, 7), (5, 7)], -2.5),
    ],
}


def posterior_of(name):
    return Posterior.from_scores([(graph_of(dag_of(d, edges)), score) for d, edges, score in LARGE[name]])


def exact_of(name):
    """For each class its probability and all of its DAGs."""
    dags = [equivalent(dag_of(d, edges)) for d, edges, _ in LARGE[name]]
    mass = np.array([len(own) * np.exp(score) for own, (_, _, score) in zip(dags, LARGE[name], strict=True)])
    return mass / mass.sum(), dags


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "beyond"),
    [
        ("clique of 7", 40, 0.01),
        ("clique of 7", 300, 0.001),
        ("path of 9", 8, 0.01),
        ("tree of 9", 8, 0.01),
        ("cliques of 4 in a row", 80, 0.01),
        ("clique of 6 with a tail", 300, 0.001),
        ("three classes", 30, 0.01),  # all of them are drawn from
        ("three classes", 300, 0.001),  # the largest only
    ],
)
def test_sampled_paths_are_within_their_standard_errors(name, n, beyond):
    """Almost all within four of the errors reported (few draws are not normal), all within five true ones; and
    the errors reported are neither too large nor too small.
    """
    mass, dags = exact_of(name)
    rates = [paths(own).mean(axis=0) for own in dags]
    exact = np.tensordot(mass, rates, 1)
    found = posterior_of(name)
    np.testing.assert_allclose(found.path_probabilities(n_dags=10**7), exact, **CLOSE)
    drawn = [len(own) > n * w for own, w in zip(dags, mass, strict=True)]
    left = n - sum(len(own) for own, is_drawn in zip(dags, drawn, strict=True) if not is_drawn)  # shared by weight
    variance = np.tensordot(mass * drawn, [p * (1 - p) for p in rates], 1) * np.sum(mass * drawn) / left
    open_ = variance > 1e-12
    assert open_.sum() > 20
    estimates = [found.paths(n_dags=n, random_state=seed) for seed in range(80)]
    assert not any(estimate.exact for estimate in estimates)
    assert all(estimate.n_dags <= n + len(dags) for estimate in estimates)  # shares are rounded up
    for estimate in estimates:
        np.testing.assert_allclose(estimate.value[~open_], exact[~open_], **CLOSE)
        assert (estimate.standard_error[open_] > 0).all()
        assert not estimate.standard_error[~open_].any()
    errors = np.array([estimate.standard_error[open_] for estimate in estimates])
    deviations = np.array([(estimate.value - exact)[open_] for estimate in estimates])
    true = np.sqrt(variance[open_])
    assert np.mean(np.abs(deviations) > 4 * errors) <= beyond
    assert np.mean(np.abs(deviations) > 2 * errors) <= 0.13
    assert np.abs(deviations / true).max() <= 5
    assert 0.75 < np.mean((deviations / true) ** 2) < 1.25
    assert ((errors >= true / 2) & (errors <= 1.5 * true)).all()
    assert 0.85 < np.mean(errors / true) < 1.15


def test_the_budget_is_kept():
    """A class of at most 8 DAGs is always enumerated; otherwise about as many as asked for are looked at."""
    found = Posterior.from_scores([(graph_of(own[0]), 0.0) for own in members(4)])
    assert len(found.cpdags) == 185
    assert found.paths(n_dags=10).n_dags <= 10 + 8 * 185
    for n in (30, 300, 1000):  # two of the classes are small and leave theirs to the others
        asked = posterior_of("three classes")
        assert 0.99 * n <= asked.paths(n_dags=n).n_dags <= n + 3


def test_more_dags_make_smaller_errors():
    found = posterior_of("clique of 7")
    few, many = (found.paths(n_dags=n).standard_error.max() for n in (50, 800))
    assert few / many == pytest.approx(4, rel=0.2)


@pytest.mark.parametrize("name", ["clique of 7", "three classes"])
def test_sampled_features_of_ones_own(name):
    """A probability, and an expectation, within four standard errors; a few hundred DAGs are near."""
    mass, dags = exact_of(name)
    questions = {
        "bool": (lambda dag: not dag.parents("v03"), lambda g: ~g[:, :, 3].any(axis=1)),
        "number": (lambda dag: 10.0 * len(dag.children("v02")) - 7, lambda g: 10 * g[:, 2, :].sum(axis=1) - 7),
    }
    found = posterior_of(name)
    for question, answer in questions.values():
        values = [answer(own).astype(float) for own in dags]
        exact = sum(w * own.mean() for w, own in zip(mass, values, strict=True))
        whole = found.probability(question, n_dags=10**5)
        assert whole.exact
        assert whole.value == pytest.approx(exact, abs=1e-9)
        assert whole.n_dags == sum(map(len, dags))
        sd = np.sqrt(sum(w * own.var() for w, own in zip(mass, values, strict=True)))  # shares by weight
        z = []
        for seed in range(15):
            estimate = found.probability(question, n_dags=100, random_state=seed)
            assert not estimate.exact
            assert 0.4 < estimate.standard_error / (sd / 10) < 1.6
            z.append((estimate.value - exact) / estimate.standard_error)
        assert np.abs(z).max() <= 4
        assert np.mean(np.square(z)) > 0.2


def test_small_classes_are_enumerated_and_large_ones_sampled():
    small, large = graph_of(dag_of(7, [(0, 1), (1, 2)])), posterior_of("clique of 7").cpdags[0]
    found = Posterior.from_scores([(small, np.log(5040 / 3)), (large, 0.0)])
    estimate = found.paths(n_dags=100)
    assert not estimate.exact
    assert estimate.n_dags <= 100
    exact = (paths(equivalent(small.to_dag().adjacency)).mean(axis=0) + (1 - np.eye(7)) / 2) / 2
    np.testing.assert_allclose(found.path_probabilities(n_dags=10**6), exact, **CLOSE)
    z = (estimate.value - exact)[~np.eye(7, dtype=bool)] / estimate.standard_error[~np.eye(7, dtype=bool)]
    assert 0 < np.abs(z).max() <= 4
    assert estimate.standard_error.max() < 0.5 * np.sqrt(0.25 / 45)  # half of the weight, and 97 draws


def test_edges_are_drawn_if_a_class_is_too_entangled(monkeypatch):
    found = posterior_of("tree of 9")
    exact = found.edges()
    assert exact.exact
    assert not np.any(exact.standard_error)

    def too_many(*_, **__):
        raise TooManyPartsError

    monkeypatch.setattr(EquivalenceClass, "edge_probabilities", too_many)
    again = posterior_of("tree of 9")
    drawn = again.edges(n_dags=7, random_state=1)
    assert not drawn.exact
    some = exact.value > 0
    assert (np.abs(drawn.value - exact.value)[some] <= 4 * drawn.standard_error[some]).all()
    assert not np.array_equal(drawn.value, exact.value)
    assert not drawn.value[~some].any()
    np.testing.assert_allclose(again.edges(n_dags=100).value, exact.value, **CLOSE)


def test_the_seed_decides():
    def rank(dag):
        return sum(i**2 * len(dag.parents(name)) for i, name in enumerate(dag.names))

    found = posterior_of("three classes")
    for random_state in (3, np.random.SeedSequence(3)):
        one, same = (found.paths(n_dags=50, random_state=random_state) for _ in range(2))
        assert np.array_equal(one.value, same.value)
        assert np.array_equal(one.standard_error, same.standard_error)
    assert not np.array_equal(one.value, found.paths(n_dags=50, random_state=4).value)
    one, same, other = (found.probability(rank, 50, seed).value for seed in (1, 1, 2))
    assert one == same != other
    again = posterior_of("three classes").paths(n_dags=50, random_state=3).value
    assert np.array_equal(found.paths(n_dags=50, random_state=3).value, again)
    assert np.array_equal(found.path_probabilities(50, 3), again)


@pytest.mark.parametrize("seed", range(6))
def test_order_of_names_changes_only_the_order_of_the_output(seed):
    """Bit for bit, drawn paths too."""
    rng = np.random.default_rng(seed)
    graphs = [graph_of(random_dag(rng, 8, density)) for density in (0.2, 0.3, 0.4, 0.5)]
    graphs += [graph_of(dag_of(d, edges)) for d, edges, _ in LARGE["three classes"]]
    scored = [(graph, score) for graph, score in zip(graphs, rng.normal(0, 1, 7), strict=True)]
    order = rng.permutation(8)
    names = tuple(graphs[0].names[i] for i in order)
    one = Posterior.from_scores(scored)
    other = Posterior.from_scores([(graph.reorder(names), score) for graph, score in scored])
    assert other.names == names
    assert all(graph.names == names for graph in other.cpdags)
    assert [graph.reorder(one.names) for graph in other.cpdags] == list(one.cpdags)
    assert np.array_equal(one.probabilities, other.probabilities)
    assert not one.paths(n_dags=60).exact

    def everything(posterior):
        drawn = posterior.paths(n_dags=60, random_state=seed)
        yield from (drawn.value, drawn.standard_error)
        yield from (posterior.edge_probabilities(), posterior.adjacency_probabilities())
        yield from (posterior.markov_blanket_probabilities(), posterior.path_probabilities())

    for mine, theirs in zip(everything(one), everything(other), strict=True):
        assert np.array_equal(mine[np.ix_(order, order)], theirs)
    assert one.probability(user_number, 60, seed) == other.probability(user_number, 60, seed)


# ---------------------------------------------------------------- errors

CHAIN = graph_of(dag_of(3, [(0, 1), (1, 2)]))
WRONG = {
    "no graph": (lambda: Posterior.from_scores([]), ValueError, "graph"),
    "no draw": (lambda: Posterior.from_draws([]), ValueError, "graph"),
    "nan": (lambda: Posterior.from_scores([(CHAIN, float("nan"))]), ValueError, "score.*nan"),
    "inf": (lambda: Posterior.from_scores([(CHAIN, float("inf"))]), ValueError, "score.*inf"),
    "-inf": (lambda: Posterior.from_scores([(CHAIN, float("-inf"))]), ValueError, "score.*inf"),
    "prior": (
        lambda: Posterior.from_scores([(CHAIN, 0.0)], prior="flat"),
        ValueError,
        "prior.*flat.*dags.*classes",
    ),
    "prior of draws": (
        lambda: Posterior.from_draws([CHAIN], prior="flat"),
        ValueError,
        "prior.*flat.*dags.*classes",
    ),
    "drawn": (lambda: Posterior.from_draws([CHAIN], drawn="flat"), ValueError, "drawn.*flat.*dags.*classes"),
    "n_dags": (lambda: Posterior.from_draws([CHAIN]).paths(n_dags=0), ValueError, "n_dags.*0"),
    "n_dags of a feature": (lambda: Posterior.from_draws([CHAIN]).probability(bool, 0), ValueError, "n_dags.*0"),
    "no PDAG": (lambda: Posterior.from_scores([(np.zeros((2, 2)), 0.0)]), TypeError, "ndarray.*PDAG"),
    "no PDAG drawn": (lambda: Posterior.from_draws(["a"]), TypeError, "str.*PDAG"),
    "other names": (lambda: Posterior.from_draws([CHAIN, graph_of(dag_of(4, []))]), ValueError, "v03"),
}


@pytest.mark.parametrize(("do", "error", "match"), WRONG.values(), ids=WRONG.keys())
def test_errors(do, error, match):
    with pytest.raises(error, match=match):
        do()


# ---------------------------------------------------------------- estimators


def test_estimators_hand_out_their_posterior():
    data = random_data(np.random.default_rng(2), 6, 120, 3)
    model = BRAI(3, random_state=1).fit(data)
    assert len(model.k_best(100)) > 3
    for k, prior in ((100, "dags"), (3, "classes")):
        found, expected = model.posterior(k, prior=prior), Posterior.from_scores(model.k_best(k), prior)
        assert found.cpdags == expected.cpdags
        np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=1e-12)
    one, same, other = (model.posterior(draws=40, temperature=2.0, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.probabilities, same.probabilities)
    assert one.cpdags == same.cpdags
    assert (one.cpdags, one.probabilities.tolist()) != (other.cpdags, other.probabilities.tolist())
    assert np.array_equal(model.posterior(draws=40, temperature=0.0).probabilities, [1.0])
    posterior = model.posterior()
    single = RAI().fit(data)
    assert single.posterior().cpdags == (single.cpdag_,)
    for own, learner in ((posterior, model), (single.posterior(), single)):
        for name in ("edge", "adjacency", "path", "markov_blanket"):
            method = f"{name}_probabilities"
            assert np.array_equal(getattr(own, method)(), getattr(learner, method)())
    inside = np.array([[[j in g.adjacent(i) for j in data.names] for i in data.names] for g in posterior.cpdags])
    by_hand = np.tensordot(posterior.probabilities, inside, 1)
    np.testing.assert_allclose(model.adjacency_probabilities(), by_hand, **CLOSE)


def test_estimators_and_the_order_of_columns():
    data = random_data(np.random.default_rng(2), 6, 120, 3)
    order = [3, 1, 5, 0, 4, 2]
    turned = data.select([data.names[i] for i in order])
    one, other = (BRAI(3, random_state=1).fit(own) for own in (data, turned))
    for name in ("edge", "adjacency", "path", "markov_blanket"):
        mine, theirs = (getattr(model, f"{name}_probabilities")() for model in (one, other))
        assert np.array_equal(mine[np.ix_(order, order)], theirs)
    assert one.edge_table() == other.edge_table()
    assert one.consensus().graph == other.consensus().graph.reorder(data.names)


# ---------------------------------------------------------------- classes that are hard, or hardly there


def test_an_entangled_class_is_drawn_and_the_others_are_exact(monkeypatch):
    names = tuple("abcdefgh")
    pairs = [(i, j) for i in names for j in names if i < j and (i, j) != ("a", "h")]
    entangled = PDAG.from_edges(names, undirected=pairs)
    plain = PDAG.from_edges(names, undirected=[("a", "b"), ("b", "c")])
    exact = Posterior.from_scores([(entangled, 0.0), (plain, 3.0)], "classes").edges()
    assert exact.exact
    monkeypatch.setattr(EquivalenceClass.edge_probabilities, "__defaults__", (1,))
    for scores in ((0.0, 3.0), (-1e4, 0.0)):
        posterior = Posterior.from_scores([(entangled, scores[0]), (plain, scores[1])], "classes")
        found = posterior.edges(n_dags=400)
        assert found.exact == (scores[0] < -1e3)  # a class without weight spoils nothing
        if not found.exact:
            off = np.abs(found.value - exact.value)
            assert (off <= 4 * found.standard_error + 1e-12).all()
            assert found.standard_error[0, 2] > 0
            assert found.standard_error[0, 7] == 0  # never adjacent
    assert posterior.probabilities[-1] == 0


def test_arrays_cannot_be_written(rng):
    found = Posterior.from_scores([(PDAG.from_edges("ab"), 0.0)])
    for own in (found.probabilities, found.log_scores):
        with pytest.raises(ValueError, match="read-only"):
            own[0] = 5.0
    assert repr(found) == ("Posterior(1 CPDAG of 2 variables, effective number 1.0; uniform prior on dags)")


def test_with_knowledge_a_posterior_speaks_of_dags():
    dag = PDAG.from_edges("abc", directed=[("a", "b"), ("b", "c")])
    collider = PDAG.from_edges("abc", directed=[("a", "b"), ("c", "b")])
    free = Posterior.from_scores([(dag, 0.0), (collider, 0.0)])
    assert repr(free).startswith("Posterior(2 CPDAGs of")
    known = posterior_of_dags([(dag, 0.0), (collider, 0.0), (dag, 0.0)])
    assert repr(known).startswith("Posterior(2 DAGs of")
    assert Posterior.from_scores([(collider, 0.0)]).kind == "CPDAG"  # it is both


def test_draws_of_a_posterior_have_its_probabilities():
    graphs = [PDAG.from_edges("ab"), PDAG.from_edges("ab", undirected=[("a", "b")])]
    posterior = Posterior.from_scores([(graphs[0], 0.0), (graphs[1], 1.0)], "classes")
    drawn = posterior.sample(4000, random_state=1)
    assert drawn == posterior.sample(4000, random_state=1) != posterior.sample(4000, random_state=2)
    share = sum(graph == graphs[1] and score == 1.0 for graph, score in drawn) / 4000
    assert share == pytest.approx(posterior.probabilities[0], abs=0.03)
    with pytest.raises(ValueError, match="n is 0: give a whole number from 1"):
        posterior.sample(0)


def test_probabilities_by_name(rng):
    model = RAI().fit(random_data(rng, 4, 200))
    names = list(model.feature_names_in_)
    for ask, all_of in (
        (model.edge_probability, model.edge_probabilities()),
        (model.adjacency_probability, model.adjacency_probabilities()),
        (model.path_probability, model.path_probabilities()),
        (model.markov_blanket_probability, model.markov_blanket_probabilities()),
    ):
        assert [[ask(a, b) for b in names] for a in names] == all_of.tolist()
    with pytest.raises(ValueError, match="there is no variable 'nobody': choose among"):
        model.edge_probability(names[0], "nobody")


def test_a_score_that_differs_within_a_class_is_refused():
    one, other = (PDAG.from_edges("ab", directed=[edge]) for edge in (("a", "b"), ("b", "a")))
    with pytest.raises(ValueError, match="same for all DAGs"):
        Posterior.from_scores([(one, 0.0), (other, 1.0)])


def test_huge_classes():
    names = tuple(f"v{i:03d}" for i in range(200))
    cliques = [(names[10 * k + i], names[10 * k + j]) for k in range(20) for i in range(10) for j in range(i)]
    found = Posterior.from_scores(
        [(PDAG.from_edges(names, undirected=cliques), 0.0), (PDAG.from_edges(names), 2.0)]
    )
    assert found.class_sizes[0] == 3628800**20  # 10^131 DAGs
    assert found.edge_probabilities()[0, 1] == pytest.approx(0.5)
    assert found.paths(n_dags=50).value[0, 1] == pytest.approx(0.5, abs=0.4)
