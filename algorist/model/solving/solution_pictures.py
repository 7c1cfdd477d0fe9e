"""Solutions in notebooks: the answer marked in a picture of the problem, and in words beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from algorist.algorithms import get
from algorist.algorithms.format_answers import list_edges
from algorist.algorithms.graph_layout import place_nodes
from algorist.model.solving.solution_text import agreement, explain, explain_truth, verdict
from algorist.notebooks import table
from algorist.spec import Kind, Location

if TYPE_CHECKING:
    from algorist.model.solving.solution import Arrays, Solution

_WIDTH, _HEIGHT, _MARGIN = 420, 250, 24
_MOST_NODES = 40
"""Larger problems are described in words alone."""
_GREY, _CHOSEN, _WRONG = "#9994", "#0072b2", "#d55e00"
_SORTS = ("insertion_sort", "bubble_sort", "heapsort", "quicksort")
_POINTERS = (Kind.POINTER, Kind.SHOULD_BE_PERMUTATION)


def solution_html(solution: Solution) -> str:
    """What was read, the picture where the problem has one, the answer in words, the verdict."""
    explained = explain(solution)
    rows = [[about, text] for about, text in explained.pieces.items()]
    head = [explained.of or "answer", "net"]
    if solution.comparison:
        truth = explain_truth(solution).pieces
        rows = [[about, text, truth.get(about, "")] for about, text in rows]
        head.append("algorithm")
    if not explained.of:  # a single answer
        head, rows = head[1:], [row[1:] for row in rows]
    said = [verdict(solution)]
    if solution.comparison and solution.comparison.shares:
        said.append(agreement(solution))
    return (
        f"<p><b>{escape(solution.algorithm)}</b>: {escape(solution.read)}</p>"
        + _picture(solution)
        + table(head, rows)
        + f"<p>{escape(' '.join(said))}</p>"
    )


@dataclass(frozen=True)
class _Marks:
    """Which parts of a problem an answer chooses."""

    nodes: frozenset[int]
    edges: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, algorithm: str, outputs: Arrays) -> _Marks:
        nodes: set[int] = set()
        edges: set[tuple[int, int]] = set()
        for feature in get(algorithm).spec.outputs:
            value = np.asarray(outputs[feature.name])
            if feature.location == Location.NODE and feature.kind in _POINTERS:
                edges |= {(int(to), i) for i, to in enumerate(value.tolist()) if to != i}
            elif feature.location == Location.NODE and feature.kind == Kind.MASK:
                nodes |= set(np.flatnonzero(value > 0).tolist())
            elif feature.location == Location.NODE and feature.kind == Kind.MASK_ONE:
                nodes.add(int(value))
            elif feature.location == Location.EDGE and feature.kind == Kind.MASK:
                edges |= {(int(u), int(v)) for u, v in list_edges(value > 0)}
        return cls(frozenset(nodes), frozenset(edges))


def _picture(solution: Solution) -> str:
    scalars = {f.name for f in get(solution.algorithm).spec.inputs if f.kind == Kind.SCALAR}
    drawing = next((draw for names, draw in _PICTURES.items() if scalars.issuperset(names)), None)
    if drawing is None or len(solution.inputs["pos"]) > _MOST_NODES:
        return ""
    marks = _Marks.of(solution.algorithm, solution.outputs)
    compared = solution.comparison
    truth = _Marks.of(solution.algorithm, compared.outputs) if compared else marks
    parts = "".join(drawing(solution, marks, truth))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" font-size="11" '
        f'font-family="sans-serif" fill="currentColor" text-anchor="middle">{parts}</svg>'
    )


def _graph(solution: Solution, marks: _Marks, truth: _Marks) -> Iterator[str]:
    """All edges, those of the answer on top; pointers that are no edges are dashed."""
    A = solution.inputs["A"]
    x, y = _fitted(np.array(place_nodes(A)).T)
    is_directed = not np.array_equal(A != 0, A.T != 0)
    edges = list_edges((A != 0) & ~np.eye(len(A), dtype=bool))
    for u, v in edges:
        yield _line(x[[u, v]], y[[u, v]], _GREY)
    for u, v in sorted(marks.edges):
        is_true = (u, v) in truth.edges or (not is_directed and (v, u) in truth.edges)
        dashes = "" if A[u, v] or A[v, u] else ' stroke-dasharray="5"'
        yield _line(x[[u, v]], y[[u, v]], _CHOSEN if is_true else _WRONG, dashes)
    if np.unique(A[A != 0]).size > 1:
        for u, v in edges:
            yield _text(x[[u, v]].mean(), y[[u, v]].mean() - 3, f"{A[u, v]:g}")
    for node in range(len(A)):
        yield f'<circle cx="{x[node]:.0f}" cy="{y[node]:.0f}" r="9" fill="white"/>'
        yield _dot(x[node], y[node], 9, _colour(node, marks, truth))
        yield _text(x[node], y[node] - 12, str(solution.names[node] if solution.names else node))


def _points(solution: Solution, marks: _Marks, truth: _Marks) -> Iterator[str]:
    """Points, with the corners of a hull joined, or two segments."""
    places = np.stack((solution.inputs["x"], -solution.inputs["y"]))
    x, y = _fitted(places)
    if "intersect" in solution.outputs:
        for ends in ([0, 1], [2, 3]):
            yield _line(x[ends], y[ends], _CHOSEN if solution.right else _WRONG)
    chosen = np.array(sorted(marks.nodes), int)
    if len(chosen):
        around = np.arctan2(y[chosen] - y[chosen].mean(), x[chosen] - x[chosen].mean())
        corners = " ".join(f"{x[i]:.0f},{y[i]:.0f}" for i in chosen[np.argsort(around)])
        yield f'<polygon points="{corners}" fill="none" stroke="{_GREY}" stroke-width="2"/>'
    for point in range(len(x)):
        yield _dot(x[point], y[point], 5, _colour(point, marks, truth))
        yield _text(x[point], y[point] - 8, str(point))


def _activities(solution: Solution, marks: _Marks, truth: _Marks) -> Iterator[str]:
    """A line for each activity from its start to its end."""
    start, finish = solution.inputs["s"], solution.inputs["f"]
    rows = np.tile(np.arange(len(start)), 2)
    x, y = _fitted(np.stack((np.concatenate((start, finish)), rows)))
    for i in range(len(start)):
        ends = [i, i + len(start)]
        yield _line(x[ends], y[ends], _colour(i, marks, truth), ' stroke-linecap="round"')
        yield _text(x[i] - 10, y[i] + 4, str(i))


def _keys(solution: Solution, marks: _Marks, truth: _Marks) -> Iterator[str]:
    """A bar for each key as it was given; of sorts, those of the answer beside them."""
    key = solution.inputs["key"]
    if solution.algorithm not in _SORTS:
        chosen = marks.nodes
        if "start" in solution.outputs:
            chosen = frozenset(range(min(chosen), max(chosen) + 1))
        colour = _CHOSEN if solution.right else _WRONG
        yield from _bars(key, [colour if i in chosen else _GREY for i in range(len(key))], 0, 1)
        return
    yield from _bars(key, [_GREY] * len(key), 0, 0.45)
    after = np.asarray(solution.answer, float)
    is_next = np.sort(key)[: len(after)] == after
    yield from _bars(after, [_CHOSEN if right else _WRONG for right in is_next], 0.55, 1)


def _bars(key: np.ndarray, colours: list[str], left: float, right: float) -> Iterator[str]:
    """Bars between two shares of the width; negative keys hang below the line."""
    low, high = min(key.min(initial=0), 0), max(key.max(initial=0), 0)
    scale = (_HEIGHT - 2 * _MARGIN) / ((high - low) or 1)
    zero, step = _MARGIN + high * scale, (right - left) * (_WIDTH - 2 * _MARGIN) / max(len(key), 1)
    for i, (value, colour) in enumerate(zip(key.tolist(), colours, strict=True)):
        x = _MARGIN + left * (_WIDTH - 2 * _MARGIN) + i * step
        y, height = zero - max(value, 0) * scale, max(abs(value) * scale, 1)
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{0.8 * step:.1f}" height="{height:.1f}" '
            f'fill="{colour}"/>'
        )
        yield _text(x + 0.4 * step, y - 4 if value >= 0 else y + height + 11, f"{value:g}")


_PICTURES: dict[tuple[str, ...], Callable[[Solution, _Marks, _Marks], Iterable[str]]] = {
    ("A",): _graph,
    ("x", "y"): _points,
    ("s", "f"): _activities,
    ("key",): _keys,
}
"""By the inputs that a problem must have: numbers for each node, or for each pair of them."""


def _colour(node: int, marks: _Marks, truth: _Marks) -> str:
    """Grey if it is not chosen, and rightly so."""
    if (node in marks.nodes) != (node in truth.nodes):
        return _WRONG
    return _CHOSEN if node in marks.nodes else _GREY


def _fitted(places: np.ndarray) -> np.ndarray:
    """(2, n) places, stretched over the picture."""
    low, high = places.min(1, keepdims=True), places.max(1, keepdims=True)
    size = np.array([[_WIDTH], [_HEIGHT]]) - 2 * _MARGIN
    fitted: np.ndarray = _MARGIN + (places - low) / np.where(high > low, high - low, 1) * size
    return fitted


def _line(x: np.ndarray, y: np.ndarray, colour: str, more: str = "") -> str:
    return (
        f'<line x1="{x[0]:.0f}" y1="{y[0]:.0f}" x2="{x[1]:.0f}" y2="{y[1]:.0f}" '
        f'stroke="{colour}" stroke-width="3"{more}/>'
    )


def _dot(x: float, y: float, radius: int, colour: str) -> str:
    return f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius}" fill="{colour}"/>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'
