"""The report: what is in it, that names cannot break out of it, and that it works in a browser."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression

from brai import BRAI, DPMCMC, RAI, Bootstrap, Dataset, Exact, HillClimbing, Posterior, io, load_network
from brai.graphs.differences import differences
from brai.graphs.pdag import PDAG
from brai.posterior.chains import Draws
from brai.posterior.consensus import DECIDED
from brai.posterior.with_knowledge import posterior_of_dags
from brai.show.report import build, columns, labels, layout, page, page_data, pairs, write
from brai.show.report.layout import isotonic, layered
from brai.show.report.trust import trust
from conftest import random_dag

NASTY = (
    "</script><script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">\'"&amp;',
    "Größe – 年齢 \u202egnp.exe 🧬",
    "long " * 2000,
    "line\nbreak\u2028/*style*/<!--title-->",
)


@pytest.fixture(scope="module")
def asia():
    model = BRAI(s=3, n_draws=500, random_state=0).fit(load_network("asia").sample(1000, random_state=0))
    model.chains()
    return model


@pytest.fixture(scope="module")
def nasty():
    data = np.random.default_rng(0).integers(0, 2, (60, len(NASTY)))
    data[:, 1] = data[:, 0]
    data[:, 2] = data[:, 0] ^ (np.arange(60) % 9 == 0)
    return HillClimbing(ess=2.0).fit(Dataset.from_codes(data, names=NASTY))


@pytest.fixture(scope="module")
def large():
    """Seven hundred variables: a model without edges, and a posterior of random graphs."""
    rng = np.random.default_rng(5)
    names = [f"gene_{i:03d}" for i in range(700)]
    model = HillClimbing(max_parents=0).fit(Dataset.from_codes(rng.integers(0, 2, (20, 700)), names=names))
    base = random_dag(rng, 700, 0.004).astype(bool)
    kept = [base & (rng.random(base.shape) < 0.9) for _ in range(5)]
    return model, Posterior.from_draws([PDAG(tuple(names), own) for own in kept])


def cohort(n=700, seed=1):
    """A made cohort: two categories, an ordered stage, and three measurements, of which crp is far from normal."""
    rng = np.random.default_rng(seed)
    sex, smoking = rng.integers(0, 2, n), rng.choice(3, n, p=[0.5, 0.3, 0.2])
    age = np.round(rng.normal(55, 12, n), 1)
    stage = np.clip(np.round(1.5 + 0.05 * (age - 55) + rng.normal(0, 0.8, n)), 0, 3).astype(int)
    bp = np.round(120 + 0.6 * (age - 55) + 9 * sex + rng.normal(0, 9, n))
    crp = np.round(np.exp(0.4 + 0.9 * (smoking == 2) + 0.5 * stage + rng.normal(0, 0.9, n)), 2)
    text = {"sex": np.array(["f", "m"])[sex], "smoking": np.array(["never", "former", "current"])[smoking]}
    return {**text, "age": age, "stage": stage, "bp": bp, "crp": crp}


@pytest.fixture(scope="module")
def mixed():
    return HillClimbing(random_state=0).fit(Dataset.of(cohort()))


@pytest.fixture(scope="module")
def measured():
    numbers = {name: own for name, own in cohort().items() if name in ("age", "bp", "crp")}
    return HillClimbing(random_state=0).fit(Dataset.of(numbers, transform="normal-scores"))


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts by id."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self._script = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._script = dict(attrs).get("id", "code") if tag == "script" else None

    def handle_data(self, data):
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data


def data_of(text):
    return json.loads(Elements(text).scripts["data"])


# --- content ----------------------------------------------------------------------------------------


def test_the_data_is_that_of_the_model(asia, tmp_path):
    path = write(asia, tmp_path / "a.html", data_name="asia.csv", command="brai learn asia.csv", k=4)
    text = path.read_text(encoding="utf-8")
    data = data_of(text)
    names = data["names"]
    assert names == list(asia.feature_names_in_)
    listed = {(names[a], names[b]): (p, q) for a, b, p, q, *_ in data["pairs"]}
    table = asia.edge_table(0.01)
    assert len(listed) == len(table) >= 8
    for row in table:
        assert listed[row["from"], row["to"]] == pytest.approx((row["strength"], row["direction"]), abs=1e-6)
    assert data["below"] == len(asia.edge_table()) - len(table)
    blankets = asia.markov_blanket_probabilities()
    assert all(p == pytest.approx(blankets[i, j], abs=1e-3) for i, j, p in data["blankets"])
    assert len(data["blankets"]) == np.triu(blankets >= 0.01, 1).sum()
    paths = asia.path_probabilities()
    assert {(i, j) for i, j, _ in data["paths"]} == set(map(tuple, np.argwhere(paths >= 0.01).tolist()))
    assert len(data["best"]) == 4
    assert data["command"] == "brai learn asia.csv"
    assert ["ess", "'auto'"] in data["settings"]
    assert "<title>BRAI on asia.csv</title>" in text
    assert [one["label"] for one in data["trust"]["numbers"]] == [
        "R-hat",
        "Effective sample size",
        "Largest difference",
    ]


def test_kinds_of_edges_of_the_best_graph(asia):
    data = page_data(asia)
    place = {name: i for i, name in enumerate(data["names"])}
    kinds = {(a, b): kind for a, b, _, _, _, kind, *_ in data["pairs"]}
    seen = 0
    for a, b in asia.cpdag_.directed_edges():
        i, j = place[a], place[b]
        seen += 1
        assert kinds[i, j] == 1 if (i, j) in kinds else kinds[j, i] == 2
    for a, b in asia.cpdag_.undirected_edges():
        i, j = place[a], place[b]
        seen += 1
        assert kinds.get((i, j), kinds.get((j, i))) == 3
    assert sum(kind > 0 for kind in kinds.values()) == seen > 4


def test_the_file_needs_nothing_from_elsewhere(asia):
    text = page(page_data(asia))
    assert set(re.findall(r"https?://[\w./-]+", text)) == {"http://www.w3.org/2000/svg"}  # the name of SVG
    for tag, attributes in Elements(text).found:
        assert tag not in ("iframe", "object", "embed", "base", "img")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith(("#", "data:,"))
    for word in ("@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "document.write", "eval("):
        assert word not in text
    assert "default-src 'none'" in text


def test_the_same_seed_gives_the_same_file(asia, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    assert page(page_data(asia)) == page(page_data(asia))
    assert page_data(asia)["made"] == "2001-09-09 01:46 UTC"


def test_a_saved_model_gives_the_same_page(asia, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    io.save(asia, tmp_path / "asia.brai")
    assert page_data(io.load(tmp_path / "asia.brai")) == page_data(asia)


def test_nothing_in_a_name_is_markup(nasty):
    text = page(page_data(nasty, title=NASTY[0], data_name=NASTY[1], command=NASTY[4]))
    elements = Elements(text)
    assert [tag for tag, _ in elements.found].count("script") == 2
    assert not any(tag == "img" for tag, _ in elements.found)
    assert not set("<>&") & set(elements.scripts["data"])
    data = json.loads(elements.scripts["data"])
    assert tuple(data["names"]) == NASTY
    assert (data["title"], data["command"]) == (NASTY[0], NASTY[4])
    assert text.count("long long ") < 2 * 2000  # a name of 10 kB is there once
    assert len(text) < 150_000
    assert max(map(len, data["labels"])) <= labels.CELLS
    assert all(label.isprintable() for label in data["labels"])
    page({**data, "title": "\ud800"}).encode("utf-8")


def test_labels():
    assert labels.label_of("smoke") == "smoke"
    assert labels.label_of("a" * 22) == "a" * 22
    assert labels.label_of("a" * 23) == "a" * 21 + "…"
    assert labels.label_of("年" * 12) == "年" * 10 + "…"
    assert labels.label_of("\n\t") == "(blank)"


def test_a_large_network_stays_small_and_quick(large):
    model, posterior = large
    data = page_data(model, posterior=posterior)
    text = page(data)
    assert len(data["pairs"]) == len(posterior.edge_table(0.01)) > 800
    assert data["paths"] is None
    assert len(text) < 1_500_000


def test_pairs_are_limited(large, monkeypatch):
    model, posterior = large
    monkeypatch.setattr(build, "MOST", 100)
    data = page_data(model, posterior=Posterior.from_draws(posterior.cpdags[:1] * 3 + posterior.cpdags[1:]))
    assert len(data["pairs"]) < len(posterior.edge_table(0.01))
    assert data["floor"] > 0.5
    assert all(pair[2] >= data["floor"] - 1e-9 for pair in data["pairs"])
    assert data["below"] + len(data["pairs"]) == len(posterior.edge_table())
    assert len(data["blankets"]) == 100


def test_writing_is_all_or_nothing(nasty, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            write(nasty, path)
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]
    assert path.read_text() == "old"
    assert write(nasty, path) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(FileNotFoundError, match="create it"):
        write(nasty, tmp_path / "no" / "r.html")


def test_what_is_refused(nasty, asia):
    with pytest.raises(ValueError, match="k is 0"):
        page_data(nasty, k=0)
    with pytest.raises(ValueError, match="give a posterior of the model"):
        page_data(nasty, posterior=asia.posterior())
    with pytest.raises(ValueError, match="not fitted"):
        page_data(BRAI())


def test_a_posterior_in_another_order(asia):
    turned = [(cpdag.reorder(cpdag.names[::-1]), score) for cpdag, score in asia.k_best(20)]
    data = page_data(asia, posterior=Posterior.from_scores(turned))
    plain = page_data(asia, posterior=Posterior.from_scores(asia.k_best(20)))
    assert data["trust"]["source"] == "given"
    assert [pair[:4] for pair in data["pairs"]] == [pair[:4] for pair in plain["pairs"]]


# --- best graphs, tree, trust -------------------------------------------------------------------------


def test_best_graphs_are_distinct_and_sorted(asia):
    posterior = asia.posterior()
    found = build.best_graphs(asia, posterior, 10)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert len({graph for graph, _ in found}) == 10
    held = np.sort(posterior.log_scores)[::-1][:10]
    assert np.all(np.array(scores) >= held - 1e-9)  # never worse than what was drawn
    other = Posterior.from_scores([(asia.cpdag_, 0.0), (PDAG(asia.cpdag_.names, np.zeros((8, 8))), 5.0)])
    assert build.best_graphs(asia, other, 10) == asia.k_best(10)  # scores of another kind are not mixed in


@pytest.mark.parametrize("seed", range(5))
def test_differences_lead_from_one_graph_to_the_other(seed):
    rng = np.random.default_rng(seed)
    names = tuple("abcdefg")
    first, other = (PDAG(names, random_dag(rng, 7, 0.4)).to_cpdag() for _ in range(2))
    found = differences(first, other)
    assert len(found) == first.shd(other)
    assert differences(first, other.reorder(names[::-1])) == found
    made = first.adjacency.copy()
    for one in found:
        (i, j, directed), kind = one.line, one.kind
        assert (kind == "added") == (not first.skeleton()[i, j])
        made[i, j] = made[j, i] = 0
        if kind != "removed":
            made[i, j], made[j, i] = 1, not directed
    assert np.array_equal(made, other.adjacency)


def test_the_tree_adds_up(asia):
    view = page_data(asia)["tree"]
    assert sum(level["nodes"] + level["leaves"] for level in view["levels"]) == asia.tree_.n_nodes
    assert sum(level["leaves"] for level in view["levels"]) == asia.tree_.n_leaves
    assert [level["tests"] for level in view["levels"] if level["tests"]] == asia.n_ci_tests_.tolist()
    assert view["routes"] == str(asia.tree_.n_routes)
    boxes = view["boxes"]
    assert boxes[0] == [0, 0.0, 1.0, 8, "node", 1]
    for k in range(1, len(view["levels"])):
        level = sorted(box[1:3] for box in boxes if box[0] == k)
        for (left, width), (right, _) in pairwise(level):
            assert left + width <= right + 1e-4
    assert sum(box[2] for box in boxes if box[0] == 1) == pytest.approx(1, abs=1e-3)
    for level in view["levels"]:
        assert sum(n for _, n in level["histogram"]) == level["nodes"] + level["leaves"]


def draws(scores, parents):
    return Draws(("a", "b"), np.array(parents, np.int16), np.array(scores), {}, {})


def test_warnings_of_chains():
    rng = np.random.default_rng(0)
    model = RAI().fit(Dataset.from_codes(rng.integers(0, 2, (50, 2)), names=["a", "b"]))
    good = rng.normal(size=(2, 400))
    same = [[[[-1], [0]]] * 400] * 2

    def of(chains):
        return Posterior.from_draws([PDAG.from_edges("ab", [("a", "b")])], source="mcmc", chains=chains)

    fine = trust(model, of(draws(good, same)), ("a", "b"))
    assert all(one["ok"] for one in fine["numbers"])
    assert (fine["source"], fine["warnings"], fine["disputed"]) == ("mcmc", [], [])
    other = [[[[-1], [0]]] * 400, [[[-1], [-1]]] * 400]
    apart = trust(model, of(draws(good + np.array([[0.0], [9.0]]), other)), ("b", "a"))
    assert [one["ok"] for one in apart["numbers"]] == [False, False, False]
    assert "have not converged" in apart["warnings"][0]
    assert "up to 1.00" in apart["warnings"][1]
    assert apart["disputed"] == [[1, 0, 0.0, 1.0]]
    lone = trust(model, of(draws(good[:1], same[:1])), ("a", "b"))
    assert "only one chain" in lone["warnings"][0]


def test_where_probabilities_come_from(asia):
    data = load_network("cancer").sample(300, random_state=0)
    one = page_data(RAI().fit(data))
    assert one["trust"]["source"] == "one"
    assert one["tree"] is None
    assert sum(one["ci_tests"]) > 0
    several = page_data(Bootstrap(HillClimbing(), n=8, random_state=0).fit(data))
    assert several["trust"]["source"] == "bootstrap"
    assert (several["scores"]["kind"], len(several["scores"]["series"][0]["y"])) == ("members", 8)
    exact = page_data(Exact(k=10).fit(data))
    assert exact["trust"]["source"] == "exact"
    assert exact["scores"]["kind"] == "classes"
    tree = page_data(BRAI.paper(s=2, random_state=0).fit(data))
    assert tree["trust"]["source"] == "tree"
    drawn = page_data(asia)
    assert drawn["trust"]["source"] == "bagged"
    assert drawn["bagged"]
    assert [len(own["y"]) for own in drawn["scores"]["series"]] == [500] * 4
    again = page_data(asia, posterior=asia.posterior())
    assert again["trust"]["source"] == "bagged"  # the chains are recognised
    assert page_data(asia, posterior=asia.posterior(k=5))["trust"]["source"] == "tree"
    given = Posterior.from_scores([(asia.cpdag_, 0.0)])
    assert page_data(asia, posterior=given)["trust"]["source"] == "given"


def test_a_column_that_hardly_varies_is_named():
    codes = np.random.default_rng(0).integers(0, 2, (300, 3))
    codes[:, 1] = np.arange(300) == 7
    found = page_data(RAI().fit(Dataset.from_codes(codes, names=["x", "rare", "y"])))["trust"]["warnings"]
    assert len(found) == 1
    assert "in 1 column (rare)" in found[0]


# --- columns and the data behind edges ----------------------------------------------------------------


def test_records_of_columns(mixed):
    table = cohort()
    found = dict(zip(table, columns.records(mixed._train, list(table)), strict=True))
    assert [own["kind"] for own in found.values()] == [
        "category", "category", "measurement", "ordered", "measurement", "measurement",
    ]  # fmt: skip
    assert found["smoking"]["labels"] == ["current", "former", "never"]
    assert found["smoking"]["counts"] == [
        int((table["smoking"] == s).sum()) for s in ("current", "former", "never")
    ]
    assert found["stage"]["counts"] == np.bincount(table["stage"]).tolist()
    age, crp = found["age"], found["crp"]
    assert (age["low"], age["high"]) == (table["age"].min(), table["age"].max())
    assert age["mean"] == pytest.approx(table["age"].mean(), abs=0.051)
    assert age["sd"] == pytest.approx(table["age"].std(ddof=1), abs=0.051)
    edges = np.linspace(*age["edges"], len(age["bins"]) + 1) - 1e-9
    assert age["bins"] == np.histogram(table["age"], edges)[0].tolist()
    assert sum(crp["bins"]) == 700
    assert age["sees"] == "its standardised values"
    z = (table["crp"] - table["crp"].mean()) / table["crp"].std()
    assert f"skewness {(z**3).mean():.1f}, excess kurtosis {(z**4).mean() - 3:.1f}" in crp["sees"]
    assert "far from normal" in crp["sees"]
    assert not any(own["constant"] for own in found.values())
    assert not any("missing" in own for own in found.values())


def test_records_of_unusual_columns():
    rng = np.random.default_rng(0)
    many = np.array(list("abcdefghijklmnopqrst"))[np.minimum(rng.geometric(0.15, 400) - 1, 19)]
    bins = np.array(["(0, 5]", "(5, 10]", "(10, 20]"])[rng.integers(0, 3, 400)]
    cells = {"many": many, "bins": bins, "still": ["x"] * 400, "huge": rng.normal(size=400) * 1e300}
    data = Dataset.of(cells, states={"still": ["x", "y"]})
    found = dict(zip(cells, columns.records(data, list(cells)), strict=True))
    assert len(found["many"]["labels"]) == columns.STATES
    assert found["many"]["together"] == found["many"]["states"] - columns.STATES + 1
    assert sum(found["many"]["counts"]) == 400
    assert found["bins"]["labels"] == ["(0, 5]", "(5, 10]", "(10, 20]"]
    assert "bins" in found["bins"]["note"]
    assert (found["still"]["constant"], found["still"]["unused"]) == (True, 1)
    assert "bins" not in found["huge"]  # too large to be drawn
    json.dumps(found, allow_nan=False)
    alone = HillClimbing(max_parents=0).fit(data)
    assert pairs.picture(data, alone.dag_, "many", "huge") is None
    steps = [str(i) for i in range(30)]
    order = Dataset.of({"w": rng.normal(size=600), "step": np.repeat(steps, 20)}, kinds={"step": "ordered"},
                       states={"step": steps})  # fmt: skip
    record = columns.records(order, ["step"])[0]
    assert record["labels"][0] == "0 … 1"  # neighbours are together
    assert record["counts"][0] == 40
    assert sum(record["counts"]) == 600


def test_values_behind_normal_scores(measured):
    """Tables of normal scores hold no values; these are found by the ranks."""
    table = cohort()
    for name in ("age", "bp", "crp"):
        assert columns.column_of(measured._train, name).values.tolist() == table[name].tolist()
    assert "as asked" in columns.records(measured._train, ["age"])[0]["sees"]


def test_shares_and_quartiles_of_pictures(mixed):
    table, data, dag = cohort(), mixed._train, mixed.dag_
    bars = pairs.picture(data, dag, "smoking", "stage")
    for label, row in zip(bars.rows, bars.counts, strict=True):
        assert row.tolist() == np.bincount(table["stage"][table["smoking"] == label], minlength=4).tolist()
    assert bars.title == "stage in each state of smoking"
    boxes = pairs.picture(data, dag, "bp", "sex")  # either way round
    for label, box in zip(boxes.rows, boxes.boxes, strict=True):
        own = table["bp"][table["sex"] == label]
        q1, median, q3 = np.percentile(own, (25, 50, 75))
        inside = own[(own >= q1 - 1.5 * (q3 - q1)) & (own <= q3 + 1.5 * (q3 - q1))]
        assert box == (inside.min(), q1, median, q3, inside.max(), len(own), len(own) - len(inside))
    ranked = pairs.picture(data, dag, "smoking", "crp")
    assert ranked.ticks is not None
    for label, units in zip(ranked.rows, ranked.units, strict=True):
        own = table["crp"][table["smoking"] == label]
        assert units[1:4] == pytest.approx(np.percentile(own, (25, 50, 75)))
        assert set(units[::4]) <= set(own)  # whiskers are values
    assert all(a < b for a, b in zip(ranked.boxes[0][:4], ranked.boxes[0][1:5], strict=True))


def test_lines_and_partial_residuals(mixed):
    """Against least squares with all parents, which gives the slope of partial residuals (Frisch & Waugh 1933)."""
    table = cohort()
    assert set(mixed.dag_.parents("bp")) == {"age", "sex"}
    found = pairs.picture(mixed._train, mixed.dag_, "bp", "age")
    assert (found.x.name, found.y.name, found.given) == ("age", "bp", ("sex",))
    slope, intercept = np.polyfit(table["age"], table["bp"], 1)
    assert (found.raw.slope, found.raw.intercept) == pytest.approx((slope, intercept))
    assert found.raw.correlation == pytest.approx(np.corrcoef(table["age"], table["bp"])[0, 1])
    design = np.column_stack([np.ones(700), table["age"], table["sex"] == "m"])
    assert found.partial.slope == pytest.approx(np.linalg.lstsq(design, table["bp"], rcond=None)[0][1])
    rest = table["age"] - np.array([table["age"][table["sex"] == s].mean() for s in table["sex"]])
    assert found.partial.x == pytest.approx(rest)
    assert len(found.raw.shown) == pairs.SHOWN == len(np.unique(found.raw.shown))
    shown = pairs.plain(found, {name: i for i, name in enumerate(table)})["views"][0]
    values = shown["x"]["low"] + np.array(shown["x"]["steps"]) / 1000 * (shown["x"]["high"] - shown["x"]["low"])
    assert values == pytest.approx(table["age"][found.raw.shown], abs=0.06)
    alone = pairs.picture(mixed._train, PDAG.from_edges(table, directed=[("age", "bp")]), "age", "bp")
    assert alone.partial is None
    assert "no other parents" in alone.why


def test_a_determined_cause_has_no_partial_residuals():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 100))
    data = Dataset.of({"a": a, "b": b, "sum": a + b, "y": a + rng.normal(size=100)})
    dag = PDAG.from_edges(["a", "b", "sum", "y"], directed=[("a", "y"), ("b", "y"), ("sum", "y")])
    found = pairs.picture(data, dag, "sum", "y")
    assert found.partial is None
    assert found.why == "sum is a linear function of a and b"


def test_missing_cells_are_left_out_and_counted():
    table = cohort(400)
    gone = np.arange(400) % 8 == 0
    holes = {name: own.tolist() for name, own in table.items()}
    holes["bp"] = [None if out else value for value, out in zip(holes["bp"], gone, strict=True)]
    holes["sex"] = [None if i % 10 == 5 else value for i, value in enumerate(holes["sex"])]
    data = Dataset.of(holes, missing="impute")
    names = list(table)
    found = dict(zip(names, columns.records(data, names), strict=True))
    assert found["bp"]["missing"] == 0.125
    assert found["bp"]["mean"] == pytest.approx(table["bp"][~gone].mean(), abs=0.051)
    assert sum(found["sex"]["counts"]) == 360
    dag = PDAG.from_edges(names, directed=[("age", "bp"), ("sex", "bp")])
    points = pairs.picture(data, dag, "age", "bp")
    assert points.raw.slope == pytest.approx(np.polyfit(table["age"][~gone], table["bp"][~gone], 1)[0])
    known = ~gone & (np.arange(400) % 10 != 5)
    assert len(points.partial.x) == known.sum()
    design = np.column_stack([np.ones(known.sum()), table["age"][known], table["sex"][known] == "m"])
    assert points.partial.slope == pytest.approx(np.linalg.lstsq(design, table["bp"][known], rcond=None)[0][1])
    assert pairs.pictures(data, dag, [("sex", "bp")])[0]["without"] == 400 - known.sum()


def test_pictures_are_those_of_the_most_probable_edges(large, mixed, measured):
    model, posterior = large
    data = page_data(model, posterior=posterior)
    assert len(data["pictures"]) == pairs.MOST
    drawn = {(own["a"], own["b"]) for own in data["pictures"]}
    strengths = [pair[2] for pair in data["pairs"] if (pair[0], pair[1]) in drawn]
    assert len(strengths) == pairs.MOST
    assert min(strengths) >= sorted((pair[2] for pair in data["pairs"]), reverse=True)[pairs.MOST - 1] - 1e-9
    assert len(json.dumps(data["columns"])) < 200_000
    assert len(data["columns"]) == 700
    assert page_data(mixed, pictures=0)["pictures"] == []
    assert [own["type"] for own in page_data(measured)["pictures"]] == ["points"] * len(
        page_data(measured)["pairs"]
    )
    assert {own["type"] for own in page_data(mixed)["pictures"]} == {"points", "boxes"}
    with pytest.raises(ValueError, match="pictures is -1"):
        page_data(mixed, pictures=-1)


def test_a_page_of_many_points_stays_small():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(2000, 20))
    table = {f"v{i:03}": base[:, i % 20] + rng.normal(size=2000) for i in range(200)}
    model = HillClimbing(max_parents=2).fit(Dataset.of(table))
    assert len(page(page_data(model))) < 2_000_000


def test_numbers_in_words():
    assert [labels.rounded(v, s) for v, s in ((54.6789, 12.0), (0.00123456, 0.0004), (123456.0, 3e4))] == [
        54.7, 0.001235, 123500.0,
    ]  # fmt: skip
    assert labels.rounded(-0.001, 5.0) == 0
    assert [labels.number(v) for v in (1234.5, -2.0, 3e9, 0.0)] == ["1,234.5", "−2", "3e+09", "0"]


# --- layout -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "density"), [(1, 0.0), (8, 0.3), (40, 0.08), (120, 0.02), (60, 0.9)])
def test_layout(rng, d, density):
    a = random_dag(rng, d, density).astype(bool)
    widths = rng.uniform(40, 160, d)
    found = layered(a, widths)
    below = found.y[None, :] - found.y[:, None]
    assert np.all(below[a] > 0)  # parents above children
    apart = np.abs(found.x[None, :] - found.x[:, None]) - (widths[None, :] + widths[:, None]) / 2
    level = (np.abs(below) < 1) & ~np.eye(d, dtype=bool)
    assert np.all(apart[level] > 10)
    assert np.abs(below[~level & ~np.eye(d, dtype=bool)]).min(initial=100.0) > 30
    for (u, v), points in found.bends.items():
        heights = [found.y[u], *(y for _, y in points), found.y[v]]
        assert np.all(np.diff(heights) > 0)
    assert layered(a, widths).x.tolist() == found.x.tolist()


def test_layout_of_known_graphs():
    tree = np.zeros((7, 7), bool)
    tree[[0, 0, 1, 1, 2, 2], [1, 2, 3, 6, 4, 5]] = True  # crosses if layers keep the order of indices
    found = layered(tree)
    assert sorted(found.y.tolist()) == [0, *[found.y[1]] * 2, *[found.y[3]] * 4]
    ends = sorted(zip(found.x[[1, 2]], [(3, 6), (4, 5)], strict=True))
    (_, left), (_, right) = ends
    assert max(found.x[list(left)]) < min(found.x[list(right)])
    loop = np.zeros((4, 4), bool)
    loop[[0, 1, 2, 2, 3], [1, 2, 0, 3, 2]] = True  # a cycle, and an undirected edge
    heights = layered(loop).y
    assert heights[0] < heights[1] < heights[2] != heights[3]
    assert layered(np.zeros((0, 0))).size == (0.0, 0.0)
    with pytest.raises(ValueError, match="one width per node"):
        layered(tree, [1.0])


def test_a_tree_is_drawn_without_crossings(rng):
    d = 1023
    label = rng.permutation(d)
    below = [[] for _ in range(d)]
    above = [[] for _ in range(d)]
    layers = [[] for _ in range(10)]
    for k in range(d):
        layers[(k + 1).bit_length() - 1].append(int(label[k]))
        if k:
            above[label[k]].append(int(label[(k - 1) // 2]))
            below[label[(k - 1) // 2]].append(int(label[k]))
    mixed = [rng.permutation(nodes).tolist() for nodes in layers]
    assert layout._crossings(layers, below) == 0
    assert layout._crossings(mixed, below) > 1000
    ordered = layout._ordered([list(nodes) for nodes in mixed], above, below, (above, below))
    assert [sorted(nodes) for nodes in ordered] == [sorted(nodes) for nodes in layers]
    assert layout._crossings(ordered, below) == 0


def test_crossings(rng):
    for _ in range(20):
        edges = [(int(a), 5 + int(b)) for a, b in np.argwhere(rng.random((5, 6)) < 0.5)]
        below = [[v for u, v in edges if u == i] for i in range(11)]
        naive = sum((a - c) * (b - e) < 0 for k, (a, b) in enumerate(edges) for c, e in edges[:k])
        assert layout._crossings([list(range(5)), list(range(5, 11))], below) == naive


def test_isotonic(rng):
    for _ in range(50):
        goals, weights = rng.normal(size=12), rng.uniform(0.1, 3, 12)
        assert isotonic(goals, weights) == pytest.approx(isotonic_regression(goals, sample_weight=weights))


# --- in a browser -------------------------------------------------------------------------------------


class Browser:
    """Headless Chromium by the WebDriver protocol (W3C), with chromedriver."""

    def __init__(self, chromium, driver):
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
        ports = (re.search(r"started successfully on port (\d+)", line) for line in self.process.stdout)
        self.base = f"http://127.0.0.1:{next(found for found in ports if found)[1]}"
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        options = {"binary": chromium, "args": [*flags, "--window-size=1400,1250"]}
        wanted = {"goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": options}
        self.session = ""
        self.session = "/session/" + self.send("/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def send(self, path, body=None, method="POST"):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + self.session + path, data, kind, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(error.read().decode()[:1000]) from None

    def open(self, path):
        self.send("/url", {"url": path.as_uri()})

    def run(self, script, *arguments):
        return self.send("/execute/sync", {"script": script, "args": list(arguments)})

    def messages(self):
        return self.send("/se/log", {"type": "browser"})

    def point(self, *steps):
        """Moves of the mouse: (x, y), "down", "up"."""
        made = [
            {"type": "pointerMove", "x": round(step[0]), "y": round(step[1])}
            if isinstance(step, tuple)
            else {"type": f"pointer{step.title()}", "button": 0}
            for step in steps
        ]
        self.send("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": made}]})

    def keys(self, *keys):
        made = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.send("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": made}]})

    def settled(self):
        """After the next frame."""
        script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(1)))"
        self.send("/execute/async", {"script": script, "args": []})

    def centre(self, node):
        script = """const n = document.querySelector(`[data-node="${arguments[0]}"] rect`);
            const b = n.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]"""
        return tuple(self.run(script, node))

    def close(self):
        self.send("", method="DELETE")
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        missing = "no Chromium with chromedriver here: apt-get install chromium chromium-driver"
        if os.environ.get("BRAI_REQUIRE_BROWSER"):
            pytest.fail(missing)
        pytest.skip(missing)
    opened = Browser(chromium, driver)
    yield opened
    opened.close()


@pytest.fixture
def asia_page(browser, asia, tmp_path):
    browser.open(write(asia, tmp_path / "asia.html", data_name="asia", command="brai demo"))
    browser.run("document.getElementById('graph').scrollIntoView({behavior: 'instant'})")
    yield browser
    assert browser.messages() == []


DRAWN = """return [...document.querySelectorAll('.edge:not(.off)')].filter((g) => g.dataset.a).map(
    (g) => [Number(g.dataset.a), Number(g.dataset.b), g.querySelector('.head').getAttribute('d') !== ''])"""
MEMBERS = "return [...document.querySelectorAll('.node.member')].map((n) => Number(n.dataset.node))"
SLIDE = (
    """const s = document.getElementById('level'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))"""
)


def test_it_renders(asia_page):
    assert asia_page.run("return document.getElementById('canvas').dataset.ready") == "yes"
    assert asia_page.run("return document.querySelectorAll('#canvas .node').length") == 8
    assert asia_page.run("return document.querySelectorAll('.card svg').length") == 5
    assert asia_page.run("return document.querySelectorAll('.chart path').length") == 4
    assert asia_page.run("return document.querySelectorAll('.icicle rect').length") > 3
    assert asia_page.run("return document.querySelectorAll('.verdict').length") == 3
    assert asia_page.run("return document.getElementById('command').textContent") == "brai demo"
    picture = base64.b64decode(asia_page.send("/screenshot", method="GET"))
    assert picture[:4] == b"\x89PNG"
    assert len(picture) > 20_000  # a blank page is smaller


@pytest.mark.parametrize("level", [0.05, 0.2, 0.5, 0.9, 1.0])
def test_the_slider_shows_the_consensus_graph(asia_page, asia, level):
    asia_page.run(SLIDE, level)
    asia_page.settled()
    names = asia.feature_names_in_
    wanted = asia.consensus(level, DECIDED).graph
    drawn = asia_page.run(DRAWN)
    assert {(names[a], names[b]) for a, b, arrow in drawn if arrow} == set(wanted.directed_edges())
    lines = {frozenset((names[a], names[b])) for a, b, arrow in drawn if not arrow}
    assert lines == set(map(frozenset, wanted.undirected_edges()))
    assert f"≥ {round(100 * level)} %: {wanted.n_edges}" == asia_page.run(
        "return document.getElementById('level-out').textContent"
    )


OUTSIDE = """const box = document.getElementById('canvas').getBoundingClientRect();
    const all = document.querySelectorAll('#canvas .edge:not(.off) > path:not(.reach), #canvas .node');
    return [...all].filter((one) => one.getAttribute('d') !== '').map((one) => one.getBoundingClientRect()).filter(
        (own) => own.left < box.left || own.right > box.right || own.top < box.top || own.bottom > box.bottom
    ).length"""


def posterior_on(graph, *weak):
    """A model without edges, and a posterior: a graph nine times, and once with weak edges."""
    names = tuple(f"v{i:02}" for i in range(len(graph)))
    codes = np.random.default_rng(0).integers(0, 2, (20, len(graph)))
    more = graph.copy()
    for a, b in weak:
        more[a, b] = 1
    draws = [PDAG(names, graph)] * 9 + [PDAG(names, more)]
    model = HillClimbing(max_parents=0).fit(Dataset.from_codes(codes, names=names))
    return model, Posterior.from_draws(draws, "classes")


def test_long_edges_are_on_the_canvas(browser, tmp_path):
    model, posterior = posterior_on(random_dag(np.random.default_rng(6), 30, 0.15))
    browser.open(write(model, tmp_path / "dense.html", posterior=posterior))
    assert browser.run(OUTSIDE) == 0


def test_bows_of_weak_edges_take_no_more_room_than_the_layout(browser, tmp_path):
    grid = np.zeros((80, 80), np.int8)  # eight rows of ten, edges down, and in the first row also to the right
    for i in range(70):
        grid[i, i + 10] = 1
    for i in range(9):
        grid[i, i + 11] = 1
    model, posterior = posterior_on(grid, *((i, i + 70) for i in range(10)))
    browser.open(write(model, tmp_path / "grid.html", posterior=posterior))
    room = """const box = document.querySelector('#canvas > g').getBBox();
        return [-box.x, -box.y, box.x + box.width, box.y + box.height]"""
    few, before = len(browser.run(DRAWN)), browser.run(room)
    browser.run(SLIDE, 0.01)
    browser.settled()
    assert len(browser.run(DRAWN)) == few + 10
    assert np.all(np.subtract(browser.run(room), before) < 5)
    assert browser.run(OUTSIDE) == 0
    assert browser.messages() == []


def test_a_direction_that_is_hardly_more_probable_is_not_drawn(browser, tmp_path):
    graph = PDAG(tuple(f"v{i:02}" for i in range(30)), np.zeros((30, 30)))
    model, _ = posterior_on(graph.adjacency)
    directions = {}
    rows = []
    for k, share in enumerate((0.51, 0.59, 0.61, 0.89, 0.91)):
        directions[2 * k, 2 * k + 1] = share
    for t in range(100):
        own = graph.adjacency.copy()
        for (a, b), share in directions.items():
            own[(a, b) if t < 100 * share else (b, a)] = 1
        rows.append((PDAG(graph.names, own), 0.0))
    browser.open(write(model, tmp_path / "r.html", posterior=posterior_of_dags(rows)))
    looks = """return [...document.querySelectorAll('#canvas .edge:not(.off)')].map((g) => [Number(g.dataset.a),
        !g.querySelector('.head').getAttribute('d') ? 'none' : g.classList.contains('hollow') ? 'hollow' : 'full'
    ])"""
    assert dict(browser.run(looks)) == {0: "none", 2: "none", 4: "hollow", 6: "hollow", 8: "full"}
    assert browser.messages() == []


def test_a_click_highlights(asia_page, asia):
    names = list(asia.feature_names_in_)
    graph = asia.consensus(0.5, DECIDED).graph
    assert any(set(graph.markov_blanket(name)) > set(graph.adjacent(name)) for name in names)
    for name in [*(name for name in names if name != "either"), "either"]:
        asia_page.point(asia_page.centre(names.index(name)), "down", "up")
        assert {names[i] for i in asia_page.run(MEMBERS)} == set(graph.markov_blanket(name))
    assert asia_page.run("return document.querySelector('.node.selected text').textContent") == "either"
    assert asia_page.run("return document.querySelector('#panel .who').textContent") == "either"
    asia_page.run("document.querySelector('[value=ancestors]').click()")
    above = {name for name in names if name != "either" and graph.has_path(name, "either")}
    assert {names[i] for i in asia_page.run(MEMBERS)} == above != set()
    asia_page.run("document.querySelector('[value=descendants]').click()")
    below = {name for name in names if name != "either" and graph.has_path("either", name)}
    assert {names[i] for i in asia_page.run(MEMBERS)} == below != set()
    shown = """return [...document.querySelectorAll('.node')].filter(
        (node) => getComputedStyle(node).display !== 'none').length"""
    asia_page.run("document.getElementById('alone').click()")
    assert asia_page.run(shown) == len(below) + 1
    asia_page.run("document.getElementById('canvas').focus()")
    asia_page.keys("\ue00c")  # Escape
    assert asia_page.run(MEMBERS) == []
    assert asia_page.run(shown) == 8


def test_drag_and_zoom(asia_page):
    before = asia_page.centre(0)
    asia_page.point(before, "down", (before[0] + 40, before[1] + 25), (before[0] + 80, before[1] + 50), "up")
    after = asia_page.centre(0)
    assert np.subtract(after, before) == pytest.approx((80, 50), abs=3)
    assert asia_page.run("return document.querySelectorAll('.node.selected').length") == 0
    zoom = "return Number(document.getElementById('canvas').dataset.zoom)"
    small = asia_page.run(zoom)
    asia_page.run("document.getElementById('zoom-in').click()")
    assert asia_page.run(zoom) == pytest.approx(1.4 * small, rel=0.01)
    asia_page.run("document.getElementById('restore').click()")
    assert asia_page.run(zoom) == pytest.approx(small, rel=0.01)
    assert asia_page.centre(0) == pytest.approx(before, abs=1)


def test_search_by_keyboard(asia_page):
    asia_page.run("document.getElementById('canvas').focus()")
    asia_page.keys("/")
    asia_page.keys(*"bron")
    assert asia_page.run("return document.querySelector('#matches li').textContent") == "bronc"
    asia_page.keys("\ue007")  # Enter
    assert asia_page.run("return document.querySelector('.node.selected text').textContent") == "bronc"


def test_the_table_sorts_and_filters(asia_page, asia):
    column = """return [...document.querySelectorAll('#table tbody tr')].map(
        (row) => row.cells[arguments[0]].textContent)"""
    rows = asia.edge_table(0.01)
    assert len(asia_page.run(column, 0)) == len(rows)
    assert asia_page.run(column, 0)[0] in {
        row["from"] for row in rows if row["strength"] > rows[0]["strength"] - 1e-6
    }
    asia_page.run("document.querySelectorAll('#table th button')[0].click()")
    found = asia_page.run(column, 0)
    assert found == sorted(found)
    assert found != asia_page.run(column, 2)
    asia_page.run("document.querySelectorAll('#table th button')[2].click()")
    asia_page.run("document.querySelectorAll('#table th button')[2].click()")
    numbers = [float(text.strip("> %")) for text in asia_page.run(column, 3)]
    assert numbers == sorted(numbers)
    asia_page.run(
        "const f = document.getElementById('filter'); f.value = 'XRAY'; f.dispatchEvent(new Event('input'))"
    )
    near = [row for row in rows if "xray" in (row["from"], row["to"])]
    assert 0 < len(asia_page.run(column, 0)) == len(near) < len(rows)


def test_light_and_dark(asia_page):
    ink = "return [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    seen = []
    for scheme in ("light", "dark"):
        features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        asia_page.send("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": features})
        text, back = (sum(map(int, re.findall(r"\d+", own)[:3])) for own in asia_page.run(ink))
        seen.append(text < back)
    asia_page.send("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": []}})
    assert seen == [True, False]


def test_names_do_nothing_but_show(browser, nasty, tmp_path):
    browser.open(write(nasty, tmp_path / "nasty.html", title=NASTY[0], data_name=NASTY[1], command=NASTY[1]))
    browser.run(SLIDE, 0.01)
    browser.settled()
    for node in range(len(NASTY)):
        browser.run("document.getElementById('canvas').scrollIntoView({block: 'center', behavior: 'instant'})")
        browser.point(browser.centre(node), "down", "up")
        who = browser.run("return document.querySelector('#panel .who').textContent")
        assert who == (NASTY[node] if len(NASTY[node]) < 1000 else NASTY[node][:1000] + "…")
    assert browser.run("return window.hacked === undefined")
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return document.title") == NASTY[0]
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.messages() == []


LEARNERS = {
    "RAI": RAI(),
    "paper": BRAI.paper(s=2, random_state=0),
    "bootstrap": Bootstrap(HillClimbing(), n=6, random_state=0),
    "exact": Exact(k=10),
    "dp-mcmc": DPMCMC(n=50, burn_in=100),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_reports_of_other_learners(browser, name, tmp_path):
    model = clone(LEARNERS[name]).fit(load_network("cancer").sample(300, random_state=0))
    browser.open(write(model, tmp_path / "r.html"))
    assert browser.run("return document.getElementById('canvas').dataset.ready") == "yes"
    assert len(browser.run(DRAWN)) == model.consensus(0.5).graph.n_edges
    assert browser.messages() == []


def test_one_variable(browser, tmp_path):
    codes = np.arange(20)[:, None] % 2
    model = BRAI(random_state=0).fit(Dataset.from_codes(codes, names=["x"]))
    browser.open(write(model, tmp_path / "r.html"))
    assert browser.run("return document.getElementById('shown').textContent").startswith("0 edges of")
    assert browser.run("return document.querySelector('.node text').textContent") == "x"
    assert browser.messages() == []


@pytest.mark.slow
def test_seven_hundred_variables(browser, large, tmp_path):
    model, posterior = large
    browser.open(write(model, tmp_path / "large.html", posterior=posterior))
    assert browser.run("return document.querySelectorAll('#canvas .node').length") == 700
    labels = "return getComputedStyle(document.querySelector('.node text')).display"
    assert browser.run(labels) == "none"  # too small to be read
    browser.run("for (let k = 0; k < 12; k++) document.getElementById('zoom-in').click()")
    assert browser.run(labels) != "none"
    took = browser.run(
        "const start = performance.now(); document.getElementById('zoom-out').click(); " + SLIDE + "; "
        "return performance.now() - start",
        0.3,
    )
    browser.settled()
    assert len(browser.run(DRAWN)) == posterior.consensus(0.3).graph.n_edges
    assert took < 2000
    assert browser.messages() == []


# --- columns and pictures in a browser ------------------------------------------------------------------

OPEN = """const row = [...document.querySelectorAll('#table tbody tr')].find((own) => {
        const names = [own.cells[0].textContent, own.cells[2].textContent];
        return names.includes(arguments[0]) && names.includes(arguments[1]);
    });
    row.cells[3].click(); return document.getElementById('pair').open"""
TITLE = "return document.getElementById('pair-h').textContent"
FACTS = """return Object.fromEntries([...document.querySelectorAll('#pair-facts div')].map(
    (own) => [...own.children].map((part) => part.textContent)))"""
TABLE = """return [...document.querySelectorAll('#pair tbody tr')].map(
    (row) => [...row.cells].map((cell) => cell.textContent))"""
CARDS = """return [...document.querySelectorAll('#column-cards .column')].map((own) => [
    own.querySelector('.link').textContent, own.querySelector('.kind').textContent,
    own.querySelectorAll('.histogram rect').length, own.querySelectorAll('.states li').length])"""


@pytest.fixture
def mixed_page(browser, mixed, tmp_path):
    browser.open(write(mixed, tmp_path / "mixed.html"))
    yield browser
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.messages() == []


def test_columns_in_the_page(mixed_page, mixed):
    found = mixed_page.run(CARDS)
    assert [own[:2] for own in found] == [
        ["sex", "category"], ["smoking", "category"], ["age", "measurement"], ["stage", "ordered"],
        ["bp", "measurement"], ["crp", "measurement"],
    ]  # fmt: skip
    bins = [len(own.get("bins", [])) for own in page_data(mixed)["columns"]]
    assert [own[2] for own in found] == bins
    assert [own[3] for own in found] == [2, 3, 0, 4, 0, 0]
    note = mixed_page.run("return document.getElementById('columns-note').textContent")
    assert note.startswith("2 categories, 1 ordered, 3 measurements.")
    assert mixed_page.run("return getComputedStyle(document.getElementById('column-tools')).display") == "none"


def test_the_picture_of_two_measurements(mixed_page, mixed):
    assert mixed_page.run(OPEN, "age", "bp")
    assert mixed_page.run(TITLE) == "bp against age"
    facts = mixed_page.run(FACTS)
    sizes, names = mixed.edge_coefficients(), list(mixed.feature_names_in_)
    i, j = names.index("age"), names.index("bp")
    assert facts["Standardised coefficient (95 % interval)"].startswith(f"{sizes.mean[i, j]:+.2f} (")
    assert facts["P(adjacent)"] == "100 %"
    assert mixed_page.run("return document.querySelectorAll('.point').length") == pairs.SHOWN
    words = "return document.querySelector('#pair-picture').textContent"
    found = pairs.picture(mixed._train, mixed.dag_, "age", "bp")
    assert f"changes by +{found.raw.slope:.3g} with each unit of age" in mixed_page.run(words)
    assert "500 of 700 rows are drawn" in mixed_page.run(words)
    places = """return [...document.querySelectorAll('.point')].map(
        (own) => [own.cx.baseVal.value, own.cy.baseVal.value])"""
    before = np.array(mixed_page.run(places))
    x, y = found.raw.x[found.raw.shown], found.raw.y[found.raw.shown]
    assert np.corrcoef(before[:, 0], x)[0, 1] > 0.9999
    assert np.corrcoef(before[:, 1], y)[0, 1] < -0.9999
    mixed_page.run("document.querySelectorAll('#given input')[1].click()")
    assert f"changes by +{found.partial.slope:.3g} with each unit of age" in mixed_page.run(words)
    assert "regression on sex" in mixed_page.run(words)
    after = np.array(mixed_page.run(places))
    assert np.corrcoef(after[:, 1], found.partial.y[found.partial.shown])[0, 1] < -0.9999
    mixed_page.keys("\ue00c")  # Escape
    assert not mixed_page.run("return document.getElementById('pair').open")


def test_the_picture_of_states_and_a_measurement(mixed_page):
    assert mixed_page.run(OPEN, "sex", "bp")
    assert mixed_page.run(TITLE) == "bp in each state of sex"
    rows, table = mixed_page.run(TABLE), cohort()
    for label, n, _, q1, median, q3, _, _ in rows:
        own = table["bp"][table["sex"] == label]
        assert int(n) == len(own)
        assert [float(v) for v in (q1, median, q3)] == pytest.approx(np.percentile(own, (25, 50, 75)), abs=0.05)
    assert mixed_page.run("return document.querySelectorAll('.box').length") == len(rows) == 2
    mixed_page.run(OPEN, "smoking", "crp")
    assert "spaced by normal scores" in mixed_page.run("return document.querySelector('#pair svg').textContent")


def test_from_one_picture_to_the_next(mixed_page, mixed):
    mixed_page.run("document.querySelector('#table td.sign button').click()")
    seen = [mixed_page.run(TITLE)]
    while not mixed_page.run("return document.getElementById('pair-after').disabled"):
        mixed_page.run("document.getElementById('pair-after').click()")
        seen.append(mixed_page.run(TITLE))
    assert len(set(seen)) == len(seen) == len(page_data(mixed)["pictures"])
    mixed_page.run("document.getElementById('pair-close').click()")
    assert not mixed_page.run("return document.getElementById('pair').open")


def test_a_click_on_an_edge_shows_its_data(asia_page, asia):
    place = """const edge = [...document.querySelectorAll('.edge:not(.off)')].find((g) => g.dataset.a);
        const path = edge.querySelector('path.reach');
        const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
        return [at.x, at.y]"""
    asia_page.run("document.getElementById('canvas').scrollIntoView({block: 'center', behavior: 'instant'})")
    asia_page.point(tuple(asia_page.run(place)), "down", "up")
    assert asia_page.run("return document.getElementById('pair').open")
    names, pair = (
        list(asia.feature_names_in_),
        asia_page.run("return document.getElementById('pair').dataset.pair"),
    )
    of, to = (names[int(i)] for i in pair.split(","))
    assert asia_page.run(TITLE) == f"{to} in each state of {of}"
    rows, known = asia_page.run(TABLE), asia._train.to_dict()
    heads = asia_page.run("return [...document.querySelectorAll('#pair thead th')].map((own) => own.textContent)")
    for row in rows:
        own = [b for a, b in zip(known[of], known[to], strict=True) if a == row[0]]
        for label, cell in zip(heads[1:-1], row[1:-1], strict=True):
            assert int(cell.split(" (")[0].replace(",", "")) == own.count(label)
    edges = asia.edge_probabilities()
    wanted = edges[names.index(to), names.index(of)]
    shown = asia_page.run(FACTS)[f"P({to} → {of})"]
    assert float(shown.strip("> %")) == pytest.approx(100 * wanted, abs=0.06)
    assert "order of states is not used" in asia_page.run(
        "return document.getElementById('columns-note').textContent"
    )
    asia_page.keys("\ue00c")


@pytest.mark.parametrize("width", [390, 1400])
def test_pictures_on_phones_and_screens(browser, measured, tmp_path, width):
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.send("/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})
    try:
        browser.open(write(measured, tmp_path / "numbers.html"))
        assert browser.run(OPEN, "age", "bp")
        outside = """const box = document.getElementById('pair').getBoundingClientRect();
            const texts = [...document.querySelectorAll('#pair text')].map((own) => own.getBoundingClientRect());
            return [box.left >= 0 && box.right <= innerWidth,
                texts.filter((own) => own.left < box.left || own.right > box.right).length]"""
        assert browser.run(outside) == [True, 0]
        scale = """const own = document.querySelector('.picture');
            return own.getBoundingClientRect().width / own.viewBox.baseVal.width"""
        assert browser.run(scale) == pytest.approx(1, abs=0.01)  # letters keep their size
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        browser.send("/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})
    assert browser.messages() == []


def test_many_columns_are_folded(browser, large, tmp_path):
    model, posterior = large
    browser.open(write(model, tmp_path / "large.html", posterior=posterior, pictures=3))
    assert browser.run(CARDS) == []
    browser.run("document.getElementById('more-columns').click()")
    assert len(browser.run(CARDS)) == 40
    browser.run(
        "const f = document.getElementById('column-filter'); f.value = '_007'; f.dispatchEvent(new Event('input'))"
    )
    assert [own[0] for own in browser.run(CARDS)] == ["gene_007"]
    told = "return document.getElementById('rows-shown').textContent"
    assert "3 edges have a picture" in browser.run(told)
    assert browser.messages() == []


def test_missing_cells_in_the_page(browser, mixed, tmp_path):
    data = page_data(mixed)
    data["columns"][0]["missing"] = 0.125
    data["pictures"][0]["without"] = 7
    path = tmp_path / "holes.html"
    path.write_text(page(data), encoding="utf-8")
    browser.open(path)
    assert browser.run("return document.querySelector('.column .missing').textContent") == (
        "12.5 % of the cells are missing"
    )
    names = [data["names"][data["pictures"][0][end]] for end in "ab"]
    browser.run(OPEN, *names)
    assert "7 rows in which one of the two is missing are left out" in browser.run(
        "return document.getElementById('pair-picture').textContent"
    )
    assert browser.messages() == []
