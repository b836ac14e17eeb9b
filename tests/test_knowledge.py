"""What is known beforehand is never violated, by any learner, in any graph that it hands out."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from all_dags import acyclic, all_dags, bdeu_scores, class_of, equivalent
from brai import BRAI, MMHC, PDAG, RAI, Bootstrap, Dataset, HillClimbing, Knowledge, Oracle, OrderSearch
from brai.cli import cli
from brai.cli.options import read_states
from brai.graphs.adjacency import topological_order
from brai.graphs.knowledge import Bounds, KnowledgeError
from brai.graphs.mpdag import obeying_dags, restricted
from brai.graphs.pdag import families_of
from brai.kernels.extension import extension
from brai.kinds.scores import FamilyScores
from brai.learners.drawing import ConvergenceWarning
from brai.learners.exact import Exact
from brai.posterior.mcmc import sample_dags
from brai.posterior.weighted import Posterior
from brai.posterior.with_knowledge import posterior_of_classes
from brai.search.family_table import FamilyTable
from brai.search.hill_climbing import hill_climb
from brai.search.orders import search_by_order
from conftest import random_dag, random_data

ABCD = ("a", "b", "c", "d")


def random_knowledge(rng, names, share=0.25):
    """Of every kind something, and some DAG that follows a random order obeys."""
    order = rng.permutation(len(names))
    pairs = [(names[i], names[j]) for at, i in enumerate(order) for j in order[at + 1 :]]
    named = [names[i] for i in order]
    roots = named[: rng.integers(0, 3)] if rng.random() < 0.3 else []
    leaves = [name for name in named[-1:] if rng.random() < 0.3 and name not in roots]
    tiers = []
    if rng.random() < 0.5:
        cuts = np.sort(rng.integers(0, len(named) + 1, rng.integers(1, 3)))
        tiers = [list(part) for part in np.split(np.array(named, object), cuts)]
        tiers[-1] = [name for name in tiers[-1] if rng.random() < 0.7]  # others are free
    possible = [(a, b) for a, b in pairs if b not in roots and a not in leaves]
    required = [edge for edge in possible if rng.random() < share / 2]
    free = [edge for edge in pairs if edge not in required]
    forbidden = [edge for edge in free if rng.random() < share]
    forbidden += [(b, a) for a, b in pairs if rng.random() < share]
    return Knowledge(required, forbidden, tiers, roots, leaves)


def obeys(known, dag):
    """By definition, statement by statement; ``dag`` is an array over sorted names."""
    names = dag.names
    edges = {(names[i], names[j]) for i, j in np.argwhere(dag.adjacency)}
    tier = {name: t for t, group in enumerate(known.tiers) for name in group}
    return (
        set(known.required) <= edges
        and not edges & set(known.forbidden)
        and not any(b in known.roots or a in known.leaves for a, b in edges)
        and not any(a in tier and b in tier and tier[a] > tier[b] for a, b in edges)
    )


def obeying(known, names):
    """All DAGs that obey, as arrays."""
    return np.array([g for g in all_dags(len(names)) if obeys(known, PDAG(names, g.astype(np.int8)))])


def members(graph):
    """Every DAG that a partly directed graph stands for: of its class, and with its directed edges."""
    dag = graph.to_dag().adjacency
    fixed = (graph.adjacency == 1) & (graph.adjacency.T == 0)
    return [PDAG(graph.names, g.astype(np.int8)) for g in equivalent(dag) if g[fixed].all()]


# --- never violated -------------------------------------------------------------------------------

LEARNERS = {
    "RAI": lambda known: RAI("g2", knowledge=known),
    "BRAI": lambda known: BRAI(2, random_state=1, n_chains=2, n_draws=40, thin=20, knowledge=known),
    "paper": lambda known: BRAI.paper(2, random_state=1, knowledge=known),
    "hill climbing": lambda known: HillClimbing(restarts=3, max_parents=2, knowledge=known),
    "plain climbing": lambda known: HillClimbing(tabu=0, knowledge=known),
    "orders": lambda known: OrderSearch(restarts=3, kicks=5, max_parents=2, knowledge=known),
    "MMHC": lambda known: MMHC(knowledge=known),
}


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 7), rows=st.sampled_from([30, 200]))
def test_no_learner_ever_violates_knowledge(name, seed, d, rows):
    rng = np.random.default_rng(seed)
    data = random_data(rng, d, rows, 3)
    known = random_knowledge(rng, data.names)
    data = data.select(rng.permutation(data.names).tolist())
    model = LEARNERS[name](known).fit(data)
    assert known.violations(model.dag_) == []
    assert obeys(known, model.dag_)
    assert model.cpdag_ == model.dag_.to_cpdag()
    assert known.admits(model.cpdag_)
    scores = model._family_scores(data)
    assert model.log_score_ == pytest.approx(scores.total(families_of(model.dag_)), abs=1e-6)
    bounds = known.bound(data.names)
    if name == "BRAI":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            chains = model.chains()
        assert all(obeys(known, dag) for dag, _ in chains.draws())
    if isinstance(model, BRAI):
        drawn = [graph for graph, _ in model.sample(20, 50.0, random_state=0)]
        for graph in {*drawn, *(graph for graph, _ in model.k_best(10))}:
            every = members(graph)
            assert every
            assert all(obeys(known, dag) for dag in every)
            assert len(every) == sum(obeys(known, dag) for dag in members(graph.to_cpdag()))
        assert all(obeys(known, dag) for dag in model.posterior(5).cpdags)
        assert all(obeys(known, dag) for dag in model.posterior(draws=5).cpdags)
        for leaf in model.tree_.leaves:  # whatever route is drawn
            for v, parents in leaf.families:
                own = known.bound(model.tree_.names)
                assert own.allowed[list(parents), v].all()
                assert set(np.flatnonzero(own.required[:, v])) <= set(parents)
    edges = model.edge_probabilities()
    assert edges[~bounds.allowed].max(initial=0.0) == 0.0
    assert edges[bounds.required].min(initial=1.0) == pytest.approx(1.0)


def test_without_knowledge_nothing_changes(rng):
    data = random_data(rng, 7, 200, 3)
    for make in LEARNERS.values():
        free, empty = make(None).fit(data), make(Knowledge()).fit(data)
        assert free.dag_ == empty.dag_
        assert free.log_score_ == empty.log_score_
        assert free.mpdag_ == free.cpdag_ == empty.mpdag_


@pytest.mark.parametrize("name", ["RAI", "BRAI", "hill climbing", "orders", "MMHC"])
def test_order_of_columns_is_no_matter(name):
    rng = np.random.default_rng(7)
    for _ in range(5):
        data = random_data(rng, 6, 100, 3)
        known = random_knowledge(rng, data.names)
        one = LEARNERS[name](known).fit(data)
        other = LEARNERS[name](known).fit(data.select(data.names[::-1]))
        assert one.dag_ == other.dag_.reorder(data.names)


def test_bootstrap_of_a_learner_with_knowledge():
    data = random_data(np.random.default_rng(0), 5, 200, 3)
    known = Knowledge(required=[("v04", "v00")], forbidden=[("v01", "v02")], roots=["v03"])
    model = Bootstrap(HillClimbing(knowledge=known), 10, random_state=0).fit(data)
    for posterior in (model.posterior(), model.posterior("score")):
        assert all(obeys(known, dag) for dag in posterior.cpdags)
        assert posterior.edge_probabilities()[4, 0] == pytest.approx(1)


# --- the best, and the posterior, of all DAGs that obey ---------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_map_is_the_best_of_all_dags_that_obey(seed):
    rng = np.random.default_rng(seed)
    data = random_data(rng, 4, 60, 3, density=0.7)
    known = random_knowledge(rng, data.names)
    graphs = obeying(known, data.names)
    best = bdeu_scores(graphs, data, 1.0).max()
    plain = BRAI(random_state=0, knowledge=known, structure_prior="uniform", ess=1.0)
    for model in (plain, OrderSearch(knowledge=known)):
        model.fit(data)
        assert model.log_score_ == pytest.approx(best, abs=1e-6)
    assert best < bdeu_scores(all_dags(4), data, 1.0).max() + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_chains_draw_from_the_posterior_over_dags_that_obey(seed):
    """Edge frequencies against the sum over all DAGs; 60 000 draws have an error of about 0.004."""
    rng = np.random.default_rng(seed)
    data = random_data(rng, 4, 25, 2, density=0.7)
    known = random_knowledge(rng, data.names, share=0.15)
    while not known.required or len(obeying(known, data.names)) < 20:
        known = random_knowledge(rng, data.names, share=0.15)
    graphs = obeying(known, data.names)
    scores = bdeu_scores(graphs, data, 1.0)
    weights = np.exp(scores - scores.max())
    exact = np.tensordot(weights / weights.sum(), graphs, 1)
    bounds = known.bound(data.names)
    for kinds in ((0.2, 0.2, 0.4, 0.2), (0.0, 0.0, 1.0, 0.0), (0.1, 0.8, 0.1, 0.0), (0.1, 0.0, 0.1, 0.8)):
        table = FamilyTable(FamilyScores(data), max_parents=3, slack=10.0, **bounds._asdict())
        found = sample_dags(table, 30_000, thin=10, starts=[table.least()] * 2, shares=kinds, seed=seed)
        assert np.abs(found.edge_frequencies().mean(axis=0) - exact).max() < 0.02
        often = found.edge_frequencies()
        assert often[:, ~bounds.allowed].max() == 0.0
        assert often[:, bounds.required].min() == 1.0
    as_summed = {"structure_prior": "uniform", "ess": 1.0, "posterior_from": "mcmc"}
    model = BRAI(random_state=0, n_draws=10_000, thin=10, max_parents=3, knowledge=known, **as_summed).fit(data)
    assert np.abs(model.edge_probabilities() - exact).max() < 0.03


@pytest.mark.parametrize("seed", range(6))
def test_posterior_of_one_class_is_over_its_dags_that_obey(seed):
    rng = np.random.default_rng(seed)
    data = random_data(rng, 5, 200, 2)
    known = random_knowledge(rng, data.names)
    model = HillClimbing(knowledge=known).fit(data)
    own = [g for g in equivalent(model.dag_.adjacency) if obeys(known, PDAG(data.names, g.astype(np.int8)))]
    assert np.allclose(model.edge_probabilities(), np.mean(own, axis=0))
    assert len(model.posterior()) == len(own)


@pytest.mark.parametrize(("prior", "joined"), [("dags", 1 / 3), ("classes", 1 / 2)])
def test_posterior_of_several_classes(prior, joined):
    """Of a – b – c one DAG obeys, a → b → c; of a – c both do. With the prior on DAGs that is 1 to 2."""
    known = Knowledge(forbidden=[("b", "a")])
    chain = PDAG.from_edges("abc", undirected=[("a", "b"), ("b", "c")])
    pair = PDAG.from_edges("abc", undirected=[("a", "c")])
    found = posterior_of_classes(Posterior.from_scores([(chain, 0.0), (pair, 0.0)], "classes"), known, prior)
    assert len(found) == 3
    assert found.probabilities.sum() == pytest.approx(1)
    edges = found.edge_probabilities()
    assert edges[0, 1] == edges[1, 2] == pytest.approx(joined)
    assert edges[0, 2] == edges[2, 0] == pytest.approx((1 - joined) / 2)


# --- the graph of a class under knowledge ------------------------------------------------------------


def test_restricted_graph_says_what_all_obeying_dags_say():
    """All classes of four and random ones of five variables: the directed edges are those common to all."""
    rng = np.random.default_rng(3)
    directed = 0
    fours = all_dags(4)[np.unique(class_of(4), return_index=True)[1]]
    cases = [*fours] * 2 + [random_dag(rng, 5, 0.8) for _ in range(150)]
    for dag in cases:
        names = tuple("abcde"[: len(dag)])
        cpdag = PDAG(names, np.asarray(dag, np.int8)).to_cpdag()
        known = random_knowledge(rng, names, 0.1)
        every = equivalent(np.asarray(dag))
        own = [g for g in every if obeys(known, PDAG(names, g.astype(np.int8)))]
        assert known.admits(cpdag) == bool(own)
        if own:
            graph = restricted(cpdag, known)
            assert np.array_equal(graph.adjacency, np.any(own, axis=0))
            found, stands = obeying_dags(graph, 1000, rng)
            assert {dag.adjacency.tobytes() for dag in found} == {g.astype(np.int8).tobytes() for g in own}
            assert stands.tolist() == [1.0] * len(own)
            directed += len(own) < len(every)
    assert directed > 50


def test_rule_4_is_needed():
    graph = PDAG.from_edges("bacd", undirected=[("a", "b"), ("a", "c"), ("a", "d"), ("c", "d"), ("d", "b")])
    assert graph.is_cpdag()
    known = Knowledge(required=[("c", "d"), ("d", "b")])
    assert ("a", "b") in restricted(graph, known).directed_edges()


@pytest.mark.slow
def test_draws_of_a_large_class_stand_for_all_of_it(rng):
    """A path of 12 nodes has 12 DAGs, one more than are listed: draws by coins, weighed, add up to them."""
    names = tuple(f"x{i:02d}" for i in range(12))
    path = PDAG.from_edges(names, undirected=list(pairwise(names)))
    found, stands = obeying_dags(path, 11, rng)
    assert len(found) <= 11 < 12
    sums = [obeying_dags(path, 11, rng)[1].sum() for _ in range(300)]
    assert np.mean(sums) == pytest.approx(12, abs=6 * np.std(sums) / 300**0.5)
    assert np.std(sums) > 0
    assert all(dag.to_cpdag() == path for dag in found)
    assert len(stands) == len(found)


# --- constraint-based learning ----------------------------------------------------------------------


def true_tiers(rng, dag):
    """Two tiers that the DAG obeys, some variables in neither."""
    order = [dag.names[i] for i in topological_order(dag.adjacency)]
    cut = int(rng.integers(0, len(order) + 1))
    return [[v for v in part if rng.random() < 0.8] for part in (order[:cut], order[cut:])]


@settings(max_examples=500)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 9))
def test_with_an_oracle_true_knowledge_leads_to_the_true_class(seed, d):
    rng = np.random.default_rng(seed)
    dag = PDAG(tuple(f"v{i}" for i in range(d)), random_dag(rng, d, 0.4))
    edges = dag.directed_edges()
    pairs = [(a, b) for a in dag.names for b in dag.names if a != b and (a, b) not in edges]
    share = rng.choice([0.1, 0.5])
    known = Knowledge(
        required=[edge for edge in edges if rng.random() < share],
        forbidden=[pair for pair in pairs if rng.random() < share],
        roots=[v for v in dag.names if not dag.parents(v) and rng.random() < share],
        leaves=[v for v in dag.names if not dag.children(v) and rng.random() < share],
        tiers=true_tiers(rng, dag) if rng.random() < 0.5 else (),
    )
    data = Dataset.from_codes(np.zeros((1, d), int), arities=[2] * d, names=dag.names)
    model = RAI(Oracle(dag), knowledge=known).fit(data)
    assert model.cpdag_ == dag.to_cpdag()
    assert obeys(known, model.dag_)
    assert model.n_repaired_ == 0


def test_forbidden_pairs_save_tests_and_required_edges_are_not_tested():
    names = tuple(f"v{i}" for i in range(8))
    dag = PDAG(names, random_dag(np.random.default_rng(5), 8, 0.5))
    data = Dataset.from_codes(np.zeros((1, 8), int), arities=[2] * 8, names=names)
    free = RAI(Oracle(dag)).fit(data)
    tiers = [[names[i]] for i in topological_order(dag.adjacency)]
    known = Knowledge(required=dag.directed_edges(), tiers=tiers)
    told = RAI(Oracle(dag), knowledge=known).fit(data)
    assert told.dag_ == dag
    assert told.n_ci_tests_.sum() < free.n_ci_tests_.sum()
    every = Knowledge(forbidden=[(a, b) for a, b in product(names, names) if a != b])
    none = RAI(Oracle(dag), knowledge=every).fit(data)
    assert not none.dag_.directed_edges()
    assert none.n_ci_tests_.sum() == 0


def test_one_way_edges_that_form_a_cycle_lose_one():
    """Each edge alone may go one way, and all are dependent: a → b → c → a. The repair drops one, and counts."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 600)
    b, c = np.where(rng.random(600) < 0.6, a, rng.integers(0, 3, 600)), rng.integers(0, 3, 600)
    c = np.where(rng.random(600) < 0.5, (a + b) % 3, c)
    c = np.where(rng.random(600) < 0.3, a, c)
    data = Dataset.from_codes(np.stack([a, b, c], 1), arities=[3, 3, 3], names=["a", "b", "c"])
    known = Knowledge(forbidden=[("b", "a"), ("c", "b"), ("a", "c")])
    assert len(RAI("g2").fit(data).dag_.directed_edges()) == 3
    model = RAI("g2", knowledge=known).fit(data)
    assert model.n_repaired_ == 1
    assert len(model.dag_.directed_edges()) == 2
    assert known.violations(model.dag_) == []
    with_one = Knowledge(required=[("a", "b")], forbidden=[("c", "b"), ("a", "c")])
    assert ("a", "b") in RAI("g2", knowledge=with_one).fit(data).dag_.directed_edges()


