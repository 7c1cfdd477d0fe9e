"""A run is a folder: config.json, checkpoints, best.safetensors, metrics, times and events."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from algorist.atomic import lock_file, replace_text, whole_lines
from algorist.data.prepare import prepare_in_background
from algorist.errors import shortened
from algorist.model.computing import ON_CPU, Computing
from algorist.model.learner import Learner
from algorist.training import checkpoint
from algorist.training.checkpoint_compression import compress
from algorist.training.config import Config
from algorist.training.job_pool import GpuContext
from algorist.training.parallel import ALONE, Peers
from algorist.training.report import Report
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
from algorist.version import __version__

_EVENTS = "events"
"""The folder of TensorBoard's files."""
_LOCK = ".training"
"""Held by the process that trains a run."""


class Log(Protocol):
    """Somewhere that reports go, beside the metrics file."""

    def report(self, report: Report) -> None:
        """Take note of a report."""
        ...

    def close(self) -> None:
        """Finish."""
        ...


class Run:
    """One training in one folder. It can be stopped at any moment and resumed exactly."""

    def __init__(self, folder: Path, trainer: Trainer):
        self.folder, self.trainer = folder, trainer
        self._is_new = False
        """Whether nothing has been learnt yet of what the folder holds."""
        self._saved = trainer.step
        """The step of the newest checkpoint that this run has written or was read from."""

    def __repr__(self) -> str:
        steps = self.trainer.config.schedule.steps
        return f"Run({self.folder}: step {self.trainer.step} of {steps}, {self.trainer.net!r})"

    @classmethod
    def start(
        cls,
        folder: Path | str,
        config: Config,
        computing: Computing = ON_CPU,
        context: GpuContext | None = None,
        peers: Peers = ALONE,
    ) -> Run:
        """A new run in a folder that does not hold one yet."""
        folder = Path(folder)
        expect_no_run(folder)
        with _prepared(config, computing, context, peers):
            run = cls(folder, Trainer(config, computing, context=context, peers=peers))
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder, peers):
            if peers.is_first:
                expect_no_run(folder)  # which another process may have begun in the meantime
            run._is_new = True
            run.save()
            # Last, so that a folder with this file can be resumed and one without it started anew.
            run._save_config()
        return run

    @classmethod
    def resume(
        cls,
        folder: Path | str,
        computing: Computing = ON_CPU,
        steps: int | None = None,
        context: GpuContext | None = None,
        peers: Peers = ALONE,
        average: int | None = None,
        learning_rate: float | None = None,
        schedule: str | None = None,
    ) -> Run:
        """The run in a folder, as it stood at its newest whole checkpoint.

        With `steps` it will end there, instead of where it was to end; with `average` the mean of
        its weights goes over so many steps from now on. Another `learning_rate` or `schedule` is
        noted in its configuration (`changes`).
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
            _expect_unchanged(folder / CONFIG, config)
            with _prepared(config, computing, context, peers):
                trainer = Trainer.resume(saved, computing, context, peers)
            trainer.reschedule(**changes)
            run = cls(folder, trainer)
            run._forget_after(trainer.step)
            if any(value is not None for value in changes.values()):
                run.save()
                run._save_config()
        return run

    def train(
        self,
        *,
        logs: Iterable[Log] = (),
        observe: Callable[[Trainer, Report | None], Any] = lambda trainer, report: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train until the last step or until told to stop; whether the last step was reached."""
        steps = self.steps(logs=logs, should_stop=should_stop)
        try:
            for report in steps:
                observe(self.trainer, report)
        except BaseException as error:
            steps.throw(error)  # as if a step had failed: nothing is saved
            raise
        return self.trainer.step == self.trainer.config.schedule.steps

    def steps(
        self, *, logs: Iterable[Log] = (), should_stop: Callable[[], bool] = lambda: False
    ) -> Generator[Report | None, None, None]:
        """Train step by step: yields after each step its report, where one is due, or None.

        What is left when the iterator is closed is saved, and can be resumed. A run whose very
        first step fails leaves no folder.
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
        """Remove all that a run has written, and its folder unless it holds something else."""
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
    ) -> Generator[Report | None, None, None]:
        trainer = self.trainer
        if trainer.time_account.since:  # in a sitting before
            trainer.time_account.restart()
        every, first = trainer.config.schedule.checkpoint_every, trainer.step
        steps = trainer.run()
        try:
            for report in steps:
                if report is not None:
                    self._note(report, logs)
                yield report
                if trainer.step % every == 0:
                    self.save()
                if trainer.peers.any(should_stop()):
                    break
        except GeneratorExit:  # whoever takes the steps wants no more of them
            steps.close()
            self._end(first)
            raise
        finally:
            steps.close()
        self._end(first)

    def _end(self, first: int) -> None:
        """Save the last step, and how long those since the first took."""
        if self._saved != self.trainer.step:
            self.save()
        self._note_times(first)

    def _expect_no_other(self) -> None:
        """Complain if another process has gone on with the run since it was read."""
        there = checkpoint.steps(self.folder / CHECKPOINTS)
        if self.trainer.peers.is_first and there and there[0] != self._saved:
            raise ValueError(
                f"{self.folder}: another process has trained it from step {self._saved} to "
                f"{there[0]}; resume it again"
            )

    def save(self) -> None:
        """Write a checkpoint and the best model so far."""
        with self.trainer.time_account.on("saving"):
            now = self.trainer.checkpoint()
            self.trainer.peers.barrier()  # for those who read what is there
            if not self.trainer.peers.is_first:
                return
            checkpoint.write(self.folder / CHECKPOINTS, now)
            self._saved = now.step
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

        With one seed these are numbers, with several lists of a number for each seed.
        """
        if not self.metrics_file.exists():
            return []
        rows = [json.loads(line) for line in whole_lines(self.metrics_file)]
        return rows if len(self.trainer.config.seeds) > 1 else [_of_one_seed(row) for row in rows]

    @property
    def metrics_file(self) -> Path:
        """The file with one line of JSON for each report."""
        return self.folder / METRICS

    def _note(self, report: Report, logs: Iterable[Log]) -> None:
        if self.trainer.peers.is_first:
            with self.metrics_file.open("a") as file:
                file.write(self._metrics_line(report))
        for log in logs:
            log.report(report)

    def _metrics_line(self, report: Report) -> str:
        """A report as JSON; losses by feature only where there are further terms or penalties."""
        values = asdict(report)
        if not self.trainer.engine.has_further_losses:
            del values["terms"]
        if report.learning_rate is None:
            del values["learning_rate"]
        return _line(values)

    def _note_times(self, first: int) -> None:
        """Write down a sitting that began after a step and has come to its end."""
        trainer, file = self.trainer, self.folder / TIMES
        if trainer.peers.is_first:
            before = [f"{line}\n" for line in whole_lines(file)] if file.exists() else []
            now = {"from": first, "to": trainer.step, "version": __version__}
            now |= trainer.time_account.to_json()
            replace_text(file, "".join([*before, _line(now)]))

    def _forget_after(self, step: int) -> None:
        """Drop what is left of steps that will be taken again."""
        if not self.trainer.peers.is_first:
            return
        checkpoint.drop_after(self.folder / CHECKPOINTS, step)
        file = self.metrics_file
        if file.exists():
            lines = zip(read_metrics(file), whole_lines(file), strict=True)
            kept = [f"{line}\n" for report, line in lines if report.step <= step]
            replace_text(file, "".join(kept))


