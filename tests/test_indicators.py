"""Columns that say where cells are missing."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import brai
from brai import BRAI, DataError, Dataset, HillClimbing, Knowledge, with_indicators
from brai.cli.learn import learn
from brai.graphs.indicators import indicator_of

pytestmark = pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning")


def table(n=600, seed=0):
    """a → b; c is missing more often where b is yes; b has missing cells, too."""
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 2, (2, n))
    b = np.where(rng.random(n) < 0.8, a, 1 - a)
    words = np.array(["no", "yes"], object)
    X = {"a": words[a], "b": words[b], "c": words[c], "d": rng.normal(size=n).astype(object)}
    X["c"] = np.where(rng.random(n) < np.where(b == 1, 0.6, 0.1), None, X["c"])
    X["b"] = np.where(rng.random(n) < 0.3, None, X["b"])
    return {name: own.tolist() for name, own in X.items()}, words[b]


def without(X, *names):
    return {name: own for name, own in X.items() if name not in names}


def test_the_added_columns_are_leaves_without_missing_cells():
    X, _ = table()
    data, known = with_indicators(X, {"required": [("a", "b")], "leaves": ["c"]})
    assert data.names == ("a", "b", "c", "d", "b missing", "c missing")
    assert data.missing.sum(axis=1).tolist()[4:] == [0, 0]
    assert data.to_dict()["b missing"] == ["yes" if own is None else "no" for own in X["b"]]
    assert without(data.to_dict(), "b missing", "c missing") == X
    assert known.required == (("a", "b"),)
    assert known.leaves == ("c", "b missing", "c missing")
    assert known.forbidden == (("b", "b missing"), ("c", "c missing"))


@pytest.mark.parametrize("names", [("a", "b", "c"), ("d", "e"), ("b", "d", "e")])
@pytest.mark.parametrize("transform", ["none", "normal-scores"])
def test_tables_of_all_kinds(names, transform):
    X, _ = table()
    X["e"] = [None if i % 5 == 0 else i % 7 + 0.5 for i in range(600)]
    X = {name: X[name] for name in names}
    data, _ = with_indicators(Dataset.of(X, transform=transform))
    again = data.to_dict()
    for name, own in X.items():
        for value, found in zip(own, again[name], strict=True):
            assert (
                found is None
                if value is None
                else found == pytest.approx(value)
                if name in "de"
                else found == value
            )
    assert data.table.kind == ("discrete" if "d" not in names else "mixed")


@pytest.mark.slow
@pytest.mark.parametrize("names", [("a", "b", "c"), ("b", "d")])
def test_learners_take_them(names):
    X, _ = table(150)
    data, known = with_indicators({name: X[name] for name in names})
    model = HillClimbing(knowledge=known).fit(data)
    assert model.dag_.names == data.names
    assert not known.violations(model.dag_)


def test_columns_missing_in_the_same_rows_share_a_leaf():
    X, _ = table()
    X["f"] = [None if own is None else i % 3 for i, own in enumerate(X["c"])]
    data, known = with_indicators(X)
    assert data.names[5:] == ("b missing", "c missing")
    assert set(known.forbidden) == {("b", "b missing"), ("c", "c missing"), ("f", "c missing")}


def test_only_columns_with_enough_missing_cells():
    X, _ = table()
    assert with_indicators(X, least=0.32)[0].names[4:] == ("c missing",)
    assert with_indicators(X, least=1)[0].names == ("a", "b", "c", "d")
    whole, known = with_indicators(without(X, "b", "c"), {"roots": ["a"]})
    assert (whole.names, known) == (("a", "d"), Knowledge(roots=["a"]))
    with pytest.raises(DataError, match="least is 2"):
        with_indicators(X, least=2)
    with pytest.raises(DataError, match="a column 'c missing' already"):
        with_indicators({**X, "c missing": ["x"] * 600})


def test_names():
    assert indicator_of("c missing", ("c", "c missing")) == "c"
    assert indicator_of("x missing", ("c", "x missing")) is None
    assert indicator_of("c", ("c",)) is None
    assert brai.with_indicators is with_indicators


@pytest.mark.slow
def test_edges_show_what_missingness_depends_on_and_imputation_uses_it():
    X, truth = table(2000)
    X = without(X, "d")
    data, known = with_indicators(X)
    model = BRAI(random_state=0, n_draws=200, knowledge=known).fit(data)
    assert model.edge_probability("b", "c missing") > 0.95
    assert model.edge_probability("c", "c missing") == 0
    assert model.adjacency_probability("a", "b missing") < 0.3
    names = model.dag_.names
    assert model.edge_probabilities()[[names.index("b missing"), names.index("c missing")]].max() == 0
    plain = BRAI(random_state=0, n_draws=200).fit(X)
    wrong = {}
    for way, own in (("with", model), ("plain", plain)):
        cells = [cell for cell in own.impute(n=60).cells if cell.column == "b"]
        wrong[way] = np.mean([1 - (cell.states or {}).get(truth[cell.row], 0.0) for cell in cells])
    assert wrong["with"] < wrong["plain"] - 0.02


def test_the_command_line(tmp_path):
    X, _ = table(100)
    path = tmp_path / "t.csv"
    rows = zip(*(X[name] for name in "abc"), strict=True)
    path.write_text("a,b,c\n" + "".join(",".join(own or "" for own in row) + "\n" for row in rows))
    asked = [str(path), "--missing-indicators", "--posterior-from", "tree", "--n-draws", "20", "--json", "--quiet"]
    found = CliRunner().invoke(learn, asked)
    assert found.exit_code == 0, found.exception
    told = json.loads(found.stdout)
    assert told["variables"] == ["a", "b", "c", "b missing", "c missing"]
    assert told["missing"]["columns"].keys() == {"b", "c"}
    found = CliRunner().invoke(learn, [*asked, "--missing", "label"])
    assert found.exit_code == 0, found.exception
    assert "--missing-indicators adds no column" in found.stderr
