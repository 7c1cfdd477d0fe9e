"""Learners on users' own problems: the same as on batches, in natural form, beside the truth."""

from dataclasses import FrozenInstanceError, replace

import networkx as nx
import numpy as np
import pytest
import scipy.special
import small
import torch

import algorist
from algorist.model.inference import Predictions, predict
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.make_window import make_window
from algorist.model.sinkhorn import FINAL_SINKHORN_STEPS, log_sinkhorn
from algorist.model.solving import memory, solver
from algorist.spec import Kind

TOWN = {"home": {"shop": 1, "park": 3}, "shop": {"park": 1}, "park": {"sea": 4}, "sea": {}}


@pytest.fixture(scope="module")
def learner():
    """A small learner of all algorithms, with weights that nobody trained."""
    made = Learner.new(algorist.algorithms(), small.model(), TaskEncoding())
    small.lively(made.net)
    return made


def drawn(name, n=7, seed=3):
    """A problem; numbers that are only compared are already the ranks that nets get to see."""
    algorithm = algorist.get(name)
    batch = algorithm.sample(n, 1, seed)
    inputs = {key: array[0] for key, array in batch.inputs.items()}
    if algorithm.rank:
        last = {key: array[-1, 0] for key, array in batch.hints.items()}
        inputs |= algorithm.rank(inputs, last)
        batch = algorithm.trace_arrays(inputs)
    return batch, inputs


def same(one, other):
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other


def assert_same(got, expected):
    """Two solutions, up to rounding."""
    assert got.right == expected.right
    assert got.steps == expected.steps
    for name, array in expected.outputs.items():
        np.testing.assert_allclose(got.outputs[name], array, rtol=1e-3, atol=1e-4, err_msg=name)
    for name, array in expected.hints.items():
        np.testing.assert_allclose(got.hints[name], array, rtol=1e-3, atol=1e-3, err_msg=name)


@pytest.mark.parametrize("name", algorist.algorithms())
def test_a_solution_is_what_the_net_predicts(learner, name):
    batch, inputs = drawn(name)
    solution = learner.run(name, **inputs)
    (predicted,) = predict(learner, name, batch, hints=True)
    spec = algorist.get(name).spec
    one_hot = (Kind.MASK_ONE, Kind.CATEGORICAL)
    for key, array in predicted.outputs.items():
        expected = array[0].argmax(-1) if spec[key].kind in one_hot else array[0]
        assert np.array_equal(solution.outputs[key], expected)
    assert solution.hints.keys() == predicted.hints.keys()
    for key, array in predicted.hints.items():
        expected = array[:, 0].argmax(-1) if spec[key].kind in one_hot else array[:, 0]
        assert len(solution.hints[key]) == solution.steps == batch.lengths[0]
        assert np.array_equal(solution.hints[key][1:], expected), key
    assert solution.comparison is None


def truthful(learner, name, batch, **options):
    """Predictions without a mistake."""
    spec = learner.net.spec(name)
    own = algorist.get(name).spec
    outputs = {f.name: batch.outputs[f.name] for f in own.outputs}
    return [Predictions(outputs, {f.name: batch.hints[f.name][1:] for f in spec.hints})]


@pytest.mark.parametrize("name", algorist.algorithms())
def test_what_agrees_with_the_algorithm_is_right_throughout(learner, name, monkeypatch):
    monkeypatch.setattr(solver, "predict", truthful)
    _, inputs = drawn(name, n=10)
    solution = learner.run(name, compare=True, **inputs)
    assert solution.right
    assert same(solution.answer, solution.comparison.answer)
    assert solution.comparison.first_mistake is None
    assert not any(wrong.any() for wrong in solution.comparison.wrong.values())
    assert solution.comparison.share == 1


def test_the_first_mistake_is_where_it_was_made(learner, monkeypatch):
    def mistaken(*arguments, **options):
        (found,) = truthful(*arguments, **options)
        hints = {name: array.copy() for name, array in found.hints.items()}
        hints["pi_h"][2, 0, 3] = 0  # of the moment after
        hints["mark"][3, 0, :] = 0
        return [replace(found, hints=hints)]

    monkeypatch.setattr(solver, "predict", mistaken)
    solution = learner.run("dijkstra", A=TOWN, s="home", compare=True)
    mistake = solution.comparison.first_mistake
    assert (mistake.step, mistake.hint, mistake.where) == (3, "pi_h", ("sea",))
    assert (mistake.got, mistake.expected) == ("home", "park")
    assert solution.comparison.shares["pi_h"].tolist() == [1, 1, 1, 0.75, 1]
    assert solution.comparison.shares["mark"].tolist() == [1, 1, 1, 1, 0]
    assert solution.comparison.wrong["pi_h"].sum() == 1
    assert solution.comparison.share == pytest.approx(1 - (0.25 + 1) / 20)


