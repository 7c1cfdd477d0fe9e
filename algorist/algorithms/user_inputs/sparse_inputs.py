"""Users' own graphs as sparse ones: read as all others are, without a matrix."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorist.algorithms.declaring import Algorithm
from algorist.algorithms.user_inputs.graph_checks import check_sparse
from algorist.algorithms.user_inputs.problems import check_names, find_nodes, take_graph
from algorist.algorithms.user_inputs.user_graphs import EdgeError
from algorist.errors import shorten
from algorist.sparse_batch import SparseGraphs
from algorist.spec import Kind, Location


@dataclass(frozen=True)
class SparseProblem:
    """A user's own graph, and what belongs to it."""

    graph: SparseGraphs
    inputs: Mapping[str, np.ndarray]
    """As `trace_graphs` takes them."""
    names: tuple[Hashable, ...] | None
    """What the user calls the nodes; None: they are numbered."""
    description: str
    """What was read, in a few words: 5 nodes, 7 undirected edges."""


def read_sparse_problem(algorithm: Algorithm, given: Mapping[str, Any]) -> SparseProblem:
    """The graph `A` in any form, the source and other inputs, as `read_problem` takes them.

    Random numbers of nodes (`priority`) are drawn if they are not given.
    """
    given = dict(given)
    user_graph = take_graph(algorithm, given)
    if user_graph is None:
        raise ValueError(f"{algorithm.name}: got no graph, expected A")
    drawn = {"priority"} - given.keys() if "priority" in algorithm.spec else set()
    check_names(algorithm, {**given, **dict.fromkeys(drawn)})
    n, (ends, weights) = user_graph.n, user_graph.to_entries()
    if n < max(algorithm.min_nodes, 2):
        raise ValueError(f"{algorithm.name}: got {n} node, expected at least 2 in A")
    graph = SparseGraphs.of_edges(1, n, ends, weights)
    for check in algorithm.requires:
        try:
            check_sparse(check, graph)
        except EdgeError as error:
            place = user_graph.place_of(*error.ends)
            raise ValueError(error.with_names(user_graph.names, place)) from None
    given |= {name: np.random.RandomState(0).uniform(size=n) for name in drawn}
    given |= find_nodes(algorithm, given, user_graph.names)
    inputs = {
        f.name: _value(f.name, given[f.name], n, one=f.kind == Kind.MASK_ONE)
        for f in algorithm.spec.inputs
        if f.location == Location.NODE and f.name in given
    }
    return SparseProblem(graph, inputs, user_graph.names, user_graph.describe(ends, weights))


def _value(name: str, value: Any, n: int, *, one: bool) -> np.ndarray:
    """The numbers of all nodes, (1, n), or the number of one node, (1,)."""
    called = getattr(value, "option", name)
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        expected = f"a node from 0 to {n - 1}" if one else f"{n} numbers"
        raise ValueError(f"{called}: got {shorten(value)}, expected {expected}") from None
    if not one:
        if array.shape != (n,) or not np.isfinite(array).all():
            raise ValueError(f"{called}: got {shorten(value)}, expected {n} finite numbers")
        return array[None]
    if array.ndim or array % 1 or not 0 <= array < n:
        raise ValueError(f"{called}: got {shorten(value)}, expected a node from 0 to {n - 1}")
    return array.astype(np.int64)[None]
