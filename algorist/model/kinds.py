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
from enum import Enum, StrEnum
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from algorist.model.exact_sums import CHANGE
from algorist.spec import MASKED, Feature, Kind, Location

TEMPERATURE = 0.1
"""Of the Sinkhorn operator: the lower, the nearer its result is to a permutation."""
SINKHORN_STEPS = 10
"""Iterations inside the decoder."""
FINAL_SINKHORN_STEPS = 50
"""Iterations where a prediction is read."""
VALUE_WEIGHT = 0.2
"""How much the error of a gated scalar's new value counts beside the cross entropy of its gate. At
full weight these errors take most of a clipped gradient, and choices are learnt more slowly."""
HUBER = 0.1
"""Up to which error a gated scalar's loss is a square."""


# Operations of kinds


@dataclass(frozen=True)
class KindOps:
    """The operations of one kind of feature, at any location."""

    dense: Callable[[Tensor, int], Tensor]
    """A truth, on n nodes, in the form of predictions."""
    feedback: Callable[[Tensor, bool], Tensor]
    """A prediction as the next step reads it, softly or hard."""
    final: Callable[[Tensor], Tensor]
    """A prediction as an answer, in the form of batches."""
    loss: Callable[[Tensor, Tensor], Tensor]
    """The loss of each entry of a prediction against a truth."""
    counts: Callable[[Tensor], Tensor]
    """How much each entry of a truth counts."""
    confidence: Callable[[Tensor], Tensor] | None
    """How probable the net holds what it predicts, one number a value; None: it does not say."""


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


def _feed_gated(prediction: Tensor, hard: bool) -> Tensor:
    gate, new, old, _ = prediction.unbind(-1)
    return torch.where(gate > 0, new, old) if hard else old + gate.sigmoid() * (new - old)


def _final_scalar(prediction: Tensor) -> Tensor:
    return prediction.detach()


def _final_gated(prediction: Tensor) -> Tensor:
    return _feed_gated(prediction.detach(), True)


def _final_mask(prediction: Tensor) -> Tensor:
    return (prediction > 0).to(torch.int16)


def _final_choice(prediction: Tensor) -> Tensor:
    return F.one_hot(prediction.argmax(-1), prediction.shape[-1]).to(torch.int16)


def _final_pointer(prediction: Tensor) -> Tensor:
    return prediction.argmax(-1).to(torch.int16)


def _final_permutation(prediction: Tensor) -> Tensor:
    return _final_choice(log_sinkhorn(prediction, FINAL_SINKHORN_STEPS))


def _sure_of_mask(prediction: Tensor) -> Tensor:
    return prediction.abs().sigmoid()  # of 0 or 1, whichever is more probable


def _sure_of_choice(prediction: Tensor) -> Tensor:
    return prediction.softmax(-1).amax(-1)


def _sure_of_permutation(prediction: Tensor) -> Tensor:
    return log_sinkhorn(prediction, FINAL_SINKHORN_STEPS).amax(-1).exp()


def _squared_error(prediction: Tensor, truth: Tensor) -> Tensor:
    return (prediction - truth) ** 2


