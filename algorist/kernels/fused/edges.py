"""Values of edges, and how strongly each edge points to each node ("edge pointer logits").

A row is a pair (source, target). As for pointers of nodes, what backward needs is kept, and the
gradients of the weights are left to whoever keeps the stacks.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.pointer_logits import Scoring, TripletProjection, features
from algorist.kernels.fused.tiling import ROWS, dot, padded, pdl_options, tiles, wait_for_previous

COUNTS = ["B", "n", "F", "C", "Q"]
"""One compilation serves all values of these."""
COLUMNS = tl.constexpr(16)
"""The pointees whose scores are stored together."""


# Products are made turned, weights x rows: a product's second operand lies in shared memory, while
# a first one that was computed would take up registers twice. Weights are read along their rows.


@triton.jit
def project_triplets(
    maxima, projection, projection_bias, pair, there, H: tl.constexpr, T: tl.constexpr
):  # fmt: skip
    """The edge states of some pairs, relu(maxima W + b), a row each."""
    channel = tl.arange(0, H)
    # Loaded for each row: so the rows lie in registers as those of large tensors do.
    edge_states = tl.load(projection_bias + channel[None, :], there[:, None], 0.0)
    for t in range(T):
        number = tl.load(maxima + pair * T + t, there, 0.0)
        edge_states += number[:, None] * tl.load(projection + t * H + channel)
    return tl.maximum(edge_states, 0.0)


@triton.jit
def project_triplets_backward(
    d_third, maxima, edge_states, projection, d_projection, d_maxima, pair, there,
    H: tl.constexpr, T: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Backward of `project_triplets`: the gradients of the maxima, and of the layer.

    Those of its weights, and of the bias in a row below them, are summed over the rows.
    """
    TP: tl.constexpr = 2 * T if T >= 16 else 16
    channel, feature = tl.arange(0, H), tl.arange(0, TP)
    place, exists = pair[:, None] * H + channel, (feature < T)[:, None]
    d_third = tl.where(tl.load(edge_states + place, there[:, None], 0.0) > 0, d_third, 0.0)
    weight = tl.load(projection + feature[:, None] * H + channel, exists, 0.0)
    grad = dot(weight, tl.trans(d_third), PRECISION)
    tl.store(d_maxima + pair * T + feature[:, None], grad, there & exists)
    numbers = tl.load(maxima + pair * T + feature[:, None], there & exists, 0.0)
    numbers = tl.where((feature == T)[:, None], 1.0, numbers)
    of_projection = dot(numbers, d_third, PRECISION)
    tl.store(d_projection + feature[:, None] * H + channel, of_projection, (feature <= T)[:, None])


@triton.jit
def _add_numbers(total, grad, edge, F, H: tl.constexpr, FP: tl.constexpr):
    """Add to the grads of the raw numbers what rows of grads of their sums make."""
    channel, number = tl.arange(0, H), tl.arange(0, FP)
    for f in range(F):
        part = tl.sum(grad * tl.load(edge + f * H + channel), 1)
        total += tl.where(number == f, part[:, None], 0.0)
    return total


