"""A net without a recurrent state: it reads the hints of a step and predicts those of the next.

Choices (masks, classes, pointers) are decided first. Scalars follow from them: a gate says whether
one changes, and its new value is a combination of known scalars, among them those that the decided
choices select. Outputs are read from the last hints, in a step of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algorist.model.kinds import SINKHORN_STEPS, log_sinkhorn
from algorist.spec import MASKED, Feature, Kind, Location, Spec, Stage
from laboratory.columns import Encoding, Switches, dense, is_edge_pointer
from laboratory.transitions import Values

_EDGE_HIDDEN = 32
"""Hidden channels of the decoders of edges and of edge pointers."""
_CHANGE = 1e-7
"""A scalar that changes by less is kept."""


class Scalar(NamedTuple):
    """A predicted scalar hint."""

    gate: Tensor  # the logit of a change
    value: Tensor  # the new value if it changes


class Linear(nn.Linear):
    """A linear layer whose first weights are drawn as those of the library are."""

    def __init__(self, inputs: int, outputs: int, *, spread: float | None = None):
        super().__init__(inputs, outputs)
        spread = max(inputs, 1) ** -0.5 if spread is None else spread
        nn.init.trunc_normal_(self.weight, 0.0, spread, -2 * spread, 2 * spread)
        nn.init.zeros_(self.bias)


class Processor(nn.Module):
    """Message passing among all nodes, with triplets (paper, section 3.2.3)."""

    def __init__(self, switches: Switches):
        super().__init__()
        h, triplets = switches.hidden, switches.triplet_features
        self.receiver, self.sender, self.own = (Linear(2 * h, h) for _ in range(3))
        self.edge, self.graph = Linear(h, h), Linear(h, h)
        self.first, self.second, self.update = (Linear(h, h) for _ in range(3))
        self.mean = nn.Parameter(torch.zeros(min(switches.mean_channels, h), h))
        self.norm = nn.LayerNorm(h)
        self.triplet_nodes = nn.ModuleList(Linear(2 * h, triplets) for _ in range(3))
        self.triplet_edges = nn.ModuleList(Linear(h, triplets) for _ in range(3))
        self.triplet_graph, self.triplet_out = Linear(h, triplets), Linear(triplets, h)

    def forward(self, nodes: Tensor, edges: Tensor, graph: Tensor, hidden: Tensor) -> Tensor:
        """(B, n, h), (B, n, n, h), (B, h), (B, n, h) -> (B, n, h)."""
        z = torch.cat((nodes, hidden), -1)
        pairs = self.edge(edges) + self.sender(z).unsqueeze(2) + self.receiver(z).unsqueeze(1)
        pairs = pairs + self.graph(graph)[:, None, None]
        messages = self.second(self.first(pairs.relu()).relu())
        new = self.own(z) + self.update(messages.amax(1))
        channels = len(self.mean)
        if channels:
            new = new + messages[..., :channels].relu().mean(1) @ self.mean
        return self.norm(new.relu())

    def triplets(self, nodes: Tensor, edges: Tensor, graph: Tensor, hidden: Tensor) -> Tensor:
        """The largest over i of the features of the triplet (i, j, k): (B, n, n, h)."""
        z = torch.cat((nodes, hidden), -1)
        of_i, of_j, of_k = (layer(z) for layer in self.triplet_nodes)
        of_ij, of_ik, of_jk = (layer(edges) for layer in self.triplet_edges)
        left = of_ij + of_i.unsqueeze(2)
        largest = (left.unsqueeze(3) + of_ik.unsqueeze(2)).amax(1)
        rest = of_jk + of_j.unsqueeze(2) + of_k.unsqueeze(1)
        return self.triplet_out(largest + rest + self.triplet_graph(graph)[:, None, None]).relu()


class State(NamedTuple):
    """What decoders read of one step."""

    values: Values  # dense features
    scalars: Mapping[Location, Tensor]  # known scalars: (B, n, q), (B, n, n, q), (B, q)
    nodes: Tensor  # (B, n, 2h): encoding and state
    edges: Tensor  # (B, n, n, 2h): encoding and triplets, or h without them
    graph: Tensor  # (B, h)

    @property
    def pooled(self) -> Tensor:
        """The largest over all nodes, and the encoding of the graph: (B, 3h)."""
        return torch.cat((self.nodes.amax(1), self.graph), -1)

    def rows(self, start: int | None, stop: int | None) -> State:
        """Some of the rows."""
        cut = slice(start, stop)
        return State(
            {name: x[cut] for name, x in self.values.items()},
            {location: x[cut] for location, x in self.scalars.items()},
            *(x[cut] for x in (self.nodes, self.edges, self.graph)),
        )


class _Pairs(nn.Module):
    """A linear map of both ends of a pair and of its edge."""

    def __init__(self, hidden: int, edge: int, outputs: int):
        super().__init__()
        self.source, self.target = Linear(2 * hidden, outputs), Linear(2 * hidden, outputs)
        self.edge = Linear(edge, outputs)

    def forward(self, state: State) -> Tensor:
        return (
            self.source(state.nodes).unsqueeze(2)
            + self.target(state.nodes).unsqueeze(1)
            + self.edge(state.edges)
        )


class PointerDecoder(nn.Module):
    """The logit of a pointer from i to j reads both nodes and the edge from j to i."""

    def __init__(self, hidden: int, edge: int):
        super().__init__()
        self.source, self.target = Linear(2 * hidden, hidden), Linear(2 * hidden, hidden)
        self.edge, self.score = Linear(edge, hidden), Linear(hidden, 1)

    def forward(self, state: State) -> Tensor:
        """(B, n, n)."""
        back = self.edge(state.edges) + self.target(state.nodes).unsqueeze(2)
        pairs = torch.maximum(self.source(state.nodes).unsqueeze(1), back)
        return self.score(pairs).squeeze(-1).mT


class EdgePointerDecoder(nn.Module):
    """The logit of a pointer from (b, c) to p reads the nodes, their edges and the old pointer."""

    def __init__(self, hidden: int, edge: int, previous: str):
        super().__init__()
        k = _EDGE_HIDDEN
        self._previous = previous
        self.nodes = nn.ModuleList(Linear(2 * hidden, k) for _ in range(3))
        self.edges = nn.ModuleList(Linear(edge, k) for _ in range(3))
        self.kept = nn.Parameter(torch.randn(k))
        self.score = Linear(k, 1)

    def forward(self, state: State) -> Tensor:
        """(B, n, n, n)."""
        of_b, of_c, of_p = (layer(state.nodes) for layer in self.nodes)
        of_bc, of_bp, of_cp = (layer(state.edges) for layer in self.edges)
        pairs = of_b.unsqueeze(2) + of_c.unsqueeze(1) + of_bc
        to_p = (of_p.unsqueeze(1) + of_bp).unsqueeze(2) + of_cp.unsqueeze(1)
        inner = pairs.unsqueeze(3) + to_p
        if self._previous in state.values:
            inner = inner + state.values[self._previous].unsqueeze(-1) * self.kept
        return self.score(inner.relu()).squeeze(-1)


class EdgePointerEncoder(nn.Module):
    """Adds P[a, c, p] to the edges (c, p) and (a, p), chosen by the node that is left out."""

    def __init__(self, hidden: int):
        super().__init__()
        k = _EDGE_HIDDEN // 2
        self.gates = nn.ModuleList(Linear(hidden, k) for _ in range(2))
        self.pointers = nn.Parameter(torch.randn(2, k) / 2)
        self.outputs = nn.ModuleList(Linear(k, hidden, spread=0.1) for _ in range(2))

    def forward(self, nodes: Tensor, pointers: Tensor) -> Tensor:
        """(B, n, h), (B, n, n, n) -> (B, n, n, h)."""
        parts = []
        for axis in (0, 1):
            gate = self.gates[axis](nodes).unsqueeze(2 - axis).unsqueeze(3)
            inner = (gate + pointers.unsqueeze(-1) * self.pointers[axis]).relu()
            parts.append(self.outputs[axis](inner.amax(1 + axis)))
        return parts[0] + parts[1]


class ValueDecoder(nn.Module):
    """Masks, classes and scalars of nodes, edges and the graph."""

    def __init__(self, feature: Feature, switches: Switches, edge: int, known: int):
        super().__init__()
        h, self._location = switches.hidden, feature.location
        self._gated = feature.kind == Kind.SCALAR and switches.scalar_gates
        self._squeezed = not feature.classes
        outputs = (feature.classes or 1) + self._gated
        widths = {Location.NODE: 2 * h, Location.EDGE: _EDGE_HIDDEN, Location.GRAPH: 3 * h}
        if feature.location == Location.EDGE:
            self.pairs = _Pairs(h, edge, _EDGE_HIDDEN)
        self.value = Linear(widths[feature.location], outputs)
        if self._gated:
            self.weights = Linear(widths[feature.location], known, spread=0.01)

    def forward(self, state: State, known: Tensor | None) -> Tensor | Scalar:
        """The logits, or a scalar; `known` are the scalars that it may be combined from."""
        if self._location == Location.NODE:
            inner = state.nodes
        else:
            inner = self.pairs(state).relu() if self._location == Location.EDGE else state.pooled
        out = self.value(inner)
        if self._gated:
            return Scalar(out[..., 1], out[..., 0] + (self.weights(inner) * known).sum(-1))
        return out.squeeze(-1) if self._squeezed else out


class Task(nn.Module):
    """The encoders and decoders of one algorithm."""

    def __init__(self, spec: Spec, switches: Switches):
        super().__init__()
        self.spec, self._switches = spec, switches
        self.encoding = Encoding(spec, switches)
        h = switches.hidden
        edge = 2 * h if switches.triplet_features else h
        values = self.encoding.dense(*_blank(spec))
        columns, scalars = self.encoding.columns(values, torch.zeros(1, len(spec.hints) + 1))
        self.encoders = nn.ModuleList()
        for location in Location:
            spread = torch.tensor(columns.spreads[location])
            encoder = Linear(len(spread), h, spread=1.0)
            encoder.weight.data *= spread
            self.encoders.append(encoder)
        self._selected = self.encoding.selection.select(values, values)
        like = values["pos"]
        widths = {
            location: scalars.joined(location, like).shape[-1]
            + self._selected.joined(location, like).shape[-1]
            for location in Location
        }
        node, of_edge, graph = (widths[location] for location in Location)
        known = {
            Location.NODE: node + graph,
            Location.EDGE: of_edge + 2 * node + graph,
            Location.GRAPH: graph,
        }
        self.edge_pointer_encoders = nn.ModuleDict(
            {f.name: EdgePointerEncoder(h) for f in spec.hints if self._is_tensor(f)}
        )
        self.decoders = nn.ModuleDict(
            {_key(f): self._decoder(f, edge, known) for f in (*spec.hints, *spec.outputs)}
        )

    def _is_tensor(self, feature: Feature) -> bool:
        return self._switches.edge_pointers and is_edge_pointer(feature)

    def _decoder(self, feature: Feature, edge: int, known: Mapping[Location, int]) -> nn.Module:
        h = self._switches.hidden
        if is_edge_pointer(feature):
            previous = feature.name if feature.stage == Stage.HINT else feature.name + "_h"
            return EdgePointerDecoder(h, edge, previous if self._switches.edge_pointers else "")
        if feature.kind in (Kind.POINTER, Kind.PERMUTATION_POINTER):
            return PointerDecoder(h, edge)
        return ValueDecoder(feature, self._switches, edge, known[feature.location])

    def encode(
        self, inputs: Values, hints: Values, changes: Tensor
    ) -> tuple[Values, dict[Location, Tensor], list[Tensor]]:
        """Dense features, known scalars, and the encodings of nodes, edges and graph."""
        values = self.encoding.dense(inputs, hints)
        columns, scalars = self.encoding.columns(values, changes)
        like = values["pos"]
        encodings = [
            encoder(columns.joined(location, like))
            for location, encoder in zip(Location, self.encoders, strict=True)
        ]
        for name, encoder in self.edge_pointer_encoders.items():
            encodings[1] = encodings[1] + encoder(encodings[0], values[name])
        return values, {place: scalars.joined(place, like) for place in Location}, encodings

    def known(self, state: State, choices: Values) -> dict[Location, Tensor]:
        """The scalars that new ones are combined from, with those that `choices` select."""
        n = state.values["pos"].shape[1]
        chosen = {
            f.name: dense(f, choices[f.name], n)
            for f in self.spec.hints
            if f.location == Location.NODE and f.kind in (Kind.MASK_ONE, Kind.POINTER)
        }
        inputs = {f.name: state.values[f.name] for f in self.spec.inputs}
        found = self.encoding.selection.select({**inputs, **chosen}, state.values)
        node, edge, graph = (
            torch.cat((state.scalars[place], found.joined(place, state.values["pos"])), -1)
            for place in Location
        )
        shape = (*edge.shape[:3], -1)
        everywhere = graph.unsqueeze(1).expand(*node.shape[:2], -1)
        ends = [node.unsqueeze(2).expand(shape), node.unsqueeze(1).expand(shape)]
        return {
            Location.NODE: torch.cat((node, everywhere), -1),
            Location.EDGE: torch.cat((edge, *ends, everywhere.unsqueeze(1).expand(shape)), -1),
            Location.GRAPH: graph,
        }


class ExecutorNet(nn.Module):
    """Encoders and decoders for each algorithm around one processor."""

    def __init__(self, specs: Mapping[str, Spec], switches: Switches):
        super().__init__()
        self.switches, self.processor = switches, Processor(switches)
        self.tasks = nn.ModuleDict({name: Task(spec, switches) for name, spec in specs.items()})

    def forward(self, algorithm: str, inputs: Values, hints: Values, changes: Tensor) -> State:
        """Read one step: the hints, and which of them the step before changed."""
        task = self.tasks[algorithm]
        values, scalars, (nodes, edges, graph) = task.encode(inputs, hints, changes)
        hidden = torch.zeros_like(nodes)
        for _ in range(self.switches.rounds):
            before, hidden = hidden, self.processor(nodes, edges, graph, hidden)
        if self.switches.triplet_features:
            triplets = self.processor.triplets(nodes, edges, graph, before)
            edges = torch.cat((edges, triplets), -1)
        return State(values, scalars, torch.cat((nodes, hidden), -1), edges, graph)

    def decode(
        self,
        algorithm: str,
        state: State,
        features: Iterable[Feature],
        choices: Values | None = None,
    ) -> dict[str, Tensor | Scalar]:
        """Predict features; scalars are combined through `choices`, or those that are predicted."""
        task, features = self.tasks[algorithm], list(features)
        found: dict[str, Tensor | Scalar] = {
            f.name: _decode_choice(task.decoders[_key(f)], f, state, self.training)
            for f in features
            if f.kind != Kind.SCALAR
        }
        scalars = [f for f in features if f.kind == Kind.SCALAR]
        if scalars and self.switches.scalar_gates:
            choices = choices or {
                f.name: decide(f, found[f.name]) for f in features if f.name in found
            }
            known = task.known(state, choices)
        for f in scalars:
            own = known[f.location] if self.switches.scalar_gates else None
            found[f.name] = task.decoders[_key(f)](state, own)
        return found


def _decode_choice(decoder: nn.Module, feature: Feature, state: State, training: bool) -> Tensor:
    if isinstance(decoder, ValueDecoder):
        return decoder(state, None)
    logits = decoder(state)
    if feature.kind != Kind.PERMUTATION_POINTER:
        return logits
    noise = -torch.empty_like(logits).exponential_().log() if training else None
    return log_sinkhorn(logits, SINKHORN_STEPS, noise)


def decide(feature: Feature, prediction: Tensor | Scalar, before: Tensor | None = None) -> Tensor:
    """A prediction as the next step reads it, in the form of pools."""
    if isinstance(prediction, Scalar):
        return torch.where(prediction.gate > 0, prediction.value, before)
    if feature.kind == Kind.SCALAR:
        return prediction
    if feature.kind == Kind.MASK:
        return (prediction > 0).to(torch.int8)
    if feature.kind == Kind.POINTER:
        return prediction.argmax(-1).to(torch.int16)
    return F.one_hot(prediction.argmax(-1), prediction.shape[-1]).to(torch.int8)


def loss(
    feature: Feature,
    prediction: Tensor | Scalar,
    truth: Tensor,
    before: Tensor | None,
    weight: float,
) -> Tensor:
    """The mean loss of a feature; `before` is the true value of a scalar hint now."""
    truth = truth if feature.kind == Kind.POINTER else truth.float()
    if isinstance(prediction, Scalar):
        changes = ((truth - before).abs() > _CHANGE).float()
        error = F.smooth_l1_loss(prediction.value, truth, reduction="none", beta=0.1)
        error = (error * changes).sum() / changes.sum().clamp(min=1)
        return F.binary_cross_entropy_with_logits(prediction.gate, changes) + weight * error
    if feature.kind == Kind.SCALAR:
        return weight * F.smooth_l1_loss(prediction, truth)
    if feature.kind == Kind.POINTER:
        return F.cross_entropy(prediction.flatten(0, -2), truth.long().flatten())
    if feature.kind == Kind.PERMUTATION_POINTER:
        return -(truth * prediction).sum(-1).mean()
    if feature.kind == Kind.MASK:
        counts = (truth != MASKED).float()
        entries = F.binary_cross_entropy_with_logits(
            prediction, truth.clamp(min=0), reduction="none"
        )
    else:
        counts = (truth == 1).any(-1).float()
        entries = -(truth.clamp(min=0) * prediction.log_softmax(-1)).sum(-1)
    return (entries * counts).sum() / counts.sum().clamp(min=1)


def _key(feature: Feature) -> str:
    return f"{feature.stage}_{feature.name}"


def _blank(spec: Spec) -> tuple[Values, Values]:
    """Zeros for one problem of two nodes: their shapes say how many columns there are."""

    def zeros(features: Sequence[Feature]) -> Values:
        return {
            f.name: torch.zeros(1, *f.location.shape(2), *((f.classes,) if f.classes else ()))
            for f in features
        }

    return zeros(spec.inputs), zeros(spec.hints)
