"""The interface of processors: one step of message passing between nodes (paper, section 3.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from torch import Tensor, nn

from algorist.model.factored import Factored
from algorist.model.processors.links import Links
from algorist.model.pytree import PyTree

Encoded: TypeAlias = Tensor | Factored
"""An encoding, which may be kept as factors."""


class Processor(nn.Module):
    """Updates the states of all nodes: the base class of processors of your own.

    Such a class is made of ordinary torch layers and sees one net: `__init__` is given the hidden
    size h, `forward` B problems of n nodes. The net holds a copy for each of its seeds, drawn from
    that seed.

        >>> import torch
        >>> class Mean(Processor):
        ...     def __init__(self, hidden):
        ...         super().__init__()
        ...         self.update = nn.Linear(2 * hidden, hidden)
        ...
        ...     def forward(self, nodes, edges, graph, adjacency, hidden):
        ...         return self.update(torch.cat((nodes, edges.mean(1)), -1))
    """

    def forward(
        self, nodes: Tensor, edges: Tensor, graph: Tensor, adjacency: Tensor, hidden: Tensor
    ) -> Tensor | StepOutput:
        """The new states (B, n, h), or a `StepOutput`.

        Nodes (B, n, h), edges (B, n, n, h), from the first node to the second, and graph (B, h) are
        the encoded features of the step; adjacency (B, n, n) is 1 for neighbours, in both
        directions, and for each node itself; hidden (B, n, h) are the states before. A class with
        an `initial_state` is given the further state as a sixth argument.
        """
        raise NotImplementedError("expected forward(self, nodes, edges, graph, adjacency, hidden)")

    def initial_state(self, batch_size: int, n: int) -> PyTree:
        """What the first step finds as its further state: tensors (batch_size, ...), nested.

        None: there is none.
        """
        return None


@dataclass(frozen=True)
class StepOutput:
    """What a processor makes of a step, where that is more than new states of the nodes."""

    hidden: Tensor
    """(B, n, h): the new states of the nodes."""
    edges: Any = None
    """(B, n, n, h): states of the edges, which decoders read beside their encoding."""
    state: PyTree = None
    """Further recurrent state, nested like that of `initial_state`."""
    losses: Mapping[str, Tensor] = field(default_factory=dict)
    """Penalties by name, (B,) or one number: their means over all steps are added to the loss."""


class EdgeStates:
    """States of the edges, (S, B, n, n, h), which are computed when somebody reads them.

    Between steps `kept` stands for them: something small that they are made of.
    """

    def __init__(self, keep: Callable[[], Tensor], read: Callable[[Tensor], Tensor] | None = None):
        self._keep, self.read = keep, read

    @cached_property
    def kept(self) -> Tensor:
        """What they are made of."""
        return self._keep()

    def release(self) -> None:
        """Compute what is kept now, and let go of all that it is computed from."""
        kept = self.kept
        self._keep = lambda: kept

    @cached_property
    def states(self) -> Tensor:
        """The states themselves."""
        return self.kept if self.read is None else self.read(self.kept)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a built-in processor."""

    replicas: int
    hidden: int
    triplet_features: int
    heads: int
    layer_norm: bool


class ReplicatedProcessor(Processor):
    """A processor whose layers serve all seeds at once: values have a replica axis in front.

    Its encodings may come as factors: `Linear` reads both.
    """

    needs_adjacency = False
    """Whether it reads which nodes are adjacent."""
    rules_out_non_edges = False
    """Whether decoders may point and mark along edges only."""
    has_edge_states = False
    """Whether its steps have states of edges."""
    triplet_features = 0
    """The channels of its triplets."""

    @property
    def runs_on_sparse(self) -> bool:
        """Whether it passes messages along edges alone, so that it can do without other pairs."""
        return type(self).forward_links is not ReplicatedProcessor.forward_links

    def forward_links(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        links: Links,
        hidden: Tensor,
    ) -> StepOutput:
        """One step along links; on sparse problems (S, N, h), (S, E, h), (S, G, h), (S, N, h)."""
        raise NotImplementedError

    def forward(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        adjacency: Tensor | None,
        hidden: Tensor,
    ) -> StepOutput:
        """One step: (S, B, n, h), (S, B, n, n, h), (S, B, h), (S, B, n, n), (S, B, n, h)."""
        raise NotImplementedError
