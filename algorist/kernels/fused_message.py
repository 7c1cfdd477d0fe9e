"""Messages and their maximum in one kernel: build, two layers, the largest per receiver.

A program takes a few receivers of one sample and all their senders. What backward needs of the rows
(one row a pair of nodes) is kept: writing it costs less than computing it again. The gradients of
the weights are products over all rows of all steps, made once at the end.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.affine import Affine
from algorist.kernels.late import Kept, Late, weight_gradient
from algorist.kernels.tiling import as_rows, tiles


@triton.jit
def _forward(
    receiver, sender, raw, heard, edge, first, bias, second,  # inputs
    largest, winner, built, inner,  # results
    B, n, F, to_stride, from_stride,
    H: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    MASKED: tl.constexpr, KEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    to, frm = block * R + row // N, row % N
    there = (to < n) & (frm < n)
    node = sample * n
    at = (node + to)[:, None] * to_stride + channel
    message = tl.load(receiver + at, there[:, None], 0.0)
    at = (node + frm)[:, None] * from_stride + channel
    message += tl.load(sender + at, there[:, None], 0.0)
    pair = (node + frm) * n + to
    for f in range(F):
        number = tl.load(raw + pair * F + f, there, 0.0)
        message += number[:, None] * tl.load(edge + (replica * F + f) * H + channel)
    message = tl.maximum(message, 0.0)
    square = replica * H * H + channel[:, None] * H + channel
    hidden = tl.dot(message, tl.load(first + square), input_precision=PRECISION)
    hidden = tl.maximum(hidden + tl.load(bias + replica * H + channel), 0.0)
    if KEEP:
        place = pair[:, None] * H + channel
        tl.store(built + place, message, there[:, None])
        tl.store(inner + place, hidden, there[:, None])
    result = tl.dot(hidden, tl.load(second + square), input_precision=PRECISION)
    if MASKED:
        listens = tl.load(heard + pair, there, 0.0) > 0
        result = tl.where(listens[:, None], result, -1.0e6)
    result = tl.where(there[:, None], result, -3.0e38)
    best, which = tl.max(tl.reshape(result, (R, N, H)), 1, return_indices=True)
    receivers = block * R + tl.arange(0, R)
    place = (node + receivers)[:, None] * H + channel
    tl.store(largest + place, best, (receivers < n)[:, None])
    if KEEP:
        if MASKED:  # who hears nobody learns from nobody
            which = tl.where(best == -1.0e6, -1, which)
        tl.store(winner + place, which.to(tl.int16), (receivers < n)[:, None])


@triton.jit
def _backward(
    gradient, winner, built, inner, first, second, edge,  # inputs
    d_receiver, d_sender, d_raw, d_result, d_hidden, d_message,  # results
    B, n, F,
    H: tl.constexpr, R: tl.constexpr, N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    to, frm = block * R + row // N, row % N
    there = (to < n) & (frm < n)
    node = sample * n
    pair = (node + frm) * n + to
    place = pair[:, None] * H + channel
    at_receiver = (node + to)[:, None] * H + channel
    won = tl.load(winner + at_receiver, there[:, None], -1) == frm[:, None]
    slope = tl.where(won, tl.load(gradient + at_receiver, there[:, None], 0.0), 0.0)
    tl.store(d_result + place, slope, there[:, None])
    turned = replica * H * H + channel[None, :] * H + channel[:, None]
    slope = tl.dot(slope, tl.load(second + turned), input_precision=PRECISION)
    slope = tl.where(tl.load(inner + place, there[:, None], 0.0) > 0, slope, 0.0)
    tl.store(d_hidden + place, slope, there[:, None])
    slope = tl.dot(slope, tl.load(first + turned), input_precision=PRECISION)
    slope = tl.where(tl.load(built + place, there[:, None], 0.0) > 0, slope, 0.0)
    tl.store(d_message + place, slope, there[:, None])
    receivers = block * R + tl.arange(0, R)
    cube = tl.reshape(slope, (R, N, H))
    place = (node + receivers)[:, None] * H + channel
    tl.store(d_receiver + place, tl.sum(cube, 1), (receivers < n)[:, None])
    senders = tl.arange(0, N)
    place = ((sample * tl.num_programs(1) + block) * n + senders)[:, None] * H + channel
    tl.store(d_sender + place, tl.sum(cube, 0), (senders < n)[:, None])
    for f in range(F):
        part = tl.sum(slope * tl.load(edge + (replica * F + f) * H + channel), 1)
        tl.store(d_raw + pair * F + f, part, there)


class Message:
    """The operation for a scan, with the weights that stay the same through it."""

    def __init__(
        self, edge: Tensor, first: Affine, second: Tensor, raws: Kept, steps: int, precision: str
    ):
        self.raws, self.kept, self.taken = raws, Kept(steps), 0
        self.precision = precision
        self.weights = Late.apply(self.weight_gradients, edge, *first, second)

    def __call__(
        self, receiver: Tensor, sender: Tensor, raw: Tensor, adjacency: Tensor | None
    ) -> Tensor:
        """The largest message that each node receives: (S, B, n, h)."""
        step, self.taken = self.taken, self.taken + 1
        return _Step.apply(self, step, receiver, sender, raw, adjacency, *self.weights)

    def weight_gradients(self) -> tuple[Tensor, ...]:
        """Over all steps: of the edges' map, of the first layer and its bias, of the second."""
        rows = self.kept.rows
        return (
            weight_gradient(self.raws.rows("raw"), rows("d_message")),
            weight_gradient(rows("built"), rows("d_hidden")),
            rows("d_hidden").sum((0, 2)),
            weight_gradient(rows("inner"), rows("d_result")),
        )


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, message: Message, step: int, receiver: Tensor, sender: Tensor, raw: Tensor,
        adjacency: Tensor | None, edge: Tensor, first: Tensor, bias: Tensor, second: Tensor,
    ) -> Tensor:  # fmt: skip
        S, B, n, h = receiver.shape
        cut, keep, kept = tiles(n), any(ctx.needs_input_grad), message.kept
        receiver, sender, raw = as_rows(receiver), as_rows(sender), raw.contiguous()
        largest = raw.new_empty(S, B, n, h)
        built = kept.slot("built", step, raw, h) if keep else largest
        inner = kept.slot("inner", step, raw, h) if keep else largest
        winner = torch.empty(receiver.shape if keep else 1, dtype=torch.int16, device=raw.device)
        heard = raw if adjacency is None else adjacency.contiguous()
        _forward[(S * B, cut.blocks(n))](
            receiver, sender, raw, heard, edge.contiguous(), first.contiguous(), bias.contiguous(),
            second.contiguous(), largest, winner, built, inner, B, n, raw.shape[-1],
            receiver.stride(2), sender.stride(2), H=h, R=cut.receivers, N=cut.senders,
            MASKED=adjacency is not None, KEEP=keep, PRECISION=message.precision, num_warps=8,
        )  # fmt: skip
        if keep:
            message.raws.once("raw", raw)
            ctx.kept, ctx.step, ctx.precision = kept, step, message.precision
            ctx.save_for_backward(winner, raw, edge, first, second)
        return largest

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        kept, step = ctx.kept, ctx.step
        winner, raw, edge, first, second = ctx.saved_tensors
        built, inner = (kept.at(name, step) for name in ("built", "inner"))
        d_result, d_hidden, d_message = (
            kept.slot(name, step, built) for name in ("d_result", "d_hidden", "d_message")
        )
        S, B, n, h = gradient.shape
        cut = tiles(n)
        d_receiver, d_raw = gradient.new_empty(S, B, n, h), torch.empty_like(raw)
        d_sender = gradient.new_empty(S, B, cut.blocks(n), n, h)
        _backward[(S * B, cut.blocks(n))](
            gradient.contiguous(), winner, built, inner, first.contiguous(), second.contiguous(),
            edge.contiguous(), d_receiver, d_sender, d_raw, d_result, d_hidden, d_message,
            B, n, raw.shape[-1], H=h, R=cut.receivers, N=cut.senders,
            PRECISION=ctx.precision, num_warps=8,
        )  # fmt: skip
        return (None, None, d_receiver, d_sender.sum(2), d_raw, *(None,) * 5)
