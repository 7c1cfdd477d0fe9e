"""Shortest paths."""

from __future__ import annotations

import numpy as np

from algorist.algorithms.explanations.dynamic_programming import (
    count_improved,
    count_new,
    sweep_line,
)
from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.graph_search import (
    ON_STACK,
    tell_topological,
    topological_line,
)
from algorist.algorithms.explanations.runs import (
    Role,
    TracedRun,
    at,
    format_number,
    listed,
    marked,
    newly_marked,
)

NEAREST = (
    Role("known", marked("in_queue"), "in the queue"),
    Role("done", marked("mark"), "settled"),
    Role("busy", at("u"), "u: settled last"),
)
"""What nodes are to an algorithm that settles the nearest."""
_NOISE = 0.02
"""A number that changes by less, as a share of the largest, says nothing."""


def updated(run: TracedRun, step: int, number: str, mask: str) -> list[int]:
    """The nodes to which a way was found or shortened since the step before."""
    now, earlier = run.hints[number][step], run.hints[number][step - 1]
    known = run.hints[mask][step] > 0
    moved = np.abs(now - earlier) > _NOISE * max(float(np.abs(now).max()), 1e-9)
    new = known & ~(run.hints[mask][step - 1] > 0)
    return np.flatnonzero((moved & known) | new).tolist()


def named_numbers(run: TracedRun, nodes: list[int], number: str, step: int) -> str:
    """Nodes with their numbers: B at 4, C at 2."""
    return listed(f"{run.name(v)} at {run.number(number, v, step)}" for v in nodes)


def _bellman_line(run: TracedRun, step: int) -> Lines:
    return 1 if step == 0 else (2, 3, 4)


def _tell_bellman(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("begins at {}", listed(map(run.name, marked("msk")(run, 0))))
    nodes = updated(run, step, "d", "msk")
    if not nodes:
        return ("changes nothing",)
    return ("updates {}", named_numbers(run, nodes, "d", step))


def nearest_line(run: TracedRun, step: int) -> Lines:
    """Of an algorithm that settles the nearest: queue the source, settle, relax."""
    if step == 0:
        return 1
    return (2, 3, 4) if run.changed("pi_h", step) else (2, 3)


def _tell_dijkstra(run: TracedRun, step: int) -> Sentence:
    u = run.node("u", step)
    if step == 0:
        return ("begins at {}", run.name(u))
    text, values = "settles {} at distance {}", (run.name(u), run.number("d", u, step))
    nodes = [v for v in updated(run, step, "d", "in_queue") if v != u]
    if not nodes:
        return (text, *values)
    return (f"{text}, updates {{}}", *values, named_numbers(run, nodes, "d", step))


def _dag_line(run: TracedRun, step: int) -> Lines:
    if not run.is_set("phase", step):
        return topological_line(run, step)
    return (4, 5, 6) if step and run.is_set("phase", step - 1) else 4


def _tell_dag(run: TracedRun, step: int) -> Sentence:
    if not run.is_set("phase", step):
        return tell_topological(run, step)
    if not step or not run.is_set("phase", step - 1):
        return ("the order is known; the source has distance {}", "0")
    head = run.called("topo_head_h", step - 1)
    nodes = updated(run, step, "d", "mark")
    if not nodes:
        return ("follows the edges of {}: nothing gets shorter", head)
    return ("follows the edges of {}, updates {}", head, named_numbers(run, nodes, "d", step))


def _tell_floyd(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("knows the edges; next: paths through {}", run.called("k", 0))
    new, better = count_new(run, "msk", step), count_improved(run, "Pi_h", "msk", step)
    through, following = run.called("k", step - 1), run.called("k", step)
    text = "paths through {}: {} new, {} shorter; next: {}"
    return (text, through, format_number(new), str(better), following)


EXPLANATIONS = {
    "bellman_ford": Explanation(
        """
the source has distance 0
repeat until nothing changes
    for each edge u–v from a reached node
        if d[u] + w < d[v]: d[v] = that; pi[v] = u
""",
        _bellman_line,
        _tell_bellman,
        (
            Role("known", marked("msk"), "reached"),
            Role("busy", newly_marked("msk"), "reached in this step"),
        ),
    ),
    "dijkstra": Explanation(
        """
put the source into the queue, at distance 0
while the queue is not empty
    settle u, the nearest node in the queue
    edges u–v: d[v] = min(d[v], d[u] + w)
""",
        nearest_line,
        _tell_dijkstra,
        NEAREST,
    ),
    "dag_shortest_paths": Explanation(
        """
sort what the source reaches, depth-first
    push each white node v that an edge leads to
    u is finished: put it in front of the order
the source has distance 0
for each node u in that order
    edges u–v: d[v] = min(d[v], d[u] + w)
""",
        _dag_line,
        _tell_dag,
        (
            ON_STACK,
            Role("done", marked("mark"), "has a path"),
            Role("busy", at("topo_head_h"), "first of the order, or followed next"),
        ),
        tags=("u", "v", "topo_head_h"),
        badges=(),
    ),
    "floyd_warshall": Explanation(
        """
D = the weights of the edges
for each node k
    for each pair i, j
        if D[i,k] + D[k,j] < D[i,j]
            D[i,j] = that; Pi[i,j] = Pi[k,j]
""",
        sweep_line,
        _tell_floyd,
    ),
}