@triton.jit(do_not_specialize=COUNTS)
def _values(
    decoded, raw, maxima, edge, triplet, projection, projection_bias,  # inputs
    values, edge_states,  # results
    column, width, B, n, F, C,
    H: tl.constexpr, T: tl.constexpr, M: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample = tl.program_id(0).to(tl.int64)
    replica, pairs = sample // B, n * n
    pair, channel = tl.program_id(1) * M + tl.arange(0, M), tl.arange(0, H)
    there = pair < pairs
    source = pair // n
    target = pair - source * n
    decoded += sample * n * width + column
    raw += sample * pairs * F
    edge += replica * F * C
    if T > 0:
        maxima += sample * pairs * T
        projection += replica * T * H
        triplet += replica * H * C
        projection_bias += replica * H
        third = project_triplets(maxima, projection, projection_bias, pair, there, H, T)
        if KEEP:
            edge_states += sample * pairs * H
            tl.store(edge_states + pair[:, None] * H + channel, third, there[:, None])
    for c in range(C):
        value = tl.load(decoded + source * width + c, there, 0.0)
        value += tl.load(decoded + target * width + C + c, there, 0.0)
        for f in range(F):
            value += tl.load(raw + pair * F + f, there, 0.0) * tl.load(edge + f * C + c)
        if T > 0:
            value += tl.sum(third * tl.load(triplet + channel * C + c), 1)
        tl.store(values + sample * pairs * C + pair * C + c, value, there)


@triton.jit(do_not_specialize=COUNTS)
def _values_backward(
    d_values, maxima, edge_states, edge, triplet, projection,  # inputs
    d_decoded, d_projection, d_raw, d_maxima,  # results
    column, width, B, n, F, C,
    H: tl.constexpr, T: tl.constexpr, FP: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel, number = tl.arange(0, R * N), tl.arange(0, H), tl.arange(0, FP)
    node, other = block * R + row // N, row % N
    nodes = block * R + tl.arange(0, R)
    there = (node < n) & (other < n)
    pair = node * n + other
    d_values += sample * n * n * C
    d_decoded += (sample * n + nodes) * width + column
    edge += replica * F * C
    d_third = tl.zeros((R * N, H), tl.float32)
    d_numbers = tl.zeros((R * N, FP), tl.float32)
    for c in range(C):
        down = tl.load(d_values + pair * C + c, there, 0.0)
        back = tl.load(d_values + (other * n + node) * C + c, there, 0.0)
        tl.store(d_decoded + c, tl.sum(tl.reshape(down, (R, N)), 1), nodes < n)
        tl.store(d_decoded + C + c, tl.sum(tl.reshape(back, (R, N)), 1), nodes < n)
        d_numbers += down[:, None] * tl.load(edge + number * C + c, number < F, 0.0)
        if T > 0:
            d_third += down[:, None] * tl.load(triplet + (replica * H + channel) * C + c)
    d_raw += sample * n * n * F
    at = pair[:, None] * F + number
    tl.store(d_raw + at, d_numbers, there[:, None] & (number < F)[None, :])
    if T > 0:
        maxima += sample * n * n * T
        edge_states += sample * n * n * H
        d_maxima += sample * n * n * T
        projection += replica * T * H
        d_projection += (sample * tl.num_programs(1) + block) * (T + 1) * H
        project_triplets_backward(
            d_third,
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


def edge_values(
    decoded: Tensor,  # (S, B, n, width), from `column` on: source C, target C
    column: int,
    raw: Tensor,  # (S, B, n, n, F)
    maxima: Tensor | None,  # (S, B, n, n, T)
    edge: Tensor,  # (S, F, C)
    triplet: Tensor | None,  # (S, h, C)
    projection: TripletProjection | None,
    values: Tensor,  # (S, B, n, n, C), to be written
    edge_states: Tensor | None = None,  # (S, B, n, n, h), written unless None
) -> None:
    """The values source + target + edge + triplets of all pairs (source, target)."""
    S, B, n, width = decoded.shape
    _values[(S * B, triton.cdiv(n * n, ROWS))](
        decoded, raw, maxima, edge, triplet, *(projection or (None, None)), values, edge_states,
        column, width, B, n, raw.shape[-1], values.shape[-1],
        H=_channels(projection), T=features(maxima), M=ROWS, KEEP=edge_states is not None,
        num_warps=8, **pdl_options(S * B * n),
    )  # fmt: skip


def edge_values_backward(
    d_values: Tensor,  # (S, B, n, n, C)
    column: int,
    edge: Tensor,
    triplet: Tensor | None,
    projection: TripletProjection | None,
    maxima: Tensor | None,
    edge_states: Tensor | None,  # (S, B, n, n, h), as the forward pass of any decoder wrote it
    d_decoded: Tensor,  # (S, B, n, width), all columns of the values are written
    d_projection: Tensor | None,  # (S, B, blocks, T + 1, h), as in `pair_values_backward`
    d_raw: Tensor,  # (S, B, n, n, F)
    d_maxima: Tensor | None,  # (S, B, n, n, T)
    *,
    precision: str,
) -> None:
    """The grads of all that `edge_values` read."""
    S, B, n, width = d_decoded.shape
    cut, F = tiles(n), d_raw.shape[-1]
    _values_backward[(S * B, cut.blocks(n))](
        d_values, maxima, edge_states, edge, triplet, projection and projection.weight,
        d_decoded, d_projection, d_raw, d_maxima, column, width, B, n, F, d_values.shape[-1],
        H=_channels(projection), T=features(d_maxima), FP=padded(F),
        R=cut.receivers, N=cut.senders, PRECISION=precision, num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip


def _channels(projection: TripletProjection | None) -> int:
    """The channels of edge states; without triplets, any number that Triton takes."""
    return 16 if projection is None else projection.bias.shape[-1]


def edge_pointer_logits(
    decoded: Tensor,  # (S, B, n, width), from `column` on: source, target, pointee of each pointer
    column: int,
    raw: Tensor,  # (S, B, n, n, F)
    maxima: Tensor | None,  # (S, B, n, n, T)
    maps: Scoring,  # of Q pointers
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
        decoded, raw, maxima, maps.edge, maps.transposed, maps.score, maps.score_bias,
        *(projection or (None, None)), scores, edge_states, pairs,
        column, width, B, n, raw.shape[-1], len(scores),
        H=maps.edge.shape[-1], T=features(maxima), M=ROWS, KEEP=pairs is not None,
        KEEP_STATES=edge_states is not None, GIVEN=False, PRECISION=precision, num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip


def edge_pointer_logits_backward(
    d_scores: Tensor,  # (Q, S, B, n, n, n)
    decoded: Tensor,
    column: int,
    maps: Scoring,
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
        d_scores, decoded, pairs, maxima, edge_states, maps.edge, maps.triplet, maps.score,
        projection and projection.weight,
        d_decoded, d_target, d_pointee, d_pair, d_score, d_projection, d_raw, d_maxima,
        column, width, B, n, F, len(d_scores),
        H=maps.edge.shape[-1], T=features(d_maxima), FP=padded(F), R=cut.receivers, N=cut.senders,
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
