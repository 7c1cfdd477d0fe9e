"""An estimate of how long inference takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from algorist.algorithms import get
from algorist.model.window import split_window

if TYPE_CHECKING:
    from algorist.model.learner import Learner

_TIMED_NODES = (16, 48)
_INSTANT = 320_000
"""Pairs of nodes times steps below which inference takes no noticeable time."""


Announce = Callable[[int, int, float], None]
"""(nodes, steps, estimated seconds) -> None, called before inference that may take long."""


def estimate_seconds(learner: Learner, algorithm: str, n: int, steps: int) -> float:
    """Estimate the seconds of `steps` steps on `n` nodes; 0 where they would not be noticed.

    The time of a step is extrapolated from two small problems: a constant, plus a time for each
    triple of nodes in nets with triplets, or for each pair in others.
    """
    if n**2 * steps < _INSTANT:
        return 0.0
    power = 3 if getattr(learner.net.processor, "triplet_features", 0) else 2
    (few, short), (many, long) = ((k, _time_step(learner, algorithm, k)) for k in _TIMED_NODES)
    growth = max(long - short, 0.0) / (many**power - few**power)
    return float(steps * (short + growth * n**power))


def _time_step(learner: Learner, algorithm: str, n: int) -> float:
    """The seconds of a step on `n` nodes, the least of three measurements."""
    batch = learner.encoding.batch(algorithm, get(algorithm).sample(n, 1, seed=0))
    step = next(split_window(learner.encoding.window([batch]).to(learner.net.device), 1))
    times = []
    with torch.no_grad():
        for _ in range(3):
            start = time.perf_counter()
            outputs = learner.net.rollout(algorithm, step).outputs
            next(iter(outputs.values())).cpu()  # waits for a GPU
            times.append(time.perf_counter() - start)
    return min(times)
