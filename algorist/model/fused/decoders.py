"""How the decoders of some features are composed for the fused scan."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from algorist.kernels.maps import LINE, DecodeMaps, EdgeValues, Pointing, Pooling
from algorist.model.fused.composer import Composer, FusedOutput, OutputGroup
from algorist.model.fused.layout import Layout
from algorist.model.kinds import DecoderType
from algorist.model.layers import Linear


class JoinedDecoders:
    """How the decoders of some features are composed."""

    def __init__(self, layout: Layout, modules: Mapping[str, nn.Module]):
        self._layout, self._modules = layout, modules

    def _maps(self, form: DecoderType, name: str) -> list[Linear]:
        return [getattr(self._modules[feature.name], name) for feature in self._layout.of[form]]

    def _columns(self, form: DecoderType, name: str) -> list[FusedOutput]:
        """What one map of each decoder makes of nodes; what edges add is added at their targets."""
        maps = self._maps(form, name)
        edges = self._maps(form, "edge") if name == "target" else [None] * len(maps)
        return [FusedOutput(x.outputs, x, edge) for x, edge in zip(maps, edges, strict=True)]

    @property
    def of_nodes(self) -> list[FusedOutput]:
        """What is made of nodes, in the order of `DecodeMaps`."""
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
                for form, names in pointers.items()
                for of_one in zip(*(self._columns(form, name) for name in names), strict=True)
                for column in of_one
            ),
        ]

    @property
    def of_graph(self) -> list[FusedOutput]:
        """What is made of the graph."""
        return [FusedOutput(x.outputs, graph=x) for x in self._maps(DecoderType.GRAPH, "graph")]

    @property
    def others(self) -> list[Linear]:
        """Maps that read no encoding, or not as it is."""
        return [
            *self._maps(DecoderType.POINTER, "score"),
            *self._maps(DecoderType.EDGE_POINTER, "score"),
            *self._maps(DecoderType.GRAPH, "pooled"),
        ]

    def compose(
        self, composer: Composer, of_nodes: OutputGroup, of_graph: OutputGroup
    ) -> DecodeMaps:
        """The results that decoders need."""
        of_edges = {c.edge: composer.edge(span) for c, span in of_nodes.each if c.edge}

        def parts(form: DecoderType) -> tuple[list[Tensor], list[Tensor]]:
            """The weights of the raw numbers of edges, and of triplets."""
            maps = self._maps(form, "edge")
            return [of_edges[x] for x in maps], [composer.after_encoding(x) for x in maps]

        def pointing(form: DecoderType) -> Pointing | None:
            scores = self._maps(form, "score")
            if not scores:
                return None
            edge, triplet = parts(form)
            return Pointing(
                edge=composer.stacked(edge),
                triplet=composer.stacked(triplet),
                score=composer.stacked([composer.plan.of(x.weight) for x in scores]),
                bias=composer.stacked([composer.plan.of(x.bias) for x in scores]),
            )

        def edge_values() -> EdgeValues | None:
            if not self._layout.of[DecoderType.EDGE]:
                return None
            return EdgeValues(*(composer.side_by_side(x) for x in parts(DecoderType.EDGE)))

        def pooling() -> Pooling | None:
            pooled = self._maps(DecoderType.GRAPH, "pooled")
            if not pooled:
                return None
            weights = [composer.plan.of(x.weight) for x in pooled]
            graph = composer.constant(of_graph, pooled)
            return Pooling(composer.encoder(), composer.side_by_side(weights), graph)

        return DecodeMaps(
            nodes=composer.states(of_nodes),
            node_values=sum(self._layout.widths(DecoderType.NODE)),
            points=pointing(DecoderType.POINTER),
            edges=edge_values(),
            edge_pointer_logits=pointing(DecoderType.EDGE_POINTER),
            graph=pooling(),
            widen=None,
        )
