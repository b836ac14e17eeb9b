"""Measurements: BGe against determinants, tests, chains against all DAGs, prediction, networks, intake."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from all_dags import all_dags
from brai import (
    BRAI,
    DPMCMC,
    MMHC,
    PDAG,
    RAI,
    Bootstrap,
    CITest,
    Dataset,
    Exact,
    HillClimbing,
    Knowledge,
    OrderSearch,
    exact,
    exchange,
    load,
    save,
)
from brai.data.measurements import Measurements
from brai.data.numbers import conforming
from brai.graphs.pdag import families_of
from brai.kernels.interface import NO_RULE, Evidence, begin, test, turn
from brai.kinds import kind_of
from brai.kinds.gaussian import bge
from brai.kinds.gaussian.kind import products
from brai.kinds.gaussian.moments import Moments
from brai.kinds.gaussian.network import GaussianNetwork
from brai.kinds.scores import FamilyScores
from brai.posterior import mcmc
from brai.posterior.prediction import log_predictive
from brai.runtime.jit import njit
from brai.search.family_table import FamilyTable
from brai.tree.rai import Learner, rai

kernels = pytest.mark.kernels


def linear(rng, d, rows, density=0.4):
    """Rows of a random linear model, and its DAG."""
    dag = np.triu(rng.random((d, d)) < density, 1).astype(np.int8)
    weights = dag * rng.uniform(0.4, 1.2, (d, d)) * rng.choice([-1, 1], (d, d))
    values = np.zeros((d, rows))
    for v in range(d):
        values[v] = weights[:, v] @ values + rng.normal(size=rows)
    scale = 10.0 ** rng.uniform(-3, 3, d)
    names = tuple(f"v{i}" for i in range(d))
    return Measurements(values * scale[:, None] + scale[:, None], names), PDAG(names, dag)


def brute(data, x, parents, ess=1.0):
    """BGe of a family from two determinants."""
    prior, rows = bge.Prior.of(data.n_variables, ess), data.standardised.T
    return bge.log_marginal(rows, [x, *parents], prior) - bge.log_marginal(rows, list(parents), prior)


@kernels
@pytest.mark.parametrize("ess", [0.5, 1.0, 7.0])
def test_bge_equals_determinants(rng, ess):
    data, _ = linear(rng, 6, 40)
    families = [(x, own) for x in range(6) for n in range(6) for own in combinations(set(range(6)) - {x}, n)]
    found = FamilyScores(data, ess=ess).families(families)
    assert found == pytest.approx([brute(data, x, own, ess) for x, own in families], abs=1e-9)


def test_bge_equals_foreign_values():
    """Values of sumu 0.1.2 (scores.bge.BGe, a port of BiDAG's R code): ν = 0, α_mu = 1, α_w = d + 2, T = I / 2."""
    i, j = np.arange(12)[:, None], np.arange(4)[None]
    data = Measurements((np.sin(1.7 * i * (j + 1) + j) + 0.3 * i * (j % 2)).T, tuple("abcd"))
    families = [(0, ()), (1, (0,)), (2, (0, 1)), (3, (0, 1, 2)), (0, (3,))]
    golden = [-20.478393123, -22.601080992, -25.287491184, -19.699911241, -22.678814888]
    assert FamilyScores(data).families(families) == pytest.approx(golden, abs=2e-9)


def test_bge_is_the_integral_over_the_parameters(rng):
    """One variable, by numerical integration over mean and precision of the normal-Wishart prior."""
    from scipy.integrate import dblquad
    from scipy.stats import gamma, norm

    data = Measurements(rng.normal(size=(1, 5)) * 3 + 2, ("a",))
    x, prior = data.standardised[0], bge.Prior.of(1, 2.0)

    def joint(mean, precision):
        likelihood = norm.pdf(x, mean, precision**-0.5).prod()
        given = norm.pdf(mean, 0.0, (prior.alpha_mu * precision) ** -0.5)
        return likelihood * given * gamma.pdf(precision, prior.alpha_w / 2, scale=2 / prior.t)

    value, _ = dblquad(joint, 1e-6, 30, -8, 8)
    assert FamilyScores(data, ess=2.0).families([(0, ())])[0] == pytest.approx(math.log(value), abs=1e-5)


@kernels
def test_all_dags_of_a_class_have_the_same_score(rng):
    data, _ = linear(rng, 4, 30)
    scores, classes = FamilyScores(data), {}
    for dag in all_dags(4):
        graph = PDAG(data.names, dag)
        classes.setdefault(graph.to_cpdag(), []).append(scores.total(families_of(graph)))
    assert len(classes) == 185
    assert max(np.ptp(own) for own in classes.values()) < 1e-8


def test_the_score_does_not_depend_on_units(rng):
    data, _ = linear(rng, 5, 50)
    other = Measurements(data.values * np.array([[1e-8], [3], [-1], [1e5], [7]]) - 4, data.names)
    families = [(0, (1, 2)), (3, (0, 4)), (2, ())]
    assert FamilyScores(other).families(families) == pytest.approx(FamilyScores(data).families(families))


@kernels
def test_mutual_information_equals_partial_correlations(rng):
    data, _ = linear(rng, 6, 200)
    evidence = learner_evidence(data)
    for given in ((), (2,), (2, 3), (2, 3, 4), (5, 3, 4)):
        rows = data.standardised
        z = np.vstack([np.ones(200), rows[list(given)]]).T
        left = [own - z @ np.linalg.lstsq(z, own, rcond=None)[0] for own in rows[:2]]
        r = np.corrcoef(left)[0, 1]
        value, df = statistic(evidence, 0, 1, np.array([*given, 0]), len(given))
        assert df == 1
        assert value / evidence.terms.scale == pytest.approx(-100 * math.log(1 - r * r), abs=1e-6)


@njit
def statistic(evidence, x, y, given, n):
    begin(evidence)
    turn(evidence, 0)
    value, df, _ = test(evidence, x, y, given, n, -1)
    return value, df


def learner_evidence(data, name="cmi"):
    kind = kind_of(data)
    terms = kind.test_terms(data, name, 1.0)
    return Evidence(kind.sample(data), terms, NO_RULE, kind.workspace(data, 6))


@kernels
def test_the_bayes_factor_is_a_difference_of_scores(rng):
    data, _ = linear(rng, 5, 60)
    value, _ = statistic(learner_evidence(data, "bayes-factor"), 0, 1, np.array([3, 4]), 2)
    more, fewer = FamilyScores(data).families([(0, (1, 3, 4)), (0, (3, 4))])
    assert value / 2.0**30 == pytest.approx(more - fewer, abs=1e-6)


@kernels
def test_a_determined_variable_leaves_the_test_undecided(rng):
    values = rng.normal(size=(3, 50))
    data = Measurements(np.vstack([values, values[0] + 2 * values[1]]), tuple("abcd"))
    evidence = learner_evidence(data)
    assert statistic(evidence, 3, 2, np.array([0, 1]), 2) == (0, 0)
    alone, twice = (statistic(evidence, 0, 2, np.array(own), len(own))[0] for own in ([1], [1, 1]))
    assert twice == alone  # a redundant member of the condition set adds nothing


def population(rng, d):
    """The covariance matrix of a random linear model, as a sample of very many rows."""
    dag = np.triu(rng.random((d, d)) < 0.35, 1).astype(np.int8)
    weights = dag * rng.uniform(0.5, 1.5, (d, d)) * rng.choice([-1, 1], (d, d))
    total = np.linalg.inv(np.eye(d) - weights)
    covariance = total.T @ np.diag(rng.uniform(0.5, 2, d)) @ total
    spread = np.sqrt(np.diag(covariance))
    return PDAG(tuple(f"v{i}" for i in range(d)), dag), covariance / np.outer(spread, spread)


@pytest.mark.parametrize("block", range(5))
def test_rai_is_exact_on_population_covariances(block, monkeypatch):
    """With partial correlations of a known model RAI finds its equivalence class: 500 models in all."""
    rng, n = np.random.default_rng(block), 10**6
    monkeypatch.setattr(Measurements, "n_rows", property(lambda self: n))
    for _ in range(100):
        truth, correlation = population(rng, int(rng.integers(3, 8)))
        data = Measurements(rng.normal(size=(len(truth.names), 3)), truth.names)
        sample = Moments(correlation * n, np.arange(len(correlation) + 1), n)
        monkeypatch.setattr(type(kind_of(data)), "sample", lambda self, data, own=sample: own)
        learner = Learner(data, CITest("cmi", threshold=1e-11, colliders=None))
        found = PDAG.from_parents(truth.names, [own for _, own in sorted(rai(learner))])
        assert found.to_cpdag() == truth.to_cpdag()


def exact_edges(data, **settings):
    scores = FamilyScores(data, **settings)
    dags = list(all_dags(data.n_variables))
    logs = np.array([scores.total(families_of(PDAG(data.names, dag))) for dag in dags])
    weights = np.exp(logs - logs.max())
    return np.tensordot(weights / weights.sum(), np.array(dags), 1)


@pytest.mark.slow
def test_chains_against_all_dags_of_five_variables(rng):
    data, _ = linear(rng, 5, 60)
    truth = exact_edges(data)
    model = BRAI(structure_prior="uniform", ess=1.0, posterior_from="mcmc", random_state=0).fit(data)
    off = ~np.eye(5, dtype=bool)
    assert np.abs(model.edge_probabilities() - truth)[off].mean() < 0.005


def test_exact_sums_over_all_dags(rng):
    data, _ = linear(rng, 4, 40)
    truth = exact_edges(data)
    assert exact.edge_probabilities(data) == pytest.approx(truth, abs=1e-9)
    model = BRAI(structure_prior="uniform", ess=1.0, posterior_from="mcmc", random_state=0).fit(data)
    assert np.abs(model.edge_probabilities() - truth).mean() < 0.01


LEARNERS = [
    BRAI(random_state=0),
    BRAI.paper(random_state=0),
    BRAI(random_state=0, family_score="bic", posterior_from="mcmc"),
    RAI(),
    RAI(CITest("bayes-factor")),
    HillClimbing(),
    OrderSearch(structure_prior="fair"),
    MMHC(),
    Exact(max_parents=3),
    DPMCMC(n=500, random_state=0),
    Bootstrap(HillClimbing(), n=5, random_state=0),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda own: f"{type(own).__name__}-{LEARNERS.index(own)}")
def test_every_learner(learner, tmp_path):
    rng = np.random.default_rng(5)
    data, truth = linear(rng, 6, 800, 0.35)
    new = Measurements(data.values[:, :20], data.names)
    model = learner.fit(data)
    assert model.cpdag_.skeleton().sum() > 0
    if type(learner) in (BRAI, OrderSearch, HillClimbing):
        assert (model.cpdag_.skeleton() != truth.skeleton()).sum() <= 4
    probabilities = model.edge_probabilities()
    assert ((probabilities >= 0) & (probabilities <= 1 + 1e-12)).all()
    assert np.isfinite(model.score_samples(new)).all()
    save(model, tmp_path / "m.brai")
    again = load(tmp_path / "m.brai")
    assert again.score_ == model.score_
    assert np.array_equal(again.score_samples(new), model.score_samples(new))
    assert again._train.values.tolist() == data.values.tolist()


def test_workers_and_the_order_of_columns_change_nothing(rng):
    data, _ = linear(rng, 8, 120)
    one = BRAI(random_state=0).fit(data)
    two = BRAI(random_state=0, n_jobs=2).fit(data.select(data.names[::-1]))
    assert one.cpdag_ == two.cpdag_.reorder(data.names)
    assert np.array_equal(one.edge_probabilities(), two.edge_probabilities()[::-1, ::-1])


def test_scores_do_not_depend_on_what_a_chain_remembers(rng, monkeypatch):
    scores = FamilyScores(linear(rng, 8, 60)[0])
    table = FamilyTable(scores, max_parents=2)  # most families that a chain meets are not listed
    limits = np.full(8, 7)
    one = mcmc.sample_dags(table.with_scores(scores), 50, thin=200, burn_in=0, max_parents=limits)
    walk = mcmc.walk

    def forgetful(*arguments):
        mcmc._benches.clear()
        return walk(*arguments)

    monkeypatch.setattr(mcmc, "walk", forgetful)
    two = mcmc.sample_dags(table.with_scores(scores), 50, thin=200, burn_in=0, max_parents=limits)
    assert np.array_equal(one.log_scores, two.log_scores)


def test_products_by_blocks(rng):
    a = rng.normal(size=(150, 700))
    np.testing.assert_allclose(products(a, a), a @ a.T, atol=1e-10)


def test_knowledge_and_beliefs_are_obeyed(rng):
    data, _ = linear(rng, 5, 100)
    known = Knowledge(required=[("v4", "v0")], forbidden=[("v1", "v2")], beliefs=[("v2", "v3", 0.9)])
    model = BRAI(random_state=0, knowledge=known, structure_prior="fair", ess=1.0).fit(data)
    edges = model.edge_probabilities()
    assert edges[4, 0] == pytest.approx(1)
    assert edges[1, 2] == 0
    without = BRAI(random_state=0, structure_prior="fair", ess=1.0).fit(data)
    assert edges[2, 3] >= without.edge_probabilities()[2, 3] - 0.02


# --- prediction, parameters, effects ---


def test_a_prediction_is_a_ratio_of_marginal_likelihoods(rng):
    """p(row | D) = p(D and row) / p(D), in the units of the data; both standardised as D."""
    data, _ = linear(rng, 4, 30)
    row = data.values[:, :1] * 1.1 + 0.3 * data.spread[:, None]
    family = (2, (0, 3))
    prior = bge.Prior.of(4, 1.0)
    before = data.standardised.T
    after = np.vstack([before, ((row - data.centre[:, None]) / data.spread[:, None]).T])
    logs = [
        bge.log_marginal(rows, [0, 3, 2], prior) - bge.log_marginal(rows, [0, 3], prior)
        for rows in (after, before)
    ]
    expected = logs[0] - logs[1] - math.log(data.spread[2])
    assert log_predictive([family], data, Measurements(row, data.names), 1.0) == pytest.approx(
        [expected], abs=1e-9
    )


def test_the_average_is_over_graphs(rng):
    data, _ = linear(rng, 4, 40)
    model = BRAI(random_state=0).fit(data)
    posterior = model.model_posterior()
    each = [
        np.exp(log_predictive(families_of(own.to_dag()), data, data, model._parameter_ess))
        for own in posterior.cpdags
    ]
    assert model.score_samples(data) == pytest.approx(np.log(posterior.probabilities @ np.array(each)))


def known_network():
    return GaussianNetwork(
        ("a", "b", "c"), ((), (0,), (0, 1)), (1.0, -2.0, 0.5), ((), (2.0,), (0.5, -1.0)), (1.0, 0.25, 2.0), "abc"
    )


def test_distributions_of_a_network_equal_samples():
    net = known_network()
    mean, covariance = net.joint()
    rows = net.sample(200_000, random_state=0).values
    assert mean == pytest.approx(rows.mean(axis=1), abs=0.02)
    assert covariance == pytest.approx(np.cov(rows), rel=0.03)
    low = rows[:, np.abs(rows[2] + 3) < 0.05]
    found = net.marginal("a", given={"c": -3})
    assert found.mean == pytest.approx(low[0].mean(), abs=0.05)
    assert found.sd == pytest.approx(low[0].std(), abs=0.05)
    both = net.marginal(["b", "a"], given={"c": -3.0})
    assert both.mean[1] == pytest.approx(found.mean)
    assert net.marginal("c", do={"b": 4}).mean == pytest.approx(0.5 + 0.5 * 1 - 4)
    assert net.marginal("a", do={"b": 4}) == net.marginal("a")
    assert net.total_effects()[0, 2] == pytest.approx(0.5 - 2.0)
    from scipy.stats import multivariate_normal

    expected = multivariate_normal(mean, covariance).logpdf(rows[:, :5].T)
    assert net.log_prob(Measurements(rows[:, :5], net.names)) == pytest.approx(expected)


def test_a_network_is_estimated_and_saved():
    net = known_network()
    data = net.sample(20_000, random_state=1)
    found = GaussianNetwork.fit(net.pdag, data)
    for name in ("intercepts", "variances"):
        assert getattr(found, name) == pytest.approx(getattr(net, name), abs=0.1)
    assert found.coefficients[2] == pytest.approx(net.coefficients[2], abs=0.05)
    least_squares = GaussianNetwork.fit(net.pdag, data, ess=0)
    x = np.vstack([np.ones(20_000), data.values[:2]]).T
    expected = np.linalg.lstsq(x, data.values[2], rcond=None)[0]
    assert least_squares.coefficients[2] == pytest.approx(expected[1:], abs=1e-6)
    assert least_squares.variances[2] == pytest.approx((data.values[2] - x @ expected).var(), rel=1e-6)
    again = GaussianNetwork.from_json(found.to_json())
    assert again.to_dict() == found.to_dict()
    assert repr(again) == "GaussianNetwork(3 variables, 3 edges)"


def test_networks_go_to_pgmpy_and_back():
    pytest.importorskip("pgmpy")
    net = known_network()
    model = exchange.to_pgmpy(net)
    assert model.check_model()
    mean, covariance = model.to_joint_gaussian()
    order = [list(model.nodes()).index(name) for name in net.names]
    assert np.asarray(mean)[order] == pytest.approx(net.joint()[0], abs=1e-3)
    assert np.asarray(covariance)[np.ix_(order, order)] == pytest.approx(net.joint()[1], abs=1e-2)
    again = exchange.from_pgmpy(model)
    assert again.pdag == net.pdag
    assert again.coefficients == net.coefficients
    assert again.variances == pytest.approx(net.variances)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parents": ((1,), (0,), ())}, "coefficients"),
        ({"variances": (1.0, -1.0, 1.0)}, "variance"),
        ({"intercepts": (math.nan, 0.0, 0.0)}, "finite"),
        ({"names": ("a", "a", "b")}, "distinct"),
        ({"parents": ((1,), (0,), ()), "coefficients": ((1.0,), (1.0,), ())}, "cycle"),
    ],
)
def test_what_is_not_a_network_is_refused(change, message):
    net = known_network()
    settings = {
        name: getattr(net, name) for name in ("names", "parents", "intercepts", "coefficients", "variances")
    }
    with pytest.raises(ValueError, match=message):
        GaussianNetwork(**{**settings, **change})


