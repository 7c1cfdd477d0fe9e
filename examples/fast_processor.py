"""A processor of one's own that is fast on a GPU: messages by a fused operation.

algorist --plugin examples/fast_processor.py train bfs --processor fast_max_mean

What `message_max_mean` computes could be written with torch alone, on a tensor of all pairs:

    pairs = relu(receiver[:, None] + sender[:, :, None] + edges)     # (B, n, n, h), from i to j
    messages = second(relu(first(pairs)))
    largest, mean = messages.amax(1), messages.mean(1)

On a GPU it is one Triton kernel forward and a few backward; on a CPU, and where there is no Triton,
the same numbers come from compiled code or from PyTorch.
"""

import torch
from torch import nn
from torch.nn.functional import relu

import algorist
from algorist.kernels import message_max_mean


@algorist.register
class FastMaxMean(algorist.Processor):
    """Messages along all pairs; their maximum and their mean, and a gate on the new states."""

    def __init__(self, hidden):
        super().__init__()
        self.ends = nn.Linear(2 * hidden, 2 * hidden)  # of receivers and senders, in one product
        self.edge = nn.Linear(hidden, hidden, bias=False)
        self.graph = nn.Linear(hidden, hidden, bias=False)
        self.first = nn.Linear(hidden, hidden)
        self.second = nn.Linear(hidden, hidden, bias=False)  # `update` has a bias of its own
        self.update = nn.Linear(4 * hidden, 2 * hidden)

    def forward(self, nodes, edges, graph, adjacency, hidden):
        """(B, n, h), (B, n, n, h), (B, h), (B, n, n), (B, n, h) -> (B, n, h)."""
        z = torch.cat((nodes, hidden), -1)
        receiver, sender = self.ends(z).chunk(2, -1)
        largest, mean = message_max_mean(
            receiver + self.graph(graph).unsqueeze(1),
            sender,
            self.edge(edges),
            self.first,
            self.second,
        )
        new, gate = self.update(torch.cat((z, largest, mean), -1)).chunk(2, -1)
        return torch.lerp(hidden, relu(new), gate.sigmoid())
