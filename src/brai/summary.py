"""What was learned, as plain values (for JSON) and as text (for people)."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from brai.estimators import BRAI
from brai.graphs import PDAG


def edge_shares(draws: list[tuple[PDAG, float]]) -> list[dict[str, Any]]:
    """How often each edge appears in the draws: in any form, and directed either way or undirected."""
    graphs = Counter(cpdag for cpdag, _ in draws)
    shares: dict[tuple[str, str], dict[str, int]] = {}
    for cpdag, n in graphs.items():
        kinds = [(edge, "forward", "backward") for edge in cpdag.directed_edges()]
        kinds += [(edge, "undirected", "undirected") for edge in cpdag.undirected_edges()]
        position = {name: i for i, name in enumerate(cpdag.names)}
        for (a, b), as_is, turned in kinds:
            first = position[a] < position[b]
            row = shares.setdefault((a, b) if first else (b, a), Counter())
            row[as_is if first else turned] += n
    total = len(draws)
    rows = [
        {
            "from": a,
            "to": b,
            "share": sum(row.values()) / total,
            "forward": row["forward"] / total,
            "backward": row["backward"] / total,
            "undirected": row["undirected"] / total,
        }
        for (a, b), row in shares.items()
    ]
    return sorted(rows, key=lambda row: (-row["share"], row["from"], row["to"]))


def summary(model: BRAI, n_rows: int, draws: list[tuple[PDAG, float]], temperature: float) -> dict[str, Any]:
    """Everything the commands report, as plain values."""
    tree, distinct = model.tree_, model.n_distinct()
    return {
        "rows": n_rows,
        "variables": list(model.cpdag_.names),
        "map": {
            "directed": model.cpdag_.directed_edges(),
            "undirected": model.cpdag_.undirected_edges(),
            "log_score": model.log_score_,
            "score": model.family_score,
            "ess": model.ess,
        },
        "tree": {
            "s": tree.s,
            "nodes": tree.n_nodes,
            "leaves": tree.n_leaves,
            "depth": tree.depth,
            "routes": tree.n_routes,
            "distinct_cpdags": distinct.n,
            "distinct_is_exact": distinct.exact,
            "repaired_leaves": tree.n_repaired,
            "truncated_leaves": tree.n_truncated,
            "ci_tests_by_order": tree.n_ci_tests.tolist(),
        },
        "draws": {
            "n": len(draws),
            "temperature": temperature if math.isfinite(temperature) else "inf",  # JSON has no infinity
            "method": model.draw,
            "distinct_cpdags": len({cpdag for cpdag, _ in draws}),
            "edges": edge_shares(draws),
        },
    }


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def as_text(found: dict[str, Any]) -> str:
    """The summary for a person."""
    best, tree, draws = found["map"], found["tree"], found["draws"]
    bound = "" if tree["distinct_is_exact"] else "at most "
    lines = [
        f"{_count(found['rows'], 'row')}, {_count(len(found['variables']), 'variable')}",
        "",
        f"MAP CPDAG, log score {best['log_score']:.3f} ({best['score']}, ess {best['ess']:g})",
        *(f"  {a} → {b}" for a, b in best["directed"]),
        *(f"  {a} – {b}" for a, b in best["undirected"]),
        *([] if best["directed"] or best["undirected"] else ["  (no edges)"]),
        "",
        f"Tree with s = {tree['s']}: {_count(tree['nodes'], 'node')}, {tree['leaves']} of them leaves, "
        f"depth {tree['depth']}",
        f"  {_count(tree['routes'], 'route')}, {bound}{_count(tree['distinct_cpdags'], 'distinct CPDAG')}",
        f"  CI tests by order: {', '.join(map(str, tree['ci_tests_by_order'])) or 'none'}",
    ]
    if tree["repaired_leaves"]:
        lines.append(f"  leaves without a DAG extension, repaired: {tree['repaired_leaves']}")
    if tree["truncated_leaves"]:
        lines.append(f"  leaves cut off by a limit on order or tests: {tree['truncated_leaves']}")
    shown, n = draws["method"], draws["n"]
    lines += [
        "",
        f"Edges in {n} draws ({shown}, temperature {draws['temperature']}; "
        f"{_count(draws['distinct_cpdags'], 'distinct CPDAG')})",
    ]
    if draws["edges"]:
        width = max(len(row["from"]) + len(row["to"]) for row in draws["edges"]) + 3
        heads = "  ".join(f"{head:>6}" for head in ("any", "→", "←", "–"))
        lines.append(f"  {'edge':<{width}} {heads}")
        for row in draws["edges"]:
            edge = f"{row['from']} · {row['to']}"
            cells = "  ".join(f"{row[c]:6.1%}" for c in ("share", "forward", "backward", "undirected"))
            lines.append(f"  {edge:<{width}} {cells}")
    return "\n".join(lines)
