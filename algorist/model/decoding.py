"""Decoding: predictions of features from the states of nodes, edges and graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from algorist.kernels.affine import Affine, Joined, join
from algorist.kernels.ops import Kernels, Triplets
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
    triplets: Tensor | None  # (S, B, n, n, f)
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
        self.joined = {
            reads: self._joined(reads) for reads in (Reads.NODE, Reads.POOLED, Reads.GRAPH)
        }
        self.edges = {
            name: _edge_map(maps["edge"].affine, encoders[Location.EDGE])
            for name, maps in self.modules.items()
            if "edge" in maps
        }
        self.pointers = {
            feature.name: kernels.pointer(
                *self.edges[feature.name], self._score(feature.name), processor.widen
            )
            for feature in features
            if row(feature).place.pointing
        }

    def _joined(self, reads: str) -> tuple[list[tuple[str, str]], Joined | None]:
        """The maps that read the same, as one, and whose parts its results are."""
        owners = [
            (feature.name, name)
            for feature in self.features
            for name, source in row(feature).place.reads.items()
            if source == reads
        ]
        maps = [self.modules[feature][name].affine for feature, name in owners]
        if reads == Reads.NODE:
            maps = [affine.reading(self.encoders[Location.NODE]) for affine in maps]
        elif reads == Reads.GRAPH:
            maps = [affine.reading(self.encoders[Location.GRAPH]) for affine in maps]
        return owners, join(maps) if maps else None

    def __call__(self, moment: Moment, noise: Tensor | None = None) -> dict[str, Tensor]:
        """Predict the features from one moment."""
        values: dict[str, dict[str, Tensor]] = {feature.name: {} for feature in self.features}
        for reads, (owners, joined) in self.joined.items():
            if joined is not None:
                parts = joined(self._read(reads, moment))
                for (feature, name), part in zip(owners, parts, strict=True):
                    values[feature][name] = part
        evidence = self._evidence(moment, noise)
        return {
            feature.name: row(feature).place.decode(
                self._projections(feature.name, values[feature.name]), evidence
            )
            for feature in self.features
        }

    def _read(self, reads: str, moment: Moment) -> Tensor:
        if reads == Reads.GRAPH:
            return moment.graph
        if reads == Reads.NODE:
            return torch.cat((moment.nodes, moment.before, moment.after), -1)
        nodes = self.encoders[Location.NODE](moment.nodes)
        return torch.cat([x.amax(2) for x in (nodes, moment.before, moment.after)], -1)

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
    of_edge = Affine(affine.weight[:, :hidden], affine.bias)
    of_triplets = Affine(affine.weight[:, hidden:], torch.zeros_like(affine.bias))
    return EdgeMap(encoder.then(of_edge), of_triplets)
