"""Table 1: log predictive probability of held-out rows given the best graph of each learner.

The columns of the paper are RAI, MMHC (max-min hill climbing), the best of 1000 bootstraps of MMHC, and the MAP
(maximum a posteriori) graph of B-RAI with s = 3. Additional columns are tabu search, GES (greedy equivalence
search) of causal-learn on small networks, and BRAI with its defaults: its best graph, and averaged over its
posterior. Two upper limits are the true graph with learned parameters, and the true network. RAI and B-RAI can be
repeated under other readings of the paper's CI test (`brai.research.paper.readings`), as columns "RAI, auto" …

A cell is one learner on one data set. Its measures are the sum of the log predictive probability over the held-out
rows (parameters are posterior means), the BDeu score of the graph (equivalent sample size 1), the structural
Hamming distance to the true CPDAG, F1 of the skeleton, CPU seconds, and conditional-independence (CI) tests.
"""

from __future__ import annotations

import importlib.util
import math
import multiprocessing
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brai.data.dataset import Dataset
from brai.graphs.pdag import PDAG, families_of
from brai.kinds.scores import FamilyScores
from brai.learners.bootstrap import Bootstrap
from brai.learners.brai import BRAI
from brai.learners.mmhc import MMHC
from brai.learners.rai import RAI
from brai.learners.score_search import HillClimbing
from brai.posterior.prediction import log_predictive
from brai.research.paper import readings
from brai.research.paper.cells import Cell, Result
from brai.research.paper.sources import TEST_ROWS, Case, case, network_of, origin, proper_name

GES_MINUTES = 10
GES_VARIABLES = 40  # with more variables it does not finish in that time
MANY = 100  # variables above which tabu search has a limit on parents, else constant columns would get dozens
MAX_PARENTS = 4  # that limit
BOOTSTRAPS = {"Mildew": 200, "Barley": 200, "Hailfinder": 100, "Munin": 20, "Link": 3}  # fewer, to finish in time
LINK_ORDER = 2  # largest conditioning set of MMHC on bootstrap samples of Link, whose neighbourhoods are large


class Published(NamedTuple):
    """A row of the paper: mean and ± of RAI, MMHC, BS-MMHC, B-RAI."""

    nodes: int
    columns: dict[str, tuple[float, float]]


def _row(nodes: int, *pairs: tuple[float, float]) -> Published:
    return Published(nodes, dict(zip(("RAI", "MMHC", "BS-MMHC", "B-RAI"), pairs, strict=True)))


PUBLISHED = {
    "Child": _row(20, (-68861, 110), (-73290, 60), (-72125, 26), (-65671, 79)),
    "Insurance": _row(27, (-71296, 115), (-89670, 118), (-85915, 88), (-70634, 99)),
    "Mildew": _row(35, (-288677, 1323), (-296375, 119), (-296815, 270), (-279686, 1028)),
    "Alarm": _row(37, (-52198, 117), (-86190, 220), (-80645, 84), (-51173.5, 127)),
    "Barley": _row(48, (-340317, 389), (-380790, 414), (-380305, 380), (-339057, 804)),
    "Hailfinder": _row(56, (-291632.5, 259), (-308125, 33), (-306930, 95), (-289074, 120)),
    "Munin": _row(189, (-447481, 1148), (-455290, 270), (-442860, 255), (-436309, 593)),
    "Link": _row(724, (-1857751, 887), (-1907700, 432), (-1863546, 320), (-1772132, 659)),
}


def measured(dag: PDAG, train: Dataset, test: Dataset, truth: PDAG, ess: float | str = 1.0) -> Result:
    """The measures of a DAG; ``ess`` is that of its parameters, the score has ess 1 as in the paper."""
    names = sorted(train.names)
    own, data = families_of(dag.reorder(names)), train.select(names)
    true, found = np.triu(truth.skeleton()), np.triu(dag.reorder(truth.names).skeleton())
    return {
        "predictive": float(log_predictive(own, data, test.select(names), ess).sum()),
        "bdeu": FamilyScores(data).total(own),
        "shd": dag.to_cpdag().shd(truth.to_cpdag()),
        "f1": 2 * float((true & found).sum()) / max(1, int(true.sum() + found.sum())),
    }


# --- learners: from a case and a seed to the measures -----------------------------------------------


def _fitted(model: Any, one: Case) -> Result:
    """Fit a learner and measure its best graph."""
    start = time.process_time()
    model.fit(one.train)
    spent = {"cpu_s": time.process_time() - start}
    if hasattr(model, "n_ci_tests_"):
        spent["ci_tests"] = int(np.sum(model.n_ci_tests_))
    return {**measured(model.dag_, one.train, one.test, one.truth, model._parameter_ess), **spent}


def rai(one: Case, seed: int) -> Result:
    """RAI, with the tests of B-RAI and without a bootstrap."""
    return _fitted(RAI(BRAI.paper().ci_test), one)


def mmhc(one: Case, seed: int) -> Result:
    """MMHC as published."""
    return _fitted(MMHC(), one)


def bs_mmhc(one: Case, seed: int, n: int, max_order: int | None) -> Result:
    """The best of n bootstraps of MMHC, by the score on the data."""
    return {"n": n, **_fitted(Bootstrap(MMHC(max_order=max_order), n=n, random_state=seed), one)}


def b_rai(one: Case, seed: int) -> Result:
    """B-RAI as published, s = 3."""
    return _fitted(BRAI.paper(3, random_state=seed), one)


def tabu(one: Case, seed: int) -> Result:
    """Tabu search, without a limit on parents for up to MANY variables."""
    return _fitted(HillClimbing(max_parents=None if one.train.n_variables <= MANY else MAX_PARENTS), one)


def brai(one: Case, seed: int) -> Result:
    """BRAI with its defaults: the best graph, and its posterior."""
    model = BRAI(random_state=seed)
    found = _fitted(model, one)
    start = time.process_time()
    averaged = float(model.score_samples(one.test).sum())
    chains = model.chains()
    own = {"averaged": averaged, "averaged_cpu_s": time.process_time() - start}
    r_hat = chains.r_hat()
    return {**found, **own, "r_hat": r_hat if math.isfinite(r_hat) else None, "ess": chains.ess()}


def true_graph(one: Case, seed: int) -> Result:
    """The true graph with learned parameters."""
    return measured(one.truth, one.train, one.test, one.truth)


def true_network(one: Case, seed: int) -> Result:
    """The true network; for Alarm, the true graph with parameters from the 13,914 rows outside the test set."""
    return {"predictive": one.ceiling}


