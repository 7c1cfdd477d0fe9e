"""Segments and hulls against exact arithmetic on small grids, where degenerate cases abound."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

import algorist

HULLS = ("graham_scan", "jarvis_march")

few_examples = settings(max_examples=60, deadline=None)
grid_point = st.tuples(st.integers(-2, 2), st.integers(-2, 2))


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def minus(a, b):
    return (a[0] - b[0], a[1] - b[1])


def on_segment(p, a, b):
    """Whether p = a + t (b - a) for some t from 0 to 1."""
    if a == b:
        return p == a
    axis = 0 if a[0] != b[0] else 1
    t = Fraction(p[axis] - a[axis], b[axis] - a[axis])
    return 0 <= t <= 1 and p == (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]))


def have_common_point(a, b, c, d):
    ab, cd = minus(b, a), minus(d, c)
    if cross(ab, cd) == 0:  # parallel, or one is a point: they meet at the end of one, if at all
        return any(on_segment(p, c, d) for p in (a, b)) or any(on_segment(p, a, b) for p in (c, d))
    t = Fraction(cross(minus(c, a), cd), cross(ab, cd))
    u = Fraction(cross(minus(c, a), ab), cross(ab, cd))
    return 0 <= t <= 1 and 0 <= u <= 1


@few_examples
@given(st.lists(grid_point, min_size=4, max_size=4))
@example([(0, 0), (2, 0), (1, 0), (1, 1)])
@example([(0, 0), (2, 2), (1, 1), (2, 2)])
@example([(0, 0), (1, 1), (2, 2), (2, 2)])
@example([(0, 0), (0, 0), (0, 0), (0, 0)])
def test_segments_intersect_if_they_have_a_common_point(points):
    batch = algorist.get("segments_intersect").trace(points=points)
    assert bool(batch.outputs["intersect"][0]) == have_common_point(*points)


def is_corner(p, others):
    """Whether p lies outside of all segments and triangles between the others."""
    if any(on_segment(p, a, b) for a, b in combinations(others, 2)):
        return False
    for a, b, c in combinations(others, 3):
        sides = {np.sign(cross(minus(v, u), minus(p, u))) for u, v in ((a, b), (b, c), (c, a))}
        if len(sides) == 1 and 0 not in sides:
            return False
    return True


def corners(points):
    distinct = set(points)
    return sorted(p for p in distinct if is_corner(p, distinct - {p}))


@pytest.mark.parametrize("name", HULLS)
@few_examples
@given(st.lists(grid_point, min_size=1, max_size=8))
@example([(0, 0)])
@example([(1, 1)] * 3)
@example([(0, 0), (1, 0)])
@example([(0, 0), (-0.0, 0), (0, -0.0)])
@example([(i, i) for i in range(-2, 3)])
@example([(x, y) for x in range(3) for y in range(3)])
def test_hulls_are_the_corners_each_once(name, points):
    in_hull = algorist.get(name).trace(points=points).outputs["in_hull"][0]
    assert sorted(p for p, marked in zip(points, in_hull, strict=True) if marked) == corners(points)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("n", [3, 4, 16, 64])
def test_sampled_hulls_agree_with_scipy(name, n):
    options = {"origin_x": 5.0, "origin_y": -1.0, "radius": 0.5}
    batch = algorist.get(name).sample(n, 10, 0, options)
    x, y = batch.inputs["x"], batch.inputs["y"]
    assert (np.hypot(x - 5, y + 1) <= 0.5 + 1e-12).all()
    for points, in_hull in zip(np.stack([x, y], -1), batch.outputs["in_hull"], strict=True):
        assert np.flatnonzero(in_hull).tolist() == sorted(ConvexHull(points).vertices)


@pytest.mark.parametrize("name", HULLS)
def test_one_and_two_points_can_be_sampled(name):
    for n in (1, 2):
        assert (algorist.get(name).sample(n, 5, 0).outputs["in_hull"] == 1).all()


def test_about_half_of_the_sampled_segments_cross():
    batch = algorist.get("segments_intersect").sample(16, 400, 0, {"low": -3.0, "high": 2.0})
    assert batch.n == 4
    assert -3 <= batch.inputs["x"].min() < -2
    assert 160 < batch.outputs["intersect"].sum() < 240


@pytest.mark.parametrize("scale", [1e-300, 1e160, 1e308])
@pytest.mark.parametrize("name", [*HULLS, "segments_intersect"])
def test_runs_end_even_where_products_leave_the_range_of_floats(name, scale):
    points = [(-scale, -scale), (scale, -scale / 2), (scale, scale), (-scale / 2, scale)]
    assert algorist.get(name).trace(points=points).n == 4


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("segments_intersect", {"low": 1.0}, "low, high: got 1.0 and 1.0, expected low < high"),
        ("segments_intersect", {"low": -1e308, "high": 1e308}, "low, high: got a range too"),
        ("graham_scan", {"radius": 0.0}, "radius: got 0.0"),
        ("graham_scan", {"collineararity_eps": -1.0}, "collineararity_eps: got -1.0"),
        ("graham_scan", {"collineararity_eps": 100.0}, "collineararity_eps.*: got three collinear"),
        ("jarvis_march", {"collinearity_resampling_attempts": 0}, "attempts: got 0"),
    ],
)
def test_bad_options_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        algorist.get(name).sample(5, 20, 0, options)


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        (
            "segments_intersect",
            {"x": [0, 1, 2], "y": [0, 1, 2]},
            "got 3 nodes, expected at least 4",
        ),
        ("segments_intersect", {"points": [(0, 0)] * 5}, "x, y: got 5 points, expected 4"),
        ("graham_scan", {"points": [1, 2, 3]}, r"points: got \[1, 2, 3\]"),
        ("graham_scan", {"points": [(1, 2), (3,)]}, r"points: got"),
        ("graham_scan", {"points": [(1, 2)], "x": [1]}, "x: got it besides points"),
        ("jarvis_march", {"x": [0, np.nan], "y": [0, 1]}, "x: got NaN"),
        ("jarvis_march", {"x": [0, 1], "y": [0]}, "y: got shape"),
    ],
)
def test_bad_inputs_are_refused(name, inputs, message):
    with pytest.raises(ValueError, match=message):
        algorist.get(name).trace(**inputs)
