"""Joined maps of nodes at all steps of a scan."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from algorist.kernels.fused import node_projection
from algorist.kernels.fused.buffers import GradBuffers
from algorist.kernels.fused.gradients import Gradients


class Projection:
    """A joined map of numbers and states of nodes, at all steps."""

    def __init__(
        self,
        weight: Tensor,
        inputs: Sequence[Tensor],
        precision: str,
        *,
        unread: tuple[int, int] = (0, 0),
    ):
        """The inputs are x, states before and perhaps after.

        Nobody reads the columns from the first of `unread` up to the second, and they are zero.
        """
        self.weight, self.inputs, self.precision, self.unread = weight, inputs, precision, unread
        self.out = inputs[0].new_empty(*inputs[0].shape[:-1], weight.shape[-1])

    def forward(self, k: int) -> None:
        """The values of step k."""
        node_projection.project(
            [x[k] for x in self.inputs], self.weight, self.out[k], self.precision
        )

    def begin_backward(self, grad_buffers: GradBuffers) -> None:
        """Allocate what backward writes."""
        self.grads = torch.empty_like(self.out)
        self.grads[..., slice(*self.unread)] = 0.0
        self.partials: list[node_projection.Partial] = []
        names = ("x", "before", "after")[: len(self.inputs)]
        self.d_inputs = [grad_buffers.take(name) for name in names]

    def partial(self, count: int, column: int, stride: int, blocks: int) -> Tensor:
        """Room for grads of some columns that are not yet added up over blocks."""
        _, S, B, n, _ = self.out.shape
        h = self.inputs[1].shape[-1]
        buffer = self.out.new_empty(count, S, B, blocks, n, h)
        self.partials.append((buffer, column, stride))
        return buffer

    def backward(self, k: int) -> None:
        """The grads of the inputs of step k."""
        grads = [slot[k] for slot in self.d_inputs]
        node_projection.project_backward(
            self.grads[k], self.weight, self.partials, grads, self.precision
        )

    def gradients(self, wanted: Gradients) -> Tensor:
        """The gradient of the weight."""
        x, *states = self.inputs
        return wanted.want(self.grads, x, states)[:, :-1]
