"""The forms in which people hold graphs, each turned into a list of edges."""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from algorist.algorithms.edge_lists import (
    UNSET,
    WEIGHT_LIKE,
    EdgeList,
    FileGraph,
    GraphOptions,
    index_nodes,
    parse_weight,
)
from algorist.algorithms.edge_tables import (
    EdgeTable,
    read_attributes,
    read_dataframe,
    read_rows,
    read_table,
)
from algorist.errors import shortened, unknown

_WRAPPERS = ("matrix", "edges", "links", "edge_index")
_BESIDE = {"nodes", "directed", "weight", "multigraph", "graph", "edge_weight", "num_nodes"}


def list_edges(graph: Any, options: GraphOptions) -> EdgeList:
    """The edges of a graph; what could be read in two ways is refused with both."""
    if isinstance(graph, FileGraph):
        return list_edges(graph.value, replace(options, place=graph.path))
    if isinstance(graph, EdgeTable):
        return read_table(graph, options)
    if _is_networkx(graph):
        return _read_networkx(graph, options)
    if hasattr(graph, "itertuples") and hasattr(graph, "columns"):
        return _read_pandas(graph, options)
    if hasattr(graph, "edge_index") and not isinstance(graph, Mapping):
        return _read_data(graph, options)
    if hasattr(graph, "tocoo") or hasattr(graph, "detach"):
        return _read_tensor(graph, options)
    if isinstance(graph, Mapping):
        return _read_mapping(graph, options)
    if isinstance(graph, np.ndarray):
        return _read_array(graph, options)
    if isinstance(graph, str) or not isinstance(graph, Iterable):
        raise ValueError(
            f"{options.place}: got {shortened(graph)}, expected a graph: a matrix, edges, or a "
            "mapping of nodes to their neighbours"
        )
    return _read_list(list(graph), options)


def _is_networkx(graph: Any) -> bool:
    networkx = sys.modules.get("networkx")  # whoever holds such a graph has imported it
    return networkx is not None and isinstance(graph, networkx.Graph)


def _read_networkx(graph: Any, options: GraphOptions) -> EdgeList:
    edges = list(graph.edges(data=True))
    return read_attributes(
        [(u, v) for u, v, _ in edges],
        [attributes for _, _, attributes in edges],
        options,
        nodes=list(graph),
        place=lambda edge: options.place,
        directed=graph.is_directed(),
        parallel=graph.is_multigraph(),
    )


def _read_pandas(frame: Any, options: GraphOptions) -> EdgeList:
    """A DataFrame of edges, or an adjacency matrix whose rows have the names of its columns."""
    if list(frame.index) != list(frame.columns):
        return read_dataframe(frame, options)
    if list(frame.columns) == list(range(len(frame))):
        return _read_list(frame.to_numpy().tolist(), options)
    return _read_matrix(frame.to_numpy(), options, tuple(frame.columns))


def _read_data(data: Any, options: GraphOptions) -> EdgeList:
    """PyTorch Geometric's `Data`: an `edge_index`, and weights in one of its attributes."""
    index = _to_numpy(data.edge_index)
    columns = {}
    for name in data.keys() if callable(data.keys) else data.keys:
        value = _to_numpy(getattr(data, name))
        per_edge = isinstance(value, np.ndarray) and value.size == len(value) == index.shape[-1]
        if per_edge and (name.startswith("edge") or name in ("weight", *WEIGHT_LIKE)):
            columns[name] = value.reshape(-1)
    chosen = options.weight
    if isinstance(chosen, str) and chosen not in columns:
        raise ValueError(f"{options.place}: weight: {unknown('edge attribute', chosen, columns)}")
    if chosen is UNSET:
        named = [name for name in ("edge_weight", "weight") if name in columns]
        like = [name for name in columns if name in WEIGHT_LIKE]
        if options.weighted and like and not named and options.edge_weight is None:
            raise ValueError(
                f"{options.place}: got edges with {like[0]!r} and no 'edge_weight', expected "
                f"weight={like[0]!r} if these are the weights, or weight=None if every edge weighs "
                "1"
            )
        chosen = named[0] if named else None
    weights = options.edge_weight if chosen is None else columns[chosen]
    nodes = getattr(data, "num_nodes", None)
    return _read_edge_index(index, weights, options, nodes, repr(chosen or "edge_weight"))


def _read_edge_index(
    index: Any,
    weights: Any,
    options: GraphOptions,
    nodes: int | None = None,
    source: str = "'edge_weight'",
) -> EdgeList:
    """An array (2, E) of from and to, by number, as PyTorch Geometric has it."""
    ends = np.asarray(_to_numpy(index))
    is_whole = ends.dtype.kind in "iu" or (ends.dtype.kind == "f" and not (ends % 1).any())
    if ends.ndim != 2 or len(ends) != 2 or not is_whole or (ends < 0).any():
        raise ValueError(
            f"{options.place}: got {shortened(index)}, expected an edge_index: two rows of node "
            "numbers, from and to"
        )
    n = int(ends.max(initial=-1)) + 1 if nodes is None else int(nodes)
    if ends.size and ends.max() >= n:
        raise ValueError(
            f"{options.place}: got the node {int(ends.max())}, expected nodes from 0 to {n - 1}"
        )
    if weights is not None and options.weight is not None:
        values = np.ravel(np.asarray(_to_numpy(weights)))
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


def _to_numpy(value: Any) -> Any:
    """A torch tensor, on any device, as an array; all else as it is."""
    if not hasattr(value, "detach"):
        return value
    return value.detach().cpu().numpy()


def _read_tensor(graph: Any, options: GraphOptions) -> EdgeList:
    """A torch tensor or a sparse matrix of scipy's; entries listed twice are summed, as theirs."""
    if not hasattr(graph, "tocoo"):
        tensor = graph.detach().cpu()
        if str(tensor.layout) == "torch.strided":
            return _read_array(tensor.numpy(), options)
        entries = tensor.to_sparse_coo().coalesce()
        (rows, columns), data = entries.indices().numpy(), entries.values().numpy()
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


def _read_matrix(
    value: Any, options: GraphOptions, names: tuple[Hashable, ...] | None = None
) -> EdgeList:
    """A square matrix of weights; 0 and inf mean that there is no edge."""
    try:
        matrix = np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{options.place}: got {shortened(value)}, expected numbers in one rectangular array"
        ) from None
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


def _read_array(array: np.ndarray, options: GraphOptions) -> EdgeList:
    """A numpy array: a matrix, an `edge_index` (2, E), or edges (E, 2) and (E, 3)."""
    if options.edge_weight is not None:
        return _read_edge_index(array, options.edge_weight, options)
    if array.ndim != 2 or (array.shape[0] == array.shape[1] and array.shape[0] > 3):
        return _read_matrix(array, options)
    rows, columns = array.shape
    whole = array.dtype.kind in "iub"
    if rows == columns:
        is_float_pair = rows == 2 and not whole
        readable = array.tolist() if not is_float_pair else None
        return _read_matrix(array, options) if readable is None else _read_list(readable, options)
    if rows == 2 and columns == 3 and not array[:, :2].astype(float).__mod__(1).any():
        raise ValueError(
            f"{options.place}: got an array of shape (2, 3), which can be an edge_index of three "
            "edges or two edges with weights, expected A={'edge_index': A} or A={'edges': A}"
        )
    if rows == 2 and whole:
        return _read_edge_index(array, None, options)
    if columns in (2, 3) and not (array[:, :2] % 1).any():
        ends = array[:, :2].astype(int).tolist()
        weights = array[:, 2:].tolist()
        return read_rows([(*e, *w) for e, w in zip(ends, weights, strict=True)], options)
    return _read_matrix(array, options)


def _read_list(rows: list[Any], options: GraphOptions) -> EdgeList:
    """A list of rows: edges, or the rows of a matrix."""
    if options.edge_weight is not None:
        return _read_edge_index(rows, options.edge_weight, options)
    widths = {len(row) if isinstance(row, Sequence | np.ndarray) else 0 for row in rows}
    is_square = widths == {len(rows)} and not any(isinstance(row, str) for row in rows)
    if not rows:
        raise ValueError(f"{options.place}: got no edges, expected a graph")
    if not is_square or len(rows) == 1:
        is_table = len(widths) == 1 and len(rows) > 1 and not widths & {0, 2, 3}
        return _read_matrix(rows, options) if is_table or is_square else read_rows(rows, options)
    cells = [cell.item() if hasattr(cell, "item") else cell for row in rows for cell in row]
    named = [not isinstance(cell, int | float) for row in rows for cell in row[:2]]
    if len(rows) in (2, 3) and all(named):
        return read_rows(rows, options)
    if any(not isinstance(cell, int | float) for cell in cells):
        return _read_matrix(rows, options)  # which says what is no number
    if _can_be_edges(cells, len(rows)):
        raise ValueError(
            f"{options.place}: got {shortened(rows)}, which can be the rows of a matrix or "
            f"{len(rows)} edges, expected {{'matrix': [...]}} or {{'edges': [...]}} to say which"
        )
    return _read_matrix(rows, options)


