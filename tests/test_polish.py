"""Search on from the tree: never worse than it, and the proven optimum where that can be had."""

import time
import warnings

import numpy as np
import pytest

from brai import (
    BRAI,
    Bootstrap,
    BudgetWarning,
    ConvergenceWarning,
    Dataset,
    HillClimbing,
    Oracle,
    OrderSearch,
    exact,
    load_network,
)
from brai.graphs.pdag import families_of
from brai.kinds.scores import FamilyScores
from brai.posterior.mcmc import sample_dags
from brai.search.family_table import FamilyTable
from brai.search.from_tree import adjacency_of, distinct_draws, order_of, polish
from brai.tree.draws import best_route
from conftest import random_data

SEED = np.random.SeedSequence(5)


def grown(data, seed=0):
    return BRAI(random_state=seed, polish=False, ess=1.0, structure_prior="uniform").fit(data).tree_


@pytest.fixture(scope="module")
def hard():
    """Eight variables of up to four states, densely joined."""
    data = random_data(np.random.default_rng(2), 8, 150, 4, density=0.6)
    return data.select(sorted(data.names))


def test_polish_finds_the_proven_optimum(hard):
    _, best = exact.map_network(hard, max_parents=4)
    alone = polish(FamilyTable(FamilyScores(hard)), None, seed=SEED)
    assert alone.log_score == pytest.approx(best, abs=1e-9)
    _, limit = exact.map_network(hard)  # families of the tree may have more parents
    for seed in range(3):
        found = polish(FamilyTable(FamilyScores(hard)), grown(hard, seed), seed=SEED)
        assert best - 1e-9 <= found.log_score <= limit + 1e-9
        assert FamilyScores(hard).total(found.families) == pytest.approx(found.log_score, abs=1e-9)


def test_every_step_is_at_least_as_good_as_the_one_before(hard):
    tree = grown(hard)
    found = polish(FamilyTable(FamilyScores(hard)), tree, seed=SEED)
    values = [value for _, value in found.trace]
    assert found.trace[0] == ("tree", best_route(tree).log_score)
    assert values == sorted(values)
    assert values[-1] == found.log_score > values[0]


def test_it_ends_at_once_where_there_is_no_time(hard):
    tree = grown(hard)
    found = polish(FamilyTable(FamilyScores(hard)), tree, deadline=time.monotonic() - 1, seed=SEED)
    assert found.log_score >= best_route(tree).log_score - 1e-9
    order_of(found.families, 8)  # a DAG


def test_families_of_the_tree_enter_the_table(hard):
    tree = grown(hard)
    table = FamilyTable(FamilyScores(hard), max_parents=1, pairs=1)
    before = {(v, own) for v, sets in enumerate(table.sets) for own in sets}
    polish(table, tree, restarts=1, kicks=1, seed=SEED)
    new = {(v, own) for v, sets in enumerate(table.sets) for own in sets} - before
    assert new & {family for leaf in tree.leaves for family in leaf.families}


def test_draws_of_the_tree_are_distinct_and_the_best_comes_first(hard):
    tree = grown(hard)
    draws = distinct_draws(tree, 6, SEED)
    assert len(set(draws)) == len(draws) == 6
    assert draws[0] == best_route(tree)


def test_order_and_adjacency_of_families():
    families = ((0, (2,)), (1, (0, 2)), (2, ()))
    assert adjacency_of(families, 3).tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
    assert order_of(families, 3) == [2, 0, 1]


# ---------------------------------------------------------------- through the front door


def test_default_brai_is_never_worse_than_its_tree_or_order_search():
    for seed in range(4):
        data = random_data(np.random.default_rng(seed), 9, 200, 3, density=0.5)
        model = BRAI(random_state=seed, structure_prior="uniform", ess=1.0).fit(data)
        assert model.log_score_ >= best_route(model.tree_).log_score - 1e-9
        assert model.log_score_ >= OrderSearch(restarts=2, kicks=2).fit(data).log_score_ - 1e-9
        assert model.polish_trace_[-1][1] == model.log_score_


def test_an_oracle_is_not_polished():
    asia = load_network("asia")
    data = asia.sample(60, random_state=0)
    assert BRAI(ci_test=Oracle(asia.pdag), random_state=0).fit(data).cpdag_ == asia.pdag.to_cpdag()


