"""What probabilities mean, how far they can be trusted, and why not."""

from __future__ import annotations

from typing import Any

import numpy as np

from brai.data.columns import count
from brai.learners.brai import ESS, R_HAT
from brai.posterior.mcmc import Draws
from brai.posterior.weighted import Posterior

APART = 0.1  # difference between chains that is worth a warning
STILL = 0.99  # share of one state from which a column hardly varies

MEANING = {
    "mcmc": (
        "Probabilities are shares of DAGs drawn by MCMC from the posterior over all DAGs with few parents, each "
        "as probable as another beforehand. They are right where chains have come together, as the numbers here "
        "tell. Not counted is what no DAG over these columns can say, such as a common cause that is not in the "
        "table."
    ),
    "tree": (
        "Probabilities weigh the best classes of the tree by their scores. What the tree does not hold counts as "
        "impossible, so they tend to be too sure: near 0 or 1 even where data leave a doubt."
    ),
    "given": (
        "Probabilities are those of the classes and weights that this report was given; what is not among them "
        "counts as impossible."
    ),
    "bootstrap": (
        "Probabilities are shares of bootstrap samples in which the learner found an edge: how stable its answer "
        "is, not how probable an edge is given the data."
    ),
    "exact": (
        "Probabilities of edges are sums over all DAGs within the limit of parents, each as probable as another "
        "beforehand. Blankets and paths are those of the best classes."
    ),
    "one": (
        "This learner hands out one class of DAGs. An edge has probability 0 or 1 as it is in the class or not; "
        "directions are shares of the DAGs of the class. Nothing is said about how sure the class itself is."
    ),
}


def trust(
    model: Any, posterior: Posterior, chains: Draws | None, own: bool, names: tuple[str, ...]
) -> dict[str, Any]:
    """Where probabilities come from, what they mean, numbers with verdicts, warnings, what chains dispute."""
    source = _source(model, posterior, chains, own)
    numbers: list[dict[str, Any]] = []
    warnings: list[str] = []
    if chains is not None:
        numbers, warnings = _of_chains(chains)
    elif source in ("tree", "given") and len(posterior) > 1:
        n = posterior.n_effective
        meaning = "so many equally probable classes would be as uncertain (1 / Σ P²)"
        numbers.append(_number("Equal classes", f"{n:.1f}", "more than 2", n > 2, meaning))
        if n <= 2:
            warnings.append(
                f"Of {count(len(posterior), 'CPDAG')} one or two have nearly all the weight "
                f"(as uncertain as {n:.1f} equal ones): probabilities are close to those of a single graph."
            )
    return {
        "source": source,
        "meaning": MEANING[source],
        "prior": posterior.prior,
        "numbers": numbers,
        "warnings": [*warnings, *_of_tree(model), *_of_data(model)],
        "disputed": [] if chains is None else _disputed(chains, names),
    }


def _source(model: Any, posterior: Posterior, chains: Draws | None, own: bool) -> str:
    if chains is not None or (own and hasattr(model, "chain_")):
        return "mcmc"
    if own and hasattr(model, "members_"):
        return "bootstrap"
    if own and type(model).__name__ == "Exact":
        return "exact"
    if len(posterior) == 1 and not hasattr(model, "tree_"):
        return "one"
    return "tree" if own else "given"


def _number(label: str, value: str, good: str, ok: bool, meaning: str) -> dict[str, Any]:
    return {"label": label, "value": value, "good": good, "ok": bool(ok), "meaning": meaning}


def _of_chains(chains: Draws) -> tuple[list[dict[str, Any]], list[str]]:
    n_chains, n_draws = chains.log_scores.shape
    r_hat, ess, (most, mean) = chains.r_hat(), chains.ess(), chains.disagreement()
    numbers = [
        _number(
            "R-hat",
            f"{r_hat:.3f}",
            f"up to {R_HAT}",
            r_hat <= R_HAT,
            "of the log score: do halves of chains agree?",
        ),
        _number("Effective draws", f"{ess:.0f}", f"from {ESS} on", ess >= ESS, f"of {n_chains} × {n_draws} draws"),
    ]
    warnings = []
    if not r_hat <= R_HAT or ess < ESS:
        warnings.append(
            f"Chains have not come together (R-hat {r_hat:.2f}, effective draws {ess:.0f}): take probabilities as "
            "rough. Raise n_draws or thin and learn again."
        )
    if n_chains > 1:
        meaning = f"of an edge's share between two chains; {mean:.4f} on average over all pairs"
        numbers.append(_number("Largest difference", f"{most:.2f}", f"up to {APART}", most <= APART, meaning))
        if most > APART:
            warnings.append(f"Chains differ by up to {most:.2f} in the probability of an edge.")
    else:
        warnings.append("There is one chain only: whether another would agree is not known. Set n_chains to 4.")
    return numbers, warnings


def _of_tree(model: Any) -> list[str]:
    tree = getattr(model, "tree_", model)
    cut = getattr(tree, "n_truncated", getattr(tree, "n_truncated_", 0))
    if not cut:
        return []
    return [f"{count(cut, 'group')} stopped at a limit on order, tests or time: edges there were tested less."]


def _of_data(model: Any) -> list[str]:
    data = model._train
    still = [
        name
        for name, codes in zip(data.names, data.codes, strict=True)
        if np.bincount(codes).max() >= STILL * data.n_rows
    ]
    if not still:
        return []
    shown = ", ".join(name[:40] for name in still[:8]) + (f" and {len(still) - 8} more" if len(still) > 8 else "")
    return [
        f"One state fills {STILL:.0%} of the rows or more in {count(len(still), 'column')} ({shown}): "
        "edges there are weak evidence."
    ]


def _disputed(chains: Draws, names: tuple[str, ...]) -> list[list[Any]]:
    """[i, j, lowest, highest share of i → j in a chain], the widest first."""
    found = chains.edge_frequencies()
    rank = [chains.names.index(name) for name in names]
    low, high = (np.take(np.take(own, rank, 0), rank, 1) for own in (found.min(axis=0), found.max(axis=0)))
    apart = high - low
    worth = [(i, j) for i, j in np.argwhere(apart > APART).tolist()]
    worth.sort(key=lambda one: (-round(float(apart[one]), 9), one))
    return [[i, j, round(float(low[i, j]), 3), round(float(high[i, j]), 3)] for i, j in worth[:12]]