def ges(one: Case, seed: int) -> Result:
    """GES of causal-learn in a separate process, which is killed if it takes too long."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_ges, args=(np.asarray(one.train.codes.T, float), there))
    process.start()
    there.close()  # so that recv() notices the end of the process
    try:
        answer = here.recv() if here.poll(60 * GES_MINUTES) else None
    except EOFError:
        answer = None
    process.kill()
    if answer is None:
        return {"ended": False}
    dag = PDAG(one.train.names, answer[0]).to_dag()
    return {**measured(dag, one.train, one.test, one.truth), "cpu_s": answer[1]}


def _ges(codes: Any, pipe: Any) -> None:
    from causallearn.search.ScoreBased.GES import ges as learn

    start = time.process_time()
    found = learn(codes, score_func="local_score_BDeu")["G"].graph
    # for i → j its graph[j, i] is 1 and graph[i, j] is -1; for i – j both are -1
    pipe.send(((found == -1).astype(np.int8), time.process_time() - start))


COLUMNS: dict[str, Callable[..., Result]] = {
    "RAI": rai,
    "MMHC": mmhc,
    "BS-MMHC": bs_mmhc,
    "B-RAI": b_rai,
    "tabu": tabu,
    "GES": ges,
    "BRAI": brai,
    "true graph": true_graph,
    "true network": true_network,
}


def under(column: str) -> Callable[..., Result]:
    """The function of a column: of a learner, or of RAI or B-RAI under a reading of the CI test."""
    learner, reading = readings.learner_of(column)
    if not reading:
        return COLUMNS[column]

    def fitted(one: Case, seed: int) -> Result:
        model = readings.model_of(learner, reading, one.train.n_variables, seed)
        found = _fitted(model, one)
        cut = model.n_truncated_ if learner == "RAI" else model.tree_.n_truncated
        return {**found, "threshold": model.threshold_, "truncated": int(cut)}

    return fitted


@cache
def tiny() -> Case:
    """A tiny case, for the warm-up."""
    source = network_of(None, "Cancer")
    train = source.sample(50, random_state=0)
    return Case(train, train, source.pdag, "sampled", lambda: (source, train))


@cache
def _warm_up(column: str, extra: tuple[Any, ...]) -> None:
    """Load compiled code once per process, so that it does not count as time of the learner."""
    under(column)(tiny(), 0, *extra)


def _cell(
    folder: Path | None, network: str, version: int, column: str, seed: int, extra: tuple[Any, ...]
) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains that have not converged: r_hat is recorded
        if column != "GES":
            _warm_up(column, extra and (2, *extra[1:]))
        return under(column)(case(folder, network, version), seed, *extra)


def cells(
    folder: Path | None,
    networks: Sequence[str],
    sets: int,
    columns: Sequence[str],
    *,
    bootstraps: int,
    seed: int,
) -> list[Cell]:
    """All cells, ordered by data set; GES only if it can finish."""
    found = []
    for network in map(proper_name, networks):
        where = origin(folder, network)
        for version in range(1, sets + 1):
            for column in columns:
                key: tuple[str, ...] = (network, where, str(version), column)
                extra: tuple[Any, ...] = ()
                if column == "GES" and not may_end(network):
                    continue
                if column == "BS-MMHC":
                    n = min(bootstraps, BOOTSTRAPS.get(network, bootstraps))
                    extra = (n, LINK_ORDER if network == "Link" else None)
                    key = (*key, str(n))
                found.append(Cell(key, _cell, (folder, network, version, column, seed, extra)))
    return found


def may_end(network: str) -> bool:
    """Whether GES is installed, and the network small enough for it."""
    known = PUBLISHED.get(network)
    return (known is None or known.nodes <= GES_VARIABLES) and importlib.util.find_spec("causallearn") is not None


# --- the table ------------------------------------------------------------------------------------

SHOWN = ("RAI", "MMHC", "BS-MMHC", "B-RAI", "tabu", "GES", "BRAI", "BRAI averaged", "true graph", "true network")
MEASURES = ("predictive", "bdeu", "shd", "f1", "cpu_s", "ci_tests")


def flat(cells: Sequence[Cell], results: Sequence[Result]) -> list[Result]:
    """One record per cell of the table; BRAI has two."""
    rows = []
    for cell, result in zip(cells, results, strict=True):
        network, where, version, column, *_ = cell.key
        about = {"network": network, "data": where, "set": int(version)}
        own = {k: v for k, v in result.items() if k not in ("averaged", "averaged_cpu_s", "r_hat", "ess")}
        rows.append({**about, "column": column, **own})
        if "averaged" in result:
            spent = {"cpu_s": result["cpu_s"] + result["averaged_cpu_s"], "seconds": 0.0}
            more = {"predictive": result["averaged"], "r_hat": result["r_hat"], "ess": result["ess"]}
            rows.append({**about, "column": "BRAI averaged", **more, **spent})
    return rows


def summary(rows: Sequence[Result]) -> list[Result]:
    """Means over data sets with their standard errors, and the published values."""
    found = []
    extra = sorted({row["column"] for row in rows} - set(SHOWN), key=readings.rank)
    for network in dict.fromkeys(row["network"] for row in rows):
        for column in (*SHOWN, *extra):
            own = [row for row in rows if (row["network"], row["column"]) == (network, column)]
            own = [row for row in own if "predictive" in row]
            if not own:
                continue
            line: Result = {"network": network, "data": own[0]["data"], "column": column, "sets": len(own)}
            for measure in MEASURES:
                values = [row[measure] for row in own if measure in row]
                if values:
                    line[measure] = float(np.mean(values))
            values = [row["predictive"] for row in own]
            line["predictive_se"] = float(np.std(values, ddof=1) / math.sqrt(len(values))) if own[1:] else None
            if thresholds := [row["threshold"] for row in own if row.get("threshold") is not None]:
                line["threshold"] = float(np.median(thresholds))
            if any("truncated" in row for row in own):
                line["truncated_sets"] = sum(row["truncated"] > 0 for row in own)
            learner, _ = readings.learner_of(column)
            if learner in (known := PUBLISHED[network].columns if network in PUBLISHED else {}):
                line["paper"], line["paper_pm"] = known[learner]
            found.append(line)
    return found


def as_text(lines: Sequence[Result]) -> str:
    """The table in Markdown, with the published values in a second line; then CPU seconds, CI tests, readings."""
    return "\n".join(part for part in (_learners_as_text(lines), readings.as_text(lines)) if part)


def _learners_as_text(lines: Sequence[Result]) -> str:
    lines = [line for line in lines if line["column"] in SHOWN]
    if not lines:
        return ""
    out = [_head("log predictive")]
    networks = list(dict.fromkeys(line["network"] for line in lines))
    for network in networks:
        own = {line["column"]: line for line in lines if line["network"] == network}
        best = max((own[c]["predictive"] for c in SHOWN[:8] if c in own), default=None)
        sampled = " (sampled)" if next(iter(own.values()))["data"] == "sampled" else ""
        sets = max(line["sets"] for line in own.values())
        out.append(f"| {network}{sampled} | {' | '.join(_shown(own.get(c), best, sets) for c in SHOWN)} |")
        if any("paper" in line for line in own.values()):
            paper = [
                f"{own[c]['paper']:.0f} ±{own[c]['paper_pm']:.0f}" if "paper" in own.get(c, {}) else ""
                for c in SHOWN
            ]
            out.append(f"| *paper* | {' | '.join(paper)} |")
    for title, measure, form in (("CPU seconds", "cpu_s", ".3g"), ("CI tests", "ci_tests", ".0f")):
        out += ["", _head(title)]
        for network in networks:
            own = {line["column"]: line for line in lines if line["network"] == network}
            cells = [format(own[c][measure], form) if measure in own.get(c, {}) else "" for c in SHOWN]
            out.append(f"| {network} | {' | '.join(cells)} |")
    return "\n".join(out) + "\n"


def _head(title: str) -> str:
    return f"| {title} | {' | '.join(SHOWN)} |\n{'|---' * (len(SHOWN) + 1)}|"


def _shown(line: Result | None, best: float | None, sets: int) -> str:
    if line is None:
        return ""
    text = f"{line['predictive']:.0f}" if line["predictive"] != best else f"**{line['predictive']:.0f}**"
    text += "" if line["predictive_se"] is None else f" ±{line['predictive_se']:.0f}"
    return text if line["sets"] == sets else f"{text} ({line['sets']} sets)"


def picture(lines: Sequence[Result], path: Path) -> None:
    """Distance to the true network in nats per row, on a log scale; published values are hollow marks."""
    from matplotlib.figure import Figure

    if any(readings.learner_of(line["column"])[1] for line in lines):
        readings.picture(lines, path)
        return
    networks = list(dict.fromkeys(line["network"] for line in lines))
    figure = Figure(figsize=(9, 1.6 + 0.5 * len(networks)), layout="constrained")
    axes = figure.subplots()
    marks = dict(zip(SHOWN[:9], "osv^DX*P|", strict=True))
    ceilings = {line["network"]: line["predictive"] for line in lines if line["column"] == "true network"}
    for place, column in enumerate(SHOWN[:9]):
        own = [line for line in lines if line["column"] == column and line["network"] in ceilings]
        for measure, look in (("predictive", {"label": column, "markersize": 8}), ("paper", {"mfc": "none"})):
            have = [line for line in own if measure in line]
            xs = [(ceilings[line["network"]] - line[measure]) / TEST_ROWS for line in have]
            ys = [networks.index(line["network"]) for line in have]
            axes.plot(xs, ys, marks[column], color=f"C{place}", **look)
    axes.set_xscale("log")
    axes.set_yticks(range(len(networks)), networks)
    axes.set_ylim(len(networks) - 0.5, -0.5)
    axes.set_xlabel("nats per held-out row below the true network (hollow: as published)")
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=130)
