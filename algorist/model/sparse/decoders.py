"""Decoders on sparse problems: the same layers, read along edges; pointers choose among neighbours.

Predictions are (S, N, ...) for nodes, (S, E, ...) for edges and for the choices of pointers, and
(S, G, ...) for graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from algorist.model.decoders import (
    BuiltInDecoder,
    EdgeDecoder,
    GraphDecoder,
    NodeDecoder,
    PointerDecoder,
)
from algorist.model.factored import Factored, Joint, side_by_side
from algorist.model.kinds import row
from algorist.model.processors.links import Segments, SparseLinks
from algorist.spec import Feature, Kind


class SparseStates(NamedTuple):
    """The inputs of decoders at one step."""

    nodes: Tensor | Factored  # (S, N, h)
    edges: Tensor | Factored  # (S, E, h)
    graph: Tensor | Factored  # (S, G, h)
    before: Tensor  # (S, N, h)
    after: Tensor  # (S, N, h)


class SparseDecoders:
    """The decoders of some features, ready for a scan."""

    def __init__(
        self, features: Sequence[Feature], decoders: Mapping[str, nn.Module], links: SparseLinks
    ):
        self._links = links
        self._decoders = {f.name: decoders[f.name] for f in features}
        for name, decoder in self._decoders.items():
            if type(decoder) not in _DECODED:
                raise ValueError(
                    f"{name}: {type(decoder).__name__} does not decode sparse problems, expected "
                    "a built-in decoder of nodes, edges, pointers or graphs"
                )
        every = [d for d in self._decoders.values() if isinstance(d, BuiltInDecoder)]
        self._node_layers = [layer for d in every for layer in d.node_layers]

    def __call__(self, states: SparseStates) -> dict[str, Tensor]:
        """Predictions by the names of their features."""
        nodes = Joint(side_by_side(states.nodes, states.before, states.after), self._node_layers)
        return {
            name: _DECODED[type(decoder)](decoder, nodes, states, self._links)
            for name, decoder in self._decoders.items()
        }


def _of_nodes(d: NodeDecoder, nodes: Joint, states: SparseStates, links: SparseLinks) -> Tensor:
    return d.forward(nodes, None, states.graph)


def _of_edges(d: EdgeDecoder, nodes: Joint, states: SparseStates, links: SparseLinks) -> Tensor:
    ends = links.of_senders(d.source(nodes)) + links.of_receivers(d.target(nodes))
    value = ends + d.edge(states.edges)
    return value if d.classes else value.squeeze(-1)


def _of_choices(
    d: PointerDecoder, nodes: Joint, states: SparseStates, links: SparseLinks
) -> Tensor:
    """The logit of each edge for its receiver, which may point to its sender."""
    target = links.of_senders(d.target(nodes)) + d.edge(states.edges)
    return d.score(torch.maximum(links.of_receivers(d.source(nodes)), target)).squeeze(-1)


def _of_graphs(d: GraphDecoder, nodes: Joint, states: SparseStates, links: SparseLinks) -> Tensor:
    value = d.pooled(links.by_graph.max(nodes.dense())) + d.graph(states.graph)
    return value if d.classes else value.squeeze(-1)


_DECODED: dict[type[nn.Module], Callable[[Any, Joint, SparseStates, SparseLinks], Tensor]] = {
    NodeDecoder: _of_nodes,
    EdgeDecoder: _of_edges,
    PointerDecoder: _of_choices,
    GraphDecoder: _of_graphs,
}


def choosers(feature: Feature, links: SparseLinks) -> Segments | None:
    """Among what the values of a feature choose one: edges of a node, nodes of a graph, or None."""
    return {Kind.POINTER: links.by_receiver, Kind.MASK_ONE: links.by_graph}.get(feature.kind)


def sparse_one_hot(feature: Feature, truth: Tensor, edges: int) -> Tensor:
    """A truth in the form of predictions: pointers one-hot among E edges."""
    if feature.kind != Kind.POINTER:
        return truth.float()
    return truth.new_zeros(len(truth), edges, dtype=torch.float32).scatter_(1, truth.long(), 1.0)


def sparse_feedback(
    feature: Feature, prediction: Tensor, links: SparseLinks, *, hard: bool
) -> Tensor:
    """A prediction as the next step reads it."""
    segments = choosers(feature, links)
    if segments is None:
        return row(feature).ops.feedback(prediction, hard)
    if not hard:
        return segments.log_softmax(prediction).exp()
    return torch.zeros_like(prediction).scatter_(1, segments.argmax(prediction), 1.0)


def sparse_answer(
    feature: Feature, prediction: Tensor, links: SparseLinks, senders: Tensor
) -> Tensor:
    """A prediction as an answer: pointers are numbers of nodes, the rest is as batches have it."""
    segments = choosers(feature, links)
    if segments is None:
        return row(feature).ops.final(prediction)
    chosen = segments.argmax(prediction)
    if feature.kind == Kind.POINTER:
        return senders.gather(1, chosen)
    return one_hot(chosen, prediction.shape[1]).sum(1)


def sparse_loss(feature: Feature, prediction: Tensor, truth: Tensor, links: SparseLinks) -> Tensor:
    """The loss of each entry: (S, N), (S, E) or (S, G), of a choice that of who chooses."""
    segments = choosers(feature, links)
    if segments is None:
        return row(feature).ops.loss(prediction, truth)
    chances = segments.log_softmax(prediction)
    if feature.kind == Kind.POINTER:
        return -chances.gather(1, truth.long())
    return -segments.sum((truth * chances).unsqueeze(-1)).squeeze(-1)


def sparse_counts(feature: Feature, truth: Tensor) -> Tensor | float:
    """The weight of each entry in the loss."""
    return 1.0 if feature.kind in (Kind.POINTER, Kind.MASK_ONE) else row(feature).ops.weights(truth)
