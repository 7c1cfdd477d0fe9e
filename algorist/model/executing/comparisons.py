"""Comparisons: bits that say which of two numbers is smaller.

A net could learn to compare, but only as finely as its training problems ask for: at four times the
size, keys are four times denser. Values are one-hot, as in `task_features.py`.
"""

from __future__ import annotations

from itertools import permutations

import torch
from torch import Tensor

from algorist.model.executing.pairwise import (
    above_diagonal,
    has_weights,
    is_least,
    stack_bits,
    without_loops,
)
from algorist.model.executing.selection import select_orientations
from algorist.model.executing.task_features import Columns, TaskFeatures, Values, once
from algorist.model.grouped import cat_columns
from algorist.spec import Location, Stage

LEAST = "least_"
"""The name, among values, of the smallest scalars of pointing nodes (`min_of_pointing_nodes`), and
of the encoder of how they compare."""


def compare_nodes(features: TaskFeatures, values: Values) -> Tensor:
    """(..., n, n, F): for pairs of nodes, which has the smaller scalar, in both directions."""
    less = features.pairwise_less(values)
    return cat_columns((less, less.transpose(-3, -2)))


def compare_with_zero(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., F): whether scalars of the graph are above 0."""
    return stack_bits([values[f.name] > 0 for f in features.scalars[Location.GRAPH]])


def compare_classes(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, n, F): whether two nodes have the same class of an input."""
    return stack_bits([values[name] @ values[name].mT for name in features.input_classes])


def compare_with_graph(features: TaskFeatures, values: Values, *, positions: bool) -> Tensor | None:
    """(..., n, F): whether scalars of nodes are below or above those of the graph, and whether
    they are above one of these when another one is added. With or without positions: a clock passes
    all of them in large problems alone."""
    nodes = features.scalars[Location.NODE]
    scalars = [values[f.name] for f in nodes if positions or f.name != "pos"]
    limits = [values[f.name][..., None, None] for f in features.scalars[Location.GRAPH]]
    if not scalars or not limits:
        return None
    x = torch.stack(scalars, -1).unsqueeze(-1)  # (..., n, q, 1)
    limit = torch.stack(limits, -1)  # (..., 1, 1, g)
    found = [torch.stack((x < limit, limit < x), -1).flatten(-3)]
    if len(limits) > 1:
        pairs = zip(*permutations(limits, 2), strict=True)
        more, limit = (torch.stack(side, -1) for side in pairs)
        found.append((x + more > limit).flatten(-2))
    return torch.cat(found, -1).float()


def compare_with_pointing_nodes(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, F): whether one of the nodes that point to a node has a smaller scalar hint."""
    if LEAST not in values:
        return None
    x = torch.stack(features.hint_scalars(values), -1)
    least = values[LEAST].reshape(*x.shape[:-1], -1, x.shape[-1])
    return (least < x.unsqueeze(-2)).flatten(-2).float()


def compare_with_selected(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, F): whether scalars of nodes are below or above one of the node that a mask selects,
    the same one or another (`low[v] < d[u]`), and which way three points turn."""
    if not features.masks:
        return None
    limit, x = _pairs(features, values, others=True)
    bits = [(x < limit).mT, (limit < x).mT]
    if features.has_points:
        orientations = select_orientations(features, values, values)
        bits += [orientations > 0, orientations < 0]
    return torch.cat(bits, -1).float()


def compare_distances(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., F): how far the first of two selected nodes is behind the second, compared with how
    many nodes an input marks: at least one less, at least as far, further. The needle of string
    matchers is marked, and what is compared with it begins so far before the last letter."""
    if not features.masks or not features.input_marks:
        return None
    index = features.selected_indices(values)  # (..., m, 1)
    distance = (index - index.mT).flatten(-2)
    counts = [values[name].sum(-1, keepdim=True) for name in features.input_marks]
    bits = [distance - count > limit for count in counts for limit in (-1.5, -0.5, 0.5)]
    return torch.cat(bits, -1).float()


def compare_selected_edges(features: TaskFeatures, found: Columns) -> Tensor | None:
    """(..., n, n, F): whether S[P(i), j] < S[i, P(j)], of what `select` found."""
    if not features.pointers or not found[Location.EDGE]:
        return None
    pairs = found[Location.EDGE][0]
    first, second, _ = pairs.view(*pairs.shape[:-1], len(features.pointers), 3, -1).unbind(-2)
    return (first < second).flatten(-2).float()


@once
def compare_tables(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, n, F): whether S[i, j] is below or above S[P(i), j], S[i, P(j)] and S[P(i), P(j)]:
    in a table that is a hint, with P the one before, the entries above, to the left and diagonally.
    """
    if not features.pointers or not features.tables(values):
        return None
    pointer = features.stack_pointers(values).unsqueeze(-3)  # (..., p, 1, n, n)
    table = torch.stack(features.tables(values), -3).unsqueeze(-4)  # (..., 1, q, n, n)
    above, left = pointer @ table, table @ pointer.mT
    others = torch.stack((above, left, above @ pointer.mT), -3)  # (..., p, q, 3, n, n)
    table = table.unsqueeze(-3)
    bits = torch.stack((table < others, others < table), -3).flatten(-6, -3)
    return bits.movedim(-3, -1).float()


