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
    d_maxima, winner = d_maxima + node * n * T, winner + node * n * T
    if EXTRA:
        extra += node * n * T
    left, right = tl.zeros((N, T), tl.float32), tl.zeros((N, T), tl.float32)
    for start in range(0, n, M):  # where x won as i: sums over k for each j, and over j for each k
        z = start + tl.arange(0, M)
        there = ((z < n)[:, None] & (y < n)[None, :])[:, :, None]
        place = ((y[None, :] * n + z[:, None]) * T)[:, :, None] + t
        hit = tl.load(winner + place, there, -1) == x
        slope = _slopes(d_maxima, extra, place, there, size, SLOTS, EXTRA)
        left += tl.sum(tl.where(hit, slope, 0.0), 0)
        place = ((z[:, None] * n + y[None, :]) * T)[:, :, None] + t
        hit = tl.load(winner + place, there, -1) == x
        slope = _slopes(d_maxima, extra, place, there, size, SLOTS, EXTRA)
        right += tl.sum(tl.where(hit, slope, 0.0), 0)
    there = (y < n)[:, None]
    third = _slopes(d_maxima, extra, (x * n + y)[:, None] * T + t, there, size, SLOTS, EXTRA)
    of_k = _slopes(d_maxima, extra, (y * n + x)[:, None] * T + t, there, size, SLOTS, EXTRA)
    nodes = d_state + (node + x) * STRIDE + COLUMN + t
    tl.store(nodes, tl.sum(left, 0))
    tl.store(nodes + T, tl.sum(third, 0))
    tl.store(nodes + 2 * T, tl.sum(of_k, 0))
    pair = (node + x) * n + y
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
    _triplet_max_backward[(S * B, n)](
        d_maxima, extra, winner, edge, d_state, d_edges, d_raw, d_maxima.stride(0), B, n,
        COLUMN=column, STRIDE=d_state.shape[-1], F=d_raw.shape[-1],
        SLOTS=slots, EXTRA=extra is not None, **_resources(n, T),
    )  # fmt: skip
