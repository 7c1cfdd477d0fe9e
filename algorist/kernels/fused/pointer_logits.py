"""How strongly each node points to each other: all pointers of a step together.

What edges and triplets contribute to a pair does not depend on new states, so it has kernels of its
own; those that the next step waits for are small. A row is a pair (target, source). What backward
needs of the rows is kept: writing it costs less than computing it again. The gradients of the
weights are products over all rows of all steps, made once at the end by whoever keeps the stacks.
"""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import ROWS, dot, padded, pdl_options, wait_for_previous

COUNTS = ["B", "n", "P"]
"""Arguments that Triton does not specialise on: one compilation serves all their values."""
_FEW_ROWS = 32
"""Rows of a program that only scores: many small ones are done sooner than few large ones."""


class TripletProjection(NamedTuple):
    """How decoders read triplets: relu(maxima W + b)."""

    weight: Tensor  # (S, T, h)
    bias: Tensor  # (S, h)


class Scoring(NamedTuple):
    """The weights of some decoders of pointers, side by side."""

    edge: Tensor  # (S, P, F, h)
    score: Tensor  # (S, P, h), with or without a last axis of one
    score_bias: Tensor  # (S, P), likewise
    triplet: Tensor | None = None  # (S, P, h, h), for backward; None without triplets
    transposed: Tensor | None = None  # (S, P, h, h), its transpose, contiguous, for forward