def test_questions_about_unknown_variables_say_so():
    net = known_network()
    with pytest.raises(ValueError, match="no variable 'd'"):
        net.marginal("d")
    with pytest.raises(ValueError, match="give a number"):
        net.marginal("a", do={"b": "high"})
    with pytest.raises(ValueError, match="brai-gaussian-network"):
        GaussianNetwork.from_json("{}")
    with pytest.raises(ValueError, match="not JSON"):
        GaussianNetwork.from_json("{")


def test_effects_are_regressions(rng):
    net = known_network()
    data = net.sample(3000, random_state=2)
    model = BRAI(random_state=0, knowledge={"required": [("a", "b"), ("a", "c"), ("b", "c")]}).fit(data)
    effect = model.causal_effect("b", "c", change=(0, 2))
    assert effect.effect == pytest.approx(-2.0, abs=0.3)
    x = np.vstack([np.ones(3000), data.values[:2]]).T
    slope, *_ = np.linalg.lstsq(x, data.values[2], rcond=None)
    assert effect.effect == pytest.approx(2 * slope[2], abs=0.02)
    noise = data.values[2] - x @ slope
    error = math.sqrt(noise.var() * np.linalg.inv(x.T @ x)[2, 2])
    assert effect.effect_parameter_sd == pytest.approx(2 * error, rel=0.02)
    assert effect.p_causes == 1
    total = model.causal_effect("a", "c", change=(0, 1))
    assert total.effect == pytest.approx(0.5 - 2.0, abs=0.2)
    back = model.causal_effect("c", "a")
    assert back.effect == 0
    assert "E(a | do(c))" in str(back)
    with pytest.raises(ValueError, match="two numbers"):
        model.causal_effect("a", "c", change=("low", "high"))
    with pytest.raises(ValueError, match="continuous"):
        model.causal_effect("a", "c", values={"x": 1})


