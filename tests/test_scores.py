"""Scores: golden values of pgmpy, the definition with scipy, cache and no cache alike."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln

from brai import Dataset
from brai.graphs.adjacency import markov_equivalent
from brai.graphs.pdag import PDAG, families_of
from brai.kinds.scores import FamilyScores
from brai.posterior.prediction import log_predictive
from conftest import random_data

GOLDEN = json.loads((Path(__file__).parent / "golden" / "scores.json").read_text())
DATA = Dataset.from_codes(GOLDEN["rows"], names=GOLDEN["columns"])


@pytest.mark.parametrize(
    ("key", "score", "ess"), [("bdeu_1", "bdeu", 1), ("bdeu_10", "bdeu", 10), ("bic", "bic", 1)]
)
def test_against_pgmpy(key, score, ess):
    scores = FamilyScores(DATA, score, ess)
    for golden in GOLDEN["scores"]:
        family = (DATA.names.index(golden["child"]), tuple(sorted(map(DATA.names.index, golden["parents"]))))
        assert scores.families([family])[0] == pytest.approx(golden[key], abs=1e-9)


def naive_bdeu(data, child, parents, ess):
    """Heckerman, Geiger & Chickering 1995, equation for BDeu, over declared states."""
    r, q = int(data.arities[child]), float(np.prod(data.arities[list(parents)]))
    total = 0.0
    for config in itertools.product(*(range(data.arities[p]) for p in parents)):
        rows = np.all([data.codes[p] == c for p, c in zip(parents, config, strict=True)], axis=0)
        n = np.bincount(data.codes[child][np.broadcast_to(rows, data.n_rows)], minlength=r)
        total += gammaln(ess / q) - gammaln(ess / q + n.sum())
        total += (gammaln(ess / (q * r) + n) - gammaln(ess / (q * r))).sum()
    return total


@pytest.mark.parametrize("ess", [0.1, 1.0, 7.5])
def test_bdeu_equals_its_definition_with_unseen_states(rng, ess):
    data = random_data(rng, 5, 40, 5)
    wider = Dataset.from_codes(data.codes.T, arities=(data.arities + 1).tolist(), names=data.names)
    for parents in ((), (1,), (1, 3), (1, 2, 4)):
        found = FamilyScores(wider, "bdeu", ess).families([(0, parents)])[0]
        assert found == pytest.approx(naive_bdeu(wider, 0, parents, ess), abs=1e-9)


def test_cache_on_and_off_and_too_small(rng):
    data = random_data(rng, 6, 60)
    families = [(c, p) for c in range(6) for k in range(3) for p in itertools.combinations(set(range(6)) - {c}, k)]
    plain = FamilyScores(data, capacity=0)
    tight = FamilyScores(data, capacity=7)
    wide = FamilyScores(data)
    expected = [plain.families([f])[0] for f in families]
    for scores in (plain, tight, wide):
        assert scores.families(families) == expected
        assert [scores.families([f])[0] for f in families] == expected
        assert len(scores._known) <= scores.capacity
    assert wide.n_computed == len(families)


def test_families_of_a_dag():
    dag = PDAG.from_edges("abc", [("c", "a"), ("b", "a")])
    assert families_of(dag) == ((0, (1, 2)), (1, ()), (2, ()))


def test_bdeu_is_score_equivalent(rng):
    data = random_data(rng, 4, 80)
    scores = FamilyScores(data, "bdeu", 2.0)
    names = data.names
    chain = PDAG.from_edges(names, [(names[0], names[1]), (names[1], names[2]), (names[2], names[3])])
    fork = PDAG.from_edges(names, [(names[1], names[0]), (names[1], names[2]), (names[2], names[3])])
    assert markov_equivalent(chain.adjacency, fork.adjacency)
    totals = [scores.total(families_of(graph)) for graph in (chain, fork)]
    assert totals[0] == pytest.approx(totals[1], abs=1e-9)


def test_more_parents_than_an_integer_of_cells_can_hold(rng):
    """20 parents of 10 states are 10^20 cells; only the occupied ones are touched."""
    data = Dataset.from_codes(rng.integers(0, 10, (50, 21)), arities=[10] * 21)
    value = FamilyScores(data).families([(0, tuple(range(1, 21)))])[0]
    assert value == pytest.approx(50 * np.log(1 / 10), rel=1e-6)  # each row alone in its configuration


def test_log_predictive_is_a_ratio_of_marginal_likelihoods(rng):
    """By the chain rule, log P(row | D) = log P(D, row) - log P(D) for Dirichlet posterior means."""
    data = random_data(rng, 4, 61)
    families = ((0, ()), (1, (0,)), (2, (0, 1)), (3, (2,)))

    def rows(keep):
        return Dataset.from_codes(data.codes[:, keep].T, arities=data.arities.tolist(), names=data.names)

    train, one = rows(slice(0, 60)), rows(slice(60, 61))
    found = log_predictive(families, train, one)
    assert found[0] == pytest.approx(
        FamilyScores(data).total(families) - FamilyScores(train).total(families), abs=1e-9
    )
    turned = [own[::-1] for own in data.states]
    for other in (turned, [(*own, 9) for own in data.states]):
        with pytest.raises(ValueError, match="same states"):
            log_predictive(families, train, Dataset.from_codes(data.codes.T, names=data.names, states=other))


@pytest.mark.parametrize(
    ("kind", "ess", "word"),
    [("k2", 1.0, "'k2'"), ("bdeu", 0.0, "ess"), ("bdeu", -2, "-2"), ("bdeu", np.inf, "inf"), ("bdeu", "1", "'1'")],
)
def test_errors(kind, ess, word):
    with pytest.raises(ValueError, match=word):
        FamilyScores(DATA, kind, ess)
