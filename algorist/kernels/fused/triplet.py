"""Triplet maxima: for all j and k, the largest over i of the sum of the triplet (i, j, k).

Forward, a program takes one node j of one sample; backward, some nodes i. Both loop so that maxima
and sums of gradients stay within a thread. Projections of nodes may be columns of wider rows.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.affine import FactoredEdges
from algorist.kernels.fused.tiling import padded

FEATURES = 1024
"""The triplet features that a warp holds at once."""
_COUNTS = ["B", "n"]
"""Arguments that Triton does not specialise on: one compilation serves all their values."""
_SUMS = 2048
"""The sums of gradients that a program of backward holds at once."""


def _resources(n: int, T: int) -> dict[str, int]:
    """The padded number of nodes, how many a program takes at a time, and its warps."""
    N = padded(n)
    warps = 2 if N == 16 else 4
    return {"T": T, "N": N, "M": max(1, FEATURES * warps // (N * T)), "num_warps": warps}


@triton.jit(do_not_specialize=_COUNTS)
def _triplet_max(
    nodes, raw, dense, edge,  # inputs
    maxima, winner,  # results
    B, n, STRIDE: tl.constexpr, DENSE_STRIDE: tl.constexpr, F: tl.constexpr,
    T: tl.constexpr, N: tl.constexpr, M: tl.constexpr, DENSE: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    sample, j = tl.program_id(0).to(tl.int64), tl.program_id(1)
    k, t = tl.arange(0, N), tl.arange(0, T)
    node = sample * n
    nodes += node * STRIDE + t
    weights = edge + (sample // B) * F * 3 * T + t
    raw += node * n * F
    rest = tl.load(nodes + k[:, None] * STRIDE + 2 * T, (k < n)[:, None], 0.0)
    rest += tl.load(nodes + j * STRIDE + T)[None, :]
    for f in tl.static_range(F):
        of_jk = tl.load(raw + (j * n + k) * F + f, k < n, 0.0)
        rest += of_jk[:, None] * tl.load(weights + f * 3 * T + 2 * T)[None, :]
    if DENSE:
        dense += node * n * DENSE_STRIDE + t
        third = dense + (j * n + k)[:, None] * DENSE_STRIDE + 2 * T
        rest += tl.load(third, (k < n)[:, None], 0.0)
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
        if DENSE:
            left += tl.load(dense + (i * n + j)[:, None] * DENSE_STRIDE, (i < n)[:, None], 0.0)
            second = (i[:, None] * n + k[None, :])[:, :, None] * DENSE_STRIDE + T
            right += tl.load(dense + second, there[:, :, None], 0.0)
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
    nodes: Tensor,  # (S, B, n, 3T): projections of i, j and k; perhaps columns of wider rows
    edges: FactoredEdges,  # 3T: those of (i, j), (i, k) and (j, k)
    maxima: Tensor,  # (S, B, n, n, T), to be written
    winner: Tensor | None,  # likewise, int16
) -> None:
    """For all j and k, the largest over i of the sum of (i, j, k), and which i it is."""
    S, B, n, _, T = maxima.shape
    raw, weight, dense = edges
    _triplet_max[(S * B, n)](
        nodes, raw, dense, weight, maxima, winner, B, n, STRIDE=nodes.stride(-2),
        DENSE_STRIDE=0 if dense is None else dense.stride(-2), F=raw.shape[-1],
        DENSE=dense is not None, KEEP=winner is not None, **_resources(n, T),
    )  # fmt: skip


@triton.jit
def _added(grad_buffers, place, there, size, SLOTS: tl.constexpr):
    """The sum over grad buffers that lie `size` numbers apart."""
    total = tl.load(grad_buffers + place, there, 0.0)
    for slot in tl.static_range(1, SLOTS):
        total += tl.load(grad_buffers + slot * size + place, there, 0.0)
    return total


@triton.jit(do_not_specialize=_COUNTS)
def _triplet_max_backward(
    d_maxima, winner, edge,  # inputs
    d_nodes, d_edges, d_raw,  # results
    size, B, n, STRIDE: tl.constexpr, F: tl.constexpr,
    T: tl.constexpr, N: tl.constexpr, X: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    sample = tl.program_id(0).to(tl.int64)
    x, y, t = tl.program_id(1) * X + tl.arange(0, X), tl.arange(0, N), tl.arange(0, T)
    node, there = sample * n, (y < n)[:, None]
    d_maxima, winner = d_maxima + node * n * T, winner + node * n * T
    left, right = tl.zeros((X, N, T), tl.float32), tl.zeros((X, N, T), tl.float32)
    for z in range(n):  # where x was the largest: over k for each j, over j for each k
        place = (y * n + z)[:, None] * T + t
        mine = tl.load(winner + place, there, -1)[None, :, :] == x[:, None, None]
        grad = _added(d_maxima, place, there, size, SLOTS)
        left += tl.where(mine, grad[None, :, :], 0.0)
        place = (z * n + y)[:, None] * T + t
        mine = tl.load(winner + place, there, -1)[None, :, :] == x[:, None, None]
        grad = _added(d_maxima, place, there, size, SLOTS)
        right += tl.where(mine, grad[None, :, :], 0.0)
    known = (x < n)[:, None] & (y < n)[None, :]
    pair = x[:, None] * n + y[None, :]
    third = _added(d_maxima, pair[:, :, None] * T + t, known[:, :, None], size, SLOTS)
    transposed = y[None, :] * n + x[:, None]
    of_k = _added(d_maxima, transposed[:, :, None] * T + t, known[:, :, None], size, SLOTS)
    nodes = d_nodes + (node + x)[:, None] * STRIDE + t
    is_node = (x < n)[:, None]
    tl.store(nodes, tl.sum(left, 1), is_node)
    tl.store(nodes + T, tl.sum(third, 1), is_node)
    tl.store(nodes + 2 * T, tl.sum(of_k, 1), is_node)
    edges = d_edges + node * n * 3 * T + pair[:, :, None] * 3 * T + t
    tl.store(edges, left, known[:, :, None])
    tl.store(edges + T, right, known[:, :, None])
    tl.store(edges + 2 * T, third, known[:, :, None])
    for f in tl.static_range(F):
        weights = edge + ((sample // B) * F + f) * 3 * T + t
        number = left * tl.load(weights)[None, None, :]
        number += right * tl.load(weights + T)[None, None, :]
        number += third * tl.load(weights + 2 * T)[None, None, :]
        tl.store(d_raw + node * n * F + pair * F + f, tl.sum(number, 2), known)


def triplet_max_backward(
    d_maxima: Tensor,  # (grad buffers, S, B, n, n, T), to be summed over the first axis
    winner: Tensor,
    edge: Tensor,  # (S, F, 3T)
    d_nodes: Tensor,  # (S, B, n, 3T), perhaps columns of wider rows
    d_edges: Tensor,  # (S, B, n, n, 3T): the gradient of the edge features,
    d_raw: Tensor,  # (S, B, n, n, F): and of the raw numbers that they are made of
) -> None:
    """The gradients of the inputs of `triplet_max`."""
    grad_buffers, S, B, n, _, T = d_maxima.shape
    N = padded(n)
    X = max(1, min(N, _SUMS // (N * T)))
    _triplet_max_backward[(S * B, triton.cdiv(n, X))](
        d_maxima, winner, edge, d_nodes, d_edges, d_raw, d_maxima.stride(0), B, n,
        STRIDE=d_nodes.stride(-2), F=d_raw.shape[-1], T=T, N=N, X=X,
        SLOTS=grad_buffers, num_warps=4,
    )  # fmt: skip
