"""Graph search and what it reveals (CLRS chapter 22).

A self-loop is an edge like any other. It changes no answer, except that a graph with one cannot be
sorted topologically.
"""

import numpy as np

from algorist.algorithms.compiling import clear, compiled, copy
from algorist.algorithms.declaring import CLRS30, SALSA, algorithm
from algorist.algorithms.depth_first import (
    BLACK,
    DISCOVERED,
    FINISHED,
    FOUND,
    MARKS,
    SEEN,
    STACK,
    WHITE,
    keep_time,
    sort_reachable,
    start,
    step,
)
from algorist.algorithms.format_answers import format_bridges, format_topological_order
from algorist.algorithms.graph_answers import (
    are_strong_components,
    is_breadth_first_tree,
    is_depth_first_forest,
    is_topological_order,
)
from algorist.algorithms.neighbours import end_of, slots, weight_of
from algorist.algorithms.samplers.graphs import (
    GRAPH,
    GRAPH_AND_SOURCE,
    SPARSE_TRAIN_P,
    TRAIN_P,
    communities,
    directed,
    directed_acyclic,
    sparse_undirected,
    with_source,
)
from algorist.algorithms.textbook import point_to_self
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.graph_checks import acyclic, symmetric, unweighted
from algorist.spec import edge, graph, node


@algorithm(
    "graphs",
    inputs=GRAPH_AND_SOURCE,
    hints={"reach_h": node.mask, "pi_h": node.pointer},
    outputs={"pi": node.pointer},
    sampler=with_source,
    accepts=is_breadth_first_tree,
    requires=(unweighted,),
    train_options={"p": TRAIN_P},
    benchmarks=(CLRS30, SALSA),
    sparse=True,
)
def bfs(A, s, reach_h, pi_h, pi, trace):
    """Reach all nodes at distance 1, then all at distance 2, and so on (CLRS 22.2)."""
    n = len(reach_h)
    point_to_self(pi_h)
    reach_h[s[0]] = 1
    reached_before = np.empty(n, reach_h.dtype)
    grown = True
    while grown:
        record(trace)
        grown = False
        copy(reached_before, reach_h)
        for u in range(n):
            if not reached_before[u]:
                continue
            for slot in range(slots(A, u)):
                v = end_of(A, u, slot)
                if weight_of(A, u, slot) != 0 and not reach_h[v]:
                    reach_h[v] = 1
                    pi_h[v] = u
                    grown = True
    copy(pi, pi_h)


@algorithm(
    "graphs",
    inputs=GRAPH,
    hints={
        "pi_h": node.pointer,
        **MARKS,
        **STACK,
        "time": graph.scalar,
    },
    outputs={"pi": node.pointer},
    sampler=directed,
    accepts=is_depth_first_forest,
    requires=(unweighted,),
    train_options={"p": TRAIN_P},
    benchmarks=(CLRS30, SALSA),
    sparse=True,
)
def dfs(A, pi_h, color, d, f, s_prev, s, u, v, s_last, time, pi, trace):
    """Follow the edges of the node found last, until all nodes are found (CLRS 22.3)."""
    search = (color, s_prev, s, u, v, s_last)
    point_to_self(pi_h)
    point_to_self(s_prev)
    for root in range(len(pi_h)):
        if color[root] != WHITE:
            continue
        event = start(root, search)
        record(trace)
        while color[root] != BLACK:
            event = step(A, event, search)
            if event == SEEN:
                continue
            if event == FOUND:
                pi_h[v[0]] = u[0]
            keep_time(event, d, f, time, u)
            record(trace)
    copy(pi, pi_h)


@algorithm(
    "graphs",
    inputs=GRAPH,
    hints={
        "topo_h": node.pointer,
        "topo_head_h": node.mask_one,
        "color": node.categorical(3),
        **STACK,
    },
    outputs={"topo": node.pointer, "topo_head": node.mask_one},
    sampler=directed_acyclic,
    accepts=is_topological_order,
    answer=format_topological_order,
    requires=(unweighted, acyclic),
    train_options={"p": TRAIN_P},
)
def topological_sort(
    A, topo_h, topo_head_h, color, s_prev, s, u, v, s_last, topo, topo_head, trace
):
    """Order the nodes so that all edges go forward: last finished, first placed (CLRS 22.4)."""
    search = (color, s_prev, s, u, v, s_last)
    point_to_self(topo_h)
    point_to_self(s_prev)
    for root in range(len(A)):
        if color[root] == WHITE:
            sort_reachable(A, root, topo_h, topo_head_h, search, trace)
    copy(topo, topo_h)
    copy(topo_head, topo_head_h)


