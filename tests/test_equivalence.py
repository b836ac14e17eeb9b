"""Markov equivalence classes against all DAGs of four and five nodes, all orientations, and closed formulas."""

from collections import Counter
from math import comb, factorial

import numpy as np
import pytest
from cliquepicking import mec_size
from scipy.stats import chisquare

from all_dags import all_dags, class_of, equivalent, keys, members, paths
from brai.graphs.equivalence import EquivalenceClass, TooManyPartsError
from brai.graphs.pdag import PDAG
from conftest import random_dag


def graph_of(adjacency):
    adjacency = np.asarray(adjacency)
    return PDAG(tuple(f"v{i:02d}" for i in range(len(adjacency))), adjacency.astype(np.int8))


def class_with(dag):
    return EquivalenceClass(graph_of(dag).to_cpdag())


def matrix(masks):
    """Bit masks of each node as an array "row to column"."""
    d = range(len(masks))
    return np.array([[masks[j] >> i & 1 for j in d] for i in d], bool)


def rows(graphs):
    return {np.asarray(graph, bool).tobytes() for graph in graphs}


def undirected(d, edges):
    a = np.zeros((d, d), np.int8)
    for i, j in edges:
        a[i, j] = a[j, i] = 1
    return graph_of(a)


def complete(d):
    return undirected(d, [(i, j) for i in range(d) for j in range(i)])


def random_chordal(rng, d, most):
    """Connected: each new node joins some nodes of a clique that is there."""
    cliques, edges = [[0]], []
    for v in range(1, d):
        clique = cliques[rng.integers(len(cliques))]
        part = rng.choice(clique, rng.integers(1, min(len(clique), most) + 1), replace=False).tolist()
        edges += [(v, u) for u in part]
        cliques.append([*part, v])
    return undirected(d, edges)


def check(dag, expected):
    """Everything exact that a class says, against the list of its DAGs."""
    found = class_with(dag)
    assert found.size == len(expected)
    orders = list(found.orders())
    dags = [found.to_dag(order) for order in orders]
    assert len(orders) == len(expected)
    assert all(g.is_dag() for g in dags)
    assert rows(g.adjacency for g in dags) == rows(expected)
    for order, graph in zip([found.first(), *orders], [found.to_dag(found.first()), *dags], strict=True):
        a = graph.adjacency.astype(bool)
        at = np.argsort(order)
        assert sorted(order) == list(range(len(a)))
        assert all(at[i] < at[j] for i, j in np.argwhere(a))
        assert np.array_equal(matrix(found.parents(order)), a)
        assert np.array_equal(matrix(found.ancestors(order)), paths(a[None])[0])
    assert found.to_dag(found.first()).adjacency.astype(bool).tobytes() in rows(expected)
    np.testing.assert_allclose(found.edge_probabilities(), expected.mean(axis=0), rtol=0, atol=1e-12)
    reached = paths(expected)
    assert np.array_equal(matrix(found.possible_ancestors()), reached.any(axis=0))
    assert not (matrix(found.certain_ancestors()) & ~reached.all(axis=0)).any()
    assert np.array_equal(matrix(found.certain_ancestors()), paths(expected.all(axis=0)[None])[0])
    assert np.array_equal(matrix(found.possible_parents()), expected.any(axis=0))
    assert np.array_equal(matrix(found.certain_parents()), expected.all(axis=0))


def test_the_enumeration_itself():
    """Robinson 1973; Gillispie & Perlman 2002."""
    assert [len(all_dags(d)) for d in (2, 3, 4, 5)] == [3, 25, 543, 29281]
    assert [int(class_of(d).max()) + 1 for d in (2, 3, 4, 5)] == [2, 11, 185, 8782]
    for group in members(4):
        assert rows(equivalent(group[0])) == rows(group)


def test_every_class_of_four_nodes():
    rng = np.random.default_rng(0)
    for group in members(4):
        check(group[rng.integers(len(group))], group)


def test_the_size_of_every_class_of_five_nodes():
    groups = members(5)
    sizes = [EquivalenceClass(graph_of(group.any(axis=0))).size for group in groups]
    assert sizes == [len(group) for group in groups]


@pytest.mark.parametrize("d", [5, 6, 7, 8])
def test_random_classes(d):
    rng = np.random.default_rng(d)
    sizes = []
    while len(sizes) < 50:
        dag = random_dag(rng, d, rng.uniform(0.15, 0.7))
        if dag.sum() <= 13:  # all ways to direct the edges of more take long
            check(dag, expected := equivalent(dag))
            sizes.append(len(expected))
    assert len(set(sizes)) > 5


CLASSES = {
    "two": [(0, 1)],
    "chain": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "star": [(0, i) for i in range(1, 7)],
    "clique": [(i, j) for i in range(4) for j in range(i + 1, 4)],
    "two triangles": [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)],
    "triangle with tails": [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (1, 5)],
    "two parts": [(0, 1), (1, 2), (3, 4), (4, 5), (5, 6)],
    "parts below a collider": [(0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (5, 0)],
}


