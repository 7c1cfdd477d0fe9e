"""A process that does one run: it is told what to do in a line of JSON and answers with another.

Every run of a sweep has such a process, whoever starts it, on this machine or on another. A further
line means that it is to save and stop. When its input ends, there is nobody left who waits: it ends
at once, so that no two processes ever write to one run.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

import algorist
from algorist.experiments.plan import Name, Part
from algorist.experiments.results import Results, Row
from algorist.experiments.work import Examiner, Job
from algorist.model.computing import Computing
from algorist.training.config import Config
from algorist.training.slots import attempted

DONE, STOPPED, FAILED = "done", "stopped", "failed"


@dataclass(frozen=True)
class Assignment:
    """All that a process must know about a run."""

    name: tuple[str, str]
    """Of the part."""
    recipe: str
    config: Mapping[str, Any]
    seeds: tuple[int, ...]
    runs: str
    """The folder of all runs, which must be there: it is the same one for all processes."""
    folder: str
    samples: int | None
    computing: Mapping[str, Any]
    cores: int
    plugins: tuple[str, ...] = ()
    version: str = algorist.__version__

    @classmethod
    def of(cls, job: Job, runs: Path, **others: Any) -> Assignment:
        """What is to be done for a job."""
        part = job.part
        return cls(
            name=part.name,
            recipe=part.recipe,
            config=asdict(part.config),
            seeds=job.seeds,
            runs=str(runs.absolute()),
            folder=str(job.folder.absolute()),
            **others,
        )

    def to_json(self) -> str:
        """This assignment in one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Assignment:
        """The assignment that `to_json` wrote."""
        return cls(**json.loads(text))

    def job(self) -> Job:
        """The job that it was made of."""
        name, config = Name(*self.name), Config.from_json(json.dumps(self.config))
        part = Part(name, config, self.recipe, source=name)
        return Job(part, tuple(self.seeds), Path(self.folder))


@dataclass(frozen=True)
class Reply:
    """What has become of a run."""

    state: str
    message: str = ""
    """How far it came, or what is wrong."""
    trace: str = ""
    """Where it went wrong."""
    rows: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> str:
        """This reply in one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Reply:
        """The reply that `to_json` wrote."""
        return cls(**json.loads(text))

    def results(self) -> list[Row]:
        """The rows of a run that is done."""
        return [Row(**row) for row in self.rows]


def do(assignment: Assignment, should_stop: Callable[[], bool] = lambda: False) -> Reply:
    """Train a run and test it, from wherever it stands."""
    _check(assignment)
    job, computing = assignment.job(), Computing(**assignment.computing)
    # Beside the run, so that what was tested before the process died is not tested again.
    results = Results(job.folder, job.part.name.experiment)
    run = job.run(computing)
    if not job.train(run, should_stop):
        return Reply(STOPPED, f"saved at step {run.trainer.step}")
    examiner = Examiner(results, assignment.samples, assignment.version)
    if not examiner.examine(job, run.trainer, should_stop):
        return Reply(STOPPED, "trained, to be tested")
    return Reply(DONE, rows=[asdict(row) for row in results.rows])


def _check(assignment: Assignment) -> None:
    """Complain about a machine that is not like the one that the run was assigned on."""
    if assignment.version != algorist.__version__:
        raise ValueError(
            f"algorist: got version {algorist.__version__} on {os.uname().nodename}, "
            f"expected {assignment.version}"
        )
    if not Path(assignment.runs).is_dir():
        raise ValueError(
            f"{assignment.runs}: there is no such folder on {os.uname().nodename}, expected "
            "storage that all machines share"
        )


def main() -> None:
    """Do what the first line of the input says, and answer."""
    # Whatever else is printed must not be taken for the answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    assignment = Assignment.from_json(sys.stdin.readline())
    stopping = threading.Event()
    threading.Thread(target=_listen, args=(sys.stdin, stopping), daemon=True).start()
    print(_reply(assignment, stopping.is_set).to_json(), file=answers, flush=True)
    os._exit(0)  # whose threads are still at work does not matter


def _listen(lines: TextIO, stopping: threading.Event) -> None:
    """Wait for a word to stop, or for the end of whoever may say it."""
    for _ in lines:
        stopping.set()
    os._exit(1)


def _reply(assignment: Assignment, should_stop: Callable[[], bool]) -> Reply:
    """What comes of an assignment, errors included."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(assignment.cores)

    def work() -> Reply:
        for file in assignment.plugins:
            algorist.load_plugin(file)
        return do(assignment, should_stop)

    outcome = attempted(0, work)
    if outcome.error is None:
        return outcome.value
    message = str(outcome.error) or type(outcome.error).__name__
    return Reply(FAILED, message, outcome.trace)


if __name__ == "__main__":
    main()
