"""What pairs of nodes do at one step: messages and their maxima, triplets and theirs, connections.

Pairs are (from, to). A program of the messages takes a few receivers of one sample and all their
senders; a program of the triplets takes one node and all pairs or triplets that it needs. What
backward needs of the rows (one row a pair of nodes) is kept: writing it costs less than computing
it again. Columns of the nodes' projections are read and written in place.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import Tiles, dot, padded, tiles

CHUNK = 32
"""The hidden channels that the two layers of a message hand over at once."""
FEW_PROGRAMS = 512
"""Up to here small tiles, for as many programs as possible; beyond, tiles of twice the rows."""
CUBE = 2048
"""The triplet features that a program looks at at once."""


def message_tiles(samples: int, n: int) -> Tiles:
    """How messages between n nodes are cut into tiles: d_sender has a part for each block."""
    cut = tiles(n)
    if samples * cut.blocks(n) <= FEW_PROGRAMS or cut.receivers * cut.senders > 64:
        return cut
    return Tiles(2 * cut.receivers, cut.senders)


@triton.jit
def _message(
    state, raw, heard, edge, first, bias, second,  # inputs
    messages, winner, built, inner,  # results
    B, n, in_stride, out_stride,
    RECEIVER: tl.constexpr, SENDER: tl.constexpr, STRIDE: tl.constexpr, F: tl.constexpr,
    H: tl.constexpr, C: tl.constexpr, R: tl.constexpr, N: tl.constexpr,
    MASKED: tl.constexpr, KEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    to, frm = block * R + row // N, row % N
    there = ((to < n) & (frm < n))[:, None]
    node = sample * n
    pair = ((node + frm) * n + to)[:, None]
    receiver = state + (node + to)[:, None] * STRIDE + RECEIVER + channel
    sender = state + (node + frm)[:, None] * STRIDE + SENDER + channel
    message = tl.load(receiver, there, 0.0) + tl.load(sender, there, 0.0)
    for f in tl.static_range(F):
        number = tl.load(raw + pair * F + f, there, 0.0)
        message += number * tl.load(edge + (replica * F + f) * H + channel)
    message = tl.maximum(message, 0.0)
    if KEEP:
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
        listens = tl.load(heard + pair, there, 0.0) > 0
        result = tl.where(listens, result, -1.0e6)
    result = tl.where(there, result, -3.0e38)
    cube = tl.reshape(result, (R, N, H))
    best = tl.max(cube, 1)
    to = block * R + tl.arange(0, R)
    place = (node + to)[:, None] * H + channel
    tl.store(messages + place, best, (to < n)[:, None])
    if KEEP:
        among = tl.arange(0, N)[None, :, None]
        which = tl.min(tl.where(cube == best[:, None, :], among, N), 1)
        if MASKED:  # who hears nobody learns from nobody
            which = tl.where(best == -1.0e6, -1, which)
        tl.store(winner + place, which.to(tl.int16), (to < n)[:, None])


def message(
    state: Tensor,  # (S, B, n, columns)
    columns: tuple[int, int],  # where the parts of the receiver and the sender begin
    raw: Tensor,  # (S, B, n, n, F)
    heard: Tensor | None,  # (S, B, n, n)
    edge: Tensor,  # (S, F, h)
    first: Tensor,  # (S, h in, h out): quickest where the inputs lie side by side
    bias: Tensor,  # (S, h)
    second: Tensor,  # like first
    messages: Tensor,  # (S, B, n, h)
    winner: Tensor | None,  # likewise, int16
    built: Tensor | None,  # (S, B, n, n, h)
    inner: Tensor | None,  # (S, B, n, n, h)
    *,
    precision: str,
) -> None:
    """The largest message that each node receives; with `winner`, what backward needs is kept."""
    S, B, n, h = messages.shape
    cut = message_tiles(S * B, n)
    _message[(S * B, cut.blocks(n))](
        state, raw, raw if heard is None else heard, edge, first, bias, second,
        messages, winner, built, inner, B, n, first.stride(1), first.stride(2),
        RECEIVER=columns[0], SENDER=columns[1], STRIDE=state.shape[-1], F=raw.shape[-1],
        H=h, C=min(h, CHUNK), R=cut.receivers, N=cut.senders, MASKED=heard is not None,
        KEEP=winner is not None, PRECISION=precision, num_warps=_warps(cut), num_stages=3,
    )  # fmt: skip


@triton.jit
def _message_backward(
    d_messages, winner, built, inner, edge, first, second,  # inputs
    d_state, d_sender, d_raw, d_result, d_hidden, d_built,  # results
    B, n,
    RECEIVER: tl.constexpr, STRIDE: tl.constexpr, F: tl.constexpr,
    H: tl.constexpr, C: tl.constexpr, R: tl.constexpr, N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica = sample // B
    row, channel = tl.arange(0, R * N), tl.arange(0, H)
    to, frm = block * R + row // N, row % N
    there = ((to < n) & (frm < n))[:, None]
    node = sample * n
    pair = ((node + frm) * n + to)[:, None]
    at_receiver = (node + to)[:, None] * H + channel
    won = tl.load(winner + at_receiver, there, -1) == frm[:, None]
    slope = tl.where(won, tl.load(d_messages + at_receiver, there, 0.0), 0.0)
    place = pair * H + channel
    tl.store(d_result + place, slope, there)
    first += replica * H * H + channel[None, :] * H
    second += replica * H * H + channel[:, None]
    total = tl.zeros((R * N, H), tl.float32)
    for start in range(0, H, C):  # in chunks, as forward
        part = start + tl.arange(0, C)
        hidden = dot(slope, tl.load(second + part[None, :] * H), PRECISION)
        at_part = pair * H + part
        hidden = tl.where(tl.load(inner + at_part, there, 0.0) > 0, hidden, 0.0)
        tl.store(d_hidden + at_part, hidden, there)
        total += dot(hidden, tl.load(first + part[:, None]), PRECISION)
    total = tl.where(tl.load(built + place, there, 0.0) > 0, total, 0.0)
    tl.store(d_built + place, total, there)
    cube = tl.reshape(total, (R, N, H))
    to, frm = block * R + tl.arange(0, R), tl.arange(0, N)
    place = (node + to)[:, None] * STRIDE + RECEIVER + channel
    tl.store(d_state + place, tl.sum(cube, 1), (to < n)[:, None])
    place = ((sample * tl.num_programs(1) + block) * n + frm)[:, None] * H + channel
    tl.store(d_sender + place, tl.sum(cube, 0), (frm < n)[:, None])
    for f in tl.static_range(F):
        weight = tl.load(edge + (replica * F + f) * H + channel)
        tl.store(d_raw + pair * F + f, tl.sum(total * weight, 1, keep_dims=True), there)


def message_backward(
    d_messages: Tensor,  # (S, B, n, h)
    winner: Tensor,
    built: Tensor,
    inner: Tensor,
    edge: Tensor,
    first: Tensor,  # (S, h in, h out), contiguous
    second: Tensor,  # likewise
    d_state: Tensor,  # (S, B, n, columns), of which the receiver's are written
    column: int,  # where these begin
    d_sender: Tensor,  # (S, B, blocks, n, h): see message_tiles; the reader adds the blocks
    d_raw: Tensor,  # (S, B, n, n, F)
    d_result: Tensor,  # (S, B, n, n, h), as are the next: of the second layer's results,
    d_hidden: Tensor,  # of the first layer's results,
    d_built: Tensor,  # and of what it reads, all before the ReLU
    *,
    precision: str,
) -> None:
    """The slopes of all that the messages are made of, given those of the largest."""
    S, B, n, h = d_messages.shape
    cut = message_tiles(S * B, n)
    _message_backward[(S * B, cut.blocks(n))](
        d_messages, winner, built, inner, edge, first, second,
        d_state, d_sender, d_raw, d_result, d_hidden, d_built, B, n,
        RECEIVER=column, STRIDE=d_state.shape[-1], F=d_raw.shape[-1],
        H=h, C=min(h, CHUNK), R=cut.receivers, N=cut.senders, PRECISION=precision,
        num_warps=_warps(cut), num_stages=3,
    )  # fmt: skip


def _warps(cut: Tiles) -> int:
    """Four warps, one group for the matrix units, for each 64 rows."""
    return max(4, cut.receivers * cut.senders // 16)


@triton.jit
def _triplet_max(
    state, raw, edge,  # inputs
    maxima, winner,  # results
    B, n, COLUMN: tl.constexpr, STRIDE: tl.constexpr, F: tl.constexpr,
    T: tl.constexpr, N: tl.constexpr, M: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    sample, j = tl.program_id(0).to(tl.int64), tl.program_id(1)
    k, t = tl.arange(0, N), tl.arange(0, T)
    node = sample * n
    nodes = state + node * STRIDE + COLUMN + t
    weights = edge + (sample // B) * F * 3 * T + t
    raw += node * n * F
    best = tl.full((N, T), -3.0e38, tl.float32)
    which = tl.zeros((N, T), tl.int32)
    for start in range(0, n, M):
        i = start + tl.arange(0, M)
        left = tl.load(nodes + i[:, None] * STRIDE, (i < n)[:, None], -3.0e38)
        right = tl.zeros((M, N, T), tl.float32)
        there = (i < n)[:, None] & (k < n)[None, :]
        for f in tl.static_range(F):
            of_ij = tl.load(raw + (i * n + j) * F + f, i < n, 0.0)
            of_ik = tl.load(raw + (i[:, None] * n + k[None, :]) * F + f, there, 0.0)
            left += of_ij[:, None] * tl.load(weights + f * 3 * T)[None, :]
            right += of_ik[:, :, None] * tl.load(weights + f * 3 * T + T)[None, None, :]
        value, at = tl.max(left[:, None, :] + right, 0, return_indices=True)
        which = tl.where(value > best, start + at, which)
        best = tl.maximum(value, best)
    best += tl.load(nodes + k[:, None] * STRIDE + 2 * T, (k < n)[:, None], 0.0)
    best += tl.load(nodes + j * STRIDE + T)[None, :]
    for f in tl.static_range(F):
        of_jk = tl.load(raw + (j * n + k) * F + f, k < n, 0.0)
        best += of_jk[:, None] * tl.load(weights + f * 3 * T + 2 * T)[None, :]
    place = ((node + j) * n + k)[:, None] * T + t
    tl.store(maxima + place, best, (k < n)[:, None])
    if KEEP:
        tl.store(winner + place, which.to(tl.int16), (k < n)[:, None])


def triplet_max(
    state: Tensor,  # (S, B, n, columns)
    column: int,  # where the parts of i, j and k begin, side by side
    raw: Tensor,  # (S, B, n, n, F)
    edge: Tensor,  # (S, F, 3T): the weights of the edges (i, j), (i, k), (j, k)
    maxima: Tensor,  # (S, B, n, n, T)
    winner: Tensor | None,  # likewise, int16
) -> None:
    """For all j and k, the largest over i of what (i, j, k) sum up to, and which i it is."""
    S, B, n, _, T = maxima.shape
    N = padded(n)
    _triplet_max[(S * B, n)](
        state, raw, edge, maxima, winner, B, n, COLUMN=column, STRIDE=state.shape[-1],
        F=raw.shape[-1], T=T, N=N, M=max(1, CUBE // (N * T)), KEEP=winner is not None, num_warps=2,
    )  # fmt: skip


@triton.jit
def _slopes(d_maxima, extra, place, there, size, SLOTS: tl.constexpr, EXTRA: tl.constexpr):
    """The slopes of some maxima: the sum of what several have to say."""
    slope = tl.load(d_maxima + place, there, 0.0)
    for slot in tl.static_range(1, SLOTS):
        slope += tl.load(d_maxima + slot * size + place, there, 0.0)
    if EXTRA:
        slope += tl.load(extra + place, there, 0.0)
    return slope


@triton.jit
def _triplet_max_backward(
    d_maxima, extra, winner, edge,  # inputs
    d_state, d_edges, d_raw,  # results
    size, B, n, COLUMN: tl.constexpr, STRIDE: tl.constexpr, F: tl.constexpr,
    T: tl.constexpr, N: tl.constexpr, M: tl.constexpr, SLOTS: tl.constexpr, EXTRA: tl.constexpr,
):  # fmt: skip
    sample, x = tl.program_id(0).to(tl.int64), tl.program_id(1)
    y, t = tl.arange(0, N), tl.arange(0, T)
    node = sample * n
    left, right = tl.zeros((N, T), tl.float32), tl.zeros((N, T), tl.float32)
    for start in range(0, n, M):  # where x won as i: sums over k for each j, and over j for each k
        z = start + tl.arange(0, M)
        there = ((z < n)[:, None] & (y < n)[None, :])[:, :, None]
        place = (((node + y)[None, :] * n + z[:, None]) * T)[:, :, None] + t
        hit = tl.load(winner + place, there, -1) == x
        slope = _slopes(d_maxima, extra, place, there, size, SLOTS, EXTRA)
        left += tl.sum(tl.where(hit, slope, 0.0), 0)
        place = (((node + z)[:, None] * n + y[None, :]) * T)[:, :, None] + t
        hit = tl.load(winner + place, there, -1) == x
        slope = _slopes(d_maxima, extra, place, there, size, SLOTS, EXTRA)
        right += tl.sum(tl.where(hit, slope, 0.0), 0)
    there = (y < n)[:, None]
    pair = (node + x) * n + y
    third = _slopes(d_maxima, extra, pair[:, None] * T + t, there, size, SLOTS, EXTRA)
    place = ((node + y) * n + x)[:, None] * T + t
    of_k = _slopes(d_maxima, extra, place, there, size, SLOTS, EXTRA)
    nodes = d_state + (node + x) * STRIDE + COLUMN + t
    tl.store(nodes, tl.sum(left, 0))
    tl.store(nodes + T, tl.sum(third, 0))
    tl.store(nodes + 2 * T, tl.sum(of_k, 0))
    place = pair[:, None] * 3 * T + t
    tl.store(d_edges + place, left, there)
    tl.store(d_edges + place + T, right, there)
    tl.store(d_edges + place + 2 * T, third, there)
    for f in tl.static_range(F):
        weights = edge + ((sample // B) * F + f) * 3 * T + t
        number = left * tl.load(weights) + right * tl.load(weights + T)
        number += third * tl.load(weights + 2 * T)
        tl.store(d_raw + pair * F + f, tl.sum(number, 1), y < n)


def triplet_max_backward(
    d_maxima: Tensor,  # (slots, S, B, n, n, T), which are added up
    extra: Tensor | None,  # (S, B, n, n, T), added too
    winner: Tensor,
    edge: Tensor,
    d_state: Tensor,  # (S, B, n, columns), of which those of i, j and k are written
    column: int,  # where these begin
    d_edges: Tensor,  # (S, B, n, n, 3T)
    d_raw: Tensor,  # (S, B, n, n, F)
) -> None:
    """The slopes of all that the maxima are made of."""
    slots, S, B, n, _, T = d_maxima.shape
    N = padded(n)
    _triplet_max_backward[(S * B, n)](
        d_maxima, extra, winner, edge, d_state, d_edges, d_raw, d_maxima.stride(0), B, n,
        COLUMN=column, STRIDE=d_state.shape[-1], F=d_raw.shape[-1], T=T, N=N,
        M=max(1, CUBE // (N * T)), SLOTS=slots, EXTRA=extra is not None, num_warps=2,
    )  # fmt: skip


@triton.jit
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
