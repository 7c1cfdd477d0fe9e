"""Answers in the terms of the problem, of the algorithm itself and of nets that are wrong."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import small

import algorist
from algorist.algorithms.explain_answers import EXPLAINERS, explain_outputs
from algorist.algorithms.format_answers import compact
from algorist.algorithms.user_inputs.problems import read_problem
from algorist.model.learner import Learner, TaskEncoding
from algorist.report.solutions import solution_json
from algorist.spec import Spec, edge, graph, node

ROADS = [("home", "shop", 1), ("home", "park", 3), ("shop", "park", 1), ("park", "sea", 4)]
TWO_TOWNS = [*ROADS, ("x", "y", 1)]
STEPS = [("wash", "cook"), ("cook", "eat"), ("shop", "cook")]


def explained(name, wrong=None, **inputs):
    """The explanation of the algorithm's outputs, some of them replaced by a net's."""
    algorithm = algorist.get(name)
    problem = read_problem(algorithm, inputs)
    batch = algorithm.trace_arrays(problem.arrays)
    first = {f.name: compact(f, batch.inputs[f.name])[0] for f in algorithm.spec.inputs}
    outputs = {f.name: compact(f, batch.outputs[f.name])[0] for f in algorithm.spec.outputs}
    outputs |= {key: np.array(value) for key, value in (wrong or {}).items()}
    return explain_outputs(algorithm, first, outputs, problem.names)


def test_every_algorithm_has_its_own_words():
    assert sorted(EXPLAINERS) == algorist.algorithms()


PATHS = {
    "home": "0, the source",
    "shop": "1: home > shop",
    "park": "2: home > shop > park",
    "sea": "6: home > shop > park > sea",
}
FAR = {"x": "not reached", "y": "not reached"}
BY_NODE = [
    *(
        (name, {"A": TWO_TOWNS, "s": "home"}, {**PATHS, **FAR})
        for name in ("dijkstra", "bellman_ford")
    ),
    ("dag_shortest_paths", {"A": ROADS, "s": "home"}, PATHS),
    (
        "bfs",
        {"A": TWO_TOWNS, "s": "home"},
        {
            "home": "0, the source",
            "shop": "1: home > shop",
            "park": "1: home > park",
            "sea": "2: home > park > sea",
            **FAR,
        },
    ),
    (
        "mst_prim",
        {"A": TWO_TOWNS, "s": "home"},
        {
            "home": "the source",
            "shop": "joins home, weight 1",
            "park": "joins shop, weight 1",
            "sea": "joins park, weight 4",
            **FAR,
            "(weight)": "6",
        },
    ),
    (
        "floyd_warshall",
        {"A": ROADS, "directed": True},
        {
            "home": "shop 1; park 2 via shop; sea 6 via park",
            "shop": "home not reached; park 1; sea 5 via park",
            "park": "home not reached; shop not reached; sea 4",
            "sea": "home not reached; shop not reached; park not reached",
        },
    ),
    (
        "dfs",
        {"A": STEPS},
        {"wash": "root", "cook": "found from wash", "eat": "found from cook", "shop": "root"},
    ),
    ("optimal_bst", {"p": [0.2, 0.6], "q": [0.1, 0.05, 0.05]}, {"0": "child of 1", "1": "root"}),
]
SINGLE = [
    *(
        (sort, {"key": [5, 2, 9, 2]}, "2 2 5 9")
        for sort in ("insertion_sort", "bubble_sort", "heapsort", "quicksort")
    ),
    ("minimum", {"key": [5, 2, 9]}, "index 1 (key 2)"),
    ("quickselect", {"key": [5, 2, 9]}, "index 0 (key 5)"),
    ("binary_search", {"key": [1, 2, 5, 9], "target": 5}, "5 is at index 2"),
    (
        "binary_search",
        {"key": [1, 2, 5, 9], "target": 4},
        "4 is not there: index 2 (key 5) is the first that is greater",
    ),
    (
        "binary_search",
        {"key": [1, 2, 5, 9], "target": 10},
        "10 is not there: all keys are smaller, index 3 (key 9) is the last",
    ),
    ("find_maximum_subarray_kadane", {"key": [3, -5, 2, 4, -10]}, "from index 2 to 3: 2 4, sum 6"),
    ("activity_selector", {"s": [1, 3, 0, 5], "f": [4, 5, 6, 7]}, "0 (1 to 4), 3 (5 to 7): 2 of 4"),
    (
        "task_scheduling",
        {"d": [1, 1, 2], "w": [10, 20, 5]},
        "1 (by 1, weight 20), 2 (by 2, weight 5): weight 25",
    ),
    (
        "matrix_chain_order",
        {"p": [30, 35, 15, 5, 10, 20, 25]},
        "((0 (1 2)) ((3 4) 5)), 15125 multiplications",
    ),
    ("lcs_length", {"x": "abcb", "y": "bdb"}, "'bb', 2 letters"),
    ("topological_sort", {"A": STEPS}, "shop > wash > cook > eat"),
    ("strongly_connected_components", {"A": [("a", "b"), ("b", "a"), ("b", "c")]}, "{a, b} {c}"),
    ("articulation_points", {"A": ROADS}, "park"),
    ("articulation_points", {"A": ROADS[:3]}, "none"),
    ("bridges", {"A": ROADS}, "park-sea"),
    ("mst_kruskal", {"A": ROADS}, "home-shop 1, shop-park 1, park-sea 4; weight 6"),
    ("naive_string_matcher", {"text": "abcab", "pattern": "ca"}, "at index 2 of the text: ab[ca]b"),
    ("kmp_matcher", {"text": "abcab", "pattern": "cc"}, "the pattern does not occur in the text"),
    (
        "segments_intersect",
        {"points": [(0, 0), (4, 3), (0, 3), (4, 0)]},
        "the segments have a point in common",
    ),
    (
        "graham_scan",
        {"points": [(0, 0), (2, 0), (1, 1), (0, 2)]},
        "3 corners: 0 (0, 0), 1 (2, 0), 3 (0, 2)",
    ),
    (
        "jarvis_march",
        {"points": [(0, 0), (2, 0), (0.5, 0.5), (0, 2)]},
        "3 corners: 0 (0, 0), 1 (2, 0), 3 (0, 2)",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "pieces"), BY_NODE, ids=[row[0] for row in BY_NODE])
def test_answers_are_explained_by_node(name, inputs, pieces):
    assert explained(name, **inputs).pieces == pieces


@pytest.mark.parametrize(("name", "inputs", "text"), SINGLE, ids=[row[0] for row in SINGLE])
def test_answers_are_explained_in_a_line(name, inputs, text):
    assert explained(name, **inputs).pieces == {"": text}


WRONG = [
    (
        "heapsort",
        {"key": [5, 6, 7, 8]},
        {"pred": [1, 0, 0, 3]},
        "6 5 7 (1 of 4 keys is missing: 8)",
    ),
    (
        "heapsort",
        {"key": range(15)},
        {"pred": range(15)},
        "0 (14 of 15 keys are missing: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)",
    ),
    (
        "binary_search",
        {"key": [1, 2, 5], "target": 5},
        {"return": 0},
        "index 0 (key 1), but 5 is at index 2",
    ),
    (
        "binary_search",
        {"key": [1, 2, 5], "target": 4},
        {"return": 0},
        "index 0 (key 1), which is neither 4 nor the first key that is greater",
    ),
    (
        "find_maximum_subarray_kadane",
        {"key": [1, 2]},
        {"start": 1, "end": 0},
        "from index 1 to 0, which is no run",
    ),
    (
        "topological_sort",
        {"A": STEPS},
        {"topo": [1, 1, 2, 3], "topo_head": 0},
        "wash > cook (2 of 4 nodes are missing: eat, shop)",
    ),
    (
        "kmp_matcher",
        {"text": "abcab", "pattern": "ca"},
        {"match": 4},
        "at index 4, where the text has 'b'",
    ),
    (
        "kmp_matcher",
        {"text": "abcab", "pattern": "ca"},
        {"match": 6},
        "an index outside of the text",
    ),
    (
        "matrix_chain_order",
        {"p": [1, 2, 3, 4]},
        {"s": np.zeros((4, 4), int)},
        "(0 1 2), which leaves open how some are multiplied",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "wrong", "text"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_with_an_answer_in_itself_is_said(name, inputs, wrong, text):
    assert explained(name, wrong, **inputs).pieces == {"": text}


def test_paths_that_lead_nowhere_are_said_to():
    circle = explained("dijkstra", {"pi": [0, 2, 1, 0]}, A=ROADS, s="home").pieces
    assert circle["shop"] == "not reached: the pointers do not lead to the source"
    assert circle["sea"] == "home > sea, but no edge leads from home to sea"
    tree = explained("mst_prim", {"pi": [0, 0, 1, 0]}, A=ROADS, s="home").pieces
    assert tree["sea"] == "joins home, but there is no such edge"
    missing = explained(
        "optimal_bst", {"root": np.zeros((3, 3), int)}, p=[0.2, 0.6], q=[0.1, 0.05, 0.05]
    )
    assert missing.pieces == {"0": "root", "1": "missing from the tree"}  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_distances_and_paths_are_those_of_networkx(seed):
    made = nx.gnp_random_graph(8, 0.3, seed=seed)
    for u, v in made.edges:
        made[u][v]["length"] = 1 + (7 * u + 3 * v) % 10
    facts = explained("dijkstra", A=made, s=0, weight="length").facts
    expected = nx.single_source_dijkstra_path_length(made, 0, weight="length")
    assert {int(f["node"]): f["distance"] for f in facts if f["path"]} == expected
    for fact in facts:
        if fact["path"]:
            path = list(map(int, fact["path"]))
            assert nx.path_weight(made, path, "length") == fact["distance"]


def test_outputs_of_plugins_are_explained_by_their_kinds():
    spec = Spec.of(
        inputs={"pos": node.scalar, "A": edge.scalar},
        hints={},
        outputs={"best": node.mask_one, "to": node.pointer, "far": edge.mask, "x": graph.scalar},
    )
    plugin = SimpleNamespace(name="own", spec=spec, is_part_of_the_package=False)
    inputs = {"pos": np.zeros(2), "A": np.ones((2, 2))}
    outputs = {
        "best": np.array(1),
        "to": np.array([1, 0]),
        "far": np.array([[0, 1], [0, 0]]),
        "x": np.array(2.5),
    }
    found = explain_outputs(plugin, inputs, outputs, ("a", "b"))
    assert found.of == "output"
    assert found.pieces == {"best": "b", "to": "b a", "far": "a>b", "x": "2.5"}


@pytest.fixture(scope="module")
def learner():
    made = Learner.new(["dijkstra", "heapsort"], small.model(), TaskEncoding())
    small.lively(made.net)
    return made


def test_a_solution_explains_itself(learner):
    solution = learner.run("dijkstra", A=TWO_TOWNS, s="home", compare=True)
    lines = solution.explain().splitlines()
    assert lines[0] == "dijkstra: 6 nodes, 5 undirected edges, weights from the third column"
    assert [line.split()[0] for line in lines[1:7]] == ["home", "shop", "park", "sea", "x", "y"]
    assert "(algorithm: " in solution.explain()
    assert lines[7].startswith("The answer is ")
    assert lines[8].endswith("Numbers count as right within 5 % of the largest true one.")
    described = solution_json(solution, steps=False)
    assert described["read"] == solution.read
    assert described["true_explanation"][2] == {
        "node": "park", "distance": 2.0, "path": ["home", "shop", "park"],
    }  # fmt: skip
    assert described["tolerance"] == 0.05


def test_a_solution_without_comparison_explains_itself_too(learner):
    text = learner.run("heapsort", key=[3, 1, 2]).explain()
    assert text.startswith("heapsort: 3 keys\n")
    assert "algorithm:" not in text