def _gated_error(axes: int) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss of gated scalars whose location has so many axes.

    The new value counts only where the truth changes, as much in a sample in which one entry
    changes as in one in which all do.
    """

    def loss(prediction: Tensor, truth: Tensor) -> Tensor:
        _, new, old, choice = prediction.unbind(-1)
        changes = ((truth - old).abs() > CHANGE).float()
        error = F.smooth_l1_loss(new, truth, reduction="none", beta=HUBER)
        if axes:
            over = tuple(range(-axes, 0))
            changes_per_entry = changes.mean(over, keepdim=True)
            error = error / changes_per_entry.clamp(min=CHANGE)
        return choice + VALUE_WEIGHT * changes * error

    return loss


def _binary_cross_entropy(prediction: Tensor, truth: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(prediction, truth.float(), reduction="none")


def _cross_entropy(prediction: Tensor, truth: Tensor) -> Tensor:
    return -(truth.clamp(min=0) * prediction.log_softmax(-1)).sum(-1)


def _pointer_cross_entropy(prediction: Tensor, truth: Tensor) -> Tensor:
    chosen = prediction.gather(-1, truth.long().unsqueeze(-1)).squeeze(-1)
    return prediction.logsumexp(-1) - chosen


def _permutation_cross_entropy(prediction: Tensor, truth: Tensor) -> Tensor:
    return -(truth * prediction).sum(-1)


def _all(truth: Tensor) -> Tensor:
    return torch.ones_like(truth, dtype=torch.float32)


def _unmasked(truth: Tensor) -> Tensor:
    return (truth != MASKED).float()


def _chosen(truth: Tensor) -> Tensor:
    return (truth == 1).any(-1).float()


def _all_rows(truth: Tensor) -> Tensor:
    return _all(truth[..., 0])


def log_sinkhorn(
    scores: Tensor, steps: int, noise: Tensor | None = None, *, fused: bool = False
) -> Tensor:
    """The logarithm of a doubly stochastic matrix with an empty diagonal (paper, section 3.2.2)."""
    if fused:
        from algorist.kernels.fused import sinkhorn

        return sinkhorn.log_sinkhorn(scores, steps, TEMPERATURE, noise)
    if noise is not None:
        scores = scores + noise
    scores = scores / TEMPERATURE - 1e6 * torch.eye(scores.shape[-1], device=scores.device)
    for _ in range(steps):
        scores = scores.log_softmax(-1).log_softmax(-2)
    return scores


_SCALAR = KindOps(_as_number, _feed_scalar, _final_scalar, _squared_error, _all, None)
_GATED = {
    location: KindOps(_as_number, _feed_gated, _final_gated, _gated_error(axes), _all, None)
    for location, axes in ((Location.NODE, 1), (Location.EDGE, 2), (Location.GRAPH, 0))
}
"""A prediction is (..., 4): the logit of a change, the new value, the old one, and in training the
loss of the terms that the new value is made of."""
_MASK = KindOps(
    _as_number, _feed_mask, _final_mask, _binary_cross_entropy, _unmasked, _sure_of_mask
)
_ONE_HOT = KindOps(
    _as_number, _feed_choice, _final_choice, _cross_entropy, _chosen, _sure_of_choice
)
_POINTER = KindOps(
    _as_one_hot, _feed_choice, _final_pointer, _pointer_cross_entropy, _all, _sure_of_choice
)
_PERMUTATION = KindOps(
    _as_number,
    _feed_permutation,
    _final_permutation,
    _permutation_cross_entropy,
    _all_rows,
    _sure_of_permutation,
)


# Decoder types: how values enter and leave the net


class Reads(StrEnum):
    """What a decoder's map reads."""

    NODE = "node"  # a node's encoding, its old and its new state
    EDGE = "edge"  # an edge's encoding and its triplets
    POOLED = "pooled"  # the largest over all nodes of what NODE reads
    GRAPH = "graph"  # the graph's encoding
    SCORE = "score"  # the decoder's own inner values: this map turns them into one number


_FROM_ENDS = {"source": Reads.NODE, "target": Reads.NODE, "edge": Reads.EDGE}


class DecoderType(Enum):
    """What predictions are made of: one number or class for each, or a choice among nodes."""

    NODE = "node"
    POINTER = "pointer"
    EDGE = "edge"
    EDGE_POINTER = "edge_pointer"
    GRAPH = "graph"
    GATED_NODE = "gated_node"
    GATED_EDGE = "gated_edge"
    GATED_GRAPH = "gated_graph"

    @property
    def encode_location(self) -> Location:
        """Where the encoding is added: a node's pointers are features of edges."""
        return {
            DecoderType.NODE: Location.NODE,
            DecoderType.GATED_NODE: Location.NODE,
            DecoderType.GRAPH: Location.GRAPH,
            DecoderType.GATED_GRAPH: Location.GRAPH,
        }.get(self, Location.EDGE)

    @property
    def points(self) -> bool:
        """Whether the prediction is a choice among nodes, for each node or edge."""
        return self in (DecoderType.POINTER, DecoderType.EDGE_POINTER)

    @property
    def reads(self) -> Mapping[str, Reads]:
        """The decoder's maps by name, and what each reads."""
        return {
            DecoderType.NODE: {"value": Reads.NODE},
            DecoderType.POINTER: {**_FROM_ENDS, "score": Reads.SCORE},
            DecoderType.EDGE: _FROM_ENDS,
            DecoderType.EDGE_POINTER: {**_FROM_ENDS, "pointee": Reads.NODE, "score": Reads.SCORE},
            DecoderType.GRAPH: {"pooled": Reads.POOLED, "graph": Reads.GRAPH},
        }[self]


def raw_width(feature: Feature) -> int:
    """How many raw numbers a feature gives each node, edge or graph that it lands on."""
    if row(feature).form == DecoderType.EDGE_POINTER:
        return 2  # seen from both ends
    return feature.classes or 1


def connecting(feature: Feature) -> float | None:
    """Above which sum over both directions its numbers make two nodes adjacent; None for never."""
    form = row(feature).form
    if form == DecoderType.EDGE and feature.kind == Kind.MASK:
        return 0.0
    return 0.5 if form == DecoderType.POINTER else None


