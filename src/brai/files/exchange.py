"""Conversion of graphs and networks to and from other software.

============  =====================================================  =======================================
software      graph                                                  network with its parameters
============  =====================================================  =======================================
networkx      `PDAG.to_networkx`, `PDAG.from_networkx`
pgmpy                                                                `to_pgmpy`, `from_pgmpy`
pyAgrum                                                              `to_pyagrum`, `from_pyagrum`
causal-learn  `to_causallearn`, `from_causallearn`
DoWhy         `to_gml`, or `PDAG.to_networkx` of a DAG
bnlearn (R)   `model_string`, `from_model_string`, `strength_table`  `Network.write_bif`, `Network.read_bif`
Graphviz      `PDAG.to_dot`
GraphML       `to_graphml`, `from_graphml`
JSON          `to_json`, `from_json`                                 `Network.to_json`, `Network.from_json`
============  =====================================================  =======================================

Functions take and return text, or objects of the other package, which is imported only when needed. What a format
cannot represent is refused, not altered. `brai.files.models` saves whole models.

>>> from brai import PDAG
>>> chain = PDAG.from_edges("abc", directed=[("a", "b"), ("a", "c"), ("b", "c")])
>>> model_string(chain)
'[a][b|a][c|a:b]'
>>> from_model_string("[a][b|a][c|a:b]") == chain
True
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np

from brai.data.columns import shown
from brai.files.with_pgmpy import from_pgmpy, package, to_pgmpy
from brai.graphs.adjacency import topological_order
from brai.graphs.pdag import PDAG, blank
from brai.kinds.discrete.bif import normalised, write_text
from brai.kinds.discrete.network import Network, parse_json

if TYPE_CHECKING:
    from brai.posterior.consensus import Row

__all__ = [
    "from_causallearn",
    "from_graphml",
    "from_json",
    "from_model_string",
    "from_pgmpy",
    "from_pyagrum",
    "model_string",
    "strength_csv",
    "strength_table",
    "to_causallearn",
    "to_gml",
    "to_graphml",
    "to_json",
    "to_pgmpy",
    "to_pyagrum",
    "write_strength_table",
]

_FORMAT, _VERSION = "brai-graph", 1
_GRAPHML = "http://graphml.graphdrawing.org/xmlns"
_SPACE = {"g": _GRAPHML}
_UNREAD = {  # parts of GraphML that a PDAG cannot represent
    "g:hyperedge": "a hyperedge",
    "g:node[g:graph]": "a nested graph, inside the node",
    "g:edge[g:graph]": "a nested graph, inside the edge",
    "g:node[g:port]": "a port, of the node",
    "g:edge[@sourceport]": "a port, of the edge",
    "g:edge[@targetport]": "a port, of the edge",
    "g:locator": "a locator of a graph elsewhere",
}
MAX_NODES = 30_000  # of a graph in a text: a short text must not allocate a huge (nodes × nodes) array
_KIND = "kind"  # of an edge in GraphML: "directed" or "undirected"
_ARROW, _TAIL = 1, -1  # endpoint marks of causal-learn


def _check_count(names: Sequence[str]) -> None:
    """Refuse a text of too many nodes."""
    if (d := len(names)) > MAX_NODES:
        size = f"the text has {d} nodes, more than {MAX_NODES}, which need an array of {d * d / 1e9:.1f} GB"
        raise ValueError(f"{size}: leave nodes out, or make the graph with PDAG.from_edges")


def _dag(graph: PDAG, target: str) -> PDAG:
    if not graph.is_dag():
        raise ValueError(f"{target} needs a DAG, got {graph!r}: take one of its DAGs, such as graph.to_dag()")
    return graph


# --- pyAgrum ---------------------------------------------------------------------------------


def to_pyagrum(network: Network) -> Any:
    """The network as a pyagrum.BayesNet; labels become their str(), because pyAgrum has only text labels."""
    gum = package("pyagrum", "pyagrum")
    model = gum.BayesNet(network.name)
    for name, labels in zip(network.names, network.states, strict=True):
        texts = [str(label) for label in labels]
        if len(set(texts)) < len(texts):
            raise ValueError(f"two states of {name!r} have the same text in {texts}: rename one for pyAgrum")
        model.add(gum.LabelizedVariable(name, name, texts))
    for name, own in zip(network.names, network.parents, strict=True):
        for p in own:
            model.addArc(network.names[p], name)
    for i, (name, own) in enumerate(zip(network.names, network.parents, strict=True)):
        axes = {network.names[v]: axis for axis, v in enumerate((i, *own))}
        table = network.cpts[i].T.reshape([len(network.states[v]) for v in (i, *own)])
        order = [axes[other] for other in _axes(model.cpt(name))]
        model.cpt(name)[:] = np.ascontiguousarray(table.transpose(order))
    return model


def from_pyagrum(model: Any) -> Network:
    """The network of a pyagrum.BayesNet, its variables in the order of their ids; labels are text."""
    ids = sorted(model.nodes())
    names = tuple(model.variable(i).name() for i in ids)
    index = {name: k for k, name in enumerate(names)}
    states = tuple(tuple(model.variable(i).labels()) for i in ids)
    parents, cpts = [], []
    for name in names:
        family = _axes(model.cpt(name))[::-1]  # the variable, then its parents in the order of their arcs
        values = model.cpt(name)[:].transpose()
        parents.append(tuple(index[other] for other in family[1:]))
        cpts.append(normalised(values.reshape(len(values), -1).T))
    title = model.property("name") if "name" in model.properties() else ""
    return Network(names, states, tuple(parents), tuple(cpts), title)


def _axes(tensor: Any) -> list[str]:
    """The variables of a pyAgrum tensor in the order of its array's axes, which is reversed."""
    return [tensor.variable(k).name() for k in reversed(range(tensor.nbrDim()))]


