"""The posterior over structures as a weighted set of CPDAGs, and features averaged over it (section 4.2).

P(f | D) = Σ_G f(G) P(G | D), summed over the DAGs of all CPDAGs of the set; the paper uses the k best of the tree.
All DAGs of an equivalence class have the same score, so the posterior probability of a class is proportional to

- size · exp(score) under a uniform prior on DAGs (``prior="dags"``, the paper's),
- exp(score) under a uniform prior on classes (``prior="classes"``).

Probabilities sum to 1 over the set: graphs outside the set count as impossible.

Probabilities of adjacencies and Markov blankets are exact. Those of edges are exact unless a CPDAG has a very
complex undirected part. Paths and other features are evaluated on DAGs: on all of a small class, else on uniform
draws, with a standard error. It measures the error of drawing DAGs only, not the effect of CPDAGs that are missing
from the set.

Matrices are in the order of ``names``, "row to column". Internally variables are sorted by name, so draws do not
depend on the order of columns.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import count
from brai.graphs.adjacency import array, bits
from brai.graphs.equivalence import EquivalenceClass, Masks, TooManyPartsError
from brai.graphs.pdag import PDAG, Family
from brai.posterior.consensus import Consensus, Row, consensus, table
from brai.runtime.checks import check_count
from brai.runtime.seeds import RandomState, generator

Prior: TypeAlias = Literal["dags", "classes"]
Source: TypeAlias = Literal["given", "tree", "mcmc", "bagged", "exact", "bootstrap", "completed", "one"]
Floats: TypeAlias = NDArray[np.float64]
Scored: TypeAlias = tuple[PDAG, float]

Distinct: TypeAlias = dict[PDAG, tuple[int, float]]  # number of occurrences, and the log score

_POWER = {"dags": 1, "classes": 0}  # exponent of the size of a class in its prior
SMALL = 8  # a class of at most this many DAGs is always enumerated
NOTHING = 1e-16  # a class less probable than this is left out of sums over DAGs


class Estimate(NamedTuple):
    """A probability, or a matrix of them, from ``n_dags`` DAGs; ``exact`` if no random draws were used."""

    value: Any
    standard_error: Any
    n_dags: int
    exact: bool

    def __float__(self) -> float:
        return float(self.value)


class Share(NamedTuple):
    """The DAGs of one class to evaluate: all of them, or ``n`` draws if ``drawn``."""

    weight: float
    members: EquivalenceClass
    n: int
    drawn: bool

    def orders(self, rng: np.random.Generator) -> Iterator[list[int]]:
        """The DAGs, each given by a topological order."""
        return (self.members.draw(rng) for _ in range(self.n)) if self.drawn else self.members.orders()


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Distinct CPDAGs with probabilities that sum to 1, most probable first.

    A fitted model returns one (``model.posterior()``); `from_scores` and `from_draws` make one from given graphs.
    ``log_scores`` are NaN for draws without scores.
    """

    cpdags: tuple[PDAG, ...]
    probabilities: Floats
    log_scores: Floats
    prior: Prior
    source: Source = "given"
    chains: Any = None  # with source "mcmc" or "bagged": the `brai.posterior.chains.Draws`, or None
    inside: tuple[PDAG, ...] | None = None  # the same graphs with nodes sorted by name, or None

    @classmethod
    def from_scores(cls, scored: Iterable[Scored], prior: Prior = "dags", source: Source = "given") -> Posterior:
        """Weight distinct graphs by their log scores; ``scored`` are pairs (graph, log score)."""
        found = _distinct(_checked_scores(scored))
        power = _POWER[_checked("prior", prior)]
        return cls._of(found, [score + _log_sizes(c, power) for c, (_, score) in found.items()], prior, source)

    @classmethod
    def from_draws(
        cls,
        draws: Iterable[PDAG | Scored],
        prior: Prior = "dags",
        drawn: Prior = "classes",
        source: Source = "given",
        chains: Any = None,
    ) -> Posterior:
        """Weight graphs by their frequency among the draws of a sampler.

        ``drawn`` is the prior of the sampler: "classes" if it draws CPDAGs in proportion to exp(score), "dags" if
        it draws DAGs so. If it differs from ``prior``, weights are corrected by the sizes of the classes.
        """
        found = _distinct(one if isinstance(one, tuple) else (one, math.nan) for one in draws)
        power = _POWER[_checked("prior", prior)] - _POWER[_checked("drawn", drawn)]
        return cls._of(
            found, [math.log(n) + _log_sizes(c, power) for c, (n, _) in found.items()], prior, source, chains
        )

    @classmethod
    def _of(
        cls, found: Distinct, logs: list[float], prior: Prior, source: Source, chains: Any = None
    ) -> Posterior:
        if not found:
            raise ValueError("there are no graphs: give at least one")
        weights = np.exp(np.array(logs) - max(logs))
        rank = np.argsort(-weights, kind="stable")
        probabilities = (weights / math.fsum(weights))[rank]
        cpdags, scores = list(found), np.array([score for _, score in found.values()])[rank]
        probabilities.setflags(write=False)
        scores.setflags(write=False)
        return cls(tuple(cpdags[i] for i in rank), probabilities, scores, prior, source, chains)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.cpdags[0].names

    @property
    def n_effective(self) -> float:
        """Effective number of graphs, 1 / Σ P²: how many equally probable graphs would be as uncertain."""
        return float(1 / np.square(self.probabilities).sum())

    @cached_property
    def class_sizes(self) -> tuple[int, ...]:
        """Number of DAGs of each CPDAG."""
        return tuple(members.size for members in self._classes)

    def __len__(self) -> int:
        return len(self.cpdags)

    @cached_property
    def kind(self) -> Literal["CPDAG", "DAG"]:
        """Whether the graphs are CPDAGs or, as with background knowledge, single DAGs."""
        directed = all(graph.is_dag() for graph in self.cpdags)  # cheap, so it comes before to_cpdag
        return "DAG" if directed and any(graph.to_cpdag() != graph for graph in self.cpdags) else "CPDAG"

    def sample(self, n: int = 1, random_state: RandomState = None) -> list[tuple[PDAG, float]]:
        """Draw n graphs by their probabilities, each with its log score."""
        check_count("n", n, 1)
        drawn = generator(random_state).choice(len(self), n, p=self.probabilities)
        return [(self.cpdags[i], float(self.log_scores[i])) for i in drawn]

    def __repr__(self) -> str:
        graphs = f"{count(len(self), self.kind)} of {count(len(self.names), 'variable')}"
        return f"Posterior({graphs}, effective number {self.n_effective:.1f}; uniform prior on {self.prior})"

    @cached_property
    def _sorted_names(self) -> tuple[str, ...]:
        return tuple(sorted(self.names))

    @cached_property
    def _classes(self) -> tuple[EquivalenceClass, ...]:
        ranked = self.inside or (cpdag.reorder(self._sorted_names) for cpdag in self.cpdags)
        return tuple(map(EquivalenceClass, ranked))

    def reordered(self, names: Sequence[str]) -> Posterior:
        """The same posterior with its nodes in the order of ``names``."""
        inside = self.cpdags if self.names == self._sorted_names else self.inside
        return replace(self, cpdags=tuple(cpdag.reorder(names) for cpdag in self.cpdags), inside=inside)

    def _outward(self, matrix: Floats) -> Floats:
        """Reorder a matrix from sorted names to the order of ``names``."""
        rank = [self._sorted_names.index(name) for name in self.names]
        return matrix[np.ix_(rank, rank)]

    def families(self) -> tuple[tuple[str, ...], list[tuple[Family, ...]]]:
        """The sorted names, and for each CPDAG the families of one of its DAGs, numbered by the sorted names."""
        graphs = [members.parents(members.first()) for members in self._classes]
        return self._sorted_names, [tuple((i, tuple(bits(p))) for i, p in enumerate(own)) for own in graphs]

    # --- features of CPDAGs -----------------------------------------------------------------------

    def adjacency_probabilities(self) -> Floats:
        """P(i and j are adjacent); exact."""
        return self._weighted(lambda cpdag: cpdag.skeleton())

    def markov_blanket_probabilities(self) -> Floats:
        """P(i is in the Markov blanket of j); exact, since it is the same in all DAGs of a class."""
        return self._weighted(lambda cpdag: cpdag.moral())

    def _weighted(self, feature: Callable[[PDAG], NDArray[np.bool_]]) -> Floats:
        total = np.zeros((len(self.names),) * 2)
        for cpdag, probability in zip(self.cpdags, self.probabilities, strict=True):
            total[feature(cpdag)] += probability
        return np.minimum(total, 1.0)

    # --- features of DAGs -------------------------------------------------------------------------

    def edge_probabilities(self) -> Floats:
        """P(i → j); see `edges`."""
        return np.asarray(self.edges().value)

    def path_probabilities(self, n_dags: int | None = None, random_state: RandomState = 0) -> Floats:
        """P(there is a directed path from i to j); see `paths`."""
        return np.asarray(self.paths(n_dags, random_state).value)

    def edges(self, n_dags: int | None = None, random_state: RandomState = 0) -> Estimate:
        """P(i → j): exact, except for classes with a very complex undirected part; there DAGs are drawn."""
        return self._look(
            EquivalenceClass.parents,
            lambda m: (m.certain_parents(), m.possible_parents()),
            n_dags,
            random_state,
            _edges_of,
        )

    def paths(self, n_dags: int | None = None, random_state: RandomState = 0) -> Estimate:
        """P(there is a directed path from i to j), "i causes j" if the DAG is causal.

        ``n_dags`` is the approximate number of DAGs to evaluate, divided among the classes by probability. By
        default that takes a second or two. A class with no more DAGs than its share is enumerated.
        """
        return self._look(
            EquivalenceClass.ancestors,
            lambda m: (m.certain_ancestors(), m.possible_ancestors()),
            n_dags,
            random_state,
        )

    def probability(
        self, feature: Callable[[PDAG], Any], n_dags: int | None = None, random_state: RandomState = 0
    ) -> Estimate:
        """P(feature) for a function of a DAG that returns True or False; the mean for one that returns numbers.

        Arguments are as in `paths`. The standard error of a mean is estimated from the values of the drawn DAGs.

        >>> from brai import PDAG
        >>> chain = PDAG.from_edges("abc", undirected=[("a", "b"), ("b", "c")])
        >>> Posterior.from_scores([(chain, 0.0)]).probability(lambda dag: not dag.parents("b")).value  # 1 of 3
        0.3333333333333333
        """
        mean, variance, n = 0.0, 0.0, 0
        rank = [self._sorted_names.index(name) for name in self.names]
        shares, rng = self.shares(self._budget() // 4 if n_dags is None else n_dags), generator(random_state)
        for share in shares:
            graphs = (array(share.members.parents(order)).T for order in share.orders(rng))
            dags = (PDAG(self.names, graph[np.ix_(rank, rank)]) for graph in graphs)
            values = np.array([_number(feature(dag)) for dag in dags])
            mean += share.weight * float(values.mean())
            if share.drawn:
                is_binary = bool(np.isin(values, (0.0, 1.0)).all())
                own = frequency_variance(values.mean(), share.n) if is_binary else values.var(ddof=1) / share.n
                variance += share.weight**2 * float(own)
            n += share.n
        return Estimate(mean, math.sqrt(variance), n, not any(share.drawn for share in shares))

    def _budget(self) -> int:
        """Number of DAGs that can be evaluated in a second or two."""
        return max(1000, 1_000_000 // len(self.names))

    # --- consensus graph --------------------------------------------------------------------------

    def edge_table(self, threshold: float = 0.0, both: bool = False) -> list[Row]:
        """Rows from, to, strength, direction; see `brai.posterior.consensus.table`."""
        return table(self.names, self.edge_probabilities(), threshold, both)

    def consensus(self, threshold: float = 0.5, direction: float = 0.5) -> Consensus:
        """The graph of the pairs that are adjacent with at least this probability; see
        `brai.posterior.consensus`.
        """
        return consensus(self.names, self.edge_probabilities(), threshold, direction)

    # --- choice of DAGs to evaluate -----------------------------------------------------------------

    def shares(self, n_dags: int | None = None) -> list[Share]:
        """Which DAGs to evaluate, about ``n_dags`` in all: for each class all of its DAGs, or a number of draws.

        Draws are divided by probability; what a class does not need is given to the others. Each class gets at
        least two draws, and a class of at most SMALL DAGs is always enumerated.
        """
        check_count("n_dags", n_dags, 1, none="one that suits the number of variables")
        budget = self._budget() if n_dags is None else n_dags
        sizes, weights = self.class_sizes, self.probabilities.tolist()
        worth = [k for k in range(len(self)) if weights[k] > NOTHING]
        found: dict[int, Share] = {}
        left, weight_left = float(budget), 1.0
        for k in sorted(worth, key=lambda k: math.log(sizes[k]) - math.log(weights[k])):  # small, probable first
            n = max(2, math.ceil(left * min(1.0, weights[k] / max(weight_left, NOTHING))))
            drawn = sizes[k] > max(n, SMALL)
            found[k] = Share(weights[k], self._classes[k], n if drawn else sizes[k], drawn)
            left, weight_left = max(left - found[k].n, 0.0), weight_left - weights[k]
        return [found[k] for k in worth]

    def _look(
        self,
        relation: Callable[[EquivalenceClass, Sequence[int]], Masks],
        bounds: Callable[[EquivalenceClass], tuple[Masks, Masks]],
        n_dags: int | None,
        random_state: RandomState,
        exactly: Callable[[EquivalenceClass], Floats | None] = lambda members: None,
    ) -> Estimate:
        """Probabilities of a relation between nodes, such as "is a parent of".

        ``relation`` returns, for each node of a DAG, the set of related nodes. ``bounds`` returns the relations
        that hold in all, and those that hold in some DAGs of a class; the others have no sampling error.
        ``exactly`` returns the probabilities within a class without drawing DAGs, or None if it cannot.
        """
        d = len(self.names)
        mean, variance, n, drawn = np.zeros((d, d)), np.zeros((d, d)), 0, False
        shares, rng = self.shares(n_dags), generator(random_state)
        for share in shares:
            if (known := exactly(share.members)) is not None:
                mean += share.weight * known
                continue
            times = np.zeros((d, d), np.int64)
            for order in share.orders(rng):
                times += array(relation(share.members, order))
            frequency = times.T / share.n
            mean += share.weight * frequency
            if share.drawn:
                always, ever = (array(own).T.view(bool) for own in bounds(share.members))
                own = share.weight**2 * frequency_variance(frequency, share.n)
                variance += np.where(always | ~ever, 0.0, own)
            n, drawn = n + share.n, drawn or share.drawn
        value, error = self._outward(np.minimum(mean, 1.0)), self._outward(np.sqrt(variance))
        return Estimate(value, error, n, not drawn)


def _edges_of(members: EquivalenceClass) -> Floats | None:
    try:
        return members.edge_probabilities()
    except TooManyPartsError:
        return None


def _number(value: Any) -> float:
    if not isinstance(value, bool | int | float | np.bool_ | np.number) or not math.isfinite(value):
        raise TypeError(f"the feature is {value!r} for a DAG: return True, False or a finite number")
    return float(value)


def frequency_variance(frequency: Any, n: int) -> Any:
    """Variance of a frequency in n draws; two successes and two failures are added (Agresti & Coull 1998)."""
    share = (frequency * n + 2) / (n + 4)
    return share * (1 - share) / (n + 4)


def _log_sizes(cpdag: PDAG, power: int) -> float:
    return power * math.log(EquivalenceClass(cpdag).size) if power else 0.0


def _checked(name: str, prior: Prior) -> Prior:
    if prior not in _POWER:
        raise ValueError(f"{name} is {prior!r}: choose 'dags' or 'classes'")
    return prior


def _checked_scores(scored: Iterable[Scored]) -> Iterator[Scored]:
    for one in scored:
        if not (isinstance(one, tuple) and len(one) == 2):
            raise TypeError(f"{one!r} is not a pair: give (graph, log score)")
        if not math.isfinite(one[1]):
            raise ValueError(f"a log score is {one[1]}: give finite log scores")
        yield one


def _distinct(graphs: Iterable[Scored]) -> Distinct:
    """CPDAGs of the graphs, with the number of occurrences and first log score; nodes as in the first graph."""
    completed: dict[PDAG, PDAG] = {}
    found: Distinct = {}
    names: tuple[str, ...] | None = None
    for graph, score in graphs:
        if not isinstance(graph, PDAG):
            raise TypeError(f"a graph is of type {type(graph).__name__}: give PDAGs")
        names = names or graph.names
        if graph not in completed:
            if set(graph.names) != set(names):
                lone = sorted(set(graph.names) ^ set(names))
                raise ValueError(f"the graphs differ in the nodes {reprlib.repr(lone)}: use the same nodes")
            completed[graph] = (graph if graph.names == names else graph.reorder(names)).to_cpdag()
        times, first = found.get(completed[graph], (0, float(score)))
        if abs(score - first) > 1e-6 * max(1.0, abs(first)):
            raise ValueError(
                f"one class has the log scores {first} and {score}: use a score that is the same for all DAGs "
                "of a class, such as BDeu or BIC"
            )
        found[completed[graph]] = (times + 1, first)
    return found
