"""Shortest paths and spanning trees grown from a source."""

from algorist.algorithms.compiling import copy
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.graph_inputs import TRAIN_P, undirected_weighted_with_source
from algorist.algorithms.own import non_negative, symmetric
from algorist.algorithms.textbook import point_to_self
from algorist.algorithms.tracing import record
from algorist.spec import edge, node


@algorithm(
    "graphs",
    inputs={"pos": node.scalar, "s": node.mask_one, "A": edge.scalar, "adj": edge.mask},
    hints={
        "pi_h": node.pointer,
        "d": node.scalar,
        "mark": node.mask,
        "in_queue": node.mask,
        "u": node.mask_one,
    },
    outputs={"pi": node.pointer},
    sampler=undirected_weighted_with_source,
    requires=(symmetric, non_negative),
    train_options={"p": TRAIN_P},
)
def dijkstra(A, s, pi_h, d, mark, in_queue, u, pi, trace):
    """Settle the nearest reached node and relax its edges (CLRS 24.3)."""
    n = len(A)
    point_to_self(pi_h)
    in_queue[s[0]] = 1
    u[0] = s[0]
    record(trace)
    for _ in range(n):
        nearest = -1
        for v in range(n):
            if in_queue[v] and (nearest < 0 or d[v] < d[nearest]):
                nearest = v
        if nearest < 0:
            break
        u[0] = nearest
        mark[nearest] = 1
        in_queue[nearest] = 0
        for v in range(n):
            if A[nearest, v] == 0.0 or mark[v]:
                continue
            through = d[nearest] + A[nearest, v]
            if not in_queue[v] or through < d[v]:
                pi_h[v] = nearest
                d[v] = through
                in_queue[v] = 1
        record(trace)
    copy(pi, pi_h)
