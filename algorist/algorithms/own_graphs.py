"""Users' own graphs: networkx's, and mappings of nodes to their neighbours."""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np

from algorist.errors import shortened


def _is_networkx(graph: Any) -> bool:
    networkx = sys.modules.get("networkx")  # whoever holds such a graph has imported it
    return networkx is not None and isinstance(graph, networkx.Graph)


def nodes_of(graph: Any) -> tuple[Hashable, ...] | None:
    """The names of the nodes of a networkx graph or of a mapping, in order of appearance."""
    if _is_networkx(graph):
        return tuple(graph)
    if not isinstance(graph, Mapping):
        return None
    nodes: dict[Hashable, None] = dict.fromkeys(graph)
    for name, neighbours in graph.items():
        if not isinstance(neighbours, Collection) or isinstance(neighbours, str):
            raise ValueError(
                f"A: got {shortened(neighbours)} for the node {name!r}, expected its neighbours: "
                "a collection, or a mapping to weights"
            )
        nodes.update(dict.fromkeys(neighbours))
    return tuple(nodes)


def as_matrix(graph: Any, names: tuple[Hashable, ...], *, weighted: bool) -> np.ndarray:
    """The weights of a graph, or 1 for each edge, in a dense matrix; the nodes as `names` says."""
    matrix_of = _matrix_of_networkx if _is_networkx(graph) else _matrix_of_mapping
    return matrix_of(graph, names, weighted)


_NO_EDGE = "A: got an edge of weight 0, expected other weights: 0 means that there is no edge"


def _matrix_of_networkx(graph: Any, names: tuple[Hashable, ...], weighted: bool) -> np.ndarray:
    networkx = sys.modules["networkx"]
    if graph.is_multigraph():
        raise ValueError("A: got a multigraph, expected at most one edge between two nodes")
    try:
        matrix = networkx.to_numpy_array(graph, weight="weight" if weighted else None)
    except (TypeError, ValueError):
        raise ValueError("A: got a weight that is no number, expected numbers") from None
    edges = graph.size() * (1 if graph.is_directed() else 2) - (
        0 if graph.is_directed() else networkx.number_of_selfloops(graph)
    )
    if np.count_nonzero(matrix) != edges:
        raise ValueError(_NO_EDGE)
    return np.asarray(matrix)


def _matrix_of_mapping(
    graph: Mapping[Hashable, Any], names: tuple[Hashable, ...], weighted: bool
) -> np.ndarray:
    index = {name: i for i, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)))
    for name, neighbours in graph.items():
        for other in neighbours:
            weight = neighbours[other] if weighted and isinstance(neighbours, Mapping) else 1
            try:
                matrix[index[name], index[other]] = weight
            except (TypeError, ValueError, OverflowError):
                raise ValueError(
                    f"A: got the weight {shortened(weight)} from {name!r} to {other!r}, "
                    "expected a number"
                ) from None
            if weight == 0:
                raise ValueError(_NO_EDGE)
    return matrix
