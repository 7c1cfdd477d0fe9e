"""How long a net takes for a problem, and who is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from algorist.algorithms import get
from algorist.model.window import pieces

if TYPE_CHECKING:
    from algorist.model.learner import Learner

_TIMED_NODES = (16, 48)
_NOT_LONG = 320_000
"""Pairs of nodes times steps below which nobody has to wait."""


Announce = Callable[[int, int, float], None]
"""(nodes, steps, estimated seconds), called before work that may take long."""
Watch = Callable[[int, int], None]
"""(steps that are done, all steps), called now and then."""


def estimate_seconds(learner: Learner, algorithm: str, n: int, steps: int) -> float:
    """About how long a problem takes, from the times of a step on two small ones; 0 if not long.

    A step takes a time of its own and one for each triple of nodes, in nets that look at triples,
    or for each pair.
    """
    if n**2 * steps < _NOT_LONG:
        return 0.0
    power = 3 if getattr(learner.net.processor, "triplet_features", 0) else 2
    (few, short), (many, long) = ((k, _time_step(learner, algorithm, k)) for k in _TIMED_NODES)
    growth = max(long - short, 0.0) / (many**power - few**power)
    return float(steps * (short + growth * n**power))


def _time_step(learner: Learner, algorithm: str, n: int) -> float:
    """Seconds that a step takes on `n` nodes, the least of three times."""
    batch = learner.convention.batch(algorithm, get(algorithm).sample(n, 1, seed=0))
    step = next(pieces(learner.convention.window([batch]).to(learner.net.device), 1))
    times = []
    with torch.no_grad():
        for _ in range(3):
            start = time.perf_counter()
            outputs = learner.net.rollout(algorithm, step).outputs
            next(iter(outputs.values())).cpu()  # waits for a GPU
            times.append(time.perf_counter() - start)
    return min(times)
