"""Bins: labels, cut points, Hartemink's merging and its naive twin, evidence, the estimator, the command line."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import brai
from brai import DataError, Dataset, Discretizer, OrderSearch
from brai.cli import cli
from brai.data.bins import bin_of, bins_of, labels_of, sorted_labels
from brai.data.cutting import Values, between, quantiles, widths
from brai.data.discretizing import _cost, cuts_of, way_of
from brai.data.merging import Joint, forest
from brai.data.states import as_label

FINITE = st.floats(-1e12, 1e12, allow_nan=False)
COLUMN = st.lists(st.one_of(FINITE, st.integers(-3, 3).map(float)), min_size=1, max_size=60)


def body(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n).round(1)
    weight = rng.normal(70, 10, n) + 0.3 * age
    pressure = rng.normal(100, 8, n) + 0.4 * weight
    return pd.DataFrame({"age": age, "weight": weight, "pressure": pressure, "sex": rng.choice(["f", "m"], n)})


# --- labels ---------------------------------------------------------------------------------------------


@given(st.lists(FINITE, min_size=1, max_size=9, unique=True).map(sorted), FINITE)
def test_every_number_is_in_exactly_one_bin(cuts, number):
    labels = labels_of(cuts)
    own = bins_of(labels)
    assert own.labels == labels  # in ascending order
    at = int(np.searchsorted(cuts, number, side="right"))
    assert bin_of(number, labels) == labels[at]
    assert [one for one in labels if bins_of((one,)).containing(number)] == [labels[at]]
    for cut in cuts:  # the lower end belongs to the bin; it is read back exactly
        assert bin_of(cut, labels) == labels[cuts.index(cut) + 1]


def test_labels_are_read():
    assert labels_of([18, 35.5]) == ("< 18", "[18, 35.5)", ">= 35.5")
    assert labels_of([]) == ("any number",)
    assert bin_of("42", labels_of([18, 35.5])) == ">= 35.5"
    assert as_label(42, (*labels_of([18]), "missing")) == ">= 18"
    assert as_label(None, (*labels_of([18]), "missing")) == "missing"
    assert [bin_of(x, ("(0.5, 2.0]", "(2.0, 3.0]")) for x in (0.5, 2, 3, 4)] == [
        None, "(0.5, 2.0]", "(2.0, 3.0]", None,
    ]  # fmt: skip
    for wrong in (True, math.inf, "inf", "abc", None, float("nan"), 10**400):
        assert bin_of(wrong, labels_of([18])) is None


def test_other_labels_are_no_bins():
    for labels in (("no", "yes"), ("1", "2"), ("< 5", "< 7"), ("[2, 1)",), (1, 2), ()):
        assert bins_of(labels) is None
    assert as_label(3, ("< 5", "no")) == 3


def test_states_that_are_bins_are_sorted_as_numbers():
    assert sorted_labels({"[5, 18)", "[18, 35)", "< 5", ">= 35"}) == ("< 5", "[5, 18)", "[18, 35)", ">= 35")
    data = Dataset.of({"x": ["[18, 35)", "[5, 18)", "missing"]})
    assert data.states == (("[5, 18)", "[18, 35)", "missing"),)


# --- cut points -----------------------------------------------------------------------------------------


@given(FINITE, FINITE, st.one_of(st.none(), FINITE))
def test_a_cut_separates_the_two_values(low, high, near):
    low, high = sorted((low, high))
    if low < high:
        assert low < between(low, high, near) <= high


def test_cuts_are_short_numbers():
    assert between(34.8213, 34.9127) == 34.9
    assert between(34, 35) == 35
    assert between(-0.3, 0.2) == 0
    assert between(0, 100, 20) == 20
    assert between(-1.7e308, 1.7e308) == 0
    assert between(1.0, np.nextafter(1.0, 2)) == np.nextafter(1.0, 2)
    assert between(5e-324, 1e-323) == 1e-323


def naive_quantiles(values, k):
    """The place nearest to each quantile, the lower one of two."""
    distinct = sorted(set(values))
    below = [sum(v < cut for v in values) for cut in distinct[1:]]
    if not below:
        return ()
    found = {min(range(len(below)), key=lambda i: abs(below[i] - len(values) * j / k)) + 1 for j in range(1, k)}
    return tuple(sorted(found))


@given(COLUMN, st.integers(2, 9))
def test_quantiles_are_those_of_the_twin(column, k):
    values = Values.of(np.array(column))
    assert quantiles(values.counts(), k) == naive_quantiles(column, k)


@given(COLUMN, st.integers(2, 9))
def test_widths_leave_no_bin_empty(column, k):
    values = Values.of(np.array(column))
    partition, ends = widths(values.distinct, k)
    assert len(partition) == len(ends) < k
    assert set(values.codes(partition)) == set(range(len(partition) + 1))
    for end in ends:  # each is one of the ends of equal width
        low, high = min(column), max(column)
        share = (end / 2 - low / 2) / (high / 2 - low / 2) * k
        assert abs(share - round(share)) < 1e-6


@pytest.mark.parametrize("method", ["quantile", "width"])
@given(column=COLUMN)
@settings(max_examples=40, deadline=None)
def test_transform_is_monotone_and_bins_cover(method, column):
    cut = Discretizer(columns={"x": f"{method}:4"}, encode="codes", resamples=0).fit({"x": column})
    points = sorted({*column, -1e300, 1e300, *cut.cut_points_["x"]})
    codes = cut.transform({"x": points})["x"]
    assert codes == sorted(codes)
    assert codes[0] == 0
    assert codes[-1] == len(cut.bins_["x"]) - 1
    seen = set(cut.transform({"x": column})["x"])
    assert seen == set(range(len(cut.bins_["x"])))


# --- Hartemink ------------------------------------------------------------------------------------------


def naive_information(a, b):
    pairs, n = list(zip(a, b, strict=True)), len(a)
    return sum(
        pairs.count(p) / n * math.log(pairs.count(p) * n / (a.count(p[0]) * b.count(p[1]))) for p in set(pairs)
    )


def naive_hartemink(columns, others, wanted):
    """As in the thesis: columns in turn try all pairs of neighbours and keep most total mutual information."""
    now = {name: list(own) for name, own in columns.items()}
    while any(len(set(own)) > wanted for own in now.values()):
        for name in sorted(now):
            if len(set(now[name])) <= wanted:
                continue
            best = None
            for i in range(max(now[name])):
                merged = [c - (c > i) for c in now[name]]
                rest = [own for other, own in {**now, **others}.items() if other != name]
                total = sum(naive_information(merged, own) for own in rest)
                if best is None or total > best[0] + 1e-10:
                    best = total, merged
            now[name] = best[1]
    return now


@pytest.mark.parametrize("seed", range(6))
def test_hartemink_is_that_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=60)
    columns = {"b": x, "a": np.sin(2 * x) + 0.3 * rng.normal(size=60), "c": rng.normal(size=60)}
    states = {"d": (x > 0.3).astype(int), "e": rng.integers(0, 3, 60)}
    joint = Joint({name: Values.of(own) for name, own in columns.items()}, states)
    start = {name: own.codes(quantiles(own.counts(), 8)).tolist() for name, own in joint.values.items()}
    expected = naive_hartemink(start, {name: own.tolist() for name, own in states.items()}, 3)
    found = joint.hartemink(dict.fromkeys(columns, 3), 8)
    for name, path in found.items():
        assert [len(own) for own in path] == list(range(7, 1, -1))
        assert joint.values[name].codes(path[-1]).tolist() == expected[name]


def test_merging_beside_others_that_are_held():
    """One column merges down to 2 bins: what the search over all pairs of neighbours finds, also with gaps."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=80)
    x[:5] = np.nan
    states = {"d": np.where(rng.random(80) < 0.1, -1, (x > 0.3) + 2 * (x > 1))}
    joint = Joint({"x": Values.of(x)}, states)
    fine = joint.fine("x", 7)
    path = joint.beside("x", fine, ["d"]).path(fine, 2)
    known = ~np.isnan(x) & (states["d"] >= 0)
    other = states["d"][known].tolist()
    for before, after in itertools.pairwise(path):
        options = [before[:i] + before[i + 1 :] for i in range(len(before))]
        values = [naive_information(joint.values["x"].codes(own)[known].tolist(), other) for own in options]
        assert values[options.index(after)] == pytest.approx(max(values), abs=1e-12)


