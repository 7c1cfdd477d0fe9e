"""How a run gets on: a live display in a terminal, a line for each validation elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import fmean

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from algorist.report.numbers import averaged, duration, percent
from algorist.report.terminal import Terminal
from algorist.training.trainer import Report, Trainer

STOPPING = "finishing this step, then saving; once more stops at once"
_REFRESH = 0.25
"""Seconds between two looks at the losses: on a GPU each look waits for it."""


class Progress:
    """Watches a trainer: call it after each step, with the report if there is one."""

    def __init__(
        self, terminal: Terminal, trainer: Trainer, *, stopping: Callable[[], bool] = lambda: False
    ):
        self._terminal, self._trainer, self._stopping = terminal, trainer, stopping
        self._first_step, self._start, self._looked = trainer.step, 0.0, 0.0
        self._losses: dict[str, list[float]] = {}
        self._report: Report | None = None
        self._live = Live(
            get_renderable=self._display, console=terminal, refresh_per_second=1 / _REFRESH
        )

    def __enter__(self) -> Progress:
        config, net = self._trainer.config, self._trainer.net
        tasks = config.algorithms
        weights = sum(p.numel() for p in net.parameters()) // net.replicas
        self._terminal.print(
            f"{tasks[0] if len(tasks) == 1 else f'{len(tasks)} algorithms'}: "
            f"{config.model.processor}, {weights:,} weights, "
            f"{_several(len(config.seeds), 'seed')}, {self._trainer.device.type}"
        )
        if self._trainer.step:
            self._terminal.print(f"going on after step {self._trainer.step}")
        if self._terminal.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, trainer: Trainer, report: Report | None) -> None:
        """Take note of a step."""
        now = time.perf_counter()
        if not self._start:  # the clock starts after the first step, which may have to compile
            self._first_step, self._start = trainer.step, now
        if report is not None:
            self._report, self._losses = report, dict(report.loss)
            if not self._terminal.is_terminal:
                self._terminal.print("  ".join(self._facts()), soft_wrap=True)
        elif self._terminal.is_terminal and now - self._looked > _REFRESH:
            self._looked, self._losses = now, trainer.mean_loss

    def _facts(self) -> list[str]:
        """Where the run stands, in short."""
        trainer, sign = self._trainer, self._terminal.plus_minus
        steps, done = trainer.config.schedule.steps, trainer.step
        facts = [f"step {done:>{len(str(steps))}}/{steps}"]
        if self._losses:
            facts.append(f"loss {averaged(_mean_over_tasks(self._losses), '.3f', sign)}")
        if self._report is not None:
            facts.append(f"validation {percent(self._report.score, 1, sign)} %")
            facts.append(f"best {percent(trainer.best_scores, 1, sign)} %")
        if done > self._first_step:
            speed = (done - self._first_step) / (time.perf_counter() - self._start)
            facts.append(f"{speed:.{1 if speed >= 1 else 3}f} steps/s")
            facts.append(f"{duration((steps - done) / speed)} left")
        return facts

    def _display(self) -> RenderableType:
        trainer = self._trainer
        bar = ProgressBar(trainer.config.schedule.steps, trainer.step, width=60)
        # A bar alone would not end its line.
        parts: list[RenderableType] = [Columns([bar]), "  ".join(self._facts())]
        if self._report is not None and len(self._losses) > 1:
            parts.insert(0, self._tasks(self._report))
        if self._stopping():
            parts.append(STOPPING)
        return Group(*parts)

    def _tasks(self, report: Report) -> Table:
        """A row for each task."""
        sign = self._terminal.plus_minus
        table = Table("task", box=None, pad_edge=False)
        table.add_column("loss", justify="right")
        table.add_column("validation %", justify="right")
        for task, losses in self._losses.items():
            scores = percent(report.scores[task], 1, sign)
            table.add_row(task, averaged(losses, ".3f", sign), scores)
        return table


def _mean_over_tasks(values: dict[str, list[float]]) -> Sequence[float]:
    """For each seed, from values by task and seed."""
    return [fmean(column) for column in zip(*values.values(), strict=True)]


def _several(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
