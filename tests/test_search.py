"""Hill climbing, family tables and search over orders against literal twins and brute force."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest

from all_dags import all_dags, bdeu_scores, family_list
from brai import BRAI, MMHC, RAI, Bootstrap, Dataset, HillClimbing, OrderSearch
from brai.graphs.adjacency import topological_order
from brai.graphs.pdag import PDAG
from brai.kernels import orientation
from brai.kernels.orders import best_place, new_order, settle
from brai.kinds.scores import FamilyScores
from brai.search import hill_climbing, orders
from brai.search.family_table import FamilyTable
from brai.search.hill_climbing import hill_climb
from brai.search.mmpc import neighbourhoods
from brai.search.orders import climb_order, search_by_order
from brai.tree import rai
from conftest import random_dag, random_data

TIE = 1e-9


def parents_of(adj):
    return tuple((v, tuple(np.flatnonzero(own).tolist())) for v, own in enumerate(adj.T))


def is_acyclic(adj):
    try:
        topological_order(adj)
    except ValueError:
        return False
    return True


def naive_climb(scores, order, tabu, patience, allowed, most, start):
    """Every neighbour scored from scratch; a list of whole graphs is the tabu list."""
    now = start.copy()
    best, best_score, stale, seen = now.copy(), scores.total(parents_of(now)), 0, []
    while True:
        seen.append(now.tobytes())
        here, choice, top = scores.total(parents_of(now)), None, -np.inf
        for i in order:
            for j in order:
                steps = []
                if i != j and (now[i, j] or allowed[i, j]):
                    steps.append([(i, j)])
                if now[i, j] and allowed[j, i]:
                    steps.append([(i, j), (j, i)])
                for step in steps:
                    new = now.copy()
                    for a, b in step:
                        new[a, b] ^= 1
                    if (new & new.T).any() or not is_acyclic(new) or (new.sum(axis=0) > most).any():
                        continue
                    if tabu and new.tobytes() in seen[-tabu:]:
                        continue
                    gain = scores.total(parents_of(new)) - here
                    if gain > top + TIE:
                        choice, top = new, gain
        if choice is None or (not tabu and top <= TIE):
            return best, best_score
        now, stale = choice, stale + 1
        score = scores.total(parents_of(now))
        if score > best_score + TIE:
            best, best_score, stale = now.copy(), score, 0
        elif stale >= patience:
            return best, best_score
    return None


@pytest.mark.kernels
@pytest.mark.parametrize("score", ["bdeu", "bic"])
@pytest.mark.parametrize("tabu", [0, 1, 6])
@pytest.mark.parametrize("seed", range(4))
def test_climb_equals_its_twin(seed, tabu, score):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    scores = FamilyScores(random_data(rng, d, 70, 3), score)
    allowed = rng.random((d, d)) < (1.0 if seed % 2 else 0.8)
    np.fill_diagonal(allowed, False)
    start = random_dag(rng, d, 0.3) & allowed.astype(np.int8)
    most = int(rng.integers(1, d + 1)) if not start.any() else d
    order = rng.permutation(d).tolist()
    found = hill_climb(
        scores, start=start, allowed=allowed, max_parents=most, tabu=tabu, patience=8, orders=[order]
    )
    graph, expected = naive_climb(scores, order, tabu, 8, allowed, most, start.astype(np.uint8))
    assert found.families == parents_of(graph)
    assert found.log_score == pytest.approx(expected, abs=1e-9)


@pytest.mark.kernels
def test_climbs_obey_and_improve(rng):
    data = random_data(rng, 9, 150, 3, density=0.4)
    scores = FamilyScores(data)
    plain = hill_climb(scores, tabu=0)
    tabu = hill_climb(scores)
    more = hill_climb(scores, restarts=20, seed=np.random.SeedSequence(1))
    assert plain.log_score <= tabu.log_score + TIE <= more.log_score + 2 * TIE
    assert more == hill_climb(scores, restarts=20, seed=np.random.SeedSequence(1))
    assert more.n_moves > tabu.n_moves
    few = hill_climb(scores, max_parents=1, restarts=5, seed=np.random.SeedSequence(1))
    assert max(len(own) for _, own in few.families) == 1
    one_way = np.triu(np.ones((9, 9), bool), 1)
    for _ in range(3):
        found = hill_climb(scores, allowed=one_way, restarts=5, seed=np.random.SeedSequence(1))
        assert all(p < v for v, own in found.families for p in own)
    assert hill_climb(scores, max_moves=2, orders=[range(9)]).n_moves == 2


# ---------------------------------------------------------------- tables


@pytest.mark.kernels
@pytest.mark.parametrize(("most", "slack"), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (4, 3.0), (2, 3.0)])
def test_table_holds_what_no_subset_beats(rng, most, slack):
    scores = FamilyScores(random_data(rng, 7, 120, 3, density=0.7))
    table = FamilyTable(scores, max_parents=most, slack=slack)
    larger = 0
    for v in range(7):
        others = [p for p in range(7) if p != v]
        every = {
            own: s for k in range(most + 1) for own in combinations(others, k) for s in scores.families([(v, own)])
        }
        worth = {
            own: s
            for own, s in every.items()
            if all(s > t + TIE - slack for sub, t in every.items() if set(sub) < set(own))
        }
        assert table.sets[v] == pytest.approx(worth, abs=1e-9)
        larger += sum(len(own) > 2 for own in worth)
    assert larger > 0 or most < 3
    assert len(table) == sum(map(len, table.sets))


def test_table_grows(rng):
    data = random_data(rng, 8, 300, 2, density=0.9)
    scores = FamilyScores(data)
    table, full = FamilyTable(scores, max_parents=1), FamilyTable(scores, max_parents=3)
    before = len(table)
    wanted = [(v, own) for v in range(8) for own in full.sets[v] if len(own) == 2]
    assert table.add(wanted) == len(wanted) > 0
    assert table.add(wanted) == 0
    assert len(table) == before + len(wanted)
    pairs = [(v, own) for v in range(8) for own in combinations(sorted({*range(8)} - {v}), 2)]
    useless = next((v, own) for v, own in pairs if own not in full.sets[v])
    assert table.add([useless]) == 0
    best = search_by_order(table, grow=False, seed=np.random.SeedSequence(0))
    more = search_by_order(table, seed=np.random.SeedSequence(0))
    assert more.log_score >= best.log_score
    barred = FamilyTable(scores, allowed=np.triu(np.ones((8, 8), bool), 1))
    assert barred.add([(0, (5,))]) == 0
    assert barred.grow([(v, ()) for v in range(8)]) == 0
    assert all(p < v for v in range(8) for own in barred.sets[v] for p in own)
    with pytest.raises(ValueError, match="max_parents is -1"):
        FamilyTable(scores, max_parents=-1)
    with pytest.raises(ValueError, match="larger is 30"):
        FamilyTable(scores, larger=30)


# ---------------------------------------------------------------- orders


def score_of(table, order):
    place = {v: k for k, v in enumerate(order)}
    return sum(max(s for own, s in table.sets[v].items() if all(place[p] < place[v] for p in own)) for v in order)


@pytest.mark.kernels
def test_orders_are_scored_and_moves_are_the_best_ones(rng):
    table = FamilyTable(FamilyScores(random_data(rng, 7, 120, 3, density=0.7)))
    sets = table.arrays()
    for _ in range(20):
        now = new_order(7)
        now.order[:] = rng.permutation(7)
        order, place = now.order, now.place
        total = settle(sets, now)
        assert total == pytest.approx(score_of(table, order.tolist()), abs=1e-9)
        for v in range(7):
            rest = [u for u in order.tolist() if u != v]
            gains = [score_of(table, [*rest[:k], v, *rest[k:]]) - total for k in range(7)]
            to, gain = best_place(sets, now, v)
            assert place[v] == order.tolist().index(v)
            assert gain == pytest.approx(max(*gains, TIE), abs=1e-8)
            if max(gains) > TIE:
                assert gains[to] == pytest.approx(max(gains), abs=1e-8)
        state = np.array([7], np.uint64)
        assert climb_order(sets, now, state)
        best = settle(sets, now)
        assert best >= total - TIE
        assert sorted(order.tolist()) == list(range(7))
        assert all(best_place(sets, now, v)[1] <= TIE for v in range(7))


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(5))
def test_order_search_finds_the_best_dag_of_five_nodes(seed):
    data = random_data(np.random.default_rng(seed), 5, 80, 3)
    scores = bdeu_scores(all_dags(5), data, 1.0)
    model = OrderSearch(restarts=30).fit(data)
    assert model.log_score_ == pytest.approx(scores.max(), abs=1e-9)
    equal = [family_list(all_dags(5)[g]) for g in np.flatnonzero(scores > scores.max() - 1e-7)]
    assert family_list(model.dag_.adjacency) in equal
    assert model.n_reached_ > 0


# ---------------------------------------------------------------- estimators


@pytest.mark.parametrize(
    "make",
    [
        lambda: HillClimbing(restarts=3),
        lambda: HillClimbing(tabu=0),
        lambda: OrderSearch(restarts=20),
        lambda: Bootstrap(HillClimbing(), 5, random_state=1),
        lambda: Bootstrap(RAI(), 5, random_state=1),
        lambda: MMHC(),
        lambda: MMHC(0.2, min_rows_per_cell=None, df="full", max_parents=2),
    ],
    ids=["tabu", "plain", "orders", "bootstrap", "bootstrap of RAI", "mmhc", "mmhc, other rules"],
)
def test_fitted_learners(rng, make):
    data = random_data(rng, 7, 120, 3)
    order = rng.permutation(7)
    other = data.select([data.names[i] for i in order])
    a, b = make().fit(data), make().fit(other)
    assert a.dag_ == b.dag_.reorder(data.names)
    assert a.log_score_ == b.log_score_
    assert a.dag_.is_dag()
    assert a.cpdag_ == a.dag_.to_cpdag()
    assert np.array_equal(a.edge_probabilities()[np.ix_(order, order)], b.edge_probabilities())
    assert a.score(data) == b.score(other)
    scores = FamilyScores(data)
    total = scores.total((v, tuple(np.flatnonzero(own).tolist())) for v, own in enumerate(a.dag_.adjacency.T))
    assert a.log_score_ == pytest.approx(total, abs=1e-9)


@pytest.mark.kernels
def test_hill_climbing_options(rng):
    data = random_data(rng, 6, 100, 3)
    turned = data.select(data.names[::-1])
    for one in (data, turned):
        scores = FamilyScores(one)
        expected = naive_climb(scores, range(6), 0, 1, ~np.eye(6, dtype=bool), 6, np.zeros((6, 6), np.uint8))
        model = HillClimbing(tabu=0, ties="columns").fit(one)
        assert np.array_equal(model.dag_.adjacency, expected[0])
    start = PDAG(data.names, random_dag(rng, 6, 0.9))
    allowed = np.tril(np.ones((6, 6), bool), -1)
    model = HillClimbing(allowed=allowed, max_parents=2, random_state=0).fit(data)
    assert not np.triu(model.dag_.adjacency).any()
    assert model.n_moves_ > 0 < model.n_scored_
    assert HillClimbing(start=start, tabu=0).fit(data).log_score_ >= FamilyScores(data).total(
        parents_of(start.adjacency)
    )
    for settings, words in (
        ({"tabu": -1}, "tabu is -1"),
        ({"patience": 0}, "patience is 0"),
        ({"ties": "names"}, "ties is 'names'"),
        ({"allowed": np.ones((2, 2))}, r"allowed has shape \(2, 2\)"),
        ({"start": PDAG.from_edges(data.names, undirected=[data.names[:2]])}, "start is"),
        ({"restarts": 1.5}, "restarts is 1.5"),
    ):
        with pytest.raises(ValueError, match=words):
            HillClimbing(**settings).fit(data)


def test_bootstrap_members(rng):
    data = random_data(rng, 5, 60, 3)
    model = Bootstrap(HillClimbing(), 40, random_state=2).fit(data)
    assert len(model.members_) == 40
    scores = FamilyScores(data)
    for cpdag, score in model.members_[:5]:
        families = ((v, tuple(np.flatnonzero(own).tolist())) for v, own in enumerate(cpdag.to_dag().adjacency.T))
        assert score == pytest.approx(scores.total(families), abs=1e-9)
    assert model.log_score_ == max(score for _, score in model.members_)
    share = np.mean([cpdag.skeleton() for cpdag, _ in model.members_], axis=0)
    np.testing.assert_allclose(model.adjacency_probabilities(), share, rtol=0, atol=1e-12)
    assert len({cpdag for cpdag, _ in model.members_}) == len(model.posterior())
    best = model.posterior(by="score", prior="classes")
    assert best.probabilities[0] == best.probabilities.max()
    assert best.log_scores[0] == pytest.approx(model.log_score_)
    with pytest.raises(ValueError, match="by is 'rank'"):
        model.posterior(by="rank")
    with pytest.raises(ValueError, match="n is 0"):
        Bootstrap(HillClimbing(), 0).fit(data)


@pytest.mark.kernels
def test_all_orders_of_a_small_table(rng):
    table = FamilyTable(FamilyScores(random_data(rng, 6, 60, 3, density=0.8)))
    top = max(score_of(table, order) for order in permutations(range(6)))
    assert search_by_order(table, grow=False, seed=np.random.SeedSequence(3)).log_score == pytest.approx(top)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_on_a_growing_table_is_a_dag_with_its_score(seed):
    data = random_data(np.random.default_rng(seed), 9, 150, 3, density=0.6)
    table = FamilyTable(FamilyScores(data), max_parents=3, pairs=4, larger=2)
    before = len(table)
    found = search_by_order(table, restarts=2, kicks=1, seed=np.random.SeedSequence(seed))
    for families, score in ((found.families, found.log_score), *found.ends):
        assert table.scores.total(families) == pytest.approx(score, abs=1e-9)
        PDAG.from_parents(data.names, [own for _, own in families])  # refuses a cycle
    assert found.n_reached > 0
    assert found.ends[0].log_score == pytest.approx(found.log_score)
    assert found.n_sets == len(table) >= before


def test_workers_change_nothing(rng):
    data = random_data(rng, 6, 80, 3)
    one, two = (Bootstrap(MMHC(), 12, n_jobs=n, random_state=4).fit(data) for n in (1, 2))
    assert one.members_ == two.members_
    assert one.dag_ == two.dag_


def test_mmhc_stays_in_its_skeleton(rng):
    data = random_data(rng, 8, 200, 3)
    model = MMHC().fit(data)
    assert not (model.dag_.skeleton() & ~model.skeleton_).any()
    assert (model.skeleton_ == neighbourhoods(data).adjacency).all()
    assert model.n_ci_tests_[0] > 0
    with pytest.raises(ValueError, match="alpha is 2"):
        MMHC(2).fit(data)


@pytest.mark.skipif("BRAI_DATA" not in os.environ, reason="set BRAI_DATA to the folder that holds mmhc/")
def test_bnlearn_on_the_original_data():
    """bnlearn 5.2.1 on the ten Alarm sets (hc, tabu), means; its mmhc on the first: 22 arcs."""
    folder = Path(os.environ["BRAI_DATA"])
    base = folder / "mmhc" / "Alarm"
    meta = json.loads((base / "Alarm_meta.json").read_text())
    arrays = np.load(base / "Alarm_pool.npz")
    sets = [
        Dataset.from_codes(arrays["pool"][rows], arities=meta["arity_network"], names=meta["columns"])
        for rows in arrays["idx_s500"]
    ]
    plain = [HillClimbing(tabu=0, ties="columns").fit(own).log_score_ for own in sets]
    tabu = [HillClimbing(tabu=10, patience=10, ties="columns").fit(own).log_score_ for own in sets]
    assert np.mean(plain) == pytest.approx(-5322, abs=0.6)
    assert np.mean(tabu) == pytest.approx(-5263, abs=0.6)
    assert np.mean([HillClimbing().fit(own).log_score_ for own in sets]) > -5263
    mmhc = MMHC(min_rows_per_cell=None, df="full", tabu=0, ties="columns").fit(sets[0])
    assert mmhc.dag_.n_edges == 22
    assert mmhc.log_score_ == pytest.approx(-7036, abs=0.5)


# --- time and signals ---


def dense_noise(d, rows):
    """Wide and short: every leaf is dense, every table is large."""
    return Dataset.from_codes(np.random.default_rng(5).integers(0, 3, (rows, d)))


def test_searches_end_at_their_deadline_with_what_they_have():
    scores = FamilyScores(dense_noise(40, 30))
    table = FamilyTable(scores, max_parents=3)
    late = time.monotonic() - 1
    found = search_by_order(table, restarts=3, kicks=10**6, deadline=late)  # would take for ever
    assert len(found.families) == 40
    assert found.log_score == pytest.approx(scores.total(found.families), abs=1e-6)
    climbed = hill_climb(scores, restarts=10**6, patience=10**9, deadline=late)
    assert not climbed.in_time
    assert climbed.log_score == pytest.approx(scores.total(climbed.families), abs=1e-6)
    assert hill_climb(scores).in_time


def test_short_whiles_change_nothing(monkeypatch):
    """Kernels are called for short whiles; how short is no matter."""
    data = dense_noise(12, 60)
    found = {}
    for size in (1, 10**9):
        monkeypatch.setattr(orders, "MOVED", size)
        monkeypatch.setattr(hill_climbing, "MOVED", size)
        monkeypatch.setattr(orders, "KICKED", size)
        monkeypatch.setattr(rai, "WHILE", size)
        monkeypatch.setattr(orientation, "WHILE", size)
        model = BRAI(random_state=0, n_chains=2, n_draws=5, max_order=2).fit(data)
        climbed = HillClimbing(restarts=3).fit(data)
        found[size] = [model.dag_, model.log_score_, model.tree_.n_ci_tests.tolist(), climbed.dag_]
        found[size] += [climbed.n_moves_, climbed.n_scored_, model.tree_.n_nodes]
    assert found[1] == found[10**9]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_is_answered_on_wide_short_noise():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\nimport brai, test_search\n"
        "data = test_search.dense_noise(300, 40)\n"
        "brai.BRAI(random_state=0, max_order=1).fit(data.select(data.names[:20]))\n"
        "print('ready', flush=True)\nbrai.BRAI(random_state=0).fit(data)\n"
    )
    command = [sys.executable, "-c", program, os.path.dirname(__file__)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline().strip() == b"ready"
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)
    assert child.returncode == -signal.SIGINT
