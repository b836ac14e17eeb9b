"""Pairs of parents of all variables at once, and larger sets grown from the best ones."""

from __future__ import annotations

import time
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import brai
from brai import BRAI, HillClimbing, Knowledge, OrderSearch
from brai.data.dataset import Dataset
from brai.kernels.hill_climbing import TIE, Leaps, Limits, leap
from brai.kernels.interface import begin, each_value, family_value, offspring, turn
from brai.kernels.parent_sets import Kept, keep
from brai.kinds.scores import FamilyScores
from brai.runtime.checkpoint import Checkpoint
from brai.runtime.jit import njit
from brai.runtime.workers import Workers
from brai.search import joint_parents
from brai.search.family_table import FamilyTable
from brai.search.joint_parents import FAMILIES, Screen, candidates_within, deepen, families_within
from brai.show.report.trust import trust
from brai.show.summary import as_text, summary
from conftest import random_data

kernels = pytest.mark.kernels
ARITIES = ([2, 3, 4, 2, 5, 3], [2, 40, 70, 3, 21, 12], [9, 9, 9, 2, 33, 2])


@njit
def scored(evidence, children, parents, n, least, out):
    """`offspring` after a change of all parents."""
    begin(evidence)
    turn(evidence, 0)
    offspring(evidence, children, parents, n, least, out)


def skewed(rng, arities, rows):
    codes = [np.minimum((rng.random(rows) ** 2 * a).astype(int), a - 1) for a in arities]
    return Dataset.from_codes(np.stack(codes, axis=1), arities=arities)


@kernels
@pytest.mark.parametrize("score", ["bdeu", "bic"])
@pytest.mark.parametrize("arities", ARITIES)
def test_offspring_have_the_scores_of_their_families(rng, score, arities):
    scores = FamilyScores(skewed(rng, arities, 150), score)
    evidence, d = scores.evidence(5), len(arities)
    for n in range(4):
        own = rng.choice(d, n, replace=False)
        children = np.array([c for c in range(d) if c not in own])
        parents = np.zeros(4, np.int64)
        parents[:n] = own
        out, free = np.empty(len(children)), np.full(len(children), -np.inf)
        scored(evidence, children, parents, n, free, out)
        expected = np.array(scores.families([(c, tuple(sorted(own.tolist()))) for c in children.tolist()]))
        assert out == pytest.approx(expected, abs=1e-8)
        least = expected + rng.normal(0, 20, len(children))
        scored(evidence, children, parents, n, least, out)
        above = expected > least
        assert out[above] == pytest.approx(expected[above], abs=1e-8)
        low = out[~above]
        assert ((low == -np.inf) | (np.abs(low - expected[~above]) < 1e-8)).all()
    for buffer in (evidence.work.counts, evidence.work.margins, evidence.work.scratch):
        assert not buffer.any()


@kernels
def test_other_kinds_score_child_by_child(rng):
    scores = FamilyScores(random_data(rng, 5, 60, 3))
    evidence, out = scores.evidence(4), np.empty(2)
    begin(evidence)
    each_value(evidence, np.array([1, 3]), np.array([0, 2]), 2, np.zeros(2), out)
    begin(evidence)
    assert out.tolist() == [family_value(evidence, x, np.array([0, 2]), 2) for x in (1, 3)]


@kernels
def test_a_heap_keeps_the_best(rng):
    for n in (0, 1, 7, 40):
        kept = Kept(np.zeros(1, np.int64), np.empty((1, 7)), np.empty((1, 7, 2), np.int32))
        values = rng.normal(size=n)
        for i, value in enumerate(values):
            if kept.n[0] < 7 or value > kept.scores[0, 0]:
                keep(kept, 0, value, i, i + 1)
        m = int(kept.n[0])
        assert sorted(kept.scores[0, :m]) == sorted(values)[-7:]
        assert all(
            values[a] == s and b == a + 1 for s, (a, b) in zip(kept.scores[0, :m], kept.pairs[0, :m], strict=True)
        )


def brute_force(scores, allowed):
    """All pairs that beat their subsets."""
    d, found = scores.data.n_variables, {}
    for v in range(d):
        for pair in combinations([p for p in range(d) if allowed[p, v]], 2):
            subsets = [(v, ()), (v, pair[:1]), (v, pair[1:])]
            value, *lower = scores.families([(v, pair), *subsets])
            if value > max(lower) + TIE:
                found[v, pair] = value
    return found


