"""The loss: what training minimises (paper, section 3.1, Loss)."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from algorist.model.kinds import row
from algorist.model.scan import Rollout
from algorist.model.sparse.window import AnyWindow
from algorist.model.window import Window, expanded
from algorist.spec import Feature, Spec

ALMOST_NOTHING = 1e-12
"""A lower bound of divisors."""


def feature_losses(spec: Spec, rollout: Rollout, window: AnyWindow) -> dict[str, Tensor]:
    """The loss of each predicted feature, one number per replica.

    A hint's is the mean over all moments but the first of each trajectory, an output's the mean
    over the ends of trajectories, a penalty's the mean over all steps. Of a window that is a share
    of another, a feature's is the share of that one's loss.
    """
    parts = dict(rollout.losses(window)) if rollout.losses else {}
    for feature in spec.outputs:
        if feature.name not in parts:
            truth = _of_output(feature, window)
            parts[feature.name] = _mean(truth, rollout.outputs[feature.name])
    for name, prediction in rollout.hints.items():
        if name not in parts:
            parts[name] = _mean(_of_hint(spec[name], window), prediction)
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
    truths = [_of_output(feature, window) for feature in spec.outputs]
    truths += [_of_hint(feature, window) for feature in spec.hints]
    return {truth.feature.name: truth.over_replicas(truth.counts()) for truth in truths}


class _Truth(NamedTuple):
    """The truth of a feature over a window."""

    feature: Feature
    values: Tensor
    weights: Tensor
    """The weights of lanes or ends."""
    replica_axis: int

    def counts(self) -> Tensor:
        """The weight of each entry in the loss."""
        counts = row(self.feature).ops.weights(self.values)
        return counts * expanded(self.weights, counts)

    def over_replicas(self, entries: Tensor) -> Tensor:
        """The sum over all axes but that of the replicas."""
        return entries.sum([axis for axis in range(entries.ndim) if axis != self.replica_axis])


def _of_output(feature: Feature, window: AnyWindow) -> _Truth:
    return _Truth(feature, window.outputs[feature.name], window.end_weights, replica_axis=0)


def _of_hint(feature: Feature, window: AnyWindow) -> _Truth:
    return _Truth(feature, window.hints[feature.name][1:], window.follows, replica_axis=1)


def _mean(truth: _Truth, prediction: Tensor) -> Tensor:
    """The mean loss of a prediction."""
    loss, counts = row(truth.feature).ops.loss(prediction, truth.values), truth.counts()
    lost, counted = truth.over_replicas(loss * counts), truth.over_replicas(counts)
    return lost / counted.clamp(min=ALMOST_NOTHING)