def test_scalars_may_be_a_little_off(learner, monkeypatch):
    def off_by(error):
        def predicted(*arguments, **options):
            (found,) = truthful(*arguments, **options)
            largest = np.abs(found.hints["d"]).max()
            return [replace(found, hints={**found.hints, "d": found.hints["d"] + error * largest})]

        return predicted

    monkeypatch.setattr(solver, "predict", off_by(0.04))
    solution = learner.run("dijkstra", A=TOWN, s="home", compare=True)
    assert solution.comparison.first_mistake is None
    monkeypatch.setattr(solver, "predict", off_by(0.06))
    solution = learner.run("dijkstra", A=TOWN, s="home", compare=True)
    assert solution.comparison.first_mistake.hint == "d"


def test_another_right_answer_is_right(learner, monkeypatch):
    def other(*arguments, **options):
        (found,) = truthful(*arguments, **options)
        return [replace(found, outputs={"pi": np.array([[0, 0, 0, 2]])})]

    monkeypatch.setattr(solver, "predict", other)
    diamond = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]])
    solution = learner.run("bfs", A=diamond, s=0, compare=True)
    assert solution.comparison.answer.tolist() == [0, 0, 0, 1]
    assert solution.answer.tolist() == [0, 0, 0, 2]
    assert solution.right


def raw_predictions(learner, name, batch):
    """What the net says before anything is decided: outputs (...), hints (T - 1, ...)."""
    seen = learner.encoding.batch(name, batch)
    with torch.no_grad():
        rollout = learner.net.rollout(name, make_window([seen]))
    outputs = {key: x[0, 0].numpy() for key, x in rollout.outputs.items()}
    hints = {key: x[: seen.steps - 1, 0, 0].numpy() for key, x in rollout.hints.items()}
    return outputs, hints


def probability_of_the_predicted(kind, raw):
    if kind == Kind.MASK:
        probability = 1 / (1 + np.exp(-raw.astype(float)))
        return np.maximum(probability, 1 - probability)
    return scipy.special.softmax(raw.astype(float), -1).max(-1)


@pytest.mark.parametrize("name", algorist.algorithms())
def test_the_confidence_is_the_probability_of_what_is_predicted(learner, name):
    batch, inputs = drawn(name)
    solution = learner.run(name, **inputs)
    spec = learner.net.spec(name)
    outputs, hints = raw_predictions(learner, name, batch)
    plain = {key: x for key, x in {**outputs, **hints}.items() if key in algorist.get(name).spec}
    for key, raw in plain.items():
        kind = spec[key].kind
        if kind == Kind.SCALAR:
            assert key not in solution.confidence
        elif kind != Kind.PERMUTATION_POINTER:
            values = solution.confidence[key]
            expected = probability_of_the_predicted(kind, raw)
            predicted = values[1:] if key in hints else values
            np.testing.assert_allclose(predicted, expected, rtol=1e-4, err_msg=key)
            assert key not in hints or np.isnan(values[0]).all()
    for key, values in solution.confidence.items():
        assert values.shape == {**solution.outputs, **solution.hints}[key].shape


def test_the_confidence_in_an_order_is_that_of_its_rows_and_of_the_first(learner):
    batch, inputs = drawn("heapsort")
    solution = learner.run("heapsort", **inputs)
    outputs, _ = raw_predictions(learner, "heapsort", batch)
    first = scipy.special.softmax(outputs["pred_mask"].astype(float))
    rows = log_sinkhorn(torch.tensor(outputs["pred"]), FINAL_SINKHORN_STEPS).exp().amax(-1).numpy()
    rows[first.argmax()] = first.max()
    np.testing.assert_allclose(solution.confidence["pred"], rows, rtol=1e-4)


def test_the_unit_of_the_weights_does_not_matter(learner):
    _, inputs = drawn("dijkstra")
    A = inputs["A"] / inputs["A"].max()
    near = learner.run("dijkstra", A=A, s=inputs["s"])
    far = learner.run("dijkstra", A=1000 * A, s=inputs["s"])
    assert same(near.answer, far.answer)
    np.testing.assert_allclose(far.hints["d"], 1000 * near.hints["d"], rtol=1e-3, atol=1)
    assert np.array_equal(far.hints["mark"], near.hints["mark"])


