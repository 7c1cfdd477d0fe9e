"""Minimum spanning trees (CLRS chapter 23), or forests where the graph is not connected.

A weight of 0 means that there is no edge. Self-loops are never part of a tree.
"""

import numpy as np

from algorist.algorithms.compiling import clear, compiled, copy
from algorist.algorithms.declaring import CLRS30, SALSA, algorithm
from algorist.algorithms.graph_answers import is_minimum_spanning_forest, is_minimum_spanning_tree
from algorist.algorithms.neighbours import end_of, slots, weight_of
from algorist.algorithms.samplers.graphs import (
    GRAPH,
    GRAPH_AND_SOURCE,
    HEAVIEST,
    SPARSE_TRAIN_P,
    TRAIN_P,
    sparse_undirected_weighted,
    undirected_weighted_with_source,
)
from algorist.algorithms.textbook import nearest_queued, point_to_self, relax, sort_nodes
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.graph_checks import symmetric
from algorist.algorithms.user_inputs.ranking import rank_edge_weights
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.algorithms.user_inputs.separating import separate_weights
from algorist.spec import edge, graph, node


@compiled
def _edges_by_weight(A):
    """All edges (u, v) with u < v, as numbers u * n + v, the lightest first."""
    n = len(A)
    edges = np.empty(n * n, np.int64)
    count = 0
    for u in range(n):
        for v in range(u + 1, n):
            if A[u, v] != 0:
                edges[count] = u * n + v
                count += 1
    edges = edges[:count]
    sort_nodes(edges, A.ravel())
    return edges


@compiled
def _find_root(pi, root, mask, trace):
    """Climb to the root of a set; let all nodes passed, which `mask` keeps, point to it."""
    while pi[root[0]] != root[0]:
        root[0] = pi[root[0]]
        for i in range(len(pi)):
            if mask[i]:
                pi[i] = root[0]
        mask[root[0]] = 1
        record(trace)


@algorithm(
    "graphs",
    inputs=GRAPH,
    hints={
        "in_mst_h": edge.mask,
        "pi": node.pointer,
        "u": node.mask_one,
        "v": node.mask_one,
        "root_u": node.mask_one,
        "root_v": node.mask_one,
        "mask_u": node.mask,
        "mask_v": node.mask,
        "phase": graph.categorical(3),
    },
    outputs={"in_mst": edge.mask},
    sampler=sparse_undirected_weighted,
    accepts=is_minimum_spanning_forest,
    scale=Scale((("A",),), high=HEAVIEST),
    rank=rank_edge_weights,
    requires=(symmetric,),
    train_options={"p": SPARSE_TRAIN_P},
)
def mst_kruskal(A, in_mst_h, pi, u, v, root_u, root_v, mask_u, mask_v, phase, in_mst, trace):
    """Take each edge, the lightest first, that joins two trees (CLRS 23.2)."""
    point_to_self(pi)
    record(trace)
    for number in _edges_by_weight(A):
        one, other = number // len(A), number % len(A)
        u[0] = root_u[0] = one
        v[0] = root_v[0] = other
        clear(mask_u)
        clear(mask_v)
        mask_u[one] = mask_v[other] = 1
        phase[0] = 1
        record(trace)
        _find_root(pi, root_u, mask_u, trace)
        phase[0] = 2
        _find_root(pi, root_v, mask_v, trace)
        if root_u[0] != root_v[0]:
            in_mst_h[one, other] = in_mst_h[other, one] = 1
            pi[min(root_u[0], root_v[0])] = max(root_u[0], root_v[0])
        phase[0] = 0
        record(trace)
    for i in range(len(A)):
        copy(in_mst[i], in_mst_h[i])


@algorithm(
    "graphs",
    inputs=GRAPH_AND_SOURCE,
    hints={
        "pi_h": node.pointer,
        "key": node.scalar,
        "mark": node.mask,
        "in_queue": node.mask,
        "u": node.mask_one,
    },
    outputs={"pi": node.pointer},
    sampler=undirected_weighted_with_source,
    accepts=is_minimum_spanning_tree,
    scale=Scale((("A",),), high=HEAVIEST, degrees={"key": 1}),
    separate=separate_weights,
    requires=(symmetric,),
    train_options={"p": TRAIN_P},
    benchmarks=(CLRS30, SALSA),
    sparse=True,
)
def mst_prim(A, s, pi_h, key, mark, in_queue, u, pi, trace):
    """Grow a tree from the source by the lightest edge that leaves it (CLRS 23.2).

    Nodes that the source does not reach point to themselves, as the source does.
    """
    point_to_self(pi_h)
    in_queue[s[0]] = 1
    u[0] = s[0]
    record(trace)
    nearest = nearest_queued(key, in_queue)
    while nearest >= 0:
        u[0] = nearest
        mark[nearest] = 1
        in_queue[nearest] = 0
        for slot in range(slots(A, nearest)):
            v, weight = end_of(A, nearest, slot), weight_of(A, nearest, slot)
            if weight != 0 and not mark[v]:
                relax(nearest, v, weight, key, pi_h, in_queue)
        record(trace)
        nearest = nearest_queued(key, in_queue)
    copy(pi, pi_h)
