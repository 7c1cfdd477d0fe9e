"""Message passing: MPNN, PGN and Deep Sets, with or without triplets and a gate."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from algorist.kernels import ops
from algorist.model.factored import factored_edges, project, side_by_side
from algorist.model.layers import LayerNorm, Linear
from algorist.model.processors.base import (
    EdgeStates,
    Encoded,
    ReplicatedProcessor,
    Sizes,
    StepOutput,
)
from algorist.model.processors.links import Links


class MessagePassing(ReplicatedProcessor):
    """Each node takes the largest of the messages that it receives (paper, section 3.2.3).

    `senders` says whose messages those are: all nodes', its neighbours' or its own. Triplets are
    edge states, the largest over all nodes of what three nodes have to say (Dudzik and Velickovic
    2022). A gate decides how much of a state changes.
    """

    def __init__(
        self,
        sizes: Sizes,
        *,
        senders: str = "all",
        triplets: bool = False,
        gated: bool = False,
        rules_out_non_edges: bool = False,
    ):
        super().__init__()
        self.senders = senders
        self.needs_adjacency = senders == "neighbours" or rules_out_non_edges
        self.rules_out_non_edges = rules_out_non_edges
        linear = partial(Linear, sizes.replicas)
        h, f = sizes.hidden, sizes.triplet_features
        self.receiver, self.sender = linear(2 * h, h), linear(2 * h, h)
        self.edge, self.graph = linear(h, h), linear(h, h)
        self.first, self.second = linear(h, h), linear(h, h)
        self.self_projection, self.update = linear(2 * h, h), linear(h, h)
        self.has_edge_states = triplets
        self.triplet_features = f if triplets else 0
        if triplets:
            self.triplet_nodes = nn.ModuleList(linear(2 * h, f) for _ in range(3))
            self.triplet_edges = nn.ModuleList(linear(h, f) for _ in range(3))
            self.triplet_graph = linear(h, f)
            self.triplet_projection = linear(f, h)
        self.norm = LayerNorm(sizes.replicas, h) if sizes.layer_norm else None
        self.gated = gated
        if gated:
            self.gate_state, self.gate_message = linear(2 * h, h), linear(h, h)
            self.gate = linear(h, h, bias=-3.0)

    def forward(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        adjacency: Tensor | None,
        hidden: Tensor,
    ) -> StepOutput:
        """Messages between all pairs of nodes, their maxima, and new states made of these."""
        z = side_by_side(nodes, hidden)
        receiver, sender, *own = project(z, *self._layers_of_nodes)
        mask = self._message_mask(adjacency, hidden)
        messages = self._largest(receiver, sender, edges, self.graph(graph), mask)
        new = self._new_states(messages, hidden, *own)
        return StepOutput(new, edges=self._triplets(z, edges, graph))

    @property
    def runs_on_sparse(self) -> bool:
        """Whether it passes messages along edges alone, so that it can do without other pairs."""
        return self.senders == "neighbours" and not self.has_edge_states

    def forward_links(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        links: Links,
        hidden: Tensor,
    ) -> StepOutput:
        """The same step where only edges are laid out."""
        receiver, sender, *own = project(side_by_side(nodes, hidden), *self._layers_of_nodes)
        receiver = receiver + links.of_graphs(self.graph(graph))
        pairs = relu(links.of_receivers(receiver) + links.of_senders(sender) + self.edge(edges))
        messages = links.max(self.second(relu(self.first(pairs))))
        return StepOutput(self._new_states(messages, hidden, *own))

    @property
    def _layers_of_nodes(self) -> tuple[Linear, ...]:
        layers = (self.receiver, self.sender, self.self_projection)
        return (*layers, self.gate_state) if self.gated else layers

    def _new_states(
        self, messages: Tensor, hidden: Tensor, own: Tensor, gate: Tensor | None = None
    ) -> Tensor:
        """The new states, from the largest messages and projections of the nodes themselves."""
        new = relu(own + self.update(messages))
        if self.norm is not None:
            new = self.norm(new)
        if gate is not None:
            opened = self.gate(relu(gate + self.gate_message(messages))).sigmoid()
            new = hidden + opened * (new - hidden)
        return new

    def _largest(
        self,
        receiver: Tensor,
        sender: Tensor,
        edges: Encoded,
        graph: Tensor,
        mask: Tensor | None,
    ) -> Tensor:
        """The largest message that each node receives, per channel: (S, B, n, h)."""
        between, bias = factored_edges(edges, self.edge)
        receiver = receiver + (graph + bias.unsqueeze(1)).unsqueeze(2)
        first, second = self.first.affine, self.second.affine
        return ops.message_max(receiver, sender, between, first, second, mask)

    def _message_mask(self, adjacency: Tensor | None, hidden: Tensor) -> Tensor | None:
        """(S, B, sender, receiver): whose messages arrive; None: everybody's."""
        if self.senders == "all":
            return None
        if self.senders == "itself":
            S, B, n, _ = hidden.shape
            return torch.eye(n, device=hidden.device).expand(S, B, n, n)
        return adjacency

    def _triplets(self, z: Encoded, edges: Encoded, graph: Encoded) -> EdgeStates | None:
        if not self.has_edge_states:
            return None

        def maxima() -> Tensor:
            i, j, k = project(z, *self.triplet_nodes)
            between, bias = factored_edges(edges, *self.triplet_edges)
            j = j + self.triplet_graph(graph).unsqueeze(2)
            nodes = torch.cat((i, j, k), -1) + bias[:, None, None]
            return ops.triplet_max(nodes, between)

        return EdgeStates(maxima, lambda kept: relu(self.triplet_projection(kept)))
