"""A processor as a plug-in: each node adds up what its neighbours say.

algorist --plugin examples/neighbours.py train bfs --processor neighbours --out runs/neighbours
"""

from functools import partial

from torch.nn.functional import relu

from algorist.kernels.affine import product
from algorist.model.fused.composing import FusedOutput
from algorist.model.layers import LayerNorm, Linear
from algorist.model.processors import PROCESSORS, Processor


class Neighbours(Processor):
    """A message is made of its sender and the edge; those of all neighbours are added up."""

    needs_adjacency = True

    def __init__(self, sizes):
        super().__init__()
        linear = partial(Linear, sizes.replicas)  # a map for each seed
        h = sizes.hidden
        self.own = linear(2 * h, h)  # reads a node's encoding and its state
        self.sender = linear(2 * h, h)
        self.edge = linear(h, h)  # reads an edge's encoding
        self.graph = linear(h, h)
        self.update = linear(h, h)
        self.norm = LayerNorm(sizes.replicas, h)

    def columns(self, *, triplets):
        """What is made of nodes: their own part, and what they say, to which edges add."""
        h = self.own.outputs
        return [
            FusedOutput(h, self.own, graph=self.graph),
            FusedOutput(h, self.sender, edge=self.edge),
        ]

    def compose(self, composer, joint):
        """The maps of nodes, joined, and that of edges: encoders are folded into both."""
        _, said = joint.spans
        return composer.states(joint), composer.side_by_side([composer.edge(said)])

    def prepare(self, maps, kernels):
        """A step of all nodes, from their numbers and states to new states."""
        of_nodes, of_edges = maps
        project = kernels.project(of_nodes, (self.own.outputs, self.sender.outputs))

        def step(numbers, edges, adjacency, hidden):
            own, said = project(numbers, hidden)  # (S, B, n, h) each
            messages = relu(said.unsqueeze(2) + product(edges, of_edges))  # (S, B, n, n, h)
            message_mask = (messages * adjacency.unsqueeze(-1)).sum(3)
            return self.norm(relu(own + self.update(message_mask))), None

        return step


PROCESSORS["neighbours"] = Neighbours
