"""Structure priors: their formulas, their place in every search and sampler, and the choice of hyperparameters."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from all_dags import all_dags
from brai import BRAI, DPMCMC, MMHC, Dataset, Exact, HillClimbing, OrderSearch, exact, load_network
from brai.graphs.knowledge import Bounds
from brai.graphs.pdag import PDAG, families_of
from brai.graphs.priors import StructurePrior, edge_odds, expected_edges, family_prior, log_choose, log_weight
from brai.kernels.interface import NO_PRIOR, Prior, begin, offspring, turn
from brai.kinds.discrete.kind import KIND
from brai.kinds.scores import FamilyScores
from brai.runtime.jit import njit
from brai.search.hyperparameters import STRENGTHS, log_normaliser, settle, some_variables
from conftest import random_data

kernels = pytest.mark.kernels
PRIORS = ["fair", {"strength": 0.5}, {"strength": 1.5}, {"edges": 3}]


def test_the_terms_of_each_prior():
    sizes = StructurePrior.of("fair").sizes(6)
    assert np.exp(-sizes) == pytest.approx([math.comb(5, k) for k in range(6)])
    assert StructurePrior.of({"strength": 0.5}).sizes(6) == pytest.approx(sizes / 2)
    assert len(StructurePrior.of("uniform").sizes(6)) == 0
    assert StructurePrior.of({"strength": 0}).is_uniform
    edges = StructurePrior.of({"edges": 4}).sizes(6)
    assert np.diff(edges) == pytest.approx(np.full(5, edges[1]))
    assert log_choose(4) == pytest.approx(np.log([1, 4, 6, 4, 1]))


@pytest.mark.parametrize(
    "given", ["fairly", {"strength": -1}, {"strength": True}, {"edges": 0}, {"a": 1}, 3, None, {}]
)
def test_what_is_not_a_prior_is_refused(given):
    with pytest.raises(ValueError, match=r"structure_prior is .*: choose 'uniform', 'fair'"):
        StructurePrior.of(given)


@pytest.mark.parametrize("given", ["uniform", "fair", {"strength": 1.5}, {"edges": 3.0}])
def test_priors_are_written_as_they_are_given(given):
    assert StructurePrior.of(given).plain() == given
    assert StructurePrior.of(StructurePrior.of(given)) == StructurePrior.of(given)
    assert StructurePrior.of(given).sentence().startswith("Before the data")


def test_the_expected_number_of_edges_is_that_of_all_dags():
    for r in (0.1, 1.0, 3.0):
        counts = np.array([dag.sum() for dag in all_dags(4)])
        weights = r**counts
        assert math.exp(log_weight(4, r)) == pytest.approx(weights.sum())
        assert expected_edges(4, r) == pytest.approx((weights * counts).sum() / weights.sum(), rel=1e-6)
    for edges in (0.5, 2.0, 5.0):
        assert expected_edges(4, edge_odds(4, edges)) == pytest.approx(edges, rel=1e-5)
    with pytest.raises(ValueError, match="more than 0 and fewer than 6"):
        edge_odds(4, 6)


def test_a_prior_is_the_same_for_all_dags_of_a_class():
    for prior in (StructurePrior(1.0), StructurePrior(0.7), StructurePrior(edges=2.0)):
        sizes = prior.sizes(4)
        values: dict[bytes, float] = {}
        for dag in all_dags(4):
            key = PDAG(tuple("abcd"), dag).to_cpdag().adjacency.tobytes()
            value = sizes[dag.sum(axis=0)].sum()
            assert values.setdefault(key, value) == pytest.approx(value)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("score", ["bdeu", "bic", "qnml"])
def test_scores_are_those_without_a_prior_and_the_prior(rng, score, prior):
    data = random_data(rng, 6, 100, 3)
    terms = family_prior(StructurePrior.of(prior), data.names, None)
    plain, with_it = FamilyScores(data, score), FamilyScores(data, score, prior=terms)
    families = [(v, own) for v in range(6) for n in range(4) for own in combinations(sorted({*range(6)} - {v}), n)]
    expected = [
        value + terms.sizes[len(own)] for (_, own), value in zip(families, plain.families(families), strict=True)
    ]
    assert with_it.families(families) == pytest.approx(expected, abs=1e-9)
    assert FamilyScores(data, score, prior=NO_PRIOR).families(families) == plain.families(families)


@njit
def scored(evidence, children, parents, n, least, out):
    begin(evidence)
    turn(evidence, 0)
    offspring(evidence, children, parents, n, least, out)


@kernels
def test_offspring_have_the_prior_too(rng):
    data = random_data(rng, 6, 100, 3)
    edges = rng.normal(size=(6, 6))
    scores = FamilyScores(data, prior=Prior(StructurePrior(1.0).sizes(6), edges))
    children, parents = np.array([0, 2, 4, 5]), np.array([1, 3])
    expected = np.array(scores.families([(c, (1, 3)) for c in children.tolist()]))
    out = np.empty(4)
    scored(scores.evidence(4), children, parents, 2, np.full(4, -np.inf), out)
    assert out == pytest.approx(expected)
    least = expected + np.array([-1.0, 1.0, -1.0, 1.0])
    kept = least.copy()
    scored(scores.evidence(4), children, parents, 2, least, out)
    assert (least == kept).all()
    assert out[[0, 2]] == pytest.approx(expected[[0, 2]])
    assert (out[[1, 3]] <= least[[1, 3]]).all()


@pytest.mark.parametrize("prior", PRIORS)
def test_every_learner_maximises_score_and_prior(rng, prior):
    data = load_network("survey").sample(300, random_state=1)
    dag, best = exact.map_network(data, structure_prior=prior)
    names = sorted(data.names)
    terms = family_prior(StructurePrior.of(prior), names, None)
    scores = FamilyScores(data.select(names), prior=terms)
    assert scores.total(families_of(dag.reorder(names))) == pytest.approx(best)
    for model in (
        Exact(structure_prior=prior),
        OrderSearch(structure_prior=prior),
        HillClimbing(structure_prior=prior, restarts=5),
        BRAI(structure_prior=prior, ess=1.0, random_state=0),
    ):
        model.fit(data)
        assert model.log_score_ == pytest.approx(best), model
        assert model.log_likelihood_ == pytest.approx(
            FamilyScores(data.select(names)).total(families_of(model.dag_.reorder(names)))
        )
        assert model.log_likelihood_ + model.log_prior_ == pytest.approx(model.log_score_)
    for model in (MMHC(structure_prior=prior), DPMCMC(100, structure_prior=prior)):
        assert scores.total(families_of(model.fit(data).dag_.reorder(names))) == pytest.approx(model.log_score_)


@pytest.mark.parametrize("prior", PRIORS)
def test_exact_probabilities_are_sums_over_all_dags(rng, prior):
    data = random_data(rng, 4, 60, 3)
    names = sorted(data.names)
    scores = FamilyScores(data.select(names), prior=family_prior(StructurePrior.of(prior), names, None))
    logs, dags = [], list(all_dags(4))
    for dag in dags:
        logs.append(scores.total(families_of(PDAG(tuple(names), dag.astype(np.int8)))))
    weights = np.exp(np.array(logs) - max(logs))
    expected = np.tensordot(weights / weights.sum(), np.array(dags, float), 1)
    rank = [names.index(name) for name in data.names]
    expected = expected[np.ix_(rank, rank)]
    found = exact.edge_probabilities(data, structure_prior=prior)
    assert found == pytest.approx(expected, abs=1e-9)
    drawn = exact.sample_dags(data, 4000, structure_prior=prior, random_state=0)
    assert np.mean([dag.adjacency for dag, _ in drawn], axis=0) == pytest.approx(expected, abs=0.05)
    classes = exact.posterior(data, structure_prior=prior)
    assert classes.edge_probabilities() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("prior", ["uniform", "fair", {"strength": 2.0}])
def test_chains_have_the_exact_probabilities_under_each_prior(prior):
    data = load_network("cancer").sample(300, random_state=2)
    model = BRAI(structure_prior=prior, ess=1.0, posterior_from="mcmc", random_state=0).fit(data)
    truth = exact.edge_probabilities(data, structure_prior=prior, max_parents=4)
    assert np.abs(model.edge_probabilities() - truth).mean() < 0.02


def test_the_paper_has_a_uniform_prior():
    model = BRAI.paper(random_state=0).fit(load_network("cancer").sample(200, random_state=0))
    assert model.structure_prior_.is_uniform
    assert model.ess_ == 1
    assert model.log_prior_ == 0
    assert model.hyperparameters_ == []


# --- hyperparameters ---


def brute_normaliser(prior, d, most):
    """Sum of prior weights over all directed graphs with at most ``most`` parents: a product over variables."""
    sizes = prior.sizes(d) if not prior.is_uniform else np.zeros(d)
    one = sum(math.exp(sizes[len(own)]) for n in range(most + 1) for own in combinations(range(d - 1), n))
    return d * math.log(one)


def test_the_normaliser_is_a_sum_over_parent_sets():
    for strength in (0.0, 0.5, 1.0, 2.0):
        for most in (1, 2, 4):
            prior = StructurePrior(strength)
            assert log_normaliser(prior, 5, most) == pytest.approx(brute_normaliser(prior, 5, most))


def test_ignoring_cycles_changes_ratios_of_normalisers_little():
    def acyclic(prior):
        sizes = prior.sizes(5)
        return math.log(sum(math.exp(sizes[dag.sum(axis=0)].sum()) for dag in all_dags(5)))

    one, other = StructurePrior(1.0), StructurePrior(1.5)
    exactly = acyclic(one) - acyclic(other)
    assert log_normaliser(one, 5, 4) - log_normaliser(other, 5, 4) == pytest.approx(exactly, rel=0.5)


def free(data):
    return Bounds.free(data.n_variables)


def test_numbers_stay_as_they_are(rng):
    data = random_data(rng, 4, 50, 3)
    assert settle(data, "bdeu", 2, "fair", free(data), 4) == (2.0, StructurePrior(1.0), ())


def test_auto_has_the_highest_evidence_of_its_neighbours():
    data = load_network("alarm").sample(500, random_state=0)
    data = data.select(sorted(data.names))
    found = settle(data, "bdeu", "auto", "auto", free(data), 4)
    tried = {(own.ess, own.strength): own.log_evidence for own in found.tried}
    at = KIND.ess_choices.index(found.ess)
    for other in KIND.ess_choices[max(0, at - 1) : at + 2]:
        assert tried[found.ess, 1.0] >= tried[other, 1.0]
    assert tried["table", 1.0] < tried[found.ess, 1.0] + 37 * math.log(500) / 2
    assert settle(data, "bdeu", "auto", "auto", free(data), 4) == found


def test_smooth_tables_of_many_states_have_an_ess_of_their_own(rng):
    codes = np.zeros((500, 6), int)
    codes[:, 0] = rng.integers(0, 9, 500)
    for v in range(1, 6):
        table = rng.dirichlet(np.ones(9), 9)
        codes[:, v] = [rng.choice(9, p=table[own]) for own in codes[:, v - 1]]
    data = Dataset.from_codes(codes, arities=[9] * 6)
    found = settle(data, "bdeu", "auto", "auto", free(data), 4)
    assert found.ess == "table" or found.ess >= 10


def test_independent_columns_have_a_strong_prior_and_no_edges(rng):
    data = Dataset.from_codes(rng.integers(0, 3, (200, 12)), arities=[3] * 12)
    model = BRAI(random_state=0).fit(data)
    assert model.structure_prior_.strength > 1
    assert model.dag_.adjacency.sum() == 0
    assert model.adjacency_probabilities().max() < 0.1


@pytest.mark.parametrize(("states", "rows"), [(20, 400), (60, 60), (100, 1000)])
def test_many_states_give_no_edges_from_nothing(rng, states, rows):
    data = Dataset.from_codes(rng.integers(0, states, (rows, 12)), arities=[states] * 12)
    model = BRAI(random_state=0, n_draws=50).fit(data)
    assert model.dag_.adjacency.sum() == 0
    assert model.adjacency_probabilities().max() < 0.2
    uniform = BRAI(random_state=0, structure_prior="uniform", ess=1.0, posterior_from="mcmc", n_draws=20).fit(data)
    assert uniform.dag_.adjacency.sum() > 0  # what ess="auto" is for


def test_with_many_variables_a_connected_part_is_used(rng, monkeypatch):
    codes = rng.integers(0, 2, (300, 12))
    codes[:, 7] = codes[:, 0] ^ (rng.random(300) < 0.05)
    codes[:, 11] = codes[:, 7] ^ (rng.random(300) < 0.05)
    data = Dataset.from_codes(codes, arities=[2] * 12)
    monkeypatch.setattr("brai.search.hyperparameters.LARGE", 4)
    chosen = some_variables(data, free(data)).tolist()
    assert len(chosen) == 4
    assert {0, 7, 11} <= set(chosen)
    assert settle(data, "bdeu", "auto", "auto", free(data), 4).prior.strength in STRENGTHS


def test_the_ess_is_reconsidered_at_the_best_graph():
    """Climbs from the empty graph miss exclusive ors, so they choose a larger ess than the graph needs."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (300, 24))
    for child in range(12, 24):
        a, b = rng.choice(12, 2, replace=False)
        codes[:, child] = codes[:, a] ^ codes[:, b]
    data = Dataset.from_codes(codes, arities=[2] * 24)
    names = sorted(data.names)
    first = settle(data.select(names), "bdeu", "auto", "auto", Bounds.free(24), 4)
    model = BRAI(random_state=0).fit(data)
    assert model.ess_ != first.ess
    scores = [
        FamilyScores(data.select(names), ess=one).total(families_of(model.dag_.reorder(names)))
        for one in (model.ess_, first.ess)
    ]
    assert scores[0] > scores[1] + 3
    assert model.tree_.leaves[0].log_score == pytest.approx(
        model._family_scores(data.select(names)).total(model.tree_.leaves[0].families)
    )
    given = BRAI(random_state=0, ess=model.ess_, structure_prior=model.structure_prior_.plain()).fit(data)
    assert given.log_score_ == pytest.approx(model.log_score_)
