"""Graph attention."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, relu

from algorist.model.factored import project, side_by_side
from algorist.model.layers import LayerNorm, Linear
from algorist.model.processors.base import Encoded, ReplicatedProcessor, Sizes, StepOutput


class Attention(ReplicatedProcessor):
    """Graph attention (Velickovic et al. 2018), and its second version (Brody et al. 2022)."""

    def __init__(self, sizes: Sizes, *, senders: str = "neighbours", dynamic: bool = False):
        super().__init__()
        h, heads = sizes.hidden, sizes.heads
        if h % heads:
            raise ValueError(f"heads: got {heads}, expected a divisor of the hidden size {h}")
        linear = partial(Linear, sizes.replicas)
        self.needs_adjacency = senders == "neighbours"
        self.heads, self.dynamic = heads, dynamic
        width = h if dynamic else heads
        self.value, self.skip = linear(2 * h, h), linear(2 * h, h)
        self.first, self.second = linear(2 * h, width), linear(2 * h, width)
        self.edge, self.graph = linear(h, width), linear(h, width)
        if dynamic:
            self.scores = nn.ModuleList(linear(h // heads, 1) for _ in range(heads))
        self.norm = LayerNorm(sizes.replicas, h) if sizes.layer_norm else None

    def forward(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        adjacency: Tensor | None,
        hidden: Tensor,
    ) -> StepOutput:
        """Attention among all nodes, or among neighbours."""
        z = side_by_side(nodes, hidden)
        value, skip, first, second = project(z, self.value, self.skip, self.first, self.second)
        first = first + self.graph(graph).unsqueeze(2)
        looking, seen = (second, first) if self.dynamic else (first, second)
        pairs = self.edge(edges) + looking.unsqueeze(3) + seen.unsqueeze(2)
        logits = self._logits(pairs)  # (S, B, n, n, heads)
        if adjacency is not None:
            logits = logits + (adjacency.unsqueeze(-1) - 1) * 1e9
        values = value.unflatten(-1, (self.heads, -1))  # (S, B, n, heads, f)
        new = torch.einsum("sbijh,sbjhf->sbihf", logits.softmax(3), values).flatten(-2)
        new = relu(new + skip)
        return StepOutput(new if self.norm is None else self.norm(new))

    def _logits(self, pairs: Tensor) -> Tensor:
        if not self.dynamic:
            return leaky_relu(pairs)
        heads = leaky_relu(pairs).chunk(self.heads, -1)
        return torch.cat([score(head) for score, head in zip(self.scores, heads, strict=True)], -1)