def test_coefficients_of_edges_are_regressions():
    net = known_network()
    data = net.sample(2000, random_state=3)
    model = BRAI(random_state=0, knowledge={"required": [("a", "b"), ("a", "c"), ("b", "c")]}).fit(data)
    sizes = model.edge_coefficients()
    z = data.standardised
    slopes, *_ = np.linalg.lstsq(z[:2].T, z[2], rcond=None)
    assert sizes.mean[[0, 1], 2] == pytest.approx(slopes, abs=0.01)
    noise = (z[2] - slopes @ z[:2]).var()
    assert sizes.sd[0, 2] == pytest.approx(math.sqrt(noise * np.linalg.inv(z[:2] @ z[:2].T)[0, 0]), rel=0.02)
    assert np.isnan(sizes.mean[2, 0])
    effects = model.total_effects(n=2000)
    expected = GaussianNetwork.fit(model.dag_, data).total_effects()
    assert effects.mean == pytest.approx(expected, abs=0.02)
    assert (effects.low <= effects.mean + 1e-9).all()
    assert effects.sd[0, 2] == pytest.approx(
        model.causal_effect("a", "c", change=(0, 1)).effect_parameter_sd, rel=0.1
    )
    assert effects.sd[2, 0] == 0
    discrete = RAI().fit({"a": [0, 1] * 20, "b": [0, 1] * 20})
    assert discrete.edge_coefficients() is None
    with pytest.raises(ValueError, match="causal_effect for one pair"):
        discrete.total_effects()


