"""Files that users bring: numbers, pairs of numbers and graphs, as CSV or JSON."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from algorist.errors import counted, shortened

LARGEST = 64 * 2**20
"""Bytes of a file, at most."""
STDIN = "-"

_SEPARATORS = (";", "\t", ",")
"""What is tried, in this order: where others separate, commas are part of numbers and names."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_HEADINGS = (
    {"from", "source", "src", "start", "u", "node"},
    {"to", "target", "dst", "end", "v", "node"},
)
"""What the columns of the two ends of edges may be called."""
_COMMENT = "#"


class Pasted(str):
    """A text that a user pasted, where others name a file: its path is what messages call it."""

    text: str

    def __new__(cls, called: str, text: str) -> Pasted:
        """The text that messages shall call so."""
        pasted = super().__new__(cls, called)
        pasted.text = text
        return pasted


Graph = dict[Hashable, dict[Hashable, Any]]
"""The neighbours of each node, with weights."""


def text_of(option: str, path: str) -> str:
    """What is in a text file; `-` is the standard input."""
    text = path.text if isinstance(path, Pasted) else _read(option, path)
    if not text.strip():
        raise ValueError(f"{path}: got an empty file, expected numbers or edges")
    return text


def _read(option: str, path: str) -> str:
    if path != STDIN and (not Path(path).exists() or Path(path).is_dir()):
        raise ValueError(f"{option}: got {shortened(path)}, expected a file that exists")
    if path == STDIN:
        data = sys.stdin.buffer.read(LARGEST + 1)
    else:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"{path}: got more than {LARGEST >> 20} MB, expected a smaller file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: got bytes that are no UTF-8 at {error.start}, expected a text file"
        ) from None


Row = tuple[int, list[str]]
"""The number of a line, and its cells."""


def rows_of(path: str, text: str) -> Iterator[Row]:
    """The lines of a CSV file that are neither empty nor comments: their numbers and cells.

    Where semicolons or tabs separate, a comma is a decimal point.
    """
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith(_COMMENT)
    ]
    separator = next((s for _, line in lines for s in _SEPARATORS if s in line), None)
    for number, line in lines:
        if separator is None:
            yield number, line.split()
            continue
        try:
            (cells,) = csv.reader([line], delimiter=separator, strict=True)
        except (csv.Error, ValueError):
            raise ValueError(
                f"{path}, line {number}: got {shortened(line)}, expected values separated by "
                f"{separator!r}"
            ) from None
        yield number, [_with_point(cell.strip(), separator) for cell in cells]


def _with_point(cell: str, separator: str) -> str:
    is_decimal = separator != "," and _DECIMAL_COMMA.fullmatch(cell)
    return cell.replace(",", ".") if is_decimal else cell


def json_of(path: str, text: str) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except _TwiceError as error:
        raise ValueError(f"{path}: got the key {error} twice, expected each once") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: got {_where(error)}, expected JSON") from None


