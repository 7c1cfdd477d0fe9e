"""The scan over a window of sparse problems: `Scan` on edges instead of all pairs of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import dropout

from algorist.model.encoders import Encoders
from algorist.model.factored import Factored
from algorist.model.feature_values import encoder_inputs
from algorist.model.losses import ALMOST_NOTHING
from algorist.model.processors.base import ReplicatedProcessor
from algorist.model.processors.links import SparseLinks
from algorist.model.scan import Carry, Rollout, stack_steps
from algorist.model.sparse.decoders import (
    SparseDecoders,
    SparseStates,
    sparse_counts,
    sparse_feedback,
    sparse_loss,
    sparse_one_hot,
)
from algorist.model.sparse.window import SparseWindow
from algorist.model.window import unsqueeze_like
from algorist.spec import Feature, Kind, Location, Stage

if TYPE_CHECKING:
    from algorist.model.net import Net


def sparse_processor(net: Net) -> ReplicatedProcessor:
    """The processor of a net, if it can do without pairs of nodes that are not adjacent."""
    processor = net.processor
    if isinstance(processor, ReplicatedProcessor) and processor.runs_on_sparse:
        return processor
    raise ValueError(
        f"processor: got {net.config.processor}, which does not run on sparse graphs, expected "
        "pgn, pgn_mask, gpgn, gpgn_mask, gin or recgnn"
    )


class SparseScan:
    """The steps of one algorithm through a window of sparse problems."""

    def __init__(self, net: Net, algorithm: str, window: SparseWindow):
        self.net, self.window, self.spec = net, window, net.spec(algorithm)
        self.process = sparse_processor(net).forward_links
        decoded, encoded = net.decoded_features(self.spec), net.encoded_features(self.spec)
        self.read_hints = [f for f in encoded if f.stage == Stage.HINT]
        (S, N), E, G = window.graph_of.shape, window.senders.shape[1], window.follows.shape[2]
        self.links = SparseLinks(
            window.senders, window.receivers, window.reverse, window.graph_of, G
        )
        shapes = {Location.NODE: (S, N), Location.EDGE: (S, E), Location.GRAPH: (S, G)}
        self._shapes = shapes
        own = net.encoders[algorithm]
        self.encode = Encoders(own, encoded, shapes, net.config.hidden, self.links.reversed)
        decoders = net.decoders[algorithm]
        hints = [f for f in decoded if f.stage == Stage.HINT]
        self.decode_hints = SparseDecoders(hints, decoders, self.links)
        self.decode_outputs = SparseDecoders(self.spec.outputs, decoders, self.links)
        self.raw_inputs = self._raw(
            self.spec.inputs, {f.name: self._one_hot(f, window.inputs) for f in self.spec.inputs}
        )

    def run(self, carry: Carry | None, *, keep_hints: bool) -> Rollout:
        """Run all steps, and decode the outputs where trajectories end."""
        steps, predictions = [], []
        for k in range(self.window.steps):
            states = self.step(k, carry)
            hints = self.decode_hints(states)
            carry = Carry(states.after, hints)
            steps.append(states)
            if keep_hints:
                predictions.append(hints)
        assert carry is not None, "a window has at least one step"
        outputs = self.decode_outputs(self._at_ends(steps))
        stacked = stack_steps(predictions)
        return Rollout(stacked, outputs, carry, lambda window: self.losses(stacked, outputs))

    def step(self, k: int, carry: Carry | None) -> SparseStates:
        """Read step k and process it."""
        hints, before = self._hints(k, carry), self._hidden(carry)
        nodes, edges, graph = self.encode({**self.raw_inputs, **self._raw(self.read_hints, hints)})
        after = before
        for _ in range(self.net.config.message_passing_steps):
            after = self.process(nodes, edges, graph, self.links, after).hidden
        after = dropout(after, self.net.config.dropout, self.net.training)
        return SparseStates(nodes, edges, graph, before, after)

    def losses(
        self, hints: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The loss of each predicted feature, one number per replica, as dense windows have it."""
        window = self.window
        parts = {
            f.name: self._mean(f, [outputs[f.name]], [window.outputs[f.name]], [window.end_weights])
            for f in self.spec.outputs
        }
        for name, prediction in hints.items():
            truths = window.hints[name][1:]
            parts[name] = self._mean(self.spec[name], prediction, truths, window.follows)
        return parts

    def _mean(
        self,
        feature: Feature,
        predictions: Sequence[Tensor] | Tensor,
        truths: Sequence[Tensor] | Tensor,
        weights: Sequence[Tensor] | Tensor,
    ) -> Tensor:
        lost = torch.zeros(self.net.replicas, device=self.net.device)
        counted = torch.zeros_like(lost)
        for prediction, truth, weight in zip(predictions, truths, weights, strict=True):
            loss = sparse_loss(feature, prediction, truth, self.links)
            count = sparse_counts(feature, truth) * self.entry_weights(feature, weight)
            lost = lost + (loss * count).sum(1)
            counted = counted + count.sum(1)
        return lost / counted.clamp(min=ALMOST_NOTHING)

    def entry_weights(self, feature: Feature, weight: Tensor) -> Tensor:
        """The weight of each graph, (S, G), for each entry of a feature's loss."""
        if feature.location == Location.GRAPH or feature.kind == Kind.MASK_ONE:
            return weight
        weight = self.links.by_graph.expand(weight)
        return self.links.of_receivers(weight) if feature.location == Location.EDGE else weight

    def _one_hot(
        self, feature: Feature, truths: Mapping[str, Tensor], k: int | None = None
    ) -> Tensor:
        truth = truths[feature.name] if k is None else truths[feature.name][k]
        return sparse_one_hot(feature, truth, self.window.senders.shape[1])

    def _raw(self, features: Sequence[Feature], values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The numbers that encoders read: what a node points along is the edge to its pointee."""
        turned = {
            f.name: self.links.reversed(values[f.name])
            if f.kind == Kind.POINTER
            else values[f.name]
            for f in features
        }
        return encoder_inputs(features, turned)

    def _hints(self, k: int, carry: Carry | None) -> dict[str, Tensor]:
        """The hints that the net reads: the true ones where it is given them, else its own."""
        if carry is None:
            return {f.name: self._one_hot(f, self.window.hints, 0) for f in self.read_hints}
        hard, forced = self.net.hard_feedback, self.window.forced
        own = {
            f.name: sparse_feedback(f, carry.hints[f.name], self.links, hard=hard)
            for f in self.read_hints
        }
        if forced is None:
            return own
        return {
            f.name: torch.where(
                self._given(f, forced[k], own[f.name]),
                self._one_hot(f, self.window.hints, k),
                own[f.name],
            )
            for f in self.read_hints
        }

    def _given(self, feature: Feature, forced: Tensor, like: Tensor) -> Tensor:
        """Broadcast `forced` (S, G) to all values of a feature."""
        if feature.location != Location.GRAPH:
            forced = self.links.by_graph.expand(forced)
        if feature.location == Location.EDGE or feature.kind == Kind.POINTER:
            forced = self.links.of_receivers(forced)
        return unsqueeze_like(forced, like)

    def _hidden(self, carry: Carry | None) -> Tensor:
        if carry is None or not self.net.config.carry_state:
            shape, h = self._shapes[Location.NODE], self.net.config.hidden
            return torch.zeros(*shape, h, device=self.window.follows.device)
        return carry.hidden

    def _at_ends(self, steps: Sequence[SparseStates]) -> SparseStates:
        """The states of each graph at its last step."""
        if len(steps) == 1:
            return steps[0]
        at = {Location.GRAPH: self.window.end_steps}
        at[Location.NODE] = self.links.by_graph.expand(at[Location.GRAPH])
        at[Location.EDGE] = self.links.of_receivers(at[Location.NODE])

        def chosen(location: Location, values: Sequence[Tensor]) -> Tensor:
            when = at[location]
            replicas = torch.arange(len(when), device=when.device).unsqueeze(1)
            return torch.stack(list(values))[
                when, replicas, torch.arange(when.shape[1], device=when.device)
            ]

        def factored(location: Location, values: Sequence[Tensor | Factored]) -> Tensor | Factored:
            first = values[0]
            if isinstance(first, Factored):
                raw = [x.raw for x in values if isinstance(x, Factored)]
                return Factored(chosen(location, raw), first.encoding)
            return chosen(location, [x for x in values if isinstance(x, Tensor)])

        nodes, edges, graph, before, after = zip(*steps, strict=True)
        return SparseStates(
            factored(Location.NODE, nodes),
            factored(Location.EDGE, edges),
            factored(Location.GRAPH, graph),
            chosen(Location.NODE, before),
            chosen(Location.NODE, after),
        )
