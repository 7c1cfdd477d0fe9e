"""Many copies between parts of one tensor, in a single kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.weight_layout import Copies, Copy

_TILE = 1024
"""So many numbers are copied by a program."""
_FIELDS = tl.constexpr(13)


@triton.jit
def _copy(buffer, table, BACK: tl.constexpr, TILE: tl.constexpr):
    row, replica = table + tl.program_id(0) * _FIELDS, tl.program_id(1).to(tl.int64)
    first, end, width, count = tl.load(row), tl.load(row + 1), tl.load(row + 2), tl.load(row + 3)
    number = first + tl.arange(0, TILE)
    there, i, j = number < end, number // width, number % width
    source, target = row + 4, row + 9
    step = tl.load(source + 1)
    source = (
        buffer + tl.load(source) + replica * tl.load(source + 2)
        + i * tl.load(source + 3) + j * tl.load(source + 4)
    )  # fmt: skip
    target = (
        buffer + tl.load(target) + replica * tl.load(target + 1)
        + i * tl.load(target + 2) + j * tl.load(target + 3)
    )  # fmt: skip
    if BACK:
        value = tl.load(target, there)
        for k in range(count):
            tl.store(source + k * step, value, there)
    else:
        value = tl.zeros((TILE,), tl.float32)
        for k in range(count):
            value += tl.load(source + k * step, there, 0.0)
        tl.store(target, value, there)


def copy_grouped(buffer: Tensor, copies: Copies, *, back: bool) -> None:
    """Make all copies in a buffer, or make them from target to source."""
    if copies.table is None or copies.table.device != buffer.device:
        rows = [row for copy in copies.all for row in _rows(copy)]
        copies.table = torch.tensor(rows, dtype=torch.int32, device=buffer.device)
    replicas = copies.all[0].target.shape[0]
    _copy[(len(copies.table), replicas)](buffer, copies.table, BACK=back, TILE=_TILE, num_warps=4)


def _rows(copy: Copy) -> list[tuple[int, ...]]:
    """What the kernel reads of a copy, for each program that takes part in it."""
    source, target = copy
    count, _, height, width = source.shape
    size = height * width
    return [
        (first, min(first + _TILE, size), width, count,
         source.start, *source.stride, target.start, *target.stride)
        for first in range(0, size, _TILE)
    ]  # fmt: skip
