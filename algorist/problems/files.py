"""Files that users bring: numbers, pairs of numbers and graphs, as CSV or JSON."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from algorist.algorithms.user_inputs.edge_lists import FileGraph, parse_weight
from algorist.algorithms.user_inputs.edge_tables import EdgeTable, are_end_names
from algorist.algorithms.user_inputs.graph_arrays import can_be_edges
from algorist.errors import LARGEST_WHOLE, expect_exact, format_count, shorten

LARGEST = 64 * 2**20
"""Bytes of a file, at most."""
STDIN = "-"

_SEPARATORS = (";", "\t", ",")
"""What is tried, in this order: where others separate, commas are part of numbers and names."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_PERHAPS_DECIMAL = re.compile(r"[+-]?\d+,\d+")
_WHOLE = re.compile(r"[+-]?\d{1,4000}")
_COMMENT = "#"


class Pasted(str):
    """A text that a user pasted, where others name a file: its path is what messages call it."""

    text: str

    def __new__(cls, called: str, text: str) -> Pasted:
        """The text that messages shall call so."""
        pasted = super().__new__(cls, called)
        pasted.text = text
        return pasted


def text_of(option: str, path: str) -> str:
    """What is in a text file; `-` is the standard input."""
    text = path.text if isinstance(path, Pasted) else _read(option, path)
    if not text.strip():
        raise ValueError(f"{path}: got an empty file, expected numbers or edges")
    return text


def _read(option: str, path: str) -> str:
    if path != STDIN and (not Path(path).exists() or Path(path).is_dir()):
        raise ValueError(f"{option}: got {shorten(path)}, expected a file that exists")
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
            f"{path}: got bytes that are no UTF-8 at {error.start}, expected a text file that is "
            "saved as UTF-8"
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
                f"{path}, line {number}: got {shorten(line)}, expected values separated by "
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
            raise _TwiceError(shorten(key))
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
    value = math.nan
    with suppress(TypeError, ValueError, OverflowError):
        value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{place}: got {shorten(text)}, expected a finite number")
    if abs(value) >= LARGEST_WHOLE and _WHOLE.fullmatch(text.strip()):
        expect_exact(place, int(text))
    return value


