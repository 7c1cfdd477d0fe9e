"""Decoding: predictions of features from the states of nodes, edges and graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from algorist.kernels.affine import Affine, Joined, join
from algorist.model.kinds import EdgeMap, Evidence, Projections, Reads, row
from algorist.model.layers import Linear
from algorist.model.processors import Processor
from algorist.spec import Feature


class Moment(NamedTuple):
    """All that decoders may read of one step."""

    nodes: Tensor  # (S, B, n, h)
    before: Tensor  # (S, B, n, h)
    after: Tensor  # (S, B, n, h)
    graph: Tensor  # (S, B, h)
    raw: Tensor  # (S, B, n, n, F)
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
        edge_encoder: Affine,
        processor: Processor,
    ):
        self.features, self.processor = features, processor
        self.modules = {feature.name: modules[feature.name] for feature in features}
        self.joined = {
            reads: self._joined(reads) for reads in (Reads.NODE, Reads.POOLED, Reads.GRAPH)
        }
        self.edges = {
            name: _edge_map(maps["edge"].affine, edge_encoder)
            for name, maps in self.modules.items()
            if "edge" in maps
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
        return owners, join(maps) if maps else None

    def __call__(self, moment: Moment, noise: Tensor | None = None) -> dict[str, Tensor]:
        """Predict the features from one moment."""
        state = torch.cat((moment.nodes, moment.before, moment.after), -1)  # (S, B, n, 3h)
        values: dict[str, dict[str, Tensor]] = {feature.name: {} for feature in self.features}
        for reads, (owners, joined) in self.joined.items():
            if joined is None:
                continue
            if reads == Reads.NODE:
                parts = joined(state)
            else:
                parts = joined(moment.graph if reads == Reads.GRAPH else state.amax(2))
            for (feature, name), part in zip(owners, parts, strict=True):
                values[feature][name] = part
        evidence = self._evidence(moment, noise)
        return {
            feature.name: row(feature).place.decode(
                self._projections(feature.name, values[feature.name]), evidence
            )
            for feature in self.features
        }

    def _evidence(self, moment: Moment, noise: Tensor | None) -> Evidence:
        triplets = None
        if moment.triplets is not None and self.edges:
            triplets = self.processor.triplet_output(moment.triplets)
        allowed = moment.adjacency if self.processor.rules_out_non_edges else None
        return Evidence(moment.raw, triplets, allowed, noise)

    def _projections(self, name: str, values: dict[str, Tensor]) -> Projections:
        maps = self.modules[name]
        score = maps["score"].affine if "score" in maps else None
        return Projections(values, self.edges.get(name), score)


def _edge_map(affine: Affine, encoder: Affine) -> EdgeMap:
    """Split a map of (edge, triplets) and fold the edge's encoder into its part."""
    hidden = encoder.weight.shape[-1]
    of_edge = Affine(affine.weight[:, :hidden], affine.bias)
    of_triplets = Affine(affine.weight[:, hidden:], torch.zeros_like(affine.bias))
    return EdgeMap(encoder.then(of_edge), of_triplets)
