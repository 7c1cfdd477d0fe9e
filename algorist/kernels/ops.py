"""The choice of kernels: the same operations, plain, compiled for CPUs or fused for GPUs.

Operations are prepared once for a scan of some steps, with the weights that stay the same, and then
called at each step.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import relu

from algorist.errors import unknown
from algorist.kernels import compiled, plain
from algorist.kernels.affine import Affine, Joined
from algorist.kernels.late import Kept


@dataclass(frozen=True)
class Triplets:
    """What is known of the triplets of each pair of nodes, and how decoders read it."""

    maxima: Tensor  # (S, B, n, n, f)
    widen: Affine  # f -> h

    @cached_property
    def wide(self) -> Tensor:
        """(S, B, n, n, h)."""
        return relu(self.widen(self.maxima))


Project = Callable[..., tuple[Tensor, ...]]
"""(parts of the values...) -> the values of each map."""
Message = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
"""(receiver, sender, raw, adjacency) -> the largest message of each node."""
Renew = Callable[[Tensor, Tensor | None, Tensor, Tensor], Tensor]
"""(keep, gate, messages, hidden) -> new hidden."""
TripletMax = Callable[[Tensor, Tensor], Tensor]
"""(parts of the three nodes side by side, raw) -> maxima."""
Pointer = Callable[[Tensor, Tensor, Tensor, Triplets | None], Tensor]
"""(source, target, raw, triplets) -> scores (S, B, source, target)."""


class Kernels(Protocol):
    """The operations that dominate the cost; `plain` says what each computes."""

    def project(self, joined: Joined) -> Project:
        """Several maps of the same values."""
        ...

    def message(self, edge: Tensor, first: Affine, second: Tensor) -> Message:
        """Messages between all pairs of nodes and their maxima."""
        ...

    def renew(self, maps: plain.Update) -> Renew:
        """New states of the nodes."""
        ...

    def triplet_max(self, edge: Tensor) -> TripletMax:
        """Maxima over the first of three nodes."""
        ...

    def pointer(
        self, edge: Tensor, triplet: Tensor, score: Affine, widen: Affine | None
    ) -> Pointer:
        """Scores of pointers from each node to each other; `widen` is what their triplets have."""
        ...


class Plain:
    """Plain PyTorch, on any device."""

    def project(self, joined: Joined) -> Project:
        """Several maps of the same values."""
        return lambda *parts: plain.project(parts, joined)

    def message(self, edge: Tensor, first: Affine, second: Tensor) -> Message:
        """Messages between all pairs of nodes and their maxima."""
        return partial(plain.message_max, edge=edge, first=first, second=second)

    def renew(self, maps: plain.Update) -> Renew:
        """New states of the nodes."""
        return partial(plain.update, maps=maps)

    def triplet_max(self, edge: Tensor) -> TripletMax:
        """Maxima over the first of three nodes."""
        return partial(plain.triplet_maxima, edge=edge)

    def pointer(
        self, edge: Tensor, triplet: Tensor, score: Affine, widen: Affine | None
    ) -> Pointer:
        """Scores of pointers from each node to each other."""
        scores = partial(plain.pointer_scores, edge=edge, triplet=triplet, score=score)
        return _reading_wide_triplets(scores)


class Compiled(Plain):
    """Matrix products by PyTorch and maxima by Numba, for training on CPUs."""

    def message(self, edge: Tensor, first: Affine, second: Tensor) -> Message:
        """Messages between all pairs of nodes and their maxima."""
        return partial(compiled.message_max, edge=edge, first=first, second=second)

    def triplet_max(self, edge: Tensor) -> TripletMax:
        """Maxima over the first of three nodes."""
        return partial(compiled.triplet_maxima, edge=edge)

    def pointer(
        self, edge: Tensor, triplet: Tensor, score: Affine, widen: Affine | None
    ) -> Pointer:
        """Scores of pointers from each node to each other."""
        scores = partial(compiled.pointer_scores, edge=edge, triplet=triplet, score=score)
        return _reading_wide_triplets(scores)


def _reading_wide_triplets(scores: Callable[..., Tensor]) -> Pointer:
    """Pointer scores that read triplets in the hidden size."""
    return lambda source, target, raw, triplets: scores(
        source, target, raw, None if triplets is None else triplets.wide
    )


class Fused:
    """Triton kernels for NVIDIA GPUs, for a scan of `steps` steps."""

    def __init__(self, steps: int, precision: str):
        self._steps, self._precision = steps, precision
        self._raws = Kept(steps)

    def project(self, joined: Joined) -> Project:
        """Several maps of the same values."""
        from algorist.kernels.fused_node import Project as Operation

        return Operation(joined, self._steps)

    def message(self, edge: Tensor, first: Affine, second: Tensor) -> Message:
        """Messages between all pairs of nodes and their maxima."""
        from algorist.kernels.fused_message import Message as Operation

        return Operation(edge, first, second, self._raws, self._steps, self._precision)

    def renew(self, maps: plain.Update) -> Renew:
        """New states of the nodes."""
        from algorist.kernels.fused_node import Renew as Operation

        return Operation(maps, self._steps, self._precision)

    def triplet_max(self, edge: Tensor) -> TripletMax:
        """Maxima over the first of three nodes."""
        from algorist.kernels.fused_triplet import TripletMax as Operation

        return Operation(edge, self._raws, self._steps)

    def pointer(
        self, edge: Tensor, triplet: Tensor, score: Affine, widen: Affine | None
    ) -> Pointer:
        """Scores of pointers from each node to each other."""
        from algorist.kernels.fused_pointer import Pointer as Operation

        return Operation(edge, triplet, score, widen, self._raws, self._steps, self._precision)


PRECISIONS = {"fp32": "ieee", "tf32": "tf32"}
"""How fused kernels round the operands of matrix products, and Triton's names for it."""


def choose(
    kernels: str, precision: str, device: torch.device, steps: int, widths: Sequence[int] = ()
) -> Kernels:
    """The kernels by name, for a scan of `steps` steps on a device and values of some widths.

    plain; fused (for GPUs); or auto: fused on GPUs, compiled for training on CPUs, else plain.
    """
    if kernels not in ("auto", "plain", "fused"):
        raise ValueError(unknown("kernels", kernels, ("auto", "plain", "fused")))
    if precision not in PRECISIONS:
        raise ValueError(unknown("precision", precision, PRECISIONS))
    if kernels == "fused" or (kernels == "auto" and device.type == "cuda"):
        obstacle = _obstacle_to_fusing(widths)
        if obstacle is None:
            return Fused(steps, PRECISIONS[precision])
        if kernels == "fused":
            raise ValueError(f"kernels: fused ones {obstacle}; or choose plain")
        warnings.warn(f"plain kernels are used: fused ones {obstacle}", stacklevel=2)
    if kernels == "auto" and device.type == "cpu" and torch.is_grad_enabled():
        return Compiled()
    return Plain()


def _obstacle_to_fusing(widths: Sequence[int]) -> str | None:
    """What stands in the way of fused kernels, and how to remove it."""
    if importlib.util.find_spec("triton") is None:
        return "need Triton: pip install 'algorist[gpu]'"
    odd = [width for width in widths if width & (width - 1)]
    if odd:
        return f"need widths that are powers of two, got {odd[0]}"
    if widths and widths[0] < 16:
        return f"need a hidden size of at least 16, got {widths[0]}"
    return None
