"""The graph generative tree (GGT) as a table of levels and as a picture of nested groups."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Any

from brai.tree.ggt import GGT, BootstrapNode, Leaf, Node

BOXES = 4000  # most boxes in the picture
NARROW = 1 / 3000  # smallest width of a group in the picture, as a share of the whole


def tree_view(tree: GGT) -> dict[str, Any]:
    """Totals of the tree, a row per level, and the boxes of the picture.

    Level n holds the groups that reach tests of order n. Bootstrap nodes run these tests; leaves were resolved
    before. A box is [level, left, width, variables, kind, number of bootstrap samples that share it]. Widths are
    shares of the whole: proportional to the variables of a group, and equal among its s sub-trees.
    """
    sizes = _sizes(tree.root)
    return {
        "s": tree.s,
        "nodes": tree.n_nodes,
        "leaves": tree.n_leaves,
        "depth": tree.depth,
        "routes": str(tree.n_routes) if tree.n_routes < 10**15 else _power(tree.n_routes),
        "repaired": tree.n_repaired,
        "truncated": tree.n_truncated,
        "levels": _levels(tree, sizes),
        "boxes": _boxes(tree.root, sizes),
    }


def _power(n: int) -> str:
    digits = str(n)
    return f"{digits[0]}.{digits[1]} × 10^{len(digits) - 1}"


def _sizes(root: Node) -> dict[int, int]:
    """Number of variables of each node, by identity."""
    sizes: dict[int, int] = {}

    def size(node: Node) -> int:
        if id(node) not in sizes:
            if isinstance(node, Leaf):
                sizes[id(node)] = len(node.families)
            else:
                sizes[id(node)] = sum(max(size(child) for child in group) for group in node.groups)  # all alike
        return sizes[id(node)]

    size(root)
    return sizes


def _levels(tree: GGT, sizes: dict[int, int]) -> list[dict[str, Any]]:
    levels: list[dict[str, Any]] = []
    seen: set[int] = set()
    now: list[Node] = [tree.root]
    while now := [node for node in now if id(node) not in seen]:
        fresh = list({id(node): node for node in now}.values())
        seen.update(map(id, fresh))
        own = sorted(sizes[id(node)] for node in fresh)
        n = len(levels)
        levels.append(
            {
                "order": n,
                "nodes": sum(isinstance(node, BootstrapNode) for node in fresh),
                "leaves": sum(isinstance(node, Leaf) for node in fresh),
                "sizes": [own[0], median(own), own[-1]],
                "histogram": _histogram(own),
                "tests": int(tree.n_ci_tests[n]) if n < len(tree.n_ci_tests) else 0,
            }
        )
        now = [
            child for node in fresh if isinstance(node, BootstrapNode) for group in node.groups for child in group
        ]
    return levels


def _histogram(sizes: list[int]) -> list[list[int]]:
    """[smallest size, count] for the bins 1, 2, 3–4, 5–8, …"""
    bins: dict[int, int] = {}
    for size in sizes:
        low = 1 if size <= 1 else (1 << (size - 1).bit_length() - 1) + 1
        bins[low] = bins.get(low, 0) + 1
    return [[low, bins[low]] for low in sorted(bins)]


def _boxes(root: Node, sizes: dict[int, int]) -> list[list[Any]]:
    boxes: list[list[Any]] = []
    queue: deque[tuple[Node, int, float, float, int]] = deque([(root, 0, 0.0, 1.0, 1)])
    while queue and len(boxes) < BOXES:
        node, level, left, width, times = queue.popleft()
        kind = "node" if isinstance(node, BootstrapNode) else "leaf"
        if isinstance(node, Leaf) and (node.truncated or node.repaired):
            kind = "cut" if node.truncated else "repaired"
        boxes.append([level, round(left, 5), round(width, 5), sizes[id(node)], kind, times])
        if not isinstance(node, BootstrapNode):
            continue
        across = left
        for group in node.groups:
            share = width * sizes[id(group[0])] / max(1, sizes[id(node)])
            copies = [group[0]] if all(child is group[0] for child in group) else list(group)
            for t, child in enumerate(copies):
                if share / len(copies) >= NARROW:
                    at = across + t * share / len(copies)
                    queue.append((child, level + 1, at, share / len(copies), len(group) // len(copies)))
            across += share
    return boxes
