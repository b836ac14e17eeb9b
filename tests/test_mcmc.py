"""Chains over DAGs on a table of parent sets, against the exact posterior."""

import numpy as np
import pytest

from all_dags import all_dags, bdeu_scores
from brai import Dataset, Posterior, exact, load_network
from brai.kinds.scores import FamilyScores
from brai.posterior.chains import KINDS, MOVES, Draws
from brai.posterior.mcmc import Space, State, _cumulated, sample_dags, walk
from brai.search.family_table import FamilyTable
from conftest import random_data

MIXTURES = {
    "toggle": (0, 0, 1, 0),
    "gibbs": (1, 0, 0, 0),
    "gibbs and reversal": (1, 1, 0, 0),
    "pair": (0, 0, 0, 1),
    "all": (1, 1, 1, 1),
}


def off(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


def empty(d):
    return [(v, ()) for v in range(d)]


def codes(graphs):
    """A number for each graph."""
    d = graphs.shape[1]
    return (graphs.reshape(len(graphs), d * d) @ (1 << np.arange(d * d))).tolist()


def adjacency(parents):
    """``[t, i, j]`` from draws of one chain."""
    found = np.zeros((*parents.shape[:2], parents.shape[1]), bool)
    t, v, k = np.nonzero(parents >= 0)
    found[t, parents[t, v, k], v] = True
    return found


def distance(found, data):
    """Total variation between draws of the first chain and the posterior, and its mean for independent draws."""
    d, n = data.n_variables, found.log_scores.shape[1]
    scores = bdeu_scores(all_dags(d), data, 1.0)
    w = np.exp(scores - scores.max())
    w /= w.sum()
    drawn, times = np.unique(codes(adjacency(found.parents[0])), return_counts=True)
    assert set(drawn.tolist()) <= set(codes(all_dags(d)))
    share = dict(zip(drawn.tolist(), (times / n).tolist(), strict=True))
    apart = sum(abs(share.get(g, 0.0) - p) for g, p in zip(codes(all_dags(d)), w, strict=True)) / 2
    return apart, float(np.sqrt(2 / np.pi * w * (1 - w) / n).sum() / 2)


def full_table(data):
    """Every parent set."""
    return FamilyTable(FamilyScores(data), slack=1000.0, max_parents=data.n_variables - 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MIXTURES)
@pytest.mark.parametrize("d", [3, 4])
def test_each_dag_is_drawn_as_often_as_it_should(d, kind):
    """Each kind of move that can reach every DAG has one distribution: every DAG by its score."""
    data = random_data(np.random.default_rng(d + 1), d, 12, 2)
    found = sample_dags(full_table(data), 60_000, thin=50, shares=MIXTURES[kind], seed=1)
    apart, chance = distance(found, data)
    assert apart < 1.5 * chance
    assert chance < 0.03
    for name, share in zip(KINDS, MIXTURES[kind], strict=True):
        assert (found.acceptance[name] > 0.1) == (share > 0)


@pytest.mark.parametrize("reversals", [False, True])
def test_a_poor_table_changes_nothing(reversals):
    """The table has sets of one parent alone; only toggles leave it, and still each DAG is drawn as it should."""
    data = random_data(np.random.default_rng(5), 4, 12, 2)
    shares = (1, 1, 1, 1) if reversals else (1, 0, 1, 0)
    for rounds in (0, 1000):  # the table as it is, and grown
        table = FamilyTable(FamilyScores(data), slack=20.0, larger=0, max_parents=1)
        found = sample_dags(table, 20_000, thin=30, burn_in=rounds, max_parents=3, shares=shares, seed=2)
        apart, chance = distance(found, data)
        assert apart < 1.5 * chance
        assert (max(len(own) for sets in table.sets for own in sets) > 1) == (rounds > 0)
        if rounds == 0:
            within = sample_dags(table, 2000, max_parents=3, burn_in=0, shares=(1, 1, 0, 1))
            assert distance(within, data)[0] > 0.2


@pytest.mark.parametrize("name", ["cancer", "earthquake", "survey", "asia", "sachs"])
def test_edge_frequencies_are_exact_probabilities(name):
    data = load_network(name).sample(500, random_state=1)
    truth = exact.edge_probabilities(data, max_parents=3)
    table = FamilyTable(FamilyScores(data), slack=10.0, max_parents=3)
    best = [(v, ()) for v in range(data.n_variables)]
    found = sample_dags(table, 10_000, starts=[best, best], thin=30, seed=0)
    for chain in found.edge_frequencies():
        assert off(np.abs(chain - truth)).mean() < 0.01
    assert off(np.abs(exact.edge_probabilities(data, prior="order", max_parents=3) - truth)).mean() > 0.01
    largest, mean = found.disagreement()
    assert mean < 0.01
    assert largest < 0.15
    assert found.r_hat() < 1.02


def test_draws_are_what_they_say():
    data = load_network("asia").sample(200, random_state=2)
    table = FamilyTable(FamilyScores(data, ess=3.0), max_parents=2, slack=5.0)
    found = sample_dags(table, 200, starts=[empty(8), empty(8)], burn_in=100, thin=7, seed=3)
    assert found.parents.shape == (2, 200, 8, 2)
    assert sum(found.proposed.values()) == 2 * (100 + 200 * 7)
    for c in range(2):
        drawn = adjacency(found.parents[c])
        np.testing.assert_allclose(found.edge_frequencies()[c], drawn.mean(axis=0), rtol=0, atol=1e-12)
        for t in range(0, 200, 20):
            assert np.array_equal(found.dag(c, t).adjacency.astype(bool), drawn[t])
            score = FamilyScores(data, ess=3.0).total(found.families(c, t))
            assert found.log_scores[c, t] == pytest.approx(score, abs=1e-9)
    posterior = Posterior.from_draws(found.draws(), drawn="dags")
    assert posterior.edge_probabilities().shape == (8, 8)


def test_seeds():
    data = load_network("asia").sample(200, random_state=2)

    def drawn(seed):
        table = FamilyTable(FamilyScores(data), slack=5.0)
        return sample_dags(table, 300, starts=[empty(8), empty(8)], thin=5, seed=seed)

    one, two, other = drawn(4), drawn(4), drawn(5)
    assert np.array_equal(one.parents, two.parents)
    assert np.array_equal(one.log_scores, two.log_scores)
    assert not np.array_equal(one.parents, other.parents)
    assert not np.array_equal(one.parents[0], one.parents[1])


def test_a_chain_goes_on_where_it_was():
    data = load_network("asia").sample(200, random_state=2)
    table = FamilyTable(FamilyScores(data), slack=5.0)
    seed = np.random.SeedSequence(3)
    space, shares = Space(table, seed), _cumulated(tuple(MOVES.values()))
    start = State.at(space, empty(8), seed)
    _, parents, scores = walk(space, shares, start, 60, 4, True)
    after, _, _ = walk(space, shares, start, 1, 80, False)
    _, again, rest = walk(space, shares, after, 40, 4, True)
    assert np.array_equal(parents[20:], again)
    assert np.array_equal(scores[20:], rest)


def test_forbidden_edges_stay_away():
    data = load_network("asia").sample(500, random_state=2)
    allowed = np.triu(np.ones((8, 8), bool), 1)
    table = FamilyTable(FamilyScores(data), slack=5.0, allowed=allowed)
    found = sample_dags(table, 2000, thin=5, seed=3)
    edges = found.edge_frequencies()[0]
    assert not edges[~allowed].any()
    assert (edges[allowed] > 0).mean() > 0.8


def test_the_table_takes_in_what_chains_find():
    """A start whose parents are good but not listed is in the table after burn-in."""
    data = load_network("asia").sample(2000, random_state=2)
    scores = FamilyScores(data)
    either = data.names.index("either")
    own = tuple(sorted(data.names.index(name) for name in ("lung", "tub")))
    start = [(v, own if v == either else ()) for v in range(8)]
    table = FamilyTable(scores, larger=0, max_parents=1)
    assert own not in table.sets[either]
    sample_dags(table, 5, starts=[start], burn_in=10, max_parents=2)
    assert own in table.sets[either]


@pytest.mark.parametrize("d", [1, 2])
def test_few_variables(d):
    data = Dataset.from_codes(np.array([[0] * d, [1] * d]))
    found = sample_dags(FamilyTable(FamilyScores(data)), 30)
    assert found.parents.shape == (1, 30, d, d - 1)
    assert len({found.families(0, t) for t in range(30)}) == (1 if d == 1 else 3)
    assert found.disagreement() == (0.0, 0.0)


def test_no_parents_at_all():
    data = load_network("cancer").sample(100, random_state=2)
    found = sample_dags(FamilyTable(FamilyScores(data), max_parents=0), 10)
    assert not found.edge_frequencies().any()


def test_r_hat():
    rng = np.random.default_rng(0)
    same, shifted = rng.normal(size=(4, 1000)), rng.normal(size=(4, 1000)) + np.arange(4)[:, None]
    none = np.zeros((4, 1000, 2, 1), np.int16)
    assert Draws(("a", "b"), none, same, {}, {}).r_hat() == pytest.approx(1, abs=0.01)
    assert Draws(("a", "b"), none, shifted, {}, {}).r_hat() > 1.4
    still, apart = np.zeros((4, 1000)), np.zeros((4, 1000)) + np.arange(4)[:, None]
    assert Draws(("a", "b"), none, still, {}, {}).r_hat() == 1
    assert Draws(("a", "b"), none, apart, {}, {}).r_hat() == np.inf
    assert np.isnan(Draws(("a", "b"), none, same[:, :3], {}, {}).r_hat())


def test_effective_number_of_draws():
    """An autoregressive chain x' = a x + noise has n (1 - a) / (1 + a) of them."""
    rng = np.random.default_rng(1)
    none = np.zeros((4, 5000, 2, 1), np.int16)
    for a in (0.0, 0.5, 0.9):
        x = np.zeros((4, 5000))
        for t in range(1, 5000):
            x[:, t] = a * x[:, t - 1] + rng.normal(size=4)
        assert Draws(("a", "b"), none, x, {}, {}).ess() == pytest.approx(20_000 * (1 - a) / (1 + a), rel=0.25)
    x += 10 * np.arange(4)[:, None]  # chains apart count for little
    assert Draws(("a", "b"), none, x, {}, {}).ess() < 50
    assert Draws(("a", "b"), none, np.zeros((4, 10)), {}, {}).ess() == 40
    assert Draws(("a", "b"), none, np.zeros((4, 10)) + np.arange(4)[:, None], {}, {}).ess() == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"thin": 0}, "thin is 0"),
        ({"burn_in": -1}, "burn_in is -1"),
        ({"max_parents": -1}, "max_parents is -1"),
        ({"shares": (1, 1)}, "shares are"),
        ({"shares": (0, 0, 0, 0)}, "shares are"),
        ({"starts": [empty(4)]}, "4 families for 5 variables"),
        ({"starts": [[(0, (1,)), (1, (0,)), (2, ()), (3, ()), (4, ())]]}, "cycle"),
        ({"starts": [[(0, (1, 2, 3)), *empty(5)[1:]]]}, "3 parents, at most 2"),
        ({"starts": [[(0, (4,)), *empty(5)[1:]]]}, "does not allow"),
    ],
)
def test_wrong_values_are_named(wrong, message):
    data = load_network("cancer").sample(20, random_state=0)
    allowed = ~np.eye(5, dtype=bool)
    allowed[4, 0] = False
    table = FamilyTable(FamilyScores(data), max_parents=2, allowed=allowed)
    with pytest.raises(ValueError, match=message):
        sample_dags(table, **{"n": 5, **wrong})
