"""The bagged posterior: its parts, its share of own draws, reproducibility, checkpoints and files."""

from __future__ import annotations

import numpy as np
import pytest

import brai
from brai import BRAI, Dataset, Knowledge, load_network
from brai.graphs.pdag import families_of
from brai.graphs.priors import StructurePrior, family_prior
from brai.kinds.discrete.samples import gains_by_copies
from brai.kinds.scores import FamilyScores
from brai.posterior import bagged
from brai.posterior.bagged import BAGS, OWN, RAISED, combined, on_sample
from brai.search.family_table import FamilyTable
from conftest import random_data


@pytest.fixture(scope="module")
def model():
    return BRAI(random_state=0, n_draws=100).fit(load_network("survey").sample(300, random_state=0))


def test_the_default_is_bagged_and_the_model_is_beside_it(model):
    assert model.posterior_from == "bagged"
    posterior, alone = model.posterior(), model.model_posterior()
    assert (posterior.source, alone.source) == ("bagged", "mcmc")
    assert posterior.chains is alone.chains is model.chains()
    plain = BRAI(random_state=0, n_draws=100, posterior_from="mcmc").fit(model._train)
    assert plain.edge_probabilities() == pytest.approx(alone.edge_probabilities())


def test_a_third_of_the_draws_are_those_of_the_chains(model):
    names = sorted(model.dag_.names)
    scores = model._family_scores(model._train.select(names))
    drawn = list(combined(model.chains(), model.bags(), scores, names))
    n = model.bags().log_scores.size
    assert len(model.bags().log_scores) == BAGS
    assert len(drawn) - n == round(n * OWN / (1 - OWN))
    own = {dag for dag, _ in model.chains().draws(names)}
    assert all(dag in own for dag, _ in drawn[:-n])
    for dag, score in drawn[::37]:
        assert score == pytest.approx(scores.total(families_of(dag)))
    edges = sum(dag.adjacency.astype(float) for dag, _ in drawn) / len(drawn)
    rank = [names.index(name) for name in model.dag_.names]
    skeleton = (edges + edges.T)[np.ix_(rank, rank)]
    assert model.adjacency_probabilities() == pytest.approx(np.minimum(skeleton, 1), abs=1e-9)


def test_scores_of_a_sample_have_a_stronger_prior(rng):
    data = random_data(rng, 5, 80, 3)
    prior = family_prior(StructurePrior(1.0), data.names, None)
    scores = FamilyScores(data, prior=prior)
    seed = np.random.SeedSequence(3)
    found = on_sample(scores, seed)
    plain = FamilyScores(scores.kind.resampled(data, seed))
    for parents in ((), (1,), (1, 2), (1, 2, 3)):
        expected = plain.families([(0, parents)])[0] + RAISED * prior.sizes[len(parents)]
        assert found.families([(0, parents)])[0] == pytest.approx(expected)


def test_seeds_and_workers_give_the_same_draws_and_other_seeds_do_not(model):
    data = model._train
    again = BRAI(random_state=0, n_draws=100, n_jobs=2).fit(data)
    assert (again.bags().parents == model.bags().parents).all()
    assert (again.edge_probabilities() == model.edge_probabilities()).all()
    other = BRAI(random_state=1, n_draws=100).fit(data)
    assert (other.bags().log_scores != model.bags().log_scores).any()


def test_columns_in_another_order_give_the_same(model):
    data = model._train.select(model._train.names[::-1])
    turned = BRAI(random_state=0, n_draws=100).fit(data)
    assert turned.edge_probabilities()[::-1, ::-1] == pytest.approx(model.edge_probabilities(), abs=1e-12)


def test_what_depends_on_few_rows_loses_probability():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (60, 2))
    codes[:, 1] = np.where(rng.random(60) < 0.3, codes[:, 0], codes[:, 1])
    data = Dataset.from_codes(codes, arities=[2, 2])
    model = BRAI(random_state=0).fit(data)
    bag, alone = model.adjacency_probabilities()[0, 1], model.model_posterior().adjacency_probabilities()[0, 1]
    assert abs(bag - alone) > 0.01


def test_knowledge_is_obeyed_in_every_draw():
    data = load_network("cancer").sample(200, random_state=0)
    known = Knowledge(
        required=[("Smoker", "Cancer")], forbidden=[("Pollution", "Cancer"), ("Cancer", "Pollution")]
    )
    model = BRAI(random_state=0, n_draws=50, knowledge=known).fit(data)
    for dag, _ in model.bags().draws():
        assert known.violations(dag) == []
    assert model.posterior().kind == "DAG"


def test_bags_are_saved_and_continued(model, tmp_path):
    brai.save(model, tmp_path / "m.brai")
    again = brai.load(tmp_path / "m.brai")
    assert (again._known_bags.parents == model.bags().parents).all()
    assert (again.edge_probabilities() == model.edge_probabilities()).all()
    calls = []
    whole = BRAI(random_state=0, n_draws=100, checkpoint=tmp_path / "run").fit(model._train)
    plain = bagged.sample_dags

    def stopping(*args, **named):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return plain(*args, **named)

    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.setattr(bagged, "sample_dags", stopping)
        with pytest.raises(KeyboardInterrupt):
            whole.bags()
    with patch.context() as context:
        calls.clear()
        calls += [1] * 100
        context.setattr(bagged, "sample_dags", lambda *a, **k: (calls.append(1), plain(*a, **k))[1])
        found = whole.bags()
    assert len(calls) - 100 == BAGS - 4
    assert (found.parents == model.bags().parents).all()


@pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning")
def test_a_budget_leaves_fewer_samples():
    data = load_network("alarm").sample(300, random_state=0)
    model = BRAI(random_state=0, n_draws=50, thin=100).fit(data)
    model.budget = 1e-6
    assert len(model.bags().log_scores) == 1
    assert model.edge_probabilities().max() <= 1


def test_copies_that_parents_tell_apart_gain_nothing():
    codes = np.array([[0, 0, 1, 2, 3, 3], [0, 0, 1, 1, 0, 0], [4, 4, 3, 2, 1, 1]], np.uint8)
    arities, alone = np.array([4, 2, 5]), np.array([-9.0, -5.0, -12.0])
    families = [(1, (0,)), (1, (0, 2)), (2, (1,)), (1, ())]
    found = gains_by_copies(codes, arities, families, alone)
    # parents (0,): four configurations, each of one row and its copies, six rows: all of them
    assert found[0] == pytest.approx(max(0.0, -4 * np.log(2) + 5.0) + 5.0)
    assert found[1] == pytest.approx(found[0])
    assert found[2] == 0  # both configurations hold two different rows
    assert found[3] == 0


def test_a_table_on_a_bootstrap_sample_has_the_same_sets(rng):
    data = random_data(rng, 6, 90, 3)
    table = FamilyTable(FamilyScores(data), slack=5.0)
    sample = FamilyScores(table.scores.kind.resampled(data, np.random.SeedSequence(1)))
    own = table.on_bootstrap(sample)
    assert [set(sets) for sets in own.sets] == [set(sets) for sets in table.sets]
    family = next((v, parents) for v, sets in enumerate(own.sets) for parents in sets if parents)
    alone = np.array(sample.families([(v, ()) for v in range(6)]))
    less = sample.kind.gain_by_copies(sample.data, [family], alone)[0]
    assert own.sets[family[0]][family[1]] == pytest.approx(sample.families([family])[0] - less)
    assert table.scores.data is data
