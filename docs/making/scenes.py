"""How a step of a run is drawn: as bars, a graph, a table, letters or points in the plane."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from svg import Canvas, Point
from traces import Trace

from algorist.algorithms.explanations.runs import style_of, tags_of


class Scene(ABC):
    """Draws a step of a run."""

    @abstractmethod
    def draw(self, canvas: Canvas, trace: Trace, step: int) -> None:
        """Draw one step."""

    def legend(self, trace: Trace) -> list[tuple[str, str]]:
        """The styles that need an explanation, and the explanation."""
        return [(role.style, role.means) for role in trace.roles]


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def _between(start: Point, end: Point, radius: float) -> tuple[Point, Point]:
    """The ends of an arrow from the rim of one disk to that of another."""
    share = (radius + 1) / math.dist(start, end)
    x, y = share * (end[0] - start[0]), share * (end[1] - start[1])
    return (start[0] + x, start[1] + y), (end[0] - x, end[1] - y)


@dataclass(frozen=True)
class Bars(Scene):
    """An array: a bar for each node, as high as its number."""

    height: str = "key"
    order: str | None = None
    """The hint that chains the nodes in the order in which they are drawn."""
    tags: Sequence[str] = ()
    """Hints whose names are written below their nodes, a row each."""
    bows: str | None = None
    """A pointer that is drawn below the bars."""
    below: str | None = None
    """Another number of each node, written below its bar."""
    line: str | None = None
    """A number of the whole problem, drawn across all bars."""

    PITCH, WIDTH, TALL, ROW = 21, 17, 52, 11

    def draw(self, canvas: Canvas, trace: Trace, step: int) -> None:
        """Bars stand, or hang, on one line."""
        numbers = trace.inputs[self.height]
        scale = self.TALL / np.abs(numbers).max()
        styles = style_of(trace.roles, trace, step)
        middle = {node: self.PITCH * i for i, node in enumerate(trace.order(self.order, step))}
        floor = max(0.0, -float(numbers.min()) * scale) + 9
        for node, x in middle.items():
            self._bar(canvas, x, float(numbers[node]) * scale, float(numbers[node]), styles[node])
            if self.below:
                canvas.text((x, floor), _number(trace.inputs[self.below][node]), "small")
        if self.line:
            y = -float(trace.inputs[self.line]) * scale
            canvas.line((-self.PITCH / 2, y), (self.PITCH * (trace.n - 0.5), y), "rule")
        for row, hint in enumerate(self.tags):
            place = (middle[trace.node(hint, step)], floor + self.ROW * row)
            canvas.text(place, hint, "tag")
        if self.bows:
            below = floor + self.ROW * len(self.tags) - 3
            self._bows(canvas, middle, trace.hints[self.bows][step], below)

    def _bar(self, canvas: Canvas, x: float, height: float, number: float, style: str) -> None:
        canvas.box((x - self.WIDTH / 2, min(-height, 0)), self.WIDTH, abs(height), style)
        canvas.text((x, -height - 7 if height >= 0 else -height + 7), _number(number), "small")

    def _bows(
        self, canvas: Canvas, middle: Mapping[int, float], pointers: np.ndarray, y: float
    ) -> None:
        canvas.room((0, y + 22))
        for node, other in enumerate(pointers):
            if node != other:
                start, end = middle[node], middle[int(other)]
                canvas.bow((start, y), (end, y), 4 + 0.16 * abs(start - end), "point")


@dataclass(frozen=True)
class Graph(Scene):
    """Nodes as disks and edges as lines; pointers as arrows, marked edges as thick lines."""

    places: Sequence[Point]
    arrows: str | None = None
    numbers: str | None = None
    """A number of each node, written beside it where it is not 0."""
    tags: Sequence[str] = ()
    thick: str | None = None
    """The mask of edges that are drawn thick."""
    directed: bool = False
    weights: bool = False

    RADIUS, UNIT = 9, 34

    def draw(self, canvas: Canvas, trace: Trace, step: int) -> None:
        """Edges below, nodes above."""
        places = [(self.UNIT * x, self.UNIT * y) for x, y in self.places]
        edges = trace.inputs["A"]
        for u, v in np.argwhere(edges):
            if self.directed and u != v:
                canvas.arrow(*_between(places[u], places[v], self.RADIUS), "edge")
            elif u < v:
                canvas.line(places[u], places[v], "edge")
        if self.thick:
            for u, v in np.argwhere(np.triu(trace.hints[self.thick][step] > 0)):
                canvas.line(places[u], places[v], "thick")
        if self.arrows:
            for u, v in enumerate(trace.hints[self.arrows][step]):
                if u != v:
                    canvas.arrow(*_between(places[u], places[v], self.RADIUS), "point")
        if self.weights:
            self._weights(canvas, places, edges)
        self._nodes(canvas, places, trace, step)

    def _weights(self, canvas: Canvas, places: Sequence[Point], edges: np.ndarray) -> None:
        for u, v in np.argwhere(edges if self.directed else np.triu(edges)):
            (a, b), (c, d) = places[u], places[v]
            canvas.text(((a + c) / 2, (b + d) / 2), _number(edges[u, v]), "small halo")

    def _nodes(self, canvas: Canvas, places: Sequence[Point], trace: Trace, step: int) -> None:
        styles, tags = style_of(trace.roles, trace, step), tags_of(self.tags, trace, step)
        numbers = trace.hints[self.numbers][step] if self.numbers else np.zeros(trace.n)
        for node, (x, y) in enumerate(places):
            canvas.circle((x, y), self.RADIUS, styles[node])
            canvas.text((x, y), str(node), f"on-{styles[node]}")
            if numbers[node]:
                canvas.text((x, y - self.RADIUS - 6), _number(numbers[node]), "small halo")
            canvas.room((x, y - self.RADIUS - 12))
            if node in tags:
                canvas.text((x, y + self.RADIUS + 6), tags[node], "tag halo")
            canvas.room((x, y + self.RADIUS + (12 if self.tags else 0)))


@dataclass(frozen=True)
class Table(Scene):
    """A number, or a sign, for each pair of nodes; what the step has changed stands out."""

    values: str
    known: str | None = None
    """The mask of pairs that have a value yet; None: all have."""
    signs: Mapping[int, str] | None = None
    """What is written for each class, instead of the number; -1 is left out."""
    over: str | None = None
    """A second feature, whose signs are written before the numbers."""
    cross: str | None = None
    """The node whose row and column are framed."""
    heads: Sequence[str] | None = None
    rows: range | None = None
    columns: range | None = None
    """Only these nodes; None: all."""

    SIZE = 27

    def draw(self, canvas: Canvas, trace: Trace, step: int) -> None:
        """Row by row."""
        rows, columns = self.rows or range(trace.n), self.columns or range(trace.n)
        heads = self.heads or [str(i) for i in range(trace.n)]
        for i, row in enumerate(rows):
            canvas.text((-10, (i + 0.5) * self.SIZE), heads[row], "small head-text")
            for j, column in enumerate(columns):
                self._cell(canvas, (j * self.SIZE, i * self.SIZE), trace, step, (row, column))
        for j, column in enumerate(columns):
            canvas.text(((j + 0.5) * self.SIZE, -8), heads[column], "small head-text")
        if self.cross:
            place, wide = trace.node(self.cross, step) * self.SIZE, trace.n * self.SIZE
            canvas.box((0, place), wide, self.SIZE, "frame")
            canvas.box((place, 0), self.SIZE, wide, "frame")

    def legend(self, trace: Trace) -> list[tuple[str, str]]:
        """Cells have styles of their own."""
        return [("known", "known"), ("busy", "changed by this step")]

    def _cell(
        self, canvas: Canvas, corner: Point, trace: Trace, step: int, pair: tuple[int, int]
    ) -> None:
        text = self._text(trace, step, pair)
        changed = step > 0 and text != self._text(trace, step - 1, pair)
        style = "busy" if changed else "known" if text else "plain"
        canvas.box((corner[0] + 0.5, corner[1] + 0.5), self.SIZE - 1, self.SIZE - 1, style)
        if text:
            middle = (corner[0] + self.SIZE / 2, corner[1] + self.SIZE / 2)
            canvas.text(middle, text, f"small on-{style}")

    def _text(self, trace: Trace, step: int, pair: tuple[int, int]) -> str:
        value = trace.hints[self.values][step][pair]
        known = self.known is None or trace.hints[self.known][step][pair] > 0
        text = _number(float(value)) if known else ""
        if self.over and self.signs:
            text = self.signs.get(int(trace.hints[self.over][step][pair]), "") + text
        return text


@dataclass(frozen=True)
class Letters(Scene):
    """A text, and the pattern below it at the present shift."""

    text: str
    pattern: str
    above: Sequence[str]
    """Hints that name a letter of the text."""
    below: Sequence[str]
    """Hints that name a letter of the pattern."""
    bows: str | None = None
    """A pointer that is drawn below the pattern."""

    SIZE = 21

    def draw(self, canvas: Canvas, trace: Trace, step: int) -> None:
        """The text above, the pattern below."""
        styles, start = style_of(trace.roles, trace, step), len(self.text)
        shift = trace.shift(step)
        above = {k: v for k, v in tags_of(self.above, trace, step).items() if k < start}
        below = {k: v for k, v in tags_of(self.below, trace, step).items() if k >= start}
        self._word(canvas, (0, 0), 0, self.text, styles)
        corner = (shift * self.SIZE, self.SIZE + 5)
        self._word(canvas, corner, start, self.pattern, styles)
        for node, tag in above.items():
            canvas.text(((node + 0.5) * self.SIZE, -8), tag, "tag")
        for node, tag in below.items():
            canvas.text(((shift + node - start + 0.5) * self.SIZE, 2 * self.SIZE + 13), tag, "tag")
        canvas.room((0, -14), (0, 2 * self.SIZE + 19))
        if self.bows:
            self._bows(canvas, trace.hints[self.bows][step][start:] - start, shift)

    def _word(
        self, canvas: Canvas, corner: Point, first: int, word: str, styles: Mapping[int, str]
    ) -> None:
        x, y = corner
        for i, letter in enumerate(word):
            style, left = styles[first + i], x + i * self.SIZE
            canvas.box((left + 0.5, y), self.SIZE - 1, self.SIZE, style)
            canvas.text((left + self.SIZE / 2, y + self.SIZE / 2), letter, f"on-{style}")

    def _bows(self, canvas: Canvas, pointers: np.ndarray, shift: int) -> None:
        y = 2 * self.SIZE + 20
        canvas.room((0, y + 14))
        for i, j in enumerate(pointers):
            if i != j:
                start, end = ((shift + k + 0.5) * self.SIZE for k in (i, int(j)))
                canvas.bow((start, y), (end, y), 8, "point")


@dataclass(frozen=True)
class Plane(Scene):
    """Points in the plane, and lines between some of them."""

    tags: Sequence[str] = ()
    chain: str | None = None
    """A pointer that is drawn as arrows."""
    segments: Sequence[tuple[int, int]] = ()
    ray: tuple[str, str] | None = None
    """Two hints whose nodes are joined by a dashed line."""

    WIDTH, RADIUS = 128, 8

    def draw(self, canvas: Canvas, trace: Trace, step: int) -> None:
        """Lines below, points above."""
        x, y = trace.inputs["x"], trace.inputs["y"]
        scale = self.WIDTH / max(np.ptp(x), np.ptp(y))
        places = [(float(a) * scale, -float(b) * scale) for a, b in zip(x, y, strict=True)]
        for start, end in self.segments:
            canvas.line(places[start], places[end], "thick")
        if self.ray:
            first, last = (places[trace.node(hint, step)] for hint in self.ray)
            canvas.line(first, last, "rule")
        if self.chain:
            for node, other in enumerate(trace.hints[self.chain][step]):
                if node != other:
                    ends = _between(places[node], places[other], self.RADIUS)
                    canvas.arrow(*ends, "point")
        styles, tags = style_of(trace.roles, trace, step), tags_of(self.tags, trace, step)
        for node, (a, b) in enumerate(places):
            canvas.circle((a, b), self.RADIUS, styles[node])
            canvas.text((a, b), str(node), f"small on-{styles[node]}")
            canvas.room((a - 12, b), (a + 12, b + self.RADIUS + 12))
            if node in tags:
                canvas.text((a, b + self.RADIUS + 6), tags[node], "tag halo")


@dataclass(frozen=True)
class Intervals(Scene):
    """Activities as boxes from their start to their finish, a row each."""

    tags: Sequence[str] = ()

    WIDTH, ROW = 110, 15

    def draw(self, canvas: Canvas, trace: Trace, step: int) -> None:
        """The one that finishes first stands on top."""
        starts, ends = trace.inputs["s"], trace.inputs["f"]
        styles, tags = style_of(trace.roles, trace, step), tags_of(self.tags, trace, step)
        scale = self.WIDTH / ends.max()
        for row, node in enumerate(np.argsort(ends, kind="stable").tolist()):
            y, left, right = row * self.ROW, starts[node] * scale, ends[node] * scale
            canvas.box((left, y), right - left, self.ROW - 3, styles[node])
            middle = y + self.ROW / 2 - 1.5
            canvas.text(((left + right) / 2, middle), str(node), f"small on-{styles[node]}")
            if node in tags:
                canvas.text((self.WIDTH + 14, middle), tags[node], "tag")
        canvas.room((self.WIDTH + 24, 0))
