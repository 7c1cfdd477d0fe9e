"""What lies at the ends of trajectories, taken out of stacks, and grads put back there."""

from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.grouped_launch import (
    encode_numbers,
    pad_tensors,
    program_offsets,
    select_number,
    select_tensor,
)

_STACKS = 5
"""So many stacks a launch takes."""
_BLOCK = 2048


@triton.jit(do_not_specialize=["S", "B", "E"])
def _take(starts, stacks, results, sizes, steps, lanes, S, B, E, BLOCK: tl.constexpr):
    end, job = tl.program_id(0), tl.program_id(1)
    stack, result = select_tensor(stacks, starts, job), select_tensor(results, starts, job)
    size, block = select_number(sizes, starts, job), job - select_number(starts, starts, job)
    place = block * BLOCK + tl.arange(0, BLOCK)
    step, lane = tl.load(steps + end).to(tl.int64), tl.load(lanes + end)
    row = (step * S + end // E) * B + lane
    value = tl.load(stack + row * size + place, place < size)
    tl.store(result + end.to(tl.int64) * size + place, value, place < size)


def take(stacks: Sequence[Tensor], steps: Tensor, lanes: Tensor) -> list[Tensor]:
    """What stacks (K, S, B, ...) have at some steps and lanes, (S, E) each: (1, S, E, ...)."""
    S, E = steps.shape
    results = [x.new_empty(1, S, E, *x.shape[3:]) for x in stacks]
    sizes = [x.shape[3:].numel() for x in stacks]
    starts, programs = program_offsets([triton.cdiv(size, _BLOCK) for size in sizes], _STACKS)
    _take[S * E, programs](
        starts, pad_tensors(stacks, _STACKS), pad_tensors(results, _STACKS),
        encode_numbers(sizes, _STACKS),
        steps, lanes, S, stacks[0].shape[2], E, BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip
    return results


@triton.jit
def _clear(starts, stacks, sizes, grad_buffers, lanes, BLOCK: tl.constexpr):
    index, job = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stack, size = select_tensor(stacks, starts, job), select_number(sizes, starts, job)
    of, block = select_number(grad_buffers, starts, job), job - select_number(starts, starts, job)
    place = block * BLOCK + tl.arange(0, BLOCK)
    row = (index // lanes * of + of - 1) * lanes + index % lanes
    tl.store(stack + row * size + place, tl.zeros((BLOCK,), tl.float32), place < size)


def clear(stacks: Sequence[Tensor]) -> None:
    """Fill the last slot of stacks (K, grad buffers, S, B, ...) with zeros."""
    K, _, S, B = stacks[0].shape[:4]
    sizes = [x.shape[4:].numel() for x in stacks]
    starts, programs = program_offsets([triton.cdiv(size, _BLOCK) for size in sizes], _STACKS)
    _clear[K * S * B, programs](
        starts, pad_tensors(stacks, _STACKS), encode_numbers(sizes, _STACKS),
        encode_numbers([x.shape[1] for x in stacks], _STACKS), S * B, BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip


@triton.jit(do_not_specialize=["S", "B", "E"])
def _put(
    starts, stacks, grads, sizes, grad_buffers, parts, steps, lanes, weights, S, B, E,
    BLOCK: tl.constexpr,
):  # fmt: skip
    end, job = tl.program_id(0).to(tl.int64), tl.program_id(1)
    if tl.load(weights + end) > 0:
        stack, grad = select_tensor(stacks, starts, job), select_tensor(grads, starts, job)
        size, block = select_number(sizes, starts, job), job - select_number(starts, starts, job)
        of = select_number(grad_buffers, starts, job)
        place = block * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for part in range(select_number(parts, starts, job)):
            row = part * S * E + end
            total += tl.load(grad + row * size + place, place < size, 0.0)
        step, lane = tl.load(steps + end).to(tl.int64), tl.load(lanes + end)
        row = ((step * of + of - 1) * S + end // E) * B + lane
        tl.store(stack + row * size + place, total, place < size)


def put(
    stacks: Sequence[Tensor],
    grads: Sequence[Tensor | None],
    ends: tuple[Tensor, Tensor],
    weights: Tensor,
) -> None:
    """Write the grads of ends into the last, cleared buffer of (K, grad buffers, S, B, ...).

    Grads are (1, grad buffers, S, E, ...), summed over the buffers; None for none. Ends whose
    weight is zero have none; no two others lie at the same place.
    """
    (S, E), B = weights.shape, stacks[0].shape[3]
    sizes = [x.shape[4:].numel() for x in stacks]
    read = [x if grad is None else grad for x, grad in zip(stacks, grads, strict=True)]
    parts = [0 if grad is None else grad.shape[1] for grad in grads]
    starts, programs = program_offsets([triton.cdiv(size, _BLOCK) for size in sizes], _STACKS)
    _put[S * E, programs](
        starts, pad_tensors(stacks, _STACKS), pad_tensors(read, _STACKS),
        encode_numbers(sizes, _STACKS),
        encode_numbers([x.shape[1] for x in stacks], _STACKS), encode_numbers(parts, _STACKS),
        *ends, weights, S, B, E, BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip
