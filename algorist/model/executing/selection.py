"""What masks and pointers select, as an index does in a program: `d[u]`, `A[u][v]`, `key[pi[v]]`.

A one-hot mask selects one node, a pointer one node for each node, or for each edge. Values are
one-hot, as in `task_features.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import hardshrink

from algorist.model.executing.pairwise import above_diagonal, successors
from algorist.model.executing.task_features import Columns, TaskFeatures, Values
from algorist.model.grouped import cat_columns
from algorist.spec import Location

_STRAIGHT = 1e-6
"""Turns smaller than this are rounding errors of points on one line."""


def select(
    features: TaskFeatures,
    selectors: Values,
    values: Values,
    *,
    hints: bool = True,
    ranks: bool = False,
) -> Columns:
    """The scalars of the nodes that masks and pointers of `selectors` select, and of their edges.

    Scalars of nodes are selected with or without hints and, with `ranks`, with those of inputs.
    """
    found: Columns = {location: [] for location in Location}
    nodes, edges = (
        features.node_scalars(values, hints=hints, ranks=ranks),
        features.edge_scalars(values),
    )
    if features.masks:
        mask = features.stack_masks(selectors)
        if nodes is not None:
            found[Location.GRAPH].append((mask @ nodes).flatten(-2))
        if edges is not None:
            for x in (edges, edges.mT):  # from the chosen node, and to it
                rows = mask.unsqueeze(-3) @ x  # (..., q, m, n)
                found[Location.NODE].append(rows.flatten(-3, -2).mT)
        if features.has_points:
            found[Location.NODE] += [
                select_orientations(features, selectors, values),
                _angles(features, selectors, values),
            ]
    if features.pointers:
        _add_pointees(found, features.stack_pointers(selectors), nodes, edges)
    if edges is not None:
        for onward in (successors(values[name]).unsqueeze(-3) for name in features.chains):
            after = torch.cat((onward @ edges, edges @ onward.mT), -3)
            found[Location.EDGE].append(after.movedim(-3, -1))
    return found


def min_of_pointing_nodes(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, F): the smallest of each scalar hint among the nodes that point to a node, as
    `min(low[child])`, or its own where none does; for each pointer of a hint in turn."""
    scalars = features.hint_scalars(values)
    if not scalars or not features.hint_pointers:
        return None
    points_here = successors(features.stack_pointers(values, hints=True)).unsqueeze(-3) > 0.5
    x = torch.stack(scalars, -2).unsqueeze(-3)  # (..., 1, q, n), beside pointers (..., p, 1, n, n)
    least = x.unsqueeze(-2).masked_fill(~points_here, torch.inf).amin(-1)
    return torch.where(points_here.any(-1), least, x).flatten(-3, -2).mT


def select_by_edges(
    features: TaskFeatures, selectors: Values, values: Values, *, ranks: bool = False
) -> list[Tensor]:
    """(..., n, n, F) each: numbers of the nodes P(i, j) that edges point to, where a problem
    from i to j is split: x[P], S[i, P], S[P, j], S[i, P] + S[P, j], also of all S together, the
    same with the node after P in a chain, and the products x[i] x[P] x[j], x[i - 1] x[P] x[j].
    """
    found = []
    nodes, edges = features.node_scalars(values, ranks=ranks), features.edge_scalars(values)
    chains = [selectors[name] for name in features.chains]
    for pointer in (selectors[name] for name in features.edge_pointers):
        if nodes is not None:
            at = pointer @ nodes.unsqueeze(-3)  # (..., i, j, q)
            starts = [nodes, *(chain @ nodes for chain in chains)]
            found += [at, *(at * x.unsqueeze(-2) * nodes.unsqueeze(-3) for x in starts)]
        if edges is not None:
            to = pointer @ edges.movedim(-3, -1)  # (..., i, j, k) @ (..., i, k, q)
            found.append(to)
            for x in (edges, *(successors(chain).unsqueeze(-3) @ edges for chain in chains)):
                of_targets = x.movedim(-3, -1).transpose(-3, -2)  # (..., j, k, q)
                onward = (pointer.transpose(-3, -2) @ of_targets).transpose(-3, -2)
                found += [onward, to + onward, (to + onward).sum(-1, keepdim=True)]
    return found


