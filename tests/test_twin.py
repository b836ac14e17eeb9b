"""The compiled Algorithms 1 and 2 against their literal twin (naive.py), and draws against exact distributions.

Bit for bit where the conventions fix the answer: tree, families, repairs, number of tests by order, draws. Scores
are compared to 1e-9 nats, and so are ties of scores: which of two equal sub-trees comes first is decided by
the last bit of a sum. So Algorithm 2 of both runs on one tree, with the scores of the implementation.
"""

import itertools
import math
from collections import Counter

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from brai.data import Dataset
from brai.graphs import PDAG
from brai.independence import CITest
from brai.rai import Learner, rai
from brai.sampling import best_route, k_best, outcomes, sample_routes
from brai.scores import FamilyScores
from brai.tree import BootstrapNode, Leaf, grow

TOLERANCE = 1e-9  # nats
KINDS = ("cmi-c1", "cmi", "g2", "bayes-factor")
ALL_ROUTES = 6000  # trees with more are not enumerated

# ---------------------------------------------------------------- data with real dependence


def random_rows(seed, d, N, density=0.5, copies=0):
    """Rows from a random DAG with random CPTs, and the declared arities; a copy of a column makes ties."""
    rng = np.random.default_rng(seed)
    seen = rng.integers(2, 5, d)
    order = rng.permutation(d)
    columns = {}
    for position, v in enumerate(order):
        parents = [p for p in order[:position] if rng.random() < density][:3]
        cpt = rng.dirichlet(np.full(seen[v], 0.4), size=seen[parents].prod(dtype=int))
        configuration = np.zeros(N, dtype=int)
        for p in parents:
            configuration = configuration * seen[p] + columns[p]
        columns[v] = np.array([rng.choice(seen[v], p=cpt[j]) for j in configuration])
    for _ in range(copies):
        v, w = rng.choice(d, 2, replace=False)
        columns[v], seen[v] = columns[w], seen[w]
    arities = seen + (rng.random(d) < 0.2)  # now and then a state that is declared and never seen
    return [[int(columns[v][i]) for v in range(d)] for i in range(N)], arities.tolist()


class Pair:
    """One data set as both sides take it."""

    def __init__(self, rows, arities):
        self.naive = naive.Data(rows, arities)
        self.names = [f"v{v:02d}" for v in range(len(arities))]
        self.data = Dataset.from_codes(rows, arities=arities, names=self.names)
        self.scores = FamilyScores(self.data, "bdeu", ess=1.0)

    def trees(self, kind, correction, s, seed, max_order=None):
        """The implementation's tree with its Learner, and the twin's with its count of tests."""
        learner = Learner(self.data, CITest(kind, correction=correction), max_order=max_order)
        ours = grow(learner, self.scores, s, np.random.SeedSequence(seed))
        return ours, naive.grow(self.naive, naive.CI(kind, correction), s, seed, max_order)


@st.composite
def problems(draw):
    d = draw(st.integers(3, 7))
    rows, arities = random_rows(
        seed=draw(st.integers(0, 2**32 - 1)),
        d=d,
        N=draw(st.integers(20, 200)),
        density=draw(st.sampled_from([0.3, 0.6])),
        copies=draw(st.sampled_from([0, 0, 0, 1])),
    )
    return Pair(rows, arities), draw(st.integers(1, 3 if d < 7 else 2)), draw(st.integers(0, 2**32 - 1))


# ---------------------------------------------------------------- comparing


def by_order(counted):
    """Number of tests by order as {order: number}, from an array or a Counter, without zeros."""
    pairs = counted.items() if isinstance(counted, Counter) else enumerate(counted)
    return {order: int(number) for order, number in pairs if number}


def shape(tree):
    """All of a tree but its scores, as nested tuples; works for both sides."""
    if isinstance(tree, Leaf | naive.Leaf):
        return tuple(tree.families), bool(tree.repaired), bool(tree.truncated)
    return tree.order, tuple(tuple(map(shape, group)) for group in tree.groups)


def leaves(tree):
    if isinstance(tree, Leaf | naive.Leaf):
        return [tree]
    return [leaf for group in tree.groups for sub_tree in group for leaf in leaves(sub_tree)]


def as_naive(tree):
    """The implementation's tree, scores and all, as the twin's."""
    if isinstance(tree, Leaf):
        return naive.Leaf(tuple(tree.families), tree.log_score, tree.repaired, tree.truncated)
    assert isinstance(tree, BootstrapNode)
    return naive.Node(tree.order, tuple(tuple(map(as_naive, group)) for group in tree.groups))


def arcs(graph):
    return frozenset((int(a), int(b)) for a, b in np.argwhere(graph.adjacency))


def tie_groups(ranked):
    """Ranked (graph, score) cut where the score drops by more than the tolerance: sets of graphs."""
    groups, last = [], math.inf
    for graph, score in ranked:
        if score < last - TOLERANCE:
            groups.append(set())
        groups[-1].add(graph)
        last = score
    return groups


# ---------------------------------------------------------------- Algorithm 1


@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@settings(derandomize=True, max_examples=25, deadline=None)
@given(problem=problems(), max_order=st.sampled_from([None, None, None, 0, 1]))
def test_tree_is_the_twins(kind, correction, problem, max_order):
    pair, s, seed = problem
    ours, (twin, n_ci_tests) = pair.trees(kind, correction, s, seed, max_order)
    assert shape(ours.root) == shape(twin)
    assert by_order(ours.n_ci_tests) == by_order(n_ci_tests)
    for our, its in zip(leaves(ours.root), leaves(twin), strict=True):
        assert our.log_score == pytest.approx(its.log_score, abs=TOLERANCE, rel=0)


@pytest.mark.parametrize("kind", KINDS)
@settings(derandomize=True, max_examples=25, deadline=None)
@given(problem=problems(), max_order=st.sampled_from([None, None, None, 0, 1]))
def test_rai_is_the_twins(kind, problem, max_order):
    pair, _, _ = problem
    learner = Learner(pair.data, CITest(kind), max_order=max_order)
    families, n_ci_tests = naive.rai(pair.naive, naive.CI(kind), max_order)
    assert rai(learner) == families
    assert by_order(learner.tally.ci_tests) == by_order(n_ci_tests)
