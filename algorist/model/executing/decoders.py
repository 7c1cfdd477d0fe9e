"""Decoders of nets that execute (docs/executing.md): they also read values and next hints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from algorist.kernels import ops
from algorist.model.decoders import BuiltInDecoder, DecoderSizes
from algorist.model.executing.exact_sums import CONSTANTS, SumLogits, with_constants
from algorist.model.factored import Factored, Joint, dense
from algorist.model.grouped import cat_columns, stack_columns
from algorist.model.layers import Linear
from algorist.spec import Feature, Kind, Location

EDGE_CHANNELS = 32
"""Hidden channels of decoders of edges: of gated scalars, and of pointers to nodes."""
HEAD_START = 5.0
"""The initial bonus on the logits of present values."""
_LOCAL_CHANNELS = 64
"""Hidden channels of local decoders."""
_LOCAL_STD = 0.01
"""The standard deviation of the first weights of their last layer."""


class WholeEdgePointerDecoder(BuiltInDecoder):
    """For each edge how strongly it points to each node, from all three nodes and their edges."""

    reads_edges = True

    def __init__(self, replicas: int, sizes: DecoderSizes, suggested: int = 0):
        """`suggested` is the number of suggested pointers (`splits.py`)."""
        super().__init__()
        linear = partial(Linear, replicas)
        nodes, edges, k = sizes.nodes, sizes.edges, EDGE_CHANNELS
        self.source, self.target, self.pointee = (linear(nodes, k) for _ in range(3))
        self.edge, self.from_source, self.from_target = (linear(edges, k) for _ in range(3))
        self.previous = linear(1, k, std=1.0)
        self.suggested = linear(suggested, k, std=1.0) if suggested else None
        self.score = linear(k, 1)

    @property
    def node_layers(self) -> list[Linear]:
        """The layers of all three nodes."""
        return [self.source, self.target, self.pointee]

    @property
    def edge_layers(self) -> list[Linear]:
        """The layers of all three edges."""
        return [self.edge, self.from_source, self.from_target]

    def forward(
        self,
        nodes: Joint,
        edges: Joint,
        graph: Tensor | Factored,
        previous: Tensor | None = None,
        suggested: Tensor | None = None,
    ) -> Tensor:
        """(S, B, n, n, n). `previous` are the present pointers, in the same form, `suggested`
        (S, B, n, n, n, F) those of `suggest_pointers`."""
        pair = self.source(nodes).unsqueeze(3) + self.target(nodes).unsqueeze(2) + self.edge(edges)
        source = self.from_source(edges) + self.pointee(nodes).unsqueeze(2)
        read: list[tuple[Linear, Tensor]] = []
        if previous is not None:
            read.append((self.previous, previous.unsqueeze(-1)))
        if self.suggested is not None and suggested is not None:
            read.append((self.suggested, suggested))
        for layer, _ in read:
            pair = pair + layer.bias[:, None, None, None]
        numbers = cat_columns([x for _, x in read]) if read else None
        weight = torch.cat([layer.weight for layer, _ in read], 1) if read else None
        return ops.triplet_logits(
            pair, source, self.from_target(edges), self.score.affine, numbers, weight
        )


class GatedDecoder(BuiltInDecoder):
    """A scalar that is kept unless a gate opens.

    A new value is an exact sum of two known scalars or constants (`exact_sums.py`), or where no sum
    will do a number like any other.
    """

    def __init__(
        self, replicas: int, sizes: DecoderSizes, location: Location, scalars: int, next_hints: int
    ):
        """`scalars` and `next_hints` are the widths of these arguments of `decode_gated`."""
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
        terms = scalars + CONSTANTS
        self.first, self.second = linear(width, terms + 1), linear(width, 2 * terms)
        self.choices = linear(next_hints, 3 * terms + 2, std=0.5) if next_hints else None

    @property
    def value_layers(self) -> list[Linear]:
        """The layers of the gate, the predicted number and the terms."""
        return [self.value, self.first, self.second]

    @property
    def node_layers(self) -> list[Linear]:
        """The layers that read nodes directly."""
        if self.location == Location.NODE:
            return self.value_layers
        return [self.source, self.target] if self.reads_edges else []

    @property
    def edge_layers(self) -> list[Linear]:
        """The layer of the edge."""
        return [self.edge] if self.reads_edges else []

    def forward(self, inner: Joint, next_hints: Joint) -> tuple[Tensor, ...]:
        """The logit of a change (...), the predicted number (...), and the logits of both terms."""
        value, first, second = (layer(inner) for layer in self.value_layers)
        gate, new = value.unbind(-1)
        if self.choices is not None:
            widths = (1, first.shape[-1], second.shape[-1])
            of_gate, of_first, of_second = self.choices(next_hints).split(widths, -1)
            gate = gate + of_gate.squeeze(-1)
            first, second = first + of_first, second + of_second
        return gate, new, first, second


def decode_gated(
    decoders: Sequence[GatedDecoder],
    read: tuple[Joint, Joint, Tensor | Factored],
    scalars: Tensor,
    next_hints: Tensor,
    old: Sequence[Tensor],
    truths: Sequence[Tensor] | None = None,
) -> Sequence[Tensor]:
    """(..., 4) for each scalar of a location: the logit of a change, the new value, the old one,
    and the loss of its terms.

    `read` are nodes, edges and graph. `scalars` (..., F) may be terms of the sum, `next_hints`
    (..., G) describe the hints of the next step, `old` (...) are the values that the net has read.
    In training the `truths` are given and are the new values wherever a sum can make them.
    """
    choices = Joint(next_hints, [d.choices for d in decoders if d.choices is not None])
    of_each = [d(x, choices) for d, x in zip(decoders, _inner(decoders, *read), strict=True)]

    def stacked(values: Sequence[Tensor]) -> Tensor:  # each scalar of a replica by itself
        return torch.stack(list(values), 1).flatten(0, 1)

    gate, new, first, second = map(stacked, zip(*of_each, strict=True))
    terms = stacked([with_constants(scalars, read[0].shape[2])] * len(decoders))
    logits, before = SumLogits(gate, first, second, terms), stacked(old)
    if truths is None:
        loss, new = torch.zeros_like(new), logits.decide(new)
    else:
        true = stacked(truths)
        loss, is_no_sum = logits.loss(before, true)
        new = torch.where(is_no_sum > 0, new, true)
    found = stack_columns((gate, new, before, loss))
    return found.view(-1, len(decoders), *found.shape[1:]).unbind(1)


def _inner(
    decoders: Sequence[GatedDecoder], nodes: Joint, edges: Joint, graph: Tensor | Factored
) -> list[Joint]:
    """What the layers of values read, for each decoder of a location."""
    location = decoders[0].location
    if location == Location.NODE:
        return [nodes] * len(decoders)
    if location == Location.GRAPH:
        pooled = torch.cat((dense(nodes).amax(2), dense(graph)), -1)
        return [Joint(pooled, [layer for d in decoders for layer in d.value_layers])] * len(
            decoders
        )
    found = []
    for d in decoders:
        ends = d.source(nodes).unsqueeze(3) + d.target(nodes).unsqueeze(2)
        found.append(Joint((ends + d.edge(edges)).relu(), d.value_layers))
    return found


class ConditionalDecoder(BuiltInDecoder):
    """Logits of a decoder, given which nodes the masks of the next step select.

    Most of what a step changes, it changes at such nodes: the color of u, the pointer of v to u.
    All else stays as it is, so the present value has a head start, which depends on the masks too.
    For an output, it is the value of the hint that the output continues, and no mask selects.

    With a local decoder, an MLP adds logits that depend on bits of each node alone, not on the
    states of the processor, which differ more in larger problems. In training, every second lane is
    decoded without the states, so that what bits can decide is decided by them.
    """

    def __init__(
        self, replicas: int, plain: BuiltInDecoder, feature: Feature, masks: int, bits: int = 0
    ):
        """`plain` makes logits of the states; `masks` is the number of columns of `mask_features`,
        `bits` that of `local_features`, 0 without a local decoder."""
        super().__init__()
        linear = partial(Linear, replicas, masks, std=0.1)
        self.plain, self.reads_edges = plain, plain.reads_edges
        self._of_edges, self._is_mask = feature.location == Location.EDGE, feature.kind == Kind.MASK
        self._of_pairs = self._of_edges or feature.kind == Kind.POINTER
        self.change = linear(masks if self._of_pairs else feature.classes or 1)
        self.keep = linear(masks if self._of_edges else 1, bias=0 if self._of_edges else HEAD_START)
        self.local_hidden = Linear(replicas, bits, _LOCAL_CHANNELS) if bits else None
        if bits:
            outputs = self.change.outputs + self.keep.outputs
            self.local = Linear(replicas, _LOCAL_CHANNELS, outputs, std=_LOCAL_STD)

    @property
    def mask_layers(self) -> list[Linear]:
        """The layers that read masks."""
        return [self.change, self.keep]

    @property
    def node_layers(self) -> list[Linear]:
        """The layers of the plain decoder."""
        return self.plain.node_layers

    @property
    def edge_layers(self) -> list[Linear]:
        """The layers of the plain decoder."""
        return self.plain.edge_layers

    def forward(
        self,
        nodes: Joint,
        edges: Joint,
        graph: Tensor | Factored,
        masks: Tensor | Joint,
        old: Tensor,
        bits: Tensor | Joint | None = None,
    ) -> Tensor:
        """The logits, given masks (S, B, n, K), the present value, one-hot, and `local_features`
        (S, B, n, L), which a local decoder needs."""
        logits: Tensor = self.plain(nodes, edges, graph)
        change, keep, of_pairs = self.change(masks), self.keep(masks), dense(masks).mT
        if self.local_hidden is not None:
            assert bits is not None
            hidden = self.local_hidden(bits).relu()
            widths = (self.change.outputs, self.keep.outputs)
            of_change, of_keep = self.local(hidden).split(widths, -1)
            change, keep = change + of_change, keep + of_keep
            logits = _drop_in_every_second_lane(logits) if self.training else logits
        change = change @ of_pairs if self._of_pairs else change.reshape(logits.shape)
        if self._of_edges:
            keep = keep @ of_pairs + HEAD_START
        elif self._is_mask:
            keep = keep.squeeze(-1)
        return logits + change + keep * (2 * old - 1 if self._is_mask else old)


def _drop_in_every_second_lane(logits: Tensor) -> Tensor:
    """Logits (S, B, ...) that are 0 in every second lane, with the others unscaled."""
    is_dropped = torch.arange(logits.shape[1], device=logits.device) % 2  # never the only lane
    return logits * (1 - is_dropped).view(-1, *(1,) * (logits.ndim - 2))


def is_conditional(feature: Feature) -> bool:
    """Whether a `ConditionalDecoder` can decode a feature."""
    if feature.location == Location.NODE:
        return feature.kind in (Kind.MASK, Kind.CATEGORICAL, Kind.POINTER)
    return feature.location == Location.EDGE and feature.kind == Kind.MASK