def test_total_effects_of_an_uncertain_graph(rng):
    """Half of the DAGs of a class of two have the effect, so its mean is half of the coefficient."""
    a = rng.normal(size=400)
    model = BRAI(random_state=0).fit({"a": a, "b": a + rng.normal(size=400)})
    effects = model.total_effects(n=4000)
    single = model.causal_effect("a", "b", change=(0, 1))
    assert effects.mean[0, 1] == pytest.approx(single.effect, abs=0.05)
    assert effects.sd[0, 1] == pytest.approx(single.effect_sd, abs=0.05)


# --- the command line ---


def test_the_command_line_learns_and_answers(tmp_path):
    from click.testing import CliRunner

    from brai.cli import cli

    data = known_network().sample(300, random_state=0)
    lines = [",".join(data.names), *(",".join(map(repr, row)) for row in data.values.T.tolist())]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")

    def run(*words):
        return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)

    out = tmp_path / "out"
    done = run("learn", tmp_path / "t.csv", "-o", out, "--quiet")
    assert done.exit_code == 0
    assert "300 rows, 3 variables, measurements" in done.stdout
    assert "size" in done.stdout
    assert "3 columns of numbers are taken as measurements" in done.stderr
    assert GaussianNetwork.from_json((out / "network.json").read_text()).pdag == load(out / "model.brai").dag_
    assert not (out / "network.bif").exists()
    assert (
        (out / "edges.csv")
        .read_text()
        .splitlines()[0]
        .endswith("coefficient,low,high,model_strength,model_direction")
    )
    assert "Coefficient (95 %)" in (out / "report.html").read_text()
    assert "mean" in run("query", out, "marginal", "c", "a=2").stdout
    assert "standard deviation" in run("query", out, "do", "c", "b=0").stdout
    assert "effect" in run("query", out, "effect", "a", "c").stdout
    drawn = run("sample", out, "--rows", "-n", 3).stdout.splitlines()
    assert drawn[0] == "a,b,c"
    assert len(drawn) == 4
    assert run("learn", tmp_path / "t.csv", "--kind", "a", "--quiet").exit_code == 2
    labels = run("learn", tmp_path / "t.csv", "--transform", "normal-scores", "--json", "--quiet")
    assert '"kind": "gaussian"' in labels.stdout


