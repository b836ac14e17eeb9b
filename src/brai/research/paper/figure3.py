"""Figure 3: what a tree holds, and what it costs.

Left: the number of distinct CPDAGs (equivalence classes) in a tree with s = 3 against the number of rows, over
Alarm data sets. If a tree holds too many to compare, an upper bound is used.

Right: log predictive probability of the best graph against the number of conditional-independence (CI) tests. One
curve is B-RAI with s from 2 to 5. The other is the best of l = 1 … 27 graphs that RAI finds in bootstrap samples,
chosen by the score on the data. Each trial draws new bootstrap samples; results are averaged over data sets.

In `BRAI.paper`, CI tests on bootstrap samples have a raised threshold (CITest.correction), which the paper does
not mention. So all results are shown with the raised and with the plain threshold. Other readings of the test
(`brai.research.paper.readings`) can be added; where the threshold is chosen, the right panel chooses it once per
data set and learner.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brai.data.dataset import Dataset
from brai.graphs.pdag import families_of
from brai.kinds.scores import FamilyScores
from brai.learners.brai import BRAI
from brai.posterior.prediction import log_predictive
from brai.research.paper import readings
from brai.research.paper.cells import Cell, Result
from brai.research.paper.sources import TRAIN_ROWS, Case, case, origin
from brai.tree.independence import CITest
from brai.tree.rai import Learner, rai

NETWORK = "Alarm"
ROWS = tuple(range(50, TRAIN_ROWS + 1, 50))
S = (2, 3, 4, 5)
L = 27
BLOCK = 10  # trials per cell
RULES = {"raised threshold": "c1", "plain threshold": "c1-plain"}  # C1 on bootstrap samples, as readings
LIMIT = 20_000  # most distinct DAGs to compare


def left_cell(folder: Path | None, version: int, rows: int, rule: str, seed: int) -> Result:
    """Distinct CPDAGs in the tree of the first rows of a data set."""
    train = case(folder, NETWORK, version).train
    few = Dataset(train.codes[:, :rows], train.names, train.states)
    reading = RULES.get(rule, rule)
    model = readings.model_of("B-RAI", reading, few.n_variables, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # truncated trees are counted
        model.fit(few)
    found = model.n_distinct(LIMIT)
    more = {} if rule in RULES else {"threshold": model.threshold_, "truncated": model.tree_.n_truncated}
    return {"distinct": _number(found.n), "exact": found.exact, "routes": _number(model.tree_.n_routes), **more}


def _number(n: int) -> float:
    """The number as a float, at most 10^300."""
    return float(min(n, 10**300))


def right_cell(
    folder: Path | None, version: int, block: int, trials: int, seed: int, rules: Sequence[str] = tuple(RULES)
) -> Result:
    """Means over trials for each s and each l, with the sums of squares for standard errors."""
    one = case(folder, NETWORK, version)
    first = BLOCK * block
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = {rule: _tests_of(one.train, rule, seed) for rule in rules}
        curves = [
            _trial(one, np.random.SeedSequence([seed, version, t]), tests) for t in range(first, first + trials)
        ]
    found: Result = {"trials": trials}
    for name in curves[0]:
        values = np.array([curve[name] for curve in curves])  # trials, points, (tests, predictive)
        found[name] = {
            "ci_tests": values[:, :, 0].mean(axis=0).tolist(),
            "predictive": values[:, :, 1].mean(axis=0).tolist(),
            "squares": ((values[:, :, 1] - values[:, :, 1].mean(axis=0)) ** 2).sum(axis=0).tolist(),
        }
    return found


def _tests_of(train: Dataset, rule: str, seed: int) -> tuple[CITest, CITest]:
    """The tests of B-RAI and of RAI under a rule or reading."""
    reading = RULES.get(rule, rule)
    return readings.settled("B-RAI", reading, train, seed), readings.settled("RAI", reading, train, seed)


def _trial(
    one: Case, seed: np.random.SeedSequence, tests: Mapping[str, tuple[CITest, CITest]]
) -> dict[str, list[tuple[float, float]]]:
    """(CI tests, log predictive probability) for each s and each l, with each threshold."""
    names = sorted(one.train.names)
    train, test = one.train.select(names), one.test.select(names)
    scores = FamilyScores(train)
    found: dict[str, list[tuple[float, float]]] = {}
    limit = readings.max_tests(train.n_variables)
    for rule, (ours, theirs) in tests.items():
        points: list[tuple[float, float]] = []
        for s in S:
            model = BRAI.paper(s, ci_test=ours, random_state=_branch(seed, s), max_tests=limit).fit(train)
            own = families_of(model.dag_)
            points.append((int(model.n_ci_tests_.sum()), float(log_predictive(own, train, test).sum())))
        found[f"B-RAI, {rule}"] = points
        found[f"RAI, {rule}"] = list(_best_of(train, test, scores, theirs, _branch(seed, 0)))
    return found


def _best_of(
    train: Dataset, test: Dataset, scores: FamilyScores, ci_test: CITest, seed: np.random.SeedSequence
) -> Iterator[tuple[float, float]]:
    """CI tests and log predictive probability of the best graph so far, for L bootstrap samples of RAI."""
    tests, best, predictive = 0, -math.inf, math.nan
    for own_seed in seed.spawn(L):
        learner = Learner(train, ci_test, max_tests=readings.max_tests(train.n_variables))
        families = rai(learner, own_seed)
        tests += int(learner.tally.ci_tests.sum())
        if (score := scores.total(families)) > best:
            best, predictive = score, float(log_predictive(families, train, test).sum())
        yield tests, predictive


def _branch(seed: np.random.SeedSequence, part: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, part))


def cells(folder: Path | None, sets: int, trials: int, *, seed: int, more: Sequence[str] = ()) -> list[Cell]:
    """Cells of both panels; a cell of the right panel has BLOCK trials. ``more`` are further readings."""
    where, versions = origin(folder, NETWORK), range(1, sets + 1)
    left = [
        Cell(("left", where, str(version), str(rows), rule), left_cell, (folder, version, rows, rule, seed))
        for version in versions
        for rows in ROWS
        for rule in (*RULES, *more)
    ]
    right = []
    for block in range(math.ceil(trials / BLOCK)):
        n = min(BLOCK, trials - BLOCK * block)
        for version in versions:
            key = ("right", where, str(version), f"trials {BLOCK * block + 1}-{BLOCK * block + n}")
            right.append(Cell(key, right_cell, (folder, version, block, n, seed)))
            for rule in more:
                right.append(Cell((*key, rule), right_cell, (folder, version, block, n, seed, (rule,))))
    return left + right


def flat(cells: Sequence[Cell], results: Sequence[Result]) -> list[Result]:
    """One record per cell."""
    rows = []
    for cell, result in zip(cells, results, strict=True):
        panel, where, version, what, *rule = cell.key
        own: Result = {"rows": int(what)} if panel == "left" else {"block": what.removeprefix("trials ")}
        own |= {"rule": rule[0]} if rule else {}
        rows.append({"panel": panel, "data": where, "set": int(version), **own, **result})
    return rows


def summary(rows: Sequence[Result]) -> list[Result]:
    """Points of both panels.

    Right: ``se_trials`` is the standard error between trials, ``se_sets`` the standard error between data sets.
    """
    found: list[Result] = []
    rules = {row["rule"] for row in rows if "rule" in row} - set(RULES)
    order = [*RULES, *sorted(rules, key=readings.place)]
    left = sorted((row for row in rows if row["panel"] == "left"), key=lambda row: order.index(row["rule"]))
    for rule, n in dict.fromkeys((row["rule"], row["rows"]) for row in left):
        own = [row for row in left if (row["rule"], row["rows"]) == (rule, n)]
        values = np.array([row["distinct"] for row in own])
        point: Result = {"panel": "left", "rule": rule, "rows": n, "sets": len(own), "mean": float(values.mean())}
        point |= {"median": float(np.median(values)), "least": float(values.min()), "most": float(values.max())}
        found.append({**point, "exact_sets": sum(row["exact"] for row in own)})
    right = [row for row in rows if row["panel"] == "right"]
    for rule in order:
        own = [row for row in right if f"RAI, {rule}" in row]
        if own:
            for curve, at in (("B-RAI", S), ("RAI", range(1, L + 1))):
                found += _points(own, f"{curve}, {rule}", at)
    return found


def _points(rows: Sequence[Result], curve: str, at: Sequence[int]) -> Iterator[Result]:
    """Points of a curve; data sets have equal weight, whatever their number of trials."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    for i, n in enumerate(at):
        means, errors, tests, trials = [], [], [], 0
        for version in sets:
            own = [row for row in rows if row["set"] == version]
            weights = np.array([row["trials"] for row in own])
            values = np.array([row[curve]["predictive"][i] for row in own])
            mean = float(np.average(values, weights=weights))
            within = sum(row[curve]["squares"][i] for row in own) + float((weights * (values - mean) ** 2).sum())
            total = int(weights.sum())
            means.append(mean)
            errors.append(within / (total - 1) / total if total > 1 else math.nan)
            tests.append(float(np.average([row[curve]["ci_tests"][i] for row in own], weights=weights)))
            trials += total
        yield {
            "panel": "right",
            "curve": curve,
            "at": n,
            "trials": trials,
            "ci_tests": float(np.mean(tests)),
            "predictive": float(np.mean(means)),
            "se_trials": None if math.isnan(sum(errors)) else math.sqrt(sum(errors)) / len(sets),
            "se_sets": float(np.std(means, ddof=1) / math.sqrt(len(sets))) if sets[1:] else None,
        }


