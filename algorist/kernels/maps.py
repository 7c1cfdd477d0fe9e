"""The weights of one step of message passing, composed for one algorithm.

Those of nodes read the raw numbers of the node, those of the graph, a one, and then states: biases
are the row of the one. What is constant in edges is added to nodes, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from algorist.kernels.affine import Affine

LINE = 16
"""Rows that begin at multiples of this are read with full width."""


class Update(NamedTuple):
    """The update of a state from the largest messages, and its gate."""

    of_message: Tensor  # (S, h, h), or 2h with the gate's part
    norm: tuple[Tensor, Tensor] | None  # scale and offset, (S, h) each
    gate: Affine | None


class ProcessMaps(NamedTuple):
    """The weights of the processor."""

    state: Tensor
    """(numbers, hidden) -> receiver, triplets (three), sender, self projection and gate."""
    edge: Tensor  # (S, Fe, h)
    first: Affine
    second: Tensor
    triplet: Tensor | None
    """(S, Fe, 3f): the edges (i, j), (i, k) and (j, k); None where nobody reads triplets."""
    update: Update


class Pointing(NamedTuple):
    """Decoders of pointers, P of them side by side; of one, without that axis."""

    edge: Tensor  # (S, P, Fe, h)
    triplet: Tensor  # (S, P, h, h), or with nothing in it where there are no triplets
    score: Tensor  # (S, P, h, 1)
    bias: Tensor  # (S, P, 1)

    @property
    def affine(self) -> Affine:
        """The last map of one pointer."""
        return Affine(self.score, self.bias)


class EdgeValues(NamedTuple):
    """Decoders of values of edges."""

    edge: Tensor  # (S, Fe, C)
    triplet: Tensor  # (S, h, C), or with nothing in it


class Pooling(NamedTuple):
    """Decoders of values of the graph."""

    encoder: Tensor  # (S, Fx, h): numbers -> the encoding of a node
    pooled: Tensor  # (S, 3h, C): of the largest encoding, old and new state over all nodes
    graph: Tensor  # (S, Fx, C): of the numbers of the graph, and what is constant


class DecodeMaps(NamedTuple):
    """The weights of the decoders of some features."""

    nodes: Tensor | None
    """(numbers, before, after) -> values of nodes; for all values of edges source, then target;
    nothing, up to a full line; for each pointer source and target; for each pointer of edges
    source, target and pointee."""
    node_values: int  # how many of these columns are values of nodes
    points: Pointing | None
    edges: EdgeValues | None
    edge_pointer_logits: Pointing | None
    graph: Pooling | None
    widen: Affine | None  # from maxima over triplets to edge states, f -> h

    @property
    def narrow(self) -> int:
        """How many columns of nodes come before those of pointers, without those for nothing."""
        return self.node_values + (2 * self.edges.edge.shape[-1] if self.edges else 0)

    @property
    def rest(self) -> int:
        """Where those of pointers begin."""
        return -(-self.narrow // LINE) * LINE


Maps = Any
"""Tensors in nested tuples, None where there is nothing, and plain numbers."""


def tensors(maps: Maps) -> list[Tensor]:
    """The tensors of nested maps, in order."""
    if isinstance(maps, tuple):
        return [tensor for part in maps for tensor in tensors(part)]
    return [maps] if isinstance(maps, Tensor) else []


def changed(maps: Maps, change: Callable[[Tensor], Tensor]) -> Maps:
    """The same maps with each tensor changed."""
    if isinstance(maps, tuple):
        parts = (changed(part, change) for part in maps)
        return type(maps)(*parts) if hasattr(maps, "_fields") else tuple(parts)
    return change(maps) if isinstance(maps, Tensor) else maps


def detached(maps: Maps) -> Maps:
    """The same maps, cut off from the gradient, each tensor in one piece."""
    return changed(maps, lambda x: x.detach().contiguous())


def matching(maps: Maps, others: Maps) -> list[Tensor | None]:
    """What others have for each tensor of nested maps, None where they have nothing."""
    if isinstance(maps, tuple):
        parts = others if others is not None else (None,) * len(maps)
        return [x for mine, theirs in zip(maps, parts, strict=True) for x in matching(mine, theirs)]
    return [others] if isinstance(maps, Tensor) else []
