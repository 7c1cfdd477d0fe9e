"""Users' own problems: every form in which people hold them, checked and turned into features."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sized
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from algorist.algorithms.frames import MAX_NODES, FrameLayout
from algorist.algorithms.sampling import DERIVED, adjacency, positions
from algorist.algorithms.user_inputs.describe_inputs import describe_inputs
from algorist.algorithms.user_inputs.edge_lists import GraphOptions
from algorist.algorithms.user_inputs.graph_arrays import expect_no_rounding, to_numpy
from algorist.algorithms.user_inputs.graph_checks import unweighted
from algorist.algorithms.user_inputs.user_graphs import EdgeError, UserGraph, read_graph
from algorist.errors import (
    format_count,
    join_names,
    nearest,
    shorten,
    unknown,
)
from algorist.spec import Feature, Kind, Location

if TYPE_CHECKING:
    from algorist.algorithms.declaring import Algorithm

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """A user's own problem."""

    arrays: Arrays
    """The spec's inputs."""
    names: tuple[Hashable, ...] | None
    """What the user calls the nodes, where they have names: nodes of a graph, letters of texts."""
    description: str
    """What was read, in a few words: 5 nodes, 7 undirected edges, weights from 'length'."""


def draw_problem(
    algorithm: Algorithm,
    n: int,
    seed: int | list[int],
    options: Mapping[str, Any] | None = None,
) -> Arrays:
    """The inputs of a random problem in the form in which users give theirs.

    There is no batch axis, and what follows from other inputs is left out.
    """
    inputs = algorithm.sample(n, 1, seed, options).inputs
    return {name: array[0] for name, array in inputs.items() if name not in DERIVED}


def read_problem(algorithm: Algorithm, given: Mapping[str, Any]) -> Problem:
    """The spec's inputs as arrays, from what a user gave for them.

    Beside a graph `A` there may be `weight`, `directed` and `edge_weight`, as `GraphOptions` has
    them. What makes no sense, or could mean two things, is a `ValueError`.
    """
    names: tuple[Hashable, ...] | None = find_letters(given)
    given = algorithm.adapt(dict(given)) if algorithm.adapt else dict(given)
    graph = take_graph(algorithm, given)
    check_names(algorithm, given)
    if graph is not None:
        names = graph.names
        _check_size(algorithm, "A", graph.n)
        given = {**given, "A": graph.to_matrix(), **find_nodes(algorithm, given, names)}
    n = _node_count(algorithm, given)
    spec = algorithm.spec
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
            place = graph.place_of(*error.ends) if graph else "A"
            raise ValueError(error.with_names(names, place)) from None
    read = graph.describe(*graph.to_entries()) if graph else describe_inputs(spec, arrays)
    return Problem(arrays, names, read)


_GRAPH_OPTIONS = ("weight", "directed", "edge_weight")


def take_graph(algorithm: Algorithm, given: dict[str, Any]) -> UserGraph | None:
    """The graph among what was given, without what is said about it."""
    if "A" not in algorithm.spec:
        return None
    said = {
        name: given.pop(name)
        for name in _GRAPH_OPTIONS
        if name in given and name not in algorithm.spec
    }
    if "A" not in given:
        return None
    for name, kinds in (("weight", str), ("directed", bool)):
        value = said.get(name)
        if value is not None and not isinstance(value, kinds):
            expected = "the name of an attribute" if kinds is str else "True or False"
            raise ValueError(f"{name}: got {shorten(value)}, expected {expected}")
    if "adj" in given or "pos" in given:  # all inputs of the spec: A is its matrix
        given["A"] = given["A"] if isinstance(given["A"], Mapping) else {"matrix": given["A"]}
    weighted = unweighted not in algorithm.requires
    options = GraphOptions(**said, weighted=weighted)
    return read_graph(given["A"], options, usually_directed=draws_directed(algorithm))


@cache
def draws_directed(algorithm: Algorithm) -> bool:
    """Whether the graphs that the benchmark draws for an algorithm are directed."""
    A = algorithm.sample(16, 1, seed=0).inputs["A"][0]
    return not np.array_equal(A, A.T)


def count_nodes(algorithm: Algorithm, given: Mapping[str, Any]) -> int:
    """How many nodes a problem has at least: cheap, also where its matrix would be large."""
    graph = take_graph(algorithm, dict(given))
    sizes = [len(x) for name, x in given.items() if name != "A" and isinstance(x, Sized)]
    return max([graph.n if graph else 1, *sizes])


def check_names(algorithm: Algorithm, given: Mapping[str, Any]) -> None:
    """Refuse inputs that the algorithm does not have, and to leave out one that it needs."""
    known = [feature.name for feature in algorithm.spec.inputs]
    for name in given:
        if name not in known:
            hint = "; give it as A" if name == "edge_index" and "A" in known else ""
            raise ValueError(f"{algorithm.name}: {unknown('input', name, known)}{hint}")
    for name in known:
        if name not in given and name not in DERIVED:
            raise ValueError(
                f"{algorithm.name}: the input {name!r} is missing, "
                f"expected {', '.join(name for name in known if name not in DERIVED)}"
            )


