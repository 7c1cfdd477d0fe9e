"""Graphs as arrays: matrices, sparse ones, `edge_index`, and lists that may be either."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from algorist.algorithms.user_inputs.edge_lists import EdgeList, GraphOptions, parse_weight
from algorist.algorithms.user_inputs.edge_tables import read_rows
from algorist.errors import LARGEST_WHOLE, expect_exact, shorten


def read_edge_index(
    index: Any,
    weights: Any,
    options: GraphOptions,
    nodes: int | None = None,
    source: str = "'edge_weight'",
) -> EdgeList:
    """An array (2, E) of from and to, by number, as PyTorch Geometric has it."""
    ends = np.asarray(to_numpy(index))
    is_whole = ends.dtype.kind in "iu" or (ends.dtype.kind == "f" and _are_whole(ends))
    if ends.ndim != 2 or len(ends) != 2 or not is_whole or (ends < 0).any():
        raise ValueError(
            f"{options.place}: got {shorten(index)}, expected an edge_index: two rows of node "
            "numbers, from and to"
        )
    if isinstance(options.weight, str) and weights is None:
        raise ValueError(
            f"{options.place}: weight: got {options.weight!r} with an edge_index, which has no "
            "attributes, expected its weights as edge_weight"
        )
    n = int(ends.max(initial=-1)) + 1 if nodes is None else _count(nodes, options)
    if ends.size and ends.max() >= n:
        raise ValueError(
            f"{options.place}: got the node {int(ends.max())}, expected nodes from 0 to {n - 1}"
        )
    if weights is not None and options.weight is not None:
        values = np.ravel(np.asarray(to_numpy(weights)))
        if len(values) != ends.shape[1]:
            raise ValueError(
                f"edge_weight: got {len(values)} weights, expected one for each of the "
                f"{ends.shape[1]} edges"
            )
        weights = np.array([parse_weight(x, "edge_weight") for x in values.tolist()])
    return EdgeList(
        None,
        n,
        ends.T.astype(np.int64),
        weights if options.weight is not None else None,
        source,
        directed=True,
        place=lambda edge: options.place,
    )


def _count(nodes: Any, options: GraphOptions) -> int:
    count = nodes.item() if hasattr(nodes, "item") else nodes
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ValueError(
            f"{options.place}: got {shorten(nodes)} for num_nodes, expected a whole number"
        )
    return count


def to_numpy(value: Any) -> Any:
    """A torch tensor, on any device, as an array; all else as it is."""
    if not hasattr(value, "detach"):
        return value
    tensor = value.detach().cpu()
    try:
        return tensor.numpy()
    except TypeError:  # bfloat16, which numpy does not have
        return tensor.float().numpy()


def expect_no_rounding(name: str, value: Any, array: np.ndarray, fix: str) -> None:
    """Refuse whole numbers that are too large for floats: different ones would become equal."""
    if np.abs(array).max(initial=0) < LARGEST_WHOLE:
        return
    given = np.asarray(value)
    if given.dtype.kind not in "iuO":
        return
    for one in given.ravel().tolist():
        if isinstance(one, int):
            expect_exact(name, one, fix)


def _are_whole(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and not (values % 1).any())


def read_tensor(graph: Any, options: GraphOptions) -> EdgeList:
    """A torch tensor or a sparse matrix of scipy's; entries listed twice are summed, as theirs."""
    if not hasattr(graph, "tocoo"):
        tensor = graph.detach().cpu()
        if str(tensor.layout) == "torch.strided":
            return read_array(to_numpy(tensor), options)
        entries = tensor.to_sparse_coo().coalesce()
        (rows, columns), data = entries.indices().numpy(), to_numpy(entries.values())
    else:
        entries = graph.tocoo().copy()
        if hasattr(entries, "sum_duplicates"):
            entries.sum_duplicates()
        rows, columns, data = entries.row, entries.col, entries.data
    if graph.shape[0] != graph.shape[1]:
        raise ValueError(f"{options.place}: got {tuple(graph.shape)}, expected a square matrix")
    return _from_entries(np.stack((rows, columns), 1), data, graph.shape[0], options)


def _from_entries(
    ends: np.ndarray,
    weights: np.ndarray,
    n: int,
    options: GraphOptions,
    names: tuple[Hashable, ...] | None = None,
) -> EdgeList:
    """The entries of a matrix, which says itself which way its edges lead."""
    edges = EdgeList(
        names,
        n,
        ends.astype(np.int64),
        np.asarray(weights, np.float64),
        "the matrix",
        directed=True,
        place=lambda edge: options.place,
    )
    if isinstance(options.weight, str):
        raise ValueError(
            f"{options.place}: weight: got {options.weight!r} with a matrix, expected none: "
            "its entries are the weights"
        )
    bad = np.isnan(edges.weights) | np.isneginf(edges.weights)  # type: ignore[arg-type]
    if bad.any():
        edges.refuse(int(bad.argmax()), f"{weights[bad.argmax()]}", "expected finite numbers")
    return replace(edges, weights=None) if options.weight is None else edges


