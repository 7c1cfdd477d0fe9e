"""Decoding a step: which decoder a feature has, and in which order all of them are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from algorist.model.decoders import BUILT_IN, BuiltInDecoder, DecoderSizes, DecoderType
from algorist.model.executing.decoder_features import DecoderFeatures, previous_hint
from algorist.model.executing.decoders import (
    ConditionalDecoder,
    GatedDecoder,
    WholeEdgePointerDecoder,
    decode_gated,
    is_conditional,
)
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.kept_hints import KeptHints
from algorist.model.executing.splits import SPLITS
from algorist.model.factored import Factored, Joint, side_by_side
from algorist.model.grouped import map_features
from algorist.model.kinds import PostprocessInputs, row
from algorist.model.model_config import ModelConfig
from algorist.model.processors.base import EdgeStates
from algorist.spec import Feature, Kind, Location, Stage


class States(NamedTuple):
    """The inputs of decoders at one step."""

    nodes: Tensor | Factored  # (S, B, n, h)
    edges: Tensor | Factored  # (S, B, n, n, h)
    graph: Tensor | Factored  # (S, B, h)
    before: Tensor  # (S, B, n, h)
    after: Tensor  # (S, B, n, h)
    edge_states: EdgeStates | None
    adjacency: Tensor | None  # (S, B, n, n)
    values: Mapping[str, Tensor]  # what the net has read, one-hot


def make_decoder(
    feature: Feature,
    sizes: DecoderSizes,
    replicas: int,
    config: ModelConfig,
    derived: DerivedFeatures,
) -> BuiltInDecoder:
    """A new decoder for a feature of a task."""
    decoder_type, reads = row(feature).decoder_type, DecoderFeatures(derived)
    if feature.kind == Kind.GATED_SCALAR:
        location = feature.location
        widths = reads.terms_width(location), reads.next_hint_width(location)
        return GatedDecoder(replicas, sizes, location, *widths)
    if decoder_type == DecoderType.EDGE_POINTER and config.edge_pointers:
        suggested = reads.splits_width if feature.stage == Stage.HINT else 0
        return WholeEdgePointerDecoder(replicas, sizes, suggested)
    plain = BUILT_IN[decoder_type](replicas, sizes)
    if config.conditional_hints and is_conditional(feature) and reads.continues_hint(feature):
        if feature.stage == Stage.OUTPUT:
            return ConditionalDecoder(replicas, plain, feature, masks=1)
        bits = reads.local_width if config.local_decoders else 0
        return ConditionalDecoder(replicas, plain, feature, reads.mask_width, bits)
    return plain


def _is_decoded_first(feature: Feature) -> bool:
    """Whether decoders of other features read this one: one-hot masks, and what is of the graph."""
    return feature.kind == Kind.MASK_ONE or feature.location == Location.GRAPH


class Decoders:
    """The decoders of some features, ready for a scan."""

    def __init__(
        self,
        features: Sequence[Feature],
        decoders: Mapping[str, nn.Module],
        derived: DerivedFeatures,
        kept: KeptHints | None = None,
    ):
        self.features, self._reads = features, DecoderFeatures(derived)
        self._are_outputs = all(f.stage == Stage.OUTPUT for f in features)
        self._gated = [f for f in features if f.kind == Kind.GATED_SCALAR]
        others = [f for f in features if f.kind != Kind.GATED_SCALAR]
        self._first = [f for f in others if _is_decoded_first(f)]
        self._others = [f for f in others if not _is_decoded_first(f)]
        self._kept = kept
        self._decoders: dict[str, Any] = {f.name: decoders[f.name] for f in features}
        every = self._decoders.values()
        self._node_layers = [layer for d in every for layer in getattr(d, "node_layers", [])]
        self._edge_layers = [layer for d in every for layer in getattr(d, "edge_layers", [])]
        self.reads_edges = any(getattr(d, "reads_edges", True) for d in every)
        self._conditional = [d for d in every if isinstance(d, ConditionalDecoder)]

    @property
    def previous_hints(self) -> list[str]:
        """The hints whose present values decoders read."""
        going_on = (WholeEdgePointerDecoder, ConditionalDecoder)
        return [
            previous_hint(f) for f in self.features if isinstance(self._decoders[f.name], going_on)
        ]

    def __call__(
        self,
        states: States,
        *,
        allowed: Tensor | None,
        noise: Tensor | None = None,
        next_hints: Mapping[str, Tensor] | None = None,
        follows: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Predictions by the names of their features; `allowed` (S, B, n, n) may rule out pairs.

        One-hot masks come first, other hints given these, and gated scalars last: each reads the
        true `next_hints`, or those that were predicted before it. The true ones are those of the
        lanes where `follows` (S, B) is 1.
        """
        nodes = Joint(side_by_side(states.nodes, states.before, states.after), self._node_layers)
        edges = None
        if self.reads_edges:
            beside = [] if states.edge_states is None else [states.edge_states.states]
            edges = Joint(side_by_side(states.edges, *beside), self._edge_layers)
        inputs = PostprocessInputs(allowed, noise)
        read = (nodes, edges, states.graph)
        found = {
            f.name: row(f).postprocess(self._decoders[f.name](*read), inputs) for f in self._first
        }
        chosen = {} if next_hints is None else next_hints
        masks, bits, unselected = None, None, None
        if self._conditional:
            chosen = self._decide(found, chosen)
            selected = self._selected(states, chosen)
            masks = Joint(selected, [layer for d in self._conditional for layer in d.mask_layers])
            bits = self._local_features(selected, states.values, chosen)
            unselected = self._unselected(states.values, chosen, selected, next_hints, follows)
        for f in self._others:
            decoder, more = self._decoders[f.name], list[Any]()
            if isinstance(decoder, ConditionalDecoder):
                more = [masks, states.values[previous_hint(f)], bits]
            elif isinstance(decoder, WholeEdgePointerDecoder):
                more = [states.values.get(name) for name in (previous_hint(f), SPLITS)]
            found[f.name] = row(f).postprocess(decoder(*read, *more), inputs)
            found[f.name] = self._keep(f, found[f.name], states.values, unselected)
        if self._gated:
            chosen = self._decide(found, chosen)
            new = self._new_scalars(read, states.values, chosen, next_hints)
            found |= {
                f.name: self._keep(f, new[f.name], states.values, unselected) for f in self._gated
            }
        return {f.name: found[f.name] for f in self.features}

    def _selected(self, states: States, chosen: Mapping[str, Tensor]) -> Tensor:
        """(S, B, n, K): `mask_features` of hints; for outputs, which nothing selects, a 1 each."""
        if self._are_outputs:
            return states.after.new_ones(*states.after.shape[:-1], 1)
        return self._reads.mask_features(states.values, chosen)

    def _unselected(
        self,
        values: Mapping[str, Tensor],
        chosen: Mapping[str, Tensor],
        selected: Tensor,
        truths: Mapping[str, Tensor] | None,
        follows: Tensor | None,
    ) -> Tensor | None:
        """(S, B, n): the nodes at which hints may be kept. In training there are none: it is noted
        which hints change there."""
        if self._kept is None or self._are_outputs:
            return None
        unselected = self._reads.unselected_nodes(values, chosen, selected)
        if truths is None:
            return unselected
        assert follows is not None
        self._kept.observe(values, truths, unselected & (follows > 0).unsqueeze(-1))
        return None

    def _keep(
        self,
        feature: Feature,
        prediction: Tensor,
        values: Mapping[str, Tensor],
        unselected: Tensor | None,
    ) -> Tensor:
        """The prediction, with present values where the hint is kept."""
        if self._kept is None or unselected is None or feature not in self._kept:
            return prediction
        return self._kept.keep(feature, prediction, values[feature.name], unselected)

    def _local_features(
        self, selected: Tensor, values: Mapping[str, Tensor], chosen: Mapping[str, Tensor]
    ) -> Joint | None:
        """What local decoders read, if there are any, for all of them in one product."""
        layers = [d.local_hidden for d in self._conditional if d.local_hidden is not None]
        if not layers:
            return None
        return Joint(self._reads.local_features(selected, values, chosen), layers)

    def _new_scalars(
        self,
        read: tuple[Any, ...],
        values: Mapping[str, Tensor],
        chosen: Mapping[str, Tensor],
        truths: Mapping[str, Tensor] | None,
    ) -> dict[str, Tensor]:
        """The gated scalars, after all other hints are `chosen`; in training, with their truths."""
        terms = self._reads.scalar_terms(values, chosen)
        new: dict[str, Tensor] = {}
        for location in dict.fromkeys(f.location for f in self._gated):
            names = [f.name for f in self._gated if f.location == location]
            made = decode_gated(
                [self._decoders[name] for name in names],
                read,
                terms.at(location),
                self._reads.next_hint_features(location, values, chosen),
                [values[name] for name in names],
                None if truths is None else [truths[name] for name in names],
            )
            new |= zip(names, made, strict=True)
        return new

    def _decide(
        self, predictions: Mapping[str, Tensor], chosen: Mapping[str, Tensor]
    ) -> Mapping[str, Tensor]:
        """The next hints: those that are chosen, and predictions as the next step would read them,
        hard."""
        new = [f for f in self.features if f.name in predictions and f.name not in chosen]
        decided = map_features(lambda f, x: row(f).ops.feedback(x, True), new, predictions)
        return {**chosen, **decided}
