"""The maps of one step of message passing, composed for one algorithm: what kernels are given.

Inputs of nodes are the raw numbers of the node, then those of the graph, then the states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from algorist.kernels.affine import Affine


class Update(NamedTuple):
    """What a node makes of its largest messages: new values, and a gate for them."""

    of_message: Affine  # h -> h, or 2h with the gate's part
    norm: tuple[Tensor, Tensor] | None  # scale and offset, (S, h) each
    gate: Affine | None


class ProcessMaps(NamedTuple):
    """How states are renewed."""

    state: Affine
    """(nodes, graph, hidden) -> parts for receiver, triplets (three), sender, keep and gate."""
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

    encoder: Affine  # raw numbers of a node -> h
    pooled: Affine  # the largest encoding, old and new state over all nodes -> C
    graph: Affine  # raw numbers of the graph -> C


class DecodeMaps(NamedTuple):
    """How some features are predicted."""

    nodes: Affine | None
    """(nodes, before, after) -> values of nodes; for all values of edges source, then target; for
    each pointer source and target; for each pointer of edges source, target and pointee."""
    node_values: int  # how many of these columns are values of nodes
    points: Pointing | None
    edges: EdgeValues | None
    cubes: Pointing | None
    graph: Pooling | None
    widen: Affine | None  # how triplets are read, f -> h

    @property
    def narrow(self) -> int:
        """How many columns of nodes come before those of pointers."""
        return self.node_values + (2 * self.edges.edge.shape[-1] if self.edges else 0)


Maps = Any
"""Tensors in nested tuples, None where there is nothing, and plain numbers."""


def tensors(maps: Maps) -> list[Tensor]:
    """All tensors of nested maps, in order."""
    if isinstance(maps, tuple):
        return [tensor for part in maps for tensor in tensors(part)]
    return [maps] if isinstance(maps, Tensor) else []


def detached(maps: Maps) -> Maps:
    """The same maps, cut off from the gradient, each tensor in one piece."""
    if isinstance(maps, tuple):
        parts = (detached(part) for part in maps)
        return type(maps)(*parts) if hasattr(maps, "_fields") else tuple(parts)
    return maps.detach().contiguous() if isinstance(maps, Tensor) else maps


def matching(maps: Maps, others: Maps) -> list[Tensor | None]:
    """What others have for each tensor of nested maps, None where they have nothing."""
    if isinstance(maps, tuple):
        parts = others if others is not None else (None,) * len(maps)
        return [x for mine, theirs in zip(maps, parts, strict=True) for x in matching(mine, theirs)]
    return [others] if isinstance(maps, Tensor) else []