def find_letters(given: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The letters of two texts, if that is what was given."""
    for pair in (("text", "pattern"), ("x", "y")):
        words = [given.get(name) for name in pair]
        if all(isinstance(word, str) for word in words):
            return tuple("".join(map(str, words)))
    return None


class OptionText(str):
    """What a user gave for an option, and the option's name for error messages."""

    option: str

    def __new__(cls, option: str, text: str) -> OptionText:
        """The text of that option."""
        made = super().__new__(cls, text)
        made.option = option
        return made


def find_nodes(
    algorithm: Algorithm, given: Mapping[str, Any], names: tuple[Hashable, ...] | None
) -> dict[str, int]:
    """The indices of nodes that were given by name; 0 and '0' are the same where one is there."""
    found: dict[str, int] = {}
    if names is None:
        return found
    by_text = {str(name): i for i, name in enumerate(names)}
    index = {name: i for i, name in enumerate(names)}
    for feature in algorithm.spec.inputs:
        node = given.get(feature.name)
        if feature.kind != Kind.MASK_ONE or node is None or not isinstance(node, Hashable):
            continue
        place = index.get(node, by_text.get(str(node)))
        if place is None:
            called = getattr(node, "option", feature.name)
            near = nearest(node, by_text)
            hint = f"did you mean {near!r}?" if near else join_names(names)
            raise ValueError(f"{called}: got {shorten(node)}, expected a node of the graph: {hint}")
        found[feature.name] = place
    return found


def _node_count(algorithm: Algorithm, given: Mapping[str, Any]) -> int:
    for feature in algorithm.spec.inputs:
        on_nodes = feature.location != Location.GRAPH and feature.kind != Kind.MASK_ONE
        if on_nodes and feature.name in given:
            try:
                n = len(given[feature.name])
            except TypeError:  # a single number has no length
                raise ValueError(
                    f"{feature.name}: got {shorten(given[feature.name])}, expected an array"
                ) from None
            _check_size(algorithm, feature.name, n)
            return n
    names = ", ".join(feature.name for feature in algorithm.spec.inputs)
    raise ValueError(f"no input tells the number of nodes, expected arrays for {names}")


def _check_size(algorithm: Algorithm, name: str, n: int) -> None:
    """Refuse what is too small to make sense, or too large to be held as a matrix."""
    if n < algorithm.min_nodes:
        raise ValueError(
            f"{algorithm.name}: got {format_count(n, 'node')}, "
            f"expected at least {algorithm.min_nodes} in {name}"
        )
    if n > MAX_NODES or not FrameLayout(algorithm.spec.inputs, n).fits(2):
        raise ValueError(f"{algorithm.name}: got {n} nodes, expected far fewer in {name}")


def _to_array(feature: Feature, value: Any, n: int) -> np.ndarray:
    value = to_numpy(value)
    try:
        array = np.array(value, np.float64)
        if _has_none(value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        if feature.kind == Kind.MASK_ONE:
            expected = f"a node from 0 to {n - 1}"
        else:
            expected = _SHAPES.get(feature.location, "numbers in one rectangular array")
        called = getattr(value, "option", feature.name)
        raise ValueError(f"{called}: got {shorten(value)}, expected {expected}") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{feature.name}: got NaN or infinity, expected finite numbers")
    expect_no_rounding(feature.name, value, array, "subtract the smallest")
    array = _indices_to_one_hot(feature, array, n)
    shape = feature.shape(n) if feature.kind != Kind.MASK_ONE else (n,)
    if array.shape != shape == ():
        raise ValueError(f"{feature.name}: got {shorten(value)}, expected a number")
    if array.shape != shape:
        raise ValueError(
            f"{feature.name}: got shape {array.shape}, expected {shape} for "
            f"{format_count(n, 'node')}"
        )
    _check_range(feature, array, n)
    return array


_SHAPES = {Location.GRAPH: "a number", Location.NODE: "a list of numbers"}


def _has_none(value: Any) -> bool:
    """Whether a value is None or a list with one, which NumPy takes for NaN."""
    return value is None or (isinstance(value, list | tuple) and any(map(_has_none, value)))


def _indices_to_one_hot(feature: Feature, array: np.ndarray, n: int) -> np.ndarray:
    """One-hot features may be given as the indices of their nodes or classes."""
    size = {Kind.MASK_ONE: n, Kind.CATEGORICAL: feature.classes}.get(feature.kind)
    if size is None or (array.ndim == len(feature.shape(n)) and feature.kind == Kind.CATEGORICAL):
        return array
    if feature.kind == Kind.MASK_ONE and array.ndim:
        return array
    what = "a node" if feature.kind == Kind.MASK_ONE else "classes"
    if ((array < 0) | (array >= size) | (array % 1 != 0)).any():
        got = shorten(array) if array.ndim else f"{array:g}"
        raise ValueError(f"{feature.name}: got {got}, expected {what} from 0 to {size - 1}")
    return (array[..., None] == np.arange(size)).astype(np.float64)


def _check_range(feature: Feature, array: np.ndarray, n: int) -> None:
    if feature.kind in (Kind.MASK, Kind.MASK_ONE, Kind.CATEGORICAL):
        if not np.isin(array, (0, 1)).all():
            raise ValueError(f"{feature.name}: got {shorten(array)}, expected only 0 and 1")
        if feature.kind != Kind.MASK and not (array.sum(-1) == 1).all():
            raise ValueError(f"{feature.name}: got {shorten(array)}, expected exactly one 1")
    if feature.kind == Kind.POINTER and ((array < 0) | (array >= n) | (array % 1 != 0)).any():
        raise ValueError(f"{feature.name}: got {shorten(array)}, expected nodes from 0 to {n - 1}")
