"""The table of the paper's experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.table import Table

from algorist.report.terminal import bare_table


class Standing(NamedTuple):
    """How far an experiment has come."""

    name: str
    about: str
    parts: int
    """Nets to train, each with all its seeds."""
    done: int
    begun: int
    rows: int
    """Results, one for each algorithm and seed."""
    others: int
    """Those of them that were trained with other settings."""


def experiment_table(standings: Iterable[Standing]) -> Table:
    """A row for each experiment."""
    table = bare_table()
    table.add_column("experiment", no_wrap=True)
    table.add_column("what is trained")
    for heading in ("parts", "done", "begun", "results", "others"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, about, *numbers in standings:
        table.add_row(name, about, *map(str, numbers))
    return table
