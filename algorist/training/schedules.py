"""Schedules of the learning rate: each is a function of the share of training that is done.

A schedule returns the factor by which the learning rate is multiplied in the step that follows.
Shares run from 0, before the first step, to just below 1, before the last one. So the rate is a
pure function of the step, and a resumed run goes on with exactly the rates of one that was never
stopped. Several schedules are multiplied: `warmup+cosine`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from algorist.errors import UnregisteredError
from algorist.plugin_errors import user_error
from algorist.registry import registry

Schedule = Callable[[float], float]

_WARMUP = 0.05
"""The share of training in which the rate rises."""
_DROPS = (0.5, 0.75)
"""The shares after which the rate drops."""


def constant(share: float) -> float:
    """A constant rate."""
    return 1.0


def warmup(share: float) -> float:
    """A linear rise from a hundredth of the rate, over the first twentieth of training."""
    return min(1.0, 0.01 + 0.99 * share / _WARMUP)


def cosine(share: float) -> float:
    """Half a cosine wave, from the full rate down to zero."""
    return (1 + math.cos(math.pi * share)) / 2


def step(share: float) -> float:
    """A tenth of the rate after half of training, a hundredth after three quarters."""
    return 0.1 ** sum(share >= drop for drop in _DROPS)


SCHEDULES: dict[str, Schedule] = registry(
    "schedule", {"constant": constant, "warmup": warmup, "cosine": cosine, "step": step}
)
DEFAULT_SCHEDULE = "constant"


def expect_schedule(names: str) -> None:
    """Raise a ValueError unless all schedules of `a+b` are known."""
    for name in names.split("+"):
        if name not in SCHEDULES:
            raise UnregisteredError("schedule", name, SCHEDULES)


def factor(names: str, share: float) -> float:
    """The factor of the learning rate after a share of training, for schedules `a+b`."""
    return math.prod(_factor(name, share) for name in names.split("+"))


def _factor(name: str, share: float) -> float:
    function = SCHEDULES[name]
    with user_error(f"schedule {name!r}", function):
        value = function(share)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0 <= number < math.inf:
            raise ValueError(f"got {value!r} for share {share:g}, expected a factor of 0 or more")
    return number
