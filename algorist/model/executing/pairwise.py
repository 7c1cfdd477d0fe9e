"""Operations on numbers of nodes (..., n) and of pairs of nodes (..., n, n)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from algorist.model.grouped import stack_columns


def is_least(x: Tensor, among: Tensor, axis: int = -1) -> Tensor:
    """Whether each number is the smallest along an axis of those that are `among` some."""
    counted = x.masked_fill(~among, torch.inf)
    return (counted == counted.amin(axis, keepdim=True)) & among


def above_diagonal(x: Tensor) -> Tensor:
    """(..., m (m - 1) / 2): the numbers of matrices (..., m, m) above the diagonal."""
    return torch.cat([x[..., row, row + 1 :] for row in range(x.shape[-1] - 1)], -1)


def without_loops(edges: Tensor) -> Tensor:
    """(..., n, n): the same with zeros from each node to itself."""
    found = edges.clone()
    found.diagonal(dim1=-2, dim2=-1).zero_()
    return found


def successors(chain: Tensor) -> Tensor:
    """(..., n, n): from each node to the one that points to it, where each points to the last."""
    return without_loops(chain).mT


def has_weights(edges: Tensor) -> Tensor:
    """(..., 1, 1): whether graphs (..., n, n) have weights: in others all numbers are 0 or 1."""
    return (edges != edges.round()).flatten(-2).any(-1)[..., None, None]


def stack_bits(columns: Sequence[Tensor]) -> Tensor | None:
    """(..., F): bits (...) side by side; None if there are none."""
    return stack_columns(columns).float() if columns else None
