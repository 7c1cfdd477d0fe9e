"""Packing: all tensors of a window side by side in one, so that a single copy moves them."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.model.window import Window

_ALIGNMENT = 256
"""Bytes: tensors begin where an allocation of their own might."""


class Shape(NamedTuple):
    """What windows of one algorithm and size differ in."""

    steps: int
    lanes: int
    ends: int


def shape_of(window: Window) -> Shape:
    """How long and wide a window is, and how many ends it has room for."""
    return Shape(window.steps, window.follows.shape[-1], window.end_weights.shape[1])


class Layout:
    """Where the tensors of windows of one shape stand in a run of bytes."""

    def __init__(self, window: Window):
        sizes = [_aligned(tensor.nbytes) for tensor in _tensors(window)]
        *self._starts, self.size = accumulate(sizes, initial=0)
        self._shapes = window.map(lambda tensor: tensor.to("meta"))
        self.shape = shape_of(window)

    def window(self, content: Tensor) -> Window:
        """The window whose tensors are slices of the given bytes."""
        starts = iter(self._starts)

        def slice_like(tensor: Tensor) -> Tensor:
            start = next(starts)
            return content[start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape)

        return self._shapes.map(slice_like)

    def write(self, window: Window, content: Tensor) -> None:
        """Put a window into the given bytes."""
        places = _tensors(self.window(content))
        for place, tensor in zip(places, _tensors(window), strict=True):
            place.copy_(tensor)


class Packed(NamedTuple):
    """A window in one run of bytes."""

    layout: Layout
    content: Tensor

    @property
    def window(self) -> Window:
        """The window, cut out of the bytes anew."""
        return self.layout.window(self.content)

    def to(self, device: torch.device) -> Packed:
        """The same on another device, moved by one copy."""
        return Packed(self.layout, self.content.to(device, non_blocking=True))


def packed(window: Window) -> Packed:
    """A copy of a window in one run of bytes."""
    layout = Layout(window)
    content = torch.empty(layout.size, dtype=torch.uint8)
    layout.write(window, content)
    return Packed(layout, content)


def _tensors(window: Window) -> list[Tensor]:
    """All tensors of a window, in the order of its `map`."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    window.map(note)
    return tensors


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
