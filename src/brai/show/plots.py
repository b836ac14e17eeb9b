"""Figures with matplotlib: a graph, a heat map, a reliability diagram, scores, two graphs in one, data of an edge.

Each function draws on the given Axes, or on new ones, and returns them. Graphviz is not needed: graphs have the
layout of `brai.show.report.layout`, as in the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from brai.graphs.differences import differences, lines
from brai.graphs.pdag import PDAG
from brai.kinds.discrete.network import Network
from brai.learners.base import StructureLearner
from brai.posterior.consensus import DECIDED, TIE, Row
from brai.posterior.weighted import Posterior
from brai.runtime.checks import near
from brai.show.edge_plot import draw, size_of
from brai.show.looks import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, YELLOW
from brai.show.report.build import arranged
from brai.show.report.labels import label_of
from brai.show.report.layout import Layout
from brai.show.report.pairs import Points, picture
from brai.show.report.trace import score_series

Source: TypeAlias = StructureLearner | Posterior
Floats: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["edges", "adjacency", "blankets", "paths"]

HIGH = 30.0  # height of a node's box
SURE = 0.9  # probability of the direction above which an arrow head is filled
UNIT = 1 / 82  # inches per unit of the layout, in new figures
FEW = 40  # most edges that are labelled with their probabilities by default


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("matplotlib is not installed: pip install 'brai[plots]'") from error
    return plt


def _axes(ax: Any, width: float, height: float) -> Any:
    if ax is not None:
        return ax
    return _pyplot().subplots(figsize=(min(max(width, 3.0), 24.0), min(max(height, 2.4), 18.0)))[1]


def _checked(source: Any, kinds: tuple[type, ...], cure: str) -> Any:
    if not isinstance(source, kinds):
        raise TypeError(f"cannot draw a {type(source).__name__}: give {cure}")
    return source


# --- graphs ---------------------------------------------------------------------------------------


def graph(
    source: Source | PDAG, *, threshold: float = 0.5, probabilities: bool | None = None, ax: Any = None
) -> Any:
    """Draw a PDAG, or the consensus graph of a fitted model or a posterior.

    More probable edges are thicker and darker. An arrow head is filled if its direction has at least probability
    SURE, hollow below, and left out up to `brai.posterior.consensus.DECIDED`. ``probabilities`` writes P(adjacent)
    at the edges; by default it does so for up to FEW edges.
    """
    _checked(source, (PDAG, StructureLearner, Posterior), "a PDAG, a fitted model or a Posterior")
    if isinstance(source, PDAG):
        drawn, rows = source, dict[tuple[str, str], Row]()
    else:
        found = source.consensus(threshold, DECIDED)
        drawn, rows = found.graph, {(row["from"], row["to"]): row for row in found.edges}
    page = _Page(drawn, ax)
    show = bool(rows) and (len(rows) <= FEW if probabilities is None else probabilities)
    crowd = min(1.0, 400 / max(1, drawn.n_edges))
    for a, b, directed in lines(drawn):
        row = rows.get((drawn.names[a], drawn.names[b])) or rows.get((drawn.names[b], drawn.names[a]))
        strength, sure = (row["strength"], row["direction"] >= SURE - TIE) if row else (1.0, True)
        alpha, width = crowd * (0.3 + 0.7 * strength), 0.5 + 1.5 * strength
        page.edge(a, b, directed, Stroke(width=width, alpha=alpha, hollow=not sure))
        if show:
            page.write(a, b, f"{strength:.0%}")
    page.nodes()
    return page.ax


def compare(a: Any, b: Any, *, names: tuple[str, str] = ("first", "second"), ax: Any = None) -> Any:
    """Draw two graphs over the same nodes in one: shared edges, edges of only one, edges of different direction.

    Each is a PDAG, a Network, or a fitted model (its cpdag_). The title gives the structural Hamming distance
    (SHD), the number of edges in which they differ.
    """
    first, second = (_graph_of(one) for one in (a, b))
    distance = first.shd(second)
    second = second.reorder(first.names)
    union = PDAG(first.names, first.adjacency | second.adjacency)
    page = _Page(union, ax)
    differ = {(min(one.line[:2]), max(one.line[:2])): one for one in differences(first, second)}
    for i, j, directed in lines(first):
        if (min(i, j), max(i, j)) not in differ:
            page.edge(i, j, directed, Stroke(color=GREY))
    looks = {"removed": (ORANGE, "--"), "added": (BLUE, "-"), "turned": (PURPLE, "-")}
    for one in differ.values():
        color, style = looks[one.kind]
        page.edge(*one.line, Stroke(color=color, style=style, width=2.2))
    page.nodes()
    from matplotlib.lines import Line2D

    words = {"removed": f"only in {names[0]}", "added": f"only in {names[1]}", "turned": "different direction"}
    keys = [Line2D([], [], color=GREY, label="in both")]
    keys += [Line2D([], [], color=looks[kind][0], ls=looks[kind][1], lw=2.2, label=words[kind]) for kind in looks]
    page.ax.legend(handles=keys, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False)
    page.ax.set_title(f"{names[0]} and {names[1]}: distance (SHD) {distance}")
    return page.ax


def _graph_of(source: Any) -> PDAG:
    cure = "PDAGs, Networks or fitted models"
    _checked(source, (PDAG, Network, StructureLearner), cure)
    if isinstance(source, PDAG):
        return source
    return source.pdag if isinstance(source, Network) else source.cpdag_


class Stroke(NamedTuple):
    """How an edge is drawn."""

    color: str = INK
    style: str = "-"
    width: float = 1.4
    alpha: float = 1.0
    hollow: bool = False  # an arrow head that is not filled


class _Page:
    """Axes in units of the layout, with methods to draw nodes and edges."""

    def __init__(self, graph: PDAG, ax: Any):
        self.layout, self.labels, self.widths = arranged(graph)
        layout: Layout = self.layout
        width, height = (size + room for size, room in zip(layout.size, (160.0, 90.0), strict=True))
        self.ax = _axes(ax, width * UNIT, height * UNIT)
        box = self.ax.get_window_extent().transformed(self.ax.figure.dpi_scale_trans.inverted())
        self.points = 72 * min(box.width / width, box.height / height)  # points per unit
        left, top = (float(own.min()) if len(own) else 0.0 for own in (layout.x, layout.y))
        self.ax.set(xlim=(left - 80, left + width - 80), ylim=(top + height - 45, top - 45), aspect="equal")
        self.ax.set_axis_off()

    def _end(self, i: int, towards: Any) -> tuple[float, float]:
        """The point at which the line from the centre of a node to another point leaves its box."""
        x, y = float(self.layout.x[i]), float(self.layout.y[i])
        dx, dy = towards[0] - x, towards[1] - y
        far = [half / abs(step) for half, step in ((self.widths[i] / 2, dx), (HIGH / 2, dy)) if step]
        t = min([1.0, *far])
        return x + t * dx, y + t * dy

    def _points(self, a: int, b: int) -> list[tuple[float, float]]:
        bends = self.layout.bends
        between = bends.get((a, b)) or [*reversed(bends.get((b, a), []))]
        ends = [(float(self.layout.x[i]), float(self.layout.y[i])) for i in (a, b)]
        return [self._end(a, (between or ends[1:])[0]), *between, self._end(b, (between or ends[:1])[-1])]

    def edge(self, a: int, b: int, directed: bool, stroke: Stroke) -> None:
        """Draw the edge from a to b, smooth through its bends, with an arrow head if it is directed."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        points = np.array(self._points(a, b))
        codes, vertices = [Path.MOVETO], [points[0]]
        for k in range(len(points) - 1):  # a Catmull–Rom spline as cubic Bézier curves
            before, here, there = points[max(0, k - 1)], points[k], points[k + 1]
            after = points[min(len(points) - 1, k + 2)]
            codes += [Path.CURVE4] * 3
            vertices += [here + (there - before) / 6, there - (after - here) / 6, there]
        scale = min(1.0, max(self.points, 0.25))
        patch = FancyArrowPatch(
            path=Path(vertices, codes),
            arrowstyle="-|>" if directed else "-",
            mutation_scale=14 * scale,
            lw=stroke.width * scale,
            ls=stroke.style,
            alpha=stroke.alpha,
            edgecolor=stroke.color,
            facecolor="white" if stroke.hollow else stroke.color,
            zorder=1,
            gid=f"edge {a} {b}",
        )
        self.ax.add_patch(patch)

    def write(self, a: int, b: int, text: str) -> None:
        """Write a number at the middle of an edge."""
        points = self._points(a, b)
        half = len(points) // 2
        x, y = np.mean(points[half - 1 : half + 1], axis=0) if len(points) % 2 == 0 else points[half]
        size = 9.5 * self.points
        if size >= 3:
            back = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
            self.ax.text(x, y, text, size=size, color=GREY, ha="center", va="center", bbox=back, zorder=2)

    def nodes(self) -> None:
        """Draw the boxes of the nodes, with labels if they are large enough to be read."""
        from matplotlib.patches import FancyBboxPatch

        size = 13 * self.points
        for x, y, label, width in zip(self.layout.x, self.layout.y, self.labels, self.widths, strict=True):
            style = "round,pad=0,rounding_size=8"
            color = "white" if size >= 3 else GREY
            corner = (x - width / 2, y - HIGH / 2)
            self.ax.add_patch(
                FancyBboxPatch(corner, width, HIGH, boxstyle=style, fc=color, ec=GREY, lw=0.9, zorder=3)
            )
            if size >= 3:
                middle = {"ha": "center", "va": "center", "parse_math": False}  # "$" is literal
                self.ax.text(x, y, label, size=size, color=INK, zorder=4, **middle)


