"""What the page shows first, and what it draws: problems in which there is something to see."""

import numpy as np
import pytest

import algorist
from algorist.problems import forms
from algorist.problems.form_texts import form_texts
from algorist.problems.inputs import drawn
from algorist.viewer.draws import draw_interesting
from algorist.viewer.first_problems import FIRST_PROBLEMS, first_problem

NAMES = algorist.algorithms()
SPARSE = ("articulation_points", "bridges", "mst_kruskal")


def first_batch(name):
    algorithm = algorist.get(name)
    return algorithm.trace(**forms.read(algorithm, FIRST_PROBLEMS[name]))


def test_first_problems_are_for_the_thirty_and_none_for_plugins(euclid):
    assert sorted(FIRST_PROBLEMS) == NAMES
    assert first_problem(euclid) is None
    assert first_problem(algorist.get("bfs")) == FIRST_PROBLEMS["bfs"]


@pytest.mark.parametrize("name", NAMES)
def test_five_moments_of_a_first_problem_change_something(name):
    batch = first_batch(name)
    changes = sum(
        any(not np.array_equal(hint[step], hint[step - 1]) for hint in batch.hints.values())
        for step in range(1, batch.steps)
    )
    assert batch.steps >= 5
    assert changes + 1 >= 5  # and the answer, in the end
    assert batch.inputs["pos"].shape[1] <= 18  # which can be read


@pytest.mark.parametrize("name", NAMES)
def test_first_problems_fill_the_whole_form(name):
    fields = {field.name for field in forms.fields(algorist.get(name)) if field.example}
    assert set(FIRST_PROBLEMS[name]) == fields


@pytest.mark.parametrize("name", ["naive_string_matcher", "kmp_matcher"])
def test_the_first_pattern_occurs(name):
    fields = FIRST_PROBLEMS[name]
    assert fields["text"].index(fields["pattern"]) > 0


def share_joined(A):
    """The share of the nodes that the largest part of a graph has."""
    reach = np.linalg.matrix_power(np.eye(len(A)) + (A != 0) + (A.T != 0), len(A)) > 0
    return reach.sum(1).max() / len(A)


@pytest.mark.parametrize("n", [6, 9, 16])
@pytest.mark.parametrize("name", SPARSE)
def test_drawn_graphs_hang_together(name, n):
    for seed in range(5):
        assert share_joined(draw_interesting(algorist.get(name), n, seed)["A"]) >= 0.8


def test_a_source_that_leads_nowhere_is_not_drawn():
    algorithm = algorist.get("dag_shortest_paths")
    for seed in range(10):
        problem = draw_interesting(algorithm, 9, seed)
        traced = algorithm.trace(**problem)
        reached = traced.hints["mark"][-1, 0].sum()
        assert reached >= 0.6 * 9


@pytest.mark.parametrize("name", ["naive_string_matcher", "kmp_matcher"])
def test_a_drawn_pattern_takes_some_steps_to_be_found(name):
    algorithm = algorist.get(name)
    for seed in range(5):
        problem = draw_interesting(algorithm, 12, seed)
        assert algorithm.trace(**problem).steps >= 5


def test_what_is_interesting_already_is_the_problem_of_the_terminal():
    algorithm = algorist.get("dijkstra")
    for name, array in drawn(algorithm, 16, 3).items():
        assert np.array_equal(draw_interesting(algorithm, 16, 3)[name], array)


def test_the_benchmark_draws_as_before():
    algorithm = algorist.get("bridges")
    before = algorithm.sample(9, 4, 1).inputs["A"]
    draw_interesting(algorithm, 9, 1)
    assert np.array_equal(algorithm.sample(9, 4, 1).inputs["A"], before)


@pytest.mark.parametrize("name", NAMES)
def test_small_and_large_problems_are_drawn(name):
    algorithm = algorist.get(name)
    for n in (4, 24):
        form_texts(algorithm, draw_interesting(algorithm, n, 1))
