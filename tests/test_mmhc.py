"""MMPC against its literal twin; the tail of χ²; what large samples and odd data must give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from math import exp, inf, lgamma, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import chi2

from brai import Dataset, load_network
from brai.kernels.interface import NO_RULE, Evidence, begin
from brai.kernels.mmpc import Candidates, Level, log_chi2_sf, max_min, mmpc_bar, parents_and_children
from brai.kinds.discrete.samples import bootstrap_sample, full_sample, log_cells, workspace
from brai.search.mmpc import neighbourhoods
from conftest import random_data
from naive_mmpc import Mmpc

DF = ("strata", "cells", "full")


def twin(data: Dataset, **options) -> Mmpc:
    """The literal algorithm on data whose columns are in the order of their names."""
    assert list(data.names) == sorted(data.names)
    return Mmpc(data.codes.T.tolist(), data.arities.tolist(), **options)


# ---------------------------------------------------------------- tail of χ²


def log_add(values):
    top = max(values)
    return top + log(sum(exp(v - top) for v in values))


def exact_log_sf(g2, df):
    """Q(a + 1, x) = Q(a, x) + x^a e^-x / Γ(a + 1), from Q(1, x) = e^-x or Q(1/2, x) = erfc √x up: all positive."""
    x, a = g2 / 2, 1.0 if df % 2 == 0 else 0.5
    terms = [-x if df % 2 == 0 else log(2) + float(log_ndtr(-((2 * x) ** 0.5)))]
    while a < df / 2:
        terms.append(a * log(x) - x - lgamma(a + 1))
        a += 1
    return log_add(terms)


@pytest.mark.kernels
@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 10, 31, 100, 513, 2000])
def test_log_chi2_sf(df):
    for g2 in [
        1e-6,
        0.01,
        0.5,
        1.0,
        3.84,
        10.0,
        df / 2,
        df - 1,
        df,
        df + 1,
        df + 2,
        2 * df,
        5 * df,
        1500.0,
        40_000.0,
    ]:
        found = log_chi2_sf(float(g2), df)
        assert found == pytest.approx(exact_log_sf(g2, df), rel=1e-10, abs=1e-11)
        if chi2.sf(g2, df) > 1e-290:
            assert found == pytest.approx(chi2.logsf(g2, df), rel=1e-10, abs=1e-14)


@pytest.mark.kernels
def test_log_chi2_sf_at_its_ends():
    assert log_chi2_sf(0.0, 3) == log_chi2_sf(-1e-12, 3) == 0  # rounding may leave G² below zero
    assert log_chi2_sf(50.0, 0) == 0  # no degree of freedom: p = 1
    assert -inf < log_chi2_sf(1e6, 1) < log_chi2_sf(999_999.0, 1) < -499_000  # p itself is 0 in a float


# ---------------------------------------------------------------- MMPC


@settings(max_examples=120)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(4, 9),
    st.sampled_from([50, 120, 300, 500]),
    st.sampled_from([5.0, 1.5, None]),
    st.sampled_from(DF),
    st.sampled_from([None, None, 1, 2]),
)
def test_fast_equals_literal(seed, d, n, rule, df, max_order):
    data = random_data(np.random.default_rng(seed), d, n, density=0.35)
    options = {"min_rows_per_cell": rule, "df": df, "max_order": max_order}
    found, expected = neighbourhoods(data, **options), twin(data, **options)
    assert found.adjacency.tolist() == expected.skeleton()
    made = np.zeros(d, int)
    for (_, _, S), association in expected.made.items():
        made[len(S)] += association is not None
    assert (found.n_ci_tests <= made[: len(found.n_ci_tests)]).all()  # none twice, none that the literal one lacks
    assert found.n_ci_tests[0] == made[0]


def test_random_data_exercises_what_it_should(rng):
    """In data such as the above, every rule matters, and so do phase II and the symmetry correction."""
    differ = dict.fromkeys(["rule", "df", "order", "symmetry", "phase II"], 0)
    for _ in range(40):
        data = random_data(rng, 7, 300, density=0.35)
        plain = neighbourhoods(data).adjacency
        differ["rule"] += not np.array_equal(plain, neighbourhoods(data, min_rows_per_cell=None).adjacency)
        differ["df"] += not np.array_equal(plain, neighbourhoods(data, df="full").adjacency)
        differ["order"] += not np.array_equal(plain, neighbourhoods(data, max_order=1).adjacency)
        one = twin(data, min_rows_per_cell=None)
        cpc = [one.mmpc_bar(T) for T in range(7)]
        differ["symmetry"] += any(T not in cpc[X] for T in range(7) for X in cpc[T])
        differ["phase II"] += any(grown(one, T) > len(cpc[T]) for T in range(7))
    assert min(differ.values()) >= 2, differ


def grown(one, T):
    """Size of CPC after phase I."""
    CPC = []
    while (found := one.max_min_heuristic(T, CPC))[0] is not None:
        CPC.append(found[0])
    return len(CPC)


def test_order_of_columns_and_names(rng):
    for _ in range(10):
        data = random_data(rng, 8, 200)
        turned = rng.permutation(8)
        moved = data.select([data.names[i] for i in turned])
        found, again = neighbourhoods(data), neighbourhoods(moved)
        assert np.array_equal(found.adjacency[np.ix_(turned, turned)], again.adjacency)
        assert np.array_equal(found.n_ci_tests, again.n_ci_tests)
        assert found.adjacency.any()
        assert np.array_equal(found.adjacency, found.adjacency.T)
        assert not found.adjacency.diagonal().any()


@pytest.mark.kernels
def test_equal_associations_are_told_apart_by_name():
    """a and b are copies: one of them enters CPC of y, and given it the other has nothing to add."""
    a = np.repeat([0, 1], 50)
    y = a.copy()
    y[:5] = 1
    data = Dataset.from_codes(np.stack([a, a, y], axis=1), names="aby")
    level, cpc, tally = Level(log(0.05), 5.0, 100, data.arities, 1), np.empty(3, np.int64), np.zeros(2, np.int64)
    evidence = Evidence(full_sample(data), log_cells(100), NO_RULE, workspace(data, 3))
    begin(evidence)
    n = mmpc_bar(evidence, level, 2, cpc, tally)
    assert cpc[:n].tolist() == [0]
    assert tally.tolist() == [2, 1]


@pytest.mark.kernels
def test_equal_p_values_are_told_apart_by_g2():
    """Nothing of the sort occurs by chance, so the choice itself is tested."""
    log_p, g2 = np.array([-9.0, -9.0, -9.0, -3.0, -99.0]), np.array([4, 7, 7, 9, 9])
    left = Candidates(np.array([1, 1, 1, 1, 0], np.uint8), log_p, g2)
    assert max_min(left) == 1
    assert max_min(left._replace(open=np.zeros(5, np.uint8))) == -1


def test_too_few_rows():
    """39 rows are fewer than 5 to each of the 8 cells of three binary variables, 20 are just enough for two."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 40)
    b = np.where(rng.random(40) < 0.05, 1 - a, a)
    c = np.where(rng.random(40) < 0.05, 1 - b, b)
    chain = Dataset.from_codes(np.stack([a, b, c], axis=1), names="abc", arities=[2, 2, 2])
    short = Dataset.from_codes(np.stack([a, b, c], axis=1)[:39], names="abc", arities=[2, 2, 2])
    assert neighbourhoods(chain).n_ci_tests.size == 2
    assert not neighbourhoods(chain).adjacency[0, 2]
    assert neighbourhoods(short).n_ci_tests.tolist() == [6]  # no set takes part, so false positives stay
    assert neighbourhoods(short).adjacency[0, 2]
    assert neighbourhoods(short, min_rows_per_cell=39 / 8).n_ci_tests.size == 2
    pairs = Dataset.from_codes(chain.codes.T[:20], names="abc", arities=[2, 2, 2])
    assert neighbourhoods(pairs).adjacency[0, 1]
    fewer = Dataset.from_codes(chain.codes.T[:19], names="abc", arities=[2, 2, 2])
    assert neighbourhoods(fewer).n_ci_tests.size == 0  # no test at all: independence is assumed
    assert not neighbourhoods(fewer).adjacency.any()


