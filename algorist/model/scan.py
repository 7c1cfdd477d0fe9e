"""The scan over a window, step by step: encode, process, decode (paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import dropout, one_hot

from algorist.model.decoding import Decoders, States
from algorist.model.encoders import Encoders, location_shapes
from algorist.model.executing.derived_features import VISITED, changed_hints
from algorist.model.factored import Factored
from algorist.model.feature_values import adjacency, encoder_inputs, keep_masked, one_hot_values
from algorist.model.grouped import map_features, stack_values
from algorist.model.kinds import row
from algorist.model.processors.base import EdgeStates, StepOutput
from algorist.model.pytree import PyTree, tree_leaves, tree_map
from algorist.model.window import Window, unsqueeze_like
from algorist.spec import Kind, Stage

if TYPE_CHECKING:
    from algorist.model.net import Net


@dataclass(frozen=True)
class Carry:
    """The states and hints that one window passes to the next."""

    hidden: Tensor  # (S, B, n, h)
    hints: Mapping[str, Tensor]  # the predictions of the last step
    state: PyTree = (None, None)  # further states of processor and LSTM, (S, B, ...)
    read: Mapping[str, Tensor] = field(default_factory=dict)
    """The hints that the last step has read, one-hot, for nets that read which have changed."""

    def map(self, function: Callable[[Tensor], Tensor]) -> Carry:
        """Apply a function to each tensor."""
        hints, read = (
            {name: function(value) for name, value in values.items()}
            for values in (self.hints, self.read)
        )
        return Carry(function(self.hidden), hints, tree_map(function, self.state), read)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by the names that they have in checkpoints."""
        hints = {f"hint/{name}": value for name, value in self.hints.items()}
        read = {f"read/{name}": value for name, value in self.read.items()}
        state = {f"state/{i}": value for i, value in enumerate(tree_leaves(self.state))}
        return {"hidden": self.hidden, **hints, **read, **state}

    def detach(self) -> Carry:
        """The same values, cut off from the gradient.

        They are laid out as they will be when they come back from a file: the last bit of some
        operations depends on that.
        """
        return self.map(lambda value: value.detach().contiguous())