def table(path: str, text: str, columns: int) -> list[list[float]]:
    """The numbers of a CSV file, in rows of this many; a first row of words is a heading."""
    found: list[list[float]] = []
    for line, cells in _below_heading(rows_of(path, text)):
        if len(cells) != columns:
            raise ValueError(
                f"{path}, line {line}: got {format_count(len(cells), 'value')}, "
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
    """All numbers of a CSV file, in as many lines as it may have; a heading is passed over.

    A table of several columns is refused, and so are lines like 2,5, which may be two and a half.
    """
    rows = list(rows_of(path, text))
    below = list(_below_heading(rows))
    if len(below) < len(rows) and len(below) > 1 and len(rows[0][1]) > 1:
        columns = shorten(", ".join(rows[0][1])).strip("'")
        raise ValueError(f"{path}: got the columns {columns}, expected one, or no heading")
    all_lines = text.splitlines()
    lines = [all_lines[number - 1].strip() for number, _ in below]
    if len(lines) > 1 and all(map(_PERHAPS_DECIMAL.fullmatch, lines)):
        raise ValueError(
            f"{path}: got lines like {lines[-1]}, which can be two numbers or one with a decimal "
            "comma, expected spaces between numbers, or a decimal point"
        )
    found: list[float] = []
    for line, cells in below:
        found += [number(f"{path}, line {line}", cell) for cell in cells if cell]
    if not found:
        raise ValueError(f"{path}: got no numbers, expected one or more")
    return found


def graph(path: str, text: str) -> FileGraph:
    """The graph in a file, to be read as all others are: what JSON holds, or the rows of a CSV."""
    if is_json(path, text):
        return FileGraph(path, json_of(path, text))
    rows = list(rows_of(path, text))
    labelled = _labelled_matrix(path, rows)
    if labelled is not None:
        return FileGraph(path, labelled)
    columns = _heading(path, rows)
    if columns is not None:
        del rows[0]
    if len(rows) == 1 and _can_be_heading(rows[0][1]):
        raise ValueError(
            f"{path}: got the line {shorten(','.join(rows[0][1]))} alone, which can be a heading "
            "or an edge, expected edges below it if it is a heading, or the line from,to above it"
        )
    if not any(len(cells) > 1 for _, cells in rows):
        raise ValueError(f"{path}: got no edges, expected lines of from,to or from,to,weight")
    if columns is None and _is_small_matrix(path, [cells for _, cells in rows]):
        return FileGraph(path, {"matrix": _numbers(path, rows)})
    places = [f"{path}, line {line}" for line, _ in rows]
    return FileGraph(path, EdgeTable([cells for _, cells in rows], places, columns))


def _can_be_heading(cells: Sequence[str]) -> bool:
    """Whether a line alone looks like the names of columns; u,v is an edge."""
    return len(cells) > 1 and len(cells[0]) > 1 and are_end_names(*cells[:2])


def _labelled_matrix(path: str, rows: Sequence[Row]) -> Any:
    """A matrix, with or without the names of its nodes in the first line and column.

    Lines of two values are edges, and those of three too, but for small matrices (below).
    """
    cells = [row for _, row in rows]
    widths = {len(row) for row in cells}
    if len(widths) != 1 or widths & {1, 2, 3} or abs(len(cells) - max(widths)) > 0:
        return None
    names = cells[0][1:]
    if len(cells) > 1 and names == [row[0] for row in cells[1:]] and not _are_numbers(names):
        body = [[_weight(path, line, x) for x in row[1:]] for line, row in rows[1:]]
        return {"matrix": body, "nodes": names}
    if all(map(_are_numbers, cells)):
        return {"matrix": _numbers(path, rows)}
    return None


def _numbers(path: str, rows: Sequence[Row]) -> list[list[float]]:
    return [[_weight(path, line, cell) for cell in cells] for line, cells in rows]


def _is_small_matrix(path: str, rows: Sequence[Sequence[str]]) -> bool:
    """Whether three lines of three numbers are a matrix; refuses them if they can be edges too."""
    if [len(cells) for cells in rows] != [3, 3, 3] or not all(map(_are_numbers, rows)):
        return False
    if can_be_edges([float(cell) for cells in rows for cell in cells], 3):
        raise ValueError(
            f"{path}: got three lines of three numbers, which can be a matrix or three edges, "
            'expected the line from,to,weight above them, or {"matrix": [...]} as JSON'
        )
    return True


def _weight(path: str, line: int, text: str) -> float:
    return parse_weight(text, f"{path}, line {line}")


def _are_numbers(cells: Sequence[str]) -> bool:
    return all(map(_is_number, cells))


def _heading(path: str, rows: Sequence[Row]) -> tuple[str, ...] | None:
    """The names of the columns if the first line has them, and None if it is an edge.

    It cannot be an edge if its nodes come up nowhere else and its weight is no number, or all
    other nodes are numbers. Where only the words can tell, those that people use for the ends of
    edges are a heading, and others are refused.
    """
    if len(rows) < 2 or len(rows[0][1]) < 2:
        return None
    line, first = rows[0]
    nodes = {cell for _, cells in rows[1:] for cell in cells[:2]}
    if any(map(_is_number, first)) or not nodes.isdisjoint(first[:2]):
        return None
    thirds = [cells[2] for _, cells in rows[1:] if len(cells) > 2]
    has_numbers = len(first) > 2 and bool(thirds)
    if has_numbers or _are_numbers(sorted(nodes)) or are_end_names(*first[:2]):
        return tuple(first)
    raise ValueError(
        f"{path}, line {line}: got {shorten(','.join(first))}, which can be a heading or an "
        "edge, expected a # before it if it is a heading, or the line from,to above it"
    )
