"""Other packages on the same rows: greedy hill climbing with BDeu (equivalent sample size 1), and G² tests."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from brai.data.dataset import Dataset
from brai.research.bench.measure import Prepare, Run, Settings

PACKAGES = {"pyAgrum": "pyagrum", "pgmpy": "pgmpy", "causal-learn": "causallearn"}
Triple = tuple[int, int, tuple[int, ...]]  # x, y and the conditioning set, as columns
Edges = list[tuple[str, str]]


def installed(settings: Settings, *names: str) -> list[str]:
    """The installed ones of these peers; each missing one is reported once."""
    there = []
    for name in names:
        if find_spec(PACKAGES[name]) is not None:
            there.append(name)
        elif name not in settings.missing:
            settings.missing.add(name)
            settings.say(f"{name} is not installed, so it is left out: pip install 'brai[bench]'")
    return there


def climber(name: str, data: Dataset) -> Run:
    """Greedy hill climbing of a peer; a run returns the edges."""
    return _pyagrum_climber(data) if name == "pyAgrum" else _pgmpy_climber(data)


def _frame(data: Dataset) -> Any:
    labels = [np.array([str(state) for state in own]) for own in data.states]
    columns = zip(data.names, labels, data.codes, strict=True)
    return import_module("pandas").DataFrame({name: own[codes] for name, own, codes in columns})


def _pyagrum_learner(data: Dataset, frame: Any) -> Any:
    gum = import_module("pyagrum")
    gum.setNumberOfThreads(1)  # otherwise its tests keep several threads in busy waiting
    template = gum.BayesNet()
    for name, own in zip(data.names, data.states, strict=True):
        template.add(gum.LabelizedVariable(name, name, [str(state) for state in own]))
    learner = gum.BNLearner(frame, template)
    learner.setNumberOfThreads(1)
    learner.useNoPrior()
    return learner


def _pyagrum_climber(data: Dataset) -> Run:
    frame = _frame(data)

    def climb() -> Edges:
        learner = _pyagrum_learner(data, frame)
        learner.useScoreBDeu()
        learner.useGreedyHillClimbing()
        return [(data.names[a], data.names[b]) for a, b in learner.learnDAG().arcs()]

    return climb


def _pgmpy_climber(data: Dataset) -> Run:
    frame = _frame(data).astype("category")
    search = import_module("pgmpy.causal_discovery").HillClimbSearch
    score = import_module("pgmpy.structure_score").BDeu

    def climb() -> Edges:
        bdeu = score(frame, equivalent_sample_size=1)
        found = search(scoring_method=bdeu, tabu_length=0, return_type="dag", show_progress=False).fit(frame)
        return list(found.causal_graph_.edges())

    return climb


def tester(name: str, data: Dataset, triples: Sequence[Triple]) -> Prepare:
    """G² tests of a peer for these triples, without a cache from an earlier run."""
    names = data.names
    named = [(names[x], names[y], [names[z] for z in given]) for x, y, given in triples]
    if name == "causal-learn":
        make = import_module("causallearn.utils.cit").CIT
        codes = np.ascontiguousarray(data.codes.T).astype(np.int64)

        def causal_learn() -> Run:
            test = make(codes, "gsq")
            return lambda: [test(x, y, list(given)) for x, y, given in triples]

        return causal_learn
    frame = _frame(data)
    if name == "pyAgrum":

        def pyagrum() -> Run:
            learner = _pyagrum_learner(data, frame)
            return lambda: [learner.G2(*triple) for triple in named]

        return pyagrum
    make = import_module("pgmpy.ci_tests").GSq

    def pgmpy() -> Run:
        test = make(frame)
        return lambda: [test(*triple) for triple in named]

    return pgmpy