@dataclass(frozen=True)
class Rollout:
    """The raw predictions of a net over a window: logits where a value is a choice."""

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
        decoded, encoded = net.decoded_features(spec), net.encoded_features(spec)
        self.read_hints = [f for f in encoded if f.stage == Stage.HINT]
        self.lanes, self.n = tuple(window.follows.shape[1:]), window.nodes
        shapes = location_shapes(self.lanes, self.n)
        self.derived = net.derived[algorithm]
        encoders, h = net.encoders[algorithm], net.config.hidden
        self.encode = Encoders(encoders, encoded, shapes, h, derived=self.derived.groups)
        self.process = net.bound_processor()
        decoders, hints = net.decoders[algorithm], [f for f in decoded if f.stage == Stage.HINT]
        self.decode_hints = Decoders(hints, decoders, self.derived, net.kept(algorithm))
        self.decode_outputs = Decoders(spec.outputs, decoders, self.derived)
        self.inputs = one_hot_values(spec.inputs, window.inputs, self.n)
        exact = net.config.comparisons  # comparisons keep what squashing large numbers loses
        inputs, self.encoded_hints = (
            [f for f in features if f.name in self.encode.reads]
            for features in (spec.inputs, self.read_hints)
        )
        self.raw_inputs = encoder_inputs(inputs, self.inputs, squash_scalars=exact)
        self.adjacent_inputs = adjacency(spec.inputs, self.inputs)
        given = [mask for mask in (window.is_first, window.forced) if mask is not None]
        self.reads_truth = torch.stack(given).any(0) if given else None  # (K, S, B)
        self.continues = None if window.is_first is None else (~window.is_first).float()
        self.true_hints = one_hot_values(self.read_hints, window.hints, self.n)

    def run(self, carry: Carry | None, *, keep_hints: bool) -> Rollout:
        """Run all steps, and decode the outputs where trajectories end."""
        ends, predictions, penalties = EndStates(self.window), [], []
        for k in range(self.window.steps):
            states, output = self.step(k, carry)
            hints = self.decode_hints(
                states,
                allowed=self._allowed(states),
                next_hints=self._true_next_hints(k),
                follows=self.window.follows[k],
            )
            carry = Carry(states.after, hints, output.state, self._read(states))
            ends.add(k, self._of_outputs(states))
            penalties.append(output.losses)
            if keep_hints:
                predictions.append(hints)
        assert carry is not None, "a window has at least one step"
        return Rollout(
            stack_steps(predictions),
            self._outputs(ends.states()),
            carry,
            penalties=stack_steps(penalties),
        )

    def step(self, k: int, carry: Carry | None) -> tuple[States, StepOutput]:
        """Read step k and process it."""
        hints, hidden = self._hints(k, carry), self._hidden(k, carry)
        values = {**{name: self._at(k, x) for name, x in self.inputs.items()}, **hints}
        values = self.derived.derive_values(values, self._visited(k, carry))
        raw = {name: self._at(k, x) for name, x in self.raw_inputs.items()}
        raw |= encoder_inputs(self.encoded_hints, hints)
        derived = self.derived(values, self._changed(k, carry, hints))
        raw |= {name: group.numbers for name, group in derived.items()}
        nodes, edges, graph = self.encode(raw, values)
        connected = self._adjacency(k, hints) if self.process.needs_adjacency else None
        state, cell = self._state(k, carry)
        output, penalties = StepOutput(hidden, state=state), []
        for _ in range(self.net.config.message_passing_steps):
            output = self.process(nodes, edges, graph, connected, output.hidden, output.state)
            penalties.append(output.losses)
        after = dropout(output.hidden, self.net.config.dropout, self.net.training)
        if self.net.lstm is not None:
            after, cell = self.net.lstm(after, hidden, cell)
        losses = {name: values.mean(0) for name, values in stack_steps(penalties).items()}
        states = States(nodes, edges, graph, hidden, after, output.edges, connected, values)
        return states, StepOutput(after, state=(output.state, cell), losses=losses)

    def _allowed(self, states: States) -> Tensor | None:
        """The pairs that decoders may choose, if the processor restricts them."""
        return states.adjacency if self.process.rules_out_non_edges else None

    def _outputs(self, states: States) -> dict[str, Tensor]:
        """The outputs, decoded from the states at the ends of trajectories."""
        kept = {
            name: x if x.is_floating_point() else one_hot(x.long(), self.n).float()
            for name, x in states.values.items()
        }
        states = states._replace(values=kept)
        return self.decode_outputs(states, allowed=self._allowed(states), noise=self.window.noise)

    def _at(self, k: int, inputs: Tensor) -> Tensor:
        return inputs if self.window.is_first is None else inputs[k]

    def _hints(self, k: int, carry: Carry | None) -> dict[str, Tensor]:
        """The hints that the net reads: true ones at first steps and where forced, else its own."""
        truth = {name: value[k] for name, value in self.true_hints.items()}
        if carry is None:
            return truth
        hard = self.net.hard_feedback
        own = map_features(lambda f, x: row(f).ops.feedback(x, hard), self.read_hints, carry.hints)
        if carry.read:  # masked entries stay masked, as in the true hints
            for f in self.read_hints:
                own[f.name] = keep_masked(f, carry.read[f.name], own[f.name])
        if self.reads_truth is None:
            return own
        mask = self.reads_truth[k]
        return {
            name: torch.where(unsqueeze_like(mask, value), truth[name], value)
            for name, value in own.items()
        }

    def _true_next_hints(self, k: int) -> dict[str, Tensor] | None:
        """The true hints of the next step, in training."""
        if not self.net.training:
            return None
        return {name: value[k + 1] for name, value in self.true_hints.items()}

    def _changed(self, k: int, carry: Carry | None, hints: Mapping[str, Tensor]) -> Tensor | None:
        """(S, B, F + 1): which hints the step before changed, if the net reads that."""
        if not self.derived.reads_history:
            return None
        if carry is None and self.window.changed is not None:
            return self.window.changed
        changed = changed_hints(hints, carry.read if carry else None, 2)
        if carry is None or self.window.is_first is None:
            return changed
        first = changed_hints(hints, None, 2)
        return torch.where(self.window.is_first[k].unsqueeze(-1), first, changed)

    def _read(self, states: States) -> dict[str, Tensor]:
        """The hints that the next step compares its own with, if the net reads their history."""
        if not self.derived.reads_history:
            return {}
        names = (*(f.name for f in self.read_hints), VISITED)
        return {name: states.values[name] for name in names}

    def _visited(self, k: int, carry: Carry | None) -> Tensor | None:
        """(S, B, n, m): the nodes that one-hot hints have selected before this step."""
        if carry is None or not self.derived.reads_history:
            return self.window.visited
        before = carry.read[VISITED]
        if self.window.is_first is None:
            return before
        return torch.where(unsqueeze_like(self.window.is_first[k], before), 0.0, before)

    def _of_outputs(self, states: States) -> States:
        """What outputs are decoded from: the states, and the present values of the hints that they
        continue. Pointers are kept as indices, which take less memory."""
        pointers = {f.name for f in self.read_hints if f.kind == Kind.POINTER}
        values = {
            name: x.argmax(-1).to(torch.int16) if name in pointers else x
            for name, x in states.values.items()
            if name in self.decode_outputs.previous_hints
        }
        edge_states = states.edge_states if self.decode_outputs.reads_edges else None
        return states._replace(values=values, edge_states=edge_states)

    def _hidden(self, k: int, carry: Carry | None) -> Tensor:
        if carry is None or not self.net.config.carry_state:
            h = self.net.config.hidden
            return torch.zeros(*self.lanes, self.n, h, device=self.window.follows.device)
        if self.continues is None:
            return carry.hidden
        # A product is one kernel each way, `torch.where` with a number two. It needs finite
        # states: training stops where a loss is not.
        return carry.hidden * unsqueeze_like(self.continues[k], carry.hidden)

    def _state(self, k: int, carry: Carry | None) -> PyTree:
        """The states of the processor and of the LSTM: the first ones where trajectories begin."""
        first = self.window.is_first
        if carry is not None and first is None:
            return carry.state
        replicas, lanes = self.lanes
        new = self.net.initial_state(replicas, lanes, self.n)
        if carry is None or first is None:
            return new
        return tree_map(
            lambda new, old: torch.where(unsqueeze_like(first[k], old), new, old), new, carry.state
        )

    @cached_property
    def _connected_by_inputs(self) -> Tensor:
        """Whether inputs connect two nodes, or these are the same: for all steps, or for each."""
        connected = torch.eye(self.n, dtype=torch.bool, device=self.window.follows.device)
        for part in self.adjacent_inputs:
            connected = connected | part
        return connected

    def _adjacency(self, k: int, hints: Mapping[str, Tensor]) -> Tensor:
        connected = self._connected_by_inputs
        if self.adjacent_inputs:
            connected = self._at(k, connected)
        for part in adjacency(self.read_hints, hints):
            connected = connected | part
        return connected.float().expand(*self.lanes, self.n, self.n)