def test_a_budget_of_no_time_gives_a_valid_answer(hard):
    with pytest.warns(BudgetWarning, match=r"more time than the budget.*raise the budget"):
        model = BRAI(budget=1e-6, random_state=0).fit(hard)
    own = model._family_scores(hard).total(families_of(model.dag_))
    assert model.log_score_ == pytest.approx(own, abs=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws may or may not do
        chains = model.chains()
    assert chains.log_scores.shape == (4, 100)  # a tenth of the draws
    assert model.posterior().probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": 0}, "budget is 0"),
        ({"budget": "1 h"}, "budget is '1 h'"),
        ({"posterior_from": "chain"}, "posterior_from is 'chain': choose 'bagged' or 'mcmc' or 'tree'"),
        ({"n_chains": 0}, "n_chains is 0"),
        ({"thin": -1}, "thin is -1"),
        ({"max_parents": 1.5}, "max_parents is 1.5: give a whole number from 1 on"),
        ({"n_chains": None}, "n_chains is None"),
    ],
)
def test_wrong_values_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        BRAI(**wrong).fit(load_network("cancer").sample(50, random_state=0))


# ---------------------------------------------------------------- chains of the estimator


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cancer", "asia", "sachs"])
def test_probabilities_are_those_of_the_exact_posterior(name):
    data = load_network(name).sample(500, random_state=3)
    settings = {"structure_prior": "fair", "ess": 2.0}
    model = BRAI(random_state=0, n_draws=1000, posterior_from="mcmc", **settings).fit(data)
    off = ~np.eye(len(data.names), dtype=bool)
    truth = exact.edge_probabilities(data, **settings)
    assert np.abs(model.edge_probabilities() - truth)[off].mean() < 0.01
    chains = model.chains()
    assert chains.r_hat() < 1.02
    assert 500 < chains.ess() <= 4000
    assert chains is model.chains()


def test_tree_and_chains_answer_differently_and_both_can_be_asked(hard):
    model = BRAI(random_state=1).fit(hard)
    assert len(model.posterior()) > len(model.posterior(k=5)) == 5
    assert model.posterior(k=5).cpdags[0] == model.cpdag_
    tree = BRAI(random_state=1, posterior_from="tree").fit(hard)
    assert np.array_equal(tree.posterior().probabilities, model.posterior(k=100).probabilities)
    assert BRAI.paper().posterior_from == "tree"


def test_chains_that_disagree_are_reported():
    """Copies of a column: thousands of nats between graphs, and hardly a way from one to the next."""
    rng = np.random.default_rng(0)
    column = rng.integers(0, 3, 2000)
    noisy = [np.where(rng.random(2000) < 0.02, rng.integers(0, 3, 2000), column) for _ in range(7)]
    model = BRAI(random_state=0, n_draws=4, thin=1).fit(Dataset.from_codes(np.stack(noisy, axis=1)))
    with pytest.warns(ConvergenceWarning, match=r"R-hat .* effective sample size .* increase n_draws"):
        model.edge_probabilities()


def test_a_warning_names_the_limit_that_was_reached(hard):
    with pytest.warns(BudgetWarning, match="more than max_tests = 5 CI tests"):
        BRAI(max_tests=5, budget=600, random_state=0).fit(hard)


def test_best_graphs_or_draws_of_the_tree_not_both(hard):
    model = BRAI(random_state=0).fit(hard)
    with pytest.raises(ValueError, match="k is 3 and draws is 5"):
        model.posterior(k=3, draws=5)
    with pytest.raises(ValueError, match="k is 0"):
        model.posterior(k=0)


def test_a_seed_sequence_is_left_as_it_was(hard):
    seed = np.random.SeedSequence(4)
    one, two = (Bootstrap(HillClimbing(), 4, random_state=seed).fit(hard) for _ in range(2))
    assert one.members_ == two.members_
    table = FamilyTable(FamilyScores(hard), slack=5.0)
    draws = [sample_dags(table, 20, burn_in=0, seed=seed).parents for _ in range(2)]
    assert np.array_equal(*draws)


def test_one_variable_has_chains_that_agree():
    model = BRAI(random_state=0).fit(Dataset.from_codes([[0], [1], [1]]))
    assert model.chains().disagreement() == (0.0, 0.0)
    assert model.edge_probabilities().tolist() == [[0.0]]
