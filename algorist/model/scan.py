"""The scan over a window, step by step: read a moment, process it, predict the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from algorist.kernels.affine import Affine
from algorist.kernels.composing import Copying, StridedView, copy_each
from algorist.kernels.maps import DecodeMaps, Maps, changed, tensors
from algorist.kernels.ops import choose
from algorist.model.decoders import Decoders, JoinedDecoders, Layout, Moment
from algorist.model.encoders import adjacency, dense, raw_numbers
from algorist.model.fused.composing import Composer
from algorist.model.kinds import row
from algorist.model.layers import Linear
from algorist.model.processors import prepared
from algorist.model.window import Window, expanded
from algorist.spec import Location, Stage

if TYPE_CHECKING:
    from algorist.model.net import Net


class Carry(NamedTuple):
    """What one window hands to the next."""

    hidden: Tensor  # (S, B, n, h)
    hints: Mapping[str, Tensor]  # the predictions of the last step

    def detach(self) -> Carry:
        """The same values, cut off from the gradient.

        They are laid out as they will be when they come back from a file: the last bit of some
        operations depends on that.
        """
        hints = {name: value.detach().contiguous() for name, value in self.hints.items()}
        return Carry(self.hidden.detach().contiguous(), hints)


class Rollout(NamedTuple):
    """What a net predicted over a window: raw values, logits where they stand for choices."""

    hints: Mapping[str, Tensor]  # (K, S, B, ...)
    outputs: Mapping[str, Tensor]  # (S, E, ...)
    carry: Carry
    losses: Callable[[Window], Mapping[str, Tensor]] | None = None
    """A quicker way to the losses of most features than from the predictions themselves."""


class Composed:
    """How the maps of a net are composed for one algorithm."""

    def __init__(self, net: Net, algorithm: str):
        self.spec = net.spec(algorithm)
        encoded, decoded = net.encoded(self.spec), net.decoded(self.spec)
        self.read_hints = [feature for feature in encoded if feature.stage == Stage.HINT]
        self.hints = Layout(feature for feature in decoded if feature.stage == Stage.HINT)
        self.outputs = Layout(self.spec.outputs)
        encoders: dict[Location, list[Linear]] = {location: [] for location in Location}
        for feature in encoded:
            encoders[row(feature).form.encode_location].append(
                net.encoders[algorithm][feature.name]
            )
        reads_edges = any("edge" in row(feature).form.reads for feature in decoded)
        processor = net.processor
        hints, outputs = (
            JoinedDecoders(layout, net.decoders[algorithm]) for layout in (self.hints, self.outputs)
        )
        composer = Composer(
            net.config.hidden,
            encoders,
            processor.last,
            [processor.columns(triplets=reads_edges),
             hints.of_nodes, hints.of_graph, outputs.of_nodes, outputs.of_graph],
            [*hints.others, *outputs.others],
        )  # fmt: skip
        joint, *joints = composer.joints
        self._plan, self._parameters = composer.plan, composer.parameters
        self._maps = (
            processor.compose(composer, joint),
            hints.compose(composer, *joints[:2]),
            outputs.compose(composer, *joints[2:]),
        )
        self._places = [StridedView.of(view) for view in tensors(self._maps)]

    def compose(
        self, widen: Affine | None, copying: Copying
    ) -> tuple[Maps, DecodeMaps, DecodeMaps]:
        """The maps of the processor, of hints and of outputs; `widen` is how triplets are read."""
        results = self._plan.compose(self._parameters, copying)
        found = dict(zip(self._plan.results, results, strict=True))
        composed = iter([found[place] for place in self._places])
        process, hints, outputs = changed(self._maps, lambda _: next(composed))
        return process, hints._replace(widen=widen), outputs._replace(widen=widen)


class Scan:
    """The steps of one algorithm through a window."""

    def __init__(self, net: Net, algorithm: str, window: Window):
        self.net, self.window, self.maps = net, window, net.composed(algorithm)
        self.lanes, self.n = window.follows.shape[1:], window.nodes
        kernels, maps = choose(net.kernels, window.follows.device), self.maps
        process, of_hints, of_outputs = maps.compose(net.processor.widen, copy_each)
        self.process = prepared(net.config.processor, net.processor, process, kernels)
        self.decode_hints = Decoders(of_hints, kernels)
        self.decode_ends = Decoders(of_outputs, kernels)
        inputs = dense(maps.spec.inputs, window.inputs, self.n)
        self.raw_inputs = raw_numbers(maps.spec.inputs, inputs)
        self.adjacent_inputs = adjacency(maps.spec.inputs, inputs)
        self.true_hints = dense(maps.read_hints, window.hints, self.n)
        self.one = window.follows.new_ones(1)

    def run(self, carry: Carry | None, *, keep_hints: bool) -> Rollout:
        """All steps, and the outputs where trajectories end."""
        moments, predictions = [], []
        for k in range(self.window.steps):
            moment = self.step(k, carry)
            hints = self.maps.hints.predictions(
                self.decode_hints(moment), self._ruled_out(moment), None
            )
            carry = Carry(moment.after, hints)
            moments.append(moment)
            if keep_hints:
                predictions.append(hints)
        assert carry is not None, "a window has at least one step"
        names = tuple(carry.hints) if keep_hints else ()
        stacked = {name: torch.stack([hints[name] for hints in predictions]) for name in names}
        return Rollout(stacked, self.decode_outputs(moments), carry)

    def _ruled_out(self, moment: Moment) -> Tensor | None:
        """Which pairs decoders may choose, where the processor restricts them."""
        return moment.adjacency if self.net.processor.rules_out_non_edges else None

    def step(self, k: int, carry: Carry | None) -> Moment:
        """Read moment k and process it."""
        hints, hidden = self._hints(k, carry), self._hidden(k, carry)
        raw = raw_numbers(self.maps.read_hints, hints)
        nodes, edges, graph = (
            [*(self._at(k, x) for x in self.raw_inputs[location]), *raw[location]]
            for location in Location
        )
        shape = (*self.lanes, self.n)
        everywhere = [x.unsqueeze(2).expand(*shape, -1) for x in graph]
        numbers = torch.cat((*nodes, *everywhere, self.one.expand(*shape, 1)), -1)
        of_edges = torch.cat((*edges, self.one.new_empty(*shape, self.n, 0)), -1)
        connected = self._adjacency(k, hints) if self.net.processor.needs_adjacency else None
        after, triplets = self.process(numbers, of_edges, connected, hidden)
        return Moment(numbers, of_edges, hidden, after, triplets, connected)

    def decode_outputs(self, moments: Sequence[Moment]) -> dict[str, Tensor]:
        """The outputs at the ends of trajectories: decoded there alone."""
        steps, lanes = self.window.ends
        replicas = torch.arange(len(steps), device=steps.device).unsqueeze(1)
        at_ends = [
            None if parts[0] is None else torch.stack(parts)[steps, replicas, lanes]
            for parts in zip(*moments, strict=True)
        ]
        moment = Moment(*at_ends)
        return self.maps.outputs.predictions(
            self.decode_ends(moment), self._ruled_out(moment), self.window.noise
        )

    def _at(self, k: int, inputs: Tensor) -> Tensor:
        return inputs if self.window.is_first is None else inputs[k]

    def _hints(self, k: int, carry: Carry | None) -> dict[str, Tensor]:
        """The hints that the net reads: the true ones where it is given them, else its own."""
        truth = {name: value[k] for name, value in self.true_hints.items()}
        if carry is None:
            return truth
        hard = self.net.hard_feedback
        own = {f.name: row(f).ops.feedback(carry.hints[f.name], hard) for f in self.maps.read_hints}
        given = [m[k] for m in (self.window.is_first, self.window.forced) if m is not None]
        if not given:
            return own
        mask = torch.stack(given).any(0)
        return {
            name: torch.where(expanded(mask, value), truth[name], value)
            for name, value in own.items()
        }

    def _hidden(self, k: int, carry: Carry | None) -> Tensor:
        if carry is None:
            h = self.net.config.hidden
            return torch.zeros(*self.lanes, self.n, h, device=self.window.follows.device)
        if self.window.is_first is None:
            return carry.hidden
        return torch.where(expanded(self.window.is_first[k], carry.hidden), 0.0, carry.hidden)

    def _adjacency(self, k: int, hints: Mapping[str, Tensor]) -> Tensor:
        connected = torch.eye(self.n, device=self.window.follows.device).expand(
            *self.lanes, self.n, self.n
        )
        parts = [self._at(k, x) for x in self.adjacent_inputs] + adjacency(
            self.maps.read_hints, hints
        )
        for part in parts:
            connected = torch.where(part, 1.0, connected)
        return connected
