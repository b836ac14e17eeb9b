"""Figures: axes come back, and what they show is what the numbers say."""

from __future__ import annotations

import builtins
import sys

import numpy as np
import pytest

from brai import BRAI, RAI, Bootstrap, Dataset, HillClimbing, Posterior, load_network, plots
from brai.graphs.pdag import PDAG
from brai.posterior.consensus import DECIDED

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'brai[plots]'")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def asia():
    model = BRAI(s=3, n_draws=500, random_state=0).fit(load_network("asia").sample(1000, random_state=0))
    model.chains()
    return model


def edges(ax):
    """(a, b) of every line drawn, with its patch."""
    found = {}
    for patch in ax.patches:
        if (patch.get_gid() or "").startswith("edge"):
            found[tuple(map(int, patch.get_gid().split()[1:]))] = patch
    return found


def words(ax):
    return [text.get_text() for text in ax.texts]


def is_arrow(patch):
    return type(patch.get_arrowstyle()).__name__ == "CurveFilledB"


def test_graph_of_a_model(asia):
    ax = plots.graph(asia)
    consensus = asia.consensus(0.5, DECIDED)
    names = consensus.graph.names
    drawn = edges(ax)
    assert {(names[a], names[b]) for (a, b), patch in drawn.items() if is_arrow(patch)} == set(
        consensus.graph.directed_edges()
    )
    assert len(drawn) == consensus.graph.n_edges > 4
    assert set(names) <= set(words(ax))
    assert sorted(text for text in words(ax) if text.endswith("%")) == sorted(
        f"{row['strength']:.0%}" for row in consensus.edges
    )
    rows = {frozenset((row["from"], row["to"])): row for row in consensus.edges}
    for (a, b), patch in drawn.items():
        row = rows[frozenset((names[a], names[b]))]
        hollow = patch.get_facecolor()[:3] == (1.0, 1.0, 1.0)
        assert hollow == (row["direction"] < 0.9)
    ax.figure.canvas.draw()


def test_faint_edges_are_improbable():
    sure, both = (PDAG.from_edges("abc", directed=own) for own in ([("a", "b")], [("a", "b"), ("c", "b")]))
    found = edges(plots.graph(Posterior.from_draws([sure, sure, both]), threshold=0.2))
    one, third = found[0, 1], found[2, 1] if (2, 1) in found else found[1, 2]
    assert one.get_alpha() > third.get_alpha()
    assert one.get_linewidth() > third.get_linewidth()


def test_graph_on_given_axes():
    _, (left, right) = plt.subplots(1, 2)
    cpdag = load_network("asia").pdag.to_cpdag()
    assert plots.graph(cpdag, ax=right) is right
    assert not left.patches
    drawn = edges(right)
    assert sum(is_arrow(patch) for patch in drawn.values()) == len(cpdag.directed_edges())
    assert len(drawn) == cpdag.n_edges
    assert not any(text.endswith("%") for text in words(right))


def test_no_node_hides_another():
    ax = plots.graph(load_network("alarm").pdag)
    renderer = ax.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in ax.texts]
    assert len(boxes) == 37
    assert sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]) == 0
    frame = ax.get_window_extent(renderer)
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 <= frame.y1 for box in boxes)


def test_names_are_not_mathematics():
    ax = plots.graph(PDAG.from_edges(["$x_1$", "$\\frac{$"], directed=[("$x_1$", "$\\frac{$")]))
    ax.figure.canvas.draw()
    assert "$x_1$" in words(ax)
    cpdag = PDAG.from_edges(["$x$", "$y"], directed=[("$x$", "$y")])
    plots.heat_map(Posterior.from_draws([cpdag])).figure.canvas.draw()


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("edges", "edge_probabilities"),
        ("adjacency", "adjacency_probabilities"),
        ("blankets", "markov_blanket_probabilities"),
        ("paths", "path_probabilities"),
    ],
)
def test_heat_map(asia, kind, method):
    ax = plots.heat_map(asia, kind=kind)
    values = getattr(asia, method)()
    assert np.array_equal(ax.images[0].get_array(), values)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(asia.feature_names_in_)
    assert len(ax.texts) == (values >= 0.005).sum()
    ax.figure.canvas.draw()


