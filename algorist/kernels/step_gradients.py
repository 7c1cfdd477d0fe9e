"""Gradients of weights that all steps of a scan share, as one product for all steps.

Autograd would make a small product, a sum for the bias and an addition for each layer and step.
On a GPU these are a third of the time of a scan, since each keeps only a small part of it busy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

_PARTS = 32
"""How many parts the rows are cut into for gradients of weights."""
_MOST_ROWS = 8192
"""Products of more rows keep a GPU busy, and the gradients of all steps would take much memory."""


def weight_gradient(x: Tensor, grad: Tensor) -> Tensor:
    """The gradient of W in x W for each replica: (S, rows, in) and (S, rows, out) make (S, in, out).

    cuBLAS leaves most of a GPU idle here, since a product has few results and sums over many rows.
    So the rows are cut into parts, whose sums are added up.
    """
    S, rows, inputs = x.shape
    parts = math.gcd(rows, _PARTS)
    cut = (S * parts, rows // parts)
    of_parts = torch.bmm(x.reshape(*cut, inputs).mT, grad.reshape(*cut, grad.shape[-1]))
    return of_parts.unflatten(0, (S, parts)).sum(1)


class StepGradients:
    """The products of a scan with the weights that its steps share."""

    def __init__(self) -> None:
        self._layers: dict[tuple[int, int], _SharedLayer] = {}

    def takes(self, x: Tensor, weight: Tensor) -> bool:
        """Whether a product is one of those that are worth it."""
        learns = weight.requires_grad and torch.is_grad_enabled()
        return learns and 0 < x.numel() <= _MOST_ROWS * x.shape[-1]

    def product(
        self, x: Tensor, weight: Tensor, bias: Tensor | None = None, *, transposed: bool = False
    ) -> Tensor:
        """x W + b for rows (S, rows, in), weights (S, in, out) and biases (S, out).

        `transposed` weights and biases are those of `torch.nn.Linear`, (out, in) and (out,).
        """
        key = id(weight), id(bias)
        if key not in self._layers:
            self._layers[key] = _SharedLayer(weight, bias, transposed=transposed)
        return self._layers[key](x)


class _SharedLayer:
    """A layer whose weights have one node in the graph of autograd, behind all of its products."""

    def __init__(self, weight: Tensor, bias: Tensor | None, *, transposed: bool):
        self._kept = weight, bias  # so that no other tensor gets their ids
        if transposed:
            weight = weight.mT.unsqueeze(0)
            bias = None if bias is None else bias.unsqueeze(0)
        self._products: list[tuple[Tensor, Tensor]] = []
        self._weight, self._bias = _Shared.apply(weight, bias, self._products)

    def __call__(self, x: Tensor) -> Tensor:
        result: Tensor = _Product.apply(x, self._weight, self._bias, self._products)
        return result


class _Shared(torch.autograd.Function):
    """The same weights; backward, when all products are known, their gradients."""

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, bias: Tensor | None, products: list[tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor | None]:
        ctx.products = products
        ctx.set_materialize_grads(False)
        return weight.view_as(weight), None if bias is None else bias.view_as(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *nothing: None) -> tuple[Tensor | None, Tensor | None, None]:
        if not ctx.products:
            return None, None, None
        x, grad = (torch.cat(rows, 1) for rows in zip(*ctx.products, strict=True))
        ctx.products.clear()
        of_bias = grad.sum(1) if ctx.needs_input_grad[1] else None
        return weight_gradient(x, grad), of_bias, None


class _Product(torch.autograd.Function):
    """x W + b; backward, the gradient of x alone."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        products: list[tuple[Tensor, Tensor]],
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.products = products
        if len(x) == 1:  # a plain product: a batched one of one is slower
            x, weight = x[0], weight[0]
            result = x @ weight if bias is None else torch.addmm(bias[0], x, weight)
            return torch.ops.aten._unsafe_view(result, (1, *result.shape))
        return torch.bmm(x, weight) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None, None, None]:
        x, weight = ctx.saved_tensors
        ctx.products.append((x, grad))
        return torch.matmul(grad, weight.mT) if ctx.needs_input_grad[0] else None, None, None, None


class _TorchLayers(TorchFunctionMode):
    """`torch.nn.functional.linear` of users' own layers, with the gradients of all steps at once."""

    def __init__(self, gradients: StepGradients):
        super().__init__()
        self._gradients = gradients

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function is not linear or kwargs or active() is None:
            return function(*args, **kwargs)
        x, weight, bias = (*args, None)[:3]
        if weight.ndim != 2 or not self._gradients.takes(x, weight):
            return function(*args)
        rows = x.reshape(1, -1, x.shape[-1])
        result = self._gradients.product(rows, weight, bias, transposed=True)
        return torch.ops.aten._unsafe_view(result, (*x.shape[:-1], result.shape[-1]))


_ACTIVE: ContextVar[StepGradients | None] = ContextVar("step_gradients", default=None)


def active() -> StepGradients | None:
    """What collects gradients in this context, if anything; nothing does under `torch.func`."""
    gradients = _ACTIVE.get()
    if gradients is None or torch._C._functorch.peek_interpreter_stack() is not None:
        return None
    return gradients


@contextmanager
def step_gradients(*, enabled: bool = True) -> Iterator[None]:
    """Around the steps of a scan: make the gradients of the weights they share at once."""
    if not enabled:
        yield
        return
    gradients = StepGradients()
    token = _ACTIVE.set(gradients)
    try:
        with _TorchLayers(gradients):
            yield
    finally:
        _ACTIVE.reset(token)