# --- searches -----------------------------------------------------------------------------------


def test_tables_hold_the_sets_with_required_parents_that_no_subset_beats(rng):
    """Against all sets, listed one by one."""
    data = random_data(rng, 6, 120, 3, density=0.8)
    names = data.names
    known = Knowledge(required=[(names[0], names[5]), (names[3], names[5]), (names[1], names[2])])
    bounds, scores = known.bound(names), FamilyScores(data)
    for slack, most in product((0.0, 5.0), (1, 3, 4)):
        table = FamilyTable(scores, max_parents=most, slack=slack, **bounds._asdict())
        for v in range(6):
            always = set(np.flatnonzero(bounds.required[:, v]).tolist())
            others = [u for u in range(6) if bounds.allowed[u, v] and u not in always]
            score = {}
            for bits in product((0, 1), repeat=len(others)):
                own = tuple(sorted(always | {u for u, on in zip(others, bits, strict=True) if on}))
                if len(own) <= max(most, len(always)):
                    score[own] = scores.families([(v, own)])[0]
            good = {
                own: value
                for own, value in score.items()
                if all(value > score[s] + 1e-9 - slack for s in score if set(s) < set(own))
            }
            assert table.sets[v].keys() == good.keys()
            assert table.sets[v] == pytest.approx(good)
        assert table.add([(5, (0,)), (5, (0, 1))]) == 0  # without a parent that must be


