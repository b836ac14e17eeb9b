"""Posteriors over the DAGs that obey background knowledge: the graphs are single DAGs, not CPDAGs.

See `brai.graphs.mpdag`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.graphs.knowledge import Knowledge
from brai.graphs.mpdag import obeying_dags, restricted
from brai.graphs.pdag import PDAG
from brai.posterior.weighted import Posterior, Prior, Scored, Source

MOST = 4096  # approximate number of DAGs in a posterior made from several classes
LEAST = 16  # least limit on the DAGs listed for a class


def posterior_of_dags(
    draws: Iterable[Scored], prior: Prior | None = None, chains: Any = None, source: Source = "mcmc"
) -> Posterior:
    """DAGs weighted by their frequency among the draws of a sampler of DAGs."""
    if prior == "classes":
        raise ValueError("prior is 'classes': with knowledge, chains draw DAGs: leave prior out, or give 'dags'")
    times: Counter[PDAG] = Counter()
    scores: dict[PDAG, float] = {}
    for dag, score in draws:
        times[dag] += 1
        scores[dag] = score
    weights = np.array(list(times.values()), float)
    return _posterior(list(times), weights, np.array(list(scores.values())), "dags", source, chains)


def posterior_of_classes(classes: Posterior, known: Knowledge, prior: Prior) -> Posterior:
    """The DAGs that obey the knowledge, from a posterior over classes with a uniform prior on classes.

    With ``prior="classes"`` the DAGs of a class share its probability. With "dags" each DAG has the weight of its
    class. If a class has many DAGs that obey, a sample of them represents all.
    """
    rng = np.random.Generator(np.random.PCG64(0))
    limit, names = max(LEAST, MOST // len(classes)), sorted(classes.names)  # independent of column order
    dags: list[PDAG] = []
    weights: list[float] = []
    scores: list[float] = []
    for cpdag, own, score in zip(classes.cpdags, classes.probabilities, classes.log_scores, strict=True):
        found, stands = obeying_dags(restricted(cpdag.reorder(names), known), limit, rng)
        dags += [dag.reorder(classes.names) for dag in found]
        weights += (own * stands / (1.0 if prior == "dags" else math.fsum(stands))).tolist()
        scores += [float(score)] * len(found)
    return _posterior(dags, np.array(weights), np.array(scores), prior, classes.source)


def _posterior(
    dags: list[PDAG],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
    prior: Prior,
    source: Source,
    chains: Any = None,
) -> Posterior:
    rank = np.argsort(-weights, kind="stable")
    probabilities, log_scores = (weights / math.fsum(weights))[rank], scores[rank]
    for own in (probabilities, log_scores):
        own.setflags(write=False)
    return Posterior(tuple(dags[i] for i in rank), probabilities, log_scores, prior, source, chains)


def beliefs_after(known: Knowledge | None, posterior: Posterior) -> list[dict[str, Any]]:
    """Each belief, with its probability in the posterior; None for the direction of an edge that never occurs."""
    found = []
    if known is not None and known.beliefs:
        edges, place = posterior.edge_probabilities(), {name: i for i, name in enumerate(posterior.names)}
        for own in known.beliefs:
            forth, back = (float(edges[place[a], place[b]]) for a, b in ((own.a, own.b), (own.b, own.a)))
            both = min(1.0, forth + back)
            share = forth / both if both > 0 else None
            after = {"edge": forth, "adjacent": both, "direction": share}[own.about]
            found.append({**own._asdict(), "posterior": after})
    return found
