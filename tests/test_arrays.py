"""The algorithms on arrays against independent answers, on inputs full of ties."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import algorist

SORTS = ["insertion_sort", "bubble_sort", "heapsort", "quicksort"]
SEARCHES = ["minimum", "quickselect", "find_maximum_subarray_kadane"]

few_values = st.integers(-3, 3)  # so that ties are common, and sums exact
numbers = st.one_of(few_values, st.floats(-1e3, 1e3))
arrays = st.lists(numbers, min_size=1, max_size=12)
brief = settings(max_examples=60, deadline=None)


def node(array):
    """The one node that a batch of one marks."""
    assert array.sum() == 1
    return int(array[0].argmax())


def nodes(mask):
    """All nodes that a batch of one marks."""
    return np.flatnonzero(mask[0]).tolist()


def chained(pred):
    """The nodes of a chain of pointers, from the first on."""
    (current,) = [i for i, before in enumerate(pred) if i == before]
    order = [current]
    while len(order) < len(pred):
        (current,) = [i for i, before in enumerate(pred) if before == current and i != current]
        order.append(current)
    return order


def fits(activities):
    """Whether each activity starts when the one before it has finished, in some order."""
    ordered = sorted(activities, key=lambda activity: (activity[1], activity[0]))
    return all(before[1] <= after[0] for before, after in itertools.pairwise(ordered))


def on_time(deadlines):
    """Whether unit tasks with these deadlines can all be done, the most urgent first."""
    return all(slot <= deadline for slot, deadline in enumerate(sorted(deadlines), start=1))


def subsets(n):
    return itertools.chain.from_iterable(
        itertools.combinations(range(n), size) for size in range(n + 1)
    )


@pytest.mark.parametrize("name", SORTS)
@brief
@given(key=arrays)
def test_sorts_chain_the_keys_in_ascending_order(name, key):
    batch = algorist.get(name).trace(key=key)
    order = chained(batch.outputs["pred"][0])
    assert [key[i] for i in order] == sorted(key)
    assert np.array_equal(batch.hints["pred_h"][-1], batch.outputs["pred"])
    if name in ("insertion_sort", "bubble_sort"):
        assert order == sorted(range(len(key)), key=lambda i: key[i]), "equal keys keep their order"


@brief
@given(key=arrays)
def test_heapsort_extracts_the_keys_of_a_heap_from_the_largest_down(key):
    hints = algorist.get("heapsort").trace(key=key).hints
    key, parent = np.array(key), hints["parent"][:, 0]
    (extractions,) = np.nonzero(hints["phase"][:, 0].argmax(-1) == 1)
    assert (key[parent[extractions - 1]] >= key).all()
    extracted = key[hints["j"][extractions, 0].argmax(-1)]
    assert extracted.tolist() == sorted(key, reverse=True)[:-1]


@brief
@given(key=arrays)
def test_minimum_is_the_first_of_the_smallest_keys(key):
    batch = algorist.get("minimum").trace(key=key)
    assert node(batch.outputs["min"]) == key.index(min(key))
    assert batch.lengths == [len(key)]


@brief
@given(key=arrays, target=numbers)
def test_binary_search_finds_the_first_key_not_below_the_target(key, target):
    key = sorted(key)
    batch = algorist.get("binary_search").trace(key=key, target=target)
    at_least = [i for i, value in enumerate(key) if value >= target]
    assert node(batch.outputs["return"]) == (at_least[0] if at_least else len(key) - 1)


@brief
@given(key=arrays)
def test_quickselect_finds_the_median(key):
    batch = algorist.get("quickselect").trace(key=key)
    middle = len(key) // 2
    assert key[node(batch.outputs["median"])] == np.partition(key, middle)[middle]


@brief
@given(key=st.lists(few_values, min_size=1, max_size=12))
def test_kadane_finds_a_subarray_of_the_greatest_sum(key):
    batch = algorist.get("find_maximum_subarray_kadane").trace(key=key)
    start, end = node(batch.outputs["start"]), node(batch.outputs["end"])
    greatest = max(sum(key[i : j + 1]) for i in range(len(key)) for j in range(i, len(key)))
    assert sum(key[start : end + 1]) == greatest == batch.hints["best_sum"][-1, 0]


@brief
@given(
    activities=st.lists(
        st.tuples(few_values, few_values).map(sorted) | st.tuples(numbers, numbers).map(sorted),
        min_size=1,
        max_size=7,
    )
)
def test_activity_selector_takes_as_many_activities_as_fit(activities):
    s, f = zip(*activities, strict=True)
    selected = nodes(algorist.get("activity_selector").trace(s=s, f=f).outputs["selected"])
    assert fits([activities[i] for i in selected])
    assert len(selected) == max(
        len(some) for some in subsets(len(activities)) if fits([activities[i] for i in some])
    )


tasks = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 4)), min_size=1, max_size=7)


def scheduled(d, w):
    return nodes(algorist.get("task_scheduling").trace(d=d, w=w).outputs["selected"])


@brief
@given(tasks=tasks)
def test_task_scheduling_takes_each_task_that_the_next_free_slot_suits(tasks):
    d, w = zip(*tasks, strict=True)
    selected = scheduled(d, w)
    assert on_time([d[i] for i in selected])
    heaviest_first = sorted(range(len(w)), key=lambda i: w[i], reverse=True)
    for rank, task in enumerate(heaviest_first):
        taken_before = sum(other in selected for other in heaviest_first[:rank])
        assert (task in selected) == (taken_before < d[task])


@brief
@given(tasks=tasks)
def test_task_scheduling_takes_the_most_where_heavier_tasks_are_as_urgent(tasks):
    d, w = zip(*tasks, strict=True)
    d, w = sorted(d), sorted(w, reverse=True)
    assert sum(w[i] for i in scheduled(d, w)) == max(
        sum(w[i] for i in some) for some in subsets(len(d)) if on_time([d[i] for i in some])
    )


def test_task_scheduling_does_not_move_a_task_once_taken():
    assert scheduled(d=[2, 1], w=[5, 3]) == [0]  # as in the benchmark, though both would fit


def test_task_scheduling_takes_deadlines_of_any_size():
    assert scheduled(d=[1e300, 2**40, 1], w=[1, 2, 3]) == [0, 1, 2]


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize(
    "name", [*SORTS, *SEARCHES, "binary_search", "activity_selector", "task_scheduling"]
)
def test_problems_of_every_size_can_be_drawn_and_traced_again(name, n):
    algorithm = algorist.get(name)
    drawn = algorithm.sample(n, 1, seed=n)
    again = algorithm.trace(**{name: array[0] for name, array in drawn.inputs.items()})
    for stage in algorist.Stage:
        for feature, array in drawn.at(stage).items():
            assert np.array_equal(array, again.at(stage)[feature]), feature


@pytest.mark.parametrize("name", [*SORTS, *SEARCHES, "binary_search"])
def test_keys_lie_between_low_and_high(name):
    inputs = algorist.get(name).sample(16, 20, 0, {"low": 5.0, "high": 7.0}).inputs
    assert 5 <= inputs["key"].min() < 5.5
    assert 6.5 < inputs["key"].max() < 7
    assert inputs.get("target", inputs["key"]).min() >= 5


def test_tasks_are_due_by_max_deadline():
    algorithm = algorist.get("task_scheduling")
    assert set(algorithm.sample(6, 50, 0).inputs["d"].flat) == set(range(1, 7))
    drawn = algorithm.sample(6, 50, 0, {"max_deadline": 3, "low": 2, "high": 2}).inputs
    assert set(drawn["d"].flat) == {1, 2, 3}
    assert (drawn["w"] == 2).all()


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("quicksort", {"key": [1, float("nan")]}, "key: got NaN"),
        ("quicksort", {"key": [2**60 + 1, 1]}, "key: got 1152921504606846977, expected whole"),
        ("quicksort", {"key": np.array([2**60 + 1, 1])}, r"whole numbers up to 2\*\*53"),
        ("heapsort", {"key": [[1, 2], [3, 4]]}, r"key: got shape \(2, 2\), expected \(2,\)"),
        ("bubble_sort", {"key": []}, "bubble_sort: got 0 nodes"),
        ("minimum", {"key": ["a", "b"]}, "key: got"),
        ("quickselect", {}, "'key' is missing"),
        ("quickselect", {"keys": [1, 2]}, "did you mean 'key'"),
        ("find_maximum_subarray_kadane", {"key": [float("inf")]}, "key: got NaN or infinity"),
        ("binary_search", {"key": [1, 3, 2], "target": 2}, "key: got 2 after 3"),
        (
            "binary_search",
            {"key": [1, 2], "target": [1, 2]},
            r"target: got \[1, 2\], expected a number",
        ),
        ("binary_search", {"key": [1, 2]}, "'target' is missing"),
        ("activity_selector", {"s": [0, 2], "f": [1, 1]}, "s, f: got an activity from 2 to 1"),
        ("activity_selector", {"s": [0, 2], "f": [1, 3, 4]}, r"f: got shape \(3,\)"),
        ("task_scheduling", {"d": [1, 0], "w": [1, 1]}, "d: got the deadline 0"),
        ("task_scheduling", {"d": [1.5, 1], "w": [1, 1]}, "d: got the deadline 1.5"),
        ("task_scheduling", {"d": [1, 2], "w": [1, -1]}, "w: got the weight -1"),
    ],
)
def test_bad_own_inputs_are_refused(name, inputs, message):
    with pytest.raises(ValueError, match=message):
        algorist.get(name).trace(**inputs)


@pytest.mark.parametrize(
    ("name", "n", "options", "message"),
    [
        ("quicksort", 0, {}, "n: got 0, expected a whole number"),
        ("task_scheduling", 0, {}, "n: got 0, expected a whole number"),
        ("heapsort", 4, {"lo": 0}, "unknown option 'lo': did you mean 'low'"),
        ("minimum", 4, {"max_deadline": 3}, "unknown option 'max_deadline'"),
        ("quickselect", 4, {"low": 2}, "options low, high: got 2.0 and 1.0"),
        ("binary_search", 4, {"high": -1}, "options low, high: got 0.0 and -1.0"),
        ("activity_selector", 4, {"low": float("nan")}, "option low: got nan"),
        ("find_maximum_subarray_kadane", 4, {"high": "x"}, "option high: got 'x'"),
        ("task_scheduling", 4, {"low": 1.5}, "options low, high: got 1.5 and 1.0"),
        ("task_scheduling", 4, {"max_deadline": 0}, "option max_deadline: got 0"),
        ("task_scheduling", 4, {"max_deadline": 2**32}, "option max_deadline: got 4294967296"),
        ("task_scheduling", 4, {"max_deadline": 2.5}, "option max_deadline: got 2.5"),
        ("task_scheduling", 4, {"max_deadline": float("inf")}, "option max_deadline: got inf"),
    ],
)
def test_bad_options_are_refused(name, n, options, message):
    with pytest.raises(ValueError, match=message):
        algorist.get(name).sample(n, 2, 0, options)
