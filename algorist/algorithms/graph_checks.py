"""What algorithms may require of a graph `A`, beyond that it is a square matrix of finite numbers.

Each check raises a `ValueError` that names what was got and what is expected; one that is about an
edge is an `EdgeError`, which is raised again with the names of the nodes and the line of the file.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from algorist.algorithms.user_graphs import EdgeError


def unweighted(arrays: Mapping[str, np.ndarray]) -> None:
    """Only 0 and 1."""
    if not np.isin(arrays["A"], (0, 1)).all():
        raise ValueError(
            "A: got weights, expected only 0 and 1 (pass A != 0 to ignore the weights)"
        )


def symmetric(arrays: Mapping[str, np.ndarray]) -> None:
    """The same in both directions."""
    if not np.array_equal(arrays["A"], arrays["A"].T):
        i, j = np.argwhere(arrays["A"] != arrays["A"].T)[0]
        raise EdgeError(
            f"got {arrays['A'][i, j]:g} from {{}} to {{}} but {arrays['A'][j, i]:g} back, expected "
            "an undirected graph (directed=False, --undirected, if each edge is listed once)",
            i,
            j,
        )


def non_negative(arrays: Mapping[str, np.ndarray]) -> None:
    """No negative weights."""
    least = arrays["A"].min()
    if least < 0:
        i, j = np.argwhere(arrays["A"] == least)[0]
        raise EdgeError(
            f"got the negative weight {least:g} from {{}} to {{}}, expected no weight below 0",
            i,
            j,
        )


def acyclic(arrays: Mapping[str, np.ndarray]) -> None:
    """No directed cycle."""
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
    """No cycle, self-loops included, along which the weights sum to less than 0."""
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
