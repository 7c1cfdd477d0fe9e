"""Encoders: linear maps of features to vectors of nodes, edges and graph, which are added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn

from algorist.model.decoders import DecoderType
from algorist.model.executing.derived_features import DerivedFeatures, Group
from algorist.model.executing.orders import is_read_by_order
from algorist.model.factored import Encoding, Factored, dense, project
from algorist.model.feature_values import raw_width
from algorist.model.grouped import cat_columns, split_columns
from algorist.model.kinds import row
from algorist.model.layers import Linear, is_plain
from algorist.model.model_config import ModelConfig
from algorist.spec import Feature, Kind, Location, Stage

REVERSED = "_reversed"
"""The end of the names of encoders that read the edges of a feature the other way round."""
SELECTED = "_selected"
"""The end of the names of encoders that read pointers of edges whole."""

EDGE_POINTER_CHANNELS = 16


def make_encoder(feature: Feature, replicas: int, hidden: int, *, xavier: bool) -> Linear:
    """A new encoder; with `xavier` that of a scalar hint starts small (paper, section 3.2.1)."""
    std = None if feature.classes else 1.0  # each number as if it had a map of its own
    if xavier and feature.stage == Stage.HINT and feature.kind == Kind.SCALAR:
        std = hidden**-0.5
    return Linear(replicas, raw_width(feature), hidden, std=std)


def make_encoders(
    features: Sequence[Feature], derived: DerivedFeatures, replicas: int, config: ModelConfig
) -> dict[str, nn.Module]:
    """The encoders of some features, and of what is derived from them, by name.

    With pointer reversal edges have one for each direction, except where numbers have both.
    Nets with `orders` read the order of scalar hints, not how large they are.
    """
    read = [f for f in features if not (derived.orders and is_read_by_order(f))]
    xavier = config.scalar_hint_init == "xavier"
    linear = partial(Linear, replicas)
    made: dict[str, nn.Module] = {}
    for suffix in ("", REVERSED) if config.pointer_reversal else ("",):
        for f in read:
            if not suffix or row(f).decoder_type.encode_location == Location.EDGE:
                made[f.name + suffix] = make_encoder(f, replicas, config.hidden, xavier=xavier)
        for name, group in derived.groups.items():
            if not suffix or (group.location == Location.EDGE and not group.has_both_directions):
                width = group.numbers.shape[-1]
                made[name + suffix] = linear(width, config.hidden, std=group.std)
    for f in features if config.edge_pointers else ():
        if row(f).decoder_type == DecoderType.EDGE_POINTER:
            made[f.name + SELECTED] = EdgePointerEncoder(replicas, config.hidden)
    return made


class EdgePointerEncoder(nn.Module):
    """Adds pointers of edges, numbers of three nodes, to the encodings of two of their edges.

    P[a, c, p] is a number for three nodes. Each of k channels takes the largest over a of what the
    node a gates, for the edge (c, p), and the largest over c, for the edge (a, p).
    """

    def __init__(self, replicas: int, hidden: int):
        super().__init__()
        linear, k = partial(Linear, replicas), EDGE_POINTER_CHANNELS
        self.first_gate, self.second_gate = linear(hidden, k), linear(hidden, k)
        self.pointers = linear(1, 2 * k, std=0.5)
        self.first, self.second = linear(k, hidden, std=0.1), linear(k, hidden, std=0.1)

    def forward(self, nodes: Tensor | Factored, pointers: Tensor) -> Tensor:
        """(S, B, n, h), (S, B, n, n, n) -> (S, B, n, n, h)."""
        k = EDGE_POINTER_CHANNELS
        first, second = split_columns(self.pointers(pointers.unsqueeze(-1)), (k, k))
        first_gate, second_gate = project(nodes, self.first_gate, self.second_gate)
        first = first + first_gate[:, :, :, None, None]
        second = second + second_gate[:, :, None, :, None]
        return self.first(first.relu().amax(2)) + self.second(second.relu().amax(3))


class _Reader(NamedTuple):
    feature: str
    encoder: nn.Module
    is_reversed: bool


def location_shapes(lanes: tuple[int, ...], n: int) -> dict[Location, tuple[int, ...]]:
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
        *,
        derived: Mapping[str, Group] = MappingProxyType({}),
    ):
        """`shapes` are those of nodes, edges and graphs, `reverse` turns edges around."""
        self._readers: dict[Location, list[_Reader]] = {location: [] for location in Location}
        locations = {f.name: row(f).decoder_type.encode_location for f in features}
        locations |= {name: group.location for name, group in derived.items()}
        for suffix in ("", REVERSED):
            for name, location in locations.items():
                if name + suffix in encoders:
                    reader = _Reader(name, encoders[name + suffix], bool(suffix))
                    self._readers[location].append(reader)
        self._selecting = {
            f.name: encoders[f.name + SELECTED] for f in features if f.name + SELECTED in encoders
        }
        self._shapes, self._reverse = shapes, reverse
        self._nothing = next(encoders.parameters()).new_zeros(shapes[Location.NODE][0], h)
        self._encodings = {
            location: self._encoding([reader.encoder for reader in readers])
            for location, readers in self._readers.items()
        }

    @property
    def reads(self) -> set[str]:
        """The names of the raw numbers that are read."""
        return {reader.feature for readers in self._readers.values() for reader in readers}

    def _encoding(self, encoders: Sequence[nn.Module]) -> Encoding | None:
        """The sum of all encoders of a location as one map; None if one is not linear."""
        plain = [e for e in encoders if isinstance(e, Linear) and is_plain(e)]
        if len(plain) < len(encoders):
            return None
        if not plain:
            return Encoding(self._nothing[:, None][:, :0], self._nothing)
        weights, biases = ([getattr(e, name) for e in plain] for name in ("weight", "bias"))
        return Encoding(torch.cat(weights, 1), torch.stack(biases).sum(0))

    def __call__(
        self, raw: Mapping[str, Tensor], values: Mapping[str, Tensor] = MappingProxyType({})
    ) -> tuple[Tensor | Factored, ...]:
        """Nodes (S, B, n, h), edges (S, B, n, n, h) and graph (S, B, h), from raw numbers.

        Pointers of edges that are read whole are taken from the one-hot `values`.
        """
        nodes, edges, graph = (self._encoded(location, raw) for location in Location)
        for name, encoder in self._selecting.items():
            edges = dense(edges) + encoder(nodes, values[name])
        return nodes, edges, graph

    def _encoded(self, location: Location, raw: Mapping[str, Tensor]) -> Tensor | Factored:
        encoding, readers = self._encodings[location], self._readers[location]
        numbers = [
            self._reverse(raw[r.feature]) if r.is_reversed else raw[r.feature] for r in readers
        ]
        if encoding is None:
            parts = [r.encoder(x) for r, x in zip(readers, numbers, strict=True)]
            return torch.stack(parts).sum(0)
        nothing = self._nothing.new_empty(*self._shapes[location], 0)
        return Factored(cat_columns((*numbers, nothing)), encoding)
