"""A figure of a run: speed relative to each peer, history of the main figures, scaling."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from brai.research.bench.history import Record, measured
from brai.research.bench.measure import Measurement
from brai.runtime.atomic_files import write_bytes

_TIMES = {"s", "µs"}
_COLOURS = {"pyAgrum": "C0", "pgmpy": "C1", "causal-learn": "C2", "stored": "C7", "HillClimbing": "C4"}
_KEYS = (  # prefixes of the figures in the history panel; the first match of a run is shown
    "alarm-tree: tree, s = 3",
    "ci-test: order 1, 500 rows",
    "ci-test: order 1, 5000 rows",
    "hill-climbing: Alarm",
    "alarm-posterior: tree",
    "fit-and-chains: BRAI().fit",
    "fit-and-chains: chains()",
    "link: tree",
)


def draw(path: Path, measurements: Sequence[Measurement], records: Sequence[Record]) -> None:
    """Write a PNG; ValueError if there is nothing to draw."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'brai[plots]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    bars, curves, lines = _bars(measurements), _curves(measurements), _lines(records)
    panels: list[tuple[Callable[[Any, Any], None], Any]] = []
    panels += [(_draw_bars, bars)] if bars else []
    panels += [(_draw_lines, lines)] if lines else []
    panels += [(_draw_curves, curves)] if curves else []
    if not panels:
        raise ValueError("there is nothing to draw: choose a case with a peer, such as alarm-tree, or scale")
    rows = sum(len(own) for own in bars.values())
    height = max(4.0, 1.2 + 0.28 * rows + 0.15 * len(bars))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(7.5 * len(panels), height), layout="constrained", squeeze=False
    )
    for ax, (make, content) in zip(axes[0], panels, strict=True):
        make(ax, content)
    buffer = BytesIO()
    figure.savefig(buffer, dpi=110, format="png")
    plt.close(figure)
    write_bytes(path, buffer.getvalue())


# --- speed relative to peers --------------------------------------------------------------------------


def _bars(measurements: Sequence[Measurement]) -> dict[str, dict[str, float]]:
    """Time of the peer divided by ours, by task and peer; CI tests of all orders are one task (geometric mean)."""
    logs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in measurements:
        if one.peer and one.ratio and one.unit in _TIMES and one.case != "compile":
            task = (
                f"CI test, {one.name.partition(', ')[2]}" if one.case == "ci-test" else f"{one.case}: {one.name}"
            )
            logs[task][one.peer].append(-math.log(one.ratio))
    return {
        task: {peer: math.exp(sum(own) / len(own)) for peer, own in sorted(peers.items(), key=lambda p: p[0])}
        for task, peers in logs.items()
    }


def _colour(peer: str) -> str:
    return next((colour for name, colour in reversed(_COLOURS.items()) if name in peer), "C5")


def _draw_bars(ax: Any, bars: dict[str, dict[str, float]]) -> None:
    y, ticks = 0.0, []
    for task, peers in bars.items():
        for peer, times in peers.items():
            ax.barh(y, times - 1, left=1, height=0.8, color=_colour(peer), alpha=1 if times >= 1 else 0.5)
            shown = f"{times:,.0f}" if times >= 10 else f"{times:.2g}"
            ax.annotate(f" {shown}×   {peer}", (max(times, 1), y), va="center", fontsize=8)
            y += 1
        ticks.append((y - (len(peers) + 1) / 2, task))
        y += 0.6
    ax.set_yticks([at for at, _ in ticks], [task for _, task in ticks], fontsize=8)
    ax.invert_yaxis()
    ax.set_xscale("log")
    values = [times for peers in bars.values() for times in peers.values()]
    ax.set_xlim(min(0.8, 0.7 * min(values)), 40 * max(max(values), 1.0))
    ax.axvline(1, color="black", linewidth=1)
    ax.set_xlabel("speed relative to the peer (right of the line: brai is faster)")
    ax.set_title("brai and its peers, CPU time in one run")
    _frame(ax)


# --- history --------------------------------------------------------------------------------------------


def _lines(records: Sequence[Record]) -> dict[str, list[tuple[int, float]]]:
    """Main figures by run, relative to the first run; only those that at least two runs have."""
    alike = [one for one in records if one["quick"] == records[-1]["quick"]]
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for at, one in enumerate(alike):
        found = measured(one)
        for start in _KEYS:
            own = next((m for key, m in found.items() if key.startswith(start) and m.unit in _TIMES), None)
            if own is not None and own.value > 0:
                series[start].append((at, own.value))
    return {key: [(x, v / own[0][1]) for x, v in own] for key, own in series.items() if len(own) > 1}


def _draw_lines(ax: Any, lines: dict[str, list[tuple[int, float]]]) -> None:
    for key, points in lines.items():
        ax.plot(*zip(*points, strict=True), "o-", label=key, markersize=4)
    last = max(x for points in lines.values() for x, _ in points)
    ax.set_yscale("log")
    low, high = (f(v for points in lines.values() for _, v in points) for f in (min, max))
    ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10, 20) if low / 1.6 <= t <= high * 1.6]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.set_xticks(
        range(0, last + 1, max(1, last // 10)), [str(x + 1) for x in range(0, last + 1, max(1, last // 10))]
    )
    ax.axhline(1, color="black", linewidth=1)
    ax.set(
        xlabel="run", ylabel="CPU time relative to the first run", title="History (below 1: faster than at first)"
    )
    ax.legend(fontsize=8)
    _frame(ax)


# --- scaling --------------------------------------------------------------------------------------------


def _curves(measurements: Sequence[Measurement]) -> dict[str, list[tuple[float, float]]]:
    """Points of curves, by name; only curves with at least two points."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in measurements:
        if one.at is not None and one.unit == "s":
            found[one.name].append((one.at, one.value))
    return {name: sorted(own) for name, own in found.items() if len(own) > 1}


def _draw_curves(ax: Any, curves: dict[str, list[tuple[float, float]]]) -> None:
    for name, points in curves.items():
        ax.loglog(*zip(*points, strict=True), "o-", label=name, markersize=4)
    ax.set(xlabel="variables or rows", ylabel="CPU seconds", title="Scaling of the tree, s = 3")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        axis.set_minor_formatter("")
    ax.legend(fontsize=8)
    _frame(ax)


def _frame(ax: Any) -> None:
    ax.grid(alpha=0.3, axis="both")
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
