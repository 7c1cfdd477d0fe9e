"""Make windows from batches of whole trajectories, and from chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from algorist.batch import Batch
from algorist.model.packed_values import PackedValues
from algorist.model.window import Window, to_tensor

if TYPE_CHECKING:
    from algorist.data.chunks import Chunk


def make_window(
    batches: Sequence[Batch], *, steps: int | None = None, output_step: bool = False
) -> Window:
    """A window of whole trajectories, from a batch for each replica.

    The window has as many transitions as the longest needs, or more where `steps` says so. With an
    `output_step` each trajectory has one more, which reads its last step: only outputs are decoded
    there.
    """
    needed = max(max(batch.steps for batch in batches) - (not output_step), 1)
    steps = needed if steps is None else max(steps, needed)
    lengths = np.stack([batch.lengths for batch in batches])  # (S, B)
    lanes = np.broadcast_to(np.arange(lengths.shape[1]), lengths.shape)
    last = lengths - 1 if output_step else np.maximum(lengths - 2, 0)
    spec, shape = batches[0].spec, lengths.shape
    return Window(
        inputs=PackedValues.of(spec.inputs, [batch.inputs for batch in batches], shape),
        hints=PackedValues.of(spec.hints, [batch.hints for batch in batches], (steps + 1, *shape)),
        outputs=PackedValues.of(spec.outputs, [batch.outputs for batch in batches], shape),
        follows=to_tensor((np.arange(1, steps + 1)[:, None, None] < lengths).astype(np.float32)),
        ends=(to_tensor(last.astype(np.int64)), to_tensor(lanes)),
        end_weights=torch.ones(lengths.shape),
    )


def make_chunk_window(pairs: Sequence[tuple[Chunk | None, Chunk]]) -> Window:
    """A window of chunks that continues the one before, from (chunk before, chunk) per replica.

    The net reads the last step of the chunk before and all of this one but its last, which the next
    window reads. A trajectory of a single step has nothing to predict and is passed over.
    """
    current = [chunk for _, chunk in pairs]
    is_first = np.stack([chunk.is_first for chunk in current], 1).astype(bool)
    is_last = np.stack([chunk.is_last for chunk in current], 1).astype(bool)
    ends = is_last & ~is_first  # (K, S, B)
    at_step, lanes, weights = _end_table(ends)
    spec, shape = current[0].spec, (len(ends) + 1, *ends.shape[1:])
    inputs, hints = (
        PackedValues.of(features, [_with_last(b, c, stage) for b, c in pairs], shape)
        for stage, features in (("inputs", spec.inputs), ("hints", spec.hints))
    )
    previous = [c.is_first[:1] if b is None else b.is_first[-1:] for b, c in pairs]
    outputs = PackedValues.of(spec.outputs, [chunk.outputs for chunk in current], ends.shape)
    replicas = np.arange(len(current))[:, None]
    return Window(
        inputs=inputs.map(lambda x: x[:-1]),
        hints=hints,
        outputs=outputs.map(lambda x: x[at_step, replicas, lanes]),
        follows=to_tensor((~is_first).astype(np.float32)),
        ends=(to_tensor(at_step), to_tensor(lanes)),
        end_weights=to_tensor(weights),
        is_first=to_tensor(np.concatenate((np.stack(previous, 1).astype(bool), is_first[:-1]))),
    )


def _end_table(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The steps and lanes where `ends` (K, S, B) holds, by replica, padded to equal length."""
    found = [np.nonzero(ends[:, s]) for s in range(ends.shape[1])]
    size = max(1, *(len(steps) for steps, _ in found))
    table = np.zeros((2, len(found), size), np.int64)
    weights = np.zeros((len(found), size), np.float32)
    for s, places in enumerate(found):
        table[:, s, : len(places[0])] = places
        weights[s, : len(places[0])] = 1.0
    return table[0], table[1], weights


def _with_last(before: Chunk | None, chunk: Chunk, stage: str) -> dict[str, np.ndarray]:
    """A chunk's arrays with the last step of the one before in front."""
    return {
        name: np.concatenate(
            (array[:1] if before is None else getattr(before, stage)[name][-1:], array)
        )
        for name, array in getattr(chunk, stage).items()
    }
