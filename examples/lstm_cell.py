"""An LSTM cell in the processor: its cell state goes on from step to step.

algorist --plugin examples/lstm_cell.py train bfs --processor lstm_messages --out runs/lstm
"""

import torch
from torch import nn

import algorist


@algorist.register
class LSTMMessages(algorist.Processor):
    """Each node's LSTM cell reads the largest of the messages of its neighbours."""

    def __init__(self, hidden):
        super().__init__()
        self.sender = nn.Linear(2 * hidden, hidden)
        self.edge = nn.Linear(hidden, hidden)
        self.cell = nn.LSTMCell(2 * hidden, hidden)

    def initial_state(self, batch_size, n):
        """The first cell state of every node."""
        return torch.zeros(batch_size, n, self.cell.hidden_size)

    def forward(self, nodes, edges, graph, adjacency, hidden, state):
        """One step of every node's cell; `state` is what the step before returned."""
        sent = self.sender(torch.cat((nodes, hidden), -1))
        messages = torch.relu(sent[:, :, None] + self.edge(edges))  # from i to j
        heard = messages.masked_fill(adjacency[..., None] == 0, 0.0).amax(1)
        given = torch.cat((nodes + graph[:, None], heard), -1)
        new, cell = self.cell(_rows(given), (_rows(hidden), _rows(state)))
        return algorist.StepOutput(new.view_as(hidden), state=cell.view_as(state))


def _rows(x):
    """All nodes of all problems one below the other: (B, n, h) -> (B * n, h)."""
    return x.flatten(0, 1)