@triton.jit(do_not_specialize=COUNTS)
def _pairs(
    raw, maxima, edge, transposed, projection, projection_bias,  # inputs
    values, edge_states,  # results
    B, n, F, P,
    H: tl.constexpr, T: tl.constexpr, TP: tl.constexpr, M: tl.constexpr, C: tl.constexpr,
    KEEP_STATES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample = tl.program_id(0).to(tl.int64)
    replica, pairs = sample // B, n * n
    pair, channel = tl.program_id(1) * M + tl.arange(0, M), tl.arange(0, H)
    there = pair < pairs
    raw += sample * pairs * F
    if T > 0:
        feature = tl.arange(0, TP)
        known = feature < T
        at = maxima + sample * pairs * T + pair[:, None] * T + feature
        numbers = tl.load(at, there[:, None] & known[None, :], 0.0)
        of_feature = projection + replica * T * H + feature[:, None] * H
    for p in range(P):
        pointer, slot = replica * P + p, (p * tl.num_programs(0) + sample) * pairs
        value = tl.zeros((M, H), tl.float32)
        if T > 0:
            for start in range(0, H, C):  # in chunks, so that the next weights are on their way
                part = start + tl.arange(0, C)
                third = dot(numbers, tl.load(of_feature + part, known[:, None], 0.0), PRECISION)
                third += tl.load(projection_bias + replica * H + part)[None, :]
                third = tl.maximum(third, 0.0)
                if KEEP_STATES:
                    kept = sample * pairs * H + pair[:, None] * H + part
                    tl.store(edge_states + kept, third, there[:, None] & (p == 0))
                weight = transposed + pointer * H * H + channel[None, :] * H + part[:, None]
                value += dot(third, tl.load(weight), PRECISION)
        for f in range(F):
            number = tl.load(raw + pair * F + f, there, 0.0)
            value += number[:, None] * tl.load(edge + (pointer * F + f) * H + channel)
        tl.store(values + slot * H + pair[:, None] * H + channel, value, there[:, None])


@triton.jit(do_not_specialize=COUNTS)
def _score(
    decoded, score, score_bias, points, values, column, width, B, n, P,
    H: tl.constexpr, M: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, p = tl.program_id(0).to(tl.int64), tl.program_id(2)
    pair, channel = tl.program_id(1) * M + tl.arange(0, M), tl.arange(0, H)
    there, pointer = pair < n * n, sample // B * P + p
    source, target = pair % n, pair // n
    slot = (p * tl.num_programs(0) + sample) * n * n
    values += slot * H + pair[:, None] * H + channel
    decoded += sample * n * width + column + 2 * H * p + channel
    value = tl.load(values, there[:, None], 0.0)
    value += tl.load(decoded + H + target[:, None] * width, there[:, None], 0.0)
    value = tl.maximum(value, tl.load(decoded + source[:, None] * width, there[:, None], 0.0))
    if KEEP:
        tl.store(values, value, there[:, None])
    total = tl.sum(value * tl.load(score + pointer * H + channel), 1)
    tl.store(points + slot + source * n + target, total + tl.load(score_bias + pointer), there)


@triton.jit(do_not_specialize=COUNTS)
def _score_backward(
    d_points, decoded, larger, score, d_decoded, column, width, B, n, P,
    H: tl.constexpr, R: tl.constexpr, N: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, p = tl.program_id(0).to(tl.int64), tl.program_id(2)
    part, sources = tl.program_id(1) * C + tl.arange(0, C), tl.arange(0, N)
    slot = (p * tl.num_programs(0) + sample) * n * n
    column += 2 * H * p
    of_source = (sample * n + sources)[:, None] * width + column + part
    is_source = (sources < n)[:, None]
    other = tl.load(decoded + of_source, is_source, 0.0)
    weight = tl.load(score + (sample // B * P + p) * H + part)
    d_source = tl.zeros((N, C), tl.float32)
    for first in range(0, n, R):
        targets = first + tl.arange(0, R)
        pair = targets[:, None] * n + sources[None, :]
        there = (targets < n)[:, None] & (sources < n)[None, :]
        down = tl.load(d_points + slot + sources[None, :] * n + targets[:, None], there, 0.0)
        both = down[:, :, None] * weight[None, None, :]
        value = tl.load(larger + slot * H + pair[:, :, None] * H + part, there[:, :, None], 0.0)
        grad = tl.where(value > other[None, :, :], both, 0.0)
        of_target = (sample * n + targets)[:, None] * width + column + H + part
        tl.store(d_decoded + of_target, tl.sum(grad, 1), (targets < n)[:, None])
        d_source += tl.sum(both - grad, 0)
    tl.store(d_decoded + of_source, d_source, is_source)


@triton.jit(do_not_specialize=COUNTS)
def _pairs_backward(
    d_points, decoded, larger, maxima, edge_states, edge, triplet, score, projection,  # inputs
    d_score, d_projection, d_excess, d_raw, d_maxima,  # results
    column, width, B, n, F, P,
    H: tl.constexpr, T: tl.constexpr, FP: tl.constexpr, TP: tl.constexpr, M: tl.constexpr,
    C: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample, samples = tl.program_id(0).to(tl.int64), tl.num_programs(0)
    pair, channel = tl.program_id(1) * M + tl.arange(0, M), tl.arange(0, H)
    number, there = tl.arange(0, FP), pair < n * n
    source, target = pair % n, pair // n
    decoded += sample * n * width + column
    d_third = tl.zeros((M, H), tl.float32)
    d_numbers = tl.zeros((M, FP), tl.float32)
    chunks: tl.constexpr = H // C
    for index in range(P * chunks):  # in chunks of channels, so that the next are on their way
        p, part = index // chunks, index % chunks * C + tl.arange(0, C)
        pointer, slot = sample // B * P + p, p * samples + sample
        down = tl.load(d_points + slot * n * n + source * n + target, there, 0.0)
        both = down[:, None] * tl.load(score + pointer * H + part)[None, :]
        other = decoded + 2 * H * p + source[:, None] * width + part
        place = slot * n * n * H + pair[:, None] * H + part
        value = tl.load(larger + place, there[:, None], 0.0)
        grad = tl.where(value > tl.load(other, there[:, None], 0.0), both, 0.0)
        tl.store(d_excess + place, grad, there[:, None])
        tile = slot * tl.num_programs(1) + tl.program_id(1)
        tl.store(d_score + tile * H + part, tl.sum(down[:, None] * value, 0))
        weight = edge + pointer * F * H + number[None, :] * H + part[:, None]
        d_numbers += dot(grad, tl.load(weight, (number < F)[None, :], 0.0), PRECISION)
        if T > 0:
            weight = tl.load(triplet + pointer * H * H + channel[None, :] * H + part[:, None])
            d_third += dot(grad, weight, PRECISION)
    at = d_raw + sample * n * n * F + pair[:, None] * F + number
    tl.store(at, d_numbers, there[:, None] & (number < F)[None, :])
    if T > 0:
        at = sample * n * n * H + pair[:, None] * H + channel
        d_third = tl.where(tl.load(edge_states + at, there[:, None], 0.0) > 0, d_third, 0.0)
        feature = tl.arange(0, TP)
        known = (feature < T)[None, :]
        weight = projection + sample // B * T * H + feature[None, :] * H + channel[:, None]
        grad = dot(d_third, tl.load(weight, known, 0.0), PRECISION)
        at_maxima = sample * n * n * T + pair[:, None] * T + feature
        tl.store(d_maxima + at_maxima, grad, there[:, None] & known)
        transposed = maxima + sample * n * n * T + pair[None, :] * T + feature[:, None]
        numbers = tl.load(transposed, there[None, :] & (feature < T)[:, None], 0.0)
        numbers = tl.where((feature == T)[:, None], 1.0, numbers)
        of_projection = dot(numbers, d_third, PRECISION)
        d_projection += (sample * tl.num_programs(1) + tl.program_id(1)) * (T + 1) * H
        at_weight = d_projection + feature[:, None] * H + channel
        tl.store(at_weight, of_projection, (feature <= T)[:, None])


def pair_values(
    raw: Tensor,  # (S, B, n, n, F), from target to source
    maxima: Tensor | None,  # (S, B, n, n, T), likewise
    weights: Scoring,
    projection: TripletProjection | None,
    values: Tensor,  # (P, S, B, n, n, h), to be written
    edge_states: Tensor | None,  # (S, B, n, n, h), written unless None
    *,
    precision: str,
) -> None:
    """What edges and triplets contribute to each pair (target, source), whatever its nodes are."""
    P, S, B, n, _, h = values.shape
    T = features(maxima)
    _pairs[(S * B, blocks_of_pairs(n))](
        raw, maxima, weights.edge, weights.transposed, *(projection or (None, None)), values,
        edge_states,
        B, n, raw.shape[-1], P,
        H=h, T=T, TP=padded(T), M=ROWS, C=min(h, 32), KEEP_STATES=edge_states is not None,
        PRECISION=precision, num_warps=4, num_stages=2,
    )  # fmt: skip


def pointer_logits(
    decoded: Tensor,  # (S, B, n, C), from `column` on: source h, target h of each pointer
    column: int,
    weights: Scoring,
    values: Tensor,  # (P, S, B, n, n, h), as `pair_values` left them
    scores: Tensor,  # (P, S, B, n, n), to be written: [pointer, ..., source, target]
    *,
    keep: bool,
) -> None:
    """Score max(source, target + edge + triplets) for all pairs.

    With `keep`, that maximum takes the place of `values`, for backward.
    """
    P, S, B, n, _, h = values.shape
    _score[(S * B, triton.cdiv(n * n, _FEW_ROWS), P)](
        decoded, weights.score, weights.score_bias, scores, values, column, decoded.shape[-1], B,
        n, P,
        H=h, M=_FEW_ROWS, KEEP=keep, num_warps=4, **pdl_options(S * B * n),
    )  # fmt: skip


def pointer_logits_backward(
    d_scores: Tensor,  # (P, S, B, n, n)
    decoded: Tensor,
    column: int,
    weights: Scoring,
    larger: Tensor,  # (P, S, B, n, n, h), what was scored
    d_decoded: Tensor,  # (S, B, n, C), the columns of the pointers are written
) -> None:
    """The grads of the nodes' parts in `points`."""
    P, S, B, n, _, h = larger.shape
    N = padded(n)
    C = min(h, 32 if N == 16 else 16)
    _score_backward[(S * B, h // C, P)](
        d_scores, decoded, larger, weights.score, d_decoded, column, decoded.shape[-1], B, n, P,
        H=h, R=max(1, 256 // N) if N > 16 else 16, N=N, C=C, num_warps=8, **pdl_options(S * B * n),
    )  # fmt: skip


def pair_values_backward(
    d_scores: Tensor,  # (P, S, B, n, n)
    decoded: Tensor,
    column: int,
    weights: Scoring,
    projection: TripletProjection | None,
    maxima: Tensor | None,
    edge_states: Tensor | None,
    larger: Tensor,
    d_score: Tensor,  # (P, S, B, blocks, h), to be added up over samples and blocks
    d_excess: Tensor,  # like `larger`, or in its place: the grads of target + edge + triplets
    d_projection: Tensor | None,  # (S, B, blocks, T + 1, h), weights and bias, likewise
    d_raw: Tensor,  # (S, B, n, n, F)
    d_maxima: Tensor | None,  # (S, B, n, n, T)
    *,
    precision: str,
) -> None:
    """The grads of all that `pair_values` read, and of the scores' weights."""
    P, S, B, n, _, h = larger.shape
    F, T = d_raw.shape[-1], features(d_maxima)
    _pairs_backward[(S * B, blocks_of_pairs(n))](
        d_scores, decoded, larger, maxima, edge_states, weights.edge, weights.triplet,
        weights.score,
        projection and projection.weight, d_score, d_projection, d_excess, d_raw, d_maxima,
        column, decoded.shape[-1], B, n, F, P,
        H=h, T=T, FP=padded(F), TP=padded(T + 1), M=ROWS, C=min(h, 32), PRECISION=precision,
        num_warps=4, num_stages=2,
    )  # fmt: skip


def blocks_of_pairs(n: int) -> int:
    """How many blocks the pairs of n nodes are cut into."""
    return triton.cdiv(n * n, ROWS)


def features(maxima: Tensor | None) -> int:
    """How many numbers triplets have, 0 where there are none."""
    return 0 if maxima is None else maxima.shape[-1]
