"""Shortest paths (CLRS chapters 24 and 25): each node points to the one before it on its path.

A weight of 0 means that there is no edge. Nodes without a path point to themselves (in the matrix
of Floyd-Warshall, to the path's source). A self-loop shortens no path.
"""

import numpy as np

from algorist.algorithms.compiling import copy
from algorist.algorithms.declaring import CLRS30, SALSA, algorithm
from algorist.algorithms.depth_first import sort_reachable
from algorist.algorithms.graph_answers import are_all_shortest_paths, is_shortest_path_tree
from algorist.algorithms.neighbours import end_of, slots, weight_of
from algorist.algorithms.samplers.graphs import (
    GRAPH,
    GRAPH_AND_SOURCE,
    HEAVIEST,
    TRAIN_P,
    acyclic_weighted_with_source,
    weighted,
    weighted_with_source,
)
from algorist.algorithms.textbook import nearest_queued, point_to_self, relax
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.graph_checks import acyclic, no_negative_cycle, non_negative
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.algorithms.user_inputs.separating import separate_weights
from algorist.spec import edge, graph, node


@algorithm(
    "graphs",
    inputs=GRAPH_AND_SOURCE,
    hints={"pi_h": node.pointer, "d": node.scalar, "msk": node.mask},
    outputs={"pi": node.pointer},
    sampler=weighted_with_source,
    accepts=is_shortest_path_tree,
    scale=Scale((("A",),), high=HEAVIEST, degrees={"d": 1}),
    requires=(no_negative_cycle,),
    train_options={"p": TRAIN_P},
)
def bellman_ford(A, s, pi_h, d, msk, pi, trace):
    """Relax all edges at once, again and again, until nothing changes (CLRS 24.1)."""
    n = len(A)
    point_to_self(pi_h)
    msk[s[0]] = 1
    d_before, reached_before = np.empty(n), np.empty(n, msk.dtype)
    for _ in range(n):  # no shortest path has more than n - 1 edges
        record(trace)
        changed = False
        copy(d_before, d)
        copy(reached_before, msk)
        for u in range(n):
            for v in range(n):
                if reached_before[u] and A[u, v] != 0:
                    changed |= relax(u, v, d_before[u] + A[u, v], d, pi_h, msk)
        if not changed:
            break
    copy(pi, pi_h)


@algorithm(
    "graphs",
    inputs=GRAPH_AND_SOURCE,
    hints={
        "pi_h": node.pointer,
        "d": node.scalar,
        "mark": node.mask,
        "in_queue": node.mask,
        "u": node.mask_one,
    },
    outputs={"pi": node.pointer},
    sampler=weighted_with_source,
    accepts=is_shortest_path_tree,
    scale=Scale((("A",),), high=HEAVIEST, degrees={"d": 1}),
    separate=separate_weights,
    requires=(non_negative,),
    train_options={"p": TRAIN_P},
    benchmarks=(CLRS30, SALSA),
    sparse=True,
)
def dijkstra(A, s, pi_h, d, mark, in_queue, u, pi, trace):
    """Settle the nearest reached node and relax its edges (CLRS 24.3)."""
    point_to_self(pi_h)
    in_queue[s[0]] = 1
    u[0] = s[0]
    record(trace)
    nearest = nearest_queued(d, in_queue)
    while nearest >= 0:
        u[0] = nearest
        mark[nearest] = 1
        in_queue[nearest] = 0
        for slot in range(slots(A, nearest)):
            v, weight = end_of(A, nearest, slot), weight_of(A, nearest, slot)
            if weight != 0 and not mark[v]:
                relax(nearest, v, d[nearest] + weight, d, pi_h, in_queue)
        record(trace)
        nearest = nearest_queued(d, in_queue)
    copy(pi, pi_h)


@algorithm(
    "graphs",
    inputs=GRAPH_AND_SOURCE,
    hints={
        "pi_h": node.pointer,
        "d": node.scalar,
        "mark": node.mask,
        "topo_h": node.pointer,
        "topo_head_h": node.mask_one,
        "color": node.categorical(3),
        "s_prev": node.pointer,
        "u": node.mask_one,
        "v": node.mask_one,
        "s_last": node.mask_one,
        "phase": graph.mask,
    },
    outputs={"pi": node.pointer},
    sampler=acyclic_weighted_with_source,
    accepts=is_shortest_path_tree,
    scale=Scale((("A",),), high=HEAVIEST, degrees={"d": 1}),
    requires=(acyclic,),
    train_options={"p": TRAIN_P},
)
def dag_shortest_paths(
    A, s, pi_h, d, mark, topo_h, topo_head_h, color, s_prev, u, v, s_last, phase, pi, trace
):
    """Sort the nodes topologically and relax their edges in that order (CLRS 24.2)."""
    point_to_self(pi_h)
    point_to_self(topo_h)
    point_to_self(s_prev)
    search = (color, s_prev, s, u, v, s_last)
    sort_reachable(A, s[0], topo_h, topo_head_h, search, trace)
    phase[0] = 1
    mark[s[0]] = 1
    record(trace)
    head = s[0]
    while topo_h[head] != head:
        for j in range(len(A)):
            if A[head, j] != 0:
                relax(head, j, d[head] + A[head, j], d, pi_h, mark)
        head = topo_head_h[0] = topo_h[head]
        record(trace)
    copy(pi, pi_h)


@algorithm(
    "graphs",
    inputs=GRAPH,
    hints={"Pi_h": edge.pointer, "D": edge.scalar, "msk": edge.mask, "k": node.mask_one},
    outputs={"Pi": edge.pointer},
    sampler=weighted,
    accepts=are_all_shortest_paths,
    scale=Scale((("A",),), high=HEAVIEST, degrees={"D": 1}, reach={"D": 3.0}),
    requires=(no_negative_cycle,),
    train_options={"p": TRAIN_P},
)
def floyd_warshall(A, adj, Pi_h, D, msk, k, Pi, trace):
    """Find all shortest paths by allowing one more node on the way at a time (CLRS 25.2)."""
    n = len(A)
    for i in range(n):
        for j in range(n):
            D[i, j] = A[i, j]
            msk[i, j] = adj[i, j]
            Pi_h[i, j] = i
    for middle in range(n):
        k[0] = middle
        record(trace)
        for i in range(n):
            if not msk[i, middle]:
                continue
            for j in range(n):
                if msk[middle, j]:
                    through = D[i, middle] + D[middle, j]
                    if not msk[i, j] or through < D[i, j]:
                        D[i, j] = through
                        msk[i, j] = 1
                        Pi_h[i, j] = Pi_h[middle, j]
    for i in range(n):
        copy(Pi[i], Pi_h[i])
