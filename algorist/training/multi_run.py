"""A folder of runs, one for each of some algorithms, each as if it had been started alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from algorist.atomic import replace_text
from algorist.model.compute_config import ON_CPU, ComputeConfig
from algorist.training.config import Config
from algorist.training.job_pool import GpuContext
from algorist.training.loader import TaskStream
from algorist.training.run import Run
from algorist.training.saved_learners import (
    CONFIG,
    EACH,
    expect_no_run,
    is_run,
    newest,
    read_config,
)


class RunProgress(NamedTuple):
    """The progress of a run."""

    step: int
    best: Sequence[float]
    """The best validation of each seed."""


class MultiRun:
    """The runs of a folder: done, begun, and still to begin."""

    def __init__(self, folder: Path, config: Config):
        self.folder, self.config = folder, config

    @classmethod
    def start(cls, folder: Path | str, config: Config) -> MultiRun:
        """A run for each algorithm, in a folder that does not hold any of them yet."""
        folder = Path(folder)
        for own in (folder, *(folder / name for name in config.algorithms)):
            expect_no_run(own)
        each = cls(folder, config)
        for name in each.algorithms:
            TaskStream(config, name)  # refuses what cannot be drawn: now, not after hours
        folder.mkdir(parents=True, exist_ok=True)
        each._save()
        return each

    @classmethod
    def resume(cls, folder: Path | str, steps: int | None = None) -> MultiRun:
        """The runs of a folder. With `steps` all will end there."""
        folder = Path(folder)
        each = cls(folder, read_config(folder / EACH))
        if steps is not None:
            each._extend(steps)
        return each

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms of the runs."""
        return self.config.algorithms

    @property
    def steps(self) -> int:
        """The last step of all runs."""
        return self.config.schedule.steps

    def progress(self, algorithm: str) -> RunProgress | None:
        """The progress of a run; None if it has not begun."""
        folder = self.folder / algorithm
        if not is_run(folder):
            return None
        checkpoint = newest(folder)
        return RunProgress(checkpoint.step, checkpoint.state["best_scores"])

    def run(
        self, algorithm: str, computing: ComputeConfig = ON_CPU, context: GpuContext | None = None
    ) -> Run:
        """The run of an algorithm, started or resumed."""
        folder = self.folder / algorithm
        if not is_run(folder):
            config = replace(self.config, algorithms=(algorithm,))
            return Run.start(folder, config, computing, context)
        own = read_config(folder / CONFIG).schedule.steps
        return Run.resume(folder, computing, self.steps if self.steps != own else None, context)

    def _extend(self, steps: int) -> None:
        for name in self.algorithms:
            progress = self.progress(name)
            if progress and progress.step > steps:
                raise ValueError(
                    f"steps: got {steps}, expected at least the {progress.step} "
                    f"that {name} has done"
                )
        schedule = replace(self.config.schedule, steps=steps)
        self.config = replace(self.config, schedule=schedule)
        self._save()

    def _save(self) -> None:
        replace_text(self.folder / EACH, self.config.to_json() + "\n")