def test_reliability():
    """Two of three graphs have a → b, one has c → b; the truth is a → b."""
    sure, both = (PDAG.from_edges("abc", directed=own) for own in ([("a", "b")], [("c", "b")]))
    posterior = Posterior.from_draws([sure, sure, both])
    truth = PDAG.from_edges("cab", directed=[("a", "b")])
    ax = plots.reliability(posterior, truth, bins=5)
    points = {line.get_gid(): (line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_gid()}
    assert points.keys() == {"bin 0", "bin 1", "bin 3"}
    assert points["bin 3"] == pytest.approx((2 / 3, 1))
    assert points["bin 1"] == pytest.approx((1 / 3, 0))
    assert points["bin 0"] == pytest.approx((0, 0))
    assert words(ax) == ["1", "1", "1"]
    assert f"{2 / 27:.4f}" in ax.get_title()
    directed = plots.reliability(posterior, truth, kind="edges", bins=1)
    assert [line.get_ydata()[0] for line in directed.lines if line.get_gid()] == pytest.approx([1 / 6])
    ax.figure.canvas.draw()


def test_interval_of_a_share():
    assert plots._wilson(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)  # as in tables
    assert plots._wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_scores(asia):
    ax = plots.scores(asia)
    lines = [line for line in ax.lines if line.get_label().startswith("chain ")]
    assert len(lines) == 4
    assert lines[1].get_ydata() == pytest.approx(asia.chains().log_scores[1], abs=1e-3)
    assert ax.lines[-1].get_ydata()[0] == asia.log_score_
    data = load_network("cancer").sample(200, random_state=0)
    members = plots.scores(Bootstrap(HillClimbing(), n=6, random_state=0).fit(data))
    assert len(members.lines[0].get_xdata()) == 6
    assert len(plots.scores(RAI().fit(data)).lines[0].get_xdata()) == 1
    ax.figure.canvas.draw()


def test_compare():
    first = PDAG.from_edges("abcd", directed=[("a", "b"), ("b", "c")], undirected=[("c", "d")])
    second = PDAG.from_edges("dcba", directed=[("a", "b"), ("d", "c"), ("a", "d")])
    ax = plots.compare(first, second, names=("true", "found"))
    drawn = edges(ax)
    colors = {pair: matplotlib.colors.to_hex(patch.get_edgecolor()).upper() for pair, patch in drawn.items()}
    assert colors == {(0, 1): plots.GREY, (1, 2): plots.ORANGE, (3, 2): plots.PURPLE, (0, 3): plots.BLUE}
    assert "(SHD) 3" in ax.get_title()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "in both", "only in true", "only in found", "different direction",
    ]  # fmt: skip
    ax.figure.canvas.draw()


def test_compare_takes_networks_and_models(asia):
    network = load_network("asia")
    ax = plots.compare(network, asia)
    assert f"(SHD) {network.pdag.shd(asia.cpdag_)}" in ax.get_title()


@pytest.fixture(scope="module")
def cohort():
    """A table of categories and measurements, and a model: sex and age are parents of bp."""
    rng = np.random.default_rng(0)
    sex, age = rng.integers(0, 2, 600), rng.normal(55, 12, 600)
    table = {"sex": np.array(["f", "m"])[sex], "age": age, "bp": 100 + 0.6 * age + 9 * sex + rng.normal(0, 8, 600)}
    table["$ill"] = np.array(["no", "yes"])[(rng.random(600) < 0.2 + 0.4 * sex).astype(int)]
    return table, HillClimbing(random_state=0).fit(Dataset.of(table))


