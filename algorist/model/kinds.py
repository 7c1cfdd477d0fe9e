"""The table of kinds: how each (location, kind) of feature is encoded, decoded, fed back and
trained. A new kind is a new row.

Truths come as batches hold them. To be read by the net they become *dense*, the form of
predictions: scalars and masks as they are, one-hot kinds as vectors over their classes or nodes,
pointers as one such vector for each place that points. Values have any leading axes, then the nodes
of their location, then what the kind adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from algorist.kernels import plain
from algorist.kernels.affine import Affine, product
from algorist.kernels.ops import Pointer, Triplets
from algorist.spec import MASKED, Feature, Kind, Location

TEMPERATURE = 0.1
"""Of the Sinkhorn operator: the lower, the nearer its result is to a permutation."""
SINKHORN_STEPS = 10
"""Iterations inside the decoder."""
FINAL_SINKHORN_STEPS = 50
"""Iterations where a prediction is read."""


# Meanings: what the numbers of a kind are


@dataclass(frozen=True)
class Meaning:
    """What one kind of feature means, wherever it sits."""

    dense: Callable[[Tensor, int], Tensor]
    """A truth, on n nodes, in the form of predictions."""
    feedback: Callable[[Tensor, bool], Tensor]
    """A prediction as the next step reads it, softly or hard."""
    loss: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
    """The loss of each entry of a prediction against a truth, and how much each counts."""


def _as_number(truth: Tensor, n: int) -> Tensor:
    return truth.float()


def _as_one_hot(truth: Tensor, n: int) -> Tensor:
    return F.one_hot(truth.long(), n).float()


def _feed_scalar(prediction: Tensor, hard: bool) -> Tensor:
    return prediction.detach() if hard else prediction


def _feed_mask(prediction: Tensor, hard: bool) -> Tensor:
    return (prediction > 0).float() if hard else prediction.sigmoid()


def _feed_choice(prediction: Tensor, hard: bool) -> Tensor:
    if hard:
        return _as_one_hot(prediction.argmax(-1), prediction.shape[-1])
    return prediction.softmax(-1)


def _feed_permutation(prediction: Tensor, hard: bool) -> Tensor:
    matrix = log_sinkhorn(prediction, FINAL_SINKHORN_STEPS)
    return _as_one_hot(matrix.argmax(-1), matrix.shape[-1]) if hard else matrix.exp()


def _squared_error(prediction: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    loss = (prediction - truth) ** 2
    return loss, torch.ones_like(loss)


def _binary_cross_entropy(prediction: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    loss = F.binary_cross_entropy_with_logits(prediction, truth.float(), reduction="none")
    return loss, (truth != MASKED).float()


def _cross_entropy(prediction: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    loss = -(truth.clamp(min=0) * prediction.log_softmax(-1)).sum(-1)
    return loss, (truth == 1).any(-1).float()


def _pointer_cross_entropy(prediction: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    chosen = prediction.gather(-1, truth.long().unsqueeze(-1)).squeeze(-1)
    loss = prediction.logsumexp(-1) - chosen
    return loss, torch.ones_like(loss)


def _permutation_cross_entropy(prediction: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    loss = -(truth * prediction).sum(-1)
    return loss, torch.ones_like(loss)


def log_sinkhorn(scores: Tensor, steps: int, noise: Tensor | None = None) -> Tensor:
    """The logarithm of a doubly stochastic matrix with an empty diagonal (paper, section 3.2.2)."""
    if noise is not None:
        scores = scores + noise
    scores = scores / TEMPERATURE - 1e6 * torch.eye(scores.shape[-1], device=scores.device)
    for _ in range(steps):
        scores = scores.log_softmax(-1).log_softmax(-2)
    return scores


_SCALAR = Meaning(_as_number, _feed_scalar, _squared_error)
_MASK = Meaning(_as_number, _feed_mask, _binary_cross_entropy)
_ONE_HOT = Meaning(_as_number, _feed_choice, _cross_entropy)
_POINTER = Meaning(_as_one_hot, _feed_choice, _pointer_cross_entropy)
_PERMUTATION = Meaning(_as_number, _feed_permutation, _permutation_cross_entropy)


# Places: how values enter and leave the net


class Reads(StrEnum):
    """What a decoder's map reads."""

    NODE = "node"  # a node's encoding, its old and its new state
    EDGE = "edge"  # an edge's encoding and its triplets
    POOLED = "pooled"  # the largest over all nodes of what NODE reads
    GRAPH = "graph"  # the graph's encoding
    SCORE = "score"  # the decoder's own inner values: this map turns them into one number


