"""What the page is given: solutions as plain data, forms, and what is too large."""

import json
import re
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
import small
from processes import PATIENCE

import algorist
from algorist.algorithms.explanations import explanation_of
from algorist.model.learner import Learner, TaskEncoding
from algorist.problems import forms
from algorist.problems.form_texts import form_texts
from algorist.problems.inputs import drawn
from algorist.spec import MASKED, Kind
from algorist.viewer import app as room
from algorist.viewer.app import App
from algorist.viewer.first_problems import FIRST_PROBLEMS
from algorist.viewer.traces import trace

NAMES = algorist.algorithms()
MASKS = (Kind.MASK, Kind.CATEGORICAL)


@pytest.fixture(scope="module")
def learner():
    made = Learner.new(NAMES, small.model(), TaskEncoding())
    small.lively(made.net)
    return made


@pytest.fixture(scope="module")
def app(learner):
    return App(learner.by_algorithm(), "small")


def unrepeated(moments):
    """The moments as the page sees them: None stands for the one before."""
    found = []
    for moment in moments:
        found.append(found[-1] if moment is None else moment)
    return found


def assert_close(feature, got, expected):
    expected = np.atleast_1d(expected).ravel()
    if feature.kind == Kind.SCALAR:
        np.testing.assert_allclose(np.array(got, float), expected, rtol=1e-3, atol=1e-12)
    else:
        assert got == expected.tolist(), feature.name


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_the_solution(learner, name):
    algorithm = algorist.get(name)
    inputs = {key: x[0] for key, x in algorithm.sample(7, 1, seed=2).inputs.items()}
    solution = learner.run(name, compare=True, **inputs)
    comparison = solution.comparison
    found = json.loads(json.dumps(trace(algorithm, solution), allow_nan=False))
    assert found["steps"] == solution.steps
    assert [feature["name"] for feature in found["features"]] == [f.name for f in algorithm.spec]
    for feature in algorithm.spec.inputs:
        assert_close(feature, found["inputs"][feature.name], solution.inputs[feature.name])
    for feature in algorithm.spec.hints:
        hint = found["hints"][feature.name]
        truth = comparison.hints[feature.name]
        scale = 100 if feature.name in explanation_of(algorithm).clocks else 1
        for step, values in enumerate(unrepeated(hint["algorithm"])):
            assert_close(feature, values, scale * truth[step])
        if feature.name not in solution.hints:
            assert "net" not in hint
            continue
        got = solution.hints[feature.name]
        if feature.kind in MASKS:
            got = np.where(truth == MASKED, MASKED, got)
        for step, values in enumerate(unrepeated(hint["net"])):
            assert_close(feature, values, scale * got[step])
            wrong = np.flatnonzero(comparison.wrong[feature.name][step])
            assert hint["wrong"][step] == wrong.tolist()
        if feature.kind != Kind.SCALAR:
            percents = np.array(unrepeated(hint["confidence"])[1:]).ravel()
            sure = solution.confidence[feature.name][1:].ravel()
            np.testing.assert_allclose(percents, 100 * sure, atol=0.51)
    for feature in algorithm.spec.outputs:
        output = found["outputs"][feature.name]
        assert_close(feature, output["algorithm"], comparison.outputs[feature.name])
        assert bool(output["wrong"]) <= (not solution.right)


@pytest.mark.parametrize(
    "name", ["dfs", "strongly_connected_components", "articulation_points", "bridges"]
)
def test_clocks_are_told_in_whole_numbers(app, name):
    found = app.solve({"algorithm": name, "fields": FIRST_PROBLEMS[name]})
    for hint in explanation_of(algorist.get(name)).clocks:
        moments = unrepeated(found["hints"][hint]["algorithm"])
        times = [value for moment in moments for value in moment]
        assert max(times) >= 1
        assert all(value == int(value) for value in times)
    assert not any("hundredths" in feature["meaning"] for feature in found["features"])
    mistake = found["mistake"]
    if mistake and mistake["hint"] in explanation_of(algorist.get(name)).clocks:
        expected = float(mistake["text"].split("not ")[1])
        assert expected == int(expected)


