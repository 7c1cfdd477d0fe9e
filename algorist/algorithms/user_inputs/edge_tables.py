"""Edges in rows: CSV files, pandas DataFrames, JSON records, lists of tuples."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from algorist.algorithms.user_inputs.edge_lists import (
    UNSET,
    EdgeList,
    GraphOptions,
    choose_weights,
    index_nodes,
    parse_weight,
)
from algorist.errors import format_count, shorten, unknown

FROM = ("from", "source", "src", "start", "origin", "u")
TO = ("to", "target", "dst", "dest", "destination", "end", "v")
"""What the columns of the two ends are called, the likeliest first."""
_GENERIC = (
    "node|vertex|city|town|place|station|stop|point|person|name|id|user|page|airport|junction"
)
_PAIR = re.compile(rf"(?:{_GENERIC})s?[ _-]?(?:name|id)?[ _-]?(1|2|a|b|i|j|one|two|from|to)")
_DIRECTED_END = re.compile(
    r"(from|to|source|target|src|dst|start|end|origin|destination)[ _-]?\w*"
    r"|\w+[ _-](from|to|source|target|src|dst|start|end|origin|destination)"
)


@dataclass(frozen=True)
class EdgeTable:
    """Rows of two ends and perhaps more; a row of one cell is a node without edges."""

    rows: Sequence[Sequence[Any]]
    places: Sequence[str]
    """Where each row is, for error messages."""
    columns: tuple[Hashable, ...] | None = None
    """What the columns are called; None: there is no heading."""


def are_end_names(one: Any, other: Any) -> bool:
    """Whether two column names are what people call the ends of edges: from, to; city1, city2."""
    first, second = str(one).strip().lower(), str(other).strip().lower()
    if first in (*FROM, "node") and second in (*TO, "node"):
        return True
    return first != second and all(
        _PAIR.fullmatch(name) or _DIRECTED_END.fullmatch(name) for name in (first, second)
    )


def read_table(table: EdgeTable, options: GraphOptions) -> EdgeList:
    """The edges of a table, with the weights that the options or its shape name."""
    lone = [row[0] for row in table.rows if len(row) == 1]
    edges = [(row, place) for row, place in zip(table.rows, table.places, strict=True) if row[1:]]
    width = len(table.columns) if table.columns else len(edges[0][0]) if edges else 0
    for row, place in edges:
        if table.columns is None and not 2 <= len(row) <= 3:
            raise ValueError(f"{place}: got {shorten(row)}, expected from, to, perhaps a weight")
        if len(row) != width:
            values = format_count(len(row), "value")
            raise ValueError(f"{place}: got {values}, expected {width} as before")

    def place_of(edge: int) -> str:
        return edges[edge][1] if edges else options.place

    one, other = _find_ends(table.columns, width, options)
    pairs = [(row[one], row[other]) for row, _ in edges]
    rest = [i for i in range(width) if i not in (one, other)]
    first = _appearing(table, one, other) if lone else ()
    names, ends = index_nodes(pairs, place_of, first)
    listed = EdgeList(names, len(names), ends, place=place_of)
    chosen, unused = _find_weights(table, edges, rest, options, listed.refuse)
    if chosen is None:
        return EdgeList(names, len(names), ends, place=place_of, unused=unused)
    label = None if table.columns is None else table.columns[chosen]
    what = "" if label is None else f" for {label!r}"
    weights = np.array([parse_weight(row[chosen], place, what) for row, place in edges])
    source = "the third column" if label is None else repr(label)
    return EdgeList(names, len(names), ends, weights, source, place=place_of, unused=unused)


def _appearing(table: EdgeTable, one: int, other: int) -> list[tuple[Any, str]]:
    """All nodes in order of appearance, those without edges where they stand."""
    return [
        (cell, place)
        for row, place in zip(table.rows, table.places, strict=True)
        for cell in (row if len(row) == 1 else (row[one], row[other]))
    ]


def _find_ends(
    columns: tuple[Hashable, ...] | None, width: int, options: GraphOptions
) -> tuple[int, int]:
    if columns is None or width < 3:
        return 0, 1
    names = [str(name).strip().lower() for name in columns]
    ends = [[i for i, name in enumerate(names) if name in known] for known in (FROM, TO)]
    if all(ends):
        return ends[0][0], ends[1][0]
    if width == 3 or are_end_names(columns[0], columns[1]):
        return 0, 1
    raise ValueError(
        f"{options.place}: got the columns {', '.join(map(str, columns))}, "
        "expected one called from and one called to"
    )


def _find_weights(
    table: EdgeTable,
    edges: Sequence[tuple[Sequence[Any], str]],
    rest: Sequence[int],
    options: GraphOptions,
    refuse: Callable[[int, str, str], NoReturn],
) -> tuple[int | None, tuple[str, ...]]:
    """The column of the weights, if there is one, and the names of numeric ones not used."""
    if options.weight is None:
        return None, ()
    if table.columns is None:
        if isinstance(options.weight, str):
            raise ValueError(
                f"{options.place}: weight: got {options.weight!r}, but the columns have no names, "
                "expected a heading such as from,to,weight"
            )
        return (rest[0], ()) if rest and options.weighted else (None, ("weights",) if rest else ())
    if len(rest) == 1 and options.weight is UNSET:
        only = str(table.columns[rest[0]])
        return (rest[0], ()) if options.weighted else (None, (only,))
    named = {str(table.columns[i]): [row[i] for row, _ in edges] for i in rest}
    if isinstance(options.weight, str) and options.weight not in named:
        message = unknown("column", options.weight, named)
        raise ValueError(f"{options.place}: weight: {message}")
    numbers = {name: [_as_number(value) for value in values] for name, values in named.items()}
    chosen, unused = choose_weights(numbers, options, refuse)
    where = {str(table.columns[i]): i for i in rest}
    return (None if chosen is None else where[chosen]), unused


def _as_number(value: Any) -> Any:
    """A cell of text as a number, if it is one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def read_dataframe(frame: Any, options: GraphOptions) -> EdgeList:
    """The edges of a pandas DataFrame, one a row."""
    columns = tuple(frame.columns)
    rows = [list(row) for row in frame.itertuples(index=False, name=None)]
    places = [f"{options.place}, row {label}" for label in frame.index]
    if len(columns) < 2:
        raise ValueError(
            f"{options.place}: got a DataFrame with {format_count(len(columns), 'column')}, "
            "expected two for the ends of edges"
        )
    return read_table(EdgeTable(rows, places, columns), options)