def test_hartemink_needs_company():
    with pytest.raises(DataError, match="no other column to be compared with: use 'quantile'"):
        Discretizer("hartemink").fit({"x": np.arange(50) / 7})


# --- evidence -------------------------------------------------------------------------------------------


def naive_evidence(counts):
    def log_p(cells):
        a = 1 / cells.size
        return gammaln(1) - gammaln(1 + cells.sum()) + (gammaln(cells + a) - gammaln(a)).sum()

    return log_p(counts) - log_p(counts.sum(0)) - log_p(counts.sum(1))


def test_evidence_is_that_of_the_best_forest():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    codes = {
        name: (x + own * rng.normal(size=200) > 0).astype(int) for name, own in zip("bcd", (1, 2, 9), strict=True)
    }
    joint = Joint({"a": Values.of(x)}, codes)
    joint.put("a", joint.fine("a", 4))
    now = joint._codes
    pairs = {}
    for one, other in itertools.combinations("abcd", 2):
        counts = np.zeros((joint.size(one), joint.size(other)))
        np.add.at(counts, (now[one], now[other]), 1)
        pairs[one, other] = naive_evidence(counts)
    best = 0.0
    for n in range(4):
        for edges in itertools.combinations(pairs, n):
            groups = {v: {v} for v in "abcd"}
            for one, other in edges:
                if groups[one] is groups[other]:
                    break
                groups[one] |= groups[other]
                for v in groups[one]:
                    groups[v] = groups[one]
            else:
                best = max(best, sum(pairs[e] for e in edges))
    assert joint.evidence("a", [joint.partitions["a"]], ["b", "c", "d"]) == [pytest.approx(best)]


