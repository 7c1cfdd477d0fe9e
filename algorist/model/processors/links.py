"""Message passing: how values of nodes reach edges, and how nodes aggregate those of edges.

A processor that is written in these terms runs on dense problems, where all pairs of nodes are laid
out and a mask says which are adjacent, and on sparse ones, where only edges are.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from algorist.kernels.plain import NOT_A_NEIGHBOUR


class Links(Protocol):
    """The edges of a batch, from senders to receivers."""

    def of_senders(self, nodes: Tensor) -> Tensor:
        """The value of each edge's sender."""
        ...

    def of_receivers(self, nodes: Tensor) -> Tensor:
        """The value of each edge's receiver."""
        ...

    def of_graphs(self, graphs: Tensor) -> Tensor:
        """The value of each node's graph."""
        ...

    def max(self, edges: Tensor) -> Tensor:
        """The largest value that each node receives, per channel."""
        ...

    def sum(self, edges: Tensor) -> Tensor:
        """The sum of the values that each node receives."""
        ...


class DenseLinks:
    """All pairs of nodes: edges are (S, B, sender, receiver, h)."""

    def __init__(self, adjacency: Tensor):
        """(S, B, n, n): 1 for neighbours and each node itself."""
        self._adjacency = adjacency.unsqueeze(-1)

    def of_senders(self, nodes: Tensor) -> Tensor:
        """(S, B, n, 1, h)."""
        return nodes.unsqueeze(3)

    def of_receivers(self, nodes: Tensor) -> Tensor:
        """(S, B, 1, n, h)."""
        return nodes.unsqueeze(2)

    def of_graphs(self, graphs: Tensor) -> Tensor:
        """(S, B, 1, h)."""
        return graphs.unsqueeze(2)

    def max(self, edges: Tensor) -> Tensor:
        """(S, B, n, h)."""
        return torch.where(self._adjacency > 0, edges, NOT_A_NEIGHBOUR).amax(2)

    def sum(self, edges: Tensor) -> Tensor:
        """(S, B, n, h)."""
        return (edges * self._adjacency).sum(2)


class _SegmentMax(torch.autograd.Function):
    """The largest row of each segment, per channel; the gradient goes to all equal maxima."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor, count: int) -> Tensor:
        largest = values.new_full((count, values.shape[1]), NOT_A_NEIGHBOUR)
        largest.scatter_reduce_(0, index.unsqueeze(1).expand_as(values), values, "amax")
        ctx.save_for_backward(values, index, largest)
        return largest

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        values, index, largest = ctx.saved_tensors
        is_largest = values == largest.index_select(0, index)
        return grad.index_select(0, index) * is_largest, None, None


class Segments:
    """Reductions over Q segments of M values, for each of S replicas."""

    def __init__(self, index: Tensor, count: int):
        """The segment of each value, (S, M), and Q."""
        self.count, self._shape = count, index.shape
        first = count * torch.arange(len(index), device=index.device).unsqueeze(1)
        self._index = (index + first).flatten()

    def expand(self, values: Tensor) -> Tensor:
        """(S, Q, ...) to (S, M, ...): the value of each segment for all its members."""
        found = values.flatten(0, 1).index_select(0, self._index)
        return found.view(*self._shape, *values.shape[2:])

    def max(self, values: Tensor) -> Tensor:
        """(S, M, h) to (S, Q, h)."""
        rows = values.flatten(0, 1)
        count = len(values) * self.count
        found: Tensor = _SegmentMax.apply(rows, self._index, count)  # type: ignore[no-untyped-call]
        return found.view(len(values), self.count, -1)

    def sum(self, values: Tensor) -> Tensor:
        """(S, M, h) to (S, Q, h)."""
        rows = values.flatten(0, 1)
        empty = rows.new_zeros(len(values) * self.count, rows.shape[1])
        return empty.index_add(0, self._index, rows).view(len(values), self.count, -1)

    def log_softmax(self, logits: Tensor) -> Tensor:
        """(S, M): log-softmax of the logits within each segment."""
        shifted = logits - self.expand(self.max(logits.detach().unsqueeze(-1))).squeeze(-1)
        total = self.sum(shifted.exp().unsqueeze(-1))
        return shifted - self.expand(total.log()).squeeze(-1)

    def argmax(self, logits: Tensor) -> Tensor:
        """(S, Q): the index of the first of the largest logits (S, M) of each segment."""
        is_largest = logits == self.expand(self.max(logits.unsqueeze(-1))).squeeze(-1)
        index = torch.arange(logits.shape[1], device=logits.device).expand_as(logits)
        candidates = torch.where(is_largest, index, logits.shape[1] - 1).flatten()
        first = candidates.new_full((len(logits) * self.count,), logits.shape[1] - 1)
        first.scatter_reduce_(0, self._index, candidates, "amin")
        return first.view(len(logits), self.count)


class SparseLinks:
    """The edges alone: (S, E, h), sorted by their receivers."""

    def __init__(
        self, senders: Tensor, receivers: Tensor, reverse: Tensor, graph_of: Tensor, graphs: int
    ):
        """(S, E) thrice and (S, N): the ends of each edge, the edge back, each node's graph."""
        nodes = graph_of.shape[1]
        self.by_sender, self.by_receiver = Segments(senders, nodes), Segments(receivers, nodes)
        self.by_graph, self.reverse = Segments(graph_of, graphs), reverse

    def of_senders(self, nodes: Tensor) -> Tensor:
        """(S, N, h) to (S, E, h)."""
        return self.by_sender.expand(nodes)

    def of_receivers(self, nodes: Tensor) -> Tensor:
        """(S, N, h) to (S, E, h)."""
        return self.by_receiver.expand(nodes)

    def of_graphs(self, graphs: Tensor) -> Tensor:
        """(S, G, h) to (S, N, h)."""
        return self.by_graph.expand(graphs)

    def max(self, edges: Tensor) -> Tensor:
        """(S, E, h) to (S, N, h)."""
        return self.by_receiver.max(edges)

    def sum(self, edges: Tensor) -> Tensor:
        """(S, E, h) to (S, N, h)."""
        return self.by_receiver.sum(edges)

    def reversed(self, edges: Tensor) -> Tensor:
        """(S, E, ...): the values of the edges in the other direction."""
        replicas = torch.arange(len(edges), device=edges.device).unsqueeze(1)
        return edges[replicas, self.reverse]
