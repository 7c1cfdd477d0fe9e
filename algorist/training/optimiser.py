"""Adam with a clipped gradient, for every replica by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from algorist.training.config import OptimiserConfig

if TYPE_CHECKING:
    from algorist.kernels.fused.adam import Adam

_MOMENTS = ("exp_avg", "exp_avg_sq")


class Optimiser:
    """Updates those parameters of a net that have a gradient.

    A task's encoders and decoders count their own updates: while others train they stand still.
    Moments and counts are there from the start and never move, as CUDA graphs need them.
    """

    def __init__(self, net: nn.Module, config: OptimiserConfig, *, captured: bool = False):
        """`captured` says that steps will be captured as CUDA graphs."""
        self.clip = config.clip
        self._fused: dict[tuple[tuple[int, int, int], ...], Adam] = {}
        self.parameters = {name: p for name, p in net.named_parameters() if p.requires_grad}
        on_gpu = any(p.is_cuda for p in self.parameters.values())
        device = next(iter(self.parameters.values())).device
        self._rate = torch.tensor(config.learning_rate, device=device)
        self._adam = torch.optim.Adam(
            self.parameters.values(),
            lr=config.learning_rate,
            fused=True if on_gpu else None,
            capturable=captured and on_gpu,
        )
        for p in self.parameters.values():
            count = torch.zeros((), device=p.device)
            moments = {moment: torch.zeros_like(p) for moment in _MOMENTS}
            self._adam.state[p] = {"step": count, **moments}

    def step(self) -> None:
        """Clip, update and forget the gradients."""
        self.update()
        self._adam.zero_grad(set_to_none=True)

    def update(self) -> None:
        """Clip and update."""
        learning = self._learning()
        gradients = list(learning.values())
        if adam := self._fused_adam(learning):
            adam.step(gradients, self._rate, self.clip)
            return
        if self.clip and gradients:
            for parameter, gradient in zip(learning, clipped(gradients, self.clip), strict=True):
                parameter.grad = gradient
        self._adam.step()

    def _learning(self) -> dict[nn.Parameter, Tensor]:
        """Those that have a gradient, and what it is."""
        return {p: p.grad for p in self.parameters.values() if p.grad is not None}

    def prepare(self) -> None:
        """Make what an update with gradients like these looks up; nothing is changed."""
        if adam := self._fused_adam(self._learning()):
            adam.warm_up()

    def _fused_adam(self, learning: Mapping[nn.Parameter, Tensor]) -> Adam | None:
        """What clips and updates in two kernels, if gradients lie in few tensors on a GPU."""
        gradients = list(learning.values())
        if not gradients or not gradients[0].is_cuda or not _are_apart(gradients):
            return None
        from algorist.kernels.fused.adam import STORAGES, Adam, Weights, storages_of

        storages = list(storages_of(gradients))
        if len(storages) > STORAGES:
            return None
        places = tuple(
            (id(p), storages.index(g.untyped_storage().data_ptr()), g.storage_offset())
            for p, g in learning.items()
        )
        if places not in self._fused:
            states = self._adam.state
            self._fused[places] = Adam(
                [
                    Weights(p.detach(), g, *(states[p][m] for m in _MOMENTS), states[p]["step"])
                    for p, g in learning.items()
                ]
            )
        return self._fused[places]

    def tensors(self) -> dict[str, Tensor]:
        """The moments of all parameters that were updated at least once."""
        return {
            f"{name}.{moment}": self._adam.state[self.parameters[name]][moment]
            for name in self.counts()
            for moment in _MOMENTS
        }

    def counts(self) -> dict[str, int]:
        """The number of updates of each parameter that was updated at least once."""
        counts = torch.stack([self._adam.state[p]["step"] for p in self.parameters.values()])
        named = zip(self.parameters, counts.tolist(), strict=True)
        return {name: int(count) for name, count in named if count}

    def restore(self, tensors: Mapping[str, Tensor], counts: Mapping[str, int]) -> None:
        """Go on from saved moments and counts."""
        for name, count in counts.items():
            state = self._adam.state[self.parameters[name]]
            state["step"].fill_(count)
            for moment in _MOMENTS:
                state[moment].copy_(tensors[f"{name}.{moment}"])


def _are_apart(gradients: Sequence[Tensor]) -> bool:
    """Whether each gradient is in one piece, and none is another's."""
    places = {gradient.data_ptr() for gradient in gradients}
    return len(places) == len(gradients) and all(g.is_contiguous() for g in gradients)


def clipped(gradients: Sequence[Tensor], limit: float) -> list[Tensor]:
    """The gradients (S, ...), those of each replica scaled down to a norm of at most `limit`.

    They are copies: gradients of weights that are added up may be one and the same tensor.
    """
    result = [torch.empty_like(g, memory_format=torch.contiguous_format) for g in gradients]
    torch._foreach_copy_(result, gradients)
    replicas = list(zip(*(gradient.unbind() for gradient in result), strict=True))
    norms = torch._foreach_norm([part for parts in replicas for part in parts])
    total = torch.stack(norms).view(len(replicas), -1).norm(dim=1)  # (S,)
    for parts, scale in zip(replicas, (limit / total).clamp(max=1.0), strict=True):
        torch._foreach_mul_(parts, scale)
    return result
