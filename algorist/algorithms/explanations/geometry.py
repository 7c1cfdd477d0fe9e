"""Geometry: points are called by their numbers."""

from __future__ import annotations

from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.runs import Role, TracedRun, at, listed, marked

_GIVEN, _LOWEST, _ANGLES, _DROPS, _ADDS = range(5)  # the phases of graham_scan


def _graham_line(run: TracedRun, step: int) -> Lines:
    lines: dict[int, Lines] = {_GIVEN: 1, _LOWEST: 1, _ANGLES: 2, _DROPS: (3, 4, 5)}
    return lines.get(run.node("phase", step), (3, 6))


def _tell_graham(run: TracedRun, step: int) -> Sentence:
    phase, new = run.node("phase", step), run.called("i", step)
    if phase == _GIVEN:
        return ("the points as they are given",)
    if phase == _LOWEST:
        return ("{} is the lowest point: a corner", run.called("best", step))
    if phase == _ANGLES:
        return ("knows the angles of all points, seen from {}", run.called("best", step))
    if phase == _ADDS:
        return ("adds {}", new)
    dropped = [v for v in run.changed("in_hull_h", step) if not run.is_set("in_hull_h", step, v)]
    return ("drops {}: the path to {} turns right there", listed(map(run.name, dropped)), new)


def _march_line(run: TracedRun, step: int) -> Lines:
    if step == 0:
        return 1
    if run.added("in_hull_h", step):
        return (1, 2) if step == 1 else (5, 2)
    return (3, 4) if run.node("endpoint", step) == run.node("i", step) else 3


def _tell_march(run: TracedRun, step: int) -> Sentence:
    new, guess = run.called("i", step), run.called("endpoint", step)
    if step == 0:
        return ("the points as they are given",)
    if run.added("in_hull_h", step):
        return ("{} is a corner; where is the next?", run.called("last_point", step))
    if new == guess:
        return ("{} is the best next corner so far", guess)
    return ("{} lies left of the line to {}: no better", new, guess)


def _segments_line(run: TracedRun, step: int) -> Lines:
    return 1 if step == 0 else (1, 2, 3)


def _tell_segments(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("two segments, 0–1 and 2–3",)
    point = run.node("k", step)
    turn = float(run.hints["dir"][step][point])
    side = "right" if turn > 0 else "left"  # over the point, the way turns to the other side
    other = f"{run.called('i', step)}–{run.called('j', step)}"
    inside = "inside" if run.is_set("on_seg", step, point) else "outside"
    return ("{} lies to the {} of {}, {} its box", run.name(point), side, other, inside)


_ANSWER = (Role("done", marked("in_hull"), "corner of the hull"),)

EXPLANATIONS = {
    "graham_scan": Explanation(
        """
the lowest point is a corner
sort the others by their angle, seen from it
for each point i in that order
    while the path turns right at the last corner
        drop that corner
    add i as a corner
""",
        _graham_line,
        _tell_graham,
        (
            Role("known", marked("in_hull_h"), "corner so far"),
            Role("busy", at("i"), "i: the point in question"),
        ),
        _ANSWER,
        tags=("i", "last_stack"),
        badges=(),
    ),
    "jarvis_march": Explanation(
        """
begin at the lowest point
mark it as a corner; endpoint = point 0
    for each point i
        if i is right of the line to it: endpoint = i
go on to endpoint, unless it is marked
""",
        _march_line,
        _tell_march,
        (
            Role("known", marked("in_hull_h"), "corner"),
            Role("other", at("endpoint"), "the next corner so far"),
            Role("busy", at("i"), "i: the point in question"),
        ),
        _ANSWER,
        tags=("i", "last_point", "endpoint"),
        badges=(),
    ),
    "segments_intersect": Explanation(
        """
for each of the four points k
    dir: on which side of the other segment is it?
    on_seg: is it in the box around that segment?
they cross if each has ends on both sides
or if a point of dir 0 is in the other's box
""",
        _segments_line,
        _tell_segments,
        (
            Role("known", marked("on_seg"), "in the other segment's box"),
            Role("other", at("i", "j"), "i and j: the other segment"),
            Role("busy", at("k"), "k: the point in question"),
        ),
    ),
}