def test_a_trace_needs_the_truth(learner):
    with pytest.raises(ValueError, match=r"expected run\(\.\.\., compare=True\)"):
        trace(algorist.get("minimum"), learner.run("minimum", key=[2, 1]))


def test_the_curve_is_the_mean_of_the_shares(learner):
    solution = learner.run("heapsort", key=[5, 2, 9, 1], compare=True)
    found = trace(algorist.get("heapsort"), solution)
    shares = list(solution.comparison.shares.values())
    np.testing.assert_allclose(found["shares"], np.mean(shares, 0), rtol=1e-3)
    assert found["share"] == pytest.approx(solution.comparison.share, rel=1e-3)


def test_who_ends_waits_for_what_is_computed(learner, monkeypatch):
    ended, started = [], threading.Event()

    def slow(*problem, **how):
        started.set()
        time.sleep(0.1)
        ended.append(True)
        raise ValueError("enough")

    own = App(learner.by_algorithm(), "small")
    monkeypatch.setattr("algorist.viewer.app.solve", slow)
    asked = {"algorithm": "heapsort", "fields": {"numbers": "2 1"}}
    thread = threading.Thread(target=_tried, args=(own, asked))
    thread.start()
    assert started.wait(PATIENCE)
    own.end()
    assert ended == [True]
    thread.join()


def _tried(app, asked):
    with suppress(ValueError):
        app.solve(asked)


def test_the_first_mistake_and_the_answers_are_those_of_the_terminal(app):
    found = app.solve({"algorithm": "heapsort", "fields": {"numbers": "5 2 9 1"}})
    assert dict(found["answer"]["algorithm"]) == {"": "1 2 5 9"}
    assert found["mistake"]["text"].startswith(f"step {found['mistake']['step']}, ")
    assert found["answer"]["verdict"].startswith("The answer is ")
    assert found["answer"]["pieces"] == ""
    assert found["answer"]["read"] == "4 keys"


# Forms


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_each_form_is_solved(app, name):
    (described,) = [a for a in app.algorithms()["algorithms"] if a["name"] == name]
    fields = {field["name"]: field["example"] for field in described["fields"]}
    assert app.solve({"algorithm": name, "fields": fields})["algorithm"] == name


@pytest.mark.parametrize("seed", [1, 6])
@pytest.mark.parametrize("name", NAMES)
def test_a_drawn_problem_is_written_into_its_form(name, seed):
    algorithm = algorist.get(name)
    problem = drawn(algorithm, 8, seed)
    fields = form_texts(algorithm, problem)
    typed = algorithm.trace(**forms.read(algorithm, fields))
    expected = algorithm.trace(**problem)
    assert typed.steps == expected.steps
    for key, array in expected.inputs.items():
        if key != "key" or algorithm.spec["key"].kind == Kind.SCALAR:
            np.testing.assert_allclose(typed.inputs[key], array, rtol=1e-3, atol=1e-9)


