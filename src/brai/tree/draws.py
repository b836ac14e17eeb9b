"""Results from a graph generative tree: draws (Algorithm 2), the MAP, the k best CPDAGs, exact distributions.

There are two methods to draw a CPDAG at temperature γ:

- ``"paper"``, Algorithm 2: every sub-tree returns a drawn graph and its score, then one of the s is picked by
  the Boltzmann weights of the *drawn* scores. A draw visits the whole tree.
- ``"exact"``: a route is drawn with probability proportional to exp(score / γ). One upward pass computes the sum
  of the weights of all routes below each node. After that, the cost of a draw is the length of its route.

As γ → ∞ both become uniform ("paper": over the s sub-trees at each step; "exact": over all routes). At γ = 0 both
give the MAP. At γ = 1 the scores of routes often differ by tens of nats, so that almost all draws are one graph.

Ties are resolved in favour of the first sub-tree. A CPDAG is the completion of the DAG of a route, so it is always
valid.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, islice, product
from numbers import Real
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from brai.graphs.pdag import PDAG, Draw, Family, cpdag_of
from brai.runtime.checks import check_count
from brai.tree.ggt import GGT, Leaf, Node, is_one

Method: TypeAlias = Literal["exact", "paper"]
Route: TypeAlias = tuple[Leaf, ...]


class Outcome(NamedTuple):
    """A DAG of the tree, its log score, and the number of routes with this DAG."""

    families: tuple[Family, ...]
    log_score: float
    n_routes: int


class Count(NamedTuple):
    """The number of distinct CPDAGs; an upper bound unless ``exact``."""

    n: int
    exact: bool


class TooManyError(ValueError):
    """The tree contains more distinct graphs than the limit."""


def _draw(route: Route) -> Draw:
    families = sorted(family for leaf in route for family in leaf.families)
    return Draw(tuple(families), math.fsum(leaf.log_score for leaf in route))


# --- maximum and draws ----------------------------------------------------------------------------


def best_route(tree: GGT) -> Draw:
    """The MAP: for each group of each node, the sub-tree of highest score is chosen (section 3.3.1)."""

    def best(node: Node) -> tuple[float, Route]:
        if isinstance(node, Leaf):
            return node.log_score, (node,)
        total: float = 0.0
        route: Route = ()
        for group in node.groups:
            score, own = best(group[0]) if is_one(group) else max(map(best, group), key=itemgetter(0))
            total, route = total + score, route + own
        return total, route

    return _draw(best(tree.root)[1])


def sample_routes(
    tree: GGT, n: int, temperature: float, rng: np.random.Generator, method: Method = "exact"
) -> list[Draw]:
    """Draw n independent DAGs from the tree."""
    _check(temperature)
    check_count("n", n)
    if method == "paper":
        return [_draw(sample_cpdag(tree.root, temperature, rng.random)[0]) for _ in range(n)]
    if method != "exact":
        raise ValueError(f"unknown method {method!r}: choose 'exact' or 'paper'")
    key = ("draw", float(temperature))
    if key not in tree.memo:
        tree.memo[key] = _Chooser(tree, temperature)
    chooser: _Chooser = tree.memo[key]
    return [_draw(chooser.route(rng.random)) for _ in range(n)]


def _check(temperature: float) -> None:
    if not (isinstance(temperature, Real) and temperature >= 0):
        raise ValueError(f"temperature is {temperature!r}: give a number from 0 (the MAP) to infinity (uniform)")


def sample_cpdag(node: Node, temperature: float, uniform: Callable[[], float]) -> tuple[Route, float]:
    """Algorithm 2, line by line; ``uniform`` returns random numbers in [0, 1). Returns a route and its score."""
    if isinstance(node, Leaf):  # lines 2–4
        return (node,), node.log_score
    route: Route = ()
    total = 0.0
    for group in node.groups:  # lines 5–10 for the ancestor groups, 11–15 for the descendant group
        drawn = [sample_cpdag(child, temperature, uniform) for child in group]
        t = _pick(_boltzmann([score for _, score in drawn], temperature), uniform())
        route += drawn[t][0]  # line 16
        total += drawn[t][1]  # line 17
    return route, total


def _boltzmann(scores: Sequence[float], temperature: float) -> list[float]:
    """Equation 4 as cumulative weights; γ = 0 selects the first maximum, γ = ∞ is uniform."""
    best = max(scores)
    if temperature == 0:
        first = scores.index(best)
        return [float(t >= first) for t in range(len(scores))]
    return list(accumulate(math.exp((score - best) / temperature) for score in scores))


def _pick(cumulative: Sequence[float], u: float) -> int:
    return bisect_right(cumulative, u * cumulative[-1], hi=len(cumulative) - 1)


class _Chooser:
    """Exact draws at one temperature, from cumulative weights of the sub-trees of every group of every node."""

    def __init__(self, tree: GGT, temperature: float):
        self._root, self._temperature = tree.root, temperature
        self._cumulative: dict[int, list[list[float]]] = {}
        self._known: dict[int, tuple[float, float]] = {}
        self._below(tree.root)

    def _below(self, node: Node) -> tuple[float, float]:
        """Highest score of a route below the node, and log Σ exp((score - highest) / γ) over these routes."""
        if isinstance(node, Leaf):
            return node.log_score, 0.0
        if id(node) not in self._known:
            highest, mass, cumulative = 0.0, 0.0, []
            for group in node.groups:
                below = [self._below(group[0])] * len(group) if is_one(group) else [*map(self._below, group)]
                best = max(score for score, _ in below)
                if self._temperature == 0:
                    weights = _boltzmann([score for score, _ in below], 0.0)
                else:
                    exponents = [(score - best) / self._temperature + own for score, own in below]
                    top = max(exponents)
                    weights = list(accumulate(math.exp(e - top) for e in exponents))
                    mass += top + math.log(weights[-1])
                highest += best
                cumulative.append(weights)
            self._known[id(node)], self._cumulative[id(node)] = (highest, mass), cumulative
        return self._known[id(node)]

    def route(self, uniform: Callable[[], float]) -> Route:
        """Draw one route from the root to the leaves."""
        chosen: list[Leaf] = []
        stack: list[Node] = [self._root]
        while stack:
            node = stack.pop()
            if isinstance(node, Leaf):
                chosen.append(node)
            else:
                weights = self._cumulative[id(node)]
                picked = [g[_pick(c, uniform())] for g, c in zip(node.groups, weights, strict=True)]
                stack.extend(reversed(picked))
        return tuple(chosen)


# --- k best ---------------------------------------------------------------------------------------


def k_best(tree: GGT, k: int) -> list[tuple[PDAG, float]]:
    """The k distinct CPDAGs of highest score with their scores, best first; fewer if the tree contains fewer."""
    check_count("k", k, 1)
    found: dict[PDAG, float] = {}
    for ranked in _ranked(tree.root):
        if len(found) >= k:
            break
        draw = _draw(tuple(ranked.leaves()))
        found.setdefault(cpdag_of(draw.families, tree.names), draw.log_score)
    return list(found.items())


class _Ranked(NamedTuple):
    """A graph of a sub-tree. ``parts`` contains its leaf, or the graph chosen for each group."""

    log_score: float
    key: int
    parts: tuple[Leaf | _Ranked, ...]

    def leaves(self) -> Iterator[Leaf]:
        """The leaves of its route."""
        for part in self.parts:
            if isinstance(part, Leaf):
                yield part
            else:
                yield from part.leaves()


@lru_cache(maxsize=2**18)
def _family_key(family: Family) -> int:
    return int.from_bytes(blake2b(repr(family).encode(), digest_size=16).digest(), "little")


def _leaf_key(leaf: Leaf) -> int:
    return sum(map(_family_key, leaf.families))


class _Ranking:
    """The distinct graphs of a sub-tree or a group, best first, computed lazily.

    A graph is identified by the sum of the 128-bit digests of its families. Groups have no family in common, so
    only sub-trees of the same group can contain the same graph.
    """

    def __init__(self, more: Iterator[_Ranked]):
        self._found: list[_Ranked] = []
        self._more = more

    def get(self, i: int) -> _Ranked | None:
        """The graph at rank i, or None if there are fewer. Ranks must first be requested in increasing order."""
        if i == len(self._found):
            self._found.extend(islice(self._more, 1))
        return self._found[i] if i < len(self._found) else None


def _ranked(node: Node) -> Iterator[_Ranked]:
    """Yield the distinct graphs of a sub-tree, best first."""
    if isinstance(node, Leaf):
        yield _Ranked(node.log_score, _leaf_key(node), (node,))
        return
    groups = [_Ranking(_merged(group)) for group in node.groups]

    def at(place: tuple[int, ...]) -> _Ranked | None:
        here: list[_Ranked] = []
        for group, i in zip(groups, place, strict=True):
            if (part := group.get(i)) is None:
                return None
            here.append(part)
        return _Ranked(math.fsum(p.log_score for p in here), sum(p.key for p in here), tuple(here))

    heap: list[tuple[float, tuple[int, ...], _Ranked]] = []

    def push(place: tuple[int, ...]) -> None:
        if (found := at(place)) is not None:
            heapq.heappush(heap, (-found.log_score, place, found))

    push((0,) * len(groups))
    while heap:
        _, place, best = heapq.heappop(heap)
        yield best
        last = max((j for j, i in enumerate(place) if i), default=0)
        for j in range(last, len(groups)):  # so that each place is pushed only once
            push((*place[:j], place[j] + 1, *place[j + 1 :]))


def _merged(group: Sequence[Node]) -> Iterator[_Ranked]:
    """Yield the distinct graphs of one group, best first: a merge of its sorted sub-trees."""
    if is_one(group):
        yield from _ranked(group[0])
        return
    seen: set[int] = set()
    subtrees = {id(child): child for child in group}.values()
    for ranked in heapq.merge(*map(_ranked, subtrees), key=lambda r: -r.log_score):
        if ranked.key not in seen:
            seen.add(ranked.key)
            yield ranked


# --- exact distributions --------------------------------------------------------------------------


def outcomes(tree: GGT, limit: int = 100_000) -> list[Outcome]:
    """All distinct DAGs of the tree with their numbers of routes; TooManyError if more than ``limit``."""
    table = _table(tree.root, limit, {})
    if table is None:
        raise TooManyError(f"the tree has more than {limit} distinct graphs: draw from it, or raise the limit")
    return [Outcome(*_draw(route), n) for route, n in table.values()]


_Table: TypeAlias = dict[int, tuple[Route, int]]


def _table(node: Node, limit: int, memo: dict[int, _Table | None]) -> _Table | None:
    """Graphs of a sub-tree by key, each with one route and the number of its routes; None if above the limit."""
    if id(node) not in memo:
        memo[id(node)] = _build(node, limit, memo)
    return memo[id(node)]


def _build(node: Node, limit: int, memo: dict[int, _Table | None]) -> _Table | None:
    if isinstance(node, Leaf):
        return {_leaf_key(node): ((node,), 1)}
    merged = [_union(group, limit, memo) for group in node.groups]
    tables = [table for table in merged if table is not None]
    if len(tables) < len(merged) or math.prod(map(len, tables)) > limit:
        return None
    result: _Table = {}
    for parts in product(*(table.items() for table in tables)):
        route = tuple(leaf for _, (own, _) in parts for leaf in own)
        result[sum(key for key, _ in parts)] = (route, math.prod(n for _, (_, n) in parts))
    return result


def _union(group: Sequence[Node], limit: int, memo: dict[int, _Table | None]) -> _Table | None:
    union: _Table = {}
    for child in group:
        table = _table(child, limit, memo)
        if table is None:
            return None
        for key, (route, n) in table.items():
            union[key] = (route, n + union[key][1]) if key in union else (route, n)
    return union


def count_distinct(tree: GGT, limit: int | None = None) -> Count:
    """Number of distinct CPDAGs: exact for up to ``limit`` distinct DAGs, else an upper bound.

    The default limit takes a few seconds. The bound is a product over groups; for a group with too many graphs to
    compare, it is the sum over its sub-trees.
    """
    limit = max(200, 200_000 // len(tree.names)) if limit is None else limit
    memo: dict[int, _Table | None] = {}
    table = _table(tree.root, limit, memo)
    if table is not None:
        classes = {cpdag_of(_draw(route).families, tree.names) for route, _ in table.values()}
        return Count(len(classes), True)

    def bound(node: Node) -> int:
        table = _table(node, limit, memo)
        if isinstance(node, Leaf) or table is not None:
            return 1 if table is None else len(table)
        total = 1
        for group in node.groups:
            union = _union(group, limit, memo)
            total *= len(union) if union is not None else sum(map(bound, {id(c): c for c in group}.values()))
        return total

    return Count(bound(tree.root), False)


def distribution(tree: GGT, temperature: float, limit: int = 100_000) -> list[tuple[PDAG, float, float]]:
    """The distribution of draws with method "exact": (CPDAG, log score, probability), most probable first."""
    _check(temperature)
    found = outcomes(tree, limit)
    top = max(o.log_score for o in found)
    mass: dict[PDAG, tuple[float, float]] = {}
    for o in found:
        if temperature == 0:
            weight = float(o.log_score == top) * o.n_routes
        else:
            weight = math.exp((o.log_score - top) / temperature + math.log(o.n_routes))
        cpdag = cpdag_of(o.families, tree.names)
        mass[cpdag] = (o.log_score, mass.get(cpdag, (0.0, 0.0))[1] + weight)
    total = math.fsum(weight for _, weight in mass.values())
    rows = [(cpdag, score, weight / total) for cpdag, (score, weight) in mass.items()]
    return sorted(rows, key=lambda row: -row[2])
