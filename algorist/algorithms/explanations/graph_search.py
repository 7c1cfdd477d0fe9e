"""Graph search: most of it is depth-first, and says what it meets at each step."""

from __future__ import annotations

from algorist.algorithms.depth_first import (
    BLACK,
    DISCOVERED,
    FINISHED,
    FOUND,
    GREY,
    SEEN,
    STARTED,
    WHITE,
)
from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.runs import (
    Role,
    TracedRun,
    at,
    format_number,
    group,
    listed,
    marked,
    newly_marked,
    of_class,
)

_CLOCKS = ("d", "f", "time")
GROUPS = 6
"""As many colours as there are for the parts of an answer."""


def _bfs_line(run: TracedRun, step: int) -> Lines:
    return 1 if step == 0 else (2, 3, 4)


def _tell_bfs(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("begins at {}", listed(map(run.name, marked("reach_h")(run, 0))))
    pi = run.hints["pi_h"][step]
    ways = [f"{run.name(v)} from {run.name(int(pi[v]))}" for v in run.added("reach_h", step)]
    return ("reaches {}", listed(ways))


def event_at(run: TracedRun, step: int) -> int:
    """What a depth-first search met at a step, as `depth_first` numbers the events."""
    u, v = run.node("u", step), run.node("v", step)
    now = run.hints["color"][step]
    if now[u] == WHITE or step == 0:
        return STARTED
    earlier = run.hints["color"][step - 1]
    if now[u] == BLACK and earlier[u] != BLACK:
        return FINISHED
    if u != v and now[v] != WHITE and earlier[v] == WHITE:
        return FOUND
    moved = u != run.node("u", step - 1) and u == run.node("v", step - 1)
    return DISCOVERED if earlier[u] == WHITE or moved else SEEN


def tell_search(run: TracedRun, step: int) -> Sentence:
    """A step of any depth-first search."""
    event, u, v = event_at(run, step), run.called("u", step), run.called("v", step)
    if event == STARTED:
        return ("begins at {}", u)
    if event == FOUND:
        return ("finds {} from {}", v, u)
    if event == SEEN:
        return ("sees {} from {}: it was found before", v, u)
    return ("finishes {}" if event == FINISHED else "discovers {}", u)


def _tell_dfs(run: TracedRun, step: int) -> Sentence:
    text, *values = tell_search(run, step)
    times = {DISCOVERED: "d", FINISHED: "f"}
    hint = times.get(event_at(run, step))
    if hint is None:
        return (text, *values)
    clock = format_number(100 * float(run.hints[hint][step][run.node("u", step)]))
    return (f"{text} at time {{}}", *values, clock)


def _dfs_line(run: TracedRun, step: int) -> Lines:
    lines: dict[int, Lines] = {STARTED: 1, DISCOVERED: 2, FOUND: (3, 4)}
    return lines.get(event_at(run, step), 5)


def tell_topological(run: TracedRun, step: int) -> Sentence:
    """A step of a search that puts what it finishes in front of an order."""
    text, *values = tell_search(run, step)
    if event_at(run, step) != FINISHED:
        return (text, *values)
    return ("finishes {}: it goes to the front of the order", *values)


def _components_line(run: TracedRun, step: int) -> Lines:
    event = event_at(run, step)
    if run.is_set("phase", step):
        lines: dict[int, Lines] = {STARTED: (4, 5), FINISHED: 7}
        return lines.get(event, 6)
    return {STARTED: 1, FINISHED: 3}.get(event, 2)


def _tell_components(run: TracedRun, step: int) -> Sentence:
    if not run.is_set("phase", step):
        return tell_search(run, step)
    event, root = event_at(run, step), run.called("s", step)
    if event == STARTED:
        return ("starts a component at {}, with all edges reversed", root)
    if event == FOUND:
        return ("finds {}: it is in the component of {}", run.called("v", step), root)
    return tell_search(run, step)


def _cut_line(run: TracedRun, step: int) -> Lines:
    event = event_at(run, step)
    if event == FINISHED:
        return (5, 6) if run.added("is_cut_h", step) else 5
    return {STARTED: 1, DISCOVERED: 2, FOUND: 3}.get(event, 4)


def _tell_cut(run: TracedRun, step: int) -> Sentence:
    found = run.added("is_cut_h", step)
    if found and event_at(run, step) == FINISHED:
        return ("finishes {}: an articulation point", listed(map(run.name, found)))
    return _tell_low(run, step)


def _tell_low(run: TracedRun, step: int) -> Sentence:
    """With the number that bridges and articulation points are told by."""
    text, *values = tell_search(run, step)
    if event_at(run, step) in (SEEN, FINISHED):
        low = format_number(100 * float(run.hints["low"][step][run.node("u", step)]))
        return (f"{text.split(':')[0]}; low of {{}} is {{}}", *values, run.called("u", step), low)
    return (text, *values)


def _new_bridges(run: TracedRun, step: int) -> list[str]:
    u = run.node("u", step)
    now, earlier = run.hints["is_bridge_h"][step][u], run.hints["is_bridge_h"][max(step - 1, 0)][u]
    new = [v for v in range(run.n) if now[v] == 1 and earlier[v] != 1]
    return [f"{run.name(u)}–{run.name(v)}" for v in new]


def _bridge_line(run: TracedRun, step: int) -> Lines:
    event = event_at(run, step)
    if event == FINISHED:
        return (5, 6) if _new_bridges(run, step) else 5
    return {STARTED: 1, DISCOVERED: 2, FOUND: 3}.get(event, 4)


def _tell_bridge(run: TracedRun, step: int) -> Sentence:
    found = _new_bridges(run, step)
    if found and event_at(run, step) == FINISHED:
        return ("finishes {}; a bridge: {}", run.called("u", step), listed(found))
    return _tell_low(run, step)


def topological_line(run: TracedRun, step: int) -> Lines:
    """Of a depth-first search of three lines: begin, push, finish."""
    return {STARTED: 1, FINISHED: 3}.get(event_at(run, step), 2)


ON_STACK = Role("known", of_class("color", GREY), "on the stack")
SEARCH = (
    ON_STACK,
    Role("done", of_class("color", BLACK), "finished"),
    Role("busy", at("u"), "u: being explored"),
)
"""What nodes are to a depth-first search."""

EXPLANATIONS = {
    "bfs": Explanation(
        """
reach the source
while new nodes were reached
    for each edge u–v from a reached node
        if v is not reached: reach v, pi[v] = u
""",
        _bfs_line,
        _tell_bfs,
        (
            Role("known", marked("reach_h"), "reached"),
            Role("busy", newly_marked("reach_h"), "reached in this step"),
        ),
    ),
    "dfs": Explanation(
        """
begin at each node s that is still white
    u = the top of the stack: discover it
    if an edge leads from u to a white node v
        push v; pi[v] = u
    else u is finished: pop it
""",
        _dfs_line,
        _tell_dfs,
        SEARCH,
        tags=("u", "v"),
        clocks=_CLOCKS,
    ),
    "topological_sort": Explanation(
        """
begin at each node s that is still white
    push each white node v that an edge leads to
    u is finished: put it in front of the order
""",
        topological_line,
        tell_topological,
        SEARCH,
        answer=(Role("done", at("topo_head"), "the first of the order"),),
        tags=("u", "v"),
    ),
    "strongly_connected_components": Explanation(
        """
search the graph depth-first
    push each white node that is found
    pop a node that is finished
reverse all edges
search again, the last finished node first
    nodes found together are a component
    pop a node that is finished
""",
        _components_line,
        _tell_components,
        SEARCH,
        answer=tuple(
            Role(f"group{turn}", group("scc_id", turn, GROUPS), "one colour for each component")
            for turn in range(GROUPS)
        ),
        tags=("u", "v"),
        badges=("time",),
        clocks=_CLOCKS,
    ),
    "articulation_points": Explanation(
        """
begin at each node s that is still white
    discover u: low[u] = d[u] = the time
    push a white node v; its parent is u
    an edge back to v: low[u] = min(low[u], d[v])
    u is finished: low[u] = least low of its children
        if a child has no way past u: a cut node
""",
        _cut_line,
        _tell_cut,
        (*SEARCH, Role("other", marked("is_cut_h"), "articulation point")),
        answer=(Role("other", marked("is_cut"), "articulation point"),),
        tags=("u", "v"),
        number="low",
        clocks=(*_CLOCKS, "low", "child_cnt"),
    ),
    "bridges": Explanation(
        """
begin at each node s that is still white
    discover u: low[u] = d[u] = the time
    push a white node v; its parent is u
    an edge back to v: low[u] = min(low[u], d[v])
    u is finished: low[u] = least low of its children
        low[v] > d[u] for a child v: u–v is a bridge
""",
        _bridge_line,
        _tell_bridge,
        SEARCH,
        tags=("u", "v"),
        number="low",
        clocks=(*_CLOCKS, "low"),
    ),
}
