"""The compiled Algorithms 1 and 2 against their literal twin (naive.py), draws against exact distributions.

Identical where the conventions fix the answer: tree, families, repairs, number of tests by order, draws of
one seed. Scores agree to 1e-9 nats. Which of two equally good sub-trees comes first hangs on the last bit of
a score, so from Algorithm 2 on both sides work on one and the same tree: the compiled one, compared before.
"""

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import naive
from brai.data.dataset import Dataset
from brai.kinds.scores import FamilyScores
from brai.tree.draws import best_route, k_best, outcomes, sample_routes
from brai.tree.ggt import GGT, BootstrapNode, Leaf, grow
from brai.tree.independence import CITest
from brai.tree.rai import Learner, rai

TOLERANCE = 1e-9  # nats
MOST_ROUTES = 5000  # trees with more are not enumerated
TEMPERATURES = (0, 0.5, 1, 10, math.inf)
TESTS = {  # name: settings for both sides
    "cmi-c1": {"threshold": 2.0},
    "cmi": {"threshold": 0.01},
    "g2": {"alpha": 0.05},
    "bayes-factor": {"ess": 10.0},
}

# ---------------------------------------------------------------- data with real dependence


def random_rows(seed, d, N, density=0.7, sharpness=0.5, ties="none"):
    """Rows from a random DAG with Dirichlet CPTs, and the declared arities.

    Ties of association: "copy" makes two columns equal, "swap" two columns exchangeable, not equal, by giving
    each row a second time with their two values exchanged.
    """
    rng = np.random.default_rng(seed)
    seen = rng.integers(2, 5, d)
    order = rng.permutation(d)
    columns = {}
    for position, v in enumerate(order):
        parents = [p for p in order[:position] if rng.random() < density][:3]
        cpt = rng.dirichlet(np.full(seen[v], sharpness), size=seen[parents].prod(dtype=int))
        configuration = np.zeros(N, dtype=int)
        for p in parents:
            configuration = configuration * seen[p] + columns[p]
        below = cpt.cumsum(axis=1)[configuration][:, :-1]
        columns[v] = (rng.random((N, 1)) > below).sum(axis=1)
    arities = seen + (rng.random(d) < 0.2)  # now and then a state that is declared and never seen
    rows = [[int(columns[v][i]) for v in range(d)] for i in range(N)]
    if ties != "none":
        v, w = (int(v) for v in rng.choice(d, 2, replace=False))
        arities[v] = arities[w] = max(arities[v], arities[w])
        if ties == "copy":
            rows = [[row[w] if u == v else row[u] for u in range(d)] for row in rows]
        else:
            other = {v: w, w: v}
            rows = rows[: N // 2] + [[row[other.get(u, u)] for u in range(d)] for row in rows[: N // 2]]
    return rows, arities.tolist()


class Problem:
    """One data set and one test as both sides take them."""

    def __init__(self, rows, arities, kind, correction=True):
        self.names = [f"v{v:02d}" for v in range(len(arities))]
        self.data = Dataset.from_codes(rows, arities=arities, names=self.names)
        self.ci = CITest(kind, correction=correction, **TESTS[kind])
        self.naive_data = naive.Data(rows, arities)
        self.naive_ci = naive.CI(kind, correction, **TESTS[kind])

    def learner(self, max_order=None):
        return Learner(self.data, self.ci, max_order=max_order)

    def grow(self, s, seed, max_order=None):
        scores = FamilyScores(self.data, "bdeu", ess=1.0)
        return grow(self.learner(max_order), scores, s, np.random.SeedSequence(seed))

    def naive_grow(self, s, seed, max_order=None):
        return naive.grow(self.naive_data, self.naive_ci, s, seed, max_order)


each_test = pytest.mark.parametrize("kind", TESTS)
on_and_off = pytest.mark.parametrize("correction", [True, False])


def problems(most=7):
    """Random (rows, arities), s and the seed of the tree: 3 to `most` variables, 20 to 200 rows, s 1 to 3.

    One number decides all. (Left to draw d, N and s themselves, Hypothesis likes 3, 20 and 1: no tree.)
    """

    def of(seed):
        rng = np.random.default_rng([seed, most])
        d, N, s = int(rng.integers(3, most + 1)), int(rng.integers(20, 201)), int(rng.choice([1, 2, 2, 3, 3]))
        density, sharpness = rng.choice([0.4, 0.7, 1.0]), rng.choice([0.3, 1.0])
        ties = rng.choice(["none", "none", "copy", "swap"])
        return random_rows(seed, d, N, density, sharpness, ties), s, seed

    return st.integers(0, 2**32 - 1).map(of)


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
    """The compiled tree, scores and all, as the twin's."""
    if isinstance(tree, Leaf):
        return naive.Leaf(tuple(tree.families), tree.log_score, tree.repaired, tree.truncated)
    assert isinstance(tree, BootstrapNode)
    return naive.Node(tree.order, tuple(tuple(map(as_naive, group)) for group in tree.groups))


def arcs(graph):
    """A PDAG as the twin writes graphs."""
    return frozenset((int(a), int(b)) for a, b in np.argwhere(graph.adjacency))


def close(a, b):
    return abs(a - b) <= TOLERANCE


def tied(ranked):
    """Ranked (graph, score) cut where the score drops by more than the tolerance: a list of sets of graphs."""
    groups, last = [], math.inf
    for graph, score in ranked:
        if score < last - TOLERANCE:
            groups.append(set())
        groups[-1].add(graph)
        last = score
    return groups


# ---------------------------------------------------------------- Algorithm 1


@each_test
@on_and_off
@settings(derandomize=True, max_examples=60, deadline=None)
@given(problem=problems(), max_order=st.sampled_from([None, None, None, 0, 1]))
def test_tree_is_the_twins(kind, correction, problem, max_order):
    table, s, seed = problem
    both = Problem(*table, kind, correction)
    tree = both.grow(s, seed, max_order)
    twin, n_ci_tests = both.naive_grow(s, seed, max_order)
    assert shape(tree.root) == shape(twin)
    assert by_order(tree.n_ci_tests) == by_order(n_ci_tests)
    for ours, its in zip(leaves(tree.root), leaves(twin), strict=True):
        assert close(ours.log_score, its.log_score)


@each_test
@settings(derandomize=True, max_examples=50, deadline=None)
@given(problem=problems(), max_order=st.sampled_from([None, None, None, 0, 1]))
def test_rai_is_the_twins(kind, problem, max_order):
    both = Problem(*problem[0], kind)
    learner = both.learner(max_order)
    families, n_ci_tests = naive.rai(both.naive_data, both.naive_ci, max_order)
    assert rai(learner) == families
    assert by_order(learner.tally.ci_tests) == by_order(n_ci_tests)


@each_test
@pytest.mark.parametrize("d", [1, 2])
def test_one_and_two_variables(kind, d):
    problem = Problem(*random_rows(7, d, 60), kind)
    assert shape(problem.grow(2, 3).root) == shape(problem.naive_grow(2, 3)[0])


def test_a_statistic_within_the_slack_is_no_dependence():
    rows, arities = random_rows(7, 2, 60)
    data = naive.Data(rows, arities)
    statistic = naive.information(naive.full(data), naive.CI("cmi"), 0, 1, ()) / naive.scale(60)
    for above, edges in ((-0.1e-7, 0), (0.9e-7, 0), (1.1e-7, 1)):
        threshold = (statistic - above) / 60
        families = rai(Learner(Dataset.from_codes(rows, arities=arities), CITest("cmi", threshold=threshold)))
        assert sum(len(parents) for _, parents in families) == edges
        assert families == naive.rai(data, naive.CI("cmi", threshold=threshold))[0]


# ---------------------------------------------------------------- Algorithm 2


def made_up(seed):
    """A small tree without data; its scores are small integers and depend on the skeleton only, so ties abound."""
    rng = np.random.default_rng(seed)
    d, s = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    weight = rng.integers(-1, 2, (d, d))

    def leaf(X, X_ex):
        families = tuple((v, tuple(u for u in (*X_ex, *X) if u < v and rng.random() < 0.5)) for v in X)
        score = sum(float(weight[u, v]) for v, parents in families for u in parents)
        return Leaf(families, score, repaired=False, truncated=False)

    def node(X, X_ex, order):
        if order > 0 and (len(X) == 1 or order == 3 or rng.random() < 0.3):
            return leaf(X, X_ex)
        cut = int(rng.integers(len(X)))
        split = [(X[:cut], X_ex), (X[cut:], X_ex + X[:cut])] if cut else [(X, X_ex)]
        return BootstrapNode(order, tuple(tuple(node(*g, order + 1) for _ in range(s)) for g in split))

    names = tuple(f"v{v:02d}" for v in range(d))
    return GGT(node(tuple(range(d)), (), 0), names, s, np.zeros(1, dtype=np.int64))


def check_map_and_draws(tree, seed):
    twin = as_naive(tree.root)
    best = best_route(tree)
    families, score = naive.best_route(twin)
    assert best.families == families
    assert close(best.log_score, score)
    for temperature in TEMPERATURES:
        rng, its_rng = np.random.default_rng(seed), np.random.default_rng(seed)
        drawn = sample_routes(tree, 5, temperature, rng, method="paper")
        expected = [naive.sample_cpdag(twin, temperature, its_rng) for _ in range(5)]
        assert [draw.families for draw in drawn] == [families for families, _ in expected]
        assert all(close(draw.log_score, score) for draw, (_, score) in zip(drawn, expected, strict=True))


def check_outcomes_and_k_best(tree, k):
    twin = as_naive(tree.root)
    expected, found = naive.outcomes(twin), outcomes(tree)
    assert len(found) == len(expected)
    assert {outcome.families: outcome.n_routes for outcome in found} == {
        families: number for families, (_, number) in expected.items()
    }
    assert all(close(outcome.log_score, expected[outcome.families][0]) for outcome in found)

    ranking = naive.k_best(twin, len(expected))
    for most in (k, len(ranking), len(ranking) + 1):
        ours = [(arcs(graph), score) for graph, score in k_best(tree, most)]
        assert len(ours) == len({graph for graph, _ in ours}) == min(most, len(ranking))
        assert all(close(score, its) for (_, score), (_, its) in zip(ours, ranking, strict=False))
        *whole, last = tied(ours)  # k may cut the last group of equals
        assert whole == tied(ranking)[: len(whole)]
        assert last <= tied(ranking)[len(whole)]


@each_test
@on_and_off
@settings(derandomize=True, max_examples=30, deadline=None)
@given(problem=problems())
def test_map_and_draws_are_the_twins(kind, correction, problem):
    table, s, seed = problem
    check_map_and_draws(Problem(*table, kind, correction).grow(s, seed), seed)


@each_test
@on_and_off
@settings(derandomize=True, max_examples=30, deadline=None)
@given(problem=problems(most=6), k=st.integers(1, 20))
def test_outcomes_and_k_best_are_all_routes(kind, correction, problem, k):
    table, s, seed = problem
    tree = Problem(*table, kind, correction).grow(s, seed)
    if naive.n_routes(as_naive(tree.root)) <= MOST_ROUTES:
        check_outcomes_and_k_best(tree, k)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 20))
