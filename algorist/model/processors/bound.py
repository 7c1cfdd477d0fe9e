"""Processors in a scan: one interface for built-in ones and those of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from algorist.model.factored import dense
from algorist.model.per_seed import PerSeed, expect_tensor
from algorist.model.processors.base import (
    EdgeStates,
    Encoded,
    Processor,
    ReplicatedProcessor,
    StepOutput,
)
from algorist.model.pytree import PyTree, tree_leaves, tree_map


class Bound(Protocol):
    """A processor, with the weights that it has now, as a scan calls it."""

    needs_adjacency: bool
    rules_out_non_edges: bool

    def has_edge_states(self, hidden: int) -> bool:
        """Whether its steps have states of edges."""
        ...

    def kept_per_edge(self, hidden: int) -> int:
        """The number of channels of each edge that are kept until outputs are decoded."""
        ...

    def initial_state(self, replicas: int, batch_size: int, n: int) -> PyTree:
        """The first of its further states, (S, B, ...); None: there are none."""
        ...

    def __call__(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        adjacency: Tensor | None,
        hidden: Tensor,
        state: PyTree,
    ) -> StepOutput:
        """One step of all seeds."""
        ...


class BoundReplicated:
    """A built-in processor, whose layers serve all seeds at once."""

    def __init__(self, processor: ReplicatedProcessor):
        self._processor = processor
        self.needs_adjacency = processor.needs_adjacency
        self.rules_out_non_edges = processor.rules_out_non_edges

    def has_edge_states(self, hidden: int) -> bool:
        """Whether its steps have states of edges."""
        return self._processor.has_edge_states

    def kept_per_edge(self, hidden: int) -> int:
        """The channels of its triplets."""
        return self._processor.triplet_features

    def initial_state(self, replicas: int, batch_size: int, n: int) -> PyTree:
        """None: built-in processors have no further states."""
        return None

    def __call__(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        adjacency: Tensor | None,
        hidden: Tensor,
        state: PyTree,
    ) -> StepOutput:
        """One step."""
        output = self._processor(nodes, edges, graph, adjacency, hidden)
        return output if isinstance(output, StepOutput) else StepOutput(output)


class BoundPerSeed:
    """A user's processor: each seed's copy is called with its slice of the tensors."""

    needs_adjacency = True
    rules_out_non_edges = False

    def __init__(self, processor: PerSeed):
        self._processor, self._calls = processor, processor.bound()
        self._losses: tuple[str, ...] | None = None
        assert issubclass(processor.cls, Processor)
        self._has_state = processor.cls.initial_state is not Processor.initial_state

    def has_edge_states(self, hidden: int) -> bool:
        """Whether its steps have states of edges: found out by a small one, which must work."""
        if self._processor.has_edge_states is not None:
            return self._processor.has_edge_states
        S, B, n = self._processor.replicas, 2, 3
        nodes, edges = torch.zeros(S, B, n, hidden), torch.zeros(S, B, n, n, hidden)
        adjacency = torch.eye(n).expand(S, B, n, n)
        with self._processor.probing():
            state = self.initial_state(S, B, n)
            output = self(nodes, edges, torch.zeros(S, B, hidden), adjacency, nodes, state)
        self._processor.has_edge_states = output.edges is not None
        return self._processor.has_edge_states

    def kept_per_edge(self, hidden: int) -> int:
        """Its states of edges, which are kept as they are."""
        return hidden if self.has_edge_states(hidden) else 0

    def initial_state(self, replicas: int, batch_size: int, n: int) -> PyTree:
        """The first state of all seeds, (S, B, ...)."""
        if not self._has_state:
            return None
        device = self._processor.device
        # There from the start: a captured step must not copy it there.
        with self._processor.explained("initial_state"), device:
            module = self._processor.module
            assert isinstance(module, Processor)
            first = module.initial_state(batch_size, n)
            for leaf in tree_leaves(first):
                if not leaf.ndim or len(leaf) != batch_size:
                    raise ValueError(
                        f"got an initial state of shape {tuple(leaf.shape)}, expected the batch "
                        f"size {batch_size} as its first axis"
                    )
        return tree_map(lambda x: x.to(device).expand(replicas, *x.shape), first)

    def __call__(
        self,
        nodes: Encoded,
        edges: Encoded,
        graph: Encoded,
        adjacency: Tensor | None,
        hidden: Tensor,
        state: PyTree,
    ) -> StepOutput:
        """One step."""
        assert adjacency is not None, "`needs_adjacency`"
        values = [dense(nodes), dense(edges), dense(graph), adjacency, hidden]
        outputs = []
        for replica, call in enumerate(self._calls):
            arguments = [value[replica] for value in values]
            if self._has_state:
                arguments.append(tree_map(lambda x, s=replica: x[s], state))
            outputs.append(self._checked(call, arguments))
        return _joined(outputs)

    def _checked(self, call: Callable[..., Any], arguments: Sequence[Any]) -> StepOutput:
        """The output of one seed, all of whose parts have the shapes that they should have."""
        with self._processor.explained():
            output = call(*arguments)
            output = output if isinstance(output, StepOutput) else StepOutput(output)
            hidden, edges = arguments[4], arguments[1]
            expect_tensor("states", output.hidden, hidden.shape, hidden.dtype)
            if output.edges is not None:
                expect_tensor("states of edges", output.edges, edges.shape, edges.dtype)
            if self._has_state:
                tree_map(_expect_same_form, arguments[5], output.state)
            elif output.state is not None:
                raise ValueError(
                    "got a state, expected a method initial_state that makes the first one"
                )
            losses = {
                name: self._penalty(name, value, len(hidden))
                for name, value in output.losses.items()
            }
            self._expect_same_losses(losses)
        return StepOutput(output.hidden, output.edges, output.state, losses)

    def _expect_same_losses(self, losses: Mapping[str, Tensor]) -> None:
        """Their means are taken over all steps, so each step has all of them."""
        if self._losses is None:
            self._losses = tuple(losses)
        if set(losses) != set(self._losses):
            raise ValueError(
                f"got the losses {sorted(losses)} at one step and {sorted(self._losses)} at "
                "another, expected the same names at all: return zeros where there is none"
            )

    def _penalty(self, name: str, value: Any, batch_size: int) -> Tensor:
        if not isinstance(value, Tensor) or value.shape not in ((), (batch_size,)):
            got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(
                f"got a loss {name!r} of shape {got}, expected one number or ({batch_size},)"
            )
        return value.expand(batch_size)


def _expect_same_form(old: Tensor, new: Tensor) -> Tensor:
    expect_tensor("a state", new, old.shape, old.dtype)
    return new


def _joined(outputs: Sequence[StepOutput]) -> StepOutput:
    """The outputs of all seeds along a new first axis."""
    first = outputs[0]
    edges = None
    if first.edges is not None:
        stacked = torch.stack([output.edges for output in outputs])
        edges = EdgeStates(lambda: stacked)
    return StepOutput(
        torch.stack([output.hidden for output in outputs]),
        edges,
        tree_map(lambda *parts: torch.stack(parts), *(output.state for output in outputs)),
        {name: torch.stack([o.losses[name] for o in outputs]) for name in first.losses},
    )
