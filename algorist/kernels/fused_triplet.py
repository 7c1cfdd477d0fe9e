"""Triplet maxima in one kernel: for all j and k, the largest over i of what (i, j, k) sum up to.

A program takes one node j of one sample and all k; it walks through the nodes i.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.late import Kept, Late, weight_gradient
from algorist.kernels.tiling import as_rows, padded


@triton.jit
def _forward(
    nodes, raw, edge,  # inputs: (S, B, n, 3T), (S, B, n, n, F), (S, F, 3T)
    maxima, winner,  # results
    B, n, F, stride, T: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    sample, j = tl.program_id(0).to(tl.int64), tl.program_id(1)
    weights = edge + (sample // B) * F * 3 * T
    k, t = tl.arange(0, N), tl.arange(0, T)
    there = k < n
    node = sample * n
    rest = tl.load(nodes + (node + k)[:, None] * stride + 2 * T + t, there[:, None], 0.0)
    rest += tl.load(nodes + (node + j) * stride + T + t)
    for f in range(F):
        number = tl.load(raw + ((node + j) * n + k) * F + f, there, 0.0)
        rest += number[:, None] * tl.load(weights + f * 3 * T + 2 * T + t)
    best = tl.full((N, T), -3.0e38, tl.float32)
    which = tl.zeros((N, T), tl.int32)
    for i in range(n):
        left = tl.load(nodes + (node + i) * stride + t)
        right = tl.zeros((N, T), tl.float32)
        for f in range(F):
            left += tl.load(raw + ((node + i) * n + j) * F + f) * tl.load(weights + f * 3 * T + t)
            number = tl.load(raw + ((node + i) * n + k) * F + f, there, 0.0)
            right += number[:, None] * tl.load(weights + f * 3 * T + T + t)
        value = left + right
        which = tl.where(value > best, i, which)
        best = tl.maximum(value, best)
    place = ((node + j) * n + k)[:, None] * T + t
    tl.store(maxima + place, best + rest, there[:, None])
    tl.store(winner + place, which.to(tl.int16), there[:, None])


@triton.jit
def _backward(
    gradient, winner, edge,  # inputs
    d_edges, d_raw,  # results: (S, B, n, n, 3T), (S, B, n, n, F)
    B, n, F, T: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    sample, x = tl.program_id(0).to(tl.int64), tl.program_id(1)
    weights = edge + (sample // B) * F * 3 * T
    y, t = tl.arange(0, N), tl.arange(0, T)
    there = (y < n)[:, None]
    node = sample * n
    as_j = ((node + x) * n + y)[:, None] * T + t  # (j, k) = (x, y)
    as_k = ((node + y) * n + x)[:, None] * T + t  # (j, k) = (y, x)
    slope_j, won_j = tl.load(gradient + as_j, there, 0.0), tl.load(winner + as_j, there, -1)
    slope_k, won_k = tl.load(gradient + as_k, there, 0.0), tl.load(winner + as_k, there, -1)
    for i in range(n):
        pair = (node + i) * n + x
        left = tl.sum(tl.where(won_j == i, slope_j, 0.0), 0)  # of edge (i, j = x)
        right = tl.sum(tl.where(won_k == i, slope_k, 0.0), 0)  # of edge (i, k = x)
        third = tl.load(gradient + pair * T + t)  # of edge (j = i, k = x)
        tl.store(d_edges + pair * 3 * T + t, left)
        tl.store(d_edges + pair * 3 * T + T + t, right)
        tl.store(d_edges + pair * 3 * T + 2 * T + t, third)
        for f in range(F):
            of = weights + f * 3 * T + t
            part = left * tl.load(of) + right * tl.load(of + T) + third * tl.load(of + 2 * T)
            tl.store(d_raw + pair * F + f, tl.sum(part, 0))


class TripletMax:
    """The operation for a scan; `edge` holds the weights of the edges (i, j), (i, k), (j, k)."""

    def __init__(self, edge: Tensor, raws: Kept, steps: int):
        self.raws, self.kept, self.taken = raws, Kept(steps), 0
        (self.weight,) = Late.apply(self.weight_gradients, edge)

    def __call__(self, nodes: Tensor, raw: Tensor) -> Tensor:
        """The maxima (S, B, j, k, f); `nodes` are the parts of i, j and k side by side."""
        step, self.taken = self.taken, self.taken + 1
        return _Step.apply(self, step, nodes, raw, self.weight)

    def weight_gradients(self) -> tuple[Tensor, ...]:
        """Over all steps: of the edges' weights."""
        return (weight_gradient(self.raws.rows("raw"), self.kept.rows("d_edges")),)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, triplets: TripletMax, step: int, nodes: Tensor, raw: Tensor, edge: Tensor
    ) -> Tensor:
        S, B, n, wide = nodes.shape
        raw, nodes, features = raw.contiguous(), as_rows(nodes), wide // 3
        maxima = raw.new_empty(S, B, n, n, features)
        winner = torch.empty_like(maxima, dtype=torch.int16)
        _forward[(S * B, n)](
            nodes, raw, edge.contiguous(), maxima, winner, B, n, raw.shape[-1], nodes.stride(2),
            T=features, N=padded(n), num_warps=2,
        )  # fmt: skip
        if any(ctx.needs_input_grad):
            triplets.raws.once("raw", raw)
            ctx.kept, ctx.step = triplets.kept, step
            ctx.save_for_backward(winner, raw, edge)
        return maxima

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        winner, raw, edge = ctx.saved_tensors
        S, B, n, _, features = gradient.shape
        d_edges = ctx.kept.slot("d_edges", ctx.step, raw, 3 * features)
        d_raw, gradient = torch.empty_like(raw), gradient.contiguous()
        _backward[(S * B, n)](
            gradient, winner, edge.contiguous(), d_edges, d_raw, B, n, raw.shape[-1],
            T=features, N=padded(n), num_warps=2,
        )  # fmt: skip
        left = d_edges[..., :features].sum(3)  # over j
        d_nodes = torch.cat((left, gradient.sum(3), gradient.sum(2)), -1)
        return None, None, d_nodes, d_raw, None