@pytest.mark.parametrize(("name", "edges"), [("cancer", 4), ("earthquake", 4), ("survey", 6), ("sachs", 17)])
def test_large_samples_give_the_true_skeleton(name, edges):
    network = load_network(name)
    found = neighbourhoods(network.sample(20_000, random_state=1)).adjacency
    assert np.array_equal(found, network.pdag.skeleton())
    assert found.sum() == 2 * edges


def test_asia_lacks_the_edges_of_a_determined_variable():
    """either = tub or lung: given both it has one state, no degree of freedom, and no test shows its children."""
    network = load_network("asia")
    found = neighbourhoods(network.sample(20_000, random_state=1)).adjacency
    names = network.names
    lost = {frozenset((names[i], names[j])) for i, j in np.argwhere(network.pdag.skeleton() & ~found)}
    assert lost == {frozenset(("either", "xray")), frozenset(("either", "dysp"))}
    assert not (found & ~network.pdag.skeleton()).any()


# ---------------------------------------------------------------- kernels and arguments


@pytest.mark.kernels
def test_weights_are_rows_and_memory_is_handed_back(rng):
    data = random_data(rng, 6, 150)
    sample = bootstrap_sample(data, np.random.SeedSequence(3))
    sample.codes.setflags(write=False)  # or all is compiled once more
    rows = np.repeat(sample.codes, sample.weights, axis=1)
    copied = Dataset(rows, data.names, data.states)
    level, results = Level(log(0.05), 5.0, 150, data.arities, 4), []
    for own in (sample, full_sample(copied)):
        work, tally = workspace(copied, 6), np.zeros(5, np.int64)
        found = parents_and_children(Evidence(own, log_cells(150), NO_RULE, work), level, tally)
        for buffer in (work.counts, work.margins, work.scratch):
            assert not buffer.any()
        results.append((found.tolist(), tally.tolist()))
    assert results[0] == results[1]
    assert np.any(results[0][0])


