"""What the steps of a scan leave side by side, and what is made of all steps at once.

Stacks that only the way back reads have no steps where there will be none.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor


class Moments(NamedTuple):
    """What decoders read of each step."""

    x: Tensor  # (K, S, B, n, Fx): numbers of the node and of the graph, and a one
    raw: Tensor  # (K, S, B, n, n, Fe)
    before: Tensor  # (K, S, B, n, h): states
    after: Tensor
    maxima: Tensor | None  # (K, S, B, n, n, T)

    def step(self, k: int) -> Moments:
        """Those of one step."""
        return Moments(*(at_step(stack, k) for stack in self))

    def at(self, steps: Tensor, lanes: Tensor) -> Moments:
        """Those of some steps and lanes, (S, E) each, as a single step of E lanes."""
        replicas = torch.arange(len(steps), device=steps.device).unsqueeze(1)
        return Moments(
            *(None if x is None else x[steps, replicas, lanes].unsqueeze(0) for x in self)
        )


class Logits(NamedTuple):
    """Raw predictions, (K, S, B, ...), those of several features side by side; None for none."""

    decoded: Tensor | None = None  # (K, S, B, n, C): values of nodes, then what others are made of
    points: Tensor | None = None  # (K, P, S, B, n, n)
    edges: Tensor | None = None  # (K, S, B, n, n, Ce)
    cubes: Tensor | None = None  # (K, Q, S, B, n, n, n)
    graph: Tensor | None = None  # (K, S, B, Cg)

    def step(self, k: int) -> Logits:
        """Those of one step."""
        return Logits(*(at_step(stack, k) for stack in self))


class Slots:
    """Slopes of the moments: (K, slots, S, B, ...), a slot for each part that contributes."""

    def __init__(self, moments: Moments, parts: Counter[str]):
        self.all = {
            name: value.new_empty(len(value), parts[name], *value.shape[1:])
            for name, value in moments._asdict().items()
            if value is not None and parts[name]
        }
        self._taken: Counter[str] = Counter()

    def take(self, name: str) -> Tensor:
        """The next free slot, (K, S, B, ...)."""
        self._taken[name] += 1
        return self.all[name][:, self._taken[name] - 1]

    def take_if(self, name: str) -> Tensor | None:
        """The next free slot, where there is anything of that name."""
        return self.take(name) if name in self.all else None

    def put_at(self, steps: Tensor, lanes: Tensor, slopes: Slots) -> None:
        """Fill the last slots with sums of others' slopes at some steps and lanes, else zeros."""
        for name, mine in self.all.items():
            _, slots, S, B = mine.shape[:4]
            mine[:, -1].zero_()
            if name in slopes.all:
                replicas = torch.arange(S, device=steps.device).unsqueeze(1)
                row = ((steps * slots + slots - 1) * S + replicas) * B + lanes
                theirs = slopes.all[name][0].sum(0)  # (S, E, ...)
                mine.flatten(0, 3).index_add_(0, row.flatten(), theirs.flatten(0, 1))


def at_step(stack: Tensor | None, k: int) -> Tensor | None:
    """One step of a stack, if it has any."""
    return None if stack is None or not len(stack) else stack[k]


def over_steps(inputs: Tensor, slopes: Tensor) -> Tensor:
    """Inputs times slopes, summed over steps and rows: (K, S, ..., a and b) -> (S, a, b).

    For several replicas cut into many small products that fill the device, then added up.
    """
    K, S = inputs.shape[:2]
    if S == 1:
        return (inputs.flatten(0, -2).mT @ slopes.flatten(0, -2)).unsqueeze(0)
    rows = inputs.shape[2:-1].numel()
    parts = next(p for p in (16, 8, 4, 2, 1) if p == 1 or (rows % p == 0 and rows // p >= 512))

    def cut(x: Tensor) -> Tensor:
        return x.reshape(K * S * parts, rows // parts, x.shape[-1])

    products = cut(inputs).mT @ cut(slopes)
    return products.unflatten(0, (K, S, parts)).sum((0, 2))


def each_over_steps(inputs: Tensor, slopes: Tensor) -> Tensor:
    """The same for several things side by side: slopes (K, P, S, ..., b) -> (S, P, a, b).

    The inputs are the same for all, (K, S, ..., a), or each has its own, (K, P, S, ..., a).
    """
    shared = inputs.ndim < slopes.ndim
    both = ((inputs if shared else inputs[:, p], slopes[:, p]) for p in range(slopes.shape[1]))
    return torch.stack([over_steps(*pair) for pair in both], 1)


def sum_over_steps(slopes: Tensor) -> Tensor:
    """(K, S, ..., b) -> (S, b)."""
    return slopes.flatten(2, -2).sum((0, 2))
