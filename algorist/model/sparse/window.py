"""Windows of sparse problems: all graphs of a batch as one, with its edges alone.

Edges lead from senders to receivers and are sorted by receivers. A node chooses what it points to
among the edges that it receives: a pointer is stored as the number of that edge. The last graph of
each replica is padding, since replicas differ in their numbers of edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from torch import Tensor

from algorist.model.model_config import ModelConfig
from algorist.model.window import Window
from algorist.sparse_batch import SparseBatch
from algorist.spec import Feature, Kind, Location

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class SparseWindow:
    """S replicas, G graphs, N nodes and E edges of all of them, K transitions."""

    inputs: Mapping[str, Tensor]
    """(S, N, ...), (S, E, ...) or (S, G, ...)."""
    hints: Mapping[str, Tensor]
    """(K + 1, S, ...), or of the first step alone."""
    outputs: Mapping[str, Tensor]
    follows: Tensor
    """(K, S, G): 1 where step k + 1 belongs to the graph's trajectory, else 0."""
    end_steps: Tensor
    """(S, G): the transition after which outputs are decoded."""
    end_weights: Tensor
    """(S, G): 1, or 0 where they are not."""
    senders: Tensor  # (S, E)
    receivers: Tensor  # (S, E)
    reverse: Tensor
    """(S, E): the number of the edge back."""
    graph_of: Tensor
    """(S, N): each node's graph."""
    forced: Tensor | None = None
    """(K, S, G): where teacher forcing gives the net the true hints."""
    shares: ClassVar[None] = None
    """It is never some lanes of another."""

    @property
    def steps(self) -> int:
        """The number of transitions, K."""
        return len(self.follows)

    def with_forced(self, forced: np.ndarray) -> SparseWindow:
        """This window with teacher forcing where (K, S, G) `forced` says so."""
        return replace(self, forced=torch.from_numpy(forced))

    def piece(self, start: int, stop: int) -> SparseWindow:
        """The steps from `start` on; where that is not 0, they continue others."""
        here = (self.end_steps >= start) & (self.end_steps < stop)
        return replace(
            self,
            follows=self.follows[start:stop],
            end_steps=torch.where(here, self.end_steps - start, 0),
            end_weights=self.end_weights * here,
            forced=None if self.forced is None else self.forced[start:stop],
        )

    def to(self, device: torch.device | str) -> SparseWindow:
        """This window on another device."""
        return self.map(lambda tensor: tensor.to(device))

    def map(self, function: Callable[[Tensor], Tensor]) -> SparseWindow:
        """This window with a function applied to each of its tensors, always in the same order."""

        def applied(value: Any) -> Any:
            if isinstance(value, Tensor):
                return function(value)
            if isinstance(value, Mapping):
                return {name: function(x) for name, x in value.items()}
            return value

        return replace(self, **{f.name: applied(getattr(self, f.name)) for f in fields(self)})


AnyWindow: TypeAlias = Window | SparseWindow


def folds_steps(model: ModelConfig, teacher_forcing: float) -> bool:
    """Whether the steps of training are independent: no state is kept, and hints are true ones."""
    reads_own_hints = model.hints == "encoded_decoded" and teacher_forcing < 1
    return not model.carry_state and not reads_own_hints


def sparse_window(batches: Sequence[SparseBatch], *, fold: bool = False) -> SparseWindow:
    """A batch for each replica as one window. With `fold` each step is a graph of its own.

    That suits nets whose steps are independent: they read the true hints and keep no state.
    """
    unions = [_union(batch) for batch in batches]
    if fold:
        unions = [_folded(batch, union) for batch, union in zip(batches, unions, strict=True)]
    return _stacked(batches[0], unions)


@dataclass(frozen=True)
class _Union:
    """The arrays of one replica. Those of a place are by its features' names."""

    values: Mapping[str, Arrays]
    """Of inputs, hints (time first) and outputs."""
    follows: np.ndarray  # (K, G)
    end_steps: np.ndarray  # (G,)
    end_weights: np.ndarray  # (G,)
    receivers: np.ndarray
    senders: np.ndarray
    reverse: np.ndarray
    graph_of: np.ndarray


def _union(batch: SparseBatch) -> _Union:
    graphs, lengths = batch.graphs, batch.lengths
    steps = max(int(lengths.max()) - 1, 1)
    values = {
        stage: {f.name: _stored(f, batch, stage) for f in features}
        for stage, features in (
            ("inputs", batch.spec.inputs),
            ("hints", batch.spec.hints),
            ("outputs", batch.spec.outputs),
        )
    }
    return _Union(
        values,
        (np.arange(1, steps + 1)[:, None] < lengths).astype(np.float32),
        np.maximum(lengths - 2, 0),
        np.ones(graphs.count, np.float32),
        graphs.rows,
        graphs.columns,
        graphs.reverse,
        np.arange(graphs.nodes) // graphs.n,
    )


