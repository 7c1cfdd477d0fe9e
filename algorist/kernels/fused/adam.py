"""Gradient clipping and Adam for all weights in two launches.

The gradients may lie in a few large tensors. Everything that changes from step to step, the
learning rate included, is read from the device, so that a captured step follows a schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

_TILE = 1024
"""Weights per program."""
_SUMS = 1024
"""Partial sums of squares that are added up at a time."""
STORAGES = 16
"""The largest number of tensors that the gradients may lie in."""
_FIELDS = tl.constexpr(9)


class Weights(NamedTuple):
    """A parameter (S, ...) and its optimizer state, all contiguous."""

    parameter: Tensor
    gradient: Tensor
    mean: Tensor
    square: Tensor
    count: Tensor
    """The number of updates so far: one float on the device."""


@triton.jit
def _gradient(storages, row, TILE: tl.constexpr):
    """The gradient of a program's tile, as its row of the table says, and which entries exist."""
    storage, start, number = storages[0], tl.load(row + 2), tl.arange(0, TILE)
    for i in tl.static_range(1, len(storages)):
        storage = tl.where(tl.load(row + 8) == i, storages[i], storage)
    there = number < tl.load(row)
    return tl.load(storage + start + number, there, 0.0), there


@triton.jit
def _norms(storages, table, sums, TILE: tl.constexpr):
    program = tl.program_id(0)
    row = table + program * _FIELDS
    gradient, _ = _gradient(storages, row, TILE)
    tl.store(sums + program, tl.sum(gradient * gradient, 0))
    if tl.load(row + 7) > 0:  # the first program of a tensor counts
        count = tl.load(row + 6).to(tl.pointer_type(tl.float32))
        tl.store(count, tl.load(count) + 1.0)


@triton.jit(do_not_specialize=["each"])
def _update(
    storages, table, sums, each, limit, learning_rate, beta1, beta2, eps, weight_decay,
    TILE: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    row = table + tl.program_id(0) * _FIELDS
    replica, number = tl.load(row + 1), tl.arange(0, TILE)
    gradient, there = _gradient(storages, row, TILE)
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
        storages = storages_of([each.gradient for each in weights])
        rows = [
            row
            for replica in range(self._replicas)
            for each in weights
            for row in _rows(each, replica, list(storages).index(_storage(each.gradient)))
        ]
        self._table = torch.tensor(rows, dtype=torch.int64, device=device)

    def warm_up(self) -> None:
        """Compile and load the kernels, which must happen before they are captured in a graph."""
        zero = torch.zeros(1, 1, device=self._table.device)
        weights = Weights(*(zero.clone() for _ in Weights._fields))  # referenced until it is done
        Adam([weights]).step([weights.gradient], torch.ones((), device=zero.device), 1.0)

    def step(self, gradients: Sequence[Tensor], learning_rate: Tensor, limit: float) -> None:
        """Clip the gradients of each replica to a norm of `limit`, unless that is 0, and update.

        gradients: laid out like those that this object was made with.
        learning_rate: one float32 on the device of the weights. It is read when the kernel runs:
            a captured graph uses what the tensor holds at each replay.
        """
        device = self._table.device
        if learning_rate.numel() != 1 or learning_rate.dtype != torch.float32:
            found = f"{learning_rate.dtype} of shape {tuple(learning_rate.shape)}"
            raise ValueError(f"learning_rate: got {found}, expected one float32")
        if learning_rate.device != device:
            found = learning_rate.device
            raise ValueError(f"learning_rate: got a tensor on {found}, expected {device}")
        tensors = tuple(storages_of(gradients).values())
        storages = (*tensors, *tensors[:1] * (STORAGES - len(tensors)))
        programs = len(self._table)
        sums = gradients[0].new_empty(programs)
        _norms[(programs,)](storages, self._table, sums, TILE=_TILE, num_warps=4)
        _update[(programs,)](
            storages, self._table, sums, programs // self._replicas, limit, learning_rate,
            *self._settings, TILE=_TILE, SUMS=_SUMS, num_warps=4,
        )  # fmt: skip


def storages_of(gradients: Sequence[Tensor]) -> dict[int, Tensor]:
    """The whole tensors that the gradients are views of, by their addresses."""
    return {
        _storage(x): torch.empty(0, device=x.device).set_(x.untyped_storage()) for x in gradients
    }


def _storage(gradient: Tensor) -> int:
    return gradient.untyped_storage().data_ptr()


def _rows(weights: Weights, replica: int, storage: int) -> Iterator[tuple[int, ...]]:
    """The rows of the table for one replica of a parameter, one per program."""
    size, start = weights.parameter[0].numel(), weights.gradient.storage_offset()
    tensors = (weights.parameter, weights.mean, weights.square)
    for first in range(0, size, _TILE):
        at = replica * size + first
        places = [tensor.data_ptr() + tensor.element_size() * at for tensor in tensors]
        yield (
            min(_TILE, size - first), replica, start + at, *places, weights.count.data_ptr(),
            int(at == 0), storage,
        )  # fmt: skip