def read_matrix(
    value: Any, options: GraphOptions, names: tuple[Hashable, ...] | None = None
) -> EdgeList:
    """A square matrix of weights; 0 and inf mean that there is no edge."""
    try:
        matrix = np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{options.place}: got {shorten(value)}, expected numbers in one rectangular array"
        ) from None
    expect_no_rounding(options.place, value, matrix, "use a larger unit")
    if matrix.ndim != 2 or len(matrix) != matrix.shape[1]:
        raise ValueError(
            f"{options.place}: got shape {matrix.shape}, expected a square matrix, edges as "
            "[from, to] or [from, to, weight], or a mapping of nodes to their neighbours"
        )
    if names is not None and len(names) != len(matrix):
        raise ValueError(
            f"{options.place}: got {len(names)} names for nodes, expected {len(matrix)}"
        )
    ends = np.argwhere(matrix != 0)
    return _from_entries(ends, matrix[matrix != 0], len(matrix), options, names)


def read_array(array: np.ndarray, options: GraphOptions) -> EdgeList:
    """A numpy array: a matrix, an `edge_index` (2, E), or edges (E, 2) and (E, 3)."""
    if options.edge_weight is not None:
        return read_edge_index(array, options.edge_weight, options)
    if array.dtype.kind not in "iubfOUS":
        raise ValueError(
            f"{options.place}: got an array of {array.dtype}, expected real numbers or names"
        )
    if array.ndim == 2 and array.dtype.kind in "OUS":  # names
        return read_list(array.tolist(), options)
    if array.ndim != 2 or (array.shape[0] == array.shape[1] and array.shape[0] > 3):
        return read_matrix(array, options)
    (rows, columns), is_whole = array.shape, array.dtype.kind in "iub"
    if rows == columns:
        is_matrix = rows == 2 and (not is_whole or array.dtype.kind == "b")
        if rows == 2 and not is_matrix:
            _expect_one_reading(array, options)
        return read_matrix(array, options) if is_matrix else read_list(array.tolist(), options)
    has_ends = _are_whole(array[:, :2])
    if rows == 2 and columns == 3 and has_ends:
        raise ValueError(
            f"{options.place}: got an array of shape (2, 3), which can be an edge_index of three "
            "edges or two edges with weights, expected A={'edge_index': A} or A={'edges': A}"
        )
    if rows == 2 and is_whole:
        return read_edge_index(array, None, options)
    if columns in (2, 3) and has_ends:
        ends = array[:, :2].astype(int).tolist()
        weights = array[:, 2:].tolist()
        return read_rows([(*e, *w) for e, w in zip(ends, weights, strict=True)], options)
    return read_matrix(array, options)


def _expect_one_reading(array: np.ndarray, options: GraphOptions) -> None:
    """Refuse two rows of two whole numbers that can be an `edge_index` for another graph."""
    can_be_index = (array >= 0).all() and (array[0] != array[1]).all()
    if can_be_index and not np.array_equal(array, [[0, 1], [1, 0]]):
        raise ValueError(
            f"{options.place}: got {shorten(array)}, which can be an edge_index, a matrix or two "
            "edges, expected A={'edge_index': A}, A={'matrix': A} or A={'edges': A}"
        )


def read_list(rows: list[Any], options: GraphOptions) -> EdgeList:
    """A list of rows: edges, or the rows of a matrix."""
    if options.edge_weight is not None:
        return read_edge_index(rows, options.edge_weight, options)
    widths = {len(row) if isinstance(row, Sequence | np.ndarray) else 0 for row in rows}
    is_square = widths == {len(rows)} and not any(isinstance(row, str) for row in rows)
    if not rows:
        raise ValueError(f"{options.place}: got no edges, expected a graph")
    if not is_square or len(rows) == 1:
        is_table = len(widths) == 1 and len(rows) > 1 and not widths & {0, 2, 3}
        return read_matrix(rows, options) if is_table or is_square else read_rows(rows, options)
    cells = [cell.item() if hasattr(cell, "item") else cell for row in rows for cell in row]
    named = [not isinstance(cell, int | float) for row in rows for cell in row[:2]]
    if len(rows) in (2, 3) and all(named):
        return read_rows(rows, options)
    if any(not isinstance(cell, int | float) for cell in cells):
        return read_matrix(rows, options)  # which says what is no number
    if can_be_edges(cells, len(rows)):
        raise ValueError(
            f"{options.place}: got {shorten(rows)}, which can be the rows of a matrix or "
            f"{len(rows)} edges, expected {{'matrix': [...]}} or {{'edges': [...]}} to say which"
        )
    return read_matrix(rows, options)


def can_be_edges(cells: Sequence[Any], n: int) -> bool:
    """Whether the rows of a square matrix of numbers could be edges that make another graph.

    Matrices of 0 and 1, and those without self-loops, whose last row would be an edge of weight 0,
    are taken for what they are.
    """
    rows = np.array(cells, np.float64).reshape(n, n)
    if n not in (2, 3) or not _are_whole(rows[:, :2]) or (rows[:, :2] < 0).any():
        return False
    if n == 3:
        is_weighted = np.count_nonzero(rows[:, 2]) > 1 and not np.isin(rows, (0, 1)).all()
        return bool(is_weighted and rows.diagonal().any())
    same_graph = (rows == [[0, 1], [1, 0]]).all()
    return (
        bool(all(type(cell) is int for cell in cells) and not same_graph)
        and not (rows[:, 0] == rows[:, 1]).any()
    )
