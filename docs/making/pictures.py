"""The pictures: for each algorithm a small problem, some steps of it, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scenes import Bars, Graph, Intervals, Letters, Plane, Scene, Table
from svg import Canvas
from traces import Tone, Trace, after, at, before, marked, of_class, span


@dataclass(frozen=True)
class Picture:
    """Some steps of an algorithm on a problem."""

    problem: Mapping[str, Any]
    steps: Sequence[int]
    scene: Scene
    note: str = ""
    """What is to be seen beside the tones."""


def html(name: str) -> str:
    """The picture of an algorithm: a small drawing for each of some steps, and what they show."""
    picture = PICTURES[name]
    trace = Trace.of(name, picture.problem)
    panels = "".join(_panel(picture, trace, step) for step in picture.steps)
    legend = "".join(
        f'<span><i class="{style}"></i>{escape(means)}</span>'
        for style, means in picture.scene.legend()
    )
    note = f"<span>{escape(picture.note)}</span>" if picture.note else ""
    return (
        f'<figure class="trace"><div class="steps of-{len(picture.steps)}">{panels}</div>'
        f'<figcaption><span class="legend">{legend}{note}</span></figcaption></figure>'
    )


def _panel(picture: Picture, trace: Trace, step: int) -> str:
    canvas = Canvas(f"{trace.algorithm.name}, step {step} of {trace.steps - 1}")
    picture.scene.draw(canvas, trace, step)
    return f"<div>{canvas.svg()}<span>step {step} of {trace.steps - 1}</span></div>"


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

_SEARCH = (
    Tone("known", of_class("color", 1), "grey: on the stack"),
    Tone("done", of_class("color", 2), "black: finished"),
)
_NEAREST = (
    Tone("known", marked("in_queue"), "in_queue"),
    Tone("done", marked("mark"), "mark: settled"),
    Tone("busy", at("u"), "u: the node at hand"),
)
_PARTS = (
    Tone("known", span("p", "r", "pred_h"), "p to r: the part at hand"),
    Tone("busy", at("j"), "j: the key looked at"),
)


def _compared(trace: Trace, step: int) -> list[int]:
    """The letters that agree before i and j."""
    i, j, shift = (trace.node(hint, step) for hint in ("i", "j", "s"))
    return [*range(shift, i), *range(j - (i - shift), j)]


def _matched(trace: Trace, step: int) -> int:
    """How many letters of the pattern are matched."""
    start = int((trace.inputs["string"] == 0).sum())
    hint, reset = ("q", "q_reset") if trace.hints["phase"][step] else ("k", "k_reset")
    return 0 if trace.hints[reset][step] else trace.node(hint, step) - start + 1


def _matched_shift(trace: Trace, step: int) -> int:
    """Where the pattern stands so that its matched letters are below those of the text."""
    in_text = trace.hints["phase"][step] > 0
    return trace.node("i", step) - _matched(trace, step) if in_text else 0


def _matched_letters(trace: Trace, step: int) -> list[int]:
    start, count = int((trace.inputs["string"] == 0).sum()), _matched(trace, step)
    shift, in_text = _matched_shift(trace, step), trace.hints["phase"][step] > 0
    return [*range(start, start + count), *(range(shift, shift + count) if in_text else ())]


PICTURES: dict[str, Picture] = {
    # sorting
    "insertion_sort": Picture(
        _KEYS,
        range(6),
        Bars(
            (
                Tone("done", lambda trace, step: range(step + 1), "the sorted prefix"),
                Tone("busy", at("j"), "j: the key inserted last"),
            ),
            order="pred_h",
            tags=("i", "j"),
        ),
        "Bars stand in the order of pred_h.",
    ),
    "bubble_sort": Picture(
        {"key": [5, 2, 9, 1, 7]},
        (0, 2, 4, 6, 8, 10),
        Bars(
            (
                Tone("done", before("i", "pred_h"), "before i: in place"),
                Tone("busy", at("j"), "j: the larger of the two just compared"),
            ),
            order="pred_h",
            tags=("i", "j"),
        ),
        "Bars stand in the order of pred_h.",
    ),
    "heapsort": Picture(
        _KEYS,
        (0, 8, 9, 11, 14, 20),
        Bars(
            (
                Tone("known", lambda trace, step: range(trace.n), "the heap, up to heap_size"),
                Tone("done", after("heap_size", "pred_h"), "behind it: in place"),
                Tone("busy", at("largest"), "largest"),
            ),
            order="pred_h",
            tags=("i", "j"),
            bows="parent",
        ),
        "Bars stand in the order of pred_h; arrows are parent.",
    ),
    "quicksort": Picture(
        _KEYS,
        (0, 2, 5, 7, 10, 11),
        Bars(_PARTS, order="pred_h", tags=("i", "j", "r")),
        "Bars stand in the order of pred_h; i is the border, r the pivot.",
    ),
    # searching
    "minimum": Picture(
        _KEYS,
        range(6),
        Bars(
            (
                Tone("busy", at("i"), "i: compared now"),
                Tone("done", at("min_h"), "min_h: the smallest so far"),
            ),
        ),
    ),
    "binary_search": Picture(
        {"key": [1, 2, 4, 5, 7, 8, 9, 11], "target": 7.5},
        range(4),
        Bars(
            (
                Tone("known", span("low", "high"), "low to high: still possible"),
                Tone("busy", at("mid"), "mid: compared with the target"),
            ),
            tags=("low", "mid", "high"),
            line="target",
        ),
        "The dashed line is the target, 7.5.",
    ),
    "quickselect": Picture(
        {"key": [5, 2, 9, 1, 7, 3, 6]},
        (0, 3, 6, 8, 9, 10),
        Bars(_PARTS, order="pred_h", tags=("i", "j", "pivot")),
        "Bars stand in the order of pred_h; i is the border.",
    ),
    # divide and conquer
    "find_maximum_subarray_kadane": Picture(
        {"key": [2, -4, 3, 1, -2, 4, -3]},
        (0, 1, 2, 3, 5, 6),
        Bars(
            (
                Tone("known", span("i", "j"), "i to j: the best sum that ends at j"),
                Tone("done", span("best_low", "best_high"), "best_low to best_high"),
            ),
            tags=("i", "j"),
        ),
    ),
    # greedy
    "activity_selector": Picture(
        {"s": [1, 3, 0, 5, 3, 6, 8], "f": [4, 5, 6, 7, 9, 10, 11]},
        (0, 1, 2, 4, 6, 7),
        Intervals(
            (
                Tone("busy", at("m"), "m: looked at"),
                Tone("done", marked("selected_h"), "selected_h"),
            ),
            tags=("m", "k"),
        ),
        "Time goes to the right; k is the activity taken last.",
    ),
    "task_scheduling": Picture(
        {"d": [4, 2, 4, 3, 1, 4], "w": [7, 6, 5, 4, 3, 2]},
        (0, 1, 2, 4, 5, 6),
        Bars(
            (
                Tone("busy", at("i"), "i: looked at"),
                Tone("done", marked("selected_h"), "selected_h"),
            ),
            height="w",
            below="d",
        ),
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
        Graph(_RING, (Tone("known", marked("reach_h"), "reach_h: reached"),), arrows="pi_h"),
        "Arrows are pi_h: whence each node was reached.",
    ),
    "dfs": Picture(
        {"A": _ONE_WAY},
        (0, 3, 5, 8, 12, 17),
        Graph(_RING, _SEARCH, arrows="pi_h", tags=("u", "v"), directed=True),
        "Thick arrows are pi_h: whence each node was found.",
    ),
    "topological_sort": Picture(
        {"A": _DUTIES},
        (0, 3, 5, 7, 9, 12),
        Graph(
            _RING,
            (*_SEARCH, Tone("busy", at("topo_head_h"), "topo_head_h: comes first")),
            arrows="topo_h",
            directed=True,
        ),
        "Thick arrows are topo_h: to the node that comes next.",
    ),
    "strongly_connected_components": Picture(
        {"A": _LOOPS},
        (0, 9, 17, 18, 22, 30),
        Graph(_RING, _SEARCH, arrows="scc_id_h", tags=("u",), directed=True),
        "Thick arrows are scc_id_h, in the second phase.",
    ),
    "articulation_points": Picture(
        {"A": _TWO_PARTS},
        (0, 5, 10, 16, 20, 27),
        Graph(
            _RING,
            (*_SEARCH, Tone("busy", marked("is_cut_h"), "is_cut_h")),
            arrows="pi_h",
            numbers="low",
        ),
        "Arrows are pi_h, numbers low.",
    ),
    "bridges": Picture(
        {"A": _TWO_PARTS},
        (0, 5, 10, 16, 20, 27),
        Graph(_RING, _SEARCH, thick="is_bridge_h", numbers="low"),
        "Thick edges are is_bridge_h, numbers low.",
    ),
    "mst_kruskal": Picture(
        {"A": _ROADS},
        (0, 2, 4, 9, 13, 20),
        Graph(
            _RING,
            (
                Tone("known", marked("mask_u"), "mask_u: on the way up from u"),
                Tone("busy", marked("mask_v"), "mask_v: on the way up from v"),
            ),
            thick="in_mst_h",
            tags=("u", "v"),
            weights=True,
        ),
        "Thick edges are in_mst_h.",
    ),
    "mst_prim": Picture(
        {"A": _ROADS, "s": 0},
        (0, 1, 2, 3, 4, 6),
        Graph(_RING, _NEAREST, arrows="pi_h", weights=True),
        "Arrows are pi_h: to which node of the tree each is nearest.",
    ),
    "bellman_ford": Picture(
        {"A": _ROADS, "s": 0},
        range(5),
        Graph(
            _RING,
            (Tone("known", marked("msk"), "msk: reached"),),
            arrows="pi_h",
            numbers="d",
            weights=True,
        ),
        "Arrows are pi_h, numbers above the nodes d.",
    ),
    "dijkstra": Picture(
        {"A": _ROADS, "s": 0},
        (0, 1, 2, 3, 4, 6),
        Graph(_RING, _NEAREST, arrows="pi_h", numbers="d", weights=True),
        "Arrows are pi_h, numbers above the nodes d.",
    ),
    "dag_shortest_paths": Picture(
        {"A": _WEIGHTED_DUTIES, "s": 0},
        (0, 5, 13, 14, 16, 18),
        Graph(
            _RING,
            (
                Tone("known", of_class("color", 1), "grey: on the stack"),
                Tone("done", marked("mark"), "mark: has a path"),
                Tone("busy", at("topo_head_h"), "topo_head_h: first, then the node at hand"),
            ),
            arrows="pi_h",
            numbers="d",
            directed=True,
            weights=True,
        ),
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
        Letters(
            "abcbabca",
            "abca",
            above=("i",),
            below=("j",),
            tones=(
                Tone("done", _compared, "agree"),
                Tone("busy", lambda t, step: (t.node("i", step), t.node("j", step)), "i and j"),
            ),
        ),
        "The pattern stands at its shift s.",
    ),
    "kmp_matcher": Picture(
        {"text": "abacababc", "pattern": "abab"},
        (0, 3, 7, 8, 10, 13),
        Letters(
            "abacababc",
            "abab",
            above=("i",),
            below=("q", "k"),
            tones=(Tone("done", _matched_letters, "matched: k, then q"),),
            shift=_matched_shift,
            bows="pi",
        ),
        "Arrows are pi: what is left of a match if the next letter differs.",
    ),
    # geometry
    "graham_scan": Picture(
        _POINTS,
        (1, 3, 4, 5, 7, 10),
        Plane(
            (
                Tone("known", marked("in_hull_h"), "in_hull_h"),
                Tone("busy", at("i"), "i: the point looked at"),
            ),
            chain="stack_prev",
        ),
        "Arrows are stack_prev.",
    ),
    "jarvis_march": Picture(
        _POINTS,
        (1, 4, 8, 14, 24, 40),
        Plane(
            (
                Tone("known", marked("in_hull_h"), "in_hull_h"),
                Tone("busy", at("i"), "i: the point looked at"),
            ),
            tags=("last_point", "endpoint"),
            ray=("last_point", "endpoint"),
        ),
        "The dashed line goes from last_point to endpoint.",
    ),
    "segments_intersect": Picture(
        {"points": [(0, 0.2), (2, 1.3), (0.4, 1.2), (1.5, 0.3)]},
        range(5),
        Plane(
            (
                Tone("known", marked("on_seg"), "on_seg: in the other segment's box"),
                Tone("busy", at("k"), "k: the point looked at"),
            ),
            tags=("i", "j"),
            segments=((0, 1), (2, 3)),
        ),
    ),
}
