"""Users' own problems: every form in which people hold them, checked and turned into features."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from algorist.algorithms.frames import INT, Buffers, Layout
from algorist.errors import unknown
from algorist.spec import Feature, Kind, Location

if TYPE_CHECKING:
    from algorist.algorithms.declaring import Algorithm

Arrays = dict[str, np.ndarray]
Check = Callable[[Mapping[str, np.ndarray]], None]
"""Raises a `ValueError` that names the argument, what was got and what is expected."""


def derive(layout: Layout, buffers: Buffers) -> None:
    """Fill in the inputs that follow from others: positions, and which nodes are adjacent."""
    windows = {feature.name: layout.window(buffers, feature.name) for feature in layout.features}
    windows["pos"][...] = positions(windows.get("string", np.zeros(layout.n)))
    if "adj" in windows:
        windows["adj"][...] = adjacency(windows["A"])


def positions(string: np.ndarray) -> np.ndarray:
    """Evenly spaced numbers in [0, 1), starting again at the second string if there is one."""
    second = string > 0
    index = np.arange(string.shape[-1])
    first_length = (~second).sum(-1, keepdims=True)
    second_length = np.maximum(second.sum(-1, keepdims=True), 1)
    return np.where(
        second, (index - first_length) / second_length, index / np.maximum(first_length, 1)
    )


def adjacency(weights: np.ndarray) -> np.ndarray:
    """1 where there is an edge, and on the diagonal."""
    return (weights + np.eye(weights.shape[-1]) != 0).astype(INT)


def own_inputs(algorithm: Algorithm, given: Mapping[str, Any]) -> Arrays:
    """The spec's inputs as arrays, from what a user gave for them."""
    if algorithm.adapt:
        given = algorithm.adapt(dict(given))
    spec = algorithm.spec
    known = [feature.name for feature in spec.inputs]
    for name in given:
        if name not in known:
            raise ValueError(f"{algorithm.name}: {unknown('input', name, known)}")
    for name in known:
        if name not in given and name not in ("pos", "adj"):
            raise ValueError(
                f"{algorithm.name}: the input {name!r} is missing, expected {', '.join(known)}"
            )

    given = dict(given)
    if "A" in given and "A" in known:
        given = _graph_as_matrix(given, weighted=unweighted not in algorithm.requires)
    n = _node_count(spec.inputs, given)
    arrays = {f.name: _converted(f, given[f.name], n) for f in spec.inputs if f.name in given}
    arrays.setdefault("pos", positions(arrays.get("string", np.zeros(n))))
    if "adj" in spec:
        arrays.setdefault("adj", adjacency(arrays["A"]))
        if not np.array_equal(arrays["adj"], adjacency(arrays["A"])):
            raise ValueError(
                "adj: got a matrix that disagrees with A, "
                "expected 1 where A is not 0 and on the diagonal; leave it out"
            )
    if n < algorithm.min_nodes:
        raise ValueError(
            f"{algorithm.name}: got {n} nodes, expected at least {algorithm.min_nodes}"
        )
    for check in algorithm.requires:
        check(arrays)
    return arrays


def _graph_as_matrix(given: dict[str, Any], *, weighted: bool) -> dict[str, Any]:
    """Replace a networkx graph or a sparse matrix by a dense one, and node names by indices."""
    graph = given["A"]
    if hasattr(graph, "toarray"):
        return {**given, "A": graph.toarray()}
    networkx = sys.modules.get("networkx")  # whoever holds such a graph has imported it
    if networkx is None or not isinstance(graph, networkx.Graph):
        return given
    if graph.is_multigraph():
        raise ValueError("A: got a multigraph, expected at most one edge between two nodes")
    matrix = networkx.to_numpy_array(graph, weight="weight" if weighted else None)
    edges = graph.size() * (1 if graph.is_directed() else 2) - (
        0 if graph.is_directed() else networkx.number_of_selfloops(graph)
    )
    if np.count_nonzero(matrix) != edges:
        raise ValueError(
            "A: got an edge of weight 0, expected other weights: 0 means that there is no edge"
        )
    index = {name: i for i, name in enumerate(graph)}
    if "s" in given and isinstance(given["s"], int | str | tuple):
        if given["s"] not in index:
            raise ValueError(f"s: got {given['s']!r}, expected a node of the graph")
        given = {**given, "s": index[given["s"]]}
    return {**given, "A": matrix}


