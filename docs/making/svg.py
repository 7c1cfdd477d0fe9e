"""A small canvas: shapes in, one SVG out. Colours are classes, which the page's style explains."""

from __future__ import annotations

import math
from html import escape

Point = tuple[float, float]

_HEAD = 6.0
"""The length of the head of an arrow."""
_SCALE = 1.4
"""How much larger than drawn it is shown, where there is room."""


class Canvas:
    """Shapes on a plane whose size is found out in the end: all of them, and a margin."""

    def __init__(self, title: str, margin: float = 4.0):
        self._title, self._margin = title, margin
        self._shapes: list[str] = []
        self._left = self._top = math.inf
        self._right = self._bottom = -math.inf

    def room(self, *points: Point) -> None:
        """Make sure that points are on the picture."""
        for x, y in points:
            self._left, self._right = min(self._left, x), max(self._right, x)
            self._top, self._bottom = min(self._top, y), max(self._bottom, y)

    def line(self, start: Point, end: Point, style: str) -> None:
        """A straight line."""
        self.room(start, end)
        self._shapes.append(f'<path d="M{_at(start)}L{_at(end)}" class="{style}"/>')

    def arrow(self, start: Point, end: Point, style: str) -> None:
        """A straight arrow."""
        self.line(start, self._head(start, end, style), style)

    def bow(self, start: Point, end: Point, depth: float, style: str) -> None:
        """An arrow that hangs `depth` below both of its ends."""
        below = max(start[1], end[1])
        turn = ((start[0] + end[0]) / 2, below + 2 * depth)
        self.room((turn[0], below + depth))
        neck = self._head(turn, end, style)
        self._shapes.append(f'<path d="M{_at(start)}Q{_at(turn)} {_at(neck)}" class="{style}"/>')

    def _head(self, start: Point, end: Point, style: str) -> Point:
        """Draw the head of an arrow, and say where it begins."""
        length = math.dist(start, end) or 1.0
        x, y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
        neck = (end[0] - _HEAD * x, end[1] - _HEAD * y)
        half = _HEAD / 2
        sides = [(neck[0] + side * y, neck[1] - side * x) for side in (half, -half)]
        corners = " ".join(map(_at, (end, *sides)))
        self._shapes.append(f'<polygon points="{corners}" class="{style} head"/>')
        return neck

    def box(self, corner: Point, width: float, height: float, style: str) -> None:
        """A rectangle, from its left upper corner."""
        x, y = corner
        self.room(corner, (x + width, y + height))
        size = f'width="{width:.1f}" height="{max(height, 0.5):.1f}"'
        self._shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="2" class="{style}"/>')

    def circle(self, centre: Point, radius: float, style: str) -> None:
        """A disk or a ring, as its style says."""
        x, y = centre
        self.room((x - radius, y - radius), (x + radius, y + radius))
        place = f'cx="{x:.1f}" cy="{y:.1f}"'
        self._shapes.append(f'<circle {place} r="{radius:.1f}" class="{style}"/>')

    def text(self, middle: Point, text: str, style: str = "") -> None:
        """A short text around a point."""
        x, y = middle
        self.room((x - 3 * len(text), y - 6), (x + 3 * len(text), y + 6))
        place = f'x="{x:.1f}" y="{y + 3.5:.1f}"'
        self._shapes.append(f'<text {place} class="{style}">{escape(text)}</text>')

    def svg(self) -> str:
        """The picture."""
        x, y = self._left - self._margin, self._top - self._margin
        width, height = self._right + self._margin - x, self._bottom + self._margin - y
        return (
            f'<svg viewBox="{x:.1f} {y:.1f} {width:.1f} {height:.1f}" width="{_SCALE * width:.0f}" '
            f'height="{_SCALE * height:.0f}" role="img"><title>{escape(self._title)}</title>'
            f"{''.join(self._shapes)}</svg>"
        )


def _at(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
