"""The terminal, and what stands in for one: a pipe, a file, a screen without colours."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

from rich.console import Console

PIPE_WIDTH = 120
"""Columns where there is no terminal to ask."""


def complain(text: str) -> None:
    """Say what is wrong, on one line of the standard error."""
    print(f"algorist: error: {text}", file=sys.stderr)


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

    def on_broken_pipe(self) -> NoReturn:
        """Let the caller decide: a reader that has seen enough (`| head`) is no error."""
        raise BrokenPipeError
