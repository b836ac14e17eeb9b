"""The kernels of searches on small inputs; also run with the JIT switched off (see the Makefile)."""

from __future__ import annotations

import numpy as np
import pytest

from brai.kernels import hill_climbing, orders
from brai.kernels.interface import NO_RULE, Evidence
from brai.kinds.discrete.samples import bdeu_cells, full_sample, log_cells, workspace
from brai.kinds.scores import FamilyScores
from brai.search import orders as order_search
from brai.search.family_table import FamilyTable
from conftest import random_dag, random_data

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("bdeu", [True, False])
def test_toggles_are_differences_of_family_scores(rng, bdeu):
    data = random_data(rng, 6, 40, 3)
    cells = bdeu_cells(40, 1.0) if bdeu else log_cells(40, np.log(40) / 2)
    scores = FamilyScores(data, "bdeu" if bdeu else "bic")
    adj, allowed = random_dag(rng, 6, 0.5).astype(np.uint8), rng.random((6, 6)) < 0.8
    work = workspace(data, 12)
    for slots in (2**12, 2):  # with room for all families, and for two
        keys = rng.integers(1, 2**64, (6, 6), np.uint64)
        memo = hill_climbing.Memo(keys, np.zeros(slots, np.uint64), np.zeros(slots))
        limits = hill_climbing.Limits(allowed.astype(np.uint8), np.full(6, 3), 20, 2**62)
        arguments = Evidence(full_sample(data), cells, NO_RULE, work), adj, limits, memo
        delta, scored = hill_climbing.toggles(*arguments)
        again, fewer = hill_climbing.toggles(*arguments)
        assert np.array_equal(delta, again)
        assert fewer == 0 or slots == 2
        check(delta, scored, scores, adj, allowed)
    for buffer in (work.counts, work.margins, work.scratch):
        assert not buffer.any()


def check(delta, scored, scores, adj, allowed):
    """Against families scored one by one, each of which was scored once."""
    counted = 6
    for j in range(6):
        own = set(np.flatnonzero(adj[:, j]).tolist())
        now = scores.families([(j, tuple(sorted(own)))])[0]
        for i in range(6):
            if i in own or (i != j and allowed[i, j] and len(own) < 3):
                new = scores.families([(j, tuple(sorted(own ^ {i})))])[0]
                assert delta[i, j] == pytest.approx(new - now, abs=1e-9)
                counted += 1
            else:
                assert delta[i, j] == -np.inf
    assert scored == counted


def test_reachability(rng):
    for d in (1, 5, 70):
        adj = random_dag(rng, d, min(1.0, 3 / d)).astype(np.uint8)
        reach = np.zeros((d, (d + 63) // 64), np.uint64)
        hill_climbing.reachable(adj, reach)
        paths = adj.astype(bool)
        for k in range(d):
            paths |= paths[:, k, None] & paths[None, k, :]
        found = [[hill_climbing.is_below(reach, i, j) for j in range(d)] for i in range(d)]
        assert np.array_equal(found, paths)
        for i, j in np.argwhere(adj):
            without = adj.astype(bool)
            without[i, j] = False
            for k in range(d):
                without |= without[:, k, None] & without[None, k, :]
            assert hill_climbing.may_reverse(adj, reach, i, j) == (not without[i, j])


def test_random_numbers_are_spread_and_repeat():
    state = np.array([5], np.uint64)
    drawn = [int(hill_climbing.below(state, 6)) for _ in range(6000)]
    assert np.abs(np.bincount(drawn, minlength=6) - 1000).max() < 130
    assert drawn[:5] == [
        int(hill_climbing.below(again, 6)) for again in [np.array([5], np.uint64)] for _ in range(5)
    ]


def test_perturbed_graphs_stay_dags(rng):
    adj, allowed = np.zeros((6, 6), np.uint8), rng.random((6, 6)) < 0.7
    state = np.array([9], np.uint64)
    edges = 0
    for _ in range(30):
        hill_climbing.perturb(adj, allowed, np.full(len(adj), 2), 5, state)
        reach = np.zeros((6, 1), np.uint64)
        hill_climbing.reachable(adj, reach)
        assert not any(hill_climbing.is_below(reach, i, i) for i in range(6))
        assert not (adj & ~allowed).any()
        assert adj.sum(axis=0).max() <= 2
        edges += adj.sum()
    assert edges > 0


def test_search_over_orders(rng):
    table = FamilyTable(FamilyScores(random_data(rng, 5, 40, 3, density=0.7)), max_parents=3)
    sets = table.arrays()
    state = np.array([3], np.uint64)
    now = orders.new_order(5)
    orders.shuffle(now.order, state)
    assert order_search.climb_order(sets, now, state)
    start = orders.settle(sets, now)
    assert order_search.kicked(sets, now, 20, state)
    best = orders.settle(sets, now)
    assert best >= start
    assert (np.argsort(now.order) == now.place).all()
    families = table.families(sets, now.chosen)
    assert all(now.place[p] < now.place[v] for v, own in families for p in own)
    assert best == pytest.approx(table.scores.total(families), abs=1e-9)


def test_moves_and_kicks_leave_an_order_settled(rng):
    table = FamilyTable(FamilyScores(random_data(rng, 7, 60, 3, density=0.8)), max_parents=3)
    sets, state, changed = table.arrays(), np.array([5], np.uint64), 0
    now, fresh = orders.new_order(7), orders.new_order(7)
    orders.shuffle(now.order, state)
    orders.settle(sets, now)
    for turn in range(60):
        before = now.chosen.copy()
        now.waits[:], now.ends[:] = False, 0
        if turn % 2:
            orders.kick(sets, now, state)
        else:
            v, to = rng.integers(0, 7, 2)
            orders.move(sets, now, v, to)
            assert now.place[v] == to
        fresh.order[:] = now.order
        orders.settle(sets, fresh)
        assert (fresh.chosen == now.chosen).all()
        assert (fresh.place == now.place).all()
        assert set(np.flatnonzero(now.waits)) >= set(np.flatnonzero(before != now.chosen))
        assert now.ends[1] == now.waits.sum()
        changed += (before != now.chosen).sum()
    assert changed > 20