def test_more_required_parents_than_max_parents():
    data = random_data(np.random.default_rng(2), 6, 100, 2)
    known = Knowledge(required=[(name, "v05") for name in data.names[:4]])
    for model in (
        HillClimbing(max_parents=2, knowledge=known),
        OrderSearch(max_parents=2, knowledge=known),
        BRAI(random_state=0, max_parents=2, knowledge=known, n_draws=50, n_chains=1),
    ):
        model.fit(data)
        assert set(model.dag_.parents("v05")) >= set(data.names[:4])
        others = [len(model.dag_.parents(v)) for v in data.names[:5]]
        assert max(others) <= 2 or isinstance(model, BRAI)


def test_orders_that_are_hard_to_obey():
    """A long chain of required edges, against the order in which searches would like to start."""
    data = random_data(np.random.default_rng(4), 12, 150, 2)
    names = data.names[::-1]
    known = Knowledge(required=list(pairwise(names)))
    bounds = known.bound(data.names)
    table = FamilyTable(FamilyScores(data), **bounds._asdict())
    found = search_by_order(table, restarts=5, kicks=3, seed=np.random.SeedSequence(0))
    assert bounds.obeyed_by(PDAG.from_parents(data.names, [own for _, own in found.families]).adjacency)
    assert found.log_score == pytest.approx(table.scores.total(found.families), abs=1e-6)
    best = Exact().fit(data)
    assert found.log_score < best.log_score_


