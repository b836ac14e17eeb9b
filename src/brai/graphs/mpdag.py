"""The DAGs of a Markov equivalence class that obey what is known.

The DAGs of a Markov equivalence class have one skeleton, so knowledge comes down to the directions of some of its
edges. Once these are directed, Meek's rules R1–R4 (1995) direct what follows from them, and each edge that is
still undirected can go both ways in a DAG that obeys (a maximally oriented PDAG, MPDAG). To count its DAGs is
hard in general (Wienöbst, Bannach & Liśkiewicz 2023), so a posterior under knowledge is one over DAGs: a
`Posterior` whose graphs are DAGs, each a class of its own.

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
from brai.graphs.knowledge import Knowledge, KnowledgeError, directed
from brai.graphs.pdag import PDAG

MOST = 4096  # DAGs that the posterior of several classes holds, about
LEAST = 16  # DAGs of a class that are listed in any case


def restricted(cpdag: PDAG, known: Knowledge) -> PDAG:
    """The CPDAG with the edges directed that are so in all of its DAGs that obey; some DAG must."""
    edges = directed(cpdag, known.bound(cpdag.names))
    if edges is None:
        raise KnowledgeError("no DAG of the class obeys what is known: ask `Knowledge.admits` first")
    return PDAG(cpdag.names, _closed(edges))


def _closed(edges: Adjacency) -> Adjacency:
    """Closed under R1–R4. R4: x – y becomes x → y if x – w → v → y, x and v are adjacent, w and y are not."""
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
    """The graph with its first undirected edge directed one way and the other; None if there is none."""
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
    """DAGs of a `restricted` graph and of how many each stands: all of them, 1 each, or ``limit`` draws.

    A draw directs one edge after the other by the toss of a coin. With k tosses it comes by a chance of 2^-k and
    stands for 2^k / limit DAGs (Knuth 1975), so sums over draws are right on average.
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
