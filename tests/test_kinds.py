"""The seam for kinds of data: everything runs on a kind that the package does not know."""

from __future__ import annotations

import re

import numpy as np
import pytest

import import_graph
import toy_kind
from brai import BRAI, MMHC, PDAG, RAI, CITest, HillClimbing, OrderSearch
from brai.kinds import kind_of
from brai.kinds.scores import FamilyScores
from brai.learners.drawing import ConvergenceWarning
from brai.posterior.mcmc import sample_dags
from brai.posterior.weighted import Posterior
from brai.runtime.workers import Workers
from brai.search.family_table import FamilyTable
from brai.search.hill_climbing import hill_climb
from brai.search.orders import search_by_order
from brai.tree.draws import best_route, k_best, sample_routes
from brai.tree.ggt import grow
from brai.tree.parallel_growth import grow_with
from brai.tree.rai import Learner, rai

pytestmark = [pytest.mark.slow, pytest.mark.kernels]  # all algorithms are compiled anew; quick without the JIT

DAG = np.zeros((6, 6), np.int8)
DAG[0, 2] = DAG[1, 2] = DAG[2, 3] = DAG[2, 4] = DAG[4, 5] = 1
DATA = toy_kind.linear_table(DAG, 3000, 1)
TRUTH = PDAG(DATA.names, DAG).to_cpdag()
SEED = np.random.SeedSequence(3)


def cpdag(families) -> PDAG:
    return PDAG.from_parents(DATA.names, [own for _, own in sorted(families)]).to_cpdag()


def learner(test: str = "g2") -> Learner:
    return Learner(DATA, CITest(test, alpha=0.001, colliders=0.001))


def test_rai_and_the_tree_find_the_graph():
    assert cpdag(rai(learner())) == TRUTH
    tree = grow(learner(), FamilyScores(DATA), 3, SEED)
    assert cpdag(best_route(tree).families) == TRUTH
    assert k_best(tree, 3)[0][0] == TRUTH
    assert sample_routes(tree, 5, 1.0, np.random.default_rng(0), "exact")


def test_workers_grow_the_same_tree():
    one = grow(learner(), FamilyScores(DATA), 3, SEED)
    many = grow_with(Workers(2), learner(), FamilyScores(DATA), 3, SEED)
    assert best_route(one) == best_route(many)
    assert one.n_nodes == many.n_nodes
    assert one.n_ci_tests.tolist() == many.n_ci_tests.tolist()


def test_searches_find_the_graph():
    scores = FamilyScores(DATA)
    assert cpdag(hill_climb(scores).families) == TRUTH
    assert cpdag(search_by_order(FamilyTable(scores)).families) == TRUTH
    truth = scores.total([(v, tuple(np.flatnonzero(DAG[:, v]).tolist())) for v in range(6)])
    assert hill_climb(scores).log_score >= truth - 1e-6


def test_chains_and_posterior():
    found = sample_dags(FamilyTable(FamilyScores(DATA), slack=10.0), 200, seed=1)
    edges = Posterior.from_draws(found.draws(), drawn="dags").adjacency_probabilities()
    assert (edges[TRUTH.skeleton()] > 0.9).all()
    assert edges[~TRUTH.skeleton()].max() < 0.5


@pytest.mark.parametrize("make", [RAI, HillClimbing, OrderSearch, MMHC, BRAI])
def test_estimators_run(make):
    settings = {"random_state": 0, "n_draws": 50, "n_jobs": 2} if make is BRAI else {}
    if make in (RAI, BRAI):
        settings["ci_test"] = CITest("g2", alpha=0.001, colliders=0.001)
    turned = DATA.select(DATA.names[::-1])
    model, other = make(**settings).fit(DATA), make(**settings).fit(turned)
    assert model.cpdag_ == TRUTH
    assert other.cpdag_.reorder(DATA.names) == TRUTH  # the order of columns changes nothing


@pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning")
def test_a_model_answers():
    model = BRAI(random_state=0, n_draws=100).fit(DATA)
    assert model.adjacency_probability("v00", "v02") > 0.99
    assert model.edge_table()
    assert ConvergenceWarning


def test_an_unknown_kind_is_named():
    class Other:
        kind = "other"

    with pytest.raises(ValueError, match=r"unknown kind of data 'other': register it, or choose one of 'disc"):
        kind_of(Other())


def test_nobody_asks_for_the_kind_outside_kinds():
    """No algorithm branches on a kind, or reaches for codes, states or arities."""
    allowed = ("kinds", "data", "research", "files", "show", "cli")
    asks = re.compile(r"\.codes\b|\.arities\b|\.states\b|\.kind ==|isinstance\([^)]*Dataset")
    found = []
    for name, path in import_graph.modules().items():
        if import_graph.layer(name) in (*allowed, "", "__main__"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if asks.search(line) and "bounds.codes" not in line and "import" not in line:
                found.append(f"{name}:{number}: {line.strip()}")
    assert found == []
