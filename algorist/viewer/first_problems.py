"""The problem with which the page shows each of the thirty algorithms first.

Each is what a person would type into the algorithm's form. They are chosen for what there is to
see: no graph without edges, no pattern that matches at once, five steps or more at which
something changes. Only the page uses them; the benchmark's data are drawn elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from algorist.algorithms import Algorithm

Fields = dict[str, str]
"""Texts by the names of the fields that they are typed into."""


def first_problem(algorithm: Algorithm) -> Fields | None:
    """The fields of the first problem; None for an algorithm of a plug-in, which has none."""
    return FIRST_PROBLEMS.get(algorithm.name) if algorithm.is_part_of_the_package else None


def _graph(edges: str, *, source: str | None = None, directed: bool = False) -> Fields:
    """Edges like `A-B` or `A-B-4`, separated by spaces."""
    lines = "\n".join(edge.replace("-", ",") for edge in edges.split())
    fields = {"graph": lines, "directed": "directed" if directed else "undirected"}
    return fields if source is None else {**fields, "source": source}


def _pairs(name: str, pairs: Iterable[tuple[float, float]]) -> Fields:
    return {name: "\n".join(f"{first:g},{second:g}" for first, second in pairs)}


_KEYS = {"numbers": "5 2 9 1 7 3 8 4"}
_TOWNS = "A-B-4 A-C-2 B-C-1 B-D-5 C-E-8 D-E-2 D-F-6 E-G-3 F-G-1 F-H-4 G-H-7"
_TREES_WITH_LOOPS = "A-B B-C C-A C-D D-E E-F F-D F-G G-H"
_ERRANDS = "A-B A-C B-D C-D C-E D-F E-G F-H G-H"
_WEIGHTED_ERRANDS = "A-B-2 A-C-4 B-D-7 C-D-1 C-E-3 D-F-2 E-G-6 F-H-5 G-H-1"
_POINTS = ((2, 9), (13, 0), (26, 5), (22, 18), (6, 21), (15, 11), (19, 9), (9, 14))

FIRST_PROBLEMS: dict[str, Fields] = {
    # sorting
    "insertion_sort": _KEYS,
    "bubble_sort": {"numbers": "5 2 9 1 7 3"},
    "heapsort": {"numbers": "5 2 9 1 7 3 8"},
    "quicksort": _KEYS,
    # searching
    "minimum": {"numbers": "6 8 4 9 5 2 7 3"},
    "binary_search": {
        "numbers": "1 2 4 5 7 8 10 11 13 14 16 18 19 21 23 24 26 29",
        "target": "17",
    },
    "quickselect": {"numbers": "5 2 9 1 7 3 6"},
    # divide and conquer
    "find_maximum_subarray_kadane": {"numbers": "2 -4 3 1 -2 4 -3 1"},
    # greedy
    "activity_selector": _pairs(
        "intervals", ((1, 4), (3, 5), (0, 6), (5, 7), (3, 9), (6, 10), (8, 11), (2, 13))
    ),
    "task_scheduling": _pairs("tasks", ((4, 7), (2, 6), (4, 5), (3, 4), (1, 3), (4, 2), (6, 1))),
    # dynamic programming
    "matrix_chain_order": {"numbers": "10 40 20 35 40 15 5"},
    "lcs_length": {"x": "abcbdab", "y": "bdcaba"},
    "optimal_bst": {"p": "0.15,0.1,0.05,0.1,0.2", "q": "0.05,0.1,0.05,0.05,0.05,0.1"},
    # graphs
    "bfs": _graph("A-B A-C B-D C-D D-E E-F E-G G-H F-H H-I", source="A"),
    "dfs": _graph("A-B B-C C-A B-D D-E E-F F-D G-F", directed=True),
    "topological_sort": _graph(_ERRANDS, directed=True),
    "strongly_connected_components": _graph("A-B B-C C-A C-D D-E E-D E-F F-G G-F", directed=True),
    "articulation_points": _graph(_TREES_WITH_LOOPS),
    "bridges": _graph(_TREES_WITH_LOOPS),
    "mst_kruskal": _graph("A-B-4 A-C-2 B-C-1 B-D-5 C-E-8 D-E-3 D-F-6 E-F-7"),
    "mst_prim": _graph(_TOWNS, source="A"),
    "bellman_ford": _graph(
        "A-B-1 A-C-6 B-C-2 C-D-2 B-D-7 D-E-1 E-F-2 D-F-5 F-G-1 E-G-4", source="A"
    ),
    "dijkstra": _graph(_TOWNS, source="A"),
    "dag_shortest_paths": _graph(_WEIGHTED_ERRANDS, source="A", directed=True),
    "floyd_warshall": _graph("A-B-3 A-C-8 B-C-2 C-D-1 B-E-9 D-E-2 E-F-4 D-F-7"),
    # strings
    "naive_string_matcher": {"text": "abcbabcab", "pattern": "abca"},
    "kmp_matcher": {"text": "ababaabac", "pattern": "abaa"},
    # geometry
    "graham_scan": _pairs("points", _POINTS),
    "jarvis_march": _pairs("points", _POINTS[:6]),
    "segments_intersect": _pairs("points", ((0, 2), (20, 13), (4, 12), (15, 3))),
}
"""By algorithm."""
