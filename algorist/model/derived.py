"""Derived features: numbers that follow exactly from what a net reads at a step.

A net could approximate these, but only up to the sizes that it was trained on; computed, they are
exact at every size. What masks and pointers select is in `selection.py`, what is compared in
`comparisons.py`, what is read of scalar hints in `orders.py`, along chains in `places.py`, and of
split problems in `splits.py`. Here they become what encoders read, and what new scalars are made
of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.model.comparisons import (
    compare_distances,
    compare_selected_edges,
    compare_tables,
    compare_with_graph,
    compare_with_pointing,
    compare_with_selected,
    first_neighbours,
    neighbours_in_order,
    shorter_ways,
)
from algorist.model.kinds import dense_shape, keep_masked, squash
from algorist.model.model_config import ModelConfig
from algorist.model.orders import (
    best_ways,
    compare_along_pointers,
    compare_with_choices,
    compare_with_limits,
    extremes,
    next_neighbours,
)
from algorist.model.places import compare_scalars_of_graph, nodes_between, places_of_selected
from algorist.model.selection import Columns, Selection, Values, selects_nodes, smaller
from algorist.model.splits import SPLITS, suggested_pointers
from algorist.spec import Feature, Kind, Location, Stage

_BIT_SPREAD = 0.5
"""The standard deviation of the first weights that read a bit."""
_FEW_BITS = 8
"""More bits that are read together are scaled down, so that all of them count like so many. Adam
changes all of their weights at once, so their effect in a step grows with their number."""

VISITED = "visited_"
"""What the nodes that one-hot hints have selected so far (..., n, m) are called among values."""
COMPARISONS, EQUAL = "comparisons_", "equal_"
"""The names of encoders of what has both directions already. No feature's name ends with an
underscore."""


def previous_hint(feature: Feature) -> str:
    """The hint that a feature goes on from: itself, or that which an output ends."""
    return feature.name if feature.stage == Stage.HINT else f"{feature.name}_h"


class Group(NamedTuple):
    """Derived numbers of one location that one encoder reads."""

    location: Location
    numbers: Tensor  # channels last
    spread: float  # the standard deviation of the encoder's first weights


def _group_bits(location: Location, numbers: Tensor) -> Group:
    """A group of bits."""
    count = numbers.shape[-1]
    scaled = numbers * (_FEW_BITS / count) ** 0.5 if count > _FEW_BITS else numbers
    return Group(location, scaled, _BIT_SPREAD)


class Known:
    """Scalars of all locations, some of them put together when they are asked for."""

    def __init__(self, parts: Sequence[Mapping[Location, list[Tensor]]], pos: Tensor):
        self._parts, self._pos = parts, pos

    def at(self, location: Location) -> Tensor:
        """(..., F): those of a location; edges also have those of both ends, all the graph's."""
        own, graph = self._own(location), self._own(Location.GRAPH)
        if location == Location.GRAPH:
            return graph
        if location == Location.NODE:
            return torch.cat((own, graph.unsqueeze(-2).expand(*own.shape[:-1], -1)), -1)
        node, pairs = self.at(Location.NODE), (*own.shape[:-1], -1)
        ends = (
            node.unsqueeze(-2).expand(pairs),
            self._own(Location.NODE).unsqueeze(-3).expand(pairs),
        )
        return torch.cat((own, *ends), -1)

    def _own(self, location: Location) -> Tensor:
        shape = (*self._pos.shape[:-1], *location.shape(self._pos.shape[-1]), 0)
        columns = [x for part in self._parts for x in part.get(location, ())]
        return torch.cat((self._pos.new_empty(shape), *columns), -1)


