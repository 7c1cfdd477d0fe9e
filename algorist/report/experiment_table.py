"""The table of the paper's experiments."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from algorist.experiments.overview import ExperimentProgress
from algorist.report.terminal import bare_table


def experiment_table(experiments: Iterable[ExperimentProgress]) -> Table:
    """A row for each experiment."""
    table = bare_table()
    table.add_column("experiment", no_wrap=True)
    table.add_column("what is trained")
    for heading in ("parts", "done", "begun", "results", "others"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, about, *numbers in experiments:
        table.add_row(name, about, *map(str, numbers))
    return table