def test_all_pairs_that_beat_their_subsets_are_added(rng):
    data = random_data(rng, 9, 80, 3)
    scores = FamilyScores(data)
    allowed = (rng.random((9, 9)) < 0.8) & ~np.eye(9, dtype=bool)
    table = FamilyTable(scores, pairs=2, larger=0, max_parents=2, allowed=allowed)
    done = deepen(table)
    assert done.screen.in_time
    assert done.screen.candidates == 8
    assert done.scored == sum(len(list(combinations(range(n), 2))) for n in allowed.sum(axis=0))
    expected = brute_force(scores, allowed)
    assert len(expected) > 3
    found = {(v, own): s for v, sets in enumerate(table.sets) for own, s in sets.items() if len(own) == 2}
    assert found == pytest.approx(expected)


def test_with_few_candidates_one_of_the_pair_is_a_candidate(rng):
    data = random_data(rng, 9, 80, 3)
    scores = FamilyScores(data)
    table = FamilyTable(scores, pairs=2, larger=0, max_parents=2)
    done = deepen(table, candidates=1)
    assert done.screen.candidates == 1
    assert done.scored < 9 * 28
    known = brute_force(scores, table.allowed)
    found = {(v, own) for v, sets in enumerate(table.sets) for own in sets if len(own) == 2}
    assert found <= set(known)
    for v, pair in known:
        gains = scores.families([(v, (p,)) for p in range(9) if p != v])
        best = [p for p in range(9) if p != v][int(np.argmax(gains))]
        assert best not in pair or (v, pair) in found


def xor_table(rng, noise, rows=300):
    """v0 is the exclusive or of v1 and v2, with some noise; the others are coins."""
    codes = rng.integers(0, 2, (rows, noise + 3))
    codes[:, 0] = codes[:, 1] ^ codes[:, 2] ^ (rng.random(rows) < 0.05)
    return Dataset.from_codes(codes, arities=[2] * (noise + 3), names=[f"v{i}" for i in range(noise + 3)])


def test_parents_without_an_effect_of_their_own_are_found(rng):
    data = xor_table(rng, 70)
    table = FamilyTable(FamilyScores(data), pairs=10)
    assert (1, 2) not in table.sets[0]
    assert deepen(table).added > 0
    assert max(table.sets[0], key=table.sets[0].get) == (1, 2)
    graph = OrderSearch(pairs=10, restarts=3).fit(data).cpdag_
    assert {frozenset(("v0", "v1")), frozenset(("v0", "v2"))} <= {frozenset(e) for e in graph.directed_edges()} | {
        frozenset(e) for e in graph.undirected_edges()
    }


def test_larger_sets_are_grown_from_the_best(rng):
    codes = rng.integers(0, 2, (600, 40))
    codes[:, 0] = (codes[:, 1] ^ codes[:, 2]) | codes[:, 3]
    data = Dataset.from_codes(codes, arities=[2] * 40)
    table = FamilyTable(FamilyScores(data), pairs=4, larger=3)
    assert (1, 2, 3) not in table.sets[0]
    deepen(table)
    assert max(table.sets[0], key=table.sets[0].get) == (1, 2, 3)


def test_workers_and_checkpoints_give_the_same_sets_and_required_parents_stay(rng, tmp_path):
    data = random_data(rng, 12, 90, 3)
    scores = FamilyScores(data)
    required = np.zeros((12, 12), bool)
    required[3, 5] = True
    tables = [FamilyTable(scores, pairs=4, larger=3, required=required) for _ in range(4)]
    before = dict(tables[0].sets[5])
    deepen(tables[0])
    deepen(tables[1], workers=Workers(2))
    store = Checkpoint(tmp_path, "run")
    deepen(tables[2], workers=Workers(1, store))
    finished = len(store)
    assert finished > 0
    deepen(tables[3], workers=Workers(1, store))  # from the finished parts
    assert len(store) == finished
    assert all(table.sets == tables[0].sets for table in tables[1:])
    assert tables[0].sets[5] == before


def test_when_time_is_over_nothing_is_added(rng):
    table = FamilyTable(FamilyScores(random_data(rng, 12, 90, 3)), pairs=4, larger=3)
    before = len(table)
    done = deepen(table, deadline=time.monotonic() - 1)
    assert not done.screen.in_time
    assert len(table) == before
    assert done.added == 0


