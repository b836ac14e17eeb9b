"""PDAG and its algorithms against all graphs of up to four nodes, literal twins and networkx."""

import copy
import doctest
import itertools
import pickle
import re
import sys
import tracemalloc
from collections import defaultdict
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brai.graphs
from brai.graphs.adjacency import d_separated, dag_to_cpdag, markov_equivalent, meek, topological_order
from brai.graphs.pdag import PDAG, NoExtensionError
from brai.runtime import memory

LETTERS = "abcdefghijklmnopqrstuvwxyz"

# ---------------------------------------------------------------- oracles, written from the definitions


def mixed_graphs(d):
    """All 4^(d choose 2) graphs: each pair without an edge, →, ← or –."""
    pairs = list(itertools.combinations(range(d), 2))
    for kinds in itertools.product(((0, 0), (1, 0), (0, 1), (1, 1)), repeat=len(pairs)):
        a = np.zeros((d, d), dtype=np.int8)
        for (i, j), kind in zip(pairs, kinds, strict=True):
            a[i, j], a[j, i] = kind
        yield a


def acyclic(a):
    """A directed graph is acyclic iff its adjacency matrix is nilpotent."""
    return not np.linalg.matrix_power(a.astype(np.int64), len(a)).any() if len(a) else True


def naive_v_structures(a):
    d = range(len(a))
    arrow = (a == 1) & (a.T == 0)
    return frozenset(
        (i, k, j)
        for i, j, k in itertools.product(d, d, d)
        if i < j and arrow[i, k] and arrow[j, k] and not a[i, j] and not a[j, i]
    )


def class_key(a):
    return (a | a.T).tobytes(), naive_v_structures(a)


@cache
def classes(d):
    """Every DAG of d nodes, by (skeleton, v-structures): the Markov equivalence classes."""
    found = defaultdict(list)
    for a in mixed_graphs(d):
        if not (a & a.T).any() and acyclic(a):
            found[class_key(a)].append(a)
    return dict(found)


def union(members):
    """The CPDAG by its definition: directed where all members agree."""
    return np.bitwise_or.reduce(members)


def naive_rule(a, x, y):
    """Which of Meek's rules turns x – y into x → y, by their text; 0 for none."""
    nodes = [w for w in range(len(a)) if w not in (x, y)]

    def arrow(i, j):
        return a[i, j] and not a[j, i]

    def line(i, j):
        return a[i, j] and a[j, i]

    def apart(i, j):
        return not a[i, j] and not a[j, i]

    if any(arrow(w, x) and apart(w, y) for w in nodes):
        return 1
    if any(arrow(x, w) and arrow(w, y) for w in nodes):
        return 2
    for v, w in itertools.combinations(nodes, 2):
        if line(x, v) and line(x, w) and arrow(v, y) and arrow(w, y) and apart(v, w):
            return 3
    return 0


def naive_meek(a):
    a, used = a.copy(), []
    while True:
        for x, y in itertools.permutations(range(len(a)), 2):
            if a[x, y] and a[y, x] and (rule := naive_rule(a, x, y)):
                a[y, x] = 0
                used.append(rule)
                break
        else:
            return a, used


def by_meek(dag):
    """The CPDAG the other way: skeleton, v-structures, Meek's rules."""
    a = dag | dag.T
    for i, k, j in naive_v_structures(dag):
        a[k, i] = a[k, j] = 0
    return meek(a)


def random_dag(rng, d, density):
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < density, 1)[np.ix_(order, order)].astype(np.int8)


def graph(a):
    return PDAG(tuple(LETTERS[: len(a)]), a)


@st.composite
def dags(draw, most=12):
    d = draw(st.integers(0, most))
    a = np.zeros((d, d), dtype=np.int8)
    order = draw(st.permutations(range(d)))
    pairs = list(itertools.combinations(order, 2))
    for (i, j), edge in zip(
        pairs, draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs))), strict=True
    ):
        a[i, j] = edge
    return graph(a)


@st.composite
def pdags(draw, most=7):
    d = draw(st.integers(0, most))
    a = np.zeros((d, d), dtype=np.int8)
    for i, j in itertools.combinations(range(d), 2):
        a[i, j], a[j, i] = draw(st.sampled_from(((0, 0), (1, 0), (0, 1), (1, 1))))
    return graph(a)


