"""Exact distributions of a few variables of a network: variable elimination.

P(query, given | do) is a product of tables, one for each relevant variable, summed over all other variables
(Zhang & Poole 1994). Irrelevant variables are left out first: a variable that is neither queried nor given, nor an
ancestor of one that is, sums to 1 (barren nodes; Shachter 1986). An intervention removes the table of its variable
and fixes the value in the other tables (truncated factorisation; Pearl 2009, section 3.2.3).

The elimination order determines the size of the tables. Two greedy orders are computed on the graph, and the one
with fewer cells is used: smallest table first, and smallest weighted fill first, where the weight of a fill edge
is the product of its arities (Kjærulff 1990; Koller & Friedman 2009, section 9.4.3). Ties: lowest index.

References: Kjærulff 1990, "Triangulation of graphs: algorithms giving small total state space", Aalborg R-90-09.
Koller & Friedman 2009, "Probabilistic graphical models", MIT Press. Pearl 2009, "Causality", 2nd edition,
Cambridge. Shachter 1986, "Evaluating influence diagrams", Operations Research 34. Zhang & Poole 1994, "A simple
approach to Bayesian network computations", Canadian AI.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Table = tuple[tuple[int, ...], Floats]  # variables, and an array with an axis for each
Graph = dict[int, set[int]]  # for each variable, those that share a table with it

MAX_CELLS = 10**8


def joint(
    names: Sequence[str],
    parents: Sequence[Sequence[int]],
    cpts: Sequence[Floats],
    query: Sequence[int],
    do: Mapping[int, int],
    given: Mapping[int, int],
) -> Floats:
    """P(query, given | do) up to a factor, with an axis for each variable of `query` (distinct indices).

    `do` and `given` map variables to codes; `parents` and `cpts` are those of a `Network`. All zero if `given` has
    probability 0. Raises MemoryError if a table would have more than `MAX_CELLS` cells.
    """
    arities = [cpt.shape[1] for cpt in cpts]
    shape = [arities[v] for v in query]
    _check_size(math.prod(shape), "the result")
    out = np.zeros(shape)
    if any(do.get(v, code) != code for v, code in given.items()):
        return out
    constant = {v: 0 for v, arity in enumerate(arities) if arity == 1}
    fixed = {**constant, **given, **do}
    relevant = _ancestors([*query, *given], parents, stop=do)
    tables = [_table(v, parents[v], cpts[v], arities, fixed) for v in sorted(relevant) if v not in do]
    free = tuple(v for v in query if v not in fixed)
    order, sizes = _elimination_order([scope for scope, _ in tables], arities, frozenset(free))
    for v, cells in zip(order, sizes, strict=True):
        _check_size(cells, f"summing {names[v]!r} out")
    for v in order:
        using = [table for table in tables if v in table[0]]
        scope = {u for own, _ in using for u in own} - {v}
        tables = [table for table in tables if v not in table[0]]
        tables.append(_product(using, tuple(sorted(scope)), arities))
    out[tuple(fixed.get(v, slice(None)) for v in query)] = _product(tables, free, arities)[1]
    return out


def _check_size(cells: int, what: str) -> None:
    if cells > MAX_CELLS:
        raise MemoryError(
            f"{what} needs a table of {cells:.2g} cells, more than {MAX_CELLS:.0e}: query fewer variables at a "
            "time, condition on more of them, or count in a large sample of the network"
        )


def _ancestors(variables: Iterable[int], parents: Sequence[Sequence[int]], stop: Mapping[int, int]) -> set[int]:
    """The variables and all their ancestors; those in `stop` have no parents."""
    found: set[int] = set()
    todo = list(variables)
    while todo:
        if (v := todo.pop()) not in found:
            found.add(v)
            todo.extend(() if v in stop else parents[v])
    return found


# ---- tables ----


def _table(
    child: int, parents: Sequence[int], cpt: Floats, arities: Sequence[int], fixed: Mapping[int, int]
) -> Table:
    """The CPT with an axis for each variable that is not fixed."""
    family = [v for v in (*parents, child) if arities[v] > 1]  # axes of length 1 are dropped
    table = cpt.reshape([arities[v] for v in family])
    table = np.asarray(table[tuple(fixed.get(v, slice(None)) for v in family)])
    return tuple(v for v in family if v not in fixed), _scaled(table)


def _product(tables: Sequence[Table], scope: tuple[int, ...], arities: Sequence[int]) -> Table:
    """The product of the tables, smallest first, summed over all variables that are not in `scope`."""
    heap = [(table.size, k, (own, table)) for k, (own, table) in enumerate(tables)]
    heapq.heapify(heap)
    while len(heap) > 2:
        (_, k, one), (_, _, other) = heapq.heappop(heap), heapq.heappop(heap)
        union = tuple(sorted({*one[0], *other[0]}))
        heapq.heappush(heap, (math.prod(arities[v] for v in union), k, _contracted([one, other], union)))
    return _contracted([table for _, _, table in heap], scope)


def _contracted(tables: Sequence[Table], scope: tuple[int, ...]) -> Table:
    place: dict[int, int] = {}  # einsum supports 52 axes, so only those that occur are numbered
    operands: list[Any] = []
    for own, table in tables:
        operands += [table, [place.setdefault(v, len(place)) for v in own]]
    if not operands:
        return (), np.array(1.0)
    return scope, _scaled(np.asarray(np.einsum(*operands, [place[v] for v in scope])))


def _scaled(table: Floats) -> Floats:
    """A table of tiny numbers times a power of 2, so that evidence on many variables does not underflow."""
    exponent = math.frexp(table.max())[1]
    return np.ldexp(table, -exponent) if exponent < -64 else table


# ---- order ----


def _elimination_order(
    scopes: Iterable[Iterable[int]], arities: Sequence[int], keep: frozenset[int]
) -> tuple[list[int], list[int]]:
    """The order in which variables are summed out, and the number of cells of each step."""
    near: Graph = {}
    for scope in scopes:
        for v in scope:
            near.setdefault(v, set()).update(scope)
    for v, others in near.items():
        others.discard(v)

    def cells(graph: Graph, v: int) -> int:
        return math.prod([arities[u] for u in graph[v]]) * arities[v]

    def fill(graph: Graph, v: int) -> int:
        return sum(arities[a] * arities[b] for a, b in combinations(graph[v], 2) if b not in graph[a])

    plans = []
    for cost in (cells, fill):
        graph = {v: set(others) for v, others in near.items()}
        order, sizes = [], []
        for v in _greedy(graph, keep, cost):
            order.append(v)
            sizes.append(cells(graph, v))
        plans.append((order, sizes))
    return min(plans, key=lambda plan: sum(plan[1]))


def _greedy(near: Graph, keep: frozenset[int], cost: Callable[[Graph, int], int]) -> Iterator[int]:
    """Yield the variable of lowest cost, then eliminate it from `near`, until only `keep` are left."""
    costs = {v: cost(near, v) for v in near if v not in keep}
    heap = [(c, v) for v, c in costs.items()]
    heapq.heapify(heap)
    while heap:
        c, v = heapq.heappop(heap)
        if costs.get(v) != c:
            continue  # outdated; the heap has a newer entry
        yield v
        del costs[v]
        clique = near.pop(v)
        for u in clique:
            near[u] |= clique
            near[u] -= {u, v}
        for u in clique.union(*(near[u] for u in clique)):
            if u in costs and (new := cost(near, u)) != costs[u]:
                costs[u] = new
                heapq.heappush(heap, (new, u))
