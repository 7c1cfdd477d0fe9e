"""Pools of trajectories on a device, from which single transitions are drawn.

A net without a recurrent state sees each step by itself: inputs and hints now, hints next. So a
training batch need not be made of trajectories: it is any set of transitions, and rare kinds of
steps can be drawn more often than they occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorist.batch import Batch
from algorist.data import official
from algorist.model.learner import TaskEncoding
from algorist.spec import Feature, Kind, Spec
from algorist.training.loader import TaskStream
from algorist.training.recipes import recipe

Values = dict[str, Tensor]
"""Tensors by the names of their features."""

_TYPES = {Kind.SCALAR: np.float32, Kind.POINTER: np.int16}
"""All other kinds are int8."""


class Transitions(NamedTuple):
    """M transitions, then E last steps, as one batch of M + E rows."""

    inputs: Values  # (M + E, ...)
    hints: Values  # (M + E, ...): now
    changes: Tensor  # (M + E, F + 1): which hints the step before changed; 1 last at the first step
    following: Values  # (M, ...): the hints of the next step
    outputs: Values  # (E, ...)


def training_batch(
    algorithm: str, *, seed: int, sizes: tuple[int, ...], count: int, step: int
) -> Batch:
    """Trajectories as the recipe ibarz2022 draws them online, all of the size of that step."""
    config = recipe("ibarz2022", [algorithm])
    data = replace(config.data, batch_size=count, sizes=sizes, chunk=0)
    stream = TaskStream(replace(config, seeds=(seed,), data=data), algorithm)
    return stream.sources[0].batch(step)


def development_batch(algorithm: str, *, n: int, count: int, seed: int) -> Batch:
    """Trajectories as the benchmark draws its tests, of another seed than these."""
    batch = official.generate(algorithm, n=n, count=count, seed=seed)
    return TaskEncoding().batch(algorithm, batch)


class TransitionPool:
    """Trajectories of one algorithm and size: T steps, B trajectories."""

    def __init__(self, batch: Batch, device: torch.device | str):
        self.spec: Spec = batch.spec
        self.n, self.size, self.steps = batch.n, len(batch), batch.steps
        self.inputs = {f.name: _tensor(f, batch.inputs, device) for f in self.spec.inputs}
        self.hints = {f.name: _tensor(f, batch.hints, device) for f in self.spec.hints}
        self.outputs = {f.name: _tensor(f, batch.outputs, device) for f in self.spec.outputs}
        self.changes = torch.stack([self._changes(step) for step in range(self.steps)])
        lengths = torch.as_tensor(np.asarray(batch.lengths), device=device).long()
        self.last = lengths - 1  # (B,): the last step of each trajectory
        inside = torch.arange(self.steps, device=device)[:, None] < self.last
        self._pairs = inside.nonzero()  # (P, 2): step and trajectory of each transition
        self._cumulative = self._balanced().cumsum(0)

    def _changes(self, step: int) -> Tensor:
        now, before = ({k: x[at] for k, x in self.hints.items()} for at in (step, max(step - 1, 0)))
        return changes(before if step else None, now, self.size)

    @property
    def device(self) -> torch.device:
        """Where the trajectories lie."""
        return self.last.device

    def draw(self, transitions: int, ends: int, *, balanced: float) -> Transitions:
        """Transitions and last steps at random, a share of them balanced over kinds of steps."""
        device, rare = self.device, int(transitions * balanced)
        uniform = torch.randint(len(self._pairs), (transitions - rare,), device=device)
        points = torch.rand(rare, device=device, dtype=torch.float64) * self._cumulative[-1]
        chosen = torch.searchsorted(self._cumulative, points).clamp_(max=len(self._pairs) - 1)
        step, own = self._pairs[torch.cat((chosen, uniform))].unbind(1)
        at_end = torch.randint(self.size, (ends,), device=device)
        steps, rows = torch.cat((step, self.last[at_end])), torch.cat((own, at_end))
        return Transitions(
            inputs={name: x[rows] for name, x in self.inputs.items()},
            hints={name: x[steps, rows] for name, x in self.hints.items()},
            changes=self.changes[steps, rows],
            following={name: x[step + 1, own] for name, x in self.hints.items()},
            outputs={name: x[at_end] for name, x in self.outputs.items()},
        )

    def _balanced(self) -> Tensor:
        """(P,): the inverse root of how often transitions change the same hints."""
        step, own = self._pairs.unbind(1)
        kinds = torch.zeros(len(step), dtype=torch.long, device=self.device)
        for bit, values in enumerate(self.hints.values()):
            changed = values[step + 1, own] != values[step, own]
            kinds |= changed.reshape(len(step), -1).any(1).long() << bit
        _, kind, counts = kinds.unique(return_inverse=True, return_counts=True)
        return counts.double().rsqrt()[kind]


def changes(before: Values | None, now: Values, batch: int) -> Tensor:
    """(B, F + 1): 1 for each hint that the step before changed; last, 1 if there was none."""
    old = now if before is None else before
    flags = [(now[name] != value).reshape(batch, -1).any(1) for name, value in old.items()]
    return torch.stack([*flags, torch.full_like(flags[0], before is None)], 1).float()


def _tensor(
    feature: Feature, arrays: Mapping[str, np.ndarray], device: torch.device | str
) -> Tensor:
    array = arrays[feature.name].astype(_TYPES.get(feature.kind, np.int8))
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
