"""Right answers to problems on arrays and strings, where there can be several.

Every function says whether outputs are one of the right answers to inputs (one sample of a batch).
It takes for granted that they fit the spec: pointers lead to nodes, choices are one-hot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]

ROUNDING = 1e-9
"""How much worse than the best a sum may seem, relative to the sizes of what is added."""


def walk(pointers: np.ndarray, start: int) -> list[int]:
    """The nodes along the pointers, from `start` until they repeat."""
    following, node = pointers.tolist(), start
    path: dict[int, None] = {}  # a set that keeps the order
    while node not in path:
        path[node] = None
        node = following[node]
    return list(path)


def chains_all(pointers: np.ndarray, path: list[int]) -> bool:
    """Whether a walk passes all nodes and ends at one that points to itself."""
    return len(path) == len(pointers) and bool(pointers[path[-1]] == path[-1])


def chain(pointers: np.ndarray) -> list[int]:
    """All nodes from the last to the first, which points to itself; none if that is no chain."""
    nodes = np.arange(len(pointers))
    last = np.setdiff1d(nodes, pointers[pointers != nodes])  # nobody else points to it
    path = walk(pointers, int(last[0])) if len(last) == 1 else []
    return path if chains_all(pointers, path) else []


def is_ascending_chain(inputs: Arrays, outputs: Arrays) -> bool:
    """`pred` chains all nodes in ascending order of their keys, equal ones in any order."""
    descending = chain(outputs["pred"])
    return bool(descending) and bool((np.diff(inputs["key"][descending]) <= 0).all())


def _has_key(inputs: Arrays, chosen: np.ndarray, key: float) -> bool:
    return bool(inputs["key"][chosen.argmax()] == key)


def is_minimum(inputs: Arrays, outputs: Arrays) -> bool:
    """Any node with the smallest key."""
    return _has_key(inputs, outputs["min"], inputs["key"].min())


def is_median(inputs: Arrays, outputs: Arrays) -> bool:
    """Any node with the key that would stand in the middle of the sorted ones."""
    return _has_key(inputs, outputs["median"], np.sort(inputs["key"])[len(inputs["key"]) // 2])


def is_found(inputs: Arrays, outputs: Arrays) -> bool:
    """Any node with the smallest key that is not below the target or, failing that, the largest."""
    key = inputs["key"]
    place = int(np.searchsorted(key, float(inputs["target"])))
    return _has_key(inputs, outputs["return"], key[min(place, len(key) - 1)])


def is_maximum_subarray(inputs: Arrays, outputs: Arrays) -> bool:
    """Any subarray, not empty, whose sum is the greatest."""
    key, start, end = inputs["key"], outputs["start"].argmax(), outputs["end"].argmax()
    sums = np.cumsum([0.0, *key])
    best = (sums[1:] - np.minimum.accumulate(sums[:-1])).max()
    reached = sums[end + 1] - sums[start]
    return bool(start <= end and reached >= best - ROUNDING * np.abs(key).sum())


def is_largest_selection(inputs: Arrays, outputs: Arrays) -> bool:
    """Any activities that do not overlap, as many as can be."""
    start, finish, selected = inputs["s"], inputs["f"], outputs["selected"] > 0
    order = np.lexsort((start, finish))
    taken = order[selected[order]]
    if (start[taken[1:]] < finish[taken[:-1]]).any():
        return False
    most, free_from = 0, -np.inf
    for new in order:
        if start[new] >= free_from:
            most, free_from = most + 1, finish[new]
    return len(taken) == most


def is_heavy_schedule(inputs: Arrays, outputs: Arrays) -> bool:
    """Any tasks that can all meet their deadlines, and weigh no less than the greedy choice.

    The benchmark's rule does not always find the greatest weight, so whatever is at least as good
    counts as right.
    """
    deadline, weight, selected = inputs["d"], inputs["w"], outputs["selected"] > 0
    if (np.sort(deadline[selected]) < np.arange(1, selected.sum() + 1)).any():
        return False
    slot, greedy = 0, 0.0
    for new in np.argsort(-weight, kind="stable"):
        if slot < deadline[new]:
            slot, greedy = slot + 1, greedy + weight[new]
    return bool(weight[selected].sum() >= greedy - ROUNDING * weight.sum())


def is_convex_hull(inputs: Arrays, outputs: Arrays) -> bool:
    """The corners of the hull, each once: of points at the same place any."""
    points = np.stack((inputs["x"], inputs["y"]), 1)
    chosen = points[outputs["in_hull"] > 0].tolist()
    return sorted(chosen) == sorted(_corners(np.unique(points, axis=0).tolist()))


def _corners(points: list[list[float]]) -> list[list[float]]:
    """The corners of the hull of different points in ascending order, by Andrew's algorithm."""
    if len(points) < 3:
        return points
    corners: list[list[float]] = []
    for way in (points, points[::-1]):
        half: list[list[float]] = []
        for x, y in way:
            while len(half) > 1:
                (x0, y0), (x1, y1) = half[-2:]
                if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                    break
                half.pop()
            half.append([x, y])
        corners += half[:-1]
    return corners


