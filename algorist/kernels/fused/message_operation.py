"""Messages as one differentiable operation, with rows that are kept or computed again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from algorist.kernels.affine import Affine, FactoredEdges
from algorist.kernels.fused import message
from algorist.kernels.fused.gradients import Gradients
from algorist.kernels.fused.operation_inputs import narrow, needed_grads, readable, readable_edges
from algorist.kernels.fused.streams import on
from algorist.kernels.fused.tiling import tiles
from algorist.kernels.replica_function import ReplicaFunction

KEPT_BYTES = 2**28
"""Up to this size, rows are kept for backward unless the caller says otherwise."""
_CHUNK_BYTES = 2**26
"""The size of one tensor of rows where messages are computed again in chunks of samples."""


def message_max(
    receiver: Tensor,
    sender: Tensor,
    edges: FactoredEdges,
    first: Affine,
    second: Tensor,
    mask: Tensor | None = None,
    *,
    recompute: bool | None = None,
    precision: str,
) -> Tensor:
    """The twin of `plain.message_max`."""
    options = (False, _what_to_keep(receiver, recompute), precision)
    return _Messages.apply(receiver, sender, *narrow(edges), mask, *first, second, *options)[0]


def message_max_mean(
    receiver: Tensor,
    sender: Tensor,
    edges: FactoredEdges,
    first: Affine,
    second: Tensor,
    mask: Tensor | None = None,
    *,
    recompute: bool | None = None,
    precision: str,
) -> tuple[Tensor, Tensor]:
    """The twin of `plain.message_max_mean`."""
    options = (True, _what_to_keep(receiver, recompute), precision)
    return _Messages.apply(receiver, sender, *narrow(edges), mask, *first, second, *options)[:2]


def _what_to_keep(receiver: Tensor, recompute: bool | None) -> str:
    """What messages keep for backward: nothing, who sent the largest, or that and all rows."""
    if not torch.is_grad_enabled():
        return "nothing"
    if recompute is None:
        recompute = 2 * _bytes_of_rows(receiver) > KEPT_BYTES
    return "winners" if recompute else "rows"


def _bytes_of_rows(receiver: Tensor) -> int:
    """The size of a tensor (S, B, n, n, h)."""
    return receiver.numel() * receiver.shape[-2] * receiver.element_size()


class _Messages(ReplicaFunction):
    """(receiver, sender, raw, weight, dense, mask, first, bias, second, mean?, keep, precision) ->
    (largest, mean or None, winner, share, built, inner)."""

    @staticmethod
    def forward(
        receiver: Tensor, sender: Tensor, raw: Tensor, weight: Tensor, dense: Tensor | None,
        mask: Tensor | None, first: Tensor, bias: Tensor, second: Tensor,
        with_mean: bool, keep: str, precision: str,
    ) -> tuple[Tensor | None, ...]:  # fmt: skip
        S, B, n, h = receiver.shape
        new = receiver.new_empty
        largest, mean = new(S, B, n, h), new(S, B, n, h) if with_mean else None
        kept = message.Kept(
            winner=None if keep == "nothing" else new(S, B, n, h, dtype=torch.int16),
            share=new(S, B, n) if with_mean and mask is not None else None,
            built=new(S, B, n, n, h) if keep == "rows" else None,
            inner=new(S, B, n, n, h) if keep == "rows" else None,
        )
        layers = _by_inputs(first), _by_inputs(second)
        with on(receiver.device):
            message.message(
                readable(receiver), readable(sender), readable_edges(raw, weight, dense),
                None if mask is None else mask.float().contiguous(),
                Affine(layers[0], bias.contiguous()), layers[1], largest, mean, kept,
                precision=precision,
            )  # fmt: skip
        return largest, mean, *kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        *tensors, ctx.with_mean, _, ctx.precision = inputs
        ctx.save_for_backward(*tensors, *output[2:])
        ctx.mark_non_differentiable(*(x for x in output[2:] if x is not None))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_largest: Tensor, d_mean: Tensor | None, *_: Any) -> tuple:
        receiver, sender, raw, weight, dense, mask, first, bias, second, *kept = ctx.saved_tensors
        run = _MessagesBackward(
            readable(receiver), readable(sender), readable_edges(raw, weight, dense),
            None if mask is None else mask.float().contiguous(),
            Affine(first, bias.contiguous()), second, message.Kept(*kept), ctx.precision,
        )  # fmt: skip
        d_mean = d_mean.contiguous() if ctx.with_mean and d_mean is not None else None
        with on(receiver.device):
            grads = run(d_largest.contiguous(), d_mean)
        return *needed_grads(ctx, *grads), None, None, None


class _MessagesBackward:
    """Backward of messages, at once or in chunks of samples whose rows are computed again."""

    def __init__(
        self, receiver: Tensor, sender: Tensor, edges: FactoredEdges, mask: Tensor | None,
        first: Affine, second: Tensor, kept: message.Kept, precision: str,
    ):  # fmt: skip
        self.receiver, self.sender, self.edges, self.mask = receiver, sender, edges, mask
        self.kept, self.precision = kept, precision
        # Forward reads weights along their inputs, backward along their outputs.
        self.first = Affine(_by_inputs(first.weight), first.bias)
        self.second = _by_inputs(second)
        self.by_outputs = first.weight.contiguous(), second.contiguous()

    def __call__(self, d_largest: Tensor, d_mean: Tensor | None) -> tuple[Tensor | None, ...]:
        """The gradients of all tensors that `_Messages.forward` is given."""
        receiver, edges = self.receiver, self.edges
        S, h = len(receiver), receiver.shape[-1]
        self.d_receiver, self.d_sender = (
            torch.empty_like(receiver, memory_format=torch.contiguous_format) for _ in range(2)
        )
        self.d_raw = torch.empty_like(edges.raw)
        self.d_dense = None
        if edges.dense is not None:
            self.d_dense = edges.raw.new_empty(edges.dense.shape)
        if self.kept.built is not None:
            return self._result(*self._chunk(slice(None), slice(None), d_largest, d_mean))
        new = receiver.new_zeros
        sums = new(S, *edges.weight.shape[1:]), new(S, h + 1, h), new(S, h + 1, h)
        for replica, samples in self._chunks():
            parts = self._chunk(replica, samples, d_largest, d_mean)
            for total, part in zip(sums, parts, strict=True):
                total[replica] += part
        return self._result(*sums)

    def _result(self, edge: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor | None, ...]:
        """The sums of products end in a row for the bias."""
        return (
            self.d_receiver, self.d_sender, self.d_raw, edge, self.d_dense, None,
            first[:, :-1], first[:, -1], second[:, :-1],
        )  # fmt: skip

    def _chunks(self) -> Iterator[tuple[slice, slice]]:
        """Replicas and samples whose rows are small enough to be in memory together."""
        S, B = self.receiver.shape[:2]
        per_sample = max(1, _bytes_of_rows(self.receiver) // max(1, S * B))
        count = max(1, _CHUNK_BYTES // per_sample)
        for s in range(S):
            for start in range(0, B, count):
                yield slice(s, s + 1), slice(start, start + count)

    def _chunk(
        self, replica: slice, samples: slice, d_largest: Tensor, d_mean: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write the gradients of some samples; the sums over these for the weights."""

        def part(x: Any) -> Any:
            return None if x is None else x[replica, samples]

        edges = FactoredEdges(
            part(self.edges.raw), self.edges.weight[replica], part(self.edges.dense)
        )
        kept = message.Kept(*(part(x) for x in self.kept))
        receiver = part(self.receiver)
        S, B, n, h = receiver.shape
        new = receiver.new_empty
        if kept.built is None:
            kept = kept._replace(built=new(S, B, n, n, h), inner=new(S, B, n, n, h))
            first = Affine(*(x[replica] for x in self.first))
            message.message(
                receiver, part(self.sender), edges, part(self.mask), first, self.second[replica],
                new(S, B, n, h), None, kept._replace(winner=None, share=None),
                precision=self.precision,
            )  # fmt: skip
        blocks = tiles(n).blocks(n)
        grads = message.MessageGrads(
            receiver=part(self.d_receiver), sender=new(S, B, blocks, n, h), raw=part(self.d_raw),
            dense=part(self.d_dense), edge=new(S, B, blocks, *edges.weight.shape[1:]),
            result=new(S, B, n, n, h), hidden=new(S, B, n, n, h),
        )  # fmt: skip
        message.message_backward(
            part(d_largest), part(d_mean), kept, edges, part(self.mask),
            self.by_outputs[0][replica], self.by_outputs[1][replica], grads,
            precision=self.precision,
        )  # fmt: skip
        torch.sum(grads.sender, 2, out=part(self.d_sender))
        return self._products(kept, grads)

    def _products(
        self, kept: message.Kept, grads: message.MessageGrads
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What the rows of some samples add to the gradients of the weights."""
        assert kept.built is not None, "rows were kept or computed again"
        assert kept.inner is not None, "rows were kept or computed again"
        wanted = Gradients(self.precision)
        first = wanted.want(grads.hidden.unsqueeze(0), wide=[kept.built.unsqueeze(0)])
        second = wanted.want(grads.result.unsqueeze(0), wide=[kept.inner.unsqueeze(0)])
        F, h = grads.edge.shape[-2:]
        edge = first.new_empty(len(first), 1, 0)
        if F:
            edge = wanted.want(grads.edge.flatten(-2).unsqueeze(0))
        wanted.make()
        return edge.view(len(first), F, h), first, second


def _by_inputs(weight: Tensor) -> Tensor:
    """The same weights (S, in, out), with contiguous inputs in memory."""
    return weight.mT.contiguous().mT