def select_bits(features: TaskFeatures, values: Values) -> Columns:
    """Bits of the nodes that masks and pointers name, and of edges that masks name an end of:
    whether they are there, and to which nodes they point.

    Two masks that name the same node share a bit; pointers are bits of edges. For the graph
    masks are also followed along pointers, as a program follows `pi[k]` or `i + 1`.
    """
    found: Columns = {location: [] for location in Location}
    bits = [values[f.name] if f.classes else values[f.name][..., None] for f in features.node_bits]
    if features.masks:
        mask = features.stack_masks(values)
        after = [mask @ successors(values[name]) for name in features.chains]
        along, count = features.follow(values), len(features.masks)
        followed = torch.cat((along, *after), -2)
        read = followed @ torch.cat((*bits, mask.mT), -1)
        of_classes = [followed @ values[f.name] for f in features.node_bits if f.classes]
        found[Location.GRAPH] += [read.flatten(-2), *map(_equal_pairs, of_classes)]
        by_hints = features.follow(values, hints=True)
        for name in features.edge_masks:
            found[Location.NODE] += [(by_hints @ values[name]).mT, values[name] @ by_hints.mT]
        if features.pointers:
            pointees = along[..., count:, :].unflatten(-2, (-1, count)).mT  # (..., p, n, m)
            pointing = features.stack_pointers(values) @ mask.mT.unsqueeze(-3)
            found[Location.NODE].append(_columns_of_each(pointees, pointing))
        for pointer in (values[name] for name in features.edge_pointers):
            for x in (pointer, pointer.transpose(-3, -2)):  # P[u, i] -> j and P[i, u] -> j
                rows = (mask @ x.flatten(-2)).unflatten(-1, x.shape[-2:])
                found[Location.EDGE].append(rows.movedim(-3, -1))
    if bits and features.pointers:
        of_pointees = features.stack_pointers(values) @ torch.cat(bits, -1).unsqueeze(-3)
        found[Location.NODE].append(_columns_of_each(of_pointees))
    return found


def select_orientations(features: TaskFeatures, selectors: Values, values: Values) -> Tensor:
    """(..., n, F): for two of the points that masks select, or hints from there, and each node,
    above 0 if the way from the first over the second to the node turns left, 0 if it goes straight.
    """
    mask = features.follow(selectors, hints=True)
    x, y = values["x"].unsqueeze(-1), values["y"].unsqueeze(-1)  # (..., n, 1)
    (x1, x2), (y1, y2) = (_pairs((mask @ z).mT) for z in (x, y))  # (..., 1, F)
    turns = (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)
    return hardshrink(turns, _STRAIGHT)


def _angles(features: TaskFeatures, selectors: Values, values: Values) -> Tensor:
    """(..., n, m): the direction from the point that each mask selects to each node."""
    mask = features.stack_masks(selectors)
    x, y = (values[name].unsqueeze(-1) for name in ("x", "y"))
    return torch.atan2(y - (mask @ y).mT, x - (mask @ x).mT)


def _add_pointees(
    found: Columns, pointers: Tensor, nodes: Tensor | None, edges: Tensor | None
) -> None:
    """Add for each of some pointers (..., p, n, n) the numbers of the pointees x[P(j)] and, of
    their edges, S[P(j), j], S[j, P(j)]; for pairs S[P(i), j], S[i, P(j)], S[P(i), P(j)]."""
    columns = [] if nodes is None else [pointers @ nodes.unsqueeze(-3)]
    if edges is not None:
        pointer, edges = pointers.unsqueeze(-3), edges.unsqueeze(-4)  # (..., p, q, n, n)
        from_pointee, to_pointee = pointer @ edges, edges @ pointer.mT
        columns += [x.diagonal(dim1=-2, dim2=-1).mT for x in (from_pointee, to_pointee)]
        pairs = torch.cat((from_pointee, to_pointee, from_pointee @ pointer.mT), -3)
        found[Location.EDGE].append(pairs.flatten(-4, -3).movedim(-3, -1))
    if columns:
        found[Location.NODE].append(_columns_of_each(*columns))


def _columns_of_each(*columns: Tensor) -> Tensor:
    """(..., n, F): numbers (..., p, n, f) of p pointers, those of each side by side."""
    return cat_columns(columns).movedim(-3, -2).flatten(-2)


def _equal_pairs(classes: Tensor) -> Tensor:
    """(..., m (m - 1) / 2): whether two of m nodes with classes (..., m, c) have the same."""
    return above_diagonal(classes @ classes.mT)


def _pairs(x: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second numbers (..., 1, pairs) of all pairs of numbers (..., 1, m)."""
    matrix = x.expand(*x.shape[:-2], x.shape[-1], -1)
    return above_diagonal(matrix.mT).unsqueeze(-2), above_diagonal(matrix).unsqueeze(-2)
