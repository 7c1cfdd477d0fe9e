"""A running mean of weights, which often generalises better than the weights of a single step."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor

from algorist.model.learner import Learner

_WARM_UP = 10
"""Early means cover about a tenth of the steps so far, since the first weights are poor."""


class AveragedWeights:
    """A learner whose weights are a running mean of those of a learner in training."""

    def __init__(self, source: Learner, steps: int):
        """Start from the present weights of `source`; the mean covers about `steps` steps."""
        self.learner, self._steps = replace(source, net=deepcopy(source.net)), steps
        self.learner.net.requires_grad_(requires_grad=False)
        self._means: list[Tensor] = list(self.learner.net.parameters())
        self._weights = [p.detach() for p in source.net.parameters()]

    def add(self, step: int) -> None:
        """Update the mean with the weights after a step: an exponential moving average."""
        share = max(1 / self._steps, _WARM_UP / (_WARM_UP + step))
        torch._foreach_lerp_(self._means, self._weights, share)

    def restore(self, means: Mapping[str, Tensor]) -> None:
        """Set the mean to saved weights."""
        self.learner.net.load_state_dict(means)
