"""What a net of the laboratory is measured by.

One step with the true hints given says whether the steps are learnt; the free run, in which the net
reads its own decided hints, says what is left of that after many steps.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algorist.data.transforms import mask_of
from algorist.evaluation.scores import score
from algorist.spec import MASKED, Feature, Kind
from laboratory.executor import ExecutorNet, decide
from laboratory.transitions import TransitionPool, Values, changes


@dataclass(frozen=True)
class Accuracy:
    """Shares in per cent, of one algorithm at one size."""

    one_step: float
    """Discrete hints that are right after one step from the true ones."""
    worst: str
    """The hint of which fewest are."""
    free_hints: float
    """Discrete hints that are right on the net's own trajectory."""
    score: float
    """The benchmark's score of the answers on its own trajectory."""
    whole: float
    """Answers that are right in full."""
    forced_score: float
    """The benchmark's score of the answers when the true last hints are given."""


@torch.no_grad()
def measure(net: ExecutorNet, algorithm: str, pool: TransitionPool) -> Accuracy:
    """Run all trajectories of a pool, once with the true hints and once without."""
    net.eval()
    one_step, forced_outputs = _run(net, algorithm, pool, forced=True)
    free, outputs = _run(net, algorithm, pool, forced=False)
    by_hint = {name: 100 * float(np.mean(rows)) for name, rows in one_step.items()}
    worst = min(by_hint, key=lambda name: by_hint[name], default="")
    return Accuracy(
        one_step=float(np.mean(list(by_hint.values()) or [100.0])),
        worst=f"{worst} {by_hint[worst]:.1f}" if worst else "",
        free_hints=float(
            np.mean([100 * float(np.mean(rows)) for rows in free.values()] or [100.0])
        ),
        score=100 * _score(pool, outputs),
        whole=100 * _whole(pool, outputs),
        forced_score=100 * _score(pool, forced_outputs),
    )


def _run(
    net: ExecutorNet, algorithm: str, pool: TransitionPool, *, forced: bool
) -> tuple[dict[str, list[float]], Values]:
    """The accuracy of each discrete hint at each step and trajectory, and all outputs."""
    spec = pool.spec
    accuracies: dict[str, list[float]] = defaultdict(list)
    before, hints = None, {name: values[0] for name, values in pool.hints.items()}
    outputs = {name: torch.zeros_like(values) for name, values in pool.outputs.items()}
    for step in range(pool.steps):
        if forced:
            hints = {name: values[step] for name, values in pool.hints.items()}
        changed = pool.changes[step] if forced else changes(before, hints, pool.size)
        state = net(algorithm, pool.inputs, hints, changed)
        ends, goes_on = pool.last == step, pool.last > step
        if ends.any():
            for f in spec.outputs:
                decided = decide(f, net.decode(algorithm, state, [f])[f.name])
                outputs[f.name][ends] = decided[ends].to(outputs[f.name].dtype)
        if not goes_on.any():
            break
        predictions = net.decode(algorithm, state, spec.hints)
        before = hints
        hints = {f.name: decide(f, predictions[f.name], before[f.name]) for f in spec.hints}
        for f in spec.hints:
            if f.kind != Kind.SCALAR:
                rows = _right(f, hints[f.name], pool.hints[f.name][step + 1])[goes_on]
                accuracies[f.name] += rows[~rows.isnan()].tolist()
    return accuracies, outputs


def _right(feature: Feature, predicted: Tensor, truth: Tensor) -> Tensor:
    """(B,): the share of right entries of each row; NaN where none counts."""
    if feature.kind in (Kind.POINTER, Kind.MASK):
        right = (predicted == truth).float().masked_fill(truth == MASKED, torch.nan)
    else:
        right = (predicted.argmax(-1) == truth.argmax(-1)).float()
        right = right.masked_fill(~(truth == 1).any(-1), torch.nan)
    return right.reshape(len(right), -1).nanmean(1)


def _whole(pool: TransitionPool, outputs: Values) -> float:
    rows = [_right(f, outputs[f.name], pool.outputs[f.name]) for f in pool.spec.outputs]
    return float(torch.stack([(row.nan_to_num(1.0) == 1).float() for row in rows]).amin(0).mean())


def _score(pool: TransitionPool, outputs: Values) -> float:
    """The mean over the outputs; those of sorted orders as the pointers that they stand for."""
    features = {f.name: f for f in pool.spec.outputs}
    orders = [f for f in features.values() if f.kind == Kind.PERMUTATION_POINTER]
    for order in orders:
        del features[mask_of(order)]
    scores = []
    for f in features.values():
        found, truth = (x[f.name] for x in (outputs, pool.outputs))
        if f in orders:
            found, truth = (_pointers(x[f.name], x[mask_of(f)]) for x in (outputs, pool.outputs))
        kind = Kind.POINTER if f in orders else f.kind
        scores.append(score(kind, *(x.cpu().numpy().astype(np.int64) for x in (found, truth))))
    return float(np.mean(scores))


def _pointers(permutation: Tensor, first: Tensor) -> Tensor:
    """The predecessors that a permutation matrix stands for: the first node points to itself."""
    own = torch.arange(permutation.shape[-1], device=permutation.device)
    return torch.where(first.bool(), own, permutation.argmax(-1))
