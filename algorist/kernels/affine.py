"""Linear maps of several replicas at once, and edge features that are kept as such maps.

Every parameter has a leading replica axis: S models of one recipe, with different seeds, are one
program. Values are laid out (replica, ..., channel).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import conv2d

from algorist.kernels.replica_function import ReplicaFunction
from algorist.kernels.rounding import exact_products

_PARTS = 32
"""The number of parts into which rows are cut for gradients of weights."""
_LARGE = 2**22
"""Products of at least this many multiplications are computed as convolutions on CPUs."""
_IMAGES = 16
"""The number of images that rows are convolved as: with fewer, one thread does not use oneDNN."""


class Affine(NamedTuple):
    """The map x -> x W + b, one for each replica."""

    weight: Tensor  # (S, in, out)
    bias: Tensor  # (S, out)

    def __call__(self, x: Tensor) -> Tensor:
        """Apply to values of shape (S, ..., in)."""
        if _convolves(x, self.weight):
            bias = self.bias.view(len(x), *(1,) * (x.ndim - 2), -1)
            return _convolution(x, self.weight).add_(bias)
        if len(x) == 1:  # a plain product: a batched one of one is slower
            return (x @ self.weight.squeeze(0)).add_(self.bias.squeeze(0))
        return _shaped(_BatchedProduct.apply(_rows(x), self.weight) + self.bias.unsqueeze(1), x)


def product(x: Tensor, weight: Tensor) -> Tensor:
    """x W, for values of shape (S, ..., in)."""
    if _convolves(x, weight):
        return _convolution(x, weight)
    if len(x) == 1:
        return x @ weight.squeeze(0)  # not weight[0], whose backward copies the whole of it
    return _shaped(_BatchedProduct.apply(_rows(x), weight), x)


def add_product(base: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """base + x W, for a base of shape (S, ..., out) and values of shape (S, ..., in)."""
    if _convolves(x, weight):
        return _convolution(x, weight).add_(base)
    if len(x) == 1:
        rows = torch.addmm(_rows(base).squeeze(0), _rows(x).squeeze(0), weight.squeeze(0))
        return _shaped(rows, x)
    return _shaped(_BatchedProduct.apply(_rows(x), weight) + _rows(base), x)


class FactoredEdges(NamedTuple):
    """Edge features `raw @ weight + dense` whose n x n x h tensor need not be in memory.

    Kernels build it row by row from the raw numbers. A pair of nodes is (from, to).
    """

    raw: Tensor
    """(S, B, n, n, F): a few numbers for each edge; F may be 0."""
    weight: Tensor
    """(S, F, h): how they are encoded."""
    dense: Tensor | None = None
    """(S, B, n, n, h): what is added to that, or nothing."""

    @classmethod
    def of_dense(cls, dense: Tensor) -> FactoredEdges:
        """Edge features (S, B, n, n, h) without raw numbers."""
        S, h = len(dense), dense.shape[-1]
        return cls(dense.new_empty(*dense.shape[:-1], 0), dense.new_empty(S, 0, h), dense)

    def encode(self) -> Tensor:
        """The features as one tensor, (S, B, n, n, h)."""
        with exact_products():
            if self.dense is None:
                return product(self.raw, self.weight)
            if self._only_dense:
                return self.dense
            return add_product(self.dense, self.raw, self.weight)

    def plus(self, x: Tensor) -> Tensor:
        """The features plus `x`, as a tensor of their own that may be changed in place."""
        return self.encode() + x if self._only_dense else self.encode().add_(x)

    @property
    def _only_dense(self) -> bool:
        return self.dense is not None and not self.raw.shape[-1]


class _BatchedProduct(ReplicaFunction):
    """x W for each replica: (S, rows, in) and (S, in, out) make (S, rows, out).

    The gradient of W sums over all rows. cuBLAS leaves most of a GPU idle there, since a batched
    product has few results. So the rows are cut into parts, whose sums are added up.
    """

    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> Tensor:
        return torch.bmm(x, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        of_x = torch.bmm(grad, weight.mT) if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return of_x, None
        S, rows, inputs = x.shape
        parts = math.gcd(rows, _PARTS)
        cut = (S * parts, rows // parts)
        of_parts = torch.bmm(x.reshape(*cut, inputs).mT, grad.reshape(*cut, grad.shape[-1]))
        return of_x, of_parts.unflatten(0, (S, parts)).sum(1)


def _convolves(x: Tensor, weight: Tensor) -> bool:
    """Whether a product is computed as a convolution: a large one of float32 on a CPU."""
    on_cpu = x.device.type == "cpu" and x.dtype == torch.float32
    return on_cpu and x.numel() * weight.shape[-1] >= _LARGE


def _convolution(x: Tensor, weight: Tensor) -> Tensor:
    """x W as a convolution with a kernel of one point, for each replica.

    PyTorch convolves with oneDNN, but multiplies float32 matrices with MKL, which takes 2.5 times
    as long on an AMD EPYC. A bias is not part of it, since its gradient would be slow.
    """
    images = math.gcd(x[0].numel() // x.shape[-1], _IMAGES)
    parts = [
        conv2d(
            values.reshape(images, -1, 1, values.shape[-1]).movedim(-1, 1),
            kernel.mT[..., None, None],
        ).movedim(1, -1)
        for values, kernel in zip(_replicas(x), _replicas(weight), strict=True)
    ]
    return _shaped(parts[0] if len(parts) == 1 else torch.cat(parts), x)


def _replicas(x: Tensor) -> Sequence[Tensor]:
    """The values of each replica; those of a single one without a copy of their gradient."""
    return x.unbind() if len(x) > 1 else [x.squeeze(0)]


def _rows(x: Tensor) -> Tensor:
    return x.flatten(1, -2) if x.ndim > 2 else x.unsqueeze(1)  # (S, rows, in)


def _shaped(rows: Tensor, like: Tensor) -> Tensor:
    """Rows in the shape of the values they were made of.

    An ordinary view would make every later change in place a costly affair for autograd.
    """
    return torch.ops.aten._unsafe_view(rows, (*like.shape[:-1], rows.shape[-1]))
