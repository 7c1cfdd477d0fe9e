"""Few large operations instead of many small ones, which take longer to launch than to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from algorist.spec import Feature


def map_features(
    function: Callable[..., Tensor], features: Sequence[Feature], *values: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """A function of each feature and its values, by the names of the features.

    It is called once for all features that differ in nothing but their names: with one of them, and
    with their values along a new first axis, which its result must have, too.
    """
    groups: dict[object, list[Feature]] = {}
    for f in features:
        key = (f.stage, f.location, f.kind, f.classes, *(x[f.name].shape for x in values))
        groups.setdefault(key, []).append(f)
    found: dict[str, Tensor] = {}
    for group in groups.values():
        results = function(group[0], *(_stacked([x[f.name] for f in group]) for x in values))
        found |= {f.name: result for f, result in zip(group, results.unbind(), strict=True)}
    return {f.name: found[f.name] for f in features}


def cat_columns(columns: Sequence[Tensor]) -> Tensor:
    """(..., F): numbers (..., f) side by side.

    CUDA does this by one kernel if there are at most four axes, and by one for each tensor if not.
    """
    leading = columns[0].shape[:-1]
    if len(columns) == 1:
        return columns[0]
    if len(leading) < 4:
        return torch.cat(list(columns), -1)
    joined = torch.cat([x.flatten(0, -4) for x in columns], -1)
    return joined.view(*leading, -1)


def stack_columns(columns: Sequence[Tensor]) -> Tensor:
    """(..., F): numbers (...) side by side."""
    return cat_columns([x.unsqueeze(-1) for x in columns])


def _stacked(values: Sequence[Tensor]) -> Tensor:
    """Along a new first axis; a single one without a copy."""
    return torch.stack(list(values)) if len(values) > 1 else values[0].unsqueeze(0)
