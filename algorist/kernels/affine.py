"""Linear maps of several replicas at once, and how to join and compose them.

Every parameter has a leading replica axis: S models of one recipe, with different seeds, are one
program. Values are laid out (replica, ..., channel).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad


class Affine(NamedTuple):
    """The map x -> x W + b, one for each replica."""

    weight: Tensor  # (S, in, out)
    bias: Tensor  # (S, out)

    def __call__(self, x: Tensor) -> Tensor:
        """Apply to values of shape (S, ..., in)."""
        if len(x) == 1:  # a plain product: a batched one of one is slower
            return (x @ self.weight[0]).add_(self.bias[0])
        return _shaped(torch.baddbmm(self.bias.unsqueeze(1), _rows(x), self.weight), x)

    def then(self, after: Affine) -> Affine:
        """The map that applies this one first: what follows a linear map can be folded into it."""
        return Affine(self.weight @ after.weight, after(self.bias))

    def reading(self, *encoders: Affine) -> Affine:
        """This map, with its first inputs read as the raw numbers that encoders make them of."""
        sizes = [encoder.weight.shape[-1] for encoder in encoders]
        # Cut at once: the gradients of the parts are then joined at once, too.
        *parts, rest = self.weight.split((*sizes, self.weight.shape[1] - sum(sizes)), 1)
        weights, bias = [], self.bias
        for encoder, part in zip(encoders, parts, strict=True):
            weight, bias = encoder.then(Affine(part, bias))
            weights.append(weight)
        return Affine(torch.cat((*weights, rest), 1), bias)

    def plus(self, bias: Tensor) -> Affine:
        """This map with a constant more for its first outputs."""
        return Affine(self.weight, self.bias + pad(bias, (0, self.bias.shape[-1] - bias.shape[-1])))


def product(x: Tensor, weight: Tensor) -> Tensor:
    """x W, for values of shape (S, ..., in)."""
    if len(x) == 1:
        return x @ weight[0]
    return _shaped(torch.bmm(_rows(x), weight), x)


def _rows(x: Tensor) -> Tensor:
    return x.flatten(1, -2) if x.ndim > 2 else x.unsqueeze(1)  # (S, rows, in)


def _shaped(rows: Tensor, like: Tensor) -> Tensor:
    """Rows in the shape of the values they were made of.

    An ordinary view would make every later change in place a costly affair for autograd.
    """
    return torch.ops.aten._unsafe_view(rows, (*like.shape[:-1], rows.shape[-1]))


class Joined(NamedTuple):
    """Several maps of the same input as one, and the number of outputs of each."""

    affine: Affine
    sizes: tuple[int, ...]


def join(affines: Sequence[Affine]) -> Joined:
    """Join maps that read the same input into a single matrix product."""
    return Joined(
        Affine(
            torch.cat([affine.weight for affine in affines], -1),
            torch.cat([affine.bias for affine in affines], -1),
        ),
        tuple(affine.weight.shape[-1] for affine in affines),
    )