def _node_count(features: tuple[Feature, ...], given: Mapping[str, Any]) -> int:
    for feature in features:
        on_nodes = feature.location != Location.GRAPH and feature.kind != Kind.MASK_ONE
        if on_nodes and feature.name in given:
            with suppress(TypeError):  # a single number has no length
                return len(given[feature.name])
    names = ", ".join(feature.name for feature in features)
    raise ValueError(f"no input tells the number of nodes, expected arrays for {names}")


def _converted(feature: Feature, value: Any, n: int) -> np.ndarray:
    try:
        array = np.array(value, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{feature.name}: got {_shortened(value)}, expected numbers in one rectangular array"
        ) from None
    if not np.isfinite(array).all():
        raise ValueError(f"{feature.name}: got NaN or infinity, expected finite numbers")
    array = _one_hot_if_indices(feature, array, n)
    expected = feature.shape(n) if feature.kind != Kind.MASK_ONE else (n,)
    if array.shape != expected:
        raise ValueError(
            f"{feature.name}: got shape {array.shape}, expected {expected} for {n} nodes"
        )
    _check_range(feature, array, n)
    return array


def _one_hot_if_indices(feature: Feature, array: np.ndarray, n: int) -> np.ndarray:
    """One-hot features may be given as the indices of their nodes or classes."""
    size = {Kind.MASK_ONE: n, Kind.CATEGORICAL: feature.classes}.get(feature.kind)
    if size is None or (array.ndim == len(feature.shape(n)) and feature.kind == Kind.CATEGORICAL):
        return array
    if feature.kind == Kind.MASK_ONE and array.ndim:
        return array
    what = "a node" if feature.kind == Kind.MASK_ONE else "classes"
    if ((array < 0) | (array >= size) | (array % 1 != 0)).any():
        raise ValueError(
            f"{feature.name}: got {_shortened(array)}, expected {what} from 0 to {size - 1}"
        )
    return (array[..., None] == np.arange(size)).astype(np.float64)


def _check_range(feature: Feature, array: np.ndarray, n: int) -> None:
    if feature.kind in (Kind.MASK, Kind.MASK_ONE, Kind.CATEGORICAL):
        if not np.isin(array, (0, 1)).all():
            raise ValueError(f"{feature.name}: got {_shortened(array)}, expected only 0 and 1")
        if feature.kind != Kind.MASK and not (array.sum(-1) == 1).all():
            raise ValueError(f"{feature.name}: got {_shortened(array)}, expected exactly one 1")
    if feature.kind == Kind.POINTER and ((array < 0) | (array >= n) | (array % 1 != 0)).any():
        raise ValueError(
            f"{feature.name}: got {_shortened(array)}, expected nodes from 0 to {n - 1}"
        )


def _shortened(value: Any) -> str:
    text = " ".join(repr(value.tolist() if isinstance(value, np.ndarray) else value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


# What algorithms may require of a graph A, beyond that it is a square matrix of finite numbers.


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
        raise ValueError(
            f"A: got {arrays['A'][i, j]:g} from {i} to {j} but {arrays['A'][j, i]:g} back, "
            "expected a symmetric matrix: the algorithm is for undirected graphs"
        )


def non_negative(arrays: Mapping[str, np.ndarray]) -> None:
    """No negative weights."""
    if (arrays["A"] < 0).any():
        raise ValueError(
            f"A: got the negative weight {arrays['A'].min():g}, expected no weight below 0"
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
