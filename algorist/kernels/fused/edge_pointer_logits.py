"""How strongly each edge points to each node.

A row is a pair (source, target). As for pointers of nodes, what backward needs is kept, and the
gradients of the weights are left to whoever keeps the rows of all steps.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.edge_values import (
    COUNTS,
    project_triplets,
    project_triplets_backward,
)
from algorist.kernels.fused.pointer_logits import Scoring, TripletProjection, features
from algorist.kernels.fused.tiling import ROWS, dot, padded, pdl_options, tiles, wait_for_previous

COLUMNS = tl.constexpr(16)
"""The pointees whose logits are stored together."""


@triton.jit
def _add_numbers(total, grad, edge, F, H: tl.constexpr, FP: tl.constexpr):
    """Add to the grads of the raw numbers what rows of grads of their sums make."""
    channel, number = tl.arange(0, H), tl.arange(0, FP)
    for f in range(F):
        part = tl.sum(grad * tl.load(edge + f * H + channel), 1)
        total += tl.where(number == f, part[:, None], 0.0)
    return total


@triton.jit(do_not_specialize=COUNTS)
def _edge_pointer_logits(
    decoded, raw, maxima, edge, transposed, score, score_bias, projection, projection_bias,
    logits, edge_states, pairs,  # results
    column, width, B, n, F, Q,
    H: tl.constexpr, T: tl.constexpr, M: tl.constexpr, KEEP: tl.constexpr,
    KEEP_STATES: tl.constexpr, GIVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, samples = tl.program_id(0).to(tl.int64), tl.num_programs(0)
    pair, channel = tl.program_id(1) * M + tl.arange(0, M), tl.arange(0, H)
    there = pair < n * n
    source = pair // n
    target = pair - source * n
    decoded += sample * n * width + column
    raw += sample * n * n * F
    if T > 0:
        maxima += sample * n * n * T
        projection += sample // B * T * H
        projection_bias += sample // B * H
        third = project_triplets(maxima, projection, projection_bias, pair, there, H, T)
        if KEEP_STATES:
            edge_states += sample * n * n * H
            tl.store(edge_states + pair[:, None] * H + channel, third, there[:, None])
    for q in range(Q):
        pointer, slot = sample // B * Q + q, (q * samples + sample) * n * n
        of_node = decoded + 3 * H * q + channel
        value = tl.zeros((M, H), tl.float32)
        if T > 0:
            of_triplet = tl.load(transposed + pointer * H * H + channel[:, None] * H + channel)
            value += tl.trans(dot(of_triplet, tl.trans(third), PRECISION))
        if GIVEN:
            given = pairs + slot * H + pair[:, None] * H + channel
            value += tl.load(given, there[:, None], 0.0)
        else:
            value += tl.load(of_node + source[:, None] * width, there[:, None], 0.0)
            value += tl.load(of_node + H + target[:, None] * width, there[:, None], 0.0)
        for f in range(F):
            number = tl.load(raw + pair * F + f, there, 0.0)
            value += number[:, None] * tl.load(edge + (pointer * F + f) * H + channel)
        if KEEP:
            tl.store(pairs + slot * H + pair[:, None] * H + channel, value, there[:, None])
        weight = tl.load(score + pointer * H + channel)
        bias = tl.load(score_bias + pointer)
        for start in range(0, n, COLUMNS):
            pointee = start + tl.arange(0, COLUMNS)
            totals = tl.zeros((M, COLUMNS), tl.float32)
            for k in tl.range(start, min(start + COLUMNS, n), loop_unroll_factor=2):
                larger = tl.maximum(value, tl.load(of_node + 2 * H + k * width))
                totals = tl.where(pointee == k, tl.sum(larger * weight, 1)[:, None], totals)
            at = logits + slot * n + pair[:, None] * n + pointee
            tl.store(at, totals + bias, there[:, None] & (pointee < n)[None, :])


@triton.jit(do_not_specialize=COUNTS)
def _edge_pointer_logits_backward(
    d_logits, decoded, pairs, maxima, edge_states, edge, triplet, score, projection,  # inputs
    d_decoded, d_target, d_pointee, d_pair, d_score, d_projection, d_raw, d_maxima,  # results
    column, width, B, n, F, Q,
    H: tl.constexpr, T: tl.constexpr, FP: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    GIVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    samples, blocks = tl.num_programs(0), tl.num_programs(1)
    row, channel, number = tl.arange(0, R * N), tl.arange(0, H), tl.arange(0, FP)
    source, target = block * R + row // N, row % N
    sources, targets = block * R + tl.arange(0, R), tl.arange(0, N)
    there = (source < n) & (target < n)
    pair = source * n + target
    place, square = pair[:, None] * H + channel, channel[:, None] * H + channel
    decoded += sample * n * width + column
    if not GIVEN:
        d_decoded += sample * n * width + column
    d_transposed = tl.zeros((H, R * N), tl.float32)
    d_numbers = tl.zeros((R * N, FP), tl.float32)
    for q in range(Q):
        pointer, slot = sample // B * Q + q, q * samples + sample
        weight = tl.load(score + pointer * H + channel)
        value = tl.load(pairs + slot * n * n * H + place, there[:, None], 0.0)
        won = tl.zeros_like(value)  # the sum of the grads of the scores that the pair decided
        of_score = tl.zeros((H,), tl.float32)
        for start in range(0, n, COLUMNS):
            pointee = start + tl.arange(0, COLUMNS)
            lost = tl.zeros((COLUMNS, H), tl.float32)  # likewise, for each pointee
            of_node = decoded + (3 * q + 2) * H + channel
            for k in range(start, min(start + COLUMNS, n)):
                exceeds = value > tl.load(of_node + k * width)
                down = tl.load(d_logits + (slot * n * n * n + k) + pair * n, there, 0.0)
                won += tl.where(exceeds, down[:, None], 0.0)
                part = tl.sum(tl.where(exceeds, 0.0, down[:, None]), 0)
                lost = tl.where((pointee == k)[:, None], part, lost)
            exists = (pointee < n)[:, None]
            other = tl.load(of_node + pointee[:, None] * width, exists, 0.0)
            of_score += tl.sum(lost * other, 0)
            at = d_pointee + (slot * blocks + block) * n * H + pointee[:, None] * H + channel
            tl.store(at, lost * weight, exists)
        of_score += tl.sum(won * value, 0)
        tl.store(d_score + (slot * blocks + block) * H + channel, of_score)
        grad = won * weight
        tl.store(d_pair + slot * n * n * H + place, grad, there[:, None])
        if not GIVEN:
            of_source = d_decoded + 3 * H * q + sources[:, None] * width + channel
            total = tl.sum(tl.reshape(grad, (R, N, H)), 1)
            tl.store(of_source, total, (sources < n)[:, None])
            of_target = d_target + (slot * blocks + block) * n * H + targets[:, None] * H + channel
            total = tl.sum(tl.reshape(grad, (R, N, H)), 0)
            tl.store(of_target, total, (targets < n)[:, None])
        d_numbers = _add_numbers(d_numbers, grad, edge + pointer * F * H, F, H, FP)
        if T > 0:
            of_triplet = tl.load(triplet + pointer * H * H + square)
            d_transposed += dot(of_triplet, tl.trans(grad), PRECISION)
    if not GIVEN:
        d_raw += sample * n * n * F
        at_number = pair[:, None] * F + number
        tl.store(d_raw + at_number, d_numbers, there[:, None] & (number < F)[None, :])
    if T > 0:
        maxima += sample * n * n * T
        edge_states += sample * n * n * H
        d_maxima += sample * n * n * T
        projection += sample // B * T * H
        d_projection += (sample * blocks + block) * (T + 1) * H
        project_triplets_backward(
            tl.trans(d_transposed),
            maxima,
            edge_states,
            projection,
            d_projection,
            d_maxima,
            pair,
            there,
            H,
            T,
            PRECISION,
        )


def edge_pointer_logits(
    decoded: Tensor,  # (S, B, n, width), from `column` on: source, target, pointee of each pointer
    column: int,
    raw: Tensor,  # (S, B, n, n, F)
    maxima: Tensor | None,  # (S, B, n, n, T)
    weights: Scoring,  # of Q pointers
    projection: TripletProjection | None,
    scores: Tensor,  # (Q, S, B, n, n, n), to be written: [pointer, ..., source, target, pointee]
    edge_states: Tensor | None = None,  # (S, B, n, n, h), written unless None
    pairs: Tensor | None = None,  # (Q, S, B, n, n, h), likewise: source + target + edge + triplets
    *,
    precision: str,
) -> None:
    """Score max(pair, pointee) for all pairs and pointees."""
    S, B, n, width = decoded.shape
    _edge_pointer_logits[(S * B, triton.cdiv(n * n, ROWS))](
        decoded, raw, maxima, weights.edge, weights.transposed, weights.score, weights.score_bias,
        *(projection or (None, None)), scores, edge_states, pairs,
        column, width, B, n, raw.shape[-1], len(scores),
        H=weights.edge.shape[-1], T=features(maxima), M=ROWS, KEEP=pairs is not None,
        KEEP_STATES=edge_states is not None, GIVEN=False, PRECISION=precision, num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip


def edge_pointer_logits_backward(
    d_scores: Tensor,  # (Q, S, B, n, n, n)
    decoded: Tensor,
    column: int,
    weights: Scoring,
    projection: TripletProjection | None,
    maxima: Tensor | None,
    edge_states: Tensor | None,
    pairs: Tensor,
    d_decoded: Tensor,  # (S, B, n, width), the columns of the sources are written
    d_target: Tensor,  # (Q, S, B, blocks, n, h), to be added up over blocks
    d_pointee: Tensor,  # (Q, S, B, blocks, n, h), likewise
    d_pair: Tensor,  # (Q, S, B, n, n, h)
    d_score: Tensor,  # (Q, S, B, blocks, h), to be added up over samples and blocks
    d_projection: Tensor | None,  # (S, B, blocks, T + 1, h), likewise
    d_raw: Tensor,  # (S, B, n, n, F)
    d_maxima: Tensor | None,  # (S, B, n, n, T)
    *,
    precision: str,
) -> None:
    """The grads of all that `edge_pointer_logits` read, and those of the scores' weights."""
    S, B, n, width = decoded.shape
    cut, F = tiles(n), d_raw.shape[-1]
    _edge_pointer_logits_backward[(S * B, cut.blocks(n))](
        d_scores, decoded, pairs, maxima, edge_states, weights.edge, weights.triplet, weights.score,
        projection and projection.weight,
        d_decoded, d_target, d_pointee, d_pair, d_score, d_projection, d_raw, d_maxima,
        column, width, B, n, F, len(d_scores),
        H=weights.edge.shape[-1], T=features(d_maxima), FP=padded(F), R=cut.receivers,
        N=cut.senders,
        GIVEN=False, PRECISION=precision, num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip


def logits_of_pairs(
    pair: Tensor,  # (S, B, n, n, h), contiguous, as are all others here
    pointee: Tensor,  # (S, B, n, h)
    score: Tensor,  # (S, h)
    bias: Tensor,  # (S,)
    logits: Tensor,  # (S, B, n, n, n), to be written
) -> None:
    """Score max(pair, pointee) for pairs whose features are given."""
    S, B, n, h = pointee.shape
    # The kernel expects the pointee behind source and target, in columns 2h and up.
    _edge_pointer_logits[(S * B, triton.cdiv(n * n, ROWS))](
        pointee, pair, None, score, None, score, bias, None, None, logits, None, pair,
        -2 * h, h, B, n, 0, 1,
        H=h, T=0, M=ROWS, KEEP=False, KEEP_STATES=False, GIVEN=True, PRECISION="ieee", num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip


def logits_of_pairs_backward(
    d_logits: Tensor,  # (S, B, n, n, n)
    pair: Tensor,
    pointee: Tensor,
    score: Tensor,
    d_pair: Tensor,  # (S, B, n, n, h)
    d_pointee: Tensor,  # (S, B, blocks, n, h), to be summed over blocks
    d_score: Tensor,  # (S, B, blocks, h), to be summed over samples and blocks
) -> None:
    """The gradients of the inputs of `logits_of_pairs`."""
    S, B, n, h = pointee.shape
    cut = tiles(n)
    _edge_pointer_logits_backward[(S * B, cut.blocks(n))](
        d_logits, pointee, pair, None, None, score, None, score, None,
        None, None, d_pointee, d_pair, d_score, None, None, None, -2 * h, h, B, n, 0, 1,
        H=h, T=0, FP=16, R=cut.receivers, N=cut.senders, GIVEN=True, PRECISION="ieee",
        num_warps=8, **pdl_options(S * B * n),
    )  # fmt: skip
