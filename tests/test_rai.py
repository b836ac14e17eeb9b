"""RAI and the growing of trees: exact with a d-separation oracle, honest about limits."""

from __future__ import annotations

import numpy as np
import pytest

from brai import BRAI, RAI, BudgetWarning, CITest, Dataset, Oracle, load_network
from brai.graphs.pdag import PDAG
from brai.tree.ggt import BootstrapNode, Leaf
from brai.tree.rai import Group, Learner, rai
from conftest import random_dag, random_data


def names_only(names) -> Dataset:
    """With the oracle only the names count."""
    return Dataset.from_codes(np.zeros((2, len(names)), int), arities=[2] * len(names), names=names)


@pytest.mark.parametrize("block", range(6))
def test_oracle_gives_the_true_cpdag_on_random_dags(block):
    rng = np.random.default_rng(block)
    for _ in range(50):
        d = int(rng.integers(2, 16))
        names = tuple(f"n{i:02d}" for i in range(d))
        dag = PDAG(names, random_dag(rng, d, rng.uniform(0.1, 0.6)))
        model = RAI(Oracle(dag)).fit(names_only(names))
        assert model.cpdag_ == dag.to_cpdag()
        assert model.n_repaired_ == 0


@pytest.mark.parametrize("verifies", [True, False])
@pytest.mark.parametrize("network", ["asia", "cancer", "earthquake", "survey", "sachs"])
def test_oracle_on_the_shipped_networks(network, verifies):
    dag = load_network(network).pdag
    assert RAI(Oracle(dag, verifies)).fit(names_only(dag.names)).cpdag_ == dag.to_cpdag()


def test_b_rai_with_the_oracle_holds_one_cpdag(rng):
    for _ in range(20):
        d = int(rng.integers(2, 9))
        dag = PDAG(tuple(f"n{i}" for i in range(d)), random_dag(rng, d, 0.4))
        model = BRAI(2, Oracle(dag), random_state=0).fit(names_only(dag.names))
        assert model.n_distinct() == (1, True)
        assert model.cpdag_ == dag.to_cpdag()


def test_exit_condition_counts_potential_parents():
    learner = Learner(names_only("abc"), Oracle(PDAG.from_edges("abc")))
    group = Group.complete(3)
    assert not learner.is_resolved(group, 0)
    assert not learner.is_resolved(group, 1)
    assert learner.is_resolved(group, 2)
    only_c = Group(group.nodes, np.array([0, 0, 1], np.uint8), group.adj, group.sep, 0)
    assert not learner.is_resolved(only_c, 1)
    assert learner.is_resolved(only_c, 2)


def test_groups_keep_only_the_parents_they_need(rng):
    learner = Learner(random_data(rng, 7, 300), CITest())
    group = Group.complete(7)
    refined = learner.increase_resolution(group, 0, learner.sample)
    parts = learner.split_autonomous(refined)
    members = [set(p.nodes[p.endo == 1].tolist()) for p in parts]
    assert sorted(v for m in members for v in m) == list(range(7))
    for part in parts:
        outside = part.endo == 0
        assert (part.adj[outside][:, ~outside].any(axis=1)).all()  # each is a parent of a member
        assert not part.adj[~outside][:, outside].any()  # no edge leads out of a group
    assert group.adj.sum() == 42  # the caller's group is as it was


def test_max_order_and_max_tests_are_obeyed_and_said(rng):
    data = random_data(rng, 8, 500, density=0.8)
    free = BRAI(2, random_state=1).fit(data)
    assert len(free.n_ci_tests_) > 2
    capped = BRAI(2, random_state=1, max_order=0).fit(data)
    assert len(capped.n_ci_tests_) <= 2  # order 0, and colliders given one variable
    assert capped.tree_.n_truncated > 0
    assert free.tree_.n_truncated == 0
    with pytest.warns(BudgetWarning, match="max_tests = 40"):
        short = BRAI(2, random_state=1, max_tests=40).fit(data)
    assert short.tree_.n_truncated > 0
    assert short.cpdag_.is_cpdag()
    with pytest.warns(BudgetWarning, match="raise max_tests"):
        cut = RAI(max_tests=10).fit(data)
    assert cut.n_truncated_ > 0


