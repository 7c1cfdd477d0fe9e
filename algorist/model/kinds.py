"""The table of kinds: how each (location, kind) of feature is encoded, decoded, fed back and
trained. To add a kind, add a row here, and its operations to `kind_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.model import kind_ops
from algorist.model.decoders import DecoderType
from algorist.model.kind_ops import KindOps
from algorist.model.sinkhorn import SINKHORN_STEPS, log_sinkhorn
from algorist.spec import Feature, Kind, Location


class PostprocessInputs(NamedTuple):
    """What postprocessing reads beside a raw prediction."""

    adjacency: Tensor | None = None  # (S, B, n, n), where pairs that are not edges are ruled out
    noise: Tensor | None = None  # (S, E, n, n), Gumbel noise for permutations
    fused: bool = False  # whether to use fused kernels


Postprocess = Callable[[Tensor, PostprocessInputs], Tensor]
"""(raw prediction, what else it depends on) -> prediction."""


def _identity(prediction: Tensor, inputs: PostprocessInputs) -> Tensor:
    return prediction


def _lower_non_edges(scores: Tensor, inputs: PostprocessInputs) -> Tensor:
    """The scores, with those of pairs that are not edges below all others of the sample."""
    if inputs.adjacency is None:
        return scores
    lowest = scores.amin((2, 3), keepdim=True)
    return torch.where(inputs.adjacency > 0.5, scores, (lowest - 1).clamp(max=-1.0))


def _sinkhorn(scores: Tensor, inputs: PostprocessInputs) -> Tensor:
    scores = _lower_non_edges(scores, inputs)
    return log_sinkhorn(scores, SINKHORN_STEPS, inputs.noise, fused=inputs.fused)


class Row(NamedTuple):
    """How one (location, kind) is decoded, and its operations."""

    decoder_type: DecoderType
    ops: KindOps
    postprocess: Postprocess = _identity


_NODE, _EDGE, _GRAPH = Location.NODE, Location.EDGE, Location.GRAPH

TABLE: dict[tuple[Location, Kind], Row] = {
    (_NODE, Kind.SCALAR): Row(DecoderType.NODE, kind_ops.SCALAR),
    (_NODE, Kind.MASK): Row(DecoderType.NODE, kind_ops.MASK),
    (_NODE, Kind.MASK_ONE): Row(DecoderType.NODE, kind_ops.ONE_HOT),
    (_NODE, Kind.CATEGORICAL): Row(DecoderType.NODE, kind_ops.ONE_HOT),
    (_NODE, Kind.POINTER): Row(DecoderType.POINTER, kind_ops.POINTER, _lower_non_edges),
    (_NODE, Kind.PERMUTATION_POINTER): Row(DecoderType.POINTER, kind_ops.PERMUTATION, _sinkhorn),
    (_EDGE, Kind.SCALAR): Row(DecoderType.EDGE, kind_ops.SCALAR),
    (_EDGE, Kind.MASK): Row(DecoderType.EDGE, kind_ops.MASK, _lower_non_edges),
    (_EDGE, Kind.CATEGORICAL): Row(DecoderType.EDGE, kind_ops.ONE_HOT),
    (_EDGE, Kind.POINTER): Row(DecoderType.EDGE_POINTER, kind_ops.POINTER),
    (_GRAPH, Kind.SCALAR): Row(DecoderType.GRAPH, kind_ops.SCALAR),
    (_GRAPH, Kind.MASK): Row(DecoderType.GRAPH, kind_ops.MASK),
    (_GRAPH, Kind.CATEGORICAL): Row(DecoderType.GRAPH, kind_ops.ONE_HOT),
    (_NODE, Kind.GATED_SCALAR): Row(DecoderType.GATED_NODE, kind_ops.GATED[_NODE]),
    (_EDGE, Kind.GATED_SCALAR): Row(DecoderType.GATED_EDGE, kind_ops.GATED[_EDGE]),
    (_GRAPH, Kind.GATED_SCALAR): Row(DecoderType.GATED_GRAPH, kind_ops.GATED[_GRAPH]),
}


def row(feature: Feature) -> Row:
    """The row of a feature; raises a `ValueError` if the table has none."""
    try:
        return TABLE[feature.location, feature.kind]
    except KeyError:
        raise ValueError(
            f"feature {feature.name!r}: no model reads {feature.location} {feature.kind}, "
            "expected one of " + ", ".join(f"{location} {kind}" for location, kind in TABLE)
        ) from None
