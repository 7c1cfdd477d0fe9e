"""Windows in few shapes with little padding, and with all tensors in one buffer of bytes.

Few shapes mean few CUDA graphs, and a single copy moves all tensors of a window to a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorist.data.chunks import Cursor
from algorist.model.sparse.window import AnyWindow, SparseWindow
from algorist.model.window import Window, to_tensor

_MOST_INPUTS = 1 << 26
"""The most bytes of inputs that are repeated to save lanes."""
_ALIGNMENT = 256
"""Bytes: tensors begin where an allocation of their own might."""


class Shape(NamedTuple):
    """The sizes in which windows of one algorithm and size differ."""

    steps: int
    lanes: int
    ends: int


def shape_of(window: AnyWindow) -> Shape:
    """The number of steps, lanes and ends of a window."""
    return Shape(window.steps, window.follows.shape[-1], window.end_weights.shape[1])


class WindowLayout:
    """The offsets of a window's tensors in a buffer of bytes, for windows of one shape."""

    def __init__(self, window: AnyWindow):
        sizes = [-(-x.nbytes // _ALIGNMENT) * _ALIGNMENT for x in _tensors(window)]
        *self._starts, self.size = accumulate(sizes, initial=0)
        self._shapes = window.map(lambda tensor: tensor.to("meta"))
        self.shape = shape_of(window)

    def window(self, content: Tensor) -> AnyWindow:
        """The window whose tensors are slices of the given bytes."""
        starts = iter(self._starts)

        def slice_like(tensor: Tensor) -> Tensor:
            start = next(starts)
            return content[start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape)

        return self._shapes.map(slice_like)

    def pack(self, window: AnyWindow) -> Tensor:
        """Copy a window into a new buffer of bytes."""
        content = torch.empty(self.size, dtype=torch.uint8)
        self.write(window, content)
        return content

    def write(self, window: AnyWindow, content: Tensor) -> None:
        """Copy a window into the given buffer."""
        slices = _tensors(self.window(content))
        for target, tensor in zip(slices, _tensors(window), strict=True):
            target.copy_(tensor)


class StreamKey(NamedTuple):
    """An algorithm at one size, which has carries and chunks of its own."""

    algorithm: str
    size: int


class PackedBatch(NamedTuple):
    """A window as one buffer of bytes, which a single copy moves to a device."""

    key: StreamKey
    layout: WindowLayout
    content: Tensor
    cursors: Sequence[Cursor] = ()
    """The cursors of each seed's chunks after the window."""

    @property
    def shape(self) -> tuple[StreamKey, Shape]:
        """The key and the shape: what the steps of one CUDA graph share."""
        return self.key, self.layout.shape

    def window(self, device: torch.device | str = "cpu") -> AnyWindow:
        """The window on a device, as views of the buffer."""
        return self.layout.window(self.content.to(device, non_blocking=True))


def _tensors(window: AnyWindow) -> list[Tensor]:
    """All tensors of a window, in the order of its `map`."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    window.map(note)
    return tensors


def pack_trajectories(window: Window, rounded: Callable[[int], int]) -> Window:
    """Pack whole trajectories into fewer lanes: short ones follow each other, as in chunks.

    There are as many lanes as `rounded` makes of those that are needed. The losses are the same.
    Inputs are then repeated at each step: where that would take much room, all stays as it is.
    """
    (at_step, lanes), (steps, replicas, before) = window.ends, window.follows.shape
    if at_step.shape[1] != before:
        raise ValueError(f"ends: got {at_step.shape[1]}, expected one in each of {before} lanes")
    sizes = at_step.numpy() + 2  # in steps
    lane, start = np.array([_assign_lanes(own, steps + 1) for own in sizes.tolist()]).transpose(
        2, 0, 1
    )
    count = rounded(1 + int(lane.max()))
    repeated = sum(part.nbytes for part in window.inputs.parts) // before * count * steps
    if count >= before or repeated > _MOST_INPUTS:
        return window
    # The step of its trajectory and the lane that each step comes from.
    numbers, sources = np.zeros((2, steps + 1, replicas, count), np.int64)
    for own in np.ndindex(sizes.shape):
        there = slice(start[own], start[own] + sizes[own]), own[0], lane[own]
        numbers[there], sources[there] = np.arange(int(sizes[own])), lanes[own]
    number, source, replica = (
        to_tensor(numbers),
        to_tensor(sources),
        torch.arange(replicas)[:, None],
    )
    at = (number[:-1], replica, source[:-1])
    return replace(
        window,
        inputs=window.inputs.map(lambda x: x[at[1:]]),
        hints=window.hints.map(lambda x: x[number, replica, source]),
        follows=window.follows[at] * (number[1:] == number[:-1] + 1),
        ends=(to_tensor(start) + at_step, to_tensor(lane)),
        is_first=number[:-1] == 0,
        forced=None if window.forced is None else window.forced[at],
    )


def pack_lanes(window: AnyWindow) -> AnyWindow:
    """Whole trajectories in as few lanes as they fit into, of 1, ..., 8, 10, 12, 14, 16, 20, ..."""
    if isinstance(window, SparseWindow):
        return window
    if window.is_first is not None or window.steps == 1:
        return window
    return pack_trajectories(window, lambda needed: rounded_up(needed, 3))


def bucket_window(window: AnyWindow) -> AnyWindow:
    """A window in one of few shapes, so that few graphs serve all windows.

    Whole trajectories are given up to an eighth more steps, and as few lanes as they fit into: 1,
    2, 3, 4, 6, ... Chunks all have the same number of steps and lanes; their ends become once,
    twice, three, four, six, ... times as many as there are lanes.
    """
    if isinstance(window, SparseWindow):
        return window
    lanes, ends = window.follows.shape[-1], window.end_weights.shape[1]
    if window.steps == 1:
        return window
    if window.is_first is None:
        longer = window.padded(rounded_up(window.steps, 4), ends)
        return pack_trajectories(longer, lambda needed: rounded_up(needed, 2))
    return window.padded(window.steps, lanes * rounded_up(-(-ends // lanes), 2))


def rounded_up(number: int, digits: int) -> int:
    """The next number whose binary digits after the first `digits` are zeros.

    >>> [rounded_up(number, 2) for number in (1, 3, 5, 7, 13, 100)]
    [1, 3, 6, 8, 16, 128]
    """
    unit = 1 << max(number.bit_length() - digits, 0)
    return -(-number // unit) * unit


def _assign_lanes(sizes: Sequence[int], room: int) -> list[tuple[int, int]]:
    """A lane for each of some sizes and the start in it, largest first, where there is room."""
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