@algorithm(
    "graphs",
    inputs=GRAPH,
    hints={
        "scc_id_h": node.pointer,
        "A_t": edge.mask,
        **MARKS,
        **STACK,
        "time": graph.scalar,
        "phase": graph.mask,
    },
    outputs={"scc_id": node.pointer},
    sampler=communities,
    accepts=are_strong_components,
    requires=(unweighted,),
    train_options={"p": TRAIN_P},
)
def strongly_connected_components(
    adj, scc_id_h, A_t, color, d, f, s_prev, s, u, v, s_last, time, phase, scc_id, trace
):
    """Search the graph, then its transpose from the nodes finished last (CLRS 22.5)."""
    n = len(adj)
    search = (color, s_prev, s, u, v, s_last)
    point_to_self(scc_id_h)
    point_to_self(s_prev)
    for i in range(n):
        for j in range(n):
            A_t[j, i] = adj[i, j]

    finished = np.empty(n, np.int64)  # the last one first
    unfinished = n
    for root in range(n):
        if color[root] != WHITE:
            continue
        event = start(root, search)
        record(trace)
        while color[root] != BLACK:
            event = step(adj, event, search)
            if event == SEEN:
                continue
            if event == FINISHED:
                unfinished -= 1
                finished[unfinished] = u[0]
            keep_time(event, d, f, time, u)
            record(trace)

    phase[0] = 1
    clear(color)
    for root in finished:
        if color[root] != WHITE:
            continue
        event = start(root, search)
        record(trace)
        while color[root] != BLACK:
            event = step(A_t, event, search)
            if event == DISCOVERED:
                scc_id_h[u[0]] = root
            if event == SEEN or (event == DISCOVERED and u[0] != root):
                continue
            keep_time(event, d, f, time, u)
            record(trace)
    copy(scc_id, scc_id_h)


@compiled
def _track_low(event, pi_h, d, low, u, v):
    """Keep in `low` how early a node the subtree of u has an edge back to (CLRS problem 22-2)."""
    if event == DISCOVERED:
        low[u[0]] = d[u[0]]
    elif event == FOUND:
        pi_h[v[0]] = u[0]
    elif event == SEEN:
        low[u[0]] = min(low[u[0]], d[v[0]])
    else:
        for child in range(len(low)):
            if pi_h[child] == u[0]:
                low[u[0]] = min(low[u[0]], low[child])


@algorithm(
    "graphs",
    inputs=GRAPH,
    hints={
        "is_cut_h": node.mask,
        "pi_h": node.pointer,
        **MARKS,
        "low": node.scalar,
        "child_cnt": node.scalar,
        **STACK,
        "time": graph.scalar,
    },
    outputs={"is_cut": node.mask},
    sampler=sparse_undirected,
    requires=(unweighted, symmetric),
    train_options={"p": SPARSE_TRAIN_P},
)
def articulation_points(
    A, is_cut_h, pi_h, color, d, f, low, child_cnt, s_prev, s, u, v, s_last, time, is_cut, trace
):
    """Find the nodes without which the graph falls apart (CLRS problem 22-2)."""
    search = (color, s_prev, s, u, v, s_last)
    point_to_self(pi_h)
    point_to_self(s_prev)
    for root in range(len(A)):
        if color[root] != WHITE:
            continue
        event = start(root, search)
        record(trace)
        while color[root] != BLACK:
            event = step(A, event, search)
            if event == SEEN and v[0] == pi_h[u[0]]:
                continue  # the edge by which u was found leads nowhere new
            keep_time(event, d, f, time, u)
            _track_low(event, pi_h, d, low, u, v)
            if event == FOUND:
                child_cnt[u[0]] += 0.01  # counts in hundredths, as the clock does
            elif event == FINISHED and u[0] == root:
                is_cut_h[root] = child_cnt[root] > 0.01
            elif event == FINISHED:
                for child in range(len(A)):
                    if pi_h[child] == u[0] and low[child] >= d[u[0]]:
                        is_cut_h[u[0]] = 1
            record(trace)
    copy(is_cut, is_cut_h)


@algorithm(
    "graphs",
    inputs=GRAPH,
    hints={
        "is_bridge_h": edge.mask,
        "pi_h": node.pointer,
        **MARKS,
        "low": node.scalar,
        **STACK,
        "time": graph.scalar,
    },
    outputs={"is_bridge": edge.mask},
    sampler=sparse_undirected,
    answer=format_bridges,
    requires=(unweighted, symmetric),
    train_options={"p": SPARSE_TRAIN_P},
)
def bridges(
    A, adj, is_bridge_h, pi_h, color, d, f, low, s_prev, s, u, v, s_last, time, is_bridge, trace
):
    """Find the edges without which the graph falls apart (CLRS problem 22-2)."""
    n = len(A)
    search = (color, s_prev, s, u, v, s_last)
    point_to_self(pi_h)
    point_to_self(s_prev)
    for i in range(n):
        for j in range(n):
            is_bridge_h[i, j] = adj[i, j] - 1  # where there is no edge, the mask does not count
    for root in range(n):
        if color[root] != WHITE:
            continue
        event = start(root, search)
        record(trace)
        while color[root] != BLACK:
            event = step(A, event, search)
            if event == SEEN and v[0] == pi_h[u[0]]:
                continue  # the edge by which u was found leads nowhere new
            keep_time(event, d, f, time, u)
            _track_low(event, pi_h, d, low, u, v)
            if event == FINISHED:
                for child in range(n):
                    if pi_h[child] == u[0] and low[child] > d[u[0]]:
                        is_bridge_h[u[0], child] = is_bridge_h[child, u[0]] = 1
            record(trace)
    for i in range(n):
        copy(is_bridge[i], is_bridge_h[i])
