"""What the probabilities mean, how reliable they are, and warnings."""

from __future__ import annotations

from typing import Any

import numpy as np

from brai.data.columns import count
from brai.graphs.beliefs import Belief
from brai.kinds import kind_of
from brai.posterior.chains import APART, ESS, R_HAT, Draws
from brai.posterior.weighted import Posterior
from brai.posterior.with_knowledge import beliefs_after

STILL = 0.99  # share of one state above which a column hardly varies

MEANING = {
    "mcmc": (
        "A probability is the share of the DAGs drawn by MCMC that have the edge (or path, or member of a Markov "
        "blanket). The posterior is over all DAGs within the limit on parents. "
        "Probabilities are reliable only if the chains have converged. The posterior does not cover what no DAG "
        "over these columns can represent, such as a common cause that is not in the table."
    ),
    "bagged": (
        "A probability is the share of drawn DAGs that have the edge (or path, or member of a Markov blanket). A "
        "third of them are drawn by MCMC from the posterior given the data, two thirds given random halves of "
        "the rows. So what depends on few rows loses probability. These probabilities agree better with true "
        "graphs than those of the model alone, which the table of edges shows beside them. Neither covers what no "
        "DAG over these columns can represent, such as a common cause that is not in the table."
    ),
    "tree": (
        "Probabilities come from the best equivalence classes in the tree, weighted by their scores. Graphs that "
        "are not in the tree count as impossible. So the probabilities tend to be overconfident: near 0 or 1 even "
        "if the data leave doubt."
    ),
    "given": (
        "Probabilities come from the graphs and weights that this report was given. Other graphs count as "
        "impossible."
    ),
    "bootstrap": (
        "A probability is the share of bootstrap samples in which the learner found an edge. It measures how "
        "stable the result is, not how probable the edge is given the data."
    ),
    "exact": (
        "Edge probabilities are exact sums over all DAGs within the limit on parents. Probabilities of Markov "
        "blankets and paths come from the best equivalence classes."
    ),
    "one": (
        "This learner returns one equivalence class of DAGs. An edge has probability 1 if it is in the class, "
        "else 0. The probability of a direction is its share among the DAGs of the class. How probable the class "
        "itself is remains unknown."
    ),
}


def trust(model: Any, posterior: Posterior, names: tuple[str, ...]) -> dict[str, Any]:
    """Source and meaning of the probabilities, diagnostics, warnings, and edges on which the chains disagree."""
    source, chains = posterior.source, posterior.chains
    numbers: list[dict[str, Any]] = []
    warnings: list[str] = []
    if chains is not None:
        numbers, warnings = _of_chains(chains)
    elif source in ("tree", "given") and len(posterior) > 1:
        n = posterior.n_effective
        meaning = "this many equally probable graphs would be as uncertain (1 / Σ P²)"
        numbers.append(_number("Effective number of graphs", f"{n:.1f}", "more than 2", n > 2, meaning))
        if n <= 2:
            warnings.append(
                f"One or two of {count(len(posterior), 'graph')} have almost all the probability (effective "
                f"number {n:.1f}): edge probabilities are close to those of a single graph."
            )
    return {
        "source": source,
        "meaning": f"{MEANING[source]} {_assumed(model)}".strip(),
        "prior": posterior.prior,
        "beliefs": [
            [str(Belief(own["a"], own["b"], own["probability"], own["about"])), own["posterior"]]
            for own in beliefs_after(getattr(model, "_obeyed", None), posterior)
        ],
        "numbers": numbers,
        "warnings": [*warnings, *_of_tree(model), *_of_search(model), *_of_data(model)],
        "disputed": [] if chains is None else _disputed(chains, names),
    }


def _assumed(model: Any) -> str:
    """The prior, in words."""
    prior = getattr(model, "structure_prior_", None)
    return "" if prior is None else prior.sentence()


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
            "agreement of the chains' log scores; near 1 if they have converged",
        ),
        _number(
            "Effective sample size",
            f"{ess:.0f}",
            f"at least {ESS}",
            ess >= ESS,
            f"independent draws as accurate as the {n_chains} × {n_draws} draws",
        ),
    ]
    warnings = []
    if not r_hat <= R_HAT or ess < ESS:
        warnings.append(
            f"The chains have not converged (R-hat {r_hat:.2f}, effective sample size {ess:.0f}), so the "
            "probabilities are rough. Increase n_draws or thin and learn again."
        )
    if n_chains > 1:
        meaning = f"between chains in the probability of an edge; {mean:.4f} on average over all pairs"
        numbers.append(_number("Largest difference", f"{most:.2f}", f"up to {APART}", most <= APART, meaning))
        if most > APART:
            warnings.append(f"Chains differ by up to {most:.2f} in the probability of an edge.")
    else:
        warnings.append("There is only one chain, so convergence cannot be checked. Set n_chains to 4.")
    return numbers, warnings


def _of_tree(model: Any) -> list[str]:
    tree = getattr(model, "tree_", model)
    cut = getattr(tree, "n_truncated", getattr(tree, "n_truncated_", 0))
    if not cut:
        return []
    return [
        f"A limit on order, tests or time ended the tests of {count(cut, 'group')} of variables early: "
        "their edges were tested less."
    ]


def _of_search(model: Any) -> list[str]:
    screen = getattr(model, "joint_parents_", None)
    return [screen.notice] if screen is not None and screen.notice else []


def _of_data(model: Any) -> list[str]:
    data = model._train
    shares = kind_of(data).common_share(data)
    still = [name for name, share in zip(data.names, shares, strict=True) if share >= STILL]
    if not still:
        return []
    shown = ", ".join(name[:40] for name in still[:8]) + (f" and {len(still) - 8} more" if len(still) > 8 else "")
    return [
        f"At least {STILL:.0%} of the rows have the same state in {count(len(still), 'column')} ({shown}): "
        "the data hold little evidence about the edges there."
    ]


def _disputed(chains: Draws, names: tuple[str, ...]) -> list[list[Any]]:
    """[i, j, lowest, highest frequency of i → j in a chain], the largest difference first."""
    found = chains.edge_frequencies()
    rank = [chains.names.index(name) for name in names]
    low, high = (np.take(np.take(own, rank, 0), rank, 1) for own in (found.min(axis=0), found.max(axis=0)))
    apart = high - low
    worth = [(i, j) for i, j in np.argwhere(apart > APART).tolist()]
    worth.sort(key=lambda one: (-round(float(apart[one]), 9), one))
    return [[i, j, round(float(low[i, j]), 3), round(float(high[i, j]), 3)] for i, j in worth[:12]]