def test_forest_takes_no_edge_that_costs():
    assert forest([(2.0, 0, 1), (1.0, 1, 2), (0.5, 0, 2), (-1.0, 2, 3)]) == [(2.0, 0, 1), (1.0, 1, 2)]


def test_stronger_dependence_and_more_rows_get_more_bins():
    def bins(n, noise):
        rng = np.random.default_rng(0)
        x = rng.normal(size=n)
        cut = Discretizer(resamples=0).fit({"x": x, "y": x + noise * rng.normal(size=n)})
        return len(cut.bins_["x"])

    assert bins(300, 50) == 2
    assert bins(300, 2) < bins(300, 0.4)
    assert bins(300, 1) < bins(5000, 1)


def test_score_finds_thresholds_that_matter():
    rng = np.random.default_rng(0)
    dose = rng.uniform(0, 100, 3000)
    ill = np.where((dose > 20) & (dose < 45), rng.random(3000) < 0.9, rng.random(3000) < 0.1)
    cut = Discretizer("score").fit({"dose": dose, "ill": ill.astype(int).tolist()})
    assert np.allclose(cut.cut_points_["dose"], [20, 45], atol=1)
    assert cut.methods_ == {"dose": "score:3"}
    uneven = Discretizer("quantile").fit({"dose": dose, "ill": ill.astype(int).tolist()})
    assert len(uneven.bins_["dose"]) > 3


def test_chosen_cut_points_cost_their_number():
    x = np.random.default_rng(0).uniform(0, 1, 500)
    found, _ = cuts_of({"x": (way_of("score"), x)}, {"y": (x > 0.2).astype(int)})
    assert found["x"].merged == 20
    assert _cost(("score", (3, 5), 20)) == pytest.approx(math.log(math.comb(19, 2)))
    assert _cost(("quantile", (3, 5), None)) == 0


def test_numbers_of_bins_do_not_depend_on_units_or_order_of_columns():
    frame = body()
    one = Discretizer("score").fit(frame)
    other = Discretizer("score").fit(frame[["sex", "pressure", "age", "weight"]])
    assert one.cut_points_ == other.cut_points_
    assert one.cut_intervals_ == other.cut_intervals_
    logs = frame.assign(weight=np.log(frame["weight"]))
    codes = [Discretizer("score", encode="codes").fit_transform(own)["weight"].tolist() for own in (frame, logs)]
    assert codes[0] == codes[1]


