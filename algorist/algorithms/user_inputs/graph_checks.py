"""What algorithms may require of a graph `A`, beyond that it is a square matrix of finite numbers.

Each check raises a `ValueError` that names what was got and what is expected; one that is about an
edge is an `EdgeError`, which is raised again with the names of the nodes and the line of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from algorist.algorithms.user_inputs.user_graphs import EdgeError
from algorist.sparse_batch import SparseGraphs

Check = Callable[[Mapping[str, np.ndarray]], None]
"""Raises a `ValueError` that names the argument, what was got and what is expected."""


def unweighted(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse graphs with other numbers than 0 and 1."""
    if not np.isin(arrays["A"], (0, 1)).all():
        raise ValueError(
            "A: got weights, expected only 0 and 1 (pass A != 0 to ignore the weights)"
        )


def symmetric(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse graphs whose edges differ between the two directions."""
    if not np.array_equal(arrays["A"], arrays["A"].T):
        i, j = np.argwhere(arrays["A"] != arrays["A"].T)[0]
        raise _one_way(i, j, arrays["A"][i, j], arrays["A"][j, i])


def _one_way(i: int, j: int, there: float, back: float) -> EdgeError:
    return EdgeError(
        f"got {there:g} from {{}} to {{}} but {back:g} back, expected "
        "an undirected graph (directed=False, --undirected, if each edge is listed once)",
        i,
        j,
    )


def non_negative(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse graphs with negative weights."""
    least = arrays["A"].min()
    if least < 0:
        i, j = np.argwhere(arrays["A"] == least)[0]
        raise _negative(i, j, least)


def _negative(i: int, j: int, weight: float) -> EdgeError:
    return EdgeError(
        f"got the negative weight {weight:g} from {{}} to {{}}, expected no weight below 0", i, j
    )


def check_sparse(check: Check, graph: SparseGraphs) -> None:
    """Check a sparse graph as `check` does a matrix."""
    weights, back = graph.weights, graph.weights[graph.reverse]
    if check is unweighted:
        unweighted({"A": weights})
    elif check is symmetric:
        for e in np.flatnonzero(weights != back)[:1]:
            raise _one_way(graph.rows[e], graph.columns[e], weights[e], back[e])
    elif check is non_negative:
        for e in np.flatnonzero(weights < 0)[:1]:
            raise _negative(graph.rows[e], graph.columns[e], weights[e])
    else:
        raise ValueError(f"{getattr(check, '__name__', check)}: no check of sparse graphs")


def acyclic(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse graphs with a directed cycle."""
    if has_cycle(arrays["A"] != 0):
        raise ValueError("A: got a graph with a cycle, expected one without")


def has_cycle(edges: np.ndarray) -> bool:
    """Whether a directed graph, given as a matrix of truths, has a cycle."""
    while edges.size:
        sources = ~edges.any(0)
        if not sources.any():
            return True
        edges = edges[~sources][:, ~sources]
    return False


def no_negative_cycle(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse graphs with a cycle (or self-loop) along which the weights sum to less than 0."""
    weights = np.where(arrays["A"] != 0, arrays["A"], np.inf)
    distances = np.zeros(len(weights))
    for _ in range(len(weights)):
        shorter = np.minimum(distances, (distances[:, None] + weights).min(0))
        if np.array_equal(shorter, distances):
            return
        distances = shorter
    raise ValueError(
        "A: got a cycle of negative weight (an undirected edge of negative weight is one), "
        "expected none: along it paths get shorter without end"
    )