SCRIPT = """
import json, sys
from brai import Dataset
from brai.search.mmpc import neighbourhoods
rows, arities = json.load(sys.stdin)
found = neighbourhoods(Dataset.from_codes(rows, arities=arities), min_rows_per_cell=1.0)
print(json.dumps([found.adjacency.tolist(), found.n_ci_tests.tolist()]))
"""


def test_without_jit(rng):
    """As plain Python an index out of bounds is an error, and the result is the same."""
    data = random_data(rng, 5, 120, 2, 0.7)
    given = [data.codes.T.tolist(), data.arities.tolist()]
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    found = neighbourhoods(data, min_rows_per_cell=1.0)
    assert json.loads(out.stdout) == [found.adjacency.tolist(), found.n_ci_tests.tolist()]
    assert found.n_ci_tests.size > 2


@pytest.mark.parametrize("d", [1, 2, 3])
def test_small_and_constant(d):
    rows = np.zeros((30, d), int)
    rows[15:, 0] = 1
    data = Dataset.from_codes(rows, arities=[2, *[1] * (d - 1)])
    for rule in (5.0, None):
        found = neighbourhoods(data, min_rows_per_cell=rule)
        assert found.adjacency.shape == (d, d)
        assert not found.adjacency.any()
        assert found.n_ci_tests.sum() == d * (d - 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0: give"),
        ({"alpha": "x"}, "alpha is 'x': give"),
        ({"min_rows_per_cell": 0}, "min_rows_per_cell is 0: give"),
        ({"max_order": -1}, "max_order is -1: give"),
        ({"max_order": 1.5}, "max_order is 1.5: give"),
        ({"df": "rows"}, "unknown df 'rows': choose one of strata, cells, full"),
    ],
)
def test_arguments_that_make_no_sense(rng, options, message):
    with pytest.raises(ValueError, match=message):
        neighbourhoods(random_data(rng, 3, 20), **options)
