"""How rows are cut into the tiles that GPU programs take."""

from __future__ import annotations

from typing import NamedTuple

import triton
from torch import Tensor

ROWS = 64
"""The rows of a tile: enough for the matrix units, few enough for the registers."""


class Tiles(NamedTuple):
    """How many receivers and senders a tile has; for pointers, targets and sources."""

    receivers: int
    senders: int

    def blocks(self, n: int) -> int:
        """How many tiles the receivers of one sample need."""
        return triton.cdiv(n, self.receivers)


def padded(n: int) -> int:
    """The length of an axis that holds n nodes: a power of two, large enough for matrix units."""
    return max(16, triton.next_power_of_2(n))


def tiles(n: int) -> Tiles:
    """All senders in every tile, and as many receivers as fill it."""
    senders = padded(n)
    return Tiles(max(1, ROWS // senders), senders)


def as_rows(x: Tensor) -> Tensor:
    """Values (S, B, n, h) whose rows lie evenly apart: parts of wider rows may stay as they are."""
    S, B, n, _ = x.shape
    even = x.stride(-1) == 1 and x.stride(1) == n * x.stride(2)
    return x if even and (S == 1 or x.stride(0) == B * x.stride(1)) else x.contiguous()
