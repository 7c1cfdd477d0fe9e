"""Derived features: numbers that follow exactly from what a net reads at a step.

Comparisons of scalars are bits on edges, ranks are numbers of nodes. Pointers and one-hot masks
select scalars, as an index does in a program. A net could approximate these, but only up to the
sizes that it was trained on; computed, they are exact at every size.

Values are dense (`kinds.py`), with any leading axes: (..., n) for numbers of nodes, (..., n, n)
for those of edges and for pointers of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.model.kinds import dense_shape, squash
from algorist.model.model_config import ModelConfig
from algorist.spec import Feature, Kind, Location, Stage

_BIT_SPREAD = 0.5
"""The standard deviation of the first weights that read a bit."""
_SCALARS = (Kind.SCALAR, Kind.GATED_SCALAR)

COMPARISONS = "comparisons_"
"""The name of the encoder of comparisons. No feature's name ends with an underscore."""

Columns = dict[Location, list[Tensor]]
"""Numbers of nodes (..., n, F), edges (..., n, n, F) and graph (..., F)."""


class Group(NamedTuple):
    """Derived numbers of one location that one encoder reads."""

    location: Location
    numbers: Tensor  # channels last
    spread: float  # the standard deviation of the encoder's first weights


class Selection:
    """The scalars of a task, and those that choices among nodes select."""

    def __init__(self, features: Sequence[Feature], *, ranks: bool):
        """With `ranks`, those of scalar inputs are selected as well."""
        self._ranks = ranks
        self._scalars = {
            location: [f for f in features if f.location == location and f.kind in _SCALARS]
            for location in Location
        }
        of_nodes = [f for f in features if f.location == Location.NODE]
        self._masks = [f.name for f in of_nodes if f.kind == Kind.MASK_ONE]
        self._pointers = [f.name for f in of_nodes if f.kind == Kind.POINTER]

    def scalars(self, location: Location) -> list[Feature]:
        """The scalars of a location."""
        return self._scalars[location]

    def columns(self, values: Mapping[str, Tensor]) -> Columns:
        """The scalars themselves, by location."""
        return {
            location: [values[f.name].unsqueeze(-1) for f in features]
            for location, features in self._scalars.items()
        }

    def select(self, choices: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> Columns:
        """The scalars of the nodes that `choices` name: masks (..., n), pointers (..., n, n)."""
        found: Columns = {location: [] for location in Location}
        of_nodes, of_edges = self._of_nodes(values), self._of_edges(values)
        masks = [choices[name] for name in self._masks]
        if masks:
            mask = torch.stack(masks, -2)  # (..., m, n)
            if of_nodes is not None:
                found[Location.GRAPH].append((mask @ of_nodes).flatten(-2))
            if of_edges is not None:
                for edges in (of_edges, of_edges.mT):  # from the chosen node, and to it
                    rows = mask.unsqueeze(-3) @ edges  # (..., q, m, n)
                    found[Location.NODE].append(rows.flatten(-3, -2).mT)
        for pointer in (choices[name] for name in self._pointers):
            if of_nodes is not None:
                found[Location.NODE].append(pointer @ of_nodes)
            if of_edges is not None:
                _select_edges(found, pointer.unsqueeze(-3), of_edges)
        return found

    def pairs(self, values: Mapping[str, Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
        """Each scalar of the nodes, (..., n), with that of the node that each mask selects."""
        for f in self._scalars[Location.NODE]:
            x = values[f.name]
            for name in self._masks:
                yield (x * values[name]).sum(-1, keepdim=True), x

    def _of_nodes(self, values: Mapping[str, Tensor]) -> Tensor | None:
        """(..., n, q)."""
        features = self._scalars[Location.NODE]
        columns = [values[f.name] for f in features]
        if self._ranks:
            columns += [rank(values[f.name]) for f in features if f.stage == Stage.INPUT]
        return torch.stack(columns, -1) if columns else None

    def _of_edges(self, values: Mapping[str, Tensor]) -> Tensor | None:
        """(..., q, n, n)."""
        columns = [values[f.name] for f in self._scalars[Location.EDGE]]
        return torch.stack(columns, -3) if columns else None


def _select_edges(found: Columns, pointer: Tensor, edges: Tensor) -> None:
    """Add S[P(i), j], S[i, P(j)], S[P(i), P(j)] and, for nodes, S[P(j), j] and S[j, P(j)]."""
    from_pointee, to_pointee = pointer @ edges, edges @ pointer.mT
    both = from_pointee @ pointer.mT
    pairs = torch.cat((from_pointee, to_pointee, both), -3).movedim(-3, -1)
    found[Location.EDGE].append(pairs)
    found[Location.NODE] += [(edges * pointer.mT).sum(-2).mT, (edges * pointer).sum(-1).mT]


def smaller(x: Tensor) -> Tensor:
    """(..., n, n): 1 where node i has a smaller number than node j."""
    return (x.unsqueeze(-1) < x.unsqueeze(-2)).float()


def rank(x: Tensor) -> Tensor:
    """(..., n): the share of nodes that have a smaller number."""
    return smaller(x).mean(-2)


class DerivedFeatures:
    """What the encoders of one task read beside its features, as the net's settings say."""

    def __init__(self, features: Sequence[Feature], config: ModelConfig):
        """For a net that reads these features."""
        self._config, self._read = config, features
        self._hints = [f for f in features if f.stage == Stage.HINT]
        self.selection = Selection(features, ranks=config.comparisons)

    def __call__(self, values: Mapping[str, Tensor], changed: Tensor | None) -> dict[str, Group]:
        """All groups by the name of their encoder, from what the net reads.

        `changed` (..., F + 1) says which hints the step before changed (`changed_hints`).
        """
        groups: dict[str, Group] = {}
        if changed is not None:
            groups["changes_"] = Group(Location.GRAPH, changed, _BIT_SPREAD)
        if self._config.dereference:
            groups |= self._selected(values)
        if self._config.comparisons:
            groups |= self._compared(values)
        return groups

    def _selected(self, values: Mapping[str, Tensor]) -> dict[str, Group]:
        """Scalars that are selected, and which of two selected ones on edges is smaller."""
        found, spread = self.selection.select(values, values), self._config.hidden**-0.5
        groups = {
            f"selected_{location}_": Group(location, squash(torch.cat(columns, -1)), spread)
            for location, columns in found.items()
            if columns
        }
        if self._config.comparisons:
            groups |= self._compared_to_selected(values, found)
        return groups

    def _compared_to_selected(
        self, values: Mapping[str, Tensor], found: Columns
    ) -> dict[str, Group]:
        """Whether a node's scalar is below or above that of the node that a mask selects, and which
        of two scalars is smaller that pointers select on edges."""
        groups = {}
        sides = []
        for limit, x in self.selection.pairs(values):
            sides += [x < limit, limit < x]
        if sides:
            bits = torch.stack(sides, -1).float()
            groups["selected_sides_"] = Group(Location.NODE, bits, _BIT_SPREAD)
        ends = [pairs.chunk(3, -1)[:2] for pairs in found[Location.EDGE]]
        if ends:
            less = torch.cat([(first < second).float() for first, second in ends], -1)
            groups["selected_order_"] = Group(Location.EDGE, less, _BIT_SPREAD)
        return groups

    def _compared(self, values: Mapping[str, Tensor]) -> dict[str, Group]:
        """Which of two nodes has the smaller scalar, in both directions, and how many have."""
        scalars = [values[f.name] for f in self.selection.scalars(Location.NODE)]
        of_graph = [values[f.name] for f in self.selection.scalars(Location.GRAPH)]
        less = torch.stack([smaller(x) for x in scalars], -1)  # (..., n, n, q): pos is a scalar
        n = less.shape[-2]
        below = [(x < limit.unsqueeze(-1)).float() for x in scalars for limit in of_graph]
        groups = {
            COMPARISONS: Group(
                Location.EDGE, torch.cat((less, less.transpose(-3, -2)), -1), _BIT_SPREAD
            ),
            "ranks_": Group(Location.NODE, less.mean(-3), 1.0),
            "size_": Group(Location.GRAPH, less.new_full((*less.shape[:-3], 1), 1 / n), 1.0),
        }
        if below:
            groups["below_"] = Group(Location.NODE, torch.stack(below, -1), _BIT_SPREAD)
        return groups

    def known(
        self, values: Mapping[str, Tensor], choices: Mapping[str, Tensor]
    ) -> dict[Location, Tensor]:
        """The scalars that new ones may be combined from: what is read and what is selected.

        `choices` are the decided hints of the next step: d[v] = d[p(v)] + w(p(v), v) reads the new
        predecessor. Edges also read the scalars of both ends, all read those of the graph.
        """
        parts = [self.selection.columns(values)]
        if self._config.dereference:
            parts.append(self.selection.select(values, values))
            parts.append(self.selection.select({**values, **choices}, values))
        pos = values["pos"]
        leading, n = pos.shape[:-1], pos.shape[-1]
        node, edge, graph = (
            torch.cat(
                (
                    pos.new_empty(*leading, *at.shape(n), 0),
                    *(x for part in parts for x in part[at]),
                ),
                -1,
            )
            for at in Location
        )
        at_nodes = graph.unsqueeze(-2).expand(*node.shape[:-1], -1)
        pairs = (*edge.shape[:-1], -1)
        ends = node.unsqueeze(-2).expand(pairs), node.unsqueeze(-3).expand(pairs)
        return {
            Location.NODE: torch.cat((node, at_nodes), -1),
            Location.EDGE: torch.cat((edge, *ends, at_nodes.unsqueeze(-3).expand(pairs)), -1),
            Location.GRAPH: graph,
        }

    def blank(self, n: int) -> dict[str, Tensor]:
        """Zeros for a problem of `n` nodes."""
        return {f.name: torch.zeros(1, *dense_shape(f, n)) for f in self._read}

    @cached_property
    def groups(self) -> dict[str, Group]:
        """All groups for a problem of two nodes: their widths are those of all others."""
        config = self._config
        if not (config.comparisons or config.dereference or self.reads_changes):
            return {}
        bits = torch.zeros(1, len(self._hints) + 1) if self.reads_changes else None
        return self(self.blank(2), bits)

    def known_width(self, location: Location) -> int:
        """How many scalars `known` has at a location."""
        blank = self.blank(2)
        return self.known(blank, blank)[location].shape[-1]

    @property
    def reads_changes(self) -> bool:
        """Whether the net reads which hints the step before changed."""
        return self._config.hint_changes and bool(self._hints)


def changed_hints(
    now: Mapping[str, Tensor], before: Mapping[str, Tensor] | None, leading: int
) -> Tensor:
    """(..., F + 1): 1 for each hint that the step before changed; last, 1 if there was none.

    Hints share so many leading axes. Some states come twice in a run and go on differently; with
    these bits, inputs and hints determine the next hints for all thirty algorithms.
    """
    old = now if before is None else before
    bits = [(x != old[name]).reshape(*x.shape[:leading], -1).any(-1) for name, x in now.items()]
    return torch.stack((*bits, torch.full_like(bits[0], before is None)), -1).float()