class _TwiceError(ValueError):
    """An object has a key twice, of which one would be lost."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(shortened(key))
        found[key] = value
    return found


def _where(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} at line {error.lineno}, column {error.colno}"
    return "lists within lists without end" if isinstance(error, RecursionError) else str(error)


def is_json(path: str, text: str) -> bool:
    """Whether a file is meant to be JSON, by its name or its first character."""
    return path.endswith(".json") or text.lstrip()[:1] in ("{", "[")


def number(place: str, text: str) -> float:
    """A finite number."""
    with suppress(TypeError, ValueError, OverflowError):
        if math.isfinite(value := float(text)):
            return value
    raise ValueError(f"{place}: got {shortened(text)}, expected a finite number")


def table(path: str, text: str, columns: int) -> list[list[float]]:
    """The numbers of a CSV file, each row with so many; a first row of words is a heading."""
    found: list[list[float]] = []
    for line, cells in _below_heading(rows_of(path, text)):
        if len(cells) != columns:
            raise ValueError(
                f"{path}, line {line}: got {counted(len(cells), 'value')}, "
                f"expected {columns} in each line"
            )
        found.append([number(f"{path}, line {line}", cell) for cell in cells])
    if not found:
        raise ValueError(f"{path}: got no numbers, expected {columns} in each line")
    return found


def _below_heading(rows: Iterable[Row]) -> Iterator[Row]:
    """All rows but a first one of words."""
    for index, (line, cells) in enumerate(rows):
        if index or any(map(_is_number, cells)):
            yield line, cells


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def numbers(path: str, text: str) -> list[float]:
    """All numbers of a CSV file, in as many lines as it may have; a heading is passed over."""
    found: list[float] = []
    for line, cells in _below_heading(rows_of(path, text)):
        found += [number(f"{path}, line {line}", cell) for cell in cells if cell]
    if not found:
        raise ValueError(f"{path}: got no numbers, expected one or more")
    return found


def graph(path: str, text: str, *, directed: bool | None, usually: bool) -> Any:
    """A graph by the names of its nodes or, where the file holds a matrix, that.

    `directed` is what the user said, which may be nothing; `usually` what is so if nobody says.
    """
    default = usually if directed is None else directed
    if not is_json(path, text):
        found = _joined(path, _edges_in_csv(path, text), default)
        if not any(found.values()):
            raise ValueError(f"{path}: got no edges, expected lines of from,to or from,to,weight")
        return found
    value = json_of(path, text)
    if isinstance(value, list):
        if not _is_square(value):
            return _joined(path, _edges_in_list(path, value), default)
        if directed is not None:
            raise ValueError(
                f"{path}: got a matrix, which says itself which way its edges go, expected nothing "
                "else that does"
            )
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"{path}: got {shortened(value)}, expected edges, neighbours or a matrix")
    listed = value.get("edges", value.get("links"))
    if not isinstance(listed, list):
        return _joined(path, _edges_in_mapping(path, value), default)
    said = value.get("directed", usually)
    if not isinstance(said, bool):
        raise ValueError(f"{path}: got {shortened(said)} for directed, expected true or false")
    if directed is None:
        default = said
    nodes = value.get("nodes", [])
    if not isinstance(nodes, list):
        raise ValueError(f"{path}: got {shortened(nodes)} for nodes, expected a list")
    alone = [(path, [_name(path, node)]) for node in nodes]
    return _joined(path, [*alone, *_edges_in_list(path, listed)], default)


def _is_square(rows: Sequence[Any]) -> bool:
    """Whether rows are those of a matrix, and no edges."""
    return all(isinstance(row, list) and len(row) == len(rows) for row in rows) and not any(
        isinstance(cell, str) for row in rows for cell in row
    )


Edge = tuple[str, list[Any]]
"""Where it stands, and one node or two, and perhaps a weight."""


def _edges_in_csv(path: str, text: str) -> Iterator[Edge]:
    rows = list(rows_of(path, text))
    if _has_heading([cells for _, cells in rows]):
        del rows[0]
    for line, cells in rows:
        yield f"{path}, line {line}", cells


def _has_heading(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns, and is no edge: a node may be called `start` too."""
    first = rows[0] if len(rows) > 1 else ()
    if len(first) < 2 or any(map(_is_number, first[2:])):
        return False
    is_known = [cell.lower() in known for cell, known in zip(first, _HEADINGS, strict=False)]
    nodes = {cell for cells in rows[1:] for cell in cells[:2]}
    return all(is_known) and nodes.isdisjoint(first[:2])


def _edges_in_mapping(path: str, value: Mapping[str, Any]) -> Iterator[Edge]:
    for node, neighbours in value.items():
        yield path, [node]
        if not isinstance(neighbours, list | Mapping):
            raise ValueError(
                f"{path}: got {shortened(neighbours)} for {shortened(node)}, "
                "expected its neighbours: a list, or an object with weights"
            )
        for other in neighbours:
            weight = [neighbours[other]] if isinstance(neighbours, Mapping) else []
            yield path, [node, _name(path, other), *weight]


def _edges_in_list(path: str, listed: Iterable[Any]) -> Iterator[Edge]:
    for edge in listed:
        if isinstance(edge, Mapping) and {"source", "target"} <= edge.keys():
            ends = [_name(path, edge["source"]), _name(path, edge["target"])]
            yield path, [*ends, *([edge["weight"]] if "weight" in edge else [])]
        elif isinstance(edge, list) and len(edge) in (2, 3):
            yield path, [_name(path, edge[0]), _name(path, edge[1]), *edge[2:]]
        else:
            raise ValueError(
                f"{path}: got the edge {shortened(edge)}, expected [from, to] or [from, to, weight]"
            )


def _name(path: str, node: Any) -> str:
    name = node.get("id") if isinstance(node, Mapping) else node
    if not isinstance(name, str | int | float):
        raise ValueError(f"{path}: got the node {shortened(node)}, expected a name")
    return str(name)


def _joined(path: str, edges: Iterable[Edge], directed: bool) -> Graph:
    """The neighbours of each node; of undirected edges both ends know."""
    graph: Graph = {}
    columns = 0
    for place, cells in edges:
        if not 1 <= len(cells) <= 3 or not all(cells[:2]):
            raise ValueError(
                f"{place}: got {shortened(cells)}, expected from, to and perhaps a weight"
            )
        graph.setdefault(cells[0], {})
        if len(cells) == 1:
            continue
        columns = columns or len(cells)
        if len(cells) != columns:
            raise ValueError(
                f"{place}: got {counted(len(cells), 'value')}, expected {columns} as before"
            )
        one, other = cells[:2]
        weight = number(place, cells[2]) if len(cells) == 3 else 1.0
        graph.setdefault(other, {})
        for u, v in ((one, other),) if directed else ((one, other), (other, one)):
            if graph[u].setdefault(v, weight) != weight:
                raise ValueError(
                    f"{place}: got a second edge from {shortened(u)} to {shortened(v)}, "
                    "expected at most one"
                )
    if not graph:
        raise ValueError(f"{path}: got no nodes, expected a graph")
    return graph
