"""What masks and pointers select, as an index does in a program: `d[u]`, `A[u][v]`, `key[pi[v]]`.

A one-hot mask names one node, a pointer one node for each node, or for each edge. Values are dense
(`kinds.py`), with any leading axes: (..., n) for numbers of nodes and for masks, (..., n, n) for
those of edges and for pointers of nodes, (..., n, n, n) for pointers of edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from algorist.spec import Feature, Kind, Location, Stage

Values = Mapping[str, Tensor]
"""Dense values by the names of their features."""
Columns = dict[Location, list[Tensor]]
"""Numbers of nodes (..., n, F), edges (..., n, n, F) and graph (..., F)."""

_SCALARS = (Kind.SCALAR, Kind.GATED_SCALAR)


def selects_nodes(feature: Feature) -> bool:
    """Whether a feature is a one-hot mask over nodes."""
    return feature.location == Location.NODE and feature.kind == Kind.MASK_ONE


class TaskFeatures:
    """The features of a task by what they are for: scalars and bits, and what selects them."""

    def __init__(self, features: Sequence[Feature], *, ranks: bool):
        """With `ranks`, those of scalar inputs are selected as well."""
        nodes, edges = (
            [f for f in features if f.location == location]
            for location in (Location.NODE, Location.EDGE)
        )
        self._ranks = ranks
        self.scalars = {
            location: [f for f in features if f.location == location and f.kind in _SCALARS]
            for location in Location
        }
        self.masks = [f.name for f in features if selects_nodes(f)]
        self.pointers = [f for f in nodes if f.kind == Kind.POINTER]
        self.chains = [f.name for f in self.pointers if f.stage == Stage.INPUT]
        """Pointers of inputs: each node points to the one before it."""
        self.edge_pointers = [f.name for f in edges if f.kind == Kind.POINTER]
        self._bits = [f for f in nodes if f.kind in (Kind.MASK, Kind.CATEGORICAL)]
        self.hint_classes = [f.name for f in nodes if f.classes and f.stage == Stage.HINT]
        self.input_marks = [f.name for f in nodes if f.kind == Kind.MASK and f.stage == Stage.INPUT]
        self.edge_masks = [f.name for f in edges if f.kind == Kind.MASK]
        self.input_edge_masks = [
            f.name for f in edges if f.kind == Kind.MASK and f.stage == Stage.INPUT
        ]
        self.hint_edge_masks = [
            f.name for f in edges if f.kind == Kind.MASK and f.stage == Stage.HINT
        ]
        """Masks of edges that are hints: entries of a table that are filled."""
        self.has_points = {"x", "y"} <= {f.name for f in self.scalars[Location.NODE]}

    def scalars_by_location(self, values: Values) -> Columns:
        """The scalars themselves, by location."""
        return {
            location: [values[f.name].unsqueeze(-1) for f in features]
            for location, features in self.scalars.items()
        }

    def select(self, selectors: Values, values: Values, *, magnitudes: bool = True) -> Columns:
        """The scalars of the nodes that the masks and pointers of `selectors` name; without
        `magnitudes` those of nodes that are inputs alone."""
        found: Columns = {location: [] for location in Location}
        nodes, edges = self.node_scalars(values, hints=magnitudes), self.edge_scalars(values)
        if self.masks:
            mask = self.stack_masks(selectors)
            if nodes is not None:
                found[Location.GRAPH].append((mask @ nodes).flatten(-2))
            if edges is not None:
                for x in (edges, edges.mT):  # from the chosen node, and to it
                    rows = mask.unsqueeze(-3) @ x  # (..., q, m, n)
                    found[Location.NODE].append(rows.flatten(-3, -2).mT)
            if self.has_points:
                found[Location.NODE] += [
                    self.orientations(selectors, values),
                    self._angles(selectors, values),
                ]
        for pointer in (selectors[f.name] for f in self.pointers):
            if nodes is not None:
                found[Location.NODE].append(pointer @ nodes)
            if edges is not None:
                _add_edges(found, pointer.unsqueeze(-3), edges)
        if edges is not None:
            for onward in (_successors(values[name]).unsqueeze(-3) for name in self.chains):
                after = torch.cat((onward @ edges, edges @ onward.mT), -3)
                found[Location.EDGE].append(after.movedim(-3, -1))
        return found

    def min_of_pointing_nodes(self, values: Values) -> list[Tensor]:
        """(..., n) each: the smallest scalar of a hint among the nodes that point to a node by a
        hint, as `min(low[child])`; that of the node itself where none does."""
        found = []
        for pointer in (values[f.name] for f in self.pointers if f.stage == Stage.HINT):
            points_here = _successors(pointer) > 0.5
            for x in self.hint_scalars(values):
                least = x.unsqueeze(-2).masked_fill(~points_here, torch.inf).amin(-1)
                found.append(torch.where(points_here.any(-1), least, x))
        return found

    def select_by_edges(self, selectors: Values, values: Values) -> list[Tensor]:
        """(..., n, n, F) each: numbers of the nodes P(i, j) that edges point to, where a problem
        from i to j is split: x[P], S[i, P], S[P, j], S[i, P] + S[P, j], also of all S together, the
        same with the node after P in a chain, and the products x[i] x[P] x[j], x[i - 1] x[P] x[j].
        """
        found = []
        nodes, edges = self.node_scalars(values), self.edge_scalars(values)
        chains = [selectors[name] for name in self.chains]
        for pointer in (selectors[name] for name in self.edge_pointers):
            if nodes is not None:
                at = pointer @ nodes.unsqueeze(-3)  # (..., i, j, q)
                starts = [nodes, *(chain @ nodes for chain in chains)]
                found += [at, *(at * x.unsqueeze(-2) * nodes.unsqueeze(-3) for x in starts)]
            if edges is not None:
                to = pointer @ edges.movedim(-3, -1)  # (..., i, j, k) @ (..., i, k, q)
                found.append(to)
                for x in (edges, *(_successors(chain).unsqueeze(-3) @ edges for chain in chains)):
                    of_targets = x.movedim(-3, -1).transpose(-3, -2)  # (..., j, k, q)
                    onward = (pointer.transpose(-3, -2) @ of_targets).transpose(-3, -2)
                    found += [onward, to + onward, (to + onward).sum(-1, keepdim=True)]
        return found

    def select_bits(self, values: Values) -> Columns:
        """Bits of the nodes that masks and pointers name, and of edges that masks name an end of:
        whether they are there, and to which nodes they point.

        Two masks that name the same node share a bit; pointers are bits of edges. For the graph
        masks are also followed along pointers, as a program follows `pi[k]` or `i + 1`.
        """
        found: Columns = {location: [] for location in Location}
        bits = [values[f.name] if f.classes else values[f.name][..., None] for f in self._bits]
        if self.masks:
            mask = self.stack_masks(values)
            after = [mask @ _successors(values[name]) for name in self.chains]
            followed = torch.cat((self.follow(mask, values, self.pointers), *after), -2)
            read = followed @ torch.cat((*bits, mask.mT), -1)
            of_classes = [followed @ values[f.name] for f in self._bits if f.classes]
            found[Location.GRAPH] += [read.flatten(-2), *map(_equal_pairs, of_classes)]
            by_hints = self.follow(mask, values)
            for name in self.edge_masks:
                found[Location.NODE] += [(by_hints @ values[name]).mT, values[name] @ by_hints.mT]
            for pointer in (values[f.name] for f in self.pointers):
                found[Location.NODE] += [(mask @ pointer).mT, pointer @ mask.mT]
            for pointer in (values[name] for name in self.edge_pointers):
                for x in (pointer, pointer.transpose(-3, -2)):  # P[u, i] -> j and P[i, u] -> j
                    rows = (mask @ x.flatten(-2)).unflatten(-1, x.shape[-2:])
                    found[Location.EDGE].append(rows.movedim(-3, -1))
        if bits:
            of_nodes = torch.cat(bits, -1)
            found[Location.NODE] += [values[f.name] @ of_nodes for f in self.pointers]
        return found

    def orientations(self, selectors: Values, values: Values) -> Tensor:
        """(..., n, F): for two of the points that masks select, or hints from there, and each node,
        above 0 if the way from the first over the second to the node turns left."""
        mask = self.follow(self.stack_masks(selectors), selectors)
        x, y = values["x"].unsqueeze(-1), values["y"].unsqueeze(-1)  # (..., n, 1)
        (x1, x2), (y1, y2) = (_pairs((mask @ z).mT) for z in (x, y))  # (..., 1, F)
        return (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)

    def _angles(self, selectors: Values, values: Values) -> Tensor:
        """(..., n, m): the direction from the point that each mask selects to each node."""
        mask = self.stack_masks(selectors)
        x, y = (values[name].unsqueeze(-1) for name in ("x", "y"))
        return torch.atan2(y - (mask @ y).mT, x - (mask @ x).mT)

    def stack_masks(self, selectors: Values) -> Tensor:
        """(..., m, n): all one-hot masks."""
        return torch.stack([selectors[name] for name in self.masks], -2)

    def follow(
        self, mask: Tensor, selectors: Values, along: Sequence[Feature] | None = None
    ) -> Tensor:
        """(..., m', n): masks, and the nodes that these point to by some pointers, or by hints."""
        if along is None:
            along = [f for f in self.pointers if f.stage == Stage.HINT]
        return torch.cat((mask, *(mask @ selectors[f.name] for f in along)), -2)

    def hint_scalars(self, values: Values) -> list[Tensor]:
        """(..., n) each: the scalars of nodes that are hints."""
        return [values[f.name] for f in self.scalars[Location.NODE] if f.stage == Stage.HINT]

    def node_scalars(self, values: Values, *, hints: bool = True) -> Tensor | None:
        """(..., n, q): all scalars of nodes, or those of inputs alone."""
        features = [f for f in self.scalars[Location.NODE] if hints or f.stage == Stage.INPUT]
        columns = [values[f.name] for f in features]
        if self._ranks:
            ordered = self.with_continued_positions(values)
            columns += [rank(ordered[f.name]) for f in features if f.stage == Stage.INPUT]
        return torch.stack(columns, -1) if columns else None

    def with_continued_positions(self, values: Values) -> Values:
        """The values with positions to compare: where an input marks the second of two strings, it
        comes after the first one. The benchmark's positions start anew there, random ones do not.
        """
        marks = [values[name] for name in self.input_marks]
        return {**values, "pos": values["pos"] + torch.stack(marks).sum(0)} if marks else values

    def edge_scalars(self, values: Values) -> Tensor | None:
        """(..., q, n, n): all scalars of edges."""
        columns = [values[f.name] for f in self.scalars[Location.EDGE]]
        return torch.stack(columns, -3) if columns else None


def _add_edges(found: Columns, pointer: Tensor, edges: Tensor) -> None:
    """Add S[P(i), j], S[i, P(j)], S[P(i), P(j)] and, for nodes, S[P(j), j] and S[j, P(j)]."""
    from_pointee, to_pointee = pointer @ edges, edges @ pointer.mT
    both = from_pointee @ pointer.mT
    pairs = torch.cat((from_pointee, to_pointee, both), -3).movedim(-3, -1)
    found[Location.EDGE].append(pairs)
    found[Location.NODE] += [(edges * pointer.mT).sum(-2).mT, (edges * pointer).sum(-1).mT]


def _successors(chain: Tensor) -> Tensor:
    """(..., n, n): from each node to the one that points to it, where each points to the last."""
    return without_loops(chain).mT


def without_loops(edges: Tensor) -> Tensor:
    """(..., n, n): the same with zeros from each node to itself."""
    return edges * (1 - torch.eye(edges.shape[-1], device=edges.device))


def has_weights(edges: Tensor) -> Tensor:
    """(..., 1, 1): whether graphs (..., n, n) have weights: in others all numbers are 0 or 1."""
    return (edges != edges.round()).flatten(-2).any(-1)[..., None, None]


def is_least(x: Tensor, among: Tensor, axis: int = -1) -> Tensor:
    """Whether each number is the smallest along an axis of those that are `among` some."""
    counted = x.masked_fill(~among, torch.inf)
    return (counted == counted.amin(axis, keepdim=True)) & among


def _equal_pairs(classes: Tensor) -> Tensor:
    """(..., m (m - 1) / 2): whether two of m nodes with classes (..., m, c) have the same."""
    return above_diagonal(classes @ classes.mT)


def _pairs(x: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second numbers (..., 1, pairs) of all pairs of numbers (..., 1, m)."""
    matrix = x.expand(*x.shape[:-2], x.shape[-1], -1)
    return above_diagonal(matrix.mT).unsqueeze(-2), above_diagonal(matrix).unsqueeze(-2)


def above_diagonal(x: Tensor) -> Tensor:
    """(..., m (m - 1) / 2): the numbers of matrices (..., m, m) above the diagonal."""
    return torch.cat([x[..., row, row + 1 :] for row in range(x.shape[-1] - 1)], -1)


def pairwise_less(x: Tensor) -> Tensor:
    """(..., n, n): 1 where node i has a smaller number than node j."""
    return (x.unsqueeze(-1) < x.unsqueeze(-2)).float()


def rank(x: Tensor) -> Tensor:
    """(..., n): the share of nodes that have a smaller number."""
    return pairwise_less(x).mean(-2)
