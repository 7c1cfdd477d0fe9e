"""Inputs of decoders in nets that execute: present values and next hints, beside the states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from algorist.kernels.rounding import exact_products
from algorist.model.executing.comparisons import LEAST, compare_tables
from algorist.model.executing.derived_features import DerivedFeatures, changed_hints
from algorist.model.executing.orders import compare_with_next_selected
from algorist.model.executing.places import select_places
from algorist.model.executing.selection import select, select_by_edges
from algorist.model.executing.splits import SPLITS
from algorist.model.executing.task_features import StepValues, Values
from algorist.model.feature_values import keep_masked, may_be_masked
from algorist.model.grouped import cat_columns, map_features
from algorist.spec import SCALARS, Feature, Kind, Location, Stage


def previous_hint(feature: Feature) -> str:
    """The hint whose present value a feature continues: itself, or an output's hint `<name>_h`."""
    return feature.name if feature.stage == Stage.HINT else f"{feature.name}_h"


class ScalarTerms:
    """Scalars that may be terms of new ones, by location."""

    def __init__(self, parts: Sequence[Mapping[Location, list[Tensor]]], pos: Tensor):
        self._parts, self._pos = parts, pos

    def at(self, location: Location) -> Tensor:
        """(..., F): those of a location; edges also have those of both ends, all the graph's."""
        own, graph = self._own(location), self._own(Location.GRAPH)
        if location == Location.GRAPH:
            return graph
        if location == Location.NODE:
            return cat_columns((own, graph.unsqueeze(-2).expand(*own.shape[:-1], -1)))
        node, pairs = self.at(Location.NODE), (*own.shape[:-1], -1)
        ends = (
            node.unsqueeze(-2).expand(pairs),
            self._own(Location.NODE).unsqueeze(-3).expand(pairs),
        )
        return cat_columns((own, *ends))

    def _own(self, location: Location) -> Tensor:
        shape = (*self._pos.shape[:-1], *location.shape(self._pos.shape[-1]), 0)
        columns = [x for part in self._parts for x in part.get(location, ())]
        return cat_columns((self._pos.new_empty(shape), *columns))


