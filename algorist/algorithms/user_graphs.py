"""Users' own graphs: networkx's, and mappings of nodes to their neighbours."""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from algorist.errors import shortened


class EdgeError(ValueError):
    """An edge cannot be used: the text has two places for its ends, which are given by index."""

    def __init__(self, text: str, *ends: int):
        super().__init__(text.format(*ends))
        self._text, self._ends = text, ends

    def with_names(self, names: Sequence[Hashable] | None) -> str:
        """The message with the ends as the user calls them."""
        return self._text.format(*(i if names is None else shortened(names[i]) for i in self._ends))


def _is_networkx(graph: Any) -> bool:
    networkx = sys.modules.get("networkx")  # whoever holds such a graph has imported it
    return networkx is not None and isinstance(graph, networkx.Graph)


def is_sparse(graph: Any) -> bool:
    """Whether it is a matrix of scipy's, of which some are mappings too."""
    return hasattr(graph, "toarray")


def to_dense(graph: Any) -> np.ndarray:
    """A sparse matrix as a dense one; edges of weight 0 would be lost."""
    entries = graph.tocoo()
    lost = np.flatnonzero(entries.data == 0)
    if len(lost):
        raise _no_edge(int(entries.row[lost[0]]), int(entries.col[lost[0]]))
    return graph.toarray()


def nodes_of(graph: Any) -> tuple[Hashable, ...] | None:
    """The names of the nodes of a networkx graph or of a mapping, in order of appearance."""
    if _is_networkx(graph):
        return tuple(graph)
    if is_sparse(graph) or not isinstance(graph, Mapping):
        return None
    nodes: dict[Hashable, None] = dict.fromkeys(graph)
    for name, neighbours in graph.items():
        if not isinstance(neighbours, Collection) or isinstance(neighbours, str):
            raise ValueError(
                f"A: got {shortened(neighbours)} for the node {name!r}, expected its neighbours: "
                "a collection, or a mapping to weights"
            )
        try:
            nodes.update(dict.fromkeys(neighbours))
        except TypeError:  # what cannot be hashed can be no node
            raise ValueError(
                f"A: got {shortened(neighbours)} for the node {name!r}, expected the names of its "
                "neighbours"
            ) from None
    return tuple(nodes)


def to_matrix(graph: Any, names: tuple[Hashable, ...], *, weighted: bool) -> np.ndarray:
    """The weights of a graph, or 1 for each edge, in a dense matrix; the nodes as `names` says."""
    matrix_of = _matrix_of_networkx if _is_networkx(graph) else _matrix_of_mapping
    return matrix_of(graph, names, weighted)


def _no_edge(one: Hashable, other: Hashable) -> ValueError:
    return ValueError(
        f"A: got an edge of weight 0 from {shortened(one)} to {shortened(other)}, "
        "expected other weights: 0 means that there is no edge"
    )


def _matrix_of_networkx(graph: Any, names: tuple[Hashable, ...], weighted: bool) -> np.ndarray:
    networkx = sys.modules["networkx"]
    if graph.is_multigraph():
        raise ValueError("A: got a multigraph, expected at most one edge between two nodes")
    try:
        matrix = networkx.to_numpy_array(graph, weight="weight" if weighted else None)
    except (TypeError, ValueError):
        raise ValueError("A: got a weight that is no number, expected numbers") from None
    index = {name: i for i, name in enumerate(names)}
    for one, other in graph.edges:
        if matrix[index[one], index[other]] == 0:
            raise _no_edge(one, other)
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
                raise _no_edge(name, other)
    return matrix