def _stored(feature: Feature, batch: SparseBatch, stage: str) -> np.ndarray:
    """A feature as windows have it: edges by receiver, pointers as numbers of edges."""
    value: np.ndarray = getattr(batch, stage)[feature.name]
    if feature.location == Location.EDGE:
        value = value[batch.graphs.reverse]
    if feature.kind == Kind.POINTER:
        nodes = np.arange(batch.graphs.nodes)
        if stage == "hints":  # what follows the end of a trajectory is of no account
            is_over = np.arange(len(value))[:, None] >= batch.lengths[nodes // batch.graphs.n]
            value = np.where(is_over, nodes, value)
        return batch.graphs.places(nodes, value).astype(np.int32)
    return value.astype(np.float32) if feature.kind == Kind.SCALAR else value.astype(np.int8)


def _folded(batch: SparseBatch, union: _Union) -> _Union:
    """Each step of each trajectory as a graph whose only step it is."""
    n, counts = batch.graphs.n, np.maximum(batch.lengths - 1, 1)
    graph = np.repeat(np.arange(len(batch)), counts)
    step = np.arange(len(graph)) - np.repeat(np.cumsum(counts) - counts, counts)
    firsts = batch.graphs.starts[:: batch.graphs.n]  # where the edges of each graph begin
    sizes = np.diff(firsts)[graph]
    new_firsts = np.cumsum(sizes) - sizes
    moved = np.repeat(new_firsts - firsts[graph], sizes)  # from old numbers of edges to new ones
    edge = np.arange(sizes.sum()) - moved
    node = (graph[:, None] * n + np.arange(n)).ravel()
    shift = np.repeat((np.arange(len(graph)) - graph) * n, sizes)
    at = {Location.NODE: node, Location.EDGE: edge, Location.GRAPH: graph}
    edge_shift = np.repeat(new_firsts - firsts[graph], n)

    def taken(feature: Feature, value: np.ndarray, steps: np.ndarray | None = None) -> np.ndarray:
        where = at[feature.location]
        if steps is not None:
            per = {Location.NODE: np.repeat(steps, n), Location.EDGE: np.repeat(steps, sizes)}
            value = value[per.get(feature.location, steps), where]
        else:
            value = value[where]
        return value + edge_shift if feature.kind == Kind.POINTER else value

    spec, last = batch.spec, len(next(iter(union.values["hints"].values()))) - 1
    both = (step, np.minimum(step + 1, last))
    return _Union(
        {
            "inputs": {f.name: taken(f, union.values["inputs"][f.name]) for f in spec.inputs},
            "hints": {
                f.name: np.stack([taken(f, union.values["hints"][f.name], k) for k in both])
                for f in spec.hints
            },
            "outputs": {f.name: taken(f, union.values["outputs"][f.name]) for f in spec.outputs},
        },
        (step + 1 < batch.lengths[graph]).astype(np.float32)[None],
        np.zeros(len(graph), np.int64),
        (step == counts[graph] - 1).astype(np.float32),
        union.receivers[edge] + shift,
        union.senders[edge] + shift,
        union.reverse[edge] + moved,
        np.repeat(np.arange(len(graph)), n),
    )


def _stacked(batch: SparseBatch, unions: Sequence[_Union]) -> SparseWindow:
    """All replicas, each padded to equal size by a last graph of nodes that hear themselves."""
    spec, steps = batch.spec, max(len(u.follows) for u in unions)
    sizes = {
        Location.GRAPH: max(u.follows.shape[1] for u in unions) + 1,
        Location.NODE: max(len(u.graph_of) for u in unions) + 1,
    }
    # Every node of the padding has an edge to itself.
    missing = [sizes[Location.NODE] - len(u.graph_of) for u in unions]
    sizes[Location.EDGE] = max(len(u.senders) + m for u, m in zip(unions, missing, strict=True))

    def padded(values: Sequence[np.ndarray], size: int, axis: int = 0, fill: int = 0) -> Tensor:
        shape = list(values[0].shape)
        shape[axis] = size
        if axis:
            shape[0] = max(len(x) for x in values)
        stacked = np.full((*shape[:axis], len(values), *shape[axis:]), fill, values[0].dtype)
        for s, x in enumerate(values):
            if axis:
                stacked[: len(x), s, : x.shape[1]] = x
            else:
                stacked[s, : len(x)] = x
        return torch.from_numpy(stacked)

    def stage(name: str, features: tuple[Feature, ...], axis: int = 0) -> dict[str, Tensor]:
        last_edge = sizes[Location.EDGE] - 1  # which the padding may point along
        return {
            f.name: padded(
                [u.values[name][f.name] for u in unions],
                sizes[f.location],
                axis,
                last_edge if f.kind == Kind.POINTER else 0,
            )
            for f in features
        }

    ends = [_padded_edges(u, sizes) for u in unions]
    senders, receivers, reverse = (torch.from_numpy(np.stack(x)) for x in zip(*ends, strict=True))
    graph_of = np.full((len(unions), sizes[Location.NODE]), sizes[Location.GRAPH] - 1)
    for own, u in zip(graph_of, unions, strict=True):
        own[: len(u.graph_of)] = u.graph_of
    follows = padded([u.follows for u in unions], sizes[Location.GRAPH], 1)
    assert len(follows) == steps
    return SparseWindow(
        stage("inputs", spec.inputs),
        stage("hints", spec.hints, 1),
        stage("outputs", spec.outputs),
        follows,
        padded([u.end_steps for u in unions], sizes[Location.GRAPH]),
        padded([u.end_weights for u in unions], sizes[Location.GRAPH]),
        senders,
        receivers,
        reverse,
        torch.from_numpy(graph_of),
    )


def _padded_edges(union: _Union, sizes: Mapping[Location, int]) -> tuple[np.ndarray, ...]:
    """Senders, receivers and edges back, with those of the padding appended: to themselves."""
    here, nodes = len(union.senders), sizes[Location.NODE]
    own = np.arange(len(union.graph_of), nodes)
    rest = sizes[Location.EDGE] - here - len(own)
    loops = np.concatenate((own, np.full(rest, nodes - 1)))
    back = np.arange(here, sizes[Location.EDGE])
    return (
        np.concatenate((union.senders, loops)),
        np.concatenate((union.receivers, loops)),
        np.concatenate((union.reverse, back)),
    )
