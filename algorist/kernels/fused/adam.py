"""Gradient clipping and Adam for all weights in two launches.

Everything that changes from step to step, the learning rate included, is read from the device, so
that a captured step follows a schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

_TILE = 1024
"""Weights per program."""
_SUMS = 1024
"""Partial sums of squares that are added up at a time."""
_FIELDS = tl.constexpr(8)


class Weights(NamedTuple):
    """A parameter (S, ...) and its optimizer state, all contiguous."""

    parameter: Tensor
    mean: Tensor
    square: Tensor
    count: Tensor
    """The number of updates so far: one float on the device."""


@triton.jit
def _gradient(gradients, row, TILE: tl.constexpr):
    """The gradient of a program's tile, as its row of the table says, and which entries exist."""
    number = tl.arange(0, TILE)
    there = number < tl.load(row)
    return tl.load(gradients + tl.load(row + 2) + number, there, 0.0), there


@triton.jit
def _norms(gradients, table, sums, TILE: tl.constexpr):
    program = tl.program_id(0)
    row = table + program * _FIELDS
    gradient, _ = _gradient(gradients, row, TILE)
    tl.store(sums + program, tl.sum(gradient * gradient, 0))
    if tl.load(row + 7) > 0:  # the first program of a tensor counts
        count = tl.load(row + 6).to(tl.pointer_type(tl.float32))
        tl.store(count, tl.load(count) + 1.0)


@triton.jit(do_not_specialize=["each"])
def _update(
    gradients, table, sums, each, limit, learning_rate, beta1, beta2, eps, weight_decay,
    TILE: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    row = table + tl.program_id(0) * _FIELDS
    replica, number = tl.load(row + 1), tl.arange(0, TILE)
    gradient, there = _gradient(gradients, row, TILE)
    if limit > 0:
        total = tl.zeros((SUMS,), tl.float32)
        for first in range(0, each, SUMS):  # of its replica, in a fixed order
            other = first + tl.arange(0, SUMS)
            total += tl.load(sums + replica * each + other, other < each, 0.0)
        gradient *= tl.minimum(limit / tl.sqrt(tl.sum(total, 0)), 1.0)
    parameter = tl.load(row + 3).to(tl.pointer_type(tl.float32)) + number
    mean = tl.load(row + 4).to(tl.pointer_type(tl.float32)) + number
    square = tl.load(row + 5).to(tl.pointer_type(tl.float32)) + number
    count = tl.load(tl.load(row + 6).to(tl.pointer_type(tl.float32)))
    first = tl.load(mean, there, 0.0)
    first += (1.0 - beta1) * (gradient - first)
    second = beta2 * tl.load(square, there, 0.0) + (1.0 - beta2) * gradient * gradient
    tl.store(mean, first, there)
    tl.store(square, second, there)
    first /= 1.0 - tl.exp(count * tl.log(beta1))
    second /= 1.0 - tl.exp(count * tl.log(beta2))
    rate, value = tl.load(learning_rate), tl.load(parameter, there, 0.0)
    value -= rate * weight_decay * value
    tl.store(parameter, value - rate * first / (tl.sqrt(second) + eps), there)


class Adam:
    """Adam, or AdamW where `weight_decay` is not 0, for a fixed set of weights.

    The weights must outlive it: the table that the kernels read holds their addresses.
    """

    def __init__(
        self,
        weights: Sequence[Weights],
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        self._settings = (*betas, eps, weight_decay)
        self._replicas, device = len(weights[0].parameter), weights[0].parameter.device
        *starts, total = accumulate((each.parameter[0].numel() for each in weights), initial=0)
        rows = [
            row
            for replica in range(self._replicas)
            for each, start in zip(weights, starts, strict=True)
            for row in _rows(each, replica, replica * total + start)
        ]
        self._table = torch.tensor(rows, dtype=torch.int64, device=device)
        self._shape = (self._replicas, total)

    def warm_up(self) -> None:
        """Compile and load the kernels, which must happen before they are captured in a graph."""
        zero = torch.zeros(1, 1, device=self._table.device)
        weights = Weights(*(zero.clone() for _ in Weights._fields))  # referenced until it is done
        Adam([weights]).step(zero, torch.ones((), device=zero.device), 1.0)

    def step(self, gradients: Tensor, learning_rate: Tensor, limit: float) -> None:
        """Clip the gradients of each replica to a norm of `limit`, unless that is 0, and update.

        gradients: (S, weights), contiguous, those of all parameters side by side.
        learning_rate: one float32 on the device of the weights. It is read when the kernel runs:
            a captured graph uses what the tensor holds at each replay.
        """
        device = self._table.device
        if gradients.shape != self._shape:
            found = tuple(gradients.shape)
            raise ValueError(f"gradients: got shape {found}, expected {self._shape}")
        if learning_rate.numel() != 1 or learning_rate.dtype != torch.float32:
            found = f"{learning_rate.dtype} of shape {tuple(learning_rate.shape)}"
            raise ValueError(f"learning_rate: got {found}, expected one float32")
        if learning_rate.device != device:
            found = learning_rate.device
            raise ValueError(f"learning_rate: got a tensor on {found}, expected {device}")
        programs = len(self._table)
        sums = gradients.new_empty(programs)
        _norms[(programs,)](gradients, self._table, sums, TILE=_TILE, num_warps=4)
        _update[(programs,)](
            gradients, self._table, sums, programs // self._replicas, limit, learning_rate,
            *self._settings, TILE=_TILE, SUMS=_SUMS, num_warps=4,
        )  # fmt: skip


def _rows(weights: Weights, replica: int, start: int) -> Iterator[tuple[int, ...]]:
    """The rows of the table for one replica of a parameter, one per program.

    Its gradients begin at `start`.
    """
    size = weights.parameter[0].numel()
    tensors = (weights.parameter, weights.mean, weights.square)
    for first in range(0, size, _TILE):
        at = replica * size + first
        addresses = [tensor.data_ptr() + tensor.element_size() * at for tensor in tensors]
        yield (
            min(_TILE, size - first), replica, start + first, *addresses, weights.count.data_ptr(),
            int(at == 0),
        )  # fmt: skip
