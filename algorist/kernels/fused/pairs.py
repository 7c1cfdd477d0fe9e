"""Decoders of pairs of nodes at all steps of a scan: pointers, values of edges, pointers of edges.

Each has `forward` and `backward` for one step and `gradients` for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from algorist.kernels.affine import Affine
from algorist.kernels.fused import edge_pointer_logits, edge_values, pointer_logits
from algorist.kernels.fused.buffers import GradBuffers, StepBuffers, at_step
from algorist.kernels.fused.gradients import Gradients
from algorist.kernels.fused.projection import Projection
from algorist.kernels.fused.tiling import tiles
from algorist.kernels.scan_weights import DecoderWeights, EdgeValueWeights, PointerWeights


class Shared:
    """What the decoders of pairs of nodes share."""

    def __init__(
        self,
        step_buffers: StepBuffers,
        projection: Projection,
        triplet_projection: Affine | None,
        *,
        keep: bool,
    ):
        self.step_buffers, self.projection, self.keep = step_buffers, projection, keep
        self.triplet_projection = (
            pointer_logits.TripletProjection(*triplet_projection) if triplet_projection else None
        )
        K, S, B, n, h = step_buffers.before.shape
        # Triplets as all of them read them.
        self.edge_states = step_buffers.x.new_empty(
            K if keep and triplet_projection else 0, S, B, n, n, h
        )


class PairDecoder(ABC):
    """What decoders of pairs of nodes have in common."""

    adds = ("raw", "maxima")
    out: Tensor

    def __init__(self, shared: Shared, column: int, *, first: bool):
        """Its columns in what nodes are projected to begin at `column`.

        The first of several writes the triplets as all of them read them.
        """
        self.shared, self.column, self.first = shared, column, first
        self.step_buffers, self.projection, self.triplet_projection = (
            shared.step_buffers,
            shared.projection,
            shared.triplet_projection,
        )
        self.precision = shared.projection.precision

    @abstractmethod
    def forward(self, k: int) -> None:
        """What is predicted at step k."""

    @abstractmethod
    def backward(self, k: int) -> None:
        """The grads of what step k read."""

    @abstractmethod
    def gradients(self, wanted: Gradients) -> PointerWeights | EdgeValueWeights:
        """The gradients of the weights."""

    def _read(self, k: int) -> tuple[Tensor, int, Tensor, Tensor | None]:
        maxima = at_step(self.step_buffers.maxima, k)
        return self.projection.out[k], self.column, self.step_buffers.raw[k], maxima

    def _edge_states(self, k: int) -> Tensor | None:
        """Where the edge states of step k are to be written, if at all."""
        return at_step(self.shared.edge_states, k) if self.first else None

    def begin_backward(self, grad_buffers: GradBuffers, grads: Tensor) -> None:
        """Allocate what backward writes."""
        self.grads = grads
        self.d_raw, self.d_maxima = grad_buffers.take("raw"), grad_buffers.take_if("maxima")
        self.d_projection: Tensor | None = None
        if self.step_buffers.maxima is not None:
            K, S, B, n, h = self.step_buffers.before.shape
            weights = self.step_buffers.maxima.shape[-1] + 1  # and the bias
            self.d_projection = self.grads.new_empty(K, S, B, self.blocks(n), weights, h)

    def blocks(self, n: int) -> int:
        """The number of blocks of pairs of n nodes in backward."""
        return tiles(n).blocks(n)

    def _partial(self, count: int, column: int, stride: int) -> Tensor:
        blocks = self.blocks(self.step_buffers.before.shape[-2])
        return self.projection.partial(count, column, stride, blocks)

    def _triplets(self, k: int) -> tuple[Tensor | None, Tensor | None]:
        """The maxima over triplets of step k, and the edge states made of them."""
        return at_step(self.step_buffers.maxima, k), at_step(self.shared.edge_states, k)

    def _grads(self, k: int) -> tuple[Tensor | None, Tensor, Tensor | None]:
        return at_step(self.d_projection, k), self.d_raw[k], at_step(self.d_maxima, k)

    def _of_sums(
        self, wanted: Gradients, grads: Tensor, *, each: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The gradients of what edges and triplets add to sums, from the grads of these."""
        raw = self.step_buffers.raw
        states = [self.shared.edge_states] if self.triplet_projection else []
        product = wanted.want(grads, raw, states, each=each)
        edge, triplet = product[..., :-1, :].tensor_split((raw.shape[-1],), -2)
        return edge, triplet if states else None


