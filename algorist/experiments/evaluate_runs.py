"""Evaluates the nets of runs in the official tests, and makes rows of results of their scores."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from algorist.data import official
from algorist.evaluation.evaluator import Evaluation, evaluate
from algorist.experiments.config_hash import config_hash
from algorist.experiments.jobs import Job
from algorist.experiments.plan import Name
from algorist.experiments.results import ResultRow, Results
from algorist.kernels.cuda_graphs import CAPTURE_LOCK
from algorist.model.compute_config import device_name
from algorist.model.learner import Learner
from algorist.training.config import Config
from algorist.training.run_files import trained_seconds
from algorist.training.trainer import Trainer
from algorist.version import __version__


def rows_of(
    name: Name,
    learner: Learner,
    algorithm: str,
    samples: int,
    evaluations: Iterable[Evaluation],
    seconds: float = math.nan,
) -> Iterator[ResultRow]:
    """A result for each replica of a learner, with the time of its training, if that is known."""
    metadata = learner.metadata
    own_hash = config_hash(Config.from_json(metadata["config"]))
    for replica, evaluation in zip(metadata["replicas"], evaluations, strict=True):
        validation = replica["validation"]
        yield ResultRow(
            *name,
            algorithm,
            replica["seed"],
            score=100 * evaluation.score,
            correct=100 * evaluation.correct,
            validation=math.nan if validation is None else 100 * validation,
            best_step=replica["step"],
            steps=metadata["steps"],
            weights=learner.net.size,
            samples=samples,
            recipe=own_hash,
            version=__version__,
            device=device_name(learner.net.device),
            date=time.strftime("%Y-%m-%d"),
            seconds=seconds,
        )


@dataclass(frozen=True)
class RunEvaluator:
    """Evaluates nets on the official tests, or on the first samples of them."""

    results: Results
    samples: int | None

    def evaluate(
        self, job: Job, trainer: Trainer, should_stop: Callable[[], bool] = lambda: False
    ) -> bool:
        """Evaluate the best nets of a run; returns whether all is done.

        Results are written after each algorithm, where `should_stop` is asked.
        """
        learner = trainer.best_learner()
        trainer.computing.exactly().apply(learner.net)
        for algorithm in trainer.config.algorithms:
            has = (self.results.has(job.part, algorithm, s, self.samples) for s in job.seeds)
            if all(has):
                continue
            if should_stop():
                return False
            batch = official.first_samples(algorithm, "test", self.samples)
            with CAPTURE_LOCK if trainer.computing.on_gpu else nullcontext():  # it loads kernels
                evaluations = evaluate(learner, algorithm, batch)
            self.results.add(
                rows_of(
                    job.part.name,
                    learner,
                    algorithm,
                    len(batch),
                    evaluations,
                    trained_seconds(job.folder),
                )
            )
        return True
