"""Derived features: numbers that follow exactly from what a net reads at a step.

A net could approximate these, but only up to the sizes that it was trained on; computed, they are
exact at every size. `selection.py` selects what masks and pointers name, `comparisons.py` compares
numbers, `orders.py` adds the order of scalar hints, `places.py` places along chains of pointers,
`splits.py` the best splits of problems. Here all of these become numbers for encoders. Those for
decoders are in `decoder_features.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.kernels.rounding import exact_products
from algorist.model.executing.comparisons import (
    LEAST,
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
from algorist.model.executing.orders import (
    compare_along_pointers,
    compare_with_limits,
    find_best_edges,
    find_extremes,
    find_next_neighbours,
)
from algorist.model.executing.places import compare_graph_scalars, find_middle_nodes
from algorist.model.executing.selection import min_of_pointing_nodes, select, select_bits
from algorist.model.executing.splits import SPLITS, suggest_pointers
from algorist.model.executing.task_features import Columns, StepValues, TaskFeatures, Values
from algorist.model.grouped import cat_columns, map_alike, stack_columns
from algorist.model.kinds import dense_shape, squash
from algorist.model.model_config import ModelConfig
from algorist.spec import Feature, Location

_BIT_STD = 0.5
"""The standard deviation of the first weights that read a bit."""
_FEW_BITS = 8
"""Larger groups of bits are scaled down, so that each counts like a group of this size: Adam
changes all weights of a group at once, so its effect in a step grows with the number of bits."""

VISITED = "visited_"
"""The name, among values and encoders, of the nodes that each one-hot hint has selected so far,
(..., n, m)."""
COMPARISONS, EQUAL = "comparisons_", "equal_"
"""The encoders of edges that read both directions, so that none is added for the other one."""

_NODE, _EDGE, _GRAPH = Location.NODE, Location.EDGE, Location.GRAPH


class Group(NamedTuple):
    """Derived numbers of one location that one encoder reads."""

    location: Location
    numbers: Tensor  # channels last
    std: float  # the standard deviation of the encoder's first weights


Bits = dict[str, tuple[Location, Tensor | None]]
"""Bits, channels last, by the names of their encoders; None where a task has none."""


class DerivedFeatures:
    """The inputs of one task's encoders beside its features, as the settings of the net say.

    Encoders are named with an underscore at the end, which no feature's name has.
    """

    def __init__(self, features: Sequence[Feature], config: ModelConfig):
        """For a net that reads these features."""
        self.config, self.read, self.features = config, features, TaskFeatures(features)
        self.orders = config.comparisons and config.orders
        """Whether the net reads the order of scalar hints instead of their size."""
        self.places = config.comparisons and config.places
        self.splits = config.comparisons and config.splits
        self.reads_history = config.hint_changes and bool(self.features.hints)
        """Whether the net reads which hints the step before changed, and `VISITED`."""

    @exact_products()
    def derive_values(self, values: Values, visited: Tensor | None) -> StepValues:
        """The values with what both encoders and decoders derive from them.

        `visited` (..., n, m) are the nodes that one-hot hints have selected before.
        """
        found = StepValues(values)
        if self.splits and self.config.edge_pointers:
            suggested = suggest_pointers(self.features, found)
            found |= {} if suggested is None else {SPLITS: suggested}
        if self.config.comparisons or self.config.dereference:
            least = min_of_pointing_nodes(self.features, found)
            found |= {} if least is None else {LEAST: least}
        if self.reads_history:
            hint_masks, pos = len(self.features.hint_masks), values["pos"]
            now = pos.new_empty(*pos.shape, 0)
            if hint_masks:
                now = self.features.stack_masks(found)[..., -hint_masks:, :].mT
            found[VISITED] = now if visited is None else torch.maximum(now, visited)
        return found

    @exact_products()
    def __call__(self, values: Values, changed: Tensor | None) -> dict[str, Group]:
        """Compute all groups from the values of `derive_values`, by the names of their encoders.

        `changed` (..., F + 1) says which hints the step before changed (`changed_hints`).
        """
        groups = _groups_of_bits(
            {
                "changes_": (_GRAPH, changed),
                VISITED: (_NODE, values.get(VISITED) if self.features.hint_masks else None),
                SPLITS: (_EDGE, values[SPLITS].amax(-2) if SPLITS in values else None),
            }
        )
        comparable = self.features.with_continued_positions(values)
        if self.config.dereference:
            selected = select(
                self.features,
                values,
                values,
                hints=not self.orders,
                ranks=self.config.comparisons,
            )
            groups |= self._selected_scalars(selected)
            groups |= _groups_of_bits(
                dict(_by_location("selected_bits", select_bits(self.features, values)))
            )
            if self.config.comparisons:
                groups |= _groups_of_bits(self._compared_with_selected(comparable, selected))
        if self.config.comparisons:
            groups |= self._pairs_and_ranks(comparable)
            groups |= _groups_of_bits(self._compared(comparable))
        return groups

    def _selected_scalars(self, selected: Columns) -> dict[str, Group]:
        std = self.config.hidden**-0.5
        return {
            name: Group(location, squash(numbers), std)
            for name, (location, numbers) in _by_location("selected", selected)
        }

    def _compared_with_selected(self, values: Values, selected: Columns) -> Bits:
        features = self.features
        bits: Bits = {
            "selected_sides_": (_NODE, compare_with_selected(features, values)),
            "selected_distances_": (_GRAPH, compare_distances(features, values)),
            "selected_next_": (_NODE, find_next_in_order(features, values)),
            "selected_order_": (_EDGE, compare_selected_edges(features, selected)),
        }
        if self.splits:
            bits["selected_tables_"] = (_EDGE, compare_tables(features, values))
        if self.places:
            bits["selected_between_"] = (_NODE, find_middle_nodes(features, values))
        if self.orders:
            bits["pointed_sides_"] = (_NODE, compare_along_pointers(features, values))
            bits |= _by_location("next_neighbours", find_next_neighbours(features, values))
        bits |= _by_location("selected_first", find_first_neighbours(features, values))
        return bits

    def _pairs_and_ranks(self, values: Values) -> dict[str, Group]:
        """For pairs of nodes, which has the smaller scalar, in both directions; and the ranks."""
        less = self.features.pairwise_less(values)
        both = cat_columns((less, less.transpose(-3, -2)))
        size = less.new_full((*less.shape[:-3], 1), 1 / less.shape[-2])
        return {
            COMPARISONS: Group(_EDGE, both, _BIT_STD),
            "ranks_": Group(_NODE, self.features.ranks(values), 1.0),
            "size_": Group(_GRAPH, size, 1.0),
        }

    def _compared(self, values: Values) -> Bits:
        features, bits = self.features, Bits()
        if self.orders:
            limits = compare_with_limits(features, values)
            bits |= {f"limits_{location}_": (location, x) for location, x in limits.items()}
            bits["extremes_"] = (_NODE, find_extremes(features, values))
        signs = [values[f.name] > 0 for f in features.scalars[_GRAPH]]
        equal = [values[name] @ values[name].mT for name in features.input_classes]
        bits |= {
            "below_": (_NODE, compare_with_graph(features, values, positions=not self.orders)),
            "signs_": (_GRAPH, _stacked(signs)),
            EQUAL: (_EDGE, _stacked(equal)),
            "shorter_": (_EDGE, _stacked(compare_paths(features, values))),
            LEAST: (_NODE, compare_with_pointing_nodes(features, values)),
        }
        if self.places:
            bits["graph_order_"] = (_GRAPH, compare_graph_scalars(features, values))
        if self.orders:
            bits["best_"] = (_EDGE, _stacked(find_best_edges(features, values)))
        return bits

    def blank(self, n: int) -> dict[str, Tensor]:
        """Zeros for a problem of `n` nodes."""
        return {f.name: torch.zeros(1, *dense_shape(f, n)) for f in self.read}

    @cached_property
    def groups(self) -> dict[str, Group]:
        """All groups for a problem of two nodes: their widths are those of all others."""
        config = self.config
        if not (config.comparisons or config.dereference or self.reads_history):
            return {}
        changed = torch.zeros(1, len(self.features.hints) + 1) if self.reads_history else None
        return self(self.derive_values(self.blank(2), None), changed)


def _groups_of_bits(bits: Mapping[str, tuple[Location, Tensor | None]]) -> dict[str, Group]:
    """The groups of all bits that a task has."""
    groups = {}
    for name, (location, numbers) in bits.items():
        if numbers is not None:
            count = numbers.shape[-1]
            scaled = numbers * (_FEW_BITS / count) ** 0.5 if count > _FEW_BITS else numbers
            groups[name] = Group(location, scaled, _BIT_STD)
    return groups


def _by_location(prefix: str, columns: Columns) -> Iterator[tuple[str, tuple[Location, Tensor]]]:
    """The numbers of each location that has some, by the name of an encoder."""
    for location, parts in columns.items():
        if parts:
            yield f"{prefix}_{location}_", (location, cat_columns(parts))


def _stacked(columns: Sequence[Tensor]) -> Tensor | None:
    """Bits side by side, channels last, if there are any."""
    return stack_columns(columns).float() if columns else None


def changed_hints(now: Values, before: Values | None, leading: int) -> Tensor:
    """(..., F + 1): 1 for each hint that the step before changed; last, 1 if there was none.

    `leading` is the number of axes before those of a hint's values. Some states come twice in a run
    and continue differently; with these bits, inputs and hints determine the next hints for all
    thirty algorithms.
    """
    old = now if before is None else before

    def changed(x: Tensor, old: Tensor) -> Tensor:
        return (x != old).reshape(*x.shape[: 1 + leading], -1).any(-1)

    bits = [*map_alike(changed, now, old).values()]
    return torch.stack((*bits, torch.full_like(bits[0], before is None)), -1).float()
