"""Score a learner on batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from algorist.algorithms import get
from algorist.algorithms.answer_checks import check_answers
from algorist.batch import Batch
from algorist.evaluation.metrics import score
from algorist.kernels.cuda_graphs import CudaGraphs
from algorist.model.inference import (
    DeviceBatch,
    DevicePredictions,
    Predictions,
    join_predictions,
    predict,
    split_batch,
)
from algorist.model.learner import Learner
from algorist.model.postprocessing import permutations_to_pointers
from algorist.spec import Kind, Spec


@dataclass(frozen=True)
class Evaluation:
    """The scores of one replica on a batch."""

    outputs: Mapping[str, float]
    """The benchmark's score of each output."""
    correct: float
    """The share of samples whose answer is a right one, also where the benchmark has another; nan
    unless asked for."""
    quality: float
    """The mean over the outputs with errors counted as negative: larger is always better."""
    hints: Mapping[str, float] = field(default_factory=dict)
    """The mean score of each hint over the steps after the first; empty unless asked for."""
    forced_hints: Mapping[str, float] = field(default_factory=dict)
    """The same where the net is given the true hints at every step: how well it predicts a single
    step; empty unless asked for."""
    hint_quality: float | None = None
    """The mean over the hints, 1 if all are right: a scalar counts as 1 minus its error; nan where
    there are none."""
    hints_over_time: Mapping[str, list[float]] = field(default_factory=dict)
    """The score at each step after the first, over the samples that have it; nan where nothing
    counts."""

    @property
    def score(self) -> float:
        """The mean over the outputs, which is the benchmark's number."""
        return float(np.mean(list(self.outputs.values())))


class Evaluator:
    """Scores a learner on the same problems repeatedly, reusing what does not change."""

    def __init__(
        self, learner: Learner, algorithm: str, batch: Batch, *, graphs: CudaGraphs | None = None
    ):
        """With `graphs` the learner's predictions are captured when they are first asked for."""
        self._net, self._truth = learner.net, _truth(learner, algorithm, batch)
        self._parts = [
            DeviceBatch(learner, algorithm, part, graphs) for part in split_batch(learner, batch)
        ]

    def predict(self) -> list[DevicePredictions]:
        """The predictions of the learner as it is now, launched on a GPU but not awaited."""
        return [part.predict() for part in self._parts]

    def score(self, predicted: Sequence[DevicePredictions]) -> list[Evaluation]:
        """Score the latest predictions of every replica.

        `correct` is nan: checking which answers are right takes long.
        """
        predictions = join_predictions(self._net, self._truth.algorithm, predicted)
        return [_evaluation(self._truth, own, float("nan")) for own in predictions]


def evaluate(
    learner: Learner, algorithm: str, batch: Batch, *, hints: bool = False, forced: bool = False
) -> list[Evaluation]:
    """Score every replica of a learner on a batch of the benchmark.

    With `hints` the hints are scored too; with `forced` once more, given the true ones each step.
    """
    truth = _truth(learner, algorithm, batch)
    evaluations = _evaluate_unforced(learner, truth, batch, hints=hints)
    if not forced:
        return evaluations
    one_step = predict(learner, algorithm, batch, hints=True, forced=True)
    return [
        replace(own, forced_hints=_evaluation(truth, predictions, float("nan")).hints)
        for own, predictions in zip(evaluations, one_step, strict=True)
    ]


def _evaluate_unforced(
    learner: Learner, truth: _Truth, batch: Batch, *, hints: bool
) -> list[Evaluation]:
    algorithm, evaluations = truth.algorithm, []
    for predictions in predict(learner, algorithm, batch, hints=hints):
        # Judged by the numbers as they were drawn: single precision makes ties of its own.
        right = check_answers(get(algorithm), batch.inputs, predictions.outputs, truth.outputs)
        evaluations.append(_evaluation(truth, predictions, float(right.mean())))
    return evaluations


class _Truth(NamedTuple):
    """The truth with which predictions are compared."""

    algorithm: str
    batch: Batch  # as the net sees it
    spec: Spec  # with sorted orders as pointers, like the outputs
    outputs: Mapping[str, np.ndarray]


def _truth(learner: Learner, algorithm: str, batch: Batch) -> _Truth:
    seen = learner.encoding.batch(algorithm, batch)
    return _Truth(algorithm, seen, *permutations_to_pointers(seen.spec, seen.outputs))


def _evaluation(truth: _Truth, predictions: Predictions, correct: float) -> Evaluation:
    batch, spec = truth.batch, truth.spec
    over_time = {
        name: _score_over_time(spec, name, batch, value)
        for name, value in predictions.hints.items()
    }
    counts = (batch.lengths > np.arange(1, batch.lengths.max())[:, None]).sum(1)
    scores = {
        f.name: score(f.kind, predictions.outputs[f.name], truth.outputs[f.name])
        for f in spec.outputs
    }
    hints = {name: _average(series, counts) for name, series in over_time.items()}
    return Evaluation(
        outputs=scores,
        correct=correct,
        quality=_quality(spec, scores),
        hints=hints,
        hint_quality=_quality(spec, hints, without_error=1.0) if hints else None,
        hints_over_time=over_time,
    )


def _quality(spec: Spec, scores: Mapping[str, float], *, without_error: float = 0.0) -> float:
    """The mean of all scores that there are; a scalar's is `without_error` minus its error."""
    found = [
        without_error - value if spec[name].kind == Kind.SCALAR else value
        for name, value in scores.items()
        if not math.isnan(value)
    ]
    return float(np.mean(found)) if found else float("nan")


def _average(scores: list[float], counts: np.ndarray) -> float:
    """The mean over the steps that have a score, weighted by how many samples have them."""
    scored = np.isfinite(scores)
    if not scored.any():
        return float("nan")
    return float(np.average(np.array(scores)[scored], weights=counts[scored]))


def _score_over_time(spec: Spec, name: str, batch: Batch, predicted: np.ndarray) -> list[float]:
    return [
        score(
            spec[name].kind,
            predicted[t - 1][batch.lengths > t],
            batch.hints[name][t][batch.lengths > t],
        )
        for t in range(1, batch.lengths.max())
    ]
