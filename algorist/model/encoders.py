"""Encoding: from features to the raw numbers that describe nodes, edges and graph, and the maps
that turn these into vectors.

All encoders of one location read different numbers and their results are added, so together they
are one map of all the numbers side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from algorist.model import kinds
from algorist.model.kinds import row
from algorist.model.layers import Linear
from algorist.spec import Feature, Kind, Location, Stage

Dense = Mapping[str, Tensor]
"""Values in the form of predictions, by the names of their features."""


def encoder(feature: Feature, replicas: int, hidden: int, *, xavier: bool) -> Linear:
    """A new encoder; `xavier` tames that of a scalar hint (paper, section 3.2.1)."""
    spread = None if feature.classes else 1.0  # each number as if it had a map of its own
    if xavier and feature.stage == Stage.HINT and feature.kind == Kind.SCALAR:
        spread = hidden**-0.5
    return Linear(replicas, kinds.raw_width(feature), hidden, spread=spread)


def dense(features: Sequence[Feature], truths: Mapping[str, Tensor], n: int) -> dict[str, Tensor]:
    """Truths in the form of predictions."""
    return {f.name: row(f).ops.dense(truths[f.name], n) for f in features}


def raw_numbers(features: Sequence[Feature], values: Dense) -> dict[Location, list[Tensor]]:
    """The raw numbers of each feature, by the location where they land."""
    raw: dict[Location, list[Tensor]] = {location: [] for location in Location}
    for feature in features:
        value = kinds.raw_numbers(feature, values[feature.name])
        raw[row(feature).form.encode_location].append(value)
    return raw


def adjacency(features: Sequence[Feature], values: Dense) -> list[Tensor]:
    """Which pairs of nodes each feature connects, in either direction."""
    limits = ((values[f.name], kinds.connecting(f)) for f in features)
    return [value + value.mT > limit for value, limit in limits if limit is not None]
