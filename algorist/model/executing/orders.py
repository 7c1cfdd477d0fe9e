"""Orders: what nets read of scalar hints instead of how large these are.

Clocks and counters grow with the problem: those of n = 64 are out of the range that a net has seen
in training. Their order is not. Values are one-hot, as in `task_features.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from algorist.model.executing.pairwise import has_weights, is_least, stack_bits, without_loops
from algorist.model.executing.task_features import Columns, TaskFeatures, Values
from algorist.model.grouped import cat_columns
from algorist.spec import SCALARS, Feature, Location, Stage

_LIMITS = (0.0, 0.01)
"""What scalar hints are compared with: 0, and the hundredth by which clocks and counters tick."""
_MARGIN = 1e-6
"""By how much a number must be above or below a limit."""


def is_read_by_order(feature: Feature) -> bool:
    """Whether a net with `orders` encodes only the order of a feature, not its numbers: a scalar
    hint of nodes or of the graph. The numbers remain terms of new scalars."""
    return (
        feature.stage == Stage.HINT
        and feature.location != Location.EDGE
        and feature.kind in SCALARS
    )


def compare_with_limits(features: TaskFeatures, values: Values) -> Columns:
    """Bits of nodes and of the graph: whether scalar hints are below 0, above it and above a
    hundredth."""
    found: Columns = {}
    for location in (Location.NODE, Location.GRAPH):
        names = [f.name for f in features.scalars[location] if is_read_by_order(f)]
        if not names:
            continue
        x = torch.stack([values[name] for name in names], -1)
        bits = [x < -_MARGIN, *(x > limit + _MARGIN for limit in _LIMITS)]
        found[location] = [torch.cat(bits, -1).float()]
    return found


def compare_along_pointers(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, F): whether a scalar hint of a node is below or above one of the node that it points
    to, and whether this holds for one of the nodes that point to it, as in
    `any(low[child] > d[u])`."""
    x = _hint_columns(features, values)
    if x is None or not features.hint_pointers:
        return None
    pointers = without_loops(features.stack_pointers(values, hints=True))  # (..., p, n, n)
    y, leads = (pointers @ x.unsqueeze(-3)).unsqueeze(-2), pointers.sum(-1) > 0.5
    own = x[..., None, :, :, None]
    bits = torch.stack((own < y, y < own, own == y), -1) & leads[..., None, None, None]
    of_nodes = bits.flatten(-3).float()  # (..., p, n, F)
    of_pointing = (pointers.mT @ of_nodes > 0.5).float()
    return cat_columns((of_nodes, of_pointing)).movedim(-3, -2).flatten(-2)


def compare_with_next_selected(
    features: TaskFeatures, next_hints: Values, values: Values
) -> Tensor | None:
    """(..., n, F): whether scalar hints of nodes are above one of the node that a mask of
    `next_hints` selects, as in `min(low[u], d[v])` with the next v."""
    x = _hint_columns(features, values)
    if x is None or not features.masks:
        return None
    limits = (features.stack_masks(next_hints) @ x).flatten(-2)[
        ..., None, None, :
    ]  # (..., 1, 1, F)
    return (limits < x.unsqueeze(-1)).flatten(-2).float()


def find_extremes(features: TaskFeatures, values: Values) -> Tensor:
    """(..., n, F): which node has the smallest and which the largest of each scalar, of all nodes
    and of those that are marked or have a class: the last node, the first white one, the nearest
    one in the queue."""
    sets = [torch.ones_like(values["pos"]).unsqueeze(-2)]
    sets += [values[name].unsqueeze(-2) for name in features.hint_marks]
    sets += [values[name].mT for name in features.hint_classes]
    among = (torch.cat(sets, -2) > 0.5).unsqueeze(-3)  # (..., 1, c, n)
    x = torch.stack([values[f.name] for f in features.scalars[Location.NODE]], -2).unsqueeze(-2)
    ends = is_least(torch.cat((x, -x), -3), among, -1)
    return ends.flatten(-3, -2).mT.float()


def find_next_neighbours(features: TaskFeatures, values: Values) -> Columns:
    """Bits of nodes: which neighbour of a selected node comes next by position, first of all and
    after each selected node, but for those that the node itself points to by hints; as in
    `for v in adj[u]: if v != pi[u]`. Bits of the graph: whether there is one."""
    found: Columns = {location: [] for location in Location}
    if not features.masks:
        return found
    mask, pos = features.stack_masks(values), values["pos"]  # (..., m, n), (..., n)
    selected = features.follow(values, hints=True)
    among = None
    if features.hint_pointers:
        pointers = features.stack_pointers(values, hints=True)
        among = (selected.unsqueeze(-3) @ pointers).amax(-3) < 0.5  # no pointees
    limits = torch.cat((pos.amin(-1, keepdim=True) - 1, (mask @ pos.unsqueeze(-1)).squeeze(-1)), -1)
    after = (pos.unsqueeze(-2) > limits.unsqueeze(-1)).unsqueeze(-3)  # (..., 1, m + 1, n)
    for name in features.input_edge_masks:
        rows = selected @ without_loops(values[name]) > 0.5
        rows = rows if among is None else rows & among
        least = is_least(pos[..., None, None, :], rows.unsqueeze(-2) & after, -1).flatten(-3, -2)
        found[Location.NODE].append(least.mT.float())
        found[Location.GRAPH].append(least.any(-1).float())
    return found


def find_best_edges(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, n, F), in graphs with weights: whether the edge (i, j) is lighter than a scalar
    hint at j, and whether the way over i is the shortest one to j, of all that come from marked
    nodes: d(i) + A(i, j)."""
    found = []
    for name in (f.name for f in features.scalars[Location.EDGE] if f.stage == Stage.INPUT):
        x = values[name]
        is_edge = (x != 0) & has_weights(x)
        for d in features.hint_scalars(values):
            found.append((x < d.unsqueeze(-2)) & is_edge)
            ways = d.unsqueeze(-1) + x
            for mark in (values[name] > 0.5 for name in features.hint_marks):
                found.append(is_least(ways, is_edge & mark.unsqueeze(-1), -2))
    return stack_bits(found)


def _hint_columns(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, F): the scalars of nodes that are hints."""
    columns = features.hint_scalars(values)
    return torch.stack(columns, -1) if columns else None
