"""The scan of a window as one operation: a handful of kernels a step, forward and backward.

What the steps read and leave lies in stacks, (K, S, B, ...): K steps, S replicas, B lanes. Backward
walks through the steps once for the slopes; the gradients of all weights are then products over
the stacks. Several parts contribute to the same slope: each has its slot, and the reader adds up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]


class Size(NamedTuple):
    """Steps, replicas, lanes, nodes, hidden size."""

    steps: int
    replicas: int
    lanes: int
    n: int
    hidden: int

    def stack(self, like: Tensor, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Room for all steps."""
        return like.new_empty(self.steps, self.replicas, self.lanes, *shape, dtype=dtype)

    def side_by_side(self, like: Tensor, count: int, *shape: int) -> Tensor:
        """Room for all steps, for several things of a kind."""
        return like.new_empty(self.steps, count, self.replicas, self.lanes, *shape)


class Moments(NamedTuple):
    """What decoders read of each step."""

    x: Tensor  # (K, S, B, n, Fx): numbers of the node and of the graph, and a one
    raw: Tensor  # (K, S, B, n, n, Fe)
    before: Tensor  # (K, S, B, n, h)
    after: Tensor
    maxima: Tensor | None  # (K, S, B, n, n, T)


class Slots:
    """Slopes of the moments: (K, slots, S, B, ...), a slot for each part that contributes."""

    def __init__(self, moments: Moments, counts: Mapping[str, int]):
        self.given = {
            name: value.new_empty(len(value), counts[name], *value.shape[1:])
            for name, value in moments._asdict().items()
            if value is not None
        }
        self._taken = dict.fromkeys(self.given, 0)

    def take(self, name: str) -> Tensor:
        """The next free slot, (K, S, B, ...)."""
        slot, self._taken[name] = self._taken[name], self._taken[name] + 1
        return self.given[name][:, slot]
