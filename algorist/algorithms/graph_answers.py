"""Right answers to problems on graphs, where there can be several.

Every function says whether outputs are one of the right answers to inputs (one sample of a batch).
It takes for granted that they fit the spec: pointers lead to nodes, choices are one-hot.
"""

from __future__ import annotations

import numpy as np

from algorist.algorithms.array_answers import ROUNDING, Arrays, chains_all, walk
from algorist.algorithms.user_inputs.graph_checks import has_cycle


def _distances(weights: np.ndarray) -> np.ndarray:
    """The lengths of the shortest paths between all nodes; no edge weighs infinity."""
    lengths = weights.copy()
    np.fill_diagonal(lengths, 0.0)
    for middle in range(len(lengths)):
        np.minimum(lengths, lengths[:, middle, None] + lengths[middle], out=lengths)
    return lengths


def _reachable(edges: np.ndarray) -> np.ndarray:
    """Which nodes can be reached from which; all reach themselves."""
    return np.isfinite(_distances(np.where(edges, 1.0, np.inf)))


def _ends(pointers: np.ndarray) -> np.ndarray:
    """Where the pointers, (..., N), lead in N steps or more: to roots, or around in a circle."""
    ends = pointers.astype(np.int64)
    for _ in range(ends.shape[-1].bit_length()):  # each time twice as far
        ends = np.take_along_axis(ends, ends, -1)
    return ends


def _are_shortest(
    A: np.ndarray, sources: np.ndarray, pi: np.ndarray, unreached: np.ndarray
) -> bool:
    """Whether each row of `pi` is a tree of shortest paths from its source.

    The source points to itself, and what it does not reach points where `unreached` says.
    """
    nodes = np.arange(len(A))
    weights = np.where(A != 0, A, np.inf)
    distances = _distances(weights)[sources]  # (S, N)
    by_way_of_pi = np.take_along_axis(distances, pi, 1) + weights[pi, nodes]
    shortest = by_way_of_pi <= distances + ROUNDING * np.abs(A).max()
    reached = np.isfinite(distances)
    right = np.where(reached, shortest & (_ends(pi) == sources[:, None]), pi == unreached)
    return bool(np.where(nodes == sources[:, None], pi == nodes, right).all())


def _is_tree_of_shortest_paths(A: np.ndarray, inputs: Arrays, outputs: Arrays) -> bool:
    source, pi = inputs["s"].argmax(-1, keepdims=True), outputs["pi"].astype(np.int64)
    return _are_shortest(A, source, pi[None], np.arange(len(A)))


def is_breadth_first_tree(inputs: Arrays, outputs: Arrays) -> bool:
    """Any tree of paths with the fewest edges; what is not reached points to itself."""
    return _is_tree_of_shortest_paths((inputs["A"] != 0).astype(float), inputs, outputs)


def is_shortest_path_tree(inputs: Arrays, outputs: Arrays) -> bool:
    """Any tree of shortest paths; what is not reached points to itself."""
    return _is_tree_of_shortest_paths(inputs["A"], inputs, outputs)


def are_all_shortest_paths(inputs: Arrays, outputs: Arrays) -> bool:
    """Any shortest path for every pair; the second node of pairs without one points to the first.

    A node has no way to go to itself, so the diagonal does not count.
    """
    nodes, pi = np.arange(len(inputs["A"])), outputs["Pi"].astype(np.int64)
    np.fill_diagonal(pi, nodes)
    return _are_shortest(inputs["A"], nodes, pi, nodes[:, None])


def is_depth_first_forest(inputs: Arrays, outputs: Arrays) -> bool:
    """Any forest that a depth-first search leaves, whichever roots and neighbours it tries first.

    A search finishes a tree before it enters the next one beside it. So an edge may lead from one
    subtree into another beside it only if that one came before; an order of the subtrees exists if
    these edges close no cycle.
    """
    edges, pi = inputs["A"] != 0, outputs["pi"].astype(np.int64)
    nodes = np.arange(len(pi))
    is_root = pi == nodes
    if not (is_root[_ends(pi)].all() and edges[pi, nodes][~is_root].all()):
        return False
    tree = np.zeros_like(edges)
    tree[pi, nodes] = True
    below = _reachable(tree).astype(float)
    parent = np.where(is_root, -1, pi)
    beside = (parent[:, None] == parent) & (nodes[:, None] != nodes)
    return not has_cycle(beside & (below @ edges @ below.T > 0))


def is_topological_order(inputs: Arrays, outputs: Arrays) -> bool:
    """Any order, from `topo_head` along `topo` to a node that points to itself, with its edges."""
    topo, edges = outputs["topo"], inputs["A"] != 0
    order = walk(topo, int(outputs["topo_head"].argmax()))
    return chains_all(topo, order) and not np.tril(edges[order][:, order]).any()


def are_strong_components(inputs: Arrays, outputs: Arrays) -> bool:
    """Nodes point to the same node if and only if they reach each other, and it is one of them."""
    ids, reachable = outputs["scc_id"], _reachable(inputs["A"] != 0)
    together = reachable & reachable.T
    same = ids[:, None] == ids
    return bool((same == together).all() and together[np.arange(len(ids)), ids].all())


def _least_weights(A: np.ndarray) -> np.ndarray:
    """The weights of the edges in a minimum spanning forest, ascending: all forests share them."""
    one, other = np.nonzero(np.triu(A, 1))
    by_weight = np.argsort(A[one, other])
    tree = np.arange(len(A))
    weights = []
    for u, v in zip(one[by_weight], other[by_weight], strict=True):
        if tree[u] != tree[v]:
            tree[tree == tree[v]] = tree[u]
            weights.append(A[u, v])
    return np.array(weights)


def is_minimum_spanning_forest(inputs: Arrays, outputs: Arrays) -> bool:
    """Any forest that joins what the graph joins, at the least weight."""
    A, taken = inputs["A"], outputs["in_mst"] > 0
    edges = (A != 0) & ~np.eye(len(A), dtype=bool)
    if (taken != taken.T).any() or (taken & ~edges).any():
        return False
    weights = np.sort(A[np.triu(taken)])
    joined = np.array_equal(_reachable(taken), _reachable(edges))
    return joined and np.array_equal(weights, _least_weights(A))


def is_minimum_spanning_tree(inputs: Arrays, outputs: Arrays) -> bool:
    """Any tree of least weight from the source on; what is not reached points to itself."""
    A, pi, source = inputs["A"], outputs["pi"].astype(np.int64), inputs["s"].argmax()
    nodes = np.arange(len(A))
    reached = _reachable(A != 0)[source]
    children = reached & (nodes != source)
    if (_ends(pi)[children] != source).any() or (pi != nodes)[~children].any():
        return False
    weights = A[pi, nodes][children]
    return np.array_equal(np.sort(weights), _least_weights(A[np.ix_(reached, reached)]))
