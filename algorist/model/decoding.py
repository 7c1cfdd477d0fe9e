"""Decoding: predictions of features from the states of nodes, edges and graph.

Features of the same form are decoded together: their maps are joined into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from algorist.kernels import plain
from algorist.kernels.affine import product
from algorist.kernels.maps import LINE, DecodeMaps, EdgeValues, Pointing, Pooling
from algorist.kernels.ops import Kernels
from algorist.model.composing import Composer, FusedOutput, OutputGroup
from algorist.model.kinds import DecoderType, Ending, Reads, row
from algorist.model.layers import Linear
from algorist.spec import Feature


class Moment(NamedTuple):
    """All that decoders may read of one step."""

    numbers: Tensor  # (S, B, n, F): raw numbers of the node and of the graph, and a one
    edges: Tensor  # (S, B, n, n, F): raw numbers
    before: Tensor  # (S, B, n, h), the states of the nodes
    after: Tensor  # (S, B, n, h)
    triplets: Tensor | None  # (S, B, n, n, f), the maxima
    adjacency: Tensor | None  # (S, B, n, n)


class Decoded(NamedTuple):
    """Raw predictions by form, those of several features side by side; any leading axes."""

    nodes: Tensor | None  # (..., n, C)
    points: Sequence[Tensor]  # (..., n, n) each: from source to target
    edges: Tensor | None  # (..., n, n, C)
    edge_pointer_logits: Sequence[Tensor]  # (..., n, n, n) each: from an edge to a node
    graph: Tensor | None  # (..., C)


def decoder(feature: Feature, replicas: int, hidden: int, *, triplets: bool) -> nn.ModuleDict:
    """The maps of a new decoder, by name."""
    form = row(feature).form
    inputs = {
        Reads.NODE: 3 * hidden,
        Reads.POOLED: 3 * hidden,
        Reads.EDGE: 2 * hidden if triplets else hidden,
        Reads.GRAPH: hidden,
        Reads.SCORE: hidden,
    }
    outputs = hidden if form.points else width(feature)
    return nn.ModuleDict(
        {
            name: Linear(replicas, inputs[reads], 1 if reads == Reads.SCORE else outputs)
            for name, reads in form.reads.items()
        }
    )


def width(feature: Feature) -> int:
    """How many numbers a prediction has for each of its nodes, edges or graph."""
    return feature.classes or 1


class Layout:
    """Where each of some features stands among the predictions of its form."""

    def __init__(self, features: Iterable[Feature]):
        self.features = tuple(features)
        self.of = {form: [f for f in self.features if row(f).form == form] for form in DecoderType}

    def widths(self, form: DecoderType) -> list[int]:
        """The widths of the features of a form."""
        return [width(feature) for feature in self.of[form]]

    def place(self, feature: Feature) -> int:
        """Its first column among those of its form; of pointers, which one it is."""
        form = row(feature).form
        before = self.of[form].index(feature)
        return before if form.points else sum(self.widths(form)[:before])

    def predictions(
        self,
        decoded: Decoded,
        allowed: Tensor | None,
        noise: Tensor | None,
        *,
        fused: bool = False,
    ) -> dict[str, Tensor]:
        """Finished predictions by the names of their features; `allowed` may rule out pairs."""
        found, ending = self._named(decoded), Ending(allowed, noise, fused)
        return {f.name: row(f).finish(found[f.name], ending) for f in self.features}

    def _named(self, decoded: Decoded) -> dict[str, Tensor]:
        parts: dict[DecoderType, Iterable[Tensor]] = {
            DecoderType.POINTER: decoded.points,
            DecoderType.EDGE_POINTER: decoded.edge_pointer_logits,
        }
        wide = {
            DecoderType.NODE: decoded.nodes,
            DecoderType.EDGE: decoded.edges,
            DecoderType.GRAPH: decoded.graph,
        }
        for form, values in wide.items():
            parts[form] = () if values is None else values.split(self.widths(form), -1)
        return {
            f.name: part if form.points or f.classes else part.squeeze(-1)
            for form, features in self.of.items()
            for f, part in zip(features, parts[form], strict=True)
        }


class JoinedDecoders:
    """How the decoders of some features are composed."""

    def __init__(self, layout: Layout, modules: nn.ModuleDict):
        self._layout, self._modules = layout, modules

    def _maps(self, form: DecoderType, name: str) -> list[Linear]:
        return [self._modules[feature.name][name] for feature in self._layout.of[form]]

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


class Decoders:
    """The decoders of some features, ready for many moments."""

    def __init__(self, maps: DecodeMaps, kernels: Kernels):
        self.maps = maps
        self._project = None if maps.nodes is None else kernels.project(maps.nodes, self._sizes())
        self._pointers = [kernels.pointer(*map_) for map_ in _each(maps.points)]

    def _sizes(self) -> tuple[int, ...]:
        """Those of the parts of the map of nodes."""
        maps, sizes = self.maps, [self.maps.node_values]
        sizes += [maps.edges.edge.shape[-1]] * 2 if maps.edges else []
        sizes += [maps.rest - maps.narrow]
        sizes += [pointer.edge.shape[-1] for pointer in _each(maps.points) for _ in range(2)]
        sizes += [
            pointer.edge.shape[-1] for pointer in _each(maps.edge_pointer_logits) for _ in range(3)
        ]
        return tuple(sizes)

    def __call__(self, moment: Moment) -> Decoded:
        """Predict the features from one moment."""
        maps, raw, wide = self.maps, moment.edges, None
        if maps.widen is not None and moment.triplets is not None:
            wide = relu(maps.widen(moment.triplets))
        parts: Iterator[Tensor] = iter(())
        if self._project:
            parts = iter(self._project(moment.numbers, moment.before, moment.after))
        nodes = next(parts, None)
        edges = _pairs(next(parts), next(parts), raw, wide, maps.edges) if maps.edges else None
        next(parts, None)  # fills a line of memory
        return Decoded(
            nodes=nodes if maps.node_values else None,
            edges=edges,
            points=[score(next(parts), next(parts), raw, wide) for score in self._pointers],
            edge_pointer_logits=[
                plain.edge_pointer_logits(
                    _pairs(next(parts), next(parts), raw, wide, one), next(parts), one.affine
                )
                for one in _each(maps.edge_pointer_logits)
            ],
            graph=_of_graph(moment, maps.graph) if maps.graph else None,
        )


def _each(pointing: Pointing | None) -> list[Pointing]:
    """The maps of each pointer."""
    if pointing is None:
        return []
    return [Pointing(*parts) for parts in zip(*(x.unbind(1) for x in pointing), strict=True)]


def _pairs(
    source: Tensor, target: Tensor, raw: Tensor, wide: Tensor | None, maps: EdgeValues | Pointing
) -> Tensor:
    """What is decoded of each pair of nodes."""
    pairs = source.unsqueeze(3) + target.unsqueeze(2) + product(raw, maps.edge)
    return pairs if wide is None else pairs + product(wide, maps.triplet)


def _of_graph(moment: Moment, maps: Pooling) -> Tensor:
    """What is decoded of the largest of all nodes, and of the graph itself."""
    seen = (product(moment.numbers, maps.encoder), moment.before, moment.after)
    pooled = product(torch.cat([x.amax(2) for x in seen], -1), maps.pooled)
    return pooled + product(moment.numbers[:, :, 0], maps.graph)
