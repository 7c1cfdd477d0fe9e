"""What people write into fields: all that a lenient person would understand."""

import re

import pytest

import algorist
from algorist.algorithms.user_inputs import read_problem
from algorist.problems import forms


def read(name, **fields):
    return forms.read(algorist.get(name), fields)


@pytest.mark.parametrize(
    "text",
    ["5 2 9 1", "5, 2; 9 1", "5,2,9,1", "[5, 2, 9, 1]", "(5; 2; 9; 1)", "5;2;9;1", "5\n2\n9\n1",
     "5, 2,\n9, 1", "5 2\n9 1", " 5,2, 9 ;1 "],
)  # fmt: skip
def test_numbers_may_be_written_in_any_usual_form(text):
    assert read("heapsort", numbers=text)["key"] == [5, 2, 9, 1]


def test_a_comma_is_a_decimal_point_where_semicolons_separate():
    assert read("heapsort", numbers="5;2,5;9")["key"] == [5, 2.5, 9]


def test_what_may_mean_two_things_is_refused_with_both():
    message = "numbers: got '5,2;9 1', which may be 5.2 9 1 or 5 2 9 1: write one of them"
    with pytest.raises(ValueError, match=re.escape(message)):
        read("heapsort", numbers="5,2;9 1")


@pytest.mark.parametrize(
    "text",
    ["0,0 4,3 1,2", "0,0\n4,3\n1,2", "(0, 0), (4, 3), (1, 2)", "[[0,0],[4,3],[1,2]]",
     "0 0; 4 3; 1 2", "0,0; 4,3; 1,2", "0 0\n4 3\n1 2"],
)  # fmt: skip
def test_pairs_may_be_written_in_any_usual_form(text):
    found = read("graham_scan", points=text)
    assert (list(found["x"]), list(found["y"])) == ([0, 4, 1], [0, 3, 2])


@pytest.mark.parametrize(
    "text",
    ["a,b,3\nb,c,1", "a b 3\nb c 1", "a,b,3; b,c,1", "a -> b 3\nb -> c 1", "a->b: 3; b->c: 1",
     "a;b;3\nb;c;1", "a → b, 3\nb → c, 1"],
)  # fmt: skip
def test_edges_may_be_written_in_any_usual_form(text):
    found = read("dijkstra", graph=text, source="a", directed="directed")
    problem = read_problem(algorist.get("dijkstra"), found)
    assert list(problem.names) == ["a", "b", "c"]
    assert problem.arrays["A"].tolist() == [[0, 3, 0], [0, 0, 1], [0, 0, 0]]


def test_names_with_hyphens_are_no_arrows():
    found = read("bfs", graph="New-York,Los-Angeles", source="New-York")
    problem = read_problem(algorist.get("bfs"), found)
    assert list(problem.names) == ["New-York", "Los-Angeles"]


def test_lists_and_words_may_be_written_in_any_usual_form():
    found = read("optimal_bst", p="[0.2 0.3]", q="0.1; 0.2; 0.2")
    assert (found["p"], found["q"]) == ([0.2, 0.3], [0.1, 0.2, 0.2])
    assert read("kmp_matcher", text='"abca"', pattern="'ca'") == {"text": "abca", "pattern": "ca"}


@pytest.mark.parametrize(
    ("name", "message", "field", "text"),
    [
        ("heapsort", "VALUE: got 'x', expected a number", "numbers", "got 'x', expected a number"),
        ("heapsort", "numbers, line 2: got 'x'", "numbers", "line 2: got 'x'"),
        ("heapsort", "heapsort: got 65 nodes", "numbers", "got 65 nodes"),
        ("dijkstra", "A: got the negative weight -1", "graph", "got the negative weight -1"),
        ("dijkstra", "--source: got 'c', expected a node", "source", "got 'c', expected a node"),
        ("dijkstra", "s: got 'c'", "source", "got 'c'"),
        ("activity_selector", "s: got 3", "intervals", "got 3"),
        ("binary_search", "--target: got nothing, expected for example: algorist run "
         "binary_search 1 2 5 9 --target 5", "target", "got nothing, expected for example: 5"),
        ("heapsort", "no colon here", None, "no colon here"),
    ],
)  # fmt: skip
def test_messages_are_said_at_their_field_in_its_words(name, message, field, text):
    assert forms.locate_error(algorist.get(name), message) == (field, text)


@pytest.mark.parametrize("name", algorist.algorithms())
def test_what_is_lenient_changes_no_example(name):
    algorithm = algorist.get(name)
    for field in forms.fields(algorithm):
        plain = forms._PLAIN.get(field.name, str.strip)(field.example)
        assert re.findall(r"[\w.]+", plain) == re.findall(r"[\w.]+", field.example)
