"""Evaluations at the command line, of one algorithm after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from algorist.batch import Batch
from algorist.evaluation.evaluator import evaluate
from algorist.model.learner import Learner
from algorist.report.scores import ScoreRow
from algorist.report.terminal import Terminal


def evaluate_each(
    learners: Mapping[str, Learner],
    draw: Callable[[str], Batch],
    *,
    hints: bool = False,
    forced: bool = False,
) -> Iterator[ScoreRow]:
    """Score the learner for each algorithm, one by one, saying which on standard error."""
    with Terminal(stderr=True).status("") as status:
        for number, (algorithm, learner) in enumerate(learners.items(), 1):
            status.update(f"testing {algorithm} ({number} of {len(learners)})")
            batch = draw(algorithm)
            evaluations = evaluate(learner, algorithm, batch, hints=hints, forced=forced)
            spec = learner.encoding.spec(algorithm)
            yield ScoreRow(algorithm, spec, batch.n, len(batch), evaluations)
