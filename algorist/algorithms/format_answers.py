"""Answers in the form that people expect: a sorted array, an index, a mask, a dictionary by name.

A net's answer need not make sense. Pointers are followed as far as they lead, and what they leave
out is left out: whether an answer is right is another question, which `answer_checks` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from algorist.algorithms.array_answers import walk
from algorist.spec import Feature, Kind, Location, Spec

Arrays = Mapping[str, np.ndarray]
Names = Sequence[Hashable] | None
"""What the user calls the nodes; None: they are numbered."""
Answer = Callable[[Arrays, Arrays, Names], Any]
"""Makes an answer of inputs and outputs, both of one sample, in the form of batches."""

ONE_HOT = (Kind.MASK_ONE, Kind.CATEGORICAL, Kind.PERMUTATION_POINTER)


def compact(feature: Feature, array: np.ndarray) -> np.ndarray:
    """One-hot kinds as indices, -1 where there is none; all others as they are."""
    if feature.kind not in ONE_HOT:
        return array
    return np.where((array == 1).any(-1), array.argmax(-1), -1)


def format_outputs(spec: Spec, outputs: Arrays, names: Names = None) -> Any:
    """What follows from the kinds: the only output's value, or several by their names."""
    values = {f.name: _format_value(f, compact(f, outputs[f.name]), names) for f in spec.outputs}
    return next(iter(values.values())) if len(values) == 1 else values


def _format_value(feature: Feature, array: np.ndarray, names: Names) -> Any:
    if feature.kind == Kind.MASK:
        array = array > 0
    if array.ndim == 0:
        single = array.item()
        return names[single] if names and feature.kind == Kind.MASK_ONE else single
    if feature.kind == Kind.SCALAR:
        return array
    if feature.kind != Kind.MASK:
        array = array.astype(np.int64)
    return array if names is None else _name_nodes(feature, array, names)


def _name_nodes(feature: Feature, array: np.ndarray, names: Sequence[Hashable]) -> Any:
    """Nodes by their names: which are marked, or to which each points."""
    if feature.kind == Kind.MASK and feature.location == Location.EDGE:
        return _name_edges(array, names)
    if feature.kind == Kind.MASK:
        return [names[int(i)] for i in np.flatnonzero(array)]
    if feature.kind == Kind.CATEGORICAL:
        return array
    if feature.location == Location.EDGE:
        return {name: _name_pointers(row, names) for name, row in zip(names, array, strict=True)}
    return _name_pointers(array, names)


def _name_pointers(pointers: np.ndarray, names: Sequence[Hashable]) -> dict[Hashable, Hashable]:
    return {name: names[i] for name, i in zip(names, pointers, strict=True)}


def _name_edges(marked: np.ndarray, names: Sequence[Hashable]) -> list[tuple[Hashable, Hashable]]:
    return [(names[u], names[v]) for u, v in list_edges(marked)]


def list_edges(marked: np.ndarray) -> np.ndarray:
    """The pairs of nodes that are marked; those that are both ways are given once.

    >>> list_edges(np.array([[0, 1, 0], [1, 0, 0], [1, 0, 0]], bool)).tolist()
    [[0, 1], [2, 0]]
    """
    again = np.tril(marked & marked.T, -1)
    return np.argwhere(marked & ~again)


def format_sorted_keys(inputs: Arrays, outputs: Arrays, names: Names) -> np.ndarray:
    """The keys in the order in which `pred` chains them, as far as it does."""
    pred = outputs["pred"]
    descending = max((walk(pred, start) for start in range(len(pred))), key=len)
    return inputs["key"][descending[::-1]]


def format_topological_order(inputs: Arrays, outputs: Arrays, names: Names) -> list[Any]:
    """The nodes from `topo_head` on along `topo`."""
    order = walk(outputs["topo"], int(outputs["topo_head"].argmax()))
    return order if names is None else [names[i] for i in order]


def format_subarray(inputs: Arrays, outputs: Arrays, names: Names) -> tuple[int, int]:
    """The first and the last index."""
    return int(outputs["start"].argmax()), int(outputs["end"].argmax())


def format_match(inputs: Arrays, outputs: Arrays, names: Names) -> int:
    """The index at which the pattern starts in the text, -1 if it does not occur."""
    match, pattern = int(outputs["match"].argmax()), int((inputs["string"] > 0).argmax())
    return -1 if match == pattern else match


def format_bridges(inputs: Arrays, outputs: Arrays, names: Names) -> Any:
    """A mask over pairs of nodes, or the bridges by name; what is no edge does not count."""
    marked = (outputs["is_bridge"] > 0) & (inputs["A"] != 0)
    return marked if names is None else _name_edges(marked, names)


def format_common_subsequence(inputs: Arrays, outputs: Arrays, names: Names) -> Any:
    """The letters that `b` matches: a text if texts were given, else class numbers."""
    classes, ways = inputs["key"].argmax(-1), outputs["b"].argmax(-1)
    start = int((inputs["string"] > 0).argmax())
    i, j, matched = start - 1, len(classes) - 1, []
    while i >= 0 and j >= start and ways[i, j] < 3:
        if ways[i, j] == 0:
            matched.append(i)
        i, j = i - (ways[i, j] in (0, 1)), j - (ways[i, j] in (0, 2))
    matched.reverse()
    return classes[matched] if names is None else "".join(str(names[i]) for i in matched)


def format_product_order(inputs: Arrays, outputs: Arrays, names: Names) -> Any:
    """Which matrices, counted from 0, are multiplied first: ((0, 1), 2).

    Chains that are not split within their range stay flat: (0, 1, 2).
    """
    splits = outputs["s"][1:, 1:].astype(int) - 1

    def product(i: int, j: int) -> Any:
        if i == j:
            return i
        k = int(splits[i, j])
        return (product(i, k), product(k + 1, j)) if i <= k < j else tuple(range(i, j + 1))

    return product(0, len(splits) - 1)


def format_search_tree(inputs: Arrays, outputs: Arrays, names: Names) -> np.ndarray:
    """The parent of each key in the search tree; the root's is itself, a key without one has -1."""
    roots = outputs["root"]
    parents = np.full(len(roots) - 1, -1)
    ranges = [(0, len(roots) - 1, -1)]  # the keys between two gaps, and the key above them
    while ranges:
        i, j, above = ranges.pop()
        root = int(roots[i, j])
        if i == j or not i <= root < j:
            continue
        parents[root] = root if above < 0 else above
        ranges += [(i, root, root), (root + 1, j, root)]
    return parents
