"""What all operations do with their inputs: bring them into the form that kernels read."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from algorist.kernels.affine import FactoredEdges

MOST_NUMBERS = 32
"""Edges of more raw numbers than that are encoded by a matrix product before the kernel."""


def readable(x: Tensor) -> Tensor:
    """With rows at equal distances and contiguous channels, as kernels read projections."""
    if x.is_contiguous():  # whatever the strides of axes of length one
        return x.as_strided(x.shape, torch.empty(x.shape, device="meta").stride())
    strides, expected = x.stride(), x.stride(-2)
    regular = strides[-1] == 1
    for size, stride in zip(reversed(x.shape[:-1]), reversed(strides[:-1]), strict=True):
        regular = regular and stride == expected
        expected *= size
    return x if regular else x.contiguous()


def narrow(edges: FactoredEdges) -> FactoredEdges:
    """Edge features of few raw numbers: kernels multiply those one by one."""
    wide = edges.raw.shape[-1] > MOST_NUMBERS
    return FactoredEdges.of_dense(edges.encode()) if wide else edges


def readable_edges(raw: Tensor, weight: Tensor, dense: Tensor | None) -> FactoredEdges:
    """Edge features in the form that kernels read."""
    return FactoredEdges(
        raw.contiguous(), weight.contiguous(), None if dense is None else readable(dense)
    )


def needed_grads(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    """The gradients of inputs that need one."""
    needs = ctx.needs_input_grad
    return tuple(grad if need else None for grad, need in zip(grads, needs, strict=False))