# --- causal-learn, DoWhy ----------------------------------------------------------------------------


def to_causallearn(graph: PDAG) -> Any:
    """The graph as a causal-learn GeneralGraph: a → b has the endpoints tail and arrow, a – b has two tails."""
    general = package("causallearn.graph.GeneralGraph", "causal-learn").GeneralGraph
    node = package("causallearn.graph.GraphNode", "causal-learn").GraphNode
    edge = package("causallearn.graph.Edge", "causal-learn").Edge
    tail = package("causallearn.graph.Endpoint", "causal-learn").Endpoint.TAIL
    nodes = {name: node(name) for name in graph.names}
    found = general(list(nodes.values()))
    for a, b in graph.directed_edges():
        found.add_directed_edge(nodes[a], nodes[b])
    for a, b in graph.undirected_edges():
        found.add_edge(edge(nodes[a], nodes[b], tail, tail))
    return found


def from_causallearn(graph: Any) -> PDAG:
    """The PDAG of a causal-learn GeneralGraph; circles and bidirected edges (of a PAG) are refused."""
    names = tuple(node.get_name() for node in graph.get_nodes())
    marks = np.asarray(graph.graph)  # marks[j, i] is the mark at j of the edge between i and j
    for i, j in np.argwhere((marks != 0) | (marks.T != 0)):
        if (marks[i, j], marks[j, i]) not in ((_TAIL, _TAIL), (_TAIL, _ARROW), (_ARROW, _TAIL)):
            edge = graph.get_edge(graph.get_nodes()[i], graph.get_nodes()[j])
            raise ValueError(f"the edge {edge} is neither directed nor undirected: a PDAG cannot represent it")
    return PDAG(names, (marks == _TAIL).astype(np.int8))


def to_gml(graph: PDAG) -> str:
    """A DAG as GML, for ``dowhy.CausalModel(graph=...)`` and networkx.parse_gml.

    The text is one line, because DoWhy recognises GML only then. Characters other than letters, digits, "_", "-"
    and spaces are escaped by number, because DoWhy first looks for other formats in the text.
    """
    index = {name: i for i, name in enumerate(_dag(graph, "DoWhy").names)}
    nodes = [f'node [ id {i} label "{_numbered(name)}" ]' for name, i in index.items()]
    edges = [f"edge [ source {index[a]} target {index[b]} ]" for a, b in graph.directed_edges()]
    return " ".join(["graph [ directed 1", *nodes, *edges, "]"])


def _numbered(name: str) -> str:
    return re.sub("[^A-Za-z0-9_ -]", lambda found: f"&#{ord(found[0])};", name)


# --- bnlearn ----------------------------------------------------------------------------------------


