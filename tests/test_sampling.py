"""What a tree holds, on trees made by hand (the rest is compared with the twin in test_twin.py)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from brai import BRAI
from brai.tree.draws import _ranked, best_route, count_distinct, k_best, outcomes, sample_routes
from brai.tree.ggt import GGT, BootstrapNode, Leaf
from conftest import random_data


def empty(child: int, score: float) -> Leaf:
    return Leaf(((child, ()),), score)


def forest(d: int, s: int) -> GGT:
    """d variables in groups of their own, each with s leaves that hold the same family: s^d routes, one graph."""
    groups = tuple(tuple(empty(v, -1.0) for _ in range(s)) for v in range(d))
    return GGT(BootstrapNode(0, groups), tuple(f"v{v:03d}" for v in range(d)), s, np.array([1]))


def test_many_routes_to_one_graph_cost_nothing():
    tree = forest(200, 3)
    assert tree.n_routes == 3**200
    assert count_distinct(tree) == (1, True)
    assert [score for _, score in k_best(tree, 5)] == [pytest.approx(-200.0)]
    assert len(list(_ranked(tree.root))) == 1
    for temperature in (0, 1, math.inf):
        assert len(sample_routes(tree, 3, temperature, np.random.default_rng(0))) == 3


def test_ranking_holds_each_graph_once(rng):
    for seed in range(10):
        tree = BRAI(3, random_state=seed).fit(random_data(rng, 7, 60, density=0.6)).tree_
        ranked = list(_ranked(tree.root))
        assert len({r.key for r in ranked}) == len(ranked) == len(outcomes(tree))
        assert sum(o.n_routes for o in outcomes(tree)) == tree.n_routes


def test_ranking_is_lazy():
    """2^60 distinct graphs, of which three are asked for."""
    groups = tuple((empty(v, -1.0), Leaf(((v, (60,)),), -1.0 - 2.0**-v)) for v in range(60))
    tree = GGT(
        BootstrapNode(0, (*groups, (empty(60, 0.0),) * 2)), tuple(f"v{v:02d}" for v in range(61)), 2, np.ones(1)
    )
    scores = [score for _, score in k_best(tree, 3)]
    assert scores == pytest.approx([-60, -60 - 2.0**-59, -60 - 2.0**-58], abs=1e-12)
    assert count_distinct(tree) == (2**60, False)
    assert best_route(tree).log_score == pytest.approx(-60.0)


def test_first_of_equals_is_the_map():
    groups = ((Leaf(((0, ()),), -2.0), Leaf(((0, (1,)),), -1.0), Leaf(((0, (2,)),), -1.0)),)
    rest = ((empty(1, 0.0),) * 3, (empty(2, 0.0),) * 3)
    tree = GGT(BootstrapNode(0, groups + rest), ("a", "b", "c"), 3, np.ones(1))
    assert best_route(tree).families[0] == (0, (1,))
    for method in ("exact", "paper"):
        drawn = sample_routes(tree, 20, 0.0, np.random.default_rng(1), method)
        assert {draw.families[0] for draw in drawn} == {(0, (1,))}
