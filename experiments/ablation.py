"""What each part of `brai.search.from_tree` adds: BDeu of the graph found and CPU seconds, on the original data
sets.

python experiments/ablation.py --data FOLDER [--networks Alarm …] [--sets 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from brai import BRAI
from brai.kinds.scores import FamilyScores
from brai.research.paper.sources import case
from brai.search.family_table import FamilyTable
from brai.search.from_tree import adjacency_of, polish
from brai.search.hill_climbing import hill_climb
from brai.search.orders import search_by_order
from brai.tree.draws import best_route

SEED = np.random.SeedSequence(3)


def _tabu(scores: FamilyScores, tree: Any, start: bool) -> float:
    d = scores.data.n_variables
    begin = adjacency_of(best_route(tree).families, d) if start else None
    most = 4 if begin is None else max(4, int(begin.sum(axis=0).max()))
    return hill_climb(scores, start=begin, max_parents=most, orders=[range(d)]).log_score


def _with_families(scores: FamilyScores, tree: Any) -> float:
    table = FamilyTable(scores)
    table.add(family for leaf in tree.leaves for family in leaf.families)
    return polish(table, None, restarts=15, seed=SEED).log_score


ARMS: dict[str, Callable[[FamilyScores, Any], float]] = {
    "the tree's own MAP": lambda scores, tree: best_route(tree).log_score,
    "tabu from no edges": lambda scores, tree: _tabu(scores, tree, start=False),
    "tabu from the tree's MAP": lambda scores, tree: _tabu(scores, tree, start=True),
    "climbs over orders, no kicks": lambda scores, tree: (
        search_by_order(FamilyTable(scores), restarts=15, kicks=0, grow=False, seed=SEED).log_score
    ),
    "… with kicks": lambda scores, tree: (
        search_by_order(FamilyTable(scores), restarts=15, kicks=10, grow=False, seed=SEED).log_score
    ),
    "… and a growing table": lambda scores, tree: (
        search_by_order(FamilyTable(scores), restarts=15, kicks=10, seed=SEED).log_score
    ),
    "… and tabu by turns (polish without the tree)": lambda scores, tree: (
        polish(FamilyTable(scores), None, restarts=15, seed=SEED).log_score
    ),
    "… and the tree's families": _with_families,
    "… and the tree's draws to start from (default)": lambda scores, tree: (
        polish(FamilyTable(scores), tree, seed=SEED).log_score
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", default=["Insurance", "Alarm", "Hailfinder", "Barley", "Munin"])
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, list[tuple[float, float]]]] = {name: {} for name in ARMS}
    for network in args.networks:
        for version in range(1, args.sets + 1):
            print(network, version, file=sys.stderr, flush=True)
            train = case(args.data, network, version).train
            train = train.select(sorted(train.names))
            tree = BRAI(polish=False, random_state=0).fit(train).tree_
            for name, arm in ARMS.items():
                start = time.process_time()
                score = arm(FamilyScores(train), tree)
                found[name].setdefault(network, []).append((score, time.process_time() - start))
    print("| | " + " | ".join(args.networks) + " |\n|---" + "|---" * len(args.networks) + "|")
    for name, own in found.items():
        cells = (np.mean(own[network], axis=0) for network in args.networks)
        print(f"| {name} | " + " | ".join(f"{score:.1f}, {seconds:.2f} s" for score, seconds in cells) + " |")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
