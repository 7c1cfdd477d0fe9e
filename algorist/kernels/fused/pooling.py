"""Values of the graph at all steps of a scan."""

from __future__ import annotations

import torch
from torch import Tensor

from algorist.kernels.affine import Affine
from algorist.kernels.fused import node
from algorist.kernels.fused.stacks import (
    Moments,
    Slots,
    over_steps,
    with_ones,
    without_ones,
)
from algorist.kernels.maps import Pooling


class Pool:
    """Values of the graph."""

    adds = ("x", "before", "after")

    def __init__(
        self, maps: Pooling, moments: Moments, of_nodes: int, precision: str, *, keep: bool
    ):
        self.moments, self.precision = moments, precision
        K, S, B, _, h = moments.before.shape
        new = moments.before.new_empty
        self.split = of_nodes, moments.x.shape[-1] - 1 - of_nodes
        bias = (maps.graph.bias + maps.pooled.bias).unsqueeze(1)
        unread = bias.new_zeros(S, of_nodes, bias.shape[-1])
        self.maps = (
            with_ones(maps.encoder, *self.split),
            maps.pooled.weight.contiguous(),
            torch.cat((unread, maps.graph.weight, bias), 1),
        )
        self.out = new(K, S, B, bias.shape[-1])
        steps = K if keep else 0
        self.pooled = new(steps, S, B, 3 * h)
        self.winners = new(steps, S, B, 3, h, dtype=torch.int16)

    def forward(self, k: int) -> None:
        """The values of step k."""
        x, _, before, after, _ = self.moments.step(k)
        kept = (self.pooled[k], self.winners[k]) if len(self.pooled) else None
        node.pool(x, before, after, *self.maps, self.out[k], kept, self.precision)

    def turn(self, slots: Slots, slopes: Tensor) -> None:
        """Make ready for the way back."""
        self.slopes = slopes
        self.slots = [slots.take(name) for name in self.adds]
        self.d_encoded = torch.empty_like(self.moments.before)

    def backward(self, k: int) -> None:
        """The slopes of what step k read."""
        d_x, d_before, d_after = (slot[k] for slot in self.slots)
        node.pool_backward(
            self.slopes[k], self.winners[k], *self.maps, d_x, d_before, d_after,
            self.d_encoded[k], self.precision,
        )  # fmt: skip

    def gradients(self) -> Pooling:
        """Of the encoder, of what is pooled, and of the graph."""
        of_nodes, _ = self.split
        graph = over_steps(self.moments.x[:, :, :, 0], self.slopes)
        bias = graph[:, -1]
        return Pooling(
            encoder=without_ones(over_steps(self.moments.x, self.d_encoded), *self.split),
            pooled=Affine(over_steps(self.pooled, self.slopes), bias),
            graph=Affine(graph[:, of_nodes:-1], bias),
        )
