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
from algorist.model.net import Net
from algorist.model.postprocessing import (
    confidences,
    decide,
    permutation_confidence_to_pointers,
    permutations_to_pointers,
)
from algorist.model.window import split_window, unsqueeze_like

if TYPE_CHECKING:
    from algorist.model.learner import Learner

WINDOW_STEPS = 64
"""The most steps in one window, which bounds the memory."""
REPORTED_STEPS = 8
"""The same where progress is reported."""
BATCH_SIZE = 32
"""How many samples are computed at once on a CPU, whose caches few samples fill, and at least on a
GPU."""
_EDGE_SHARE = 1 / 128
"""How much of a GPU's memory the edges of all samples that are computed at once may fill. A step
makes dozens of tensors of that size or half of it."""


OnProgress = Callable[[int, int], None]
"""(steps done, all steps) -> None, called after each window."""


@dataclass(frozen=True)
class Predictions:
    """The predictions of one replica for a batch, in the form of batches."""

    outputs: Mapping[str, np.ndarray]
    """(B, ...), sorted orders as pointers."""
    hints: Mapping[str, np.ndarray]
    """(T - 1, B, ...): the prediction of step t + 1; empty unless asked for."""
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


class DevicePredictions(NamedTuple):
    """The predictions of all replicas for a batch, in the form of batches, on the device."""

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
    window_steps: int | None = None,
    on_progress: OnProgress | None = None,
) -> list[Predictions]:
    """The learner's answers for a batch of the benchmark, one for each replica.

    At the steps `forced`, or at all of them if it is True, the net reads the true hints instead of
    its own (teacher forcing). A window has at most `window_steps` steps, `WINDOW_STEPS` by default.
    What `on_progress` raises ends the computation.
    """

    def predict_part(part: Batch) -> DevicePredictions:
        problems = DeviceBatch(
            learner,
            algorithm,
            part,
            forced=forced,
            window_steps=window_steps,
            on_progress=on_progress,
        )
        return problems.predict(hints=hints, confidence=confidence)

    order = np.argsort(batch.lengths, kind="stable")  # a part takes as long as its longest sample
    parts = [
        predictions
        for part in split_batch(learner, batch.take(order))
        for predictions in _predict_within_memory(predict_part, part)
    ]
    by_replica = join_predictions(learner.net, algorithm, parts)
    return [predictions.take(np.argsort(order)) for predictions in by_replica]


def _predict_within_memory(
    predict_part: Callable[[Batch], DevicePredictions], batch: Batch
) -> list[DevicePredictions]:
    """The predictions for a batch, in halves if a GPU has no memory for all of it at once."""
    try:
        return [predict_part(batch)]
    except torch.OutOfMemoryError:
        if len(batch) == 1:
            raise
    torch.cuda.empty_cache()
    return [
        predictions
        for half in np.array_split(np.arange(len(batch)), 2)
        for predictions in _predict_within_memory(predict_part, batch.take(half))
    ]


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
        window_steps: int | None = None,
        on_progress: OnProgress | None = None,
    ):
        """With `graphs` the computation is captured when it is first asked for."""
        self._net, self._algorithm, self._steps = learner.net, algorithm, batch.steps - 1
        self._spec = self._net.spec(algorithm)
        encoded = learner.encoding.batch(algorithm, batch)
        if encoded.spec != self._spec:
            raise ValueError(
                f"{algorithm}: the learner was trained when it had other features: "
                "load the plug-in as it was then"
            )
        window = learner.encoding.window([encoded] * self._net.replicas)
        if forced:
            window = window.with_forced(_forced_steps(forced, window.follows.shape))
        window = window.to(self._net.device)
        self._pieces = list(split_window(window, min(window_steps or WINDOW_STEPS, window.steps)))
        self._on_progress = on_progress
        self._graphs = graphs
        self._graph: torch.cuda.CUDAGraph | None = None
        self._predictions = DevicePredictions({}, {}, {}, {})

    def predict(self, *, hints: bool = False, confidence: bool = False) -> DevicePredictions:
        """The learner's predictions; a captured graph writes them over those of the last call."""
        if self._graphs is None:
            return self._compute(hints, confidence)
        if hints or confidence:
            raise ValueError("hints, confidence: a captured part has outputs alone")
        if self._graph is None:
            with self._graphs.on_stream():
                self._predictions = self._compute()  # loads kernels and allocates the outputs
            self._graph = self._graphs.capture(self._overwrite_outputs)
        self._graph.replay()
        return self._predictions

    def _overwrite_outputs(self) -> None:
        for name, value in self._compute().outputs.items():
            self._predictions.outputs[name].copy_(value)

    @torch.no_grad()
    def _compute(self, hints: bool = False, confidence: bool = False) -> DevicePredictions:
        net, spec = self._net, self._spec
        outputs: dict[str, Tensor] = {}
        hint_pieces: list[Mapping[str, Tensor]] = []
        confidence_pieces: list[Mapping[str, Tensor]] = []
        carry = None
        with evaluating(net):
            for number, piece in enumerate(self._pieces, 1):
                rollout = net.rollout(self._algorithm, piece, carry, keep_hints=hints)
                carry, raw = rollout.carry, rollout.hints
                for name, value in rollout.outputs.items():
                    ended = unsqueeze_like(piece.end_weights > 0, value)
                    outputs[name] = torch.where(ended, value, outputs.get(name, value))
                hint_pieces.append({name: decide(spec[name], x).cpu() for name, x in raw.items()})
                if confidence:
                    found = confidences(spec, raw)
                    confidence_pieces.append({name: x.cpu() for name, x in found.items()})
                if self._on_progress is not None:
                    self._on_progress(min(number * piece.steps, self._steps), self._steps)
        return DevicePredictions(
            {name: decide(spec[name], value) for name, value in outputs.items()},
            self._join_pieces(hint_pieces),
            confidences(spec, outputs) if confidence else {},
            self._join_pieces(confidence_pieces),
        )

    def _join_pieces(self, pieces: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """The values of all windows by name, concatenated over time."""
        names = pieces[0] if pieces else ()
        return {n: torch.cat([piece[n] for piece in pieces])[: self._steps] for n in names}


def _forced_steps(forced: bool | Collection[int], shape: Sequence[int]) -> np.ndarray:
    """Where (K, S, B) the net reads the true hints: at these steps, or all, in all lanes."""
    steps = np.arange(shape[0])
    chosen = np.isin(steps, steps if isinstance(forced, bool) else list(forced))
    return np.broadcast_to(chosen[:, None, None], tuple(shape))


def split_batch(learner: Learner, batch: Batch) -> Iterator[Batch]:
    """Split a batch into parts that are computed at once."""
    size = _batch_size(learner.net, batch.n)
    for indices in np.array_split(np.arange(len(batch)), -(-len(batch) // size)):
        yield batch.take(indices)


def _batch_size(net: Net, n: int) -> int:
    """The batch size for `n` nodes; small batches leave a GPU half idle."""
    if net.device.type != "cuda":
        return BATCH_SIZE
    memory = torch.cuda.get_device_properties(net.device).total_memory
    edges = net.replicas * n * n * net.config.hidden * 4  # bytes of a sample
    return max(BATCH_SIZE, int(_EDGE_SHARE * memory / edges))


def join_predictions(
    net: Net, algorithm: str, parts: Sequence[DevicePredictions]
) -> list[Predictions]:
    """The predictions of each replica for all parts together, sorted orders as pointers."""
    spec = net.spec(algorithm)
    outputs = _join([part.outputs for part in parts])
    confidence = _join([part.output_confidence for part in parts])
    hints = _join_over_time([part.hints for part in parts])
    hint_confidence = _join_over_time([part.hint_confidence for part in parts])
    found = []
    for replica in range(net.replicas):
        own = {name: x[replica] for name, x in outputs.items()}
        own_confidence = {name: x[replica] for name, x in confidence.items()}
        found.append(
            Predictions(
                permutations_to_pointers(spec, own)[1],
                {name: x[:, replica] for name, x in hints.items()},
                permutation_confidence_to_pointers(spec, own_confidence, own),
                {name: x[:, replica] for name, x in hint_confidence.items()},
            )
        )
    return found


def _join(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, np.ndarray]:
    """Arrays (S, B, ...) side by side."""
    return {
        name: np.concatenate([part[name].cpu().numpy() for part in parts], 1) for name in parts[0]
    }


def _join_over_time(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, np.ndarray]:
    """Arrays (T, S, B, ...) of different lengths side by side, padded with zeros."""
    return {name: side_by_side([part[name].numpy() for part in parts], 2) for name in parts[0]}