# --- numbers --------------------------------------------------------------------------------------


def _matrix(source: Source, kind: Kind) -> tuple[tuple[str, ...], Floats]:
    _checked(source, (StructureLearner, Posterior), "a fitted model or a Posterior")
    names = source.names if isinstance(source, Posterior) else tuple(map(str, source.feature_names_in_))
    makers = {
        "edges": source.edge_probabilities,
        "adjacency": source.adjacency_probabilities,
        "blankets": source.markov_blanket_probabilities,
        "paths": source.path_probabilities,
    }
    if kind not in makers:
        raise ValueError(f"kind is {kind!r}: choose one of {', '.join(map(repr, makers))}")
    return names, makers[kind]()


def heat_map(source: Source, *, kind: Kind = "edges", ax: Any = None) -> Any:
    """Draw probabilities as a matrix, from rows to columns; with numbers for up to 20 variables."""
    names, values = _matrix(source, kind)
    d = len(names)
    side = min(max(4.2, 0.34 * d + 2), 14.0)
    ax = _axes(ax, side + 1, side)
    image = ax.imshow(values, vmin=0, vmax=1, cmap="Blues", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, label="probability")
    titles = {"edges": "P(row → column)", "adjacency": "P(adjacent)", "blankets": "P(in the Markov blanket)"}
    ax.set_title(titles.get(kind, "P(directed path, row to column)"))
    if d <= 80:
        labels = [label_of(name, 18) for name in names]
        ax.set_xticks(range(d), labels, rotation=90, size=min(9.0, 500 / max(1, d)), parse_math=False)
        ax.set_yticks(range(d), labels, size=min(9.0, 500 / max(1, d)), parse_math=False)
    else:
        ax.set(xlabel=f"{d} variables", ylabel=f"{d} variables", xticks=[], yticks=[])
    if d <= 20:
        for i, j in np.argwhere(values >= 0.005):
            color = "white" if values[i, j] > 0.6 else INK
            ax.text(j, i, f"{values[i, j]:.2f}".lstrip("0"), size=7, ha="center", va="center", color=color)
    return ax


