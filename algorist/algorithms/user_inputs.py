"""Users' own problems: every form in which people hold them, checked and turned into features."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from algorist.algorithms.frames import INT, MAX_NODES, Buffers, Layout
from algorist.algorithms.user_graphs import EdgeError, is_sparse, nodes_of, to_dense, to_matrix
from algorist.errors import counted, shortened, unknown
from algorist.spec import Feature, Kind, Location

if TYPE_CHECKING:
    from algorist.algorithms.declaring import Algorithm

Arrays = dict[str, np.ndarray]
Check = Callable[[Mapping[str, np.ndarray]], None]
"""Raises a `ValueError` that names the argument, what was got and what is expected."""
DERIVED = ("pos", "adj")
"""Inputs that follow from others, and may be left out."""


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
    return ((weights != 0) | np.eye(weights.shape[-1], dtype=bool)).astype(INT)


@dataclass(frozen=True)
class Problem:
    """A user's own problem."""

    arrays: Arrays
    """The spec's inputs."""
    names: tuple[Hashable, ...] | None
    """What the user calls the nodes, where they have names: nodes of a graph, letters of texts."""


def read_problem(algorithm: Algorithm, given: Mapping[str, Any]) -> Problem:
    """The spec's inputs as arrays, from what a user gave for them."""
    names: tuple[Hashable, ...] | None = letters(given)
    given = algorithm.adapt(dict(given)) if algorithm.adapt else dict(given)
    spec = algorithm.spec
    _check_names(algorithm, given)
    if "A" in given and "A" in spec:
        names = nodes_of(given["A"])
        given = _graph_as_matrix(algorithm, given, names)
    n = _node_count(algorithm, given)
    arrays = {f.name: _to_array(f, given[f.name], n) for f in spec.inputs if f.name in given}
    arrays.setdefault("pos", positions(arrays.get("string", np.zeros(n))))
    if "adj" in spec:
        arrays.setdefault("adj", adjacency(arrays["A"]))
        if not np.array_equal(arrays["adj"], adjacency(arrays["A"])):
            raise ValueError(
                "adj: got a matrix that disagrees with A, "
                "expected 1 where A is not 0 and on the diagonal; leave it out"
            )
    for check in algorithm.requires:
        try:
            check(arrays)
        except EdgeError as error:
            raise ValueError(error.with_names(names)) from None
    return Problem(arrays, names)


def _check_names(algorithm: Algorithm, given: Mapping[str, Any]) -> None:
    """Refuse inputs that the algorithm does not have, and to leave out one that it needs."""
    known = [feature.name for feature in algorithm.spec.inputs]
    for name in given:
        if name not in known:
            raise ValueError(f"{algorithm.name}: {unknown('input', name, known)}")
    for name in known:
        if name not in given and name not in DERIVED:
            raise ValueError(
                f"{algorithm.name}: the input {name!r} is missing, expected {', '.join(known)}"
            )


