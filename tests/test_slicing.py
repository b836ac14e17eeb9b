"""CI tests on bit slices against the same tests on rows: equal integers, equal decisions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brai.data.dataset import Dataset
from brai.kernels.interface import (
    CELLS,
    DEPENDENT,
    FULL,
    INDEPENDENT,
    OPEN,
    ROUNDING,
    STRATA,
    Evidence,
    Rule,
    critical_value,
    independent,
)
from brai.kinds.discrete import bit_tests, contingency
from brai.kinds.discrete.contingency import Joint
from brai.kinds.discrete.samples import FEW_STATES, bdeu_cells, bootstrap_sample, full_sample, log_cells, workspace
from brai.tree.independence import CITest
from brai.tree.rai import Learner, rai

pytestmark = pytest.mark.kernels


def mixed_data(rng, rows, arities, strength=0.7):
    """Each column copies one before it, more or less."""
    columns = []
    for r in arities:
        own = rng.integers(0, r, rows)
        if columns and rng.random() < 0.8:
            other = columns[rng.integers(len(columns))] % r
            own = np.where(rng.random(rows) < strength, other, own)
        columns.append(own)
    return Dataset.from_codes(np.stack(columns, axis=1), arities=arities)


def on_rows(data, sample, cells, kind, x, y, z):
    work = workspace(data, len(z) + 2)
    labels, n, size = work.labels, 1, 1.0
    for j, v in enumerate(z):
        arity = int(sample.arities[v])
        n = contingency.extend(labels[j], n, sample.codes[v], arity, labels[j + 1], work.scratch)
        size *= arity
    joint = contingency.join(sample, cells, work, y, labels[len(z)], n, size, labels[len(z) + 1])
    return contingency.statistic(sample, cells, work, x, y, Joint(*joint), kind)


def by_hand(cells, rule, collider, value, df):
    """Whether the statistic means independence."""
    return value / cells.scale - critical_value(rule, collider, df) - ROUNDING <= 0


def terms_of(ci, n_rows):
    return bdeu_cells(n_rows, ci.ess) if ci.name == "bayes-factor" else log_cells(n_rows)


def on_slices(data, sample, cells, rule, x, y, z, collider):
    """Statistic, df and decision, and that slices were taken."""
    work = workspace(data, len(z) + 2)
    evidence = Evidence(sample, cells, rule, work)
    bit_tests.begin(evidence)
    found = bit_tests.test(evidence, x, y, np.array([*z, -1]), len(z), collider)
    for buffer in (work.counts, work.margins, work.scratch):
        assert not buffer.any()  # handed back as it was
    return found, work.ready[bit_tests.ROWS_OF] == -1


@pytest.mark.parametrize("kind", [STRATA, CELLS, FULL])
@pytest.mark.parametrize("bdeu", [False, True])
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 500, 513, 1100])
def test_slices_count_as_rows_do(rng, rows, bdeu, kind):
    data = mixed_data(rng, rows, [2, 3, 4, 2, 1, 3])
    cells = bdeu_cells(rows, 2.0) if bdeu else log_cells(rows)
    rule = Rule(np.zeros((2, 8)), kind, np.zeros((0, 0), np.uint8))
    for sample in (full_sample(data), bootstrap_sample(data, np.random.SeedSequence(3))):
        sliced = 0
        for x, y, order in itertools.product(range(6), range(6), range(4)):
            if x != y:
                z = [v for v in rng.permutation(6).tolist() if v not in (x, y)][:order]
                (value, df, decision), taken = on_slices(data, sample, cells, rule, x, y, z, -1)
                assert (value, df) == on_rows(data, sample, cells, kind, x, y, z)
                assert decision == OPEN
                sliced += taken
        assert sliced > 40  # of 120


RULES = [
    CITest(),
    CITest("cmi-c1", threshold=1.0),
    CITest("cmi", threshold=0.02),
    CITest("g2", alpha=0.05),
    CITest("g2", alpha=0.05, df="full"),
    CITest("g2", alpha=0.05, df="cells"),
    CITest("cmi-c1", undecided="keep"),
    CITest("bayes-factor"),
]


@pytest.mark.parametrize("ci", RULES, ids=lambda own: f"{own.name}-{own.df}-{own.undecided}")
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), bootstrap=st.booleans(), collider=st.integers(0, 1))
def test_an_early_decision_is_the_decision(ci, seed, bootstrap, collider):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(2, 300))
    data = mixed_data(rng, rows, rng.integers(1, 5, 6).tolist(), rng.choice([0.1, 0.3, 0.95, 1.0]))
    sample = bootstrap_sample(data, np.random.SeedSequence(seed)) if bootstrap else full_sample(data)
    cells, rule = terms_of(ci, rows), ci.rule(rows, bootstrap=bootstrap)
    for order in range(4):
        x, y, *z = rng.permutation(6)[: order + 2].tolist()
        (value, df, decision), _ = on_slices(data, sample, cells, rule, x, y, z, collider)
        exact = by_hand(cells, rule, collider, *on_rows(data, sample, cells, rule.df, x, y, z))
        assert independent(Evidence(sample, cells, rule, None), value, df, decision, collider) == exact


@pytest.mark.parametrize("ci", RULES[:4], ids=lambda own: f"{own.name}-{own.df}-{own.undecided}")
def test_no_decision_is_made_in_the_middle_of_a_configuration(rng, ci):
    """With 9 states and more, y fills several blocks for each z; a sum over some of them says nothing."""
    rows = 400
    cells, rule = terms_of(ci, rows), ci.rule(rows, bootstrap=False)
    for strength in (0.0, 0.1, 0.3, 0.6):
        data = mixed_data(rng, rows, [2, 3, 2, 12, 9, 16], strength)
        sample = full_sample(data)
        for x, y, z in itertools.product(range(4), (3, 4, 5), (0, 1, 2)):
            if len({x, y, z}) == 3:
                for given_z in ([], [z]):
                    (value, df, decision), _ = on_slices(data, sample, cells, rule, x, y, given_z, 0)
                    on = on_rows(data, sample, cells, rule.df, x, y, given_z)
                    exact = by_hand(cells, rule, 0, *on)
                    assert independent(Evidence(sample, cells, rule, None), value, df, decision, 0) == exact


def test_decisions_do_come_early(rng):
    """Else the test above shows nothing."""
    ci, early = CITest(), set()
    cells, rule = terms_of(ci, 400), ci.rule(400, bootstrap=False)
    for strength in (0.9, 0.999):
        data = mixed_data(rng, 400, [3] * 8, strength)
        sample = full_sample(data)
        for x, y, z in itertools.permutations(range(8), 3):
            early.add(on_slices(data, sample, cells, rule, x, y, [z], 0)[0][2])
    assert early == {DEPENDENT, OPEN, INDEPENDENT}


@pytest.mark.parametrize("kind", [STRATA, CELLS, FULL])
@pytest.mark.parametrize("bdeu", [False, True])
@pytest.mark.parametrize("states", [7, 8, 9, FEW_STATES])
def test_cells_of_many_states_take_several_blocks(rng, states, bdeu, kind):
    """A configuration with 7 states of y fills a block, with 8 it goes on in the next."""
    rows = 700
    data = mixed_data(rng, rows, [states, 2, 3, states, 8], 0.5)
    cells = bdeu_cells(rows, 2.0) if bdeu else log_cells(rows)
    rule, taken = Rule(np.zeros((2, 8)), kind, np.zeros((0, 0), np.uint8)), 0
    for sample in (full_sample(data), bootstrap_sample(data, np.random.SeedSequence(3))):
        for x, y, *z in itertools.permutations(range(5), 4):
            for order in range(3):
                (value, df, _), sliced = on_slices(data, sample, cells, rule, x, y, z[:order], -1)
                assert (value, df) == on_rows(data, sample, cells, kind, x, y, z[:order])
                taken += sliced
    assert taken > 50  # of 720


def test_more_blocks_than_there_is_room_for(rng):
    """64 configurations with 8 states of y are 576 lanes, and there are 512: rows are visited."""
    data = mixed_data(rng, 20_000, [8, 8, 8, 2], 0.0)
    sample, cells = full_sample(data), log_cells(20_000)
    rule = Rule(np.zeros((2, 8)), STRATA, np.zeros((0, 0), np.uint8))
    (value, df, _), sliced = on_slices(data, sample, cells, rule, 3, 2, [0, 1], -1)
    assert not sliced
    assert (value, df) == on_rows(data, sample, cells, STRATA, 3, 2, [0, 1])


def test_a_test_after_one_that_stopped_early_has_all_its_blocks(rng):
    ci = CITest()
    cells, rule = terms_of(ci, 600), ci.rule(600, bootstrap=False)
    data = mixed_data(rng, 600, [3, 3, 2, 2, 3, 3], 0.9)
    sample, work = full_sample(data), workspace(data, 6)
    stopped = whole = 0
    for y, *z in itertools.permutations(range(6), 4):
        evidence = Evidence(sample, cells, rule, work)
        bit_tests.begin(evidence)
        given = np.array([*z, -1])
        for x in (v for v in range(6) if v not in (y, *z)):
            _, _, decision = bit_tests.test(evidence, x, y, given, 3, 0)
            stopped += decision != OPEN and work.slices.kept[bit_tests.FILLED] < work.slices.kept[0]
            value, df, decision = bit_tests.test(evidence, x, y, given, 3, -1)
            assert (value, df) == on_rows(data, sample, cells, STRATA, x, y, z)
            whole += decision == OPEN
    assert stopped > 20
    assert whole == 2 * 360


@pytest.mark.parametrize("kind", ["strata", "cells", "full"])
def test_two_columns_that_depend_are_joined(rng, kind):
    """However degrees of freedom are counted, also where the test stops early."""
    x = rng.integers(0, 2, 120)
    y = np.where(rng.random(120) < 0.95, x, 1 - x)
    data = Dataset.from_codes(np.stack([x, y], axis=1))
    assert rai(Learner(data, CITest("g2", df=kind))) == ((0, (1,)), (1, ()))


def test_what_is_counted_is_used_again_only_for_the_same_pair_and_set(rng):
    data = mixed_data(rng, 200, [3, 2, 4, 3, FEW_STATES + 1])
    sample, cells = full_sample(data), log_cells(200)
    rule, work = Rule(np.zeros((2, 8)), STRATA, np.zeros((0, 0), np.uint8)), workspace(data, 5)
    evidence = Evidence(sample, cells, rule, work)
    bit_tests.begin(evidence)
    sets = np.array([0, 0, 0])
    for _ in range(200):
        x, y, *z = rng.permutation(5)[:4].tolist()
        keep = next((j for j in range(2) if sets[j] != z[j]), 2)
        sets[:2] = z
        bit_tests.turn(evidence, keep)
        value, df, _ = bit_tests.test(evidence, x, y, sets, 2, -1)
        assert (value, df) == on_rows(data, sample, cells, STRATA, x, y, z)


def test_variables_of_many_states_have_no_bits(rng):
    data = mixed_data(rng, 100, [FEW_STATES, FEW_STATES + 1])
    assert full_sample(data).first.tolist() == [0, -1]
    assert len(full_sample(data).bits) == FEW_STATES + 1  # and one string of all rows


def test_a_bootstrap_sample_of_few_variables_has_the_same_rows(rng):
    data = mixed_data(rng, 90, [2, 3, 2, 4])
    every = bootstrap_sample(data, np.random.SeedSequence(5))
    some = bootstrap_sample(data, np.random.SeedSequence(5), np.array([1, 3]))
    for v in (1, 3):
        assert (some.codes[v] == every.codes[v]).all()
        at = slice(every.first[v], every.first[v] + data.arities[v])
        assert (some.bits[at] == every.bits[at]).all()
