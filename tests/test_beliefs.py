"""Beliefs: prior probabilities of edges, their algebra, and their place in every result."""

from __future__ import annotations

import math

import numpy as np
import pytest

import brai
from all_dags import all_dags
from brai import BRAI, HillClimbing, Knowledge, OrderSearch, exact, load_network
from brai.graphs.beliefs import Belief, KnowledgeError, states_of
from brai.graphs.pdag import PDAG, families_of
from brai.graphs.priors import StructurePrior, family_prior
from brai.kinds.scores import FamilyScores
from brai.show.summary import as_text, summary
from conftest import random_data

FREE = (1.0, 0.2, 0.2)  # weights of: not adjacent, a → b, b → a


def states(*stated, weights=FREE):
    return states_of("a", "b", Knowledge(beliefs=stated).beliefs, weights)


def test_a_belief_changes_what_it_speaks_of_and_nothing_else():
    none, forth, back = states(("a", "b", 0.8))
    assert forth == pytest.approx(0.8)
    assert back / none == pytest.approx(0.2)
    none, forth, back = states(("b", "a", 0.1))
    assert back == pytest.approx(0.1)
    assert forth / none == pytest.approx(0.2)
    none, forth, back = states(("a", "b", 0.6, "adjacent"))
    assert (none, forth, back) == pytest.approx((0.4, 0.3, 0.3))
    none, forth, back = states(("a", "b", 0.9, "direction"))
    assert forth / (forth + back) == pytest.approx(0.9)
    assert forth + back == pytest.approx(0.4 / 1.4)
    assert states(("b", "a", 0.1, "direction")) == pytest.approx((none, forth, back))


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ([("a", "b", 0.5), ("b", "a", 0.2)], (0.3, 0.5, 0.2)),
        ([("a", "b", 0.5), ("a", "b", 0.6, "adjacent")], (0.4, 0.5, 0.1)),
        ([("b", "a", 0.5), ("a", "b", 0.6, "adjacent")], (0.4, 0.1, 0.5)),
        ([("a", "b", 0.6), ("a", "b", 0.75, "direction")], (0.2, 0.6, 0.2)),
        ([("b", "a", 0.2), ("a", "b", 0.75, "direction")], (0.2, 0.6, 0.2)),
        ([("a", "b", 0.8, "adjacent"), ("a", "b", 0.75, "direction")], (0.2, 0.6, 0.2)),
        (
            [("a", "b", 0.6), ("b", "a", 0.2), ("b", "a", 0.25, "direction"), ("b", "a", 0.8, "adjacent")],
            (0.2, 0.6, 0.2),
        ),
    ],
)  # fmt: skip
def test_several_beliefs_about_a_pair_are_solved_together(stated, expected):
    assert states(*stated) == pytest.approx(expected)


@pytest.mark.parametrize(
    "stated",
    [
        [("a", "b", 0.5), ("a", "b", 0.6)],
        [("a", "b", 0.7), ("b", "a", 0.4)],
        [("a", "b", 0.7), ("a", "b", 0.6, "adjacent")],
        [("a", "b", 0.9), ("a", "b", 0.5, "direction")],
        [("a", "b", 0.5), ("b", "a", 0.2), ("a", "b", 0.9, "adjacent")],
    ],
)
def test_contradictions_are_errors_that_name_the_beliefs(stated):
    with pytest.raises(KnowledgeError, match=r"impossible: P\(a → b\) = 0\.\d.*: change or remove one"):
        states(*stated)


