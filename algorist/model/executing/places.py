"""Places: how far along a chain of pointers nodes are, and which node is halfway between two.

A sort keeps its array as a chain: each node points to the one before it. The place of a node is an
index that programs count with, `target = middle - first`. Values are one-hot, as in
`task_features.py`.
"""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor

from algorist.model.executing.pairwise import above_diagonal
from algorist.model.executing.task_features import TaskFeatures, Values
from algorist.spec import Location, Stage

_SAME = 1e-5
"""Scalars of the graph that differ by less are equal: sums of the same numbers may be rounded."""


def compute_places(pointer: Tensor) -> Tensor:
    """(..., n): how many other nodes one passes by following pointers (..., n, n), over n."""
    n = pointer.shape[-1]
    reached = torch.maximum(pointer, torch.eye(n, device=pointer.device))
    for _ in range((n - 1).bit_length()):
        reached = (reached @ reached).clamp(max=1)
    return (reached.sum(-1) - 1) / n


def select_places(features: TaskFeatures, selectors: Values) -> list[Tensor]:
    """(..., F) each: the places of the nodes that masks select, along each pointer of a hint, and
    first n // 2 over n, that of the node in the middle. Only where the graph has scalars that are
    hints, which may count so."""
    counts = any(f.stage == Stage.HINT for f in features.scalars[Location.GRAPH])
    if not (counts and features.hint_pointers and features.masks):
        return []
    mask = features.stack_masks(selectors)
    n = mask.shape[-1]
    middle = mask.new_full((*mask.shape[:-2], 1), n // 2 / n)
    places = compute_places(features.stack_pointers(selectors, hints=True))  # (..., p, n)
    return [middle, (places @ mask.mT).flatten(-2)]


def find_middle_nodes(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., n, F): which node is in the middle between two that masks select, by position; if two
    are, the first for the first half of the columns and the second for the others."""
    if len(features.masks) < 2:
        return None
    own = features.selected_indices(values)  # (..., m, 1)
    twice = above_diagonal(own + own.mT).unsqueeze(-2)  # (..., 1, pairs)
    distance = 2 * features.index_by_position(values) - twice
    bits = [(distance + x).abs() < 0.75 for x in (0.5, -0.5)]
    return torch.cat(bits, -1).float()


def compare_graph_scalars(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., F): for two scalars of the graph, whether the first is smaller, and larger; and
    whether each is below and above the scalars of selected nodes."""
    scalars = [values[f.name] for f in features.scalars[Location.GRAPH]]
    others = list(combinations(scalars, 2))
    if features.masks and scalars:
        of_nodes = [values[f.name] for f in features.scalars[Location.NODE] if f.name != "pos"]
        for of_masks in (features.stack_masks(values) @ torch.stack(of_nodes, -1)).unbind(-1):
            others += [(scalar, y) for scalar in scalars for y in of_masks.unbind(-1)]
    if not others:
        return None
    first, second = (torch.stack(side, -1) for side in zip(*others, strict=True))
    difference = first - second
    return torch.stack((difference < -_SAME, difference > _SAME), -1).flatten(-2).float()
