"""Results that a change of the code must not change: make the list, or compare with one that was stored.

    python benchmarks/reference.py make tests/golden/reference.json --data DATA
    python benchmarks/reference.py check tests/golden/reference.json --data DATA

DATA is a folder with ``networks/child.bif.gz`` and ``networks/munin1.bif.gz``; without it only Asia and Alarm are
looked at, which come with the package. Only public names are used, so any version of the package can run it.

Each entry is a digest of all bits of a result, and a number or two to read. `check` prints the entries that differ
and exits with 1 if there are any.
"""

# ruff: noqa: E731 - each case is a small function of its own

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import brai

warnings.simplefilter("ignore")


def plain(value: Any) -> Any:
    """A result as JSON that keeps every bit: arrays by digest, numbers by their shortest exact text."""
    if isinstance(value, np.ndarray):
        own = np.ascontiguousarray(value)
        return [str(own.dtype), list(own.shape), hashlib.blake2b(own.tobytes(), digest_size=8).hexdigest()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, brai.PDAG):
        return [list(value.names), plain(value.adjacency)]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def entry(value: Any, shown: Any = None) -> dict[str, Any]:
    """What is stored of a result."""
    text = json.dumps(plain(value)).encode()
    return {"digest": hashlib.blake2b(text, digest_size=12).hexdigest(), "shown": plain(shown)}


def tree_of(tree: Any) -> Any:
    """Every node of a tree, children by their place in the list."""
    nodes = list(tree.nodes())
    at = {id(node): i for i, node in enumerate(nodes)}
    out = []
    for node in nodes:
        if hasattr(node, "families"):
            out.append([node.families, node.log_score, node.repaired, node.truncated])
        else:
            out.append([node.order, [[at[id(child)] for child in group] for group in node.groups]])
    return [out, tree.n_ci_tests]


def graph_of(model: Any) -> Any:
    return [model.dag_, model.cpdag_, model.mpdag_, model.log_score_]


def probabilities(model: Any) -> Any:
    return [model.edge_probabilities(), model.adjacency_probabilities(), model.markov_blanket_probabilities()]


