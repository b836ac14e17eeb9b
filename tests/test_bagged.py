"""The bagged posterior: its parts, its share of own draws, reproducibility, checkpoints and files."""

from __future__ import annotations

import numpy as np
import pytest

import brai
from brai import BRAI, Dataset, Knowledge, load_network
from brai.graphs.pdag import families_of
from brai.graphs.priors import StructurePrior, family_prior
from brai.kinds.scores import FamilyScores
from brai.posterior import bagged
from brai.posterior.bagged import BAGS, OWN, combined, on_half
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


def test_a_half_has_half_of_the_rows_once_each_and_the_same_prior(rng):
    data = random_data(rng, 5, 81, 3)
    marked = Dataset.from_codes(np.column_stack([data.codes.T, np.arange(81)]), arities=[*data.arities, 81])
    prior = family_prior(StructurePrior(1.0), marked.names, None)
    scores = FamilyScores(marked, prior=prior)
    found = on_half(scores, np.random.SeedSequence(3))
    rows = found.data.codes[-1]
    assert len(set(rows.tolist())) == len(rows) == 40
    assert (found.data.codes == marked.codes[:, rows]).all()
    assert found.data.states == marked.states
    assert found.prior is scores.prior
    assert (on_half(scores, np.random.SeedSequence(4)).data.codes[-1] != rows).any()


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
    codes = np.zeros((200, 2), int)
    codes[:4] = 1  # the only rows that speak for an edge
    codes[4:6, 0], codes[6:8, 1] = 1, 1
    data = Dataset.from_codes(codes, arities=[2, 2])
    model = BRAI(random_state=0).fit(data)
    bag, alone = model.adjacency_probabilities()[0, 1], model.model_posterior().adjacency_probabilities()[0, 1]
    assert alone > 0.9
    assert bag < alone - 0.01


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


def test_a_table_with_other_scores_has_the_same_sets(rng):
    data = random_data(rng, 6, 90, 3)
    table = FamilyTable(FamilyScores(data), slack=5.0)
    half = FamilyScores(table.scores.kind.halved(data, np.random.SeedSequence(1)))
    own = table.with_scores(half)
    assert [set(sets) for sets in own.sets] == [set(sets) for sets in table.sets]
    for v, sets in enumerate(own.sets):
        for parents, score in sets.items():
            assert score == pytest.approx(half.families([(v, parents)])[0])
    assert table.scores.data is data
