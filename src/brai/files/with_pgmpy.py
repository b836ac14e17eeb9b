"""Conversion of networks to and from pgmpy; part of `brai.files.exchange`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from brai.kinds.discrete.bif import normalised
from brai.kinds.discrete.network import Network
from brai.kinds.gaussian.network import GaussianNetwork


def package(module: str, install: str) -> Any:
    """A module of another package; ImportError with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{install} is not installed: pip install {install}") from error


def to_pgmpy(network: Network | GaussianNetwork) -> Any:
    """The network as a pgmpy DiscreteBayesianNetwork with a TabularCPD per variable, labels unchanged.

    A GaussianNetwork becomes a LinearGaussianBayesianNetwork.
    """
    if isinstance(network, GaussianNetwork):
        return _to_linear(network)
    model = package("pgmpy.models", "pgmpy").DiscreteBayesianNetwork()
    cpd = package("pgmpy.factors.discrete", "pgmpy").TabularCPD
    model.name = network.name
    model.add_nodes_from(network.names)
    for name, parents in zip(network.names, network.parents, strict=True):
        model.add_edges_from((network.names[p], name) for p in parents)
    for i, (name, parents) in enumerate(zip(network.names, network.parents, strict=True)):
        table = cpd(
            name,
            len(network.states[i]),
            network.cpts[i].T,
            evidence=[network.names[p] for p in parents] or None,
            evidence_card=[len(network.states[p]) for p in parents] or None,
            state_names={network.names[v]: list(network.states[v]) for v in (i, *parents)},
        )
        model.add_cpds(table)
    return model


def from_pgmpy(model: Any) -> Network | GaussianNetwork:
    """The network of a pgmpy model, its variables in the order of the model's nodes."""
    if type(model).__name__ == "LinearGaussianBayesianNetwork":
        return _from_linear(model)
    names = tuple(model.nodes())
    if odd := [name for name in names if not isinstance(name, str)]:
        raise ValueError(f"the node {odd[0]!r} is {type(odd[0]).__name__}: rename the nodes to text first")
    tables = {name: model.get_cpds(name) for name in names}
    if bare := [name for name in names if tables[name] is None]:
        raise ValueError(f"{bare[0]!r} has no CPD: add one per node, or take the graph by PDAG.from_networkx")
    states = {name: list(tables[name].state_names[name]) for name in names}
    index = {name: i for i, name in enumerate(names)}
    parents, cpts = [], []
    for name in names:
        family, values = list(tables[name].variables), np.asarray(tables[name].values, float)
        for axis, other in enumerate(family):  # a table may list the states of a parent in another order
            own = list(tables[name].state_names[other])
            if sorted(map(repr, own)) != sorted(map(repr, states[other])):
                raise ValueError(
                    f"the CPD of {name!r} gives {other!r} the states {own}, but its own CPD has {states[other]}"
                )
            place = {label: code for code, label in enumerate(own)}
            values = np.take(values, [place[label] for label in states[other]], axis)
        parents.append(tuple(index[other] for other in family[1:]))
        cpts.append(normalised(values.reshape(len(values), -1).T))
    return Network(
        names, tuple(tuple(states[name]) for name in names), tuple(parents), tuple(cpts), model.name or ""
    )


def _to_linear(network: GaussianNetwork) -> Any:
    model = package("pgmpy.models", "pgmpy").LinearGaussianBayesianNetwork()
    cpd = package("pgmpy.factors.continuous", "pgmpy").LinearGaussianCPD
    names = network.names
    model.add_nodes_from(names)
    for i, parents in enumerate(network.parents):
        model.add_edges_from((names[p], names[i]) for p in parents)
    for i, parents in enumerate(network.parents):
        beta = [network.intercepts[i], *network.coefficients[i]]
        model.add_cpds(cpd(names[i], beta, network.variances[i] ** 0.5, [names[p] for p in parents]))
    return model


def _from_linear(model: Any) -> GaussianNetwork:
    names = tuple(model.nodes())
    if odd := [name for name in names if not isinstance(name, str)]:
        raise ValueError(f"a node is {odd[0]!r}, of type {type(odd[0]).__name__}: rename the nodes to text first")
    index = {name: i for i, name in enumerate(names)}
    cpds = {own.variable: own for own in model.cpds}
    if bare := [name for name in names if name not in cpds]:
        raise ValueError(f"{bare[0]!r} has no CPD: add one per node, or take the graph by PDAG.from_networkx")
    own = [cpds[name] for name in names]
    return GaussianNetwork(
        names,
        tuple(tuple(index[p] for p in one.evidence) for one in own),
        tuple(float(one.beta[0]) for one in own),
        tuple(tuple(float(b) for b in one.beta[1:]) for one in own),
        tuple(float(one.std) ** 2 for one in own),
    )