def test_forbidden_directions_have_no_weight():
    one_way = (1.0, 0.2, 0.0)
    assert states(("a", "b", 0.7, "adjacent"), weights=one_way) == pytest.approx((0.3, 0.7, 0.0))
    assert states(("a", "b", 0.7), weights=one_way) == pytest.approx((0.3, 0.7, 0.0))
    for stated in (("b", "a", 0.5), ("a", "b", 0.5, "direction")):
        with pytest.raises(KnowledgeError, match="impossible"):
            states(stated, weights=one_way)
    with pytest.raises(KnowledgeError, match="an edge between the two is forbidden"):
        states(("a", "b", 0.5), weights=(1.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("beliefs", "words"),
    [
        ([("a", "b")], "give \\(a, b, probability\\)"),
        ("ab", "give \\(a, b, probability\\)"),
        ([("a", "a", 0.5)], "twice"),
        ([("a", "b", 1.0)], "certain is required"),
        ([("a", "b", 0)], "impossible is forbidden"),
        ([("a", "b", "0.5")], "give a number between 0 and 1"),
        ([("a", "b", 0.5, "strength")], "choose one of edge, adjacent, direction"),
    ],
)
def test_what_is_not_a_belief_is_refused(beliefs, words):
    with pytest.raises(KnowledgeError, match=words):
        Knowledge(beliefs=beliefs)


def test_beliefs_meet_the_rest_of_the_knowledge():
    names = ("a", "b", "c")
    with pytest.raises(KnowledgeError, match="names 'd', which is not a variable"):
        Knowledge(beliefs=[("a", "d", 0.5)]).bound(names)
    with pytest.raises(KnowledgeError, match="is required: remove one"):
        Knowledge(required=[("a", "b")], beliefs=[("b", "a", 0.5)]).log_terms(names, 0.0)
    with pytest.raises(KnowledgeError, match="cycle"):
        Knowledge(beliefs=[("a", "b", 0.9), ("b", "c", 0.9), ("c", "a", 0.9)]).log_terms(names, 0.0)
    assert Knowledge(beliefs=[("a", "b", 0.6), ("b", "c", 0.6), ("c", "a", 0.6)]).log_terms(names, 0.0).any()
    assert Knowledge().log_terms(names, 0.0).shape == (0, 0)


@pytest.mark.parametrize("prior", ["uniform", "fair", {"edges": 0.4}])
def test_for_two_variables_the_prior_is_as_stated(prior):
    sizes, edges = family_prior(
        StructurePrior.of(prior), ("a", "b"), Knowledge(beliefs=[("a", "b", 0.5), ("b", "a", 0.2)])
    )
    sizes = sizes if len(sizes) else np.zeros(2)
    weights = np.exp([2 * sizes[0], sizes[0] + sizes[1] + edges[0, 1], sizes[0] + sizes[1] + edges[1, 0]])
    assert weights / weights.sum() == pytest.approx([0.3, 0.5, 0.2])


def brute(data, prior, known):
    """P(i → j | data) by summing over all DAGs: marginal likelihood × structure prior × factors of the beliefs."""
    names = sorted(data.names)
    plain = FamilyScores(data.select(names))
    sizes = StructurePrior.of(prior).sizes(len(names))
    sizes = sizes if len(sizes) else np.zeros(len(names))
    ratio = math.exp(sizes[1] - sizes[0])
    place = {name: i for i, name in enumerate(names)}
    logs, dags = [], np.array(list(all_dags(len(names))))
    for dag in dags:
        value = plain.total(families_of(PDAG(tuple(names), dag.astype(np.int8)))) + sizes[dag.sum(axis=0)].sum()
        for a, b, p, about in known.beliefs:
            none, forth, back = states_of(a, b, [Belief(a, b, p, about)], (1.0, ratio, ratio))
            if dag[place[a], place[b]]:
                value += math.log(forth / none / ratio)
            if dag[place[b], place[a]]:
                value += math.log(back / none / ratio)
        logs.append(value)
    weights = np.exp(np.array(logs) - max(logs))
    edges = np.tensordot(weights / weights.sum(), dags.astype(float), 1)
    rank = [names.index(name) for name in data.names]
    return edges[np.ix_(rank, rank)], max(logs)


@pytest.mark.parametrize("prior", ["uniform", "fair"])
@pytest.mark.parametrize("d", [4, 5])
def test_beliefs_against_all_dags(rng, d, prior):
    data = random_data(rng, d, 80, 3)
    a, b, c, e = data.names[:4]
    known = Knowledge(beliefs=[(a, b, 0.8), (c, a, 0.3, "adjacent"), (e, b, 0.85, "direction")])
    truth, best = brute(data, prior, known)
    assert exact.edge_probabilities(data, structure_prior=prior, knowledge=known) == pytest.approx(truth, abs=1e-9)
    assert exact.map_network(data, structure_prior=prior, knowledge=known)[1] == pytest.approx(best)
    for learner in (OrderSearch, HillClimbing):
        model = learner(structure_prior=prior, knowledge=known).fit(data)
        assert model.log_score_ <= best + 1e-9
        assert model.log_likelihood_ + model.log_prior_ == pytest.approx(model.log_score_)
    model = BRAI(structure_prior=prior, ess=1.0, knowledge=known, posterior_from="mcmc", random_state=0).fit(data)
    assert model.log_score_ == pytest.approx(best)
    assert np.abs(model.edge_probabilities() - truth).mean() < 0.02


def test_exact_sums_obey_knowledge(rng):
    data = random_data(rng, 4, 80, 3)
    a, b, c, _ = data.names
    known = Knowledge(required=[(a, b)], forbidden=[(b, c), (c, b)])
    edges = exact.edge_probabilities(data, knowledge=known)
    place = {name: i for i, name in enumerate(data.names)}
    assert edges[place[a], place[b]] == pytest.approx(1)
    assert edges[place[b], place[c]] == edges[place[c], place[b]] == 0
    assert known.violations(exact.map_network(data, knowledge=known)[0]) == []


def test_a_direction_that_data_cannot_tell_follows_the_belief():
    data = load_network("asia").sample(1000, random_state=0)
    plain = BRAI(random_state=0, posterior_from="mcmc").fit(data)
    known = Knowledge(beliefs=[("smoke", "bronc", 0.9, "direction")])
    told = BRAI(random_state=0, posterior_from="mcmc", knowledge=known).fit(data)
    before, after = (
        own.edge_probability("smoke", "bronc") / own.adjacency_probability("smoke", "bronc")
        for own in (plain, told)
    )
    assert before < 0.7
    assert after / (1 - after) > 4 * before / (1 - before)
    assert told.posterior().kind == "DAG"


def test_beliefs_in_files_and_reports(tmp_path):
    path = tmp_path / "knowledge.toml"
    path.write_text('beliefs = [["smoke", "lung", 0.8], ["tub", "asia", 0.3, "adjacent"]]\n')
    known = Knowledge.from_toml(path)
    assert known.beliefs == (("smoke", "lung", 0.8, "edge"), ("tub", "asia", 0.3, "adjacent"))
    data = load_network("asia").sample(300, random_state=0)
    model = BRAI(random_state=0, knowledge=known, n_draws=50).fit(data)
    posterior = model.posterior()
    found = summary(model, 300, posterior, {"draws": 1, "method": "exact", "temperature": 1})
    rows = found["prior"]["beliefs"]
    assert [row["probability"] for row in rows] == [0.8, 0.3]
    assert rows[0]["posterior"] == pytest.approx(
        posterior.edge_probabilities()[data.names.index("smoke"), data.names.index("lung")]
    )
    assert "P(smoke → lung) = 0.8 before the data" in as_text(found)
    brai.save(model, tmp_path / "m.brai")
    again = brai.load(tmp_path / "m.brai")
    assert again.knowledge.beliefs == known.beliefs
    assert again.log_prior_ == pytest.approx(model.log_prior_)
    page = brai.report.write(model, tmp_path / "r.html")
    assert "before the data" in (tmp_path / "r.html").read_text() or page