# --- intake ---


def test_which_columns_are_measurements():
    fractions, many, few = [0.5, 1.5, 2.0] * 10, list(range(15)) * 2, [0, 1] * 15
    assert Dataset.of({"a": fractions, "b": few}).kinds == ("continuous", "discrete")
    assert Dataset.of({"a": fractions, "b": [0, 1, 2] * 10}).kinds == ("continuous", "ordered")
    assert Dataset.of({"a": fractions, "b": [1] * 30}).kind == "gaussian"
    assert Dataset.of({"a": many, "b": many[::-1]}).kind == "gaussian"
    assert Dataset.of({"a": many, "b": few}).kinds == ("continuous", "discrete")
    assert Dataset.of({"a": few, "b": few}).kind == "discrete"
    assert Dataset.of({"a": few, "b": few}, kinds={"a": "continuous"}).kinds == ("continuous", "discrete")
    assert Dataset.of({"a": many, "b": many}, kinds={"a": "discrete", "b": "discrete"}).kind == "discrete"
    assert Dataset.of(np.array([[0.5, 1.5], [2, 3]])).kind == "gaussian"
    assert Dataset.of({"a": fractions, "b": ["x", "y"] * 15}).kinds == ("continuous", "discrete")
    with pytest.raises(ValueError, match="does not hold numbers only"):
        Dataset.of({"a": ["x", "y"]}, kinds={"a": "continuous"})
    with pytest.raises(ValueError, match="did you mean 'age'"):
        Dataset.of({"age": [1.5, 2]}, kinds={"agge": "continuous"})
    with pytest.raises(ValueError, match="choose 'discrete', 'ordered' or 'continuous'"):
        Dataset.of({"age": [1.5, 2]}, kinds={"age": "nominal"})


