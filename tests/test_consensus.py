"""The table of edges and the consensus graph: their rules, on matrices of sixteenths, where sums are exact."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brai import BRAI, RAI
from brai.posterior.consensus import Consensus, consensus, table
from conftest import random_data

SOME = settings(max_examples=300)


@st.composite
def matrices(draw):
    """Names in any order, and P(i → j) + P(j → i) ≤ 1 for each pair."""
    d = draw(st.integers(1, 7))
    names = tuple(draw(st.permutations("abcdefg"[:d])))
    edges = np.zeros((d, d))
    for i, j in combinations(range(d), 2):
        whole = draw(st.integers(0, 16))
        part = draw(st.integers(0, whole))
        edges[i, j], edges[j, i] = part / 16, (whole - part) / 16
    return names, edges


thresholds = st.integers(0, 16).map(lambda n: n / 16)
directions = st.sampled_from([0.5, 0.625, 0.75, 1.0])


def strength(edges, i, j):
    return edges[i, j] + edges[j, i]


def pairs(names, edges, threshold):
    """Pairs in their more probable direction, as indices; the alphabetical one if there is none."""
    found = []
    for i, j in combinations(range(len(names)), 2):
        if strength(edges, i, j) >= threshold and strength(edges, i, j) > 0:
            turn = edges[j, i] > edges[i, j] or (edges[j, i] == edges[i, j] and names[j] < names[i])
            found.append((j, i) if turn else (i, j))
    return found


def reaches(arrows, a, b):
    seen, stack = {a}, [a]
    while stack:
        v = stack.pop()
        for tail, head in arrows:
            if tail == v and head not in seen:
                seen.add(head)
                stack.append(head)
    return b in seen


def by_the_rules(names, edges, threshold, direction):
    """Arrows, undirected edges and conflicts, as names: the surest direction first, ties by name."""
    arrows, plain, conflicts = [], set(), set()
    ranked = sorted(pairs(names, edges, threshold), key=lambda ij: (-edges[ij], names[ij[0]], names[ij[1]]))
    for i, j in ranked:
        a, b = names[i], names[j]
        if edges[i, j] == edges[j, i] or edges[i, j] / strength(edges, i, j) <= direction:
            plain.add(frozenset((a, b)))
        elif reaches(arrows, b, a):
            plain.add(frozenset((a, b)))
            conflicts.add((a, b))
        else:
            arrows.append((a, b))
    return set(arrows), plain, conflicts


# ---------------------------------------------------------------- table


@SOME
@given(given_=matrices(), threshold=thresholds)
def test_table(given_, threshold):
    names, edges = given_
    rows = table(names, edges, threshold)
    at = {name: i for i, name in enumerate(names)}
    assert {(at[row["from"]], at[row["to"]]) for row in rows} == set(pairs(names, edges, threshold))
    assert len(rows) == len(pairs(names, edges, threshold))
    for row in rows:
        i, j = at[row["from"]], at[row["to"]]
        assert list(row) == ["from", "to", "strength", "direction"]
        assert row["strength"] == strength(edges, i, j)
        assert row["direction"] == pytest.approx(edges[i, j] / strength(edges, i, j), abs=1e-15)
        assert 0.5 <= row["direction"] <= 1
        assert all(type(row[key]) is kind for key, kind in zip(row, (str, str, float, float), strict=True))
    assert [row["strength"] for row in rows] == sorted((row["strength"] for row in rows), reverse=True)


@SOME
@given(given_=matrices(), threshold=thresholds)
def test_table_of_both_directions(given_, threshold):
    names, edges = given_
    one, both = (table(names, edges, threshold, both=both) for both in (False, True))
    assert len(both) == 2 * len(one)
    found = {(row["from"], row["to"]): row for row in both}
    assert len(found) == len(both)
    for row in one:
        mine, turned = found[row["from"], row["to"]], found[row["to"], row["from"]]
        assert mine == row
        assert turned["strength"] == row["strength"]
        assert mine["direction"] + turned["direction"] == pytest.approx(1, abs=1e-15)
    assert [row["strength"] for row in both] == sorted((row["strength"] for row in both), reverse=True)


@given(given_=matrices(), seed=st.integers(0, 1000))
def test_order_of_names_is_irrelevant(given_, seed):
    names, edges = given_
    order = np.random.default_rng(seed).permutation(len(names))
    turned = tuple(names[i] for i in order), edges[np.ix_(order, order)]
    assert table(*turned) == table(names, edges)
    assert table(*turned, both=True) == table(names, edges, both=True)
    one, other = consensus(names, edges, 0.25), consensus(*turned, 0.25)
    assert other.graph.reorder(names) == one.graph
    assert other.edges == one.edges
    assert sorted(other.conflicts) == sorted(one.conflicts)


def test_table_by_hand():
    edges = np.array([[0, 0.25, 0.5], [0.25, 0, 0], [0.25, 0, 0]])
    rows = table(("b", "a", "c"), edges)
    assert [(row["from"], row["to"], row["strength"]) for row in rows] == [("b", "c", 0.75), ("a", "b", 0.5)]
    assert [row["direction"] for row in rows] == pytest.approx([2 / 3, 0.5])
    assert [row["to"] for row in table(("b", "a", "c"), edges, threshold=0.75)] == ["c"]
    assert table(("b", "a", "c"), edges, threshold=0.76) == []


# ---------------------------------------------------------------- consensus


@SOME
@given(given_=matrices(), threshold=thresholds, direction=directions)
def test_consensus_has_its_properties(given_, threshold, direction):
    names, edges = given_
    found = consensus(names, edges, threshold, direction)
    graph = found.graph
    at = {name: i for i, name in enumerate(names)}
    assert isinstance(found, Consensus)
    assert found.threshold == threshold
    assert graph.names == names
    expected = {frozenset((names[i], names[j])) for i, j in pairs(names, edges, threshold)}
    arrows, plain = graph.directed_edges(), graph.undirected_edges()
    assert {frozenset(edge) for edge in arrows + plain} == expected
    assert found.edges == table(names, edges, threshold)
    assert not any(reaches(arrows, b, a) for a, b in arrows)
    for a, b in arrows:
        assert edges[at[a], at[b]] > edges[at[b], at[a]]
        assert edges[at[a], at[b]] / strength(edges, at[a], at[b]) > direction
    assert {frozenset(edge) for edge in found.conflicts} <= {frozenset(edge) for edge in plain}
    for a, b in found.conflicts:
        surer = [edge for edge in arrows if edges[at[edge[0]], at[edge[1]]] >= edges[at[a], at[b]]]
        assert edges[at[a], at[b]] > edges[at[b], at[a]]
        assert reaches(surer, b, a)
    dag = found.to_dag()
    assert dag.is_dag()
    assert dag.names == names
    assert {frozenset(edge) for edge in dag.directed_edges()} == expected
    assert set(arrows) <= set(dag.directed_edges())


@SOME
@given(given_=matrices(), threshold=thresholds, direction=directions)
def test_consensus_follows_the_rules(given_, threshold, direction):
    names, edges = given_
    found = consensus(names, edges, threshold, direction)
    arrows, plain, conflicts = by_the_rules(names, edges, threshold, direction)
    assert set(found.graph.directed_edges()) == arrows
    assert {frozenset(edge) for edge in found.graph.undirected_edges()} == plain
    assert set(found.conflicts) == conflicts
    assert len(found.conflicts) == len(conflicts)


def test_the_weakest_direction_of_a_cycle_gives_way():
    """Surest is the highest P(a → b), not the direction that is surest if there is an edge."""
    edges = np.array([[0, 0.75, 0], [0.125, 0, 0.625], [0.5, 0, 0]])
    found = consensus("abc", edges)
    assert found.graph.directed_edges() == [("a", "b"), ("b", "c")]
    assert found.graph.undirected_edges() == [("a", "c")]
    assert found.conflicts == [("c", "a")]
    assert found.to_dag().directed_edges() == [("a", "b"), ("a", "c"), ("b", "c")]


def test_default_levels_are_one_half():
    edges = np.array([[0, 0.5, 0.0], [0, 0, 0.25], [0.25, 0.1875, 0]])
    found = consensus("abc", edges)
    assert found.threshold == 0.5
    assert str(found.graph) == "a -> b"
    assert str(consensus("abc", edges, 0.25).graph) == "a -> b\nb -> c\na -- c"
    assert consensus("abc", edges, 0.25).conflicts == [("c", "a")]


@pytest.mark.parametrize("levels", [{"threshold": -0.1}, {"threshold": 1.1}, {"direction": 0.4}, {"direction": 2}])
def test_errors(levels):
    [(name, value)] = levels.items()
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        consensus("ab", np.array([[0, 0.5], [0.25, 0]]), **levels)


def test_estimators():
    data = random_data(np.random.default_rng(4), 6, 100, 3)
    for model in (BRAI(3, random_state=0).fit(data), RAI().fit(data)):
        edges = model.edge_probabilities()
        assert edges.max() > 0
        for levels in ({}, {"threshold": 0.125, "direction": 0.75}):
            found, expected = model.consensus(**levels), consensus(data.names, edges, **levels)
            assert found.graph == expected.graph
            assert found.conflicts == expected.conflicts
        assert model.edge_table() == table(data.names, edges)
        assert model.edge_table(0.25, both=True) == table(data.names, edges, 0.25, both=True)
    assert model.consensus().graph.skeleton().tolist() == model.cpdag_.skeleton().tolist()
    assert set(model.cpdag_.directed_edges()) <= set(model.consensus().graph.directed_edges())


def test_rounding_decides_no_tie():
    """A cycle of three edges that are equally sure, but for the order in which their probabilities were added."""
    graphs = []
    for sums in ((0.3 + 0.2 + 0.1, 0.3 + 0.2 + 0.1, 0.1 + 0.2 + 0.3), (0.6, 0.6, 0.6)):
        edges = np.zeros((3, 3))
        edges[0, 1], edges[1, 2], edges[2, 0] = sums
        graphs.append(consensus(("a", "b", "c"), edges).graph)
    assert graphs[0] == graphs[1]
    assert graphs[0].directed_edges() == [("a", "b"), ("b", "c")]


@pytest.mark.parametrize(
    ("edges", "words"),
    [(np.zeros((2, 3)), "shape"), (np.full((2, 2), np.nan), "from 0 to 1"), (np.full((2, 2), 1.5), "from 0 to 1")],
    ids=["shape", "nan", "above 1"],
)
def test_edges_must_be_probabilities(edges, words):
    for function in (table, consensus):
        with pytest.raises(ValueError, match=words):
            function(("a", "b"), edges)
    for wrong in ("x", 1.5, None):
        with pytest.raises(ValueError, match="threshold"):
            consensus(("a", "b"), np.zeros((2, 2)), wrong)
