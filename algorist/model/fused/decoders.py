"""How the decoders of some features are composed for the fused scan."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from algorist.kernels.scan_weights import (
    LINE,
    DecoderWeights,
    EdgeValueWeights,
    PointerWeights,
    PoolingWeights,
)
from algorist.model.decoders import DecoderType
from algorist.model.fused.composer import Composer, FusedOutput, OutputGroup
from algorist.model.fused.prediction_layout import PredictionLayout
from algorist.model.layers import Linear


class JoinedDecoders:
    """How the decoders of some features are composed."""

    def __init__(self, layout: PredictionLayout, modules: Mapping[str, nn.Module]):
        self._layout, self._modules = layout, modules

    def _layers(self, decoder_type: DecoderType, name: str) -> list[Linear]:
        return [
            getattr(self._modules[feature.name], name) for feature in self._layout.of[decoder_type]
        ]

    def _columns(self, decoder_type: DecoderType, name: str) -> list[FusedOutput]:
        """What one map of each decoder makes of nodes; what edges add is added at their targets."""
        layers = self._layers(decoder_type, name)
        edges = self._layers(decoder_type, "edge") if name == "target" else [None] * len(layers)
        return [FusedOutput(x.outputs, x, edge) for x, edge in zip(layers, edges, strict=True)]

    @property
    def of_nodes(self) -> list[FusedOutput]:
        """What is made of nodes, in the order of `DecoderWeights`."""
        columns = [
            *self._columns(DecoderType.NODE, "value"),
            *self._columns(DecoderType.EDGE, "source"),
            *self._columns(DecoderType.EDGE, "target"),
        ]
        filling = -sum(column.width for column in columns) % LINE
        ends = ("source", "target")
        pointers = {DecoderType.POINTER: ends, DecoderType.EDGE_POINTER: (*ends, "pointee")}
        return [
            *columns,
            *([FusedOutput(filling)] if filling else []),
            *(
                column
                for decoder_type, names in pointers.items()
                for of_one in zip(
                    *(self._columns(decoder_type, name) for name in names), strict=True
                )
                for column in of_one
            ),
        ]

    @property
    def of_graph(self) -> list[FusedOutput]:
        """What is made of the graph."""
        return [FusedOutput(x.outputs, graph=x) for x in self._layers(DecoderType.GRAPH, "graph")]

    @property
    def others(self) -> list[Linear]:
        """Weights that read no encoding, or not as it is."""
        return [
            *self._layers(DecoderType.POINTER, "score"),
            *self._layers(DecoderType.EDGE_POINTER, "score"),
            *self._layers(DecoderType.GRAPH, "pooled"),
        ]

    def compose(
        self, composer: Composer, of_nodes: OutputGroup, of_graph: OutputGroup
    ) -> DecoderWeights:
        """The results that decoders need."""
        of_edges = {c.edge: composer.edge(span) for c, span in of_nodes.each if c.edge}

        def parts(decoder_type: DecoderType) -> tuple[list[Tensor], list[Tensor]]:
            """The weights of the raw numbers of edges, and of triplets."""
            layers = self._layers(decoder_type, "edge")
            return [of_edges[x] for x in layers], [composer.after_encoding(x) for x in layers]

        def pointing(decoder_type: DecoderType) -> PointerWeights | None:
            scores = self._layers(decoder_type, "score")
            if not scores:
                return None
            edge, triplet = parts(decoder_type)
            return PointerWeights(
                edge=composer.stacked(edge),
                triplet=composer.stacked(triplet),
                score=composer.stacked([composer.layout.of(x.weight) for x in scores]),
                bias=composer.stacked([composer.layout.of(x.bias) for x in scores]),
            )

        def edge_values() -> EdgeValueWeights | None:
            if not self._layout.of[DecoderType.EDGE]:
                return None
            return EdgeValueWeights(*(composer.side_by_side(x) for x in parts(DecoderType.EDGE)))

        def pooling() -> PoolingWeights | None:
            pooled = self._layers(DecoderType.GRAPH, "pooled")
            if not pooled:
                return None
            weights = [composer.layout.of(x.weight) for x in pooled]
            graph = composer.constant(of_graph, pooled)
            return PoolingWeights(composer.encoder(), composer.side_by_side(weights), graph)

        return DecoderWeights(
            nodes=composer.states(of_nodes),
            node_values=sum(self._layout.widths(DecoderType.NODE)),
            points=pointing(DecoderType.POINTER),
            edges=edge_values(),
            edge_pointer_logits=pointing(DecoderType.EDGE_POINTER),
            graph=pooling(),
            triplet_projection=None,
        )
