"""Windows: the stretch of trajectories that a net reads at once.

A window of K steps covers K + 1 moments. At each step the net reads moment k and predicts the hints
of moment k + 1. A whole trajectory is one window; a chunk continues the window before it;
a long evaluation is many windows. Where a trajectory ends, its outputs are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from algorist.batch import Batch
from algorist.model.values import Values

if TYPE_CHECKING:
    from algorist.data.chunks import Chunk


_MOST_INPUTS = 1 << 26
"""The most bytes of inputs that are repeated to save lanes."""


@dataclass(frozen=True)
class Window:
    """S replicas, B lanes, K steps, E ends of trajectories."""

    inputs: Values
    """(S, B, ...); (K, S, B, ...) where lanes pass from one trajectory to the next."""
    hints: Values
    """(K + 1, S, B, ...)."""
    outputs: Values
    """(S, E, ...): the truth at each end."""
    follows: Tensor
    """(K, S, B): 1 where moment k + 1 belongs to the same trajectory as moment k, else 0."""
    ends: tuple[Tensor, Tensor]
    """(S, E) twice: the step and the lane of each end."""
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
    shares: Values | None = None
    """(S,) of each feature: how much of its loss this window is, where it is only some lanes of
    another. None: all of it."""

    @property
    def steps(self) -> int:
        """The number of steps, K."""
        return len(self.follows)

    @property
    def nodes(self) -> int:
        """The number of nodes of each problem, n."""
        return self.inputs["pos"].shape[-1]

    def with_forced(self, forced: np.ndarray) -> Window:
        """This window with teacher forcing where (K, S, B) `forced` says so."""
        return replace(self, forced=_tensor(forced))

    def with_noise(self, noise: np.ndarray) -> Window:
        """This window with the given noise for permutations, (S, E, n, n)."""
        return replace(self, noise=_tensor(noise))

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
            if isinstance(value, Values):
                return value.map(function)
            return tuple(map(applied, value)) if isinstance(value, tuple) else value

        return replace(self, **{f.name: applied(getattr(self, f.name)) for f in fields(self)})

    def padded(self, steps: int, ends: int) -> Window:
        """This window with zeros appended: it has so many steps and ends, and the same losses.

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


def pack_trajectories(window: Window, rounded: Callable[[int], int]) -> Window:
    """Pack whole trajectories into fewer lanes: short ones follow each other, as in chunks.

    There are as many lanes as `rounded` makes of those that are needed. The losses are the same.
    Inputs are then repeated at each step: where that would take much room, all stays as it is.
    """
    (at_step, lanes), (steps, replicas, before) = window.ends, window.follows.shape
    if at_step.shape[1] != before:
        raise ValueError(f"ends: got {at_step.shape[1]}, expected one in each of {before} lanes")
    sizes = at_step.numpy() + 2  # in moments
    lane, start = np.array([_placed(own, steps + 1) for own in sizes.tolist()]).transpose(2, 0, 1)
    count = rounded(1 + int(lane.max()))
    repeated = sum(part.nbytes for part in window.inputs.parts) // before * count * steps
    if count >= before or repeated > _MOST_INPUTS:
        return window
    # Where each moment comes from: which it was of its trajectory, and in which lane.
    moments, sources = np.zeros((2, steps + 1, replicas, count), np.int64)
    for own in np.ndindex(sizes.shape):
        there = slice(start[own], start[own] + sizes[own]), own[0], lane[own]
        moments[there], sources[there] = np.arange(int(sizes[own])), lanes[own]
    moment, source, replica = _tensor(moments), _tensor(sources), torch.arange(replicas)[:, None]
    at = (moment[:-1], replica, source[:-1])
    return replace(
        window,
        inputs=window.inputs.map(lambda x: x[at[1:]]),
        hints=window.hints.map(lambda x: x[moment, replica, source]),
        follows=window.follows[at] * (moment[1:] == moment[:-1] + 1),
        ends=(_tensor(start) + at_step, _tensor(lane)),
        is_first=moment[:-1] == 0,
        forced=None if window.forced is None else window.forced[at],
    )


