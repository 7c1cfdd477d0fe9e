"""Hints that stay as they are at nodes that no mask selects.

Most algorithms change a variable only at nodes that their one-hot masks select: the color of u. A
net that is sure of this among 16 nodes may not be among 64. So training notes which hints of nodes
ever change elsewhere, and inference keeps all others there.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from algorist.model.executing.exact_sums import CHANGE
from algorist.model.executing.task_features import TaskFeatures, Values
from algorist.spec import Feature, Kind, Location

_KINDS = (Kind.MASK, Kind.CATEGORICAL, Kind.POINTER, Kind.GATED_SCALAR)
_CERTAIN = 20.0
"""The logit of a value that is kept."""


class KeptHints(nn.Module):
    """The hints of one algorithm's nodes that never change where nothing is selected."""

    def __init__(self, replicas: int, features: TaskFeatures):
        super().__init__()
        self.hints = [f for f in features.hints if _may_be_kept(f)] if features.hint_masks else []
        self.changes = nn.Parameter(torch.zeros(replicas, len(self.hints)), requires_grad=False)
        """(S, F): above 0 for hints that have changed at a node that no mask selected."""

    def __contains__(self, feature: Feature) -> bool:
        return feature in self.hints

    @torch.no_grad()
    def observe(self, values: Values, next_hints: Values, unselected: Tensor) -> None:
        """Note which of the true hints change at `unselected` (S, B, n) nodes."""
        changed = [_changes(f, values[f.name], next_hints[f.name]) for f in self.hints]
        found = (torch.stack(changed, -1) & unselected.unsqueeze(-1)).flatten(1, 2).any(1)
        self.changes.copy_(torch.maximum(self.changes, found.float()))

    def keep(self, feature: Feature, prediction: Tensor, old: Tensor, unselected: Tensor) -> Tensor:
        """A prediction (S, B, n, ...), which is the present value where the hint is kept."""
        changes = self.changes[:, self.hints.index(feature)]
        kept = unselected & (changes == 0)[:, None, None]
        if feature.kind == Kind.GATED_SCALAR:
            closed = prediction[..., :1].masked_fill(kept.unsqueeze(-1), -_CERTAIN)
            return torch.cat((closed, prediction[..., 1:]), -1)
        kept = kept if feature.kind == Kind.MASK else kept.unsqueeze(-1)
        return torch.where(kept, _CERTAIN * (2 * old - 1), prediction)


def _may_be_kept(feature: Feature) -> bool:
    return feature.location == Location.NODE and feature.kind in _KINDS


def _changes(feature: Feature, old: Tensor, new: Tensor) -> Tensor:
    """(S, B, n): the nodes whose value changes."""
    changed = (new - old).abs() > CHANGE
    return changed if feature.kind in (Kind.MASK, Kind.GATED_SCALAR) else changed.any(-1)
