"""Few large operations instead of many small ones, which take longer to launch than to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

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
        groups.setdefault((f.stage, f.location, f.kind, f.classes), []).append(f)
    found: dict[str, Tensor] = {}
    for group in groups.values():
        own = ({f.name: x[f.name] for f in group} for x in values)
        found |= map_alike(partial(function, group[0]), *own)
    return {f.name: found[f.name] for f in features}


def map_alike(function: Callable[..., Tensor], *values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A function of the values of each name; it is called once for all of the same shapes, with
    values along a new first axis, which its result must have, too."""
    groups: dict[object, list[str]] = {}
    for name in values[0]:
        groups.setdefault(tuple(x[name].shape for x in values), []).append(name)
    found: dict[str, Tensor] = {}
    for names in groups.values():
        results = function(*(stack_values([x[name] for name in names]) for x in values))
        found |= zip(names, results.unbind(), strict=True)
    return {name: found[name] for name in values[0]}


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


def split_columns(x: Tensor, widths: Sequence[int]) -> Sequence[Tensor]:
    """Numbers (..., F) as parts (..., f) of these widths, the opposite of `cat_columns`."""
    parts = torch.split(x.flatten(0, -4) if x.ndim > 4 else x, list(widths), -1)
    return [part.view(*x.shape[:-1], -1) for part in parts]


def stack_values(values: Sequence[Tensor]) -> Tensor:
    """Along a new first axis; a single one without a copy."""
    return torch.stack(list(values)) if len(values) > 1 else values[0].unsqueeze(0)
