"""Derived features: numbers that follow exactly from what a net reads at a step.

A net could approximate these, but only up to the sizes that it was trained on; computed, they are
exact at every size. `TABLE` lists all that encoders read. To add one, write a function of the
features and values of a task, and add a row.

`selection.py` selects what masks and pointers name, `comparisons.py` compares numbers, `orders.py`
adds the order of scalar hints, `places.py` places along chains of pointers, `splits.py` the best
splits of problems. What decoders read is in `decoder_features.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.kernels.rounding import exact_products
from algorist.model.executing.comparisons import (
    LEAST,
    compare_classes,
    compare_distances,
    compare_nodes,
    compare_paths,
    compare_selected_edges,
    compare_tables,
    compare_with_graph,
    compare_with_pointing_nodes,
    compare_with_selected,
    compare_with_zero,
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
from algorist.model.feature_values import one_hot_shape, squash
from algorist.model.grouped import cat_columns, map_alike
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


class Group(NamedTuple):
    """Derived numbers of one location that one encoder reads."""

    location: Location
    numbers: Tensor  # channels last
    std: float  # the standard deviation of the encoder's first weights
    has_both_directions: bool = False  # whether numbers of edges need no reversed encoder


@dataclass
class StepInputs:
    """What the derived features of a step are computed from."""

    features: TaskFeatures
    config: ModelConfig
    orders: bool
    """Whether the net reads the order of scalar hints instead of their size."""
    values: Values
    """Those of `DerivedFeatures.derive_values`."""
    changed: Tensor | None
    """Which hints the step before changed (`changed_hints`)."""

    @property
    def comparable(self) -> Values:
        """The values with positions to compare."""
        return self.features.with_continued_positions(self.values)

    @cached_property
    def selected(self) -> Columns:
        """The scalars that masks and pointers select."""
        hints, ranks = not self.orders, self.config.comparisons
        return select(self.features, self.values, self.values, hints=hints, ranks=ranks)


Numbers = Tensor | Columns | None
"""Numbers of one location, channels last, or of several; None where a task has none."""


class DerivedFeature(NamedTuple):
    """A row of the table: numbers that encoders read, where all of its `settings` are on."""

    name: str
    """The name of its encoder, with an underscore at the end, which no feature's name has."""
    location: Location | None
    """None: numbers of several locations, with an encoder `<name>_<location>_` for each."""
    compute: Callable[[StepInputs], Numbers]
    settings: tuple[str, ...] = ()
    """Names of settings of `ModelConfig`."""
    std: float | None = _BIT_STD
    """The standard deviation of the encoder's first weights. None: hidden ** -0.5."""
    scale_down: bool = True
    """Whether large groups are scaled down, as those of bits are."""
    has_both_directions: bool = False
    """Whether the numbers of an edge contain those of the other direction."""

    def groups(self, inputs: StepInputs) -> Iterator[tuple[str, Group]]:
        """The numbers of each location that has some, by the names of their encoders."""
        found = self.compute(inputs)
        std = inputs.config.hidden**-0.5 if self.std is None else self.std
        if isinstance(found, dict):
            for location, columns in found.items():
                if columns:
                    numbers = self._scaled(cat_columns(columns))
                    yield f"{self.name}_{location}_", Group(location, numbers, std)
        elif found is not None:
            assert self.location is not None
            group = Group(self.location, self._scaled(found), std, self.has_both_directions)
            yield self.name, group

    def _scaled(self, numbers: Tensor) -> Tensor:
        count = numbers.shape[-1]
        many = self.scale_down and count > _FEW_BITS
        return numbers * (_FEW_BITS / count) ** 0.5 if many else numbers


def _comparable(
    function: Callable[[TaskFeatures, Values], Numbers],
) -> Callable[[StepInputs], Numbers]:
    """A function of features and of values with positions to compare."""
    return lambda inputs: function(inputs.features, inputs.comparable)


def _select_scalars(inputs: StepInputs) -> Columns:
    return {
        location: [squash(cat_columns(columns))]
        for location, columns in inputs.selected.items()
        if columns
    }


def _inverse_size(features: TaskFeatures, values: Values) -> Tensor:
    pos = values["pos"]
    return pos.new_full((*pos.shape[:-1], 1), 1 / pos.shape[-1])


_NODE, _EDGE, _GRAPH = Location.NODE, Location.EDGE, Location.GRAPH
_SELECTED = ("dereference",)
_COMPARED = ("comparisons",)
_BOTH = (*_COMPARED, *_SELECTED)

