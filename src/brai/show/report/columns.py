"""The columns of a table as the report shows them: what each one holds, and how it was taken.

`column_of` is one column in the units of the data, for tables of all kinds. `records` describes each column as
plain values: its kind, its distribution, and its transformation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from brai.data.bins import bins_of
from brai.data.coding import Contrasts, Scale
from brai.data.dataset import Dataset
from brai.data.incomplete import Incomplete
from brai.data.measurements import Floats, Measurements
from brai.data.mixed import Mixed
from brai.data.numbers import SKEWED, TAILS
from brai.show.report.labels import label_of, rounded

Plain: TypeAlias = dict[str, Any]
ColumnWord: TypeAlias = Literal["category", "ordered", "measurement"]
WORDS: dict[str, ColumnWord] = {"discrete": "category", "ordered": "ordered", "continuous": "measurement"}

MOST = 1000  # columns that are described
STATES = 12  # states that are shown; more are taken together
LETTERS = 24  # of a state
BINS = 40  # most bins of a histogram
STANDARDISED = "its standardised values"
RANKED = "its normal scores (normal quantiles of its ranks)"
FEW = 24  # range of integers up to which each has a bin
LARGEST = 1e100  # beyond, or below its inverse, numbers are not drawn


@dataclass(frozen=True, eq=False)
class Column:
    """A column: codes of states, or values in the units of the data and on the scale that the model sees."""

    name: str
    kind: ColumnWord
    n_rows: int
    states: tuple[str, ...] = ()
    codes: NDArray[Any] | None = None
    values: Floats | None = None
    scores: Floats | None = None  # normal scores; None if the model sees the values
    sees: str = ""  # what the learner sees of the column, if that is not the values themselves
    note: str = ""
    in_order: bool = False  # whether neighbouring states belong together
    known: NDArray[np.bool_] | None = None  # where cells are not missing; None if all are there

    @cached_property
    def seen(self) -> Floats:
        """What the model sees of a measurement: its values, or their normal scores."""
        assert self.values is not None
        return self.values if self.scores is None else self.scores

    def at(self, rows: NDArray[Any]) -> Column:
        """These rows of the column."""
        codes, values, scores = (
            None if own is None else own[rows] for own in (self.codes, self.values, self.scores)
        )
        n = len(np.arange(self.n_rows)[rows])
        return replace(self, codes=codes, values=values, scores=scores, n_rows=n, known=None)

    @property
    def label(self) -> str:
        """The name on one line, cut if it is long."""
        return label_of(self.name, 40)

    @property
    def drawable(self) -> bool:
        """Whether values can be drawn: neither all equal nor extremely large or small."""
        if self.values is None:
            return True
        low, high = float(self.values.min()), float(self.values.max())
        return high / 2 - low / 2 > 1 / LARGEST and max(abs(low), abs(high)) < LARGEST

    def grouped(self, most: int = STATES) -> tuple[list[str], NDArray[np.int64], int]:
        """Labels, the group of each row, and how many states share one; those that never occur are left out.

        If there are more than ``most`` states, neighbours share a group if states are in order, else rare ones.
        """
        assert self.codes is not None
        counts = np.bincount(self.codes, minlength=len(self.states))
        used = np.flatnonzero(counts)
        group = np.zeros(len(self.states), np.int64)
        if len(used) <= most:
            group[used] = np.arange(len(used))
            return [label_of(self.states[i], LETTERS) for i in used], group[self.codes], 0
        if self.in_order:
            share = (np.cumsum(counts[used]) - counts[used] / 2) / self.n_rows
            found = np.unique(np.minimum((share * most).astype(int), most - 1), return_inverse=True)[1]
            group[used] = found
            parts = [used[found == k] for k in range(found.max() + 1)]
            labels = [_span(self.states[own[0]], self.states[own[-1]]) for own in parts]
            return labels, group[self.codes], len(used)
        common = np.sort(used[np.argsort(-counts[used], kind="stable")[: most - 1]])
        group[:] = most - 1
        group[common] = np.arange(most - 1)
        rest = len(used) - len(common)
        return [*(label_of(self.states[i], LETTERS) for i in common), f"{rest} others"], group[self.codes], rest


def _span(first: str, last: str) -> str:
    return label_of(first, LETTERS) if first == last else f"{label_of(first, 11)} … {label_of(last, 11)}"


def column_of(data: Any, name: str) -> Column:
    """A column of a table of any kind."""
    if isinstance(data, Incomplete):
        gone = data.missing[data.names.index(name)]
        return replace(column_of(data.table, name), known=~gone if gone.any() else None)
    if isinstance(data, Dataset):
        return _of_states(data, name, "category")
    if isinstance(data, Measurements):
        return _of_numbers(data, name)
    assert isinstance(data, Mixed)
    v = data.names.index(name)
    kind, block = data.kinds[v], data.coding.blocks[v]
    if isinstance(block, Scale):
        values = data.numbers.values[data.numbers.names.index(name)]
        if name not in data.ranked:
            return Column(name, "measurement", data.n_rows, values=values, sees=STANDARDISED)
        tails = _tails(values)
        why = f", since it is far from normal ({tails})" if tails else ", as asked"
        return Column(
            name, "measurement", data.n_rows, values=values, scores=block.scores(values), sees=RANKED + why
        )
    return _of_states(data.labels, name, WORDS[kind], block)


def _of_states(data: Dataset, name: str, kind: ColumnWord, block: Contrasts | None = None) -> Column:
    v = data.names.index(name)
    states, codes = tuple(map(str, data.states[v])), data.codes[v]
    sees = "one number for each state, the normal quantile of its ranks" if kind == "ordered" else ""
    notes, in_order = [], kind == "ordered"
    if (bins := bins_of(data.states[v])) is not None and len(states) > 1:
        in_order = True
        notes.append("Its states are bins of a measurement.")
        rank = [bins.labels.index(own) for own in states]
        states, codes = tuple(bins.labels), np.array(rank)[codes]
    if kind == "category" and block is not None:
        sizes = np.bincount(block.groups[np.unique(codes)])
        if rare := int(sizes[sizes > 1].sum()):
            notes.append(f"{rare} rare states count as one in regressions on it.")
    return Column(name, kind, data.n_rows, states, codes, sees=sees, note=" ".join(notes), in_order=in_order)


def _of_numbers(data: Measurements, name: str) -> Column:
    v = data.names.index(name)
    if data.reference is None:
        tails = _tails(data.values[v])
        far = f'Far from normal ({tails}): transform="normal-scores" may suit it better.' if tails else ""
        return Column(name, "measurement", data.n_rows, values=data.values[v], sees=STANDARDISED, note=far)
    known, scores = data.reference[v], data.values[v]
    ranks = np.rint(2 * (ndtr(scores) * len(known) + 0.5)) / 2  # equal values have the mean of their ranks
    values = known[np.clip(np.floor(ranks).astype(int), 1, len(known)) - 1]
    return Column(name, "measurement", data.n_rows, values=values, scores=scores, sees=RANKED + ", as asked")


def _tails(values: Floats) -> str:
    """Skewness and excess kurtosis in words, if they are those of a column far from normal."""
    top = float(np.abs(values).max()) or 1.0
    scaled = values / top
    sd = float(scaled.std())
    if len(values) < 20 or sd < 1e-14:
        return ""
    z = (scaled - scaled.mean()) / sd
    skew, excess = float(np.mean(z**3)), float(np.mean(z**4) - 3)
    if excess <= TAILS and abs(skew) <= SKEWED:
        return ""
    return f"skewness {skew:.1f}, excess kurtosis {excess:.1f}".replace("-", "−")


# --- records ------------------------------------------------------------------------------------------


def has_columns(data: Any) -> bool:
    """Whether a table is of a kind whose columns can be described."""
    return isinstance(data.table if isinstance(data, Incomplete) else data, Dataset | Measurements | Mixed)


def records(data: Any, names: Sequence[str]) -> list[Plain]:
    """What the report says of each column, at most MOST; missing cells are only counted."""
    if not has_columns(data):
        return []
    found = []
    for name in names[:MOST]:
        column = column_of(data, name)
        missing = 0.0 if column.known is None else 1 - float(column.known.mean())
        if column.known is not None and column.known.any():
            column = column.at(column.known)
        record = _numbers(column) if column.kind == "measurement" else _states(column)
        found.append(record | ({"missing": round(missing, 6)} if missing else {}))
    return found


def _states(column: Column) -> Plain:
    assert column.codes is not None
    counts = np.bincount(column.codes, minlength=len(column.states))
    labels, codes, together = column.grouped()
    record: Plain = {
        "kind": column.kind,
        "states": len(column.states),
        "unused": int((counts == 0).sum()),
        "labels": labels,
        "counts": np.bincount(codes, minlength=len(labels)).tolist(),
        "constant": int((counts > 0).sum()) < 2,
    }
    if together:
        record["together"] = together
    return record | _words(column)


def _words(column: Column) -> Plain:
    return {word: text for word, text in (("sees", column.sees), ("note", column.note)) if text}


def _numbers(column: Column) -> Plain:
    values = column.values
    assert values is not None
    n, low, high = len(values), float(values.min()), float(values.max())
    top = max(abs(low), abs(high)) or 1.0
    scaled = values / top  # so that sums do not overflow
    mean = float(scaled.mean()) * top
    sd = 0.0 if low == high else float(scaled.std()) * top * math.sqrt(n / max(1, n - 1))
    record: Plain = {
        "kind": column.kind,
        "low": rounded(low, sd),
        "high": rounded(high, sd),
        "mean": rounded(mean, sd),
        "sd": rounded(sd, sd),
        "constant": low == high,
        **_words(column),
    }
    if column.drawable:
        first, last, n_bins = histogram_range(values)
        record["edges"] = [rounded(first, last - first, 5), rounded(last, last - first, 5)]
        record["bins"] = np.histogram(values, bins=n_bins, range=(first, last))[0].tolist()
    return record


def histogram_range(values: Floats) -> tuple[float, float, int]:
    """Where a histogram begins and ends, and its number of bins, at most BINS + 1; of few integers, one for each.

    The width of a bin is 1, 2 or 5 times a power of ten, from that of Freedman & Diaconis 1981 on. So rounded data
    have equally many possible values in each.
    """
    low, high = float(values.min()), float(values.max())
    if high - low < FEW and not (values % 1).any():
        return low - 0.5, high + 0.5, round(high - low) + 1
    q1, q3 = np.quantile(values, (0.25, 0.75))
    least = max(2 * float(q3 - q1) / len(values) ** (1 / 3), (high - low) / BINS)
    power = 10.0 ** math.floor(math.log10(least))
    width = next(step * power for step in (1, 2, 5, 10, 20) if step * power >= least)
    first = math.floor(low / width + 1e-9)
    last = max(first + 1, math.floor(high / width + 1e-9) + 1)
    return (first - 1e-9) * width, (last - 1e-9) * width, last - first