def test_a_form_without_a_way_of_its_own_is_json():
    class Odd:
        adapt = None
        spec = algorist.Spec.of(
            inputs={"pos": algorist.node.scalar, "w": algorist.edge.mask}, hints={}, outputs={}
        )

    (field,) = forms.fields(Odd)
    assert field.name == "inputs"
    assert forms.read(Odd, {"inputs": '{"w": [[1]]}'}) == {"w": [[1]]}
    assert form_texts(Odd, {"w": np.eye(1)}) == {"inputs": '{"w": [[1.0]]}'}


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("heapsort", {"numbers": "5 x"}, "VALUE: got 'x', expected a finite number"),
        ("heapsort", {"numbers": "5\nx"}, "numbers, line 2: got 'x', expected a finite number"),
        ("heapsort", {"numbers": ""}, "heapsort: got no problem, expected for example"),
        ("graham_scan", {"points": "1,2 3"}, "VALUE: got '3', expected two numbers, like 3,5"),
        ("binary_search", {"numbers": "1 2"}, "--target: got nothing"),
        ("binary_search", {"target": "5"}, "got 0 nodes, expected at least 1 in key"),
        ("dijkstra", {"graph": "a,b,far", "source": "a"}, "graph, line 1: got 'far', expected"),
        (
            "dijkstra",
            {"graph": "a,b,-1", "source": "a"},
            "graph, line 1: got the negative weight -1 from 'a'",
        ),
        ("dijkstra", {"graph": "a,b", "source": "c"}, "--source: got 'c', expected a node"),
        ("dijkstra", {"graph": "{", "source": "a"}, "graph: got"),
        ("kmp_matcher", {"text": "abcdef", "pattern": "abcd"}, "expected at most 4 different ones"),
        ("optimal_bst", {"p": "1,x", "q": "1"}, "--p: got 'x', expected a finite number"),
        ("bfs", {"graph": "/etc/passwd", "source": "root"}, "graph: got no edges"),
        ("heapsort", {"numbers": "/etc/passwd"}, "VALUE: got '/etc/passwd', expected"),
    ],
)
def test_bad_problems_are_refused_as_in_the_terminal(app, name, fields, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        app.solve({"algorithm": name, "fields": fields})
    assert "\n" not in str(caught.value)


# Sizes

MANY = " ".join(map(str, range(65)))
STAR = "\n".join(f"hub,leaf{i}" for i in range(64))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("heapsort", {"numbers": MANY}),
        ("heapsort", {"numbers": "1\n" * 60_000}),
        ("dijkstra", {"graph": STAR, "source": "hub"}),
        ("dijkstra", {"graph": json.dumps([[0] * 65] * 65), "source": "0"}),
        ("kmp_matcher", {"text": "ab" * 20, "pattern": "ab" * 15}),
    ],
)
def test_problems_of_more_than_64_nodes_are_refused_before_they_are_run(
    app, learner, monkeypatch, name, fields
):
    monkeypatch.setattr(Learner, "run", lambda *a, **k: pytest.fail("it was run"))
    with pytest.raises(ValueError, match=r"got [\d,]+ nodes, expected at most 64 to be shown"):
        app.solve({"algorithm": name, "fields": fields})


def test_a_graph_that_hides_its_size_is_refused(app):
    hidden = {"A": {"hub": [f"leaf{i}" for i in range(30_000)]}, "s": "hub"}
    with pytest.raises(ValueError, match="bfs: got 30,001 nodes, expected at most 64"):
        room.check_size(algorist.get("bfs"), hidden)


def test_runs_that_are_too_long_are_refused(app, monkeypatch):
    monkeypatch.setattr(room, "MOST_VALUES", 500)
    with pytest.raises(
        ValueError, match=r"got 121 steps with .* values in all, expected at most 500"
    ):
        app.solve({"algorithm": "bubble_sort", "random": {"n": 16}})


def test_names_are_as_they_were_given_but_for_long_ones(app):
    edges = f"{'x' * 300},O'Hare\nO'Hare,Tromsø"
    found = app.solve({"algorithm": "bfs", "fields": {"graph": edges, "source": "Tromsø"}})
    assert found["names"] == ["x" * 40, "O'Hare", "Tromsø"]


def test_letters_that_are_digits_are_told_from_the_numbers_of_nodes(app):
    fields = {"text": "0110", "pattern": "11"}
    typed = app.solve({"algorithm": "kmp_matcher", "fields": fields})
    assert (typed["named"], typed["names"]) == (True, list("011011"))
    drawn = app.solve({"algorithm": "kmp_matcher", "random": {"n": 6}})
    assert (drawn["named"], drawn["names"]) == (False, list("012345"))