def make_window(
    batches: Sequence[Batch], *, steps: int | None = None, output_step: bool = False
) -> Window:
    """A window of whole trajectories, from a batch for each replica.

    The window has as many steps as the longest needs, or more where `steps` says so. With an
    `output_step` each trajectory has one more, which reads its last moment: outputs are asked for
    there, hints are not.
    """
    needed = max(max(batch.steps for batch in batches) - (not output_step), 1)
    steps = needed if steps is None else max(steps, needed)
    lengths = np.stack([batch.lengths for batch in batches])  # (S, B)
    lanes = np.broadcast_to(np.arange(lengths.shape[1]), lengths.shape)
    last = lengths - 1 if output_step else np.maximum(lengths - 2, 0)
    spec, shape = batches[0].spec, lengths.shape
    return Window(
        inputs=Values.of(spec.inputs, [batch.inputs for batch in batches], shape),
        hints=Values.of(spec.hints, [batch.hints for batch in batches], (steps + 1, *shape)),
        outputs=Values.of(spec.outputs, [batch.outputs for batch in batches], shape),
        follows=_tensor((np.arange(1, steps + 1)[:, None, None] < lengths).astype(np.float32)),
        ends=(_tensor(last.astype(np.int64)), _tensor(lanes)),
        end_weights=torch.ones(lengths.shape),
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


def make_chunk_window(pairs: Sequence[tuple[Chunk | None, Chunk]]) -> Window:
    """A window of chunks that continues the one before, from (chunk before, chunk) per replica.

    The net reads the last moment of the chunk before and all of this one but its last, which the
    next window reads. A trajectory of a single moment has nothing to predict and is passed over.
    """
    current = [chunk for _, chunk in pairs]
    is_first = np.stack([chunk.is_first for chunk in current], 1).astype(bool)
    is_last = np.stack([chunk.is_last for chunk in current], 1).astype(bool)
    ends = is_last & ~is_first  # (K, S, B)
    at_step, lanes, weights = _end_table(ends)
    spec, shape = current[0].spec, (len(ends) + 1, *ends.shape[1:])
    inputs, hints = (
        Values.of(features, [_with_last(b, c, stage) for b, c in pairs], shape)
        for stage, features in (("inputs", spec.inputs), ("hints", spec.hints))
    )
    previous = [c.is_first[:1] if b is None else b.is_first[-1:] for b, c in pairs]
    outputs = Values.of(spec.outputs, [chunk.outputs for chunk in current], ends.shape)
    replicas = np.arange(len(current))[:, None]
    return Window(
        inputs=inputs.map(lambda x: x[:-1]),
        hints=hints,
        outputs=outputs.map(lambda x: x[at_step, replicas, lanes]),
        follows=_tensor((~is_first).astype(np.float32)),
        ends=(_tensor(at_step), _tensor(lanes)),
        end_weights=_tensor(weights),
        is_first=_tensor(np.concatenate((np.stack(previous, 1).astype(bool), is_first[:-1]))),
    )


def expanded(lanes: Tensor, like: Tensor) -> Tensor:
    """One number for each lane or end, with trailing axes to go with all of its values."""
    return lanes.reshape(*lanes.shape, *(1,) * (like.ndim - lanes.ndim))


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


def _placed(sizes: Sequence[int], room: int) -> list[tuple[int, int]]:
    """A lane for each of some sizes, and where in it: the largest first, where there is room."""
    filled: list[int] = []
    places = [(0, 0)] * len(sizes)
    for own in sorted(range(len(sizes)), key=lambda own: -sizes[own]):
        size = sizes[own]
        lane = next((lane for lane, x in enumerate(filled) if x + size <= room), len(filled))
        if lane == len(filled):
            filled.append(0)
        places[own] = (lane, filled[lane])
        filled[lane] += size
    return places


def _first_columns(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The columns that are chosen in each row of a table, padded to equal length; 1, or 0 there."""
    counts = chosen.sum(1, keepdim=True)
    size = max(1, int(counts.max()))
    order = chosen.long().argsort(dim=1, descending=True, stable=True)
    return order[:, :size], (torch.arange(size) < counts).float()


def _with_last(before: Chunk | None, chunk: Chunk, stage: str) -> dict[str, np.ndarray]:
    """A chunk's arrays with the last moment of the one before in front."""
    return {
        name: np.concatenate(
            (array[:1] if before is None else getattr(before, stage)[name][-1:], array)
        )
        for name, array in getattr(chunk, stage).items()
    }


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _cut(tensor: Tensor, start: int, stop: int, steps: int) -> Tensor:
    """Some of the steps, padded to a number of them."""
    return _extended(tensor[start:stop], steps)


def _extended(tensor: Tensor, length: int, axis: int = 0) -> Tensor:
    """Zeros appended along an axis."""
    shape = list(tensor.shape)
    shape[axis] = length - shape[axis]
    return torch.cat((tensor, tensor.new_zeros(shape)), axis) if shape[axis] else tensor
