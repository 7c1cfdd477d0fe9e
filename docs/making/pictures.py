"""The pictures: for each algorithm a small problem, some steps of it, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scenes import Bars, Graph, Intervals, Letters, Plane, Scene, Table
from svg import Canvas
from traces import Trace


@dataclass(frozen=True)
class Picture:
    """Some steps of an algorithm on a problem."""

    problem: Mapping[str, Any]
    steps: Sequence[int]
    scene: Scene
    note: str = ""
    """What is to be seen beside the roles of nodes."""


@dataclass(frozen=True)
class Panel:
    """One step, drawn."""

    svg: str
    caption: str


def panels(name: str) -> list[Panel]:
    """A small drawing for each of some steps of an algorithm."""
    picture, trace = PICTURES[name], _trace(name)
    return [_panel(picture, trace, step) for step in picture.steps]


def legend(name: str) -> list[tuple[str, str]]:
    """The style and the meaning of each colour, and the note, which has no style."""
    picture = PICTURES[name]
    note = [("", picture.note)] if picture.note else []
    return [*picture.scene.legend(_trace(name)), *note]


def description(name: str) -> str:
    """What is to be seen, in a sentence for those who do not see it."""
    return f"{name}: {len(PICTURES[name].steps)} of the {_trace(name).steps} steps of a small run"


def html(name: str) -> str:
    """The picture of an algorithm for the site: its panels and its legend."""
    drawn = panels(name)
    steps = "".join(f"<div>{panel.svg}<span>{panel.caption}</span></div>" for panel in drawn)
    items = "".join(
        f"<span>{_colour(style)}{escape(means)}</span>" for style, means in legend(name)
    )
    return (
        f'<figure class="trace"><div class="steps of-{len(drawn)}">{steps}</div>'
        f'<figcaption><span class="legend">{items}</span></figcaption></figure>'
    )


def _colour(style: str) -> str:
    return f'<i class="{style}"></i>' if style else ""


def _trace(name: str) -> Trace:
    return Trace.of(name, PICTURES[name].problem)


def _panel(picture: Picture, trace: Trace, step: int) -> Panel:
    caption = f"step {step} of {trace.steps - 1}"
    canvas = Canvas(f"{trace.algorithm.name}, {caption}")
    picture.scene.draw(canvas, trace, step)
    return Panel(canvas.svg(), caption)


Edges = Iterable[tuple[int, int] | tuple[int, int, float]]


def _matrix(n: int, edges: Edges, *, directed: bool = False) -> np.ndarray:
    matrix = np.zeros((n, n))
    for u, v, *weight in edges:
        matrix[u, v] = weight[0] if weight else 1
        if not directed:
            matrix[v, u] = matrix[u, v]
    return matrix


_KEYS = {"key": [5, 2, 9, 1, 7, 3]}
_RING = [(0, 1), (1, 0), (2.4, 0), (3.4, 1), (2.4, 2), (1, 2)]
_TOWN = _matrix(6, [(0, 1), (0, 5), (1, 2), (1, 5), (2, 3), (4, 5), (2, 4)])
_ROADS = _matrix(
    6, [(0, 1, 4), (0, 5, 2), (1, 5, 1), (1, 2, 5), (2, 5, 8), (2, 3, 3), (4, 5, 9), (3, 4, 1)]
)
_ONE_WAY = _matrix(6, [(0, 1), (1, 2), (2, 0), (1, 3), (3, 4), (4, 5)], directed=True)
_DUTIES = _matrix(6, [(0, 1), (0, 5), (1, 2), (5, 4), (2, 3), (4, 3), (1, 4)], directed=True)
_WEIGHTED_DUTIES = _matrix(
    6,
    [(0, 1, 2), (0, 5, 1), (1, 2, 3), (5, 4, 5), (2, 3, 1), (4, 3, 2), (1, 4, 1)],
    directed=True,
)
_TWO_PARTS = _matrix(6, [(0, 1), (0, 5), (1, 5), (1, 2), (2, 3), (2, 4), (3, 4)])
_LOOPS = _matrix(6, [(0, 1), (1, 5), (5, 0), (1, 2), (2, 3), (3, 4), (4, 2)], directed=True)
_SQUARE = _matrix(4, [(0, 1, 3), (0, 2, 8), (1, 2, 2), (2, 3, 1), (1, 3, 7)])
_POINTS = {
    "points": [(0.2, 0.9), (1.3, 0.0), (2.6, 0.5), (2.2, 1.8), (0.6, 2.1), (1.5, 1.1), (1.9, 0.9)]
}

PICTURES: dict[str, Picture] = {
    # sorting
    "insertion_sort": Picture(
        _KEYS,
        range(6),
        Bars(order="pred_h", tags=("i", "j")),
        "Bars stand in the order of pred_h.",
    ),
    "bubble_sort": Picture(
        {"key": [5, 2, 9, 1, 7]},
        (0, 2, 4, 6, 8, 10),
        Bars(order="pred_h", tags=("i", "j")),
        "Bars stand in the order of pred_h.",
    ),
    "heapsort": Picture(
        _KEYS,
        (0, 8, 9, 11, 14, 20),
        Bars(order="pred_h", tags=("i", "j"), bows="parent"),
        "Bars stand in the order of pred_h; arrows are parent.",
    ),
    "quicksort": Picture(
        _KEYS,
        (0, 2, 5, 7, 10, 11),
        Bars(order="pred_h", tags=("i", "j", "r")),
        "Bars stand in the order of pred_h; i is the border.",
    ),
    # searching
    "minimum": Picture(_KEYS, range(6), Bars()),
    "binary_search": Picture(
        {"key": [1, 2, 4, 5, 7, 8, 9, 11], "target": 7.5},
        range(4),
        Bars(tags=("low", "mid", "high"), line="target"),
        "The dashed line is the target, 7.5.",
    ),
    "quickselect": Picture(
        {"key": [5, 2, 9, 1, 7, 3, 6]},
        (0, 3, 6, 8, 9, 10),
        Bars(order="pred_h", tags=("i", "j", "pivot")),
        "Bars stand in the order of pred_h; i is the border.",
    ),
    # divide and conquer
    "find_maximum_subarray_kadane": Picture(
        {"key": [2, -4, 3, 1, -2, 4, -3]}, (0, 1, 2, 3, 5, 6), Bars(tags=("i", "j"))
    ),
    # greedy
    "activity_selector": Picture(
        {"s": [1, 3, 0, 5, 3, 6, 8], "f": [4, 5, 6, 7, 9, 10, 11]},
        (0, 1, 2, 4, 6, 7),
        Intervals(tags=("m", "k")),
        "Time goes to the right; k is the activity taken last.",
    ),
    "task_scheduling": Picture(
        {"d": [4, 2, 4, 3, 1, 4], "w": [7, 6, 5, 4, 3, 2]},
        (0, 1, 2, 4, 5, 6),
        Bars(height="w", below="d"),
        "Bars are the weights w, the numbers below them the deadlines d.",
    ),
    # dynamic programming
    "lcs_length": Picture(
        {"x": "abcb", "y": "bdcab"},
        range(5),
        Table(
            "c",
            over="b_h",
            signs={0: "↖", 1: "↑", 2: "←"},
            heads="abcbbdcab",
            rows=range(0, 4),
            columns=range(4, 9),
        ),
        "c is the number, b_h the arrow.",
    ),
    "matrix_chain_order": Picture(
        {"p": [3, 2, 4, 2, 5]},
        range(4),
        Table("m", known="msk", rows=range(1, 5), columns=range(1, 5)),
        "m, where msk is 1.",
    ),
    "optimal_bst": Picture(
        {"p": [0.15, 0.1, 0.05, 0.2], "q": [0.05, 0.1, 0.05, 0.15, 0.15]},
        (0, 1, 2, 4),
        Table("e", known="msk"),
        "e, where msk is 1.",
    ),
    # graphs
    "bfs": Picture(
        {"A": _TOWN, "s": 0},
        range(4),
        Graph(_RING, arrows="pi_h"),
        "Arrows are pi_h: where each node was reached from.",
    ),
    "dfs": Picture(
        {"A": _ONE_WAY},
        (0, 3, 5, 8, 12, 17),
        Graph(_RING, arrows="pi_h", tags=("u", "v"), directed=True),
        "Thick arrows are pi_h: where each node was found from.",
    ),
    "topological_sort": Picture(
        {"A": _DUTIES},
        (0, 3, 5, 7, 9, 12),
        Graph(_RING, arrows="topo_h", directed=True),
        "Thick arrows are topo_h: to the node that comes next.",
    ),
    "strongly_connected_components": Picture(
        {"A": _LOOPS},
        (0, 9, 17, 18, 22, 30),
        Graph(_RING, arrows="scc_id_h", tags=("u",), directed=True),
        "Thick arrows are scc_id_h, in the second phase.",
    ),
    "articulation_points": Picture(
        {"A": _TWO_PARTS},
        (0, 5, 10, 16, 20, 27),
        Graph(_RING, arrows="pi_h", numbers="low"),
        "Arrows are pi_h, numbers low.",
    ),
    "bridges": Picture(
        {"A": _TWO_PARTS},
        (0, 5, 10, 16, 20, 27),
        Graph(_RING, thick="is_bridge_h", numbers="low"),
        "Thick edges are is_bridge_h, numbers low.",
    ),
    "mst_kruskal": Picture(
        {"A": _ROADS},
        (0, 2, 4, 9, 13, 20),
        Graph(_RING, thick="in_mst_h", tags=("u", "v"), weights=True),
        "Thick edges are in_mst_h.",
    ),
    "mst_prim": Picture(
        {"A": _ROADS, "s": 0},
        (0, 1, 2, 3, 4, 6),
        Graph(_RING, arrows="pi_h", weights=True),
        "Arrows are pi_h: to which node of the tree each is nearest.",
    ),
    "bellman_ford": Picture(
        {"A": _ROADS, "s": 0},
        range(5),
        Graph(_RING, arrows="pi_h", numbers="d", weights=True),
        "Arrows are pi_h, numbers above the nodes d.",
    ),
    "dijkstra": Picture(
        {"A": _ROADS, "s": 0},
        (0, 1, 2, 3, 4, 6),
        Graph(_RING, arrows="pi_h", numbers="d", weights=True),
        "Arrows are pi_h, numbers above the nodes d.",
    ),
    "dag_shortest_paths": Picture(
        {"A": _WEIGHTED_DUTIES, "s": 0},
        (0, 5, 13, 14, 16, 18),
        Graph(_RING, arrows="pi_h", numbers="d", directed=True, weights=True),
        "Thick arrows are pi_h, numbers above the nodes d.",
    ),
    "floyd_warshall": Picture(
        {"A": _SQUARE},
        range(4),
        Table("D", known="msk", cross="k"),
        "D, where msk is 1; row and column of k are framed.",
    ),
    # strings
    "naive_string_matcher": Picture(
        {"text": "abcbabca", "pattern": "abca"},
        (0, 2, 3, 4, 7, 10),
        Letters("abcbabca", "abca", above=("i",), below=("j",)),
        "The pattern stands at its shift s.",
    ),
    "kmp_matcher": Picture(
        {"text": "abacababc", "pattern": "abab"},
        (0, 3, 7, 8, 10, 13),
        Letters("abacababc", "abab", above=("i",), below=("q", "k"), bows="pi"),
        "Arrows are pi: what is left of a match if the next letter differs.",
    ),
    # geometry
    "graham_scan": Picture(
        _POINTS, (1, 3, 4, 5, 7, 10), Plane(chain="stack_prev"), "Arrows are stack_prev."
    ),
    "jarvis_march": Picture(
        _POINTS,
        (1, 4, 8, 14, 24, 40),
        Plane(tags=("last_point", "endpoint"), ray=("last_point", "endpoint")),
        "The dashed line goes from last_point to endpoint.",
    ),
    "segments_intersect": Picture(
        {"points": [(0, 0.2), (2, 1.3), (0.4, 1.2), (1.5, 0.3)]},
        range(5),
        Plane(tags=("i", "j"), segments=((0, 1), (2, 3))),
    ),
}