def test_exact_ties_are_the_twins(seed, k):
    tree = made_up(seed)
    check_map_and_draws(tree, seed)
    if naive.n_routes(as_naive(tree.root)) <= MOST_ROUTES:
        check_outcomes_and_k_best(tree, k)


# ---------------------------------------------------------------- draws against their exact distribution

TREES = {  # 20 to 40 rows, so that no graph has all the weight: (kind, correction, seed, d, s, N), number of DAGs
    "two": (("g2", True, 54, 4, 2, 30), 2),
    "nine": (("bayes-factor", False, 18, 6, 3, 30), 9),
    "equivalent": (("bayes-factor", False, 55, 6, 3, 30), 8),  # of 6 CPDAGs
    "fifteen": (("cmi-c1", True, 7, 6, 3, 40), 15),
    "many": (("bayes-factor", False, 1122, 7, 3, 30), 28),
}
EXACT = {"exact": naive.exact_distribution, "paper": naive.paper_distribution}


@cache
def small_tree(name):
    (kind, correction, seed, d, s, N), n_dags = TREES[name]
    tree = Problem(*random_rows(seed, d, N, 0.7, 0.7), kind, correction).grow(s, seed)
    twin = as_naive(tree.root)
    assert len(naive.outcomes(twin)) == n_dags
    return tree, twin