def test_a_budget_that_is_just_enough_is_no_cause_for_a_warning():
    rows = np.random.default_rng(0).integers(0, 2, (50, 2))
    assert RAI(max_tests=1).fit(rows).n_truncated_ == 0
    with pytest.warns(BudgetWarning):
        assert RAI(max_tests=0).fit(rows).n_truncated_ == 1


@pytest.mark.slow
def test_a_small_budget_on_wide_data():
    """Groups left as they stood have hundreds of parents; their score is still a number."""
    data = Dataset.from_codes(np.random.default_rng(0).integers(0, 4, (30, 600)), arities=[4] * 600)
    with pytest.warns(BudgetWarning):
        assert np.isfinite(RAI(max_tests=10).fit(data).log_score_)


def test_a_collider_that_determines_its_parents_is_one(rng):
    """x and y independent, z = (x, y): given z no test can tell, and none may deny the v-structure."""
    x, y = rng.integers(0, 2, (2, 400))
    model = RAI().fit({"x": x, "y": y, "z": 2 * x + y})
    assert model.cpdag_.v_structures() == {("x", "z", "y")}


def test_undecided_tests_remove_edges_or_not(rng):
    """b copies a, and c depends on both alike: given b, nothing is left of a to be tested."""
    a = rng.integers(0, 3, 300)
    c = np.where(rng.random(300) < 0.7, a, rng.integers(0, 3, 300))
    table = {"a": a, "b": a, "c": c}
    assert "c" not in RAI(CITest(undecided="remove")).fit(table).cpdag_.adjacent("a")
    assert "c" in RAI(CITest(undecided="keep")).fit(table).cpdag_.adjacent("a")
    assert RAI(CITest(undecided="keep")).fit({"a": a, "k": 0 * a}).cpdag_.n_edges == 0


def test_tree_structure(rng):
    model = BRAI(3, random_state=0).fit(random_data(rng, 8, 150, density=0.6))
    tree = model.tree_
    assert tree.s == 3
    for node in tree.nodes():
        if isinstance(node, BootstrapNode):
            assert {len(group) for group in node.groups} == {3}
        else:
            assert isinstance(node, Leaf)
    assert tree.n_nodes > tree.n_leaves == len(tree.leaves)
    assert tree.depth >= 2


def test_s_of_one_is_a_chain_without_choices(rng):
    model = BRAI(1, random_state=0, polish=False).fit(random_data(rng, 6, 100))
    assert model.tree_.n_routes == 1
    assert len(model.k_best(5)) == 1


def test_one_variable_and_constant_columns():
    one = BRAI(random_state=0).fit(Dataset.from_codes([[0], [1], [1]]))
    assert one.cpdag_.n_edges == 0
    assert one.tree_.n_routes == 1
    rows = np.random.default_rng(0).integers(0, 2, (50, 3))
    rows[:, 1] = 0
    assert BRAI(random_state=0).fit(rows).cpdag_.adjacent("x1") == ()


def test_rai_families_cover_every_variable_once(rng):
    data = random_data(rng, 9, 200)
    families = rai(Learner(data, CITest("g2")))
    assert [child for child, _ in families] == list(range(9))


def test_high_arity_makes_no_full_table(rng):
    """60 states and order 3 would be 60^5 cells; the scratch memory holds rows × states."""
    codes = rng.integers(0, 60, (300, 6))
    codes[:, 1] = (codes[:, 0] + rng.integers(0, 2, 300)) % 60
    learner = Learner(Dataset.from_codes(codes, arities=[60] * 6), CITest(colliders=None))
    rai(learner)
    assert learner._work.counts.size < 50_000
