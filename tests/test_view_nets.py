"""Nets to choose from, their curves, the truth at some steps, and how far a computation is."""

import json
import threading
from pathlib import Path

import pytest
import small

import algorist
from algorist.experiments.results import SHIPPED, file_of, read
from algorist.model.learner import Learner, TaskEncoding
from algorist.problems.inputs import drawn
from algorist.report import curves
from algorist.report.curves import Point
from algorist.viewer import app as room
from algorist.viewer.app import App, ProblemError
from algorist.viewer.nets import NetChoice, Nets
from algorist.viewer.previews import preview, previews

RESULTS = Path(__file__).parent.parent / "results"
SORT = {"algorithm": "heapsort", "fields": {"numbers": "5 2 9 1"}}


def learner(*names, seed=0):
    made = Learner.new(names, small.model(), TaskEncoding(), [seed])
    small.lively(made.net)
    return made


@pytest.fixture(scope="module")
def app():
    other = learner("heapsort", seed=3)
    choices = [NetChoice.of("other", other.by_algorithm())]
    known = learner("heapsort", "bfs", "bubble_sort").by_algorithm()
    return App(known, "small", choices, version="1.2.3")


def test_the_net_that_is_asked_for_answers(app):
    first, second = app.solve(SORT), app.solve({**SORT, "net": "other"})
    assert (first["made"]["net"], second["made"]["net"]) == ("small", "other")
    assert first["hints"]["pred_h"]["net"] != second["hints"]["pred_h"]["net"]


def test_two_nets_stand_side_by_side_at_one_problem(app):
    both = app.solve({**SORT, "beside": "other"})
    assert both["made"]["net"] == "small"
    assert both["beside"]["made"]["net"] == "other"
    assert both["beside"]["inputs"] == both["inputs"]


def test_nets_that_do_not_know_the_algorithm_are_refused(app):
    asked = {"algorithm": "bfs", "random": {"n": 4}}
    for name in ("other", "nobody", 3):
        with pytest.raises(ValueError, match="unknown net for bfs"):
            app.solve({**asked, "beside": name})


def test_what_is_shown_says_who_made_it(app):
    assert app.solve(SORT)["made"] == {"net": "small", "score": None, "version": "1.2.3"}


def test_nets_are_loaded_once_and_when_they_are_asked_for():
    loaded = []

    def load(algorithm):
        loaded.append(algorithm)
        return learner(algorithm)

    nets = Nets([NetChoice("some", frozenset({"bfs", "dfs"}), load)], [])
    assert loaded == []
    assert nets.learner("some", "bfs") is nets.learner("some", "bfs")
    assert loaded == ["bfs"]


def test_the_truth_is_given_at_the_steps_that_are_asked_for(app):
    helped = app.solve({**SORT, "truth": [4, 4, 2]})
    assert helped["truth"] == [2, 4]
    assert helped["shares"][2] == helped["shares"][4] == 1
    assert helped["shares"][:2] == app.solve(SORT)["shares"][:2]


@pytest.mark.parametrize("truth", ["4", [1.5], [-1], [True], {"4": 1}])
def test_steps_that_are_none_are_refused(app, truth):
    with pytest.raises(ValueError, match=r"truth: got .*, expected a list of steps"):
        app.solve({**SORT, "truth": truth})


# How far it is


def test_it_says_how_far_it_is(app):
    told = []
    found = app.solve(SORT, told.append)
    steps = found["steps"] - 1
    assert [far["steps"] for far in told] == [steps] * len(told)
    assert told[-1]["step"] == steps
    told.clear()
    app.solve({**SORT, "beside": "other"}, told.append)
    assert told[-1] == {"step": 2 * steps, "steps": 2 * steps}


def test_one_that_waits_is_told_so_and_can_give_up(app, monkeypatch):
    class GoneError(Exception):
        pass

    def told(far):
        assert far == {"waiting": True}
        raise GoneError

    begun, done = threading.Event(), threading.Event()

    def hold(far):
        begun.set()
        assert done.wait(60)

    monkeypatch.setattr(room, "_HEARTBEAT", 0.01)
    other = threading.Thread(target=app.solve, args=(SORT, hold))
    other.start()
    try:
        assert begun.wait(60)
        with pytest.raises(GoneError):
            app.solve(SORT, told)
    finally:
        done.set()
        other.join()