# --- settings -------------------------------------------------------------------------------------------


def test_settings():
    assert str(way_of("quantile:4")) == "quantile:4"
    assert way_of(4) == way_of("quantile:4")
    assert way_of("score").bins is None
    assert way_of("hartemink:auto") == way_of("hartemink")
    assert way_of("18,40.5,65").cuts == (18.0, 40.5, 65.0)
    assert way_of(None) is way_of("none") is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("quantle:3", r"did you mean 'quantile'\?"),
        ("quantile:1", "asks for 1 bin: give 2 to 65535"),
        ([65, 18], "ascending"),
        ([1, math.inf], "finite"),
        ([], "finite numbers in ascending order"),
        (["a"], "cut points"),
        (True, "True"),
        ({"a": 1}, "cut points"),
    ],
)
def test_wrong_settings_are_told(given, message):
    with pytest.raises(DataError, match=message):
        way_of(given)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "bins"}, "choose one of 'quantile'"),
        ({"bins": 1}, "bins is 1"),
        ({"encode": "onehot"}, "choose 'labels' or 'codes'"),
        ({"resamples": -1}, "resamples is -1"),
        ({"columns": {"agee": 3}}, r"did you mean 'age'\?"),
        ({"columns": {"sex": 3}}, "column 'sex' does not hold numbers only"),
    ],
)
def test_wrong_arguments_are_told(settings, message):
    with pytest.raises(ValueError, match=message):
        Discretizer(**settings).fit(body(60))


# --- the estimator --------------------------------------------------------------------------------------


@parametrize_with_checks(
    [Discretizer(m, encode=e, resamples=2) for m in ("quantile", "score") for e in ("labels", "codes")]
)
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix for nan or inf")
def test_scikit_learn(estimator, check):
    check(estimator)


