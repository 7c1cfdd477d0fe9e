"""The terminal, and what stands in for one: a pipe, a file, a screen without colours."""

from __future__ import annotations

import os
import sys
from typing import IO, Any

from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 120
"""Columns where there is no terminal to ask."""


def print_error(text: str) -> None:
    """Print an error message as one line on standard error."""
    print(f"algorist: error: {text}", file=sys.stderr)


def discard_output(file: IO[str]) -> None:
    """Discard what is still written to a file that nobody reads any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


GAP = 2
"""Columns between two of a table."""


def bare_table(*headings: str, show_header: bool = True) -> Table:
    """A table without lines."""
    return Table(
        *headings, box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=show_header
    )


class Terminal(Console):
    """A console that prints text as it is: no markup, no guesses at what to colour."""

    def __init__(self, *, stderr: bool = False):
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = PIPE_WIDTH

    def print(self, *objects: Any, **how: Any) -> None:
        """Print; text stays on its line, however long: paths and commands are to be copied."""
        if all(isinstance(each, str) for each in objects):
            how.setdefault("soft_wrap", True)
        super().print(*objects, **how)

    def prose(self, text: str) -> None:
        """Print sentences, whose lines end between words where the width does."""
        self.print(text, soft_wrap=False)

    @property
    def plain(self) -> bool:
        """Whether styles cannot be seen, so that marks must be characters."""
        return self.color_system is None or self.no_color

    @property
    def plus_minus(self) -> str:
        """The sign before an error, where it can be written."""
        return "±" if self.encoding.startswith("utf") else "+-"

    def on_broken_pipe(self) -> None:
        """Go on in silence: a reader that has seen enough (`| head`) does not end the work."""
        self.quiet = True
        discard_output(self.file)
