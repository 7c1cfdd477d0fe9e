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

# Products are made turned, weights x rows: a product's second operand lies in shared memory, while
# a first one that was computed would take up registers twice. Weights are read along their rows.

COUNTS = ["B", "n", "F", "P"]
"""These differ between algorithms: one compilation serves all values of them."""


class Widening(NamedTuple):
    """How decoders read triplets: relu(maxima W + b)."""

    weight: Tensor  # (S, T, h)
    bias: Tensor  # (S, h)


class Pointing(NamedTuple):
    """The weights of some decoders of pointers, side by side."""

    edge: Tensor  # (S, P, F, h)
    score: Tensor  # (S, P, h)
    score_bias: Tensor  # (S, P)
    triplet: Tensor | None = None  # (S, P, h, h), for backward; None without triplets
    turned: Tensor | None = None  # (S, P, h, h), its transpose, contiguous, for forward


@triton.jit
def widened(
    maxima, widen, widen_bias, pair, there, H: tl.constexpr, T: tl.constexpr
):  # fmt: skip
    """The triplets of some pairs as decoders read them, a row each."""
    channel = tl.arange(0, H)
    # Loaded for each row: so the rows lie in registers as those of large tensors do.
    wide = tl.load(widen_bias + channel[None, :], there[:, None], 0.0)
    for t in range(T):
        number = tl.load(maxima + pair * T + t, there, 0.0)
        wide += number[:, None] * tl.load(widen + t * H + channel)
    return tl.maximum(wide, 0.0)


