"""Pointer scores in one kernel: widen the triplets, project, add, cut at zero, weigh.

A program takes a few targets of one sample and all sources: a row for each pair.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.affine import Affine
from algorist.kernels.late import Kept, Late, weight_gradient
from algorist.kernels.ops import Triplets
from algorist.kernels.tiling import as_rows, tiles


@triton.jit
def _forward(
    source, target, raw, maxima, edge, widen, widen_bias, triplet, score, score_bias,  # inputs
    scores, wide, larger, exceeds,  # results
    B, n, F, T, source_stride, target_stride,
    H: tl.constexpr, R: tl.constexpr, N: tl.constexpr, KEEP: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    pointed, pointing = block * R + row // N, row % N
    there = (pointed < n) & (pointing < n)
    node = sample * n
    pair = (node + pointed) * n + pointing
    place = pair[:, None] * H + channel
    at = (node + pointed)[:, None] * target_stride + channel
    value = tl.load(target + at, there[:, None], 0.0)
    at = (node + pointing)[:, None] * source_stride + channel
    other = tl.load(source + at, there[:, None], 0.0)
    for f in range(F):
        number = tl.load(raw + pair * F + f, there, 0.0)
        value += number[:, None] * tl.load(edge + (replica * F + f) * H + channel)
    if T > 0:
        third = tl.zeros((R * N, H), tl.float32) + tl.load(widen_bias + replica * H + channel)
        for f in range(T):
            number = tl.load(maxima + pair * T + f, there, 0.0)
            third += number[:, None] * tl.load(widen + (replica * T + f) * H + channel)
        third = tl.maximum(third, 0.0)
        square = replica * H * H + channel[:, None] * H + channel
        value += tl.dot(third, tl.load(triplet + square), input_precision=PRECISION)
        if KEEP:
            tl.store(wide + place, third, there[:, None])
    if KEEP:
        tl.store(exceeds + place, (value > other).to(tl.int8), there[:, None])
    value = tl.maximum(value, other)
    if KEEP:
        tl.store(larger + place, value, there[:, None])
    total = tl.sum(value * tl.load(score + replica * H + channel), 1)
    total += tl.load(score_bias + replica)
    tl.store(scores + (node + pointing) * n + pointed, total, there)


@triton.jit
def _backward(
    gradient, exceeds, wide, edge, widen, triplet, score,  # inputs
    d_source, d_target, d_pair, d_excess, d_wide, d_raw, d_maxima,  # results
    B, n, F, T,
    H: tl.constexpr, R: tl.constexpr, N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    pointed, pointing = block * R + row // N, row % N
    there = (pointed < n) & (pointing < n)
    node = sample * n
    pair = (node + pointed) * n + pointing
    place = pair[:, None] * H + channel
    down = tl.load(gradient + (node + pointing) * n + pointed, there, 0.0)
    tl.store(d_pair + pair, down, there)
    both = down[:, None] * tl.load(score + replica * H + channel)
    slope = tl.where(tl.load(exceeds + place, there[:, None], 0) > 0, both, 0.0)
    tl.store(d_excess + place, slope, there[:, None])
    targets, sources = block * R + tl.arange(0, R), tl.arange(0, N)
    at = (node + targets)[:, None] * H + channel
    total = tl.sum(tl.reshape(slope, (R, N, H)), 1)
    tl.store(d_target + at, total, (targets < n)[:, None])
    at = ((sample * tl.num_programs(1) + block) * n + sources)[:, None] * H + channel
    total = tl.sum(tl.reshape(both - slope, (R, N, H)), 0)
    tl.store(d_source + at, total, (sources < n)[:, None])
    for f in range(F):
        part = tl.sum(slope * tl.load(edge + (replica * F + f) * H + channel), 1)
        tl.store(d_raw + pair * F + f, part, there)
    if T > 0:
        turned = replica * H * H + channel[None, :] * H + channel[:, None]
        slope = tl.dot(slope, tl.load(triplet + turned), input_precision=PRECISION)
        slope = tl.where(tl.load(wide + place, there[:, None], 0.0) > 0, slope, 0.0)
        tl.store(d_wide + place, slope, there[:, None])
        for f in range(T):
            part = tl.sum(slope * tl.load(widen + (replica * T + f) * H + channel), 1)
            tl.store(d_maxima + pair * T + f, part, there)


class Pointer:
    """The operation for a scan, with the weights of one decoder."""

    def __init__(
        self,
        edge: Tensor,
        triplet: Tensor,
        score: Affine,
        widen: Affine | None,
        raws: Kept,
        steps: int,
        precision: str,
    ):
        self.with_triplets, self.precision = widen is not None, precision
        self.raws, self.kept, self.taken = raws, Kept(steps), 0
        if widen is None:
            widen = Affine(edge[:, :0], score.weight[..., 0])  # read by nobody
        self.weights = Late.apply(self.weight_gradients, edge, *widen, triplet, *score)

    def __call__(
        self, source: Tensor, target: Tensor, raw: Tensor, triplets: Triplets | None
    ) -> Tensor:
        """How strongly each node points to each other: (S, B, source, target)."""
        step, self.taken = self.taken, self.taken + 1
        maxima = raw[..., :0] if triplets is None else triplets.maxima
        return _Step.apply(self, step, source, target, raw, maxima, *self.weights)

    def weight_gradients(self) -> tuple[Tensor | None, ...]:
        """Over all steps: of edges, of the widening, of triplets, of the score."""
        rows = self.kept.rows
        of_edge = weight_gradient(self.raws.rows("raw"), rows("d_excess"))
        slopes = rows("gradient")
        of_score = weight_gradient(rows("larger"), slopes), slopes.sum((0, 2))
        if not self.with_triplets:
            return of_edge, None, None, None, *of_score
        return (
            of_edge,
            weight_gradient(rows("maxima"), rows("d_wide")),
            rows("d_wide").sum((0, 2)),
            weight_gradient(rows("wide"), rows("d_excess")),
            *of_score,
        )


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, pointer: Pointer, step: int, source: Tensor, target: Tensor, raw: Tensor,
        maxima: Tensor, edge: Tensor, widen: Tensor, widen_bias: Tensor, triplet: Tensor,
        score: Tensor, score_bias: Tensor,
    ) -> Tensor:  # fmt: skip
        S, B, n, h = source.shape
        cut, keep, kept = tiles(n), any(ctx.needs_input_grad), pointer.kept
        source, target = as_rows(source), as_rows(target)
        raw, maxima = raw.contiguous(), maxima.contiguous()
        scores = raw.new_empty(S, B, n, n)
        wide = kept.slot("wide", step, raw, h) if keep else scores
        larger = kept.slot("larger", step, raw, h) if keep else scores
        shape = (*raw.shape[:-1], h) if keep else (1,)
        exceeds = torch.empty(shape, dtype=torch.int8, device=raw.device)
        _forward[(S * B, cut.blocks(n))](
            source, target, raw, maxima, edge.contiguous(), widen.contiguous(),
            widen_bias.contiguous(), triplet.contiguous(), score.contiguous(),
            score_bias.contiguous(), scores, wide, larger, exceeds, B, n, raw.shape[-1],
            maxima.shape[-1], source.stride(2), target.stride(2),
            H=h, R=cut.receivers, N=cut.senders, KEEP=keep, PRECISION=pointer.precision,
            num_warps=8,
        )  # fmt: skip
        if keep:
            pointer.raws.once("raw", raw)
            kept.put("maxima", step, maxima)
            ctx.pointer, ctx.step = pointer, step
            ctx.save_for_backward(exceeds, raw, maxima, edge, widen, triplet, score)
        return scores

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        exceeds, raw, maxima, edge, widen, triplet, score = ctx.saved_tensors
        kept, step = ctx.pointer.kept, ctx.step
        S, B, n, _ = gradient.shape
        h, cut = exceeds.shape[-1], tiles(n)
        d_pair = kept.slot("gradient", step, raw, 1)
        d_excess, d_wide = (kept.slot(name, step, raw, h) for name in ("d_excess", "d_wide"))
        d_raw, d_maxima = torch.empty_like(raw), torch.empty_like(maxima)
        d_target = raw.new_empty(S, B, n, h)
        d_source = raw.new_empty(S, B, cut.blocks(n), n, h)
        _backward[(S * B, cut.blocks(n))](
            gradient.contiguous(), exceeds, kept.at("wide", step), edge.contiguous(),
            widen.contiguous(), triplet.contiguous(), score.contiguous(),
            d_source, d_target, d_pair, d_excess, d_wide, d_raw, d_maxima,
            B, n, raw.shape[-1], maxima.shape[-1], H=h, R=cut.receivers, N=cut.senders,
            PRECISION=ctx.pointer.precision, num_warps=8,
        )  # fmt: skip
        return (None, None, d_source.sum(2), d_target, d_raw, d_maxima, *(None,) * 6)
