"""The fused kernels as differentiable operations, each by itself: twins of those of `plain`.

All tensors begin with the replica axis. Memory comes from PyTorch alone and nothing waits for the
device, so that the operations can be captured in CUDA graphs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from algorist.kernels.affine import Affine, FactoredEdges
from algorist.kernels.fused import edge_pointer_logits as edge_pointers
from algorist.kernels.fused import single_pointer, triplet
from algorist.kernels.fused.gradients import Gradients
from algorist.kernels.fused.message_operation import message_max, message_max_mean
from algorist.kernels.fused.operation_inputs import narrow, needed_grads, readable, readable_edges
from algorist.kernels.fused.streams import on
from algorist.kernels.fused.tiling import tiles
from algorist.kernels.fused.triplet_logits import triplet_logits
from algorist.kernels.replica_function import ReplicaFunction

__all__ = [
    "edge_pointer_logits",
    "message_max",
    "message_max_mean",
    "pointer_logits",
    "triplet_logits",
    "triplet_max",
]


def triplet_max(nodes: Tensor, edges: FactoredEdges, *, precision: str) -> Tensor:
    """The twin of `plain.triplet_max`."""
    return _TripletMax.apply(nodes, *narrow(edges), torch.is_grad_enabled(), precision)[0]


def pointer_logits(
    source: Tensor, target: Tensor, edges: FactoredEdges, score: Affine, *, precision: str
) -> Tensor:
    """The twin of `plain.pointer_logits`."""
    weight = score.weight.squeeze(-1)
    return _PointerLogits.apply(
        source, target, *narrow(edges), weight, score.bias.squeeze(-1), precision
    )


def edge_pointer_logits(pair: Tensor, pointee: Tensor, score: Affine, *, precision: str) -> Tensor:
    """The twin of `plain.edge_pointer_logits`; it has no product that is rounded."""
    return _EdgePointerLogits.apply(pair, pointee, score.weight.squeeze(-1), score.bias.squeeze(-1))


class _TripletMax(ReplicaFunction):
    """(nodes, raw, weight, dense, keep, precision) -> (maxima, winner or None)."""

    @staticmethod
    def forward(
        nodes: Tensor, raw: Tensor, weight: Tensor, dense: Tensor | None, keep: bool, precision: str
    ) -> tuple[Tensor, Tensor | None]:
        S, B, n, width = nodes.shape
        maxima = nodes.new_empty(S, B, n, n, width // 3)
        winner = torch.empty_like(maxima, dtype=torch.int16) if keep else None
        with on(nodes.device):
            edges = readable_edges(raw, weight, dense)
            triplet.triplet_max(readable(nodes), edges, maxima, winner)
        return maxima, winner

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        nodes, raw, weight, dense, _, ctx.precision = inputs
        ctx.save_for_backward(raw, weight, output[1])
        ctx.width, ctx.dense = nodes.shape[-1], dense is not None
        if output[1] is not None:
            ctx.mark_non_differentiable(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_maxima: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        raw, weight, winner = ctx.saved_tensors
        S, B, n, _, F = raw.shape
        d_nodes = d_maxima.new_empty(S, B, n, ctx.width)
        d_edges, d_raw = d_maxima.new_empty(S, B, n, n, ctx.width), torch.empty_like(raw)
        with on(raw.device):
            triplet.triplet_max_backward(
                d_maxima.contiguous().unsqueeze(0), winner, weight.contiguous(), d_nodes, d_edges,
                d_raw.contiguous(),
            )  # fmt: skip
            d_weight = torch.empty_like(weight)
            if F and ctx.needs_input_grad[2]:
                wanted = Gradients(ctx.precision)
                product = wanted.want(d_edges.unsqueeze(0), raw.contiguous().unsqueeze(0))
                wanted.make()
                d_weight = product[:, :-1]
        d_dense = d_edges if ctx.dense else None
        return *needed_grads(ctx, d_nodes, d_raw, d_weight, d_dense), None, None


class _PointerLogits(ReplicaFunction):
    """(source, target, raw, weight, dense, score, bias, precision) -> logits."""

    @staticmethod
    def forward(
        source: Tensor, target: Tensor, raw: Tensor, weight: Tensor, dense: Tensor | None,
        score: Tensor, bias: Tensor, precision: str,
    ) -> Tensor:  # fmt: skip
        S, B, n, _ = source.shape
        result = source.new_empty(S, B, n, n)
        with on(source.device):
            single_pointer.logits(
                readable(source), readable(target), readable_edges(raw, weight, dense),
                score.contiguous(), bias.contiguous(), result,
            )  # fmt: skip
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.precision = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_logits: Tensor) -> tuple[Tensor | None, ...]:
        source, target, raw, weight, dense, score, _ = ctx.saved_tensors
        S, B, n, h = source.shape
        F, new = raw.shape[-1], source.new_empty
        grads = single_pointer.PointerGrads(
            source=new(S, B, n, h), target=new(S, B, n, h),
            raw=new(h // single_pointer.channel_chunk(n, h), S, B, n, n, F),
            dense=None if dense is None else new(S, B, n, n, h),
            edge=new(S, B, F, h), score=new(S, B, h),
        )  # fmt: skip
        with on(source.device):
            single_pointer.logits_backward(
                d_logits.contiguous(), readable(source), readable(target),
                readable_edges(raw, weight, dense), score.contiguous(), grads,
                precision=ctx.precision,
            )  # fmt: skip
        d_raw = grads.raw.sum(0) if ctx.needs_input_grad[2] else None
        d_bias = d_logits.sum((1, 2, 3))
        sums = grads.edge.sum(1), grads.dense, grads.score.sum(1), d_bias
        return *needed_grads(ctx, grads.source, grads.target, d_raw, *sums), None


class _EdgePointerLogits(ReplicaFunction):
    """(pair, pointee, score, bias) -> logits."""

    @staticmethod
    def forward(pair: Tensor, pointee: Tensor, score: Tensor, bias: Tensor) -> Tensor:
        S, B, n, _ = pointee.shape
        logits = pointee.new_empty(S, B, n, n, n)
        with on(pointee.device):
            edge_pointers.logits_of_pairs(
                pair.contiguous(), pointee.contiguous(), score.contiguous(), bias.contiguous(),
                logits,
            )  # fmt: skip
        return logits

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_logits: Tensor) -> tuple[Tensor | None, ...]:
        pair, pointee, score = (x.contiguous() for x in ctx.saved_tensors)
        S, B, n, h = pointee.shape
        blocks, new = tiles(n).blocks(n), pointee.new_empty
        d_pair, d_pointee = new(S, B, n, n, h), new(S, B, blocks, n, h)
        d_score = new(S, B, blocks, h)
        with on(pair.device):
            edge_pointers.logits_of_pairs_backward(
                d_logits.contiguous(), pair, pointee, score, d_pair, d_pointee, d_score
            )
        return needed_grads(
            ctx, d_pair, d_pointee.sum(2), d_score.sum((1, 2)), d_logits.sum((1, 2, 3, 4))
        )
