"""The Sinkhorn operator on logarithms, in one kernel forward and one backward.

A program takes one matrix and holds all of it. Each step takes the logarithms of the sums of all
rows and then of all columns from the matrix. Forward keeps what was taken, so that backward can
give it back and see each intermediate matrix again.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import padded

_RULED_OUT = tl.constexpr(-1.0e6)
"""What is added on the diagonal: no node comes after itself."""


@triton.jit
def _place(n, N: tl.constexpr):
    """Rows and columns of a matrix, and which entries are there."""
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    return row, column, (row < n) & (column < n)


@triton.jit
def _log_sums(x, there, AXIS: tl.constexpr):
    """The logarithms of the sums of exponentials along an axis, 0 where nothing is there."""
    most = tl.where(there, tl.max(x, AXIS, keep_dims=True), 0.0)
    total = tl.sum(tl.exp(x - most), AXIS, keep_dims=True)
    return most + tl.log(tl.where(there, total, 1.0))


@triton.jit
def _log_sinkhorn(
    scores, noise,  # inputs
    result, taken,  # results
    n, steps, temperature, N: tl.constexpr, NOISE: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    matrix = tl.program_id(0).to(tl.int64)
    row, column, there = _place(n, N)
    at = matrix * n * n + row * n + column
    x = tl.load(scores + at, there, 0.0)
    if NOISE:
        x += tl.load(noise + at, there, 0.0)
    x = x / temperature + tl.where(row == column, _RULED_OUT, 0.0)
    x = tl.where(there, x, float("-inf"))
    taken += matrix * steps * 2 * n
    for _ in range(steps):
        of_rows = _log_sums(x, row < n, 1)
        x -= of_rows
        of_columns = _log_sums(x, column < n, 0)
        x -= of_columns
        if KEEP:
            tl.store(taken + row, of_rows, row < n)
            tl.store(taken + n + column, of_columns, column < n)
            taken += 2 * n
    tl.store(result + at, x, there)


@triton.jit
def _log_sinkhorn_backward(
    grads, result, taken,  # inputs
    d_scores,  # result
    n, steps, temperature, N: tl.constexpr,
):  # fmt: skip
    matrix = tl.program_id(0).to(tl.int64)
    row, column, there = _place(n, N)
    at = matrix * n * n + row * n + column
    x = tl.load(result + at, there, float("-inf"))
    grad = tl.load(grads + at, there, 0.0)
    taken += (matrix + 1) * steps * 2 * n
    for _ in range(steps):
        taken -= 2 * n
        of_rows = tl.load(taken + row, row < n, 0.0)
        of_columns = tl.load(taken + n + column, column < n, 0.0)
        grad -= tl.exp(x) * tl.sum(grad, 0, keep_dims=True)
        x += of_columns
        grad -= tl.exp(x) * tl.sum(grad, 1, keep_dims=True)
        x += of_rows
    tl.store(d_scores + at, grad / temperature, there)


def log_sinkhorn(scores: Tensor, steps: int, temperature: float, noise: Tensor | None) -> Tensor:
    """The logarithms of nearly doubly stochastic matrices with empty diagonals, (..., n, n).

    The noise, which is added to the scores, gets no gradient.
    """
    return _LogSinkhorn.apply(scores, steps, temperature, noise)


class _LogSinkhorn(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, steps: int, temperature: float, noise: Tensor | None
    ) -> Tensor:
        scores, n = scores.contiguous(), scores.shape[-1]
        matrices, keep = scores.shape[:-2].numel(), ctx.needs_input_grad[0]
        result = torch.empty_like(scores)
        taken = scores.new_empty(matrices, steps, 2, n) if keep else result
        added = scores if noise is None else noise.expand_as(scores).contiguous()
        _log_sinkhorn[(matrices,)](
            scores, added, result, taken, n, steps, temperature,
            NOISE=noise is not None, KEEP=keep, **_resources(n),
        )  # fmt: skip
        ctx.save_for_backward(result, taken)
        ctx.steps, ctx.temperature = steps, temperature
        return result

    @staticmethod
    def backward(ctx: Any, grads: Tensor) -> tuple[Tensor | None, ...]:
        result, taken = ctx.saved_tensors
        d_scores, n = torch.empty_like(result), result.shape[-1]
        _log_sinkhorn_backward[(len(taken),)](
            grads.contiguous(), result, taken, d_scores, n, ctx.steps, ctx.temperature,
            **_resources(n),
        )  # fmt: skip
        return d_scores, None, None, None


def _resources(n: int) -> dict[str, int]:
    """How large a matrix becomes, and among how many threads it is cut."""
    N = padded(n)
    return {"N": N, "num_warps": min(N // 8, 16)}
