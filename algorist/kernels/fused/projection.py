"""Joined maps of nodes at all steps of a scan."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
from torch import Tensor
from torch.nn.functional import pad

from algorist.kernels.affine import Affine
from algorist.kernels.fused import node
from algorist.kernels.fused.stacks import Slots, over_steps, with_ones, without_ones

_LINE = 16
"""So many numbers are read at once where all rows begin at multiples of them."""


class Projection:
    """A joined map of numbers and states of nodes, at all steps."""

    def __init__(
        self, affine: Affine, inputs: Sequence[Tensor], precision: str, *, narrow: int = 0
    ):
        """The inputs are x, states before and perhaps after.

        After the first columns, the `narrow` ones, others that are zero fill up a line of memory:
        the `rest` begins at the next one.
        """
        self.inputs, self.precision = inputs, precision
        x = inputs[0]
        self.narrow, self.rest = narrow, triton.cdiv(narrow, _LINE) * _LINE
        own = affine.weight.shape[1] - sum(states.shape[-1] for states in inputs[1:])
        self.split = own, x.shape[-1] - 1 - own  # numbers that are read, and that are not
        self.weight = self._spread(with_ones(affine, *self.split))
        self.out = x.new_empty(*x.shape[:-1], self.weight.shape[-1])

    def _spread(self, matrix: Tensor) -> Tensor:
        """The columns of a matrix with others that are zero in between."""
        if self.narrow == self.rest:
            return matrix
        first, rest = matrix.split((self.narrow, matrix.shape[-1] - self.narrow), -1)
        return torch.cat((pad(first, (0, self.rest - self.narrow)), rest), -1)

    def forward(self, k: int) -> None:
        """The values of step k."""
        node.project([x[k] for x in self.inputs], self.weight, self.out[k], self.precision)

    def turn(self, slots: Slots) -> None:
        """Make ready for the way back."""
        self.slopes = torch.empty_like(self.out)
        self.slopes[..., self.narrow : self.rest] = 0.0
        self.partials: list[node.Partial] = []
        names = ("x", "before", "after")[: len(self.inputs)]
        self.d_inputs = [slots.take(name) for name in names]

    def partial(self, count: int, column: int, stride: int, blocks: int) -> Tensor:
        """Room for slopes of some columns that are not yet added up over blocks."""
        _, S, B, n, _ = self.out.shape
        h = self.inputs[1].shape[-1]
        room = self.out.new_empty(count, S, B, blocks, n, h)
        self.partials.append((room, column, stride))
        return room

    def backward(self, k: int) -> None:
        """The slopes of the inputs of step k."""
        slopes = [slot[k] for slot in self.d_inputs]
        node.project_backward(self.slopes[k], self.weight, self.partials, slopes, self.precision)

    def gradients(self) -> Affine:
        """Of the map."""
        matrix = torch.cat([over_steps(x, self.slopes) for x in self.inputs], 1)
        if self.narrow < self.rest:
            matrix = torch.cat((matrix[..., : self.narrow], matrix[..., self.rest :]), -1)
        return without_ones(matrix, *self.split)
