"""Exact results for up to about 20 variables, by dynamic programming over subsets of the variables.

- `map_network`: the DAG of highest score (Silander & Myllymäki 2006).
- `k_best`: the k Markov equivalence classes of highest score (Chen & Tian 2014).
- `edge_probabilities`: P(i → j | D) over all DAGs, with a uniform prior over orders of the variables (Koivisto &
  Sood 2004, Koivisto 2006) or over DAGs (the sum of Tian & He 2009).
- `sample_dags`: independent draws from the posterior over all DAGs (the layers of Kuipers & Moffa 2017).
- `posterior`: all equivalence classes, or the k best, as a `Posterior`.

The local scores of all families with at most ``max_parents`` parents are kept in one array of d · 2^(d-1) numbers.
`estimate` predicts memory and time. A call that would need more than ``max_gb`` or ``max_minutes`` raises
TooLargeError before it starts. Variables are sorted by name internally, so the order of columns affects only the
order of the output.

References: Chen & Tian 2014, "Finding the k-best equivalence classes of Bayesian network structures for model
averaging", AAAI. Koivisto 2006, "Advances in exact Bayesian structure discovery in Bayesian networks", UAI.
Koivisto & Sood 2004, "Exact Bayesian structure discovery in Bayesian networks", JMLR 5. Kuipers & Moffa 2017,
"Partition MCMC for inference on acyclic digraphs", JASA 112. Silander & Myllymäki 2006, "A simple approach for
finding the globally optimal Bayesian network structure", UAI. Tian & He 2009, "Computing posterior
probabilities of structural features in Bayesian networks", UAI.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG
from brai.kernels import dag_sums, subsets
from brai.kinds import table_of
from brai.posterior.all_families import (
    MAX_GB,
    MAX_MINUTES,
    N_CLASSES,
    Cost,
    FamilyScoreTable,
    Floats,
    Limits,
    Model,
    TooLargeError,
    estimate,
    refuse,
)
from brai.posterior.weighted import Posterior, Prior
from brai.runtime.checks import check_count
from brai.runtime.jit import announce
from brai.runtime.seeds import RandomState, generator

__all__ = [
    "MAX_GB",
    "MAX_MINUTES",
    "Cost",
    "TooLargeError",
    "edge_probabilities",
    "estimate",
    "k_best",
    "map_network",
    "posterior",
    "sample_dags",
]

_LOSS = 1e-8  # largest numerical error of a probability that is accepted
_SEED = 20061107  # of the random keys from which hashes of classes are made


def map_network(  # arguments: options of a public function, by keyword
    data: Any,
    *,
    score: str = "auto",
    ess: float | str = 1.0,
    structure_prior: Any = "uniform",
    knowledge: Any = None,
    max_parents: int | None = None,
    max_gb: float = MAX_GB,
    max_minutes: float = MAX_MINUTES,
) -> tuple[PDAG, float]:
    """The DAG of highest score, and its log score (Silander & Myllymäki 2006).

    Ties: the sink is the variable that comes first in the sorted names; a parent set is replaced by its subset.

    >>> import brai
    >>> dag, log_score = map_network(brai.load_network("cancer").sample(2000, random_state=0))
    >>> dag.is_dag()
    True
    """
    model = Model(score, ess, max_parents, structure_prior, knowledge)
    table = FamilyScoreTable.of(data, model, "map", Limits(max_gb, max_minutes))
    announce(subsets.best_parents, table.scores.dtype)
    best, which = subsets.best_parents(table.scores)
    sinks = subsets.best_sinks(best)
    parents, left = [0] * len(table.names), (1 << len(table.names)) - 1
    while left:
        v = int(sinks[left])
        left ^= 1 << v
        parents[v] = int(subsets.widen(int(which[v, subsets.squeeze(left, v)]), v))
    return table.dag(parents), table.total(parents)


def k_best(  # arguments: options of a public function, by keyword
    data: Any,
    k: int,
    *,
    score: str = "auto",
    ess: float | str = 1.0,
    structure_prior: Any = "uniform",
    max_parents: int | None = None,
    max_gb: float = MAX_GB,
    max_minutes: float = MAX_MINUTES,
) -> list[tuple[PDAG, float]]:
    """The k distinct CPDAGs of highest score with their log scores, best first (Chen & Tian 2014); all if fewer.

    The k best classes over each subset of the variables are built from those over the subset without a sink. One
    DAG for each class suffices: what a sink adds to skeleton and v-structures depends on the skeleton only. No
    class is missed: without its sink it is a class over the other variables. If k classes there were better, each
    of them with that sink would be a better class, too. With ``max_parents`` a class counts if one of its DAGs is
    within the limit.

    Classes of equal score are distinguished by a 64-bit hash of skeleton and v-structures.
    """
    check_count("k", k, 1)
    model = Model(score, ess, max_parents, structure_prior)
    table = FamilyScoreTable.of(data, model, "k_best", Limits(max_gb, max_minutes), int(k))
    announce(subsets.k_best_classes, table.scores.dtype)
    d = len(table.names)
    pool = _pool(d, min(int(k), N_CLASSES.get(d, int(k))))
    rng = np.random.Generator(np.random.PCG64(_SEED))
    edge_keys, v_keys = (rng.integers(-(2**63), 2**63 - 1, (d,) * n) for n in (2, 3))
    edge_keys = np.triu(edge_keys) + np.triu(edge_keys, 1).T
    subsets.k_best_classes(table.scores, _ranked(table.scores), edge_keys, v_keys, pool)
    found = [_parents(pool, d, rank) for rank in range(int(pool.size[-1]))]
    scored = sorted(((table.total(own), own) for own in found), key=lambda one: -one[0])
    return [(table.dag(own).to_cpdag(), value) for value, own in scored]


def _pool(d: int, k: int) -> subsets.Pool:
    score, key, sink, parents, rank = (
        np.zeros((1 << d, k), kind) for kind in (np.float64, np.int64, np.int8, np.int32, np.int32)
    )
    return subsets.Pool(score, key, sink, parents, rank, np.zeros(1 << d, np.int64))


def _ranked(scores: Floats) -> NDArray[np.int32]:
    """Parent sets of each variable by falling score, ties by bit mask; the same number for each variable."""
    n = int(np.isfinite(scores[0]).sum())
    return np.argsort(-scores, axis=1, kind="stable")[:, :n].astype(np.int32)


def _parents(pool: subsets.Pool, d: int, rank: int) -> list[int]:
    parents, left = [0] * d, (1 << d) - 1
    while left:
        v, own, rank = (int(column[left, rank]) for column in (pool.sink, pool.parents, pool.rank))
        parents[v] = own
        left ^= 1 << v
    return parents


def edge_probabilities(  # arguments: options of a public function, by keyword
    data: Any,
    *,
    prior: Literal["order", "dags"] = "dags",
    score: str = "auto",
    ess: float | str = 1.0,
    structure_prior: Any = "uniform",
    knowledge: Any = None,
    max_parents: int | None = None,
    max_gb: float = MAX_GB,
    max_minutes: float = MAX_MINUTES,
) -> Floats:
    """Exact P(i → j | D) over all DAGs with at most ``max_parents`` parents; row to column, nodes as in the data.

    - ``prior="dags"``: uniform over DAGs (Tian & He 2009); 3^d steps, up to 20 variables. The sum has terms of
      both signs. If the probabilities of parent sets do not add up to 1 within 1e-8, it is replaced by a sum over
      layers of positive terms (4^d steps). If that exceeds the limits, ArithmeticError is raised.
    - ``prior="order"``: uniform over pairs of an order of the variables and a DAG that agrees with it. So a DAG
      counts once for each of its topological orders (Koivisto & Sood 2004, without their factor for the number of
      parents), and DAGs of one class may differ in weight. d² 2^d steps, for 20 variables and more.
    """
    if prior not in ("order", "dags"):
        raise ValueError(f"prior is {prior!r}: choose 'order' or 'dags'")
    model = Model(score, ess, max_parents, structure_prior, knowledge)
    table = FamilyScoreTable.of(data, model, prior, Limits(max_gb, max_minutes))
    announce(subsets.order_edges, table.scores.dtype)
    if prior == "order":
        edges = subsets.order_edges(table.shifted())
    else:
        edges, loss = dag_sums.dag_edges_by_sinks(table.shifted())
        if not loss <= _LOSS:
            edges = _without_signs(table, loss, max_gb, max_minutes)
    return table.outward(np.minimum(edges, 1.0))


def _without_signs(table: FamilyScoreTable, loss: float, max_gb: float, max_minutes: float) -> Floats:
    try:
        refuse(d := len(table.names), "layers", estimate(d, "layers", n_rows=0), max_gb, max_minutes)
    except TooLargeError as error:
        raise ArithmeticError(
            f"terms of opposite sign cancel, so probabilities are wrong by {loss:.1g} or more; {error}"
        ) from None
    return np.asarray(dag_sums.dag_edges(table.shifted()))


def sample_dags(  # arguments: options of a public function, by keyword
    data: Any,
    n: int,
    *,
    score: str = "auto",
    ess: float | str = 1.0,
    structure_prior: Any = "uniform",
    knowledge: Any = None,
    max_parents: int | None = None,
    random_state: RandomState = None,
    max_gb: float = MAX_GB,
    max_minutes: float = MAX_MINUTES,
) -> list[tuple[PDAG, float]]:
    """n independent draws of DAGs from the posterior with a uniform prior over DAGs, with their log scores.

    The layers of a DAG are drawn first (Kuipers & Moffa 2017), then the parents of each node. No Markov chain is
    used. 4^d steps, up to 15 variables.

    >>> import brai
    >>> len(sample_dags(brai.load_network("cancer").sample(500, random_state=0), 100, random_state=0))
    100
    """
    check_count("n", n, 1)
    model = Model(score, ess, max_parents, structure_prior, knowledge)
    table = FamilyScoreTable.of(data, model, "layers", Limits(max_gb, max_minutes))
    announce(dag_sums.draw_dags, table.scores.dtype)
    scores, d = table.shifted(), len(table.names)
    drawn = np.zeros((n, d), np.int64)
    dag_sums.draw_dags(scores, dag_sums.sum_layers(scores), generator(random_state).random((n, 2 * d)), drawn)
    kept: dict[tuple[int, ...], tuple[PDAG, float]] = {}
    rows = [tuple(row) for row in drawn.tolist()]
    for row in rows:
        if row not in kept:
            kept[row] = table.dag([*row]), table.total([*row])
    return [kept[row] for row in rows]


def posterior(  # arguments: options of a public function, by keyword
    data: Any,
    *,
    k: int | None = None,
    prior: Prior = "dags",
    score: str = "auto",
    ess: float | str = 1.0,
    structure_prior: Any = "uniform",
    max_parents: int | None = None,
    max_gb: float = MAX_GB,
    max_minutes: float = MAX_MINUTES,
) -> Posterior:
    """The posterior over the ``k`` best equivalence classes, as a `Posterior`.

    By default these are all classes for up to 5 variables, so features are exact. For more variables they are the
    1000 best, and all others count as impossible; `edge_probabilities` has no such limit. With ``prior="dags"`` a
    class is weighted by the number of all its DAGs, also those with more than ``max_parents`` parents.
    """
    if k is None:
        k = N_CLASSES.get(table_of(data).n_variables, 1000)
    best = k_best(
        data,
        k,
        score=score,
        ess=ess,
        structure_prior=structure_prior,
        max_parents=max_parents,
        max_gb=max_gb,
        max_minutes=max_minutes,
    )
    return Posterior.from_scores(best, prior, "exact")