def test_tables_of_any_kind_give_the_same():
    frame = body(200)
    before = frame.copy(deep=True)
    cut = Discretizer(bins=3, columns={"weight": [60, 80], "pressure": None})
    expected = cut.fit_transform(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert expected["age"].dtype.ordered
    assert list(expected["weight"].cat.categories) == ["< 60", "[60, 80)", ">= 80"]
    assert expected["pressure"].equals(frame["pressure"])
    assert expected["sex"].equals(frame["sex"])
    labels = expected["age"].tolist()
    polars = pl.from_pandas(frame)
    columns = {name: frame[name].tolist() for name in frame}
    assert clone(cut).fit_transform(polars)["age"].to_list() == labels
    assert clone(cut).fit_transform(polars)["age"].dtype == pl.Enum(cut.bins_["age"])
    assert clone(cut).fit_transform(polars.to_arrow())["age"].to_pylist() == labels
    assert clone(cut).fit_transform(columns)["age"] == labels
    array = frame[["age", "weight"]].to_numpy()
    found = Discretizer(bins=3).fit_transform(array)
    assert found[:, 0].tolist() == labels
    mixed = clone(cut).fit_transform(Dataset.of(frame))
    assert mixed.kind == "mixed"
    assert mixed.to_dict()["age"] == labels
    measured = Discretizer(bins=3).fit_transform(Dataset.of(frame[["age", "weight"]]))
    assert measured.to_dict()["age"] == labels
    whole = Discretizer(bins=3, encode="codes").fit_transform(frame)["age"]
    assert whole.tolist() == expected["age"].cat.codes.tolist()


def test_names_and_repr():
    cut = Discretizer(bins=3).fit(body())
    assert list(cut.get_feature_names_out()) == ["age", "weight", "pressure", "sex"]
    assert str(Discretizer(bins=3)) == repr(Discretizer(bins=3))
    lines = str(cut).splitlines()
    assert lines[0].startswith("age: 3 bins (quantile:3), cut at 4")
    assert "bootstrap" in lines[-1]
    for name, points in cut.cut_points_.items():
        for (low, high), point in zip(cut.cut_intervals_[name], points, strict=True):
            assert low <= point <= high
            assert low < high
    assert brai.discretize.Discretizer is Discretizer


def test_intervals_of_cut_points_are_as_wide_as_they_should_be():
    """The median of N uniform numbers has the standard deviation ½ / √N."""
    x = np.random.default_rng(0).uniform(0, 1, 400)
    ((low, high),) = Discretizer(bins=2, resamples=400).fit({"x": x}).cut_intervals_["x"]
    assert 0.6 < (high - low) / (2 * 1.645 * 0.5 / 20) < 1.5


def test_constant_columns_ties_and_missing_values():
    n = 120
    ties = np.where(np.arange(n) < 100, 0.5, np.arange(n) / 3)
    frame = pd.DataFrame({"still": np.full(n, 2.5), "ties": ties, "gaps": np.arange(n) / 7})
    frame.loc[3:9, "gaps"] = np.nan
    cut = Discretizer(bins=4, columns={"gaps": "score"}).fit(frame)
    out = cut.transform(frame)
    assert cut.bins_["still"] == ("any number",)
    assert len(cut.bins_["ties"]) < 4
    assert out["ties"][:100].nunique() == 1
    assert out["gaps"].isna().tolist() == frame["gaps"].isna().tolist()
    assert cut.transform(pl.from_pandas(frame))["gaps"].null_count() == 7
    codes = clone(cut).set_params(encode="codes").fit_transform(frame)["gaps"]
    assert codes.isna().sum() == 7


def test_infinite_and_empty_columns_are_told():
    frame = body(60)
    frame.loc[4, "weight"] = np.inf
    with pytest.raises(DataError, match=r"infinite values in 'weight' \(row 5\): correct them, or drop"):
        Discretizer().fit(frame)
    with pytest.raises(DataError, match=r"infinite values in 'weight' \(row 5\)"):
        Discretizer().fit(body(60)).transform(frame)
    with pytest.raises(DataError, match="column 'x' has no values that could be cut: drop it"):
        Discretizer(columns={"x": 3}).fit({"x": [float("nan")] * 5, "y": [1, 2, 3, 4, 5]})
    with pytest.raises(DataError, match="column 'y' has 2 rows, but column 'x' has 3"):
        Discretizer().fit({"x": [1.5, 2, 3], "y": [1, 2]})


def test_many_rows_are_compared_on_some():
    rng = np.random.default_rng(0)
    x = rng.normal(size=25_000)
    chosen = {"x": (way_of("quantile"), x), "y": (way_of("quantile:3"), x + rng.normal(size=25_000))}
    found, _ = cuts_of(chosen, {})
    values = Values.of(x)
    assert found["x"].partition == quantiles(
        values.counts(), len(found["x"].labels)
    )  # at the quantiles of all rows


# --- tables and models ----------------------------------------------------------------------------------


def test_datasets():
    frame = body()
    data = Dataset.of(frame, discretize="quantile:4")
    assert data.kind == "discrete"
    assert data.states[:1] == (Discretizer(bins=4).fit(frame).bins_["age"],)
    assert data.states[3] == ("f", "m")
    assert np.ptp(np.bincount(data.codes[0])) <= 4
    assert Dataset.of(frame, discretize={"age": [40]}).kind == "mixed"
    left = Dataset.of(frame, discretize="quantile:3", kinds={"age": "continuous"})
    assert left.kinds == ("continuous", "discrete", "discrete", "discrete")
    with pytest.raises(DataError, match="column 'age' has bins in discretize=, and a kind or states"):
        Dataset.of(frame, discretize={"age": 3}, kinds={"age": "continuous"})
    with pytest.raises(DataError, match="like an identifier"):
        Dataset.of({"row": range(50), "x": np.arange(50) / 7}, discretize="quantile:3")
    gaps = frame.assign(age=frame["age"].where(frame.index > 3))
    assert Dataset.of(gaps, discretize="quantile:3", missing="label").states[0][-1] == "missing"
    with pytest.warns(UserWarning, match="4 of 400 rows dropped"):
        assert Dataset.of(gaps, discretize="quantile:3", missing="drop").n_rows == 396


def test_models_understand_numbers(tmp_path):
    frame = body()
    model = OrderSearch().fit(Dataset.of(frame, discretize={"age": [40, 60], "*": "quantile:3"}))
    brai.save(model, tmp_path / "model.brai")
    for own in (model, brai.load(tmp_path / "model.brai")):
        rows = own.score_samples(frame)
        again = own.score_samples(Dataset.of(frame, discretize={"age": [40, 60], "*": "quantile:3"}))
        assert rows.tolist() == again.tolist()
        outside = own.score_samples(
            {"age": [-5, 999], "weight": [1, 500], "pressure": [1, 500], "sex": ["f", "f"]}
        )
        assert np.isfinite(outside).all()
        network = own.network()
        for what in ("given", "do"):
            p = network.marginal("pressure", **{what: {"age": "[40, 60)"}})
            assert p.tolist() == network.marginal("pressure", **{what: {"age": 40}}).tolist()
            assert p.tolist() == network.marginal("pressure", **{what: {"age": "59.9"}}).tolist()
        effect = own.causal_effect("age", "pressure", change=(25, 70))
        assert effect.change == ("< 40", ">= 60")
        with pytest.raises(
            ValueError, match="61 and 62 are in the same bin of 'age', '>= 60': give values of two"
        ):
            own.causal_effect("age", "pressure", change=(61, 62))
    network = model.network()
    network.write_bif(tmp_path / "model.bif")
    read = brai.Network.read_bif(tmp_path / "model.bif")
    assert read.states == network.states
    assert read.marginal("pressure", given={"age": 40}).sum() == pytest.approx(1)


def test_intervals_of_pandas_are_understood():
    frame = body()
    cut = frame.assign(age=pd.cut(frame["age"], [0, 40, 60, 100]), weight=0, pressure=0)
    data = Dataset.of(cut)
    new = Dataset.conforming(frame.assign(weight=0, pressure=0), data)
    assert new.codes.tolist() == data.codes.tolist()


def test_a_pipeline():
    frame = body()
    pipeline = make_pipeline(Discretizer(bins=3, resamples=0), OrderSearch()).fit(frame)
    assert np.isfinite(pipeline.score(body(50, seed=1)))


# --- the command line -----------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    body().round(1).to_csv(tmp_path / "body.csv", index=False)
    return tmp_path / "body.csv"


def run(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_learn_and_query(table, tmp_path):
    (tmp_path / "cuts.toml").write_text('age = [40, 60]\n"*" = "quantile:2"\n')
    out = tmp_path / "out"
    quick = ("-k", 2, "--quiet", "-o", out)
    done = run("learn", table, "--discretize", tmp_path / "cuts.toml", "--discretize", "weight=width:3", *quick)
    assert done.exit_code == 0, done.output
    assert "age is cut at 40, 60" in done.output
    assert "Bins lose information" in done.output
    model = brai.load(out / "model.brai")
    states = dict(zip(model._train.names, model._train.states, strict=True))
    assert states["age"] == ("< 40", "[40, 60)", ">= 60")
    assert [len(states[name]) for name in ("weight", "pressure")] == [3, 2]
    by_number = json.loads(run("query", out, "marginal", "pressure", "age=42", "--json").stdout)
    by_label = json.loads(run("query", out, "marginal", "pressure", "age=[40, 60)", "--json").stdout)
    assert by_number["states"] == by_label["states"]
    effect = json.loads(run("query", out, "effect", "age", "pressure", "--change", "30", "70", "--json").stdout)
    assert effect["change"] == ["< 40", ">= 60"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("quantle:4", "--discretize is 'quantle:4' (did you mean 'quantile'?)"),
        ("age=quantile:1", "--discretize of column 'age' asks for 1 bin"),
        ("agee=3,4", "there is no column 'agee' (did you mean 'age'?)"),
        ("nothing.toml", "cannot read nothing.toml"),
    ],
)
def test_wrong_words_are_told(table, word, message):
    done = run("learn", table, "--discretize", word)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)
