"""The forms that problems in files may have: numbers, tables and graphs, as CSV or JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorist.commands import files

ROADS = "from,to,weight\nhome,shop,1\nhome,park,3\nshop,park,1\npark,sea,4\n"
GRAPHS = {
    "semicolons": "home;shop;1\nhome;park;3\nshop;park;1\npark;sea;4",
    "decimal commas": "from;to;weight\nhome;shop;1,0\nhome;park;3,0e0\nshop;park;1\npark;sea;+4,0",
    "tabs": "# roads\nhome\tshop\t1\nhome\tpark\t3\n\nshop\tpark\t1\npark\tsea\t4\n",
    "spaces": "home shop 1\nhome park 3\nshop park 1\npark sea 4\n",
    "both ways": ROADS + "shop,home,1\n",
    "byte order mark": "\ufeff" + ROADS,
    "neighbours": json.dumps(
        {"home": {"shop": 1, "park": 3}, "shop": {"park": 1}, "park": {"sea": 4}}
    ),
    "edges": json.dumps(
        {
            "nodes": ["home", "shop"],
            "edges": [
                ["home", "shop", 1],
                ["home", "park", 3],
                ["shop", "park", 1],
                {"source": "park", "target": "sea", "weight": 4},
            ],
        }
    ),
    "links": json.dumps(
        {
            "directed": False,
            "nodes": [{"id": name} for name in ("home", "shop", "park", "sea")],
            "links": [
                {"source": u, "target": v, "weight": w}
                for u, v, w in (("home", "shop", 1), ("home", "park", 3))
            ]
            + [["shop", "park", 1], ["park", "sea", 4]],
        }
    ),
}


@pytest.mark.parametrize("text", GRAPHS.values(), ids=GRAPHS)
def test_graphs_come_in_many_forms(text):
    expected = files.graph("roads.csv", ROADS, directed=None, usually=False)
    assert (
        files.graph("other", text.removeprefix("\ufeff"), directed=None, usually=False) == expected
    )


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("from,to\na,b", ["a", "b"]),
        ("Source;Target;Length\na;b;2,5", ["a", "b"]),
        ("u v\na b", ["a", "b"]),
        ("start,a,1\nstart,b,9\nb,a,1", ["start", "a", "b"]),
        ("start,end,1\nstart,b,9", ["start", "end", "b"]),
        ("u,v\nv,w", ["u", "v", "w"]),
        ("from,there\nthere,here", ["from", "there", "here"]),
        ("u,v", ["u", "v"]),
    ],
)
def test_a_first_line_is_a_heading_only_if_it_can_be_no_edge(text, nodes):
    assert list(files.graph("f", text, directed=True, usually=False)) == nodes


def test_commas_are_decimal_points_only_where_others_separate():
    assert files.numbers("f", "1,5;2\n;,25") == [1.5, 2, 0.25]
    assert files.table("f", "x;y\n-1,5;2e1", 2) == [[-1.5, 20]]
    assert files.table("f", "0,5\t1,5\n1\t2", 2) == [[0.5, 1.5], [1, 2]]
    assert files.numbers("f", "1,5") == [1, 5]
    for text in ("1;2,345,6", "1;2.345,6"):
        with pytest.raises(ValueError, match=r"f, line 1: got '.*', expected a finite number"):
            files.numbers("f", text)


def test_a_list_in_json_is_a_matrix_if_it_is_square_and_has_no_names():
    edges = [["a", "b", 2], ["b", "c", 1], ["c", "a", 5]]
    expected = {"a": {"b": 2.0}, "b": {"c": 1.0}, "c": {"a": 5.0}}
    assert files.graph("f", json.dumps(edges), directed=True, usually=False) == expected
    pairs = files.graph("f", "[[0, 1], [1, 2], [2, 0]]", directed=None, usually=True)
    assert pairs == {"0": {"1": 1.0}, "1": {"2": 1.0}, "2": {"0": 1.0}}
    assert files.graph("f", "[[0, 3], [3, 0]]", directed=None, usually=True) == [[0, 3], [3, 0]]
    with pytest.raises(ValueError, match="got a matrix, which says itself"):
        files.graph("f", "[[0, 3], [3, 0]]", directed=False, usually=True)


def test_a_lone_node_may_come_before_the_first_separator():
    found = files.graph("f", "home\nhome, shop, 2\nshop, park, 3", directed=True, usually=False)
    assert found == {"home": {"shop": 2.0}, "shop": {"park": 3.0}, "park": {}}


def test_only_the_first_line_may_be_a_heading():
    assert files.table("f", "x,y\n1,2", 2) == [[1, 2]]
    with pytest.raises(ValueError, match="f, line 2: got 'NA', expected a finite number"):
        files.table("f", "x,y\nNA,NA\n1,2", 2)


def test_names_may_have_the_commas_that_do_not_separate():
    for text in ("Berlin, Mitte;Bonn;1,5", "Berlin, Mitte\tBonn\t1.5"):
        found = files.graph("f", text, directed=True, usually=False)
        assert found == {"Berlin, Mitte": {"Bonn": 1.5}, "Bonn": {}}


def test_edges_are_directed_where_the_user_or_the_file_says_so():
    one_way = {"a": {"b": 1.0}, "b": {}}
    assert files.graph("f", "a,b", directed=True, usually=False) == one_way
    assert files.graph("f", "a,b", directed=None, usually=True) == one_way
    said = '{"directed": true, "edges": [["a", "b"]]}'
    assert files.graph("f", said, directed=None, usually=False) == one_way


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


@settings(max_examples=150, deadline=None)
@given(NONSENSE, st.sampled_from([None, True, False]))
def test_nonsense_in_files_is_refused_and_nothing_else_happens(text, directed):
    readers = (
        lambda: files.graph("file", text, directed=directed, usually=False),
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
