"""The commands, a module each: arguments in, calls, something printed.

To add one, write a module with a `Command` and name it in the table of `algorist.cli`. Import what
is heavy (torch) inside functions: every command imports all of these modules.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

from algorist.report.terminal import Terminal

FAILURE = 1
"""The exit code where some of what was asked for has failed."""


@dataclass(frozen=True)
class Command:
    """What the command line needs to know about a command."""

    help: str
    """One line."""
    examples: str
    """Commands to copy, a line each, shown at the end of its help."""
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Terminal], int | None]
    """Does it and prints; a `ValueError` is the user's mistake and is shown as one line.

    It may return an exit code; None is 0, as it should be.
    """