def as_text(lines: Sequence[Result]) -> str:
    """Both panels in Markdown."""
    out = [
        "| rows | threshold | distinct CPDAGs, median (least–most) | mean | counted exactly |",
        "|---" * 5 + "|",
    ]
    for line in lines:
        if line["panel"] == "left":
            spread = f"{line['median']:.3g} ({line['least']:.3g}–{line['most']:.3g})"
            about = f"{line['rows']} | {line['rule'].removesuffix(' threshold')} | {spread} | {line['mean']:.3g}"
            out.append(f"| {about} | {line['exact_sets']} of {line['sets']} |")
    out += ["", "| learner | CI tests | log predictive | ± (trials) |", "|---|---|---|---|"]
    for line in lines:
        if line["panel"] == "right" and (line["curve"].startswith("B-RAI") or line["at"] in (1, 3, 9, 27)):
            name, _, rule = line["curve"].partition(", ")
            label = f"{name} s = {line['at']}" if name == "B-RAI" else f"best of {line['at']} {name}"
            error = "" if line["se_trials"] is None else f"{line['se_trials']:.0f}"
            figures = f"{line['ci_tests']:.0f} | {line['predictive']:.0f} | {error}"
            out.append(f"| {label}, {rule} | {figures} |")
    return "\n".join(out) + "\n"


