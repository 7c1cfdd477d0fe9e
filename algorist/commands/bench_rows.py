"""The rows of `algorist bench`: measured, printed and written to a file."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algorist.atomic import replace_text
from algorist.commands import FAILURE
from algorist.commands.arguments import compute_config
from algorist.commands.output_files import check_output_file
from algorist.report.machine import describe_machine
from algorist.report.row_printer import RowPrinter
from algorist.report.terminal import Terminal, print_error

if TYPE_CHECKING:
    from algorist.training.job_pool import Outcome


@dataclass(frozen=True)
class BenchTable:
    """How costs are shown."""

    headings: Sequence[str]
    cells: Callable[[Any], list[str]]
    sums: Callable[[list[Any]], list[str]] | None = None
    """The last row, where there are several."""
    totals: Callable[[list[Any]], dict[str, float]] | None = None
    """The numbers of all rows together that are written too."""
    details: Callable[[Any], None] | None = None
    """Prints more about a row."""


Measure = tuple[str, Callable[[], Any]]
Named = Iterator[tuple[str, "Outcome"]]


def _in_turn(measures: Sequence[Measure]) -> Named:
    """Measure one thing after the other."""
    from algorist.training.job_pool import run_job

    for number, (name, measure) in enumerate(measures):
        with Terminal(stderr=True).status(f"measuring {name}"):
            outcome = run_job(number, measure)
        yield name, outcome


def measured(
    named: Sequence[str],
    outcomes: Named,
    table: BenchTable,
    arguments: Namespace,
    terminal: Terminal,
) -> int:
    """Print a row for all that is measured, as soon as it is known; returns the exit code.

    What fails does not end the others.
    """
    from algorist.training.job_pool import NOT_RUN

    notes = Notes(arguments)
    lines = RowPrinter(terminal, named, table.headings)
    by_number, seen = {}, set()
    for name, outcome in outcomes:
        seen.add(name)
        if outcome.error is not None:
            (reason, *_) = str(outcome.error).splitlines() or [""]
            lines.remark(name, f"failed: {type(outcome.error).__name__}: {reason}")
            if not isinstance(outcome.error, ValueError):  # which says in one line what is wrong
                print(outcome.trace, file=sys.stderr)
            notes.add({"name": name, "error": outcome.trace})
            continue
        by_number[outcome.number] = outcome.value
        notes.add(asdict(outcome.value))
        lines.add(name, table.cells(outcome.value))
        if table.details:
            table.details(outcome.value)
    costs = [by_number[number] for number in sorted(by_number)]
    if table.sums and len(costs) > 1:
        lines.add("all", table.sums(costs))
    notes.end(table.totals(costs) if table.totals else {})
    forgotten = [name for name in named if name not in seen]
    if forgotten:
        print_error(f"{NOT_RUN}: {', '.join(forgotten)}")
    return 0 if len(costs) == len(named) else FAILURE


def one_by_one(
    measures: Sequence[Measure], table: BenchTable, arguments: Namespace, terminal: Terminal
) -> int:
    """Measure one thing after the other and print their rows; returns the exit code."""
    names = [name for name, _ in measures]
    return measured(names, _in_turn(measures), table, arguments, terminal)


def sums(names: Sequence[str], costs: list[Any]) -> dict[str, float]:
    """Some numbers of costs, each added up."""
    return {name: sum(getattr(cost, name) for cost in costs) for name in names}


class Notes:
    """All numbers so far, in a file if one is wanted: whatever ends the command, they are there."""

    def __init__(self, arguments: Namespace):
        check_output_file("--json", arguments.json)
        self._file, self._what = arguments.json, arguments.what
        self._rows: list[dict[str, Any]] = []
        self._sums: dict[str, float] = {}
        self._head = {
            "command": shlex.join(["algorist", *arguments.words]),
            "machine": {**describe_machine(), "gpu": _gpu(compute_config(arguments).device)},
        }
        self._write()

    def add(self, row: dict[str, Any]) -> None:
        """Keep the numbers of a row."""
        self._rows.append(row)
        self._write()

    def end(self, sums: dict[str, float]) -> None:
        """Keep the numbers of all rows together."""
        self._sums = sums
        self._write()

    def _write(self) -> None:
        if self._file:
            rows = {self._what: self._rows, "all": self._sums}
            text = json.dumps(self._head | rows, indent=2)
            replace_text(Path(self._file), text + "\n")


def _gpu(device: str) -> str | None:
    import torch

    return None if device == "cpu" else torch.cuda.get_device_name(device)
