"""Validation, by which the best weights of a run are chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from algorist.batch import Batch
from algorist.data import official
from algorist.data.sparse import VALIDATION, VALIDATION_COUNT, sparse_set
from algorist.evaluation.evaluator import Evaluator, evaluate
from algorist.evaluation.sparse import sparse_quality
from algorist.kernels.cuda_graphs import CudaGraphs
from algorist.model.inference import evaluating, split_batch
from algorist.model.learner import Learner
from algorist.model.losses import feature_losses
from algorist.model.sparse.window import sparse_window
from algorist.sparse_batch import SparseBatch

OUTPUTS, HINTS = "outputs", "hints"
"""Values of `validate_by`; the third one, `loss`, takes minus the total loss."""


class Validation:
    """Evaluates a learner on problems that are prepared once, and keeps its best weights."""

    def __init__(
        self,
        learner: Learner,
        algorithms: Sequence[str],
        best: Mapping[str, Tensor],
        graphs: CudaGraphs | None,
        measure: str = OUTPUTS,
    ):
        self._evaluators: dict[str, Evaluator] = {}
        self._measures: dict[str, Callable[[], list[float]]] = {}
        for name in algorithms:
            if learner.encoding.sparse:
                quality = sparse_quality if measure == OUTPUTS else _negative_sparse_losses
                problems = sparse_set(name, VALIDATION, VALIDATION_COUNT, only_first=False)
                self._measures[name] = partial(quality, learner, name, problems)
                continue
            batch = official.split(name, "val")
            if measure == OUTPUTS:
                self._evaluators[name] = Evaluator(learner, name, batch, graphs=graphs)
            else:
                measured = _hint_scores if measure == HINTS else _negative_losses
                self._measures[name] = partial(measured, learner, name, batch)
        present = {name: p.detach() for name, p in learner.net.named_parameters()}
        self._weights = [
            ([best[name][replica] for name in present], [p[replica] for p in present.values()])
            for replica in range(learner.net.replicas)
        ]

    @property
    def launches(self) -> bool:
        """Whether kernels are launched one by one: then no other thread may capture a step."""
        return bool(self._measures)

    def qualities(self) -> dict[str, list[float]]:
        """The validation score of each task and seed; larger is better."""
        answers = {name: problems.predict() for name, problems in self._evaluators.items()}
        qualities = {}
        for name, answer in answers.items():
            qualities[name] = [own.quality for own in self._evaluators[name].score(answer)]
        for name, measure in self._measures.items():
            qualities[name] = measure()
        return qualities

    def keep(self, replica: int) -> None:
        """Copy the present weights of a replica, its best so far, to memory that never moves."""
        torch._foreach_copy_(*self._weights[replica])


@torch.no_grad()
def _negative_sparse_losses(learner: Learner, algorithm: str, batch: SparseBatch) -> list[float]:
    """Minus the loss of outputs and hints together."""
    net = learner.net
    window = sparse_window([batch] * net.replicas).to(net.device)
    with evaluating(net):
        parts = feature_losses(net.spec(algorithm), net.rollout(algorithm, window), window)
    return (-torch.stack(list(parts.values())).sum(0)).tolist()


def _hint_scores(learner: Learner, algorithm: str, batch: Batch) -> list[float]:
    """The mean score of all hints, errors counted as negative."""
    evaluations = evaluate(learner, algorithm, batch, hints=True)
    return [math.nan if own.hint_quality is None else own.hint_quality for own in evaluations]


@torch.no_grad()
def _negative_losses(learner: Learner, algorithm: str, batch: Batch) -> list[float]:
    """Minus the loss of outputs and hints together."""
    net = learner.net
    total = torch.zeros(net.replicas, dtype=torch.float64, device=net.device)
    with evaluating(net):
        for few in split_batch(learner, batch):
            seen = learner.encoding.batch(algorithm, few)
            window = learner.encoding.window([seen] * net.replicas).to(net.device)
            parts = feature_losses(net.spec(algorithm), net.rollout(algorithm, window), window)
            total += torch.stack(list(parts.values())).sum(0) * len(few) / len(batch)
    return [-value for value in total.tolist()]
