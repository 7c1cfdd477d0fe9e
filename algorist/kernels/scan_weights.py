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


class UpdateWeights(NamedTuple):
    """The weights of the update of a state from the largest messages, and of its gate."""

    of_message: Tensor  # (S, h, h), or 2h with the gate's part
    norm: tuple[Tensor, Tensor] | None  # scale and offset, (S, h) each
    gate: Affine | None


class ProcessorWeights(NamedTuple):
    """The weights of the processor."""

    state: Tensor
    """(numbers, hidden) -> receiver, triplets (three), sender, self projection and gate."""
    edge: Tensor  # (S, Fe, h)
    first: Affine
    second: Tensor
    triplet: Tensor | None
    """(S, Fe, 3f): the edges (i, j), (i, k) and (j, k); None where nobody reads triplets."""
    update: UpdateWeights


class PointerWeights(NamedTuple):
    """The weights of decoders of pointers, P of them side by side; of one, without that axis."""

    edge: Tensor  # (S, P, Fe, h)
    triplet: Tensor  # (S, P, h, h), or with nothing in it where there are no triplets
    score: Tensor  # (S, P, h, 1)
    bias: Tensor  # (S, P, 1)

    @property
    def affine(self) -> Affine:
        """The last map of one pointer."""
        return Affine(self.score, self.bias)


class EdgeValueWeights(NamedTuple):
    """The weights of decoders of values of edges."""

    edge: Tensor  # (S, Fe, C)
    triplet: Tensor  # (S, h, C), or with nothing in it


class PoolingWeights(NamedTuple):
    """The weights of decoders of values of the graph."""

    encoder: Tensor  # (S, Fx, h): numbers -> the encoding of a node
    pooled: Tensor  # (S, 3h, C): of the largest encoding, old and new state over all nodes
    graph: Tensor  # (S, Fx, C): of the numbers of the graph, and what is constant


class DecoderWeights(NamedTuple):
    """The weights of the decoders of some features."""

    nodes: Tensor | None
    """(numbers, before, after) -> values of nodes; for all values of edges source, then target;
    unused columns, up to a full line; for each pointer source and target; for each pointer of edges
    source, target and pointee."""
    node_values: int  # the number of these columns that are values of nodes
    points: PointerWeights | None
    edges: EdgeValueWeights | None
    edge_pointer_logits: PointerWeights | None
    graph: PoolingWeights | None
    triplet_projection: Affine | None  # from maxima over triplets to edge states, f -> h

    @property
    def value_columns(self) -> int:
        """The number of columns of `nodes` for values, which come before those of pointers."""
        return self.node_values + (2 * self.edges.edge.shape[-1] if self.edges else 0)

    @property
    def pointer_column(self) -> int:
        """The first column of `nodes` for pointers: the next full line."""
        return -(-self.value_columns // LINE) * LINE


Weights = Any
"""Tensors in nested tuples, None where there is nothing, and plain numbers."""


def list_tensors(weights: Weights) -> list[Tensor]:
    """The tensors of nested weights, in order."""
    if isinstance(weights, tuple):
        return [tensor for part in weights for tensor in list_tensors(part)]
    return [weights] if isinstance(weights, Tensor) else []


def map_tensors(weights: Weights, function: Callable[[Tensor], Tensor]) -> Weights:
    """Apply a function to each tensor of nested weights."""
    if isinstance(weights, tuple):
        parts = (map_tensors(part, function) for part in weights)
        return type(weights)(*parts) if hasattr(weights, "_fields") else tuple(parts)
    return function(weights) if isinstance(weights, Tensor) else weights


def detach(weights: Weights) -> Weights:
    """The same weights, cut off from the gradient, each tensor in one piece."""
    return map_tensors(weights, lambda x: x.detach().contiguous())


def list_gradients(weights: Weights, grads: Weights) -> list[Tensor | None]:
    """The gradient of each tensor of nested weights, in their order; None where there is none."""
    if isinstance(weights, tuple):
        parts = grads if grads is not None else (None,) * len(weights)
        pairs = zip(weights, parts, strict=True)
        return [x for part, grad in pairs for x in list_gradients(part, grad)]
    return [grads] if isinstance(weights, Tensor) else []
