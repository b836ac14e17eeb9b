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
from brai.show.report import build, layout, page, page_data, write
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
    assert max(map(len, data["labels"])) <= build.CELLS
    assert all(label.isprintable() for label in data["labels"])
    page({**data, "title": "\ud800"}).encode("utf-8")


def test_labels():
    assert build.label_of("smoke") == "smoke"
    assert build.label_of("a" * 22) == "a" * 22
    assert build.label_of("a" * 23) == "a" * 21 + "…"
    assert build.label_of("年" * 12) == "年" * 10 + "…"
    assert build.label_of("\n\t") == "(blank)"


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
