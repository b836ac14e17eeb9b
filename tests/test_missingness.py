"""What summary and report say about missing cells."""

import json

import numpy as np
import pytest

from brai import BRAI, Dataset, HillClimbing, report, with_indicators
from brai.data.incomplete import Incomplete
from brai.show.missingness import counts, in_words, percent
from brai.show.report import missingness
from brai.show.report.build import page_data
from brai.show.report.missingness import blocks, dependences, panel, together
from brai.show.summary import as_text, summary

pytestmark = pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning")


def cohort(n=1500, seed=0, null=False):
    """income depends on sex and is missing by sex; bp and stage are missing together; weight by age."""
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, n), rng.normal(55, 12, n).round()
    X = {
        "sex": np.array(["f", "m"], object)[sex],
        "age": age.astype(object),
        "income": (2000 + 500 * sex + rng.normal(0, 300, n)).round().astype(object),
        "bp": (100 + 0.5 * age + rng.normal(0, 9, n)).round().astype(object),
        "stage": np.array(["i", "ii", "iii"], object)[rng.integers(0, 3, n)],
        "weight": rng.normal(80, 9, n).round(1).astype(object),
    }
    together = rng.random(n) < 0.1
    gone = {
        "income": rng.random(n) < (0.15 if null else np.where(sex == 0, 0.22, 0.06)),
        "bp": rng.random(n) < 0.1 if null else together,
        "stage": rng.random(n) < 0.1 if null else together,
        "weight": rng.random(n) < (0.1 if null else np.where(age > 63, 0.3, 0.05)),
    }
    return {
        name: [None if name in gone and gone[name][i] else v for i, v in enumerate(own)] for name, own in X.items()
    }


DATA = Dataset.of(cohort())


def test_counts_in_words():
    found = counts(DATA)
    assert found["cells"] == DATA.missing.sum() == sum(own.count(None) for own in cohort().values())
    assert found["of"] == 6 * 1500
    assert found["rows"] == DATA.missing.any(axis=0).sum()
    assert set(found["columns"]) == {"income", "bp", "stage", "weight"}
    assert in_words(found).startswith(f"{found['cells']} of 9000 cells missing (")
    assert counts(Dataset.of({"a": [0, 1]})) is None
    assert [percent(p) for p in (0, 0.004, 0.0944, 0.2, 1)] == ["0 %", "0.4 %", "9.4 %", "20 %", "100 %"]


def test_what_missingness_depends_on_in_words():
    found, others = dependences(DATA)
    told = {DATA.names[own.column]: own for own in found}
    assert set(told) == {"income", "weight"}
    assert {DATA.names[v] for v in others} == {"bp", "stage"}
    income, weight = told["income"], told["weight"]
    f = np.array(cohort()["sex"]) == "f"
    gone = DATA.missing[DATA.names.index("income")]
    assert income.inside == pytest.approx(gone[f].mean())
    assert income.outside == pytest.approx(gone[~f].mean())
    words = income.in_words(DATA.names)
    assert words == (
        f"income is missing more often where sex = f: {percent(gone[f].mean())} against {percent(gone[~f].mean())}"
    )
    assert weight.in_words(DATA.names).startswith("weight is missing more often where age is 63 or more: ")
    assert income.p < 1e-6


def test_false_findings_are_rare():
    found = [len(dependences(Dataset.of(cohort(200, seed, null=True)))[0]) for seed in range(60)]
    assert sum(map(bool, found)) <= 7  # 3 are expected at 5 %


def test_p_values_are_those_of_permutations():
    table = np.array([[2.0, 30], [0, 25], [6, 12], [1, 4]])
    rng = np.random.default_rng(0)
    states, gone = np.repeat(np.arange(4), table.sum(axis=1).astype(int)), np.zeros(80, int)
    gone[:9] = 1
    own = []
    for _ in range(4000):
        rng.shuffle(gone)
        one = np.bincount(states[gone == 1], minlength=4)
        own.append(missingness._g(np.stack([one, table.sum(axis=1) - one], axis=1)))
    exact = np.mean(np.array(own) >= missingness._g(table) - 1e-9)
    assert missingness._p_value(table, 1, 2) == pytest.approx(exact, rel=0.35)


