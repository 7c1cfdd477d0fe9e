"""Steps that do not depend on each other, computed at once: time folded into the batch.

Where no state is carried from step to step and the net is given the true hints at every step, step
k reads nothing that step k - 1 computes. A window of K steps and B lanes is then one of a single
step and K * B lanes, without a scan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algorist.model.window import Window

if TYPE_CHECKING:
    from algorist.model.net import Net
    from algorist.model.scan import Rollout


def is_independent(net: Net, algorithm: str, window: Window) -> bool:
    """Whether no step of a window reads what another computes."""
    config = net.config
    if window.steps == 1 or config.carry_state or config.use_lstm:
        return False
    reads_hints = config.hints == "encoded_decoded" and bool(net.spec(algorithm).hints)
    if reads_hints and not window.all_forced:
        return False
    return net.bound_processor().initial_state(1, 1, 1) is None


def folded(window: Window) -> Window:
    """The same steps side by side, as a window of one step; lane k * B + b is step k of lane b."""
    K, _, B = window.follows.shape

    def of_steps(tensor: Tensor) -> Tensor:  # (K, S, B, ...) -> (S, K * B, ...)
        return tensor.transpose(0, 1).flatten(1, 2)

    def repeated(tensor: Tensor) -> Tensor:  # (S, B, ...) -> (S, K * B, ...)
        return of_steps(tensor.expand(K, *tensor.shape))

    def of_moments(tensor: Tensor) -> Tensor:  # (K + 1, S, B, ...) -> (2, S, K * B, ...)
        return torch.stack((of_steps(tensor[:-1]), of_steps(tensor[1:])))

    at_step, lanes = window.ends
    return replace(
        window,
        inputs=window.inputs.map(repeated if window.is_first is None else of_steps),
        hints=window.hints.map(of_moments),
        follows=of_steps(window.follows).unsqueeze(0),
        ends=(torch.zeros_like(at_step), at_step * B + lanes),
        is_first=None,
        forced=None,
    )


def unfolded(rollout: Rollout, one: Window, window: Window) -> Rollout:
    """What the folded window came to, as the window itself has it."""
    K, _, B = window.follows.shape

    def of_steps(tensor: Tensor) -> Tensor:  # (S, K * B, ...) -> (K, S, B, ...)
        return torch.unflatten(tensor, 1, (K, B)).transpose(0, 1)

    def all_of(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: of_steps(value.squeeze(0)) for name, value in values.items()}

    losses = rollout.losses
    return replace(
        rollout,
        hints=all_of(rollout.hints),
        carry=rollout.carry.map(lambda tensor: of_steps(tensor)[-1]),
        penalties=all_of(rollout.penalties),
        losses=None if losses is None else lambda _: losses(one),
    )
