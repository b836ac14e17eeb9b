"""Where to cut columns of numbers together: by what their bins say about the other columns.

**Hartemink**: all columns start with many quantile bins. In each round each column merges the two neighbouring
bins that lose least mutual information with the other columns, summed over these. The columns take turns in the
order of their names.

**Numbers of bins by evidence.** Codes become more probable with fewer bins, whatever the bins mean, so numbers of
bins can be compared only by the density of the numbers themselves: the probability of the codes, times a density
inside each bin. On the scale of ranks that density is N divided by the rows of the bin. (Friedman & Goldszmidt
1996 pay as many bits to say which value of its bin a row has.) Then a column that depends on nothing gains nothing
by bins, and what counts is how much better it is predicted by others, or predicts them. Monti & Cooper 1998 take
the marginal likelihood of a network for that. So does this module, with the simplest networks, forests: the log
evidence of a partition is the sum, over the edges of the best forest on the column and its nearest columns, of log
Bayes factors for dependence (BDeu, ess 1). A forest does not count twice what two columns tell alike (Chow & Liu
1968). The columns take turns until nothing changes. If cut points are chosen too, log C(n - 1, k - 1) is taken off
for k bins out of n. More rows support more bins. A column that depends on nothing gets two.

References: Hartemink 2001, "Principled computational methods for the validation and discovery of genetic
regulatory networks", PhD thesis, MIT. Friedman & Goldszmidt 1996, "Discretizing continuous attributes while
learning Bayesian networks", ICML. Monti & Cooper 1998, "A multivariate discretization method for learning Bayesian
networks from mixed data", UAI. Chow & Liu 1968, "Approximating discrete probability distributions with dependence
trees", IEEE Transactions on Information Theory 14.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from brai.data.cutting import Codes, Floats, Partition, Values, quantiles
from brai.runtime import memory

FINE = 60  # quantile bins from which merging starts
WIDEST = 5000  # fine bins of all columns together, before there are fewer of each
NEAREST = 20  # columns that take part in the evidence of another
SWEEPS = 10  # most turns of each column
ESS = 1.0
EXACT = 1e-9  # differences that are rounding errors


def table(one: Codes, other: Codes, n_one: int, n_other: int) -> Codes:
    """Counts of pairs of codes, without rows in which one is missing."""
    known = (one >= 0) & (other >= 0)
    cells = np.bincount(one[known] * n_other + other[known], minlength=n_one * n_other)
    return cells.reshape(n_one, n_other).astype(np.int64, copy=False)


@lru_cache(maxsize=4)
def _terms(bits: int) -> Floats:
    """n log n, for numbers of fewer than this many bits."""
    return np.asarray(xlogy(np.arange(1 << bits), np.arange(1 << bits)), np.float64)


def losses(counts: Codes, sizes: Codes) -> Floats:
    """N times the mutual information that is lost if bins i and i + 1 are merged, summed over the other columns.

    ``counts`` has a row for each bin, and in it the states of all other columns. ``sizes`` has the sizes of the
    bins: for each of these columns, in the rows in which it has a state.
    """
    terms = _terms(int(2 * sizes.max(initial=0)).bit_length())
    return _joined(counts, terms) - _joined(sizes, terms)


def _joined(counts: Codes, terms: Floats) -> Floats:
    """Σ n log n of rows i and i + 1, less that of their sum."""
    own = terms[counts].sum(axis=1)
    return np.asarray(own[:-1] + own[1:] - terms[counts[:-1] + counts[1:]].sum(axis=1), np.float64)


@dataclass(frozen=True, eq=False)
class Beside:
    """Counts of the bins of a column (rows) with the states of others, side by side."""

    counts: Codes
    starts: NDArray[np.int64]  # where each other column begins

    @property
    def sizes(self) -> Codes:
        """Counts of the bins, in the rows that have a state of each other column."""
        return np.asarray(np.add.reduceat(self.counts, self.starts, axis=1), np.int64)

    def path(self, partition: Partition, k: int) -> list[Partition]:
        """Partitions with ever fewer bins, down to k, this one first: neighbours that lose least are merged."""
        counts, sizes, found = list(self.counts), list(self.sizes), [partition]
        lost = losses(self.counts, self.sizes).tolist() if len(counts) > 1 else []
        while len(counts) > k:
            i = least(np.array(lost))
            found.append(found[-1][:i] + found[-1][i + 1 :])
            for own in (counts, sizes):
                own[i : i + 2] = [own[i] + own[i + 1]]
            del lost[i]
            for j in range(max(i - 1, 0), min(i + 1, len(lost))):
                lost[j] = float(losses(np.stack(counts[j : j + 2]), np.stack(sizes[j : j + 2]))[0])
        return found

    def log_bayes_factors(self) -> Floats:
        """For each other column, of dependence against independence (BDeu)."""
        bins, widths = len(self.counts), np.diff([*self.starts, self.counts.shape[1]])
        cells = _log_gamma(self.counts, (ESS / (bins * widths)).repeat(widths)).sum(axis=0)
        rows = self.sizes
        states = _log_gamma(self.counts.sum(axis=0), (ESS / widths).repeat(widths))
        total = rows.sum(axis=0)
        own = _log_gamma(rows, np.full(len(widths), ESS / bins)).sum(axis=0)
        both = np.add.reduceat(cells - states, self.starts)
        return np.asarray(both - own - (gammaln(ESS) - gammaln(ESS + total)), np.float64)


def _log_gamma(counts: Codes, alpha: Floats) -> Floats:
    return np.asarray(gammaln(counts + alpha) - gammaln(alpha), np.float64)


def least(values: Floats) -> int:
    """The first of the smallest values; differences by rounding do not count."""
    return int((values <= values.min() + EXACT * (1 + abs(values.min()))).argmax())


def forest(edges: Iterable[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """The edges of the forest of largest total weight, among those of positive weight (Kruskal 1956)."""
    root: dict[int, int] = {}

    def top(v: int) -> int:
        while (up := root.get(v, v)) != v:
            v = up
        return v

    found = []
    for weight, a, b in sorted(edges, key=lambda edge: (-edge[0], edge[1:])):
        if weight > 0 and (one := top(a)) != (other := top(b)):
            root[one] = other
            found.append((weight, a, b))
    return found


class Joint:
    """Columns of numbers and of states together, each with its present bins. Names give the order of turns."""

    def __init__(self, values: Mapping[str, Values], states: Mapping[str, Codes]) -> None:
        self.values = dict(values)
        self.partitions: dict[str, Partition] = {}
        self._codes = dict(states)
        self._weights: dict[tuple[str, str], float] = {}

    def put(self, name: str, partition: Partition) -> None:
        """Give a column these bins."""
        if self.partitions.get(name) == partition:
            return
        self.partitions[name] = partition
        self._codes[name] = self.values[name].codes(partition)
        self._weights = {pair: own for pair, own in self._weights.items() if name not in pair}

    def size(self, name: str) -> int:
        """Number of states of a column."""
        if name in self.partitions:
            return len(self.partitions[name]) + 1
        return int(self._codes[name].max(initial=0)) + 1

    def others(self, name: str) -> list[str]:
        """The other columns with more than one state, sorted by name."""
        return [own for own in sorted(self._codes) if own != name and self.size(own) > 1]

    def beside(
        self, name: str, partition: Partition, others: Sequence[str], rows: NDArray[np.int64] | None = None
    ) -> Beside:
        """These bins of a column, and other columns; of some rows or of all."""
        codes, n = self.values[name].codes(partition, rows), len(partition) + 1
        found = []
        for own in others:
            other = self._codes[own] if rows is None else self._codes[own][rows]
            found.append(table(codes, other, n, self.size(own)))
        return Beside(np.concatenate(found, axis=1), np.cumsum([0, *(one.shape[1] for one in found[:-1])]))

    def fine(self, name: str, bins: int = FINE) -> Partition:
        """Many quantile bins."""
        return quantiles(self.values[name].counts(), bins)

    # --- mutual information ---

    def hartemink(self, wanted: Mapping[str, int], fine: int) -> dict[str, list[Partition]]:
        """Merge bins of these columns in turns, each down to its number of bins; all partitions of each column."""
        size = 8 * (len(self._codes) * fine) ** 2
        memory.check(size, "the mutual information of all pairs of columns", "cut by quantiles, or fewer columns")
        for name in wanted:
            self.put(name, self.fine(name, fine))
        path = {name: [self.partitions[name]] for name in wanted}
        turns = Turns(self, [name for name in sorted(wanted) if self.others(name)])
        while left := [name for name in turns.names if len(path[name][-1]) + 1 > wanted[name]]:
            for name in left:
                i, last = turns.merge(name), path[name][-1]
                path[name].append(last[:i] + last[i + 1 :])
            turns.compact()
        for name in wanted:
            self.put(name, path[name][-1])
        return path

    # --- evidence ---

    def weight(self, one: str, other: str) -> float:
        """The log Bayes factor of dependence of two columns, with their present bins."""
        a, b = sorted((one, other))
        if (a, b) not in self._weights:
            counts = table(self._codes[a], self._codes[b], self.size(a), self.size(b))
            self._weights[a, b] = float(Beside(counts, np.zeros(1, np.int64)).log_bayes_factors()[0])
        return self._weights[a, b]

    def nearest(self, name: str) -> list[str]:
        """The columns that a column depends on most, sorted by name."""
        others = self.others(name)
        if len(others) <= NEAREST:
            return others
        factors = self.beside(name, self.partitions[name], others).log_bayes_factors().tolist()
        self._weights |= {(min(name, own), max(name, own)): w for own, w in zip(others, factors, strict=True)}
        return sorted(sorted(others, key=lambda own: (-self.weight(name, own), own))[:NEAREST])

    def evidence(self, name: str, partitions: Sequence[Partition], near: Sequence[str]) -> list[float]:
        """Log evidence of each of these partitions of a column, up to a constant, with the others as they are."""
        if not near:
            return [0.0] * len(partitions)
        n = len(near)
        among = forest((self.weight(near[a], near[b]), a, b) for a in range(n) for b in range(a + 1, n))
        found = []
        for partition in partitions:
            own = self.beside(name, partition, near).log_bayes_factors().tolist() if partition else [0.0] * n
            found.append(math.fsum(one[0] for one in forest([*among, *((w, a, n) for a, w in enumerate(own))])))
        return found


class Turns:
    """Columns that merge bins in turns. Each has counts of its bins with the states of all columns."""

    def __init__(self, joint: Joint, names: Sequence[str]) -> None:
        self.names = names
        self._places: dict[str, list[int]] = {}  # where the states of a column are, in the counts of others
        columns = sorted({own for name in names for own in [name, *joint.others(name)]})
        width = 0
        for own in columns:
            self._places[own] = list(range(width, width + joint.size(own)))
            width += joint.size(own)
        self._counts, self._sizes = {}, {}
        for name in names:
            beside = joint.beside(name, joint.partitions[name], joint.others(name))
            self._counts[name] = np.zeros((len(beside.counts), width), np.int64)
            self._counts[name][:, [i for own in joint.others(name) for i in self._places[own]]] = beside.counts
            self._sizes[name] = beside.sizes

    def merge(self, name: str) -> int:
        """Merge the two bins of a column that lose least, and say which: i and i + 1."""
        i = least(losses(self._counts[name], self._sizes[name]))
        for own in (self._counts, self._sizes):
            own[name][i] += own[name][i + 1]
            own[name] = np.delete(own[name], i + 1, axis=0)
        kept, gone = self._places[name][i], self._places[name].pop(i + 1)
        for other in self.names:
            counts = self._counts[other]
            counts[:, kept] += counts[:, gone]
            counts[:, gone] = 0  # adds nothing to a loss
        return i

    def compact(self) -> None:
        """Leave out the places that are empty."""
        kept = sorted(i for places in self._places.values() for i in places)
        now = {i: j for j, i in enumerate(kept)}
        self._places = {name: [now[i] for i in places] for name, places in self._places.items()}
        self._counts = {name: counts[:, kept] for name, counts in self._counts.items()}