TABLE = (
    DerivedFeature("changes_", _GRAPH, lambda x: x.changed),
    DerivedFeature(
        VISITED, _NODE, lambda x: x.values.get(VISITED) if x.features.hint_masks else None
    ),
    DerivedFeature(
        SPLITS, _EDGE, lambda x: x.values[SPLITS].amax(-2) if SPLITS in x.values else None
    ),
    DerivedFeature("selected", None, _select_scalars, _SELECTED, std=None, scale_down=False),
    DerivedFeature("selected_bits", None, lambda x: select_bits(x.features, x.values), _SELECTED),
    DerivedFeature("selected_sides_", _NODE, _comparable(compare_with_selected), _BOTH),
    DerivedFeature("selected_distances_", _GRAPH, _comparable(compare_distances), _BOTH),
    DerivedFeature("selected_next_", _NODE, _comparable(find_next_in_order), _BOTH),
    DerivedFeature(
        "selected_order_",
        _EDGE,
        lambda x: compare_selected_edges(x.features, x.selected),
        _BOTH,
    ),
    DerivedFeature("selected_tables_", _EDGE, _comparable(compare_tables), (*_BOTH, "splits")),
    DerivedFeature("selected_between_", _NODE, _comparable(find_middle_nodes), (*_BOTH, "places")),
    DerivedFeature(
        "pointed_sides_", _NODE, _comparable(compare_along_pointers), (*_BOTH, "orders")
    ),
    DerivedFeature("next_neighbours", None, _comparable(find_next_neighbours), (*_BOTH, "orders")),
    DerivedFeature("selected_first", None, _comparable(find_first_neighbours), _BOTH),
    DerivedFeature(
        "comparisons_",
        _EDGE,
        _comparable(compare_nodes),
        _COMPARED,
        scale_down=False,
        has_both_directions=True,
    ),
    DerivedFeature(
        "ranks_", _NODE, _comparable(TaskFeatures.ranks), _COMPARED, std=1.0, scale_down=False
    ),
    DerivedFeature(
        "size_", _GRAPH, _comparable(_inverse_size), _COMPARED, std=1.0, scale_down=False
    ),
    DerivedFeature("limits", None, _comparable(compare_with_limits), (*_COMPARED, "orders")),
    DerivedFeature("extremes_", _NODE, _comparable(find_extremes), (*_COMPARED, "orders")),
    DerivedFeature(
        "below_",
        _NODE,
        lambda x: compare_with_graph(x.features, x.comparable, positions=not x.orders),
        _COMPARED,
    ),
    DerivedFeature("signs_", _GRAPH, _comparable(compare_with_zero), _COMPARED),
    DerivedFeature(
        "equal_", _EDGE, _comparable(compare_classes), _COMPARED, has_both_directions=True
    ),
    DerivedFeature("shorter_", _EDGE, _comparable(compare_paths), _COMPARED),
    DerivedFeature(LEAST, _NODE, _comparable(compare_with_pointing_nodes), _COMPARED),
    DerivedFeature(
        "graph_order_", _GRAPH, _comparable(compare_graph_scalars), (*_COMPARED, "places")
    ),
    DerivedFeature("best_", _EDGE, _comparable(find_best_edges), (*_COMPARED, "orders")),
)
"""All derived features of encoders. Fresh weights are drawn in this order."""


class DerivedFeatures:
    """The inputs of one task's encoders beside its features, as the settings of the net say."""

    def __init__(self, features: Sequence[Feature], config: ModelConfig):
        """For a net that reads these features."""
        self.config, self.read, self.features = config, features, TaskFeatures(features)
        self.orders = config.comparisons and config.orders
        """Whether the net reads the order of scalar hints instead of their size."""
        self.places = config.comparisons and config.places
        self.splits = config.comparisons and config.splits
        self._rows = [row for row in TABLE if all(getattr(config, x) for x in row.settings)]
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
        inputs = StepInputs(self.features, self.config, self.orders, values, changed)
        return {name: group for row in self._rows for name, group in row.groups(inputs)}

    def blank(self, n: int) -> dict[str, Tensor]:
        """Zeros for a problem of `n` nodes."""
        return {f.name: torch.zeros(1, *one_hot_shape(f, n)) for f in self.read}

    @cached_property
    def groups(self) -> dict[str, Group]:
        """All groups for a problem of two nodes: their widths are those of all others."""
        config = self.config
        if not (config.comparisons or config.dereference or self.reads_history):
            return {}
        changed = torch.zeros(1, len(self.features.hints) + 1) if self.reads_history else None
        return self(self.derive_values(self.blank(2), None), changed)


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
