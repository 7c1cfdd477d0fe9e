"""The forms that problems in files may have: numbers, tables and graphs, as CSV or JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorist.algorithms.user_inputs.edge_lists import UNSET, GraphOptions
from algorist.algorithms.user_inputs.user_graphs import read_graph
from algorist.problems import files


def test_commas_are_decimal_points_only_where_others_separate():
    assert files.numbers("f", "1,5;2\n;,25") == [1.5, 2, 0.25]
    assert files.table("f", "x;y\n-1,5;2e1", 2) == [[-1.5, 20]]
    assert files.table("f", "0,5\t1,5\n1\t2", 2) == [[0.5, 1.5], [1, 2]]
    assert files.numbers("f", "1,5") == [1, 5]
    for text in ("1;2,345,6", "1;2.345,6"):
        with pytest.raises(ValueError, match=r"f, line 1: got '.*', expected a finite number"):
            files.numbers("f", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key;other\n5;1\n2;3", "got the columns key, other, expected one, or no heading"),
        ("# keys\n2,5\n3,1", "lines like 3,1, which can be two numbers or one with a decimal"),
        ("key\n2,5\n3,1", "which can be two numbers or one with a decimal comma"),
    ],
)
def test_keys_that_could_be_misread_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        files.numbers("f", text)


def test_keys_may_be_in_lines_of_several():
    assert files.numbers("f", "5 2\n9 1") == [5, 2, 9, 1]
    assert files.numbers("f", "5,2,9\n1,7,3") == [5, 2, 9, 1, 7, 3]
    assert files.numbers("f", "mon,tue,wed\n5,2,9") == [5, 2, 9]
    assert files.numbers("f", "key\n5\n2") == [5, 2]


def test_only_the_first_line_may_be_a_heading():
    assert files.table("f", "x,y\n1,2", 2) == [[1, 2]]
    with pytest.raises(ValueError, match="f, line 2: got 'NA', expected a finite number"):
        files.table("f", "x,y\nNA,NA\n1,2", 2)


NONSENSE = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="ab01.-,;\t \n\"'[]{}:", max_size=60),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["edges", "nodes", "links", "a"]), inner, max_size=3)
        ),
    ).map(json.dumps),
)


@settings(max_examples=300, deadline=None)
@given(NONSENSE, st.sampled_from([None, True, False]), st.sampled_from([UNSET, None, "a"]))
def test_nonsense_in_files_is_refused_and_nothing_else_happens(text, directed, weight):
    options = GraphOptions(directed=directed, weight=weight)
    readers = (
        lambda: read_graph(files.graph("file", text), options, usually_directed=False).to_matrix(),
        lambda: files.numbers("file", text),
        lambda: files.table("file", text, 2),
        lambda: files.json_of("file.json", text),
    )
    for read in readers:
        try:
            read()
        except ValueError as error:
            message = str(error)
            assert message.startswith("file")
            assert "\n" not in message