def read_rows(rows: Sequence[Any], options: GraphOptions, nodes: Sequence[Any] = ()) -> EdgeList:
    """The edges of a list: (from, to), (from, to, weight), (from, to, {...}), or records."""
    places = [f"{options.place}, edge {i}" for i in range(1, len(rows) + 1)]
    for place, row in zip(places, rows, strict=True):
        is_row = isinstance(row, list | tuple | np.ndarray) and 2 <= len(row) <= 3
        if not is_row and not isinstance(row, Mapping):
            raise ValueError(
                f"{place}: got {shorten(row)}, expected [from, to] or [from, to, weight]"
            )
    if any(isinstance(row, Mapping) or isinstance(row[-1], Mapping) for row in rows):
        return _read_records([_as_record(row) for row in rows], places, options, nodes)
    lone = [[name] for name in nodes]
    table = EdgeTable(
        [*lone, *map(list, rows)], [*[options.place] * len(lone), *places], columns=None
    )
    return read_table(table, options)


def _as_record(row: Any) -> dict[Any, Any]:
    """An edge as a mapping with its ends under `from` and `to`."""
    if not isinstance(row, Mapping):
        rest = row[2:]
        attributes = rest[0] if rest and isinstance(rest[0], Mapping) else {}
        weight = {"weight": rest[0]} if rest and not isinstance(rest[0], Mapping) else {}
        return {**attributes, **weight, "from": row[0], "to": row[1]}
    lower = {str(key).lower(): key for key in row}
    one = next((lower[name] for name in FROM if name in lower), None)
    other = next((lower[name] for name in TO if name in lower), None)
    if one is None or other is None:
        return dict(row)
    attributes = {key: value for key, value in row.items() if key not in (one, other)}
    return {**attributes, "from": row[one], "to": row[other]}


def _read_records(
    records: Sequence[Mapping[Any, Any]],
    places: Sequence[str],
    options: GraphOptions,
    nodes: Sequence[Any],
) -> EdgeList:
    for place, record in zip(places, records, strict=True):
        if "from" not in record or "to" not in record:
            raise ValueError(
                f"{place}: got {shorten(record)}, expected its ends under 'source' and 'target'"
            )
    return read_attributes(
        [(record["from"], record["to"]) for record in records],
        [{k: v for k, v in record.items() if k not in ("from", "to", "key")} for record in records],
        options,
        nodes=nodes,
        place=lambda edge: places[edge] if places else options.place,
    )


def read_attributes(
    pairs: Sequence[tuple[Any, Any]],
    attributes: Sequence[Mapping[str, Any]],
    options: GraphOptions,
    *,
    nodes: Sequence[Any],
    place: Callable[[int], str],
    **says: Any,
) -> EdgeList:
    """Edges that have attributes, of which one may be the weight; `says` is for `EdgeList`."""
    names, ends = index_nodes(pairs, place, ((node, options.place) for node in nodes))
    keys = dict.fromkeys(key for edge in attributes for key in edge)
    columns = {key: [edge.get(key, UNSET) for edge in attributes] for key in keys}
    listed = EdgeList(names, len(names), ends, place=place)
    chosen, unused = choose_weights(columns, options, listed.refuse)
    if chosen is None:
        return EdgeList(names, len(names), ends, place=place, unused=unused, **says)
    weights = np.array(
        [
            parse_weight(x, place(i), f" for {chosen!r} from {u!r} to {v!r}")
            for i, (x, (u, v)) in enumerate(zip(columns[chosen], pairs, strict=True))
        ]
    )
    return EdgeList(
        names, len(names), ends, weights, repr(chosen), place=place, unused=unused, **says
    )