@pytest.mark.parametrize("edges", CLASSES.values(), ids=CLASSES.keys())
def test_draws_are_uniform(edges):
    dag = np.zeros((7, 7), bool)
    for i, j in edges:
        dag[i, j] = True
    expected = equivalent(dag)
    assert len(expected) > 1
    found, rng = class_with(dag), np.random.default_rng(11)
    drawn = Counter(found.to_dag(found.draw(rng)).adjacency.astype(bool).tobytes() for _ in range(3000))
    assert set(drawn) <= rows(expected)
    assert chisquare([drawn[graph.tobytes()] for graph in expected]).pvalue > 1e-4


def test_draws_follow_the_seed():
    found = EquivalenceClass(random_chordal(np.random.default_rng(3), 12, 4))
    one, same, other = ([found.draw(rng) for _ in range(30)] for rng in map(np.random.default_rng, (1, 1, 2)))
    assert one == same
    assert one != other
    assert list(found.orders())[:20] == list(EquivalenceClass(found.to_dag(one[0]).to_cpdag()).orders())[:20]
    assert found.first() == EquivalenceClass(found.to_dag(one[0]).to_cpdag()).first()


def test_draws_from_a_large_class_have_the_exact_edge_probabilities():
    """A clique of six with a small tree hung on one of its nodes."""
    found = EquivalenceClass(
        undirected(9, [(i, j) for i in range(6) for j in range(i)] + [(5, 6), (6, 7), (6, 8)])
    )
    exact = found.edge_probabilities()
    assert found.size > 1000
    n, rng = 4000, np.random.default_rng(5)
    mean = np.mean([matrix(found.parents(found.draw(rng))) for _ in range(n)], axis=0)
    assert (np.abs(mean - exact) <= 4.5 * np.sqrt(exact * (1 - exact) / n)).all()
    assert not np.allclose(exact[exact > 0], 0.5)


def test_closed_formulas():
    """n for a tree, n! for a clique, 2(n - 1)! - (n - 2)! for a clique without one edge, products for parts."""
    assert EquivalenceClass(complete(30)).size == factorial(30)
    tree = [(i, i * i // 3 % i) for i in range(1, 40)]
    assert EquivalenceClass(undirected(40, tree)).size == 40
    for n in (3, 6, 20):
        lacking = [(i, j) for i in range(n) for j in range(i) if (i, j) != (n - 1, 0)]
        assert EquivalenceClass(undirected(n, lacking)).size == 2 * factorial(n - 1) - factorial(n - 2)
    parts = [(i, j) for i in range(5) for j in range(i)] + [(5 + i, 5 + j) for i in range(7) for j in range(i)]
    assert EquivalenceClass(undirected(14, parts)).size == factorial(5) * factorial(7)
    assert EquivalenceClass(undirected(3, [])).size == 1


@pytest.mark.parametrize("d", [20, 40, 60])
def test_sizes_of_big_chordal_graphs(d):
    graph = random_chordal(np.random.default_rng(d + 1), d, 8)
    size = EquivalenceClass(graph).size
    assert size == mec_size([(int(i), int(j)) for i, j in np.argwhere(graph.adjacency)])
    assert size > 10**3


def test_draws_of_big_classes_are_members():
    rng = np.random.default_rng(8)
    for graph in (complete(30), random_chordal(rng, 40, 6)):
        found = EquivalenceClass(graph)
        for _ in range(5):
            dag = found.to_dag(found.draw(rng))
            assert dag.is_dag()
            assert dag.to_cpdag() == graph
            assert np.array_equal(*(keys(g.adjacency[None] > 0) for g in (dag, found.to_dag(found.first()))))


def test_edge_probabilities_of_big_classes():
    """A clique is symmetric; in a tree the way to a node is turned iff the root lies beyond it."""
    d = 12
    exact = EquivalenceClass(complete(d)).edge_probabilities()
    np.testing.assert_allclose(exact, (1 - np.eye(d)) / 2, rtol=0, atol=1e-12)
    line = EquivalenceClass(undirected(50, [(i, i + 1) for i in range(49)])).edge_probabilities()
    np.testing.assert_allclose(line.diagonal(1), (np.arange(49) + 1) / 50, rtol=0, atol=1e-12)
    np.testing.assert_allclose(line.diagonal(-1), (49 - np.arange(49)) / 50, rtol=0, atol=1e-12)


def test_too_many_parts():
    found = EquivalenceClass(undirected(9, [(i, j) for i in range(9) for j in range(i) if (i, j) != (8, 0)]))
    with pytest.raises(TooManyPartsError):
        found.edge_probabilities(limit=2)
    assert np.array_equal(found.edge_probabilities(limit=10**6), found.edge_probabilities())
    assert found.edge_probabilities().sum() == pytest.approx(comb(9, 2) - 1)
