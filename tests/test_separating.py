"""Ties that are broken, and hints that stay in range, before nets see a problem of a user."""

import numpy as np
import pytest

import algorist
from algorist.algorithms.array_answers import is_convex_hull
from algorist.algorithms.user_inputs.problems import read_problem
from algorist.algorithms.user_inputs.separating import (
    common_unit,
    separate_points,
    separate_weights,
)


def directed(n, p, seed):
    """A directed graph whose weights are digits."""
    rng = np.random.RandomState(seed)
    return np.where(rng.rand(n, n) < p, rng.randint(1, 10, (n, n)), 0)


def undirected(n, p, seed):
    upper = np.triu(directed(n, p, seed), 1)
    return upper + upper.T


@pytest.mark.parametrize(
    ("values", "unit"),
    [([5, 5, 0], 5), ([10, 20, 25], 5), ([0.1, 0.35], 0.05), ([-4, 6], 2), ([], 0), ([0, 0], 0)],
)
def test_numbers_have_a_unit_in_common(values, unit):
    assert common_unit(np.array(values, float)) == pytest.approx(unit)


def test_measured_numbers_have_none():
    assert common_unit(np.random.RandomState(0).rand(5)) == 0
    assert common_unit(np.array([1.0, 100_001.0])) == 0
    assert not list(separate_weights({"A": np.random.RandomState(0).rand(5, 5)}))
    assert not list(separate_points({name: np.random.RandomState(0).rand(5) for name in "xy"}))


def test_separated_weights_differ_by_less_than_half_a_unit_along_any_path():
    for A in (directed(9, 0.5, 1), undirected(9, 0.5, 1)):
        ((changed, unit),) = separate_weights({"A": A.astype(float)})
        more = changed["A"] - A
        assert np.array_equal(changed["A"] != 0, A != 0)
        assert more.min() >= 0
        assert more.max() * 9 <= unit / 2
        assert np.array_equal(A, A.T) == np.array_equal(more, more.T)
        ends = np.triu(changed["A"]) if np.array_equal(A, A.T) else changed["A"]
        assert len(np.unique(ends[ends != 0])) == np.count_nonzero(ends)


@pytest.mark.parametrize(
    "points",
    [
        [(0, 0), (2, 0), (4, 0), (4, 4), (2, 4), (0, 4), (0, 2), (2, 2)],  # a square with middles
        [(0, 0), (4, 0), (0, 0), (2, 3), (4, 0), (2, 1), (2, 1)],
        [(x, y) for x in range(4) for y in range(4)],
    ],
)
def test_separated_points_have_the_same_corners(points):
    x, y = np.array(points, float).T
    changed = next(separate_points({"x": x, "y": y}))[0]
    for name in ("graham_scan", "jarvis_march"):
        batch = algorist.get(name).trace(**changed)
        outputs = {name: values[0] for name, values in batch.outputs.items()}
        assert is_convex_hull({"x": x, "y": y}, outputs)


def test_a_hull_has_each_corner_once_and_nothing_between():
    x, y = np.array([(0, 0), (1, 0), (2, 0), (2, 2), (2, 2)], float).T
    for chosen, right in (
        ([1, 0, 1, 1, 0], True), ([1, 0, 1, 0, 1], True), ([1, 0, 1, 1, 1], False),
        ([1, 1, 1, 1, 0], False), ([1, 0, 1, 0, 0], False),
    ):  # fmt: skip
        assert is_convex_hull({"x": x, "y": y}, {"in_hull": np.array(chosen)}) is right


def test_hints_are_shown_in_the_users_numbers():
    learner = algorist.load("generalist")
    solution = learner.run("dijkstra", A=undirected(8, 0.6, 3), s=0, compare=True)
    assert solution.right
    assert np.array_equal(solution.comparison.hints["d"], solution.comparison.hints["d"].round())
    assert np.allclose(solution.hints["d"], solution.hints["d"].round(), atol=1e-4)
    assert solution.inputs["A"].max() == 9


def test_the_benchmarks_own_problems_stay_as_they_are():
    for name in ("dijkstra", "mst_prim", "graham_scan", "jarvis_march", "optimal_bst"):
        algorithm = algorist.get(name)
        batch = algorithm.sample(16, 4, 0)
        for i in range(4):
            arrays = {key: x[i] for key, x in batch.inputs.items()}
            assert not list(algorithm.separate(arrays)), name


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        *(("mst_kruskal", {"A": undirected(9, 0.5, seed)}) for seed in range(3)),
        *(("mst_prim", {"A": undirected(9, 0.5, seed), "s": 0}) for seed in range(3)),
        *(("dijkstra", {"A": undirected(9, 0.5, seed), "s": 0}) for seed in range(3)),
        ("dijkstra", {"A": directed(9, 0.5, 0), "s": 0}),
        ("optimal_bst", {"p": [0.3, 0.1, 0.4, 0.2], "q": [0] * 5}),
        ("graham_scan", {"points": [(x, y) for x in range(3) for y in range(3)]}),
        ("jarvis_march", {"points": [(x, y) for x in range(3) for y in range(3)]}),
        ("matrix_chain_order", {"p": [10] * 16}),
        ("task_scheduling", {"d": [3, 10**6, 1, 10**6, 2], "w": [4, 5, 1, 2, 3]}),
    ],
)
def test_the_shipped_net_solves_problems_with_ties(name, inputs):
    assert algorist.load("generalist").run(name, **inputs).right


def test_long_paths_are_brought_into_range():
    n = 12
    ring = [(i, (i + 1) % n, 7) for i in range(n)]
    solution = algorist.load("generalist").run(
        "floyd_warshall", A=ring, directed=True, compare=True
    )
    assert solution.right
    assert solution.comparison.hints["D"].max() == pytest.approx(7 * (n - 1))
    algorithm = algorist.get("floyd_warshall")
    batch = algorithm.trace_arrays(read_problem(algorithm, {"A": ring, "directed": True}).arrays)
    arrays = {name: x[0] for name, x in batch.inputs.items()}
    scaled = algorithm.scale.within_reach(algorithm.scale.of(arrays), batch.hints)
    assert scaled.inwards("D", batch.hints["D"]).max() == pytest.approx(3.0)
    assert scaled.input("A", arrays["A"]).max() == pytest.approx(3.0 / (n - 1))
