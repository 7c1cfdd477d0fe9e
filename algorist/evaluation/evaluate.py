"""Run a learner on batches and score it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from algorist.algorithms import get
from algorist.batch import Batch
from algorist.evaluation.answers import decided, without_permutations
from algorist.evaluation.correct import right_answers
from algorist.evaluation.scores import score
from algorist.model.learner import Learner
from algorist.model.window import expanded, pieces, whole
from algorist.spec import Kind, Spec

PIECE = 64
"""The longest stretch of steps that is computed at once: it bounds the memory."""
BATCH_SIZE = 32
"""The most samples that are computed at once."""


@dataclass(frozen=True)
class Predictions:
    """What one replica made of a batch, in the form of batches."""

    outputs: Mapping[str, np.ndarray]
    """(B, ...), sorted orders as pointers."""
    hints: Mapping[str, np.ndarray]
    """(T - 1, B, ...): the prediction of moment t + 1; empty unless asked for."""


@dataclass(frozen=True)
class Evaluation:
    """How good one replica is on a batch."""

    outputs: Mapping[str, float]
    """The benchmark's score of each output."""
    correct: float
    """The share of samples whose answer is a right one, also where the benchmark has another."""
    quality: float
    """The mean over the outputs with errors counted as negative: larger is always better."""
    hints: Mapping[str, float] = field(default_factory=dict)
    """The mean score of each hint over the steps after the first; empty unless asked for."""
    hints_over_time: Mapping[str, list[float]] = field(default_factory=dict)
    """The score at each step after the first, over the samples that have it; nan where nothing
    counts."""

    @property
    def score(self) -> float:
        """The mean over the outputs, which is the benchmark's number."""
        return float(np.mean(list(self.outputs.values())))


def predict(
    learner: Learner, algorithm: str, batch: Batch, *, hints: bool = False
) -> list[Predictions]:
    """The learner's answers for a batch of the benchmark, one for each replica."""
    spec = learner.net.spec(algorithm)
    parts = [
        _raw_predictions(learner, algorithm, batch.take(indices), hints)
        for indices in np.array_split(np.arange(len(batch)), -(-len(batch) // BATCH_SIZE))
    ]
    results = []
    for replica in range(learner.net.replicas):
        outputs = {
            f.name: np.concatenate([decided(f, raw[f.name][replica]) for raw, _ in parts])
            for f in spec.outputs
        }
        watched = {
            name: _joined_over_time(
                [decided(spec[name], raw[name][:, replica]) for _, raw in parts]
            )
            for name in parts[0][1]
        }
        results.append(Predictions(without_permutations(spec, outputs)[1], watched))
    return results


def _raw_predictions(
    learner: Learner, algorithm: str, batch: Batch, hints: bool
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Raw outputs (S, B, ...) and hints (T - 1, S, B, ...) of one small batch."""
    net = learner.net
    seen = learner.convention.batch(algorithm, batch)
    window = whole([seen] * net.replicas).to(net.device)
    outputs: dict[str, Tensor] = {}
    watched: list[Mapping[str, Tensor]] = []
    carry = None
    was_training = net.training
    net.eval()
    with torch.no_grad():
        for piece in pieces(window, min(PIECE, window.steps)):
            rollout = net.rollout(algorithm, piece, carry, keep_hints=hints)
            carry = rollout.carry
            for name, value in rollout.outputs.items():
                ended = expanded(piece.end_weights > 0, value)
                outputs[name] = torch.where(ended, value, outputs.get(name, value))
            watched.append({name: value.cpu() for name, value in rollout.hints.items()})
    net.train(was_training)
    moments = batch.steps - 1
    return outputs, {name: torch.cat([w[name] for w in watched])[:moments] for name in watched[0]}


def _joined_over_time(parts: list[np.ndarray]) -> np.ndarray:
    """Arrays (T, B, ...) of different lengths side by side, padded with zeros."""
    steps = max(len(part) for part in parts)
    padded = [np.pad(p, ((0, steps - len(p)), *((0, 0),) * (p.ndim - 1))) for p in parts]
    return np.concatenate(padded, 1)


def evaluate(
    learner: Learner, algorithm: str, batch: Batch, *, hints: bool = False
) -> list[Evaluation]:
    """Score every replica of a learner on a batch of the benchmark."""
    seen = learner.convention.batch(algorithm, batch)
    spec, truths = without_permutations(seen.spec, seen.outputs)
    evaluations = []
    for predictions in predict(learner, algorithm, batch, hints=hints):
        # Judged by the numbers as they were drawn: single precision makes ties of its own.
        right = right_answers(get(algorithm), batch.inputs, predictions.outputs, truths)
        evaluations.append(_evaluation(spec, truths, seen, predictions, float(right.mean())))
    return evaluations


def _evaluation(
    spec: Spec,
    truths: Mapping[str, np.ndarray],
    batch: Batch,
    predictions: Predictions,
    correct: float,
) -> Evaluation:
    over_time = {
        name: _score_over_time(spec, name, batch, value)
        for name, value in predictions.hints.items()
    }
    counts = np.array([(batch.lengths > t).sum() for t in range(1, batch.steps)])
    scores = {
        f.name: score(f.kind, predictions.outputs[f.name], truths[f.name]) for f in spec.outputs
    }
    signed = [-scores[f.name] if f.kind == Kind.SCALAR else scores[f.name] for f in spec.outputs]
    return Evaluation(
        outputs=scores,
        correct=correct,
        quality=float(np.mean(signed)),
        hints={name: _average(series, counts) for name, series in over_time.items()},
        hints_over_time=over_time,
    )


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
        for t in range(1, batch.steps)
    ]
