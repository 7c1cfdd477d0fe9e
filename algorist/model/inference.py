"""Run a learner on batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from algorist.batch import Batch, side_by_side
from algorist.kernels.cuda_graphs import CudaGraphs
from algorist.model.answers import (
    confidence_without_permutations,
    confidences,
    decided,
    without_permutations,
)
from algorist.model.net import Net
from algorist.model.window import expanded, pieces

if TYPE_CHECKING:
    from algorist.model.learner import Learner

PIECE = 64
"""The most steps in one window, which bounds the memory."""
WATCHED_PIECE = 8
"""The same where progress is reported."""
BATCH_SIZE = 32
"""How many samples are computed at once on a CPU, whose caches few samples fill, and at least on a
GPU."""
_EDGE_SHARE = 1 / 128
"""How much of a GPU's memory the edges of all samples that are computed at once may fill. A step
makes dozens of tensors of that size or half of it."""


@dataclass(frozen=True)
class Pace:
    """The length of the windows of a prediction, and the callback for its progress."""

    steps: int = PIECE
    """The most steps in one window."""
    watch: Callable[[int, int], None] | None = None
    """Called after each window with the number of steps done and of all steps."""


_DEFAULT_PACE = Pace()


@dataclass(frozen=True)
class Predictions:
    """The predictions of one replica for a batch, in the form of batches."""

    outputs: Mapping[str, np.ndarray]
    """(B, ...), sorted orders as pointers."""
    hints: Mapping[str, np.ndarray]
    """(T - 1, B, ...): the prediction of moment t + 1; empty unless asked for."""
    output_confidence: Mapping[str, np.ndarray] = field(default_factory=dict)
    """(B, ...): how probable the net holds each value, of all kinds but scalars; empty unless asked
    for, as that of hints is."""
    hint_confidence: Mapping[str, np.ndarray] = field(default_factory=dict)
    """(T - 1, B, ...)"""

    def take(self, indices: np.ndarray) -> Predictions:
        """The predictions for some samples, in the order of `indices`."""
        return Predictions(
            {name: x[indices] for name, x in self.outputs.items()},
            {name: x[:, indices] for name, x in self.hints.items()},
            {name: x[indices] for name, x in self.output_confidence.items()},
            {name: x[:, indices] for name, x in self.hint_confidence.items()},
        )


class Answers(NamedTuple):
    """The predictions of all replicas for a few problems, in the form of batches, on the device."""

    outputs: Mapping[str, Tensor]  # (S, B, ...)
    hints: Mapping[str, Tensor]  # (T - 1, S, B, ...), on the CPU; empty unless asked for
    output_confidence: Mapping[str, Tensor]  # (S, B, ...), likewise
    hint_confidence: Mapping[str, Tensor]  # (T - 1, S, B, ...), likewise


def predict(
    learner: Learner,
    algorithm: str,
    batch: Batch,
    *,
    hints: bool = False,
    confidence: bool = False,
    forced: bool | Collection[int] = (),
    pace: Pace = _DEFAULT_PACE,
) -> list[Predictions]:
    """The learner's answers for a batch of the benchmark, one for each replica.

    At the steps `forced`, or at all of them if it is True, the net reads the true hints instead of
    its own (teacher forcing). What `pace.watch` raises ends the computation.
    """

    def answers(few: Batch) -> Answers:
        part = DeviceBatch(learner, algorithm, few, forced=forced, pace=pace)
        return part.answers(hints=hints, confidence=confidence)

    order = np.argsort(batch.lengths, kind="stable")  # a part takes as long as its longest sample
    parts = [
        part
        for few in split(learner, batch.take(order))
        for part in _answer_within_memory(answers, few)
    ]
    return [own.take(np.argsort(order)) for own in by_replica(learner.net, algorithm, parts)]


def _answer_within_memory(answers: Callable[[Batch], Answers], batch: Batch) -> list[Answers]:
    """The answers to a batch, in halves if a GPU has no memory for all of it at once."""
    try:
        return [answers(batch)]
    except torch.OutOfMemoryError:
        if len(batch) == 1:
            raise
    torch.cuda.empty_cache()
    halves = np.array_split(np.arange(len(batch)), 2)
    return [part for half in halves for part in _answer_within_memory(answers, batch.take(half))]


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Set a module to evaluation mode in the block."""
    was_training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was_training)


