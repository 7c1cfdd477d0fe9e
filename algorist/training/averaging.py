"""A running mean of weights, which often generalises better than the weights of any one step."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor

from algorist.model.learner import Learner

_YOUNG = 10
"""At the beginning the mean goes over a tenth of all steps so far: the first weights are poor."""


class Average:
    """A learner whose weights are the mean of those of a learner in training."""

    def __init__(self, source: Learner, steps: int):
        """Begin with the present weights of the source, before it has learnt anything here."""
        self.learner, self._steps = replace(source, net=deepcopy(source.net)), steps
        self.learner.net.requires_grad_(requires_grad=False)
        self._means: list[Tensor] = list(self.learner.net.parameters())
        self._weights = [p.detach() for p in source.net.parameters()]

    def add(self, step: int) -> None:
        """Take in the weights after a step; those before it count the less, the older they are."""
        share = max(1 / self._steps, _YOUNG / (_YOUNG + step))
        torch._foreach_lerp_(self._means, self._weights, share)

    def restore(self, means: Mapping[str, Tensor]) -> None:
        """Go on with means that were saved."""
        self.learner.net.load_state_dict(means)
