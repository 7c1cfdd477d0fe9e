"""Messages between all pairs of nodes, their maximum and mean, and the mask of who sends to whom.

A row is a pair of nodes (sender, receiver). A program takes a few receivers of one sample and all
their senders. What backward needs of the rows can be kept: for small batches, writing it costs less
than computing it again. Projections of nodes may be columns of wider rows.
"""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.affine import Affine, FactoredEdges
from algorist.kernels.fused.tiling import dot, padded, pdl_options, tiles, wait_for_previous
from algorist.kernels.plain import NOT_A_NEIGHBOUR

_NOT_A_NEIGHBOUR = tl.constexpr(NOT_A_NEIGHBOUR)
_COUNTS = ["B", "n"]
"""Arguments that Triton does not specialise on: one compilation serves all their values."""
ALONE = 132
"""Up to this many programs each have a multiprocessor, and all of its memory, to themselves."""


def _resources(samples: int, n: int, h: int) -> dict[str, int]:
    """The sizes of tiles and of chunks of channels, the number of warps and of pipeline stages.

    The matrix units take four warps together: one group of four for every 64 rows. Two programs
    share a multiprocessor, unless there are few: then more weights are fetched ahead.
    """
    cut = tiles(n)
    alone = samples * cut.blocks(n) <= ALONE
    return {
        "H": h, "C": min(h, 4096 // h), "R": cut.receivers, "N": cut.senders,
        "num_warps": cut.receivers * cut.senders // 16, "num_stages": 3 if alone else 2,
    }  # fmt: skip


def _strides(first: Tensor, second: Tensor) -> tuple[int, int]:
    """The strides of inputs and outputs that two layers of one size share."""
    strides, others = first.stride()[1:], second.stride()[1:]
    if strides != others:
        raise ValueError(f"second: got strides {others}, expected {strides}, as first has")
    return strides


@triton.jit(do_not_specialize=_COUNTS)
def _message(
    receiver, sender, raw, dense, message_mask, edge, first, bias, second,  # inputs
    messages, mean, share, winner, built, inner,  # results
    B, n, in_stride, out_stride,
    RECEIVER_STRIDE: tl.constexpr, SENDER_STRIDE: tl.constexpr, DENSE_STRIDE: tl.constexpr,
    F: tl.constexpr, H: tl.constexpr, C: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    DENSE: tl.constexpr, MASKED: tl.constexpr, MEAN: tl.constexpr,
    KEEP_WINNER: tl.constexpr, KEEP_ROWS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    to, frm = block * R + row // N, row % N
    there = ((to < n) & (frm < n))[:, None]
    node, pair = sample * n, (frm * n + to)[:, None]
    receiver, sender = receiver + node * RECEIVER_STRIDE, sender + node * SENDER_STRIDE
    raw += node * n * F
    message = tl.load(receiver + to[:, None] * RECEIVER_STRIDE + channel, there, 0.0)
    message += tl.load(sender + frm[:, None] * SENDER_STRIDE + channel, there, 0.0)
    if DENSE:
        dense += node * n * DENSE_STRIDE
        message += tl.load(dense + pair * DENSE_STRIDE + channel, there, 0.0)
    for f in tl.static_range(F):
        number = tl.load(raw + pair * F + f, there, 0.0)
        message += number * tl.load(edge + (replica * F + f) * H + channel)
    message = tl.maximum(message, 0.0)
    if KEEP_ROWS:
        built, inner = built + node * n * H, inner + node * n * H
        tl.store(built + pair * H + channel, message, there)
    first += replica * H * H + channel[:, None] * in_stride
    second += replica * H * H + channel[None, :] * out_stride
    result = tl.zeros((R * N, H), tl.float32)
    for start in range(0, H, C):  # in chunks, so that the weights of the next are on their way
        part = start + tl.arange(0, C)
        hidden = dot(message, tl.load(first + part[None, :] * out_stride), PRECISION)
        hidden = tl.maximum(hidden + tl.load(bias + replica * H + part), 0.0)
        if KEEP_ROWS:
            tl.store(inner + pair * H + part, hidden, there)
        result += dot(hidden, tl.load(second + part[:, None] * in_stride), PRECISION)
    received = there
    if MASKED:
        received = tl.load(message_mask + node * n + pair, there, 0.0) > 0
    to = block * R + tl.arange(0, R)
    place, exists = (node + to)[:, None] * H + channel, (to < n)[:, None]
    if MEAN:
        total = tl.sum(tl.reshape(tl.where(received, result, 0.0), (R, N, H)), 1)
        if MASKED:
            count = tl.sum(tl.reshape(received.to(tl.float32), (R, N)), 1)
            weight = 1.0 / tl.maximum(count, 1.0)
            tl.store(share + node + to, weight, to < n)
            total *= weight[:, None]
        else:
            total /= n
        tl.store(mean + place, total, exists)
    if MASKED:
        result = tl.where(received, result, _NOT_A_NEIGHBOUR)
    result = tl.where(there, result, -3.0e38)
    by_receiver = tl.reshape(result, (R, N, H))
    best = tl.max(by_receiver, 1)
    tl.store(messages + place, best, exists)
    if KEEP_WINNER:
        among = tl.arange(0, N)[None, :, None]
        which = tl.min(tl.where(by_receiver == best[:, None, :], among, N), 1)
        if MASKED:  # no gradient for receivers without senders
            which = tl.where(best == _NOT_A_NEIGHBOUR, -1, which)
        tl.store(winner + place, which.to(tl.int16), exists)


class Kept(NamedTuple):
    """What `message` leaves for `message_backward`; None for what is not wanted."""

    winner: Tensor | None = None  # (S, B, n, h), int16: the sender of the largest message, or -1
    share: Tensor | None = None  # (S, B, n): 1 / number of senders, of masked means
    built: Tensor | None = None  # (S, B, n, n, h): the inputs of the first layer
    inner: Tensor | None = None  # (S, B, n, n, h): those of the second


def message(
    receiver: Tensor,  # (S, B, n, h), as is the next; perhaps columns of wider rows
    sender: Tensor,
    edges: FactoredEdges,
    message_mask: Tensor | None,  # (S, B, n, n)
    first: Affine,  # weights (S, h in, h out): quickest where the inputs are contiguous
    second: Tensor,  # likewise
    messages: Tensor,  # (S, B, n, h), to be written
    mean: Tensor | None,  # likewise
    kept: Kept,  # written where not None
    *,
    precision: str,
) -> None:
    """The largest message that each node receives, and their mean."""
    S, B, n, h = messages.shape
    raw, dense = edges.raw, edges.dense
    cut = tiles(n)
    _message[(S * B, cut.blocks(n))](
        receiver, sender, raw, dense, message_mask, edges.weight, *first, second,
        messages, mean, kept.share, kept.winner, kept.built, kept.inner,
        B, n, *_strides(first.weight, second),
        RECEIVER_STRIDE=receiver.stride(-2), SENDER_STRIDE=sender.stride(-2),
        DENSE_STRIDE=0 if dense is None else dense.stride(-2), F=raw.shape[-1],
        DENSE=dense is not None, MASKED=message_mask is not None, MEAN=mean is not None,
        KEEP_WINNER=kept.winner is not None, KEEP_ROWS=kept.built is not None,
        PRECISION=precision, **_resources(S * B, n, h), **pdl_options(S * B * n),
    )  # fmt: skip


@triton.jit(do_not_specialize=_COUNTS)
def _message_backward(
    d_messages, d_mean, winner, share, built, inner, message_mask, raw, edge, first, second,
    d_receiver, d_sender, d_raw, d_dense, d_edge, d_result, d_hidden,  # results
    B, n, in_stride, out_stride,
    STRIDE: tl.constexpr, F: tl.constexpr, FP: tl.constexpr,
    H: tl.constexpr, C: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    DENSE: tl.constexpr, MASKED: tl.constexpr, MEAN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    to, frm = block * R + row // N, row % N
    there = ((to < n) & (frm < n))[:, None]
    node, pair = sample * n, (frm * n + to)[:, None]
    # Four channels a thread, as in all other tiles, though winners are small enough for eight.
    place = tl.max_contiguous(to[:, None] * H + channel, (1, 4))
    won = tl.load(winner + node * H + place, there, -1) == frm[:, None]
    grad = tl.where(won, tl.load(d_messages + node * H + place, there, 0.0), 0.0)
    if MEAN:
        of_mean = tl.load(d_mean + node * H + place, there, 0.0)
        if MASKED:
            received = tl.load(message_mask + node * n + pair, there, 0.0) > 0
            of_mean *= tl.load(share + node + to[:, None], there, 0.0)
            grad += tl.where(received, of_mean, 0.0)
        else:
            grad += of_mean / n
    rows = node * n * H
    place = pair * H + channel
    tl.store(d_result + rows + place, grad, there)
    first += replica * H * H + channel[None, :] * in_stride
    second += replica * H * H + channel[:, None] * out_stride
    total = tl.zeros((R * N, H), tl.float32)
    for start in range(0, H, C):  # in chunks, as forward
        part = start + tl.arange(0, C)
        hidden = dot(grad, tl.load(second + part[None, :] * in_stride), PRECISION)
        at_part = pair * H + part
        hidden = tl.where(tl.load(inner + rows + at_part, there, 0.0) > 0, hidden, 0.0)
        tl.store(d_hidden + rows + at_part, hidden, there)
        total += dot(hidden, tl.load(first + part[:, None] * out_stride), PRECISION)
    total = tl.where(tl.load(built + rows + place, there, 0.0) > 0, total, 0.0)
    if DENSE:
        tl.store(d_dense + rows + place, total, there)
    by_receiver = tl.reshape(total, (R, N, H))
    tile = sample * tl.num_programs(1) + block
    nodes, senders = block * R + tl.arange(0, R), tl.arange(0, N)
    place = (node + nodes)[:, None] * STRIDE + channel
    tl.store(d_receiver + place, tl.sum(by_receiver, 1), (nodes < n)[:, None])
    place = (tile * n + senders)[:, None] * H + channel
    tl.store(d_sender + place, tl.sum(by_receiver, 0), (senders < n)[:, None])
    if F > 0:
        number = tl.arange(0, FP)
        known = (number < F)[None, :]
        weight = edge + replica * F * H + number[None, :] * H + channel[:, None]
        numbers = dot(total, tl.load(weight, known, 0.0), PRECISION)
        tl.store(d_raw + node * n * F + pair * F + number, numbers, there & known)
        known = (number < F)[:, None]
        exists = ((to < n) & (frm < n))[None, :]
        transposed = raw + node * n * F + (frm * n + to)[None, :] * F + number[:, None]
        of_edge = dot(tl.load(transposed, known & exists, 0.0), total, PRECISION)
        tl.store(d_edge + (tile * F + number)[:, None] * H + channel, of_edge, known)


class MessageGrads(NamedTuple):
    """What `message_backward` writes."""

    receiver: Tensor  # (S, B, n, h), perhaps columns of wider rows
    sender: Tensor  # (S, B, blocks, n, h): the reader adds the blocks
    raw: Tensor  # (S, B, n, n, F)
    dense: Tensor | None  # (S, B, n, n, h)
    edge: Tensor  # (S, B, blocks, F, h), to be summed over samples and blocks
    result: Tensor  # (S, B, n, n, h): the gradient of the second layer's results,
    hidden: Tensor  # and that of the first layer's, before the ReLU


def message_backward(
    d_messages: Tensor,  # (S, B, n, h)
    d_mean: Tensor | None,  # likewise
    kept: Kept,
    edges: FactoredEdges,
    message_mask: Tensor | None,
    first: Tensor,  # (S, h in, h out): quickest where the outputs are contiguous
    second: Tensor,  # likewise
    grads: MessageGrads,
    *,
    precision: str,
) -> None:
    """The gradients of the inputs of `message`, and the rows that those of its weights need."""
    S, B, n, h = d_messages.shape
    cut, F = tiles(n), grads.raw.shape[-1]
    _message_backward[(S * B, cut.blocks(n))](
        d_messages, d_mean, kept.winner, kept.share, kept.built, kept.inner, message_mask,
        edges.raw, edges.weight, first, second, *grads, B, n, *_strides(first, second),
        STRIDE=grads.receiver.stride(-2), F=F, FP=padded(F), DENSE=grads.dense is not None,
        MASKED=message_mask is not None, MEAN=d_mean is not None, PRECISION=precision,
        **_resources(S * B, n, h), **pdl_options(S * B * n),
    )  # fmt: skip


@triton.jit(do_not_specialize=["n", "F"])
def _connect(raw, thresholds, connected, n, F, PAIRS: tl.constexpr):
    sample = tl.program_id(0).to(tl.int64)
    pair = tl.program_id(1) * PAIRS + tl.arange(0, PAIRS)
    there = pair < n * n
    i, j = pair // n, pair % n
    raw += sample * n * n * F
    connects = i == j
    for f in range(F):
        number = tl.load(raw + pair * F + f, there, 0.0)
        number += tl.load(raw + (j * n + i) * F + f, there, 0.0)
        connects = connects | (number > tl.load(thresholds + f))
    tl.store(connected + sample * n * n + pair, connects.to(tl.float32), there)


def connect(raw: Tensor, thresholds: Tensor, connected: Tensor) -> None:
    """Write the adjacency (S, B, n, n): 1 for each node and itself, and for connected pairs.

    A pair is connected where a raw number, summed over both directions, exceeds its threshold (F,),
    which is infinite for numbers that do not tell of connections.
    """
    S, B, n, _, F = raw.shape
    grid = (S * B, triton.cdiv(n * n, 256))
    _connect[grid](raw, thresholds, connected, n, F, PAIRS=256, num_warps=4)
