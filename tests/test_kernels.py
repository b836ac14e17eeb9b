"""Each kernel against a plain twin; also run with the JIT switched off (see the Makefile)."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from brai import CITest, Dataset
from brai.graphs.adjacency import d_separated
from brai.graphs.pdag import PDAG, NoExtensionError
from brai.kernels import extension, groups, interface, orientation, resolution
from brai.kernels.groups import Known, Piece
from brai.kernels.interface import (
    CELLS,
    FULL,
    NO_RULE,
    ROUNDING,
    STRATA,
    Evidence,
    Rule,
    associations,
    family_values,
)
from brai.kinds.discrete import contingency, predictions
from brai.kinds.discrete.samples import bdeu_cells, bootstrap_sample, full_sample, log_cells, workspace
from brai.kinds.scores import FamilyScores, family_arrays
from brai.tree.draws import best_route
from brai.tree.ggt import grow
from brai.tree.rai import Learner
from conftest import random_dag, random_data

pytestmark = pytest.mark.kernels

FREE = np.ones((10, 10), np.uint8)  # nothing is known beforehand


def table(sample, variables):
    """Occupied cells of a contingency table: configuration → weighted count."""
    cells: dict[tuple[int, ...], int] = {}
    for row, weight in zip(sample.codes[list(variables)].T.tolist(), sample.weights.tolist(), strict=True):
        cells[tuple(row)] = cells.get(tuple(row), 0) + weight
    return cells or {(): int(sample.weights.sum())}


def naive_cmi(sample, x, y, z):
    """N times the plug-in conditional mutual information in nats, from its definition."""
    xyz, xz, yz, zz = (table(sample, v) for v in ((x, y, *z), (x, *z), (y, *z), z))
    return sum(n * np.log(n * zz[c[2:]] / (xz[(c[0], *c[2:])] * yz[c[1:]])) for c, n in xyz.items())


def naive_df(sample, x, y, z, kind):
    r = sample.arities
    if kind == FULL:
        return int((r[x] - 1) * (r[y] - 1) * np.prod(r[list(z)], dtype=int))
    xyz, xz, yz, zz = (set(table(sample, v)) for v in ((x, y, *z), (x, *z), (y, *z), z))
    if kind == CELLS:
        return max(0, len(xyz) + len(zz) - len(xz) - len(yz))
    return sum((sum(c[1:] == s for c in xz) - 1) * (sum(c[1:] == s for c in yz) - 1) for s in zz)


def fast(data, sample, cells, x, y, z, kind):
    """Statistic and df through `ci_test`, from critical values that reveal both."""
    big = 10_000.0
    line = Rule(np.stack([np.zeros(4), np.arange(4) * big]), kind, np.zeros((0, 0), np.uint8))
    given = np.array([*z, -1], np.int64)
    work = workspace(data, len(z) + 2)
    value, shifted = (
        contingency.ci_test(Evidence(sample, cells, line, work), x, y, given, len(z), c) for c in (0, 1)
    )
    for buffer in (work.counts, work.margins, work.scratch):
        assert not buffer.any()  # handed back as it was
    return value + ROUNDING, round((value - shifted) / big)


@pytest.mark.parametrize("arity", [2, 4, 30])
@pytest.mark.parametrize("kind", [STRATA, CELLS, FULL])
def test_statistic_and_df(rng, arity, kind):
    data = random_data(rng, 6, 60, arity)
    for sample in (full_sample(data), bootstrap_sample(data, np.random.SeedSequence(1))):
        for order in range(4):
            x, y, *z = rng.permutation(6)[: order + 2].tolist()
            value, df = fast(data, sample, log_cells(60), x, y, z, kind)
            assert value == pytest.approx(naive_cmi(sample, x, y, tuple(z)), abs=1e-8)
            assert df == naive_df(sample, x, y, tuple(z), kind)


def test_statistic_is_symmetric_and_order_of_states_and_rows_is_nothing(rng):
    data = random_data(rng, 5, 80, 5)
    sample = full_sample(data)
    codes = data.codes[:, rng.permutation(80)].copy()
    codes[0] = (data.arities[0] - 1) - codes[0]
    turned = sample._replace(codes=codes)
    a = fast(data, sample, log_cells(80), 0, 1, [2, 3], STRATA)
    assert a == fast(data, sample, log_cells(80), 1, 0, [3, 2], STRATA)  # exactly: integer sums
    assert a == fast(data, turned, log_cells(80), 0, 1, [2, 3], STRATA)


def test_bayes_factor_is_a_difference_of_bdeu_scores(rng):
    data = random_data(rng, 5, 70, 4)
    sample, cells = full_sample(data), bdeu_cells(70, 3.0)
    children, parents = np.array([0, 0]), np.array([1, 2, 3, 2, 3])
    with_y, without = family_values(
        Evidence(sample, cells, NO_RULE, workspace(data, 5)), children, parents, np.array([0, 3, 5])
    )
    value, _ = fast(data, sample, cells, 0, 1, [2, 3], STRATA)
    assert value == pytest.approx(with_y - without, abs=1e-8)


def test_associations_are_pairwise_statistics(rng):
    data = random_data(rng, 5, 50)
    cells = log_cells(50)
    rule = CITest().rule(50, bootstrap=False)
    found = np.zeros((5, 5), np.int64)
    associations(Evidence(full_sample(data), cells, rule, workspace(data, 2)), found)
    found = found / cells.scale
    for x, y in itertools.combinations(range(5), 2):
        assert found[x, y] == found[y, x] == pytest.approx(naive_cmi(full_sample(data), x, y, ()), abs=1e-8)


def test_more_table_sizes_than_slots_changes_no_value(rng):
    """Two numbers of cells that share a slot of the value table push each other out."""
    cells = bdeu_cells(100, 1.0)
    slots = len(cells.keys)
    sizes = [6.0, 6.0 + slots, 6.0 + 2 * slots]
    first = [int(contingency.cell_value(cells, contingency.value_row(cells, s), 7, s)) for s in sizes]
    again = [int(contingency.cell_value(cells, contingency.value_row(cells, s), 7, s)) for s in reversed(sizes)]
    assert first == again[::-1]
    assert len(set(first)) == 3


def test_number_of_cells_stays_a_number():
    """999 parents of 4 states have more configurations than a float can hold."""
    data = Dataset.from_codes(np.random.default_rng(0).integers(0, 4, (20, 1000)), arities=[4] * 1000)
    parents = np.arange(1, 1000)
    evidence = Evidence(full_sample(data), bdeu_cells(20, 1.0), NO_RULE, workspace(data, 1001))
    value = family_values(evidence, np.array([0]), parents, np.array([0, 999]))[0]
    assert value == pytest.approx(20 * np.log(1 / 4))  # each row alone in its configuration


@pytest.mark.parametrize("rows", [5, 20, 60])
def test_more_declared_states_than_rows(rng, rows):
    """A collider with 250 declared states and few rows: scratch memory goes by states too."""
    codes = rng.integers(0, 3, (rows, 3))
    data = Dataset.from_codes(codes, arities=[3, 3, 250])
    sample, cells, work = full_sample(data), log_cells(rows), workspace(data, 4)
    rule = Rule(np.zeros((2, 8)), STRATA, np.zeros((0, 0), np.uint8))
    adj = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], np.uint8)
    sep, pool, tally = np.zeros((3, 3), np.int32), np.zeros(4, np.int32), np.zeros(4, np.int64)
    endo, nodes = np.ones(3, np.uint8), np.arange(3)
    head = np.zeros((3, 3), np.uint8)
    free = FREE[:3, :3].copy()
    evidence, piece = Evidence(sample, cells, rule, work), Piece(nodes, endo, adj, sep, pool)
    orientation.colliders(evidence, piece, free, True, tally, 0, 3, head)
    expected = naive_cmi(sample, 0, 1, (2,)) > ROUNDING
    assert head[0, 2] == head[1, 2] == expected
    assert tally.tolist() == [0, 1, 0, 0]


def test_counts_beyond_the_kept_ones():
    cells = bdeu_cells(10_000, 1.0)
    row = contingency.value_row(cells, 4.0)
    from math import lgamma

    for n in (5, 2047, 2048, 9_999):
        exact = lgamma(n + 0.25) - lgamma(0.25)
        assert contingency.cell_value(cells, row, n, 4.0) / cells.scale == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("arity", [2, 4, 30])
def test_predictions_of_families(rng, arity):
    data = random_data(rng, 6, 90, arity)
    work, n_train, ess = workspace(data, 2), 60, 2.0
    families = [(0, ()), (1, (0, 3)), (2, (0, 1, 3, 4, 5)), (5, (4,))]
    esses = np.full(len(families), ess)
    found = predictions.family_predictions(
        data.codes, n_train, data.arities, work, *family_arrays(families), esses
    )
    for buffer in (work.counts, work.margins, work.scratch):
        assert not buffer.any()
    rows = data.codes.T.tolist()
    for (child, parents), values in zip(families, found, strict=True):
        cell = ess / float(np.prod(data.arities[[child, *parents]], dtype=float))
        for row, value in zip(rows[n_train:], values, strict=True):
            alike = [old[child] for old in rows[:n_train] if all(old[p] == row[p] for p in parents)]
            theta = (alike.count(row[child]) + cell) / (len(alike) + cell * data.arities[child])
            assert value == pytest.approx(np.log(theta), abs=1e-12)


def test_d_separated(rng):
    for _ in range(60):
        d = int(rng.integers(2, 8))
        dag = random_dag(rng, d, 0.4)
        parents = [np.flatnonzero(dag[:, v]).tolist() for v in range(d)]
        x, y, *rest = rng.permutation(d).tolist()
        given = rest[: rng.integers(0, d - 1)]
        found = interface.d_separated(dag.astype(np.uint8), x, y, np.array([*given, -1]), len(given))
        assert bool(found) == d_separated(parents, x, y, given)


def test_next_combination_runs_through_all_subsets():
    for n, m in ((0, 3), (1, 4), (2, 5), (3, 3), (4, 6)):
        chosen = np.arange(n + 1)
        found = [tuple(chosen[:n].tolist())]
        while (changed := resolution.next_combination(chosen, n, m)) >= 0:
            assert tuple(chosen[:changed].tolist()) == found[-1][:changed]
            found.append(tuple(chosen[:n].tolist()))
        assert found == list(itertools.combinations(range(m), n))


def random_pdag(rng, d):
    """Any mixed graph: no edge, one way, or both ways."""
    a = np.zeros((d, d), np.uint8)
    for i, j in itertools.combinations(range(d), 2):
        a[i, j], a[j, i] = [(0, 0), (1, 0), (0, 1), (1, 1)][rng.choice(4, p=[0.5, 0.15, 0.15, 0.2])]
    return a


def test_split_autonomous(rng):
    for _ in range(200):
        d = int(rng.integers(1, 9))
        adj = random_pdag(rng, d)
        endo = (rng.random(d) < 0.8).astype(np.uint8)
        inside = np.flatnonzero(endo).tolist()
        graph = nx.from_numpy_array(adj, create_using=nx.DiGraph).subgraph(inside)
        parts = nx.condensation(graph)
        descendants = {v for c in parts if parts.out_degree(c) == 0 for v in parts.nodes[c]["members"]}
        rest = graph.to_undirected().subgraph(set(inside) - descendants)
        ancestors = sorted(sorted(c) for c in nx.connected_components(rest))
        group, k = orientation.split(endo, adj)
        assert {v for v in range(d) if group[v] == 0} == descendants
        assert [[v for v in range(d) if group[v] == i] for i in range(1, k + 1)] == ancestors
        assert {v for v in range(d) if group[v] == -1} == set(range(d)) - set(inside)


def literal_extension(endo, adj, nodes, bounds):
    """What `extension.extension` says, node by node: costs are counted anew each time."""
    k, adj, repaired = len(endo), adj.copy(), False
    for u, v in np.ndindex(k, k):
        if adj[u, v] and bounds[nodes[u], nodes[v]] == 0 and (endo[u] or endo[v]):
            adj[u, v] = 0
            if not adj[v, u]:
                repaired, adj[v, u] = True, endo[u] and endo[v]
    here, dag = set(range(k)), np.zeros((k, k), np.uint8)
    joined = (adj | adj.T).astype(bool)

    def cost(v):
        dropped = turned = new = 0
        for u in here:
            if adj[v, u]:
                if bounds[nodes[v], nodes[u]] == 2:
                    dropped += k * k
                elif bounds[nodes[u], nodes[v]] == 0:
                    dropped += 1
                elif not adj[u, v]:
                    turned += 1
                else:
                    new += sum(joined[v, w] and w != u and not joined[w, u] for w in here)
        return dropped, turned, new

    while inside := [v for v in sorted(here) if endo[v]]:
        best = min(inside, key=cost)
        repaired |= cost(best) > (0, 0, 0)
        here.discard(best)
        for u in here:
            dag[u, best] = joined[u, best] and bounds[nodes[u], nodes[best]] > 0
    return dag, repaired


def test_extension_is_what_it_says(rng):
    """Also where no DAG extends the graph, with X_ex, and with edges that are forbidden or required."""
    outcomes = set()
    for k in (*[1, 2, 3, 5, 8, 12] * 25, 70):
        adj, endo = random_pdag(rng, k), (rng.random(k) < 0.8).astype(np.uint8)
        adj[np.ix_(endo == 1, endo == 0)] = 0
        nodes = np.sort(rng.choice(k + 3, k, replace=False))
        bounds = np.ones((k + 3, k + 3), np.uint8)
        if rng.random() < 0.5:
            bounds[rng.random(bounds.shape) < 0.2] = 0
            order = rng.permutation(k + 3)
            must = np.triu(rng.random(bounds.shape) < 0.1, 1)[np.ix_(order, order)]
            bounds[must], bounds[must.T] = 2, 0
        dag, repaired = extension.extension(endo, adj, nodes, bounds)
        expected, was_repaired = literal_extension(endo, adj, nodes, bounds)
        assert np.array_equal(dag, expected)
        assert repaired == was_repaired
        outcomes.add((repaired, bool((bounds == 2).any())))
    assert len(outcomes) == 4


def test_extension_is_dor_and_tarsi_where_a_dag_extends_the_graph(rng):
    found = 0
    for _ in range(300):
        d = int(rng.integers(1, 8))
        adj = random_pdag(rng, d)
        pdag = PDAG(tuple(map(str, range(d))), adj.astype(np.int8))
        dag, repaired = extension.extension(np.ones(d, np.uint8), adj, np.arange(d), FREE)
        result = PDAG(pdag.names, dag.astype(np.int8))
        assert result.is_dag()
        assert np.array_equal(result.skeleton(), pdag.skeleton())
        try:
            pdag.to_dag()
        except NoExtensionError:
            assert repaired
        else:
            assert not repaired
            assert result.v_structures() == pdag.v_structures()
            assert (dag[(adj == 1) & (adj.T == 0)] == 1).all()
            found += 1
    assert 50 < found < 290  # both kinds occur


def test_synchronous_meek_equals_the_sequential_one_on_classes(rng):
    """On the pattern of a DAG (skeleton and v-structures) both give its CPDAG."""
    for _ in range(100):
        d = int(rng.integers(2, 9))
        dag = random_dag(rng, d, 0.5).astype(np.uint8)
        names = tuple(map(str, range(d)))
        cpdag = PDAG(names, dag.astype(np.int8)).to_cpdag()
        head = np.zeros((d, d), np.uint8)
        for a, c, b in PDAG(names, dag.astype(np.int8)).v_structures():
            head[int(a), int(c)] = head[int(b), int(c)] = 1
        adj = dag | dag.T
        sep, pool, nodes = np.zeros((d, d), np.int32), np.zeros(1, np.int32), np.arange(d)
        near = groups.neighbours(adj)
        piece = Piece(nodes, np.ones(d, np.uint8), adj, sep, pool)
        orientation.meek(piece, Known(FREE, FREE, False), *near, head)
        assert np.array_equal((adj == 1) & ~((head.T == 1) & (head == 0)), cpdag.adjacency == 1)


@pytest.mark.parametrize("case", range(12))
def test_odd_data_stays_inside_the_scratch_memory(case):
    """With the JIT off an index out of bounds is an error; with it on the scores must still add up."""
    rng = np.random.default_rng(case)
    rows, d = int(rng.integers(1, 40)), int(rng.integers(1, 6))
    arities = rng.choice([1, 2, 5, 60, 250], d)
    seen = np.minimum(arities, rng.choice([1, 3, 250], d))
    data = Dataset.from_codes(rng.integers(0, seen, (rows, d)), arities=arities.tolist())
    for name in ("cmi-c1", "bayes-factor"):
        test = CITest(name, threshold=0.5 if name == "cmi-c1" else None, correction=False)
        scores = FamilyScores(data)
        tree = grow(Learner(data, test), scores, 2, np.random.SeedSequence(case))
        draw = best_route(tree)
        assert draw.log_score == pytest.approx(scores.total(draw.families), abs=1e-9)
