"""Decoders: predictions of features from the states of nodes, edges and graph.

A decoder reads nodes (S, B, n, 3h): the encoding, the state before the step and the state after it;
edges (S, B, n, n, h): the encoding, with the processor's edge states beside it if it has any (2h);
and the encoded graph (S, B, h). All three may be kept as factors: `Linear` reads both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import NamedTuple

from torch import Tensor, nn

from algorist.kernels import ops
from algorist.model.factored import Factored, Joint, dense, factored_edges
from algorist.model.layers import Linear
from algorist.spec import Location


class LayerInput(StrEnum):
    """The input of a decoder's layer."""

    NODE = "node"  # a node's encoding, its old and its new state
    EDGE = "edge"  # an edge's encoding and its triplets
    POOLED = "pooled"  # the maximum of NODE over all nodes
    GRAPH = "graph"  # the graph's encoding
    HIDDEN = "hidden"  # the decoder's hidden values, which the layer turns into a logit


class DecoderType(Enum):
    """The architecture of a decoder: numbers or classes of a location, or choices among nodes."""

    NODE = "node"
    POINTER = "pointer"
    EDGE = "edge"
    EDGE_POINTER = "edge_pointer"
    GRAPH = "graph"
    GATED_NODE = "gated_node"
    GATED_EDGE = "gated_edge"
    GATED_GRAPH = "gated_graph"

    @property
    def encode_location(self) -> Location:
        """The location to which the encoding of such a feature is added: pointers to edges."""
        return {
            DecoderType.NODE: Location.NODE,
            DecoderType.GATED_NODE: Location.NODE,
            DecoderType.GRAPH: Location.GRAPH,
            DecoderType.GATED_GRAPH: Location.GRAPH,
        }.get(self, Location.EDGE)

    @property
    def is_pointer(self) -> bool:
        """Whether the prediction is a choice among nodes, for each node or edge."""
        return self in (DecoderType.POINTER, DecoderType.EDGE_POINTER)

    @property
    def layer_inputs(self) -> Mapping[str, LayerInput]:
        """The layers of such a decoder by name, and what each reads; for built-in decoders."""
        ends = {"source": LayerInput.NODE, "target": LayerInput.NODE, "edge": LayerInput.EDGE}
        score = {"score": LayerInput.HIDDEN}
        return {
            DecoderType.NODE: {"value": LayerInput.NODE},
            DecoderType.POINTER: ends | score,
            DecoderType.EDGE: ends,
            DecoderType.EDGE_POINTER: ends | {"pointee": LayerInput.NODE} | score,
            DecoderType.GRAPH: {"pooled": LayerInput.POOLED, "graph": LayerInput.GRAPH},
        }[self]


class DecoderSizes(NamedTuple):
    """The input channels of a decoder for nodes, edges and graph, and its number of classes."""

    nodes: int
    edges: int
    graph: int
    classes: int
    """The classes of a categorical feature; 0 for others."""


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
        """The layer of the node."""
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
        """The layers of both ends."""
        return [self.source, self.target]

    @property
    def edge_layers(self) -> list[Linear]:
        """The layer of the edge."""
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
        """The layers of both ends."""
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
        """The layers of both ends and of the pointee."""
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


BUILT_IN: dict[DecoderType, type[BuiltInDecoder]] = {
    DecoderType.NODE: NodeDecoder,
    DecoderType.EDGE: EdgeDecoder,
    DecoderType.POINTER: PointerDecoder,
    DecoderType.EDGE_POINTER: EdgePointerDecoder,
    DecoderType.GRAPH: GraphDecoder,
}
