"""The operations that dominate the cost of a step, computed by the kernels that are chosen.

`plain` says what each computes. On CPUs `compiled` is faster where gradients are wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType

import torch
from torch import Tensor

from algorist.errors import unknown
from algorist.kernels import compiled, plain
from algorist.kernels.affine import Affine

KERNELS = ("auto", "plain", "fused")
"""How a net may be computed."""

_chosen: ContextVar[str] = ContextVar("kernels", default="auto")


@contextmanager
def using(kernels: str) -> Iterator[None]:
    """Compute operations by some kernels: `plain`, or `auto` for the fastest of the device."""
    if kernels not in KERNELS:
        raise ValueError(unknown("kernels", kernels, KERNELS))
    token = _chosen.set(kernels)
    try:
        yield
    finally:
        _chosen.reset(token)


def choose(device: torch.device) -> ModuleType:
    """The kernels for a device: those compiled for training on CPUs, else plain ones."""
    on_cpu = device.type == "cpu" and torch.is_grad_enabled()
    return compiled if on_cpu and _chosen.get() == "auto" else plain


def message_max(
    receiver: Tensor,
    sender: Tensor,
    raw: Tensor,
    adjacency: Tensor | None,
    edge: Tensor,
    first: Affine,
    second: Tensor,
) -> Tensor:
    """The largest message that each node receives: see `plain.message_max`."""
    kernels = choose(raw.device)
    return kernels.message_max(receiver, sender, raw, adjacency, edge, first, second)


def triplet_maxima(nodes: Tensor, raw: Tensor, edge: Tensor) -> Tensor:
    """The largest over the first node of all triplets: see `plain.triplet_maxima`."""
    return choose(raw.device).triplet_maxima(nodes, raw, edge)


def pointer_scores(
    source: Tensor,
    target: Tensor,
    raw: Tensor,
    triplets: Tensor | None,
    edge: Tensor,
    triplet: Tensor,
    score: Affine,
) -> Tensor:
    """How strongly each node points to each other: see `plain.pointer_scores`."""
    kernels = choose(raw.device)
    return kernels.pointer_scores(source, target, raw, triplets, edge, triplet, score)
