"""Adam with a clipped gradient, for every replica by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from algorist.training.config import OptimiserConfig

_MOMENTS = ("exp_avg", "exp_avg_sq")


class Optimiser:
    """Updates those parameters of a net that have a gradient.

    A task's encoders and decoders count their own updates: while others train they stand still.
    """

    def __init__(self, net: nn.Module, config: OptimiserConfig):
        self.clip = config.clip
        self.parameters = {name: p for name, p in net.named_parameters() if p.requires_grad}
        self._adam = torch.optim.Adam(self.parameters.values(), lr=config.learning_rate)

    def step(self) -> None:
        """Clip, update and forget the gradients."""
        if self.clip:
            clip([p.grad for p in self.parameters.values() if p.grad is not None], self.clip)
        self._adam.step()
        self._adam.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """The moments of all parameters that were updated at least once."""
        return {
            f"{name}.{moment}": self._adam.state[p][moment]
            for name, p in self.parameters.items()
            if p in self._adam.state
            for moment in _MOMENTS
        }

    def counts(self) -> dict[str, int]:
        """The number of updates of each parameter."""
        return {
            name: int(self._adam.state[p]["step"])
            for name, p in self.parameters.items()
            if p in self._adam.state
        }

    def restore(self, tensors: Mapping[str, Tensor], counts: Mapping[str, int]) -> None:
        """Go on from saved moments and counts."""
        for name, count in counts.items():
            parameter = self.parameters[name]
            state = {moment: tensors[f"{name}.{moment}"].to(parameter) for moment in _MOMENTS}
            self._adam.state[parameter] = {"step": torch.tensor(float(count)), **state}


def clip(gradients: Iterable[Tensor], limit: float) -> None:
    """Scale the gradients (S, ...) of each replica down to a norm of at most `limit`."""
    gradients = list(gradients)
    squares = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0)  # (S,)
    scale = (limit / squares.sqrt()).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(scale.view(-1, *(1,) * (gradient.ndim - 1)))