def test_columns_missing_together():
    assert [[DATA.names[v] for v in own] for own in blocks(DATA)] == [["bp", "stage"]]
    assert together(DATA) == []
    rng = np.random.default_rng(1)
    missing = rng.random((3, 1000)) < 0.2
    missing[1] = missing[0] ^ (rng.random(1000) < 0.05)
    found = together(Incomplete(Dataset(rng.integers(0, 2, (3, 1000)), ("a", "b", "c"), ((0, 1),) * 3), missing))
    assert [(own.first, own.second) for own in found] == [(0, 1)]
    assert found[0].phi == pytest.approx(np.corrcoef(missing[0], missing[1])[0, 1])
    assert found[0].both == (missing[0] & missing[1]).sum()


def test_indicators_do_not_explain_themselves():
    data, _ = with_indicators(cohort())
    assert all(" missing" not in data.names[own.on] for own in dependences(data)[0])


def test_wide_and_long_tables_are_looked_at_in_part(monkeypatch):
    monkeypatch.setattr(missingness, "ROWS", (300, 400))
    monkeypatch.setattr(missingness, "INDICATORS", 2)
    found, others = dependences(DATA)
    assert len(found) + len(others) == 2


KINDS = {
    "discrete": ["sex", "stage"],
    "gaussian": ["age", "income", "bp", "weight"],
    "mixed": ["sex", "age", "income", "bp", "stage", "weight"],
}


@pytest.fixture(scope="module", params=list(KINDS))
def fitted(request):
    X = {name: own for name, own in cohort(400).items() if name in KINDS[request.param]}
    return request.param, BRAI(random_state=0, n_draws=25).fit(X)


def test_report_and_summary_of_all_kinds(fitted, tmp_path):
    kind, model = fitted
    assert model._train.kind == f"incomplete-{kind}"
    data = page_data(model)
    json.dumps(data, allow_nan=False)
    own = data["missing"]
    assert own["cells"] == model._train.missing.sum()
    assert own["tables"] == len(model._train.draws)
    assert {data["names"][i] for i, _ in own["shares"]} == {*KINDS[kind]} - {"sex", "age"}
    assert 0 < len(own["imputed"]) <= 50
    assert "missing at random" in own["assumed"]
    information = model.missing_information()
    for row in data["pairs"]:
        assert row[9] == round(float(information[row[0], row[1]]), 4)
    found = summary(model, model._train.n_rows, model._posterior(), {})
    assert found["missing"]["completed_tables"] == len(model._train.draws)
    assert "missing_information" in found["posterior"]["edges"][0]
    found["posterior"] |= {"k": 1}
    text = as_text(found)
    assert f"{own['cells']} of {own['of']} cells missing" in text
    assert f"imputed in {own['tables']} completed tables" in text
    assert "averaged over the completed tables" in text
    assert (", measurements\n" in text) == (kind == "gaussian")
    assert report.write(model, tmp_path / "r.html").stat().st_size < 300_000


def test_the_most_uncertain_cells_come_first(fitted):
    _, model = fitted
    names = tuple(map(str, model.feature_names_in_))
    own = panel(model, names, cells=True)["imputed"]
    shares = [p for *_, p, _ in own if p is not None]
    assert shares == sorted(shares)
    row, at, *_ = own[0]
    assert model._train.missing[model._train.names.index(names[at]), row - 1]
    assert panel(model, names, cells=False)["imputed"] == []
    assert page_data(model, pictures=0)["missing"]["imputed"] == []


def test_complete_tables_have_no_panel():
    model = HillClimbing().fit({"a": [0, 1] * 20, "b": [0, 1] * 20})
    data = page_data(model)
    assert data["missing"] is None
    assert data["pairs"][0][9] is None
