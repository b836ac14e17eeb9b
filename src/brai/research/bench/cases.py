"""The cases by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator

from brai.research.bench import families, independence, learning, processes
from brai.research.bench.measure import Measurement, Settings

Case = Callable[[Settings], Iterator[Measurement]]

CASES: dict[str, Case] = {
    "ci-test": independence.ci_test,
    "roofline": independence.roofline,
    "pairs": families.pairs,
    "alarm-tree": learning.alarm_tree,
    "alarm-posterior": learning.alarm_posterior,
    "hill-climbing": learning.hill_climbing,
    "fit-and-chains": learning.fit_and_chains,
    "compile": processes.compiling,
    "link": processes.link,
    "scale": processes.scale,
}


def run(names: Iterable[str], settings: Settings) -> Iterator[tuple[str, list[Measurement]]]:
    """Measure case after case; warnings (of peers, of short chains) are ignored."""
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(CASES[name](settings))
        yield name, found
