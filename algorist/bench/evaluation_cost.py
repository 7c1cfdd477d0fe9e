"""The cost of scoring a learner on a set of problems."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from algorist.batch import Batch
from algorist.bench.timing import free_memory, peak_mb, time_call
from algorist.evaluation.evaluator import evaluate
from algorist.model.learner import Learner


@dataclass(frozen=True)
class EvaluationCost:
    """The cost of scoring a learner on one set of problems."""

    algorithm: str
    n: int
    samples: int
    steps: int
    """The steps of the algorithm in the longest sample."""
    replicas: int
    data_s: float
    """The seconds to read the problems, or to draw them if they are not on disk."""
    score_s: float
    """The seconds to predict, to score and to check the answers."""
    memory_mb: float
    """The peak, on a CPU of the whole process."""


def evaluation_cost(
    learner: Learner, algorithm: str, draw: Callable[[str], Batch]
) -> EvaluationCost:
    """Measure how long a learner takes for the problems that `draw(algorithm)` returns."""
    device = learner.net.device
    free_memory(device)
    start = time.perf_counter()
    batch = draw(algorithm)
    drawn = time.perf_counter() - start
    scored = time_call(lambda: evaluate(learner, algorithm, batch), device)
    return EvaluationCost(
        algorithm=algorithm,
        n=batch.n,
        samples=len(batch),
        steps=batch.steps,
        replicas=learner.net.replicas,
        data_s=drawn,
        score_s=scored,
        memory_mb=peak_mb(device),
    )
