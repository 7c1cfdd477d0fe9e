"""Where the nodes of a graph are drawn: planar if springs find a way, on a circle if it is dense.

The places depend on the edges alone, so they stay while an algorithm runs, and every draw of the
same graph is the same.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

_DENSE = 2.2
"""Edges per node from which a circle is easier to read."""
_STARTS, _ROUNDS, _MOVES = 12, 160, 700
_NEAR = 0.16
"""How near, in a picture of height 1, a node or an edge may come to another node."""
_FLAT = 0.35
"""The angle, in radians, below which two edges of a node run into each other."""
_ASPECT = 1.25


def place_nodes(A: np.ndarray) -> list[list[float]]:
    """The place of each node, from (0, 0) at the left upper corner to (1, 1)."""
    n = len(A)
    joined = np.triu((A != 0) | (A.T != 0), 1)
    circle = _circle(n)
    if n <= 3 or joined.sum() > _DENSE * n:
        return _fitted(circle)
    edges = Edges(joined)
    rng = np.random.default_rng(0)
    starts = np.stack([circle, *rng.normal(size=(_STARTS - 1, n, 2)) * 0.6])
    settled = [_scaled(points) for points in _relaxed(starts, joined | joined.T)]
    best = min(settled, key=edges.badness)
    return _fitted(_improved(best, edges, rng) if n <= 24 else best)


def _circle(n: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(n) / max(n, 1) - np.pi / 2
    return np.stack([np.cos(angles), np.sin(angles)], 1)


def _relaxed(starts: np.ndarray, joined: np.ndarray) -> np.ndarray:
    """Springs along edges, repulsion between all nodes (Fruchterman and Reingold, 1991).

    `starts` are (S, n, 2), all of which are relaxed at once.
    """
    points, n = starts.copy(), len(joined)
    ideal = 1.6 / np.sqrt(n)
    for heat in 0.2 * 0.97 ** np.arange(_ROUNDS):
        apart = points[:, :, None] - points[:, None]  # (S, n, n, 2)
        distance = np.linalg.norm(apart, axis=-1) + 1e-3
        push = ideal**2 / distance - joined * distance**2 / ideal
        push[:, np.arange(n), np.arange(n)] = 0
        force = (apart * (push / distance)[..., None]).sum(2) - 0.35 * points
        size = np.linalg.norm(force, axis=-1, keepdims=True) + 1e-9
        points += force / size * np.minimum(size, heat)
    return points


def _scaled(points: np.ndarray) -> np.ndarray:
    """Points in a box of height 1."""
    low, high = points.min(0), points.max(0)
    scaled: np.ndarray = (points - low) / np.maximum(high - low, 1e-6) * (_ASPECT, 1)
    return scaled


class Edges:
    """The edges of a graph, and what of them does not change with the places of the nodes."""

    def __init__(self, joined: np.ndarray):
        """`joined` is an upper triangle: which pairs of nodes have an edge."""
        self.ends = np.argwhere(joined)
        nodes = np.arange(len(joined))
        self.shared = (self.ends[:, None, :, None] == self.ends[None, :, None, :]).any((2, 3))
        self.strange = (nodes[:, None, None] != self.ends[None]).all(-1)  # (nodes, edges)
        around = [np.flatnonzero(joined[node] | joined[:, node]) for node in nodes]
        pairs = [(node, *two) for node in nodes for two in combinations(around[node], 2)]
        self.angles = np.array(pairs, np.int64).reshape(-1, 3)
        """(angles, 3): a node, and two others that it has edges to."""

    def badness(self, points: np.ndarray) -> float:
        """Crossings count most, then nodes too near to nodes or edges, then flat angles."""
        start, end = points[self.ends[:, 0]], points[self.ends[:, 1]]
        return (
            4.0 * self.crossings(points)
            + _crowding(points)
            + 1.5 * self._touching(points, start, end - start)
            + 0.6 * self._flatness(points)
        )

    def crossings(self, points: np.ndarray) -> int:
        """How many pairs of edges cross."""
        start, end = points[self.ends[:, 0]], points[self.ends[:, 1]]
        way = end - start
        one, other = (_cross(way[:, None], ends[None] - start[:, None]) for ends in (start, end))
        parted = one * other < 0
        return int((parted & parted.T & ~self.shared).sum()) // 2

    def _touching(self, points: np.ndarray, start: np.ndarray, way: np.ndarray) -> float:
        """How much nodes come near to edges that are not theirs."""
        apart = points[:, None] - start[None]  # (nodes, edges, 2)
        along = np.clip((apart * way).sum(-1) / np.maximum((way**2).sum(-1), 1e-9), 0, 1)
        distance = np.linalg.norm(apart - along[..., None] * way, axis=-1)
        return float((np.clip(_NEAR - distance, 0, None) / _NEAR)[self.strange].sum())

    def _flatness(self, points: np.ndarray) -> float:
        """How much edges of the same node run into each other."""
        node, one, other = points[self.angles.T]
        a, b = one - node, other - node
        between = np.abs(np.arctan2(_cross(a, b), (a * b).sum(-1)))
        return float((np.clip(_FLAT - between, 0, None) / _FLAT).sum())


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    cross: np.ndarray = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return cross


def _crowding(points: np.ndarray) -> float:
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1)
    near = np.clip(1.6 * _NEAR - distance, 0, None)[np.triu_indices(len(points), 1)]
    return float((near / _NEAR).sum())


def _improved(points: np.ndarray, edges: Edges, rng: np.random.Generator) -> np.ndarray:
    """Single nodes moved as long as that helps."""
    best, least = points, edges.badness(points)
    for move in range(_MOVES):
        if least < 0.05:
            break
        tried = best.copy()
        reach = 0.4 * (1 - move / _MOVES) + 0.03
        node = rng.integers(len(points))
        tried[node] = np.clip(tried[node] + rng.normal(size=2) * reach, 0, (_ASPECT, 1))
        badness = edges.badness(tried)
        if badness < least:
            best, least = tried, badness
    return best


def _fitted(points: np.ndarray) -> list[list[float]]:
    low, high = points.min(0), points.max(0)
    shares = (points - low) / np.where(high - low > 1e-9, high - low, 1)
    fitted: list[list[float]] = np.round(np.where(high - low > 1e-9, shares, 0.5), 4).tolist()
    return fitted
