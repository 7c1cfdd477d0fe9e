"""Ties between users' numbers, broken by changes too small to change which answers are right.

Nets learn from random numbers: no two are equal, no two paths are equally long, no three points lie
on a line, no probability is 0. Users' numbers are often small whole ones, and a net never had to
choose between equals. So these are changed a little before the net, and the algorithm, sees them.
The benchmark's own sets never come this way.

Every function takes the inputs of one problem and yields what could take their place, the best
first: the inputs that change, and the unit of the numbers as they were. Those are used whose answer
by the algorithm is right for the numbers as they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]
Separated = tuple[dict[str, np.ndarray], float]
"""Inputs that take the place of others, and the unit of those; 0: they have none in common."""
Separation = Callable[[Arrays], Iterator[Separated]]

_DECIMALS = 6
_MOST_UNITS = 100_000
"""Numbers of more units than this are taken for measured ones, which are hardly ever equal."""
_GOLDEN = (math.sqrt(5) - 1) / 2
_NO_PROBABILITY = 1e-5


def common_unit(values: np.ndarray) -> float:
    """The largest number of which all are multiples, 0 if there is none that is not tiny.

    >>> common_unit(np.array([1.5, 3.0, 0.0, -6.0]))
    1.5
    """
    largest = float(np.abs(values).max(initial=0.0))
    if not 1e-6 <= largest <= 1e9:
        return 0.0
    for scale in (10.0**k for k in range(_DECIMALS + 1)):
        whole = np.round(values * scale)
        if np.allclose(values * scale, whole, rtol=1e-12, atol=1e-9):
            unit = int(np.gcd.reduce(np.abs(whole).astype(np.int64).ravel()))
            return unit / scale if largest * scale <= _MOST_UNITS * unit else 0.0
    return 0.0


def separate_weights(inputs: Arrays) -> Iterator[Separated]:
    """Different weights for all edges, by less than half a unit along any path."""
    A = inputs["A"]
    n, unit = len(A), common_unit(A)
    if unit == 0:
        return
    u, v = np.indices(A.shape)
    number = np.minimum(u, v) * n + np.maximum(u, v) if np.array_equal(A, A.T) else u * n + v
    share = (number + 1) * _GOLDEN % 1.0  # spread evenly, and with sums that differ
    yield {"A": np.where(A != 0, A + share * unit / (2 * n), 0.0)}, unit


def separate_points(inputs: Arrays) -> Iterator[Separated]:
    """Points on the edges of the hull moved inside, and all but one of equal points.

    All points are moved away from their centre, those that are far from it by a larger share: the
    end of an edge is farther away than what lies on it. The centre lies inside, but not in the
    middle, where lines through points would meet. Points that all lie on one line stay there.
    """
    points = np.stack((inputs["x"], inputs["y"]), 1)
    places, index, counts = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    if counts.max() == 1 and common_unit(points - points[0]) == 0:
        return
    order = np.argsort(index.ravel(), kind="stable")
    earlier = np.empty(len(points))  # how many of the points before are equal
    earlier[order] = np.arange(len(points)) - np.repeat(np.cumsum(counts) - counts, counts)
    centre = np.average(places, axis=0, weights=1 + np.arange(1, len(places) + 1) * _GOLDEN % 1)
    away = points - centre
    squares = (away**2).sum(1)
    farthest = float(squares.max())
    if farthest == 0:
        return
    for size in (1e-2, 1e-3, 1e-4):
        moved = centre + away * (1 + size * (squares / farthest - earlier / len(points)))[:, None]
        yield {"x": moved[:, 0], "y": moved[:, 1]}, 0.0


def separate_probabilities(inputs: Arrays) -> Iterator[Separated]:
    """Gaps of probability 0 with a tiny one: without any, empty trees cost nothing at all."""
    q, total = inputs["q"], float(inputs["p"].sum() + inputs["q"].sum()) or 1.0
    if (q == 0).any():
        yield {"q": np.where(q == 0, _NO_PROBABILITY * total / len(q), q)}, 0.0
