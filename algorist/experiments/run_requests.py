"""Requests to train and evaluate a run, as they are sent to processes, and the replies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from algorist.experiments.config_hash import config_hash
from algorist.experiments.evaluate_runs import RunEvaluator
from algorist.experiments.jobs import Job
from algorist.experiments.plan import Name, Part
from algorist.experiments.results import ResultRow, Results
from algorist.model.compute_config import ComputeConfig
from algorist.training.config import Config
from algorist.training.run import Observer, Run, ignore_step

DONE, STOPPED, FAILED = "done", "stopped", "failed"


@dataclass(frozen=True)
class RunRequest:
    """Everything that a process needs to know to train and evaluate a run."""

    name: tuple[str, str]
    """The name of the part."""
    config: Mapping[str, Any]
    seeds: tuple[int, ...]
    runs: str
    """The folder of all runs, which must be there: it is the same one for all processes."""
    folder: str
    samples: int | None
    computing: Mapping[str, Any]
    cores: int
    plugins: tuple[str, ...]
    version: str
    """The version of this library."""

    @classmethod
    def of(cls, job: Job, runs: Path, **others: Any) -> RunRequest:
        """The request for a job."""
        part = job.part
        return cls(
            name=part.name,
            config=asdict(part.config),
            seeds=job.seeds,
            runs=str(runs.absolute()),
            folder=str(job.folder.absolute()),
            **others,
        )

    def to_json(self) -> str:
        """The request as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RunRequest:
        """The request that `to_json` wrote."""
        return cls(**json.loads(text))

    def job(self) -> Job:
        """The job that it was made of."""
        name, config = Name(*self.name), Config.from_json(json.dumps(self.config))
        part = Part(name, config, config_hash(config), source=name)
        return Job(part, tuple(self.seeds), Path(self.folder))


@dataclass(frozen=True)
class Reply:
    """The outcome of a run."""

    state: str
    message: str = ""
    """The progress of the run, or the error."""
    trace: str = ""
    """The traceback."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    permanent: bool = False
    """Whether the error would recur."""

    def to_json(self) -> str:
        """The reply as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Reply:
        """The reply that `to_json` wrote."""
        return cls(**json.loads(text))

    def results(self) -> list[ResultRow]:
        """The rows of a run that is done."""
        return [ResultRow(**row) for row in self.rows]


def execute(request: RunRequest, should_stop: Callable[[], bool] = lambda: False) -> Reply:
    """Train a run and evaluate it, from its latest checkpoint on."""
    _expect_shared(Path(request.runs))
    job, computing = request.job(), ComputeConfig(**request.computing)
    # Beside the run, so that what was tested before the process died is not tested again.
    results = Results(job.folder, job.part.name.experiment)
    run, evaluator = job.run(computing), RunEvaluator(results, request.samples)
    reply = train_and_evaluate(job, run, evaluator, should_stop)
    if reply.state != DONE:
        return reply
    return replace(reply, rows=[asdict(row) for row in results.rows])


def train_and_evaluate(
    job: Job,
    run: Run,
    evaluator: RunEvaluator,
    should_stop: Callable[[], bool],
    observe: Observer = ignore_step,
) -> Reply:
    """Train a run to its last step and evaluate it, unless it is to stop before."""
    if not job.train(run, should_stop, observe):
        return Reply(STOPPED, f"saved at step {run.trainer.step}")
    if not evaluator.evaluate(job, run.trainer, should_stop):
        return Reply(STOPPED, "trained, to be tested")
    return Reply(DONE)


def _expect_shared(runs: Path) -> None:
    """Raise a `ValueError` on a machine that does not see the shared folder of runs."""
    if not runs.is_dir():
        raise ValueError(
            f"{runs}: there is no such folder on {os.uname().nodename}, expected storage that all "
            "machines share"
        )
