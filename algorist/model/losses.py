"""The loss: what training minimises (paper, section 3.1, Loss)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from algorist.model.grouped import map_features
from algorist.model.kinds import row
from algorist.model.scan import Rollout
from algorist.model.sparse.window import AnyWindow
from algorist.model.window import Window, unsqueeze_like
from algorist.spec import Feature, Spec

ALMOST_NOTHING = 1e-12
"""A lower bound of divisors."""


def feature_losses(spec: Spec, rollout: Rollout, window: AnyWindow) -> dict[str, Tensor]:
    """The loss of each predicted feature, one number per replica.

    A hint's is the mean over all steps but the first of each trajectory, an output's the mean
    over the ends of trajectories, a penalty's the mean over all steps. Of a window that is a share
    of another, a feature's is the share of that one's loss.
    """
    parts = dict(rollout.losses(window)) if rollout.losses else {}
    outputs = [f for f in spec.outputs if f.name not in parts]
    hints = [spec[name] for name in rollout.hints if name not in parts]
    parts |= _mean_losses(outputs, rollout.outputs, window.outputs, window.end_weights)
    parts |= _mean_losses(hints, rollout.hints, _next_hints(window), window.follows)
    if window.shares is not None:
        parts = {name: loss * window.shares[name] for name, loss in parts.items()}
    for name, penalty in rollout.penalties.items():
        if name in parts:
            raise ValueError(f"loss {name!r}: got a feature's name, expected another")
        weights = window.follows.sum((0, 2)).clamp(min=ALMOST_NOTHING)
        parts[name] = (penalty * window.follows).sum((0, 2)) / weights
    return parts


def amounts(spec: Spec, window: Window) -> dict[str, Tensor]:
    """The total weight of each feature's entries in a window, for each replica."""
    found = {}
    for features, truths, weights in (
        (spec.outputs, window.outputs, window.end_weights),
        (spec.hints, _next_hints(window), window.follows),
    ):
        for f in features:
            truth = truths[f.name].unsqueeze(0)
            found[f.name] = _over_replicas(_counts(f, truth, weights), weights).squeeze(0)
    return found


def _next_hints(window: AnyWindow) -> dict[str, Tensor]:
    """The true hints of all steps but the first."""
    return {name: x[1:] for name, x in window.hints.items()}


def _mean_losses(
    features: Sequence[Feature],
    predictions: Mapping[str, Tensor],
    truths: Mapping[str, Tensor],
    weights: Tensor,
) -> dict[str, Tensor]:
    """The mean loss of each feature, for each replica; the weights are those of lanes or ends."""

    def means(feature: Feature, prediction: Tensor, truth: Tensor) -> Tensor:
        loss, counts = row(feature).ops.loss(prediction, truth), _counts(feature, truth, weights)
        lost, counted = _over_replicas(loss * counts, weights), _over_replicas(counts, weights)
        return lost / counted.clamp(min=ALMOST_NOTHING)

    return map_features(means, features, predictions, truths)


def _counts(feature: Feature, truth: Tensor, weights: Tensor) -> Tensor:
    """The weight of each entry in the loss, of truths with an axis before those of the weights."""
    counts = row(feature).ops.weights(truth)
    return counts * unsqueeze_like(weights, counts[0])


def _over_replicas(entries: Tensor, weights: Tensor) -> Tensor:
    """(F, S): the sum over all axes but the first and that of the replicas, (F, K, S, B, ...) or
    (F, S, E, ...) as the weights (K, S, B) or (S, E) say."""
    kept = (0, weights.ndim - 1)
    return entries.sum([axis for axis in range(entries.ndim) if axis not in kept])
