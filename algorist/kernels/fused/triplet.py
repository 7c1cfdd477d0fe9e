"""Triplet maxima: for all j and k, the largest over i of what the nodes (i, j, k) sum up to.

A program takes one node of one sample and walks through blocks of all pairs or triplets that it
needs, laid out so that every sum and maximum is within a thread. Columns of the nodes' projections
are read and written in place.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import padded

FEATURES = 1024
"""The triplet features that a warp looks at at once."""
_WINNERS = 2
"""For how many nodes a program of the way back collects what they won."""


def _resources(n: int, T: int) -> dict[str, int]:
    """How the programs are cut: all nodes, those of a block, warps."""
    N = padded(n)
    warps = 2 if N == 16 else 4
    return {"T": T, "N": N, "M": max(1, FEATURES * warps // (N * T)), "num_warps": warps}


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
    rest = tl.load(nodes + k[:, None] * STRIDE + 2 * T, (k < n)[:, None], 0.0)
    rest += tl.load(nodes + j * STRIDE + T)[None, :]
    for f in tl.static_range(F):
        of_jk = tl.load(raw + (j * n + k) * F + f, k < n, 0.0)
        rest += of_jk[:, None] * tl.load(weights + f * 3 * T + 2 * T)[None, :]
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
        value = left[:, None, :] + right
        most = tl.max(value, 0)
        if KEEP:
            at = tl.min(tl.where(value == most[None, :, :], i[:, None, None], start + M), 0)
            which = tl.where(most > best, at, which)
        best = tl.maximum(most, best)
    place = ((node + j) * n + k)[:, None] * T + t
    tl.store(maxima + place, best + rest, (k < n)[:, None])
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
    _triplet_max[(S * B, n)](
        state, raw, edge, maxima, winner, B, n, COLUMN=column, STRIDE=state.shape[-1],
        F=raw.shape[-1], KEEP=winner is not None, **_resources(n, T),
    )  # fmt: skip


@triton.jit
def _added(slots, place, there, size, SLOTS: tl.constexpr):
    """The sum of some slots, which lie `size` apart."""
    total = tl.load(slots + place, there, 0.0)
    for slot in tl.static_range(1, SLOTS):
        total += tl.load(slots + slot * size + place, there, 0.0)
    return total


@triton.jit
def _triplet_max_backward(
    d_maxima, winner, edge,  # inputs
    d_state, d_edges, d_raw,  # results
    size, B, n, COLUMN: tl.constexpr, STRIDE: tl.constexpr, F: tl.constexpr,
    T: tl.constexpr, N: tl.constexpr, X: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    sample, first = tl.program_id(0).to(tl.int64), tl.program_id(1) * X
    y, t = tl.arange(0, N), tl.arange(0, T)
    node, there = sample * n, y < n
    d_maxima, winner = d_maxima + node * n * T, winner + node * n * T
    # All slopes of the sample, (j, k, t), and who won them.
    place = ((y[:, None] * n + y[None, :]) * T)[:, :, None] + t
    known = (there[:, None] & there[None, :])[:, :, None]
    slopes = _added(d_maxima, place, known, size, SLOTS)
    won = tl.load(winner + place, known, -1)
    for x in range(first, tl.minimum(first + X, n)):
        mine = tl.where(won == x, slopes, 0.0)
        left, right = tl.sum(mine, 1), tl.sum(mine, 0)  # of edges (x, j) and (x, k)
        third = _added(d_maxima, (x * n + y)[:, None] * T + t, there[:, None], size, SLOTS)
        of_k = _added(d_maxima, (y * n + x)[:, None] * T + t, there[:, None], size, SLOTS)
        nodes = d_state + (node + x) * STRIDE + COLUMN + t
        tl.store(nodes, tl.sum(left, 0))
        tl.store(nodes + T, tl.sum(third, 0))
        tl.store(nodes + 2 * T, tl.sum(of_k, 0))
        pair = (node + x) * n + y
        edges = d_edges + pair[:, None] * 3 * T + t
        tl.store(edges, left, there[:, None])
        tl.store(edges + T, right, there[:, None])
        tl.store(edges + 2 * T, third, there[:, None])
        for f in tl.static_range(F):
            weights = edge + ((sample // B) * F + f) * 3 * T + t
            number = left * tl.load(weights) + third * tl.load(weights + 2 * T)
            number += right * tl.load(weights + T)
            tl.store(d_raw + pair * F + f, tl.sum(number, 1), there)


def triplet_max_backward(
    d_maxima: Tensor,  # (slots, S, B, n, n, T), which are added up
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
    _triplet_max_backward[(S * B, triton.cdiv(n, _WINNERS))](
        d_maxima, winner, edge, d_state, d_edges, d_raw, d_maxima.stride(0), B, n,
        COLUMN=column, STRIDE=d_state.shape[-1], F=d_raw.shape[-1], T=T, N=N, X=_WINNERS,
        SLOTS=slots, num_warps=max(1, min(32, N * N * T // 512)),
    )  # fmt: skip