def test_starts_have_to_obey():
    data = random_data(np.random.default_rng(0), 4, 50, 2)
    known = Knowledge(required=[("v00", "v01")], forbidden=[("v02", "v03")])
    with pytest.raises(ValueError, match="'v00' → 'v01' is required but missing"):
        HillClimbing(start=PDAG.from_edges(data.names), knowledge=known).fit(data)
    start = PDAG.from_edges(data.names, [("v00", "v01"), ("v02", "v03")])
    with pytest.raises(ValueError, match="'v02' → 'v03' is forbidden"):
        HillClimbing(start=start, knowledge=known).fit(data)
    with pytest.raises(ValueError, match="'v00' → 'v01' is required and not allowed"):
        HillClimbing(allowed=np.zeros((4, 4), bool), knowledge=known).fit(data)
    bounds, scores = known.bound(data.names), FamilyScores(data)
    with pytest.raises(ValueError, match="start lacks the required edge 'v00' → 'v01'"):
        hill_climb(scores, start=np.zeros((4, 4), int), required=bounds.required)
    table = FamilyTable(scores, **bounds._asdict())
    with pytest.raises(ValueError, match="start lacks the required edge 'v00' → 'v01'"):
        sample_dags(table, 5, starts=[[(v, ()) for v in range(4)]])


