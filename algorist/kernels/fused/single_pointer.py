"""The logits of one pointer, forward and backward in one launch each.

Nothing is kept but the inputs: all that is computed for a row, a pair (target, source), is computed
again in backward. So factored edges need no memory of n x n x h. The kernels of `pointer_logits`
take all pointers of a step together and keep their rows, which is faster within the fused scan.
"""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.affine import FactoredEdges
from algorist.kernels.fused.tiling import dot, padded, pdl_options, wait_for_previous

_COUNTS = ["B", "n", "F"]
"""Arguments that Triton does not specialise on: one compilation serves all their values."""
_ROWS = 32
"""Rows of a program: many small programs are done sooner than few large ones."""


@triton.jit(do_not_specialize=_COUNTS)
def _logits(
    source, target, raw, dense, edge, score, bias,  # inputs
    logits,  # result
    B, n, F,
    SOURCE_STRIDE: tl.constexpr, TARGET_STRIDE: tl.constexpr, DENSE_STRIDE: tl.constexpr,
    H: tl.constexpr, M: tl.constexpr, DENSE: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample = tl.program_id(0).to(tl.int64)
    replica, node = sample // B, sample * n
    pair, channel = tl.program_id(1) * M + tl.arange(0, M), tl.arange(0, H)
    i, j, there = pair % n, pair // n, pair < n * n
    exists = there[:, None]
    value = tl.load(target + (node + j)[:, None] * TARGET_STRIDE + channel, exists, 0.0)
    if DENSE:
        features = dense + (node * n + pair)[:, None] * DENSE_STRIDE + channel
        value += tl.load(features, exists, 0.0)
    for f in range(F):
        number = tl.load(raw + (node * n + pair) * F + f, there, 0.0)
        value += number[:, None] * tl.load(edge + (replica * F + f) * H + channel)
    other = tl.load(source + (node + i)[:, None] * SOURCE_STRIDE + channel, exists, 0.0)
    total = tl.sum(tl.maximum(value, other) * tl.load(score + replica * H + channel), 1)
    tl.store(logits + node * n + i * n + j, total + tl.load(bias + replica), there)


@triton.jit(do_not_specialize=_COUNTS)
def _logits_backward(
    d_logits, source, target, raw, dense, edge, score,  # inputs
    d_source, d_target, d_raw, d_dense, d_edge, d_score,  # results
    B, n, F,
    SOURCE_STRIDE: tl.constexpr, TARGET_STRIDE: tl.constexpr, DENSE_STRIDE: tl.constexpr,
    H: tl.constexpr, R: tl.constexpr, N: tl.constexpr, C: tl.constexpr, FP: tl.constexpr,
    FACTORED: tl.constexpr, DENSE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    replica, node, samples = sample // B, sample * n, tl.num_programs(0)
    part, sources, number = chunk * C + tl.arange(0, C), tl.arange(0, N), tl.arange(0, FP)
    is_source = (sources < n)[:, None]
    of_nodes = source + (node + sources)[:, None] * SOURCE_STRIDE + part
    other = tl.load(of_nodes, is_source, 0.0)[None, :, :]
    weight = tl.load(score + replica * H + part)[None, None, :]
    edge += replica * F * H + part
    of_source, of_score = tl.zeros((N, C), tl.float32), tl.zeros((C,), tl.float32)
    if FACTORED:
        of_edge = tl.zeros((FP, C), tl.float32)
        encoder = tl.load(edge[:, None] + number[None, :] * H, (number < F)[None, :], 0.0)
    for first in range(0, n, R):
        targets = first + tl.arange(0, R)
        is_target = (targets < n)[:, None]
        there = is_target & (sources < n)[None, :]
        pair = node * n + targets[:, None] * n + sources[None, :]
        ends = target + (node + targets)[:, None] * TARGET_STRIDE + part
        value = tl.load(ends, is_target, 0.0)[:, None, :] + tl.zeros((R, N, C), tl.float32)
        if DENSE:
            features = dense + pair[:, :, None] * DENSE_STRIDE + part
            value += tl.load(features, there[:, :, None], 0.0)
        for f in range(F):
            one = tl.load(raw + pair * F + f, there, 0.0)
            value += one[:, :, None] * tl.load(edge + f * H)[None, None, :]
        logit = d_logits + node * n + sources[None, :] * n + targets[:, None]
        down = tl.load(logit, there, 0.0)[:, :, None]
        exceeds = value > other
        grad = tl.where(exceeds, down * weight, 0.0)
        of_score += tl.sum(tl.sum(down * tl.where(exceeds, value, other), 0), 0)
        of_source += tl.sum(tl.where(exceeds, 0.0, down * weight), 0)
        tl.store(d_target + (node + targets)[:, None] * H + part, tl.sum(grad, 1), is_target)
        if DENSE:
            tl.store(d_dense + pair[:, :, None] * H + part, grad, there[:, :, None])
        if FACTORED:
            row = tl.arange(0, R * N)
            to, frm = first + row // N, row % N
            known = ((to < n) & (frm < n))[None, :] & (number < F)[:, None]
            place = (node * n + to * n + frm)[None, :] * F + number[:, None]
            rows = tl.reshape(grad, (R * N, C))
            of_edge += dot(tl.load(raw + place, known, 0.0), rows, PRECISION)
            of_raw = tl.trans(dot(rows, encoder, PRECISION))
            tl.store(d_raw + chunk.to(tl.int64) * samples * n * n * F + place, of_raw, known)
    tl.store(d_source + (node + sources)[:, None] * H + part, of_source, is_source)
    tl.store(d_score + sample * H + part, of_score)
    if FACTORED:
        tl.store(d_edge + (sample * F + number)[:, None] * H + part, of_edge, (number < F)[:, None])


class PointerGrads(NamedTuple):
    """What `logits_backward` writes."""

    source: Tensor  # (S, B, n, h)
    target: Tensor  # (S, B, n, h)
    raw: Tensor  # (chunks, S, B, n, n, F), to be summed over chunks
    dense: Tensor | None  # (S, B, n, n, h)
    edge: Tensor  # (S, B, F, h), to be summed over samples
    score: Tensor  # (S, B, h), likewise


def logits(
    source: Tensor,  # (S, B, n, h), as is the next; perhaps columns of wider rows
    target: Tensor,
    edges: FactoredEdges,  # from target to source
    score: Tensor,  # (S, h)
    bias: Tensor,  # (S,)
    result: Tensor,  # (S, B, source, target), to be written
) -> None:
    """Score max(source, target + edge) for all pairs."""
    S, B, n, h = source.shape
    raw, weight, dense = edges
    _logits[(S * B, triton.cdiv(n * n, _ROWS))](
        source, target, raw, dense, weight, score, bias, result, B, n, raw.shape[-1],
        SOURCE_STRIDE=source.stride(-2), TARGET_STRIDE=target.stride(-2),
        DENSE_STRIDE=0 if dense is None else dense.stride(-2),
        H=h, M=_ROWS, DENSE=dense is not None, num_warps=4, **pdl_options(S * B * n),
    )  # fmt: skip


def channel_chunk(n: int, h: int) -> int:
    """How many channels a program of backward takes."""
    return min(h, 32 if padded(n) == 16 else 16)


def logits_backward(
    d_logits: Tensor,  # (S, B, source, target)
    source: Tensor,
    target: Tensor,
    edges: FactoredEdges,
    score: Tensor,
    grads: PointerGrads,
    *,
    precision: str,
) -> None:
    """The gradients of the inputs of `logits`; that of the bias is the sum of `d_logits`."""
    S, B, n, h = source.shape
    raw, weight, dense = edges
    N, C, F = padded(n), channel_chunk(n, h), raw.shape[-1]
    _logits_backward[(S * B, h // C)](
        d_logits, source, target, raw, dense, weight, score, *grads, B, n, F,
        SOURCE_STRIDE=source.stride(-2), TARGET_STRIDE=target.stride(-2),
        DENSE_STRIDE=0 if dense is None else dense.stride(-2),
        H=h, R=max(1, 256 // N), N=N, C=C, FP=padded(F), FACTORED=F > 0,
        DENSE=dense is not None, PRECISION=precision, num_warps=8, **pdl_options(S * B * n),
    )  # fmt: skip
