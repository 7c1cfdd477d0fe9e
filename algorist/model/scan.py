"""The scan over a window, step by step: encode, process, decode (paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import dropout

from algorist.model.decoders import Decoders, States
from algorist.model.encoders import Encoders, adjacency, dense_shapes, dense_values, raw_numbers
from algorist.model.factored import Factored
from algorist.model.kinds import row
from algorist.model.nests import Nest, leaves, map_nest
from algorist.model.processors.base import EdgeStates, StepOutput
from algorist.model.window import Window, expanded
from algorist.spec import Stage

if TYPE_CHECKING:
    from algorist.model.net import Net


@dataclass(frozen=True)
class Carry:
    """What one window hands to the next."""

    hidden: Tensor  # (S, B, n, h)
    hints: Mapping[str, Tensor]  # the predictions of the last step
    state: Nest = (None, None)  # further states of processor and LSTM, (S, B, ...)

    def map(self, function: Callable[[Tensor], Tensor]) -> Carry:
        """The same with a function applied to each tensor."""
        hints = {name: function(value) for name, value in self.hints.items()}
        return Carry(function(self.hidden), hints, map_nest(function, self.state))

    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name, as checkpoints have them."""
        hints = {f"hint/{name}": value for name, value in self.hints.items()}
        state = {f"state/{i}": value for i, value in enumerate(leaves(self.state))}
        return {"hidden": self.hidden, **hints, **state}

    def detach(self) -> Carry:
        """The same values, cut off from the gradient.

        They are laid out as they will be when they come back from a file: the last bit of some
        operations depends on that.
        """
        return self.map(lambda value: value.detach().contiguous())


@dataclass(frozen=True)
class Rollout:
    """What a net predicted over a window: raw values, logits where they stand for choices."""

    hints: Mapping[str, Tensor]  # (K, S, B, ...)
    outputs: Mapping[str, Tensor]  # (S, E, ...)
    carry: Carry
    losses: Callable[[Any], Mapping[str, Tensor]] | None = None
    """A quicker way to the losses of most features than from the predictions themselves."""
    penalties: Mapping[str, Tensor] = field(default_factory=dict)
    """(K, S, B) each: what the processor adds to the loss."""