# --- what is said, and what is refused ---------------------------------------------------------------


def test_bounds_are_what_the_statements_say():
    """An edge is allowed if some DAG that obeys has it; all of four variables, and many sets of statements."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        known = random_knowledge(rng, ABCD)
        graphs, bounds = obeying(known, ABCD), known.bound(ABCD)
        assert np.array_equal(bounds.required, graphs.all(axis=0))
        assert np.array_equal(bounds.allowed, graphs.any(axis=0))
        for g in all_dags(4)[rng.integers(0, 543, 40)]:
            dag = PDAG(ABCD, g.astype(np.int8))
            assert bounds.obeyed_by(g) == obeys(known, dag) == (not known.violations(dag))
    assert acyclic(graphs).all()


def test_violations_in_words():
    known = Knowledge([("a", "b")], [("b", "c")], [["c"], ["d"]], ["a"], ["c"])
    dag = PDAG.from_edges(ABCD, [("b", "c"), ("d", "c"), ("b", "a"), ("c", "a")])
    assert known.violations(dag) == [
        "'a' → 'b' is required but missing",
        "'b' → 'a' leads into the root 'a'",
        "'b' → 'c' is forbidden",
        "'c' → 'a' leads into the root 'a'",
        "'c' → 'a' leads out of the leaf 'c'",
        "'d' → 'c' leads from tier 2 back to tier 1",
    ]
    with pytest.raises(ValueError, match="not a DAG"):
        known.violations(PDAG.from_edges(ABCD, undirected=[("a", "b")]))


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"required": [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")]}, ["'a' → 'b'", "'b' → 'c'", "'c' → 'a'"]),
        ({"required": [("a", "b"), ("b", "a")]}, ["cycle", "'a' → 'b'", "'b' → 'a'"]),
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, ["'a' → 'b' is forbidden"]),
        ({"required": [("a", "b")], "tiers": [["b"], ["c"], ["a"]]}, ["'a' → 'b'", "tier 3 back to tier 1"]),
        ({"required": [("a", "b")], "roots": ["b"]}, ["'a' → 'b' leads into the root 'b'"]),
        ({"required": [("a", "b")], "leaves": ["a"]}, ["'a' → 'b' leads out of the leaf 'a'"]),
        ({"required": [("a", "dd")]}, ["'dd'", "not a variable", "did you mean 'd'?"]),
        ({"forbidden": [("zz", "a")]}, ["'zz'"]),
        ({"tiers": [["a"], ["xx"]]}, ["'xx'"]),
        ({"roots": ["yy"]}, ["'yy'"]),
        ({"leaves": ["ww"]}, ["'ww'"]),
        ({"tiers": [["a", "b"], ["b"]]}, ["'b'", "2 times"]),
        ({"required": [("a", "a")]}, ["'a' → 'a'"]),
        ({"required": [("a", "b", "c")]}, ["('a', 'b', 'c')", "pairs"]),
        ({"required": "ab"}, ["'ab'", "pairs"]),
        ({"required": ["ab"]}, ["'ab'", "pairs"]),
        ({"roots": "a"}, ["'a'", "list of names"]),
        ({"tiers": "ab"}, ["'ab'", "groups of names"]),
        ({"tiers": ["ab"]}, ["a tier is 'ab'"]),
        ({"requird": []}, ["'requird'", "did you mean 'required' or 'required_edges'?"]),
        ({"required": [], "required_edges": []}, ["'required' twice", "'required_edges'"]),
        ({"search_space": [("a", "b")]}, ["search_space"]),
        (3, ["int", "required_edges"]),
    ],
)
@pytest.mark.parametrize("learner", [None, RAI, HillClimbing, OrderSearch, MMHC, BRAI])
def test_contradictions_are_refused_and_named(known, words, learner):
    data = random_data(np.random.default_rng(0), 4, 20, 2)
    data = Dataset(data.codes, ABCD, data.states)
    with pytest.raises(KnowledgeError) as error:
        learner(knowledge=known).fit(data) if learner else Knowledge.of(known).bound(ABCD)
    for word in words:
        assert word in str(error.value)
    assert "'d'" not in str(error.value) or "'dd'" in words  # only the edges of the cycle


def test_names_of_pgmpy():
    said = {"required_edges": {("a", "b")}, "forbidden_edges": [("b", "c")], "temporal_order": [["a", "b"], ["c"]]}
    expected = Knowledge([("a", "b")], [("b", "c")], [["a", "b"], ["c"]])
    assert Knowledge.of(said) == expected
    assert Knowledge.of(SimpleNamespace(**said, search_space=set())) == expected
    assert Knowledge.of({**said, "temporal_order": None}).tiers == ()
    empty = SimpleNamespace(required_edges=set(), forbidden_edges=set(), temporal_order=[[]], search_space=set())
    assert Knowledge.of(empty).bound(ABCD).allowed.sum() == 12
    assert Knowledge.of(expected) is expected
    assert Knowledge.of(None) == Knowledge()
    free = Knowledge().bound(ABCD)
    assert all(map(np.array_equal, free, Bounds.free(4)))


TOML = """
required = [["Burglary", "Earthquake"]]
forbidden = [["Alarm", "JohnCalls"], ["JohnCalls", "Alarm"]]
tiers = [["Burglary", "Earthquake"], ["Alarm"]]
roots = ["Burglary"]
leaves = ["MaryCalls"]
"""


def test_toml(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(TOML)
    known = Knowledge.from_toml(path)
    assert known.required == (("Burglary", "Earthquake"),)
    assert known.tiers == (("Burglary", "Earthquake"), ("Alarm",))
    assert known.roots == ("Burglary",)
    path.write_text("required = [[")
    with pytest.raises(KnowledgeError, match=r"known\.toml is not a TOML file"):
        Knowledge.from_toml(path)
    path.write_text("required = [['a', 'b', 'c']]")
    with pytest.raises(KnowledgeError, match=r"known\.toml: required holds"):
        Knowledge.from_toml(path)
    with pytest.raises(FileNotFoundError):
        Knowledge.from_toml(tmp_path / "none.toml")


NESTED = [
    "roots = " + "[" * 100_000,
    "roots = " + "{a=" * 100_000,
    f"roots{'.a' * 100_000} = 1",
    f"tiers = [{{a{'.a' * 100_000} = 1}}]",
    f"roots = [{{a{'.a' * 100_000} = 1}}]",
    f"required = [[{{a{'.a' * 100_000} = 1}}, 'b']]",
]


@pytest.mark.parametrize("text", NESTED, ids=range(len(NESTED)))
def test_toml_that_is_nested_too_deeply(tmp_path, text):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(KnowledgeError, match=r"known\.toml.*: give ") as caught:
        Knowledge.from_toml(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"roots = [{'1' * 5000}]", "is not a TOML file"),
        (f"roots = {'1' * 5000}", "is not a TOML file"),
        ("search_space = 5", "give the edges outside of it as forbidden edges"),
        ("roots = 1979-05-27", "give a list of names"),
        ("required = [1]", "required holds 1: give pairs"),
        ("tiers = [1]", "a tier is 1: give a list of names"),
    ],
    ids=range(6),
)
def test_toml_with_junk_in_it(tmp_path, text, what):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(KnowledgeError, match=rf"known\.toml.*{what}"):
        Knowledge.from_toml(path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("rain = " + "[" * 100_000, "it is nested too deeply"),
        ("rain = " + "{a=" * 100_000, "it is nested too deeply"),
        (f"rain{'.a' * 100_000} = 1", "it is nested too deeply"),
        (f"[rain{' . a' * 100_000}]", "it is nested too deeply"),
        ("rain = {'=,'" + " . '[]'" * 100_000 + " = 1}", "it is nested too deeply"),
        (f"rain{'.a' * 90} = 1", r"rain is \{'a': .*: give a list of labels, rain = "),
        (f"rain = 0x{'f' * 5000}", "rain is an integer of 20000 bits: give a list of labels"),
        (f"rain = {'1' * 5000}", "not a TOML file"),
    ],
    ids=range(8),
)
def test_states_of_columns_with_junk_in_them(tmp_path, text, what):
    path = tmp_path / "states.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"states\.toml.*{what}") as caught:
        read_states(path)
    assert len(str(caught.value)) < 400


def test_dots_that_nest_nothing(tmp_path):
    path = tmp_path / "states.toml"
    dots, labels = ". " * 200 + "." * 200, [str(k / 10) for k in range(1000)]
    path.write_text(f"# {dots}\n'{dots}' = [{', '.join(labels)}]\nrain = ['{dots}', \"{'a.' * 200}\"]")
    assert read_states(path) == {dots: [k / 10 for k in range(1000)], "rain": [dots, "a." * 200]}


def test_statements_about_many_variables_take_no_square():
    names = [f"v{k}" for k in range(60_000)]
    known = Knowledge(tiers=[names[:30_000], names[30_000:]], forbidden=[*pairwise(names)], leaves=names)
    known._check_names({name: k for k, name in enumerate(names)})
    with pytest.raises(KnowledgeError, match="'v0' is in the tiers 2 times: give it one tier"):
        Knowledge(tiers=[names, names])._check_names({name: k for k, name in enumerate(names)})
    against = known._against()
    for a, b in pairwise(names):
        assert against(a, b) == [f"{a!r} → {b!r} is forbidden", f"{a!r} → {b!r} leads out of the leaf {a!r}"]


def test_a_long_chain_of_required_edges_and_a_cycle_behind_it():
    names = [f"v{k}" for k in range(5000)]
    chain = [*pairwise(names)]
    required = np.zeros((5000, 5000), bool)
    required[np.arange(4999), np.arange(1, 5000)] = True
    Knowledge(required=chain)._check_cycles(required, names)
    required[4999, 4990] = True
    with pytest.raises(KnowledgeError, match=r"cycle: 'v4990' → 'v4991', .*'v4999' → 'v4990': remove one") as e:
        Knowledge()._check_cycles(required, names)
    assert str(e.value).count("→") == 10


def test_command_line(tmp_path):
    from brai import load_network

    data = load_network("earthquake").sample(300, random_state=0)
    rows = [[data.states[v][c] for v, c in enumerate(row)] for row in data.codes.T]
    table, path = tmp_path / "quake.csv", tmp_path / "known.toml"
    table.write_text("\n".join(",".join(row) for row in [data.names, *rows]))
    path.write_text(TOML)
    for options in ([], ["-k", "5"], ["--draws", "20"], ["--paper"]):
        result = CliRunner().invoke(cli, ["learn", str(table), "--json", "--knowledge", str(path), *options])
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        assert ["Burglary", "Earthquake"] in found["map"]["directed"]
        edges = {(row["from"], row["to"]): row for row in found["posterior"]["edges"]}
        assert edges["Burglary", "Earthquake"]["strength"] == pytest.approx(1)
        assert edges["Burglary", "Earthquake"]["direction"] == pytest.approx(1)
        assert not {("Alarm", "JohnCalls"), ("JohnCalls", "Alarm")} & edges.keys()
    path.write_text("roots = ['Burglar']")
    result = CliRunner().invoke(cli, ["learn", str(table), "--knowledge", str(path)])
    assert isinstance(result.exception, KnowledgeError)
    assert "did you mean 'Burglary'?" in str(result.exception)


@pytest.mark.kernels
def test_a_leaf_whose_edges_go_the_wrong_way():
    """Undirected edges are directed, wrong ones turned; one from X_ex is dropped, one that must be never."""

    def dag_of(adj, bounds, endo=(1, 1, 1)):
        arrays = (np.array(own, np.uint8) for own in (endo, adj))
        dag, repaired = extension(*arrays, np.arange(3), np.array(bounds, np.uint8))
        return dag.tolist(), bool(repaired)

    chain = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    free = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert dag_of(chain, [[0, 0, 1], [1, 0, 0], [1, 1, 0]]) == ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], False)
    wrong = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert dag_of(wrong, free) == (wrong, False)
    assert dag_of(wrong, [[0, 0, 1], [1, 0, 1], [1, 1, 0]]) == ([[0, 0, 0], [1, 0, 0], [0, 0, 0]], True)
    assert dag_of(wrong, [[0, 0, 1], [1, 0, 1], [1, 1, 0]], (0, 1, 1)) == ([[0] * 3] * 3, True)
    cycle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]  # 0 → 1 → 2 → 0, none to be turned, 1 → 2 a must
    assert dag_of(cycle, [[0, 1, 0], [0, 0, 2], [1, 0, 0]])[0][1][2] == 1
    assert sum(map(sum, dag_of(cycle, [[0, 1, 0], [0, 0, 2], [1, 0, 0]])[0])) == 2
