"""What lies at the ends of trajectories, taken out of stacks, and slopes put back there."""

from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.jobs import coded, filled, number, own, started

_STACKS = 5
"""So many stacks a launch takes."""
_BLOCK = 2048


@triton.jit(do_not_specialize=["S", "B", "E"])
def _take(starts, stacks, results, sizes, steps, lanes, S, B, E, BLOCK: tl.constexpr):
    end, job = tl.program_id(0), tl.program_id(1)
    stack, result = own(stacks, starts, job), own(results, starts, job)
    size, block = number(sizes, starts, job), job - number(starts, starts, job)
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
    starts, programs = started([triton.cdiv(size, _BLOCK) for size in sizes], _STACKS)
    _take[S * E, programs](
        starts, filled(stacks, _STACKS), filled(results, _STACKS), coded(sizes, _STACKS),
        steps, lanes, S, stacks[0].shape[2], E, BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip
    return results


@triton.jit(do_not_specialize=["S", "B", "E"])
def _put(
    starts, stacks, slopes, sizes, slots, parts, steps, lanes, S, B, E,
    ENDS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    lane, replica, k = tl.program_id(0) % B, tl.program_id(0) // B % S, tl.program_id(0) // (B * S)
    job = tl.program_id(1)
    stack, slopes = own(stacks, starts, job), own(slopes, starts, job)
    size, block = number(sizes, starts, job), job - number(starts, starts, job)
    slots, parts = number(slots, starts, job), number(parts, starts, job)
    place = block * BLOCK + tl.arange(0, BLOCK)
    steps += replica * E
    lanes += replica * E
    end = tl.arange(0, ENDS)
    ends = (tl.load(steps + end, end < E, -1) == k) & (tl.load(lanes + end, end < E, -1) == lane)
    total = tl.zeros((BLOCK,), tl.float32)
    for end in range(tl.where(tl.max(ends.to(tl.int32), 0) > 0, E, 0)):
        here = (tl.load(steps + end) == k) & (tl.load(lanes + end) == lane)
        until = tl.where(here, size, 0)
        for part in range(parts):
            row = ((part * S + replica) * E + end).to(tl.int64)
            total += tl.load(slopes + row * size + place, place < until, 0.0)
    row = ((k * slots + slots - 1) * S + replica).to(tl.int64) * B + lane
    tl.store(stack + row * size + place, total, place < size)


def put(
    stacks: Sequence[Tensor], slopes: Sequence[Tensor | None], steps: Tensor, lanes: Tensor
) -> None:
    """Fill the last slot of stacks (K, slots, S, B, ...) with the slopes of some ends, else zeros.

    Slopes are (1, slots, S, E, ...), their slots are added up, as are all ends that lie at the same
    place; None for zeros.
    """
    K, _, S, B = stacks[0].shape[:4]
    E = steps.shape[1]
    sizes = [x.shape[4:].numel() for x in stacks]
    read = [x if slope is None else slope for x, slope in zip(stacks, slopes, strict=True)]
    parts = [0 if slope is None else slope.shape[1] for slope in slopes]
    starts, programs = started([triton.cdiv(size, _BLOCK) for size in sizes], _STACKS)
    _put[K * S * B, programs](
        starts, filled(stacks, _STACKS), filled(read, _STACKS), coded(sizes, _STACKS),
        coded([x.shape[1] for x in stacks], _STACKS), coded(parts, _STACKS),
        steps, lanes, S, B, E, ENDS=triton.next_power_of_2(E), BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip
