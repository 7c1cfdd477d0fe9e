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
    compare_paths,
    compare_selected_edges,
    compare_tables,
    compare_with_graph,
    compare_with_pointing_nodes,
    compare_with_selected,
    find_first_neighbours,
    find_next_in_order,
)
from algorist.model.kinds import dense_shape, keep_masked, squash
from algorist.model.model_config import ModelConfig
from algorist.model.orders import (
    compare_along_pointers,
    compare_with_limits,
    compare_with_next_selected,
    find_best_edges,
    find_extremes,
    find_next_neighbours,
)
from algorist.model.places import compare_graph_scalars, find_middle_nodes, select_places
from algorist.model.selection import Columns, TaskFeatures, Values, pairwise_less, selects_nodes
from algorist.model.splits import SPLITS, suggest_pointers
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
    """The hint whose present value a feature continues: itself, or an output's hint `<name>_h`."""
    return feature.name if feature.stage == Stage.HINT else f"{feature.name}_h"


class Group(NamedTuple):
    """Derived numbers of one location that one encoder reads."""

    location: Location
    numbers: Tensor  # channels last
    spread: float  # the standard deviation of the encoder's first weights


def _bit_group(location: Location, numbers: Tensor) -> Group:
    """A group of bits."""
    count = numbers.shape[-1]
    scaled = numbers * (_FEW_BITS / count) ** 0.5 if count > _FEW_BITS else numbers
    return Group(location, scaled, _BIT_SPREAD)


class ScalarTerms:
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
        self._one_hot_hints = [f.name for f in self._hints if selects_nodes(f)]
        self._hint_marks = [
            f.name for f in self._hints if f.location == Location.NODE and f.kind == Kind.MASK
        ]
        self.orders = config.comparisons and config.orders
        """Whether the net reads the order of scalar hints instead of how large they are."""
        self._places = config.comparisons and config.places
        self._splits = config.comparisons and config.splits
        self.features = TaskFeatures(features, ranks=config.comparisons)
        # Ranks often make a sum by chance; places make those that they are needed for.
        self._addends = TaskFeatures(features, ranks=config.comparisons and not config.places)

    def __call__(self, values: Values, changed: Tensor | None) -> dict[str, Group]:
        """All groups by the name of their encoder, from what the net reads.

        `changed` (..., F + 1) says which hints the step before changed (`changed_hints`).
        """
        groups: dict[str, Group] = {}
        if changed is not None:
            groups["changes_"] = _bit_group(Location.GRAPH, changed)
        if VISITED in values and self._one_hot_hints:
            groups[VISITED] = _bit_group(Location.NODE, values[VISITED])
        if SPLITS in values:
            groups[SPLITS] = _bit_group(Location.EDGE, values[SPLITS].amax(-2))
        if self._config.dereference:
            groups |= self._selected(values)
        if self._config.comparisons:
            groups |= self._compared(self.features.with_continued_positions(values))
        return groups

    def _selected(self, values: Values) -> dict[str, Group]:
        """What masks and pointers select, and what the net reads of how that compares."""
        spread = self._config.hidden**-0.5
        found = self.features.select(values, values, magnitudes=not self.orders)
        groups = {
            f"selected_{location}_": Group(location, squash(torch.cat(columns, -1)), spread)
            for location, columns in found.items()
            if columns
        }
        groups |= {
            f"selected_bits_{location}_": _bit_group(location, torch.cat(columns, -1))
            for location, columns in self.features.select_bits(values).items()
            if columns
        }
        if self._config.comparisons:
            groups |= self._compared_to_selected(
                self.features.with_continued_positions(values), found
            )
        return groups

    def _compared_to_selected(self, values: Values, found: Columns) -> dict[str, Group]:
        bits: dict[str, tuple[Location, Tensor | None]] = {
            "selected_sides_": (Location.NODE, compare_with_selected(self.features, values)),
            "selected_distances_": (Location.GRAPH, compare_distances(self.features, values)),
            "selected_next_": (Location.NODE, find_next_in_order(self.features, values)),
            "selected_order_": (Location.EDGE, compare_selected_edges(self.features, found)),
        }
        if self._splits:
            bits["selected_tables_"] = (Location.EDGE, compare_tables(self.features, values))
        if self._places:
            bits["selected_between_"] = (Location.NODE, find_middle_nodes(self.features, values))
        if self.orders:
            along = compare_along_pointers(self.features, values)
            bits["pointed_sides_"] = (Location.NODE, along)
            for location, columns in find_next_neighbours(self.features, values).items():
                if columns:
                    bits[f"next_neighbours_{location}_"] = (location, torch.cat(columns, -1))
        for location, columns in find_first_neighbours(self.features, values).items():
            if columns:
                bits[f"selected_first_{location}_"] = (location, torch.cat(columns, -1))
        return {
            name: _bit_group(location, numbers)
            for name, (location, numbers) in bits.items()
            if numbers is not None
        }

    def _compared(self, values: Values) -> dict[str, Group]:
        """Which of two nodes has the smaller scalar, in both directions, how many have, and all
        other comparisons."""
        scalars = self.features.scalars
        less = torch.stack([pairwise_less(values[f.name]) for f in scalars[Location.NODE]], -1)
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
                compare_with_graph(self.features, values, positions=not self.orders),
            ),
            "signs_": (Location.GRAPH, [values[f.name] > 0 for f in scalars[Location.GRAPH]]),
            EQUAL: (Location.EDGE, [values[name] @ values[name].mT for name in classes]),
            "shorter_": (Location.EDGE, compare_paths(self.features, values)),
            "least_": (Location.NODE, compare_with_pointing_nodes(self.features, values)),
        }
        if self._places:
            order = compare_graph_scalars(self.features, values)
            bits["graph_order_"] = (Location.GRAPH, order)
        if self.orders:
            groups |= self._ordered(values)
            bits["best_"] = (
                Location.EDGE,
                find_best_edges(self.features, self._hint_marks, values),
            )
        return groups | {
            name: _bit_group(location, torch.stack(columns, -1).float())
            for name, (location, columns) in bits.items()
            if columns
        }

    def _ordered(self, values: Values) -> dict[str, Group]:
        """Where scalar hints are beside limits, and which are extreme."""
        limits = compare_with_limits(self.features, values)
        groups = {f"limits_{location}_": _bit_group(location, x) for location, x in limits.items()}
        ends = find_extremes(self.features, self._hint_marks, values)
        return groups | {"extremes_": _bit_group(Location.NODE, ends)}

    def scalar_terms(self, values: Values, next_hints: Values) -> ScalarTerms:
        """The scalars that new ones may be made of: what is read and what is selected.

        `next_hints` are decided: d[v] = d[p(v)] + w(p(v), v) reads the new predecessor.
        """
        parts = [self.features.scalars_by_location(values)]
        if self._config.dereference:
            following = {**values, **next_hints}
            parts.append(self._addends.select(values, values))
            parts.append(self._addends.select(following, values))
            parts.append({Location.EDGE: self.features.select_by_edges(following, values)})
            least = self.features.min_of_pointing_nodes(values)
            parts.append({Location.NODE: [x.unsqueeze(-1) for x in least]})
            if self._places:
                parts.append({Location.GRAPH: select_places(self.features, following)})
        return ScalarTerms(parts, values["pos"])

    def next_hint_features(self, location: Location, values: Values, next_hints: Values) -> Tensor:
        """(..., F): what the decoders of scalars at a location read of the next discrete hints.

        Hints of that location are read as they are, with a bit for whether they change; of other
        locations there is one bit each, whether any entry changes. Scalars of nodes are compared
        with those of the nodes that masks select next. Classes of edges are also multiplied with
        the comparisons in tables: whether c[i, j] changes depends on the entry that b[i, j] names.
        """
        leading, n = values["pos"].shape[:-1], values["pos"].shape[-1]
        shape = location.shape(n)
        columns = [values["pos"].new_empty(*leading, *shape, 0)]
        tables = self._table_comparisons(location, values)
        for f in self._hints:
            if f.kind in (Kind.SCALAR, Kind.GATED_SCALAR):
                continue
            new = keep_masked(f, values[f.name], next_hints[f.name])
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
            compared = compare_with_next_selected(self.features, {**values, **next_hints}, values)
            columns += [] if compared is None else [compared]
        return torch.cat(columns, -1)

    def _table_comparisons(self, location: Location, values: Values) -> Tensor | None:
        """(..., n, n, 1, F): those of `compare_tables`, for edges where hints have classes."""
        of_edges = [f for f in self._hints if f.location == Location.EDGE and f.classes]
        if location != Location.EDGE or not of_edges or not self._splits:
            return None
        bits = compare_tables(self.features, values)
        return None if bits is None else bits.unsqueeze(-2)

    def mask_features(self, values: Values, next_hints: Values) -> Tensor:
        """(..., n, K): the nodes that masks select now and in the next step, where the present
        pointers of hints lead from these, and a 1 for each node."""
        one = torch.ones_like(values["pos"]).unsqueeze(-1)
        masks = [values[name] for name in self.features.masks]
        masks += [next_hints[name] for name in self._one_hot_hints]
        if not masks:
            return one
        return torch.cat((self.features.follow(torch.stack(masks, -2), values).mT, one), -1)

    @property
    def mask_width(self) -> int:
        """The number of columns of `mask_features`."""
        blank = self.blank(2)
        return self.mask_features(blank, blank).shape[-1]

    def next_hint_width(self, location: Location) -> int:
        """The number of columns of `next_hint_features`."""
        blank = self.blank(2)
        return self.next_hint_features(location, blank, blank).shape[-1]

    def blank(self, n: int) -> dict[str, Tensor]:
        """Zeros for a problem of `n` nodes."""
        return {f.name: torch.zeros(1, *dense_shape(f, n)) for f in self._read}

    @cached_property
    def groups(self) -> dict[str, Group]:
        """All groups for a problem of two nodes: their widths are those of all others."""
        config = self._config
        if not (config.comparisons or config.dereference or self.reads_history):
            return {}
        blank = self.with_splits(self.blank(2))
        if not self.reads_history:
            return self(blank, None)
        return self(self.with_visited(blank, None), torch.zeros(1, len(self._hints) + 1))

    def terms_width(self, location: Location) -> int:
        """The number of `scalar_terms` at a location."""
        blank = self.blank(2)
        return self.scalar_terms(blank, blank).at(location).shape[-1]

    def continues_hint(self, feature: Feature) -> bool:
        """Whether the net reads the hint that a feature continues, in the same form."""
        if feature.stage == Stage.OUTPUT and not self._config.outputs_from_hints:
            return False
        name, form = previous_hint(feature), _form(feature)
        return any(f.name == name and _form(f) == form for f in self._hints)

    def with_splits(self, values: Values) -> dict[str, Tensor]:
        """The values with the pointers that splits and ways suggest to edges, if any."""
        if not (self._splits and self._config.edge_pointers):
            return {**values}
        found = suggest_pointers(self.features, values)
        return {**values} if found is None else {**values, SPLITS: found}

    @property
    def splits_width(self) -> int:
        """How many pointers are suggested to each edge."""
        values = self.with_splits(self.blank(2))
        return values[SPLITS].shape[-1] if SPLITS in values else 0

    def with_visited(self, values: Values, before: Tensor | None) -> dict[str, Tensor]:
        """The values with the nodes that one-hot hints have selected so far, `before` and now."""
        masks = [values[name] for name in self._one_hot_hints]
        pos = values["pos"]
        now = torch.stack(masks, -1) if masks else pos.new_empty(*pos.shape, 0)
        return {**values, VISITED: now if before is None else torch.maximum(now, before)}

    @property
    def reads_history(self) -> bool:
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
