"""The choice of kernels for a scan step by step: the same operations, plain or compiled for CPUs.

Operations are prepared once for a scan of some steps, with the weights that stay the same, and then
called at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from algorist.errors import unknown
from algorist.kernels import compiled, plain
from algorist.kernels.affine import Affine
from algorist.kernels.maps import Update

Project = Callable[..., tuple[Tensor, ...]]
"""(parts of the values...) -> the values of each map."""
Message = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
"""(receiver, sender, raw, adjacency) -> the largest message of each node."""
Renew = Callable[[Tensor, Tensor | None, Tensor, Tensor], Tensor]
"""(keep, gate, messages, hidden) -> new hidden."""
TripletMax = Callable[[Tensor, Tensor], Tensor]
"""(parts of the three nodes side by side, raw) -> maxima."""
Pointer = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
"""(source, target, raw, triplets (S, B, n, n, h)) -> scores (S, B, source, target)."""


class Kernels(Protocol):
    """The operations that dominate the cost; `plain` says what each computes."""

    def project(self, weight: Tensor, sizes: Sequence[int]) -> Project:
        """Several maps of the same values, of so many outputs each."""
        ...

    def message(self, edge: Tensor, first: Affine, second: Tensor) -> Message:
        """Messages between all pairs of nodes and their maxima."""
        ...

    def renew(self, maps: Update) -> Renew:
        """New states of the nodes."""
        ...

    def triplet_max(self, edge: Tensor) -> TripletMax:
        """Maxima over the first of three nodes."""
        ...

    def pointer(self, edge: Tensor, triplet: Tensor, score: Tensor, bias: Tensor) -> Pointer:
        """Scores of pointers from each node to each other."""
        ...


class Plain:
    """Plain PyTorch, on any device."""

    def project(self, weight: Tensor, sizes: Sequence[int]) -> Project:
        """Several maps of the same values, of so many outputs each."""
        return lambda *parts: plain.project(parts, weight, sizes)

    def message(self, edge: Tensor, first: Affine, second: Tensor) -> Message:
        """Messages between all pairs of nodes and their maxima."""
        return partial(plain.message_max, edge=edge, first=first, second=second)

    def renew(self, maps: Update) -> Renew:
        """New states of the nodes."""
        return partial(plain.update, maps=maps)

    def triplet_max(self, edge: Tensor) -> TripletMax:
        """Maxima over the first of three nodes."""
        return partial(plain.triplet_maxima, edge=edge)

    def pointer(self, edge: Tensor, triplet: Tensor, score: Tensor, bias: Tensor) -> Pointer:
        """Scores of pointers from each node to each other."""
        last = Affine(score, bias)
        return partial(plain.pointer_scores, edge=edge, triplet=triplet, score=last)


class Compiled(Plain):
    """Matrix products by PyTorch and maxima by Numba, for training on CPUs."""

    def message(self, edge: Tensor, first: Affine, second: Tensor) -> Message:
        """Messages between all pairs of nodes and their maxima."""
        return partial(compiled.message_max, edge=edge, first=first, second=second)

    def triplet_max(self, edge: Tensor) -> TripletMax:
        """Maxima over the first of three nodes."""
        return partial(compiled.triplet_maxima, edge=edge)

    def pointer(self, edge: Tensor, triplet: Tensor, score: Tensor, bias: Tensor) -> Pointer:
        """Scores of pointers from each node to each other."""
        last = Affine(score, bias)
        return partial(compiled.pointer_scores, edge=edge, triplet=triplet, score=last)


KERNELS = ("auto", "plain", "fused")
"""How a net may be computed."""


def choose(kernels: str, device: torch.device) -> Kernels:
    """The kernels for a scan step by step: those compiled for training on CPUs, else plain ones."""
    if kernels not in KERNELS:
        raise ValueError(unknown("kernels", kernels, KERNELS))
    if kernels == "auto" and device.type == "cpu" and torch.is_grad_enabled():
        return Compiled()
    return Plain()
