"""All DAGs of a few nodes, their Markov equivalence classes and features, by definition; arrays of graphs.

An array of graphs is (number, d, d) of bool, ``graphs[g, i, j]``: i → j in graph g. Equivalent are DAGs with one
skeleton and one set of v-structures (Verma & Pearl 1990).
"""

from functools import cache
from itertools import combinations, permutations, product
from math import factorial

import numpy as np

import naive


def acyclic(graphs):
    """Whether taking sinks away again and again leaves nothing."""
    left = np.ones(graphs.shape[:2], bool)
    for _ in range(graphs.shape[1]):
        left &= (graphs & left[:, None, :]).any(axis=2)
    return ~left.any(axis=1)


def keys(graphs):
    """Skeleton and v-structures of each graph, as one row of bytes."""
    d = graphs.shape[1]
    skeleton = graphs | graphs.transpose(0, 2, 1)
    found = [skeleton[:, i, j] for i, j in combinations(range(d), 2)]
    for k in range(d):
        for i, j in combinations([v for v in range(d) if v != k], 2):
            found.append(graphs[:, i, k] & graphs[:, j, k] & ~skeleton[:, i, j])
    return np.packbits(np.array(found).reshape(len(found), len(graphs)).T, axis=1)


@cache
def all_dags(d):
    """Every DAG: each pair without an edge, → or ←, and no cycle."""
    pairs = list(combinations(range(d), 2))
    kinds = np.array(list(product(range(3), repeat=len(pairs))), np.int8)
    graphs = np.zeros((len(kinds), d, d), bool)
    for at, (i, j) in enumerate(pairs):
        graphs[:, i, j] = kinds[:, at] == 1
        graphs[:, j, i] = kinds[:, at] == 2
    graphs = graphs[acyclic(graphs)]
    graphs.setflags(write=False)
    return graphs


@cache
def class_of(d):
    """For each DAG of `all_dags` the number of its class, 0, 1, 2, …"""
    return np.unique(keys(all_dags(d)), axis=0, return_inverse=True)[1].ravel()


def members(d):
    """The DAGs of each class."""
    order = np.argsort(class_of(d), kind="stable")
    return np.split(all_dags(d)[order], np.cumsum(np.bincount(class_of(d)))[:-1])


def equivalent(dag):
    """Every DAG that is equivalent to this one: all ways to direct its skeleton, and those of its key kept."""
    dag = np.asarray(dag, bool)
    d, edges = len(dag), np.argwhere(np.triu(dag | dag.T))
    if 2 ** len(edges) <= factorial(d):
        forward = np.array(list(product((True, False), repeat=len(edges))), bool)
    else:  # every DAG follows some order of the nodes
        at = np.argsort(np.array(list(permutations(range(d)))), axis=1)
        forward = np.unique(at[:, edges[:, 0]] < at[:, edges[:, 1]], axis=0)
    graphs = np.zeros((len(forward), d, d), bool)
    for e, (i, j) in enumerate(edges):
        graphs[:, i, j] = forward[:, e]
        graphs[:, j, i] = ~forward[:, e]
    graphs = graphs[(keys(graphs) == keys(dag[None])).all(axis=1)]
    return graphs[acyclic(graphs)]


def paths(graphs):
    """Whether a directed path leads from i to j."""
    reached = graphs.copy()
    for k in range(graphs.shape[1]):
        reached |= reached[:, :, k, None] & reached[:, None, k, :]
    return reached


def blankets(graphs):
    """Whether i is in the Markov blanket of j: adjacent, or parents of one child."""
    common = (graphs[:, :, None, :] & graphs[:, None, :, :]).any(axis=3)
    return (graphs | graphs.transpose(0, 2, 1) | common) & ~np.eye(graphs.shape[1], dtype=bool)


def family_list(dag):
    """(child, parents) of each node."""
    return [(v, tuple(np.flatnonzero(dag[:, v]).tolist())) for v in range(len(dag))]


def rows_of(data):
    """The data of a Dataset as `naive` takes it."""
    return naive.Data(data.codes.T.tolist(), data.arities.tolist())


def bdeu_scores(graphs, data, ess):
    """BDeu score of each DAG, from the family scores of `naive`."""
    d, plain = graphs.shape[1], rows_of(data)
    total = np.zeros(len(graphs))
    for v in range(d):
        of_parents = graphs[:, :, v] @ (1 << np.arange(d))
        score = {
            mask: naive.bdeu(plain, v, tuple(u for u in range(d) if mask >> u & 1), ess)
            for mask in np.unique(of_parents).tolist()
        }
        total += [score[mask] for mask in of_parents.tolist()]
    return total


def weights(scores, classes, prior):
    """P(DAG | data) over all DAGs scored: the same prior for each DAG, or for each class and within it."""
    w = np.exp(scores - scores.max())
    if prior == "classes":
        w /= np.bincount(classes)[classes]
    return w / w.sum()
