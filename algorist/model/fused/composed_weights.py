"""The composed weights of a net for one algorithm, as the fused scan takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor

from algorist.kernels.scan_weights import (
    DecoderWeights,
    ProcessorWeights,
    UpdateWeights,
    list_tensors,
    map_tensors,
)
from algorist.kernels.weight_layout import Copying, StridedView
from algorist.model.fused.composer import Composer, FusedOutput, OutputGroup
from algorist.model.fused.decoders import JoinedDecoders
from algorist.model.fused.prediction_layout import PredictionLayout
from algorist.model.kinds import row
from algorist.model.layers import Linear
from algorist.model.processors import MessagePassing
from algorist.spec import Location, Stage

if TYPE_CHECKING:
    from algorist.model.net import Net


class FoldedWeights(NamedTuple):
    """What is composed for the family around MPNN: as in `ProcessorWeights`, but for messages."""

    state: Tensor
    edge: Tensor
    triplet: Tensor | None
    of_message: Tensor


def _outputs(processor: MessagePassing, *, triplets: bool) -> list[FusedOutput]:
    """Receiver, triplets, sender, self-projection and gate: the order that kernels know."""
    p, h, f = processor, processor.second.weight.shape[-1], processor.triplet_features
    of_triplets = []
    if triplets and f:
        graph = (None, p.triplet_graph, None)
        parts: Iterable[Any] = zip(p.triplet_nodes, p.triplet_edges, graph, strict=True)
        of_triplets = [FusedOutput(f, *layers) for layers in parts]
    return [
        FusedOutput(h, p.receiver, p.edge, p.graph),
        *of_triplets,
        FusedOutput(h, p.sender),
        FusedOutput(h, p.self_projection, message=p.update),
        *([FusedOutput(h, p.gate_state, message=p.gate_message)] if p.gated else []),
    ]


def _composed_processor(composer: Composer, group: OutputGroup) -> FoldedWeights:
    """All weights of the node states joined, and all of messages."""
    edge, *triplets = (composer.edge(span) for output, span in group.each if output.edge)
    messages = [composer.message(span) for output, span in group.each if output.message]
    state = composer.states(group)
    assert state is not None, "a processor has outputs"
    return FoldedWeights(
        state=state,
        edge=composer.side_by_side([edge]),
        triplet=composer.side_by_side(triplets) if triplets else None,
        of_message=composer.side_by_side(messages),
    )


def _processor_weights(processor: MessagePassing, folded: FoldedWeights) -> ProcessorWeights:
    """All weights of a step."""
    norm = processor.norm
    return ProcessorWeights(
        state=folded.state,
        edge=folded.edge,
        first=processor.first.affine,
        second=processor.second.weight,
        triplet=folded.triplet,
        update=UpdateWeights(
            folded.of_message,
            None if norm is None else (norm.scale, norm.offset),
            processor.gate.affine if processor.gated else None,
        ),
    )


class ComposedWeights:
    """The weights of a net composed for one algorithm, as the fused scan takes them."""

    def __init__(self, net: Net, algorithm: str):
        self.spec = net.spec(algorithm)
        encoded, decoded = net.encoded_features(self.spec), net.decoded_features(self.spec)
        self.read_hints = [feature for feature in encoded if feature.stage == Stage.HINT]
        self.hints = PredictionLayout(feature for feature in decoded if feature.stage == Stage.HINT)
        self.outputs = PredictionLayout(self.spec.outputs)
        encoders: dict[Location, list[Linear]] = {location: [] for location in Location}
        for feature in encoded:
            encoders[row(feature).decoder_type.encode_location].append(
                net.encoders[algorithm][feature.name]
            )
        reads_edges = any("edge" in row(feature).decoder_type.layer_inputs for feature in decoded)
        processor = net.processor
        assert isinstance(processor, MessagePassing)
        self._processor = processor
        hints, outputs = (
            JoinedDecoders(layout, net.decoders[algorithm]) for layout in (self.hints, self.outputs)
        )
        composer = Composer(
            net.config.hidden,
            encoders,
            processor.second,
            [_outputs(processor, triplets=reads_edges),
             hints.of_nodes, hints.of_graph, outputs.of_nodes, outputs.of_graph],
            [*hints.others, *outputs.others],
        )  # fmt: skip
        group, *groups = composer.groups
        self._layout, self._parameters = composer.layout, composer.parameters
        self._weights = (
            _composed_processor(composer, group),
            hints.compose(composer, *groups[:2]),
            outputs.compose(composer, *groups[2:]),
        )
        self._places = [StridedView.of(view) for view in list_tensors(self._weights)]

    def compose(self, copying: Copying) -> tuple[ProcessorWeights, DecoderWeights, DecoderWeights]:
        """Compose the present weights: those of the processor, of hints and of outputs."""
        results = self._layout.compose(self._parameters, copying)
        found = dict(zip(self._layout.results, results, strict=True))
        composed = iter([found[place] for place in self._places])
        folded, hints, outputs = map_tensors(self._weights, lambda _: next(composed))
        processor, triplets = self._processor, None
        if processor.triplet_features:
            triplets = processor.triplet_projection.affine
        hints, outputs = (x._replace(triplet_projection=triplets) for x in (hints, outputs))
        return _processor_weights(processor, folded), hints, outputs
