"""Projections of nodes: one product for all layers that read them.

Values are (S, B, n, channels), weights (S, in, out). The raw numbers x of a node end with a one:
the last row of the weights that read x is the bias. Results go where the caller says.
"""

from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import (
    MANY,
    dot,
    exact_dot,
    padded,
    pdl_options,
    wait_for_previous,
)

_TALL, _WIDE, _DEEP, _STAGES = 32, 64, 32, 4
"""The rows and columns of a tile, how many products are summed at a time, and pipeline stages."""


_COUNTS = ["rows", "B", "n", "F", "C"]
"""Arguments that Triton does not specialise on: one compilation serves all their values."""


Partial = tuple[Tensor, int, int]
"""Gradients yet to be summed over blocks, (P, S, B, blocks, n, h), the column where those of the
first p begin, and the distance in columns to those of the next."""


@triton.jit(do_not_specialize=_COUNTS)
def _project(
    x, before, after, weight, out,
    rows, F, C,
    FX: tl.constexpr, H: tl.constexpr, UNIT: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr,
    DEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    # Rows that are known to start at multiples of 4 are read four numbers at a time.
    C = C // UNIT * UNIT
    replica = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * TALL + tl.arange(0, TALL)
    column = tl.program_id(2) * WIDE + tl.arange(0, WIDE)
    there, known = (row < rows)[:, None], (column < C)[None, :]
    line = (replica * rows + row)[:, None]
    depth: tl.constexpr = H if after is None else 2 * H
    weight += replica * (F + depth) * C
    # The numbers of x are asked for first and needed last.
    feature = tl.arange(0, FX)
    numbers = tl.load(x + line * F + feature, there & (feature < F), 0.0)
    of_numbers = weight + feature[:, None] * C + column
    of_numbers = tl.load(of_numbers, (feature < F)[:, None] & known, 0.0)
    total = tl.zeros((TALL, WIDE), tl.float32)
    for k in tl.range(0, depth, DEEP, num_stages=4):
        states = before
        if after is not None:
            states = tl.where(k < H, before, after)
        inner = tl.arange(0, DEEP)
        values = tl.load(states + line * H + k % H + inner, there, 0.0)
        weights = tl.load(weight + (F + k + inner)[:, None] * C + column, known, 0.0)
        total += dot(values, weights, PRECISION)
    total += exact_dot(numbers, of_numbers, PRECISION)
    tl.store(out + line * C + column, total, there & known)


def project(parts: Sequence[Tensor], weight: Tensor, out: Tensor, precision: str) -> None:
    """out (S, B, n, C) = the parts side by side @ weight; they are x, before and perhaps after."""
    x, before, after = (*parts, None)[:3]
    S, B, n, h = before.shape
    C = out.shape[-1]
    wide = 2 * _WIDE if S * B * n >= MANY else _WIDE
    _project[S, triton.cdiv(B * n, _TALL), triton.cdiv(C, wide)](
        x, before, after, weight, out, B * n, x.shape[-1], C,
        FX=padded(x.shape[-1]), H=h, UNIT=_unit(C), TALL=_TALL, WIDE=wide, DEEP=min(_DEEP, h),
        PRECISION=precision, num_warps=4, **pdl_options(S * B * n),
    )  # fmt: skip


def _unit(*columns: int) -> int:
    """How many numbers can be read at a time where rows and columns begin at these."""
    return 1 if any(column % 4 for column in columns) else 4


@triton.jit(do_not_specialize=_COUNTS)
def _project_backward(
    grads, weight, partials, places, d_x, d_before, d_after,
    rows, B, n, F, C,
    H: tl.constexpr, UNIT: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr,
    DEEP: tl.constexpr, BLOCKS: tl.constexpr, STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    C = C // UNIT * UNIT
    replica = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * TALL + tl.arange(0, TALL)
    channel = tl.program_id(2) * WIDE + tl.arange(0, WIDE)  # of the parts side by side
    width = F + (H if d_after is None else 2 * H)
    there, known = (row < rows)[:, None], (channel < width)[None, :]
    line = (replica * rows + row)[:, None]
    transposed = weight + (replica * width + channel)[None, :] * C
    inner = tl.arange(0, DEEP)
    down = tl.zeros((TALL, WIDE), tl.float32)
    for i in tl.static_range(len(partials)):
        first, stride, count, blocks = places[i]
        first, stride = first // UNIT * UNIT, stride // UNIT * UNIT
        whole = tl.arange(0, H)
        for p in range(count):
            sample = (p * tl.num_programs(0) + replica) * B + row // n
            column = first + p * stride + whole
            weights = tl.load(transposed + column[:, None], known, 0.0)
            total = tl.zeros((TALL, H), tl.float32)
            for start in range(0, blocks, BLOCKS):
                for block in tl.static_range(BLOCKS):
                    block += start
                    at = ((sample * blocks + block) * n + row % n)[:, None] * H + whole
                    end = tl.where(block < blocks, rows, 0)
                    total += tl.load(partials[i] + at, row[:, None] < end, 0.0)
            down += dot(total, weights, PRECISION)
            # All programs of these rows sum the same; one of them writes it down. None reads it.
            end = tl.where(tl.program_id(2) == 0, rows, 0)
            tl.store(grads + line * C + column, total, row[:, None] < end)
    for k in tl.range(0, C, DEEP, num_stages=STAGES):
        column = k + inner
        own = column < C
        for i in tl.static_range(len(partials)):
            first, stride, count, blocks = places[i]
            first, stride = first // UNIT * UNIT, stride // UNIT * UNIT
            away = column - first
            own &= (away < 0) | (away >= (count - 1) * stride + H) | (away % stride >= H)
        values = tl.load(grads + line * C + column, there & own, 0.0)
        weights = tl.load(transposed + column[:, None], known & own[:, None], 0.0)
        down += dot(values, weights, PRECISION)
    tl.store(d_x + line * F + channel, down, there & (channel < F))
    channel -= F
    tl.store(d_before + line * H + channel, down, there & (channel >= 0) & (channel < H))
    if d_after is not None:
        channel -= H
        tl.store(d_after + line * H + channel, down, there & (channel >= 0) & (channel < H))


def project_backward(
    grads: Tensor,
    weight: Tensor,
    partials: Sequence[Partial],
    d_parts: Sequence[Tensor],
    precision: str,
) -> None:
    """The grads of the parts, from those of what `project` made of them.

    What `partials` hold is summed, and written into its columns of `grads` too.
    """
    d_x, d_before, d_after = (*d_parts, None)[:3]
    S, B, n, h = d_before.shape
    C, F = grads.shape[-1], d_x.shape[-1]
    places = tuple((first, max(stride, h), len(x), x.shape[3]) for x, first, stride in partials)
    starts = [column for first, stride, *_ in places for column in (first, stride)]
    tall = 2 * _TALL if S * B * n >= MANY else _TALL
    _project_backward[S, triton.cdiv(B * n, tall), triton.cdiv(weight.shape[1], _WIDE)](
        grads, weight, tuple(x for x, *_ in partials), places, d_x, d_before, d_after,
        B * n, B, n, F, C,
        H=h, UNIT=_unit(C, *starts), TALL=tall, WIDE=_WIDE, DEEP=min(_DEEP, h), BLOCKS=4,
        STAGES=_STAGES, PRECISION=precision, num_warps=4, **pdl_options(S * B * n),
    )  # fmt: skip