# ---------------------------------------------------------------- all graphs of up to four nodes


@pytest.mark.parametrize(("d", "n_dags", "n_classes"), [(1, 1, 1), (2, 3, 2), (3, 25, 11), (4, 543, 185)])
def test_completion_of_every_dag(d, n_dags, n_classes):
    assert sum(map(len, classes(d).values())) == n_dags  # counts as in Robinson 1977
    assert len(classes(d)) == n_classes  # counts as in Gillispie & Perlman 2002
    completed = set()
    for members in classes(d).values():
        want = union(members)
        completed.add(want.tobytes())
        for dag in members:
            got = dag_to_cpdag(dag)
            assert got.dtype == np.int8
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(by_meek(dag), want)
            assert graph(dag).to_cpdag() == graph(want)
    assert len(completed) == n_classes


@pytest.mark.parametrize("d", [0, 1, 2, 3, 4])
def test_every_mixed_graph(d):
    """is_dag, is_cpdag, v-structures, extension and Meek's rules on all 4^6 graphs of four nodes."""
    of_class = classes(d)
    cpdags = {union(members).tobytes() for members in of_class.values()}
    n_cpdags = n_extended = 0
    for a in mixed_graphs(d):
        g = graph(a)
        assert g.is_dag() == (not (a & a.T).any() and acyclic(a))
        assert g.is_cpdag() == (a.tobytes() in cpdags)
        n_cpdags += g.is_cpdag()
        assert g.v_structures() == {tuple(LETTERS[i] for i in v) for v in naive_v_structures(a)}
        np.testing.assert_array_equal(meek(a), naive_meek(a)[0])

        arrows = a & (1 - a.T)
        extensions = [dag for dag in of_class.get(class_key(a), []) if (dag >= arrows).all()]
        if extensions:
            n_extended += 1
            assert any(np.array_equal(g.to_dag().adjacency, dag) for dag in extensions)
            np.testing.assert_array_equal(
                g.to_cpdag().adjacency, union(of_class[class_key(a)])
            )  # all extensions are of one class
        else:
            with pytest.raises(NoExtensionError, match="no DAG extends"):
                g.to_dag()
            with pytest.raises(NoExtensionError):
                g.to_cpdag()
    assert n_cpdags == len(cpdags)
    if d == 4:
        assert 543 < n_extended < 4096


def test_extension_lies_in_the_class():
    for members in classes(4).values():
        dag = graph(union(members)).to_dag().adjacency
        assert any(np.array_equal(dag, m) for m in members)


def test_markov_equivalent_on_all_pairs_of_three_nodes():
    everything = [(key, dag) for key, members in classes(3).items() for dag in members]
    for (key, a), (other, b) in itertools.product(everything, everything):
        assert markov_equivalent(a, b) == (key == other)
    for members in classes(4).values():
        assert all(markov_equivalent(members[0], m) and markov_equivalent(union(members), m) for m in members)


def test_blanket_and_moral_graph_are_those_of_every_member():
    for members in classes(4).values():
        c = graph(union(members))
        for dag in members:
            g = graph(dag)
            moral = nx.to_numpy_array(nx.moral_graph(nx.DiGraph(dag)), nodelist=range(4)) > 0
            for h in (c, g):
                assert h.moral().dtype == bool
                np.testing.assert_array_equal(h.moral(), moral)
                for i, name in enumerate(h.names):
                    assert h.markov_blanket(name) == tuple(h.names[j] for j in np.flatnonzero(moral[i]))


# ---------------------------------------------------------------- Meek's rules, one by one

RULES = {  # the smallest graph that needs the rule, and the edge it orients
    1: ([("a", "b")], [("b", "c")], ("b", "c")),
    2: ([("a", "b"), ("b", "c")], [("a", "c")], ("a", "c")),
    3: ([("c", "b"), ("d", "b")], [("a", "b"), ("a", "c"), ("a", "d")], ("a", "b")),
}


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_meek_rule(rule, flip):
    directed, undirected, turned = RULES[rule]
    names = sorted({n for e in directed + undirected for n in e}, reverse=flip)
    before = PDAG.from_edges(names, directed, undirected)
    after, used = naive_meek(before.adjacency)
    assert used == [rule]  # this rule alone, once
    want = PDAG.from_edges(names, [*directed, turned], [e for e in undirected if e != turned])
    np.testing.assert_array_equal(meek(before.adjacency), want.adjacency)
    np.testing.assert_array_equal(after, want.adjacency)


def test_meek_leaves_what_no_rule_orients():
    for directed, undirected in [
        ((), ("ab", "bc", "ca")),
        (("ab",), ("bc", "ca")),  # w → x – y, but w and y adjacent
        (("cb", "db", "cd"), ("ab", "ac", "ad")),  # R3 but v and w adjacent
    ]:
        g = PDAG.from_edges("abcd", directed, undirected)
        np.testing.assert_array_equal(meek(g.adjacency), g.adjacency)


def test_contradicting_rules_are_settled_by_lowest_index():
    # a → b – c ← d: R1 orients both b → c and c → b; (b, c) comes first
    g = PDAG.from_edges("abcd", ["ab", "dc"], ["bc"])
    assert PDAG(g.names, meek(g.adjacency)).directed_edges() == [("a", "b"), ("b", "c"), ("d", "c")]


def test_rules_are_closed_even_where_they_contradict():
    # e → b – c ← d: R1 orients b → c (first) or c → b; then R3 orients a → c
    g = PDAG.from_edges("abcde", ["eb", "dc"], ["bc", "ab", "ac", "ad", "ae"])
    assert naive_meek(g.adjacency)[1] == [1, 3]
    np.testing.assert_array_equal(meek(g.adjacency), naive_meek(g.adjacency)[0])


def test_meek_works_on_from_each_edge_it_orients():
    # a chain is oriented from its end, whichever way the indices run
    d = 60
    for step in (1, -1):
        order = list(range(d))[::step]
        a = np.zeros((d, d), dtype=np.int8)
        for i, j in itertools.pairwise(order):
            a[i, j] = a[j, i] = 1
        a[order[1], order[0]] = 0
        got = meek(a)
        assert (got & got.T).sum() == 0
        assert topological_order(got) == order


@settings(max_examples=300, deadline=None)
@given(pdags())
def test_meek_is_its_literal_twin(g):
    closed = meek(g.adjacency)
    np.testing.assert_array_equal(closed, naive_meek(g.adjacency)[0])
    np.testing.assert_array_equal(meek(closed), closed)


# ---------------------------------------------------------------- random DAGs


@settings(max_examples=200, deadline=None)
@given(dags(), st.randoms(use_true_random=False))
def test_completion_and_extension_are_inverse(g, rng):
    c = g.to_cpdag()
    assert c.is_cpdag()
    assert g.is_dag()
    dag = c.to_dag()
    assert dag.is_dag()
    assert dag.to_cpdag() == c == c.to_cpdag()
    assert markov_equivalent(dag.adjacency, g.adjacency)
    assert dag.v_structures() == c.v_structures() == g.v_structures()
    np.testing.assert_array_equal(c.adjacency, by_meek(g.adjacency))
    other = list(g.names)
    rng.shuffle(other)
    assert g.reorder(other).to_cpdag() == c.reorder(other)  # the order of columns changes nothing


@settings(max_examples=100, deadline=None)
@given(dags())
def test_topological_order_is_the_lowest_of_all(g):
    want = list(nx.lexicographical_topological_sort(nx.DiGraph(g.adjacency))) if g.names else []
    assert topological_order(g.adjacency) == want


def test_a_large_sparse_graph():
    rng = np.random.default_rng(5)
    a = random_dag(rng, 724, 0.004)
    g = PDAG(tuple(f"x{i}" for i in range(724)), a)
    c = g.to_cpdag()
    np.testing.assert_array_equal(c.adjacency, by_meek_fast(a))
    assert c.is_cpdag()
    assert g.n_edges == c.n_edges == a.sum()


