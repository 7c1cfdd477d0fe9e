"""The values of features as the net reads them: one-hot, and as the raw numbers of encoders.

Batches hold truths compactly. The net reads them *one-hot*, in the form of predictions: scalars and
masks as they are, choices as one-hot vectors over classes or nodes (of its own soft predictions, as
probabilities), pointers as one such vector for each node or edge that points. Values have any
leading axes, then the nodes of their location, then the axis that the kind adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from algorist.model.decoders import DecoderType
from algorist.model.grouped import map_features
from algorist.model.kinds import row
from algorist.spec import MASKED, Feature, Kind


def one_hot_values(
    features: Sequence[Feature], truths: Mapping[str, Tensor], n: int
) -> dict[str, Tensor]:
    """Truths in the form of predictions."""
    return map_features(lambda f, truth: row(f).ops.one_hot(truth, n), features, truths)


def one_hot_shape(feature: Feature, n: int) -> tuple[int, ...]:
    """The shape of a one-hot value on `n` nodes: pointers have a number for each node."""
    shape = feature.shape(n)
    return (*shape, n) if feature.kind == Kind.POINTER else shape


def may_be_masked(feature: Feature) -> bool:
    """Whether some entries of a feature may not count: they have the value `MASKED`."""
    return feature.kind in (Kind.MASK, Kind.CATEGORICAL)


def keep_masked(feature: Feature, old: Tensor, new: Tensor) -> Tensor:
    """The new one-hot values, except where the old ones are masked: masked entries stay masked."""
    if not may_be_masked(feature):
        return new
    masked = old == MASKED
    return torch.where(masked.any(-1, keepdim=True) if feature.classes else masked, old, new)


def raw_width(feature: Feature) -> int:
    """The number of raw numbers that a feature adds to each node, edge or graph."""
    if row(feature).decoder_type == DecoderType.EDGE_POINTER:
        return 2  # seen from both ends
    return feature.classes or 1


def raw_numbers(feature: Feature, value: Tensor) -> Tensor:
    """The raw numbers of a one-hot value, channels last."""
    if row(feature).decoder_type == DecoderType.EDGE_POINTER:  # (i, j, k): means over i and over j
        return torch.stack((value.mean(-3), value.mean(-2)), -1)
    if feature.kind == Kind.GATED_SCALAR:
        value = squash(value)
    return value if feature.classes else value.unsqueeze(-1)


def encoder_inputs(
    features: Sequence[Feature], values: Mapping[str, Tensor], *, squash_scalars: bool = False
) -> dict[str, Tensor]:
    """The raw numbers of all features; with `squash_scalars`, scalars grow slowly above 1."""
    raw = {f.name: raw_numbers(f, values[f.name]) for f in features}
    scalars = [f.name for f in features if squash_scalars and f.kind == Kind.SCALAR]
    return raw | {name: squash(raw[name]) for name in scalars}


def squash(x: Tensor) -> Tensor:
    """x up to 1, sign(x) (1 + log |x|) beyond: counts grow with the size of the problem."""
    beyond = x.abs().clamp(min=1).log()
    return x.clamp(-1, 1) + beyond.copysign(x)


def adjacency_threshold(feature: Feature) -> float | None:
    """The threshold above which the sum of a feature over both directions makes two nodes adjacent.

    None for features that connect no nodes.
    """
    decoder_type = row(feature).decoder_type
    if decoder_type == DecoderType.EDGE and feature.kind == Kind.MASK:
        return 0.0
    return 0.5 if decoder_type == DecoderType.POINTER else None


def adjacency(features: Sequence[Feature], values: Mapping[str, Tensor]) -> list[Tensor]:
    """The pairs of nodes that features connect, in either direction."""
    limits = ((values[f.name], adjacency_threshold(f)) for f in features)
    return [value + value.mT > limit for value, limit in limits if limit is not None]
