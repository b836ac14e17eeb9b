"""The literal twin of MMPC, in plain Python: Algorithms 1 and 2 of Tsamardinos, Brown & Aliferis (2006).

Written from the paper and from the conventions in `brai.search.mmpc`, not from the kernels. Every round of
the max-min heuristic goes through all subsets of CPC again; the only help is a memory of tests already made.

An association is a pair (-log p, G²), compared in this order; (0, 0) is none. Variables are 0..d-1 in the order of
their names; data is a list of rows of codes with declared arities.
"""

from collections import Counter
from itertools import combinations
from math import fsum, log, prod

from scipy.special import chdtrc

NONE = (0.0, 0.0)


class Mmpc:
    def __init__(self, rows, arities, *, alpha=0.05, min_rows_per_cell=5.0, max_order=None, df="strata"):
        self.rows, self.arities, self.alpha = rows, arities, alpha
        self.min_rows_per_cell, self.max_order, self.df = min_rows_per_cell, max_order, df
        self.made = {}  # (X, T, Z) → association, None where there are too few rows

    def skeleton(self):
        """Algorithm 2 for all targets: X stays with T if T stays with X."""
        variables = range(len(self.arities))
        cpc = [self.mmpc_bar(T) for T in variables]
        return [[X in cpc[T] and T in cpc[X] for X in variables] for T in variables]

    def mmpc_bar(self, T):
        """Algorithm 1."""
        CPC = []
        while True:  # Phase I
            F, assoc = self.max_min_heuristic(T, CPC)
            if assoc == NONE:
                break
            CPC.append(F)
        for X in list(CPC):  # Phase II
            rest = [Y for Y in CPC if Y != X]
            if self.min_assoc(X, T, rest) == NONE:
                CPC.remove(X)
        return CPC

    def max_min_heuristic(self, T, CPC):
        """The variable of maximum minimum association, the first by name among equals."""
        best = (None, NONE)
        for X in range(len(self.arities)):
            if X != T and X not in CPC:
                assoc = self.min_assoc(X, T, CPC)
                if assoc > best[1]:
                    best = (X, assoc)
        return best

    def min_assoc(self, X, T, Z):
        """Definition 9: the minimum over all subsets; those without enough rows take no part."""
        largest = len(Z) if self.max_order is None else min(self.max_order, len(Z))
        found = [self.assoc(X, T, S) for n in range(largest + 1) for S in combinations(sorted(Z), n)]
        found = [a for a in found if a is not None]
        return min(found) if found else NONE  # no test at all: assume independence

    def assoc(self, X, T, S):
        if (X, T, S) not in self.made:
            self.made[X, T, S] = self.test(X, T, S)
        return self.made[X, T, S]

    def test(self, X, T, S):
        cells = prod(self.arities[v] for v in (X, T, *S))
        if self.min_rows_per_cell is not None and len(self.rows) < self.min_rows_per_cell * cells:
            return None
        g2, df = self.g2(X, T, S)
        p = chdtrc(df, max(g2, 0.0)) if df > 0 else 1.0
        return (-log(p), g2) if p < self.alpha else NONE

    def g2(self, X, T, S):
        """Statistic of section 4 and its degrees of freedom."""
        xtz = Counter((r[X], r[T], tuple(r[v] for v in S)) for r in self.rows)
        xz, tz, zz = Counter(), Counter(), Counter()
        for (x, t, z), n in xtz.items():
            xz[x, z] += n
            tz[t, z] += n
            zz[z] += n
        g2 = 2 * fsum(n * log(n * zz[z] / (xz[x, z] * tz[t, z])) for (x, t, z), n in xtz.items())
        if self.df == "cells":
            return g2, max(0, len(xtz) + len(zz) - len(xz) - len(tz))
        if self.df == "full":
            return g2, (self.arities[X] - 1) * (self.arities[T] - 1) * prod(self.arities[v] for v in S)
        strata = [(sum(c == z for _, c in xz) - 1, sum(c == z for _, c in tz) - 1) for z in zz]
        return g2, sum(a * b for a, b in strata)
