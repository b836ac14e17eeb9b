"""Graphs and networks to other software and back, with that software where it is installed."""

import csv
import importlib
import json
import re
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import brai
from brai import PDAG, HillClimbing, Network, Posterior, exchange, load_network
from brai.posterior.with_knowledge import posterior_of_dags
from brai.runtime import memory
from conftest import random_dag

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
PLAIN = st.text("abcXYZ019_. -éß", min_size=1, max_size=5)


def foreign(name):
    """The package, or the test is skipped; some warn at import, and pyAgrum crashes if that is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


@st.composite
def pdags(draw, names=TEXT, most=6):
    own = draw(st.lists(names, min_size=1, max_size=most, unique=True))
    d = len(own)
    kinds = draw(st.lists(st.sampled_from("0<>-"), min_size=d * d, max_size=d * d))
    a = np.zeros((d, d), np.int8)
    for k, (i, j) in enumerate(zip(*np.triu_indices(d, 1), strict=True)):
        a[i, j], a[j, i] = kinds[k] in ">-", kinds[k] in "<-"
    return PDAG(tuple(own), a)


@st.composite
def dags(draw, names=TEXT):
    graph = draw(pdags(names))
    order = np.array(draw(st.permutations(range(len(graph.names)))))
    return PDAG(graph.names, (graph.skeleton() & (order[:, None] < order)).astype(np.int8))


@st.composite
def networks(draw, labels):
    """Parents are not in increasing order, so that no reader may rely on it."""
    dag = draw(dags(PLAIN))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    states = tuple(tuple(draw(st.lists(labels, min_size=1, max_size=3, unique_by=str))) for _ in dag.names)
    parents = tuple(tuple(rng.permutation(np.flatnonzero(own)).tolist()) for own in dag.adjacency.T)
    sizes = [int(np.prod([len(states[p]) for p in own], dtype=int)) for own in parents]
    cpts = tuple(rng.dirichlet(np.ones(len(own)), q) for own, q in zip(states, sizes, strict=True))
    return Network(dag.names, states, parents, cpts, draw(st.sampled_from(["", "a net"])))


def assert_same(a, b):
    assert (a.names, a.states, a.name) == (b.names, b.states, b.name)
    assert [list(map(type, own)) for own in a.states] == [list(map(type, own)) for own in b.states]
    assert a.parents == b.parents
    for one, other in zip(a.cpts, b.cpts, strict=True):
        np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------- pgmpy


@settings(max_examples=25)
@given(networks(PLAIN | st.integers(-3, 3)))
def test_pgmpy_round_trip(network):
    foreign("pgmpy.models")
    model = exchange.to_pgmpy(network)
    assert model.check_model()
    assert_same(exchange.from_pgmpy(model), network)


def test_pgmpy_gives_the_same_probabilities():
    foreign("pgmpy.models")
    inference = foreign("pgmpy.inference")
    asia = brai.load_network("asia")
    found = inference.VariableElimination(exchange.to_pgmpy(asia)).query(
        ["dysp"], {"smoke": "yes", "xray": "no"}, show_progress=False
    )
    expected = asia.marginal("dysp", given={"smoke": "yes", "xray": "no"})
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12)


def test_pgmpy_states_of_a_parent_in_another_order():
    foreign("pgmpy.models")
    models, factors = importlib.import_module("pgmpy.models"), importlib.import_module("pgmpy.factors.discrete")
    model = models.DiscreteBayesianNetwork([("a", "b")])
    states = {"a": ["no", "yes"], "b": ["lo", "hi"]}
    table = [[0.9, 0.2], [0.1, 0.8]]
    model.add_cpds(
        factors.TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["yes", "no"]}),
        factors.TabularCPD("b", 2, table, evidence=["a"], evidence_card=[2], state_names=states),
    )
    network = exchange.from_pgmpy(model)
    assert network.states == (("yes", "no"), ("lo", "hi"))
    np.testing.assert_array_equal(network.cpts[1], [[0.2, 0.8], [0.9, 0.1]])  # yes, then no


def test_pgmpy_refuses_what_is_no_network():
    foreign("pgmpy.models")
    models, factors = importlib.import_module("pgmpy.models"), importlib.import_module("pgmpy.factors.discrete")
    model = models.DiscreteBayesianNetwork([("a", "b")])
    with pytest.raises(ValueError, match="'a' has no CPD"):
        exchange.from_pgmpy(model)
    model.add_cpds(
        factors.TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["yes", "no"]}),
        factors.TabularCPD(
            "b", 1, [[1, 1]], evidence=["a"], evidence_card=[2], state_names={"a": ["x", "no"], "b": [0]}
        ),
    )
    with pytest.raises(ValueError, match=r"CPD of 'b' gives 'a' the states \['x', 'no'\]"):
        exchange.from_pgmpy(model)
    with pytest.raises(ValueError, match="node 1 is int"):
        exchange.from_pgmpy(models.DiscreteBayesianNetwork([(1, 2)]))


# ---------------------------------------------------------------- pyAgrum


@settings(max_examples=50)
@given(networks(PLAIN))
def test_pyagrum_round_trip(network):
    foreign("pyagrum")
    assert_same(exchange.from_pyagrum(exchange.to_pyagrum(network)), network)


def test_pyagrum_gives_the_same_probabilities():
    gum = foreign("pyagrum")
    asia = brai.load_network("asia")
    inference = gum.LazyPropagation(exchange.to_pyagrum(asia))
    inference.setEvidence({"smoke": "yes", "xray": "no"})
    expected = asia.marginal("dysp", given={"smoke": "yes", "xray": "no"})
    np.testing.assert_allclose(inference.posterior("dysp").toarray(), expected, rtol=0, atol=1e-12)


def test_pyagrum_reads_other_kinds_of_variables():
    gum = foreign("pyagrum")
    network = exchange.from_pyagrum(gum.fastBN("a[2,4]->b{x|y}<-c[3]"))
    assert dict(zip(network.names, network.states, strict=True)) == {
        "a": ("2", "3", "4"),
        "b": ("x", "y"),
        "c": ("0", "1", "2"),
    }


def test_pyagrum_labels_become_text():
    foreign("pyagrum")
    network = Network(("a",), ((1, "b"),), ((),), (np.array([[0.25, 0.75]]),))
    assert exchange.from_pyagrum(exchange.to_pyagrum(network)).states == (("1", "b"),)
    network = Network(("a",), ((1, "1"),), ((),), (np.array([[0.25, 0.75]]),))
    with pytest.raises(ValueError, match=r"two states of 'a' have the same text in \['1', '1'\]"):
        exchange.to_pyagrum(network)


# ---------------------------------------------------------------- causal-learn


@given(pdags())
def test_causallearn_round_trip(graph):
    foreign("causallearn.graph.GeneralGraph")
    assert exchange.from_causallearn(exchange.to_causallearn(graph)) == graph


def test_causallearn_reads_the_same_edges():
    foreign("causallearn.graph.GeneralGraph")
    graph = PDAG.from_edges("abcd", directed=[("b", "a"), ("b", "c")], undirected=[("c", "d")])
    found = exchange.to_causallearn(graph)
    nodes = {node.get_name(): node for node in found.get_nodes()}
    assert found.is_directed_from_to(nodes["b"], nodes["a"])
    assert found.is_undirected_from_to(nodes["c"], nodes["d"])
    assert found.get_parents(nodes["c"]) == [nodes["b"]]
    assert sorted(map(str, found.get_graph_edges())) == ["b --> a", "b --> c", "c --- d"]


def test_causallearn_refuses_a_pag():
    foreign("causallearn.graph.GeneralGraph")
    edge = importlib.import_module("causallearn.graph.Edge").Edge
    end = importlib.import_module("causallearn.graph.Endpoint").Endpoint
    for marks in ((end.CIRCLE, end.CIRCLE), (end.CIRCLE, end.ARROW), (end.ARROW, end.ARROW)):
        found = exchange.to_causallearn(PDAG.from_edges("ab"))
        found.add_edge(edge(*found.get_nodes(), *marks))
        with pytest.raises(ValueError, match="neither directed nor undirected"):
            exchange.from_causallearn(found)


# ---------------------------------------------------------------- DoWhy


@given(dags().filter(lambda dag: not {"()", "[]"} & set(dag.names)))  # networkx takes these two for containers
@example(PDAG.from_edges(["x.gml", "graph { a }", 'q"&'], directed=[("x.gml", 'q"&')]))
def test_gml_is_read_by_networkx_and_known_to_dowhy(dag):
    nx = foreign("networkx")
    text = exchange.to_gml(dag)
    assert PDAG.from_networkx(nx.parse_gml(text)) == dag
    # how dowhy.causal_graph tells formats, in this order
    patterns = [r".*\.dot", r".*\.gml", r".*graph\s*\{.*\}\s*", r".*graph\s*\[.*\]\s*"]
    assert next(k for k, pattern in enumerate(patterns) if re.match(pattern, text)) == 3


def test_dowhy_takes_the_graph():
    dowhy = foreign("dowhy")
    import pandas as pd

    dag = PDAG.from_edges(["x", "y", "z"], directed=[("z", "x"), ("z", "y"), ("x", "y")])
    data = pd.DataFrame({name: [0, 1] for name in dag.names})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for graph in (exchange.to_gml(dag), dag.to_networkx()):
            model = dowhy.CausalModel(data=data, treatment="x", outcome="y", graph=graph)
            assert model.identify_effect().get_backdoor_variables() == ["z"]


@pytest.mark.parametrize("seed", range(8))
def test_dowhy_adjusts_for_what_brai_adjusts_for(seed):
    """Its efficient adjustment is brai's optimal one; its back-door sets hold both of brai's sets."""
    dowhy = foreign("dowhy")
    import pandas as pd

    data = load_network("asia").sample(500, random_state=seed)
    model = HillClimbing(random_state=seed).fit(data)
    frame, only = pd.DataFrame(data.to_dict()), posterior_of_dags([(model.dag_, 0.0)])
    compared = 0
    for cause in ("smoke", "lung", "either", "bronc"):
        own = {
            how: model.causal_effect(cause, "dysp", adjustment=how, posterior=only).graphs[0]
            for how in ("optimal", "parents")
        }
        if not own["optimal"].causes:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = dowhy.CausalModel(frame, cause, "dysp", graph=exchange.to_gml(model.dag_))
            efficient = theirs.identify_effect(method_name="efficient-adjustment").get_backdoor_variables()
            every = theirs.identify_effect(method_name="exhaustive-search").backdoor_variables.values()
        assert sorted(efficient) == sorted(own["optimal"].adjusted_for)
        assert sorted(own["optimal"].adjusted_for) in [sorted(found) for found in every]
        assert sorted(own["parents"].adjusted_for) in [sorted(found) for found in every]
        compared += 1
    assert compared


# ---------------------------------------------------------------- bnlearn


@pytest.fixture(scope="module")
def posterior():
    graphs = [random_dag(np.random.default_rng(k), 5, 0.3) for k in range(3)]
    return Posterior.from_scores([(PDAG(("b", "a", "c", "e", "d"), g), -float(k)) for k, g in enumerate(graphs)])


def test_strength_table_has_every_ordered_pair(posterior):
    rows, edges = exchange.strength_table(posterior), posterior.edge_probabilities()
    names = posterior.names
    assert [(row["from"], row["to"]) for row in rows] == [(a, b) for a in names for b in names if a != b]
    for row in rows:
        i, j = names.index(row["from"]), names.index(row["to"])
        np.testing.assert_allclose(row["strength"] * row["direction"], edges[i, j], rtol=0, atol=1e-12)
        np.testing.assert_allclose(row["strength"], edges[i, j] + edges[j, i], rtol=0, atol=1e-12)
    assert any(row["strength"] == 0 == row["direction"] for row in rows)  # as bnlearn has it
    assert sorted(map(str, posterior.edge_table(both=True))) == sorted(
        str(row) for row in rows if row["strength"] > 0
    )


def test_strength_table_as_csv(posterior, tmp_path):
    exchange.write_strength_table(posterior, tmp_path / "strength.csv")
    with open(tmp_path / "strength.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = [
        {key: value if key in ("from", "to") else float(value) for key, value in row.items()} for row in rows
    ]
    assert numbers == exchange.strength_table(posterior)
    assert [path.name for path in tmp_path.iterdir()] == ["strength.csv"]


def test_strength_table_of_a_model():
    model = brai.HillClimbing().fit(brai.load_network("cancer").sample(500, random_state=0))
    assert exchange.strength_table(model) == exchange.strength_table(model.posterior())


def test_model_string_as_bnlearn_prints_it():
    # the learning.test network of bnlearn, from its manual
    text = "[A][C][F][B|A][D|A:C][E|B:F]"
    dag = PDAG.from_edges("ABCDEF", [("A", "B"), ("A", "D"), ("C", "D"), ("B", "E"), ("F", "E")])
    assert exchange.from_model_string(text) == dag
    assert exchange.from_model_string(f" {text}\n", "FEDCBA") == dag.reorder("FEDCBA")
    assert sorted(re.findall(r"\[.*?\]", exchange.model_string(dag))) == sorted(re.findall(r"\[.*?\]", text))


@given(dags(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]|:"), min_size=1, max_size=5)))
@example(PDAG.from_edges(["a b", "é", "1.5"], [("é", "a b")]))
def test_model_string_round_trip(dag):
    text = exchange.model_string(dag)
    assert exchange.from_model_string(text, dag.names) == dag
    assert exchange.from_model_string(text) == dag.reorder(sorted(dag.names))
    listed = re.findall(r"\[([^|\]]+)", text)  # parents first
    assert all(listed.index(a) < listed.index(b) for a, b in dag.directed_edges())


@pytest.mark.parametrize("name", ["", "a:b", "a|b", "a[", "]"])
def test_model_string_refuses_names_that_it_cannot_hold(name):
    with pytest.raises(ValueError, match="rename it"):
        exchange.model_string(PDAG.from_edges([name, "x"]))


def test_model_string_needs_a_dag():
    with pytest.raises(ValueError, match="needs a DAG"):
        exchange.model_string(PDAG.from_edges("ab", undirected=["ab"]))
    with pytest.raises(ValueError, match="needs a DAG"):
        exchange.to_gml(PDAG.from_edges("ab", undirected=["ab"]))


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        ("[a][b|a", None, "not a model string"),
        ("a", None, "not a model string at 'a'"),
        ("[a][b|]", None, "not a model string"),
        ("[[a]]", None, "not a model string"),
        ("[a][b|a:]", None, "not a model string"),
        ("[a][a]", None, "'a' is listed twice"),
        ("[a][b|c]", None, "unknown node 'c'"),
        ("[a|b][b|a]", None, "different edges|cycle"),
        ("[a|b][b|c][c|a]", None, "cycle"),
        ("[a]", ["a", "b"], "differ in 'b'"),
    ],
)
def test_model_string_that_is_none(text, names, message):
    with pytest.raises(ValueError, match=message):
        exchange.from_model_string(text, names)


# ---------------------------------------------------------------- GraphML, JSON, networkx, DOT

XML = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff", include_characters="\n\t\r"),
    min_size=1,
    max_size=5,
)


@given(pdags(XML))
@example(PDAG.from_edges(["a<b", "\"&'", " \n\t"], [("a<b", "\"&'")], [("a<b", " \n\t")]))
def test_graphml_round_trip(graph):
    nx = foreign("networkx")
    text = exchange.to_graphml(graph)
    assert exchange.from_graphml(text) == graph
    read = nx.parse_graphml(text)
    assert tuple(read) == graph.names
    kinds = {(a, b): kind for a, b, kind in read.edges(data="kind")}
    both = {"directed": graph.directed_edges(), "undirected": graph.undirected_edges()}
    assert kinds == {edge: kind for kind, edges in both.items() for edge in edges}


@pytest.mark.parametrize("directed", [True, False])
def test_graphml_of_networkx(directed):
    nx = foreign("networkx")
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from("abc")
    graph.add_edge("a", "b", weight=1.5)
    graph.add_edge("b", "c")
    if directed:
        graph.add_edge("c", "b")
    assert exchange.from_graphml("\n".join(nx.generate_graphml(graph))) == PDAG.from_networkx(graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not GraphML"),
        ("<graphml", "not GraphML"),
        ("<html/>", "'html'"),
        ('<graphml xmlns="http://graphml.graphdrawing.org/xmlns"/>', "not GraphML"),
        (exchange.to_graphml(PDAG.from_edges("ab", ["ab"])).replace('target="b"', 'target="x"'), "ends at 'x'"),
        (exchange.to_graphml(PDAG.from_edges("ab")).replace('id="b"', 'id="a"'), "'a' is given 2 times"),
        (exchange.to_graphml(PDAG.from_edges("ab", ["ab"])).replace('target="b"', 'target="a"'), "self loop"),
        ("\ud800", "not GraphML"),
    ],
)
def test_graphml_that_is_none(text, message):
    with pytest.raises(ValueError, match=message):
        exchange.from_graphml(text)


NODES = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'


def graphml(inside, after=""):
    return f'<graphml xmlns="{exchange._GRAPHML}"><graph edgedefault="directed">{inside}</graph>{after}</graphml>'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (graphml(NODES, "<graph/>"), "2 graphs"),
        (graphml(NODES, f"<graph>{NODES}</graph>" * 2), "3 graphs"),
        (graphml(f'{NODES}<node id="c"><graph>{NODES}</graph></node>'), "a nested graph, inside the node 'c'"),
        (
            graphml(f'{NODES}<edge source="b" target="a"><graph/></edge>'),
            "a nested graph, inside the edge 'b → a'",
        ),
        (graphml(f'{NODES}<hyperedge><endpoint node="a"/></hyperedge>'), "a hyperedge"),
        (graphml(f'{NODES}<hyperedge id="h"/>'), "a hyperedge 'h'"),
        (graphml(f'{NODES}<node id="c"><data key="x"/><port name="p"/></node>'), "a port, of the node 'c'"),
        (graphml(NODES.replace("<edge ", '<edge id="e" sourceport="p" ')), "a port, of the edge 'e'"),
        (graphml(NODES.replace("<edge ", '<edge targetport="p" ')), "a port, of the edge 'a → b'"),
        (graphml("<locator/>"), "a locator of a graph elsewhere"),
    ],
)
def test_graphml_that_no_pdag_can_hold_is_refused(text, found):
    assert exchange.from_graphml(graphml(NODES)) == PDAG.from_edges("ab", ["ab"])
    with pytest.raises(
        ValueError, match=f"holds {found}, which a PDAG cannot represent: flatten the graph first$"
    ):
        exchange.from_graphml(text)


def test_graphml_ignores_what_says_nothing_of_the_graph():
    text = graphml(
        f'<desc>text</desc><data key="k"><port/><graph xmlns="other"/></data>{NODES}'
        '<other:hyperedge xmlns:other="other"/><node id="c"><desc/><data key="k"><graph/></data></node>',
        "<data key='k'/>",
    )
    assert exchange.from_graphml(text) == PDAG.from_edges("abc", ["ab"])


def test_graphml_nodes_need_ids():
    assert exchange.from_graphml(graphml('<node id=""/>')).names == ("",)
    with pytest.raises(ValueError, match="node 2 of the GraphML text has no id: give each node an id"):
        exchange.from_graphml(graphml('<node id="a"/><node/>'))


def many(names):
    """Texts over these nodes, without edges, in each format; none takes more than some bytes a node."""
    yield exchange.from_graphml, graphml("".join(f'<node id="{name}"/>' for name in names))
    content = {**GRAPH, "names": names, "directed": []}
    yield exchange.from_json, json.dumps(content)
    yield exchange.from_model_string, "".join(f"[{name}]" for name in names)


def test_a_short_text_cannot_ask_for_a_large_array(monkeypatch):
    for read, text in many([f"v{k}" for k in range(60_000)]):
        tracemalloc.start()
        with pytest.raises(
            ValueError, match=r"60000 nodes, more than 30000, which need an array of 3\.6 GB: leave"
        ):
            read(text)
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert taken < 1e8
    monkeypatch.setattr(memory, "available", lambda: 10**8)
    for read, text in many([f"v{k}" for k in range(5_000)]):
        with pytest.raises(
            MemoryError, match=r"a graph of 5000 nodes, .* needs about 0\.12 GB .*: leave nodes out"
        ):
            read(text)
    for read, text in many(["a", "b", "c"]):
        assert read(text) == PDAG.from_edges("abc")


def test_messages_are_short_however_much_is_wrong():
    nested = "[" * 300 + "]" * 300
    for text in (
        json.dumps(GRAPH | {"names": [1] * 10_000}),
        json.dumps(GRAPH | {"directed": "x" * 10_000}),
        json.dumps(GRAPH | {"directed": [["x"] * 10_000]}),
        json.dumps(GRAPH | {"version": [1] * 10_000}),
        json.dumps(GRAPH | {"names": 0}).replace("0", nested),
        json.dumps(GRAPH | {"undirected": [0]}).replace("0", nested),
    ):
        with pytest.raises(ValueError, match=r": (give|install)") as caught:
            exchange.from_json(text)
        assert len(str(caught.value)) < 400


def test_graphml_refuses_names_that_xml_cannot_hold():
    with pytest.raises(ValueError, match="XML cannot"):
        exchange.to_graphml(PDAG.from_edges(["a\x00"]))


@given(pdags(st.text(max_size=5)))
def test_json_round_trip(graph):
    assert exchange.from_json(exchange.to_json(graph)) == graph


GRAPH = {"format": "brai-graph", "version": 1, "names": ["a", "b"], "directed": [["a", "b"]], "undirected": []}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a brai-graph"),
        ({"version": 2}, "newer brai"),
        ({"names": "ab"}, "names is 'ab'"),
        ({"names": ["a", 1]}, "names is"),
        ({"names": ["a", ["b"]]}, "names is"),
        ({"directed": None}, "directed is None"),
        ({"undirected": [["a"]]}, r"undirected holds \['a'\]"),
        ({"directed": [["a", "c"]]}, "unknown node 'c'"),
        ({"directed": [["a", "a"]]}, "itself"),
        ({"undirected": [["a", "b"]]}, "two different edges"),
    ],
)
def test_json_that_is_none(change, message):
    with pytest.raises(ValueError, match=message):
        exchange.from_json(json.dumps(GRAPH | change))


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000])
def test_json_that_is_not_even_json(text):
    with pytest.raises(ValueError, match=r"cannot be read as JSON|not a brai-graph") as caught:
        exchange.from_json(text)
    assert "brai-graph document" in str(caught.value)


@given(pdags())
def test_networkx_round_trip(graph):
    foreign("networkx")
    assert PDAG.from_networkx(graph.to_networkx()) == graph


def test_dot_is_read_by_pydot():
    pydot, _ = foreign("pydot"), foreign("pydot.dot_parser")
    graph = PDAG.from_edges(['a "b"', "c", "d"], [('a "b"', "c")], [("c", "d")])
    (read,) = pydot.graph_from_dot_data(graph.to_dot())
    edges = {(edge.get_source(), edge.get_destination()): edge.get("dir") for edge in read.get_edges()}
    assert edges == {('"a \\"b\\""', '"c"'): None, ('"c"', '"d"'): "none"}


def test_a_missing_package_is_named(monkeypatch):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr("brai.files.with_pgmpy.import_module", missing)
    asia = brai.load_network("asia")
    for give, package in (
        (lambda: exchange.to_pgmpy(asia), "pgmpy"),
        (lambda: exchange.to_pyagrum(asia), "pyagrum"),
        (lambda: exchange.to_causallearn(asia.pdag), "causal-learn"),
    ):
        with pytest.raises(ImportError, match=f"pip install {package}$"):
            give()
