"""The progress of runs: a live display in a terminal, a line for each validation elsewhere."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Self

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from algorist.errors import format_count
from algorist.experiments.run_control import STOPPING
from algorist.report.format_numbers import format_duration, format_mean, format_scores
from algorist.report.terminal import Terminal
from algorist.training.run import Observer
from algorist.training.trainer import Trainer
from algorist.training.validation_report import ValidationReport

_REFRESH = 0.25
"""Seconds between two looks at the losses: on a GPU each look waits for it."""


class TrainingStatus:
    """The status of a training: call it after each step, with the report if there is one."""

    def __init__(self, terminal: Terminal, trainer: Trainer):
        self._terminal, self.trainer = terminal, trainer
        self._first_step, self._start, self._looked = trainer.step, 0.0, 0.0
        self.losses: dict[str, list[float]] = {}
        self.report: ValidationReport | None = None

    def __call__(self, trainer: Trainer, report: ValidationReport | None) -> None:
        """Record a step."""
        now = time.perf_counter()
        if not self._start:  # the clock starts after the first step, which may have to compile
            self._first_step, self._start = trainer.step, now
        if report is not None:
            self.report, self.losses = report, dict(report.loss)
        elif self._terminal.is_terminal and now - self._looked > _REFRESH:
            self._looked, self.losses = now, trainer.mean_loss

    def facts(self) -> str:
        """The step, the loss, the scores and the remaining time in one line."""
        trainer, sign = self.trainer, self._terminal.plus_minus
        steps, done = trainer.config.schedule.steps, trainer.step
        facts = [f"step {done:>{len(str(steps))}}/{steps}"]
        if self.losses:
            facts.append(f"loss {format_mean(_mean_over_tasks(self.losses), '.3f', sign)}")
        if self.report is not None:
            error = trainer.config.scored_by_error
            facts.append(f"validation {format_scores(self.report.score, sign, error=error)}")
            facts.append(f"best {format_scores(trainer.best_scores, sign, error=error)}")
        if done > self._first_step:
            speed = (done - self._first_step) / (time.perf_counter() - self._start)
            facts.append(f"{speed:.{1 if speed >= 1 else 3}f} steps/s")
            facts.append(f"{format_duration((steps - done) / speed)} left")
        return "  ".join(facts)


class LiveDisplay(ABC):
    """Drawn again every `refresh` seconds inside a `with` block, only in a terminal."""

    def __init__(self, terminal: Terminal, *, refresh: float = _REFRESH):
        self._terminal = terminal
        self._live = Live(
            get_renderable=self._display, console=terminal, refresh_per_second=1 / refresh
        )

    def __enter__(self) -> Self:
        if self._terminal.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @abstractmethod
    def _display(self) -> RenderableType:
        """What is to be seen now."""


class Progress(LiveDisplay):
    """Shows the progress of a run: call it after each step, with the report if there is one."""

    def __init__(
        self, terminal: Terminal, trainer: Trainer, *, stopping: Callable[[], bool] = lambda: False
    ):
        self._trainer, self._stopping = trainer, stopping
        self._watch = TrainingStatus(terminal, trainer)
        super().__init__(terminal)  # which draws at once

    def __enter__(self) -> Self:
        tasks = self._trainer.config.algorithms
        title = tasks[0] if len(tasks) == 1 else f"{len(tasks)} algorithms"
        self._terminal.print(f"{title}: {_description(self._trainer)}")
        if self._trainer.step:
            self._terminal.print(f"going on after step {self._trainer.step}")
        return super().__enter__()

    def __call__(self, trainer: Trainer, report: ValidationReport | None) -> None:
        """Record a step."""
        self._watch(trainer, report)
        if report is not None and not self._terminal.is_terminal:
            self._terminal.print(self._watch.facts())

    def _display(self) -> RenderableType:
        watch = self._watch
        # A bar alone would not end its line.
        parts: list[RenderableType] = [Columns([_bar(self._trainer, 60)]), watch.facts()]
        if watch.report is not None and len(watch.losses) > 1:
            parts.insert(0, self._tasks(watch.report))
        return Group(*parts, *footer_lines(0, self._stopping()))

    def _tasks(self, report: ValidationReport) -> Table:
        """A row for each task."""
        sign = self._terminal.plus_minus
        table = Table("task", box=None, pad_edge=False)
        table.add_column("loss", justify="right")
        table.add_column("validation", justify="right")
        for task, losses in self._watch.losses.items():
            error = self._trainer.net.specs[task].scored_by_error
            scores = format_scores(report.scores[task], sign, error=error)
            table.add_row(task, format_mean(losses, ".3f", sign), scores)
        return table


class MultiRunProgress(LiveDisplay):
    """Shows the progress of several runs, a row each."""

    def __init__(
        self,
        terminal: Terminal,
        names: Sequence[str],
        *,
        stopping: Callable[[], bool] = lambda: False,
    ):
        self._names, self._stopping = names, stopping
        self._width = max(map(len, names))
        self._running: dict[str, TrainingStatus] = {}
        self._ended: dict[str, str] = {}
        super().__init__(terminal)

    @contextmanager
    def watching(self, name: str, trainer: Trainer) -> Iterator[Observer]:
        """Show a run. What this gives is to be called after each step, in any thread."""
        going_on = f", going on after step {trainer.step}" if trainer.step else ""
        self._say(name, _description(trainer) + going_on)
        self._ended.pop(name, None)
        watch = self._running[name] = TrainingStatus(self._terminal, trainer)

        def observe(trainer: Trainer, report: ValidationReport | None) -> None:
            watch(trainer, report)
            if report is not None:
                self._say(name, watch.facts())

        try:
            yield observe
        finally:
            del self._running[name]

    def end(self, name: str, text: str) -> None:
        """Show how a run has ended."""
        self._ended[name] = text
        self._say(name, text)

    def _say(self, name: str, text: str) -> None:
        """Print a line, where nothing is shown live."""
        if not self._terminal.is_terminal:
            self._terminal.print(f"{name:{self._width}}  {text}")

    def _display(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        for name, text in list(self._ended.items()):
            table.add_row(name, "", text)
        running = list(self._running.items())
        for name, watch in running:
            table.add_row(name, _bar(watch.trainer, 20), watch.facts())
        waiting = len(self._names) - len(self._ended) - len(running)
        return Group(table, *footer_lines(waiting, self._stopping()))


def footer_lines(waiting: int, stopping: bool) -> Iterator[str]:
    """The lines below the runs: how many are still to come, and that all are about to stop."""
    if waiting > 0:
        yield f"{waiting} to come"
    if stopping:
        yield STOPPING


def _bar(trainer: Trainer, width: int) -> ProgressBar:
    return ProgressBar(trainer.config.schedule.steps, trainer.step, width=width)


def _description(trainer: Trainer) -> str:
    """What is trained, and where."""
    config = trainer.config
    return (
        f"{config.model.processor}, {trainer.net.size:,} weights, "
        f"{format_count(len(config.seeds), 'seed')}, {trainer.device.type}"
    )


def _mean_over_tasks(values: dict[str, list[float]]) -> Sequence[float]:
    """For each seed, from values by task and seed."""
    return [fmean(column) for column in zip(*values.values(), strict=True)]