def find_next_in_order(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, F): which nodes have the next larger and the next smaller scalar than the node that
    a mask selects, and which are ends of the edge that follows the one between two such nodes."""
    if not features.masks:
        return None
    limit, x = _pairs(features, values)
    found = [_is_next(torch.cat((x, -x), -2), torch.cat((limit, -limit), -2))]
    edges = features.edge_scalars(values)
    if edges is not None and len(features.masks) > 1:
        edges = without_loops(edges)
        mask = features.stack_masks(values).unsqueeze(-3)
        limit = above_diagonal(mask @ edges @ mask.mT).unsqueeze(-1)  # (..., q, pairs, 1)
        after = _is_next(edges.flatten(-2).unsqueeze(-2), limit).unflatten(-1, edges.shape[-2:])
        # Of an edge that goes both ways, that from the first of its ends to the other.
        before = features.pairwise_less(values)[..., features.column("pos")]
        ordered = torch.maximum(before[..., None, None, :, :], 1 - after.mT)
        found += [(after * ordered).amax(axis).flatten(-3, -2) for axis in (-1, -2)]
    return torch.cat(found, -2).mT


def find_first_neighbours(features: TaskFeatures, values: Values) -> Columns:
    """Bits of nodes: which is the first neighbour of a class that a selected node has, by position,
    as in `for v in adj[u]: if color[v] == WHITE`; of the graph: whether there is one."""
    found: Columns = {location: [] for location in Location}
    if not features.masks or not features.hint_classes:
        return found
    selected = features.follow(values, hints=True)  # (..., m, n)
    classes = torch.cat([values[name] for name in features.hint_classes], -1).mT  # (..., c, n)
    pos = values["pos"][..., None, None, :]
    for name in features.edge_masks:
        rows = (selected @ values[name]).unsqueeze(-2) * classes.unsqueeze(-3)  # (..., m, c, n)
        found[Location.NODE].append(is_least(pos, rows > 0.5).flatten(-3, -2).mT.float())
        found[Location.GRAPH].append(rows.amax(-1).flatten(-2))
    return found


def compare_paths(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, n, F): where the scalar of a hint at i and that of the edge (i, j) make less than
    that at j, and where two edges by way of a selected node make less than one."""
    found = []
    starts = features.hint_scalars(values)
    for edge in features.scalars[Location.EDGE]:
        x = values[edge.name]
        if edge.stage == Stage.INPUT:
            # Not in graphs without weights: there, a clock beside a 1 for an edge means nothing.
            weighted = has_weights(x)
            found += [(d.unsqueeze(-1) + x < d.unsqueeze(-2)) & weighted for d in starts]
        else:
            for mask in (values[name] for name in features.masks):
                found.append(x @ mask.unsqueeze(-1) + mask.unsqueeze(-2) @ x < x)
    return stack_bits(found)


def _pairs(
    features: TaskFeatures, values: Values, *, others: bool = False
) -> tuple[Tensor, Tensor]:
    """A scalar of the node that each mask selects (..., F, 1), and the same one of all nodes, or
    with `others` any other too, (..., F, n). Positions are compared with nothing else."""
    names = [f.name for f in features.scalars[Location.NODE]]
    pairs = [(name, name) for name in names]
    if others:
        pairs += permutations([name for name in names if name != "pos"], 2)
    mask = features.stack_masks(values)  # (..., m, n)
    limits, x = (torch.stack([values[name] for name in of], -2) for of in zip(*pairs, strict=True))
    shape = (*x.shape[:-1], len(features.masks), x.shape[-1])
    limit = (limits @ mask.mT).flatten(-2).unsqueeze(-1)
    return limit, x.unsqueeze(-2).expand(shape).flatten(-3, -2)


def _is_next(x: Tensor, limit: Tensor) -> Tensor:
    """1 where x (..., n) is the smallest number above its limit (..., 1)."""
    return is_least(x, x > limit).float()
