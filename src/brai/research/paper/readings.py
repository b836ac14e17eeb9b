"""Readings of the paper's CI test: which threshold, on which samples, and whether v-structures are verified.

The paper compares the conditional mutual information (CMI) with a threshold and cites C1, the bias of the estimate
(Treves & Panzeri 1995). It says no more. These readings are compared, for RAI and B-RAI alike:

- ``c1``: CMI in nats against C1 as printed, raised on bootstrap samples (`CITest.correction`).
- ``c1-plain``: the same threshold on bootstrap samples as on the data.
- ``fixed``: one threshold of FIXED nats for all networks and any number of rows; ``fixed:0.02`` is another number.
- ``auto``: one threshold per data set, chosen by the score of the best graph on the training data. Yehezkel &
  Lerner (2009) chose one per network for RAI. ``auto-raised`` raises it on bootstrap samples.
- With ``-unverified`` every v-structure is accepted, else each is verified by a G-test (`CITest.colliders`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from brai.data.dataset import Dataset
from brai.learners.brai import BRAI
from brai.learners.rai import RAI
from brai.research.paper.cells import Result
from brai.tree.independence import CITest

FIXED = 0.05
MAX_TESTS = 1_000_000  # per fit; 20 times as many on MANY variables or more
MANY = 100
_VERIFIED = {
    "c1": CITest("cmi-c1"),
    "c1-plain": CITest("cmi-c1", correction=False),
    "fixed": CITest("cmi", threshold=FIXED, correction=False),
    "auto": CITest("cmi", threshold="auto", correction=False),
    "auto-raised": CITest("cmi", threshold="auto"),
}
_UNVERIFIED = {f"{name}-unverified": replace(test, colliders=None) for name, test in _VERIFIED.items()}
READINGS: Mapping[str, CITest] = {
    name: test for pair in zip(_VERIFIED.items(), _UNVERIFIED.items(), strict=True) for name, test in pair
}


def test_of(reading: str) -> CITest:
    """The test of a reading; a KeyError if there is none of this name."""
    if reading in READINGS:
        return READINGS[reading]
    if found := re.fullmatch(r"fixed:(0\.\d+)(-unverified)?", reading):
        return replace(READINGS[f"fixed{found[2] or ''}"], threshold=float(found[1]))
    raise KeyError(reading)


test_of.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it


def label(learner: str, reading: str) -> str:
    """The column of a learner under a reading."""
    return f"{learner}, {reading}"


def learner_of(column: str) -> tuple[str, str]:
    """The learner and the reading of a column; no reading if it is the default of the learner."""
    learner, _, reading = column.partition(", ")
    return learner, reading


def rank(column: str) -> tuple[Any, str]:
    """Sorts columns by reading, RAI before B-RAI."""
    learner, reading = learner_of(column)
    return place(reading), {"RAI": "0"}.get(learner, learner)


def place(reading: str) -> tuple[int, str]:
    """Sorts readings: by READINGS, other fixed thresholds after the usual one."""
    plain = re.sub(r":[0-9.]+", "", reading)
    return (list(READINGS).index(plain) if plain in READINGS else -1), reading


def used_in(columns: Iterable[str]) -> list[str]:
    """The readings of these columns, in order."""
    return sorted({learner_of(column)[1] for column in columns} - {""}, key=place)


def max_tests(n_variables: int) -> int:
    """The limit on CI tests per fit."""
    return MAX_TESTS * (20 if n_variables >= MANY else 1)


def model_of(learner: str, reading: str, n_variables: int, seed: Any, s: int = 3) -> Any:
    """RAI or B-RAI under a reading, not fitted yet."""
    test, limit = test_of(reading), max_tests(n_variables)
    if learner == "RAI":
        return RAI(test, max_tests=limit)
    return BRAI.paper(s, ci_test=test, max_tests=limit, random_state=seed)


def settled(learner: str, reading: str, train: Dataset, seed: int) -> CITest:
    """The test of a reading with a number as its threshold: "auto" is chosen once for a data set."""
    test = test_of(reading)
    if test.threshold != "auto":
        return test
    model = model_of(learner, reading, train.n_variables, seed).fit(train)
    return replace(test, threshold=model.threshold_)


def compared(lines: Sequence[Result]) -> list[Result]:
    """For each reading: on how many networks B-RAI is ahead of RAI, and the distance to the paper's figures.

    The distance is the mean absolute difference relative to the paper, over the columns RAI and B-RAI.
    """
    found = []
    own = {(line["network"], line["column"]): line for line in lines}
    networks = list(dict.fromkeys(line["network"] for line in lines))
    for reading in ("", *used_in(column for _, column in own)):
        names = [label(learner, reading) if reading else learner for learner in ("RAI", "B-RAI")]
        pairs = [
            [own[network, name] for name in names]
            for network in networks
            if all((network, name) in own for name in names)
        ]
        if pairs:
            published = [line for pair in pairs for line in pair if "paper" in line]
            apart = [abs(line["predictive"] / line["paper"] - 1) for line in published]
            found.append(
                {
                    "reading": reading or "default",
                    "networks": len(pairs),
                    "ahead": sum(second["predictive"] > first["predictive"] for first, second in pairs),
                    "distance": sum(apart) / len(apart) if apart else None,
                }
            )
    return found


def as_text(lines: Sequence[Result]) -> str:
    """Tables in Markdown: RAI → B-RAI by network and reading, then the comparison; "" without readings."""
    own = {(line["network"], line["column"]): line for line in lines}
    used = used_in(column for _, column in own)
    if not used:
        return ""
    networks = list(dict.fromkeys(line["network"] for line in lines))
    out = ["RAI → B-RAI, log predictive; in brackets the median threshold of B-RAI", ""]
    out += [f"| | paper | {' | '.join(used)} |", "|---" * (len(used) + 2) + "|"]
    for network in networks:
        pairs = [[own.get((network, label(learner, name))) for learner in ("RAI", "B-RAI")] for name in used]
        published = [[line["paper"] for line in pair if line and "paper" in line] for pair in pairs]
        paper = next((pair for pair in published if len(pair) == 2), [])
        cells = [" → ".join(f"{line['predictive']:.0f}" for line in pair if line) + _notes(pair) for pair in pairs]
        out.append(f"| {network} | {' → '.join(f'{value:.0f}' for value in paper)} | {' | '.join(cells)} |")
    out += ["", "| reading | networks with B-RAI ahead of RAI | mean distance to the paper |", "|---|---|---|"]
    for row in compared(lines):
        distance = "" if row["distance"] is None else f"{row['distance']:.1%}"
        out.append(f"| {row['reading']} | {row['ahead']} of {row['networks']} | {distance} |")
    return "\n".join(out) + "\n"


def _notes(pair: Sequence[Result | None]) -> str:
    """The threshold, and on how many data sets a fit was truncated."""
    last = pair[-1] or {}
    threshold = f" ({last['threshold']:g})" if "threshold" in last else ""
    cut = max((line or {}).get("truncated_sets", 0) for line in pair)
    return threshold + (f", {cut} truncated" if cut else "")


def picture(lines: Sequence[Result], path: Path) -> None:
    """Difference to the paper in per cent, by network and reading: RAI is hollow, B-RAI filled."""
    from matplotlib.figure import Figure

    own = {(line["network"], line["column"]): line for line in lines if "paper" in line}
    networks = list(dict.fromkeys(network for network, _ in own))
    used = used_in(column for _, column in own)
    figure = Figure(figsize=(9, 1.8 + 0.13 * len(networks) * (len(used) + 2)), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(used):
        for row, network in enumerate(networks):
            pair = [own.get((network, label(learner, name))) for learner in ("RAI", "B-RAI")]
            xs = [100 * (line["predictive"] - line["paper"]) / abs(line["paper"]) for line in pair if line]
            if not xs:
                continue
            y = row + 0.8 * ((place + 0.5) / len(used) - 0.5)
            colour = f"C{place // 2}" if len(used) > 5 else f"C{place}"
            style = ":" if name.endswith("-unverified") else "-"
            shown: dict[str, Any] = {"label": name} if row == 0 else {}
            axes.plot(xs, [y] * len(xs), style, color=colour, lw=1)
            axes.plot(xs[:1], [y], "o", mfc="none", color=colour, ms=4)
            axes.plot(xs[-1:], [y], "s" if style == ":" else "o", color=colour, ms=4, **shown)
    axes.axvline(0, color="0.4", lw=0.8)
    axes.set_yticks(range(len(networks)), networks)
    axes.set_ylim(len(networks) - 0.5, -0.5)
    axes.set_xlabel("log predictive: difference to the paper in % (right is better; hollow: RAI, filled: B-RAI)")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=130)
