"""The forms in which people hold graphs, each turned into a list of edges."""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from algorist.algorithms.user_inputs.edge_lists import (
    UNSET,
    WEIGHT_LIKE,
    EdgeList,
    FileGraph,
    GraphOptions,
    index_nodes,
)
from algorist.algorithms.user_inputs.edge_tables import (
    EdgeTable,
    read_attributes,
    read_dataframe,
    read_rows,
    read_table,
)
from algorist.algorithms.user_inputs.graph_arrays import (
    read_array,
    read_edge_index,
    read_list,
    read_matrix,
    read_tensor,
    to_numpy,
)
from algorist.errors import nearest, shorten, unknown

_WRAPPERS = ("matrix", "edges", "links", "edge_index")
_BESIDE = {"nodes", "directed", "weight", "multigraph", "graph", "edge_weight", "num_nodes"}


def list_edges(graph: Any, options: GraphOptions) -> EdgeList:
    """The edges of a graph; what could be read in two ways is refused with both."""
    if isinstance(graph, FileGraph):
        return list_edges(graph.value, replace(options, place=graph.path))
    if options.edge_weight is not None and isinstance(options.weight, str):
        raise ValueError(
            f"weight: got {options.weight!r} beside edge_weight, expected one of the two"
        )
    if options.edge_weight is not None and not _takes_edge_weight(graph):
        raise ValueError(
            "edge_weight: got weights beside a graph that holds its own, expected them beside an "
            "edge_index alone; weight= names the attribute or column with the weights of others"
        )
    if isinstance(graph, EdgeTable):
        return read_table(graph, options)
    if _is_networkx(graph):
        return _read_networkx(graph, options)
    if hasattr(graph, "itertuples") and hasattr(graph, "columns"):
        return _read_pandas(graph, options)
    if hasattr(graph, "edge_index") and not isinstance(graph, Mapping):
        return _read_data(graph, options)
    if hasattr(graph, "tocoo") or hasattr(graph, "detach"):
        return read_tensor(graph, options)
    if isinstance(graph, Mapping):
        return _read_mapping(graph, options)
    if isinstance(graph, np.ndarray):
        return read_array(graph, options)
    if isinstance(graph, str | Path) or not isinstance(graph, Iterable):
        is_file = str(graph).endswith((".csv", ".tsv", ".txt", ".json"))
        hint = "; read the file first, with pandas.read_csv or json.load" if is_file else ""
        raise ValueError(
            f"{options.place}: got {shorten(graph)}, expected a graph: a matrix, edges, or a "
            f"mapping of nodes to their neighbours{hint}"
        )
    return read_list(list(graph), options)


def _takes_edge_weight(graph: Any) -> bool:
    """Whether a graph may be an `edge_index` without weights."""
    if isinstance(graph, Mapping):
        return "edge_index" in graph and "edge_weight" not in graph
    if hasattr(graph, "edge_index"):
        return getattr(graph, "edge_weight", None) is None
    is_sparse = hasattr(graph, "tocoo") or str(getattr(graph, "layout", "")).startswith(
        "torch.sparse"
    )
    return isinstance(graph, list | tuple | np.ndarray) or (
        hasattr(graph, "detach") and not is_sparse
    )


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
        return read_list(frame.to_numpy().tolist(), options)
    return read_matrix(frame.to_numpy(), options, tuple(frame.columns))


def _read_data(data: Any, options: GraphOptions) -> EdgeList:
    """PyTorch Geometric's `Data`: an `edge_index`, and weights in one of its attributes."""
    index = to_numpy(data.edge_index)
    columns: dict[Any, Any] = {}
    for name in _attribute_names(data):
        value = to_numpy(getattr(data, name))
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
        chosen = named[0] if named and options.edge_weight is None else None
    weights = options.edge_weight if chosen is None else columns[chosen]
    nodes = getattr(data, "num_nodes", None)
    return read_edge_index(index, weights, options, nodes, repr(chosen or "edge_weight"))


def _attribute_names(data: Any) -> Iterable[str]:
    """The names that `Data` has, and those of any other object with an `edge_index`."""
    keys = getattr(data, "keys", None)
    if keys is None:
        return list(getattr(data, "_fields", None) or vars(data))
    return keys() if callable(keys) else keys


def _read_mapping(graph: Mapping[Any, Any], options: GraphOptions) -> EdgeList:
    """A mapping of nodes to neighbours; or one that says in which form it holds a graph."""
    form = next((key for key in _WRAPPERS if key in graph), None)
    if form is None:
        return _read_neighbours(graph, options)
    others = set(graph) - {*_BESIDE, form}
    if not others:
        return _read_wrapper(form, graph, options)
    if _holds_rows(graph[form]):
        other = min(others, key=str)
        raise ValueError(
            f"{options.place}: beside {form!r}: {unknown('key', other, sorted(_BESIDE))}"
        )
    return _read_neighbours(graph, options)


def _holds_rows(value: Any) -> bool:
    """Whether a value has rows or records, which no list of neighbours has."""
    is_list = isinstance(value, list | tuple | np.ndarray) and len(value) > 0
    return is_list and all(isinstance(row, list | Mapping | np.ndarray) for row in value)


def _read_wrapper(form: str, graph: Mapping[str, Any], options: GraphOptions) -> EdgeList:
    """`matrix`, `edges`, `links` or `edge_index`, and beside it `nodes`, `directed`, `weight`."""
    says = graph.get("directed")
    if says is not None and not isinstance(says, bool):
        raise ValueError(
            f"{options.place}: got {shorten(says)} for directed, expected true or false"
        )
    if "weight" in graph and options.weight is UNSET:
        if graph["weight"] is not None and not isinstance(graph["weight"], str):
            raise ValueError(
                f"{options.place}: got {shorten(graph['weight'])} for weight, expected the name "
                "of an attribute"
            )
        options = replace(options, weight=graph["weight"])
    if "edge_weight" in graph and form != "edge_index":
        raise ValueError(
            f"{options.place}: got edge_weight beside {form!r}, expected it beside 'edge_index'"
        )
    nodes = graph.get("nodes", [])
    if isinstance(nodes, str) or not isinstance(nodes, Collection):
        raise ValueError(f"{options.place}: got {shorten(nodes)} for nodes, expected a list")
    named = [node["id"] if isinstance(node, Mapping) and "id" in node else node for node in nodes]
    names = _names_of(named, options.place) if named and form in ("edge_index", "matrix") else None
    if form == "edge_index":
        count = len(names) if names else graph.get("num_nodes")
        weights = graph.get("edge_weight", options.edge_weight)
        edges = replace(read_edge_index(graph[form], weights, options, count), names=names)
    elif form == "matrix":
        edges = read_matrix(graph[form], options, names)
    else:
        rows = graph[form]
        if isinstance(rows, str) or not isinstance(rows, Iterable):
            raise ValueError(f"{options.place}: got {shorten(rows)}, expected a list of edges")
        rows = [list(row) if isinstance(row, np.ndarray) else row for row in rows]
        edges = read_rows(rows, options, named)
        if not edges.n:
            raise ValueError(f"{options.place}: got no nodes, expected a graph")
        edges = replace(edges, parallel=graph.get("multigraph") is True)
    if graph.get("num_nodes", edges.n) != edges.n:
        raise ValueError(
            f"{options.place}: got {edges.n} nodes and num_nodes {shorten(graph['num_nodes'])}, "
            "expected the same; 'nodes' lists nodes without edges, too"
        )
    if says is None:
        return edges
    if options.directed is None or says == options.directed:
        return replace(edges, directed=says if edges.directed is None else edges.directed and says)
    raise ValueError(
        f"{options.place}: got directed: {str(says).lower()} in the graph and the opposite beside "
        "it, expected them to agree"
    )


def _names_of(nodes: Collection[Any], place: str) -> tuple[Hashable, ...]:
    """The names that the nodes of a matrix or an `edge_index` have, each once."""
    names, _ = index_nodes([], str, [(name, place) for name in nodes])
    if len(names) != len(nodes):
        twice = next(name for name in names if list(nodes).count(name) > 1)
        raise ValueError(f"{place}: got the node {twice!r} twice, expected each once")
    return names


def _expect_no_weight(
    node: Any, other: Any, graph: Mapping[Any, Any], options: GraphOptions
) -> None:
    """Refuse ("b", 2) among the neighbours of "a": a node called so, or "b" with weight 2?"""
    is_pair = isinstance(other, tuple | list) and len(other) == 2 and isinstance(other[1], Real)
    if is_pair and not isinstance(node, tuple) and (isinstance(other, list) or other not in graph):
        weighted = f"{{{node!r}: {{{other[0]!r}: {other[1]}}}}}"
        raise ValueError(
            f"{options.place}: got the neighbour {other!r} of {node!r}, which can be a node of "
            f"that name or {other[0]!r} with a weight, expected {weighted} for weights, or the "
            "names alone"
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
                f"{options.place}: got {shorten(neighbours)} for the node {node!r}, expected its "
                "neighbours: a list, or a mapping to weights"
            )
        for other in neighbours:
            _expect_no_weight(node, other, graph, options)
            if not isinstance(other, Hashable):
                near = nearest(node, _WRAPPERS)
                hint = f", or {near!r} for {node!r}" if near else ""
                raise ValueError(
                    f"{options.place}: got {shorten(neighbours)} for the node {node!r}, "
                    f"expected the names of its neighbours{hint}"
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
