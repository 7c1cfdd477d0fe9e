"""Gradients of weights, made late: once for all steps of a scan, from what the steps left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class Late(torch.autograd.Function):
    """Passes weights on. Their gradient comes from a function, when all uses have been visited.

    The uses themselves return no gradient for them.
    """

    @staticmethod
    def forward(
        ctx: Any, gradients: Callable[[], tuple[Tensor | None, ...]], *weights: Tensor
    ) -> tuple[Tensor, ...]:
        """The weights as they are."""
        ctx.gradients = gradients
        return tuple(weight.view_as(weight) for weight in weights)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple:
        """Their gradients."""
        gradients, ctx.gradients = ctx.gradients, None  # it holds the weights: let the ring go
        return (None, *gradients())


class Kept:
    """What the steps of a scan leave for later, side by side: one tensor a name, (K, S, ...)."""

    def __init__(self, steps: int):
        self._steps = steps
        self._tensors: dict[str, Tensor] = {}
        self._missing: dict[str, set[int]] = {}
        self._values: dict[str, dict[int, Tensor]] = {}

    def slot(self, name: str, step: int, like: Tensor, channels: int | None = None) -> Tensor:
        """Room for one step, of a shape like another's but for the number of channels."""
        if name not in self._tensors:
            shape = like.shape if channels is None else (*like.shape[:-1], channels)
            self._tensors[name] = like.new_empty(self._steps, *shape)
            self._missing[name] = set(range(self._steps))
        self._missing[name].discard(step)
        return self._tensors[name][step]

    def put(self, name: str, step: int, value: Tensor) -> None:
        """Keep a value that was made elsewhere."""
        self._values.setdefault(name, {})[step] = value

    def once(self, name: str, value: Tensor) -> None:
        """Keep a value that several operations of a step read, once for all of them."""
        known = self._values.setdefault(name, {})
        if not any(other is value for other in list(known.values())[-1:]):
            known[len(known)] = value

    def at(self, name: str, step: int) -> Tensor:
        """What one step left."""
        return self._tensors[name][step]

    def rows(self, name: str) -> Tensor:
        """What all steps left, as rows: (K, S, rows, channels), zeros of those that left none."""
        if name not in self._tensors:
            values = self._values.pop(name)
            self._tensors[name] = torch.stack([values[step] for step in sorted(values)])
        for step in self._missing.get(name, ()):
            self._tensors[name][step] = 0
        return self._tensors[name].flatten(2, -2)


def weight_gradient(inputs: Tensor, slopes: Tensor) -> Tensor:
    """Inputs times slopes, summed over steps and rows: (K, S, rows, a and b) -> (S, a, b).

    Cut into many small products that fill the device, then added up.
    """
    steps, replicas, rows, _ = inputs.shape
    parts = next(p for p in (32, 16, 8, 4, 2, 1) if rows % p == 0)

    def cut(x: Tensor) -> Tensor:
        return x.reshape(steps * replicas * parts, rows // parts, x.shape[-1])

    products = cut(inputs).mT @ cut(slopes)
    return products.view(steps, replicas, parts, *products.shape[1:]).sum((0, 2))