@contextmanager
def _locked(folder: Path, peers: Peers) -> Iterator[None]:
    """Let no other process train the run in a folder; the first of several peers locks it."""
    with ExitStack() as stack:
        try:
            if peers.is_first:
                stack.enter_context(lock_file(folder / _LOCK))
        except BlockingIOError:
            raise ValueError(f"{folder}: another process trains this run; wait for it") from None
        yield


def _expect_unchanged(file: Path, config: Config) -> None:
    """Complain if somebody has changed settings that a run goes by from its beginning."""
    written = config_in(file.parent, file.read_text())
    # What can be given anew may be behind its checkpoint.
    later: dict[str, Any] = {"steps": config.schedule.steps, "average": config.schedule.average}
    own = config.optimizer
    rates: dict[str, Any] = {"learning_rate": own.learning_rate, "schedule": own.schedule}
    written = replace(
        written,
        schedule=replace(written.schedule, **later),
        optimizer=replace(written.optimizer, **rates),
        changes=config.changes,
    )
    before, now = _flat(config), _flat(written)
    changed = [name for name in before if before[name] != now[name]]
    if changed:
        name = changed[0]
        raise ValueError(
            f"{file}: got {name} = {now[name]}, but the run was begun with {before[name]}: put it "
            "back, or start another run"
        )


def _flat(config: Config) -> dict[str, Any]:
    """All settings by their names."""
    flat: dict[str, Any] = {}
    for name, own in asdict(config).items():
        flat |= {f"{name}.{k}": v for k, v in own.items()} if isinstance(own, dict) else {name: own}
    return flat


def _line(values: dict[str, Any]) -> str:
    return json.dumps(values) + "\n"


def _of_one_seed(value: Any) -> Any:
    """A report without the axis of seeds."""
    if isinstance(value, dict):
        return {name: _of_one_seed(inner) for name, inner in value.items()}
    return value[0] if isinstance(value, list) else value


def read_metrics(file: Path) -> list[Report]:
    """The reports of a run, but for one that was not written to its end."""
    reports = []
    for number, line in enumerate(whole_lines(file) if file.exists() else [], 1):
        try:
            reports.append(Report(**json.loads(line)))
        except (ValueError, TypeError):
            raise ValueError(
                f"{file}, line {number}: got {shortened(line)}, expected a report; delete that line"
            ) from None
    return reports


def trained_seconds(folder: Path) -> float:
    """How long the run in a folder has been trained, in all sittings that came to an end."""
    file = folder / TIMES
    sittings = map(json.loads, whole_lines(file) if file.exists() else [])
    seconds: float = sum(sitting["ready_s"] + sitting["since_s"] for sitting in sittings)
    return round(seconds, 3)


def _prepared(
    config: Config, computing: Computing, context: GpuContext | None, peers: Peers
) -> AbstractContextManager[Any]:
    """Prepare the data of a run beside what is done in the block; of several runs, all at first.

    Of several processes one does it: it is kept on the disk.
    """
    alone = len(config.algorithms) == 1 and computing.worker_count == 1  # made where it is used
    if context or alone or not peers.is_first:
        return nullcontext()
    return prepare_in_background(config.algorithms, config.splits)


def pack(folder: Path | str, target: Path | str) -> list[Path]:
    """Write a run in few bytes to a new folder, where it can be resumed; returns the files.

    They are few and lie in the folder itself, so that they are easily sent.
    """
    folder, target = Path(folder), Path(target)
    now = newest(folder)
    expect_no_run(target)
    target.mkdir(parents=True, exist_ok=True)
    files = checkpoint.write_files(target, compress(now))
    for name in (METRICS, TIMES, CONFIG):
        if (folder / name).exists():
            replace_text(target / name, (folder / name).read_text())
            files.append(target / name)
    return files
