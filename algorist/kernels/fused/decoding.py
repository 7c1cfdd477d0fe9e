"""All decoders of some features at all steps of a scan: what they predict, and their grads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from algorist.kernels.fused.buffers import GradBuffers, Logits, StepBuffers
from algorist.kernels.fused.gradients import Gradients, affine
from algorist.kernels.fused.pairs import FusedPointerDecoder, PairDecoder, Shared, decoders_of_pairs
from algorist.kernels.fused.pooling import Pool
from algorist.kernels.fused.projection import Projection
from algorist.kernels.fused.streams import SideStream
from algorist.kernels.scan_weights import DecoderWeights


class Decoding:
    """All decoders, by the names of weights and logits; `keep` what backward needs."""

    def __init__(
        self, weights: DecoderWeights, step_buffers: StepBuffers, precision: str, *, keep: bool
    ):
        x, _, before, after, _ = step_buffers
        self.step_buffers, self.node_values = step_buffers, weights.node_values
        self.nodes: Projection | None = None
        self.of_pairs: dict[str, PairDecoder] = {}
        if weights.nodes is not None:
            unread = (weights.value_columns, weights.pointer_column)
            self.nodes = Projection(weights.nodes, (x, before, after), precision, unread=unread)
        if self.nodes and (weights.points or weights.edges or weights.edge_pointer_logits):
            shared = Shared(step_buffers, self.nodes, weights.triplet_projection, keep=keep)
            self.of_pairs = decoders_of_pairs(weights, shared)
        # What edges contribute to pointers does not depend on the new states: it is prepared.
        self.prepared = [
            part for part in self.of_pairs.values() if isinstance(part, FusedPointerDecoder)
        ]
        self.parts: dict[str, PairDecoder | Pool] = {**self.of_pairs}
        if weights.graph:
            self.parts["graph"] = Pool(weights.graph, step_buffers, precision, keep=keep)

    @property
    def adds(self) -> list[str]:
        """The names of the step buffers to whose grads it adds, one for each time that it does."""
        names = ["x", "before", "after"] if self.nodes else []
        return names + [name for part in self.parts.values() for name in part.adds]

    @property
    def logits(self) -> Logits:
        """All predictions, and what else is made of nodes."""
        decoded = self.nodes.out if self.nodes else None
        return Logits(decoded, **{name: part.out for name, part in self.parts.items()})

    @property
    def predictions(self) -> Logits:
        """All predictions alone."""
        logits = self.logits
        if logits.decoded is None or not self.node_values:
            return logits._replace(decoded=None)
        return logits._replace(decoded=logits.decoded[..., : self.node_values])

    def prepare(self, k: int) -> None:
        """Do what can be done before the states of step k are updated."""
        for part in self.prepared:
            part.prepare(k)

    def forward(self, k: int, side_stream: SideStream) -> None:
        """Predict from the states of step k, and from what was prepared on the side stream."""
        if self.nodes:
            self.nodes.forward(k)
        side_stream.join()
        for part in self.parts.values():
            part.forward(k)

    def read_grads(self, grads: Iterator[Tensor]) -> Logits:
        """The next grads, those of all predictions, in one piece each."""
        return Logits(
            *(None if stack is None else next(grads).contiguous() for stack in self.predictions)
        )

    def begin_backward(self, grad_buffers: GradBuffers, grads: Logits) -> None:
        """Allocate what backward writes, given the gradients of all predictions.

        What the next step reads of a prediction is added to its grads in place: nobody else reads
        them any more.
        """
        if self.nodes:
            self.nodes.begin_backward(grad_buffers)
            if grads.decoded is not None:
                self.nodes.grads[..., : self.node_values] = grads.decoded
            grads = grads._replace(decoded=self.nodes.grads)
        self.grads = grads
        for name, part in self.parts.items():
            part.begin_backward(grad_buffers, getattr(grads, name))

    def backward(self, k: int, side_stream: SideStream) -> None:
        """The gradients of step k; those of what was prepared on the side stream."""
        for part in self.parts.values():
            part.backward(k)
        with side_stream.work():
            for part in self.prepared:
                part.prepare_backward(k)
        if self.nodes:
            self.nodes.backward(k)

    def gradients(self, wanted: Gradients) -> DecoderWeights:
        """The gradient of every weight."""
        of_parts: dict[str, Any] = {
            name: part.gradients(wanted) for name, part in self.parts.items()
        }
        triplet_projection = None
        grads = [x for x in (part.d_projection for part in self.of_pairs.values()) if x is not None]
        if grads:
            sums = wanted.want([x.flatten(-2) for x in grads])
            triplet_projection = affine(sums.unflatten(-1, grads[0].shape[-2:])[:, 0])
        return DecoderWeights(
            nodes=self.nodes.gradients(wanted) if self.nodes else None,
            node_values=self.node_values,
            points=of_parts.get("points"),
            edges=of_parts.get("edges"),
            edge_pointer_logits=of_parts.get("edge_pointer_logits"),
            graph=of_parts.get("graph"),
            triplet_projection=triplet_projection,
        )