def test_frames_and_files_agree(tmp_path, rng):
    import pandas
    import polars
    import pyarrow

    values = np.round(rng.normal(size=(30, 3)), 3)
    frame = pandas.DataFrame(values, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    tables = [
        frame,
        polars.DataFrame(frame.to_dict("list")),
        pyarrow.table(frame.to_dict("list")),
        tmp_path / "t.csv",
    ]
    for table in (*tables, tmp_path / "t.parquet"):
        found = Dataset.of(table)
        assert found.values == pytest.approx(values.T)
        assert found.names == ("a", "b", "c")
    assert Dataset.from_file(tmp_path / "t.csv", drop=["b"]).names == ("a", "c")


def test_long_columns_of_numbers_are_read_as_floats(tmp_path, monkeypatch):
    monkeypatch.setattr("brai.data.text_files.NUMBERS", 5)
    monkeypatch.setattr("brai.data.text_files.CELLS", 8)
    values = np.round(np.random.default_rng(0).normal(size=(2, 40)), 6)
    lines = [f"{a},{b}" for a, b in values.T.tolist()]
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "\n".join(lines) + "\n")
    assert Dataset.from_file(path).values == pytest.approx(values)
    path.write_text("a,b\n" + "\n".join([*lines, " ,1", "NA,1"]) + "\n")
    with pytest.warns(UserWarning, match="2 of 42 rows dropped"):
        assert Dataset.from_file(path, missing="drop").values == pytest.approx(values)
    path.write_text("a,b\n" + "\n".join([*lines, "high,1"]) + "\n")
    with pytest.raises(ValueError, match=r"'a'.*different numbers holds 'high' too"):
        Dataset.from_file(path)
    codes = [f"{i:04d},{i % 3}" for i in range(30)] * 2
    path.write_text("a,b\n" + "\n".join(codes) + "\n")
    assert Dataset.from_file(path).kind == "discrete"  # zero-padded numbers are codes