Joining = Callable[[np.ndarray | int, np.ndarray | int, np.ndarray | int], np.ndarray]
"""The cost of joining the ranges from i to k and from k + 1 to j, besides their own."""


def _least_cost(alone: np.ndarray, joining: Joining) -> float:
    """The least cost at which ranges of one place each are joined to the range of all."""
    n = len(alone)
    cost = np.diag(alone.astype(np.float64))
    for size in range(1, n):
        i = np.arange(n - size)[:, None]
        k, j = i + np.arange(size), i + size
        cost[i[:, 0], j[:, 0]] = (cost[i, k] + cost[k + 1, j] + joining(i, k, j)).min(1)
    return cost[0, -1]


def _splits_cheaply(splits: np.ndarray, alone: np.ndarray, joining: Joining) -> bool:
    """Whether the splits, followed from the range of all places, cost the least possible.

    What is said about ranges that do not come up on the way does not count.
    """
    cost, ranges = alone.sum(), [(0, len(alone) - 1)]
    while ranges:
        i, j = ranges.pop()
        if i == j:
            continue
        k = int(splits[i, j])
        if not i <= k < j:
            return False
        cost += joining(i, k, j)
        ranges += [(i, k), (k + 1, j)]
    return bool(cost <= (1 + ROUNDING) * _least_cost(alone, joining))


def is_cheapest_chain_order(inputs: Arrays, outputs: Arrays) -> bool:
    """Any splits by which the whole chain is multiplied at the least cost."""
    p = inputs["p"]  # matrix i, which the ranges count from 0, has p[i] rows and p[i + 1] columns
    return _splits_cheaply(
        outputs["s"][1:, 1:].astype(int) - 1,
        np.zeros(len(p) - 1),
        lambda i, k, j: p[i] * p[k + 1] * p[j + 1],
    )


def is_cheapest_search_tree(inputs: Arrays, outputs: Arrays) -> bool:
    """Any roots that make the tree of all keys one of least expected cost."""
    p, q = inputs["p"], inputs["q"]
    keys, gaps = np.cumsum([0.0, *p]), np.cumsum([0.0, *q])
    return _splits_cheaply(
        outputs["root"], q, lambda i, k, j: keys[j] - keys[i] + gaps[j + 1] - gaps[i]
    )


def is_longest_common_subsequence(inputs: Arrays, outputs: Arrays) -> bool:
    """Any table that leads from its last cell along a common subsequence of greatest length.

    What is said in cells that do not come up on the way does not count.
    """
    letters, second = inputs["key"].argmax(-1).tolist(), inputs["string"] > 0
    start, ways = int(second.argmax()), outputs["b"].argmax(-1)
    i, j, length = start - 1, len(letters) - 1, 0
    while i >= 0 and j >= start:
        way = int(ways[i, j])
        if way == 3 or (way == 0 and letters[i] != letters[j]):
            return False
        length += way == 0
        i, j = i - (way in (0, 1)), j - (way in (0, 2))
    return length == _longest_common_length(letters[:start], letters[start:])


def _longest_common_length(x: list[int], y: list[int]) -> int:
    lengths = [0] * (len(y) + 1)  # for the letters of x so far, and each prefix of y
    for a in x:
        before = lengths
        lengths = [0]
        for j, b in enumerate(y):
            lengths.append(before[j] + 1 if a == b else max(before[j + 1], lengths[j]))
    return lengths[-1]
