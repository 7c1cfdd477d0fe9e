"""The features of a task by what nets that execute use them for.

Values are dense (`kinds.py`), with any leading axes: (..., n) for numbers of nodes and for masks,
(..., n, n) for those of edges and for pointers of nodes, (..., n, n, n) for pointers of edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from algorist.model.executing.pairwise import rank
from algorist.spec import SCALARS, Feature, Kind, Location, Stage

Values = Mapping[str, Tensor]
"""Dense values by the names of their features."""
Columns = dict[Location, list[Tensor]]
"""Numbers of nodes (..., n, F), edges (..., n, n, F) and graph (..., F)."""


def selects_nodes(feature: Feature) -> bool:
    """Whether a feature is a one-hot mask over nodes."""
    return feature.location == Location.NODE and feature.kind == Kind.MASK_ONE


class TaskFeatures:
    """The features that a net reads, by location and kind: scalars and bits, and what selects."""

    def __init__(self, features: Sequence[Feature]):
        nodes, edges = (
            [f for f in features if f.location == location]
            for location in (Location.NODE, Location.EDGE)
        )
        self.hints = [f for f in features if f.stage == Stage.HINT]
        self.scalars = {
            location: [f for f in features if f.location == location and f.kind in SCALARS]
            for location in Location
        }
        self.masks = [f.name for f in features if selects_nodes(f)]
        """One-hot masks."""
        self.hint_masks = [f.name for f in self.hints if selects_nodes(f)]
        self.pointers = [f.name for f in nodes if f.kind == Kind.POINTER]
        self.hint_pointers = _names(nodes, Kind.POINTER, Stage.HINT)
        self.chains = _names(nodes, Kind.POINTER, Stage.INPUT)
        """Pointers of inputs: each node points to the one before it."""
        self.edge_pointers = [f.name for f in edges if f.kind == Kind.POINTER]
        self.node_bits = [f for f in nodes if f.kind in (Kind.MASK, Kind.CATEGORICAL)]
        self.input_marks = _names(nodes, Kind.MASK, Stage.INPUT)
        """Masks of nodes that are not one-hot, as those of hints are."""
        self.hint_marks = _names(nodes, Kind.MASK, Stage.HINT)
        self.input_classes = [f.name for f in features if f.classes and f.stage == Stage.INPUT]
        self.hint_classes = [f.name for f in nodes if f.classes and f.stage == Stage.HINT]
        self.edge_masks = [f.name for f in edges if f.kind == Kind.MASK]
        self.input_edge_masks = _names(edges, Kind.MASK, Stage.INPUT)
        self.hint_edge_masks = _names(edges, Kind.MASK, Stage.HINT)
        """They mark the entries of tables that are filled."""
        self.has_points = {"x", "y"} <= {f.name for f in self.scalars[Location.NODE]}

    def scalars_by_location(self, values: Values) -> Columns:
        """All scalars as columns."""
        return {
            location: [values[f.name].unsqueeze(-1) for f in features]
            for location, features in self.scalars.items()
        }

    def hint_scalars(self, values: Values) -> list[Tensor]:
        """(..., n) each: the scalars of nodes that are hints."""
        return [values[f.name] for f in self.scalars[Location.NODE] if f.stage == Stage.HINT]

    def tables(self, values: Values) -> list[Tensor]:
        """(..., n, n) each: the scalars of edges that are hints, as in dynamic programming."""
        return [values[f.name] for f in self.scalars[Location.EDGE] if f.stage == Stage.HINT]

    def node_scalars(
        self, values: Values, *, hints: bool = True, ranks: bool = False
    ) -> Tensor | None:
        """(..., n, q): the scalars of nodes, with or without hints; with `ranks`, then the ranks
        of inputs."""
        features = [f for f in self.scalars[Location.NODE] if hints or f.stage == Stage.INPUT]
        columns = [values[f.name] for f in features]
        if ranks:
            ordered = self.with_continued_positions(values)
            columns += [rank(ordered[f.name]) for f in features if f.stage == Stage.INPUT]
        return torch.stack(columns, -1) if columns else None

    def edge_scalars(self, values: Values) -> Tensor | None:
        """(..., q, n, n): all scalars of edges."""
        columns = [values[f.name] for f in self.scalars[Location.EDGE]]
        return torch.stack(columns, -3) if columns else None

    def with_continued_positions(self, values: Values) -> Values:
        """The values with positions to compare: those of a second string, which an input marks,
        follow those of the first. The benchmark's start anew there, random ones do not."""
        marks = [values[name] for name in self.input_marks]
        return {**values, "pos": values["pos"] + torch.stack(marks).sum(0)} if marks else values

    def stack_masks(self, selectors: Values) -> Tensor:
        """(..., m, n): all one-hot masks."""
        return torch.stack([selectors[name] for name in self.masks], -2)

    def follow(
        self, masks: Tensor, selectors: Values, along: Sequence[str] | None = None
    ) -> Tensor:
        """(..., m', n): masks (..., m, n), then the nodes to which each pointer leads from theirs.

        `along` names the pointers: those of hints, if not given.
        """
        pointers = self.hint_pointers if along is None else along
        return torch.cat((masks, *(masks @ selectors[name] for name in pointers)), -2)


def _names(features: Sequence[Feature], kind: Kind, stage: Stage) -> list[str]:
    return [f.name for f in features if f.kind == kind and f.stage == stage]
