"""Decoding: predictions of features from the states of nodes, edges and graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, nn

from algorist.kernels.affine import Affine, Joined, join
from algorist.kernels.ops import Kernels, Pointer, Project, Triplets
from algorist.model.kinds import EdgeMap, Evidence, Projections, Reads, row
from algorist.model.layers import Linear
from algorist.model.processors import Encoders, Processor
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


def decoder(feature: Feature, replicas: int, hidden: int, *, triplets: bool) -> nn.ModuleDict:
    """The maps of a new decoder, by name."""
    place = row(feature).place
    inputs = {
        Reads.NODE: 3 * hidden,
        Reads.POOLED: 3 * hidden,
        Reads.EDGE: 2 * hidden if triplets else hidden,
        Reads.GRAPH: hidden,
        Reads.SCORE: hidden,
    }
    outputs = hidden if place.wide else feature.classes or 1
    return nn.ModuleDict(
        {
            name: Linear(replicas, inputs[reads], 1 if reads == Reads.SCORE else outputs)
            for name, reads in place.reads.items()
        }
    )


class Decoders:
    """The decoders of some features, with joined projections, ready for many moments."""

    def __init__(
        self,
        features: Sequence[Feature],
        modules: nn.ModuleDict,
        encoders: Encoders,
        processor: Processor,
        kernels: Kernels,
    ):
        self.features, self.encoders, self.processor = features, encoders, processor
        self.modules = {feature.name: modules[feature.name] for feature in features}
        self.edges = {
            name: _edge_map(maps["edge"].affine, encoders[Location.EDGE])
            for name, maps in self.modules.items()
            if "edge" in maps
        }
        self.projections = {
            reads: self._projection(reads, kernels)
            for reads in (Reads.NODE, Reads.POOLED, Reads.GRAPH)
        }
        self.pointers = {
            feature.name: self._pointer(feature.name, kernels)
            for feature in features
            if row(feature).place.pointing
        }

    def _pointer(self, name: str, kernels: Kernels) -> Pointer:
        edge = self.edges[name]
        return kernels.pointer(edge.edge, edge.triplet, self._score(name), self.processor.widen)

    def _projection(
        self, reads: Reads, kernels: Kernels
    ) -> tuple[list[tuple[str, str]], Project | None]:
        """The maps that read the same, as one, and whose parts its results are."""
        owners = [
            (feature.name, name)
            for feature in self.features
            for name, source in row(feature).place.reads.items()
            if source == reads
        ]
        if not owners:
            return owners, None
        joined = join([self._map(*owner) for owner in owners])
        encoder = {Reads.NODE: Location.NODE, Reads.GRAPH: Location.GRAPH}.get(reads)
        affine = joined.affine.reading(self.encoders[encoder]) if encoder else joined.affine
        return owners, kernels.project(Joined(affine, joined.sizes))

    def _map(self, feature: str, name: str) -> Affine:
        """One of a decoder's maps; what is constant for edges is added at their targets."""
        affine = self.modules[feature][name].affine
        return affine.plus(self.edges[feature].bias) if name == "target" else affine

    def __call__(self, moment: Moment, noise: Tensor | None = None) -> dict[str, Tensor]:
        """Predict the features from one moment."""
        values: dict[str, dict[str, Tensor]] = {feature.name: {} for feature in self.features}
        for reads, (owners, project) in self.projections.items():
            if project is not None:
                parts = project(*self._read(reads, moment))
                for (feature, name), part in zip(owners, parts, strict=True):
                    values[feature][name] = part
        evidence = self._evidence(moment, noise)
        return {
            feature.name: row(feature).place.decode(
                self._projections(feature.name, values[feature.name]), evidence
            )
            for feature in self.features
        }

    def _read(self, reads: Reads, moment: Moment) -> tuple[Tensor, ...]:
        if reads == Reads.GRAPH:
            return (moment.graph,)
        if reads == Reads.NODE:
            return moment.nodes, moment.before, moment.after
        nodes = self.encoders[Location.NODE](moment.nodes)
        return tuple(x.amax(2) for x in (nodes, moment.before, moment.after))

    def _evidence(self, moment: Moment, noise: Tensor | None) -> Evidence:
        triplets, widen = None, self.processor.widen
        if moment.triplets is not None and widen is not None:
            triplets = Triplets(moment.triplets, widen)
        allowed = moment.adjacency if self.processor.rules_out_non_edges else None
        return Evidence(moment.edges, triplets, allowed, noise)

    def _projections(self, name: str, values: dict[str, Tensor]) -> Projections:
        score = self._score(name) if "score" in self.modules[name] else None
        return Projections(values, self.edges.get(name), score, self.pointers.get(name))

    def _score(self, name: str) -> Affine:
        return self.modules[name]["score"].affine


def _edge_map(affine: Affine, encoder: Affine) -> EdgeMap:
    """Split a map of (edge, triplets) and fold the edge's encoder into its part."""
    hidden = encoder.weight.shape[-1]
    of_edge = encoder.then(Affine(affine.weight[:, :hidden], affine.bias))
    return EdgeMap(of_edge.weight, affine.weight[:, hidden:], of_edge.bias)