def cases(data: Path | None) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Name and function of each entry."""
    for name, rows, large in (
        ("asia", 1000, False),
        ("alarm", 500, False),
        ("child", 500, False),
        ("munin1", 500, True),
    ):
        file = None if data is None else data / "networks" / f"{name}.bif.gz"
        if name in ("asia", "alarm"):
            network = brai.load_network(name)
        elif file is not None and file.is_file():
            network = brai.load_network(file)
        else:
            continue
        sample = network.sample(rows + 500, random_state=7)
        train, test = (
            brai.Dataset(sample.codes[:, part], sample.names, sample.states)
            for part in (slice(0, rows), slice(rows, None))
        )
        yield from of_table(name, train, test, large)


def of_table(name: str, train: Any, test: Any, large: bool) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    made: dict[str, Any] = {}
    knowledge = {
        "forbidden": [(train.names[0], train.names[1])],
        "tiers": [list(train.names[:3]), list(train.names[3:6])],
    }

    def fitted(key: str, make: Callable[[], Any]) -> Any:
        if key not in made:
            made[key] = make().fit(train)
        return made[key]

    def case(key: str, function: Callable[[], Any], shown: Callable[[Any], Any] = lambda value: None):
        def run() -> dict[str, Any]:
            value = function()
            return entry(value, shown(value))

        return f"{name}/{key}", run

    for test_name in ("cmi-c1", "g2", "bayes-factor", "cmi"):
        model = lambda t=test_name: fitted(f"rai {t}", lambda: brai.RAI(brai.CITest(t), max_tests=10**7))
        yield case(f"RAI {test_name}", lambda m=model: [graph_of(m()), m().n_ci_tests_], lambda v: v[0][3])
    paper = lambda: fitted("paper", lambda: brai.BRAI.paper(3, ci_test="cmi-c1", random_state=1, max_tests=10**7))
    yield case("paper tree", lambda: tree_of(paper().tree_), lambda v: len(v[0]))
    yield case("paper MAP", lambda: graph_of(paper()), lambda v: v[3])
    yield case("paper draws", lambda: paper().sample(50, 5.0, random_state=2), lambda v: v[0][1])
    yield case("paper k best", lambda: paper().k_best(20), lambda v: v[0][1])
    if not large:
        yield case("paper posterior", lambda: probabilities(paper()))
        yield case("paper paths", lambda: paper().path_probabilities(200))
    settings = {"random_state": 3, "n_chains": 2, "n_draws": 40, **({"thin": 200} if large else {})}
    settings |= {"structure_prior": "uniform", "ess": 1.0, "posterior_from": "mcmc"}
    default = lambda: fitted("default", lambda: brai.BRAI(**settings))
    yield case("BRAI tree", lambda: tree_of(default().tree_), lambda v: len(v[0]))
    yield case("BRAI MAP", lambda: [graph_of(default()), default().polish_trace_], lambda v: v[0][3])
    yield case("BRAI draws", lambda: default().sample(50, 10.0, random_state=2), lambda v: v[0][1])
    yield case(
        "BRAI chains",
        lambda: [
            default().chains().parents,
            default().chains().log_scores,
            default().chains().proposed,
            default().chains().changed,
        ],
        lambda v: float(v[1][0, -1]),
    )
    yield case("BRAI posterior", lambda: [probabilities(default()), default().posterior().probabilities])
    yield case("BRAI paths", lambda: default().path_probabilities(200))
    yield case(
        "BRAI score",
        lambda: [
            default().score_samples(test),
            default().score_samples(test, average=False),
            default().log_predictive(test),
        ],
        lambda v: v[2],
    )
    a, b = train.names[0], train.names[2]
    yield case("BRAI effect", lambda: effect_of(default(), a, b), lambda v: v[0])
    yield case("BRAI network", lambda: [default().network().cpts, default().network().parents])
    yield case("BRAI consensus", lambda: [default().edge_table(0.05), default().consensus(0.5).graph])
    yield case("HillClimbing", lambda: graph_of(fitted("hc", lambda: brai.HillClimbing())), lambda v: v[3])
    yield case(
        "HillClimbing columns",
        lambda: graph_of(fitted("hc columns", lambda: brai.HillClimbing(ties="columns", restarts=2))),
        lambda v: v[3],
    )
    yield case(
        "OrderSearch", lambda: graph_of(fitted("order", lambda: brai.OrderSearch(restarts=5))), lambda v: v[3]
    )
    if large:
        return
    obeying = lambda: fitted("known", lambda: brai.BRAI(knowledge=knowledge, **settings))
    yield case("knowledge tree", lambda: tree_of(obeying().tree_), lambda v: len(v[0]))
    yield case("knowledge MAP", lambda: graph_of(obeying()), lambda v: v[3])
    yield case("knowledge posterior", lambda: probabilities(obeying()))
    yield case(
        "BIC",
        lambda: [
            graph_of(fitted("bic", lambda: brai.BRAI(family_score="bic", **settings))),
            probabilities(fitted("bic", lambda: None)),
        ],
        lambda v: v[0][3],
    )
    for df in ("strata", "cells", "full"):
        own = lambda df=df: fitted(f"mmhc {df}", lambda: brai.MMHC(df=df))
        yield case(f"MMHC {df}", lambda m=own: [graph_of(m()), m().skeleton_, m().n_ci_tests_], lambda v: v[0][3])
    bootstrap = lambda: fitted("bootstrap", lambda: brai.Bootstrap(brai.HillClimbing(), 20, random_state=4))
    yield case(
        "Bootstrap",
        lambda: [graph_of(bootstrap()), bootstrap().members_, probabilities(bootstrap())],
        lambda v: v[0][3],
    )
    if train.n_variables > 10:
        return
    exact = lambda: fitted("exact", lambda: brai.Exact())
    yield case("Exact", lambda: [graph_of(exact()), probabilities(exact())], lambda v: v[0][3])
    yield case("Exact effect", lambda: effect_of(exact(), a, b), lambda v: v[0])
    yield case("Exact draws", lambda: brai.posterior.exact.sample_dags(train, 50, random_state=1))
    chain = lambda: fitted("dp", lambda: brai.DPMCMC(200, burn_in=500, thin=10))
    yield case(
        "DPMCMC", lambda: [graph_of(chain()), probabilities(chain()), chain().chain_.log_scores], lambda v: v[0][3]
    )


def effect_of(model: Any, a: str, b: str) -> Any:
    found = model.causal_effect(a, b, n_dags=200)
    return [found.effect, found.effect_sd, found.p_causes, found.distribution, found.spread, found.parameter_sd]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "check"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    stored = json.loads(given.file.read_text()) if given.what == "check" else {}
    found: dict[str, Any] = {}
    for name, run in cases(given.data):
        start = time.perf_counter()
        found[name] = run()
        same = "" if given.what == "make" else ("same" if stored.get(name) == found[name] else "OTHER")
        print(f"{time.perf_counter() - start:7.2f} s  {name}: {found[name]['shown']} {same}", flush=True)
    if given.what == "make":
        given.file.write_text(json.dumps(found, indent=1) + "\n")
        return
    differ = [name for name in found if stored.get(name) != found[name]]
    print(f"{len(found) - len(differ)} of {len(found)} results are those of {given.file}")
    for name in differ:
        print(f"  {name}: {found[name]}, stored {stored.get(name)}")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