def test_the_origin_of_the_keys_does_not_matter(learner):
    near = learner.run("heapsort", key=[0.0, 0.5, 1.0, 0.25])
    far = learner.run("heapsort", key=[-20, 0, 20, -10])
    for name, array in near.hints.items():
        assert np.array_equal(far.hints[name], array), name
    assert set(far.answer) <= {-20, 0, 20, -10}


def test_answers_are_in_the_names_of_the_graph(learner):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((u, v, w) for u in TOWN for v, w in TOWN[u].items())
    by_networkx = learner.run("dijkstra", A=graph, s="home", compare=True)
    by_mapping = learner.run("dijkstra", A=TOWN, s="home", compare=True)
    assert by_networkx.names == ("home", "shop", "park", "sea")
    assert by_networkx.answer == by_mapping.answer
    assert by_networkx.comparison.answer == {
        "home": "home",
        "shop": "home",
        "park": "shop",
        "sea": "park",
    }
    matrix = nx.to_numpy_array(graph)
    by_matrix = learner.run("dijkstra", A=matrix, s=0)
    assert [by_networkx.names[i] for i in by_matrix.answer] == list(by_networkx.answer.values())


@pytest.mark.parametrize("name", ["dijkstra", "heapsort", "lcs_length", "kmp_matcher"])
def test_problems_of_many_sizes_are_solved_in_one_call(learner, name):
    problems = [drawn(name, n, seed)[1] for n, seed in ((6, 0), (9, 1), (6, 2), (4, 3), (9, 4))]
    solutions = learner.run_many(name, problems, compare=True)
    for solution, inputs in zip(solutions, problems, strict=True):
        assert_same(solution, learner.run(name, compare=True, **inputs))
        assert len(solution.inputs["pos"]) == len(inputs["pos"])


def test_many_problems_are_solved_in_parts_where_memory_is_short(learner, monkeypatch):
    problems = [drawn("bfs", 5, seed)[1] for seed in range(5)]
    whole = learner.run_many("bfs", problems)
    monkeypatch.setattr(
        memory, "available_bytes", lambda net: 2.5 * memory.needed_bytes(net, "bfs", 5)
    )
    parts = []
    monkeypatch.setattr(
        solver, "predict", lambda *a, **k: parts.append(len(a[2])) or predict(*a, **k)
    )
    for got, expected in zip(learner.run_many("bfs", problems), whole, strict=True):
        assert_same(got, expected)
    assert parts == [2, 2, 1]


def test_no_problems_have_no_solutions(learner):
    assert learner.run_many("bfs", []) == []


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("dijkstra", {"A": [[0, 1], [1, 0]], "s": 2}, "s: got 2, expected a node from 0 to 1"),
        ("dijkstra", {"A": [[0, 1], [1, 0]], "s": "x"}, "s: got 'x', expected a node from 0 to 1"),
        ("dijkstra", {"A": TOWN, "s": "work"}, "s: got 'work', expected a node of the graph"),
        ("dijkstra", {"A": [[0, -1], [1, 0]], "s": 0}, "A: got the negative weight -1 from 0 to 1"),
        (
            "dijkstra",
            {"A": [[0, 1, 0]], "s": 0},
            "A, edge 1: got an edge of weight 0 from 0 to 1",
        ),
        ("dijkstra", {"A": [[0, "far"], [1, 0]], "s": 0}, "A: got .*, expected numbers"),
        ("dijkstra", {"A": {"a": {"b": "far"}}, "s": "a"}, "A: got 'far' for 'weight' from 'a' to"),
        (
            "dijkstra",
            {"A": {"a": {"b": 0}}, "s": "a"},
            "A: got an edge of weight 0 from 'a' to",
        ),
        (
            "dijkstra",
            {"A": nx.Graph([("a", "b", {"weight": 2}), ("b", "c", {"weight": 0})]), "s": "a"},
            "A: got an edge of weight 0 from 'b' to 'c'",
        ),
        ("mst_prim", {"A": {"x": {"y": 2}, "y": {}}, "s": "x"}, "A: got 2 from 'x' to 'y' but 0"),
        ("dijkstra", {"A": {"a": 3}, "s": "a"}, "A: got 3 for the node 'a', expected its neigh"),
        ("dijkstra", {"A": [], "s": 0}, "A: got no edges, expected a graph"),
        ("dijkstra", {"A": {}, "s": 0}, "A: got no nodes, expected a graph"),
        ("dijkstra", {"A": TOWN}, "the input 's' is missing"),
        ("dijkstra", {"A": dict.fromkeys(range(40_000), ()), "s": 0}, "got 40000 nodes, expected"),
        ("heapsort", {"key": 5}, "key: got 5, expected an array"),
        ("heapsort", {"key": []}, "got 0 nodes, expected at least 1 in key"),
        ("heapsort", {"key": [1, float("nan")]}, "key: got NaN or infinity, expected"),
        ("heapsort", {"key": [10**400]}, "key: got .*, expected a list of numbers"),
        ("heapsort", {"key": [1, None]}, r"key: got \[1, None\], expected a list of numbers"),
        ("heapsort", {}, "the input 'key' is missing, expected key$"),
        ("bfs", {"A": [[0, 1], [1, 0]], "s": None}, "s: got None, expected a node from 0 to 1"),
        ("binary_search", {"key": [1, 2], "target": [1]}, r"target: got \[1\], expected a number"),
        ("optimal_bst", {"p": [1, 2, 3], "q": [1]}, "q: got 1 value, expected 4, one more than p"),
        ("heapsort", {"key": [1e101, 0]}, r"key: got 1e\+101, expected numbers up to 1e\+100"),
        ("dijkstra", {"A": [[0, 1e200], [0, 0]], "s": 0}, r"A: got 1e\+200, expected numbers up"),
        ("heapsort", {"keys": [1]}, "unknown input 'keys': did you mean 'key'"),
        (
            "kmp_matcher",
            {"text": "abcde", "pattern": "abcd"},
            "got the letters 'abcde', expected at",
        ),
        ("kmp_matcher", {"text": "", "pattern": "a"}, "text: got '', expected one or more"),
        ("graham_scan", {"points": [1, 2]}, r"points: got \[1, 2\], expected pairs"),
        ("sort", {"key": [1]}, "unknown algorithm for this net 'sort'"),
    ],
)
def test_bad_inputs_are_refused_in_one_line(learner, name, inputs, message):
    with pytest.raises(ValueError, match=message) as caught:
        learner.run(name, **inputs)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=f"^problem 0: .*{message}"):
        learner.run_many(name, [inputs])


