"""Layered layout of a graph, parents above children (after Sugiyama, Tagawa & Toda 1981).

Each connected component is laid out separately, and components are packed on shelves. The steps for a component:

1. Cycles are broken: some edges are reversed so that all follow one order (Eades, Lin & Smyth 1993).
2. Nodes are assigned to layers of limited size, those at the start of the longest paths first (after Coffman &
   Graham 1972). Then nodes move to layers in which their edges are shorter.
3. An edge across several layers gets a bend in each layer between its ends.
4. Layers are ordered by barycentres, sweeping down and up alternately; the order with the fewest crossings wins.
5. The x coordinates of each layer are fitted to its neighbours by least squares, given order and widths (isotonic
   regression).

Nothing is random; ties go to the lowest index.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Edge: TypeAlias = tuple[int, int]
Lists: TypeAlias = list[list[int]]
Bends: TypeAlias = dict[Edge, list[tuple[float, float]]]

ROW = 92.0  # distance between layers
GAP = 22.0  # gap between nodes of a layer
THIN = 5.0  # gap between edges that cross a layer
BENDS = 3  # most bends per node on average; beyond that, the longest edges are straight
SWEEPS = 24
ASPECT = 1.7  # desired width of the drawing relative to its height
STRETCH = 2.2  # largest factor on the distance of layers in a wide drawing, or of nodes in a high one
SQUEEZE = 0.74  # smallest factor on the distance of layers in a high drawing


@dataclass(frozen=True, eq=False)
class Layout:
    """Centres of the nodes, and the bends of edges across several layers, from tail to head."""

    x: Floats
    y: Floats
    bends: Bends

    @property
    def size(self) -> tuple[float, float]:
        """Width and height spanned by the centres."""
        return (float(np.ptp(self.x)), float(np.ptp(self.y))) if len(self.x) else (0.0, 0.0)


def layered(adjacency: NDArray[np.generic], widths: Sequence[float] | None = None) -> Layout:
    """Lay out a graph given by ``adjacency`` ("row to column", 1 both ways for an undirected edge).

    ``widths`` are the widths of the nodes. The key of an undirected edge's bends is the direction it is drawn in.

    >>> found = layered(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    >>> np.argsort(found.y).tolist(), len(set(found.x.tolist()))  # below each other
    ([0, 1, 2], 1)
    """
    a = np.asarray(adjacency).astype(bool)
    d = len(a)
    wide = np.full(d, 60.0) if widths is None else np.asarray(widths, np.float64)
    if a.shape != (d, d) or wide.shape != (d,):
        raise ValueError(f"adjacency is {a.shape}, widths {wide.shape}: give (d, d) and one width per node")
    x, y, bends = np.zeros(d), np.zeros(d), {}
    parts = []
    for nodes in _parts(a):
        parts.append((nodes, *_place(one_way(a[np.ix_(nodes, nodes)]), wide[nodes])))
    boxes = [_box(px, py, wide[nodes], own) for nodes, px, py, own in parts]
    for (nodes, px, py, own), (left, top) in zip(parts, _shelves(boxes), strict=True):
        x[nodes], y[nodes] = px + left, py + top
        for (u, v), points in own.items():
            bends[nodes[u], nodes[v]] = [(bx + left, by + top) for bx, by in points]
    return Layout(x, y, bends)


def one_way(a: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The edges, directed along an order that violates few directed edges (none if there is no cycle)."""
    d = len(a)
    directed = a & ~a.T
    out, into = directed.sum(axis=1), directed.sum(axis=0)
    left = np.ones(d, bool)
    head: list[int] = []
    tail: list[int] = []
    while left.any():
        ends = np.flatnonzero(left & (into == 0))
        if len(ends):
            v = int(ends[0])
            head.append(v)
        elif len(ends := np.flatnonzero(left & (out == 0))):
            v = int(ends[0])
            tail.append(v)
        else:
            v = int(np.argmax(np.where(left, out - into, -d)))
            head.append(v)
        left[v] = False
        into = into - directed[v]
        out = out - directed[:, v]
    rank = np.empty(d, int)
    rank[head + tail[::-1]] = np.arange(d)
    return (a | a.T) & (rank[:, None] < rank)


def _parts(a: NDArray[np.bool_]) -> list[list[int]]:
    """Connected components, as lists of nodes in increasing order."""
    near = [np.flatnonzero(own).tolist() for own in a | a.T]
    seen, parts = [False] * len(a), []
    for first in range(len(a)):
        if seen[first]:
            continue
        seen[first], part = True, [first]
        for v in part:
            for u in near[v]:
                if not seen[u]:
                    seen[u] = True
                    part.append(u)
        parts.append(sorted(part))
    return parts


def _box(x: Floats, y: Floats, widths: Floats, bends: Bends) -> tuple[float, float, float]:
    """Left end, width and height of a component with its bends."""
    across = [bx for points in bends.values() for bx, _ in points]
    left, right = min((x - widths / 2).min(), *across, math.inf), max((x + widths / 2).max(), *across, -math.inf)
    return float(left), float(right - left), float(y.max())


def _shelves(boxes: list[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """The shift of each component that packs them on shelves, the highest first."""
    if not boxes:
        return []
    area = sum((width + 2 * GAP) * (height + ROW) for _, width, height in boxes)
    room = max(max(width for _, width, _ in boxes), math.sqrt(area * ASPECT))
    moves: list[tuple[float, float]] = [(0.0, 0.0)] * len(boxes)
    across, down, highest = 0.0, 0.0, 0.0
    for i in sorted(range(len(boxes)), key=lambda i: (-boxes[i][2], -boxes[i][1] if boxes[i][2] else 0.0, i)):
        left, width, height = boxes[i]
        if across and across + width > room:
            across, down, highest = 0.0, down + highest + (ROW if highest else ROW * 0.6), 0.0
        moves[i] = (across - left, down)
        across, highest = across + width + 2 * GAP, max(highest, height)
    return moves


def _place(a: NDArray[np.bool_], widths: Floats) -> tuple[Floats, Floats, Bends]:
    """The layout of one component: x, y, bends."""
    d = len(a)
    layer = _layers(a)
    edges: list[Edge] = [(int(u), int(v)) for u, v in np.argwhere(a)]
    edges.sort(key=lambda edge: layer[edge[1]] - layer[edge[0]])  # a stable sort; the shortest get bends first
    layers: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for v in range(d):
        layers[layer[v]].append(v)
    up: list[list[int]] = [[] for _ in range(d)]  # neighbours in the layer above
    down: list[list[int]] = [[] for _ in range(d)]
    passing: dict[Edge, list[int]] = {}
    straight: list[Edge] = []  # edges without bends, which only attract their ends
    for u, v in edges:
        span = layer[v] - layer[u] - 1
        if span and len(up) - d + span > max(400, BENDS * d):
            straight.append((u, v))
            continue
        chain = [*range(len(up), len(up) + span)]
        for k, bend in enumerate(chain):
            layers[layer[u] + 1 + k].append(bend)
            up.append([])
            down.append([])
        if chain:
            passing[u, v] = chain
        for one, next_one in zip([u, *chain], [*chain, v], strict=True):
            down[one].append(next_one)
            up[next_one].append(one)
    pulls = [list(own) for own in up], [list(own) for own in down]
    for u, v in straight:
        pulls[1][u].append(v)
        pulls[0][v].append(u)
    layers = _ordered(layers, up, down, pulls)
    x = _across(layers, *pulls, np.concatenate([widths, np.zeros(len(up) - d)]), d)
    shape = (float(np.ptp(x)) + GAP) / (ASPECT * ROW * len(layers))
    row = ROW * min(max(SQUEEZE, shape), STRETCH)
    if shape < SQUEEZE:
        x = x * min(SQUEEZE / shape, STRETCH)
    y = np.array([layer[v] * row for v in range(d)])
    bends = {
        (u, v): [(float(x[b]), (layer[u] + 1 + k) * row) for k, b in enumerate(chain)]
        for (u, v), chain in passing.items()
    }
    return x[:d], y, bends


def _layers(a: NDArray[np.bool_]) -> list[int]:
    """The layer of each node, below those of its parents; at most about √d nodes per layer."""
    d = len(a)
    most = max(6, math.ceil(1.25 * math.sqrt(d)))
    parents = [np.flatnonzero(own).tolist() for own in a.T]
    children = [np.flatnonzero(own).tolist() for own in a]
    order, missing = [], [len(own) for own in parents]
    ready = [v for v in range(d) if not missing[v]]
    for v in ready:
        order.append(v)
        for child in children[v]:
            missing[child] -= 1
            if not missing[child]:
                ready.append(child)
    below = [0] * d
    for v in reversed(order):
        below[v] = max((below[child] + 1 for child in children[v]), default=0)
    layer, missing = [0] * d, [len(own) for own in parents]
    waiting, depth = sorted((-below[v], v) for v in range(d) if not missing[v]), 0
    room: list[int] = []
    while waiting:
        now, waiting = waiting[:most], waiting[most:]
        room.append(most - len(now))
        for _, v in now:
            layer[v] = depth
            for child in children[v]:
                missing[child] -= 1
                if not missing[child]:
                    insort(waiting, (-below[child], child))
        depth += 1
    for _ in range(8):  # towards shorter edges
        moved = False
        for v in (*reversed(order), *order):
            pull = len(children[v]) - len(parents[v])
            least = max((layer[u] + 1 for u in parents[v]), default=0)
            last = min((layer[u] - 1 for u in children[v]), default=depth - 1)
            ways = range(last, layer[v], -1) if pull > 0 else range(least, layer[v]) if pull < 0 else ()
            for goal in ways:
                if room[goal]:
                    room[layer[v]] += 1
                    room[goal] -= 1
                    layer[v], moved = goal, True
                    break
        if not moved:
            break
    used = sorted(set(layer))
    return [used.index(own) for own in layer]


def _ordered(layers: Lists, up: Lists, down: Lists, pulls: tuple[Lists, Lists]) -> Lists:
    """The layers, each in an order with few crossings; ``pulls`` are neighbours above and below in any layer."""
    place = [0.0] * len(up)

    def settle(nodes: list[int]) -> None:
        for k, v in enumerate(nodes):
            place[v] = k - (len(nodes) - 1) / 2

    for nodes in layers:
        settle(nodes)
    best, fewest = [list(nodes) for nodes in layers], _crossings(layers, down)
    since = 0
    for sweep in range(SWEEPS):
        way, near = (layers[1:], pulls[0]) if sweep % 2 == 0 else (layers[-2::-1], pulls[1])
        for nodes in way:
            key = {v: sum(place[u] for u in near[v]) / len(near[v]) if near[v] else place[v] for v in nodes}
            if sweep % 4 > 1:  # in alternate sweeps, ties are resolved in reverse order
                nodes.reverse()
            nodes.sort(key=key.__getitem__)
            settle(nodes)
        if (now := _crossings(layers, down)) < fewest:
            best, fewest, since = [list(nodes) for nodes in layers], now, 0
        elif (since := since + 1) > 7 or not fewest:
            break
    if len(up) <= 600:
        _swap(best, up, down)
    return best


def _crossings(layers: Lists, down: Lists) -> int:
    """Number of edge crossings: inversions, layer by layer."""
    total = 0
    for nodes, lower in pairwise(layers):
        at = {v: k for k, v in enumerate(lower)}
        seen: list[int] = []
        for v in nodes:
            ends = sorted(at[u] for u in down[v])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _swap(layers: Lists, up: Lists, down: Lists) -> None:
    """Swap neighbours in a layer as long as that reduces crossings."""
    at = {v: k for nodes in layers for k, v in enumerate(nodes)}

    def crossed(first: int, second: int) -> int:
        return sum(
            at[u] > at[w] for near in (up, down) for u in near[first] for w in near[second]
        )  # edges of first, on the left, that end to the right of those of second

    for _ in range(10):
        better = False
        for nodes in layers:
            for k in range(len(nodes) - 1):
                a, b = nodes[k], nodes[k + 1]
                if crossed(a, b) > crossed(b, a):
                    nodes[k], nodes[k + 1] = b, a
                    at[a], at[b], better = k + 1, k, True
        if not better:
            return


def _across(layers: Lists, up: Lists, down: Lists, widths: Floats, d: int) -> Floats:
    """x of nodes and bends: each layer in turn is moved towards its neighbours, given order and widths."""
    x = np.zeros(len(up))
    offsets = []
    for nodes in layers:
        wide, bends = widths[nodes], np.array(nodes) >= d
        gaps = np.array([GAP, 2 * THIN, THIN])[bends[1:].astype(int) + bends[:-1]]
        steps = (wide[1:] + wide[:-1]) / 2 + gaps
        offsets.append(np.concatenate([[0.0], np.cumsum(steps)]))
        x[nodes] = offsets[-1] - offsets[-1][-1] / 2

    def pull(v: int, u: int) -> float:  # straightens long edges before short ones
        return (1.0, 3.0, 10.0)[(v >= d) + (u >= d)]

    both = [a + b for a, b in zip(up, down, strict=True)]
    for sweep in range(SWEEPS):
        near = both if sweep >= SWEEPS - 8 else (up, down)[sweep % 2]
        every = range(len(layers))
        for k in every if sweep % 2 == 0 else reversed(every):
            nodes = layers[k]
            goals, weights = np.empty(len(nodes)), np.empty(len(nodes))
            for i, v in enumerate(nodes):
                pulls = [(pull(v, u), u) for u in near[v]] or [(0.01, v)]
                weights[i] = sum(p for p, _ in pulls)
                goals[i] = sum(p * x[u] for p, u in pulls) / weights[i]
            x[nodes] = isotonic(goals - offsets[k], weights) + offsets[k]
    return x


def isotonic(goals: Floats, weights: Floats) -> Floats:
    """Isotonic regression: the non-decreasing least-squares fit to ``goals`` (pool adjacent violators).

    >>> isotonic(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of items
    for mean, weight, n in zip(goals.tolist(), weights.tolist(), [1] * len(goals), strict=True):
        while pools and pools[-1][0] >= mean:
            other, more, m = pools.pop()
            mean = (mean * weight + other * more) / (weight + more)
            weight, n = weight + more, n + m
        pools.append((mean, weight, n))
    return np.repeat([mean for mean, _, _ in pools], [n for _, _, n in pools])