class EdgeMap(NamedTuple):
    """A decoder's map of edges: weights of raw numbers and of triplets, and what is constant.

    The constant is added where the edge's target is mapped.
    """

    edge: Tensor
    triplet: Tensor
    bias: Tensor


class Evidence(NamedTuple):
    """What decoders read beside nodes and graph."""

    raw: Tensor  # (S, B, n, n, F): the numbers that edges are encoded from
    triplets: Triplets | None
    adjacency: Tensor | None  # (S, B, n, n), for processors that rule out what is not an edge
    noise: Tensor | None = None  # (S, B, n, n), Gumbel noise for permutations


class Projections(NamedTuple):
    """The values of a decoder's maps of nodes and graph, and what it does with edges."""

    values: Mapping[str, Tensor]
    edge: EdgeMap | None
    score: Affine | None  # the last map of pointers of edges
    pointer: Pointer | None  # the whole operation, for pointers of nodes


@dataclass(frozen=True)
class Place:
    """How values of one location enter and leave the net."""

    lands: Location
    """Where the encoding is added: a node's pointers are features of edges."""
    raw: Callable[[Tensor], Tensor]
    """The raw numbers of a dense value, channels last."""
    channels: int
    """How many there are for each node, edge or graph; 0 for as many as there are classes."""
    reads: Mapping[str, Reads]
    """The decoder's maps by name, and what each reads."""
    decode: Callable[[Projections, Evidence], Tensor]
    """The prediction, raw: logits where it stands for choices."""
    pointing: bool = False
    """Whether the decoder is that of pointers between nodes, an operation of its own."""

    @property
    def wide(self) -> bool:
        """Whether the maps keep the hidden width, for a last map to score."""
        return Reads.SCORE in self.reads.values()


def _one_channel(dense: Tensor) -> Tensor:
    return dense.unsqueeze(-1)


def _as_channels(dense: Tensor) -> Tensor:
    return dense


def _seen_from_both_ends(dense: Tensor) -> Tensor:
    """An edge's pointers (i, j, k), averaged over i and over j."""
    return torch.stack((dense.mean(-3), dense.mean(-2)), -1)


def _decode_value(projections: Projections, evidence: Evidence) -> Tensor:
    return projections.values["value"].squeeze(-1)


def _decode_classes(projections: Projections, evidence: Evidence) -> Tensor:
    return projections.values["value"]


def _decode_pointer(projections: Projections, evidence: Evidence) -> Tensor:
    values = projections.values
    scores = projections.pointer(
        values["source"], values["target"], evidence.raw, evidence.triplets
    )
    return _edges_only(scores, evidence.adjacency)


def _decode_permutation(projections: Projections, evidence: Evidence) -> Tensor:
    return log_sinkhorn(_decode_pointer(projections, evidence), SINKHORN_STEPS, evidence.noise)


def _decode_edge_classes(projections: Projections, evidence: Evidence) -> Tensor:
    values, maps = projections.values, projections.edge
    pairs = values["source"].unsqueeze(3) + values["target"].unsqueeze(2)
    pairs = pairs + product(evidence.raw, maps.edge)
    if evidence.triplets is None:
        return pairs
    return pairs + product(evidence.triplets.wide, maps.triplet)


def _decode_edge_value(projections: Projections, evidence: Evidence) -> Tensor:
    return _decode_edge_classes(projections, evidence).squeeze(-1)


def _decode_edge_mask(projections: Projections, evidence: Evidence) -> Tensor:
    return _edges_only(_decode_edge_value(projections, evidence), evidence.adjacency)


def _decode_edge_pointer(projections: Projections, evidence: Evidence) -> Tensor:
    pair = _decode_edge_classes(projections, evidence)
    return plain.edge_pointer_scores(pair, projections.values["pointee"], projections.score)


def _decode_graph_classes(projections: Projections, evidence: Evidence) -> Tensor:
    return projections.values["pooled"] + projections.values["graph"]


