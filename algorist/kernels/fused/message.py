"""Messages between all pairs of nodes, their maxima, and who senders whom.

Pairs are (from, to). A program takes a few receivers of one sample and all their senders. What
backward needs of the rows (one row a pair of nodes) is kept: writing it costs less than computing
it again. Columns of the nodes' projections are read and written in place.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import dot, follow, following, padded, tiles
from algorist.kernels.plain import NOT_A_NEIGHBOUR

_NOT_A_NEIGHBOUR = tl.constexpr(NOT_A_NEIGHBOUR)
_COUNTS = ["B", "n"]
"""One compilation serves all values of these."""
ALONE = 132
"""Up to so many programs have a multiprocessor each for themselves, and all of its memory."""


def _resources(samples: int, n: int, h: int) -> dict[str, int]:
    """How the programs of messages are cut: tiles, chunks of channels, warps, weights on their way.

    Each 64 rows have the four warps that the matrix units take together. Two programs share a
    multiprocessor, unless there are few of them: then more weights are fetched ahead.
    """
    cut = tiles(n)
    alone = samples * cut.blocks(n) <= ALONE
    return {
        "H": h, "C": min(h, 4096 // h), "R": cut.receivers, "N": cut.senders,
        "num_warps": cut.receivers * cut.senders // 16, "num_stages": 3 if alone else 2,
    }  # fmt: skip


def _strides(first: Tensor, second: Tensor) -> tuple[int, int]:
    """How far the inputs and the outputs of two layers of one size lie apart."""
    strides, others = first.stride()[1:], second.stride()[1:]
    if strides != others:
        raise ValueError(f"second: got strides {others}, expected {strides}, as first has")
    return strides


@triton.jit(do_not_specialize=_COUNTS)
def _message(
    state, raw, message_mask, edge, first, bias, second,  # inputs
    messages, winner, built, inner,  # results
    B, n, in_stride, out_stride,
    RECEIVER: tl.constexpr, SENDER: tl.constexpr, STRIDE: tl.constexpr, F: tl.constexpr,
    H: tl.constexpr, C: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    MASKED: tl.constexpr, KEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    follow()
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    to, frm = block * R + row // N, row % N
    there = ((to < n) & (frm < n))[:, None]
    node, pair = sample * n, (frm * n + to)[:, None]
    state, raw = state + node * STRIDE, raw + node * n * F
    message = tl.load(state + to[:, None] * STRIDE + RECEIVER + channel, there, 0.0)
    message += tl.load(state + frm[:, None] * STRIDE + SENDER + channel, there, 0.0)
    for f in tl.static_range(F):
        number = tl.load(raw + pair * F + f, there, 0.0)
        message += number * tl.load(edge + (replica * F + f) * H + channel)
    message = tl.maximum(message, 0.0)
    if KEEP:
        built, inner = built + node * n * H, inner + node * n * H
        tl.store(built + pair * H + channel, message, there)
    first += replica * H * H + channel[:, None] * in_stride
    second += replica * H * H + channel[None, :] * out_stride
    result = tl.zeros((R * N, H), tl.float32)
    for start in range(0, H, C):  # in chunks, so that the weights of the next are on their way
        part = start + tl.arange(0, C)
        hidden = dot(message, tl.load(first + part[None, :] * out_stride), PRECISION)
        hidden = tl.maximum(hidden + tl.load(bias + replica * H + part), 0.0)
        if KEEP:
            tl.store(inner + pair * H + part, hidden, there)
        result += dot(hidden, tl.load(second + part[:, None] * in_stride), PRECISION)
    if MASKED:
        listens = tl.load(message_mask + node * n + pair, there, 0.0) > 0
        result = tl.where(listens, result, _NOT_A_NEIGHBOUR)
    result = tl.where(there, result, -3.0e38)
    edge_pointer_logits = tl.reshape(result, (R, N, H))
    best = tl.max(edge_pointer_logits, 1)
    to = block * R + tl.arange(0, R)
    place = (node + to)[:, None] * H + channel
    tl.store(messages + place, best, (to < n)[:, None])
    if KEEP:
        among = tl.arange(0, N)[None, :, None]
        which = tl.min(tl.where(edge_pointer_logits == best[:, None, :], among, N), 1)
        if MASKED:  # who senders nobody learns from nobody
            which = tl.where(best == _NOT_A_NEIGHBOUR, -1, which)
        tl.store(winner + place, which.to(tl.int16), (to < n)[:, None])


def message(
    state: Tensor,  # (S, B, n, columns)
    columns: tuple[int, int],  # where the parts of the receiver and the sender begin
    raw: Tensor,  # (S, B, n, n, F)
    message_mask: Tensor | None,  # (S, B, n, n)
    edge: Tensor,  # (S, F, h)
    first: Tensor,  # (S, h in, h out): quickest where the inputs lie side by side
    bias: Tensor,  # (S, h)
    second: Tensor,  # likewise
    messages: Tensor,  # (S, B, n, h)
    winner: Tensor | None,  # likewise, int16
    built: Tensor | None,  # (S, B, n, n, h)
    inner: Tensor | None,  # (S, B, n, n, h)
    *,
    precision: str,
) -> None:
    """The largest message that each node receives; with `winner`, what backward needs is kept."""
    S, B, n, h = messages.shape
    cut = tiles(n)
    _message[(S * B, cut.blocks(n))](
        state, raw, raw if message_mask is None else message_mask, edge, first, bias, second,
        messages, winner, built, inner, B, n, *_strides(first, second),
        RECEIVER=columns[0], SENDER=columns[1], STRIDE=state.shape[-1], F=raw.shape[-1],
        MASKED=message_mask is not None, KEEP=winner is not None, PRECISION=precision,
        **_resources(S * B, n, h), **following(S * B * n),
    )  # fmt: skip


@triton.jit(do_not_specialize=_COUNTS)
def _message_backward(
    d_messages, winner, built, inner, raw, edge, first, second,  # inputs
    d_state, d_sender, d_raw, d_edge, d_result, d_hidden,  # results
    B, n, in_stride, out_stride,
    RECEIVER: tl.constexpr, STRIDE: tl.constexpr, F: tl.constexpr, FP: tl.constexpr,
    H: tl.constexpr, C: tl.constexpr, R: tl.constexpr, N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    follow()
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
    edge_pointer_logits = tl.reshape(total, (R, N, H))
    tile = sample * tl.num_programs(1) + block
    nodes, senders = block * R + tl.arange(0, R), tl.arange(0, N)
    place = (node + nodes)[:, None] * STRIDE + RECEIVER + channel
    tl.store(d_state + place, tl.sum(edge_pointer_logits, 1), (nodes < n)[:, None])
    place = (tile * n + senders)[:, None] * H + channel
    tl.store(d_sender + place, tl.sum(edge_pointer_logits, 0), (senders < n)[:, None])
    if F > 0:
        number = tl.arange(0, FP)
        known = (number < F)[None, :]
        weight = edge + replica * F * H + number[None, :] * H + channel[:, None]
        numbers = dot(total, tl.load(weight, known, 0.0), PRECISION)
        tl.store(d_raw + node * n * F + pair * F + number, numbers, there & known)
        known = (number < F)[:, None]
        exists = ((to < n) & (frm < n))[None, :]
        turned = raw + node * n * F + (frm * n + to)[None, :] * F + number[:, None]
        of_edge = dot(tl.load(turned, known & exists, 0.0), total, PRECISION)
        tl.store(d_edge + (tile * F + number)[:, None] * H + channel, of_edge, known)


def message_backward(
    d_messages: Tensor,  # (S, B, n, h)
    winner: Tensor,
    built: Tensor,
    inner: Tensor,
    raw: Tensor,
    edge: Tensor,
    first: Tensor,  # (S, h in, h out): quickest where the outputs lie side by side
    second: Tensor,  # likewise
    d_state: Tensor,  # (S, B, n, columns), of which the receiver's are written
    column: int,  # where these begin
    d_sender: Tensor,  # (S, B, blocks, n, h): the reader adds the blocks
    d_raw: Tensor,  # (S, B, n, n, F)
    d_edge: Tensor,  # (S, B, blocks, F, h), to be added up over samples and blocks
    d_result: Tensor,  # (S, B, n, n, h), as is the next: of the second layer's results,
    d_hidden: Tensor,  # and of the first layer's results, before the ReLU
    *,
    precision: str,
) -> None:
    """The grads of all that the messages are made of, given those of the largest."""
    S, B, n, h = d_messages.shape
    cut = tiles(n)
    _message_backward[(S * B, cut.blocks(n))](
        d_messages, winner, built, inner, raw, edge, first, second,
        d_state, d_sender, d_raw, d_edge, d_result, d_hidden, B, n, *_strides(first, second),
        RECEIVER=column, STRIDE=d_state.shape[-1], F=d_raw.shape[-1], FP=padded(d_raw.shape[-1]),
        PRECISION=precision, **_resources(S * B, n, h), **following(S * B * n),
    )  # fmt: skip


@triton.jit(do_not_specialize=["n", "F"])
def _connect(raw, thresholds, connected, n, F, PAIRS: tl.constexpr):
    sample = tl.program_id(0).to(tl.int64)
    pair = tl.program_id(1) * PAIRS + tl.arange(0, PAIRS)
    there = pair < n * n
    i, j = pair // n, pair % n
    raw += sample * n * n * F
    meets = i == j
    for f in range(F):
        number = tl.load(raw + pair * F + f, there, 0.0)
        number += tl.load(raw + (j * n + i) * F + f, there, 0.0)
        meets = meets | (number > tl.load(thresholds + f))
    tl.store(connected + sample * n * n + pair, meets.to(tl.float32), there)


def connect(raw: Tensor, thresholds: Tensor, connected: Tensor) -> None:
    """1 for pairs of nodes (S, B, n, n) that are the same or that some raw number connects, else 0.

    That is where the numbers of both directions sum up to more than their threshold: (F,), infinite
    for numbers that connect nobody.
    """
    S, B, n, _, F = raw.shape
    grid = (S * B, triton.cdiv(n * n, 256))
    _connect[grid](raw, thresholds, connected, n, F, PAIRS=256, num_warps=4)
