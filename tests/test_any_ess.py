"""The ess of highest evidence for each table: a fine search as a twin, properties, parameters and chains."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import gammaln

from all_dags import all_dags
from brai import BRAI, Dataset, HillClimbing, Network, exact, load_network
from brai.graphs.pdag import PDAG, families_of
from brai.kernels.interface import begin, offspring, turn
from brai.kinds.discrete.any_ess import GRID, PARAMETERS
from brai.kinds.discrete.samples import ess_of
from brai.kinds.scores import FamilyScores
from brai.posterior.prediction import log_predictive
from brai.runtime.jit import njit
from conftest import random_data

kernels = pytest.mark.kernels


def log_evidence(data, variables, esses):
    """log P(D_S | e) for each e, from all rows at once."""
    cells, label = 1, np.zeros(data.n_rows, int)
    for v in variables:
        cells, label = cells * int(data.arities[v]), label * int(data.arities[v]) + data.codes[v]
    counts = np.unique(label, return_counts=True)[1]
    prior = np.asarray(esses)[:, None] / cells
    return (gammaln(counts + prior) - gammaln(prior)).sum(axis=1) - gammaln(data.n_rows + esses) + gammaln(esses)


def twin(data, x, parents, fine=2000):
    """The score by a fine search over log ess, in the range of GRID."""
    esses = np.exp(np.linspace(math.log(GRID[0]), math.log(GRID[-1]), fine))
    return log_evidence(data, (x, *parents), esses).max() - log_evidence(data, parents, esses).max()


def some_families(d):
    return [(v, own) for v in range(d) for n in range(4) for own in combinations(sorted({*range(d)} - {v}), n)]


@kernels
@pytest.mark.parametrize(("most", "rows"), [(2, 60), (3, 300), (8, 200), (40, 150)])
def test_scores_are_those_of_a_fine_search_over_ess(rng, most, rows):
    data = random_data(rng, 4, rows, most)
    families = some_families(4)
    found = FamilyScores(data, ess="table").families(families)
    for (x, parents), score in zip(families, found, strict=True):
        assert score == pytest.approx(twin(data, x, parents), abs=0.2)


def test_a_narrow_maximum_is_found(rng):
    """Tables of 2500 cells and 30,000 rows: P(D | e) falls by nats within a step of GRID."""
    cells = rng.choice(2500, 30_000, p=rng.dirichlet(np.full(2500, 0.3)))
    data = Dataset.from_codes(np.stack([cells // 50, cells % 50], axis=1), arities=[50, 50])
    values = np.sort(log_evidence(data, (0, 1), GRID))
    assert values[-1] - values[-3] > 1
    for family in ((0, (1,)), (1, (0,)), (0, ())):
        assert FamilyScores(data, ess="table").families([family])[0] == pytest.approx(twin(data, *family), abs=0.6)


@kernels
def test_all_dags_of_a_class_have_the_same_score(rng):
    data = random_data(rng, 4, 80, 4)
    scores, values = FamilyScores(data, ess="table"), {}
    for dag in all_dags(4):
        graph = PDAG(data.names, dag.astype(np.int8))
        total = scores.total(families_of(graph))
        assert values.setdefault(graph.to_cpdag().adjacency.tobytes(), total) == pytest.approx(total, abs=1e-6)


def test_an_edge_between_independent_rare_states_gains_nothing():
    """An average over ess would favour it by the cost of choosing an ess, see the docstring of any_ess."""
    codes = np.array([[0, 1]] * 21 + [[1, 0]] * 120 + [[1, 1]] * 1859)
    scores = FamilyScores(Dataset.from_codes(codes, arities=[2, 2]), ess="table")
    alone, joined = scores.families([(0, ()), (0, (1,))])
    assert joined - alone < 0.5


@njit
def scored(evidence, children, parents, n, least, out):
    begin(evidence)
    turn(evidence, 0)
    offspring(evidence, children, parents, n, least, out)


@kernels
@pytest.mark.parametrize("most", [3, 12, 40])
def test_offspring_have_the_scores_of_their_families(rng, most):
    data = random_data(rng, 7, 150, most)
    scores = FamilyScores(data, ess="table")
    children, parents = np.array([0, 2, 4, 5, 6]), np.array([1, 3])
    expected = np.array([FamilyScores(data, ess="table").families([(c, (1, 3))])[0] for c in children.tolist()])
    out = np.empty(5)
    scored(scores.evidence(4), children, parents, 2, np.full(5, -np.inf), out)
    assert out == pytest.approx(expected, abs=1e-9)
    least = expected + np.array([-1.0, 1.0, -1.0, 1.0, -1.0])
    scored(scores.evidence(4), children, parents, 2, least, out)
    assert out[[0, 2, 4]] == pytest.approx(expected[[0, 2, 4]], abs=1e-9)
    assert (out[[1, 3]] <= least[[1, 3]]).all()


def test_counts_of_parents_are_those_of_the_last_parents(rng):
    """What is kept for a prefix of the parents is dropped as soon as that changes."""
    data = random_data(rng, 6, 120, 4)
    families = [(0, (1, 2)), (3, (1, 2)), (3, (1, 4)), (0, (4,)), (5, (4,)), (5, (4, 0)), (5, ()), (1, (4,))]
    together = FamilyScores(data, ess="table").families(families)
    for family, score in zip(families, together, strict=True):
        assert FamilyScores(data, ess="table").families([family])[0] == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize(("states", "rows"), [(60, 300), (100, 500), (200, 1000)])
def test_a_parent_set_that_tells_rows_apart_gains_nothing(rng, states, rows):
    data = Dataset.from_codes(rng.integers(0, states, (rows, 4)), arities=[states] * 4)
    scores = FamilyScores(data, ess="table")
    alone, apart = scores.families([(0, ()), (0, (1, 2, 3))])
    assert apart - alone < 3
    fixed = FamilyScores(data, ess=1.0)
    alone, apart = fixed.families([(0, ()), (0, (1, 2, 3))])
    assert apart - alone > 3  # what ess="table" is for


def test_smooth_tables_of_many_states_are_seen(rng):
    """One ess of 1 expects rows with one state each, so it finds no edge between these."""
    parent = rng.integers(0, 9, 500)
    table = rng.dirichlet(np.full(9, 3.0), 9)
    child = np.array([rng.choice(9, p=table[own]) for own in parent])
    data = Dataset.from_codes(np.stack([parent, child], axis=1), arities=[9, 9])
    assert HillClimbing(ess="table").fit(data).dag_.n_edges == 1
    assert HillClimbing(ess=1.0).fit(data).dag_.n_edges == 0


def conditional_evidence(data, child, parents, ess):
    """log P(child | parents, ess) of BDeu, by its definition; ess is an array."""
    counts = {}
    for row in data.codes.T.tolist():
        own = counts.setdefault(tuple(row[p] for p in parents), [0] * int(data.arities[child]))
        own[row[child]] += 1
    table, q = np.array(list(counts.values())), math.prod(data.arities[list(parents)].tolist())
    rows, cells = ess[:, None] / q, (ess / (q * table.shape[1]))[:, None, None]
    seen = table.sum(axis=1)
    return (gammaln(rows) - gammaln(seen + rows)).sum(axis=1) + (gammaln(table + cells) - gammaln(cells)).sum(
        axis=(1, 2)
    )


def test_parameters_are_averaged_over_ess_by_the_evidence_of_the_family(rng):
    data = random_data(rng, 4, 90, 4)
    assert ess_of(data, 0, (1,), 2) == 2.0
    dag = PDAG.from_parents(data.names, [(), (0,), (0, 1), ()])
    net = Network.fit(dag, data, ess="table")
    evidence = conditional_evidence(data, 2, (0, 1), PARAMETERS)
    assert ess_of(data, 2, (0, 1), "table") == PARAMETERS[evidence.argmax()]
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    each = [Network.fit(dag, data, ess=float(own)).cpts[2] for own in PARAMETERS]
    assert net.cpts[2] == pytest.approx(np.tensordot(weights, each, 1))
    found = log_predictive(families_of(dag), data, data, "table")
    assert found == pytest.approx(net.log_prob(data))


def test_a_table_that_looks_deterministic_keeps_some_doubt(rng):
    """The ess of highest evidence would be the smallest there."""
    parent = rng.integers(0, 2, 60)
    data = Dataset.from_codes(np.stack([parent, parent], axis=1), arities=[2, 2])
    net = Network.fit(PDAG.from_parents(data.names, [(), (0,)]), data, ess="table")
    smallest = Network.fit(net.pdag, data, ess=float(PARAMETERS[0]))
    assert net.cpts[1][0, 1] > 1.5 * smallest.cpts[1][0, 1]


def test_chains_have_the_exact_probabilities():
    data = load_network("cancer").sample(300, random_state=2)
    model = BRAI(structure_prior="fair", ess="table", posterior_from="mcmc", random_state=0).fit(data)
    assert model.ess_ == "table"
    truth = exact.edge_probabilities(data, structure_prior="fair", ess="table", max_parents=4)
    assert np.abs(model.edge_probabilities() - truth).mean() < 0.02


@pytest.mark.parametrize("ess", [0, -1, "all", None, True, math.inf])
def test_what_is_not_an_ess_is_refused(ess, rng):
    with pytest.raises(ValueError, match=r"ess is .*: give a number above 0, or 'table'"):
        FamilyScores(random_data(rng, 3, 20, 2), ess=ess)