def test_the_limit_on_families():
    binary, many = np.full(100, 2), np.full(100, 12)
    assert families_within(500, binary) == FAMILIES
    assert families_within(2 * joint_parents.ROWS, binary) == FAMILIES / 2
    assert families_within(500, many) < FAMILIES / 2
    assert candidates_within(100, FAMILIES) == 99
    assert candidates_within(1000, FAMILIES) == 999
    assert 5 < candidates_within(5000, FAMILIES) < 50
    assert candidates_within(5000, FAMILIES / 10) == 2
    assert candidates_within(12, 200) == 1


@pytest.mark.slow
def test_the_default_finds_joint_parents(rng):
    model = BRAI(random_state=0).fit(xor_table(rng, 70))
    near = model.cpdag_.skeleton()
    assert near[0, 1]
    assert near[0, 2]


@kernels
def test_no_pair_of_parents_improves_the_dag_after_leaps(rng):
    data = random_data(rng, 7, 60, 3)
    scores = FamilyScores(data)
    allowed = (rng.random((7, 7)) < 0.8) & ~np.eye(7, dtype=bool)
    pairs = [[p for p in combinations(range(7), 2) if v not in p] for v in range(7)]
    starts = np.cumsum([0, *map(len, pairs)], dtype=np.int64)
    leaps = Leaps(starts, np.array([p for own in pairs for p in own]))
    limits = Limits(allowed.astype(np.uint8), np.full(7, 3), 20, 1000)
    adj = np.zeros((7, 7), np.uint8)
    made = leap(scores.evidence(6), adj, limits, leaps)
    assert made > 0
    assert adj.sum() == 2 * made
    graph = nx.from_numpy_array(adj, create_using=nx.DiGraph)
    assert nx.is_directed_acyclic_graph(graph)
    assert not adj[~allowed].any()
    for v, pair in [(v, p) for v, own in enumerate(pairs) for p in own]:
        own = tuple(np.flatnonzero(adj[:, v]).tolist())
        below = nx.descendants(graph, v)
        if not set(pair) & set(own) and not set(pair) & below and allowed[list(pair), v].all() and len(own) < 2:
            more, now = scores.families([(v, tuple(sorted(own + pair))), (v, own)])
            assert more <= now + TIE


def test_hill_climbing_finds_parents_that_matter_only_together_if_asked(rng):
    data = xor_table(rng, 20)
    plain, joint = (HillClimbing(joint=own, max_parents=3).fit(data) for own in (False, True))
    assert not {"v1", "v2"} <= neighbours(plain.cpdag_, "v0")
    assert {"v1", "v2"} <= neighbours(joint.cpdag_, "v0")
    assert joint.log_score_ > plain.log_score_ + 50
    forbidden = [(a, b) for a in ("v0", "v1", "v2") for b in ("v0", "v1", "v2") if a != b]
    obeys = HillClimbing(joint=True, max_parents=3, knowledge=Knowledge(forbidden=forbidden)).fit(data)
    assert not {"v1", "v2"} & neighbours(obeys.cpdag_, "v0")


def neighbours(graph, name):
    return {b if a == name else a for a, b in graph.directed_edges() + graph.undirected_edges() if name in (a, b)}


def test_what_the_search_left_out_is_said(rng, tmp_path, monkeypatch):
    data = xor_table(rng, 66)
    every = BRAI(random_state=0).fit(data)
    assert every.joint_parents_ == (68, 68, True)
    assert every.joint_parents_.notice == ""
    monkeypatch.setattr(joint_parents, "FAMILIES", 69 * 68 * 10)
    few = BRAI(random_state=0, posterior_from="tree").fit(data)
    assert few.joint_parents_ == (10, 68, True)
    brai.save(few, tmp_path / "few.brai")
    notice = brai.load(tmp_path / "few.brai").joint_parents_.notice
    assert "best 10 of 68 candidates" in notice
    posterior = few.posterior()
    found = summary(few, data.n_rows, posterior, {"draws": 1, "method": "exact", "temperature": 1})
    assert found["search"]["pairs_of_parents"]["candidates"] == 10
    assert notice in as_text(found)
    assert notice in trust(few, posterior, data.names)["warnings"]
    assert "Time was over" in Screen(3, 3, False).notice
