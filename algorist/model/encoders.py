"""Encoders: linear maps of features to vectors of nodes, edges and graph, which are added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from algorist.model import kinds
from algorist.model.factored import Encoding, Factored
from algorist.model.kinds import row
from algorist.model.layers import Linear, is_plain
from algorist.spec import Feature, Kind, Location, Stage

REVERSED = "_reversed"
"""The end of the names of encoders that read the edges of a feature the other way round."""

Dense = Mapping[str, Tensor]
"""Values in the form of predictions, by the names of their features."""


def make_encoder(feature: Feature, replicas: int, hidden: int, *, xavier: bool) -> Linear:
    """A new encoder; with `xavier` that of a scalar hint starts small (paper, section 3.2.1)."""
    spread = None if feature.classes else 1.0  # each number as if it had a map of its own
    if xavier and feature.stage == Stage.HINT and feature.kind == Kind.SCALAR:
        spread = hidden**-0.5
    return Linear(replicas, kinds.raw_width(feature), hidden, spread=spread)


def make_encoders(
    features: Sequence[Feature], replicas: int, hidden: int, *, xavier: bool, reversal: bool
) -> dict[str, Linear]:
    """The encoders of some features by name; with `reversal` edges have one for each direction."""
    on_edges = [f for f in features if row(f).form.encode_location == Location.EDGE]
    named = [(f.name, f) for f in features]
    named += [(f.name + REVERSED, f) for f in on_edges] if reversal else []
    return {name: make_encoder(f, replicas, hidden, xavier=xavier) for name, f in named}


def dense_values(
    features: Sequence[Feature], truths: Mapping[str, Tensor], n: int
) -> dict[str, Tensor]:
    """Truths in the form of predictions."""
    return {f.name: row(f).ops.dense(truths[f.name], n) for f in features}


def raw_numbers(features: Sequence[Feature], values: Dense) -> dict[str, Tensor]:
    """The numbers that encoders read, channels last."""
    return {f.name: kinds.raw_numbers(f, values[f.name]) for f in features}


def adjacency(features: Sequence[Feature], values: Dense) -> list[Tensor]:
    """Which pairs of nodes each feature connects, in either direction."""
    limits = ((values[f.name], kinds.connecting(f)) for f in features)
    return [value + value.mT > limit for value, limit in limits if limit is not None]


class _Reader(NamedTuple):
    feature: str
    encoder: nn.Module
    is_reversed: bool


def dense_shapes(lanes: tuple[int, ...], n: int) -> dict[Location, tuple[int, ...]]:
    """The shapes of nodes, edges and graph where all pairs are laid out; lanes are (S, B)."""
    return {location: (*lanes, *location.shape(n)) for location in Location}


def _reverse_pairs(edges: Tensor) -> Tensor:
    return edges.transpose(2, 3)


class Encoders:
    """The encoders of one algorithm, ready for a scan."""

    def __init__(
        self,
        encoders: nn.ModuleDict,
        features: Sequence[Feature],
        shapes: Mapping[Location, tuple[int, ...]],
        h: int,
        reverse: Callable[[Tensor], Tensor] = _reverse_pairs,
    ):
        """`shapes` are those of nodes, edges and graphs, `reverse` turns edges around."""
        self._readers: dict[Location, list[_Reader]] = {location: [] for location in Location}
        for suffix in ("", REVERSED):
            for f in features:
                if f.name + suffix in encoders:
                    reader = _Reader(f.name, encoders[f.name + suffix], bool(suffix))
                    self._readers[row(f).form.encode_location].append(reader)
        self._shapes, self._reverse = shapes, reverse
        self._nothing = next(encoders.parameters()).new_zeros(shapes[Location.NODE][0], h)
        self._encodings = {
            location: self._encoding([reader.encoder for reader in readers])
            for location, readers in self._readers.items()
        }

    def _encoding(self, encoders: Sequence[nn.Module]) -> Encoding | None:
        """All encoders of a location as one; None where one is not linear."""
        if not all(map(is_plain, encoders)):
            return None
        weights = [encoder.weight for encoder in encoders]
        biases = [encoder.bias for encoder in encoders]
        if not encoders:
            return Encoding(self._nothing[:, None][:, :0], self._nothing)
        return Encoding(torch.cat(weights, 1), torch.stack(biases).sum(0))

    def __call__(self, raw: Dense) -> tuple[Tensor | Factored, ...]:
        """Nodes (S, B, n, h), edges (S, B, n, n, h) and graph (S, B, h), from raw numbers."""
        nodes, edges, graph = (self._encoded(location, raw) for location in Location)
        return nodes, edges, graph

    def _encoded(self, location: Location, raw: Dense) -> Tensor | Factored:
        encoding, readers = self._encodings[location], self._readers[location]
        numbers = [
            self._reverse(raw[r.feature]) if r.is_reversed else raw[r.feature] for r in readers
        ]
        if encoding is None:
            parts = [r.encoder(x) for r, x in zip(readers, numbers, strict=True)]
            return torch.stack(parts).sum(0)
        nothing = self._nothing.new_empty(*self._shapes[location], 0)
        return Factored(torch.cat((*numbers, nothing), -1), encoding)
