"""Run a learner on batches and score it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorist.algorithms import get
from algorist.batch import Batch
from algorist.evaluation.answers import decided, without_permutations
from algorist.evaluation.correct import right_answers
from algorist.evaluation.scores import score
from algorist.model.graphs import Graphs
from algorist.model.learner import Learner
from algorist.model.net import Net
from algorist.model.window import expanded, pieces, whole
from algorist.spec import Kind, Spec

PIECE = 64
"""The longest stretch of steps that is computed at once: it bounds the memory."""
BATCH_SIZE, LARGE = 32, 64
"""The most samples of large problems that are computed at once, and how many nodes these have."""


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
    """The share of samples whose answer is a right one, also where the benchmark has another; nan
    unless asked for."""
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


class Answers(NamedTuple):
    """What all replicas made of a few problems, in the form of batches, on the device."""

    outputs: Mapping[str, Tensor]  # (S, B, ...)
    hints: Mapping[str, Tensor]  # (T - 1, S, B, ...), on the CPU; empty unless asked for


class Examination:
    """Problems that are put to a learner again and again: what does not change is made once."""

    def __init__(
        self, learner: Learner, algorithm: str, batch: Batch, *, graphs: Graphs | None = None
    ):
        """With `graphs` the learner's answers are captured when they are first asked for."""
        self._net, self._truth = learner.net, _truth(learner, algorithm, batch)
        self._parts = [_Part(learner, algorithm, few, graphs) for few in _split(learner, batch)]

    def answers(self) -> list[Answers]:
        """The learner's present answers. On a GPU they are on their way."""
        return [part.answers() for part in self._parts]

    def scored(self, answers: Sequence[Answers]) -> list[Evaluation]:
        """How good answers are, for every replica. They must be the latest.

        It is not asked which are right in their own way: that takes long.
        """
        predictions = _by_replica(self._net, self._truth.algorithm, answers)
        return [_evaluation(self._truth, own, float("nan")) for own in predictions]


def predict(
    learner: Learner, algorithm: str, batch: Batch, *, hints: bool = False
) -> list[Predictions]:
    """The learner's answers for a batch of the benchmark, one for each replica."""
    parts = (_Part(learner, algorithm, few) for few in _split(learner, batch))
    return _by_replica(learner.net, algorithm, [part.answers(hints=hints) for part in parts])


def evaluate(
    learner: Learner, algorithm: str, batch: Batch, *, hints: bool = False
) -> list[Evaluation]:
    """Score every replica of a learner on a batch of the benchmark."""
    truth = _truth(learner, algorithm, batch)
    evaluations = []
    for predictions in predict(learner, algorithm, batch, hints=hints):
        # Judged by the numbers as they were drawn: single precision makes ties of its own.
        right = right_answers(get(algorithm), batch.inputs, predictions.outputs, truth.outputs)
        evaluations.append(_evaluation(truth, predictions, float(right.mean())))
    return evaluations


class _Part:
    """A few problems, as many as are computed at once, on the device."""

    def __init__(
        self, learner: Learner, algorithm: str, batch: Batch, graphs: Graphs | None = None
    ):
        self._net, self._algorithm, self._moments = learner.net, algorithm, batch.steps - 1
        self._spec = self._net.spec(algorithm)
        seen = learner.convention.batch(algorithm, batch)
        window = whole([seen] * self._net.replicas).to(self._net.device)
        self._pieces = list(pieces(window, min(PIECE, window.steps)))
        self._graphs = graphs
        self._graph: torch.cuda.CUDAGraph | None = None
        self._answers = Answers({}, {})

    def answers(self, *, hints: bool = False) -> Answers:
        """The learner's answers, which a captured part puts where the ones before were."""
        if self._graphs is None:
            return self._computed(hints)
        if self._graph is None:
            with self._graphs.aside():
                self._answers = self._computed(hints=False)  # loads kernels and makes room
            self._graph = self._graphs.captured(self._renew)
        self._graph.replay()
        return self._answers

    def _renew(self) -> None:
        for name, value in self._computed(hints=False).outputs.items():
            self._answers.outputs[name].copy_(value)

    @torch.no_grad()
    def _computed(self, hints: bool) -> Answers:
        net, spec = self._net, self._spec
        outputs: dict[str, Tensor] = {}
        watched: list[Mapping[str, Tensor]] = []
        carry = None
        was_training = net.training
        net.eval()
        for piece in self._pieces:
            rollout = net.rollout(self._algorithm, piece, carry, keep_hints=hints)
            carry = rollout.carry
            for name, value in rollout.outputs.items():
                ended = expanded(piece.end_weights > 0, value)
                outputs[name] = torch.where(ended, value, outputs.get(name, value))
            watched.append({n: decided(spec[n], x).cpu() for n, x in rollout.hints.items()})
        net.train(was_training)
        return Answers(
            {name: decided(spec[name], value) for name, value in outputs.items()},
            {name: torch.cat([w[name] for w in watched])[: self._moments] for name in watched[0]},
        )


def _split(learner: Learner, batch: Batch) -> Iterator[Batch]:
    """The batch in parts that are computed at once: larger ones where problems are small.

    That is for GPUs, which small batches leave half idle. Caches of CPUs are filled by few samples.
    """
    on_gpu = learner.net.device.type == "cuda"
    size = BATCH_SIZE * max(1, (LARGE // batch.n) ** 2 if on_gpu else 1)
    for indices in np.array_split(np.arange(len(batch)), -(-len(batch) // size)):
        yield batch.take(indices)


def _by_replica(net: Net, algorithm: str, parts: Sequence[Answers]) -> list[Predictions]:
    """The answers of each replica to all parts together."""
    spec = net.spec(algorithm)
    outputs = {
        f.name: np.concatenate([part.outputs[f.name].cpu().numpy() for part in parts], 1)
        for f in spec.outputs
    }
    hints = {
        name: _joined_over_time([part.hints[name].numpy() for part in parts])
        for name in parts[0].hints
    }
    return [
        Predictions(
            without_permutations(spec, {name: x[replica] for name, x in outputs.items()})[1],
            {name: x[:, replica] for name, x in hints.items()},
        )
        for replica in range(net.replicas)
    ]


def _joined_over_time(parts: list[np.ndarray]) -> np.ndarray:
    """Arrays (T, S, B, ...) of different lengths side by side, padded with zeros."""
    steps = max(len(part) for part in parts)
    padded = [np.pad(p, ((0, steps - len(p)), *((0, 0),) * (p.ndim - 1))) for p in parts]
    return np.concatenate(padded, 2)


class _Truth(NamedTuple):
    """What predictions are held against."""

    algorithm: str
    batch: Batch  # as the net sees it
    spec: Spec  # with sorted orders as pointers, like the outputs
    outputs: Mapping[str, np.ndarray]


def _truth(learner: Learner, algorithm: str, batch: Batch) -> _Truth:
    seen = learner.convention.batch(algorithm, batch)
    return _Truth(algorithm, seen, *without_permutations(seen.spec, seen.outputs))


def _evaluation(truth: _Truth, predictions: Predictions, correct: float) -> Evaluation:
    batch, spec = truth.batch, truth.spec
    over_time = {
        name: _score_over_time(spec, name, batch, value)
        for name, value in predictions.hints.items()
    }
    counts = (batch.lengths > np.arange(1, batch.steps)[:, None]).sum(1)
    scores = {
        f.name: score(f.kind, predictions.outputs[f.name], truth.outputs[f.name])
        for f in spec.outputs
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
