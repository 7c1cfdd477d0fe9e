"""The composed maps of a net for one algorithm, as the fused scan takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor

from algorist.kernels.maps import DecodeMaps, ProcessMaps, Update, changed, tensors
from algorist.kernels.weight_layout import Copying, StridedView
from algorist.model.fused.composer import Composer, FusedOutput, OutputGroup
from algorist.model.fused.decoders import JoinedDecoders
from algorist.model.fused.layout import Layout
from algorist.model.kinds import row
from algorist.model.layers import Linear
from algorist.model.processors import MessagePassing
from algorist.spec import Location, Stage

if TYPE_CHECKING:
    from algorist.model.net import Net


class FoldedWeights(NamedTuple):
    """What is composed for the family around MPNN: as in `ProcessMaps`, but for messages."""

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


def _composed_processor(composer: Composer, joint: OutputGroup) -> FoldedWeights:
    """All maps of the node states joined, and all of messages."""
    edge, *triplets = (composer.edge(span) for column, span in joint.each if column.edge)
    messages = [composer.message(span) for column, span in joint.each if column.message]
    state = composer.states(joint)
    assert state is not None, "a processor has columns"
    return FoldedWeights(
        state=state,
        edge=composer.side_by_side([edge]),
        triplet=composer.side_by_side(triplets) if triplets else None,
        of_message=composer.side_by_side(messages),
    )


def _process_maps(processor: MessagePassing, folded: FoldedWeights) -> ProcessMaps:
    """All maps of a step."""
    norm = processor.norm
    return ProcessMaps(
        state=folded.state,
        edge=folded.edge,
        first=processor.first.affine,
        second=processor.second.weight,
        triplet=folded.triplet,
        update=Update(
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
        self.hints = Layout(feature for feature in decoded if feature.stage == Stage.HINT)
        self.outputs = Layout(self.spec.outputs)
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
        joint, *joints = composer.joints
        self._plan, self._parameters = composer.plan, composer.parameters
        self._maps = (
            _composed_processor(composer, joint),
            hints.compose(composer, *joints[:2]),
            outputs.compose(composer, *joints[2:]),
        )
        self._places = [StridedView.of(view) for view in tensors(self._maps)]

    def compose(self, copying: Copying) -> tuple[ProcessMaps, DecodeMaps, DecodeMaps]:
        """Compose the present weights: those of the processor, of hints and of outputs."""
        results = self._plan.compose(self._parameters, copying)
        found = dict(zip(self._plan.results, results, strict=True))
        composed = iter([found[place] for place in self._places])
        folded, hints, outputs = changed(self._maps, lambda _: next(composed))
        processor = self._processor
        widen = processor.triplet_projection.affine if processor.triplet_features else None
        process = _process_maps(processor, folded)
        return process, hints._replace(widen=widen), outputs._replace(widen=widen)
