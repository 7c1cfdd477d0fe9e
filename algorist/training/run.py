"""A run: a training whose configuration, checkpoints, best weights and metrics lie in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from pathlib import Path
from typing import Any, Protocol

from algorist.atomic import lock_file, replace_text
from algorist.data.prepare import prepare_in_background
from algorist.model.compute_config import ON_CPU, ComputeConfig
from algorist.model.learner import Learner
from algorist.training import checkpoint, run_files
from algorist.training.config import Config
from algorist.training.job_pool import GpuContext
from algorist.training.parallel import ALONE, Peers
from algorist.training.saved_learners import (
    BEST,
    CHECKPOINTS,
    CONFIG,
    METRICS,
    TIMES,
    config_in,
    expect_no_run,
    expect_run,
    newest,
)
from algorist.training.trainer import Trainer
from algorist.training.validation_report import ValidationReport

_EVENTS = "events"
"""The folder of TensorBoard's files."""
_LOCK = ".training"
"""Held by the process that trains a run."""


Observer = Callable[[Trainer, ValidationReport | None], Any]
"""Is called after each step with the trainer, and with its report where one is due."""


def ignore_step(trainer: Trainer, report: ValidationReport | None) -> None:
    """An observer that does nothing."""


class Log(Protocol):
    """A destination of reports beside the metrics file, such as TensorBoard."""

    def report(self, report: ValidationReport) -> None:
        """Log a report."""
        ...

    def close(self) -> None:
        """Write what is left and close the log."""
        ...


