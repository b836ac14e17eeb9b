"""The mean of several posteriors, such as those given different completed tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from brai.graphs.pdag import PDAG
from brai.posterior.weighted import Posterior


def mixture(posteriors: Sequence[Posterior]) -> Posterior:
    """The mean of posteriors over the same variables, such as those given completed tables."""
    first = posteriors[0]
    if len(posteriors) == 1:
        return first
    mass: dict[PDAG, float] = {}
    scores: dict[PDAG, list[float]] = {}
    for own in posteriors:
        for graph, p, score in zip(own.cpdags, own.probabilities.tolist(), own.log_scores.tolist(), strict=True):
            mass[graph] = mass.get(graph, 0.0) + p / len(posteriors)
            scores.setdefault(graph, []).append(score)
    ranked = sorted(mass, key=lambda graph: -mass[graph])
    probabilities = np.array([mass[graph] for graph in ranked])
    means = np.array([float(np.mean(scores[graph])) for graph in ranked])
    return Posterior(tuple(ranked), probabilities / math.fsum(probabilities), means, first.prior, first.source)