def test_missing_and_infinite_values():
    holes = {"a": [1.5, None, 2.5, 3.0], "b": [1.0, 2.0, np.nan, 4.5]}
    with pytest.raises(ValueError, match=r"missing values \('a' 1, 'b' 1\), the first in row 2"):
        Dataset.of(holes, missing="error")
    with pytest.warns(UserWarning, match="2 of 4 rows dropped"):
        assert Dataset.of(holes, missing="drop").values.tolist() == [[1.5, 3.0], [1.0, 4.5]]
    with pytest.raises(ValueError, match=r"infinite values in 'b' \(row 2\)"):
        Dataset.of({"a": [1.5, 2.0], "b": [1.0, np.inf]})
    with pytest.raises(ValueError, match="no row is complete"):
        Dataset.of({"a": [1.5, None], "b": [None, 2.0]}, missing="drop")


def test_normal_scores():
    rng = np.random.default_rng(0)
    heavy = {"a": np.exp(3 * rng.normal(size=200)), "b": rng.normal(size=200)}
    with pytest.warns(UserWarning, match="far from normal.*'a'.*normal-scores"):
        Dataset.of(heavy)
    data = Dataset.of(heavy, transform="normal-scores")
    assert data.values[0] == pytest.approx(
        Dataset.of({"a": np.log(heavy["a"])}, transform="normal-scores").values[0]
    )
    again = conforming(heavy, data)
    assert again.values == pytest.approx(data.values)
    model = BRAI(random_state=0).fit(data)
    assert np.isfinite(model.score(heavy))
    with pytest.raises(ValueError, match="choose 'none' or 'normal-scores'"):
        Dataset.of(heavy, transform="log")


