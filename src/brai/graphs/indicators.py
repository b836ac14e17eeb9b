"""Columns that say where cells are missing, so that a graph shows what missingness depends on.

`with_indicators` adds a column "<name> missing" with the states no and yes. Knowledge keeps the added columns as
leaves: missingness is an outcome of the other columns, not their cause. They have no missing cells.

What this can do:

- An edge from b to "a missing" says that a is missing more often for some values of b.
- Imputation of b then takes into account whether a is missing. This matters if b has missing cells, too: then
  missingness of a depends on a value that is not always there, so cells are not missing at random, and imputation
  without the added column can be wrong. With it, it is right if the graph has that edge.

What it cannot do:

- Whether a is missing more often for some values of a itself cannot be learned: in all rows where "a missing" is
  yes, the value of a is imputed. The edge from a to "a missing" is forbidden, which assumes that given the other
  columns there is no such dependence. Where another column is missing in exactly the same rows, its edge is
  forbidden for the same reason. Where it is missing in most of them, an edge rests on the few others.
- Leaves are taken as independent of each other given the other columns. Columns that are missing in exactly the
  same rows share one leaf, named after the first of them. But columns that are nearly always missing together
  count as several witnesses, so their edges look somewhat more certain than they are.

>>> table, known = with_indicators({"sex": ["f", "m"] * 30, "pay": [None, 1, 2, 3, 2, 3] * 10})
>>> table
Incomplete(60 rows, 3 variables, 10 of 180 cells missing)
>>> known.leaves, known.forbidden
(('pay missing',), (('pay', 'pay missing'),))
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from brai.data.columns import DataError, shown
from brai.data.dataset import Dataset
from brai.data.incomplete import Incomplete
from brai.data.joining import with_states
from brai.graphs.knowledge import Knowledge

SUFFIX = " missing"
STATES = ("no", "yes")


def with_indicators(X: Any, knowledge: Any = None, least: float = 0.01) -> tuple[Any, Knowledge]:
    """The table with a column of no and yes for each column with at least this share of cells missing.

    The second result is the knowledge with these columns as leaves; give both to a learner.
    """
    known, data = Knowledge.of(knowledge), Dataset.of(X)
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
        raise DataError(f"least is {shown(least)}: give a share from 0 to 1")
    if not isinstance(data, Incomplete):
        return data, known
    same: dict[bytes, list[int]] = {}
    for v, gone in enumerate(data.missing):
        if gone.any() and gone.mean() >= least:
            same.setdefault(np.packbits(gone).tobytes(), []).append(v)
    if not same:
        return data, known
    blocks = list(same.values())
    added = [data.names[own[0]] + SUFFIX for own in blocks]
    if taken := [name for name in added if name in data.names]:
        raise DataError(f"there is a column {shown(taken[0])} already: rename it, or set missing cells in it")
    codes = np.stack([data.missing[own[0]] for own in blocks]).astype(np.uint8)
    leaves = Dataset(codes, tuple(added), (STATES,) * len(added))
    missing = np.concatenate([data.missing, np.zeros(codes.shape, bool)])
    forbidden = [(data.names[v], leaf) for own, leaf in zip(blocks, added, strict=True) for v in own]
    known = replace(known, leaves=(*known.leaves, *added), forbidden=(*known.forbidden, *forbidden))
    return Incomplete(with_states(data.table, leaves), missing), known


def indicator_of(name: str, names: Any) -> str | None:
    """The column whose missing cells a column of this name indicates."""
    base = name.removesuffix(SUFFIX)
    return base if base != name and base in names else None