class DecoderFeatures:
    """The inputs of one task's decoders beside the states of a step.

    `values` are those of `DerivedFeatures.derive_values`, `next_hints` the decided ones of the next
    step, one-hot.
    """

    def __init__(self, derived: DerivedFeatures):
        self._derived, self._features, self._config = derived, derived.features, derived.config

    @exact_products()
    def scalar_terms(self, values: Values, next_hints: Values) -> ScalarTerms:
        """The scalars that new ones may be sums of: those that are read, and those selected.

        The masks and pointers of both steps select: d[v] = d[p(v)] + w(p(v), v) reads the new
        predecessor.
        """
        features, comparisons = self._features, self._config.comparisons
        parts = [features.scalars_by_location(values)]
        if self._config.dereference:
            following = _with_next(values, next_hints)
            # Ranks often make a right sum by chance; where places are terms, none is needed.
            ranks = comparisons and not self._config.places
            parts += [select(features, x, values, ranks=ranks) for x in (values, following)]
            by_edges = select_by_edges(features, following, values, ranks=comparisons)
            parts.append({Location.EDGE: by_edges})
            parts.append({Location.NODE: [values[LEAST]] if LEAST in values else []})
            if self._derived.places:
                parts.append({Location.GRAPH: select_places(features, following)})
        return ScalarTerms(parts, values["pos"])

    @exact_products()
    def next_hint_features(self, location: Location, values: Values, next_hints: Values) -> Tensor:
        """(..., F): what the decoders of scalars at a location read of the next discrete hints.

        Hints of that location are read as they are, with a bit for whether they change; of other
        locations there is one bit each, whether any entry changes. Scalars of nodes are compared
        with those of the nodes that masks select next. Classes of edges are also multiplied with
        the comparisons in tables: whether c[i, j] changes depends on the entry that b[i, j] names.
        """
        columns = list(self._next_hint_columns(location, values, next_hints))
        if location == Location.NODE and self._derived.orders:
            following = _with_next(values, next_hints)
            compared = compare_with_next_selected(self._features, following, values)
            columns += [] if compared is None else [compared]
        leading, n = values["pos"].shape[:-1], values["pos"].shape[-1]
        return cat_columns((values["pos"].new_empty(*leading, *location.shape(n), 0), *columns))

    def _next_hint_columns(
        self, location: Location, values: Values, next_hints: Values
    ) -> Iterator[Tensor]:
        leading, n = values["pos"].shape[:-1], values["pos"].shape[-1]
        shape, tables = location.shape(n), self._table_comparisons(location, values)
        hints = [f for f in self._features.hints if f.kind not in SCALARS]
        new = dict(next_hints) | map_features(
            keep_masked, [f for f in hints if may_be_masked(f)], values, next_hints
        )

        def changed(feature: Feature, old: Tensor, new: Tensor) -> Tensor:
            """(F, ..., 1): whether entries change, or at another location, any of them."""
            own = feature.location.shape(n) if feature.location == location else ()
            bits = (old != new).reshape(*old.shape[: 1 + len(leading)], *own, -1).any(-1)
            return bits.float().unsqueeze(-1)

        bits = map_features(changed, hints, values, new)
        for f in hints:
            if f.location != location:
                yield bits[f.name].view(*leading, *(1,) * len(shape), 1).expand(*leading, *shape, 1)
                continue
            yield bits[f.name]
            if f.kind != Kind.POINTER:
                yield new[f.name].reshape(*leading, *shape, -1)
            if f.classes and tables is not None:
                yield (new[f.name].clamp(min=0).unsqueeze(-1) * tables).flatten(-2)

    def _table_comparisons(self, location: Location, values: Values) -> Tensor | None:
        """(..., n, n, 1, F): those of `compare_tables`, for edges where hints have classes."""
        have_classes = any(f.location == Location.EDGE and f.classes for f in self._features.hints)
        if location != Location.EDGE or not have_classes or not self._derived.splits:
            return None
        bits = compare_tables(self._features, values)
        return None if bits is None else bits.unsqueeze(-2)

    @exact_products()
    def mask_features(self, values: Values, next_hints: Values) -> Tensor:
        """(..., n, K): the nodes that masks select now and in the next step, those to which the
        present pointers of hints lead from there, and a 1 for each node."""
        one = torch.ones_like(values["pos"]).unsqueeze(-1)
        features = self._features
        masks = [values[name] for name in features.masks]
        masks += [next_hints[name] for name in features.hint_masks]
        if not masks:
            return one
        followed = features.follow_from(torch.stack(masks, -2), values, hints=True)
        return torch.cat((followed.mT, one), -1)

    def local_features(self, selected: Tensor, values: Values, next_hints: Values) -> Tensor:
        """(..., n, L): what a step decides at a node without a look at others: its `mask_features`
        (`selected`), its masks and classes, and the choices of the graph, now and in the next step.
        """
        columns = [values[f.name] for f in self._features.node_bits if f.stage == Stage.HINT]
        columns = [x if x.ndim == selected.ndim else x.unsqueeze(-1) for x in columns]
        for f in self._choices_of_graph:
            for x in (values[f.name], next_hints[f.name]):
                choice = x if f.classes else x.unsqueeze(-1)
                columns.append(choice.unsqueeze(-2).expand(*selected.shape[:-1], -1))
        return cat_columns((selected, *columns))

    def unselected_nodes(self, values: Values, next_hints: Values, selected: Tensor) -> Tensor:
        """(..., n): the nodes that no mask selects, in steps that change no discrete hint of the
        graph; `selected` are their `mask_features`."""
        unselected = (selected[..., :-1] < 0.5).all(-1)
        of_graph = [f.name for f in self._choices_of_graph]
        if not of_graph:
            return unselected
        now, following = ({name: x[name] for name in of_graph} for x in (values, next_hints))
        changed = changed_hints(following, now, unselected.ndim - 1)
        return unselected & ~changed.bool().any(-1, keepdim=True)

    def terms_width(self, location: Location) -> int:
        """The number of `scalar_terms` at a location."""
        blank = self.blank(2)
        return self.scalar_terms(blank, blank).at(location).shape[-1]

    def next_hint_width(self, location: Location) -> int:
        """The number of columns of `next_hint_features`."""
        blank = self.blank(2)
        return self.next_hint_features(location, blank, blank).shape[-1]

    @property
    def mask_width(self) -> int:
        """The number of columns of `mask_features`."""
        blank = self.blank(2)
        return self.mask_features(blank, blank).shape[-1]

    @property
    def local_width(self) -> int:
        """The number of columns of `local_features`."""
        blank = self.blank(2)
        return self.local_features(self.mask_features(blank, blank), blank, blank).shape[-1]

    @property
    def splits_width(self) -> int:
        """The number of pointers that splits suggest to each edge."""
        blank = self.blank(2)
        return blank[SPLITS].shape[-1] if SPLITS in blank else 0

    @property
    def _choices_of_graph(self) -> list[Feature]:
        """The discrete hints of the graph."""
        hints = self._features.hints
        return [f for f in hints if f.location == Location.GRAPH and f.kind not in SCALARS]

    def blank(self, n: int) -> dict[str, Tensor]:
        """Zeros for a problem of `n` nodes, and what derives from them."""
        return self._derived.derive_values(self._derived.blank(n), None)

    def continues_hint(self, feature: Feature) -> bool:
        """Whether the net reads the hint that a feature continues, in the same form."""
        if feature.stage == Stage.OUTPUT and not self._config.outputs_from_hints:
            return False
        name, form = previous_hint(feature), _form(feature)
        return any(f.name == name and _form(f) == form for f in self._features.hints)


def _with_next(values: Values, next_hints: Values) -> StepValues:
    """The values with next hints in place of the present ones."""
    now = values if isinstance(values, StepValues) else StepValues(values)
    return now.with_next(next_hints)


def _form(feature: Feature) -> tuple[Location, Kind, int]:
    return feature.location, feature.kind, feature.classes
