"""How rows are cut into the tiles that GPU programs take."""

from __future__ import annotations

from typing import NamedTuple

import triton

ROWS = 64
"""The rows of a tile: enough for the matrix units, few enough for the registers."""


class Tiles(NamedTuple):
    """Tiles of (receivers, senders) for n nodes."""

    receivers: int
    senders: int

    def blocks(self, n: int) -> int:
        """How many tiles the receivers of one sample need."""
        return triton.cdiv(n, self.receivers)


def tiles(n: int) -> Tiles:
    """All senders in every tile, and as many receivers as fill it."""
    senders = max(16, triton.next_power_of_2(n))
    return Tiles(max(1, ROWS // senders), senders)