def test_rows_to_predict_must_have_the_columns():
    model = OrderSearch().fit({"a": [1.5, 2.0, 3.5, 4.0], "b": [2.0, 2.5, 1.0, 0.5]})
    with pytest.raises(ValueError, match="lacks"):
        model.score({"a": [1.0]})
    assert model.score({"a": [None], "b": [1.0]}) > model.score({"a": [9.0], "b": [1.0]})
    with pytest.raises(ValueError, match="not a column of numbers"):
        model.score({"a": ["x"], "b": [1.0]})
    assert np.isfinite(model.score({"b": [1], "a": [2]}))


def bad_tables():
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    outlier = np.zeros(60)
    outlier[7] = 1.0
    wide = rng.normal(size=(5, 12))
    return {
        "copies": {"a": a, "b": a, "c": rng.normal(size=60)},
        "constant": {"a": a, "b": np.full(60, 2.5), "c": a + rng.normal(size=60)},
        "sum": {"a": a, "b": rng.normal(size=60) ** 2, "c": a * 2},
        "linear": {"a": a, "b": (b := rng.normal(size=60)), "c": a + b, "d": a - b},
        "two rows": {"a": [0.5, 1.5], "b": [1.0, 2.0], "c": [3.0, 1.5]},
        "one row": {"a": [0.5], "b": [1.5]},
        "more columns than rows": {f"x{i}": wide[:, i] for i in range(12)},
        "huge": {"a": a * 1e300, "b": a * 1e300 + 1e299 * rng.normal(size=60), "c": rng.normal(size=60)},
        "tiny": {"a": a * 1e-300, "b": a * 1e-300 + 1e-301 * rng.normal(size=60), "c": rng.normal(size=60)},
        "outlier": {"a": a, "b": outlier + 0.5, "c": a + rng.normal(size=60)},
    }


@pytest.mark.parametrize("name", list(bad_tables()))
@pytest.mark.filterwarnings("ignore:far from normal", "ignore:the chains have not converged")
def test_bad_tables_are_learned_without_nonsense(name):
    table = bad_tables()[name]
    model = BRAI(random_state=0, n_draws=100).fit(table)
    edges = model.edge_probabilities()
    assert np.isfinite(edges).all()
    assert math.isfinite(model.log_score_)
    assert np.isfinite(model.score(table))
    assert np.isfinite(RAI().fit(table).log_score_)
    if name in ("copies", "huge", "tiny"):
        assert model.adjacency_probability("a", "b") > 0.9
        assert model.adjacency_probability("a", "c") < 0.5
    if name == "constant":
        assert edges[1].sum() + edges[:, 1].sum() == 0


def test_all_problems_of_a_table_are_told_at_once(tmp_path):
    import datetime

    from click.testing import CliRunner

    from brai.cli import cli

    days = [datetime.date(2026, 1, 1 + i) for i in range(30)]
    table = {"day": days, "name": [f"n{i}" for i in range(30)], "ill": [0, 1] * 15}
    with pytest.raises(
        ValueError, match=r"2 columns cannot be used.*'day' is of type date.*'name'.*identifier"
    ) as told:
        Dataset.of(table)
    assert told.value.columns == ("day", "name")
    with pytest.raises(ValueError, match=r"'day' is of type date") as told:
        Dataset.of({"day": days, "ill": [0, 1] * 15})
    assert told.value.columns == ()
    lines = [f"{i},n{i},m {i},{i % 2}" for i in range(30)]
    path = tmp_path / "t.csv"
    path.write_text("id,name,full name,ill\n" + "\n".join(lines) + "\n")
    done = CliRunner().invoke(cli, ["learn", str(path), "--quiet"])
    assert "3 columns cannot be used" in str(done.exception)
    assert str(done.exception).endswith("--drop id --drop name --drop 'full name'")
