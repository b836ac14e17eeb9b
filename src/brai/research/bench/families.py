"""Case ``pairs``: time of a family of two parents, for all pairs and all variables, next to an order-1 CI test.

The time includes what surrounds the kernel: single parents, tasks, and the choice of the best pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

from brai.kinds.scores import FamilyScores
from brai.research.bench.independence import Refinement
from brai.research.bench.measure import Measurement, Run, Settings, interleave
from brai.research.bench.samples import alarm, random_rows
from brai.search.family_table import FamilyTable
from brai.search.joint_parents import deepen

VARIABLES, QUICK = 200, 70
_MOST = 3.0  # target: ratio to a test


def pairs(settings: Settings) -> Iterator[Measurement]:
    """CPU time per family of two parents on a random network of few states, 500 rows."""
    d = QUICK if settings.quick else VARIABLES
    scores = FamilyScores(random_rows(d))
    scored = 0

    def prepare() -> Run:
        table = FamilyTable(scores, max_parents=2)

        def run() -> None:
            nonlocal scored
            scored = deepen(table).scored

        return run

    test = Refinement(alarm(500), 1)
    times = interleave({"pairs": prepare, "test": test.prepare}, settings.runs)
    own, other = 1e6 * times["pairs"] / scored, test.each(times["test"]) / 1000
    name = f"family of two parents, {d} variables, 500 rows"
    yield Measurement("pairs", name, "µs", own, "CI test of order 1, Alarm", other, _MOST)
