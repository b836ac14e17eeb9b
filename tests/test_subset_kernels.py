"""Kernels over sets of variables against sums by definition; also run with the JIT switched off."""

import itertools

import numpy as np
import pytest

from all_dags import acyclic, all_dags
from brai.kernels import dag_sums, edge_chain, subsets

pytestmark = pytest.mark.kernels


def members(mask):
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def random_scores(seed, d):
    """Log scores of families, far apart, some not allowed."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 30, (d, 1 << (d - 1)))
    scores[:, 1:][rng.random((d, (1 << (d - 1)) - 1)) < 0.2] = -np.inf
    return scores


def dag_scores(scores):
    d = len(scores)
    graphs = all_dags(d)
    total = np.zeros(len(graphs))
    for v in range(d):
        others = [u for u in range(d) if u != v]
        total += scores[v, graphs[:, others, v] @ (1 << np.arange(d - 1))]
    return total


def test_squeeze_and_widen():
    for v in range(5):
        others = [u for u in range(5) if u != v]
        for mask in range(16):
            wide = subsets.widen(mask, v)
            assert members(wide) == [others[i] for i in members(mask)]
            assert subsets.squeeze(wide, v) == mask


def test_sums_over_subsets_and_supersets():
    logs = np.random.default_rng(0).normal(0, 20, 16)
    logs[[3, 9]] = -np.inf
    below, above = logs.copy(), logs.copy()
    subsets.sum_subsets(below)
    subsets.sum_supersets(above)
    for m in range(16):
        assert below[m] == pytest.approx(
            np.logaddexp.reduce([logs[s] for s in range(16) if s & m == s]), abs=1e-12
        )
        assert above[m] == pytest.approx(
            np.logaddexp.reduce([logs[s] for s in range(16) if s & m == m]), abs=1e-12
        )
    nothing = np.full(8, -np.inf)
    subsets.sum_subsets(nothing)
    assert (nothing == -np.inf).all()


def test_best_parents_and_sinks():
    scores = random_scores(1, 4)
    best, which = subsets.best_parents(scores)
    for v, m in itertools.product(range(4), range(8)):
        within = [s for s in range(8) if s & m == s]
        assert best[v, m] == max(scores[v, s] for s in within) == scores[v, which[v, m]]
        assert which[v, m] in within
    sinks, left, total = subsets.best_sinks(best), 15, 0.0
    while left:
        v = int(sinks[left])
        left ^= 1 << v
        total += best[v, subsets.squeeze(left, v)]
    assert total == pytest.approx(dag_scores(scores).max(), abs=1e-9)


def test_sums_over_parents_that_meet_the_last_layer():
    scores = random_scores(2, 4)[0]
    three, sums = dag_sums.base_three(4), np.full(27, -np.inf)
    dag_sums.meeting_sums(scores, three, sums)
    for used in range(8):
        for last in range(1, 8):
            if last & used == last:
                own = [scores[p] for p in range(8) if p & used == p and p & last]
                assert sums[three[used] + three[last]] == pytest.approx(np.logaddexp.reduce(own), abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_edges_over_all_dags(d):
    scores = random_scores(d, d)
    total = dag_scores(scores)
    w = np.exp(total - total.max())
    expected = np.tensordot(w / w.sum(), all_dags(d), 1)
    np.testing.assert_allclose(dag_sums.dag_edges(scores), expected, rtol=0, atol=1e-9)
    found, loss = dag_sums.dag_edges_by_sinks(scores)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert loss < 1e-9


def test_what_rounding_takes_is_reported():
    scores = np.random.default_rng(6).normal(0, 1, (6, 32))
    found, loss = dag_sums.dag_edges_by_sinks(scores)
    rough, more = dag_sums.dag_edges_by_sinks(scores + 1e11)  # the same, but for what is left of the digits
    assert loss < 1e-12
    assert more > np.abs(rough - found).max() / 10 > 1e-7


def test_edges_over_all_orders():
    d, scores = 4, random_scores(5, 4)
    top, weight, edges = dag_scores(scores).max(), 0.0, np.zeros((4, 4))
    for order in itertools.permutations(range(d)):
        at = np.argsort(order)
        fits = (~all_dags(d) | (at[:, None] < at[None, :])).all(axis=(1, 2))
        w = np.exp(dag_scores(scores)[fits] - top)
        weight += w.sum()
        edges += np.tensordot(w, all_dags(d)[fits], 1)
    np.testing.assert_allclose(subsets.order_edges(scores), edges / weight, rtol=0, atol=1e-9)


def parents_of(adjacency):
    return (adjacency.T.astype(np.int64) @ (1 << np.arange(len(adjacency)))).astype(np.int64)


def test_cycles_and_ancestors():
    rng = np.random.default_rng(3)
    graphs = rng.random((60, 5, 5)) < 0.3
    graphs &= ~np.eye(5, dtype=bool)
    is_acyclic = acyclic(graphs)
    assert 10 < is_acyclic.sum() < 50
    for graph, expected in zip(graphs, is_acyclic, strict=True):
        assert edge_chain.is_acyclic(parents_of(graph)) == expected
        reach = np.linalg.matrix_power(graph + np.eye(5), 5) @ graph > 0
        for a, v in itertools.product(range(5), range(5)):
            assert edge_chain.is_ancestor(parents_of(graph), a, v) == reach[a, v]


def test_chances_of_a_graph_are_those_of_drawing_it():
    chances = np.array([[0.0, 0.5, 0.2], [0.25, 0.0, 0.1], [0.3, 0.6, 0.0]])
    parents = np.zeros(3, np.int64)
    edge_chain.draw_pairs(chances, np.array([0.6, 0.1, 0.75]), parents)  # 1 → 0, 0 → 2, 1 and 2 not joined
    assert parents.tolist() == [0b010, 0, 0b001]
    assert edge_chain.log_chance(chances, parents) == pytest.approx(np.log(0.25 * 0.2 * 0.3))
    every = 0.0
    for kinds in itertools.product(range(3), repeat=3):
        own = np.zeros(3, np.int64)
        for kind, (i, j) in zip(kinds, itertools.combinations(range(3), 2), strict=True):
            own[j] |= (kind == 1) << i
            own[i] |= (kind == 2) << j
        every += np.exp(edge_chain.log_chance(chances, own))
    assert every == pytest.approx(1)


def test_a_local_move_and_its_opposite():
    scores, tally = np.zeros((3, 4)), np.zeros((4, 2), np.int64)
    parents = np.zeros(3, np.int64)
    for i, j, expected in (
        (0, 1, [0, 1, 0]),  # added
        (1, 2, [0, 1, 2]),  # added
        (2, 0, [0, 1, 2]),  # a cycle: refused
        (1, 0, [2, 0, 2]),  # turned round
        (1, 2, [2, 0, 0]),  # deleted
    ):
        edge_chain.local_move(scores, parents, i, j, -1e-9, tally)
        assert parents.tolist() == expected
    assert tally.tolist() == [[3, 2], [1, 1], [1, 1], [0, 0]]
    scores[1, 1] = -5.0  # 0 → 1 is bad now
    edge_chain.local_move(scores, parents, 0, 1, -4.9, tally)
    assert parents.tolist() == [2, 0, 0]
    edge_chain.local_move(scores, parents, 0, 1, -5.1, tally)
    assert parents.tolist() == [0, 1, 0]
    scores[0, 1] = -3.0  # 1 → 0 is bad too, but less
    edge_chain.local_move(scores, parents, 1, 0, -1e-9, tally)
    assert parents.tolist() == [2, 0, 0]  # both families are weighed


def test_the_k_best_classes_of_three_nodes():
    """Scores that are equal within classes: one number for each set, F(child, parents) - F(parents)."""
    value = np.random.default_rng(4).normal(0, 3, 8)
    value[0] = 0.0
    scores = np.empty((3, 4))
    for v, m in itertools.product(range(3), range(4)):
        wide = subsets.widen(m, v)
        scores[v, m] = value[wide | 1 << v] - value[wide]
    ranked = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)
    keys = np.random.default_rng(0).integers(1, 2**60, (4, 3, 3))
    pool = subsets.Pool(
        *(np.zeros((8, 20), t) for t in (float, np.int64, np.int8, np.int32, np.int32)), np.zeros(8, int)
    )
    subsets.k_best_classes(scores, ranked, np.triu(keys[3]) + np.triu(keys[3], 1).T, keys[:3], pool)
    assert pool.size[7] == 11
    every = np.unique(np.round(dag_scores(scores), 9))[::-1]  # 25 DAGs, 11 classes
    np.testing.assert_allclose(pool.score[7, :11], every, rtol=0, atol=1e-8)
