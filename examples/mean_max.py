"""A processor of ordinary torch layers: messages along all pairs, their maximum and their mean.

algorist --plugin examples/mean_max.py train bfs --processor mean_max --out runs/mean_max
"""

import torch
from torch import nn

import algorist


@algorist.register
class MeanMax(algorist.Processor):
    """Messages along all pairs; their maximum and their mean."""

    def __init__(self, hidden):
        super().__init__()
        self.message = nn.Sequential(
            nn.Linear(5 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden)
        )
        self.update = nn.Linear(4 * hidden, hidden)

    def forward(self, nodes, edges, graph, adjacency, hidden):
        """(B, n, h), (B, n, n, h), (B, h), (B, n, n), (B, n, h) -> (B, n, h)."""
        z = torch.cat((nodes, hidden), -1)
        n = z.shape[1]
        pairs = torch.cat(
            (z[:, :, None].expand(-1, -1, n, -1), z[:, None].expand(-1, n, -1, -1), edges), -1
        )  # from i to j
        messages = self.message(pairs)
        return self.update(torch.cat((z, messages.amax(1), messages.mean(1)), -1))