def letters(given: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The letters of two texts, if that is what was given."""
    for pair in (("text", "pattern"), ("x", "y")):
        words = [given.get(name) for name in pair]
        if all(isinstance(word, str) for word in words):
            return tuple("".join(map(str, words)))
    return None


def _graph_as_matrix(
    algorithm: Algorithm, given: dict[str, Any], names: tuple[Hashable, ...] | None
) -> dict[str, Any]:
    """Replace a graph by its dense matrix, and names of nodes by their indices."""
    graph = given["A"]
    if names is None:
        return {**given, "A": to_dense(graph) if is_sparse(graph) else graph}
    _check_size(algorithm, "A", len(names))
    for feature in algorithm.spec.inputs:
        node = given.get(feature.name)
        if feature.kind != Kind.MASK_ONE or node is None or not isinstance(node, Hashable):
            continue
        if node not in names:
            message = f"{feature.name}: got {shortened(node)}, expected a node of the graph"
            raise ValueError(message)
        given = {**given, feature.name: names.index(node)}
    weighted = unweighted not in algorithm.requires
    return {**given, "A": to_matrix(graph, names, weighted=weighted)}


def _node_count(algorithm: Algorithm, given: Mapping[str, Any]) -> int:
    for feature in algorithm.spec.inputs:
        on_nodes = feature.location != Location.GRAPH and feature.kind != Kind.MASK_ONE
        if on_nodes and feature.name in given:
            try:
                n = len(given[feature.name])
            except TypeError:  # a single number has no length
                raise ValueError(
                    f"{feature.name}: got {shortened(given[feature.name])}, expected an array"
                ) from None
            _check_size(algorithm, feature.name, n)
            return n
    names = ", ".join(feature.name for feature in algorithm.spec.inputs)
    raise ValueError(f"no input tells the number of nodes, expected arrays for {names}")


def _check_size(algorithm: Algorithm, name: str, n: int) -> None:
    """Refuse what is too small to make sense, or too large to be held as a matrix."""
    if n < algorithm.min_nodes:
        raise ValueError(
            f"{algorithm.name}: got {counted(n, 'node')}, "
            f"expected at least {algorithm.min_nodes} in {name}"
        )
    if n > MAX_NODES or not Layout(algorithm.spec.inputs, n).fits(2):
        raise ValueError(f"{algorithm.name}: got {n} nodes, expected far fewer in {name}")


def _to_array(feature: Feature, value: Any, n: int) -> np.ndarray:
    try:
        array = np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        kinds = {Kind.MASK_ONE: f"a node from 0 to {n - 1}"}
        expected = kinds.get(feature.kind, "numbers in one rectangular array")
        raise ValueError(f"{feature.name}: got {shortened(value)}, expected {expected}") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{feature.name}: got NaN or infinity, expected finite numbers")
    array = _indices_to_one_hot(feature, array, n)
    shape = feature.shape(n) if feature.kind != Kind.MASK_ONE else (n,)
    if array.shape != shape:
        raise ValueError(
            f"{feature.name}: got shape {array.shape}, expected {shape} for {counted(n, 'node')}"
        )
    _check_range(feature, array, n)
    return array


def _indices_to_one_hot(feature: Feature, array: np.ndarray, n: int) -> np.ndarray:
    """One-hot features may be given as the indices of their nodes or classes."""
    size = {Kind.MASK_ONE: n, Kind.CATEGORICAL: feature.classes}.get(feature.kind)
    if size is None or (array.ndim == len(feature.shape(n)) and feature.kind == Kind.CATEGORICAL):
        return array
    if feature.kind == Kind.MASK_ONE and array.ndim:
        return array
    what = "a node" if feature.kind == Kind.MASK_ONE else "classes"
    if ((array < 0) | (array >= size) | (array % 1 != 0)).any():
        got = shortened(array) if array.ndim else f"{array:g}"
        raise ValueError(f"{feature.name}: got {got}, expected {what} from 0 to {size - 1}")
    return (array[..., None] == np.arange(size)).astype(np.float64)


def _check_range(feature: Feature, array: np.ndarray, n: int) -> None:
    if feature.kind in (Kind.MASK, Kind.MASK_ONE, Kind.CATEGORICAL):
        if not np.isin(array, (0, 1)).all():
            raise ValueError(f"{feature.name}: got {shortened(array)}, expected only 0 and 1")
        if feature.kind != Kind.MASK and not (array.sum(-1) == 1).all():
            raise ValueError(f"{feature.name}: got {shortened(array)}, expected exactly one 1")
    if feature.kind == Kind.POINTER and ((array < 0) | (array >= n) | (array % 1 != 0)).any():
        raise ValueError(
            f"{feature.name}: got {shortened(array)}, expected nodes from 0 to {n - 1}"
        )


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
        raise EdgeError(
            f"A: got {arrays['A'][i, j]:g} from {{}} to {{}} but {arrays['A'][j, i]:g} back, "
            "expected a symmetric matrix: the algorithm is for undirected graphs",
            i,
            j,
        )


def non_negative(arrays: Mapping[str, np.ndarray]) -> None:
    """No negative weights."""
    least = arrays["A"].min()
    if least < 0:
        i, j = np.argwhere(arrays["A"] == least)[0]
        raise EdgeError(
            f"A: got the negative weight {least:g} from {{}} to {{}}, expected no weight below 0",
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
