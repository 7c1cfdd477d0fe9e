"""Decoders: predictions of features from the states of nodes, edges and graph.

A decoder reads nodes (S, B, n, 3h): the encoding, the state before the step and the state after it;
edges (S, B, n, n, h): the encoding, with the processor's edge states beside it if it has any (2h);
and the encoded graph (S, B, h). All three may be kept as factors: `Linear` reads both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from algorist.kernels import ops
from algorist.model.derived import DerivedFeatures
from algorist.model.exact_sums import CONSTANTS, Choice, with_constants
from algorist.model.factored import Factored, Joint, dense, factored_edges, side_by_side
from algorist.model.kinds import DecoderType, Ending, row
from algorist.model.layers import Linear
from algorist.model.model_config import ModelConfig
from algorist.model.processors.base import EdgeStates
from algorist.spec import Feature, Kind, Location, Stage

EDGE_CHANNELS = 32
"""Hidden channels of decoders that look at edges more closely: of gated scalars, and of pointers of
edges to nodes."""
HEAD_START = 5.0
"""How much larger the logits of present values are at first."""


class DecoderSizes(NamedTuple):
    """How many channels a decoder reads of nodes, edges and graph, and how many classes it has."""

    nodes: int
    edges: int
    graph: int
    classes: int
    """Of a categorical feature; 0 of others."""


class States(NamedTuple):
    """All that decoders may read of one step."""

    nodes: Tensor | Factored  # (S, B, n, h)
    edges: Tensor | Factored  # (S, B, n, n, h)
    graph: Tensor | Factored  # (S, B, h)
    before: Tensor  # (S, B, n, h)
    after: Tensor  # (S, B, n, h)
    edge_states: EdgeStates | None
    adjacency: Tensor | None  # (S, B, n, n)
    values: Mapping[str, Tensor]  # what the net has read, dense


class BuiltInDecoder(nn.Module):
    """Decoders whose layers serve all seeds at once, and are joined with those of others."""

    reads_edges = False

    @property
    def node_layers(self) -> list[Linear]:
        """The layers that read nodes."""
        return []

    @property
    def edge_layers(self) -> list[Linear]:
        """The layers that read edges and can be computed with those of other decoders."""
        return []


class NodeDecoder(BuiltInDecoder):
    """One number or some classes for each node."""

    def __init__(self, replicas: int, sizes: DecoderSizes):
        super().__init__()
        self.value = Linear(replicas, sizes.nodes, sizes.classes or 1)
        self.classes = sizes.classes

    @property
    def node_layers(self) -> list[Linear]:
        """All."""
        return [self.value]

    def forward(self, nodes: Joint, edges: Joint | None, graph: Tensor | Factored) -> Tensor:
        """(S, B, n), or (S, B, n, classes)."""
        value = self.value(nodes)
        return value if self.classes else value.squeeze(-1)


class EdgeDecoder(BuiltInDecoder):
    """One number or some classes for each edge."""

    reads_edges = True

    def __init__(self, replicas: int, sizes: DecoderSizes):
        super().__init__()
        out = sizes.classes or 1
        self.source = Linear(replicas, sizes.nodes, out)
        self.target = Linear(replicas, sizes.nodes, out)
        self.edge = Linear(replicas, sizes.edges, out)
        self.classes = sizes.classes

    @property
    def node_layers(self) -> list[Linear]:
        """Those of both ends."""
        return [self.source, self.target]

    @property
    def edge_layers(self) -> list[Linear]:
        """That of the edge itself."""
        return [self.edge]

    def forward(self, nodes: Joint, edges: Joint, graph: Tensor | Factored) -> Tensor:
        """(S, B, n, n), or (S, B, n, n, classes)."""
        ends = self.source(nodes).unsqueeze(3) + self.target(nodes).unsqueeze(2)
        value = ends + self.edge(edges)
        return value if self.classes else value.squeeze(-1)


class PointerDecoder(BuiltInDecoder):
    """For each node how strongly it points to each other."""

    reads_edges = True

    def __init__(self, replicas: int, sizes: DecoderSizes):
        super().__init__()
        h = sizes.graph
        self.source, self.target = (Linear(replicas, sizes.nodes, h) for _ in range(2))
        self.edge = Linear(replicas, sizes.edges, h)
        self.score = Linear(replicas, h, 1)

    @property
    def node_layers(self) -> list[Linear]:
        """Those of both ends."""
        return [self.source, self.target]

    def forward(self, nodes: Joint, edges: Joint, graph: Tensor | Factored) -> Tensor:
        """(S, B, n, n): the score of the larger of source and target + edge, per channel."""
        source, target = self.source(nodes), self.target(nodes)
        between, bias = factored_edges(edges, self.edge)
        target = target + bias[:, None, None]
        return ops.pointer_logits(source, target, between, self.score.affine)


class EdgePointerDecoder(BuiltInDecoder):
    """For each edge how strongly it points to each node."""

    reads_edges = True

    def __init__(self, replicas: int, sizes: DecoderSizes):
        super().__init__()
        h = sizes.graph
        self.source, self.target = (Linear(replicas, sizes.nodes, h) for _ in range(2))
        self.edge = Linear(replicas, sizes.edges, h)
        self.pointee = Linear(replicas, sizes.nodes, h)
        self.score = Linear(replicas, h, 1)

    @property
    def node_layers(self) -> list[Linear]:
        """Those of both ends and of the node that is pointed to."""
        return [self.source, self.target, self.pointee]

    def forward(self, nodes: Joint, edges: Joint, graph: Tensor | Factored) -> Tensor:
        """(S, B, n, n, n): the score of the larger of edge and pointee, per channel."""
        ends = self.source(nodes).unsqueeze(3) + self.target(nodes).unsqueeze(2)
        pairs = ends + self.edge(edges)
        return ops.edge_pointer_logits(pairs, self.pointee(nodes), self.score.affine)


class GraphDecoder(BuiltInDecoder):
    """One number or some classes for the graph."""

    def __init__(self, replicas: int, sizes: DecoderSizes):
        super().__init__()
        out = sizes.classes or 1
        self.pooled = Linear(replicas, sizes.nodes, out)
        self.graph = Linear(replicas, sizes.graph, out)
        self.classes = sizes.classes

    def forward(self, nodes: Joint, edges: Joint | None, graph: Tensor | Factored) -> Tensor:
        """(S, B), or (S, B, classes): from the largest over all nodes, and from the graph."""
        value = self.pooled(dense(nodes).amax(2)) + self.graph(graph)
        return value if self.classes else value.squeeze(-1)


class WholeEdgePointerDecoder(BuiltInDecoder):
    """For each edge how strongly it points to each node, from all three nodes and their edges."""

    reads_edges = True

    def __init__(self, replicas: int, sizes: DecoderSizes):
        super().__init__()
        linear = partial(Linear, replicas)
        nodes, edges, k = sizes.nodes, sizes.edges, EDGE_CHANNELS
        self.source, self.target, self.pointee = (linear(nodes, k) for _ in range(3))
        self.edge, self.from_source, self.from_target = (linear(edges, k) for _ in range(3))
        self.previous = linear(1, k, spread=1.0)
        self.score = linear(k, 1)

    @property
    def node_layers(self) -> list[Linear]:
        """Those of all three nodes."""
        return [self.source, self.target, self.pointee]

    @property
    def edge_layers(self) -> list[Linear]:
        """Those of all three edges."""
        return [self.edge, self.from_source, self.from_target]

    def forward(
        self,
        nodes: Joint,
        edges: Joint,
        graph: Tensor | Factored,
        previous: Tensor | None = None,
    ) -> Tensor:
        """(S, B, n, n, n); `previous` are the pointers that the net has read, in the same form."""
        pair = self.source(nodes).unsqueeze(3) + self.target(nodes).unsqueeze(2) + self.edge(edges)
        of_source = self.from_source(edges) + self.pointee(nodes).unsqueeze(2)
        of_target = self.from_target(edges)

        def logits(p: slice) -> Tensor:
            inner = pair.unsqueeze(4) + of_source[:, :, :, None, p] + of_target[:, :, None, :, p]
            if previous is not None:
                inner = inner + self.previous(previous[..., p].unsqueeze(-1))
            return self.score(inner.relu()).squeeze(-1)

        if torch.is_grad_enabled():
            return logits(slice(None))
        n = pair.shape[2]  # one pointee at a time, since n * n * n * k numbers may not fit
        return torch.cat([logits(slice(p, p + 1)) for p in range(n)], -1)


class GatedDecoder(BuiltInDecoder):
    """Scalars that are kept unless a gate opens, at one location.

    A new value is an exact sum of two known scalars or constants (`exact_sums.py`), or where no sum
    will do a number like any other.
    """

    def __init__(
        self, replicas: int, sizes: DecoderSizes, location: Location, known: int, choices: int
    ):
        """So many scalars are `known`, and so many bits about the choices for the next step."""
        super().__init__()
        linear = partial(Linear, replicas)
        self.location, self.reads_edges = location, location == Location.EDGE
        width = {Location.NODE: sizes.nodes, Location.GRAPH: sizes.nodes + sizes.graph}.get(
            location, EDGE_CHANNELS
        )
        if self.reads_edges:
            self.source, self.target = (linear(sizes.nodes, width) for _ in range(2))
            self.edge = linear(sizes.edges, width)
        self.value = linear(width, 2)
        terms = known + CONSTANTS
        self.first, self.second = linear(width, terms + 1), linear(width, 2 * terms)
        self.choices = linear(choices, 3 * terms + 2, spread=0.5) if choices else None

    @property
    def _value_layers(self) -> list[Linear]:
        return [self.value, self.first, self.second]

    @property
    def node_layers(self) -> list[Linear]:
        """Those that read nodes as they are."""
        if self.location == Location.NODE:
            return self._value_layers
        return [self.source, self.target] if self.reads_edges else []

    @property
    def edge_layers(self) -> list[Linear]:
        """That of the edge itself."""
        return [self.edge] if self.reads_edges else []

    def forward(
        self,
        nodes: Joint,
        edges: Joint,
        graph: Tensor | Factored,
        known: Tensor,
        choices: Tensor,
        old: Tensor,
        truth: Tensor | None = None,
    ) -> Tensor:
        """(..., 4): the logit of a change, the new value, the old one, and the loss of its terms.

        `known` (..., F) are scalars to add, `choices` (..., G) say what is chosen for the next
        step, `old` (...) is the value that the net has read. In training the `truth` is given, and
        the new value is it wherever a sum can make it.
        """
        inner: Any = nodes
        if self.reads_edges:
            ends = self.source(nodes).unsqueeze(3) + self.target(nodes).unsqueeze(2)
            inner = (ends + self.edge(edges)).relu()
        elif self.location == Location.GRAPH:
            inner = torch.cat((dense(nodes).amax(2), dense(graph)), -1)
        value, first, second = (layer(inner) for layer in self._value_layers)
        gate, new = value.unbind(-1)
        if self.choices is not None:
            widths = (1, first.shape[-1], second.shape[-1])
            of_gate, of_first, of_second = self.choices(choices).split(widths, -1)
            gate = gate + of_gate.squeeze(-1)
            first, second = first + of_first, second + of_second
        choice = Choice(gate, first, second, with_constants(known, nodes.shape[2]))
        if truth is None:
            loss, new = torch.zeros_like(new), choice.decide(new)
        else:
            loss, is_no_sum = choice.loss(old, truth)
            new = torch.where(is_no_sum > 0, new, truth)
        return torch.stack((gate, new, old, loss), -1)


class ConditionalDecoder(BuiltInDecoder):
    """Logits of a decoder, given which nodes the masks of the next step select.

    Most of what a step changes, it changes at such nodes: the color of u, the pointer of v to u.
    All else stays as it is, so the present value has a head start, which depends on the masks too.
    """

    def __init__(self, replicas: int, plain: BuiltInDecoder, feature: Feature, masks: int):
        """`plain` is the decoder of the logits; so many masks are told (`choice_masks`)."""
        super().__init__()
        linear = partial(Linear, replicas, masks, spread=0.1)
        self.plain, self.reads_edges = plain, plain.reads_edges
        self._of_edges, self._is_mask = feature.location == Location.EDGE, feature.kind == Kind.MASK
        self._of_pairs = self._of_edges or feature.kind == Kind.POINTER
        self.change = linear(masks if self._of_pairs else feature.classes or 1)
        self.keep = linear(masks if self._of_edges else 1, bias=0 if self._of_edges else HEAD_START)

    @property
    def node_layers(self) -> list[Linear]:
        """Those of the plain decoder."""
        return self.plain.node_layers

    @property
    def edge_layers(self) -> list[Linear]:
        """Those of the plain decoder."""
        return self.plain.edge_layers

    def forward(
        self, nodes: Joint, edges: Joint, graph: Tensor | Factored, masks: Tensor, old: Tensor
    ) -> Tensor:
        """The logits, given masks (S, B, n, K) and the present value, dense."""
        logits: Tensor = self.plain(nodes, edges, graph)
        change, keep = self.change(masks), self.keep(masks)
        change = change @ masks.mT if self._of_pairs else change.view_as(logits)
        if self._of_edges:
            keep = keep @ masks.mT + HEAD_START
        elif self._is_mask:
            keep = keep.squeeze(-1)
        return logits + change + keep * (2 * old - 1 if self._is_mask else old)


def _is_conditional(feature: Feature) -> bool:
    """Whether a feature is decoded after the masks of the next step."""
    if feature.stage != Stage.HINT:
        return False
    if feature.location == Location.NODE:
        return feature.kind in (Kind.MASK, Kind.CATEGORICAL, Kind.POINTER)
    return feature.location == Location.EDGE and feature.kind == Kind.MASK


BUILT_IN: dict[DecoderType, type[BuiltInDecoder]] = {
    DecoderType.NODE: NodeDecoder,
    DecoderType.EDGE: EdgeDecoder,
    DecoderType.POINTER: PointerDecoder,
    DecoderType.EDGE_POINTER: EdgePointerDecoder,
    DecoderType.GRAPH: GraphDecoder,
}


def make_decoder(
    feature: Feature,
    sizes: DecoderSizes,
    replicas: int,
    config: ModelConfig,
    derived: DerivedFeatures,
) -> BuiltInDecoder:
    """A new decoder for a feature of a task for which so much is `derived`."""
    form = row(feature).form
    if feature.kind == Kind.GATED_SCALAR:
        location = feature.location
        known, choices = derived.known_width(location), derived.choice_width(location)
        return GatedDecoder(replicas, sizes, location, known, choices)
    if form == DecoderType.EDGE_POINTER and config.edge_pointers:
        return WholeEdgePointerDecoder(replicas, sizes)
    plain = BUILT_IN[form](replicas, sizes)
    if config.conditional_hints and _is_conditional(feature):
        return ConditionalDecoder(replicas, plain, feature, derived.mask_width)
    return plain


def previous_hint(feature: Feature) -> str:
    """The hint that a pointer of edges goes on from: itself, or that which an output ends."""
    return feature.name if feature.stage == Stage.HINT else f"{feature.name}_h"


class Decoders:
    """The decoders of some features, ready for a scan."""

    def __init__(
        self,
        features: Sequence[Feature],
        decoders: Mapping[str, nn.Module],
        derived: DerivedFeatures,
    ):
        self.features, self._derived = features, derived
        self._decoders = {f.name: decoders[f.name] for f in features}
        every = self._decoders.values()
        self._node_layers = [layer for d in every for layer in getattr(d, "node_layers", [])]
        self._edge_layers = [layer for d in every for layer in getattr(d, "edge_layers", [])]
        self.reads_edges = any(getattr(d, "reads_edges", True) for d in every)

    @property
    def previous(self) -> list[str]:
        """The hints whose values decoders of pointers of edges go on from."""
        return [
            previous_hint(f)
            for f in self.features
            if isinstance(self._decoders[f.name], WholeEdgePointerDecoder)
        ]

    def __call__(
        self,
        states: States,
        *,
        allowed: Tensor | None,
        noise: Tensor | None = None,
        choices: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """Predictions by the names of their features; `allowed` (S, B, n, n) may rule out pairs.

        Gated scalars are added up by the true `choices` of the next step, or by those predicted.
        """
        nodes = Joint(side_by_side(states.nodes, states.before, states.after), self._node_layers)
        edges = None
        if self.reads_edges:
            beside = [] if states.edge_states is None else [states.edge_states.states]
            edges = Joint(side_by_side(states.edges, *beside), self._edge_layers)
        ending = Ending(allowed, noise)
        found: dict[str, Tensor] = {}
        gated = [f for f in self.features if f.kind == Kind.GATED_SCALAR]
        masks: Tensor | None = None
        for f in sorted(self.features, key=lambda f: f.kind != Kind.MASK_ONE):
            if f not in gated:
                decoder, more = self._decoders[f.name], list[Any]()
                if isinstance(decoder, ConditionalDecoder):
                    if masks is None:
                        following = self._chosen(found) if choices is None else choices
                        masks = self._derived.choice_masks(states.values, following)
                    more = [masks, states.values[f.name]]
                if isinstance(decoder, WholeEdgePointerDecoder):
                    more = [states.values.get(previous_hint(f))]
                found[f.name] = row(f).finish(decoder(nodes, edges, states.graph, *more), ending)
        if gated:
            chosen = self._chosen(found) if choices is None else choices
            every = self._derived.known(states.values, chosen)
            locations = {f.location for f in gated}
            known = {location: every.at(location) for location in locations}
            told = {x: self._derived.choices_at(x, states.values, chosen) for x in locations}
        for f in gated:
            old, truth = states.values[f.name], None if choices is None else choices[f.name]
            decoder, read = self._decoders[f.name], (known[f.location], told[f.location])
            found[f.name] = decoder(nodes, edges, states.graph, *read, old, truth)
        return {f.name: found[f.name] for f in self.features}

    def _chosen(self, predictions: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What is predicted, decided."""
        return {
            f.name: row(f).ops.feedback(predictions[f.name], True)
            for f in self.features
            if f.name in predictions
        }
