"""The scan over a window by fused kernels: how they are told of a net, a window, an algorithm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algorist.errors import unknown
from algorist.kernels.fused.buffers import Logits
from algorist.kernels.fused.copying import copy_grouped
from algorist.kernels.fused.feature_codes import CODES
from algorist.kernels.fused.losses import Predicted, loss_table, mean_losses
from algorist.kernels.fused.scan import Previous, Reading, scan
from algorist.kernels.fused.streams import SideStream
from algorist.kernels.fused.targets import Targets, code, write
from algorist.kernels.ops import PRECISIONS
from algorist.model.decoders import DecoderType
from algorist.model.feature_values import adjacency_threshold, raw_width
from algorist.model.fused.composed_weights import ComposedWeights
from algorist.model.fused.prediction_layout import Decoded, PredictionLayout, width
from algorist.model.kinds import row
from algorist.model.packed_values import PackedValues
from algorist.model.scan import Carry, Rollout
from algorist.model.window import Window
from algorist.spec import Feature, Location

if TYPE_CHECKING:
    from algorist.model.net import Net


class RawColumns:
    """The first column of each feature: in x, which has nodes' and then graphs', or in edges'."""

    def __init__(self, inputs: Sequence[Feature], hints: Sequence[Feature]):
        self.features = {feature.name: feature for feature in (*inputs, *hints)}
        self.of: dict[str, int] = {}
        self.of_x = self._put(Location.GRAPH, self._put(Location.NODE, 0))
        self.of_edges = self._put(Location.EDGE, 0)

    def _put(self, location: Location, start: int) -> int:
        """Give columns to all features of a location; returns where the next ones would start."""
        for feature in self.features.values():
            if row(feature).decoder_type.encode_location == location:
                self.of[feature.name] = start
                start += raw_width(feature)
        return start


class Tables:
    """What fused kernels look up about the features of an algorithm in windows of one layout."""

    def __init__(self, weights: ComposedWeights, window: Window, device: torch.device):

        self.columns = RawColumns(weights.spec.inputs, weights.read_hints)
        hints = _predicted(weights.hints, window.hints)
        outputs = _predicted(weights.outputs, window.outputs)
        self.hint_losses = loss_table(list(hints.values()), device)
        complete = len(outputs) == len(weights.outputs.features)
        self.output_losses = loss_table(list(outputs.values()), device, complete=complete)
        self.outputs = list(outputs)
        read = [
            (hints[f.name].code, self.columns.of[f.name], hints[f.name].column, width(f))
            for f in weights.hints.features
            if f in weights.read_hints
        ]
        self.begin = torch.tensor(read, dtype=torch.int32, device=device).view(-1, 4)
        self.inputs = self._truths(weights.spec.inputs, window.inputs).to(device)
        self.true_hints = self._truths(weights.read_hints, window.hints).to(device)
        self.connects = self._limits().to(device)

    def _truths(self, features: Sequence[Feature], values: PackedValues) -> Tensor:
        """Where the values of some features stand, and where their numbers do."""

        rows = [
            (code(f), self.columns.of[f.name], width(f), values.slices[f.name].start)
            for f in features
        ]
        return torch.tensor(rows, dtype=torch.int32).view(-1, 4)

    def _limits(self) -> Tensor:
        """Above which sum over both directions each raw number of an edge connects its nodes."""
        limits = torch.full((self.columns.of_edges,), math.inf)
        for name, feature in self.columns.features.items():
            limit = adjacency_threshold(feature)
            if limit is not None:
                limits[self.columns.of[name]] = limit
        return limits


def _predicted(layout: PredictionLayout, targets: PackedValues) -> dict[str, Predicted]:
    """What the kernel of losses must know of features; of permutations it knows nothing."""

    return {
        f.name: Predicted(
            code=CODES[f.location, f.kind],
            column=layout.place(f),
            truth=targets.slices[f.name].start,
            width=width(f),
        )
        for f in layout.features
        if (f.location, f.kind) in CODES
    }