def _decode_graph_value(projections: Projections, evidence: Evidence) -> Tensor:
    return _decode_graph_classes(projections, evidence).squeeze(-1)


def _edges_only(scores: Tensor, adjacency: Tensor | None) -> Tensor:
    """Push the scores of pairs that are not edges below all others of the sample."""
    if adjacency is None:
        return scores
    lowest = scores.amin((2, 3), keepdim=True)
    return torch.where(adjacency > 0.5, scores, (lowest - 1).clamp(max=-1.0))


_FROM_NODE = {"value": Reads.NODE}
_FROM_ENDS = {"source": Reads.NODE, "target": Reads.NODE, "edge": Reads.EDGE}
_POINTING = {**_FROM_ENDS, "score": Reads.SCORE}
_EDGE_POINTING = {**_FROM_ENDS, "pointee": Reads.NODE, "score": Reads.SCORE}
_FROM_GRAPH = {"pooled": Reads.POOLED, "graph": Reads.GRAPH}

_NODE, _EDGE, _GRAPH = Location.NODE, Location.EDGE, Location.GRAPH
_NODE_VALUE = Place(_NODE, _one_channel, 1, _FROM_NODE, _decode_value)
_NODE_CLASSES = Place(_NODE, _as_channels, 0, _FROM_NODE, _decode_classes)
_NODE_POINTER = Place(_EDGE, _one_channel, 1, _POINTING, _decode_pointer, pointing=True)
_NODE_PERMUTATION = Place(_EDGE, _one_channel, 1, _POINTING, _decode_permutation, pointing=True)
_EDGE_VALUE = Place(_EDGE, _one_channel, 1, _FROM_ENDS, _decode_edge_value)
_EDGE_MASK = Place(_EDGE, _one_channel, 1, _FROM_ENDS, _decode_edge_mask)
_EDGE_CLASSES = Place(_EDGE, _as_channels, 0, _FROM_ENDS, _decode_edge_classes)
_EDGE_POINTER = Place(_EDGE, _seen_from_both_ends, 2, _EDGE_POINTING, _decode_edge_pointer)
_GRAPH_VALUE = Place(_GRAPH, _one_channel, 1, _FROM_GRAPH, _decode_graph_value)
_GRAPH_CLASSES = Place(_GRAPH, _as_channels, 0, _FROM_GRAPH, _decode_graph_classes)


class Row(NamedTuple):
    """All that the learner knows about one (location, kind)."""

    place: Place
    meaning: Meaning


TABLE: dict[tuple[Location, Kind], Row] = {
    (_NODE, Kind.SCALAR): Row(_NODE_VALUE, _SCALAR),
    (_NODE, Kind.MASK): Row(_NODE_VALUE, _MASK),
    (_NODE, Kind.MASK_ONE): Row(_NODE_VALUE, _ONE_HOT),
    (_NODE, Kind.CATEGORICAL): Row(_NODE_CLASSES, _ONE_HOT),
    (_NODE, Kind.POINTER): Row(_NODE_POINTER, _POINTER),
    (_NODE, Kind.PERMUTATION_POINTER): Row(_NODE_PERMUTATION, _PERMUTATION),
    (_EDGE, Kind.SCALAR): Row(_EDGE_VALUE, _SCALAR),
    (_EDGE, Kind.MASK): Row(_EDGE_MASK, _MASK),
    (_EDGE, Kind.CATEGORICAL): Row(_EDGE_CLASSES, _ONE_HOT),
    (_EDGE, Kind.POINTER): Row(_EDGE_POINTER, _POINTER),
    (_GRAPH, Kind.SCALAR): Row(_GRAPH_VALUE, _SCALAR),
    (_GRAPH, Kind.MASK): Row(_GRAPH_VALUE, _MASK),
    (_GRAPH, Kind.CATEGORICAL): Row(_GRAPH_CLASSES, _ONE_HOT),
}


def row(feature: Feature) -> Row:
    """The row of a feature."""
    try:
        return TABLE[feature.location, feature.kind]
    except KeyError:
        raise ValueError(
            f"feature {feature.name!r}: no model reads {feature.location} {feature.kind}, "
            "expected one of " + ", ".join(f"{location} {kind}" for location, kind in TABLE)
        ) from None
