"""A decoder of edge pointers that reads the edges (i, k) and (k, j): which k lies between i and j?

algorist --plugin examples/edge_pointer_decoder.py train floyd_warshall --out runs/via
"""

import torch
from torch import nn

import algorist


@algorist.register
class Via(algorist.Decoder):
    """The score of node k for the edge (i, j), from all three nodes and the edges between them."""

    location, kind = "edge", "pointer"

    def __init__(self, sizes):
        super().__init__()
        h = sizes.graph
        self.nodes = nn.Linear(sizes.nodes, 3 * h)
        self.edges = nn.Linear(sizes.edges, 3 * h)
        self.score = nn.Linear(h, 1)

    def forward(self, nodes, edges, graph):
        """(B, n, 3h), (B, n, n, 2h), (B, h) -> logits (B, i, j, k)."""
        of_i, of_j, of_k = self.nodes(nodes).chunk(3, -1)
        of_ij, of_ik, of_kj = self.edges(edges).chunk(3, -1)
        pairs = of_ij + of_i[:, :, None] + of_j[:, None]  # (B, i, j, h)
        through = of_k[:, None, None] + of_ik[:, :, None] + of_kj.transpose(1, 2)[:, None]
        return self.score(torch.relu(pairs[:, :, :, None] + through)).squeeze(-1)
