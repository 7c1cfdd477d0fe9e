"""A table whose rows are printed one by one, as they become known."""

from __future__ import annotations

from collections.abc import Iterable

from algorist.report.terminal import Terminal

_LEAST = 6
"""Columns of a number, at least."""


class RowPrinter:
    """Prints a name and some numbers in each line, below headings of one or more lines."""

    def __init__(self, terminal: Terminal, names: Iterable[str], headings: Iterable[str]):
        """Print the headings: all names that will come decide how wide the first column is."""
        self._terminal = terminal
        self._name_width = max(map(len, names), default=0)
        columns = [heading.split("\n") for heading in headings]
        self._widths = [max(_LEAST, *map(len, column)) for column in columns]
        height = max(map(len, columns))
        for line in range(height):
            cells = [["", *[""] * (height - len(column)), *column] for column in columns]
            self.add("", [column[line + 1] for column in cells])

    def add(self, name: str, cells: Iterable[str]) -> None:
        """Print a row."""
        pairs = zip(cells, self._widths, strict=True)
        line = f"{name:{self._name_width}}" + "".join(f"  {cell:>{w}}" for cell, w in pairs)
        self._terminal.print(line.rstrip())

    def remark(self, name: str, text: str) -> None:
        """Print a row that has no numbers."""
        self._terminal.print(f"{name:{self._name_width}}  {text}")
