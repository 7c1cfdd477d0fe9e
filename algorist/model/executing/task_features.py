"""The features of a task by what nets that execute use them for.

Values are one-hot (`feature_values.py`), with any leading axes: (..., n) for numbers of nodes and
for masks, (..., n, n) for those of edges and for pointers of nodes, (..., n, n, n) for pointers of
edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from algorist.spec import SCALARS, Feature, Kind, Location, Stage

Values = Mapping[str, Tensor]
"""One-hot values by the names of their features."""
Columns = dict[Location, list[Tensor]]
"""Numbers of nodes (..., n, F), edges (..., n, n, F) and graph (..., F)."""


def selects_nodes(feature: Feature) -> bool:
    """Whether a feature is a one-hot mask over nodes."""
    return feature.location == Location.NODE and feature.kind == Kind.MASK_ONE


class StepValues(dict[str, Tensor]):
    """The values of a step; functions marked by `once` are computed once for them."""

    def __init__(self, values: Values):
        super().__init__(values)
        self.results: dict[tuple[Any, ...], Any] = {}
        self._following: tuple[Values, StepValues] | None = None

    def with_next(self, next_hints: Values) -> StepValues:
        """The same with next hints in place of the present ones."""
        if self._following is None or self._following[0] is not next_hints:
            self._following = next_hints, StepValues({**self, **next_hints})
        return self._following[1]


Function = TypeVar("Function", bound=Callable[..., Any])


def once(function: Function) -> Function:
    """Keep the result of a function of features and values (and hashable arguments) with
    `StepValues`."""

    @wraps(function)
    def kept(features: TaskFeatures, values: Values, *arguments: Any, **options: Any) -> Any:
        if not isinstance(values, StepValues):
            return function(features, values, *arguments, **options)
        key = (function, *arguments, *options.items())
        if key not in values.results:
            values.results[key] = function(features, values, *arguments, **options)
        return values.results[key]

    return cast(Function, kept)


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

    @once
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

    @once
    def node_scalars(
        self, values: Values, *, hints: bool = True, ranks: bool = False
    ) -> Tensor | None:
        """(..., n, q): the scalars of nodes, with or without hints; with `ranks`, then the ranks
        of inputs."""
        inputs = [f.name for f in self.scalars[Location.NODE] if f.stage == Stage.INPUT]
        names = [f.name for f in self.scalars[Location.NODE]] if hints else inputs
        columns = [values[name].unsqueeze(-1) for name in names]
        if ranks and inputs:
            columns.append(self.ranks(self.with_continued_positions(values))[..., : len(inputs)])
        return torch.cat(columns, -1) if columns else None

    def column(self, name: str) -> int:
        """The column of a scalar of nodes among all of them."""
        return [f.name for f in self.scalars[Location.NODE]].index(name)

    @once
    def pairwise_less(self, values: Values) -> Tensor:
        """(..., i, j, q): 1 where a scalar of the node i is smaller than that of j."""
        x = torch.stack([values[f.name] for f in self.scalars[Location.NODE]], -1)
        return (x.unsqueeze(-2) < x.unsqueeze(-3)).float()

    @once
    def ranks(self, values: Values) -> Tensor:
        """(..., n, q): the share of nodes that have a smaller scalar."""
        return self.pairwise_less(values).mean(-3)

    @once
    def index_by_position(self, values: Values) -> Tensor:
        """(..., n, 1): how many nodes have a smaller position."""
        ranks = self.ranks(values)[..., self.column("pos")]
        return values["pos"].shape[-1] * ranks.unsqueeze(-1)

    @once
    def selected_indices(self, values: Values) -> Tensor:
        """(..., m, 1): the same of the nodes that masks select."""
        return self.stack_masks(values) @ self.index_by_position(values)

    @once
    def edge_scalars(self, values: Values) -> Tensor | None:
        """(..., q, n, n): all scalars of edges."""
        columns = [values[f.name] for f in self.scalars[Location.EDGE]]
        return torch.stack(columns, -3) if columns else None

    @once
    def with_continued_positions(self, values: Values) -> Values:
        """The values with positions to compare: those of a second string, which an input marks,
        follow those of the first. The benchmark's start anew there, random ones do not."""
        marks = [values[name] for name in self.input_marks]
        if not marks:
            return values
        return StepValues({**values, "pos": values["pos"] + torch.stack(marks).sum(0)})

    @once
    def stack_masks(self, selectors: Values) -> Tensor:
        """(..., m, n): all one-hot masks."""
        return torch.stack([selectors[name] for name in self.masks], -2)

    @once
    def stack_pointers(self, selectors: Values, *, hints: bool = False) -> Tensor:
        """(..., p, n, n): all pointers of nodes, or those of hints."""
        if not hints:
            return torch.stack([selectors[name] for name in self.pointers], -3)
        # Those of hints are last, since nets read inputs first, and no outputs.
        return self.stack_pointers(selectors)[..., -len(self.hint_pointers) :, :, :]

    @once
    def follow(self, selectors: Values, *, hints: bool = False) -> Tensor:
        """(..., m', n): all one-hot masks, then the nodes to which each pointer leads from theirs:
        all pointers, or those of hints."""
        return self.follow_from(self.stack_masks(selectors), selectors, hints=hints)

    def follow_from(self, masks: Tensor, selectors: Values, *, hints: bool = False) -> Tensor:
        """The same from other masks (..., m, n)."""
        if not (self.hint_pointers if hints else self.pointers):
            return masks
        pointers = self.stack_pointers(selectors, hints=hints)
        return torch.cat((masks, (masks.unsqueeze(-3) @ pointers).flatten(-3, -2)), -2)


def _names(features: Sequence[Feature], kind: Kind, stage: Stage) -> list[str]:
    return [f.name for f in features if f.kind == kind and f.stage == stage]
