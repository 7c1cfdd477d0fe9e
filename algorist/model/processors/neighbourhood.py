"""Processors in which only neighbours send messages, dense and sparse: GIN and a recurrent one.

SALSA-CLRS compares these two with the PGN (Minder et al., 2023).
"""

from __future__ import annotations

from functools import partial

from torch import Tensor
from torch.nn.functional import relu

from algorist.model.factored import project, side_by_side
from algorist.model.layers import LayerNorm, Linear
from algorist.model.processors.base import Encoded, ReplicatedProcessor, Sizes, StepOutput
from algorist.model.processors.links import DenseLinks, Links


class _Neighbourhood(ReplicatedProcessor):
    """What both share: they are written in terms of links, and pointers lead along edges."""

    needs_adjacency = rules_out_non_edges = True

    def forward(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        adjacency: Tensor | None,
        hidden: Tensor,
    ) -> StepOutput:
        """One step on all pairs of nodes, of which adjacent ones count."""
        assert adjacency is not None, "needs_adjacency says so"
        return self.forward_links(nodes, edges, graph, DenseLinks(adjacency), hidden)


class GraphIsomorphism(_Neighbourhood):
    """GIN: an MLP of the sum of a node and its neighbours' messages (Xu et al., 2019)."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        linear, h = partial(Linear, sizes.replicas), sizes.hidden
        self.sender, self.self_projection = linear(2 * h, h), linear(2 * h, h)
        self.edge, self.graph = linear(h, h), linear(h, h)
        self.first, self.second = linear(h, h), linear(h, h)
        self.norm = LayerNorm(sizes.replicas, h) if sizes.layer_norm else None

    def forward_links(
        self, nodes: Encoded, edges: Encoded, graph: Encoded, links: Links, hidden: Tensor
    ) -> StepOutput:
        """One step along links."""
        sender, own = project(side_by_side(nodes, hidden), self.sender, self.self_projection)
        messages = relu(links.of_senders(sender) + self.edge(edges))
        total = own + links.sum(messages) + links.of_graphs(self.graph(graph))
        new = relu(self.second(relu(self.first(total))))
        return StepOutput(new if self.norm is None else self.norm(new))


class RecurrentNeighbourhood(_Neighbourhood):
    """The largest of the neighbours' messages is the input of a GRU (Grötschla et al., 2022)."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        linear, h = partial(Linear, sizes.replicas), sizes.hidden
        self.receiver, self.sender = linear(2 * h, h), linear(2 * h, h)
        self.edge, self.graph, self.second = linear(h, h), linear(h, h), linear(h, h)
        self.gates, self.candidate = linear(2 * h, 2 * h), linear(2 * h, h)
        self.norm = LayerNorm(sizes.replicas, h) if sizes.layer_norm else None

    def forward_links(
        self, nodes: Encoded, edges: Encoded, graph: Encoded, links: Links, hidden: Tensor
    ) -> StepOutput:
        """One step along links."""
        receiver, sender = project(side_by_side(nodes, hidden), self.receiver, self.sender)
        receiver = receiver + links.of_graphs(self.graph(graph))
        messages = relu(links.of_receivers(receiver) + links.of_senders(sender) + self.edge(edges))
        received = links.max(self.second(messages))
        update, reset = self.gates(side_by_side(received, hidden)).sigmoid().chunk(2, -1)
        candidate = self.candidate(side_by_side(received, reset * hidden)).tanh()
        new = hidden + update * (candidate - hidden)
        return StepOutput(new if self.norm is None else self.norm(new))
