"""Packing: all tensors of a window side by side in one, so that a single copy moves them."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.model.window import Window

_ALIGNMENT = 256
"""Bytes: tensors begin where an allocation of their own might."""


class Packed(NamedTuple):
    """A window whose tensors are slices of one run of bytes."""

    window: Window
    content: Tensor

    def to(self, device: torch.device) -> Packed:
        """The same on another device, moved by one copy."""
        if self.content.device == device:
            return self
        moved = laid_out(self.window, device)
        moved.content.copy_(self.content, non_blocking=True)
        return moved


def packed(window: Window, *, pinned: bool = False) -> Packed:
    """A copy of a window in one run of bytes, pinned if GPUs shall copy from it."""
    result = laid_out(window, torch.device("cpu"), pinned=pinned)
    for place, tensor in zip(_tensors(result.window), _tensors(window), strict=True):
        place.copy_(tensor)
    return result


def laid_out(window: Window, device: torch.device, *, pinned: bool = False) -> Packed:
    """Room for a window of the same shapes."""
    tensors = _tensors(window)
    *starts, size = accumulate((_aligned(tensor.nbytes) for tensor in tensors), initial=0)
    content = torch.empty(size, dtype=torch.uint8, device=device, pin_memory=pinned)
    slices = iter(
        content[start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
        for start, tensor in zip(starts, tensors, strict=True)
    )
    return Packed(window.map(lambda _: next(slices)), content)


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
