"""The kernels of the chain over DAGs on small inputs; also run with the JIT switched off (see the Makefile)."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from brai.graphs.adjacency import topological_order
from brai.kernels import mcmc_moves, mcmc_space
from brai.kernels.interface import begin
from brai.kinds.scores import FamilyScores
from brai.posterior.mcmc import Space, State, _cumulated, graph_of
from brai.search.family_table import FamilyTable
from conftest import random_dag, random_data

pytestmark = pytest.mark.kernels

SEED = np.random.SeedSequence(1)


def small_table(rng, d, rows=30, **options):
    data = random_data(rng, d, rows, 3, min(0.5, 3 / d))
    return FamilyTable(FamilyScores(data), **{"slack": 3.0, "max_parents": 3, "larger": 4, **options})


class Walker:
    """A chain whose graph can be looked at after each step."""

    def __init__(self, space, start, seed, shares=(1, 1, 1, 1)):
        self.bench, self.state, self.shares = space.bench(), State.at(space, start, seed), _cumulated(shares)
        self.graph, self.tally = graph_of(self.state), self.state.tally
        self.settle()

    def settle(self):
        mcmc_moves.settle(self.bench.evidence, self.bench.arrays, self.graph)

    def skip(self, steps):
        noted = mcmc_moves.Noted(np.empty((1, 0, 0), np.int16), np.empty(1))
        given = (self.bench.evidence, self.bench.arrays, self.graph, self.shares)
        mcmc_moves.run(*given, steps, noted, self.state.tally, self.state.random)
        return noted.scores[0]

    def outside(self):
        found = zip(self.state.families, self.graph.entry, strict=True)
        return [own for own, e in found if e == mcmc_space.OUTSIDE]


def start_of(table, adjacency):
    """The DAG without families that the table cannot have."""
    return [(v, tuple(np.flatnonzero(own)[: table.max_parents].tolist())) for v, own in enumerate(adjacency.T)]


def in_order(space, v):
    """The sets of v with their scores, best first."""
    sets = space.arrays.sets
    for e in range(sets.first[v], sets.first[v + 1]):
        yield e, set(sets.members[sets.begin[e] : sets.begin[e + 1]].tolist()), sets.scores[e]


@pytest.mark.parametrize("d", [6, 70])
def test_gathered_sets_are_those_that_fit(rng, d):
    """Up to 64 variables a signature says all; beyond that variables share bits."""
    table = small_table(rng, d, pairs=6)
    space = Space(table, SEED)
    if d > 64:  # a set that holds the two ends of one bit
        table.add([(1, (2, 66)), (1, (3, 67)), (66, (0, 1))])
        table.sets[1][2, 66] = table.sets[1][3, 66] = table.sets[1][()] - 1.0
        space = Space(table, SEED)
    some, arrays = 0, space.bench().arrays
    for v in [*rng.integers(0, d, 20).tolist(), 1]:
        mark = (rng.random(d) < 0.2).astype(np.uint8) + 2 * (rng.random(d) < 0.3).astype(np.uint8)
        for never, need in ((1, 0), (3, 0), (1, 2)):
            bad, good = (set(np.flatnonzero(mark & m).tolist()) for m in (never, need))
            want = [
                (e, score) for e, own, score in in_order(space, v) if not own & bad and (need == 0 or own & good)
            ]
            n, log_sum = mcmc_space.gather(arrays, 0, v, mark, never, need)
            some += n
            if not want:
                assert (n, log_sum) == (0, -np.inf)
                continue
            kept = [(e, score) for e, score in want if score >= want[0][1] - mcmc_space.DEPTH]
            assert arrays.found[0, :n].tolist() == [e for e, _ in kept]
            assert log_sum == pytest.approx(np.logaddexp.reduce([score for _, score in want]), abs=1e-9)
            w = np.exp([score - kept[0][1] for _, score in kept])
            found = arrays.weights[0, :n]
            np.testing.assert_allclose(found / found.sum(), w / w.sum(), rtol=1e-9)
    assert some > 60


def test_weights_far_below_the_best_set_do_not_vanish(rng):
    space = Space(small_table(rng, 5), SEED)
    arrays = space.bench().arrays
    v = int(np.argmax(np.diff(space.arrays.sets.first)))
    first, end = space.arrays.sets.first[v : v + 2]
    space.arrays.sets.scores[first] += 2000.0  # the empty one or not: it does not fit below if it has members
    mark = np.zeros(5, np.uint8)
    best = space.arrays.sets.members[space.arrays.sets.begin[first] : space.arrays.sets.begin[first + 1]]
    assert len(best)
    mark[best] = 1
    n, log_sum = mcmc_space.gather(arrays, 0, v, mark, 1, 0)
    want = [score for e, own, score in in_order(space, v) if not own & set(best.tolist())]
    assert log_sum == pytest.approx(np.logaddexp.reduce(want), abs=1e-9)
    assert 0 < n <= end - first
    assert arrays.weights[0, 0] == 1.0


def test_sets_are_drawn_by_weight():
    weights = np.array([[3.0, 1.0, 0.0, 4.0]])
    space = SimpleNamespace(weights=weights, found=np.array([[7, 8, 9, 10]]))
    draw = getattr(mcmc_space.draw, "py_func", mcmc_space.draw)
    state = np.array([12345], np.uint64)
    n = np.bincount([draw(space, 0, 4, state) for _ in range(4000)], minlength=11)[7:] / 4000
    np.testing.assert_allclose(n, [0.375, 0.125, 0.0, 0.5], atol=4 * math.sqrt(0.25 / 4000))
    assert n[2] == 0


def test_families_are_found_in_the_table_or_scored(rng):
    table = small_table(rng, 6, max_parents=2, slack=0.0)
    space, scores = Space(table, SEED, max_parents=4), FamilyScores(table.scores.data)
    inside, (evidence, arrays) = 0, space.bench()
    begin(evidence)
    for _ in range(200):
        v, *parents = rng.permutation(6)[: rng.integers(1, 6)].tolist()
        key = space.arrays.memo.keys[v, v]
        for p in parents:
            key ^= space.arrays.memo.keys[p, v]
        e, score = mcmc_space.score_of(evidence, arrays, v, np.array([*parents, -1]), len(parents), key)
        own = tuple(sorted(parents))
        assert score == pytest.approx(scores.families([(v, own)])[0], abs=1e-9)
        assert (e != mcmc_space.OUTSIDE) == (own in table.sets[v])
        if e != mcmc_space.OUTSIDE:
            inside += 1
            assert set(own) == {at: members for at, members, _ in in_order(space, v)}[e]
    assert 20 < inside < 180


@pytest.mark.parametrize("d", [2, 7])
def test_nodes_below(rng, d):
    for _ in range(20):
        adj = random_dag(rng, d, 0.4)
        table = small_table(rng, d, 5)
        table.max_parents = d
        walker = Walker(Space(table, SEED), start_of(table, adj), SEED)
        graph = walker.graph
        v, barred = rng.permutation(d)[:2].tolist()
        graph.mark[:] = 0
        mcmc_moves.mark_below(graph, v, 2, barred)
        cut = adj.astype(bool).copy()
        cut[:, barred] = False
        below = np.eye(d, dtype=bool)
        for _ in range(d):
            below |= below @ cut
        assert np.array_equal(graph.mark == 2, below[v])


@pytest.mark.parametrize("shares", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 1, 1, 1)])
def test_a_walk_keeps_its_books(rng, shares):
    """Parents, children, scores, entries and hashes agree after every move, and the graph stays a DAG."""
    d = 6
    table = small_table(rng, d, max_parents=2, slack=0.0)
    space = Space(table, SEED, max_parents=3)
    start = [(v, max((own for own in table.sets[v] if all(p < v for p in own)), key=len)) for v in range(d)]
    walker = Walker(space, start, SEED, shares)
    graph, known, outside = walker.graph, set(), 0
    for _ in range(150):
        log_score = walker.skip(1)
        families = walker.state.families
        adj = np.zeros((d, d), np.int8)
        for v, parents in families:
            assert len(set(parents)) == len(parents) <= 3
            adj[list(parents), v] = 1
        topological_order(adj)  # refuses a cycle
        for v in range(d):
            children = graph.children[v, : graph.n_children[v]].tolist()
            assert sorted(children) == np.flatnonzero(adj[v]).tolist()
        assert log_score == pytest.approx(table.scores.total(families), abs=1e-9)
        assert walker.outside() == [f for f in families if f[1] not in table.sets[f[0]]]
        keys, entries = graph.key.copy(), graph.entry.copy()
        walker.settle()
        assert np.array_equal(keys, graph.key)
        assert np.array_equal(entries, graph.entry)
        outside += len(walker.outside())
        known.add(families)
    assert len(known) > 3
    assert (outside > 0) == (shares[2] > 0)


def test_reversal_turns_the_edge(rng):
    table = small_table(rng, 5, slack=20.0)
    walker = Walker(Space(table, SEED), [(0, ()), (1, (0,)), *((v, ()) for v in (2, 3, 4))], SEED, (0, 1, 0, 0))
    while not walker.tally[1, 1]:
        walker.skip(1)
    families = dict(walker.state.families)
    assert 1 in families[0]
    assert 0 not in families[1]
    assert families[2] == families[3] == families[4] == ()
