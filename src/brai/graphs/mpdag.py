"""The DAGs of a Markov equivalence class that satisfy background knowledge.

The DAGs of a Markov equivalence class share their skeleton, so knowledge reduces to the directions of some edges.
Once these are directed, Meek's rules R1–R4 (1995) direct what follows from them. The result is a maximally
oriented PDAG (MPDAG): each of its undirected edges can take either direction in a DAG that satisfies the
knowledge. Counting its DAGs is hard in general (Wienöbst, Bannach & Liśkiewicz 2023). So a posterior with
knowledge is over DAGs: a `Posterior` whose graphs are DAGs instead of classes.

References: Knuth 1975, "Estimating the efficiency of backtrack programs", Mathematics of Computation 29. Meek
1995, "Causal inference and causal explanation with background knowledge", UAI. Wienöbst, Bannach & Liśkiewicz
2023, "Polynomial-time algorithms for counting and sampling Markov equivalent DAGs with applications", JMLR 24.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from brai.graphs.adjacency import Adjacency, bits, masks, meek
from brai.graphs.beliefs import KnowledgeError
from brai.graphs.knowledge import Knowledge, directed
from brai.graphs.pdag import PDAG

MOST = 4096  # approximate number of DAGs in the posterior of several classes
LEAST = 16  # DAGs that are listed of each class in any case


def restricted(cpdag: PDAG, known: Knowledge) -> PDAG:
    """The CPDAG with those edges directed whose direction all its DAGs that satisfy the knowledge share.

    KnowledgeError if none of its DAGs satisfies the knowledge.
    """
    edges = directed(cpdag, known.bound(cpdag.names))
    if edges is None:
        raise KnowledgeError("no DAG of the class satisfies the knowledge: check with `Knowledge.admits` first")
    return PDAG(cpdag.names, _closed(edges))


def _closed(edges: Adjacency) -> Adjacency:
    """The closure under R1–R4. R4: x – y becomes x → y if x – w → v → y, x and v are adjacent, w and y are not."""
    while True:
        edges = meek(edges)
        pa, _, ne, near = masks(edges)
        found = next(
            (
                (x, y)
                for x in range(len(pa))
                for y in bits(ne[x])
                if any(pa[v] & ne[x] & ~near[y] & ~(1 << y) for v in bits(pa[y] & near[x]))
            ),
            None,
        )
        if found is None:
            return edges
        edges[found[1], found[0]] = 0


def _ways(edges: Adjacency) -> tuple[Adjacency, Adjacency] | None:
    """The two graphs with the first undirected edge directed either way; None if there is none."""
    undirected = np.argwhere(edges & edges.T)
    if not len(undirected):
        return None
    (i, j), one, other = undirected[0], edges.copy(), edges.copy()
    one[j, i] = other[i, j] = 0
    return _closed(one), _closed(other)


def _listed(edges: Adjacency) -> Iterator[Adjacency]:
    """Every DAG of a closed graph."""
    ways = _ways(edges)
    if ways is None:
        yield edges
    else:
        for way in ways:
            yield from _listed(way)


def obeying_dags(graph: PDAG, limit: int, rng: np.random.Generator) -> tuple[list[PDAG], NDArray[np.float64]]:
    """DAGs of a `restricted` graph and their weights: all of them with weight 1, or ``limit`` weighted draws.

    A draw directs edge after edge by a fair coin. After k tosses its probability is 2^-k, so its importance weight
    is 2^k / limit (Knuth 1975). Weighted sums over draws are unbiased estimates of sums over all DAGs.
    """
    found: list[PDAG] = []
    for edges in _listed(graph.adjacency):
        if len(found) == limit:
            break
        found.append(PDAG(graph.names, edges))
    else:
        return found, np.ones(len(found))
    drawn: Counter[PDAG] = Counter()
    for _ in range(limit):
        edges, tosses = graph.adjacency, 0
        while (ways := _ways(edges)) is not None:
            edges, tosses = ways[rng.integers(2)], tosses + 1
        drawn[PDAG(graph.names, edges)] += 2**tosses
    return list(drawn), np.array(list(drawn.values()), float) / limit
