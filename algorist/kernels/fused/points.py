"""How strongly each node points to each other: all pointers of a step in one kernel.

A row is a pair (target, source). What backward needs of the rows is kept: writing it costs less
than computing it again. The gradients of the weights are products over all rows of all steps, made
once at the end by whoever keeps the stacks.
"""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import ROWS, dot, padded, tiles

# These change from algorithm to algorithm: one compilation serves all of their values. Then, too,
# a branch on one of them stays a branch, and the compiler plans the product inside it by itself.
COUNTS = ["B", "n", "F", "P"]


class Widening(NamedTuple):
    """How decoders read triplets: relu(maxima W + b)."""

    weight: Tensor  # (S, T, h)
    bias: Tensor  # (S, h)


class Pointing(NamedTuple):
    """The weights of some decoders of pointers, side by side."""

    edge: Tensor  # (S, P, F, h)
    triplet: Tensor | None  # (S, P, h, h), None without triplets
    score: Tensor  # (S, P, h)
    score_bias: Tensor  # (S, P)


@triton.jit
def widened(
    maxima, widen, widen_bias, pair, there, replica,
    H: tl.constexpr, T: tl.constexpr, M: tl.constexpr,
):  # fmt: skip
    """The triplets of M pairs as decoders read them, (M, H)."""
    channel = tl.arange(0, H)
    wide = tl.zeros((M, H), tl.float32) + tl.load(widen_bias + replica * H + channel)
    for t in tl.static_range(T):
        number = tl.load(maxima + pair * T + t, there, 0.0)
        wide += number[:, None] * tl.load(widen + (replica * T + t) * H + channel)
    return tl.maximum(wide, 0.0)


