"""What the steps of a scan leave side by side.

Stacks that only backward reads are empty where there will be no backward.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from torch import Tensor

from algorist.kernels.fused.gather_ends import clear, put, take


class StepBuffers(NamedTuple):
    """What decoders read, for each of K steps."""

    x: Tensor  # (K, S, B, n, Fx): numbers of the node and of the graph, and a one
    raw: Tensor  # (K, S, B, n, n, Fe)
    before: Tensor  # (K, S, B, n, h): states
    after: Tensor
    maxima: Tensor | None  # (K, S, B, n, n, T)

    def step(self, k: int) -> StepBuffers:
        """The views of step k."""
        return StepBuffers(*(at_step(stack, k) for stack in self))

    def at(self, steps: Tensor, lanes: Tensor) -> StepBuffers:
        """Copies of E pairs of a step and a lane, (S, E) each, as a single step of E lanes."""
        taken = iter(take([x for x in self if x is not None], steps, lanes))
        return StepBuffers(*(None if x is None else next(taken) for x in self))


class Logits(NamedTuple):
    """Raw predictions, (K, S, B, ...), those of several features side by side; None for none."""

    decoded: Tensor | None = None  # (K, S, B, n, C): values of nodes, then what others are made of
    points: Tensor | None = None  # (K, P, S, B, n, n)
    edges: Tensor | None = None  # (K, S, B, n, n, Ce)
    edge_pointer_logits: Tensor | None = None  # (K, Q, S, B, n, n, n)
    graph: Tensor | None = None  # (K, S, B, Cg)

    def step(self, k: int) -> Logits:
        """The views of step k."""
        return Logits(*(at_step(stack, k) for stack in self))


class GradBuffers:
    """Grads of the step buffers: (K, P, S, B, ...), one for each of P parts that contribute."""

    def __init__(self, step_buffers: StepBuffers, parts: Counter[str]):
        self.all = {
            name: value.new_empty(len(value), parts[name], *value.shape[1:])
            for name, value in step_buffers._asdict().items()
            if value is not None and parts[name]
        }
        self._taken: Counter[str] = Counter()

    def take(self, name: str) -> Tensor:
        """The next free slot, (K, S, B, ...)."""
        self._taken[name] += 1
        return self.all[name][:, self._taken[name] - 1]

    def take_if(self, name: str) -> Tensor | None:
        """The next free slot, where there is anything of that name."""
        return self.take(name) if name in self.all else None

    def clear_last(self) -> None:
        """Fill the last grad buffers with zeros."""
        clear(list(self.all.values()))

    def put_at(self, ends: tuple[Tensor, Tensor], weights: Tensor, grads: GradBuffers) -> None:
        """Put the grads of ends into the last grad buffers, which are clear."""
        put(list(self.all.values()), [grads.all.get(name) for name in self.all], ends, weights)


def at_step(stack: Tensor | None, k: int) -> Tensor | None:
    """One step of a stack, if it has any."""
    return None if stack is None or not len(stack) else stack[k]
