"""Tests and scores for categories and measurements together: counts where all are categories, moments elsewhere.

A set of variables S has categories D and others C (measurements, and ordered states as normal scores). In the
location model (Olkin & Tate 1961) categories have any joint distribution, and given them the others are normal
with means that depend on the states and one covariance matrix. With means that are sums over the categories, the
log marginal likelihood of S is

    F(S) = BD(D) + G(S) - G(D),

where BD is that of a table of counts (BDeu) and G that of a normal distribution (BGe) of the columns that stand
for the variables (`brai.data.coding`). The score of x with the parents Z is F(xZ) - F(Z): a difference of a
function of sets, so all DAGs of an equivalence class have the same score. It is

- BDeu for a category whose parents are categories, interactions included;
- BGe of a regression for a measurement; states of categories shift its mean;
- BDeu(x | D) + G(x | D, C) - G(x | D) for a category x with other parents C, too: what the table says, and what
  the measurements add to it, as in linear discriminant analysis.

So it is BDeu on tables of categories and BGe on tables of measurements. With ``by_counts`` off all variables are
columns of one normal distribution, the degenerate Gaussian model (Andrews, Ramsey & Cooper 2019).

**Tests.** Two categories given categories are tested by counts, all others by determinants of blocks
(`brai.kinds.gaussian.moments`). Both are N times a mutual information with degrees of freedom, so that critical
values are shared.

Reference: Olkin & Tate 1961, "Multivariate correlation models with mixed discrete and continuous variables",
Annals of Mathematical Statistics 32.
"""

from __future__ import annotations

from typing import NamedTuple

from brai.kernels.interface import Array, Evidence, Fixed, Verbs, register
from brai.kinds.discrete import bit_tests as counts
from brai.kinds.discrete.contingency import Cells, Sample, Work
from brai.kinds.discrete.family_scores import family_value as counted_value
from brai.kinds.gaussian import moments
from brai.kinds.gaussian.moments import Factor, Moments
from brai.kinds.gaussian.moments import Terms as MomentTerms
from brai.runtime.jit import lean

begin_counts, turn_counts, test_counts = counts.begin, counts.turn, counts.test
begin_moments, turn_moments, test_moments = moments.begin, moments.turn, moments.test
normal_value = moments.family_value


class Both(NamedTuple):
    """A sample: the categories as codes, and the moments of all variables."""

    counts: Sample
    moments: Moments
    among: Array  # (d,) int64: place of each variable among the categories, or -1


class Terms(NamedTuple):
    """What a statistic or a score is made of."""

    counts: Cells
    moments: MomentTerms
    by_counts: bool  # whether sets of categories are scored by counts
    scale: float  # units per nat, of both


class Workspace(NamedTuple):
    """Workspaces of both parts; the second factor is that of the categories of a condition set alone."""

    counts: Work
    all: Factor
    categories: Factor
    given: Array  # (depth,) int64: the categories of the condition set, by their place among categories
    variables: Array  # (depth,) int64: the same, by their number
    numbers: Array  # (depth + 1,) int64: how many categories are among the first variables
    ready: Array  # (1 + padding,) int64: how many variables of the condition set are sorted


@lean
def of_counts(evidence: Evidence) -> Evidence:
    """The evidence of categories."""
    return Evidence(
        evidence.sample.counts, evidence.terms.counts, evidence.rule, evidence.work.counts, evidence.prior
    )


@lean
def of_all(evidence: Evidence) -> Evidence:
    """The moments of all variables."""
    return Evidence(
        evidence.sample.moments, evidence.terms.moments, evidence.rule, evidence.work.all, evidence.prior
    )


@lean
def of_categories(evidence: Evidence) -> Evidence:
    """The same moments, with a factor for categories alone."""
    return Evidence(
        evidence.sample.moments, evidence.terms.moments, evidence.rule, evidence.work.categories, evidence.prior
    )


@lean
def begin(evidence: Evidence) -> None:
    """Start with the empty condition set."""
    begin_counts(of_counts(evidence))
    begin_moments(of_all(evidence))
    begin_moments(of_categories(evidence))
    evidence.work.ready[0] = 0
    evidence.work.numbers[0] = 0


@lean
def turn(evidence: Evidence, level: int) -> None:
    """The condition set has changed from its ``level``-th variable on."""
    work = evidence.work
    turn_moments(of_all(evidence), level)
    if level <= work.ready[0]:
        turn_counts(of_counts(evidence), work.numbers[level])
        turn_moments(of_categories(evidence), work.numbers[level])
        work.ready[0] = level


@lean
def sort(evidence: Evidence, given: Array, n: int) -> int:
    """List the categories of given[:n]; returns their number."""
    work, among = evidence.work, evidence.sample.among
    for j in range(work.ready[0], n):
        k, v = work.numbers[j], given[j]
        if among[v] >= 0:
            work.given[k], work.variables[k] = among[v], v
            k += 1
        work.numbers[j + 1] = k
    if n > work.ready[0]:
        work.ready[0] = n
    return work.numbers[n]


@lean
def test(evidence: Evidence, x: int, y: int, given: Array, n: int, collider: int) -> tuple[Fixed, int, int]:
    """Statistic, degrees of freedom and decision for x and y given[:n]."""
    among = evidence.sample.among
    if evidence.terms.by_counts and among[x] >= 0 and among[y] >= 0 and sort(evidence, given, n) == n:
        return test_counts(of_counts(evidence), among[x], among[y], evidence.work.given, n, collider)
    return test_moments(of_all(evidence), x, y, given, n, collider)


@lean
def family_value(evidence: Evidence, x: int, parents: Array, n: int) -> float:
    """Score of x with parents[:n]."""
    among = evidence.sample.among
    if not evidence.terms.by_counts or among[x] < 0:
        return normal_value(of_all(evidence), x, parents, n)
    work, k = evidence.work, sort(evidence, parents, n)
    value = counted_value(of_counts(evidence), among[x], work.given, k)
    if k < n:
        value += normal_value(of_all(evidence), x, parents, n)
        value -= normal_value(of_categories(evidence), x, work.variables, k)
    return value


def register_verbs() -> None:
    """Register the functions for samples of mixed data."""
    register(Both, Verbs(begin, turn, test, family_value))