def by_meek_fast(dag):
    """by_meek for many nodes: v-structures from the lists of parents."""
    skeleton = dag | dag.T
    a = skeleton.copy()
    for k in range(len(dag)):
        for i, j in itertools.combinations(np.flatnonzero(dag[:, k]), 2):
            if not skeleton[i, j]:
                a[k, i] = a[k, j] = 0
    return meek(a)


def test_extension_takes_the_lowest_sink_first():
    g = PDAG.from_edges("abc", undirected=["ab", "bc", "ac"])
    assert g.to_dag().directed_edges() == [("b", "a"), ("c", "a"), ("c", "b")]


# ---------------------------------------------------------------- d-separation


def test_d_separation_is_that_of_networkx():
    rng, answers = np.random.default_rng(1), defaultdict(int)
    for _ in range(400):
        d = int(rng.integers(2, 9))
        a = random_dag(rng, d, rng.uniform(0.1, 0.6))
        parents = [np.flatnonzero(a[:, i]).tolist() for i in range(d)]
        theirs = nx.DiGraph(a)
        for _ in range(4):
            x, y, *rest = rng.permutation(d).tolist()
            z = rest[: rng.integers(0, len(rest) + 1)]
            got = d_separated(parents, x, y, z)
            assert got == nx.is_d_separator(theirs, {x}, {y}, set(z)) == d_separated(parents, y, x, iter(z))
            answers[got] += 1
    assert min(answers[True], answers[False]) > 300


def test_d_separation_of_the_textbook_triples():
    chain, fork, collider = [[], [0], [1]], [[1], [], [1]], [[], [0, 2], []]
    for parents in (chain, fork):
        assert not d_separated(parents, 0, 2, [])
        assert d_separated(parents, 0, 2, [1])
    assert d_separated(collider, 0, 2, [])
    assert not d_separated(collider, 0, 2, [1])
    assert not d_separated([*collider, [1]], 0, 2, [3])  # a descendant of the collider opens it


@pytest.mark.parametrize(
    ("x", "y", "z", "message"),
    [
        (0, 0, [], "overlap"),
        (0, 1, [1], r"given = \[1\] overlap"),
        (0, 3, [], "node 3"),
        (0, 1, [-1], "node -1"),
    ],
)
def test_d_separation_refuses(x, y, z, message):
    with pytest.raises(ValueError, match=message):
        d_separated([[], [0], [1]], x, y, z)


# ---------------------------------------------------------------- the class


def example():
    return PDAG.from_edges("abcde", directed=[("a", "c"), ("b", "c"), ("c", "d")], undirected=[("e", "b")])


def test_the_parts_of_a_graph():
    g = example()
    assert g.adjacency.dtype == np.int8
    assert g.adjacency[0, 2] == 1
    assert g.adjacency[2, 0] == 0
    assert g.directed_edges() == [("a", "c"), ("b", "c"), ("c", "d")]
    assert g.undirected_edges() == [("b", "e")]
    assert g.n_edges == 4
    assert g.parents("c") == ("a", "b")
    assert g.children("c") == ("d",)
    assert g.neighbors("b") == ("e",)
    assert g.adjacent("c") == ("a", "b", "d")
    assert g.adjacent("b") == ("c", "e")
    assert g.markov_blanket("a") == ("b", "c")
    assert g.v_structures() == {("a", "c", "b")}
    assert g.is_cpdag()
    assert not g.is_dag()
    assert str(g) == "a -> c\nb -> c\nc -> d\nb -- e"
    assert repr(g) == "<PDAG: 5 nodes, 3 directed and 1 undirected edges>"
    assert str(PDAG.from_edges("ab")) == "(no edges)"
    assert PDAG.from_parents("abc", [[], [0], [0, 1]]).directed_edges() == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    np.testing.assert_array_equal(g.skeleton(), (g.adjacency + g.adjacency.T) > 0)


def test_repeated_edges_are_one():
    assert PDAG.from_edges("ab", ["ab", "ab"]).n_edges == 1
    assert PDAG.from_edges("ab", (), ["ab", "ba"]).undirected_edges() == [("a", "b")]


