"""What a trace says for the page: sentences of both sides, roles of nodes, and places of graphs."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small

import algorist
from algorist.algorithms.explanations import Explanation
from algorist.algorithms.graph_layout import Edges, place_nodes
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.solving.solution_text import compared
from algorist.model.solving.solver import solve
from algorist.problems import forms
from algorist.viewer import pages
from algorist.viewer.app import App
from algorist.viewer.draws import draw_interesting
from algorist.viewer.explained import explained
from algorist.viewer.first_problems import FIRST_PROBLEMS

NAMES = algorist.algorithms()
GRAPHS = [name for name in NAMES if "A" in algorist.get(name).spec]


@pytest.fixture(scope="module")
def app():
    learner = Learner.new(NAMES, small.model(), TaskEncoding())
    small.lively(learner.net)
    return App(learner.by_algorithm(), "small")


@pytest.mark.parametrize("name", NAMES)
def test_every_moment_of_both_sides_is_explained(app, name):
    found = app.solve({"algorithm": name, "fields": FIRST_PROBLEMS[name]})
    explanation, steps = found["explanation"], found["steps"]
    assert json.loads(json.dumps(explanation, allow_nan=False))
    assert len(explanation["lines"]) == steps
    assert all(explanation["lines"])
    for side in ("algorithm", "net"):
        assert len(explanation["sentences"][side]) == steps + 1
        for role in explanation["roles"]:
            assert len(role[side]) == steps
            assert all(0 <= node < found["nodes"] for nodes in role[side] for node in nodes or ())
    assert found["tolerance"] == 0.05
    assert (found["places"] is not None) == (name in GRAPHS)


def test_a_net_without_hints_says_nothing_on_the_way():
    learner = Learner.new(["bfs"], small.model(hints="none"), TaskEncoding())
    app = App(learner.by_algorithm(), "silent")
    found = app.solve({"algorithm": "bfs", "fields": FIRST_PROBLEMS["bfs"]})
    assert list(found["explanation"]["sentences"]) == ["algorithm"]


def test_paths_are_told_with_their_lengths_and_others_with_a_reason():
    bfs = algorist.get("bfs")
    learner = Learner.new(["bfs"], small.model(), TaskEncoding())
    solution = solve(learner, "bfs", forms.read(bfs, FIRST_PROBLEMS["bfs"]), compare=True)
    circle = replace(solution, outputs={"pi": np.array([0, 3, 0, 1, 3, 4, 4, 5, 7])})
    sentences = explained(bfs, circle, compared(solution))["sentences"]
    assert "B: 1 by A > B" in sentences["algorithm"][-1][1]
    assert "B: not reached: the pointers do not lead to the source" in sentences["net"][-1][1]


def test_a_plugin_is_told_by_its_tags_and_masks(euclid):
    learner = Learner.new(["euclid"], small.model(), TaskEncoding())
    app = App(learner.by_algorithm(), "euclid")
    explanation = app.trace(euclid, {"value": [12, 18, 9]})["explanation"]
    assert explanation["pseudocode"] == []
    text, *values = explanation["sentences"]["algorithm"][1]
    assert text == "larger is {}, smaller is {}"
    assert len(values) == 2


def test_a_plugin_whose_explanation_fails_is_told_so(euclid):
    broken = replace(euclid, explanation=Explanation(tell=lambda run, step: run.hints["none"]))
    learner = Learner.new(["euclid"], small.model(), TaskEncoding())
    app = App(learner.by_algorithm(), "euclid")
    with pytest.raises(ValueError, match="algorithm euclid: its explanation failed with KeyError"):
        app.trace(broken, {"value": [12, 18, 9]})


def matrix_of(name):
    algorithm = algorist.get(name)
    return algorithm.trace(**forms.read(algorithm, FIRST_PROBLEMS[name])).inputs["A"][0]


def edges_of(A):
    return Edges(np.triu((A != 0) | (A.T != 0), 1))


@pytest.mark.parametrize("name", GRAPHS)
def test_first_graphs_are_drawn_without_crossings_and_with_room(name):
    A = matrix_of(name)
    places = np.array(place_nodes(A))
    assert edges_of(A).crossings(places) == 0
    assert places.min() == 0
    assert places.max() == 1
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert distances[np.triu_indices(len(A), 1)].min() > 0.15


def test_places_are_the_same_each_time():
    A = matrix_of("dijkstra")
    assert place_nodes(A) == place_nodes(A.copy())


@pytest.mark.parametrize("n", [1, 2, 3, 5, 30, 64])
def test_graphs_of_all_sizes_have_places(n):
    for A in (np.zeros((n, n)), np.ones((n, n)), np.eye(n, k=1)):
        places = np.array(place_nodes(A))
        assert places.shape == (n, 2)
        assert np.isfinite(places).all()


def test_a_grid_is_drawn_without_crossings():
    n, A = 12, np.zeros((12, 12))
    for i in range(n):
        for j in (i + 1 if i % 4 < 3 else i, i + 4):
            if j < n and j != i:
                A[i, j] = A[j, i] = 1
    assert edges_of(A).crossings(np.array(place_nodes(A))) == 0


def test_crossings_are_counted():
    square = np.array([[0, 0], [1, 1], [0, 1], [1, 0]], float)
    joined = np.zeros((4, 4), bool)
    joined[0, 1] = joined[2, 3] = joined[0, 2] = True
    assert Edges(joined).crossings(square) == 1


def test_a_drawn_graph_of_many_edges_is_a_circle():
    A = draw_interesting(algorist.get("dfs"), 12, 3)["A"]
    middle = np.array(place_nodes(A)) - 0.5
    np.testing.assert_allclose(np.linalg.norm(middle, axis=1), 0.5, atol=1e-3)


def colours(file, prefix):
    """The colours of roles in a style sheet, by role; the first that is given for each."""
    found = {}
    for role, colour in re.findall(rf"--{prefix}(\w+): (?:light-dark\()?(#\w+)", file.read_text()):
        found.setdefault(role, colour)
    return found


def test_roles_have_the_same_colours_in_the_documentation():
    page = colours(Path(pages.__file__).parent / "static" / "page.css", "")
    docs = colours(Path(__file__).parents[1] / "docs" / "style.css", "trace-")
    for role in ("plain", "known", "busy", "done", "other"):
        assert page[role] == docs[role]
