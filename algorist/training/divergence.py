"""Checks that losses and weights are finite."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import nn

_ADVICE = "the last checkpoint is kept: lower learning_rate or set clip"


class DivergedError(RuntimeError):
    """A loss or a weight is not finite."""


def expect_finite_losses(
    losses: Mapping[str, Mapping[str, Sequence[float]]], seeds: Sequence[int], step: int
) -> None:
    """Raise a `DivergedError` unless all losses, by task and feature, of all seeds are finite."""
    for task, features in losses.items():
        for replica, seed in enumerate(seeds):
            values = {name: sums[replica] for name, sums in features.items()}
            bad = {name: value for name, value in values.items() if not math.isfinite(value)}
            if bad:
                raise DivergedError(
                    f"the loss of {task} is {next(iter(bad.values()))} by step {step} "
                    f"(seed {seed}, in {', '.join(bad)}); {_ADVICE}"
                )


def expect_finite_weights(net: nn.Module, step: int) -> None:
    """Raise a `DivergedError` unless all weights are finite.

    A loss may be finite and its gradient not.
    """
    parameters = dict(net.named_parameters())
    finite = torch.stack([p.isfinite().all() for p in parameters.values()]).tolist()
    bad = [name for name, good in zip(parameters, finite, strict=True) if not good]
    if bad:
        raise DivergedError(
            f"{bad[0]} and {len(bad) - 1} other weights are not finite after step {step}; {_ADVICE}"
        )
