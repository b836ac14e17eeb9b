"""Cases that learn: the tree, a posterior, hill climbing, the default learner with its chains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from brai.data.dataset import Dataset
from brai.graphs.pdag import PDAG, families_of
from brai.kinds.scores import FamilyScores
from brai.learners.bootstrap import Bootstrap
from brai.learners.brai import BRAI
from brai.learners.score_search import HillClimbing
from brai.research.bench import peers
from brai.research.bench.measure import Measurement, Prepare, Run, Settings, again, interleave
from brai.research.bench.samples import alarm, as_large_as_hailfinder

STORED_S = 31.0  # CPU seconds of 200 bootstraps of bnlearn's hc, Alarm, 500 rows
DRAWS, BOOTSTRAPS = 1000, 200
_CHEAPER = 1 / 100  # target: ratio to that
_SOME = 10  # bootstraps that are run; their time is extrapolated to all


def alarm_tree(settings: Settings) -> Iterator[Measurement]:
    """The tree with the settings of the paper, s = 3, next to one greedy hill climb on the same rows."""
    data = alarm()
    candidates: dict[str, Prepare] = {
        "ours": again(lambda: BRAI.paper(3, ci_test="cmi-c1", random_state=0).fit(data))
    }
    there = peers.installed(settings, "pyAgrum")
    candidates |= {name: again(peers.climber(name, data)) for name in there}
    times = interleave(candidates, settings.runs)
    if not there:
        yield Measurement("alarm-tree", "tree, s = 3", "s", times["ours"])
    for name in there:
        yield Measurement("alarm-tree", "tree, s = 3", "s", times["ours"], f"{name}, climb", times[name], 1.0)


def alarm_posterior(settings: Settings) -> Iterator[Measurement]:
    """1000 draws from the tree and from chains, next to 200 bootstraps of hill climbing; and distinct CPDAGs."""
    data, runs = alarm(), min(settings.runs, 3)
    models: dict[str, Any] = {}
    ways = {
        "tree, s = 3: fit, 1000 draws": lambda: _tree_draws(data),
        "BRAI(): fit, 1000 draws": lambda: _chain(data),
    }
    wide = None if settings.quick else _wide_enough(data)
    if wide:
        ways[f"tree, s = {wide}: fit, 1000 best"] = lambda: _best(data, wide)

    def keep(name: str) -> Run:
        return lambda: models.__setitem__(name, ways[name]())

    some = 2 if settings.quick else _SOME
    candidates: dict[str, Prepare] = {name: again(keep(name)) for name in ways}
    climbs = Bootstrap(HillClimbing(tabu=0), some, random_state=0)
    candidates[_bootstraps("HillClimbing()")] = again(lambda: climbs.fit(data))
    for name in peers.installed(settings, "pyAgrum"):
        drawn = [peers.climber(name, _bootstrap(data, i)) for i in range(some)]
        candidates[_bootstraps(name)] = again(_all(drawn))
    times = interleave(candidates, runs)
    others = [name for name in candidates if name not in ways]
    for name in ways:
        own = times[name]
        stored = f"{BOOTSTRAPS} bootstraps of bnlearn hc, stored"
        yield Measurement("alarm-posterior", name, "s", own, stored, STORED_S, _CHEAPER)
        for other in others:
            yield Measurement("alarm-posterior", name, "s", own, other, times[other] * BOOTSTRAPS / some)
        distinct = f"{name}: distinct CPDAGs"
        yield Measurement("alarm-posterior", distinct, "", models[name], None, None, DRAWS, "value", more=True)


def _bootstraps(name: str) -> str:
    return f"{BOOTSTRAPS} bootstraps of {name}"


def _all(runs: list[Run]) -> Run:
    return lambda: [run() for run in runs]


def _published(s: int) -> BRAI:
    """The published method with one threshold, C1: one tree, as in earlier measurements."""
    return BRAI.paper(s, ci_test="cmi-c1", random_state=0)


def _tree_draws(data: Dataset) -> int:
    """Distinct CPDAGs among draws with all routes equally probable, the temperature that gives most."""
    drawn = (
        BRAI.paper(3, ci_test="cmi-c1", random_state=0)
        .fit(data)
        .sample(DRAWS, temperature=math.inf, random_state=0)
    )
    return len({graph for graph, _ in drawn})


def _chain(data: Dataset) -> int:
    return len(BRAI(n_chains=4, n_draws=DRAWS // 4, random_state=0).fit(data).posterior())


def _best(data: Dataset, s: int) -> int:
    return len(_published(s).fit(data).k_best(DRAWS))


def _wide_enough(data: Dataset) -> int | None:
    """The smallest s whose tree holds 1000 distinct CPDAGs."""
    return next((s for s in range(4, 21) if _best(data, s) >= DRAWS), None)


def _bootstrap(data: Dataset, seed: int) -> Dataset:
    rows = np.random.default_rng(seed).integers(0, data.n_rows, data.n_rows)
    return Dataset(data.codes[:, rows], data.names, data.states)


def hill_climbing(settings: Settings) -> Iterator[Measurement]:
    """Greedy hill climbing with BDeu (equivalent sample size 1): time, and the score of the result."""
    problems = [("Alarm", alarm())] if settings.quick else [("Alarm", alarm()), as_large_as_hailfinder(settings)]
    there = peers.installed(settings, "pyAgrum", "pgmpy")
    for label, data in problems:
        found: dict[str, PDAG] = {}

        def ours(data: Dataset = data, found: dict[str, PDAG] = found) -> None:
            found["ours"] = HillClimbing(tabu=0).fit(data).dag_

        def theirs(climb: Run, name: str, data: Dataset = data, found: dict[str, PDAG] = found) -> Run:
            return lambda: found.__setitem__(name, PDAG.from_edges(data.names, directed=climb()))

        candidates: dict[str, Prepare] = {"ours": again(ours)}
        candidates |= {name: again(theirs(peers.climber(name, data), name)) for name in there}
        times = interleave(candidates, settings.runs, cold=["pgmpy"])  # seconds of Python: nothing to warm up
        score = {name: -_bdeu(data, graph) for name, graph in found.items()}
        if not there:
            yield Measurement("hill-climbing", label, "s", times["ours"])
            yield Measurement("hill-climbing", f"{label}, −BDeu", "nats", score["ours"])
        for name in there:
            yield Measurement("hill-climbing", label, "s", times["ours"], name, times[name])
            yield Measurement("hill-climbing", f"{label}, −BDeu", "nats", score["ours"], name, score[name])


def _bdeu(data: Dataset, dag: PDAG) -> float:
    return float(FamilyScores(data, "bdeu", ess=1.0).total(families_of(dag)))


def fit_and_chains(settings: Settings) -> Iterator[Measurement]:
    """The default learner: its fit, and its chains. There is no comparable peer."""
    data, n_draws = alarm(), 20 if settings.quick else None
    model = BRAI(random_state=0, n_draws=n_draws)

    def chains() -> Run:
        return BRAI(random_state=0, n_draws=n_draws).fit(data).chains

    fits = {"BRAI().fit": again(lambda: model.fit(data)), "chains()": chains}
    times = interleave(fits, min(settings.runs, 3))
    for name, seconds in times.items():
        yield Measurement("fit-and-chains", name, "s", seconds)
