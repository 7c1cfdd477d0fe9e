"""Minimum spanning trees."""

from __future__ import annotations

from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.runs import Role, TracedRun, at, format_number, marked
from algorist.algorithms.explanations.shortest_paths import (
    named_numbers,
    nearest_line,
    updated,
)

_DECIDE, _CLIMB_U, _CLIMB_V = range(3)


def _is_new_edge(run: TracedRun, step: int) -> bool:
    return step > 0 and run.node("phase", step - 1) == _DECIDE


def _kruskal_line(run: TracedRun, step: int) -> Lines:
    phase = run.node("phase", step)
    if step == 0:
        return 1
    if phase == _DECIDE:
        return 5
    if phase == _CLIMB_U:
        return 2 if _is_new_edge(run, step) else 3
    return 4


def _tell_kruskal(run: TracedRun, step: int) -> Sentence:
    u, v, phase = run.node("u", step), run.node("v", step), run.node("phase", step)
    edge = f"{run.name(u)}–{run.name(v)}"
    if step == 0:
        return ("every node is a tree of its own",)
    if phase == _DECIDE:
        joined = run.is_set("in_mst_h", step, u, v)
        return (
            "takes {}: it joins two trees" if joined else "skips {}: it would close a cycle",
            edge,
        )
    if phase == _CLIMB_U and _is_new_edge(run, step):
        return ("looks at {} of weight {}", edge, format_number(float(run.inputs["A"][u, v])))
    start, root = ("u", "root_u") if phase == _CLIMB_U else ("v", "root_v")
    return ("climbs from {} to {}", run.called(start, step), run.called(root, step))


def _tell_prim(run: TracedRun, step: int) -> Sentence:
    u = run.node("u", step)
    if step == 0:
        return ("begins at {}", run.name(u))
    text, values = _tell_joining(run, step, u)
    nodes = [v for v in updated(run, step, "key", "in_queue") if v != u]
    if not nodes:
        return (text, *values)
    return (f"{text}, updates {{}}", *values, named_numbers(run, nodes, "key", step))


def _tell_joining(run: TracedRun, step: int, u: int) -> tuple[str, list[str]]:
    parent = int(run.hints["pi_h"][step][u])
    if parent == u:
        return "adds {} to the tree", [run.name(u)]
    values = [run.name(u), run.name(parent), run.number("key", u, step)]
    return "adds {} by the edge from {}, weight {}", values


EXPLANATIONS = {
    "mst_kruskal": Explanation(
        """
every node is a tree of its own
for each edge u–v, the lightest first
    climb from u to the root of its tree
    climb from v to the root of its tree
    if the roots differ, take the edge: join them
""",
        _kruskal_line,
        _tell_kruskal,
        (
            Role("known", marked("mask_u"), "on the way up from u"),
            Role("other", marked("mask_v"), "on the way up from v"),
            Role("busy", at("root_u", "root_v"), "where the climbs are now"),
        ),
        tags=("u", "v"),
        badges=(),
    ),
    "mst_prim": Explanation(
        """
put the source into the queue
while the queue is not empty
    add u, the node that the lightest edge leads to
    edges u–v: key[v] = min(key[v], w)
""",
        nearest_line,
        _tell_prim,
        (
            Role("known", marked("in_queue"), "in the queue: next to the tree"),
            Role("done", marked("mark"), "in the tree"),
            Role("busy", at("u"), "u: added last"),
        ),
    ),
}
