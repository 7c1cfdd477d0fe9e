"""What the net does with values of each kind: one-hot form, feedback, answers, loss, confidence.

`kinds.py` is the table that assigns them to locations and kinds. A prediction has any leading axes,
then the nodes of its location, then the classes or nodes to choose from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from algorist.model.executing.exact_sums import CHANGE
from algorist.model.sinkhorn import FINAL_SINKHORN_STEPS, log_sinkhorn
from algorist.spec import MASKED, Location

VALUE_WEIGHT = 0.2
"""The weight of a gated scalar's new value in the loss, beside the cross entropy of its gate. At
full weight these errors take most of a clipped gradient, and choices are learnt more slowly."""
HUBER_BETA = 0.1
"""The error up to which the loss of a gated scalar's new value is quadratic."""


@dataclass(frozen=True)
class KindOps:
    """The operations of one kind of feature, at any location."""

    one_hot: Callable[[Tensor, int], Tensor]
    """(truth, number of nodes) -> the truth in the form of predictions."""
    feedback: Callable[[Tensor, bool], Tensor]
    """(prediction, hard) -> the values that the next step reads: soft, or rounded if `hard`."""
    final: Callable[[Tensor], Tensor]
    """Prediction -> the answer, in the form of batches."""
    loss: Callable[[Tensor, Tensor], Tensor]
    """(prediction, truth) -> the loss of each entry."""
    weights: Callable[[Tensor], Tensor]
    """Truth -> the weight of each entry in the loss: 0 where it is masked, else 1."""
    confidence: Callable[[Tensor], Tensor] | None
    """Prediction -> the probability of each answer; None for scalars, which have none."""


def _to_float(truth: Tensor, n: int) -> Tensor:
    return truth.float()


def _to_one_hot(truth: Tensor, n: int) -> Tensor:
    return (truth.unsqueeze(-1) == torch.arange(n, device=truth.device)).float()


def _scalar_feedback(prediction: Tensor, hard: bool) -> Tensor:
    return prediction.detach() if hard else prediction


def _mask_feedback(prediction: Tensor, hard: bool) -> Tensor:
    return (prediction > 0).float() if hard else prediction.sigmoid()


def _choice_feedback(prediction: Tensor, hard: bool) -> Tensor:
    if hard:
        return _to_one_hot(prediction.argmax(-1), prediction.shape[-1])
    return prediction.softmax(-1)


def _permutation_feedback(prediction: Tensor, hard: bool) -> Tensor:
    matrix = log_sinkhorn(prediction, FINAL_SINKHORN_STEPS)
    return _to_one_hot(matrix.argmax(-1), matrix.shape[-1]) if hard else matrix.exp()


def _gated_feedback(prediction: Tensor, hard: bool) -> Tensor:
    gate, new, old, _ = prediction.unbind(-1)
    return torch.where(gate > 0, new, old) if hard else old + gate.sigmoid() * (new - old)


def _scalar_answer(prediction: Tensor) -> Tensor:
    return prediction.detach()


def _gated_answer(prediction: Tensor) -> Tensor:
    return _gated_feedback(prediction.detach(), True)


def _mask_answer(prediction: Tensor) -> Tensor:
    return (prediction > 0).to(torch.int16)


def _choice_answer(prediction: Tensor) -> Tensor:
    return F.one_hot(prediction.argmax(-1), prediction.shape[-1]).to(torch.int16)


def _pointer_answer(prediction: Tensor) -> Tensor:
    return prediction.argmax(-1).to(torch.int16)


def _permutation_answer(prediction: Tensor) -> Tensor:
    return _choice_answer(log_sinkhorn(prediction, FINAL_SINKHORN_STEPS))


def _mask_confidence(prediction: Tensor) -> Tensor:
    return prediction.abs().sigmoid()  # of 0 or 1, whichever is more probable


def _choice_confidence(prediction: Tensor) -> Tensor:
    return prediction.softmax(-1).amax(-1)


def _permutation_confidence(prediction: Tensor) -> Tensor:
    return log_sinkhorn(prediction, FINAL_SINKHORN_STEPS).amax(-1).exp()


def _squared_error(prediction: Tensor, truth: Tensor) -> Tensor:
    return (prediction - truth) ** 2


def _gated_error(axes: int) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss of gated scalars whose location has `axes` axes of nodes.

    The new value counts only where the truth changes. Samples count alike, whether one entry
    changes or all do.
    """

    def loss(prediction: Tensor, truth: Tensor) -> Tensor:
        _, new, old, choice = prediction.unbind(-1)
        changes = ((truth - old).abs() > CHANGE).float()
        error = F.smooth_l1_loss(new, truth, reduction="none", beta=HUBER_BETA)
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
    return -prediction.log_softmax(-1).gather(-1, truth.long().unsqueeze(-1)).squeeze(-1)


def _permutation_cross_entropy(prediction: Tensor, truth: Tensor) -> Tensor:
    return -(truth * prediction).sum(-1)


def _equal_weights(truth: Tensor) -> Tensor:
    return torch.ones_like(truth, dtype=torch.float32)


def _unmasked_weights(truth: Tensor) -> Tensor:
    return (truth != MASKED).float()


def _chosen_weights(truth: Tensor) -> Tensor:
    return (truth == 1).any(-1).float()


def _row_weights(truth: Tensor) -> Tensor:
    return _equal_weights(truth[..., 0])


SCALAR = KindOps(_to_float, _scalar_feedback, _scalar_answer, _squared_error, _equal_weights, None)
GATED = {
    location: KindOps(
        _to_float, _gated_feedback, _gated_answer, _gated_error(axes), _equal_weights, None
    )
    for location, axes in ((Location.NODE, 1), (Location.EDGE, 2), (Location.GRAPH, 0))
}
"""Predictions are (..., 4): the logit of a change, the new value, the old value, and in training
the loss of the choice of terms (`exact_sums.py`)."""
MASK = KindOps(
    _to_float,
    _mask_feedback,
    _mask_answer,
    _binary_cross_entropy,
    _unmasked_weights,
    _mask_confidence,
)
ONE_HOT = KindOps(
    _to_float, _choice_feedback, _choice_answer, _cross_entropy, _chosen_weights, _choice_confidence
)
POINTER = KindOps(
    _to_one_hot,
    _choice_feedback,
    _pointer_answer,
    _pointer_cross_entropy,
    _equal_weights,
    _choice_confidence,
)
PERMUTATION = KindOps(
    _to_float,
    _permutation_feedback,
    _permutation_answer,
    _permutation_cross_entropy,
    _row_weights,
    _permutation_confidence,
)
