"""Windows of single transitions, drawn from trajectories.

A net that carries no state and is given the true hints sees each transition by itself: inputs and
hints now, hints next. So what it learns from need not be trajectories. It is any set of
transitions, without a scan over time, and rare kinds can be drawn more often than they occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from algorist.batch import Batch
from algorist.model.executing.task_features import selects_nodes
from algorist.model.packed_values import PackedValues
from algorist.model.window import Window

BALANCED = 0.5
"""The share of transitions that is drawn by their kind: how often a kind is drawn grows with the
square root of how often it occurs."""


def draw_transitions(
    batches: Sequence[Batch], count: int, generators: Sequence[np.random.RandomState]
) -> Window:
    """`count` transitions, and the last step of each trajectory, as a window of one transition.

    A batch and a generator per replica. Lanes are first the transitions, which predict hints, then
    the last steps, which predict outputs.
    """
    drawn = [_draw(batch, count, rng) for batch, rng in zip(batches, generators, strict=True)]
    inputs, hints, changed, visited = zip(*drawn, strict=True)
    spec, size = batches[0].spec, len(batches[0])
    S, B = len(batches), count + size
    ends = torch.arange(count, B).expand(S, size)
    return Window(
        inputs=PackedValues.of(spec.inputs, inputs, (S, B)),
        hints=PackedValues.of(spec.hints, hints, (2, S, B)),
        outputs=PackedValues.of(spec.outputs, [batch.outputs for batch in batches], (S, size)),
        follows=(torch.arange(B) < count).float().expand(1, S, B).contiguous(),
        ends=(torch.zeros_like(ends), ends.contiguous()),
        end_weights=torch.ones(S, size),
        changed=torch.from_numpy(np.stack(changed)),
        visited=torch.from_numpy(np.stack(visited)),
    )


def _draw(
    batch: Batch, count: int, rng: np.random.RandomState
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """The inputs (B, ...) and hints (2, B, ...) of all lanes, which hints have just changed, and
    which nodes they have selected so far."""
    changes = _changes(batch.hints)
    at, samples = _choose_steps(batch, changes, count, rng)
    following = np.minimum(at + 1, batch.steps - 1)
    inputs = {name: x[samples] for name, x in batch.inputs.items()}
    hints = {
        name: np.stack((x[at, samples], x[following, samples])) for name, x in batch.hints.items()
    }
    bits = [changed[at, samples] for changed in changes]
    changed = np.stack((*bits, at == 0), -1).astype(np.float32)
    return inputs, hints, changed, _visited(batch)[at, samples]


def _visited(batch: Batch) -> np.ndarray:
    """(T, B, n, m): the nodes that each one-hot hint has selected up to a step."""
    masks = [batch.hints[f.name] for f in batch.spec.hints if selects_nodes(f)]
    shape = (batch.steps, len(batch), batch.n, 0)
    columns = [np.maximum.accumulate(mask)[..., None] for mask in masks]
    return np.concatenate((np.zeros(shape), *columns), -1).astype(np.float32)


def _choose_steps(
    batch: Batch, changes: Sequence[np.ndarray], count: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """The step and the trajectory of each lane."""
    steps = np.arange(batch.steps)[:, None]
    at, samples = np.nonzero(steps + 1 < batch.lengths)
    if not len(at):  # all trajectories have one step: it is repeated and does not count
        at, samples = np.zeros(1, np.int64), np.zeros(1, np.int64)
    weights = _weights(changes, at, samples)
    rare = int(count * BALANCED)
    picks = np.concatenate(
        (rng.choice(len(at), rare, p=weights), rng.randint(len(at), size=count - rare))
    )
    own = np.arange(len(batch))
    return (
        np.concatenate((at[picks], batch.lengths - 1)).astype(np.int64),
        np.concatenate((samples[picks], own)),
    )


def _weights(changes: Sequence[np.ndarray], at: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """(P,): how probable each transition is, by how many others change the same hints."""
    kinds = np.zeros(len(at), np.int64)
    for bit, changed in enumerate(changes):
        kinds |= changed[np.minimum(at + 1, len(changed) - 1), samples].astype(np.int64) << bit
    _, kind, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    weights: np.ndarray = counts[kind] ** -0.5
    return np.asarray(weights / weights.sum())


def _changes(hints: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """For each hint where (T, B) it differs from the step before; nowhere at the first."""
    found = []
    for values in hints.values():
        flat = values.reshape(*values.shape[:2], -1)
        changed = np.zeros(flat.shape[:2], bool)
        changed[1:] = (flat[1:] != flat[:-1]).any(-1)
        found.append(changed)
    return found