@triton.jit
def spread_to_triplets(
    d_third, wide, widen, d_wide, d_maxima, pair, there,
    H: tl.constexpr, T: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Cut the slopes of widened triplets where these are zero, and take them on to the maxima."""
    TP: tl.constexpr = T if T > 16 else 16
    channel, feature = tl.arange(0, H), tl.arange(0, TP)
    place, exists = pair[:, None] * H + channel, (feature < T)[:, None]
    d_third = tl.where(tl.load(wide + place, there[:, None], 0.0) > 0, d_third, 0.0)
    tl.store(d_wide + place, d_third, there[:, None])
    weight = tl.load(widen + feature[:, None] * H + channel, exists, 0.0)
    slope = dot(weight, tl.trans(d_third), PRECISION)
    tl.store(d_maxima + pair * T + feature[:, None], slope, there & exists)


@triton.jit
def add_numbers(total, slope, edge, F, H: tl.constexpr, FP: tl.constexpr):
    """Add to the slopes of the raw numbers what rows of slopes of their sums make."""
    channel, number = tl.arange(0, H), tl.arange(0, FP)
    for f in range(F):
        part = tl.sum(slope * tl.load(edge + f * H + channel), 1)
        total += tl.where(number == f, part[:, None], 0.0)
    return total


@triton.jit(do_not_specialize=COUNTS)
def _forward(
    decoded, raw, maxima, edge, turned, score, score_bias, widen, widen_bias,  # inputs
    points, wide, larger,  # results
    column, width, B, n, F, P,
    H: tl.constexpr, T: tl.constexpr, M: tl.constexpr, C: tl.constexpr, KEEP: tl.constexpr,
    KEEP_WIDE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample, pairs = tl.program_id(0).to(tl.int64), n * n
    replica = sample // B
    pair, channel = tl.program_id(1) * M + tl.arange(0, M), tl.arange(0, H)
    there = pair < pairs
    source, target = pair % n, pair // n
    decoded += sample * n * width + column
    raw += sample * pairs * F
    maxima_rows = sample * pairs * T
    for p in range(P):
        pointer, slot = replica * P + p, (p * tl.num_programs(0) + sample) * pairs
        value = tl.zeros((M, H), tl.float32)
        if T > 0:
            for start in range(0, H, C):  # in chunks, so that the next weights are on their way
                part = start + tl.arange(0, C)
                # Loaded for each row: so the rows lie in registers as those of large tensors do.
                third = tl.load(widen_bias + replica * H + part[None, :], there[:, None], 0.0)
                for t in tl.static_range(T):
                    number = tl.load(maxima + maxima_rows + pair * T + t, there, 0.0)
                    third += number[:, None] * tl.load(widen + (replica * T + t) * H + part)
                third = tl.maximum(third, 0.0)
                if KEEP_WIDE:
                    if p == 0:
                        kept = wide + sample * pairs * H + pair[:, None] * H + part
                        tl.store(kept, third, there[:, None])
                weight = turned + pointer * H * H + channel[None, :] * H + part[:, None]
                value += dot(third, tl.load(weight), PRECISION)
        of_node = decoded + 2 * H * p + channel
        value += tl.load(of_node + H + target[:, None] * width, there[:, None], 0.0)
        other = tl.load(of_node + source[:, None] * width, there[:, None], 0.0)
        for f in range(F):
            number = tl.load(raw + pair * F + f, there, 0.0)
            value += number[:, None] * tl.load(edge + (pointer * F + f) * H + channel)
        value = tl.maximum(value, other)
        if KEEP:
            tl.store(larger + slot * H + pair[:, None] * H + channel, value, there[:, None])
        total = tl.sum(value * tl.load(score + pointer * H + channel), 1)
        total += tl.load(score_bias + pointer)
        tl.store(points + slot + source * n + target, total, there)


@triton.jit(do_not_specialize=COUNTS)
def _backward(
    d_points, decoded, larger, wide, edge, triplet, score, widen,  # inputs
    d_decoded, d_source, d_excess, d_wide, d_raw, d_maxima,  # results
    column, width, B, n, F, P,
    H: tl.constexpr, T: tl.constexpr, FP: tl.constexpr, TP: tl.constexpr, R: tl.constexpr,
    N: tl.constexpr, C: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    samples, blocks = tl.num_programs(0), tl.num_programs(1)
    row, channel, number = tl.arange(0, R * N), tl.arange(0, H), tl.arange(0, FP)
    target, source = block * R + row // N, row % N
    targets, sources = block * R + tl.arange(0, R), tl.arange(0, N)
    there = (target < n) & (source < n)
    pair = target * n + source
    decoded += sample * n * width + column
    d_decoded += sample * n * width + column
    d_third = tl.zeros((R * N, H), tl.float32)
    d_numbers = tl.zeros((R * N, FP), tl.float32)
    chunks: tl.constexpr = H // C
    for turn in range(P * chunks):  # in chunks of channels, so that the next are on their way
        p, part = turn // chunks, turn % chunks * C + tl.arange(0, C)
        pointer, slot = sample // B * P + p, p * samples + sample
        down = tl.load(d_points + slot * n * n + source * n + target, there, 0.0)
        both = down[:, None] * tl.load(score + pointer * H + part)[None, :]
        other = decoded + 2 * H * p + source[:, None] * width + part
        place = slot * n * n * H + pair[:, None] * H + part
        exceeds = tl.load(larger + place, there[:, None], 0.0) > tl.load(other, there[:, None], 0.0)
        slope = tl.where(exceeds, both, 0.0)
        tl.store(d_excess + place, slope, there[:, None])
        of_target = d_decoded + 2 * H * p + H + targets[:, None] * width + part
        total = tl.sum(tl.reshape(slope, (R, N, C)), 1)
        tl.store(of_target, total, (targets < n)[:, None])
        of_source = d_source + (slot * blocks + block) * n * H + sources[:, None] * H + part
        total = tl.sum(tl.reshape(both - slope, (R, N, C)), 0)
        tl.store(of_source, total, (sources < n)[:, None])
        weight = edge + pointer * F * H + number[None, :] * H + part[:, None]
        d_numbers += dot(slope, tl.load(weight, (number < F)[None, :], 0.0), PRECISION)
        if T > 0:
            weight = tl.load(triplet + pointer * H * H + channel[None, :] * H + part[:, None])
            d_third += dot(slope, weight, PRECISION)
    at = d_raw + sample * n * n * F + pair[:, None] * F + number
    tl.store(at, d_numbers, there[:, None] & (number < F)[None, :])
    if T > 0:
        place = sample * n * n * H + pair[:, None] * H + channel
        d_third = tl.where(tl.load(wide + place, there[:, None], 0.0) > 0, d_third, 0.0)
        tl.store(d_wide + place, d_third, there[:, None])
        feature = tl.arange(0, TP)
        weight = widen + sample // B * T * H + feature[None, :] * H + channel[:, None]
        weight = tl.load(weight, (feature < T)[None, :], 0.0)
        at = d_maxima + sample * n * n * T + pair[:, None] * T + feature
        there = there[:, None] & (feature < T)[None, :]
        tl.store(at, dot(d_third, weight, PRECISION), there)


def points(
    decoded: Tensor,  # (S, B, n, C), from `column` on: source h, target h of each pointer
    column: int,
    raw: Tensor,  # (S, B, n, n, F), from target to source
    maxima: Tensor | None,  # (S, B, n, n, T), likewise
    maps: Pointing,
    widening: Widening | None,
    scores: Tensor,  # (P, S, B, n, n), to be written: [pointer, ..., source, target]
    wide: Tensor | None = None,  # (S, B, n, n, h), written unless None, as the next
    larger: Tensor | None = None,  # (P, S, B, n, n, h)
    *,
    precision: str,
) -> None:
    """Score max(source, target + edge + triplets) for all pairs.

    Backward needs `larger`, and `wide` as one of the decoders of pairs wrote it.
    """
    S, B, n, width = decoded.shape
    widen = widening or (None, None)
    h, T = maps.edge.shape[-1], features(maxima)
    _forward[(S * B, triton.cdiv(n * n, ROWS))](
        decoded, raw, maxima, maps.edge, maps.turned, maps.score, maps.score_bias, *widen,
        scores, wide, larger,
        column, width, B, n, raw.shape[-1], len(scores),
        H=h, T=T, M=ROWS, C=min(h, 32), KEEP=larger is not None,
        KEEP_WIDE=wide is not None, PRECISION=precision, num_warps=4, num_stages=2,
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
    cut, F, T, h = tiles(n), d_raw.shape[-1], features(d_maxima), maps.edge.shape[-1]
    _backward[(S * B, cut.blocks(n))](
        d_scores, decoded, larger, wide, maps.edge, maps.triplet, maps.score,
        widening and widening.weight, d_decoded, d_source, d_excess, d_wide, d_raw, d_maxima,
        column, width, B, n, F, len(d_scores),
        H=h, T=T, FP=padded(F), TP=padded(T), R=cut.receivers, N=cut.senders, C=min(h, 32),
        PRECISION=precision, num_warps=4, num_stages=2,
    )  # fmt: skip


def features(maxima: Tensor | None) -> int:
    """How many numbers triplets have, 0 where there are none."""
    return 0 if maxima is None else maxima.shape[-1]