def picture(lines: Sequence[Result], path: Path) -> None:
    """Both panels, as in the paper; bars are one standard error of the trials.

    With more than two rules the left panel shows means instead of medians with bands.
    """
    from matplotlib.figure import Figure

    shown = list(dict.fromkeys(line["rule"] for line in lines if line["panel"] == "left"))
    few = len(shown) <= len(RULES)
    figure = Figure(figsize=(11, 4.2 if few else 5.6), layout="constrained")
    one, two = figure.subplots(1, 2)
    for rule in shown:
        left = [line for line in lines if line["panel"] == "left" and line["rule"] == rule]
        xs = [line["rows"] for line in left]
        if few:
            one.fill_between(
                xs, [line["least"] for line in left], [line["most"] for line in left], alpha=0.2, lw=0
            )
        label = f"median, {rule} (band: least to most)" if few else rule
        one.plot(xs, [line["median" if few else "mean"] for line in left], "o-", ms=4, label=label)
    one.set(xlabel="rows", ylabel=f"distinct CPDAGs in the tree, s = 3{'' if few else ' (mean)'}", yscale="log")
    for colour, rule in enumerate(shown):
        for curve, mark in (("B-RAI", "s-"), ("RAI", "o:")):
            own = [line for line in lines if line["panel"] == "right" and line["curve"] == f"{curve}, {rule}"]
            ys, bars = [line["predictive"] for line in own], [line["se_trials"] or 0.0 for line in own]
            said = "B-RAI, s = 2…5" if curve == "B-RAI" else "best of l = 1…27 RAI"
            at: Any = [line["ci_tests"] for line in own]
            size = 5 if few or curve == "B-RAI" else 3
            two.errorbar(at, ys, bars, fmt=mark, ms=size, color=f"C{colour}", capsize=2, label=f"{said}, {rule}")
    two.set(xlabel="CI tests" + ("" if few else "; squares: B-RAI, s = 2…5; dots: best of l = 1…27 RAI"))
    two.set(ylabel="log predictive of 5000 rows", xscale="linear" if few else "log")
    if few:
        one.legend(frameon=False)
        two.legend(frameon=False, fontsize="small")
    else:
        figure.legend(*one.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)