def raw_numbers(feature: Feature, dense: Tensor) -> Tensor:
    """The raw numbers of a dense value, channels last."""
    if row(feature).form == DecoderType.EDGE_POINTER:  # (i, j, k), averaged over i and over j
        return torch.stack((dense.mean(-3), dense.mean(-2)), -1)
    if feature.kind == Kind.GATED_SCALAR:
        dense = squash(dense)
    return dense if feature.classes else dense.unsqueeze(-1)


def dense_shape(feature: Feature, n: int) -> tuple[int, ...]:
    """The shape of one dense value on `n` nodes: pointers have a number for each node."""
    shape = feature.shape(n)
    return (*shape, n) if feature.kind == Kind.POINTER else shape


def keep_masked(feature: Feature, old: Tensor, new: Tensor) -> Tensor:
    """New dense values, but the old ones where these do not count, of kinds that may not."""
    if feature.kind not in (Kind.MASK, Kind.CATEGORICAL):
        return new
    masked = old == MASKED
    return torch.where(masked.any(-1, keepdim=True) if feature.classes else masked, old, new)


def squash(x: Tensor) -> Tensor:
    """The identity up to 1, beyond that the logarithm: counts grow with the problem."""
    return torch.where(x.abs() <= 1, x, x.sign() * (1 + x.abs().clamp(min=1).log()))


# How decoders finish predictions


class Ending(NamedTuple):
    """What finished predictions depend on, beside the raw ones."""

    adjacency: Tensor | None = None  # (S, B, n, n), where that rules out pairs
    noise: Tensor | None = None  # (S, E, n, n), for permutations
    fused: bool = False  # whether fused kernels shall compute them


Finish = Callable[[Tensor, Ending], Tensor]
"""(raw prediction, what else counts) -> prediction."""


def _as_it_is(prediction: Tensor, ending: Ending) -> Tensor:
    return prediction


def _along_edges(scores: Tensor, ending: Ending) -> Tensor:
    """Push the scores of pairs that are not edges below all others of the sample."""
    if ending.adjacency is None:
        return scores
    lowest = scores.amin((2, 3), keepdim=True)
    return torch.where(ending.adjacency > 0.5, scores, (lowest - 1).clamp(max=-1.0))


def _permutation(scores: Tensor, ending: Ending) -> Tensor:
    scores = _along_edges(scores, ending)
    return log_sinkhorn(scores, SINKHORN_STEPS, ending.noise, fused=ending.fused)


class Row(NamedTuple):
    """All that the learner knows about one (location, kind)."""

    form: DecoderType
    ops: KindOps
    finish: Finish = _as_it_is


_NODE, _EDGE, _GRAPH = Location.NODE, Location.EDGE, Location.GRAPH

TABLE: dict[tuple[Location, Kind], Row] = {
    (_NODE, Kind.SCALAR): Row(DecoderType.NODE, _SCALAR),
    (_NODE, Kind.MASK): Row(DecoderType.NODE, _MASK),
    (_NODE, Kind.MASK_ONE): Row(DecoderType.NODE, _ONE_HOT),
    (_NODE, Kind.CATEGORICAL): Row(DecoderType.NODE, _ONE_HOT),
    (_NODE, Kind.POINTER): Row(DecoderType.POINTER, _POINTER, _along_edges),
    (_NODE, Kind.PERMUTATION_POINTER): Row(DecoderType.POINTER, _PERMUTATION, _permutation),
    (_EDGE, Kind.SCALAR): Row(DecoderType.EDGE, _SCALAR),
    (_EDGE, Kind.MASK): Row(DecoderType.EDGE, _MASK, _along_edges),
    (_EDGE, Kind.CATEGORICAL): Row(DecoderType.EDGE, _ONE_HOT),
    (_EDGE, Kind.POINTER): Row(DecoderType.EDGE_POINTER, _POINTER),
    (_GRAPH, Kind.SCALAR): Row(DecoderType.GRAPH, _SCALAR),
    (_GRAPH, Kind.MASK): Row(DecoderType.GRAPH, _MASK),
    (_GRAPH, Kind.CATEGORICAL): Row(DecoderType.GRAPH, _ONE_HOT),
    (_NODE, Kind.GATED_SCALAR): Row(DecoderType.GATED_NODE, _GATED[_NODE]),
    (_EDGE, Kind.GATED_SCALAR): Row(DecoderType.GATED_EDGE, _GATED[_EDGE]),
    (_GRAPH, Kind.GATED_SCALAR): Row(DecoderType.GATED_GRAPH, _GATED[_GRAPH]),
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
