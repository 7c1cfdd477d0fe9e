"""Solutions in notebooks and prompts: pictures that show the answer, and one short line."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import small

import algorist
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.solving import solution_pictures

WORDS_ALONE = {
    "kmp_matcher", "naive_string_matcher", "lcs_length", "matrix_chain_order", "optimal_bst",
    "task_scheduling",
}  # fmt: skip
ROADS = [("<home>", "shop", 1), ("<home>", "park", 3), ("shop", "park", 1), ("park", "sea", 4)]


@pytest.fixture(scope="module")
def learner():
    """A small learner of all algorithms, with weights that nobody trained."""
    made = Learner.new(algorist.algorithms(), small.model(), TaskEncoding())
    small.lively(made.net)
    return made


def parsed(solution):
    return ElementTree.fromstring(f"<div>{solution._repr_html_()}</div>")


def true(solution):
    """The same problem with the algorithm's answer, as if the net had found it."""
    truth = solution.comparison
    return replace(solution, outputs=truth.outputs, answer=truth.answer, right=True)


def strokes(shown):
    return [line.get("stroke") for line in shown.iter("line")]


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("name", algorist.algorithms())
def test_every_solution_has_a_page_and_a_line(learner, name, compare):
    algorithm = algorist.get(name)
    drawn = algorithm.sample(algorithm.size(6), 1, 3).inputs
    inputs = {key: array[0] for key, array in drawn.items() if key not in ("pos", "adj")}
    solution = learner.run(name, compare=compare, **inputs)
    shown = parsed(solution)
    assert bool(shown.findall("svg")) == (name not in WORDS_ALONE)
    assert ["algorithm" in cell.itertext() for cell in shown.iter("th")].count(True) == compare
    assert len(shown.findall("table")) == 1
    assert len(repr(solution)) < 200
    assert "\n" not in repr(solution)
    assert len(repr(solution.comparison)) < 200


def test_the_edges_of_an_answer_are_marked_and_wrong_ones_stand_out(learner):
    solution = learner.run("dijkstra", A=ROADS, s="<home>", compare=True)
    right = true(solution)
    assert strokes(parsed(right)) == 4 * [solution_pictures._GREY] + 3 * ["#0072b2"]
    wrong = replace(right, outputs={"pi": np.array([0, 0, 0, 2])}, right=False)
    assert strokes(parsed(wrong)).count("#d55e00") == 1
    names = [text.text for text in parsed(right).iter("text")]
    assert names == ["1", "3", "1", "4", "<home>", "shop", "park", "sea"]


def test_pointers_that_are_no_edges_are_dashed(learner):
    solution = learner.run("dijkstra", A=ROADS, s="<home>", compare=True)
    astray = replace(solution, outputs={"pi": np.array([0, 0, 1, 0])})
    assert [line.get("stroke-dasharray") for line in parsed(astray).iter("line")].count("5") == 1


def test_nodes_of_an_answer_are_marked(learner):
    right = true(learner.run("articulation_points", A=ROADS, compare=True))
    colours = [circle.get("fill") for circle in parsed(right).iter("circle")]
    assert colours.count("#0072b2") == 1
    wrong = replace(right, outputs={"is_cut": np.array([1, 0, 0, 0])})
    assert [c.get("fill") for c in parsed(wrong).iter("circle")].count("#d55e00") == 2


def test_sorts_show_both_orders_and_what_is_in_the_wrong_place(learner):
    right = true(learner.run("heapsort", key=[5, 2, -9, 1], compare=True))
    bars = list(parsed(right).iter("rect"))
    assert [bar.get("fill") for bar in bars] == 4 * [solution_pictures._GREY] + 4 * ["#0072b2"]
    texts = [text.text for text in parsed(right).iter("text")]
    assert texts == ["5", "2", "-9", "1", "-9", "1", "2", "5"]
    wrong = replace(right, answer=np.array([-9.0, 2.0, 5.0]))
    assert [bar.get("fill") for bar in parsed(wrong).iter("rect")].count("#d55e00") == 2


def test_a_subarray_is_marked_whole(learner):
    right = true(learner.run("find_maximum_subarray_kadane", key=[1, -2, 3, 4, 2], compare=True))
    colours = [bar.get("fill") for bar in parsed(right).iter("rect")]
    assert [colour == "#0072b2" for colour in colours] == [False, False, True, True, True]


def test_large_problems_are_told_in_words(learner):
    solution = learner.run("minimum", key=np.arange(41.0))
    assert not parsed(solution).findall("svg")
    assert parsed(solution).findall("table")