class DerivedFeatures:
    """What the encoders of one task read beside its features, as the net's settings say."""

    def __init__(self, features: Sequence[Feature], config: ModelConfig):
        """For a net that reads these features."""
        self._config, self._read = config, features
        self._hints = [f for f in features if f.stage == Stage.HINT]
        self._selecting = [f.name for f in self._hints if selects_nodes(f)]
        self._marks = [
            f.name for f in self._hints if f.location == Location.NODE and f.kind == Kind.MASK
        ]
        self.orders = config.comparisons and config.orders
        """Whether the net reads the order of scalar hints instead of how large they are."""
        self._places = config.comparisons and config.places
        self._splits = config.comparisons and config.splits
        self.selection = Selection(features, ranks=config.comparisons)
        # Ranks often make a sum by chance; places make those that they are needed for.
        self._addends = Selection(features, ranks=config.comparisons and not config.places)

    def __call__(self, values: Values, changed: Tensor | None) -> dict[str, Group]:
        """All groups by the name of their encoder, from what the net reads.

        `changed` (..., F + 1) says which hints the step before changed (`changed_hints`).
        """
        groups: dict[str, Group] = {}
        if changed is not None:
            groups["changes_"] = _group_bits(Location.GRAPH, changed)
        if VISITED in values and self._selecting:
            groups[VISITED] = _group_bits(Location.NODE, values[VISITED])
        if SPLITS in values:
            groups[SPLITS] = _group_bits(Location.EDGE, values[SPLITS].amax(-2))
        if self._config.dereference:
            groups |= self._selected(values)
        if self._config.comparisons:
            groups |= self._compared(self.selection.in_order(values))
        return groups

    def _selected(self, values: Values) -> dict[str, Group]:
        """What masks and pointers select, and what the net reads of how that compares."""
        spread = self._config.hidden**-0.5
        found = self.selection.select(values, values, magnitudes=not self.orders)
        groups = {
            f"selected_{location}_": Group(location, squash(torch.cat(columns, -1)), spread)
            for location, columns in found.items()
            if columns
        }
        groups |= {
            f"selected_bits_{location}_": _group_bits(location, torch.cat(columns, -1))
            for location, columns in self.selection.select_bits(values).items()
            if columns
        }
        if self._config.comparisons:
            groups |= self._compared_to_selected(self.selection.in_order(values), found)
        return groups

    def _compared_to_selected(self, values: Values, found: Columns) -> dict[str, Group]:
        bits: dict[str, tuple[Location, Tensor | None]] = {
            "selected_sides_": (Location.NODE, compare_with_selected(self.selection, values)),
            "selected_distances_": (Location.GRAPH, compare_distances(self.selection, values)),
            "selected_next_": (Location.NODE, neighbours_in_order(self.selection, values)),
            "selected_order_": (Location.EDGE, compare_selected_edges(self.selection, found)),
        }
        if self._splits:
            bits["selected_tables_"] = (Location.EDGE, compare_tables(self.selection, values))
        if self._places:
            bits["selected_between_"] = (Location.NODE, nodes_between(self.selection, values))
        if self.orders:
            along = compare_along_pointers(self.selection, values)
            bits["pointed_sides_"] = (Location.NODE, along)
            for location, columns in next_neighbours(self.selection, values).items():
                if columns:
                    bits[f"next_neighbours_{location}_"] = (location, torch.cat(columns, -1))
        for location, columns in first_neighbours(self.selection, values).items():
            if columns:
                bits[f"selected_first_{location}_"] = (location, torch.cat(columns, -1))
        return {
            name: _group_bits(location, numbers)
            for name, (location, numbers) in bits.items()
            if numbers is not None
        }

    def _compared(self, values: Values) -> dict[str, Group]:
        """Which of two nodes has the smaller scalar, in both directions, how many have, and all
        other comparisons."""
        scalars = self.selection.scalars
        less = torch.stack([smaller(values[f.name]) for f in scalars[Location.NODE]], -1)
        both = torch.cat((less, less.transpose(-3, -2)), -1)
        size = less.new_full((*less.shape[:-3], 1), 1 / less.shape[-2])
        groups = {
            COMPARISONS: Group(Location.EDGE, both, _BIT_SPREAD),
            "ranks_": Group(Location.NODE, less.mean(-3), 1.0),
            "size_": Group(Location.GRAPH, size, 1.0),
        }
        classes = [f.name for f in self._read if f.classes and f.stage == Stage.INPUT]
        bits = {
            "below_": (
                Location.NODE,
                compare_with_graph(self.selection, values, positions=not self.orders),
            ),
            "signs_": (Location.GRAPH, [values[f.name] > 0 for f in scalars[Location.GRAPH]]),
            EQUAL: (Location.EDGE, [values[name] @ values[name].mT for name in classes]),
            "shorter_": (Location.EDGE, shorter_ways(self.selection, values)),
            "least_": (Location.NODE, compare_with_pointing(self.selection, values)),
        }
        if self._places:
            order = compare_scalars_of_graph(self.selection, values)
            bits["graph_order_"] = (Location.GRAPH, order)
        if self.orders:
            groups |= self._ordered(values)
            bits["best_"] = (Location.EDGE, best_ways(self.selection, self._marks, values))
        return groups | {
            name: _group_bits(location, torch.stack(columns, -1).float())
            for name, (location, columns) in bits.items()
            if columns
        }

    def _ordered(self, values: Values) -> dict[str, Group]:
        """Where scalar hints are beside limits, and which are extreme."""
        limits = compare_with_limits(self.selection, values)
        groups = {f"limits_{location}_": _group_bits(location, x) for location, x in limits.items()}
        ends = extremes(self.selection, self._marks, values)
        return groups | {"extremes_": _group_bits(Location.NODE, ends)}

    def known(self, values: Values, choices: Values) -> Known:
        """The scalars that new ones may be made of: what is read and what is selected.

        `choices` are the decided hints of the next step: d[v] = d[p(v)] + w(p(v), v) reads the new
        predecessor.
        """
        parts = [self.selection.columns(values)]
        if self._config.dereference:
            following = {**values, **choices}
            parts.append(self._addends.select(values, values))
            parts.append(self._addends.select(following, values))
            parts.append({Location.EDGE: self.selection.select_by_edges(following, values)})
            least = self.selection.least_of_pointing(values)
            parts.append({Location.NODE: [x.unsqueeze(-1) for x in least]})
            if self._places:
                parts.append({Location.GRAPH: places_of_selected(self.selection, following)})
        return Known(parts, values["pos"])

    def choices_at(self, location: Location, values: Values, choices: Values) -> Tensor:
        """(..., F): what new scalars at a location are told of the choices for the next step:
        those there, and which of them change; of other locations whether any changes; and how
        scalars of nodes compare with those that are selected next. Classes of edges are told again
        beside each comparison in a table: whether c[i, j] changes depends on the entry that b[i, j]
        names."""
        leading, n = values["pos"].shape[:-1], values["pos"].shape[-1]
        shape = location.shape(n)
        columns = [values["pos"].new_empty(*leading, *shape, 0)]
        tables = self._table_comparisons(location, values)
        for f in self._hints:
            if f.kind in (Kind.SCALAR, Kind.GATED_SCALAR):
                continue
            new = keep_masked(f, values[f.name], choices[f.name])
            entries = (*leading, *f.location.shape(n), -1)
            changed = (values[f.name] != new).float().reshape(entries).amax(-1, keepdim=True)
            if f.location == location:
                columns += [changed] if f.kind == Kind.POINTER else [changed, new.reshape(entries)]
                if f.classes and tables is not None:
                    columns.append((new.clamp(min=0).unsqueeze(-1) * tables).flatten(-2))
            else:
                anywhere = changed.reshape(*leading, *(1,) * len(shape), -1).amax(-1, keepdim=True)
                columns.append(anywhere.expand(*leading, *shape, 1))
        if location == Location.NODE and self.orders:
            compared = compare_with_choices(self.selection, {**values, **choices}, values)
            columns += [] if compared is None else [compared]
        return torch.cat(columns, -1)

    def _table_comparisons(self, location: Location, values: Values) -> Tensor | None:
        """(..., n, n, 1, F): those of `compare_tables`, for edges where hints have classes."""
        of_edges = [f for f in self._hints if f.location == Location.EDGE and f.classes]
        if location != Location.EDGE or not of_edges or not self._splits:
            return None
        bits = compare_tables(self.selection, values)
        return None if bits is None else bits.unsqueeze(-2)

    def choice_masks(self, values: Values, choices: Values) -> Tensor:
        """(..., n, K): the nodes that masks select now and in the next step, where the present
        pointers of hints lead from these, and a 1 for each node."""
        one = torch.ones_like(values["pos"]).unsqueeze(-1)
        masks = [values[name] for name in self.selection.masks]
        masks += [choices[name] for name in self._selecting]
        if not masks:
            return one
        return torch.cat((self.selection.follow(torch.stack(masks, -2), values).mT, one), -1)

    @property
    def mask_width(self) -> int:
        """How many columns `choice_masks` has."""
        blank = self.blank(2)
        return self.choice_masks(blank, blank).shape[-1]

    def choice_width(self, location: Location) -> int:
        """How many columns `choices_at` has."""
        blank = self.blank(2)
        return self.choices_at(location, blank, blank).shape[-1]

    def blank(self, n: int) -> dict[str, Tensor]:
        """Zeros for a problem of `n` nodes."""
        return {f.name: torch.zeros(1, *dense_shape(f, n)) for f in self._read}

    @cached_property
    def groups(self) -> dict[str, Group]:
        """All groups for a problem of two nodes: their widths are those of all others."""
        config = self._config
        if not (config.comparisons or config.dereference or self.reads_changes):
            return {}
        blank = self.with_splits(self.blank(2))
        if not self.reads_changes:
            return self(blank, None)
        return self(self.with_visited(blank, None), torch.zeros(1, len(self._hints) + 1))

    def known_width(self, location: Location) -> int:
        """How many scalars `known` has at a location."""
        blank = self.blank(2)
        return self.known(blank, blank).at(location).shape[-1]

    def goes_on(self, feature: Feature) -> bool:
        """Whether a feature goes on from a hint that the net reads, of the same form."""
        if feature.stage == Stage.OUTPUT and not self._config.outputs_from_hints:
            return False
        name, form = previous_hint(feature), _form(feature)
        return any(f.name == name and _form(f) == form for f in self._hints)

    def with_splits(self, values: Values) -> dict[str, Tensor]:
        """The values with the pointers that splits and ways suggest to edges, if any."""
        if not (self._splits and self._config.edge_pointers):
            return {**values}
        found = suggested_pointers(self.selection, values)
        return {**values} if found is None else {**values, SPLITS: found}

    @property
    def splits_width(self) -> int:
        """How many pointers are suggested to each edge."""
        values = self.with_splits(self.blank(2))
        return values[SPLITS].shape[-1] if SPLITS in values else 0

    def with_visited(self, values: Values, before: Tensor | None) -> dict[str, Tensor]:
        """The values with the nodes that one-hot hints have selected so far, `before` and now."""
        masks = [values[name] for name in self._selecting]
        pos = values["pos"]
        now = torch.stack(masks, -1) if masks else pos.new_empty(*pos.shape, 0)
        return {**values, VISITED: now if before is None else torch.maximum(now, before)}

    @property
    def reads_changes(self) -> bool:
        """Whether the net reads which hints the step before changed, and what came earlier."""
        return self._config.hint_changes and bool(self._hints)


def _form(feature: Feature) -> tuple[Location, Kind, int]:
    return feature.location, feature.kind, feature.classes


def changed_hints(now: Values, before: Values | None, leading: int) -> Tensor:
    """(..., F + 1): 1 for each hint that the step before changed; last, 1 if there was none.

    Hints share so many leading axes. Some states come twice in a run and go on differently; with
    these bits, inputs and hints determine the next hints for all thirty algorithms.
    """
    old = now if before is None else before
    bits = [(x != old[name]).reshape(*x.shape[:leading], -1).any(-1) for name, x in now.items()]
    return torch.stack((*bits, torch.full_like(bits[0], before is None)), -1).float()