def reliability(
    source: Source,
    truth: Any,
    *,
    kind: Literal["adjacency", "edges"] = "adjacency",
    bins: int = 10,
    ax: Any = None,
) -> Any:
    """Draw a reliability diagram: observed frequency of edges in ``truth`` against their predicted probability.

    ``truth`` is a PDAG or a Network, such as the network that generated the data; with ``kind="edges"`` it is a
    DAG. Bars are 95 % confidence intervals (Wilson 1927). Numbers are counts of pairs per bin.
    """
    if kind not in ("adjacency", "edges"):
        raise ValueError(f"kind is {kind!r}: choose 'adjacency' or 'edges'")
    if not (isinstance(bins, int) and bins >= 1):
        raise ValueError(f"bins is {bins!r}: give a whole number from 1 on")
    names, values = _matrix(source, kind)
    real = _graph_of(truth).reorder(names)
    joined = real.skeleton() if kind == "adjacency" else real.adjacency > real.adjacency.T
    pairs = np.triu_indices(len(names), 1) if kind == "adjacency" else np.nonzero(~np.eye(len(names), dtype=bool))
    said, true = values[pairs], joined[pairs]
    ax = _axes(ax, 4.8, 4.6)
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--", label="calibrated")
    which = np.minimum((said * bins).astype(int), bins - 1)
    for k in range(bins):
        inside = which == k
        if n := int(inside.sum()):
            share, at = float(true[inside].mean()), float(said[inside].mean())
            low, high = _wilson(share, n)
            ax.plot([at, at], [low, high], color=BLUE, lw=1.5, alpha=0.6)
            ax.plot(at, share, "o", color=BLUE, ms=6, gid=f"bin {k}")
            up = share < 0.9
            ax.annotate(f"{n:,}", (at, high if up else low), (0, 4 if up else -10), textcoords="offset points",
                        ha="center", size=7, color=GREY)  # fmt: skip
    brier = float(np.mean((said - true) ** 2))
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.06, 1.1), xlabel="predicted probability", ylabel="observed frequency")
    ax.set_title(f"{'Adjacencies' if kind == 'adjacency' else 'Directed edges'}, Brier score {brier:.4f}")
    return ax


