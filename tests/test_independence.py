"""CI tests: golden values, levels that are what they claim, and the correction on bootstrap samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import chdtrc
from scipy.stats import binomtest, chi2_contingency
from sklearn.metrics import mutual_info_score

from brai import RAI, CITest, Dataset, Oracle
from brai.graphs.pdag import PDAG
from brai.kernels.interface import STRATA, Evidence
from brai.kinds import kind_of
from brai.kinds.discrete.contingency import ci_test
from brai.kinds.discrete.samples import bootstrap_sample, full_sample, log_cells, workspace
from brai.tree.independence import NAMES
from conftest import random_data
from test_kernels import fast

GOLDEN = json.loads((Path(__file__).parent / "golden" / "scores.json").read_text())
DATA = Dataset.from_codes(GOLDEN["rows"], names=GOLDEN["columns"])


@pytest.mark.parametrize("golden", GOLDEN["tests"], ids=lambda g: f"{g['x']}-{g['y']}|{''.join(g['given'])}")
def test_cmi_and_g2_against_pyagrum(golden):
    x, y, *z = (DATA.names.index(v) for v in (golden["x"], golden["y"], *golden["given"]))
    value, df = fast(DATA, full_sample(DATA), log_cells(DATA.n_rows), x, y, z, STRATA)
    assert 2 * value == pytest.approx(golden["g2"], abs=1e-9)
    assert value / DATA.n_rows == pytest.approx(golden["cmi_bits"] * np.log(2), abs=1e-9)
    if len(z) < 2:  # every cell of each stratum is occupied: all ways to count df agree
        assert chdtrc(df, 2 * value) == pytest.approx(golden["p"], abs=1e-9)


def test_marginal_statistic_against_sklearn_and_scipy(rng):
    data = random_data(rng, 4, 300, 5)
    x, y = data.codes[0], data.codes[1]
    value, df = fast(data, full_sample(data), log_cells(300), 0, 1, [], STRATA)
    assert value / 300 == pytest.approx(mutual_info_score(x, y), abs=1e-10)
    table = np.zeros((x.max() + 1, y.max() + 1))
    np.add.at(table, (x, y), 1)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    g2, _, dof, _ = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert (2 * value, df) == (pytest.approx(g2, abs=1e-8), dof)


def rejections(test: CITest, *, bootstrap: bool, collider: int = 0, trials: int = 400) -> int:
    """How often two independent variables test dependent given a third."""
    found = 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        data = Dataset.from_codes(rng.integers(0, 3, (400, 3)), arities=[3, 3, 3])
        sample = bootstrap_sample(data, np.random.SeedSequence(seed)) if bootstrap else full_sample(data)
        rule, cells = test.rule(400, bootstrap=bootstrap), kind_of(data).test_terms(data, test.name, test.ess)
        given = np.array([2, -1])
        found += ci_test(Evidence(sample, cells, rule, workspace(data, 3)), 0, 1, given, 1, collider) > 0
    return found


@pytest.mark.kernels
def test_g2_keeps_its_level():
    assert binomtest(rejections(CITest("g2"), bootstrap=False), 400, 0.05).pvalue > 1e-3
    assert binomtest(rejections(CITest("g2", alpha=0.3), bootstrap=False), 400, 0.3).pvalue > 1e-3


@pytest.mark.kernels
def test_collider_level_is_its_own():
    test = CITest("cmi-c1", colliders=0.3)
    assert binomtest(rejections(test, bootstrap=False, collider=1), 400, 0.3).pvalue > 1e-3


@pytest.mark.kernels
def test_c1_is_the_mean_under_independence():
    """At 1 C1 a bit less than half of the independent pairs test dependent; in bits, far fewer."""
    assert 0.35 < rejections(CITest("cmi-c1", threshold=1.0), bootstrap=False) / 400 < 0.55
    assert rejections(CITest("cmi-c1"), bootstrap=False) / 400 < 0.2


@pytest.mark.kernels
@pytest.mark.parametrize("name", ["cmi-c1", "g2"])
def test_bootstrap_samples_need_the_correction(name):
    plain = rejections(CITest(name), bootstrap=False)
    raw = rejections(CITest(name, correction=False), bootstrap=True)
    corrected = rejections(CITest(name), bootstrap=True)
    assert raw > plain + 40  # resampling makes independent pairs look dependent
    assert abs(corrected - plain) < abs(raw - plain) / 2


@pytest.mark.kernels
def test_bayes_factor_on_bootstrap_samples():
    """It asks for more than the others, so few are fooled; with the correction fewer still."""
    loose = CITest("bayes-factor", correction=False)
    assert 40 > rejections(loose, bootstrap=True) > rejections(CITest("bayes-factor"), bootstrap=True)


def test_a_constant_column_is_independent_of_everything(rng):
    rows = np.column_stack([np.zeros(300, int), rng.integers(0, 5, 300)])
    data = Dataset.from_codes(rows, arities=[2, 5])
    for name in NAMES:
        assert RAI(name).fit(data).cpdag_.n_edges == 0


def test_correction_touches_bootstrap_samples_only():
    on, off = CITest("g2"), CITest("g2", correction=False)
    assert np.array_equal(on.rule(50, bootstrap=False).critical, off.rule(50, bootstrap=False).critical)
    raised, plain = (test.rule(50, bootstrap=True).critical[:, 1:] for test in (on, off))
    assert np.allclose(raised - plain, np.arange(1, raised.shape[1] + 1) / 2)


def test_critical_values():
    assert CITest("cmi", threshold=0.02).rule(100, bootstrap=False).critical[0, 7] == pytest.approx(2.0)
    assert CITest("cmi-c1", threshold=3.0).rule(100, bootstrap=False).critical[0, 4] == pytest.approx(6.0)
    assert CITest("cmi-c1").rule(100, bootstrap=False).critical[0, 2] == pytest.approx(1 / np.log(2))
    assert CITest("g2").rule(100, bootstrap=False).critical[0, 1] == pytest.approx(3.841458820694124 / 2)
    assert CITest("bayes-factor").rule(100, bootstrap=False).critical[0, 9] == 0
    assert CITest("bayes-factor").rule(100, bootstrap=True).critical[:, 0].tolist() == [np.inf, -np.inf]
    assert CITest(undecided="keep").rule(100, bootstrap=False).critical[:, 0].tolist() == [-np.inf, -np.inf]
    same = CITest("cmi-c1", colliders="same").rule(100, bootstrap=False).critical
    assert np.array_equal(same[0, 1:], same[1, 1:])


@pytest.mark.kernels
def test_df_beyond_the_table_goes_on_in_a_straight_line():
    """300 states each: a df near 300² where the table of critical values ends at 4 N."""
    rng = np.random.default_rng(0)
    data = Dataset.from_codes(rng.integers(0, 300, (600, 2)), arities=[300, 300])
    test = CITest("cmi-c1", threshold=1.0)
    value, df = fast(data, full_sample(data), log_cells(600), 0, 1, [], STRATA)
    assert df > 4 * 600
    evidence = Evidence(full_sample(data), log_cells(600), test.rule(600, bootstrap=False), workspace(data, 2))
    found = ci_test(evidence, 0, 1, np.array([-1]), 0, 0)
    assert found == pytest.approx(value - df / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": "chi"}, ["'chi'", "g2"]),
        ({"df": "some"}, ["'some'", "strata"]),
        ({"name": "g2", "threshold": 0.1}, ["g2", "threshold"]),
        ({"alpha": 1.5}, ["alpha", "1.5"]),
        ({"colliders": 0}, ["colliders", "0.05"]),
        ({"colliders": "none"}, ["colliders", "'none'"]),
        ({"ess": 0}, ["ess", "0"]),
        ({"undecided": "perhaps"}, ["'perhaps'", "keep"]),
        ({"threshold": -1.0}, ["threshold", "-1.0"]),
    ],
)
def test_errors_name_value_and_cure(settings, words):
    with pytest.raises(ValueError, match=r"choose|give|leave") as error:
        CITest(**settings)
    assert all(word in str(error.value) for word in words)


def test_oracle_refuses_what_is_no_dag():
    with pytest.raises(ValueError, match="needs a DAG"):
        Oracle(PDAG.from_edges("ab", undirected=[("a", "b")]))