class Run:
    """A training in a folder. It can be stopped at any moment and resumed exactly."""

    def __init__(self, folder: Path, trainer: Trainer):
        self.folder, self.trainer = folder, trainer
        self._is_new = False
        """Whether `start` has made the folder."""
        self._saved = trainer.step
        """The step of the newest checkpoint that this object has written or read."""

    def __repr__(self) -> str:
        steps = self.trainer.config.schedule.steps
        return f"Run({self.folder}: step {self.trainer.step} of {steps}, {self.trainer.net!r})"

    @classmethod
    def start(
        cls,
        folder: Path | str,
        config: Config,
        computing: ComputeConfig = ON_CPU,
        context: GpuContext | None = None,
        peers: Peers = ALONE,
    ) -> Run:
        """Start a run in a folder. Raises a `ValueError` if the folder holds one."""
        folder = Path(folder)
        expect_no_run(folder)
        with _prepared(config, computing, context, peers):
            run = cls(folder, Trainer(config, computing, context=context, peers=peers))
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder, peers):
            if peers.is_first:
                expect_no_run(folder)  # another process may have started one in the meantime
                run_files.remove_half_written(folder)
            run._is_new = True
            run.save()
            # Last: a folder with this file can be resumed, one without it can be started anew.
            run._save_config()
        return run

    @classmethod
    def resume(
        cls,
        folder: Path | str,
        computing: ComputeConfig = ON_CPU,
        steps: int | None = None,
        context: GpuContext | None = None,
        peers: Peers = ALONE,
        average: int | None = None,
        learning_rate: float | None = None,
        schedule: str | None = None,
    ) -> Run:
        """Resume the run in a folder from its newest checkpoint that is not damaged.

        `steps` is a new last step, `average` a new number of steps over which weights are averaged.
        A new `learning_rate` or `schedule` is noted in the configuration (`changes`).
        """
        folder = Path(folder)
        expect_run(folder)
        changes: dict[str, Any] = {
            "steps": steps,
            "average": average,
            "learning_rate": learning_rate,
            "schedule": schedule,
        }
        with _locked(folder, peers):
            saved = newest(folder)
            config = config_in(folder, saved.state["config"])
            given = [name for name, value in changes.items() if value is not None]
            run_files.expect_unchanged(folder / CONFIG, config, given)
            with _prepared(config, computing, context, peers):
                trainer = Trainer.resume(saved, computing, context, peers)
            trainer.reschedule(**changes)
            run = cls(folder, trainer)
            run._drop_after(trainer.step)
            if given:
                run.save()
            else:
                run._save_best()  # which may be older than the checkpoint, as may be the next file
            run._save_config()
        return run

    def train(
        self,
        *,
        logs: Iterable[Log] = (),
        observe: Observer = ignore_step,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train to the last step, or until `should_stop`; returns whether the last was reached."""
        steps = self.steps(logs=logs, should_stop=should_stop)
        try:
            for report in steps:
                observe(self.trainer, report)
        except BaseException as error:
            steps.throw(error)  # as if the step had failed: nothing is saved
            raise
        return self.trainer.step == self.trainer.config.schedule.steps

    def steps(
        self, *, logs: Iterable[Log] = (), should_stop: Callable[[], bool] = lambda: False
    ) -> Generator[ValidationReport | None, None, None]:
        """Train step by step; yields the report of each step at which one is due, else None.

        The run is saved when the iterator is closed. If its first step fails, the folder is
        removed.
        """
        logs, failed_at_once = list(logs), False
        try:
            with _locked(self.folder, self.trainer.peers):
                self._expect_no_other()
                try:
                    yield from self._steps(logs, should_stop)
                except Exception:
                    failed_at_once = self._is_new and self.trainer.step == 0
                    raise
        finally:
            for log in logs:
                log.close()
            if failed_at_once:
                self._discard()

    def _discard(self) -> None:
        """Remove the files of the run, and its folder if that is empty then."""
        if not self.trainer.peers.is_first:
            return
        for name in (CHECKPOINTS, _EVENTS):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in (BEST, CONFIG, METRICS, TIMES):
            (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _steps(
        self, logs: Sequence[Log], should_stop: Callable[[], bool]
    ) -> Generator[ValidationReport | None, None, None]:
        trainer = self.trainer
        if trainer.time_account.since:  # an earlier session of this object
            trainer.time_account.restart()
        every, first = trainer.config.schedule.checkpoint_every, trainer.step
        steps = trainer.run()
        try:
            for report in steps:
                if report is not None:
                    self._log(report, logs)
                yield report
                if trainer.step % every == 0:
                    self.save()
                if trainer.peers.any(should_stop()):
                    break
        except GeneratorExit:  # the caller has closed the iterator
            steps.close()
            self._finish(first)
            raise
        finally:
            steps.close()
        self._finish(first)

    def _finish(self, first: int) -> None:
        """Save the last step, and the times of the session that began after step `first`."""
        if self._saved != self.trainer.step:
            self.save()
        self._save_times(first)

    def _expect_no_other(self) -> None:
        """Raise a `ValueError` if another process has trained the run since it was read."""
        there = checkpoint.steps(self.folder / CHECKPOINTS)
        if self.trainer.peers.is_first and there and there[0] != self._saved:
            raise ValueError(
                f"{self.folder}: another process has trained it from step {self._saved} to "
                f"{there[0]}; resume it again"
            )

    def save(self) -> None:
        """Write a checkpoint and the best weights so far."""
        with self.trainer.time_account.on("saving"):
            now = self.trainer.checkpoint()
            self.trainer.peers.barrier()  # others may still read the folder
            if not self.trainer.peers.is_first:
                return
            checkpoint.write(self.folder / CHECKPOINTS, now)
            self._saved = now.step
        self._save_best()

    def _save_best(self) -> None:
        if self.trainer.peers.is_first:
            self.trainer.best_learner().save(self.folder / BEST)

    def _save_config(self) -> None:
        if self.trainer.peers.is_first:
            replace_text(self.folder / CONFIG, self.trainer.config.to_json() + "\n")

    @property
    def learner(self) -> Learner:
        """The best nets so far, one for each seed."""
        return self.trainer.best_learner()

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """All reports so far: step, loss, scores, score and best_step.

        Each is a number for runs with one seed, and a list with a number for each seed for others.
        """
        rows = run_files.read_rows(self.metrics_file)
        return rows if len(self.trainer.config.seeds) > 1 else list(map(_without_seeds, rows))

    @property
    def metrics_file(self) -> Path:
        """The file with one line of JSON for each report."""
        return self.folder / METRICS

    def _log(self, report: ValidationReport, logs: Iterable[Log]) -> None:
        if self.trainer.peers.is_first:
            with_terms = self.trainer.engine.has_further_losses
            run_files.append_report(self.metrics_file, report, with_terms=with_terms)
        for log in logs:
            log.report(report)

    def _save_times(self, first: int) -> None:
        """Append the times of the session that began after step `first`."""
        if self.trainer.peers.is_first:
            steps, times = (first, self.trainer.step), self.trainer.time_account.to_json()
            run_files.append_times(self.folder / TIMES, steps, times)

    def _drop_after(self, step: int) -> None:
        """Remove half-written files, and checkpoints and reports of later, repeated steps."""
        if self.trainer.peers.is_first:
            run_files.remove_half_written(self.folder)
            checkpoint.drop_after(self.folder / CHECKPOINTS, step)
            run_files.drop_reports_after(self.metrics_file, step)


@contextmanager
def _locked(folder: Path, peers: Peers) -> Iterator[None]:
    """Hold the lock of a run, so that no other process trains it; the first peer locks it."""
    with ExitStack() as stack:
        try:
            if peers.is_first:
                stack.enter_context(lock_file(folder / _LOCK))
        except BlockingIOError:
            raise ValueError(f"{folder}: another process trains this run; wait for it") from None
        yield


def _prepared(
    config: Config, computing: ComputeConfig, context: GpuContext | None, peers: Peers
) -> AbstractContextManager[Any]:
    """Prepare data and machine code in the background of the block, in the first process alone.

    Runs in a context share a preparation that the caller has begun.
    """
    alone = len(config.algorithms) == 1 and computing.worker_count == 1  # prepared on first use
    if context or alone or not peers.is_first:
        return nullcontext()
    return prepare_in_background(config.algorithms, config.splits)


def _without_seeds(value: Any) -> Any:
    """A report of one seed without the lists over seeds."""
    if isinstance(value, dict):
        return {name: _without_seeds(inner) for name, inner in value.items()}
    return value[0] if isinstance(value, list) else value