def _wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    middle, room = share + z * z / (2 * n), z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return float((middle - room) / (1 + z * z / n)), float((middle + room) / (1 + z * z / n))


def scores(model: StructureLearner, *, posterior: Posterior | None = None, ax: Any = None) -> Any:
    """Plot the log scores of MCMC draws, of bootstrap graphs, or of equivalence classes by rank.

    The dashed line is the score of the best graph.
    """
    _checked(model, (StructureLearner,), "a fitted model")
    known = model._posterior() if posterior is None else posterior
    found = score_series(model, known)
    ax = _axes(ax, 8.0, 3.2)
    colors: Sequence[str] = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, GREY)
    for c, series in enumerate(found["series"]):
        across = np.arange(len(series["y"])) * series["step"]
        style = "-" if found["kind"] == "chains" else "o"
        ax.plot(across, series["y"], style, color=colors[c % 6], lw=0.9, ms=3, alpha=0.85, label=series["name"])
    ax.axhline(found["best"], color=INK, lw=1, ls="--", label="best graph")
    ax.set(xlabel=found["across"], ylabel="log score")
    ax.ticklabel_format(useOffset=False)
    ax.legend(frameon=False, ncols=3, fontsize=8)
    return ax


def edge(model: StructureLearner, a: str, b: str, *, given_parents: bool = False, ax: Any = None) -> Any:
    """Draw the training data of two variables, as their kinds suggest; they need not be adjacent.

    Two columns with states: how often each state of ``b`` occurs in each state of ``a``. States and a measurement:
    quartiles in each state, with whiskers to the outermost values within 1.5 times their distance. Two
    measurements: up to 500 rows as points, and the regression line of all rows. With ``given_parents`` both are
    replaced by what a regression on the other parents of the child leaves, in the best graph. Rows in which one of
    the values is missing are left out.
    """
    _checked(model, (StructureLearner,), "a fitted model")
    check_is_fitted(model)
    names = list(map(str, model.feature_names_in_))
    for name in (a, b):
        if name not in names:
            raise ValueError(f"there is no variable {name!r}{near(str(name), names)}: choose among {names}")
    if a == b:
        raise ValueError(f"both variables are {a!r}: give two")
    found = picture(model._train, model.dag_, a, b)
    if found is None:
        raise ValueError(f"{a!r} and {b!r} cannot be drawn: one of them has a single value, or extreme ones")
    if given_parents and not isinstance(found, Points):
        raise ValueError("given_parents is for two measurements: leave it out")
    if ax is None:
        ax = _axes(ax, *size_of(found))
        ax.figure.set_layout_engine("constrained")  # long labels
    draw(found, ax, given_parents)
    return ax
