"""Depth-first search one step at a time (CLRS 22.3), with its stack laid open.

Everything that the search knows is in hints: `color` of the nodes, `u` whose edges are explored,
`v` at the other end of the edge at hand, and the stack. `s_last` is the top of the stack; `s_prev`
points from each node in it to the one below, and from all other nodes (and the root) to themselves.

An algorithm takes one `step` after the other until the root is black, and does its own work at
the events that concern it.
"""

from algorist.algorithms.compiling import compiled
from algorist.algorithms.neighbours import end_of, slot_after, slots, weight_of
from algorist.algorithms.tracing import record
from algorist.spec import node

STACK = {
    "s_prev": node.pointer,
    "s": node.mask_one,
    "u": node.mask_one,
    "v": node.mask_one,
    "s_last": node.mask_one,
}
"""The hints that show the stack, its root `s` and the edge at hand."""

MARKS = {"color": node.categorical(3), "d": node.scalar, "f": node.scalar}
"""The hints that show how far the search is with a node, when it was discovered and finished."""

WHITE, GREY, BLACK = 0, 1, 2
"""The colors: not found yet, in the stack, finished."""

STARTED, DISCOVERED, FOUND, SEEN, FINISHED = range(5)
"""The events: a root was pushed; u begins; v is white and was pushed; v is not white; u is done."""


@compiled
def start(root, search):
    """Begin a tree of the search at a white node."""
    _, _, s, u, v, s_last = search
    s[0] = u[0] = v[0] = s_last[0] = root
    return STARTED


@compiled
def step(A, event, search):
    """Go on after the given event to the next one, and return it."""
    color, s_prev, _, u, v, s_last = search
    if event in (STARTED, FOUND):
        u[0] = s_last[0]
        color[u[0]] = GREY
        return DISCOVERED
    if event == FINISHED:
        s_last[0] = s_prev[u[0]]
        s_prev[u[0]] = u[0]
        u[0] = s_last[0]
    here = u[0]
    for slot in range(slot_after(A, here, v[0]) if event == SEEN else 0, slots(A, here)):
        if weight_of(A, here, slot) != 0:
            neighbour = end_of(A, here, slot)
            v[0] = neighbour
            if color[neighbour] != WHITE:
                return SEEN
            color[neighbour] = GREY
            s_prev[neighbour] = here
            s_last[0] = neighbour
            return FOUND
    v[0] = len(color) - 1
    color[here] = BLACK
    return FINISHED


@compiled
def keep_time(event, d, f, time, u):
    """Note when u is discovered and when it is finished, on a clock that runs in hundredths."""
    if event == DISCOVERED:
        time[0] += 0.01
        d[u[0]] = time[0]
    elif event == FINISHED:
        time[0] += 0.01
        f[u[0]] = time[0]


@compiled
def sort_reachable(A, root, topo, topo_head, search, trace):
    """Put each node below the root, as it is finished, in front of the sorted ones (CLRS 22.4)."""
    color, _, _, u, _, _ = search
    event = start(root, search)
    record(trace)
    while color[root] != BLACK:
        event = step(A, event, search)
        if event == SEEN or (event == DISCOVERED and u[0] != root):
            continue
        if event == FINISHED:
            if color[topo_head[0]] == BLACK:
                topo[u[0]] = topo_head[0]
            topo_head[0] = u[0]
        record(trace)
