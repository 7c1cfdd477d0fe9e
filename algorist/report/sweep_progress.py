"""The progress of a sweep, read from the metrics files of its runs, and its final table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table

from algorist.algorithms import get
from algorist.experiments.jobs import Job
from algorist.experiments.plan import Part
from algorist.experiments.results import Results, by_net
from algorist.report.format_numbers import format_scores
from algorist.report.progress import LiveDisplay, footer_lines
from algorist.report.terminal import Terminal, bare_table
from algorist.training.run_files import read_metrics
from algorist.training.saved_learners import METRICS

_REFRESH = 1.0
"""Seconds between two looks at the metrics of runs."""


class LatestReport(NamedTuple):
    """The latest report of a run."""

    step: int = 0
    score: Sequence[float] = ()


def read_latest(folder: Path) -> LatestReport:
    """The latest report of a run; an empty one if there is none that can be read."""
    try:
        *_, last = read_metrics(folder / METRICS)
    except (OSError, ValueError):  # there is none, or none that can be read
        return LatestReport()
    return LatestReport(last.step, last.score)


class SweepProgress(LiveDisplay):
    """Shows the runs at work in a terminal, and prints a line for each that begins or ends."""

    def __init__(self, terminal: Terminal, total: int, stopping: Callable[[], bool]):
        self._total, self._stopping = total, stopping
        self._running: dict[Job, LatestReport] = {}
        self._ended, self._looked = 0, 0.0
        super().__init__(terminal, refresh=0.5)

    def watch(self, running: Sequence[Job]) -> None:
        """Set the runs that are being executed."""
        for job in running:
            if job not in self._running and not self._terminal.is_terminal:
                self._terminal.print(f"{job.title}  begins")
        now = time.monotonic()
        if now - self._looked > _REFRESH or {*running} != {*self._running}:
            self._looked = now
            self._running = {job: read_latest(job.folder) for job in running}

    def end(self, job: Job, text: str) -> None:
        """Print how a run has ended."""
        self._ended += 1
        self._running.pop(job, None)
        self._terminal.print(f"{self._ended}/{self._total}  {job.title}  {text}")

    def _display(self) -> RenderableType:
        table, sign = Table.grid(padding=(0, 2)), self._terminal.plus_minus
        for job, (step, score) in list(self._running.items()):
            steps = job.part.config.schedule.steps
            facts = f"step {step}/{steps}"
            if score:
                error = job.part.config.scored_by_error
                facts += f"  validation {format_scores(score, sign, error=error)}"
            table.add_row(job.title, ProgressBar(steps, step, width=20), facts)
        waiting = self._total - self._ended - len(self._running)
        return Group(table, *footer_lines(waiting, self._stopping()))


def sweep_table(results: Results, parts: Sequence[Part], sign: str) -> Table:
    """The scores of all parts, over their seeds."""
    table = bare_table("part", "algorithm")
    for heading in ("seeds", "test"):
        table.add_column(heading, justify="right", no_wrap=True)
    nets = by_net(results.rows)
    for part in parts:
        for algorithm in part.config.algorithms:
            own = [row.score / 100 for row in nets.get((part.name.part, algorithm), [])]
            error = get(algorithm).spec.scored_by_error
            table.add_row(
                part.name.part, algorithm, str(len(own)), format_scores(own, sign, error=error)
            )
    return table