def strength_table(source: Any) -> list[Row]:
    """Rows from, to, strength, direction for every ordered pair of variables, like boot.strength of bnlearn.

    ``source`` is a fitted model or a Posterior. ``strength`` is P(adjacent). ``direction`` is P(from → to |
    adjacent), and 0 if the strength is 0. `edge_table` of the same objects lists only pairs of positive strength.
    """
    names = getattr(source, "names", None)
    edges = source.edge_probabilities()
    if names is None:
        names = source.feature_names_in_.tolist()
    rows: list[Row] = []
    for i, j in np.argwhere(~np.eye(len(names), dtype=bool)).tolist():
        strength = float(edges[i, j] + edges[j, i])
        direction = float(edges[i, j]) / strength if strength > 0 else 0.0
        rows.append({"from": names[i], "to": names[j], "strength": min(strength, 1.0), "direction": direction})
    return rows


def write_strength_table(source: Any, path: str | os.PathLike[str]) -> None:
    """Write `strength_table` as CSV, for read.csv in R. An existing file is replaced once all is written."""
    write_text(Path(path), strength_csv(strength_table(source)))


def strength_csv(rows: Iterable[Row], digits: int | None = None) -> str:
    """Rows from, to, strength, direction (and more) as the text of a CSV file, rounded to ``digits`` if given."""
    text, listed = io.StringIO(), list(rows)
    columns = list(dict.fromkeys(["from", "to", "strength", "direction", *(listed[0] if listed else ())]))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in listed:
        rounded = {key: round(row[key], digits) for key in columns[2:] if row[key] is not None} if digits else {}
        writer.writerow({**row, **rounded})
    return text.getvalue()


def model_string(dag: PDAG) -> str:
    """A DAG as a model string of bnlearn, "[A][B|A][C|A:B]": parents before children, ties in order of names."""
    for name in _dag(dag, "a model string").names:
        if not name or set(name) & set("[]|:"):
            raise ValueError(f"the name {name!r} is empty or holds one of [ ] | :, which delimit names: rename it")
    nodes = [dag.names[i] for i in topological_order(dag.adjacency)]
    return "".join(f"[{'|'.join([name, ':'.join(dag.parents(name))]).rstrip('|')}]" for name in nodes)


def from_model_string(text: str, names: Iterable[str] | None = None) -> PDAG:
    """The DAG of a model string. Its nodes are in the order of ``names``, by default sorted, as in bnlearn."""
    text = text.strip()
    if wrong := re.sub(r"\[[^\[\]|:]+(\|[^\[\]|:]+(:[^\[\]|:]+)*)?\]", "", text):
        raise ValueError(
            f"not a model string at {wrong[:30]!r}: write [node] or [node|parent:parent] for each node"
        )
    nodes = re.findall(r"\[([^|\]]+)(?:\|([^\]]+))?\]", text)
    listed = [name for name, _ in nodes]
    for name, times in Counter(listed).items():
        if times > 1:
            raise ValueError(f"the node {name!r} is listed twice in the model string: list it once")
    _check_count(listed)
    edges = [(parent, name) for name, parents in nodes for parent in parents.split(":") if parents]
    graph = PDAG.from_edges(sorted(listed) if names is None else names, edges)
    if lone := sorted(set(graph.names) ^ set(listed)):
        raise ValueError(f"names and the model string differ in {lone[0]!r}: give every node in both")
    topological_order(graph.adjacency, graph.names)  # refuses a cycle
    return graph


# --- GraphML, JSON ----------------------------------------------------------------------------------


def to_graphml(graph: PDAG) -> str:
    """GraphML text. a – b is written as a → b with the attribute kind="undirected"; a → b has kind="directed".

    Most readers (networkx among them) accept no graph that mixes directed and undirected edges.
    """
    for name in graph.names:
        if found := re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", name):
            raise ValueError(f"the name {name!r} holds {found[0]!r}, which XML cannot represent: rename it")
    quoted = {name: quoteattr(name, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}) for name in graph.names}
    lines = [f"    <node id={own}/>" for own in quoted.values()]
    for kind, edges in (("directed", graph.directed_edges()), ("undirected", graph.undirected_edges())):
        for a, b in edges:
            data = f'<data key="{_KIND}">{kind}</data>'
            lines.append(f"    <edge source={quoted[a]} target={quoted[b]}>{data}</edge>")
    head = [
        "<?xml version='1.0' encoding='utf-8'?>",
        f'<graphml xmlns="{_GRAPHML}">',
        f'  <key id="{_KIND}" for="edge" attr.name="{_KIND}" attr.type="string"/>',
        '  <graph edgedefault="directed">',
    ]
    return "\n".join([*head, *lines, "  </graph>", "</graphml>", ""])