def p_value(drawn, distribution):
    """χ² test of counts against probabilities, small cells pooled until 5 are expected; 0 outside the support."""
    if not set(drawn) <= set(distribution):
        return 0.0
    n = sum(drawn.values())
    cells = sorted((n * p, drawn[graph]) for graph, p in distribution.items())
    pooled = [(0.0, 0)]
    for expected, seen in cells:
        if pooled[-1][0] >= 5:
            pooled.append((0.0, 0))
        pooled[-1] = (pooled[-1][0] + expected, pooled[-1][1] + seen)
    statistic = sum((seen - expected) ** 2 / expected for expected, seen in pooled)
    return chi2.sf(statistic, len(pooled) - 1) if len(pooled) > 1 else 1.0


@pytest.mark.parametrize("temperature", [0, 0.3, 1, 5, math.inf])
@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("name", TREES)
def test_draws_follow_the_exact_distribution(name, method, temperature):
    tree, twin = small_tree(name)
    distribution = EXACT[method](twin, temperature)
    assert sum(distribution.values()) == pytest.approx(1)
    draws = sample_routes(tree, 4000, temperature, np.random.default_rng(2018), method=method)
    drawn = Counter(draw.families for draw in draws)
    if temperature > 0:  # at 0 equal scores are one graph's DAGs, and the last bit chooses
        assert p_value(drawn, distribution) > 1e-4
    by_class = Counter()
    for families, number in drawn.items():
        by_class[naive.cpdag(families)] += number
    assert p_value(by_class, naive.by_cpdag(distribution)) > 1e-4


def test_the_two_methods_can_be_told_apart():
    tree, twin = small_tree("fifteen")
    for method, other in (("exact", "paper"), ("paper", "exact")):
        draws = sample_routes(tree, 4000, math.inf, np.random.default_rng(2018), method=method)
        assert p_value(Counter(draw.families for draw in draws), EXACT[other](twin, math.inf)) < 1e-4
