"""The series of scores behind a posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from brai.posterior.weighted import Posterior

POINTS = 600  # most points per line


def score_series(model: Any, posterior: Posterior) -> dict[str, Any]:
    """Log scores as lines or dots: of chains by draw, of bootstrap graphs, else of equivalence classes by rank.

    Each of ``series`` has a name, a step between values, and at most POINTS values.
    """
    chains = posterior.chains
    if chains is not None:
        kind, across = "chains", "draw"
        series = [_thinned(f"chain {c + 1}", own) for c, own in enumerate(chains.log_scores)]
    elif posterior.source == "mcmc" and hasattr(model, "chain_"):
        kind, across, series = "chains", "draw", [_thinned("chain 1", model.chain_.log_scores)]
    elif posterior.source == "bootstrap":
        kind, across = "members", "bootstrap sample"
        series = [_thinned("members", [score for _, score in model.members_])]
    else:
        kind, across = "classes", "rank of the class"
        known = posterior.log_scores[np.isfinite(posterior.log_scores)]
        series = [_thinned("classes", np.sort(known)[::-1])]
    return {"kind": kind, "across": across, "series": series, "best": float(model.log_score_)}


def _thinned(name: str, scores: Any) -> dict[str, Any]:
    step = max(1, -(-len(scores) // POINTS))
    return {"name": name, "step": step, "y": [round(float(score), 3) for score in scores[::step]]}
