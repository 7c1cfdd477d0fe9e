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
from algorist.kernels.affine import Affine, Joined, join, product
from algorist.kernels.maps import DecodeMaps, EdgeValues, Pointing, Pooling
from algorist.kernels.ops import Kernels
from algorist.model.kinds import Ending, Form, Reads, row
from algorist.model.layers import Linear
from algorist.model.processors import Encoders
from algorist.spec import Feature, Location


class Moment(NamedTuple):
    """All that decoders may read of one step."""

    nodes: Tensor  # (S, B, n, F), raw numbers, as the next two
    edges: Tensor  # (S, B, n, n, F)
    graph: Tensor  # (S, B, F)
    before: Tensor  # (S, B, n, h), the states of the nodes
    after: Tensor  # (S, B, n, h)
    triplets: Tensor | None  # (S, B, n, n, f), the maxima
    adjacency: Tensor | None  # (S, B, n, n)


class Decoded(NamedTuple):
    """Raw predictions by form, those of several features side by side; any leading axes."""

    nodes: Tensor | None  # (..., n, C)
    points: Sequence[Tensor]  # (..., n, n) each: from source to target
    edges: Tensor | None  # (..., n, n, C)
    cubes: Sequence[Tensor]  # (..., n, n, n) each: from an edge to a node
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
        self.of = {form: [f for f in self.features if row(f).form == form] for form in Form}

    def widths(self, form: Form) -> list[int]:
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
        parts: dict[Form, Iterable[Tensor]] = {
            Form.POINTER: decoded.points,
            Form.EDGE_POINTER: decoded.cubes,
        }
        wide = {Form.NODE: decoded.nodes, Form.EDGE: decoded.edges, Form.GRAPH: decoded.graph}
        for form, values in wide.items():
            parts[form] = () if values is None else values.split(self.widths(form), -1)
        return {
            f.name: part if form.points or f.classes else part.squeeze(-1)
            for form, features in self.of.items()
            for f, part in zip(features, parts[form], strict=True)
        }


def decode_maps(
    layout: Layout, modules: nn.ModuleDict, encoders: Encoders, widen: Affine | None
) -> DecodeMaps:
    """The maps of all decoders, joined, with the encoders folded in."""

    def maps(form: Form, name: str) -> list[Affine]:
        return [modules[f.name][name].affine for f in layout.of[form]]

    edge_maps = {
        form: [_edge_map(affine, encoders[Location.EDGE]) for affine in maps(form, "edge")]
        for form in (Form.EDGE, Form.POINTER, Form.EDGE_POINTER)
    }

    def targets(form: Form) -> list[Affine]:
        """What is constant for edges is added at their targets."""
        found = zip(maps(form, "target"), edge_maps[form], strict=True)
        return [target.plus(bias) for target, (_, _, bias) in found]

    def pointing(form: Form) -> Pointing | None:
        if not layout.of[form]:
            return None
        edge, triplet, _ = zip(*edge_maps[form], strict=True)
        weight, bias = zip(*maps(form, "score"), strict=True)
        return Pointing(*(torch.stack(x, 1) for x in (edge, triplet, weight, bias)))

    def edge_values() -> EdgeValues | None:
        if not layout.of[Form.EDGE]:
            return None
        edge, triplet, _ = zip(*edge_maps[Form.EDGE], strict=True)
        return EdgeValues(torch.cat(edge, -1), torch.cat(triplet, -1))

    def pooling() -> Pooling | None:
        if not layout.of[Form.GRAPH]:
            return None
        graph = join(maps(Form.GRAPH, "graph")).affine.reading(encoders[Location.GRAPH])
        return Pooling(encoders[Location.NODE], join(maps(Form.GRAPH, "pooled")).affine, graph)

    groups = [
        maps(Form.NODE, "value"),
        maps(Form.EDGE, "source"),
        targets(Form.EDGE),
        *zip(maps(Form.POINTER, "source"), targets(Form.POINTER), strict=True),
        *zip(
            maps(Form.EDGE_POINTER, "source"),
            targets(Form.EDGE_POINTER),
            maps(Form.EDGE_POINTER, "pointee"),
            strict=True,
        ),
    ]
    of_nodes = [affine for group in groups for affine in group]
    return DecodeMaps(
        nodes=join(of_nodes).affine.reading(encoders[Location.NODE]) if of_nodes else None,
        node_values=sum(layout.widths(Form.NODE)),
        points=pointing(Form.POINTER),
        edges=edge_values(),
        cubes=pointing(Form.EDGE_POINTER),
        graph=pooling(),
        widen=widen,
    )


def _edge_map(affine: Affine, encoder: Affine) -> tuple[Tensor, Tensor, Tensor]:
    """A map of (edge, triplets): weights of raw numbers and of triplets, and what is constant."""
    hidden = encoder.weight.shape[-1]
    own, triplet = affine.weight.split((hidden, affine.weight.shape[1] - hidden), 1)
    of_edge = encoder.then(Affine(own, affine.bias))
    return of_edge.weight, triplet, of_edge.bias


class Decoders:
    """The decoders of some features, ready for many moments."""

    def __init__(self, maps: DecodeMaps, kernels: Kernels):
        self.maps = maps
        self._project = None if maps.nodes is None else kernels.project(self._joined(maps.nodes))
        self._pointers = [kernels.pointer(*map_) for map_ in _each(maps.points)]

    def _joined(self, nodes: Affine) -> Joined:
        """The map of nodes, and the sizes of its parts."""
        maps, sizes = self.maps, [self.maps.node_values]
        sizes += [maps.edges.edge.shape[-1]] * 2 if maps.edges else []
        sizes += [pointer.edge.shape[-1] for pointer in _each(maps.points) for _ in range(2)]
        sizes += [pointer.edge.shape[-1] for pointer in _each(maps.cubes) for _ in range(3)]
        return Joined(nodes, tuple(sizes))

    def __call__(self, moment: Moment) -> Decoded:
        """Predict the features from one moment."""
        maps, raw, wide = self.maps, moment.edges, None
        if maps.widen is not None and moment.triplets is not None:
            wide = relu(maps.widen(moment.triplets))
        parts: Iterator[Tensor] = iter(())
        if self._project:
            parts = iter(self._project(moment.nodes, moment.before, moment.after))
        nodes = next(parts, None)
        edges = _pairs(next(parts), next(parts), raw, wide, maps.edges) if maps.edges else None
        return Decoded(
            nodes=nodes if maps.node_values else None,
            edges=edges,
            points=[score(next(parts), next(parts), raw, wide) for score in self._pointers],
            cubes=[
                plain.edge_pointer_scores(
                    _pairs(next(parts), next(parts), raw, wide, one), next(parts), one.affine
                )
                for one in _each(maps.cubes)
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
    seen = (maps.encoder(moment.nodes), moment.before, moment.after)
    return maps.pooled(torch.cat([x.amax(2) for x in seen], -1)) + maps.graph(moment.graph)