def test_bars_of_two_categories(cohort):
    table, model = cohort
    ax = plots.edge(model, "sex", "$ill")
    widths = np.array([patch.get_width() for patch in ax.patches]).reshape(2, 2)  # by state of $ill, by sex
    for k, sex in enumerate("fm"):
        assert widths[:, k] == pytest.approx(
            [(table["$ill"][table["sex"] == sex] == own).mean() for own in ("no", "yes")]
        )
    assert [own.get_text() for own in ax.get_yticklabels()] == [
        f"{sex}  (n = {(table['sex'] == sex).sum()})" for sex in "fm"
    ]
    assert ax.get_title() == "$ill in each state of sex"
    ax.figure.canvas.draw()


def test_boxes_of_a_measurement(cohort):
    table, model = cohort
    ax = plots.edge(model, "bp", "sex")
    boxes = {patch.get_gid(): patch for patch in ax.patches}
    medians = {line.get_gid(): line.get_xdata()[0] for line in ax.lines if line.get_gid()}
    for k, sex in enumerate("fm"):
        q1, median, q3 = np.percentile(table["bp"][table["sex"] == sex], (25, 50, 75))
        box = boxes[f"box {k}"]
        assert (box.get_x(), box.get_x() + box.get_width()) == pytest.approx((q1, q3))
        assert medians[f"median {k}"] == pytest.approx(median)
    ax.figure.canvas.draw()


def test_points_of_two_measurements(cohort):
    table, model = cohort
    lines = {line.get_gid(): line for line in plots.edge(model, "age", "bp").lines}
    assert len(lines["points"].get_xdata()) == 500
    assert set(lines["points"].get_xdata()) <= set(table["age"])
    slope, intercept = np.polyfit(table["age"], table["bp"], 1)
    assert lines["line"].get_ydata() == pytest.approx(intercept + slope * lines["line"].get_xdata())
    _, ax = plt.subplots()
    assert plots.edge(model, "age", "bp", given_parents=True, ax=ax) is ax
    x, y = next(line for line in ax.lines if line.get_gid() == "line").get_data()
    design = np.column_stack([np.ones(600), table["age"], table["sex"] == "m"])
    found = np.linalg.lstsq(design, table["bp"], rcond=None)[0]
    assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(found[1])
    assert ax.get_ylabel() == "bp, less what sex predicts"
    ax.figure.canvas.draw()


def test_edges_that_are_refused(cohort):
    _, model = cohort
    with pytest.raises(ValueError, match=r"there is no variable 'Age'.*choose among"):
        plots.edge(model, "Age", "bp")
    with pytest.raises(ValueError, match="both variables are 'bp'"):
        plots.edge(model, "bp", "bp")
    with pytest.raises(ValueError, match="given_parents is for two measurements"):
        plots.edge(model, "sex", "bp", given_parents=True)
    still = HillClimbing(max_parents=0).fit(Dataset.of({"a": [0.5] * 30, "b": np.arange(30) / 7}))
    with pytest.raises(ValueError, match="cannot be drawn"):
        plots.edge(still, "a", "b")
    alone = HillClimbing(max_parents=0).fit(Dataset.of({"a": np.arange(30) % 7 / 3, "b": np.arange(30) / 7}))
    with pytest.raises(ValueError, match=r"no other parents in the best graph\. Leave given_parents out"):
        plots.edge(alone, "a", "b", given_parents=True)


def test_what_is_refused(asia):
    with pytest.raises(TypeError, match="cannot draw a str: give a PDAG"):
        plots.graph("asia")
    with pytest.raises(ValueError, match="kind is 'nodes': choose"):
        plots.heat_map(asia, kind="nodes")
    with pytest.raises(ValueError, match="kind is 'paths'"):
        plots.reliability(asia, load_network("asia"), kind="paths")
    with pytest.raises(ValueError, match="bins is 0"):
        plots.reliability(asia, load_network("asia"), bins=0)
    with pytest.raises(ValueError, match="are in one graph only"):
        plots.compare(asia, load_network("cancer"))


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'brai\[plots\]'"):
        plots.graph(load_network("cancer").pdag)