def _can_be_edges(cells: Sequence[Any], n: int) -> bool:
    """Whether the rows of a square matrix of numbers could be edges that make another graph.

    Matrices of 0 and 1, and those without self-loops, whose last row would be an edge of weight 0,
    are taken for what they are.
    """
    rows = np.array(cells, np.float64).reshape(n, n)
    if n not in (2, 3) or (rows[:, :2] % 1).any() or (rows[:, :2] < 0).any():
        return False
    if n == 3:
        is_weighted = np.count_nonzero(rows[:, 2]) > 1 and not np.isin(rows, (0, 1)).all()
        return bool(is_weighted and rows.diagonal().any())
    same_graph = (rows == [[0, 1], [1, 0]]).all()
    return (
        bool(all(type(cell) is int for cell in cells) and not same_graph)
        and not (rows[:, 0] == rows[:, 1]).any()
    )


def _read_mapping(graph: Mapping[Any, Any], options: GraphOptions) -> EdgeList:
    """A mapping of nodes to neighbours; or one that says in which form it holds a graph."""
    form = next((key for key in _WRAPPERS if key in graph), None)
    if form is not None and set(graph) <= {*_BESIDE, form}:
        return _read_wrapper(form, graph, options)
    return _read_neighbours(graph, options)


def _read_wrapper(form: str, graph: Mapping[str, Any], options: GraphOptions) -> EdgeList:
    """`matrix`, `edges`, `links` or `edge_index`, and beside it `nodes`, `directed`, `weight`."""
    says = graph.get("directed")
    if says is not None and not isinstance(says, bool):
        raise ValueError(
            f"{options.place}: got {shortened(says)} for directed, expected true or false"
        )
    if "weight" in graph and options.weight is UNSET:
        options = replace(options, weight=graph["weight"])
    nodes = graph.get("nodes", [])
    if isinstance(nodes, str) or not isinstance(nodes, Collection):
        raise ValueError(f"{options.place}: got {shortened(nodes)} for nodes, expected a list")
    named = [node["id"] if isinstance(node, Mapping) and "id" in node else node for node in nodes]
    if form == "edge_index":
        count = graph.get("num_nodes", len(named) or None)
        edges = _read_edge_index(graph[form], graph.get("edge_weight"), options, count)
    elif form == "matrix":
        names = (
            index_nodes([], str, [(name, options.place) for name in named])[0] if named else None
        )
        edges = _read_matrix(graph[form], options, names)
    else:
        rows = graph[form]
        if isinstance(rows, str) or not isinstance(rows, Iterable):
            raise ValueError(f"{options.place}: got {shortened(rows)}, expected a list of edges")
        rows = [list(row) if isinstance(row, np.ndarray) else row for row in rows]
        edges = read_rows(rows, options, named)
        if not edges.n:
            raise ValueError(f"{options.place}: got no nodes, expected a graph")
        edges = replace(edges, parallel=graph.get("multigraph") is True)
    if says is None:
        return edges
    if options.directed is None or says == options.directed:
        return replace(edges, directed=says if edges.directed is None else edges.directed and says)
    raise ValueError(
        f"{options.place}: got directed: {str(says).lower()} in the graph and the opposite beside "
        "it, expected them to agree"
    )


def _read_neighbours(graph: Mapping[Any, Any], options: GraphOptions) -> EdgeList:
    """{node: [neighbour, ...]} or {node: {neighbour: weight}}: each entry is an edge from, to."""
    if not graph:
        raise ValueError(f"{options.place}: got no nodes, expected a graph")
    if isinstance(options.weight, str):
        nested = [n for n in graph.values() if isinstance(n, Mapping)]
        if not nested or not all(isinstance(x, Mapping) for n in nested for x in n.values()):
            raise ValueError(
                f"{options.place}: weight: got {options.weight!r}, but a mapping of nodes to "
                "neighbours has no attributes, expected none"
            )
    keys = {str(key): key for key in graph}
    pairs: list[tuple[Any, Any]] = []
    found: list[dict[str, Any]] = []
    for node, neighbours in graph.items():
        if not isinstance(neighbours, Collection) or isinstance(neighbours, str):
            raise ValueError(
                f"{options.place}: got {shortened(neighbours)} for the node {node!r}, expected its "
                "neighbours: a list, or a mapping to weights"
            )
        for other in neighbours:
            if not isinstance(other, Hashable):
                raise ValueError(
                    f"{options.place}: got {shortened(neighbours)} for the node {node!r}, "
                    "expected the names of its neighbours"
                )
            pairs.append((node, other if other in graph else keys.get(str(other), other)))
            value = neighbours[other] if isinstance(neighbours, Mapping) else UNSET
            weight = {} if value is UNSET else {"weight": value}
            found.append(dict(value) if isinstance(value, Mapping) else weight)
    edges = read_attributes(
        pairs, found, options, nodes=list(graph), place=lambda edge: options.place
    )
    plain = "the mapping" if options.weight is UNSET else edges.weights_from
    return replace(edges, directed=True, weights_from=plain)