def test_equality_and_hash_are_by_value():
    g, same = example(), example()
    assert g == same
    assert hash(g) == hash(same)
    assert len({g, same, g.to_dag()}) == 2
    assert g != PDAG(tuple("edcba"), g.adjacency)
    assert g != g.reorder("edcba")
    assert g.reorder("edcba").reorder("abcde") == g
    assert g != "a -> c"


def test_nothing_mutable_gets_out():
    mine = np.array([[0, 1], [0, 0]])
    g = PDAG(["a", "b"], mine)
    mine[1, 0] = 1
    assert g.directed_edges() == [("a", "b")]
    assert g.names == ("a", "b")
    for h in (g, pickle.loads(pickle.dumps(g)), copy.deepcopy(g), copy.copy(g), g.to_dag(), g.to_cpdag()):
        with pytest.raises(ValueError, match="read-only"):
            h.adjacency[1, 0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            h.adjacency.setflags(write=True)
        with pytest.raises(AttributeError):
            h.names = ("x", "y")
    assert pickle.loads(pickle.dumps(g)) == g
    g.skeleton()[:] = True
    g.moral()[:] = True
    g.directed_edges().clear()
    g.v_structures().add(("a", "b", "c"))
    assert g == PDAG.from_edges("ab", ["ab"])
    assert g.moral().sum() == 2


def test_functions_leave_their_argument_alone():
    a = random_dag(np.random.default_rng(0), 6, 0.5)
    before = a.copy()
    for f in (dag_to_cpdag, meek, topological_order):
        f(a)
        np.testing.assert_array_equal(a, before)
    assert dag_to_cpdag([[0, 1], [0, 0]]).tolist() == [[0, 1], [1, 0]]  # array-likes do
    for kind in (bool, float, np.int64, np.uint8):
        np.testing.assert_array_equal(dag_to_cpdag(a.astype(kind)), dag_to_cpdag(a))
    np.testing.assert_array_equal(dag_to_cpdag(np.asfortranarray(a)), dag_to_cpdag(a))


@settings(max_examples=200, deadline=None)
@given(pdags(), st.data())
def test_shd(g, data):
    def another():
        a = np.zeros_like(g.adjacency)
        for i, j in itertools.combinations(range(len(a)), 2):
            a[i, j], a[j, i] = data.draw(st.sampled_from(((0, 0), (1, 0), (0, 1), (1, 1))))
        return graph(a)

    h, k = another(), another()
    pairs = list(itertools.combinations(range(len(g.names)), 2))
    want = sum((g.adjacency[i, j], g.adjacency[j, i]) != (h.adjacency[i, j], h.adjacency[j, i]) for i, j in pairs)
    assert g.shd(h) == h.shd(g) == want
    assert (g.shd(h) == 0) == (g == h)
    assert g.shd(g) == 0
    assert g.shd(k) <= g.shd(h) + h.shd(k)
    order = data.draw(st.permutations(h.names))
    assert g.shd(h.reorder(order)) == want


def test_shd_by_hand():
    g = PDAG.from_edges("abcde", ["ab", "bc", "cd"], ["de"])
    h = PDAG.from_edges("edcba", ["ba", "ce", "ed"], ["bc"])  # turned, undirected, missing, directed, extra
    assert g.shd(h) == 5
    assert g.shd(PDAG.from_edges("abcde")) == g.n_edges == 4


# ---------------------------------------------------------------- exchange


@settings(max_examples=50, deadline=None)
@given(pdags())
def test_networkx_round_trip(g):
    theirs = g.to_networkx()
    assert type(theirs) is nx.DiGraph
    assert list(theirs) == list(g.names)
    assert theirs.number_of_edges() == g.adjacency.sum()
    assert PDAG.from_networkx(theirs) == g


def test_an_undirected_networkx_graph():
    assert PDAG.from_networkx(nx.path_graph(["x", "y", "z"])).undirected_edges() == [("x", "y"), ("y", "z")]
    with pytest.raises(ValueError, match="node name 0 is int"):
        PDAG.from_networkx(nx.path_graph(3))


def test_without_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'brai[networkx]'")):
        example().to_networkx()


def read_dot(text):
    """Names and edges of to_dot's output, each statement one line of quoted strings."""
    lines = text.split("\n")
    assert (lines[0], lines[-2], lines[-1]) == ("digraph {", "}", "")
    quoted = r'"((?:[^"\\\n]|\\["\\n])*)"'
    undo = {'\\"': '"', "\\\\": "\\", "\\n": "\n"}
    names, edges = [], []
    for line in lines[1:-2]:
        found = re.fullmatch(rf"  {quoted}(?: -> {quoted}( \[dir=none\])?)?;", line)
        assert found, line
        a, b = (t if t is None else re.sub(r"\\.", lambda m: undo[m[0]], t) for t in found.groups()[:2])
        names.append(a) if b is None else edges.append((a, b, bool(found[3])))
    return names, edges


def test_dot_of_the_example():
    assert PDAG.from_edges("abc", ["ba"], ["ca"]).to_dot() == (
        'digraph {\n  "a";\n  "b";\n  "c";\n  "b" -> "a";\n  "a" -> "c" [dir=none];\n}\n'
    )


odd_names = st.text(alphabet='ab"\\\n;{}->[]= é%', max_size=6)


@settings(max_examples=200, deadline=None)
@given(st.lists(odd_names, unique=True, max_size=6), st.data())
def test_dot_keeps_odd_names(names, data):
    directed, undirected = [], []
    for pair in itertools.combinations(names, 2):
        data.draw(st.sampled_from((directed, undirected, []))).append(pair)
    g = PDAG.from_edges(names, directed, undirected)
    got, edges = read_dot(g.to_dot())
    assert got == names
    assert edges == [(*e, False) for e in g.directed_edges()] + [(*e, True) for e in g.undirected_edges()]
    assert {e[:2] for e in edges} == set(directed + undirected)


# ---------------------------------------------------------------- refusals: the value and the cure


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PDAG(("a",), np.zeros((1, 2))), r"shape \(1, 2\): give a square"),
        (lambda: PDAG(("a", "b"), np.zeros(2)), r"shape \(2,\)"),
        (lambda: PDAG(("a", "b"), np.eye(2)), r"adjacency\[0, 0\] is 1, a self loop"),
        (lambda: PDAG(("a", "b"), [[0, 2], [0, 0]]), r"adjacency\[0, 1\] is 2: write 1"),
        (lambda: PDAG(("a", "b"), [[0, 0], [np.nan, 0]]), r"adjacency\[1, 0\] is nan"),
        (lambda: PDAG(("a", "b", "a"), np.zeros((3, 3))), "'a' is given 2 times: rename"),
        (lambda: PDAG(("a", 3), np.zeros((2, 2))), "3 is int: names are strings"),
        (lambda: PDAG((["a"],), np.zeros((1, 1))), r"\['a'\] is list: names are strings"),
        (lambda: PDAG.from_edges("aba"), "'a' is given 2 times: rename"),
        (lambda: PDAG.from_edges([["a"]]), r"\['a'\] is list: names are strings"),
        (lambda: PDAG(("a",), np.zeros((2, 2))), r"1 names .* \(2, 2\): give one name per row"),
        (lambda: PDAG.from_edges(["smoke", "x"], [("x", "smoek")]), "'smoek': did you mean 'smoke'"),
        (lambda: PDAG.from_edges("ab", ["aa"]), "edge from 'a' to itself"),
        (lambda: PDAG.from_edges("ab", ["ab", "ba"]), "two different edges between 'b' and 'a': keep one"),
        (lambda: PDAG.from_edges("ab", ["ab"], ["ab"]), "two different edges between 'a' and 'b'"),
        (lambda: PDAG.from_parents("ab", [[]]), "1 parent lists for 2 names"),
        (lambda: PDAG.from_parents("ab", [[], [2]]), "parent 2 of node 1 is not a node: nodes are 0 to 1"),
        (lambda: PDAG.from_parents("ab", [[-1], []]), "parent -1 of node 0"),
        (lambda: PDAG.from_parents("ab", [[0], []]), "self loop"),
        (lambda: PDAG.from_parents("abcd", [[], [3], [1], [2]]), "b → c → d → b is a cycle; reverse an edge"),
        (lambda: PDAG.from_parents("ab", [[1], [0]]), "a → b → a is a cycle"),
        (lambda: topological_order([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), "0 → 1 → 2 → 0 is a cycle"),
        (lambda: dag_to_cpdag([[0, 1], [1, 0]]), r"0 → 1 → 0 .* use PDAG.to_dag\(\)"),
        (lambda: meek([[1]]), "self loop"),
        (lambda: markov_equivalent(np.zeros((2, 2)), np.zeros((3, 3))), "graphs of 2 and 3 nodes"),
        (lambda: example().parents("z"), "unknown node 'z': the nodes are 'a', 'b', 'c', 'd', 'e'"),
        (lambda: PDAG.from_edges(LETTERS).parents("?"), "'h', and 18 more"),
        (lambda: example().reorder("abcd"), "nodes 'e' are missing or repeated"),
        (lambda: example().reorder("abcdd"), "nodes 'd', 'e' are missing or repeated"),
        (lambda: example().reorder("abcdz"), "unknown node 'z'"),
        (lambda: example().shd(PDAG.from_edges("abcdf")), "nodes 'e', 'f' are in one graph only"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def sparse(d):
    """A chain of d nodes, made in each way that makes the array itself."""
    names = [f"v{k}" for k in range(d)]
    yield lambda: PDAG.from_edges(names, itertools.pairwise(names))
    yield lambda: PDAG.from_parents(names, [[], *([k] for k in range(d - 1))])
    yield lambda: PDAG.from_networkx(nx.path_graph(names, nx.DiGraph))


def test_a_graph_beyond_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10**9)
    for make in sparse(60_000):
        tracemalloc.start()
        with pytest.raises(
            MemoryError, match=r"a graph of 60000 nodes, an array of 60000 x 60000, needs .*: leave"
        ):
            make()
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert taken < 1e8


def test_a_graph_takes_no_more_memory_than_is_foreseen():
    d = 2000
    for make in sparse(d):
        tracemalloc.start()
        made = make()
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert taken < brai.graphs.pdag.PER_PAIR * d * d
        assert made.n_edges == d - 1


def test_no_name_is_looked_for_among_long_ones():
    """To tell how alike two texts of 200 000 characters are takes minutes."""
    rng = np.random.default_rng(0)
    text = "".join(map(chr, rng.integers(0x4E00, 0x4E00 + 300, 200_000)))
    graph = PDAG.from_edges([text])
    with pytest.raises(ValueError, match="unknown node") as caught:
        graph.parents(text[::2] + text[1::2])
    assert len(str(caught.value)) < 500


def test_an_order_that_lacks_a_node_is_compared_in_linear_time():
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    names = [Name(f"v{k}") for k in range(500)]
    graph = PDAG.from_edges(names)
    with pytest.raises(ValueError, match="nodes 'v0' are missing or repeated"):
        graph.reorder(names[1:])
    assert compared < 20 * 500


def test_no_extension_names_the_nodes_left():
    # the chordless square b – c – d – e – b has no extension; a and e → f are not to blame
    g = PDAG.from_edges("abcdef", ["ef"], ["bc", "cd", "de", "eb"])
    with pytest.raises(NoExtensionError, match="nodes 'b', 'c', 'd', 'e', made a sink"):
        g.to_dag()
    assert issubclass(NoExtensionError, ValueError)
    assert not g.is_cpdag()


def test_the_examples_in_the_module():
    result = doctest.testmod(brai.graphs.pdag)
    assert result.attempted > 0
    assert result.failed == 0


def test_edges_and_paths_by_name():
    graph = PDAG.from_edges("abcde", directed=[("a", "b"), ("b", "c"), ("d", "c")], undirected=[("d", "e")])
    pairs = {(x, y) for x in "abcde" for y in "abcde"}
    assert {pair for pair in pairs if graph.has_edge(*pair)} == set(graph.directed_edges())
    assert {pair for pair in pairs if graph.has_path(*pair)} == {*graph.directed_edges(), ("a", "c")}
    for question in (graph.has_edge, graph.has_path):
        with pytest.raises(ValueError, match="unknown node 'x'"):
            question("x", "a")
        with pytest.raises(ValueError, match="unknown node 'x'"):
            question("a", "x")
