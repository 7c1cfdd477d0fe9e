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
    is_conditional,
)
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.splits import SPLITS
from algorist.model.factored import Factored, Joint, side_by_side
from algorist.model.kinds import PostprocessInputs, row
from algorist.model.model_config import ModelConfig
from algorist.model.processors.base import EdgeStates
from algorist.spec import Feature, Kind, Stage


class States(NamedTuple):
    """The inputs of decoders at one step."""

    nodes: Tensor | Factored  # (S, B, n, h)
    edges: Tensor | Factored  # (S, B, n, n, h)
    graph: Tensor | Factored  # (S, B, h)
    before: Tensor  # (S, B, n, h)
    after: Tensor  # (S, B, n, h)
    edge_states: EdgeStates | None
    adjacency: Tensor | None  # (S, B, n, n)
    values: Mapping[str, Tensor]  # what the net has read, dense


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
        masks = reads.mask_width if feature.stage == Stage.HINT else 1
        return ConditionalDecoder(replicas, plain, feature, masks)
    return plain


class Decoders:
    """The decoders of some features, ready for a scan."""

    def __init__(
        self,
        features: Sequence[Feature],
        decoders: Mapping[str, nn.Module],
        derived: DerivedFeatures,
    ):
        self.features, self._reads = features, DecoderFeatures(derived)
        self._are_outputs = all(f.stage == Stage.OUTPUT for f in features)
        self._gated = [f for f in features if f.kind == Kind.GATED_SCALAR]
        self._others = [f for f in features if f.kind != Kind.GATED_SCALAR]
        self._decoders = {f.name: decoders[f.name] for f in features}
        every = self._decoders.values()
        self._node_layers = [layer for d in every for layer in getattr(d, "node_layers", [])]
        self._edge_layers = [layer for d in every for layer in getattr(d, "edge_layers", [])]
        self.reads_edges = any(getattr(d, "reads_edges", True) for d in every)

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
    ) -> dict[str, Tensor]:
        """Predictions by the names of their features; `allowed` (S, B, n, n) may rule out pairs.

        One-hot masks come first, other hints given these, and gated scalars last: each reads the
        true `next_hints`, or those that were predicted before it.
        """
        nodes = Joint(side_by_side(states.nodes, states.before, states.after), self._node_layers)
        edges = None
        if self.reads_edges:
            beside = [] if states.edge_states is None else [states.edge_states.states]
            edges = Joint(side_by_side(states.edges, *beside), self._edge_layers)
        inputs = PostprocessInputs(allowed, noise)
        read = (nodes, edges, states.graph)
        found: dict[str, Tensor] = {}
        masks = states.after.new_ones(*states.after.shape[:-1], 1) if self._are_outputs else None
        for f in sorted(self._others, key=lambda f: f.kind != Kind.MASK_ONE):
            decoder, more = self._decoders[f.name], list[Any]()
            if isinstance(decoder, ConditionalDecoder):
                if masks is None:
                    chosen = self._decide(found) if next_hints is None else next_hints
                    masks = self._reads.mask_features(states.values, chosen)
                more = [masks, states.values[previous_hint(f)]]
            elif isinstance(decoder, WholeEdgePointerDecoder):
                more = [states.values.get(name) for name in (previous_hint(f), SPLITS)]
            found[f.name] = row(f).postprocess(decoder(*read, *more), inputs)
        if self._gated:
            found |= self._new_scalars(read, states.values, found, next_hints)
        return {f.name: found[f.name] for f in self.features}

    def _new_scalars(
        self,
        read: tuple[Any, ...],
        values: Mapping[str, Tensor],
        found: Mapping[str, Tensor],
        next_hints: Mapping[str, Tensor] | None,
    ) -> dict[str, Tensor]:
        """The gated scalars, after all other features are `found`."""
        chosen = self._decide(found) if next_hints is None else next_hints
        terms = self._reads.scalar_terms(values, chosen)
        at = {
            x: (terms.at(x), self._reads.next_hint_features(x, values, chosen))
            for x in {f.location for f in self._gated}
        }
        truths = next_hints or {}
        return {
            f.name: self._decoders[f.name](
                *read, *at[f.location], values[f.name], truths.get(f.name)
            )
            for f in self._gated
        }

    def _decide(self, predictions: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Predictions as the next step would read them, hard."""
        return {
            f.name: row(f).ops.feedback(predictions[f.name], True)
            for f in self.features
            if f.name in predictions
        }
