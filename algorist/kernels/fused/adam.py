"""Clipping and Adam for all weights at once, from gradients that lie in a few tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

_TILE = 1024
"""So many weights are updated by a program."""
_SUMS = 1024
"""So many partial sums are added up at once."""
STORAGES = 16
"""In so many tensors gradients may lie."""
_FIELDS = tl.constexpr(9)


class Weights(NamedTuple):
    """One of the tensors that learn, (S, ...), and what Adam knows of it; all in one piece."""

    parameter: Tensor
    gradient: Tensor
    mean: Tensor
    square: Tensor
    count: Tensor
    """How often it was updated: a single number."""


_RATES = (0.9, 0.999, 1e-8)
"""How fast the mean and the mean square forget, and what keeps divisors from zero."""


@triton.jit
def _gradient(storages, row, TILE: tl.constexpr):
    """What a program's row says its gradient is, and which numbers of its tile there are."""
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
    storages, table, sums, each, limit, learning, mean_rate, square_rate, epsilon,
    TILE: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    row = table + tl.program_id(0) * _FIELDS
    replica, number = tl.load(row + 1), tl.arange(0, TILE)
    gradient, there = _gradient(storages, row, TILE)
    if limit > 0:
        total = tl.zeros((SUMS,), tl.float32)
        for first in range(0, each, SUMS):  # of its replica, always in the same order
            other = first + tl.arange(0, SUMS)
            total += tl.load(sums + replica * each + other, other < each, 0.0)
        gradient *= tl.minimum(limit / tl.sqrt(tl.sum(total, 0)), 1.0)
    parameter = tl.load(row + 3).to(tl.pointer_type(tl.float32)) + number
    mean = tl.load(row + 4).to(tl.pointer_type(tl.float32)) + number
    square = tl.load(row + 5).to(tl.pointer_type(tl.float32)) + number
    count = tl.load(tl.load(row + 6).to(tl.pointer_type(tl.float32)))
    first = tl.load(mean, there, 0.0)
    first += (1.0 - mean_rate) * (gradient - first)
    second = square_rate * tl.load(square, there, 0.0) + (1.0 - square_rate) * gradient * gradient
    tl.store(mean, first, there)
    tl.store(square, second, there)
    first /= 1.0 - tl.exp(count * tl.log(mean_rate))
    second /= 1.0 - tl.exp(count * tl.log(square_rate))
    change = learning * first / (tl.sqrt(second) + epsilon)
    tl.store(parameter, tl.load(parameter, there, 0.0) - change, there)


class Adam:
    """Updates some weights; what it looks up is made once.

    The weights must outlive it: it knows their addresses alone.
    """

    def __init__(self, weights: Sequence[Weights]):
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
        """Have the kernels compiled and loaded, as must be before they are captured."""
        nothing = torch.zeros(1, 1, device=self._table.device)
        weights = Weights(*(nothing.clone() for _ in Weights._fields))  # alive until it is done
        Adam([weights]).step([weights.gradient], 1.0, 1.0)

    def step(self, gradients: Sequence[Tensor], learning_rate: float, limit: float) -> None:
        """Clip to a norm of `limit` in each replica, unless that is 0, and update.

        The gradients lie as those did that this was made with.
        """
        found = tuple(storages_of(gradients).values())
        storages = (*found, *found[:1] * (STORAGES - len(found)))
        programs = len(self._table)
        sums = gradients[0].new_empty(programs)
        _norms[(programs,)](storages, self._table, sums, TILE=_TILE, num_warps=4)
        _update[(programs,)](
            storages, self._table, sums, programs // self._replicas, limit, learning_rate, *_RATES,
            TILE=_TILE, SUMS=_SUMS, num_warps=4,
        )  # fmt: skip


def storages_of(gradients: Sequence[Tensor]) -> dict[int, Tensor]:
    """The tensors that gradients are parts of, by their addresses."""
    return {
        _storage(x): torch.empty(0, device=x.device).set_(x.untyped_storage()) for x in gradients
    }


def _storage(gradient: Tensor) -> int:
    return gradient.untyped_storage().data_ptr()


def _rows(weights: Weights, replica: int, storage: int) -> Iterator[tuple[int, ...]]:
    """What the kernels read of a replica's tensor, for each program that takes part in it."""
    size, start = weights.parameter[0].numel(), weights.gradient.storage_offset()
    tensors = (weights.parameter, weights.mean, weights.square)
    for first in range(0, size, _TILE):
        at = replica * size + first
        places = [tensor.data_ptr() + tensor.element_size() * at for tensor in tensors]
        yield (
            min(_TILE, size - first), replica, start + at, *places, weights.count.data_ptr(),
            int(at == 0), storage,
        )  # fmt: skip
