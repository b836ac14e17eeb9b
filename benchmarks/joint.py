"""Parents that matter only together: random networks of that sort, and what the search finds on them.

    python benchmarks/joint.py [--data FOLDER] [--networks xor-100 …] [--seeds 1] [--without]

For each network: the log score of the true graph and of BRAI's best graph, how many true families score higher
than everything in the table of parent sets (before and after `brai.search.joint_parents.deepen`), the log
predictive probability of 5000 other rows, CPU seconds and memory. With --without the search has no joint parents;
with --table-only there is no search. Networks of the data folder can be named as well (link, munin1, …).

- xor-D: D binary variables; half of them are the exclusive or of two others, with 5 % noise.
- pedigree-D: genotypes of D individuals (3 states); children inherit one allele from each of two parents.
- states-D: D variables of 3 to 21 states; most have two parents and a random, nearly deterministic table.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import brai.learners.brai as learner
from brai import BRAI, Dataset, load_network
from brai.graphs.pdag import families_of
from brai.kinds.scores import FamilyScores
from brai.posterior.prediction import log_predictive
from brai.search.family_table import FamilyTable
from brai.search.joint_parents import Deepened, Screen, deepen

ROWS, TEST_ROWS = 500, 5000
NETWORKS = (
    "xor-50",
    "xor-200",
    "xor-800",
    "pedigree-100",
    "pedigree-400",
    "states-60",
    "states-200",
    "states-400",
)
Rows = Callable[[int, np.random.Generator], np.ndarray[Any, Any]]


def xor(d: int, rng: np.random.Generator) -> tuple[list[tuple[int, ...]], list[int], Rows]:
    """Half of the variables are the exclusive or of two earlier ones."""
    parents: list[tuple[int, ...]] = [
        tuple(rng.choice(v, 2, replace=False).tolist()) if v >= d // 2 else () for v in range(d)
    ]

    def rows(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        codes = rng.integers(0, 2, (d, n))
        for v, own in enumerate(parents):
            if own:
                codes[v] = codes[own[0]] ^ codes[own[1]] ^ (rng.random(n) < 0.05)
        return codes

    return parents, [2] * d, rows


def pedigree(d: int, rng: np.random.Generator) -> tuple[list[tuple[int, ...]], list[int], Rows]:
    """Genotypes with 0, 1 or 2 copies of an allele; a fifth are founders, others have two parents."""
    parents: list[tuple[int, ...]] = []
    for v in range(d):
        near = np.arange(max(0, v - 40), v)
        parents.append(tuple(rng.choice(near, 2, replace=False).tolist()) if v >= d // 5 else ())

    def rows(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        codes = np.zeros((d, n), np.int64)
        for v, own in enumerate(parents):
            if own:
                codes[v] = sum((rng.random(n) < codes[p] / 2).astype(np.int64) for p in own)
            else:
                codes[v] = rng.binomial(2, 0.4, n)
        return codes

    return parents, [3] * d, rows


def states(d: int, rng: np.random.Generator) -> tuple[list[tuple[int, ...]], list[int], Rows]:
    """Variables of 3 to 21 states with two parents each; the table gives one state 90 % in each configuration."""
    arities = rng.integers(3, 22, d)
    parents: list[tuple[int, ...]] = [
        tuple(rng.choice(v, 2, replace=False).tolist()) if v >= d // 3 else () for v in range(d)
    ]
    tables = [rng.integers(0, arities[v], [arities[p] for p in own]) for v, own in enumerate(parents)]

    def rows(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        codes = np.zeros((d, n), np.int64)
        for v, own in enumerate(parents):
            codes[v] = rng.integers(0, arities[v], n)
            if own:
                usual = tables[v][tuple(codes[p] for p in own)]
                codes[v] = np.where(rng.random(n) < 0.9, usual, codes[v])
        return codes

    return parents, arities.tolist(), rows


MAKERS = {"xor": xor, "pedigree": pedigree, "states": states}


def samples(name: str, seed: int, folder: Path | None) -> tuple[Dataset, Dataset, tuple[Any, ...]]:
    """Training rows, other rows, and the true families, with variables sorted by name."""
    kind, _, size = name.partition("-")
    if kind not in MAKERS:
        path = None if folder is None else folder / "networks" / f"{name}.bif.gz"
        source = load_network(path if path is not None and path.is_file() else name)
        names = sorted(source.names)
        train, test = source.sample(ROWS, random_state=seed), source.sample(TEST_ROWS, random_state=1000 + seed)
        return train.select(names), test.select(names), families_of(source.pdag.reorder(names))
    rng = np.random.default_rng([seed, int(size)])
    parents, arities, rows = MAKERS[kind](int(size), rng)
    names = [f"v{v:05}" for v in range(int(size))]
    made = [Dataset.from_codes(rows(n, rng).T, arities=arities, names=names) for n in (ROWS, TEST_ROWS)]
    return made[0], made[1], tuple((v, tuple(sorted(own))) for v, own in enumerate(parents))


def missing(table: FamilyTable, truth: tuple[Any, ...], scores: list[float]) -> tuple[int, float]:
    """Number of true families that beat all sets of their variable in the table, and by how much in all."""
    best = [max(own.values()) for own in table.sets]
    above = [score - best[v] for (v, _), score in zip(truth, scores, strict=True) if score > best[v] + 1e-6]
    return len(above), sum(above)


def measured(name: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """All figures for one network."""
    train, test, truth = samples(name, seed, args.data)
    scores = FamilyScores(train)
    true = scores.families(list(truth))
    table = FamilyTable(scores)
    before = missing(table, truth, true)
    start = time.process_time()
    done = deepen(table)
    spent = time.process_time() - start
    after = missing(table, truth, true)
    found = {
        "network": name,
        "seed": seed,
        "true_score": sum(true),
        "missing_before": before,
        "missing_after": after,
        "families_of_two": done.scored,
        "candidates": done.screen.candidates,
        "pairs_cpu_s": spent,
    }
    if not args.table_only:
        own = seed if args.search_seed is None else args.search_seed
        found |= fitted(train, test, truth, own, not args.without)
    return {**found, "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}


def fitted(train: Dataset, test: Dataset, truth: tuple[Any, ...], seed: int, joint: bool) -> dict[str, Any]:
    """Score, prediction and time of BRAI."""
    learner.deepen = deepen if joint else lambda *a, **k: Deepened(0, 0, Screen(0, 0, True), ())
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BRAI(random_state=seed).fit(train)
    cpu = time.process_time() - start
    return {
        "joint": joint,
        "search_seed": seed,
        "score": model.log_score_,
        "true_predictive": float(log_predictive(truth, train, test).sum()),
        "predictive": float(log_predictive(families_of(model.dag_), train, test).sum()),
        "fit_cpu_s": cpu,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--search-seed", type=int, help="seed of the search  [default: that of the sample]")
    parser.add_argument("--table-only", action="store_true", help="no fit, only the table of parent sets")
    parser.add_argument("--without", action="store_true", help="search without joint parents")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    BRAI(random_state=0, n_draws=10).fit(load_network("asia").sample(50, random_state=0))  # compile
    shown = {"true_score": ".0f", "score": ".1f", "true_predictive": ".0f", "predictive": ".0f"}
    shown |= {"candidates": "d", "pairs_cpu_s": ".1f", "fit_cpu_s": ".1f", "peak_gb": ".1f"}
    print(f"| network | missing true families | {' | '.join(shown)} |\n{'|---' * (len(shown) + 2)}|", flush=True)
    rows = []
    for name in args.networks:
        for seed in range(args.seeds):
            one = measured(name, seed, args)
            rows.append(one)
            (n, nats), (m, left) = one["missing_before"], one["missing_after"]
            figures = [format(one[key], form) if key in one else "" for key, form in shown.items()]
            print(f"| {name} | {n}, {nats:.0f} nats → {m}, {left:.0f} | {' | '.join(figures)} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
