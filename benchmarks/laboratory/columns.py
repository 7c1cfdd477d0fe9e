"""Columns: the raw numbers that describe nodes, edges and the graph, and how they are made.

Beside the features themselves there may be: edges seen from their other end (`pointer_reversal`),
which of two scalars is smaller and how many are (`comparisons`), and the scalars that pointers and
one-hot masks choose (`dereference`). The latter two are exact at every size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from algorist.spec import Feature, Kind, Location, Spec, Stage
from laboratory.transitions import Values

_FLAG = 0.5
"""The spread of the first weights that read a bit."""


@dataclass(frozen=True)
class Switches:
    """What a net of the laboratory is made of."""

    hidden: int = 32
    """The number of channels."""
    rounds: int = 2
    """Rounds of messages per step, with the same weights."""
    triplet_features: int = 8
    """The number of features of each triplet of nodes; 0 for none."""
    mean_channels: int = 32
    """How many channels of the messages are averaged, too; 0 for none."""
    pointer_reversal: bool = True
    """Edge features, pointers among them, also enter transposed."""
    comparisons: bool = True
    """Comparisons of the scalars of two nodes enter as edge features, ranks as node features."""
    dereference: bool = True
    """The scalars that pointers and one-hot masks choose enter as features."""
    scalar_gates: bool = True
    """Scalar hints are kept exactly unless a gate opens, and then combined from known scalars."""
    edge_pointers: bool = True
    """Pointers of edges are read and decoded as (n, n, n) tensors, not as means."""
    changes: bool = True
    """Which hints the step before changed enters as graph features: some states come twice."""
    noise: float = 0.02
    """The standard deviation of what is added to scalar hints in training, at the most."""
    scalar_weight: float = 0.2
    """How much errors of scalar hints count beside cross entropies."""


@dataclass
class Columns:
    """Numbers of nodes (B, n, F), edges (B, n, n, F) and the graph (B, F)."""

    values: dict[Location, list[Tensor]] = field(
        default_factory=lambda: {location: [] for location in Location}
    )
    spreads: dict[Location, list[float]] = field(
        default_factory=lambda: {location: [] for location in Location}
    )
    """The standard deviation of the first weights that read each column."""

    def add(self, location: Location, values: Tensor, spread: float) -> None:
        """Append columns, channels last."""
        self.values[location].append(values)
        self.spreads[location] += [spread] * values.shape[-1]

    def joined(self, location: Location, like: Tensor) -> Tensor:
        """All columns of a location side by side; `like` is (B, n)."""
        batch, n = like.shape
        shape = {Location.NODE: (n,), Location.EDGE: (n, n), Location.GRAPH: ()}[location]
        return torch.cat((like.new_zeros(batch, *shape, 0), *self.values[location]), -1)


def dense(feature: Feature, value: Tensor, n: int) -> Tensor:
    """A value of a pool as float32, pointers as one-hot vectors."""
    return one_hot(value.long(), n).float() if feature.kind == Kind.POINTER else value.float()


def is_edge_pointer(feature: Feature) -> bool:
    """Whether each edge points to a node: (n, n, n) when dense."""
    return feature.location == Location.EDGE and feature.kind == Kind.POINTER


def squash(x: Tensor) -> Tensor:
    """The identity up to 1, from there on the logarithm: counts grow with the problem."""
    return torch.where(x.abs() <= 1, x, x.sign() * (1 + x.abs().clamp(min=1).log()))


class Selection:
    """The scalars of a task, and what choices among nodes select from them."""

    def __init__(self, spec: Spec, switches: Switches):
        self._comparisons = switches.comparisons
        read = (*spec.inputs, *spec.hints)
        self.scalars = {
            location: [f for f in read if f.location == location and f.kind == Kind.SCALAR]
            for location in Location
        }
        of_nodes = [f for f in read if f.location == Location.NODE]
        self._masks = [f.name for f in of_nodes if f.kind == Kind.MASK_ONE]
        self._pointers = [f.name for f in of_nodes if f.kind == Kind.POINTER]

    def select(self, choices: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> Columns:
        """The scalars at the nodes that dense `choices` name, as columns without spreads."""
        found, of_nodes, of_edges = Columns(), self._of_nodes(values), self._of_edges(values)
        masks = [choices[name] for name in self._masks if name in choices]
        if masks:
            mask = torch.stack(masks, 1)  # (B, m, n)
            if of_nodes is not None:
                found.add(Location.GRAPH, (mask @ of_nodes).flatten(1), 0.0)
            if of_edges is not None:
                for edges in (of_edges, of_edges.mT):  # to the chosen node, and from it
                    rows = (mask.unsqueeze(1) @ edges).flatten(1, 2).mT
                    found.add(Location.NODE, rows, 0.0)
        for pointer in (choices[name] for name in self._pointers if name in choices):
            if of_nodes is not None:
                found.add(Location.NODE, pointer @ of_nodes, 0.0)
            if of_edges is not None:
                _select_edges(found, pointer.unsqueeze(1), of_edges)
        return found

    def _of_nodes(self, values: Mapping[str, Tensor]) -> Tensor | None:
        """(B, n, q): the scalars of nodes, and the ranks of those that are inputs."""
        scalars = self.scalars[Location.NODE]
        columns = [values[f.name] for f in scalars]
        if self._comparisons:
            columns += [rank(values[f.name]) for f in scalars if f.stage == Stage.INPUT]
        return torch.stack(columns, -1) if columns else None

    def _of_edges(self, values: Mapping[str, Tensor]) -> Tensor | None:
        """(B, q, n, n)."""
        columns = [values[f.name] for f in self.scalars[Location.EDGE]]
        return torch.stack(columns, 1) if columns else None


def _select_edges(found: Columns, pointer: Tensor, edges: Tensor) -> None:
    """Add S[P(i), j], S[i, P(j)], S[P(i), P(j)] and, for nodes, S[P(j), j] and S[j, P(j)]."""
    from_pointee, to_pointee = pointer @ edges, edges @ pointer.mT
    both = from_pointee @ pointer.mT
    found.add(Location.EDGE, torch.cat((from_pointee, to_pointee, both), 1).movedim(1, -1), 0.0)
    found.add(Location.NODE, (edges * pointer.mT).sum(2).mT, 0.0)
    found.add(Location.NODE, (edges * pointer).sum(3).mT, 0.0)


def rank(x: Tensor) -> Tensor:
    """The share of nodes with a smaller value: (B, n)."""
    return smaller(x).mean(1)


def smaller(x: Tensor) -> Tensor:
    """(B, n, n): 1 where node i has a smaller value than node j."""
    return (x.unsqueeze(2) < x.unsqueeze(1)).float()


class Encoding:
    """How the features of a task become columns."""

    def __init__(self, spec: Spec, switches: Switches):
        self.features = (*spec.inputs, *spec.hints)
        self.selection, self._switches = Selection(spec, switches), switches

    def dense(self, inputs: Values, hints: Values) -> Values:
        """All features as float32."""
        n = inputs["pos"].shape[1]
        given = {**inputs, **hints}
        return {f.name: dense(f, given[f.name], n) for f in self.features}

    def columns(self, values: Values, changes: Tensor) -> tuple[Columns, Columns]:
        """All columns of dense values, and those of them that are scalars, as they are."""
        switches, columns, scalars = self._switches, Columns(), Columns()
        if switches.changes:
            columns.add(Location.GRAPH, changes, _FLAG)
        for feature in self.features:
            self._add(feature, values[feature.name], columns, scalars)
        if switches.dereference:
            selected = self.selection.select(values, values)
            for location, found in selected.values.items():
                for column in found:
                    scalars.add(location, column, 0.0)
                    columns.add(location, squash(column), switches.hidden**-0.5)
            if switches.comparisons:
                for column in selected.values[Location.EDGE]:
                    from_pointee, to_pointee, _ = column.chunk(3, -1)
                    columns.add(Location.EDGE, (from_pointee < to_pointee).float(), _FLAG)
        if switches.pointer_reversal:
            for column in list(columns.values[Location.EDGE]):
                columns.values[Location.EDGE].append(column.transpose(1, 2))
            columns.spreads[Location.EDGE] *= 2
        if switches.comparisons:
            self._add_comparisons(values, columns)
        return columns, scalars

    def _add(self, feature: Feature, value: Tensor, columns: Columns, scalars: Columns) -> None:
        location = Location.EDGE if feature.kind == Kind.POINTER else feature.location
        if is_edge_pointer(feature):
            both = torch.stack((value.mean(-3), value.mean(-2)), -1)
            columns.add(Location.EDGE, both, 1.0)
            return
        value = value if feature.classes else value.unsqueeze(-1)
        if feature.kind != Kind.SCALAR:
            columns.add(location, value, 1 / math.sqrt(feature.classes or 1))
            return
        spread = self._switches.hidden**-0.5 if feature.stage == Stage.HINT else 1.0
        scalars.add(location, value, 0.0)
        columns.add(location, squash(value), spread)

    def _add_comparisons(self, values: Values, columns: Columns) -> None:
        of_graph = [values[f.name] for f in self.selection.scalars[Location.GRAPH]]
        for feature in self.selection.scalars[Location.NODE]:
            x = values[feature.name]
            less = smaller(x)
            columns.add(Location.EDGE, torch.stack((less, less.mT), -1), _FLAG)
            columns.add(Location.NODE, rank(x).unsqueeze(-1), 1.0)
            for other in of_graph:
                columns.add(Location.NODE, (x < other[:, None]).float().unsqueeze(-1), _FLAG)
        batch, n = values["pos"].shape
        columns.add(Location.GRAPH, values["pos"].new_full((batch, 1), 1 / n), 1.0)