class Scan:
    """The steps of one algorithm through a window."""

    def __init__(self, net: Net, algorithm: str, window: Window):
        self.net, self.window = net, window
        spec = net.spec(algorithm)
        decoded, encoded = net.decoded(spec), net.encoded(spec)
        self.read_hints = [f for f in encoded if f.stage == Stage.HINT]
        self.lanes, self.n = tuple(window.follows.shape[1:]), window.nodes
        shapes = dense_shapes(self.lanes, self.n)
        self.encode = Encoders(net.encoders[algorithm], encoded, shapes, net.config.hidden)
        self.process = net.bound_processor()
        decoders = net.decoders[algorithm]
        self.decode_hints = Decoders([f for f in decoded if f.stage == Stage.HINT], decoders)
        self.decode_outputs = Decoders(spec.outputs, decoders)
        inputs = dense_values(spec.inputs, window.inputs, self.n)
        self.raw_inputs = raw_numbers(spec.inputs, inputs)
        self.adjacent_inputs = adjacency(spec.inputs, inputs)
        self.true_hints = dense_values(self.read_hints, window.hints, self.n)

    def run(self, carry: Carry | None, *, keep_hints: bool) -> Rollout:
        """All steps, and the outputs where trajectories end."""
        steps, predictions, penalties = [], [], []
        for k in range(self.window.steps):
            states, output = self.step(k, carry)
            hints = self.decode_hints(states, allowed=self._allowed(states))
            carry = Carry(states.after, hints, output.state)
            steps.append(states)
            penalties.append(output.losses)
            if keep_hints:
                predictions.append(hints)
        assert carry is not None, "a window has at least one step"
        return Rollout(
            _stacked(predictions),
            self._outputs(steps),
            carry,
            penalties=_stacked(penalties),
        )

    def step(self, k: int, carry: Carry | None) -> tuple[States, StepOutput]:
        """Read moment k and process it."""
        hints, hidden = self._hints(k, carry), self._hidden(k, carry)
        raw = {name: self._at(k, x) for name, x in self.raw_inputs.items()}
        nodes, edges, graph = self.encode({**raw, **raw_numbers(self.read_hints, hints)})
        connected = self._adjacency(k, hints) if self.process.needs_adjacency else None
        state, cell = self._state(k, carry)
        output, penalties = StepOutput(hidden, state=state), []
        for _ in range(self.net.config.message_passing_steps):
            output = self.process(nodes, edges, graph, connected, output.hidden, output.state)
            penalties.append(output.losses)
        after = dropout(output.hidden, self.net.config.dropout, self.net.training)
        if self.net.lstm is not None:
            after, cell = self.net.lstm(after, hidden, cell)
        losses = {name: values.mean(0) for name, values in _stacked(penalties).items()}
        states = States(nodes, edges, graph, hidden, after, output.edges, connected)
        return states, StepOutput(after, state=(output.state, cell), losses=losses)

    def _allowed(self, states: States) -> Tensor | None:
        """Which pairs decoders may choose, where the processor restricts them."""
        return states.adjacency if self.process.rules_out_non_edges else None

    def _outputs(self, steps: Sequence[States]) -> dict[str, Tensor]:
        """The outputs at the ends of trajectories: decoded there alone."""
        at_step, lanes = self.window.ends
        replicas = torch.arange(len(at_step), device=at_step.device).unsqueeze(1)

        def at_ends(values: Sequence[Any]) -> Any:
            first = values[0]
            if first is None:
                return None
            if isinstance(first, Factored):
                return Factored(at_ends([x.raw for x in values]), first.encoding)
            if isinstance(first, EdgeStates):
                return EdgeStates(lambda: at_ends([x.kept for x in values]), first.read)
            return torch.stack(list(values))[at_step, replicas, lanes]

        states = States(*(at_ends(parts) for parts in zip(*steps, strict=True)))
        return self.decode_outputs(states, allowed=self._allowed(states), noise=self.window.noise)

    def _at(self, k: int, inputs: Tensor) -> Tensor:
        return inputs if self.window.is_first is None else inputs[k]

    def _hints(self, k: int, carry: Carry | None) -> dict[str, Tensor]:
        """The hints that the net reads: the true ones where it is given them, else its own."""
        truth = {name: value[k] for name, value in self.true_hints.items()}
        if carry is None:
            return truth
        hard = self.net.hard_feedback
        own = {f.name: row(f).ops.feedback(carry.hints[f.name], hard) for f in self.read_hints}
        given = [m[k] for m in (self.window.is_first, self.window.forced) if m is not None]
        if not given:
            return own
        mask = torch.stack(given).any(0)
        return {
            name: torch.where(expanded(mask, value), truth[name], value)
            for name, value in own.items()
        }

    def _hidden(self, k: int, carry: Carry | None) -> Tensor:
        if carry is None or not self.net.config.carry_state:
            h = self.net.config.hidden
            return torch.zeros(*self.lanes, self.n, h, device=self.window.follows.device)
        if self.window.is_first is None:
            return carry.hidden
        return torch.where(expanded(self.window.is_first[k], carry.hidden), 0.0, carry.hidden)

    def _state(self, k: int, carry: Carry | None) -> tuple[Nest, Nest]:
        """The states of the processor and of the LSTM: the first ones where trajectories begin."""
        first = self.window.is_first
        if carry is not None and first is None:
            return carry.state
        new = self.net.initial_state(*self.lanes, self.n)
        if carry is None or first is None:
            return new
        return map_nest(
            lambda new, old: torch.where(expanded(first[k], old), new, old), new, carry.state
        )

    def _adjacency(self, k: int, hints: Mapping[str, Tensor]) -> Tensor:
        connected = torch.eye(self.n, device=self.window.follows.device).expand(
            *self.lanes, self.n, self.n
        )
        parts = [self._at(k, x) for x in self.adjacent_inputs]
        for part in parts + adjacency(self.read_hints, hints):
            connected = torch.where(part, 1.0, connected)
        return connected


def _stacked(steps: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """What every step has by name, along a new first axis."""
    return {name: torch.stack([step[name] for step in steps]) for name in (steps or [{}])[0]}
