"""Predictive probabilities against literal loops over rows, families and all DAGs, one by one."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, fsum, log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_dags import all_dags, bdeu_scores, class_of, equivalent, family_list, weights
from brai import BRAI, RAI, DataError, Dataset
from brai.graphs.pdag import PDAG, families_of
from brai.kinds.discrete import predictions
from brai.posterior.prediction import averaged_log_predictive, joint_log_predictive, log_predictive
from brai.posterior.weighted import Posterior
from conftest import random_dag, random_data


def literal(families, train, row, ess):
    """P(row | G, D), the product of (N_ijk + ess / (q r)) / (N_ij + ess / q)."""
    rows, answer = train.codes.T.tolist(), Fraction(1)
    for child, parents in families:
        r, q = int(train.arities[child]), prod(int(train.arities[p]) for p in parents)
        same = [seen for seen in rows if all(seen[p] == row[p] for p in parents)]
        hits = sum(seen[child] == row[child] for seen in same)
        answer *= (hits + Fraction(ess) / (q * r)) / (len(same) + Fraction(ess) / q)
    return answer


def log_of(fraction):
    return log(fraction.numerator) - log(fraction.denominator)


def split(seed, d, n_train=20, n_test=6):
    """Train and test with the same states; the test has configurations that the training never saw."""
    rng = np.random.default_rng(seed)
    train = random_data(rng, d, n_train, 3)
    test = Dataset.from_codes(
        np.column_stack([rng.integers(0, r, n_test) for r in train.arities]),
        arities=train.arities.tolist(),
        names=train.names,
    )
    return train, test


def pdag(dag, names):
    return PDAG(names, np.asarray(dag).astype(np.int8))


def complete_posterior(train, ess, prior):
    """Every class once, by one of its DAGs."""
    d = train.n_variables
    scores = bdeu_scores(all_dags(d), train, ess)
    chosen = np.unique(class_of(d), return_index=True)[1]
    return Posterior.from_scores([(pdag(all_dags(d)[g], train.names), scores[g]) for g in chosen], prior), scores


# ---------------------------------------------------------------- one graph


@given(seed=st.integers(0, 10**6), d=st.integers(1, 6), ess=st.sampled_from([0.01, 0.5, 1.0, 10.0]))
def test_one_graph(seed, d, ess):
    train, test = split(seed, d)
    families = family_list(random_dag(np.random.default_rng(seed + 1), d, 0.5))
    found = log_predictive(families, train, test, ess)
    expected = [log_of(literal(families, train, row, ess)) for row in test.codes.T.tolist()]
    assert found.shape == (6,)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_probabilities_of_all_rows_add_up_to_one():
    train, _ = split(3, 4)
    rows = np.array(list(product(*map(range, train.arities))))
    test = Dataset.from_codes(rows, arities=train.arities.tolist(), names=train.names)
    families = family_list(random_dag(np.random.default_rng(4), 4, 0.7))
    posterior, _ = complete_posterior(train, 1.0, "dags")
    for log_p in (
        log_predictive(families, train, test, 2.0),
        averaged_log_predictive(posterior, train, test, 2.0),
    ):
        assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_equivalent_dags_predict_alike(seed):
    train, test = split(seed, 5)
    members = equivalent(random_dag(np.random.default_rng(seed), 5, 0.6))
    found = np.array([log_predictive(family_list(dag), train, test, 0.7) for dag in members])
    np.testing.assert_allclose(found, found[:1].repeat(len(members), axis=0), rtol=0, atol=1e-9)
    other = log_predictive(family_list(np.zeros((5, 5))), train, test, 0.7)
    assert len(members) == 1 or np.abs(found[0] - other).max() > 1e-3


def test_the_default_sample_size_is_one():
    train, test = split(0, 3)
    families = [(0, ()), (1, (0,)), (2, (0, 1))]
    assert np.array_equal(log_predictive(families, train, test), log_predictive(families, train, test, 1.0))
    assert not np.allclose(log_predictive(families, train, test), log_predictive(families, train, test, 2.0))


# ---------------------------------------------------------------- all graphs


@pytest.mark.parametrize("prior", ["dags", "classes"])
@pytest.mark.parametrize(("d", "seed", "ess"), [(3, 0, 1.0), (3, 1, 0.2), (3, 2, 8.0), (4, 3, 1.0), (4, 4, 3.0)])
def test_averages_over_all_dags(d, seed, ess, prior):
    """DAG by DAG, not class by class; parameters and graphs may have different sample sizes."""
    train, test = split(seed, d)
    posterior, scores = complete_posterior(train, 1.0, prior)
    p_dag = weights(scores, class_of(d), prior)

    @cache
    def p_family(family, row):
        return float(literal([family], train, row, ess))

    rows = [tuple(row) for row in test.codes.T.tolist()]
    p_row = np.array(
        [[prod(p_family(family, row) for family in family_list(dag)) for row in rows] for dag in all_dags(d)]
    )
    averaged = [log(fsum(p_dag * p_row[:, row])) for row in range(test.n_rows)]
    np.testing.assert_allclose(averaged_log_predictive(posterior, train, test, ess), averaged, rtol=0, atol=1e-9)
    joint = log(fsum(p_dag * p_row.prod(axis=1)))
    assert joint_log_predictive(posterior, train, test, ess) == pytest.approx(joint, abs=1e-9)
    assert joint != pytest.approx(sum(averaged), abs=1e-3)  # the two are not the same question


def test_a_point_mass_predicts_like_its_graph():
    train, test = split(1, 5)
    dag = pdag(random_dag(np.random.default_rng(2), 5, 0.6), train.names)
    posterior = Posterior.from_scores([(dag, -100.0)])
    alone = log_predictive(families_of(dag), train, test, 1.0)
    np.testing.assert_allclose(averaged_log_predictive(posterior, train, test, 1.0), alone, rtol=0, atol=1e-9)
    assert joint_log_predictive(posterior, train, test, 1.0) == pytest.approx(alone.sum(), abs=1e-9)


def test_joint_of_many_rows_does_not_underflow():
    """5000 rows have a probability far below the smallest float; one graph wins, or shares it with equals."""
    train, _ = split(6, 4, n_train=300)
    test = Dataset.from_codes(
        np.random.default_rng(7).integers(0, train.arities, (5000, 4)),
        arities=train.arities.tolist(),
        names=train.names,
    )
    dags = [pdag(np.zeros((4, 4)), train.names), pdag(np.triu(np.ones((4, 4)), 1), train.names)]
    posterior = Posterior.from_scores([(dags[0], 0.0), (dags[1], 1.0)], "classes")
    each = [log_predictive(families_of(dag), train, test, 1.0).sum() for dag in dags]
    shares = [each[0] - log(1 + exp(1)), each[1] + 1 - log(1 + exp(1))]
    expected = max(shares) + np.log1p(np.exp(min(shares) - max(shares)))
    assert expected < -5000
    assert joint_log_predictive(posterior, train, test, 1.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("cells", [1, 10**5])
def test_blocks_change_nothing(monkeypatch, cells):
    train, test = split(5, 4, n_test=513)  # blocks of 256, 256 and 1 rows
    posterior, _ = complete_posterior(train, 1.0, "dags")
    families = family_list(all_dags(4)[300])

    def answers():
        yield log_predictive(families, train, test, 1.0)
        yield averaged_log_predictive(posterior, train, test, 1.0)
        yield np.array(joint_log_predictive(posterior, train, test, 1.0))

    whole = list(answers())
    monkeypatch.setattr(predictions, "_MOST_CELLS", cells)
    for one, other in zip(whole, answers(), strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-12)


def test_order_of_columns_is_irrelevant():
    train, test = split(8, 4)
    posterior, _ = complete_posterior(train, 1.0, "dags")
    turned = [own.select([own.names[i] for i in (2, 0, 3, 1)]) for own in (train, test)]
    for question in (averaged_log_predictive, joint_log_predictive):
        first = question(posterior, train, test, 1.0)
        for one, other in ((train, turned[1]), (turned[0], test), turned):
            np.testing.assert_allclose(question(posterior, one, other, 1.0), first, rtol=0, atol=1e-12)


def test_errors_of_the_functions():
    train, test = split(9, 3)
    posterior, _ = complete_posterior(train, 1.0, "dags")
    more = Dataset.from_codes(test.codes.T, arities=[int(r) + 1 for r in test.arities], names=test.names)
    families = [(0, ()), (1, ()), (2, ())]
    for call in (
        lambda own, ess: log_predictive(families, train, own, ess),
        lambda own, ess: averaged_log_predictive(posterior, train, own, ess),
        lambda own, ess: joint_log_predictive(posterior, train, own, ess),
    ):
        with pytest.raises(ValueError, match="ess"):
            call(test, 0.0)
        with pytest.raises(ValueError, match="states"):
            call(more, 1.0)


# ---------------------------------------------------------------- estimators

TRAIN = {
    "rain": ["no", "yes", "no", "no", "yes", "no", "yes", "no"] * 6,
    "grass": ["dry", "wet", "dry", "wet", "wet", "dry", "wet", "dry"] * 6,
    "day": [0, 1, 2, 0, 1, 2, 0, 1] * 6,
}
TEST = {"rain": ["yes", "no", "yes"], "grass": ["wet", "wet", "dry"], "day": [2, 0, 1]}


@pytest.fixture(params=["BRAI", "RAI"])
def model(request):
    return (BRAI(3, random_state=0, ess=2.0) if request.param == "BRAI" else RAI(ess=2.0)).fit(TRAIN)


def test_estimators_predict(model):
    train, test = Dataset.of(TRAIN), Dataset.conforming(TEST, Dataset.of(TRAIN))
    posterior = model.model_posterior() if isinstance(model, BRAI) else model.posterior()
    averaged = averaged_log_predictive(posterior, train, test, 2.0)
    of_all = fsum(
        p * np.exp(log_predictive(families_of(graph.to_dag()), train, test, 2.0))[0]
        for graph, p in zip(posterior.cpdags, posterior.probabilities, strict=True)
    )
    assert averaged[0] == pytest.approx(log(of_all), abs=1e-9)
    np.testing.assert_allclose(model.score_samples(TEST), averaged, rtol=0, atol=1e-12)
    rows = test.codes.T.tolist()
    best = [log_of(literal(families_of(model.dag_), train, row, 2.0)) for row in rows]
    np.testing.assert_allclose(model.score_samples(TEST, average=False), best, rtol=0, atol=1e-9)
    assert model.score(TEST) == pytest.approx(np.mean(averaged), abs=1e-12)
    assert model.score(TEST, average=False) == pytest.approx(np.mean(best), abs=1e-9)
    joint = joint_log_predictive(posterior, train, test, 2.0)
    assert model.log_predictive(TEST) == pytest.approx(joint, abs=1e-12)
    np.testing.assert_allclose(model.network().log_prob(TEST), best, rtol=0, atol=1e-9)


def test_averaging_differs_from_selection():
    """Else the test above could not tell them apart."""
    data = random_data(np.random.default_rng(1), 6, 60, 3)
    model = BRAI(3, random_state=0).fit(data)
    assert len(model.posterior().cpdags) > 3
    assert np.abs(model.score_samples(data) - model.score_samples(data, average=False)).max() > 1e-3
    assert model.log_predictive(data) != pytest.approx(model.score_samples(data).sum(), abs=1e-3)


def test_estimators_match_columns_by_name(model):
    turned = {name: TEST[name] for name in ("day", "rain", "grass")}
    assert np.array_equal(model.score_samples(turned), model.score_samples(TEST))
    assert model.log_predictive(turned) == model.log_predictive(TEST)
    rows = list(zip(*TEST.values(), strict=True))
    assert np.array_equal(model.score_samples([list(row) for row in rows]), model.score_samples(TEST))


WRONG = {
    "unknown state": ({**TEST, "grass": ["wet", "damp", "dry"]}, "'grass'.*'damp'.*'dry'.*'wet'"),
    "unknown number": ({**TEST, "day": [0, 1, 7]}, "'day'.*7.*0, 1, 2"),
    "missing column": ({name: TEST[name] for name in ("rain", "day")}, "'grass'"),
    "extra column": ({**TEST, "wind": ["a", "b", "a"]}, "'wind'"),
}


@pytest.mark.parametrize(("table", "match"), WRONG.values(), ids=WRONG.keys())
def test_errors_at_prediction_time(model, table, match):
    for call in (model.score_samples, model.score, model.log_predictive):
        with pytest.raises(DataError, match=match):
            call(table)


def test_many_rows_and_many_states():
    """Scratch tables grow with rows × states: blocks keep them small."""
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, 500, 600_000), rng.integers(0, 2, 600_000)], axis=1)
    data = Dataset.from_codes(codes, arities=[500, 2], names="ab")
    train = Dataset.from_codes(codes[:300], arities=[500, 2], names="ab")
    families = ((0, (1,)), (1, ()))
    found = log_predictive(families, train, data)
    some = Dataset.from_codes(codes[-1000:], arities=[500, 2], names="ab")
    assert np.array_equal(found[-1000:], log_predictive(families, train, some))
