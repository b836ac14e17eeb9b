"""The data behind an edge, drawn with matplotlib: bars, boxes or points of `brai.show.report.pairs`."""

from __future__ import annotations

from typing import Any

import numpy as np

from brai.show.looks import BLUE, GREY, INK, ORANGE, PARTS, SKY
from brai.show.report.labels import number
from brai.show.report.pairs import Bars, Boxes, Picture, Points, Ticks


def size_of(found: Picture) -> tuple[float, float]:
    """Width and height of a new figure."""
    return (5.6, 4.4) if isinstance(found, Points) else (6.4, 1.4 + 0.42 * len(found.rows))


def draw(found: Picture, ax: Any, given_parents: bool) -> None:
    """Draw a picture on these axes."""
    if isinstance(found, Bars):
        _bars(found, ax)
    elif isinstance(found, Boxes):
        _boxes(found, ax)
    else:
        _points(found, ax, given_parents)
    ax.spines[["top", "right"]].set_visible(False)


def _rows(ax: Any, labels: list[str], counts: list[int], name: str) -> None:
    texts = [f"{label}  (n = {n:,})" for label, n in zip(labels, counts, strict=True)]
    ax.set_yticks(range(len(texts)), texts, parse_math=False)
    ax.set_ylim(len(texts) - 0.5, -0.5)
    ax.set_ylabel(name, parse_math=False)


def _bars(found: Bars, ax: Any) -> None:
    sums = found.counts.sum(axis=1)
    shares, left = found.counts / sums[:, None], np.zeros(len(sums))
    colours = _ramp(len(found.parts)) if found.to.in_order else PARTS
    for label, own, colour in zip(found.parts, shares.T, colours, strict=False):
        ax.barh(np.arange(len(sums)), own, left=left, color=colour, label=_literal(label), height=0.7, ec="white")
        left += own
    _rows(ax, found.rows, sums.tolist(), found.of.label)
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"share of the rows with each state of {found.to.label}", parse_math=False)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(found.parts), frameon=False, fontsize=8)
    ax.set_title(found.title, pad=26, parse_math=False)


def _literal(label: str) -> str:
    """A label of a legend, without mathematics; one that begins with "_" would be left out."""
    plain = label.replace("$", r"\$")
    return " " + plain if plain.startswith("_") else plain


def _ramp(n: int) -> list[str]:
    """Shades from light to full blue."""
    full = np.array([int(BLUE[k : k + 2], 16) for k in (1, 3, 5)])
    mixed = [255 + (full - 255) * share for share in np.linspace(0.15, 1, n)]
    return ["#" + "".join(f"{round(part):02X}" for part in own) for own in mixed]


def _boxes(found: Boxes, ax: Any) -> None:
    for k, box in enumerate(found.boxes):
        ax.plot([box.low, box.q1], [k, k], color=BLUE, lw=1.2)
        ax.plot([box.q3, box.high], [k, k], color=BLUE, lw=1.2)
        ax.barh(k, box.q3 - box.q1, left=box.q1, color=SKY, ec=BLUE, height=0.55, gid=f"box {k}")
        ax.plot([box.median] * 2, [k - 0.275, k + 0.275], color=BLUE, lw=2.4, gid=f"median {k}")
    _rows(ax, found.rows, [box.n for box in found.boxes], found.of.label)
    _axis(ax.xaxis, found.ticks)
    ax.set_xlabel(found.to.label + ", spaced by normal scores" * (found.ticks is not None), parse_math=False)
    ax.set_title(found.title, parse_math=False)


def _points(found: Points, ax: Any, given_parents: bool) -> None:
    view = found.raw
    if given_parents:
        if found.partial is None:
            raise ValueError(f"there is nothing to take out: {found.why}. Leave given_parents out")
        view = found.partial
    ax.plot(view.x[view.shown], view.y[view.shown], "o", color=BLUE, ms=3, alpha=0.5, mec="none", gid="points")
    ends = np.array([view.x.min(), view.x.max()])
    ax.plot(ends, view.intercept + view.slope * ends, color=ORANGE, lw=2, gid="line")
    for axis, ticks in zip((ax.xaxis, ax.yaxis), view.ticks, strict=True):
        _axis(axis, ticks)
    ax.set_xlabel(view.labels[0], parse_math=False)
    ax.set_ylabel(view.labels[1], parse_math=False)
    n, shown = len(view.x), len(view.shown)
    told = f"{shown:,} of {n:,} rows" if shown < n else f"{n:,} rows"
    words = f"{told}, slope {number(float(f'{view.slope:.3g}'))}, correlation {view.correlation:.2f}"
    ax.text(1, 1.01, words, transform=ax.transAxes, ha="right", size=8, color=GREY)
    ax.set_title(found.title, pad=18, parse_math=False, color=INK)


def _axis(axis: Any, ticks: Ticks | None) -> None:
    """Units at the axis of normal scores."""
    if ticks is not None:
        axis.set_ticks([at for at, _ in ticks], labels=[text for _, text in ticks], size=8)
