"""Derived features: numbers that follow exactly from what a net reads at a step.

Comparisons of scalars are bits on edges, ranks are numbers of nodes. Pointers and one-hot masks
select scalars, as an index does in a program. A net could approximate these, but only up to the
sizes that it was trained on; computed, they are exact at every size.

Values are dense (`kinds.py`), with any leading axes: (..., n) for numbers of nodes, (..., n, n)
for those of edges and for pointers of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.model.kinds import dense_shape, squash
from algorist.model.model_config import ModelConfig
from algorist.spec import Feature, Kind, Location, Stage

_BIT_SPREAD = 0.5
"""The standard deviation of the first weights that read a bit."""
_FEW_BITS = 8
"""More bits that are read together are scaled down, so that all of them count like so many. Adam
changes all of their weights at once, so their effect in a step grows with their number."""
_SCALARS = (Kind.SCALAR, Kind.GATED_SCALAR)
_BITS = (Kind.MASK, Kind.CATEGORICAL)

VISITED = "visited_"
"""What the nodes that one-hot hints have selected so far (..., n, m) are called among values."""
COMPARISONS, EQUAL = "comparisons_", "equal_"
"""The names of encoders of what has both directions already. No feature's name ends with an
underscore."""

Columns = dict[Location, list[Tensor]]
"""Numbers of nodes (..., n, F), edges (..., n, n, F) and graph (..., F)."""


def selects_nodes(feature: Feature) -> bool:
    """Whether a feature is a one-hot mask over nodes."""
    return feature.location == Location.NODE and feature.kind == Kind.MASK_ONE


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
        self._masks = [f.name for f in features if selects_nodes(f)]
        self._pointers = [f.name for f in of_nodes if f.kind == Kind.POINTER]
        self._has_points = {"x", "y"} <= {f.name for f in self._scalars[Location.NODE]}
        self._edge_pointers = [
            f.name for f in features if f.location == Location.EDGE and f.kind == Kind.POINTER
        ]
        self._hint_pointers = [
            f.name for f in of_nodes if f.kind == Kind.POINTER and f.stage == Stage.HINT
        ]
        self._chains = [
            f.name for f in of_nodes if f.kind == Kind.POINTER and f.stage == Stage.INPUT
        ]
        """Pointers of inputs: each node points to the one before it."""
        self._bits = [f for f in of_nodes if f.kind in _BITS]
        self._edge_bits = [
            f.name for f in features if f.location == Location.EDGE and f.kind == Kind.MASK
        ]

    @property
    def pointers(self) -> int:
        """How many pointers select edges."""
        return len(self._pointers)

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
        if of_edges is not None:
            for follower in (_follower(values[name]).unsqueeze(-3) for name in self._chains):
                after = torch.cat((follower @ of_edges, of_edges @ follower.mT), -3)
                found[Location.EDGE].append(after.movedim(-3, -1))
        if self._has_points and masks:
            found[Location.NODE] += [self.turns(choices, values).mT, self._angles(choices, values)]
        return found

    def turns(self, choices: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> Tensor:
        """(..., F, n): for two of the points that masks select, or pointers from there, and each
        node, above 0 if the way from the first over the second to the node turns left."""
        mask = torch.stack([choices[name] for name in self._masks], -2)
        mask = torch.cat((mask, *(mask @ choices[name] for name in self._hint_pointers)), -2)
        x, y = values["x"], values["y"]
        (x1, x2), (y1, y2) = (_both_of_pairs(mask @ z.unsqueeze(-1)) for z in (x, y))
        return (x2 - x1) * (y.unsqueeze(-2) - y1) - (y2 - y1) * (x.unsqueeze(-2) - x1)

    def signed_turns(self, values: Mapping[str, Tensor]) -> Tensor | None:
        """(..., n, F): whether these turn left, and whether they turn right."""
        if not self._has_points or not self._masks:
            return None
        turns = self.turns(values, values)
        return torch.cat((turns > 0, turns < 0), -2).mT.float()

    def _angles(self, choices: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> Tensor:
        """(..., n, m): the direction from the point that each mask selects to each node."""
        mask = torch.stack([choices[name] for name in self._masks], -2)
        x, y = (values[name].unsqueeze(-1) for name in ("x", "y"))
        return torch.atan2(y - (mask @ y).mT, x - (mask @ x).mT)

    def select_by_edges(
        self, choices: Mapping[str, Tensor], values: Mapping[str, Tensor]
    ) -> list[Tensor]:
        """(..., n, n, F) each: numbers of the nodes P(i, j) that edges point to, where a problem
        from i to j is split: x[P], S[i, P], S[P, j], S[i, P] + S[P, j], also of all S together, the
        same with the node after P in a chain, and the products x[i] x[P] x[j], x[i - 1] x[P] x[j].
        """
        found = []
        edges, nodes = self._of_edges(values), self._of_nodes(values)
        chains = [choices[name] for name in self._chains]
        for pointer in (choices[name] for name in self._edge_pointers):
            if nodes is not None:
                at = pointer @ nodes.unsqueeze(-3)  # (..., i, j, q)
                starts = [nodes, *(p @ nodes for p in chains)]
                found += [at, *(at * x.unsqueeze(-2) * nodes.unsqueeze(-3) for x in starts)]
            if edges is not None:
                to = pointer @ edges.movedim(-3, -1)  # (..., i, j, k) @ (..., i, k, q)
                found.append(to)
                towards = pointer.transpose(-3, -2)  # (..., j, i, k)
                for x in (edges, *(_follower(p).unsqueeze(-3) @ edges for p in chains)):
                    onward = (towards @ x.movedim(-3, -1).transpose(-3, -2)).transpose(-3, -2)
                    split = to + onward
                    found += [onward, split, split.sum(-1, keepdim=True)]
        return found

    def select_bits(self, values: Mapping[str, Tensor]) -> Columns:
        """Bits of the nodes that masks and pointers name, and of edges that masks name an end of:
        whether they are there, and to which nodes they point.

        Two masks that name the same node share a bit; pointers are bits of edges. For the graph
        masks are also followed along pointers, as a program follows `pi[k]` or `i + 1`.
        """
        found: Columns = {location: [] for location in Location}
        bits = [values[f.name] if f.classes else values[f.name][..., None] for f in self._bits]
        if self._masks:
            mask = torch.stack([values[name] for name in self._masks], -2)  # (..., m, n)
            followed = self._followed(mask, values)
            by_hints = torch.cat((mask, *(mask @ values[name] for name in self._hint_pointers)), -2)
            read = followed @ torch.cat((*bits, mask.mT), -1)
            found[Location.GRAPH].append(read.flatten(-2))
            for f in self._bits:
                if f.classes:
                    found[Location.GRAPH].append(_equal_pairs(followed @ values[f.name]))
            for name in self._edge_bits:
                found[Location.NODE] += [(by_hints @ values[name]).mT, values[name] @ by_hints.mT]
            for name in self._pointers:
                found[Location.NODE] += [(mask @ values[name]).mT, values[name] @ mask.mT]
            for name in self._edge_pointers:  # P[u, i] -> j and P[i, u] -> j
                pointer = values[name].flatten(-2), values[name].transpose(-3, -2).flatten(-2)
                rows = [(mask @ x).unflatten(-1, values[name].shape[-2:]) for x in pointer]
                found[Location.EDGE] += [x.movedim(-3, -1) for x in rows]
        if bits:
            of_nodes = torch.cat(bits, -1)
            found[Location.NODE] += [values[name] @ of_nodes for name in self._pointers]
        return found

    def _followed(self, mask: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """(..., m', n): masks, the nodes that these point to, and those that follow in a chain."""
        found = [mask]
        for name in self._pointers:
            found.append(mask @ values[name])
            if name in self._chains:
                found.append(mask @ _follower(values[name]))
        return torch.cat(found, -2)

    def neighbours_in_order(self, values: Mapping[str, Tensor]) -> list[Tensor]:
        """(..., F, n): which nodes have the next larger and the next smaller scalar than the node
        that a mask selects, and which are ends of the edge after that between two such nodes."""
        found, pairs = [], self.pairs(values)
        if pairs is not None:
            limit, x = pairs
            found += [_is_next(x, limit), _is_next(-x, -limit)]
        edges = self._of_edges(values)
        if edges is not None and len(self._masks) > 1:
            mask = torch.stack([values[name] for name in self._masks], -2).unsqueeze(-3)
            limit = _above_diagonal(mask @ edges @ mask.mT).unsqueeze(-1)  # (..., q, pairs, 1)
            after = _is_next(edges.flatten(-2).unsqueeze(-2), limit).unflatten(-1, edges.shape[-2:])
            found += [after.amax(axis).flatten(-3, -2) for axis in (-1, -2)]
        return found

    def shorter_ways(self, values: Mapping[str, Tensor]) -> list[Tensor]:
        """(..., n, n) each: where the scalar of a hint at i and that of the edge (i, j) make less
        than that at j, and where two edges by way of a selected node make less than one."""
        found = []
        nodes = [f for f in self._scalars[Location.NODE] if f.stage == Stage.HINT]
        for edge in self._scalars[Location.EDGE]:
            x = values[edge.name]
            if edge.stage == Stage.INPUT:
                # Not in graphs without weights, whose clocks mean nothing beside them.
                weighted = (x != x.round()).flatten(-2).any(-1)[..., None, None]
                starts = [values[f.name] for f in nodes]
                found += [(d.unsqueeze(-1) + x < d.unsqueeze(-2)) & weighted for d in starts]
                continue
            for mask in (values[name] for name in self._masks):
                to, onward = x @ mask.unsqueeze(-1), mask.unsqueeze(-2) @ x
                found.append(to + onward < x)
        return [bits.float() for bits in found]

    def pairs(self, values: Mapping[str, Tensor]) -> tuple[Tensor, Tensor] | None:
        """The scalar of the node that each mask selects (..., F, 1), and of all (..., F, n)."""
        scalars = [values[f.name] for f in self._scalars[Location.NODE]]
        if not scalars or not self._masks:
            return None
        x = torch.stack(scalars, -2)  # (..., q, n)
        mask = torch.stack([values[name] for name in self._masks], -2)  # (..., m, n)
        shape = (*x.shape[:-1], len(self._masks), x.shape[-1])
        limit = (x @ mask.mT).flatten(-2).unsqueeze(-1)
        return limit, x.unsqueeze(-2).expand(shape).flatten(-3, -2)

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


def _above_diagonal(x: Tensor) -> Tensor:
    """(..., m (m - 1) / 2): the numbers of matrices (..., m, m) above the diagonal."""
    return torch.cat([x[..., row, row + 1 :] for row in range(x.shape[-1] - 1)], -1)


def _both_of_pairs(x: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers (..., m, 1) of the first and of the second of all pairs, (..., pairs, 1)."""
    columns = x.expand(*x.shape[:-1], x.shape[-2])
    return _above_diagonal(columns).unsqueeze(-1), _above_diagonal(columns.mT).unsqueeze(-1)


def _equal_pairs(classes: Tensor) -> Tensor:
    """(..., m (m - 1) / 2): whether two of m nodes with classes (..., m, c) have the same."""
    return _above_diagonal(classes @ classes.mT)


def _is_next(x: Tensor, limit: Tensor) -> Tensor:
    """1 where x (..., n) is the smallest number above its limit (..., 1)."""
    above = x.masked_fill(x <= limit, torch.inf)
    return ((above == above.amin(-1, keepdim=True)) & (x > limit)).float()


def _follower(chain: Tensor) -> Tensor:
    """(..., n, n): from each node to the one that points to it, where each points to the last."""
    return (chain * (1 - torch.eye(chain.shape[-1], device=chain.device))).mT


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
        self.selection = Selection(features, ranks=config.comparisons)

    def __call__(self, values: Mapping[str, Tensor], changed: Tensor | None) -> dict[str, Group]:
        """All groups by the name of their encoder, from what the net reads.

        `changed` (..., F + 1) says which hints the step before changed (`changed_hints`).
        """
        groups: dict[str, Group] = {}
        if changed is not None:
            groups["changes_"] = _group_bits(Location.GRAPH, changed)
        if VISITED in values and self._selecting:
            groups[VISITED] = _group_bits(Location.NODE, values[VISITED])
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
        groups |= {
            f"selected_bits_{location}_": _group_bits(location, torch.cat(columns, -1))
            for location, columns in self.selection.select_bits(values).items()
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
        pairs = self.selection.pairs(values)
        if pairs is not None:
            limit, x = pairs
            bits = torch.cat((x < limit, limit < x), -2).mT.float()
            groups["selected_sides_"] = _group_bits(Location.NODE, bits)
        turns = self.selection.signed_turns(values)
        if turns is not None:
            groups["turns_"] = _group_bits(Location.NODE, turns)
        following = self.selection.neighbours_in_order(values)
        if following:
            bits = torch.cat(following, -2).mT
            groups["selected_next_"] = _group_bits(Location.NODE, bits)
        ends = [pairs.chunk(3, -1)[:2] for pairs in found[Location.EDGE][: self.selection.pointers]]
        if ends:
            less = torch.cat([(first < second).float() for first, second in ends], -1)
            groups["selected_order_"] = _group_bits(Location.EDGE, less)
        return groups

    def _compared(self, values: Mapping[str, Tensor]) -> dict[str, Group]:
        """Which of two nodes has the smaller scalar, in both directions, and how many have."""
        scalars = [values[f.name] for f in self.selection.scalars(Location.NODE)]
        of_graph = [values[f.name] for f in self.selection.scalars(Location.GRAPH)]
        less = torch.stack([smaller(x) for x in scalars], -1)  # (..., n, n, q): pos is a scalar
        n = less.shape[-2]
        pairs = [(x, limit.unsqueeze(-1)) for x in scalars for limit in of_graph]
        below = [bits.float() for x, limit in pairs for bits in (x < limit, limit < x)]
        below += [
            (x + added.unsqueeze(-1) > limit.unsqueeze(-1)).float()
            for x in scalars
            for added, limit in permutations(of_graph, 2)
        ]
        groups = {
            COMPARISONS: Group(
                Location.EDGE, torch.cat((less, less.transpose(-3, -2)), -1), _BIT_SPREAD
            ),
            "ranks_": Group(Location.NODE, less.mean(-3), 1.0),
            "size_": Group(Location.GRAPH, less.new_full((*less.shape[:-3], 1), 1 / n), 1.0),
        }
        if below:
            groups["below_"] = _group_bits(Location.NODE, torch.stack(below, -1))
        if of_graph:
            signs = torch.stack([x > 0 for x in of_graph], -1).float()
            groups["signs_"] = _group_bits(Location.GRAPH, signs)
        classes = [f.name for f in self._read if f.classes and f.stage == Stage.INPUT]
        equal = [values[name] @ values[name].mT for name in classes]
        if equal:
            groups[EQUAL] = _group_bits(Location.EDGE, torch.stack(equal, -1))
        shorter = self.selection.shorter_ways(values)
        if shorter:
            groups["shorter_"] = _group_bits(Location.EDGE, torch.stack(shorter, -1))
        return groups

    def known(self, values: Mapping[str, Tensor], choices: Mapping[str, Tensor]) -> Known:
        """The scalars that new ones may be made of: what is read and what is selected.

        `choices` are the decided hints of the next step: d[v] = d[p(v)] + w(p(v), v) reads the new
        predecessor.
        """
        parts = [self.selection.columns(values)]
        if self._config.dereference:
            following = {**values, **choices}
            parts.append(self.selection.select(values, values))
            parts.append(self.selection.select(following, values))
            parts.append({Location.EDGE: self.selection.select_by_edges(following, values)})
        return Known(parts, values["pos"])

    def blank(self, n: int) -> dict[str, Tensor]:
        """Zeros for a problem of `n` nodes."""
        return {f.name: torch.zeros(1, *dense_shape(f, n)) for f in self._read}

    @cached_property
    def groups(self) -> dict[str, Group]:
        """All groups for a problem of two nodes: their widths are those of all others."""
        config = self._config
        if not (config.comparisons or config.dereference or self.reads_changes):
            return {}
        if not self.reads_changes:
            return self(self.blank(2), None)
        blank = self.blank(2)
        return self(self.with_visited(blank, None), torch.zeros(1, len(self._hints) + 1))

    def known_width(self, location: Location) -> int:
        """How many scalars `known` has at a location."""
        blank = self.blank(2)
        return self.known(blank, blank).at(location).shape[-1]

    def with_visited(
        self, values: Mapping[str, Tensor], before: Tensor | None
    ) -> dict[str, Tensor]:
        """The values with the nodes that one-hot hints have selected so far, `before` and now."""
        masks = [values[name] for name in self._selecting]
        pos = values["pos"]
        now = torch.stack(masks, -1) if masks else pos.new_empty(*pos.shape, 0)
        return {**values, VISITED: now if before is None else torch.maximum(now, before)}

    @property
    def reads_changes(self) -> bool:
        """Whether the net reads which hints the step before changed, and what came earlier."""
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
