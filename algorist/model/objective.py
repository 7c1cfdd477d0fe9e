"""The loss: what training minimises (paper, section 3.1, Loss)."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from algorist.model.kinds import row
from algorist.model.scan import Rollout
from algorist.model.window import Window, expanded
from algorist.spec import Spec

_ALMOST_NOTHING = 1e-12


def losses(spec: Spec, rollout: Rollout, window: Window) -> dict[str, Tensor]:
    """The loss of each predicted feature, one number per replica.

    A hint's is the mean over all moments but the first of each trajectory, an output's the mean
    over the ends of trajectories.
    """
    parts = dict(rollout.losses(window)) if rollout.losses else {}
    for feature in spec.outputs:
        name = feature.name
        if name not in parts:
            loss, counts = row(feature).meaning.loss(rollout.outputs[name], window.outputs[name])
            parts[name] = _mean(loss, counts, window.end_weights, replica_axis=0)
    for name, prediction in rollout.hints.items():
        if name not in parts:
            loss, counts = row(spec[name]).meaning.loss(prediction, window.hints[name][1:])
            parts[name] = _mean(loss, counts, window.follows, replica_axis=1)
    return parts


def total(parts: Mapping[str, Tensor]) -> Tensor:
    """All parts added up, for each replica."""
    return sum(parts.values())


def _mean(loss: Tensor, counts: Tensor, weights: Tensor, replica_axis: int) -> Tensor:
    counts = counts * expanded(weights, counts)
    others = [axis for axis in range(counts.ndim) if axis != replica_axis]
    return (loss * counts).sum(others) / counts.sum(others).clamp(min=_ALMOST_NOTHING)
