"""Numbers that are only compared reach nets as ranks: the algorithm does the same on them."""

import numpy as np
import pytest

import algorist
from algorist.algorithms.user_inputs.problems import read_problem
from algorist.model.solving.traced_problem import rank_inputs

RANKED = [name for name in algorist.algorithms() if algorist.get(name).rank]


def digits(name, n, seed):
    """A problem with many ties."""
    rng = np.random.RandomState(seed)
    if name == "activity_selector":
        start = rng.randint(0, 10, n)
        return {"s": start, "f": start + rng.randint(0, 4, n)}
    if name == "task_scheduling":
        return {"d": rng.randint(1, n + 1, n), "w": rng.randint(1, 10, n)}
    if name == "mst_kruskal":
        A = np.triu(rng.randint(0, 5, (n, n)))
        return {"A": {"matrix": A + np.triu(A, 1).T}}
    key = rng.randint(0, 10, n)
    if name == "binary_search":
        return {"key": np.sort(key), "target": rng.randint(-1, 11)}
    return {"key": key}


def test_these_algorithms_only_compare():
    assert RANKED == [
        "activity_selector", "binary_search", "bubble_sort", "heapsort", "insertion_sort",
        "minimum", "mst_kruskal", "quickselect", "quicksort", "task_scheduling",
    ]  # fmt: skip


@pytest.mark.parametrize("name", RANKED)
def test_the_run_on_ranks_is_the_run_on_the_numbers(name):
    algorithm = algorist.get(name)
    for seed in range(40):
        arrays = read_problem(algorithm, digits(name, 3 + seed % 12, seed)).arrays
        truth = algorithm.trace_arrays(arrays)
        ranked = rank_inputs(algorithm, arrays, truth)
        numbers = [ranked.inputs[key] for key in ("key", "s", "f", "w") if key in ranked.inputs]
        numbers += [np.triu(ranked.inputs[key][0]) for key in ("A",) if key in ranked.inputs]
        flat = np.concatenate([x[x != 0] for x in numbers])
        assert len(set(flat.tolist())) == len(flat)
        assert flat.min() > 0
        assert flat.max() < 1
        if name != "heapsort":
            assert truth.lengths == ranked.lengths
            for hint, values in truth.hints.items():
                assert np.array_equal(values, ranked.hints[hint]), hint
            for output, values in truth.outputs.items():
                assert np.array_equal(values, ranked.outputs[output])


def test_heapsort_breaks_ties_both_ways_and_its_ranks_one_way():
    algorithm = algorist.get("heapsort")
    arrays = read_problem(algorithm, {"key": [3, 1, 3, 2, 3, 1]}).arrays
    ranked = rank_inputs(algorithm, arrays, algorithm.trace_arrays(arrays))
    order = np.argsort(ranked.inputs["key"][0])
    assert arrays["key"][order].tolist() == [1, 1, 2, 3, 3, 3]


def test_a_far_deadline_is_the_last_one_that_counts():
    algorithm = algorist.get("task_scheduling")
    arrays = read_problem(algorithm, {"d": [1, 10**6, 2], "w": [3, 1, 2]}).arrays
    ranked = rank_inputs(algorithm, arrays, algorithm.trace_arrays(arrays))
    assert ranked.inputs["d"].tolist() == [[1, 3, 2]]


def test_ranks_stay_what_they_are():
    algorithm = algorist.get("quicksort")
    arrays = read_problem(algorithm, {"key": [7, 7, -3, 1e9]}).arrays
    once = rank_inputs(algorithm, arrays, algorithm.trace_arrays(arrays))
    again = {name: x[0] for name, x in once.inputs.items()}
    twice = rank_inputs(algorithm, again, once)
    assert np.array_equal(once.inputs["key"], twice.inputs["key"])


@pytest.mark.parametrize("name", ["insertion_sort", "bubble_sort", "heapsort", "quicksort"])
def test_the_shipped_net_sorts_digits(name):
    learner = algorist.load("generalist")
    problems = [digits(name, 10, seed) for seed in range(24)]
    solutions = learner.run_many(name, problems)
    assert np.mean([solution.right for solution in solutions]) >= 0.9