class FusedScan:
    """The steps of one algorithm through a window."""

    def __init__(self, net: Net, algorithm: str, window: Window):
        if net.precision not in PRECISIONS:
            raise ValueError(unknown("precision", net.precision, PRECISIONS))
        self.net, self.window, self.n = net, window, window.nodes
        composed = (algorithm, net.device)
        if composed not in net.fused_cache:
            net.fused_cache[composed] = ComposedWeights(net, algorithm)
        self.weights = net.fused_cache[composed]
        values = (window.inputs, window.hints, window.outputs)
        layout = (*composed, *(item for x in values for item in x.slices.items()))
        if layout not in net.fused_cache:
            net.fused_cache[layout] = Tables(self.weights, window, net.device)
        self.tables = net.fused_cache[layout]
        self.columns = self.tables.columns

    def run(self, carry: Carry | None, *, keep_hints: bool) -> Rollout:
        """All steps, and the outputs where trajectories end."""
        weights, side_stream = self.weights, SideStream(self.net.device)
        with side_stream.work():
            reading = self._reading(carry)
        process, hint_weights, output_weights = weights.compose(copy_grouped)
        side_stream.join()
        of_hints, of_outputs, hidden = scan(process, hint_weights, output_weights, reading)
        hints = weights.hints.predictions(_by_form(of_hints))
        at_ends = weights.outputs.predictions(_by_form(of_outputs), self.window.noise)
        outputs = {name: value.squeeze(0) for name, value in at_ends.items()}
        last = {name: value[-1].detach() for name, value in hints.items()}
        losses = partial(self._losses, of_hints, of_outputs)
        return Rollout(hints if keep_hints else {}, outputs, Carry(hidden, last), losses)

    def _reading(self, carry: Carry | None) -> Reading:
        """All that the scan reads beside its weights."""

        net, window, (_, S, B) = self.net, self.window, self.window.follows.shape
        fresh, given = self._beginnings(carry)
        x, raw = self._true_numbers(given)
        only_itself = net.processor.senders == "itself"
        return Reading(
            x=x,
            raw=raw,
            table=self.tables.begin,
            given=given,
            fresh=fresh,
            ends=window.ends,
            end_weights=window.end_weights,
            previous=None if carry is None else self._previous(carry),
            hard=net.hard_feedback,
            message_mask=torch.eye(self.n, device=x.device).repeat(S, B, 1, 1)
            if only_itself
            else None,
            connects=self.tables.connects if net.processor.needs_adjacency else None,
            precision=PRECISIONS[net.precision],
        )

    def _losses(self, hints: Logits, outputs: Logits, window: Window) -> dict[str, Tensor]:
        """The losses of all hints at once, and those of all outputs that kernels know."""

        tables, names = self.tables, [feature.name for feature in self.weights.hints.features]
        losses: list[Tensor] = []
        if names:
            targets = Targets(*(part[1:] for part in window.hints.parts))
            losses += mean_losses(tables.hint_losses, hints, targets, window.follows).unbind(0)
        if tables.outputs:
            targets = Targets(*(part.unsqueeze(0) for part in window.outputs.parts))
            weights = window.end_weights.unsqueeze(0)
            losses += mean_losses(tables.output_losses, outputs, targets, weights).unbind(0)
        return dict(zip((*names, *tables.outputs), losses, strict=True))

    def _beginnings(self, carry: Carry | None) -> tuple[Tensor, Tensor]:
        """(K, S, B) twice: where states start at zero, and where the net is given true hints."""
        window = self.window
        fresh = window.is_first
        if fresh is None:
            fresh = torch.zeros_like(window.follows, dtype=torch.bool)
        elif carry is None:
            fresh = fresh.clone()
        if carry is None:
            fresh[0] = True
        given = fresh if window.forced is None else fresh | window.forced
        return fresh if self.net.config.carry_state else torch.ones_like(fresh), given

    def _true_numbers(self, given: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs at every step, true hints where they are given, and ones at the end of x."""

        window, columns = self.window, self.columns
        shape = (*window.follows.shape, self.n)
        x = window.follows.new_ones(*shape, columns.of_x + 1)
        raw = window.follows.new_empty(*shape, self.n, columns.of_edges)
        write(self.tables.inputs, Targets(*window.inputs.parts), x, raw, None)
        write(self.tables.true_hints, Targets(*window.hints.parts), x, raw, given)
        return x, raw

    def _previous(self, carry: Carry) -> Previous:
        """The carried hints, side by side as decoders leave them."""

        def joined(decoder_type: DecoderType) -> Tensor | None:
            values = [(f, carry.hints[f.name]) for f in self.weights.hints.of[decoder_type]]
            if not values:
                return None
            if decoder_type.is_pointer:
                return torch.stack([value for _, value in values])
            return torch.cat([v if f.classes else v.unsqueeze(-1) for f, v in values], -1)

        logits = Logits(
            decoded=joined(DecoderType.NODE),
            points=joined(DecoderType.POINTER),
            edges=joined(DecoderType.EDGE),
            edge_pointer_logits=joined(DecoderType.EDGE_POINTER),
            graph=joined(DecoderType.GRAPH),
        )
        return Previous(carry.hidden.contiguous(), logits)


def _by_form(logits: Logits) -> Decoded:
    """The same predictions, each pointer by itself."""
    nodes, points, edges, edge_pointer_logits, graph = logits
    return Decoded(
        nodes=nodes,
        points=() if points is None else points.unbind(1),
        edges=edges,
        edge_pointer_logits=() if edge_pointer_logits is None else edge_pointer_logits.unbind(1),
        graph=graph,
    )
