"""The scan of a window as one operation: a handful of kernels a step, forward and backward.

What the steps read and leave lies in stacks, (K, S, B, ...): K steps, S replicas, B lanes. Backward
walks through the steps once for the grads; the gradients of all weights are then products over
the stacks. Several parts contribute to the same grad: each has its slot, and the reader adds up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from algorist.kernels.fused.buffers import GradBuffers, Logits, StepBuffers
from algorist.kernels.fused.decoding import Decoding
from algorist.kernels.fused.feedback import feed_hints, feed_hints_backward
from algorist.kernels.fused.gradients import Gradients
from algorist.kernels.fused.processing import Processing
from algorist.kernels.fused.streams import SideStream
from algorist.kernels.scan_weights import (
    DecoderWeights,
    ProcessorWeights,
    Weights,
    detach,
    list_gradients,
    list_tensors,
)


class Previous(NamedTuple):
    """What the window before leaves."""

    hidden: Tensor  # (S, B, n, h)
    logits: Logits  # of one step


@dataclass(frozen=True)
class Reading:
    """What a scan reads, beside its weights."""

    x: Tensor
    """(K, S, B, n, Fx): the true numbers of node and graph, and a one. Predictions come in here."""
    raw: Tensor
    """(K, S, B, n, n, Fe): those of edges, likewise."""
    table: Tensor
    """The hints, as `feed_hints` reads them."""
    given: Tensor
    """(K, S, B): where the net is given the true hints."""
    fresh: Tensor
    """(K, S, B): where states begin anew."""
    ends: tuple[Tensor, Tensor]
    """(S, E) twice: the step and the lane of each end."""
    end_weights: Tensor
    """(S, E): 0 for padding."""
    previous: Previous | None
    hard: bool
    """Whether predictions are rounded before they are read."""
    message_mask: Tensor | None
    """(S, B, n, n): 0 where a message is dropped; None to keep all."""
    connects: Tensor | None
    """(Fe,): the sum over both directions above which a number of an edge connects its nodes;
    None where the mask does not depend on edges."""
    precision: str


def scan(
    process: ProcessorWeights, hints: DecoderWeights, outputs: DecoderWeights, reading: Reading
) -> tuple[Logits, Logits, Tensor]:
    """The predictions of hints at all steps, of outputs at all ends, and the last states.

    No gradient goes through the last states: none leads from one window into the one before.
    """
    weights = (process, hints, outputs)
    keep = torch.is_grad_enabled()
    run = _Run(detach(process), detach(hints), detach(outputs), reading, keep=keep)
    results = iter(_Scan.apply(run, weights, *list_tensors(weights)))

    def named(decoding: Decoding) -> Logits:
        return Logits(*(None if x is None else next(results) for x in decoding.predictions))

    return named(run.hints), named(run.outputs), next(results)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, run: _Run, weights: Weights, *tensors: Tensor) -> tuple[Tensor, ...]:
        run.forward()
        ctx.run, ctx.weights = run, weights
        results = [*run.hints.predictions, *run.outputs.predictions, run.step_buffers.after[-1]]
        # Not the tensors that the run holds: it must not hold what leads back to it.
        views = tuple(x.detach() for x in results if x is not None)  # with strides of their own
        ctx.mark_non_differentiable(views[-1])
        return views

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        run, ctx.run = ctx.run, None
        return None, None, *list_gradients(ctx.weights, run.backward(iter(grads)))


class _Run:
    """One pass through a window, forward and back."""

    def __init__(
        self,
        process: ProcessorWeights,
        hints: DecoderWeights,
        outputs: DecoderWeights,
        reading: Reading,
        *,
        keep: bool,
    ):
        self.reading, self.keep, self.output_weights = reading, keep, outputs
        self.side_stream = SideStream(reading.x.device)
        x, raw, h = reading.x, reading.raw, process.second.shape[-1]
        K, S, B, n, _ = x.shape
        maxima = None
        if process.triplet is not None:
            maxima = x.new_empty(K, S, B, n, n, process.triplet.shape[-1] // 3)
        before, after = (x.new_empty(K, S, B, n, h) for _ in range(2))
        self.step_buffers = StepBuffers(x, raw, before, after, maxima)
        self.process = Processing(
            process,
            self.step_buffers,
            reading.message_mask,
            reading.connects,
            reading.precision,
            keep=keep,
        )
        self.hints = self._decoding(hints, self.step_buffers)
        self.outputs: Decoding  # made when the step buffers at the ends are known

    def _decoding(self, weights: DecoderWeights, step_buffers: StepBuffers) -> Decoding:
        return Decoding(weights, step_buffers, self.reading.precision, keep=self.keep)

    def forward(self) -> None:
        """Take all steps, then decode the outputs at all ends together."""
        reading, before = self.reading, self.reading.previous
        logits = self.hints.logits
        for k in range(len(reading.x)):
            if k:
                before = Previous(self.step_buffers.after[k - 1], logits.step(k - 1))
            elif before is None:  # all is given: nobody reads what lies there
                before = Previous(self.step_buffers.after[0], logits.step(0))
            feed_hints(
                reading.table, reading.x[k], reading.raw[k], self.step_buffers.before[k],
                reading.given[k], reading.fresh[k], *before.logits, before.hidden, reading.hard,
            )  # fmt: skip
            self.process.project(k)
            with self.side_stream.work():
                self.process.connect_triplets(k)
                self.hints.prepare(k)
            self.process.update_states(k)
            self.hints.forward(k, self.side_stream)
        self.outputs = self._decoding(self.output_weights, self.step_buffers.at(*reading.ends))
        with self.side_stream.work():
            self.outputs.prepare(0)
        self.outputs.forward(0, self.side_stream)

    def backward(self, grads: Iterator[Tensor]) -> Weights:
        """The gradients of all weights, from the grads of all predictions."""
        of_hints, of_outputs = self.hints.read_grads(grads), self.outputs.read_grads(grads)
        at_ends = GradBuffers(self.outputs.step_buffers, Counter(self.outputs.adds))
        # Of the states after a step also what the next one reads; of all what the ends read.
        adds = Counter((*self.hints.adds, *self.process.adds, "after", *StepBuffers._fields))
        grad_buffers = GradBuffers(self.step_buffers, adds)
        from_next = grad_buffers.take("after")
        self.outputs.begin_backward(at_ends, of_outputs)
        with self.side_stream.work():
            grad_buffers.clear_last()
            from_next[-1] = 0.0
        self.outputs.backward(0, self.side_stream)
        self.side_stream.join()

        self.hints.begin_backward(grad_buffers, of_hints)
        self.process.begin_backward(grad_buffers)
        grad_buffers.put_at(self.reading.ends, self.reading.end_weights, at_ends)
        for k in reversed(range(len(from_next))):
            self.hints.backward(k, self.side_stream)
            with self.side_stream.work():
                self.process.connect_triplets_backward(k)
            self.process.update_states_backward(k)
            self.side_stream.join()
            self.process.project_backward(k)
            if k:
                self._feed_hints_backward(k, grad_buffers, from_next[k - 1])
        wanted = Gradients(self.reading.precision)
        parts = (self.process, self.hints, self.outputs)
        gradients = tuple(part.gradients(wanted) for part in parts)
        wanted.make()
        return gradients

    def _feed_hints_backward(self, k: int, grad_buffers: GradBuffers, d_after: Tensor) -> None:
        reading, grads = self.reading, self.hints.grads.step(k - 1)
        edge_pointer_logits = self.hints.logits.step(k - 1).edge_pointer_logits
        d_x, d_raw, d_before = (grad_buffers.all[name][k] for name in ("x", "raw", "before"))
        feed_hints_backward(
            reading.table, reading.x[k], reading.raw[k], reading.given[k], reading.fresh[k],
            edge_pointer_logits, d_x, d_raw, d_before, *grads, d_after, reading.hard,
        )  # fmt: skip
