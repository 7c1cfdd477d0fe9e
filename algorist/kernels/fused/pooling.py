"""Values of the graph at all steps of a scan."""

from __future__ import annotations

import torch
from torch import Tensor

from algorist.kernels.fused import graph_pooling
from algorist.kernels.fused.buffers import GradBuffers, StepBuffers
from algorist.kernels.fused.gradients import Gradients
from algorist.kernels.scan_weights import PoolingWeights


class Pool:
    """Values of the graph."""

    adds = ("x", "before", "after")

    def __init__(
        self, weights: PoolingWeights, step_buffers: StepBuffers, precision: str, *, keep: bool
    ):
        self.weights, self.step_buffers, self.precision = weights, step_buffers, precision
        K, S, B, _, h = step_buffers.before.shape
        new = step_buffers.before.new_empty
        self.out = new(K, S, B, weights.graph.shape[-1])
        steps = K if keep else 0
        self.pooled = new(steps, S, B, 3 * h)
        self.winners = new(steps, S, B, 3, h, dtype=torch.int16)

    def forward(self, k: int) -> None:
        """The values of step k."""
        x, _, before, after, _ = self.step_buffers.step(k)
        kept = (self.pooled[k], self.winners[k]) if len(self.pooled) else None
        graph_pooling.pool(x, before, after, *self.weights, self.out[k], kept, self.precision)

    def begin_backward(self, grad_buffers: GradBuffers, grads: Tensor) -> None:
        """Allocate what backward writes."""
        self.grads = grads
        self.grad_buffers = [grad_buffers.take(name) for name in self.adds]
        self.d_encoded = torch.empty_like(self.step_buffers.before)

    def backward(self, k: int) -> None:
        """The grads of what step k read."""
        d_x, d_before, d_after = (slot[k] for slot in self.grad_buffers)
        graph_pooling.pool_backward(
            self.grads[k], self.winners[k], *self.weights, d_x, d_before, d_after,
            self.d_encoded[k], self.precision,
        )  # fmt: skip

    def gradients(self, wanted: Gradients) -> PoolingWeights:
        """Of the encoder, of what is pooled, and of the graph."""
        x = self.step_buffers.x
        encoder = wanted.want(self.d_encoded, x)[:, :-1]
        # The numbers of the graph lie at each of its nodes.
        both = wanted.want(self.grads, x[:, :, :, 0], [self.pooled])[:, :-1]
        graph, pooled = both.split((x.shape[-1], self.pooled.shape[-1]), 1)
        return PoolingWeights(encoder=encoder, pooled=pooled, graph=graph)
