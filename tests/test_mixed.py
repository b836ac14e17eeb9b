"""Categories, ordered states and measurements in one table: intake, scores, chains, prediction, bad input."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

import naive
from all_dags import all_dags
from brai import (
    BRAI,
    MMHC,
    PDAG,
    RAI,
    Bootstrap,
    CITest,
    Dataset,
    Exact,
    HillClimbing,
    Knowledge,
    OrderSearch,
    exact,
    load,
    save,
)
from brai.graphs.pdag import families_of
from brai.kernels.interface import NO_RULE, Evidence, begin, test, turn
from brai.kinds import kind_of
from brai.kinds.gaussian import bge
from brai.kinds.mixed.network import MixedNetwork
from brai.kinds.mixed.variables import Variable
from brai.kinds.scores import FamilyScores
from brai.posterior.prediction import log_predictive
from brai.runtime.jit import njit

kernels = pytest.mark.kernels

KINDS = {"a": "discrete", "b": "discrete", "g": "ordered", "m": "continuous", "w": "continuous"}


def columns(rng, n=60):
    """a → b, a → m → w, m → g: three states, two states, two measurements, four ordered states."""
    a = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    b = (rng.random(n) < np.array([0.2, 0.5, 0.8])[a]).astype(int)
    m = np.array([0.0, 1.0, -0.5])[a] + rng.normal(size=n)
    w = 0.7 * m + rng.normal(size=n)
    g = np.digitize(m + rng.normal(size=n), [-1, 0, 1])
    return {
        "a": np.array(["x", "y", "z"])[a].tolist(),
        "b": np.array(["no", "yes"])[b].tolist(),
        "g": g.tolist(),
        "m": (50 + 12 * m).tolist(),
        "w": (0.001 * w).tolist(),
    }


def mixed(rng, n=60):
    return Dataset.of(columns(rng, n), kinds=KINDS)


# --- intake ---


def test_columns_of_a_dict():
    fractions = [0.5, 1.25, 2.0, 3.5] * 10
    table = {
        "fractions": fractions,
        "many": list(range(20)) * 2,
        "few": [3, 1, 2, 1] * 10,
        "two": [0, 1] * 20,
        "text": ["u", "v"] * 20,
        "truth": [True, False] * 20,
        "same": [7] * 40,
    }
    data = Dataset.of(table)
    expected = ("continuous", "continuous", "ordered", "discrete", "discrete", "discrete", "continuous")
    assert data.kind == "mixed"
    assert data.kinds == expected
    assert data.states_of(2) == (1, 2, 3)
    assert data.states_of(0) is None
    assert repr(data) == "Mixed(40 rows, 7 variables: 3 categories, 1 ordered, 3 measurements)"
    assert data.to_dict()["text"] == table["text"]
    assert data.to_dict()["fractions"] == fractions


def test_few_integers_are_labels_if_nothing_is_measured():
    """Twelve different integers are the limit of labels; the thirteenth makes a measurement."""
    assert Dataset.of({"a": list(range(12)) * 2, "b": [0, 1] * 12}).kind == "discrete"
    assert Dataset.of({"a": list(range(13)) * 2, "b": [0, 1] * 13}).kinds == ("continuous", "discrete")


def test_columns_of_arrays():
    rng = np.random.default_rng(0)
    numbers = np.column_stack([rng.normal(size=40), rng.integers(0, 2, 40), rng.integers(0, 4, 40)])
    assert Dataset.of(numbers).kinds == ("continuous", "discrete", "ordered")
    cells = np.empty((40, 2), object)
    cells[:, 0], cells[:, 1] = numbers[:, 0].tolist(), ["u", "v"] * 20
    assert Dataset.of(cells).kinds == ("continuous", "discrete")
    with_a_hole = np.ma.masked_array(np.column_stack([numbers[:, 0], numbers[:, 1]]))
    with_a_hole[3, 0] = np.ma.masked
    with pytest.warns(UserWarning, match="1 of 40 rows dropped"):
        assert Dataset.of(with_a_hole, missing="drop").n_rows == 39


def test_the_order_of_states_in_frames():
    import pandas
    import polars

    m, size = [0.5, 1.5, 2.25, 3.0] * 5, ["small", "large", "medium", "small"] * 5
    order = ["small", "medium", "large"]
    tables = [
        pandas.DataFrame({"m": m, "size": pandas.Categorical(size, order, ordered=True)}),
        polars.DataFrame({"m": m, "size": polars.Series(size, dtype=polars.Enum(order))}),
    ]
    for table in tables:
        data = Dataset.of(table)
        assert data.kinds == ("continuous", "ordered")
        assert data.states_of(1) == tuple(order)
        column = data.design[1]
        assert column[0] < column[2] < column[1]
        assert Dataset.of(table, kinds={"size": "discrete"}).kinds == ("continuous", "discrete")
    loose = [
        pandas.DataFrame({"m": m, "size": pandas.Categorical(size, order)}),
        polars.DataFrame({"m": m, "size": polars.Series(size, dtype=polars.Categorical)}),
        polars.DataFrame({"m": m, "size": size}),
    ]
    for table in loose:
        assert Dataset.of(table).kinds == ("continuous", "discrete")


def test_an_order_given_in_states():
    table = {"m": [0.5, 1.5, 2.25, 3.0] * 5, "size": ["small", "large", "medium", "small"] * 5}
    order = ["small", "medium", "large"]
    data = Dataset.of(table, kinds={"size": "ordered"}, states={"size": order})
    assert data.kinds == ("continuous", "ordered")
    assert data.states_of(1) == tuple(order)
    assert data.design[1, 0] < data.design[1, 2] < data.design[1, 1]
    back = Dataset.of(table, kinds={"size": "ordered"}, states={"size": order[::-1]})
    assert back.design[1] == pytest.approx(-data.design[1])
    alphabetic = Dataset.of(table, kinds={"size": "ordered"})
    assert alphabetic.states_of(1) == ("large", "medium", "small")
    stated = Dataset.of({"m": table["m"], "n": [1, 2, 3, 1] * 5}, states={"n": [3, 1, 2]})
    assert stated.kinds == ("continuous", "discrete")
    ordered = Dataset.of({"m": table["m"], "n": [1, 2, 3, 1] * 5}, states={"n": [3, 1, 2]}, kinds={"n": "ordered"})
    assert ordered.design[1, 2] < ordered.design[1, 0] < ordered.design[1, 1]


def test_kinds_decide():
    table = {
        "m": [0.5, 1.5, 2.25, 3.0] * 10,
        "n": [0, 1, 2, 3] * 10,
        "age": list(range(20)) * 2,
        "t": ["u", "v"] * 20,
    }
    data = Dataset.of(table, kinds={"n": "continuous", "age": "discrete", "m": "continuous", "t": "ordered"})
    assert data.kinds == ("continuous", "continuous", "discrete", "ordered")
    assert len(data.states_of(2)) == 20
    for kinds, message in (
        ({"t": "continuous"}, "column 't' does not hold numbers only"),
        ({"t": "nominal"}, "the kind of 't' is 'nominal': choose 'discrete', 'ordered' or 'continuous'"),
        ({"agee": "discrete"}, r"no column 'agee' \(did you mean 'age'"),
        (["t"], "kinds= is of type list: give a dict"),
        ({"m": "discrete"}, "column 'm' holds 0.5, which is not an integer"),
    ):
        with pytest.raises(ValueError, match=message):
            Dataset.of(table, kinds=kinds)


def test_frames_and_files_agree(tmp_path, rng):
    import pandas
    import polars
    import pyarrow
    import pyarrow.parquet

    table = columns(rng)
    frame = pandas.DataFrame(table)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv.gz", index=False, sep="\t")
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "t.parquet")
    tables = [table, frame, polars.DataFrame(table), pyarrow.table(table)]
    expected = Dataset.of(table)
    assert expected.kinds == ("discrete", "discrete", "ordered", "continuous", "continuous")
    for other in (*tables, tmp_path / "t.csv", tmp_path / "t.tsv.gz", tmp_path / "t.parquet"):
        data = Dataset.of(other)
        assert data.signature() == expected.signature()
        assert np.array_equal(data.design, expected.design)
    assert Dataset.of([list(row) for row in zip(*table.values(), strict=True)]).kinds == expected.kinds


def test_all_discrete_tables_stay_as_they_were():
    import pandas

    size = ["small", "large", "medium", "small"] * 5
    table = pandas.DataFrame(
        {
            "size": pandas.Categorical(size, ["small", "medium", "large"], ordered=True),
            "level": [1, 2, 3, 4] * 5,
            "ill": ["no", "yes"] * 10,
        }
    )
    data = Dataset.of(table)
    assert type(data) is Dataset
    assert data.states == (("small", "medium", "large"), (1, 2, 3, 4), ("no", "yes"))
    loose = table.assign(size=table["size"].cat.as_unordered())
    assert Dataset.of(loose).signature() == data.signature()
    assert Dataset.of(table, kinds={"level": "ordered"}).signature() == data.signature()


def test_measurements_far_from_normal_are_ranked(rng):
    skewed = np.exp(2 * rng.normal(size=200))
    table = {"t": rng.choice(["u", "v"], 200).tolist(), "normal": rng.normal(size=200), "skewed": skewed}
    data = Dataset.of(table)
    assert data.ranked == {"skewed"}
    assert data.design[2] == pytest.approx(ndtri((rankdata(skewed) - 0.5) / 200), rel=0.02)
    assert data.design[1] == pytest.approx((table["normal"] - table["normal"].mean()) / table["normal"].std())
    assert data.to_dict()["skewed"] == skewed.tolist()
    assert Dataset.of(table, transform="normal-scores").ranked == {"normal", "skewed"}
    other = Dataset.of(table | {"skewed": np.log(skewed)}, transform="normal-scores")
    assert other.design[2] == pytest.approx(data.design[2])


def test_missing_values_of_any_kind():
    table = {"m": [0.5, None, 2.5, 3.0], "t": ["u", "v", None, "u"], "w": [1.5, 2.5, 3.0, math.nan]}
    with pytest.raises(ValueError, match=r"missing value"):
        Dataset.of(table, missing="error")
    with pytest.warns(UserWarning, match="3 of 4 rows dropped"):
        data = Dataset.of(table, missing="drop")
    assert data.to_dict() == {"m": [0.5], "t": ["u"], "w": [1.5]}
    labelled = Dataset.of({"m": [0.5, 1.0, 2.5], "t": ["u", "v", None]}, missing="label")
    assert labelled.states_of(1) == ("u", "v", "missing")


# --- scores, against plain numpy ---


def contrasts(data, v):
    """(rows, columns): standardised; whitened indicators of a category, by another choice of columns."""
    own, n = data.columns()[v], data.n_rows
    if data.kinds[v] == "continuous":
        return ((own - own.mean()) / own.std())[:, None]
    if data.kinds[v] == "ordered":
        score = ndtri((rankdata(own) - 0.5) / n)
        return ((score - score.mean()) / score.std())[:, None]
    shown = (own[:, None] == np.arange(1, len(data.states_of(v)))).astype(float)
    shown -= shown.mean(axis=0)
    return np.linalg.solve(np.linalg.cholesky(shown.T @ shown / n), shown.T).T


class Twin:
    """F(S) = BD(D) + G(S) - G(D), literally."""

    def __init__(self, data, ess=1.0):
        self.data, self.ess = data, ess
        blocks = [contrasts(data, v) for v in range(data.n_variables)]
        ends = np.cumsum([0, *[own.shape[1] for own in blocks]])
        self.rows, self.ends = np.hstack(blocks), ends
        self.prior = bge.Prior.of(int(ends[-1]), ess)

    def columns(self, variables):
        return [c for v in variables for c in range(self.ends[v], self.ends[v + 1])]

    def normal(self, variables):
        return bge.log_marginal(self.rows, self.columns(variables), self.prior)

    def table(self, categories):
        codes = np.array([self.data.columns()[v] for v in categories]).reshape(len(categories), self.data.n_rows)
        cell = self.ess / math.prod(len(self.data.states_of(v)) for v in categories)
        counts = Counter(map(tuple, codes.T.tolist())).values()
        cells = sum(math.lgamma(n + cell) - math.lgamma(cell) for n in counts)
        return cells + math.lgamma(self.ess) - math.lgamma(self.ess + self.data.n_rows)

    def of_set(self, variables):
        categories = [v for v in variables if self.data.kinds[v] == "discrete"]
        return self.table(categories) + self.normal(variables) - self.normal(categories)

    def location(self, x, parents):
        return self.of_set([x, *parents]) - self.of_set(parents)

    def dg(self, x, parents):
        return self.normal([x, *parents]) - self.normal(parents)

    def bic(self, x, parents):
        """The likelihood of a multivariate regression, column by column, and its number of parameters."""
        own, given, n = self.columns([x]), self.columns(parents), self.data.n_rows
        total = 0.0
        for i, c in enumerate(own):
            z = np.column_stack([np.ones(n), self.rows[:, [*given, *own[:i]]]])
            left = self.rows[:, c] - z @ np.linalg.lstsq(z, self.rows[:, c], rcond=None)[0]
            total += -n / 2 * (math.log(2 * math.pi * left.var()) + 1) - (z.shape[1] + 1) / 2 * math.log(n)
        return total


def all_families(d):
    return [(x, own) for x in range(d) for n in range(d) for own in combinations(set(range(d)) - {x}, n)]


@kernels
@pytest.mark.parametrize("ess", [0.5, 1.0, 7.0])
@pytest.mark.parametrize("score", ["location", "dg", "bic"])
def test_scores_equal_their_twins(rng, score, ess):
    data = mixed(rng)
    twin, families = Twin(data, ess), all_families(5)
    found = FamilyScores(data, score, ess).families(families)
    assert found == pytest.approx([getattr(twin, score)(x, own) for x, own in families], abs=1e-6)


@kernels
def test_families_of_one_kind_have_the_score_of_that_kind(rng):
    data = mixed(rng)
    categories = Dataset.of({name: data.to_dict()[name] for name in ("a", "b")})
    families = [(0, ()), (0, (1,)), (1, ()), (1, (0,))]
    assert FamilyScores(data, "location", 3.0).families(families) == pytest.approx(
        FamilyScores(categories, "bdeu", 3.0).families(families)
    )
    rows = naive.Data(list(zip(*categories.codes.tolist(), strict=True)), [3, 2])
    assert FamilyScores(data, "location").families([(1, (0,))])[0] == pytest.approx(naive.bdeu(rows, 1, (0,)))
    numbers = Dataset.of({name: data.to_dict()[name] for name in ("m", "w")})
    assert FamilyScores(data, ess=3.0).families([(3, ()), (4, ()), (3, (4,)), (4, (3,))]) == pytest.approx(
        FamilyScores(numbers, "bge", 3.0).families([(0, ()), (1, ()), (0, (1,)), (1, (0,))])
    )


@kernels
@pytest.mark.parametrize("names", ["abgm", "abmw", "agmw", "bgmw"])
@pytest.mark.parametrize("score", ["location", "dg"])
def test_all_dags_of_a_class_have_the_same_score(rng, names, score):
    data = mixed(rng, 40).select(tuple(names))
    scores, classes = FamilyScores(data, score, 2.0), {}
    for dag in all_dags(4):
        graph = PDAG(data.names, dag)
        classes.setdefault(graph.to_cpdag(), []).append(scores.total(families_of(graph)))
    assert len(classes) == 185
    assert max(np.ptp(own) for own in classes.values()) < 1e-7
    assert len({round(own[0], 6) for own in classes.values()}) > 100


@kernels
@pytest.mark.parametrize("score", ["location", "dg", "bic"])
def test_labels_units_and_the_order_of_columns_do_not_matter(rng, score):
    table = columns(rng)
    data = Dataset.of(table, kinds=KINDS)
    recoded = {
        "w": (-3e5 * np.array(table["w"]) + 1e4).tolist(),
        "b": [{"no": "zebra", "yes": "ant"}[own] for own in table["b"]],
        "g": [-own for own in table["g"]],
        "a": [{"x": "q", "y": "o", "z": "p"}[own] for own in table["a"]],
        "m": table["m"],
    }
    other = Dataset.of(recoded, kinds=KINDS)
    at = [other.names.index(name) for name in data.names]
    families = all_families(5)
    moved = [(at[x], tuple(sorted(at[p] for p in own))) for x, own in families]
    found = FamilyScores(other, score, 2.0).families(moved)
    assert found == pytest.approx(FamilyScores(data, score, 2.0).families(families), abs=1e-7)


def test_rare_states_share_a_column(rng):
    """States with fewer than five rows are one group; a state that never occurs costs no column."""
    a = np.repeat([0, 1, 2, 3, 4], [40, 30, 2, 3, 25])
    table = {"a": [f"s{i}" for i in a], "m": rng.normal(size=100)}
    states = {"a": ["s0", "s1", "s2", "s3", "s4", "never"]}
    block = Dataset.of(table, states=states).coding.blocks[0]
    assert block.rows.shape == (6, 3)
    assert np.array_equal(block.rows[2], block.rows[3])
    assert np.array_equal(block.rows[2], block.rows[5])
    assert len(np.unique(block.rows.round(9), axis=0)) == 4
    columns = block.column(a)
    assert columns.mean(axis=1) == pytest.approx(np.zeros(3), abs=1e-12)
    assert columns @ columns.T / 100 == pytest.approx(np.eye(3), abs=1e-12)


# --- tests of independence ---


@njit
def statistic(evidence, x, y, given, n):
    begin(evidence)
    turn(evidence, 0)
    value, df, _ = test(evidence, x, y, given, n, -1)
    return value, df


def evidence_of(data, name="cmi", sample=None):
    kind = kind_of(data)
    return Evidence(
        sample or kind.sample(data), kind.test_terms(data, name, 1.0), NO_RULE, kind.workspace(data, 6)
    )


def nats(data, x, y, given, name="cmi", sample=None):
    evidence = evidence_of(data, name, sample)
    value, df = statistic(evidence, x, y, np.array([*given, 0]), len(given))
    return value / evidence.terms.scale, df


def all_tests(d):
    for x, y in combinations(range(d), 2):
        others = [v for v in range(d) if v not in (x, y)]
        for n in range(len(others) + 1):
            for given in combinations(others, n):
                yield x, y, given


def naive_information(rows, x, y, z, n):
    """N times the mutual information of blocks of columns, by four determinants."""
    covariance = np.cov(rows.T, bias=True).reshape(rows.shape[1], -1)

    def log_det(at):
        return np.linalg.slogdet(covariance[np.ix_(at, at)])[1] if at else 0.0

    return n / 2 * (log_det(x + z) + log_det(y + z) - log_det(x + y + z) - log_det(z))


@kernels
def test_tests_equal_determinants_or_counts(rng):
    data = mixed(rng, 200)
    twin = Twin(data)
    categories = naive.full(
        naive.Data(list(zip(*[data.columns()[v].tolist() for v in (0, 1)], strict=True)), [3, 2])
    )
    for x, y, given in all_tests(5):
        value, df = nats(data, x, y, given)
        if {x, y, *given} <= {0, 1}:
            table = sum(
                n * math.log(n * 200 / (by_x * by_y))
                for (i, j), n in Counter(categories.data.rows).items()
                if (by_x := sum(own[0] == i for own in categories.data.rows))
                and (by_y := sum(own[1] == j for own in categories.data.rows))
            )
            assert (value, df) == (pytest.approx(table, abs=1e-5), 2)
            continue
        own = [twin.columns([v]) for v in (x, y)]
        expected = naive_information(twin.rows, *own, twin.columns(given), 200)
        assert value == pytest.approx(expected, abs=1e-5)
        assert df == len(own[0]) * len(own[1])


@kernels
def test_two_categories_given_a_category_are_tested_by_counts(rng):
    n = 300
    c = rng.integers(0, 2, n)
    a, b = (rng.random(n) < 0.3 + 0.4 * c).astype(int), (rng.random(n) < 0.2 + 0.5 * c).astype(int)
    table = {"a": a.tolist(), "b": b.tolist(), "c": c.tolist(), "m": rng.normal(size=n)}
    data = Dataset.of(table)
    assert data.kinds == ("discrete",) * 3 + ("continuous",)
    expected = 0.0
    for own in range(2):
        part = [(i, j) for i, j, k in zip(a, b, c, strict=True) if k == own]
        rows, cols = Counter(i for i, _ in part), Counter(j for _, j in part)
        expected += sum(k * math.log(k * len(part) / (rows[i] * cols[j])) for (i, j), k in Counter(part).items())
    assert nats(data, 0, 1, (2,)) == (pytest.approx(expected, abs=1e-5), 2)
    discrete = Dataset.of({name: table[name] for name in "abc"})
    assert nats(data, 0, 1, (2,))[0] == pytest.approx(nats(discrete, 0, 1, (2,))[0], abs=1e-6)


@kernels
def test_the_bayes_factor_is_a_difference_of_scores(rng):
    data = mixed(rng)
    scores = FamilyScores(data, "location")
    for x, y, given in [(0, 1, ()), (3, 4, (0,)), (3, 0, (1, 2)), (2, 4, (0, 1, 3))]:
        more, fewer = scores.families([(x, (y, *given)), (x, given)])
        assert nats(data, x, y, given, "bayes-factor")[0] == pytest.approx(more - fewer, abs=1e-5)


@kernels
@pytest.mark.parametrize("name", ["cmi", "bayes-factor"])
def test_a_bootstrap_sample_is_rows_repeated(rng, name):
    data, seed = mixed(rng, 80), np.random.SeedSequence(7)
    kind = kind_of(data)
    drawn = np.random.Generator(np.random.PCG64(seed)).integers(0, 80, 80)
    repeated = data.rows(np.sort(drawn))
    assert kind.resampled(data, seed).signature() == repeated.signature()
    one, other = kind.bootstrap_sample(data, seed), kind.sample(repeated)
    some = kind.bootstrap_sample(data, seed, np.array([0, 1, 3]))
    for x, y, given in all_tests(5):
        expected = nats(data, x, y, given, name, other)
        assert nats(data, x, y, given, name, one) == (pytest.approx(expected[0], abs=1e-5), expected[1])
        if {x, y, *given} <= {0, 1, 3}:
            assert nats(data, x, y, given, name, some) == (pytest.approx(expected[0], abs=1e-5), expected[1])


@kernels
def test_the_order_of_a_condition_set_does_not_matter(rng):
    data = mixed(rng, 200)
    for given in ((0, 3), (1, 0, 3), (3, 0, 1)):
        x, y = [v for v in range(5) if v not in given][:2]
        value, df = nats(data, x, y, given)
        assert nats(data, x, y, given[::-1]) == (pytest.approx(value, abs=1e-6), df)
        assert nats(data, y, x, given) == (pytest.approx(value, abs=1e-6), df)


# --- chains and learners ---


def exact_edges(data, ess=1.0):
    scores, dags = FamilyScores(data, ess=ess), list(all_dags(data.n_variables))
    logs = np.array([scores.total(families_of(PDAG(data.names, dag))) for dag in dags])
    weights = np.exp(logs - logs.max())
    return np.tensordot(weights / weights.sum(), np.array(dags), 1)


def test_exact_sums_over_all_dags(rng):
    data = mixed(rng).select(("a", "b", "g", "m"))
    truth = exact_edges(data)
    assert exact.edge_probabilities(data) == pytest.approx(truth, abs=1e-9)
    assert 0.05 < truth.max(axis=0).min() < 0.95


@pytest.mark.slow
def test_chains_against_all_dags_of_five_variables(rng):
    data = mixed(rng, 80)
    truth = exact_edges(data)
    assert Exact().fit(data).edge_probabilities() == pytest.approx(truth, abs=1e-9)
    model = BRAI(structure_prior="uniform", ess=1.0, posterior_from="mcmc", random_state=0).fit(data)
    assert np.abs(model.edge_probabilities() - truth).max() < 0.03
    assert np.abs(model.edge_probabilities() - truth).sum() / 20 < 0.007


LEARNERS = [
    BRAI(random_state=0, n_draws=200),
    BRAI.paper(random_state=0),
    BRAI(random_state=0, family_score="bic", posterior_from="mcmc", n_draws=200),
    BRAI(random_state=0, family_score="dg", posterior_from="mcmc", n_draws=200),
    RAI(),
    RAI(CITest("bayes-factor")),
    HillClimbing(),
    OrderSearch(structure_prior="fair"),
    MMHC(),
    Exact(max_parents=3),
    Bootstrap(HillClimbing(), n=5, random_state=0),
]


@pytest.mark.filterwarnings("ignore:the chains have not converged")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda own: f"{type(own).__name__}-{LEARNERS.index(own)}")
def test_every_learner(learner, tmp_path):
    """The skeleton of `columns`, with 600 rows, up to one pair; and a model is the same after loading."""
    rng = np.random.default_rng(5)
    data = mixed(rng, 600)
    new = data.rows(np.arange(20))
    model = learner.fit(data)
    truth = np.zeros((5, 5), bool)
    for x, y in ("ab", "am", "mw", "mg"):
        truth[data.names.index(x), data.names.index(y)] = True
    found = model.cpdag_.skeleton()
    assert np.triu((found > 0) != (truth | truth.T)).sum() <= 1
    probabilities = model.edge_probabilities()
    assert ((probabilities >= 0) & (probabilities <= 1 + 1e-12)).all()
    assert np.isfinite(model.score_samples(new)).all()
    save(model, tmp_path / "m.brai")
    again = load(tmp_path / "m.brai")
    assert again.score_ == model.score_
    assert again._train.signature() == data.signature()
    assert again._train.kinds == data.kinds
    assert np.array_equal(again.score_samples(new), model.score_samples(new))
    assert np.array_equal(again.edge_probabilities(), probabilities)
    fresh = {name: own[:20] for name, own in data.to_dict().items()}
    assert again.score_samples(fresh) == pytest.approx(model.score_samples(new))


def test_workers_and_the_order_of_columns_change_nothing(rng):
    table = columns(rng, 150)
    one = BRAI(random_state=0, n_draws=200).fit(table)
    turned = dict(reversed(table.items()))
    two = BRAI(random_state=0, n_draws=200, n_jobs=2).fit(turned)
    assert two._train.names == tuple("wmgba")
    assert one.cpdag_ == two.cpdag_.reorder(one._train.names)
    assert np.array_equal(one.edge_probabilities(), two.edge_probabilities()[::-1, ::-1])
    assert one.score_samples(table) == pytest.approx(two.score_samples(turned), abs=1e-9)


def test_knowledge_and_beliefs_are_obeyed(rng):
    data = mixed(rng, 100)
    known = Knowledge(required=[("w", "a")], forbidden=[("a", "m")], beliefs=[("b", "g", 0.95)])
    settings = {"random_state": 0, "structure_prior": "fair", "ess": 1.0, "n_draws": 300}
    model = BRAI(knowledge=known, **settings).fit(data)
    edges, at = model.edge_probabilities(), {name: i for i, name in enumerate(data.names)}
    assert edges[at["w"], at["a"]] == pytest.approx(1)
    assert edges[at["a"], at["m"]] == 0
    assert model.dag_.adjacency[at["w"], at["a"]]
    without = BRAI(knowledge=Knowledge(required=[("w", "a")], forbidden=[("a", "m")]), **settings).fit(data)
    assert edges[at["b"], at["g"]] > without.edge_probabilities()[at["b"], at["g"]] + 0.1


# The synthetic cohort. The effects were chosen before any result was looked at. With 600 rows each is clearly
# detectable: age on blood pressure r = 0.66, on stage r = 0.65, on diabetes a log odds ratio of 1.6 for one
# standard deviation; on infarction 1.2 for 20 mmHg of blood pressure, 1.8 for diabetes, 1.6 for men.
COHORT = (
    ("age", "pressure"),
    ("age", "diabetes"),
    ("age", "stage"),
    ("sex", "infarction"),
    ("pressure", "infarction"),
    ("diabetes", "infarction"),
)


def cohort(seed, n=600):
    rng = np.random.default_rng(seed)
    age = rng.integers(25, 86, n)
    sex = rng.choice(["f", "m"], n)
    pressure = np.round(130 + 0.75 * (age - 55) + 15 * rng.normal(size=n)).astype(int)
    diabetes = rng.random(n) < 1 / (1 + np.exp(-(-0.8 + 1.6 * (age - 55) / 17.6)))
    odds = -1.6 + 1.2 * (pressure - 130) / 20 + 1.8 * diabetes + 1.6 * (sex == "m")
    infarction = rng.random(n) < 1 / (1 + np.exp(-odds))
    stage = 1 + np.digitize(0.85 * (age - 55) / 17.6 + rng.normal(size=n), [-0.8, 0.2, 1.2])
    return {
        "age": age.tolist(),
        "sex": sex.tolist(),
        "pressure": pressure.tolist(),
        "diabetes": np.where(diabetes, "yes", "no").tolist(),
        "infarction": np.where(infarction, "yes", "no").tolist(),
        "stage": stage.tolist(),
    }


def strengths(seed):
    """P(adjacent) of each pair of the cohort, with its names in the order of the table."""
    table = cohort(seed)
    data = Dataset.of(table)
    assert data.kinds == ("continuous", "discrete", "continuous", "discrete", "discrete", "ordered")
    edges = BRAI(random_state=0).fit(data).edge_probabilities()
    both = edges + edges.T
    return {(x, y): both[i, j] for (i, x), (j, y) in combinations(enumerate(data.names), 2)}


BY_CHANCE = "stage and infarction are associated in these rows, p = 0.016 given its causes; ess 10 is chosen"
SEEDS = [pytest.param(seed, marks=[pytest.mark.xfail(reason=BY_CHANCE)] * (seed == 1)) for seed in range(10)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_causes_of_the_cohort_are_found(seed):
    found = strengths(seed)
    assert {pair for pair in COHORT if found[pair] <= 0.9} == set()


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_cohort_has_no_false_edges(seed):
    found = strengths(seed)
    assert {pair for pair in found if pair not in COHORT and found[pair] >= 0.5} == set()


# --- prediction ---


@pytest.mark.parametrize("parents", [(), (1,), (3,), (2,), (0, 3), (1, 2, 4)])
def test_probabilities_of_states_sum_to_one(rng, parents):
    data = mixed(rng, 120)
    for x in range(3):
        if x in parents:
            continue
        total = np.zeros(20)
        for state in data.states_of(x):
            table = data.to_dict()
            table = {name: own[:20] for name, own in table.items()} | {data.names[x]: [state] * 20}
            total += np.exp(log_predictive([(x, parents)], data, kind_of(data).conforming(table, data), 1.0))
        assert total == pytest.approx(np.ones(20))


@pytest.mark.parametrize("parents", [(), (0,), (2, 4), (0, 1, 4)])
def test_densities_integrate_to_one(rng, parents):
    data = mixed(rng, 120)
    centre, spread = data.numbers.centre[0], data.numbers.spread[0]
    grid = np.linspace(centre - 12 * spread, centre + 12 * spread, 4001)
    for row in (0, 7):
        table = {name: [own[row]] * len(grid) for name, own in data.to_dict().items()} | {"m": grid.tolist()}
        logs = log_predictive([(3, parents)], data, kind_of(data).conforming(table, data), 1.0)
        assert np.trapezoid(np.exp(logs), grid) == pytest.approx(1.0, abs=1e-3)


def test_a_prediction_is_a_ratio_of_marginal_likelihoods(rng):
    """Of a measurement given a category and a measurement: p(row | D) = p(D and row) / p(D), coded as D."""
    data = mixed(rng, 40)
    row = {"a": ["y"], "b": ["no"], "g": [2], "m": [61.0], "w": [0.0004]}
    new = kind_of(data).conforming(row, data)
    at, prior = data.coding.columns_of([0, 4, 3]), bge.Prior.of(len(data.design), 1.0)
    logs = []
    for rows in (np.hstack([data.design, new.design]).T, data.design.T):
        both = bge.log_marginal(rows, at, prior) - bge.log_marginal(rows, at[:-1], prior)
        logs.append(both)
    expected = logs[0] - logs[1] - math.log(data.numbers.spread[0])
    assert log_predictive([(3, (0, 4))], data, new, 1.0) == pytest.approx([expected], abs=1e-9)


@pytest.mark.filterwarnings("ignore:the chains have not converged")
def test_the_average_is_over_graphs(rng):
    data = mixed(rng, 60)
    model = BRAI(random_state=0, n_draws=8).fit(data)
    posterior = model.model_posterior()
    assert len(posterior.cpdags) > 5
    names, graphs = posterior.families()  # one DAG for each class: softmax regressions depend a little on which
    assert names == data.names
    each = [np.exp(log_predictive(own, data, data, model._parameter_ess)) for own in graphs]
    assert model.score_samples(data) == pytest.approx(np.log(posterior.probabilities @ np.array(each)))
    assert model.score(data) == pytest.approx(model.score_samples(data).mean())


def test_rows_to_predict_are_matched(rng):
    table = columns(rng, 100)
    model = OrderSearch().fit(table)
    new = {name: own[:5] for name, own in table.items()}
    expected = model.score_samples(new)
    assert model.score_samples(dict(reversed(new.items()))) == pytest.approx(expected)
    assert model.score_samples(new | {"g": [str(own) for own in new["g"]]}) == pytest.approx(expected)
    for change, message in (
        ({"a": ["x", "x", "never", "x", "x"]}, "column 'a' holds 'never' in row 3, which is not among its states"),
        ({"g": [0, 1, 2, 9, 0]}, "column 'g' holds 9 in row 4, which is not among its states"),
        ({"m": ["tall"] * 5}, "column 'm' is not a column of numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score_samples(new | change)
    with pytest.raises(ValueError, match="lacks"):
        model.score_samples({"a": ["x"]})


# --- networks ---


def known_network():
    """sex → weight, weight → ill, ill and sex → rank (ordered), weight and ill → dose."""
    return MixedNetwork(
        (
            Variable("sex", ("f", "m"), model="table", table=np.array([[0.4, 0.6]])),
            Variable(
                "weight", None, parents=(0,), intercept=np.array([70.0]), effects=(np.array([[-5.0], [5.0]]),),
                variance=64.0,
            ),
            Variable(
                "ill", ("no", "yes"), parents=(1,), model="softmax", intercept=np.array([0.0, -7.5]),
                effects=(np.array([[0.0, 0.1]]),),
            ),
            Variable(
                "rank", (1, 2, 3), ordered=True, parents=(0, 2), model="table",
                table=np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]),
            ),
            Variable(
                "dose", None, parents=(1, 2), intercept=np.array([2.0]),
                effects=(np.array([[0.1]]), np.array([[0.0], [3.0]])), variance=1.0,
            ),
        ),
        "clinic",
    )  # fmt: skip


def joint_of(net, grid):
    """The joint distribution of sex, weight (on a grid), ill and rank, by brute force."""
    p = np.zeros((2, len(grid), 2, 3))
    tables = net.variables[0].table, net.variables[3].table
    for sex in range(2):
        weight = np.exp(-((grid - (65.0, 75.0)[sex]) ** 2) / 128)
        weight /= weight.sum()
        for ill in range(2):
            sick = 1 / (1 + np.exp(7.5 - 0.1 * grid))
            for rank in range(3):
                p[sex, :, ill, rank] = tables[0][0, sex] * weight * (sick if ill else 1 - sick)
                p[sex, :, ill, rank] *= tables[1][2 * sex + ill, rank]
    return p


def test_moments_of_samples_agree():
    net = known_network()
    rows = net.sample(200_000, random_state=0)
    assert rows.kinds == ("discrete", "continuous", "discrete", "ordered", "continuous")
    grid = np.linspace(20, 130, 1101)
    joint = joint_of(net, grid)
    sex, weight, ill, rank, dose = rows.columns()
    assert sex.mean() == pytest.approx(0.6, abs=0.005)
    assert weight.mean() == pytest.approx(71.0, abs=0.1)
    assert weight.std() == pytest.approx(math.sqrt(64 + 24), rel=0.01)
    assert ill.mean() == pytest.approx(joint[:, :, 1].sum(), abs=0.005)
    for state in range(3):
        assert (rank == state).mean() == pytest.approx(joint[..., state].sum(), abs=0.005)
    assert dose.mean() == pytest.approx(2 + 7.1 + 3 * joint[:, :, 1].sum(), abs=0.03)
    left = dose - 2 - 0.1 * weight - 3 * ill
    assert left.std() == pytest.approx(1.0, rel=0.01)


def test_log_prob_is_the_sum_of_the_local_models():
    net = known_network()
    row = {"sex": ["m"], "weight": [80.0], "ill": ["yes"], "rank": [3], "dose": [14.0]}
    p = 0.6 * math.exp(-25 / 128) / math.sqrt(2 * math.pi * 64) / (1 + math.exp(-0.5)) * 0.7
    p *= math.exp(-0.5) / math.sqrt(2 * math.pi)
    assert net.log_prob(row) == pytest.approx([math.log(p)])
    assert net.log_prob(dict(reversed(row.items()))) == pytest.approx([math.log(p)])


def test_conditional_queries_equal_brute_force():
    net = known_network()
    grid = np.linspace(20, 130, 1101)
    joint = joint_of(net, grid)
    found = net.marginal("sex", given={"rank": 3, "ill": "yes"}, n=100_000)
    own = joint[:, :, 1, 2].sum(axis=1)
    assert found.probabilities == pytest.approx(own / own.sum(), abs=4 * found.standard_error.max())
    assert found.standard_error.max() < 0.01
    found = net.marginal("weight", given={"rank": 1}, n=100_000)
    own = joint[..., 0].sum(axis=(0, 2))
    mean = grid @ own / own.sum()
    assert found.mean == pytest.approx(mean, abs=4 * found.standard_error)
    assert found.sd == pytest.approx(math.sqrt((grid - mean) ** 2 @ own / own.sum()), rel=0.03)
    cumulated = np.cumsum(own) / own.sum()
    assert np.interp(found.quantiles, grid, cumulated) == pytest.approx((0.025, 0.25, 0.5, 0.75, 0.975), abs=0.02)
    found = net.marginal("ill", given={"weight": 90, "sex": "f"})
    assert found.probabilities[1] == pytest.approx(1 / (1 + math.exp(-1.5)), abs=0.02)


def test_interventions_cut_the_edges_of_parents():
    net = known_network()
    free = net.marginal("sex", n=50_000)
    assert net.marginal("sex", do={"ill": "yes"}, n=50_000).probabilities == pytest.approx(free.probabilities)
    assert net.marginal("sex", given={"ill": "yes"}, n=50_000).probabilities[1] > 0.65
    rank = net.marginal("rank", do={"ill": "yes"}, n=100_000)
    expected = 0.4 * np.array([0.2, 0.3, 0.5]) + 0.6 * np.array([0.1, 0.2, 0.7])
    assert rank.probabilities == pytest.approx(expected, abs=4 * rank.standard_error.max())
    dose = net.marginal("dose", do={"weight": 90.0, "ill": "no"}, n=100_000)
    assert dose.mean == pytest.approx(11.0, abs=4 * dose.standard_error)
    assert dose.sd == pytest.approx(1.0, rel=0.02)
    both = net.marginal("dose", do={"ill": "yes"}, given={"weight": 90}, n=50_000)
    assert both.mean == pytest.approx(14.0, abs=0.05)


def test_a_network_is_estimated_and_saved(tmp_path):
    net = known_network()
    data = net.sample(40_000, random_state=1)
    found = MixedNetwork.fit(net.pdag, data)
    assert [own.model for own in found.variables] == ["table", "linear", "softmax", "table", "linear"]
    assert found.variables[3].ordered
    sex, weight, ill, rank, dose = found.variables
    assert sex.table == pytest.approx(net.variables[0].table, abs=0.01)
    assert weight.effects[0][1, 0] - weight.effects[0][0, 0] == pytest.approx(10.0, abs=0.3)
    assert weight.variance == pytest.approx(64.0, rel=0.03)
    odds = ill.intercept[1] - ill.intercept[0], ill.effects[0][0, 1] - ill.effects[0][0, 0]
    assert odds == (pytest.approx(-7.5, abs=0.3), pytest.approx(0.1, abs=0.005))
    assert rank.table == pytest.approx(net.variables[3].table, abs=0.03)
    assert dose.effects[0] == pytest.approx(np.array([[0.1]]), abs=0.005)
    assert dose.effects[1][1, 0] - dose.effects[1][0, 0] == pytest.approx(3.0, abs=0.05)
    new = known_network().sample(500, random_state=2)
    assert found.log_prob(new).mean() == pytest.approx(net.log_prob(new).mean(), abs=0.01)
    found.write_json(tmp_path / "n.json")
    again = MixedNetwork.from_json((tmp_path / "n.json").read_text())
    assert again.to_dict() == found.to_dict()
    assert again.log_prob(new) == pytest.approx(found.log_prob(new))
    assert again.sample(50, random_state=3).to_dict() == found.sample(50, random_state=3).to_dict()
    assert repr(again) == "MixedNetwork(5 variables, 6 edges)"
    assert repr(net) == "MixedNetwork('clinic', 5 variables, 6 edges)"


def test_a_skewed_measurement_in_a_network(rng, tmp_path):
    """Its network knows quantiles: samples have the distribution of the data, also below a category."""
    n = 4000
    a = rng.choice(["u", "v"], n)
    income = np.exp(1.2 * rng.normal(size=n) + (a == "v"))
    data = Dataset.of({"a": a.tolist(), "income": income})
    assert data.ranked == {"income"}
    net = MixedNetwork.fit(PDAG(data.names, np.array([[0, 1], [0, 0]], np.int8)), data)
    again = MixedNetwork.from_json(net.to_json())
    rows = again.sample(20_000, random_state=0)
    for own in ("u", "v"):
        at = np.array(rows.to_dict()["a"]) == own
        drawn = np.quantile(np.array(rows.to_dict()["income"])[at], (0.25, 0.5, 0.75))
        assert drawn == pytest.approx(np.quantile(income[a == own], (0.25, 0.5, 0.75)), rel=0.12)


def test_networks_of_a_model_predict_as_the_model(rng):
    data = mixed(rng, 300)
    model = OrderSearch().fit(data)
    net = model.network()
    assert net.pdag == model.dag_
    assert net.log_prob(data) == pytest.approx(model.score_samples(data, average=False), abs=0.5)
    assert net.log_prob(data).mean() == pytest.approx(model.score(data, average=False), abs=0.02)


def test_what_is_not_a_network_is_refused():
    net = known_network()
    for change, message in (
        (lambda v: {"parents": (4,)}, "cycle"),
        (lambda v: {"parents": (9,)}, "parents of 'weight' must be indices"),
        (lambda v: {"name": "sex"}, "distinct"),
        (lambda v: {"model": "cubic"}, "choose table, softmax or linear"),
    ):
        own = list(net.variables)
        own[1] = dataclasses.replace(own[1], **change(own[1]))
        with pytest.raises(ValueError, match=message):
            MixedNetwork(tuple(own))
    with pytest.raises(ValueError, match=r"no variable 'weigth'.*did you mean 'weight'"):
        net.marginal("weigth")
    with pytest.raises(ValueError, match="'sex' has no state 'x'"):
        net.marginal("ill", do={"sex": "x"})
    with pytest.raises(ValueError, match="'weight' is set to 'heavy', give a number"):
        net.marginal("ill", given={"weight": "heavy"})
    with pytest.raises(ValueError, match="not JSON"):
        MixedNetwork.from_json("{")
    with pytest.raises(ValueError, match="brai-mixed-network"):
        MixedNetwork.from_json("{}")
    content = net.to_dict()
    del content["variables"][1]["intercept"]
    with pytest.raises(ValueError, match="lacks or misstates"):
        MixedNetwork.from_dict(content)


# --- effects ---


def test_effects_against_a_simulated_truth():
    """With a required graph the effects are those of the network that the rows come from."""
    net = known_network()
    data = net.sample(20_000, random_state=5)
    known = Knowledge(required=net.pdag.directed_edges())
    model = OrderSearch(knowledge=known).fit(data)
    assert model.dag_ == net.pdag

    effect = model.causal_effect("sex", "weight", change=("f", "m"))
    assert effect.effect == pytest.approx(10.0, abs=4 * effect.effect_parameter_sd)
    assert effect.effect_parameter_sd == pytest.approx(math.sqrt(64 * (1 / 8000 + 1 / 12000)), rel=0.05)
    assert effect.p_causes == 1

    grid = np.linspace(20, 130, 1101)
    joint = joint_of(net, grid)
    sick = joint.sum(axis=3)
    risk = sick[1, :, 1].sum() / 0.6 - sick[0, :, 1].sum() / 0.4
    effect = model.causal_effect("sex", "ill", values={"yes": 1})
    assert effect.effect == pytest.approx(risk, abs=4 * effect.effect_parameter_sd)
    assert effect.effect_parameter_sd < 0.01

    low, high = (1 / (1 + math.exp(7.5 - 0.1 * own)) for own in (65, 80))
    effect = model.causal_effect("weight", "ill", change=(65, 80), values={"yes": 1})
    assert effect.effect == pytest.approx(high - low, abs=4 * effect.effect_parameter_sd)
    assert 0 < effect.effect_parameter_sd < 0.01

    effect = model.causal_effect("weight", "dose", change=(65, 80))
    truth = [net.marginal("dose", do={"weight": own}, n=400_000) for own in (80, 65)]
    assert effect.effect == pytest.approx(truth[0].mean - truth[1].mean, rel=0.08)  # it is linear in the weight

    effect = model.causal_effect("ill", "dose")
    assert effect.effect == pytest.approx(3.0, abs=4 * effect.effect_parameter_sd)

    effect = model.causal_effect("ill", "rank", values={1: 1, 2: 2, 3: 3})
    ranks = np.array([1, 2, 3])
    tables = net.variables[3].table @ ranks
    expected = 0.4 * (tables[1] - tables[0]) + 0.6 * (tables[3] - tables[2])
    assert effect.effect == pytest.approx(expected, abs=4 * effect.effect_parameter_sd)

    back = model.causal_effect("dose", "weight")
    assert back.effect == 0
    assert back.p_causes == 0
    with pytest.raises(ValueError, match="'weight' is a measurement: leave it out"):
        model.causal_effect("sex", "weight", values={"x": 1})
    with pytest.raises(ValueError, match="give two numbers"):
        model.causal_effect("weight", "ill", change=("low", "high"))
    with pytest.raises(ValueError, match="'old'"):
        model.causal_effect("sex", "weight", change=("f", "old"))


def test_the_effect_of_a_state_on_a_skewed_measurement(rng):
    """Means in the units of the data, although the model sees normal scores."""
    n = 20_000
    a = rng.random(n) < 0.5
    income = np.exp(0.9 * rng.normal(size=n) + 0.5 * a)
    model = OrderSearch(knowledge=Knowledge(required=[("a", "y")])).fit(
        {"a": np.where(a, "v", "u").tolist(), "y": income}
    )
    assert model._train.ranked == {"y"}
    truth = math.exp(0.405) * (math.exp(0.5) - 1)
    assert model.causal_effect("a", "y").effect == pytest.approx(truth, rel=0.08)


def test_coefficients_of_edges_are_regressions():
    net = known_network()
    data = net.sample(4000, random_state=3)
    model = OrderSearch(knowledge=Knowledge(required=net.pdag.directed_edges())).fit(data)
    assert model.dag_ == net.pdag
    sizes = model.edge_coefficients()
    design, at = data.design, data.coding.starts
    z = np.vstack([design[at[1]], design[at[2]]])
    slopes, *_ = np.linalg.lstsq(z.T, design[at[4]], rcond=None)
    assert sizes.mean[1, 4] == pytest.approx(slopes[0], abs=0.005)
    assert 0 < sizes.sd[1, 4] < 0.03
    for x, y in ((0, 1), (1, 2), (2, 3), (0, 3), (2, 4), (4, 1)):
        assert np.isnan(sizes.mean[x, y])
    with pytest.raises(ValueError, match="ask causal_effect for one pair"):
        model.total_effects()


# --- bad input ---


def bad_tables():
    rng = np.random.default_rng(0)
    n = 80
    m, w, t = rng.normal(size=n), rng.normal(size=n), rng.choice(["u", "v", "w"], n)
    many = [f"s{i}" for i in range(500)] * 2
    wide = {f"x{i}": rng.normal(size=8) for i in range(9)} | {f"c{i}": rng.choice(["u", "v"], 8) for i in range(4)}
    return {
        "many states": {"t": many, "m": (long := rng.normal(size=1000)), "w": long + rng.normal(size=1000)},
        "constant measurement": {"m": m, "k": np.full(n, 2.5), "t": t, "w": m + w},
        "constant category": {"m": m, "k": ["same"] * n, "t": t, "w": m + w},
        "constant order": {"m": m, "k": [3] * n, "t": t, "w": m + w},
        "two rows": {"m": [0.5, 1.5], "w": [1.5, 2.25], "t": ["u", "v"]},
        "one row": {"m": [0.5], "t": ["u"]},
        "category determines": {"m": np.where(t == "u", 0.5, np.where(t == "v", 1.5, 2.75)), "t": t, "w": w},
        "measurement determines": {"m": m, "t": np.where(m > 0.3, "u", "v"), "w": w},
        "copies": {"m": m, "n": m, "t": t, "s": t.copy(), "w": w},
        "huge": {"m": m * 1e300, "n": m * 1e300 + 1e299 * w, "t": t, "w": rng.normal(size=n)},
        "tiny": {"m": m * 1e-300, "n": m * 1e-300 + 1e-301 * w, "t": t, "w": rng.normal(size=n)},
        "one huge value": {"m": np.where(np.arange(n) == 3, 1e300, m), "t": t, "w": w},
        "more columns than rows": wide,
    }


@pytest.mark.parametrize("name", list(bad_tables()))
@pytest.mark.filterwarnings("ignore:the chains have not converged")
def test_bad_tables_are_learned_without_nonsense(name):
    table = bad_tables()[name]
    kinds = {"k": "ordered"} if name == "constant order" else None
    data = Dataset.of(table, kinds=kinds)
    assert data.kind == "mixed"
    model = BRAI(random_state=0, n_draws=100).fit(data)
    edges = model.edge_probabilities()
    assert np.isfinite(edges).all()
    assert math.isfinite(model.log_score_)
    assert np.isfinite(model.score_samples(data)).all()
    assert np.isfinite(RAI().fit(data).log_score_)
    if name in ("huge", "tiny"):
        with pytest.raises(ValueError, match=r"the variance of 'm' is too .* give the column in other units"):
            model.network()
    else:
        net = model.network()
        assert np.isfinite(net.log_prob(data)).all()
        drawn = net.sample(5, random_state=0).to_dict()
        assert "k" not in table or set(drawn["k"]) == set(data.to_dict()["k"])
    if name.startswith("constant"):
        k = data.names.index("k")
        assert edges[k].sum() + edges[:, k].sum() == 0
        assert model.adjacency_probability("m", "w") > 0.9
    if name in ("copies", "huge", "tiny"):
        assert model.adjacency_probability("m", "n") > 0.9
        assert model.adjacency_probability("m", "w") < 0.5
        assert model.adjacency_probability("m", "t") < 0.5
    if name == "copies":
        assert model.adjacency_probability("t", "s") > 0.9
    if name == "many states":
        assert model.adjacency_probability("m", "w") > 0.9
        assert model.adjacency_probability("t", "m") < 0.5
    if name.endswith("determines"):
        assert model.adjacency_probability("m", "t") > 0.9
        assert model.adjacency_probability("w", "t") < 0.5


def test_separated_states_have_finite_odds():
    """A measurement that determines a category gives odds that are large, and no probability of zero."""
    m = np.concatenate([np.linspace(-2, -0.5, 40), np.linspace(0.5, 2, 40)])
    data = Dataset.of({"m": m.tolist(), "t": ["u"] * 40 + ["v"] * 40})
    net = MixedNetwork.fit(PDAG(data.names, np.array([[0, 1], [0, 0]], np.int8)), data)
    p = np.array([net.marginal("t", do={"m": own}).probabilities[1] for own in (-2, 0, 2)])
    assert p[0] < 0.1
    assert p[1] == pytest.approx(0.5, abs=0.1)
    assert p[2] > 0.9
    wrong = {"m": [2.0], "t": ["u"]}
    assert np.isfinite(log_predictive([(1, (0,))], data, kind_of(data).conforming(wrong, data), 1.0)).all()


def test_columns_of_unequal_length_are_named():
    with pytest.raises(ValueError, match="column 't' has 2 rows, but column 'm' has 3"):
        Dataset.of({"m": [0.5, 1.5, 2.5], "t": ["u", "v"]})
