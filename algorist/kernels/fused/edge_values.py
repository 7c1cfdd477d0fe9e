"""Decoded values of edges, and the edge states that all decoders of pairs read.

A row is a pair (source, target). What backward needs is kept, and the gradients of the weights are
left to whoever keeps the rows of all steps.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.pointer_logits import TripletProjection, features
from algorist.kernels.fused.tiling import ROWS, dot, padded, pdl_options, tiles, wait_for_previous

COUNTS = ["B", "n", "F", "C", "Q"]
"""Arguments that Triton does not specialise on: one compilation serves all their values."""


# Products are transposed, weights x rows: the second operand of a product lies in shared memory,
# while a first one that was computed would take up registers twice. Weights are read along their
# rows.


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
