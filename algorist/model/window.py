"""Windows: the stretch of trajectories that a net reads at once.

A window of K transitions covers K + 1 steps. In transition k the net reads step k and predicts the
hints of step k + 1. A whole trajectory is one window; a chunk continues the window before it; a
long evaluation is many windows. Where a trajectory ends, its outputs are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorist.model.packed_values import PackedValues


@dataclass(frozen=True)
class Window:
    """S replicas, B lanes, K transitions, E ends of trajectories."""

    inputs: PackedValues
    """(S, B, ...); (K, S, B, ...) where lanes pass from one trajectory to the next."""
    hints: PackedValues
    """(K + 1, S, B, ...)."""
    outputs: PackedValues
    """(S, E, ...): the truth at each end."""
    follows: Tensor
    """(K, S, B): 1 where step k + 1 belongs to the same trajectory as step k, else 0."""
    ends: tuple[Tensor, Tensor]
    """(S, E) twice: the transition and the lane of each end."""
    end_weights: Tensor
    """(S, E): 1, or 0 for padding."""
    is_first: Tensor | None = None
    """(K, S, B): where a trajectory begins. None where all lanes begin together, at the first step
    of the first window."""
    forced: Tensor | None = None
    """(K, S, B): where teacher forcing gives the net the true hints."""
    noise: Tensor | None = None
    """(S, E, n, n): Gumbel noise for permutations."""
    changed: Tensor | None = None
    """(S, B, F + 1) where lanes begin inside a trajectory: 1 for each hint that the step before
    changed; the last is 1 where there was no step before."""
    visited: Tensor | None = None
    """(S, B, n, m) where lanes begin inside a trajectory: 1 for each node that each one-hot hint
    has selected so far."""
    shares: PackedValues | None = None
    """(S,) of each feature: how much of its loss this window is, where it is only some lanes of
    another. None: all of it."""

    @property
    def steps(self) -> int:
        """The number of transitions, K."""
        return len(self.follows)

    @property
    def nodes(self) -> int:
        """The number of nodes of each problem, n."""
        return self.inputs["pos"].shape[-1]

    def with_forced(self, forced: np.ndarray) -> Window:
        """This window with teacher forcing where (K, S, B) `forced` says so."""
        return replace(self, forced=to_tensor(forced))

    def with_noise(self, noise: np.ndarray) -> Window:
        """This window with the given noise for permutations, (S, E, n, n)."""
        return replace(self, noise=to_tensor(noise))

    def to(self, device: torch.device | str) -> Window:
        """This window on another device."""
        return self.map(lambda tensor: tensor.to(device))

    def lanes(self, start: int, stop: int) -> Window:
        """Some lanes of this window, with the ends of their trajectories, padded as ever."""

        def of_ends(tensor: Tensor) -> Tensor:
            return tensor[replicas, chosen]

        def of_batches(tensor: Tensor) -> Tensor:
            return tensor[:, start:stop].contiguous()

        def of_steps(tensor: Tensor) -> Tensor:
            return tensor[:, :, start:stop].contiguous()  # as kernels expect it

        at_step, lanes = self.ends
        here = (lanes >= start) & (lanes < stop) & (self.end_weights > 0)
        chosen, weights = _first_columns(here)
        replicas = torch.arange(len(here)).unsqueeze(1)
        return replace(
            self,
            inputs=self.inputs.map(of_batches if self.is_first is None else of_steps),
            hints=self.hints.map(of_steps),
            outputs=self.outputs.map(of_ends),
            follows=of_steps(self.follows),
            ends=(of_ends(at_step) * weights.long(), (of_ends(lanes) - start) * weights.long()),
            end_weights=weights,
            is_first=None if self.is_first is None else of_steps(self.is_first),
            forced=None if self.forced is None else of_steps(self.forced),
            noise=None if self.noise is None else of_ends(self.noise),
            changed=None if self.changed is None else of_batches(self.changed),
            visited=None if self.visited is None else of_batches(self.visited),
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Window:
        """This window with a function applied to each of its tensors, always in the same order."""

        def applied(value: Any) -> Any:
            if isinstance(value, Tensor):
                return function(value)
            if isinstance(value, PackedValues):
                return value.map(function)
            return tuple(map(applied, value)) if isinstance(value, tuple) else value

        return replace(self, **{f.name: applied(getattr(self, f.name)) for f in fields(self)})

    def padded(self, steps: int, ends: int) -> Window:
        """This window with zeros appended up to these sizes; its losses are the same.

        A window that others continue must keep its steps, since they start from its last one.
        """
        if steps < self.steps or ends < self.end_weights.shape[1]:
            raise ValueError(
                f"steps, ends: got {steps} and {ends}, expected at least those of the window, "
                f"{self.steps} and {self.end_weights.shape[1]}"
            )
        if steps > self.steps and self.is_first is not None:
            raise ValueError(f"steps: got {steps}, expected those of the chunk, {self.steps}")
        at_step, lanes = (_extended(x, ends, axis=1) for x in self.ends)
        return replace(
            self,
            hints=self.hints.map(lambda x: _extended(x, steps + 1)),
            outputs=self.outputs.map(lambda x: _extended(x, ends, axis=1)),
            follows=_extended(self.follows, steps),
            ends=(at_step, lanes),
            end_weights=_extended(self.end_weights, ends, axis=1),
            forced=None if self.forced is None else _extended(self.forced, steps),
            noise=None if self.noise is None else _extended(self.noise, ends, axis=1),
        )


def split_window(window: Window, steps: int) -> Iterator[Window]:
    """Split a window of whole trajectories into shorter ones, each to continue the one before.

    The last piece is padded to the same number of steps. Ends that lie in another piece weigh 0.
    """
    (at_step, lanes), forced = window.ends, window.forced
    for start in range(0, window.steps, steps):
        stop = min(start + steps, window.steps)
        here = (at_step >= start) & (at_step < stop)
        cut = partial(_cut, start=start, stop=stop, steps=steps)
        yield replace(
            window,
            hints=window.hints.map(partial(_cut, start=start, stop=stop + 1, steps=steps + 1)),
            follows=cut(window.follows),
            forced=None if forced is None else cut(forced),
            ends=(torch.where(here, at_step - start, 0), lanes),
            end_weights=window.end_weights * here,
        )


def unsqueeze_like(lanes: Tensor, like: Tensor) -> Tensor:
    """One number for each lane or end, with trailing axes to go with all of its values."""
    return lanes.reshape(*lanes.shape, *(1,) * (like.ndim - lanes.ndim))


def to_tensor(array: np.ndarray) -> Tensor:
    """An array as a tensor, without a copy if it is contiguous and writable."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _first_columns(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The columns that are chosen in each row of a table, padded to equal length; 1, or 0 there."""
    counts = chosen.sum(1, keepdim=True)
    size = max(1, int(counts.max()))
    order = chosen.long().argsort(dim=1, descending=True, stable=True)
    return order[:, :size], (torch.arange(size) < counts).float()


def _cut(tensor: Tensor, start: int, stop: int, steps: int) -> Tensor:
    """Some of the steps, padded to a number of them."""
    return _extended(tensor[start:stop], steps)


def _extended(tensor: Tensor, length: int, axis: int = 0) -> Tensor:
    """Zeros appended along an axis."""
    shape = list(tensor.shape)
    shape[axis] = length - shape[axis]
    return torch.cat((tensor, tensor.new_zeros(shape)), axis) if shape[axis] else tensor