class FusedPointerDecoder(PairDecoder):
    """Pointers of nodes."""

    def __init__(self, weights: PointerWeights, shared: Shared, column: int, *, first: bool):
        super().__init__(shared, column, first=first)
        self.weights = _with_transposed(weights, self.triplet_projection)
        K, S, B, n, h = self.step_buffers.before.shape
        new, P = self.step_buffers.before.new_empty, weights.edge.shape[1]
        self.out = new(K, P, S, B, n, n)
        # Without backward, all steps share one buffer.
        buffer = new(K if shared.keep else 1, P, S, B, n, n, h)
        self.larger = buffer.expand(K, *buffer.shape[1:])

    def prepare(self, k: int) -> None:
        """Compute what the pairs of step k depend on beside the new states."""
        pointer_logits.pair_values(
            self.step_buffers.raw[k], at_step(self.step_buffers.maxima, k), self.weights,
            self.triplet_projection,
            self.larger[k], self._edge_states(k), precision=self.precision,
        )  # fmt: skip

    def forward(self, k: int) -> None:
        """The scores of step k."""
        pointer_logits.pointer_logits(
            self.projection.out[k], self.column, self.weights, self.larger[k], self.out[k],
            keep=self.shared.keep,
        )  # fmt: skip

    def begin_backward(self, grad_buffers: GradBuffers, grads: Tensor) -> None:
        """Allocate what backward writes."""
        super().begin_backward(grad_buffers, grads)
        K, P, S, B, n, _, h = self.larger.shape
        self.d_score = self.larger.new_empty(K, P, S, B, self.blocks(n), h)

    def blocks(self, n: int) -> int:
        """The number of blocks of pairs of n nodes in backward."""
        return pointer_logits.blocks_of_pairs(n)

    def backward(self, k: int) -> None:
        """The gradients of the nodes' projections of step k."""
        pointer_logits.pointer_logits_backward(
            self.grads[k], self.projection.out[k], self.column, self.weights, self.larger[k],
            self.projection.grads[k],
        )  # fmt: skip

    def prepare_backward(self, k: int) -> None:
        """The gradients of what edges and triplets contribute to step k, in place of the values."""
        pointer_logits.pair_values_backward(
            self.grads[k], self.projection.out[k], self.column, self.weights,
            self.triplet_projection,
            *self._triplets(k), self.larger[k], self.d_score[k], self.larger[k],
            *self._grads(k), precision=self.precision,
        )  # fmt: skip

    def gradients(self, wanted: Gradients) -> PointerWeights:
        """The gradients of the weights."""
        edge, triplet = self._of_sums(wanted, self.larger, each=True)
        score = wanted.want(self.d_score, each=True)
        bias = wanted.want(self.grads.unsqueeze(-1), each=True)
        return PointerWeights(edge, triplet, score=score.mT, bias=bias[..., 0])


class FusedEdgeDecoder(PairDecoder):
    """Values of edges."""

    def __init__(self, weights: EdgeValueWeights, shared: Shared, column: int, *, first: bool):
        super().__init__(shared, column, first=first)
        self.weights = EdgeValueWeights(
            weights.edge, weights.triplet if self.triplet_projection else None
        )
        raw = self.step_buffers.raw
        self.out = raw.new_empty(*raw.shape[:-1], weights.edge.shape[-1])

    def forward(self, k: int) -> None:
        """The values of step k."""
        edge_values.edge_values(
            *self._read(k),
            *self.weights,
            self.triplet_projection,
            self.out[k],
            self._edge_states(k),
        )

    def backward(self, k: int) -> None:
        """The grads of what step k read."""
        edge_values.edge_values_backward(
            self.grads[k], self.column, *self.weights, self.triplet_projection, *self._triplets(k),
            self.projection.grads[k], *self._grads(k), precision=self.precision,
        )  # fmt: skip

    def gradients(self, wanted: Gradients) -> EdgeValueWeights:
        """The gradients of the weights."""
        return EdgeValueWeights(*self._of_sums(wanted, self.grads, each=False))