@triton.jit
def spread_maxima(
    d_wide, widen, d_maxima, pair, there, replica,
    H: tl.constexpr, T: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Store the slopes of the maxima that M rows of slopes of the widened triplets make."""
    TP: tl.constexpr = max(16, T)
    channel, feature = tl.arange(0, H), tl.arange(0, TP)
    turned = (replica * T + feature)[None, :] * H + channel[:, None]
    weight = tl.load(widen + turned, (feature < T)[None, :], 0.0)
    place = pair[:, None] * T + feature
    tl.store(
        d_maxima + place, dot(d_wide, weight, PRECISION), there[:, None] & (feature < T)[None, :]
    )


@triton.jit(do_not_specialize=COUNTS)
def _forward(
    decoded, raw, maxima, edge, triplet, score, score_bias, widen, widen_bias,  # inputs
    points, wide, larger,  # results
    column, width, B, n, F, P,
    H: tl.constexpr, T: tl.constexpr, M: tl.constexpr, KEEP: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    replica, pairs = tl.program_id(0).to(tl.int64), B * n * n
    row, channel = tl.program_id(1) * M + tl.arange(0, M), tl.arange(0, H)
    there = row < pairs
    pair = replica * pairs + row
    lane, pointing = replica * B + row // (n * n), row % n
    source = (lane * n + pointing)[:, None] * width + column + channel
    target = (pair // n)[:, None] * width + column + H + channel
    score_place = (lane * n + pointing) * n + row // n % n
    if T > 0:
        third = widened(maxima, widen, widen_bias, pair, there, replica, H, T, M)
        if KEEP:
            tl.store(wide + pair[:, None] * H + channel, third, there[:, None])
    for p in range(P):
        pointer = replica * P + p
        value = tl.load(decoded + target, there[:, None], 0.0)
        other = tl.load(decoded + source, there[:, None], 0.0)
        for f in range(F):
            number = tl.load(raw + pair * F + f, there, 0.0)
            value += number[:, None] * tl.load(edge + (pointer * F + f) * H + channel)
        if T > 0:
            square = pointer * H * H + channel[:, None] * H + channel
            value += dot(third, tl.load(triplet + square), PRECISION)
        value = tl.maximum(value, other)
        slot = p * tl.num_programs(0) * pairs
        if KEEP:
            tl.store(larger + (slot + pair)[:, None] * H + channel, value, there[:, None])
        total = tl.sum(value * tl.load(score + pointer * H + channel), 1)
        tl.store(points + slot + score_place, total + tl.load(score_bias + pointer), there)
        source += 2 * H
        target += 2 * H


@triton.jit(do_not_specialize=COUNTS)
def _backward(
    d_points, decoded, larger, wide, edge, triplet, score, widen,  # inputs
    d_decoded, d_source, d_excess, d_wide, d_raw, d_maxima,  # results
    column, width, B, n, F, P,
    H: tl.constexpr, T: tl.constexpr, FP: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    samples, blocks = tl.num_programs(0), tl.num_programs(1)
    replica = sample // B
    row, channel, number = tl.arange(0, R * N), tl.arange(0, H), tl.arange(0, FP)
    pointed, pointing = block * R + row // N, row % N
    targets, sources = block * R + tl.arange(0, R), tl.arange(0, N)
    there = (pointed < n) & (pointing < n)
    pair = (sample * n + pointed) * n + pointing
    score_place = (sample * n + pointing) * n + pointed
    source = (sample * n + pointing)[:, None] * width + column + channel
    target = (sample * n + targets)[:, None] * width + column + H + channel
    d_third = tl.zeros((R * N, H), tl.float32)
    d_numbers = tl.zeros((R * N, FP), tl.float32)
    for p in range(P):
        pointer, slot = replica * P + p, p * samples
        place = (slot * n * n + pair)[:, None] * H + channel
        down = tl.load(d_points + slot * n * n + score_place, there, 0.0)
        both = down[:, None] * tl.load(score + pointer * H + channel)
        exceeds = tl.load(larger + place, there[:, None], 0.0) > tl.load(
            decoded + source, there[:, None], 0.0
        )
        slope = tl.where(exceeds, both, 0.0)
        tl.store(d_excess + place, slope, there[:, None])
        total = tl.sum(tl.reshape(slope, (R, N, H)), 1)
        tl.store(d_decoded + target, total, (targets < n)[:, None])
        total = tl.sum(tl.reshape(both - slope, (R, N, H)), 0)
        at = (((slot + sample) * blocks + block) * n + sources)[:, None] * H + channel
        tl.store(d_source + at, total, (sources < n)[:, None])
        if F > 0:
            turned = (pointer * F + number)[None, :] * H + channel[:, None]
            weight = tl.load(edge + turned, (number < F)[None, :], 0.0)
            d_numbers += dot(slope, weight, PRECISION)
        if T > 0:
            turned = pointer * H * H + channel[None, :] * H + channel[:, None]
            d_third += dot(slope, tl.load(triplet + turned), PRECISION)
        source += 2 * H
        target += 2 * H
    at = pair[:, None] * F + number
    tl.store(d_raw + at, d_numbers, there[:, None] & (number < F)[None, :])
    if T > 0:
        place = pair[:, None] * H + channel
        d_third = tl.where(tl.load(wide + place, there[:, None], 0.0) > 0, d_third, 0.0)
        tl.store(d_wide + place, d_third, there[:, None])
        spread_maxima(d_third, widen, d_maxima, pair, there, replica, H, T, PRECISION)


def points(
    decoded: Tensor,  # (S, B, n, C), from `column` on: source h, target h of each pointer
    column: int,
    raw: Tensor,  # (S, B, n, n, F), from target to source
    maxima: Tensor | None,  # (S, B, n, n, T), likewise
    maps: Pointing,
    widening: Widening | None,
    scores: Tensor,  # (P, S, B, n, n), to be written: [pointer, ..., source, target]
    wide: Tensor | None = None,  # (S, B, n, n, h), to be written and kept for backward
    larger: Tensor | None = None,  # (P, S, B, n, n, h), likewise
    *,
    precision: str,
) -> None:
    """Score max(source, target + edge + triplets) for all pairs; without `larger` keep nothing."""
    S, B, n, width = decoded.shape
    widen = widening or (None, None)
    _forward[(S, triton.cdiv(B * n * n, ROWS))](
        decoded, raw, maxima, *maps, *widen, scores, wide, larger,
        column, width, B, n, raw.shape[-1], len(scores),
        H=maps.edge.shape[-1], T=features(maxima), M=ROWS, KEEP=larger is not None,
        PRECISION=precision, num_warps=8,
    )  # fmt: skip


def points_backward(
    d_scores: Tensor,  # (P, S, B, n, n)
    decoded: Tensor,
    column: int,
    maps: Pointing,
    widening: Widening | None,
    wide: Tensor | None,
    larger: Tensor,
    d_decoded: Tensor,  # (S, B, n, C), the columns of the targets are written
    d_source: Tensor,  # (P, S, B, blocks, n, h), to be added up over blocks
    d_excess: Tensor,  # (P, S, B, n, n, h), the slopes of target + edge + triplets
    d_wide: Tensor | None,  # (S, B, n, n, h), of what is cut at zero: maxima W + b
    d_raw: Tensor,  # (S, B, n, n, F)
    d_maxima: Tensor | None,  # (S, B, n, n, T)
    *,
    precision: str,
) -> None:
    """The slopes of all that `points` read."""
    S, B, n, width = decoded.shape
    cut, F = tiles(n), d_raw.shape[-1]
    _backward[(S * B, cut.blocks(n))](
        d_scores, decoded, larger, wide, maps.edge, maps.triplet, maps.score,
        widening and widening.weight, d_decoded, d_source, d_excess, d_wide, d_raw, d_maxima,
        column, width, B, n, F, len(d_scores),
        H=maps.edge.shape[-1], T=features(d_maxima), FP=padded(F), R=cut.receivers, N=cut.senders,
        PRECISION=precision, num_warps=8,
    )  # fmt: skip


def features(maxima: Tensor | None) -> int:
    """How many numbers triplets have, 0 where there are none."""
    return 0 if maxima is None else maxima.shape[-1]