class DeviceBatch:
    """A batch of problems on the device, of a size that is computed at once."""

    def __init__(
        self,
        learner: Learner,
        algorithm: str,
        batch: Batch,
        graphs: CudaGraphs | None = None,
        *,
        forced: bool | Collection[int] = (),
        pace: Pace = _DEFAULT_PACE,
    ):
        self._net, self._algorithm, self._moments = learner.net, algorithm, batch.steps - 1
        self._spec = self._net.spec(algorithm)
        seen = learner.convention.batch(algorithm, batch)
        if seen.spec != self._spec:
            raise ValueError(
                f"{algorithm}: the learner was trained when it had other features: "
                "load the plug-in as it was then"
            )
        window = learner.convention.window([seen] * self._net.replicas)
        if forced:
            window = window.with_forced(_forced_steps(forced, window.follows.shape))
        window = window.to(self._net.device)
        self._pieces = list(pieces(window, min(pace.steps, window.steps)))
        self._watch = pace.watch
        self._graphs = graphs
        self._graph: torch.cuda.CUDAGraph | None = None
        self._answers = Answers({}, {}, {}, {})

    def answers(self, *, hints: bool = False, confidence: bool = False) -> Answers:
        """The learner's answers, which a captured part puts where the ones before were."""
        if self._graphs is None:
            return self._computed(hints, confidence)
        if hints or confidence:
            raise ValueError("hints, confidence: a captured part has outputs alone")
        if self._graph is None:
            with self._graphs.on_stream():
                self._answers = self._computed()  # loads kernels and makes room
            self._graph = self._graphs.capture(self._renew)
        self._graph.replay()
        return self._answers

    def _renew(self) -> None:
        for name, value in self._computed().outputs.items():
            self._answers.outputs[name].copy_(value)

    @torch.no_grad()
    def _computed(self, hints: bool = False, confidence: bool = False) -> Answers:
        net, spec = self._net, self._spec
        outputs: dict[str, Tensor] = {}
        watched: list[Mapping[str, Tensor]] = []
        sure: list[Mapping[str, Tensor]] = []
        carry = None
        with evaluating(net):
            for number, piece in enumerate(self._pieces, 1):
                rollout = net.rollout(self._algorithm, piece, carry, keep_hints=hints)
                carry = rollout.carry
                for name, value in rollout.outputs.items():
                    ended = expanded(piece.end_weights > 0, value)
                    outputs[name] = torch.where(ended, value, outputs.get(name, value))
                watched.append({n: decided(spec[n], x).cpu() for n, x in rollout.hints.items()})
                if confidence:
                    sure.append({n: x.cpu() for n, x in confidences(spec, rollout.hints).items()})
                if self._watch is not None:
                    self._watch(min(number * piece.steps, self._moments), self._moments)
        return Answers(
            {name: decided(spec[name], value) for name, value in outputs.items()},
            self._over_time(watched),
            confidences(spec, outputs) if confidence else {},
            self._over_time(sure),
        )

    def _over_time(self, pieces: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """The values of all windows by name, concatenated over time."""
        names = pieces[0] if pieces else ()
        return {n: torch.cat([piece[n] for piece in pieces])[: self._moments] for n in names}


def _forced_steps(forced: bool | Collection[int], shape: Sequence[int]) -> np.ndarray:
    """Where (K, S, B) the net reads the true hints: at these steps, or all, in all lanes."""
    steps = np.arange(shape[0])
    chosen = np.isin(steps, steps if isinstance(forced, bool) else list(forced))
    return np.broadcast_to(chosen[:, None, None], tuple(shape))


def split(learner: Learner, batch: Batch) -> Iterator[Batch]:
    """The batch in parts that are computed at once."""
    size = _most_at_once(learner.net, batch.n)
    for indices in np.array_split(np.arange(len(batch)), -(-len(batch) // size)):
        yield batch.take(indices)


def _most_at_once(net: Net, n: int) -> int:
    """The batch size for `n` nodes; small batches leave a GPU half idle."""
    if net.device.type != "cuda":
        return BATCH_SIZE
    memory = torch.cuda.get_device_properties(net.device).total_memory
    edges = net.replicas * n * n * net.config.hidden * 4  # bytes of a sample
    return max(BATCH_SIZE, int(_EDGE_SHARE * memory / edges))


def by_replica(net: Net, algorithm: str, parts: Sequence[Answers]) -> list[Predictions]:
    """The answers of each replica to all parts together."""
    spec = net.spec(algorithm)
    outputs = _joined([part.outputs for part in parts])
    sure = _joined([part.output_confidence for part in parts])
    hints = _joined_over_time([part.hints for part in parts])
    hints_sure = _joined_over_time([part.hint_confidence for part in parts])
    found = []
    for replica in range(net.replicas):
        own = {name: x[replica] for name, x in outputs.items()}
        own_sure = {name: x[replica] for name, x in sure.items()}
        found.append(
            Predictions(
                without_permutations(spec, own)[1],
                {name: x[:, replica] for name, x in hints.items()},
                confidence_without_permutations(spec, own_sure, own),
                {name: x[:, replica] for name, x in hints_sure.items()},
            )
        )
    return found


def _joined(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, np.ndarray]:
    """Arrays (S, B, ...) side by side."""
    return {
        name: np.concatenate([part[name].cpu().numpy() for part in parts], 1) for name in parts[0]
    }


def _joined_over_time(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, np.ndarray]:
    """Arrays (T, S, B, ...) of different lengths side by side, padded with zeros."""
    return {name: side_by_side([part[name].numpy() for part in parts], 2) for name in parts[0]}