class FusedEdgePointerDecoder(PairDecoder):
    """Pointers of edges."""

    def __init__(self, weights: PointerWeights, shared: Shared, column: int, *, first: bool):
        super().__init__(shared, column, first=first)
        self.weights = _with_transposed(weights, self.triplet_projection)
        K, S, B, n, h = self.step_buffers.before.shape
        new, Q = self.step_buffers.before.new_empty, weights.edge.shape[1]
        self.out = new(K, Q, S, B, n, n, n)
        self.pairs = new(K if shared.keep else 0, Q, S, B, n, n, h)

    def forward(self, k: int) -> None:
        """The scores of step k."""
        edge_pointer_logits.edge_pointer_logits(
            *self._read(k), self.weights, self.triplet_projection, self.out[k],
            self._edge_states(k),
            at_step(self.pairs, k), precision=self.precision,
        )  # fmt: skip

    def begin_backward(self, grad_buffers: GradBuffers, grads: Tensor) -> None:
        """Allocate what backward writes."""
        super().begin_backward(grad_buffers, grads)
        K, S, B, n, h = self.step_buffers.before.shape
        Q = self.out.shape[1]
        self.d_target = self._partial(Q, self.column + h, 3 * h)
        self.d_pointee = self._partial(Q, self.column + 2 * h, 3 * h)
        self.d_pair = torch.empty_like(self.pairs)
        self.d_score = self.out.new_empty(K, Q, S, B, self.blocks(n), h)

    def backward(self, k: int) -> None:
        """The grads of what step k read."""
        edge_pointer_logits.edge_pointer_logits_backward(
            self.grads[k], self.projection.out[k], self.column, self.weights,
            self.triplet_projection,
            *self._triplets(k), self.pairs[k], self.projection.grads[k], self.d_target,
            self.d_pointee, self.d_pair[k], self.d_score[k], *self._grads(k),
            precision=self.precision,
        )  # fmt: skip

    def gradients(self, wanted: Gradients) -> PointerWeights:
        """The gradients of the weights."""
        edge, triplet = self._of_sums(wanted, self.d_pair, each=True)
        score = wanted.want(self.d_score, each=True)
        bias = self.grads.sum((0, 3, 4, 5, 6))
        return PointerWeights(edge, triplet, score=score.mT, bias=bias.mT.unsqueeze(-1))


def _with_transposed(
    weights: PointerWeights, triplet_projection: pointer_logits.TripletProjection | None
) -> pointer_logits.Scoring:
    """The weights as kernels take them: those of triplets, if any are read, in both directions."""
    triplets = (
        (weights.triplet, weights.triplet.mT.contiguous()) if triplet_projection else (None, None)
    )
    return pointer_logits.Scoring(weights.edge, weights.score, weights.bias, *triplets)


def decoders_of_pairs(weights: DecoderWeights, shared: Shared) -> dict[str, PairDecoder]:
    """Those that there are, by the names that weights and logits have for them."""
    found: dict[str, PairDecoder] = {}
    column, h = weights.pointer_column, shared.step_buffers.before.shape[-1]
    if weights.points:
        found["points"] = FusedPointerDecoder(weights.points, shared, column, first=True)
        column += 2 * h * weights.points.edge.shape[1]
    if weights.edges:
        found["edges"] = FusedEdgeDecoder(
            weights.edges, shared, weights.node_values, first=not found
        )
    if weights.edge_pointer_logits:
        found["edge_pointer_logits"] = FusedEdgePointerDecoder(
            weights.edge_pointer_logits, shared, column, first=not found
        )
    return found