def test_a_bad_problem_among_many_is_named(learner):
    with pytest.raises(ValueError, match=r"^problem 1: key: got 5"):
        learner.run_many("heapsort", [{"key": [1]}, {"key": 5}])
    with pytest.raises(ValueError, match=r"^problem 0: got 3, expected a mapping"):
        learner.run_many("heapsort", [3])


def test_a_problem_too_large_for_the_memory_is_refused_before_it_is_run(learner, monkeypatch):
    monkeypatch.setattr(
        memory, "available_bytes", lambda net: float(memory.needed_bytes(net, "bfs", 8))
    )
    learner.run("bfs", A=np.eye(8), s=0)
    with pytest.raises(ValueError, match="bfs: got 9 nodes, expected at most 8"):
        learner.run("bfs", A=np.eye(9), s=0)


def test_a_learner_that_predicts_no_hints_still_answers():
    made = Learner.new(["bfs"], small.model(hints="none"), TaskEncoding())
    solution = made.run("bfs", A=[[0, 1], [1, 0]], s=0, compare=True)
    assert solution.answer.shape == (2,)
    assert solution.hints == {}
    assert solution.comparison.hints["pi_h"].shape == (solution.steps, 2)
    assert np.isnan(solution.comparison.share)


def test_unknown_algorithms_are_refused_whatever_they_are(learner):
    for run in (algorist.get, lambda name: learner.run(name, key=[1])):
        with pytest.raises(ValueError, match=r"unknown algorithm.* 3: known: "):
            run(3)
    with pytest.raises(ValueError, match="unknown algorithm for this net 'bogosort'"):
        learner.run_many("bogosort", [])


def test_the_best_replica_answers():
    made = Learner.new(["bfs"], small.model(), TaskEncoding(), seeds=(0, 1, 2))
    small.lively(made.net)
    scores = [{"validation": None}, {"validation": 0.9}, {"validation": 0.2}]
    scored = replace(made, metadata={"replicas": scores})
    _, inputs = drawn("bfs")
    assert_same(scored.run("bfs", **inputs), made.replica(1).run("bfs", **inputs))
    assert_same(made.run("bfs", **inputs), made.replica(0).run("bfs", **inputs))


def test_a_run_of_a_single_moment_is_solved(learner):
    solution = learner.run("minimum", key=[3.0], compare=True)
    assert (solution.answer, solution.right, solution.steps) == (0, True, 1)


def test_solutions_cannot_be_changed(learner):
    solution = learner.run("minimum", key=[3, 1])
    with pytest.raises(FrozenInstanceError):
        solution.answer = 0
