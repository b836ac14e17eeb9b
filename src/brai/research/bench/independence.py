"""Cases ``ci-test`` and ``roofline``: time of a conditional-independence (CI) test, next to peers and to a model.

The model predicts the time from the work of a test and the measured rates of the machine (a roofline model).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from brai.data.dataset import Dataset
from brai.kernels.groups import Piece
from brai.kernels.interface import CELLS
from brai.kernels.resolution import Limits, refine
from brai.research.bench import peers
from brai.research.bench.measure import Measurement, Prepare, Run, Settings, again, interleave
from brai.research.bench.model import Work, mean_work
from brai.research.bench.rates import Rates, loops
from brai.research.bench.samples import alarm
from brai.tree.independence import CITest
from brai.tree.rai import NO_LIMIT, Group, Learner

ROWS = (500, 5000)
ORDERS = range(4)
STORED_US = 430.0  # µs per test of the authors' Python code (causality-lab) on Alarm, 500 rows
_FASTER = 1 / 100  # target: ratio to that
_MOST = 2.0  # target: ratio to the model


def members(order: int) -> int:
    """Number of variables of the complete group whose edges are tested: all 37, or 14 at higher orders."""
    return 37 if order < 2 else 14


class Refinement:
    """All tests of order n in a complete group, at a level that keeps edges, so that there are many tests."""

    def __init__(self, data: Dataset, order: int, *, to_the_end: bool = False, budget: int = NO_LIMIT):
        self.learner = Learner(data, CITest("g2", alpha=0.9999, colliders=None))
        self.order, self.budget, self.made = order, budget, 0
        self.group = Group.complete(members(order))
        self.rule = self.learner._rules[0]
        if to_the_end:  # every test runs to its end
            self.rule = self.rule._replace(critical=np.full_like(self.rule.critical, -np.inf), df=CELLS)
        k = len(self.group.nodes)
        self.all_tests = comb(k, 2) * comb(k - 2, order)
        self.calls = max(1, 5000 // self.all_tests)  # calls of the kernel in a run: enough for a reliable time

    def prepare(self) -> Run:
        """The kernel, with a copy of the graph for each call."""
        learner, group, n, k = self.learner, self.group, self.order, len(self.group.nodes)
        learner._make_room(n, (n + 1) * k * k)
        evidence = learner._evidence(learner.sample)._replace(rule=self.rule)
        pieces = [
            Piece(group.nodes, group.endo, group.adj.copy(), group.sep.copy(), learner._pool)
            for _ in range(self.calls)
        ]
        bounds, limits = learner.bounds.codes, Limits(self.budget)

        def run() -> None:
            for piece in pieces:
                self.made, _, _ = refine(evidence, piece, 0, n, learner.association, bounds, limits)

        return run

    def each(self, seconds: float) -> float:
        """Nanoseconds per test."""
        return 1e9 * seconds / (self.calls * self.made)


def triples(order: int, n: int) -> list[peers.Triple]:
    """A random selection of the tests of a refinement, y before x as in `refine`."""
    rng, k, found = np.random.default_rng(order), members(order), []
    for _ in range(n):
        y, x = sorted(rng.choice(k, 2, replace=False).tolist())
        rest = [v for v in range(k) if v not in (x, y)]
        found.append((x, y, tuple(rng.choice(rest, order, replace=False).tolist())))
    return found


def ci_test(settings: Settings) -> Iterator[Measurement]:
    """CPU time per CI test in a refinement of Alarm, with early stopping, and of G² tests of peers."""
    there = peers.installed(settings, "pyAgrum", "pgmpy", "causal-learn")
    for rows in ROWS:
        data = alarm(rows)
        for order in ORDERS:
            ours, asked = Refinement(data, order), triples(order, 10 if settings.quick else 40)
            candidates: dict[str, Prepare] = {"ours": ours.prepare}
            candidates |= {name: peers.tester(name, data, asked) for name in there}
            times = interleave(candidates, settings.runs)
            name, own = f"order {order}, {rows} rows", ours.each(times["ours"]) / 1000
            if rows == ROWS[0]:
                yield Measurement("ci-test", name, "µs", own, "causality-lab, stored", STORED_US, _FASTER)
            elif not there:
                yield Measurement("ci-test", name, "µs", own)
            for peer in there:
                yield Measurement("ci-test", name, "µs", own, peer, 1e6 * times[peer] / len(asked))


def roofline(settings: Settings) -> Iterator[Measurement]:
    """CPU time of a CI test without early stopping, next to the time that its words and look-ups alone take."""
    for rows in ROWS:
        data, machine = alarm(rows), loops(rows, long=not settings.quick)
        candidates: dict[str, Prepare] = {name: again(loop.run) for name, loop in machine.items()}
        kinds: dict[str, dict[str, Any]] = {"full": {"to_the_end": True}, "early": {}, "call": {"budget": 0}}
        made = {(kind, n): Refinement(data, n, **own) for kind, own in kinds.items() for n in ORDERS}
        candidates |= {f"{kind} {n}": one.prepare for (kind, n), one in made.items()}
        times = interleave(candidates, settings.runs)
        rates = Rates(**{name: loop.size / (1e9 * times[name]) for name, loop in machine.items()})
        for field, (name, unit) in Rates.about.items():
            yield Measurement("roofline", f"{name}, {rows} rows", unit, getattr(rates, field), more=True)
        for n in ORDERS:
            one, name = made["full", n], f"order {n}, {rows} rows"
            assert one.made == one.all_tests, "every test of a complete group is made once"
            work = mean_work(one.learner, members(n), _all_triples(members(n), n, settings))
            full, early = one.each(times[f"full {n}"]), made["early", n].each(times[f"early {n}"])
            rest = work.shared(rates) + one.each(times[f"call {n}"])
            for peer, value, target in (
                ("model", work.alone(rates), _MOST),
                ("model, shared counting, call", work.alone(rates) + rest, None),
            ):
                yield Measurement("roofline", f"{name}, to the end", "ns", full, peer, value, target)
            yield Measurement("roofline", f"{name}, stopped early", "ns", early, "to the end", full)
            for field, unit in Work.about.items():
                yield Measurement("roofline", f"{name}, {field}", unit, getattr(work, field))


def _all_triples(k: int, order: int, settings: Settings) -> list[peers.Triple]:
    """All tests of a complete group; with --quick a selection."""
    every = [
        (x, y, given)
        for y, x in combinations(range(k), 2)
        for given in combinations([v for v in range(k) if v not in (x, y)], order)
    ]
    return every[:: max(1, len(every) // 200)] if settings.quick else every