class EndStates:
    """The states of a window's steps where trajectories end."""

    def __init__(self, window: Window):
        self._at_step, self._lanes = window.ends
        replicas = torch.arange(len(self._at_step), device=self._at_step.device)
        self._replicas = replicas.unsqueeze(1)
        self._steps: list[States] = []

    def add(self, k: int, states: States) -> None:
        """Take what ends at step k. For gradients all steps are kept, otherwise one alone."""
        if torch.is_grad_enabled():
            self._steps.append(states)
            return
        here = self._at_step == k
        if self._steps and not here.is_cuda and not here.any():  # a GPU is not waited for
            return
        found = self._mapped([states], lambda values: values[0][self._replicas, self._lanes])
        if self._steps:
            both = [self._steps[0], found]
            found = self._mapped(
                both, lambda x: torch.where(unsqueeze_like(here, x[1]), x[1], x[0])
            )
        self._steps = [found]

    def states(self) -> States:
        """The states at all ends, (S, E, ...)."""
        if not torch.is_grad_enabled():
            return self._steps[0]
        at = (self._at_step, self._replicas, self._lanes)
        return self._mapped(self._steps, lambda values: stack_values(values)[at])

    def _mapped(
        self, steps: Sequence[States], function: Callable[[Sequence[Tensor]], Tensor]
    ) -> States:
        """A function of the same tensors of several steps, for all that states are made of."""

        def mapped(values: Sequence[Any]) -> Any:
            first = values[0]
            if first is None:
                return None
            if isinstance(first, Factored):
                return Factored(mapped([x.raw for x in values]), first.encoding)
            if isinstance(first, EdgeStates):
                states = EdgeStates(lambda: mapped([x.kept for x in values]), first.read)
                if not torch.is_grad_enabled():
                    states.release()
                return states
            if isinstance(first, dict):
                return {name: mapped([x[name] for x in values]) for name in first}
            return function(values)

        return States(*(mapped(parts) for parts in zip(*steps, strict=True)))


def stack_steps(steps: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Stack the values of all steps, by name, along a new first axis."""
    return {name: torch.stack([step[name] for step in steps]) for name in (steps or [{}])[0]}