def test_who_gives_up_lets_the_next_one_compute(app):
    class GoneError(Exception):
        pass

    def told(far):
        raise GoneError

    with pytest.raises(GoneError):
        app.solve(SORT, told)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(app.solve(SORT)))
    thread.start()
    thread.join(60)
    assert answers[0]["algorithm"] == "heapsort"


def test_long_runs_are_refused_at_the_size_with_the_largest_that_is_not(app):
    with pytest.raises(ProblemError) as caught:
        app.solve({"algorithm": "bubble_sort", "random": {"n": 64}})
    assert caught.value.field == "n"
    assert caught.value.text == "got 64, expected at most 45: more take over 1,000 steps"
    numbers = " ".join(map(str, range(64)))
    with pytest.raises(ProblemError, match="got 2017 steps, expected at most 1,000") as caught:
        app.solve({"algorithm": "bubble_sort", "fields": {"numbers": numbers}})
    assert caught.value.field == "numbers"


# Curves


def point(model="generalist", algorithm="bfs", n=16, score=90.0, **changes):
    usual = {
        "correct": 50.0, "hints": 70.0, "samples": 4, "problems": "fresh", "device": "cpu",
        "date": "2026-01-01", "version": "1",
    }  # fmt: skip
    return Point(model, algorithm, n, score, **{**usual, **changes})


def test_curves_are_read_as_they_were_written(tmp_path):
    file = tmp_path / "curves.csv"
    curves.write([point(n=16), point(n=4), point(n=16, score=91.5)], file)
    assert curves.read(file) == [point(n=4), point(n=16, score=91.5)]
    assert curves.read(tmp_path / "none.csv") == []


def test_other_columns_are_refused(tmp_path):
    file = tmp_path / "curves.csv"
    file.write_text("model,score\ngeneralist,3\n")
    with pytest.raises(ValueError, match="got the columns"):
        curves.read(file)


def test_a_folder_of_nets_has_the_curve_of_its_member():
    points = [point(n=64, score=98), point("specialists/bfs", n=64), point("specialists/dfs")]
    assert [p.model for p in curves.curve(points, "specialists", "bfs")] == ["specialists/bfs"]
    assert curves.score_in_test(points, "generalist", "bfs") == 98
    assert curves.score_in_test(points, "generalist", "dfs") is None


def test_the_shipped_curves_have_a_score_of_every_algorithm():
    points = curves.read()
    for name in algorist.algorithms():
        for model in ("generalist", "specialists"):
            assert curves.score_in_test(points, model, name) is not None, (model, name)


def test_the_shipped_curves_have_the_kept_scores_of_the_official_tests():
    kept = {(row.part, row.algorithm): row.score for row in read(file_of(RESULTS, SHIPPED))}
    shown = {(p.model, p.algorithm): p.score for p in curves.read() if p.n == curves.TEST_SIZE}
    assert shown == pytest.approx({key: kept[key] for key in shown}, abs=1e-3)


# The gallery


def test_there_is_a_preview_of_every_algorithm_with_several_steps():
    found = previews()
    assert sorted(found) == sorted(algorist.algorithms())
    assert min(run["steps"] for run in found.values()) >= 3


@pytest.mark.parametrize("name", ["heapsort", "dijkstra", "lcs_length"])
def test_previews_have_the_form_of_traces_now(name):
    shipped = previews()[name]
    algorithm = algorist.get(name)
    made = json.loads(json.dumps(preview(algorithm, drawn(algorithm, 6, 1))))
    assert made.keys() == shipped.keys()
    assert [f["name"] for f in made["features"]] == [f["name"] for f in shipped["features"]]
    for part in ("inputs", "hints", "outputs"):
        assert made[part].keys() == shipped[part].keys()
