"""The processor at all steps of a scan: projections, messages, triplets, new states."""

from __future__ import annotations

import torch
from torch import Tensor

from algorist.kernels.affine import Affine, FactoredEdges
from algorist.kernels.fused import message, state_update, triplet
from algorist.kernels.fused.buffers import GradBuffers, StepBuffers, at_step
from algorist.kernels.fused.gradients import Gradients, affine
from algorist.kernels.fused.projection import Projection
from algorist.kernels.fused.tiling import tiles
from algorist.kernels.scan_weights import ProcessorWeights, UpdateWeights


class Processing:
    """One step of message passing, at all steps; `keep` says whether backward will follow."""

    def __init__(
        self,
        weights: ProcessorWeights,
        step_buffers: StepBuffers,
        message_mask: Tensor | None,
        connects: Tensor | None,
        precision: str,
        *,
        keep: bool,
    ):
        """The mask is the same at all steps, or found at each where `connects` is given."""
        self.weights, self.step_buffers, self.precision = weights, step_buffers, precision
        self.state = Projection(weights.state, (step_buffers.x, step_buffers.before), precision)
        K, S, B, n, h = step_buffers.before.shape
        new, gated = step_buffers.before.new_empty, weights.update.gate is not None
        # The columns of the state: receiver, triplets, sender, keep, gate.
        self.self_column = self.state.out.shape[-1] - (2 * h if gated else h)
        self.sender_column = self.self_column - h
        self.columns = self.self_column, self.self_column + h if gated else None
        # Forward products read weights along their inputs, backward ones along their outputs.
        transposed = torch.stack((weights.first.weight.mT, weights.second.mT))
        self.first, self.second = transposed.mT.unbind()
        self.message_mask = message_mask if connects is None else new(S, B, n, n)
        self.connects = connects
        self.messages = new(K, S, B, n, h)
        steps = K if keep else 0
        self.winner = new(steps, S, B, n, h, dtype=torch.int16)
        self.built, self.inner = (new(steps, S, B, n, n, h) for _ in range(2))
        features = 0 if step_buffers.maxima is None else step_buffers.maxima.shape[-1]
        self.triplet_winner = new(steps, S, B, n, n, features, dtype=torch.int16)
        gates = steps if gated else 0
        self.pre, self.gate, self.gate_hidden = (
            new(count, S, B, n, h) for count in (steps, gates, gates)
        )

    @property
    def adds(self) -> list[str]:
        """The names of the step buffers to whose grads it adds, one for each time that it does."""
        gate = ["before"] if self.weights.update.gate else []
        triplets = ["raw"] if self.weights.triplet is not None else []
        return ["x", "before", "raw", *gate, *triplets]

    def project(self, k: int) -> None:
        """Project the nodes of step k."""
        self.state.forward(k)

    def connect_triplets(self, k: int) -> None:
        """The maxima over triplets of step k."""
        maxima = at_step(self.step_buffers.maxima, k)
        if maxima is not None:
            edges = FactoredEdges(self.step_buffers.raw[k], self.weights.triplet)
            triplet.triplet_max(
                self._of_triplets(self.state.out[k]), edges, maxima, at_step(self.triplet_winner, k)
            )

    def update_states(self, k: int) -> None:
        """The new states of step k, from the messages of all to all."""
        weights, state, raw = self.weights, self.state.out[k], self.step_buffers.raw[k]
        if self.connects is not None:
            message.connect(raw, self.connects, self.message_mask)
        h = self.messages.shape[-1]
        message.message(
            state[..., :h], state[..., self.sender_column :][..., :h],
            FactoredEdges(raw, weights.edge), self.message_mask,
            Affine(self.first, weights.first.bias), self.second, self.messages[k], None,
            self._kept(k), precision=self.precision,
        )  # fmt: skip
        state_update.update_states(
            state, self.columns, self.messages[k], self.step_buffers.before[k], weights.update,
            self.step_buffers.after[k], self._kept_of_update(k), self.precision,
        )  # fmt: skip

    def _kept(self, k: int) -> message.Kept:
        """What messages leave for backward."""
        winner, built, inner = (at_step(x, k) for x in (self.winner, self.built, self.inner))
        return message.Kept(winner=winner, built=built, inner=inner)

    def _kept_of_update(self, k: int) -> list[Tensor | None]:
        """What the update of the states keeps for backward."""
        return [at_step(stack, k) for stack in (self.pre, self.gate, self.gate_hidden)]

    def begin_backward(self, grad_buffers: GradBuffers) -> None:
        """Allocate what backward writes."""
        n = self.step_buffers.before.shape[-2]
        self.state.begin_backward(grad_buffers)
        blocks = tiles(n).blocks(n)
        self.d_sender = self.state.partial(1, self.sender_column, 0, blocks)
        self.d_message = torch.empty_like(self.messages[0])
        self.d_result, self.d_hidden = (torch.empty_like(self.built) for _ in range(2))
        K, S, B = self.messages.shape[:3]
        self.d_edge = self.messages.new_empty(K, S, B, blocks, *self.weights.edge.shape[1:])
        # Their sums are gradients: of the gate's bias, the norm's scale, its offset.
        self.d_gate, self.d_scale, self.d_offset = (
            torch.empty_like(self.messages) for _ in range(3)
        )
        self.d_raw = grad_buffers.take("raw")
        self.d_before = grad_buffers.take("before") if self.weights.update.gate else None
        self.d_after = grad_buffers.all["after"]
        if self.weights.triplet is not None:
            self.d_maxima, self.d_raw_of_triplets = (
                grad_buffers.all["maxima"],
                grad_buffers.take("raw"),
            )
            self.d_edges = self.d_maxima.new_empty(
                *self.step_buffers.raw.shape[:-1], self.weights.triplet.shape[-1]
            )

    def update_states_backward(self, k: int) -> None:
        """The grads of the messages of step k, and of all that they are made of."""
        weights, grads = self.weights, self.state.grads[k]
        norm = (self.d_scale[k], self.d_offset[k]) if weights.update.norm else None
        state_update.update_states_backward(
            self.d_after[k], self.step_buffers.before[k], weights.update, self._kept_of_update(k),
            grads, self.columns, self.d_message, at_step(self.d_before, k),
            self.d_gate[k] if weights.update.gate else None, norm, self.precision,
        )  # fmt: skip
        wanted = message.MessageGrads(
            receiver=grads[..., : self.messages.shape[-1]], sender=self.d_sender[0],
            raw=self.d_raw[k], dense=None, edge=self.d_edge[k], result=self.d_result[k],
            hidden=self.d_hidden[k],
        )  # fmt: skip
        message.message_backward(
            self.d_message, None, self._kept(k), FactoredEdges(self.step_buffers.raw[k],
            weights.edge),
            None, weights.first.weight, weights.second, wanted, precision=self.precision,
        )  # fmt: skip

    def connect_triplets_backward(self, k: int) -> None:
        """The grads of what the triplets of step k are made of."""
        if self.weights.triplet is not None:
            triplet.triplet_max_backward(
                self.d_maxima[k], self.triplet_winner[k], self.weights.triplet,
                self._of_triplets(self.state.grads[k]), self.d_edges[k], self.d_raw_of_triplets[k],
            )  # fmt: skip

    def _of_triplets(self, state: Tensor) -> Tensor:
        """The columns of the three projections for triplets."""
        h = self.messages.shape[-1]
        return state[..., h : self.sender_column]

    def project_backward(self, k: int) -> None:
        """The grads of the states and numbers that step k began with."""
        self.state.backward(k)

    def gradients(self, wanted: Gradients) -> ProcessorWeights:
        """The gradient of every weight."""
        weights, raw, want = self.weights, self.step_buffers.raw, wanted.want
        triplet = None if weights.triplet is None else want(self.d_edges, raw)[:, :-1]
        norm = (
            (want(self.d_scale)[:, 0], want(self.d_offset)[:, 0]) if weights.update.norm else None
        )
        gate = affine(want(self.d_gate, wide=[self.gate_hidden])) if weights.update.gate else None
        of_message = want(self.state.grads, wide=[self.messages], column=self.self_column)
        return ProcessorWeights(
            state=self.state.gradients(wanted),
            edge=want(self.d_edge.flatten(-2)).view_as(weights.edge),
            first=affine(want(self.d_hidden, wide=[self.built])),
            second=want(self.d_result, wide=[self.inner])[:, :-1],
            triplet=triplet,
            update=UpdateWeights(of_message=of_message[:, :-1], norm=norm, gate=gate),
        )