def from_graphml(text: str) -> PDAG:
    """The graph of a GraphML text, written by `to_graphml` or by other software.

    An edge is undirected if its attribute kind says so, if it or the graph is declared undirected, or if the
    opposite edge exists too. Nodes are named by their ids.
    """
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:
        raise ValueError(f"not GraphML: {error}") from None
    graph = root.find("g:graph", _SPACE)
    if root.tag != f"{{{_GRAPHML}}}graphml" or graph is None:
        raise ValueError(f"not GraphML: the text holds a {root.tag!r}, not a graphml element with a graph")
    for found in _unread(root, graph):
        raise ValueError(f"the GraphML text holds {found}, which a PDAG cannot represent: flatten the graph first")
    kinds = {key.get("id") for key in root.findall("g:key", _SPACE) if key.get("attr.name") == _KIND}
    nodes = graph.findall("g:node", _SPACE)
    if bare := [k for k, node in enumerate(nodes, 1) if "id" not in node.attrib]:
        raise ValueError(f"node {bare[0]} of the GraphML text has no id: give each node an id")
    names = tuple(node.attrib["id"] for node in nodes)
    _check_count(names)
    index = {name: i for i, name in enumerate(names)}
    adjacency = blank(names)
    for edge in graph.findall("g:edge", _SPACE):
        ends = [edge.get("source", ""), edge.get("target", "")]
        if unknown := [end for end in ends if end not in index]:
            raise ValueError(f"an edge ends at {unknown[0]!r}, which is not a node of the GraphML text")
        a, b = (index[end] for end in ends)
        kind = [data.text for data in edge.findall("g:data", _SPACE) if data.get("key") in kinds]
        default = "true" if graph.get("edgedefault") == "directed" else "false"
        adjacency[a, b] = 1
        if kind == ["undirected"] or edge.get("directed", default) == "false":
            adjacency[b, a] = 1
    return PDAG(names, adjacency)


def _unread(root: ET.Element, graph: ET.Element) -> Iterator[str]:
    """Descriptions of what a GraphML text holds besides the nodes and edges of one graph."""
    if (n := len(root.findall("g:graph", _SPACE))) > 1:
        yield f"{n} graphs"
    for path, what in _UNREAD.items():
        if (part := graph.find(path, _SPACE)) is not None:
            ends = " → ".join(part.get(end, "") for end in ("source", "target") if end in part.attrib)
            yield f"{what} {part.get('id') or ends!r}".removesuffix(" ''")


def to_json(graph: PDAG) -> str:
    """The graph as JSON text: format, version, names, and the directed and undirected edges as pairs of names."""
    content = {"format": _FORMAT, "version": _VERSION, "names": graph.names}
    return (
        json.dumps({**content, "directed": graph.directed_edges(), "undirected": graph.undirected_edges()}) + "\n"
    )


def from_json(text: str) -> PDAG:
    """The graph of a text that `to_json` wrote."""
    content = parse_json(text, _FORMAT)
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"not a {_FORMAT} document: write it with brai.files.exchange.to_json")
    if content.get("version") != _VERSION:
        found = content.get("version")
        raise ValueError(f"{_FORMAT} version {shown(found)}, this brai reads {_VERSION}: install a newer brai")
    edges = [_pairs(content.get(kind), kind) for kind in ("directed", "undirected")]
    names = content.get("names")
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError(f"names is {shown(names)}: give a list of text")
    _check_count(names)
    return PDAG.from_edges(names, *edges)


def _pairs(edges: Any, kind: str) -> Sequence[Sequence[str]]:
    if not isinstance(edges, list):
        raise ValueError(f"{kind} is {shown(edges)}: give a list of pairs of names")
    for edge in edges:
        if not (isinstance(edge, list) and len(edge) == 2 and all(isinstance(end, str) for end in edge)):
            raise ValueError(f"{kind} holds {shown(edge)}: give pairs of names")
    return edges
