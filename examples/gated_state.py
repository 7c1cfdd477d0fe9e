"""A gate on the recurrent state, and a penalty in the loss that keeps it shut.

algorist --plugin examples/gated_state.py train bfs --processor gated_state --out runs/gated
"""

import torch
from torch import nn

import algorist


@algorist.register
class GatedState(algorist.Processor):
    """States change only as far as a gate opens, and what opens it costs something."""

    penalty = 0.01

    def __init__(self, hidden):
        super().__init__()
        self.message = nn.Linear(3 * hidden, hidden)
        self.update = nn.Linear(3 * hidden, hidden)
        self.gate = nn.Linear(3 * hidden, hidden)
        nn.init.constant_(self.gate.bias, -3.0)  # nearly shut at first

    def forward(self, nodes, edges, graph, adjacency, hidden):
        """The new states, and how wide the gates stood open in each problem."""
        z = torch.cat((nodes + graph[:, None], hidden), -1)
        senders = z[:, :, None].expand(-1, -1, z.shape[1], -1)
        messages = torch.relu(self.message(torch.cat((senders, edges), -1)))
        given = torch.cat((z, messages.amax(1)), -1)
        gate = self.gate(given).sigmoid()
        new = hidden + gate * (torch.relu(self.update(given)) - hidden)
        return algorist.StepOutput(new, losses={"gate": self.penalty * gate.mean((1, 2))})
