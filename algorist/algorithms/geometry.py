"""Computational geometry (CLRS chapter 33)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from algorist.algorithms.array_answers import is_convex_hull
from algorist.algorithms.compiling import compiled, copy
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.random import below, fill_uniform, uniform
from algorist.algorithms.sampling import Options, checked_shares, sampler
from algorist.algorithms.textbook import point_to_previous, point_to_self, sort_nodes
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.algorithms.user_inputs.separating import separate_points
from algorist.errors import shorten
from algorist.spec import graph, node


@compiled
def turn(x, y, a, b, c):
    """Above 0 if the way from a over b to c turns left, below if right, 0 if it goes straight."""
    return (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a])


def _points(given: dict[str, Any]) -> dict[str, Any]:
    """Let users give `points`, pairs of coordinates, instead of `x` and `y`."""
    if "points" not in given:
        return given
    for name in ("x", "y"):
        if name in given:
            raise ValueError(f"{name}: got it besides points, expected one form or the other")
    points = given.pop("points")
    try:
        pairs = np.array(points, np.float64)
    except (TypeError, ValueError, OverflowError):
        pairs = np.empty(0)
    if pairs.shape == (2, 2, 2):  # two segments, each a pair of points
        pairs = pairs.reshape(4, 2)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"points: got {shorten(points)}, expected pairs of coordinates, [(x, y), ...]"
        )
    return {**given, "x": pairs[:, 0], "y": pairs[:, 1]}


_SEGMENT_DRAWS = 10_000
_GRID = 4
"""A power of 2, so that points of the grid are exactly on one line."""


def _open_range(n: int, options: Options) -> Options:
    if options["low"] >= options["high"]:
        raise ValueError(
            f"options low, high: got {options['low']} and {options['high']}, expected low < high"
        )
    return checked_shares(options)


@compiled
def _cross(x, y):
    return (turn(x, y, 0, 2, 3) > 0) != (turn(x, y, 1, 2, 3) > 0) and (turn(x, y, 0, 1, 2) > 0) != (
        turn(x, y, 0, 1, 3) > 0
    )


@compiled
def _fill_from_grid(rng, values, low, high):
    for i in range(len(values)):
        values[i] = low + (high - low) * below(rng, _GRID) / _GRID


@sampler(settle=_open_range, nodes=lambda n, options: 4)
def segments(rng, x, y, low=0.0, high=1.0, ood_share=0.0):
    """Two segments between points from U[low, high)²; a fair coin says whether they cross.

    With the probability `ood_share` the points are those of a small grid: many segments touch,
    or lie on one line.
    """
    if ood_share > 0 and uniform(rng, 0.0, 1.0) < ood_share:
        _fill_from_grid(rng, x, low, high)
        _fill_from_grid(rng, y, low, high)
        return
    wanted = uniform(rng, 0.0, 1.0) > 0.5
    for _ in range(_SEGMENT_DRAWS):
        fill_uniform(rng, x, low, high)
        fill_uniform(rng, y, low, high)
        if _cross(x, y) == wanted:
            return
    raise ValueError("options low, high: got a range too narrow or too wide for segments to cross")


def four_points(arrays: Mapping[str, np.ndarray]) -> None:
    """The ends of two segments."""
    if len(arrays["x"]) != 4:
        raise ValueError(f"x, y: got {len(arrays['x'])} points, expected 4: the ends of 2 segments")


@compiled
def _between(values, a, b, c):
    return min(values[a], values[b]) <= values[c] <= max(values[a], values[b])


@algorithm(
    "geometry",
    inputs={"pos": node.scalar, "x": node.scalar, "y": node.scalar},
    hints={
        "i": node.mask_one,
        "j": node.mask_one,
        "k": node.mask_one,
        "dir": node.scalar,
        "on_seg": node.mask,
    },
    outputs={"intersect": graph.mask},
    sampler=segments,
    scale=Scale((("x",), ("y",)), shifts=True, degrees={"dir": 2}),
    requires=(four_points,),
    adapt=_points,
    min_nodes=4,
    eval_multiplier=64,
)
def segments_intersect(x, y, i, j, k, dir_, on_seg, intersect, trace):
    """Decide whether the segments from 0 to 1 and from 2 to 3 have a point in common (CLRS 33.1).

    For each point: on which side of the other segment it is, and whether in that one's box.
    """
    record(trace)
    for point in range(4):
        i[0], j[0], k[0] = (2, 3, point) if point < 2 else (0, 1, point)
        dir_[point] = turn(x, y, i[0], point, j[0])
        on_seg[point] = _between(x, i[0], j[0], point) and _between(y, i[0], j[0], point)
        record(trace)
    if _opposite(dir_[0], dir_[1]) and _opposite(dir_[2], dir_[3]):
        intersect[0] = 1
    for point in range(4):
        if dir_[point] == 0 and on_seg[point]:
            intersect[0] = 1


@compiled
def _opposite(a, b):
    return (a > 0 and b < 0) or (a < 0 and b > 0)


def _checked_disk(n: int, options: Options) -> Options:
    for name, least in (("collinearity_resampling_attempts", 1), ("collineararity_eps", 0)):
        if options[name] < least:
            raise ValueError(f"option {name}: got {options[name]}, expected at least {least}")
    if options["radius"] <= 0:
        raise ValueError(f"option radius: got {options['radius']}, expected more than 0")
    return options


@compiled
def _some_collinear(x, y, eps):
    n = len(x)
    for a in range(n):
        for b in range(a + 1, n):
            for c in range(b + 1, n):
                if abs(turn(x, y, a, b, c)) < eps:
                    return True
    return False


@sampler(settle=_checked_disk)
def points_in_disk(
    rng,
    x,
    y,
    origin_x=0.0,
    origin_y=0.0,
    radius=2.0,
    collinearity_resampling_attempts=1000,
    collineararity_eps=1e-12,
    truncate_decimals=0,
):
    """Points all over a disk, drawn again until no three of them are collinear once truncated."""
    scale = 10.0**truncate_decimals
    for _ in range(collinearity_resampling_attempts):
        fill_uniform(rng, x, 0.0, 2.0 * math.pi)
        fill_uniform(rng, y, 0.0, 1.0)
        for i in range(len(x)):
            angle, distance = x[i], radius * math.sqrt(y[i])
            x[i] = distance * math.cos(angle) + origin_x
            y[i] = distance * math.sin(angle) + origin_y
            if truncate_decimals:
                x[i] = np.trunc(x[i] * scale) / scale
                y[i] = np.trunc(y[i] * scale) / scale
        if not _some_collinear(x, y, collineararity_eps):
            return
    raise ValueError(
        "options collinearity_resampling_attempts, collineararity_eps, radius: got three collinear "
        "points in every attempt, expected more attempts, a smaller eps or a larger radius"
    )


@compiled
def _lowest(x, y):
    """The lowest point, and the leftmost of several."""
    lowest = 0
    for i in range(len(x)):
        if y[i] < y[lowest] or (y[i] == y[lowest] and x[i] < x[lowest]):
            lowest = i
    return lowest


@compiled
def _distance(x, y, a, b):
    """The distance along the axes: as good as any to compare points in the same direction."""
    return abs(x[a] - x[b]) + abs(y[a] - y[b])


@compiled
def _by_angle(x, y, centre, angle):
    """All points apart from the centre, in order of their angle there, near before far."""
    n = len(x)
    order, distance, count = np.empty(n, np.int64), np.empty(n), 0
    for i in range(n):
        distance[i] = _distance(x, y, centre, i)
        if distance[i] > 0:
            angle[i] = math.atan2(y[i] - y[centre], x[i] - x[centre])
            order[count] = i
            count += 1
    order = order[:count]
    sort_nodes(order, distance)
    sort_nodes(order, angle)
    return order


_HULL: dict[str, Any] = {
    "inputs": {"pos": node.scalar, "x": node.scalar, "y": node.scalar},
    "outputs": {"in_hull": node.mask},
    "sampler": points_in_disk,
    "accepts": is_convex_hull,
    "scale": Scale((("x",), ("y",)), low=-2.0, high=2.0, shifts=True),
    "separate": separate_points,
    "adapt": _points,
}
"""The hull of points: its corners are marked, each once, not what lies on the edges between."""


@algorithm(
    "geometry",
    hints={
        "best": node.mask_one,
        "atans": node.scalar,
        "in_hull_h": node.mask,
        "stack_prev": node.pointer,
        "last_stack": node.mask_one,
        "i": node.mask_one,
        "phase": graph.categorical(5),
    },
    **_HULL,
)
def graham_scan(x, y, best, atans, in_hull_h, stack_prev, last_stack, i, phase, in_hull, trace):
    """Go around the lowest point by angle and keep only left turns (CLRS 33.3)."""
    point_to_self(stack_prev)
    record(trace)

    lowest = _lowest(x, y)
    best[0] = i[0] = last_stack[0] = lowest
    in_hull_h[lowest] = 1
    phase[0] = 1
    record(trace)

    order = _by_angle(x, y, lowest, atans)
    phase[0] = 2
    record(trace)

    top = lowest
    for new in order:
        i[0] = new
        phase[0] = 3
        while top != lowest and turn(x, y, stack_prev[top], top, new) <= 0:
            below_top = stack_prev[top]
            stack_prev[top] = top
            in_hull_h[top] = 0
            top = below_top
            last_stack[0] = top
            record(trace)
        stack_prev[new] = top
        in_hull_h[new] = 1
        top = new
        last_stack[0] = top
        phase[0] = 4
        record(trace)
    copy(in_hull, in_hull_h)


@algorithm(
    "geometry",
    hints={
        "pred_h": node.pointer,
        "in_hull_h": node.mask,
        "best": node.mask_one,
        "last_point": node.mask_one,
        "endpoint": node.mask_one,
        "i": node.mask_one,
        "phase": graph.categorical(2),
    },
    static_hint="pred_h",
    **_HULL,
)
def jarvis_march(x, y, pred_h, in_hull_h, best, last_point, endpoint, i, phase, in_hull, trace):
    """Wrap the points: from each corner on to the one that has all others to its left (CLRS 33.3).

    Of several points in that direction the farthest is the corner.
    """
    n = len(x)
    point_to_previous(pred_h)
    record(trace)

    best[0] = corner = _lowest(x, y)
    phase[0] = 1
    while not in_hull_h[corner]:
        in_hull_h[corner] = 1
        last_point[0] = corner
        endpoint[0] = i[0] = following = 0
        record(trace)
        for new in range(n):
            side = turn(x, y, corner, following, new)
            farther = _distance(x, y, corner, new) > _distance(x, y, corner, following)
            if side < 0 or (side == 0 and farther):
                following = new
            endpoint[0] = following
            i[0] = new
            record(trace)
        corner = following
    copy(in_hull, in_hull_h)
